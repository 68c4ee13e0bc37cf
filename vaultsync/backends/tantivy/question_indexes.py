"""The note indexes that questions need besides the main one.

Agents from which some facts are hidden have their own, and a temporary one replaces any that is
unusable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import structs

from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.indexing.note_index_sync import IndexReport, catch_up_note_index
from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.permissions import Reader
from vaultsync.storage.erasure import Traces
from vaultsync.storage.store_view import visible_store
from vaultsync.sync.context import ReadContext

MAX_OPEN = 8
"""Maximum number of indexes of agents that stay open, each with its files in memory."""


class QuestionIndexes:
    """One index per reader, in folders that may be deleted at any time, and temporary ones."""

    def __init__(self, parent: Path, open_index: Callable[[Path], TantivyIndex]) -> None:
        self._parent = parent
        self._open_index = open_index
        self._open: dict[str, TantivyIndex] = {}
        """Those of agents; the most recently used is the last one."""
        self._temporary: dict[str, TantivyIndex] = {}
        """Those of agents, and with an empty key that of all facts."""
        self._closing = ExitStack()

    def of(
        self, ctx: ReadContext, agent: str | None, index: NoteIndex, report: IndexReport
    ) -> tuple[NoteIndex, IndexReport]:
        """The index for the questions of an agent, or the user, brought up to date.

        Scores and the confidence depend on how rare a word is in the index, which would reveal
        something about facts that the agent may not read. So an agent gets another index as soon as
        there are such facts: its own if there are facts in its private scope, or else the one of
        all agents with the same permissions. `report` is that of the last update of `index`.
        """
        if report.unusable:
            index, report = self._replaced(ctx, "", index, report)
        if agent is None:
            return index, report
        reader = Reader(agent.casefold(), ctx.policy.permissions)
        count = index.count(reader)
        if count == index.count():
            return index, report
        if index.count(reader.shared()) == count:
            reader = reader.shared()
        visible = structs.replace(ctx, store=visible_store(ctx.store, reader))
        if not report.temporary:
            index = self.of_reader(reader)
            report = catch_up_note_index(visible, index)
            if not report.unusable:
                return index, report
        return self._replaced(visible, reader.agent or reader.key, index, report)

    def of_reader(self, reader: Reader) -> TantivyIndex:
        """The index of what one agent may see, or all agents with the same permissions."""
        digest = sha256((reader.agent or reader.key).encode()).hexdigest()[:16]
        name = f"words-{digest}"
        folder = self._parent / name
        with suppress(OSError):  # an index that cannot be made is replaced by a temporary one
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.utime(folder)  # the time of its last use, for `prune()`
        self._open[name] = index = self._open.pop(name, None) or self._open_index(folder)
        if len(self._open) > MAX_OPEN:
            self._open.pop(next(iter(self._open))).close()
        return index

    def _replaced(
        self, ctx: ReadContext, key: str, index: NoteIndex, report: IndexReport
    ) -> tuple[NoteIndex, IndexReport]:
        """A temporary index in place of one that can be neither read nor written."""
        if key not in self._temporary:
            folder = self._closing.enter_context(TemporaryDirectory(prefix="vaultsync-"))
            opened = self._closing.enter_context(closing(self._open_index(Path(folder, "words"))))
            self._temporary[key] = opened
        if catch_up_note_index(ctx, self._temporary[key]).degraded:
            return index, report
        return self._temporary[key], structs.replace(report, temporary=True)

    def prune(self, before: float) -> None:
        """Remove those that were last used before a time, in seconds since 1970.

        Also removes indexes of questions about the past, which a crash leaves.

        Raises:
            IndexBusyError: another process is writing one.
            OSError: one cannot be removed.
        """
        import shutil  # imported here because it loads compressors

        for folder in self._folders():
            if folder.stat().st_mtime < before:
                TantivyIndex(folder).clear()
                shutil.rmtree(folder)
                Path(f"{folder}.lock").unlink(missing_ok=True)

    def erase(self, traces: Traces) -> dict[str, int]:
        """Discard all of them, as an `Erasable`; the main note index counts what it contained."""
        self.close()
        for folder in self._folders():
            TantivyIndex(folder).erase(traces)
        return {}

    def _folders(self) -> Iterator[Path]:
        for pattern in ("words-*/", "past-*/"):
            yield from self._parent.glob(pattern)

    def close(self) -> None:
        """Close the open ones, and remove the temporary ones."""
        while self._open:
            self._open.popitem()[1].close()
        self._temporary.clear()
        self._closing.close()
