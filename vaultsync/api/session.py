"""An opened vault with its engine, and the lock that keeps engines apart."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vaultsync.api.wiring import Services, unwrap
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.errors import (
    EngineBusyError,
    NoteMissingError,
    StoreUnavailableError,
    UnsafePathError,
    VaultError,
    VaultsyncError,
)
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext
from vaultsync.sync.write_through import NoteWriter

if TYPE_CHECKING:  # only a daemon or a bridge has one
    from vaultsync.backends.obsidian.vault_through_app import ObsidianApp


class EngineSession(Services):
    """An opened vault, and the engine's lock.

    To be used as a context manager, or closed.
    """

    def __init__(self, settings: Settings, *, app: ObsidianApp | None = None) -> None:
        super().__init__(settings, app=app)
        self._lock = EngineLock(settings.state_dir, str(settings.root))
        self._through = NoteWriter(self._ctx)

    def _make_store(self) -> None:
        """A new store in the place of one that is gone, for a rebuild to fill."""
        try:
            self._ctx.store.state()
        except StoreUnavailableError:
            store = self._open_store(create=True)
            self._ctx = replace(self._ctx, store=store)
            self._through = NoteWriter(self._ctx)

    def close(self) -> None:
        """Finish the bookkeeping and let go of everything; harmless when repeated."""
        try:
            if not self._through.empty and self._lock.try_lock():
                try:
                    self._through.flush()
                finally:
                    self._lock.unlock()
        finally:
            super().close()

    def check(self) -> None:
        """See that both sides answer.

        Raises:
            VaultError, StoreError.
        """
        self._ctx.vault.vault_id()
        self._ctx.store.state()

    @contextmanager
    def _engine(self, *, watched: str = "") -> Iterator[SyncContext]:
        """The engine's lock, with everything flushed that a pass has to see.

        Raises:
            EngineBusyError: another engine has this vault; `watched` says what to do
                when it is a daemon.
        """
        with ExitStack() as held:
            try:
                held.enter_context(self._lock)
            except EngineBusyError as busy:
                raise (busy.watched(watched) if watched else busy) from None
            held.enter_context(_gc_paused())
            self._through.flush()
            self._accesses.flush()
            yield replace(self._ctx, vault=unwrap(self._ctx.vault))

    def _person(self) -> str:
        return self.agent or "person"

    def _note(self, fact: Fact, agent: str | None) -> Fact:
        """Give a new fact its note, unless another engine has the vault."""
        if not self._lock.try_lock():
            return fact
        try:
            if self._through.empty:
                self._ctx.vault.vault_id()
            noted = self._through.note(fact, actor=agent or "person")
            if self._through.full:
                self._through.flush()
        except (VaultError, OSError):
            return fact  # it is in the store; the next pass writes the note or says why
        finally:
            self._lock.unlock()
        return noted

    def _follow(self, *fact_ids: str) -> None:
        """Bring changes of facts into their notes now, if this process may."""
        from vaultsync.operations.relink import sync_and_relink
        from vaultsync.sync.sync_request import SyncRequest

        if not self._lock.try_lock():
            return
        try:
            self._through.flush()
            request = SyncRequest.for_facts(fact_ids, "follow")
            with suppress(VaultsyncError, OSError):
                sync_and_relink(self._ctx, self._derived.links, request, files=self._files)
        finally:
            self._lock.unlock()

    def _files(self) -> Iterator[VaultPath]:
        """All files of the vault, for links lead to attachments too."""
        from vaultsync.backends.filesystem.folder_listing import vault_files

        return vault_files(self.settings.root)

    def _flush(self) -> None:
        if not self._through.empty and self._lock.try_lock():
            try:
                self._through.flush()
            finally:
                self._lock.unlock()

    def _answer(self, fact: Fact) -> Fact:
        """A fact as answers show it: with placeholders for its secrets."""
        return self._ctx.view.redact(fact)

    def _with_path(self, fact: Fact) -> Fact:
        base = self._ctx.archive.find_base(fact.id)
        return fact.evolve(path=base.path if base else None)

    def _vault_path(self, text: str) -> VaultPath:
        """A path in the vault, given from its root or as the system has it."""
        path = Path(text).expanduser()
        root = self.settings.root
        if not path.is_absolute() and (root / path).exists():
            path = root / path
        try:
            inside = Path(os.path.normpath(path.absolute())).relative_to(root)
        except ValueError:
            if not path.exists():
                raise NoteMissingError(text) from None
            raise UnsafePathError(text, "it is not inside the vault") from None
        return vault_path(inside.as_posix()) if inside.parts else VaultPath("")


@contextmanager
def _gc_paused() -> Iterator[None]:
    """No garbage collection during a pass: it makes many values and no cycles.

    Looking for cycles among them took a third of the time of large passes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
