"""A service with OpenAI's chat API in its own process, for tests of the model classifier.

`python tests/chat_service.py` runs it, and prints its port. The name of the
requested model determines the answer; every request is printed as a line on stdout.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

DRIP_SECONDS = 0.02


class _Handler(BaseHTTPRequestHandler):
    failures = 0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Authorization"]
        print(json.dumps({"path": self.path, "key": key, **asked}), flush=True)  # noqa: T201 - a program
        model: str = asked["model"]
        kind, _, word = model.partition(":")
        status, content = 200, word
        if kind == "by-rules":
            text = asked["messages"][-1]["content"]
            content = "CRITICAL" if "decided" in text else "BACKGROUND"
        elif kind == "status":
            status = int(word)
        elif kind == "twice-busy":
            _Handler.failures += 1
            status = 503 if _Handler.failures <= 2 else 200
        if kind == "silent":
            time.sleep(float(word))
        body = b"{" if kind == "broken" else json.dumps(_completion(content)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        for at in range(len(body)):
            if kind == "drip":
                time.sleep(DRIP_SECONDS)
            self.wfile.write(body[at : at + 1] if kind == "drip" else body[at:])
            if kind != "drip":
                break

    def log_message(self, *_: object) -> None:
        pass


def _completion(content: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


class ChatService(NamedTuple):
    url: str
    process: subprocess.Popen[str]

    def requests(self) -> list[dict[str, Any]]:
        """Stop the service, and return the requests that it got."""
        self.process.terminate()
        said, _ = self.process.communicate(timeout=60)
        return [json.loads(line) for line in said.splitlines()]


@contextmanager
def serving_chat() -> Iterator[ChatService]:
    """A service that listens until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-I", __file__], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield ChatService(f"http://127.0.0.1:{int(process.stdout.readline())}", process)
        finally:
            process.terminate()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_port, flush=True)  # noqa: T201 - a program
    server.serve_forever()
