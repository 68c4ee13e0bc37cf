"""What a purge keeps until it is complete: the ids of its facts, and nothing that they say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from vaultsync.backends.replace_file import replace_file

PURGE_INTENT_NAME = "purging.json"


class PurgeIntentFile:
    """A `PurgeIntent` in a file of the state folder."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / PURGE_INTENT_NAME

    def fact_ids(self) -> tuple[str, ...]:
        try:
            return tuple(json.loads(self.path.read_text(encoding="utf-8"))["factIds"])
        except FileNotFoundError:
            return ()

    def begin(self, fact_ids: Iterable[str]) -> None:
        replace_file(self.path, json.dumps({"factIds": sorted(fact_ids)}).encode())

    def end(self) -> None:
        self.path.unlink(missing_ok=True)
