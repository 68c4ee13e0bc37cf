"""The memory of one agent: as current as the notes, and limited to what the agent may see."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from vaultsync.api.completion import offered_names
from vaultsync.api.configuration import find_repository
from vaultsync.api.memory import Memory
from vaultsync.errors import NoteError, NotFoundError, UsageError, VaultsyncError
from vaultsync.facts import service as fact_service
from vaultsync.facts.listing import FactPage
from vaultsync.index_files.service import tables_for
from vaultsync.mcp_server.agent_settings import DEFAULT_AGENT
from vaultsync.model.fact import Fact
from vaultsync.model.scope import is_team, private_scope
from vaultsync.notes.render import render_note
from vaultsync.settings import Settings
from vaultsync.sync.agent_view import AgentView

ENGINE_LOCK_TIMEOUT = 0.5
"""Seconds to wait for another engine. One that has the vault for longer is a daemon, which
syncs saved notes itself."""
LOCK_POLL_SECONDS = 0.02
_log = logging.getLogger(__name__)


class AgentMemory(Memory):
    """A memory whose agent and scope are fixed. To be used in one thread."""

    def __init__(self, settings: Settings, *, scope: str | None = None) -> None:
        super().__init__(settings, surface="mcp")
        self.name = settings.agent or DEFAULT_AGENT
        self.user = settings.user
        self.scope = scope or private_scope(self.name)
        """Where a fact goes that names no scope."""
        here = find_repository()
        self.repository = None if here is None else str(here)
        """The git repository that the server works in."""
        self._daemon = ""
        """The process that had the vault for longer than the timeout."""

    def sync_saved_notes(self) -> str:
        """Sync what the user saved since, unless another engine does that.

        Derived data follows in `finish_pending()`; recall updates what it needs. Returns why
        it could not be done, in a sentence; empty when it was.
        """
        try:
            if self._engine.on_demand.is_current() or not self._acquire_engine():
                return ""
            try:
                self._engine.sync_on_demand()
            finally:
                self._engine.lock.unlock()
        except VaultsyncError as error:
            if not AgentView(self._ctx, self.agent).sees_text(error.message):
                return "edits of notes were not synced"
            return f"edits of notes were not synced: {error.message}"
        except OSError as error:
            return f"edits of notes were not synced: {error.strerror or error}"
        return ""

    def _acquire_engine(self) -> bool:
        """Take the engine's lock, to be unlocked; whether that was possible in time."""
        clock, lock = self._ctx.clock, self._engine.lock
        until = clock.monotonic() + ENGINE_LOCK_TIMEOUT
        while not lock.try_lock():
            holder = lock.holder("another process")
            if holder == self._daemon or clock.monotonic() > until:
                self._daemon = holder
                return False
            clock.sleep(LOCK_POLL_SECONDS)
        self._daemon = ""
        return True

    def may_observe(self, scope: str) -> bool:
        """Whether observations may go there: where the agent writes itself, but to no team."""
        return not is_team(scope) and self.settings.permissions.may_write(self.name, scope)

    def with_note(self, fact: Fact) -> Fact:
        """A new fact with the path of its note, which a daemon writes in a moment."""
        clock, lock = self._ctx.clock, self._engine.lock
        until = clock.monotonic() + ENGINE_LOCK_TIMEOUT
        found = fact
        while found.path is None and clock.monotonic() < until:
            if lock.try_lock():  # there is no daemon: the next run says why there is no note
                lock.unlock()
                return found
            clock.sleep(LOCK_POLL_SECONDS)
            found = self._with_path(found)
        return found

    def some(self, ids: Sequence[str]) -> tuple[FactPage, list[str]]:
        """The facts of some ids as a page, and the ids of which there is none.

        Raises NotFoundError or UsageError where the only id is none.
        """
        found, missing = [], []
        for each in dict.fromkeys(ids):
            try:
                found.append(self.get(each))
            except (NotFoundError, UsageError):
                if len(ids) == 1:
                    raise
                missing.append(each)
        return FactPage(tuple(found), None), missing

    def id_of(self, name: str) -> str:
        """The id of the fact that a name stands for, as in `get()`; a whole id is not looked up."""
        return self._fact_id(name)

    def complete_fact(self, typed: str) -> list[str]:
        """The names of facts that begin with what was typed, as of `complete_name()`."""
        reader = self.settings.permissions.reader(self.agent)
        return [name for name, _ in offered_names(self._ctx.archive, "fact", typed, reader)]

    def tables(self) -> Mapping[str, str]:
        """The tables of `.index/` by their names, of the facts that the agent may see."""
        self.finish_pending()
        return tables_for(self._ctx, self._services.table_inputs, agent=self.name)

    def note(self, fact_id: str) -> tuple[Fact, str]:
        """A fact and the text of its note; as it would be written when there is none."""
        fact = fact_service.get(self._ctx, self._fact_id(fact_id), agent=self.agent)
        view = self._ctx.view
        self._services.access_counter.add([fact.id])
        if fact.path is not None:
            try:
                data = self._ctx.vault.read(fact.path).data
                text = data.decode("utf-8-sig", errors="replace")
                return view.redact(fact), view.redact_text(text, fact)
            except (NoteError, OSError) as error:
                _log.debug("the note of %s cannot be read: %s", fact.id, error)
        return view.redact(fact), render_note(view.to_note(fact), links={}).decode()
