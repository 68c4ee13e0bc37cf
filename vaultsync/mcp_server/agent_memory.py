"""The memory as one agent's server opens it: as fresh as the notes, and no wider than its agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from vaultsync.api.memory import Memory
from vaultsync.errors import NoteError, NotFoundError, UsageError, VaultsyncError
from vaultsync.facts.listing import FactPage
from vaultsync.mcp_server.agent_settings import DEFAULT_AGENT
from vaultsync.model.fact import Fact
from vaultsync.model.scope import can_see, private_scope
from vaultsync.settings import Settings
from vaultsync.sync.report import Status

ENGINE_LOCK_TIMEOUT = 0.5
"""Seconds to wait for another engine; who has the vault for longer is a daemon, and
takes up what people save itself."""
LOCK_POLL_SECONDS = 0.02
USER_ACTOR = "person"


class AgentMemory(Memory):
    """A memory whose agent and scope are fixed. To be used in one thread."""

    def __init__(self, settings: Settings, *, scope: str | None = None) -> None:
        super().__init__(settings)
        self.name = settings.agent or DEFAULT_AGENT
        self.user = settings.user
        self.scope = scope or private_scope(self.name)
        """Where a fact goes that names no scope."""
        self._daemon = ""
        """Who had the vault for longer than one waits."""

    def sync_saved_notes(self) -> str:
        """Take up what people saved since, unless another engine does that.

        What is derived follows in `settle()`; recall brings what it needs up to date.

        Returns:
            Why it could not be done, in a sentence; empty when all is well.
        """
        from vaultsync.operations.relink import sync_and_relink
        from vaultsync.sync.sync_request import SyncRequest

        if not self._get_engine():
            return ""
        try:
            # Notes are edited by the user, no matter which agent triggers the sync.
            request = SyncRequest(actor=USER_ACTOR)
            with self._engine() as mirror:
                sync_and_relink(mirror, self._derived.links, request, files=self._files)
        except VaultsyncError as error:
            return f"edits of notes were not taken up: {error.message}"
        except OSError as error:
            return f"edits of notes were not taken up: {error.strerror or error}"
        finally:
            self._lock.unlock()
        return ""

    def finish_pending(self) -> None:
        """Do what waits: others use the vault meanwhile, and read the tables."""
        from vaultsync.api.derived_data import is_derived_current, update_derived

        self._flush()
        if not is_derived_current(self._ctx) and self._lock.try_lock():
            try:
                update_derived(self._ctx, self._parts())
            finally:
                self._lock.unlock()

    def _get_engine(self) -> bool:
        """Try to take the engine's lock, which the caller releases; whether it was free."""
        clock = self._ctx.clock
        until = clock.monotonic() + ENGINE_LOCK_TIMEOUT
        while not self._lock.try_lock():
            holder = self._lock.holder()
            if holder == self._daemon or clock.monotonic() > until:
                self._daemon = holder
                return False
            clock.sleep(LOCK_POLL_SECONDS)
        self._daemon = ""
        return True

    def with_note(self, fact: Fact) -> Fact:
        """A new fact with the path of its note, which a daemon writes in a moment."""
        clock = self._ctx.clock
        until = clock.monotonic() + ENGINE_LOCK_TIMEOUT
        found = fact
        while found.path is None and clock.monotonic() < until:
            if self._lock.try_lock():  # no daemon: the next sync says why there is no path
                self._lock.unlock()
                return found
            clock.sleep(LOCK_POLL_SECONDS)
            found = self._with_path(found)
        return found

    def status(self) -> Status:
        """What waits and what is wrong, as far as the agent may know of it."""
        found = super().status()
        return replace(
            found,
            conflicts=len(self.conflicts()),
            attention=[
                each for each in found.attention if can_see(self.name, each.path.partition("/")[0])
            ],
        )

    def some(self, ids: Sequence[str]) -> tuple[FactPage, list[str]]:
        """The facts of some ids as a page, and the ids of which there is none.

        Raises:
            NotFoundError, UsageError: one id was given, and there is no such fact.
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

    def tables(self) -> Mapping[str, str]:
        """The tables of `.index/` by their names, of the facts that the agent may see."""
        from vaultsync.index_files.service import tables_for

        self.finish_pending()
        return tables_for(self._ctx, self._derived.tables, agent=self.name)

    def note(self, id: str) -> tuple[Fact, str]:  # noqa: A002 - the contract's word
        """A fact and the text of its note, as it lies in the vault; else as it would.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        from vaultsync.facts.service import get
        from vaultsync.notes.render import render_note

        fact, view = get(self._ctx, id, agent=self.agent), self._ctx.view
        if fact.path is not None:
            try:
                data = self._ctx.vault.read(fact.path).data
                text = data.decode("utf-8-sig", errors="replace")
                return view.redact(fact), view.redact_text(text, fact)
            except (NoteError, OSError):
                pass
        return view.redact(fact), render_note(view.to_note(fact), links={}).decode()
