"""The keyword indexes of questions: of agents, and temporary ones while others are unusable."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import structs

from vaultsync.backends.tantivy.agent_indexes import AgentIndexes
from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.indexing.note_index_sync import IndexReport, catch_up_note_index
from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.permissions import Reader
from vaultsync.storage.visible_store import VisibleStore
from vaultsync.sync.context import ReadContext


class QuestionIndexes:
    """The indexes that take the place of the note index; must be closed."""

    def __init__(
        self, agent_indexes: Callable[[], AgentIndexes], open_index: Callable[[Path], TantivyIndex]
    ) -> None:
        """Open nothing yet; `open_index` opens an index in a folder."""
        self._agent_indexes = agent_indexes
        self._open_index = open_index
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
        visible = structs.replace(ctx, store=VisibleStore(ctx.store, reader))
        if not report.temporary:
            index = self._agent_indexes().of(reader)
            report = catch_up_note_index(visible, index)
            if not report.unusable:
                return index, report
        return self._replaced(visible, reader.agent or reader.key, index, report)

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

    def close(self) -> None:
        """Close and remove the temporary indexes."""
        self._temporary.clear()
        self._closing.close()
