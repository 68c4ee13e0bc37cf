"""The queue and the log of agents' writes to memory files, in the state folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from vaultsync.backends.replace_file import append_bytes, keep_copy, read_records, replace_file
from vaultsync.memory_files.ports import QueuedText
from vaultsync.model.schema import Value


class FileWriteQueue:
    """One file per queued text, so that processes need no lock."""

    def __init__(self, folder: Path) -> None:
        self._queue = folder / "queue"
        self._kept = folder / "kept"
        self._log = folder / "log.jsonl"

    def put(self, item: QueuedText) -> None:
        text = json.dumps(asdict(item), ensure_ascii=False, indent=1)
        self._queue.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._queue / f"{item.op}.json", text.encode(errors="surrogatepass"))

    def drop(self, op: str) -> None:
        (self._queue / f"{op}.json").unlink(missing_ok=True)

    def waiting(self, name: str | None = None) -> list[QueuedText]:
        try:
            names = sorted(os.listdir(self._queue))  # noqa: PTH208 - before each sync
        except FileNotFoundError:
            return []
        paths = (self._queue / each for each in names if each.endswith(".json"))
        return [x for x in read_records(paths, QueuedText) if name in (None, x.name)]

    def log(self, *entries: Mapping[str, Value]) -> None:
        self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        texts = (json.dumps(each, ensure_ascii=False) for each in entries)
        lines = "".join(f"{each}\n" for each in texts).encode(errors="surrogatepass")
        append_bytes(self._log, lines, durable=True)

    def keep(self, data: bytes) -> str:
        return keep_copy(self._kept, data)
