"""The records of module folders in the state folder of the vault."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from vaultsync.backends.replace_file import (
    append_bytes,
    append_line,
    keep_copy,
    read_file,
    read_records,
    replace_file,
)
from vaultsync.backends.state.vault_marker import MODULE_FOLDER
from vaultsync.model.schema import Value
from vaultsync.modules.ports import FolderRecord, ModuleIntent

_log = logging.getLogger(__name__)
_MAX_LOG_BYTES = 1_000_000
"""The size at which the telemetry log is rotated; one older file is kept."""
TELEMETRY_FILE = "telemetry.jsonl"


class ModuleStateFiles:
    """A `ModuleState` in files: one for the record, one for each unfinished write."""

    def __init__(self, state_dir: Path, key: str) -> None:
        """Name the files.

        Args:
            state_dir: the state folder of the vault.
            key: the key of the module folder.
        """
        self.all = state_dir / MODULE_FOLDER
        name = sha256(key.encode(errors="surrogatepass")).hexdigest()[:16]
        self._folder = self.all / name
        self._record = self._folder / "record.json"

    def read(self) -> FolderRecord:
        return next(read_records([self._record], FolderRecord), FolderRecord())

    def write(self, record: FolderRecord) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._record, msgspec.json.encode(record) + b"\n")

    def intents(self) -> Sequence[ModuleIntent]:
        return [*read_records(sorted(self._folder.glob("intent-*.json")), ModuleIntent)]

    def put_intent(self, intent: ModuleIntent) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._folder / f"intent-{intent.op}.json", msgspec.json.encode(intent))

    def drop_intent(self, op: str) -> None:
        (self._folder / f"intent-{op}.json").unlink(missing_ok=True)

    def keep(self, data: bytes) -> str:
        return keep_copy(self.all / "kept", data)

    def log(self, entry: Mapping[str, Value]) -> None:
        line = json.dumps(entry, ensure_ascii=False)
        try:
            self.all.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self.all / TELEMETRY_FILE
            append_line(path, line, errors="surrogatepass", most=_MAX_LOG_BYTES)
        except OSError as error:
            _log.debug("telemetry was not written: %s", error)

    def count(self, *, success: int = 0, failure: int = 0) -> tuple[int, int]:
        """Count attempts for all folders of the vault; each line is one attempt."""
        path = self.all / "attempts.log"
        if success or failure:
            with suppress(OSError):  # ignore a full disk
                self.all.mkdir(mode=0o700, parents=True, exist_ok=True)
                append_bytes(path, b"+" * success + b"-" * failure)
        try:
            marks = read_file(path)
        except OSError:
            return 0, 0
        return marks.count(b"+"), marks.count(b"-")


def known_folders(state_dir: Path) -> Iterator[FolderRecord]:
    """The records of all module folders that this vault has used."""
    return read_records(sorted((state_dir / MODULE_FOLDER).glob("*/record.json")), FolderRecord)
