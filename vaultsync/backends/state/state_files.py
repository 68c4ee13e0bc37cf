"""Purge in the state folder: the pending ids, and erasing from logs, queues and kept copies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from vaultsync.backends.replace_file import read_file, read_json, replace_file
from vaultsync.backends.state.log_file import LOG_FOLDER
from vaultsync.backends.state.vault_marker import MEMORY_FILE_FOLDER, MODULE_FOLDER
from vaultsync.errors import ConfigError
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.modules.ports import FolderRecord
from vaultsync.storage.erasure import Traces

PURGE_INTENT_NAME = "purging.json"
_LINES = lazy_pattern(r"\.(?:log|jsonl)(?:\.[0-9a-f]+)?$")
"""Files whose lines are independent of each other, including rotated ones."""
_DRAFT = lazy_pattern(r"^\..+\.[0-9a-f]{8}$")
"""The name of a file that `replace_file()` has not renamed yet; a crash may leave it."""
_LINE_FOLDERS = ("", LOG_FOLDER, MODULE_FOLDER, MEMORY_FILE_FOLDER)
DISPOSABLE = (
    *(f"{MEMORY_FILE_FOLDER}/{each}" for each in ("queue", "kept", "blocks", "bases")),
    f"{MODULE_FOLDER}/kept",
)
"""Folders whose files are deleted as a whole."""
_UNFINISHED = f"{MODULE_FOLDER}/*/intent-*.json"
"""Writes of modules that a crash interrupted, which are deleted, too."""
_RECORDS = f"{MODULE_FOLDER}/*/record.json"
"""Records of folders of modules. They also say what the remotes have, which stays."""


class _PurgeRecord(msgspec.Struct, frozen=True, rename="camel"):
    fact_ids: tuple[str, ...]
    deleted: bool = False


class PurgeIntentFile:
    """A `PurgeIntent` in a file: the ids of its facts, without any text."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / PURGE_INTENT_NAME

    def fact_ids(self) -> tuple[str, ...]:
        return self._read().fact_ids

    def were_deleted(self) -> bool:
        return self._read().deleted

    def _read(self) -> _PurgeRecord:
        try:
            return msgspec.convert(read_json(self.path), _PurgeRecord)
        except FileNotFoundError:
            return _PurgeRecord(())
        except ValueError:
            raise ConfigError(
                f"{self.path} is damaged: it names the facts of an unfinished purge",
                hint="remove it, and purge these facts again",
            ) from None

    def begin(self, fact_ids: Iterable[str], *, deleted: bool = False) -> None:
        record = _PurgeRecord(tuple(sorted(fact_ids)), deleted)
        replace_file(self.path, msgspec.json.encode(record))

    def end(self) -> None:
        self.path.unlink(missing_ok=True)


class StateFiles:
    """An `Erasable` of all logs, queues and kept copies in a state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def erase(self, traces: Traces) -> Mapping[str, int]:
        lines = files = 0
        for path in dict.fromkeys(self._files()):
            try:
                data = read_file(path)
            except FileNotFoundError:  # another process has renamed or removed it
                continue
            if not traces.mentions(data):
                continue
            if _LINES.search(path.name):
                before = data.splitlines(keepends=True)
                after = [line for line in before if not traces.mentions(line)]
                replace_file(path, b"".join(after))
                lines += len(before) - len(after)
            else:
                path.unlink(missing_ok=True)
                files += 1
        records = sum(self._erase_record(path, traces) for path in self._in(_RECORDS))
        return {"log lines": lines, "queued and kept files": files, "module records": records}

    @staticmethod
    def _erase_record(path: Path, traces: Traces) -> int:
        """Erase facts from the record of a folder of modules; returns how many."""
        data = read_file(path)
        if not traces.mentions(data):
            return 0
        try:
            record = msgspec.json.decode(data, type=FolderRecord)
        except (ValueError, RecursionError):  # it counts as empty anyway
            path.unlink()
            return 1
        facts = {
            key: each
            for key, each in record.facts.items()
            if not traces.mentions(msgspec.json.encode(each))
        }
        unread = tuple(x for x in record.unread if not traces.mentions(msgspec.json.encode(x)))
        new = msgspec.structs.replace(record, facts=facts, unread=unread)
        replace_file(path, msgspec.json.encode(new) + b"\n")
        return len(record.facts) - len(facts)

    def _files(self) -> Iterator[Path]:
        for folder in _LINE_FOLDERS:
            for path in sorted((self._state_dir / folder).glob("*")):
                if _LINES.search(path.name) and path.is_file():
                    yield path
        for name in DISPOSABLE:
            yield from self._in(f"{name}/*")
        yield from self._in(_UNFINISHED)
        for folder, _, names in os.walk(self._state_dir):  # a folder may be removed meanwhile
            drafts = (Path(folder, name) for name in sorted(names) if _DRAFT.search(name))
            yield from filter(Path.is_file, drafts)

    def _in(self, pattern: str) -> list[Path]:
        return sorted(filter(Path.is_file, self._state_dir.glob(pattern)))
