"""`memory-index.json`: generated from the manifests, never edited."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

INDEX_FILE = "memory-index.json"


def render_index(
    folder: str, topics: Mapping[str, Sequence[str]], documents: Iterable[str], *, manifest: str
) -> bytes:
    """The index of a folder.

    Args:
        folder: its path in the repository, which begins all paths.
        topics: the chunk ids by topic.
        documents: files without a manifest, which are indexed by themselves.
        manifest: the name of manifests.
    """
    index: dict[str, object] = {
        topic: {
            "core": f"{folder}/{topic}/{topic}.core.md",
            "manifest": f"{folder}/{topic}/{manifest}",
            "chunks": list(chunks),
        }
        for topic, chunks in sorted(topics.items())
    }
    index |= {name: {"document": f"{folder}/{name}"} for name in sorted(documents)}
    return json.dumps(index, indent=2, ensure_ascii=False).encode() + b"\n"
