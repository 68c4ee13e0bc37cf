"""An MCP server that stores and finds knowledge, with the documented tools of two products.

`python -m tests.knowledge_server byterover FILE` speaks stdio; with `--http PORT` streamable HTTP.
It keeps texts in a file, finds them by their words, and has no keys: a module that is stored twice
exists twice, until the tool `forget` is called with an id.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import FastMCP


class Knowledge:
    """Texts in a file, ranked by their share of the words of a question."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def texts(self) -> dict[str, str]:
        if not self._file.exists():
            return {}
        found: dict[str, str] = json.loads(self._file.read_text("utf-8"))
        return found

    def store(self, text: str) -> str:
        texts = self.texts()
        key = f"memory-{max((int(each.split('-')[1]) for each in texts), default=0) + 1}"
        self._file.write_text(json.dumps({**texts, key: text}), "utf-8")
        return key

    def forget(self, key: str) -> None:
        kept = {name: text for name, text in self.texts().items() if name != key}
        self._file.write_text(json.dumps(kept), "utf-8")

    def find(self, question: str, limit: int) -> list[dict[str, Any]]:
        words = set(re.findall(r"[\w-]+", question.lower()))
        hits = []
        for key, text in self.texts().items():
            shared = words & set(re.findall(r"[\w-]+", text.lower()))
            score = min(1.0, 0.3 + len(shared) / max(len(words), 1))
            hits.append({"id": key, "text": text, "similarity": score, "confidence": score})
        return sorted(hits, key=lambda each: float(str(each["similarity"])), reverse=True)[:limit]


def make(product: str, file: Path, port: int) -> FastMCP:
    server, knowledge = FastMCP(product, port=port, log_level="ERROR"), Knowledge(file)

    @server.tool()
    def forget(id: str) -> dict[str, str]:  # noqa: A002 - its name is part of the protocol
        knowledge.forget(id)
        return {"id": id}

    if product == "byterover":

        @server.tool("byterover-store-knowledge")
        def store(messages: str) -> str:
            return json.dumps({"success": True, "id": knowledge.store(messages)})

        @server.tool("byterover-retrieve-knowledge")
        def retrieve(query: str, limit: int = 3) -> str:
            return json.dumps({"results": knowledge.find(query, limit)})

    else:

        @server.tool()
        def cipher_extract_and_operate_memory(
            interaction: str,
            memoryMetadata: dict[str, Any] | None = None,  # noqa: N803
        ) -> dict[str, Any]:
            return {"success": True, "memory": [{"id": knowledge.store(interaction)}]}

        @server.tool()
        def cipher_memory_search(query: str, top_k: int = 5) -> dict[str, Any]:
            return {"success": True, "results": knowledge.find(query, top_k)}

    return server


if __name__ == "__main__":
    wanted = sys.argv[1:]
    http = int(wanted[wanted.index("--http") + 1]) if "--http" in wanted else 0
    made = make(wanted[0], Path(wanted[1]), http or 8000)
    made.run("streamable-http" if http else "stdio")
