"""The engine of one vault: its lock, the notes of new facts, runs, and derived data.

Methods import what they need: `get` and `list` only ask the engine whether it has something to
finish, and took twice as long in a new process with all the modules of a run.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from threading import get_ident
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from vaultsync.api.wiring import Services
from vaultsync.backends.state.engine_lock import EngineLock, tables_lock
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.errors import (
    ClosedMemoryError,
    EngineBusyError,
    ImportLineError,
    ProposedError,
    ReadOnlyNoteError,
    ScopeDeniedError,
    StoreError,
    StoreUnavailableError,
    UnwritableNoteError,
    UsageError,
    VaultsyncError,
)
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.proposal_note import ProposalRecord, shown_proposal
from vaultsync.storage.archive import UNFINISHED_MIGRATION_SETTING
from vaultsync.sync.context import SyncContext

if TYPE_CHECKING:
    from vaultsync.api.derived_data import DerivedReport
    from vaultsync.api.embedding import EmbeddingWorker
    from vaultsync.daemon.on_demand import OnDemandSync
    from vaultsync.indexing.embedding_texts import EmbeddingCost
    from vaultsync.sync.report import AnyReport, Progress, Report
    from vaultsync.sync.sync_request import SyncRequest
    from vaultsync.sync.write_through import NoteWriter

MAX_TABLE_ROUNDS = 3
"""Maximum number of times that `.index/` is rewritten because of other writers."""
DERIVE_POLL_SECONDS, DERIVE_STALL_SECONDS = 0.25, 60.0
"""The interval at which another engine's progress is polled, and the time without progress after
which waiting ends."""
LEND_POLL_SECONDS, LEND_SECONDS = 0.05, 60.0
"""The interval and the limit of a command's wait for a daemon to lend its lock."""
WRITERS_POLL_SECONDS, WRITERS_SECONDS = 0.01, 0.5
"""The interval and the limit of a writer's wait for others, which write a note in milliseconds."""
WRITERS_TURN_SECONDS = 2.0
"""The limit of a writer's wait for a turn among many others."""
TURN_SECONDS = 10.0
"""The limit of a run's wait for writers, which wait until it is done."""
REFUSED = (ReadOnlyNoteError, UnwritableNoteError)
"""The errors of a note that the user or the system does not let us write."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Engine:
    """Writes notes and runs syncs, one process at a time."""

    def __init__(self, services: Services) -> None:
        self.settings = settings = services.settings
        self.services = services
        self._is_closed = False
        self._ctx = services.sync_context
        self._process, self._thread = os.getpid(), get_ident()
        self.lock = EngineLock(settings.state_dir, str(settings.root))
        self._writer: NoteWriter | None = None
        """Writes the notes of new facts; None until there is one."""
        self.wrote = False
        """Whether facts were written that are not in derived data yet."""
        self.why_notes_wait = ""
        """Why the system did not let the last change be written into notes; empty if it did."""
        self._left = dict[str, None]()
        """The facts whose notes wait, because other processes wrote theirs all the time."""
        self._waited_in_vain = False
        """Whether the process that has the lock kept it for longer than writers wait."""

    def check_open(self) -> None:
        """Check that this thread opened the engine, and has not closed it.

        Raises:
            ClosedMemoryError: it was closed.
            UsageError: this is a fork, which shares locks and open files with its parent, or
                another thread, which would take part in what is going on in the first.
        """
        if self._is_closed:
            raise ClosedMemoryError(str(self.settings.root))
        if os.getpid() != self._process:
            message = "the memory was opened by another process, of which this one is a fork"
            raise UsageError(message, hint="open the vault again after the fork")
        if get_ident() != self._thread:
            message = "the memory was opened by another thread"
            raise UsageError(message, hint="open and close the vault in each thread that uses it")

    @property
    def ctx(self) -> SyncContext:
        """The two sides; raises as `check_open()`."""
        self.check_open()
        return self._ctx

    @cached_property
    def embedding(self) -> EmbeddingWorker:
        """Computes the vectors in a separate process."""
        from vaultsync.api.embedding import EmbeddingWorker

        return EmbeddingWorker(self.services)

    @contextmanager
    def exclusive(self, *, hint: str = "") -> Iterator[SyncContext]:
        """Hold the lock, perhaps after another writer, with pending bases recorded.

        Raises EngineBusyError if another engine keeps the vault, with `hint` if it is a daemon.
        """
        self._wait_for_store()
        with self.locked(hint=hint):
            self._flush()
            self._finish_migration()
            self.services.access_counter.flush()
            yield self.ctx

    @contextmanager
    def locked(self, *, hint: str = "") -> Iterator[None]:
        """Hold the lock, as `exclusive()`, also if there is no store; raises as that."""
        self.check_open()
        is_ours = self.lock.try_lock() or self._wait_for_turn()
        try:
            self.lock.__enter__()
        except EngineBusyError as busy:
            raise (busy.watched(hint) if hint else busy) from None
        finally:
            if is_ours:
                self.lock.unlock()
        try:
            yield
        finally:
            self.lock.unlock()

    @contextmanager
    def borrowed(self, *, hint: str) -> Iterator[SyncContext]:
        """As `exclusive()`, but a daemon that has the lock lends it, and continues afterwards."""
        clock = self.ctx.clock
        until = clock.monotonic() + LEND_SECONDS
        with self.lock.asked.held() as first:
            self._signal_daemon()
            while True:
                try:
                    self.lock.__enter__()
                    break
                except EngineBusyError as busy:
                    if not first or clock.monotonic() > until:
                        raise busy.watched(hint) from None
                clock.sleep(LEND_POLL_SECONDS)
            try:
                with self.exclusive() as ctx:
                    yield ctx
            finally:
                self.lock.unlock()

    def _wait_for_store(self) -> None:
        """Wait for a busy or restarting store before taking the lock.

        If that fails, each request of the run is tried only once.
        """
        if self.services.vectors_in_store and not self.lock.is_held:
            try:
                self.ctx.store.state()
            except StoreError as error:  # the run reports it
                _log.debug("the run begins without the store: %s", error)

    def record_bases(self) -> None:
        """Record the bases of the notes just written, unless another engine has the vault.

        Raises: as `check_open()`.
        """
        self.check_open()
        if self._writer is not None and not self._writer.empty and self.lock.try_lock():
            try:
                self._flush()
            except (VaultsyncError, OSError) as error:  # the notes themselves are written
                hint = getattr(error, "hint", "the next run records them")
                _log.warning("not all about the new notes is recorded: %s; %s", error, hint)
            finally:
                self.lock.unlock()

    def _flush(self) -> None:
        """Record the bases of the notes just written; requires the lock."""
        if self._writer is not None:
            self._writer.flush()

    def _finish_migration(self) -> None:
        """Copy what agents wrote while a migration switched that was killed; requires the lock.

        If the former store is unavailable, the next call tries again.
        """
        if not self.ctx.archive.setting(UNFINISHED_MIGRATION_SETTING):
            return
        from vaultsync.operations.migrate import finish_copy, unfinished_store

        try:
            if not (url := unfinished_store(self.ctx)):
                return
            with closing(Services(structs.replace(self.settings, store=url))) as left:
                is_gone = left.store_files is not None and not left.store_files.exists()
                former = None if is_gone else left.open_store(create=False, former=True)
                finish_copy(self.ctx, former, self.ctx.store)
        except (VaultsyncError, OSError) as error:
            _log.warning("what was last written to the former store is not copied yet: %s", error)

    def write_note(self, fact: Fact, *, actor: str) -> Fact:
        """Write the note of a new fact, and set its `path`, unless another engine does that."""
        self.wrote = True
        with self._unless_busy("writes the note", [fact.id]) as is_ours:
            if is_ours:
                if self._writer is None:
                    from vaultsync.sync.write_through import NoteWriter

                    self._writer = NoteWriter(self.ctx)
                fact = self._writer.note(fact, actor=actor)
                refusal = self._writer.refusal
                if fact.path is None and isinstance(refusal, REFUSED):
                    self.why_notes_wait = f"{refusal.message}; {refusal.hint}"
        return fact

    def possibly_edited(self, fact_ids: Sequence[str]) -> Sequence[str]:
        """The facts whose notes may have edits that the store has not.

        These are all of them where the vault cannot be listed, or changes are queued.
        """
        from vaultsync.sync.snapshot import possibly_edited

        try:
            queued = bool(fact_ids) and bool(self.ctx.archive.outbox())
            return fact_ids if queued else possibly_edited(self.ctx, fact_ids)
        except (VaultsyncError, OSError):
            return fact_ids

    def update_notes(self, *changed: str | None, kind: str) -> None:
        """Update the notes of changed facts, without None, unless another engine has the vault.

        `kind` is that of the run, as the log names it.
        """
        from vaultsync.sync.sync_request import SyncRequest

        self.wrote = True
        fact_ids = tuple(filter(None, changed))
        with self._unless_busy("updates the notes", fact_ids) as is_ours:
            if is_ours:
                self._flush()
                self._finish_migration()
                self._run(SyncRequest.for_facts(fact_ids, kind))

    def sync_notes(
        self, fact_ids: Iterable[str], kind: str, progress: Progress | None = None
    ) -> str | None:
        """Write the notes of facts, unless another engine does it; returns the run that did."""
        from vaultsync.sync.sync_request import SyncRequest

        self.wrote, report, fact_ids = True, None, tuple(fact_ids)
        with self._unless_busy(f"writes the notes of a {kind}", fact_ids) as is_ours:
            if is_ours:
                request = SyncRequest.for_facts(fact_ids, kind, guarded=False)
                report = self.sync(request, derive=False, progress=progress)
                self.embedding.start()
        return None if report is None or report.quiet else report.run

    @contextmanager
    def _unless_busy(self, rest: str, fact_ids: Iterable[str] = ()) -> Iterator[bool]:
        """Hold the lock, perhaps after another writer; yields False if another engine keeps it.

        The notes of the facts are then written with the next ones, or in the end, unless a daemon
        does that. Errors are logged, because the next run does the `rest`.
        """
        self.why_notes_wait = ""
        if not self._lock_soon(WRITERS_TURN_SECONDS):
            self._signal_daemon()
            if DaemonFile(self.settings.state_dir).read() is None:
                self._left |= dict.fromkeys(fact_ids)
            yield False
            return
        try:
            yield True
            self._write_left()
        except (VaultsyncError, OSError) as error:
            if isinstance(error, OSError):
                self.why_notes_wait = (
                    f"{error.strerror or error}; the next sync that can write there does so"
                )
            _log.debug("the next run %s: %s", rest, error)
        finally:
            self.lock.unlock()

    def _write_left(self) -> None:
        """Write the notes that other processes kept from being written; requires the lock."""
        if self._left:
            from vaultsync.sync.sync_request import SyncRequest

            self._flush()
            self._run(SyncRequest.for_facts(self._left, "sync", guarded=False))
            self._left.clear()

    def _wait_for_turn(self) -> bool:
        """As `_lock_soon()` for a run, to which processes leave the lock after their next note."""
        with self.lock.next.held():
            return self._lock_soon(TURN_SECONDS)

    def _lock_soon(self, turn: float = 0.0) -> bool:
        """Acquire the lock, perhaps after another process has written its notes.

        A daemon is not waited for, because it writes the notes itself, and neither is a process
        again that keeps the lock for long. `turn` is the number of seconds in which the time of
        processes that only write notes, and so do not record that they have the lock, is not
        counted.
        """
        clock, state_dir = self.ctx.clock, self.settings.state_dir
        limit, turn = (0.0, 0.0) if self._waited_in_vain else (WRITERS_SECONDS, turn)
        began = since = clock.monotonic()
        while not self.lock.try_lock():
            now = clock.monotonic()
            if now < began + turn and not self.lock.holder(""):
                since = now
            if now >= since + limit or DaemonFile(state_dir).read() is not None:
                self._waited_in_vain = True
                return False
            clock.sleep(WRITERS_POLL_SECONDS)
        self._waited_in_vain = False
        return True

    def ask_daemon(
        self,
        path: str,
        body: Mapping[str, object] | None,
        busy: EngineBusyError,
        answer: type[T],
        agent: str | None = None,
    ) -> T:
        """As `ask_running_engine()`, for an agent; default: that of the settings."""
        from vaultsync.api.daemon_client import ask_running_engine

        agent, settings = agent or self.settings.agent, self.settings
        return ask_running_engine(settings, path, body, agent=agent, busy=busy, answer=answer)

    def show_proposals(self) -> None:
        """Write the notes of new proposals, unless another engine has the vault."""
        from vaultsync.proposals.service import settle_proposals

        with self._unless_busy("shows the proposals") as is_ours:
            if is_ours:
                self._flush()
                settle_proposals(self.ctx)

    def proposing(self, agent: str | None, work: Callable[[SyncContext], T]) -> T:
        """Carry out a write of an agent, or propose it; returns its result.

        Raises: as the write, and ProposedError if the agent may only propose it.
        """
        try:
            return work(self.ctx)
        except (ScopeDeniedError, ImportLineError) as denied:
            if agent is None or not denied.proposes:
                raise
            from vaultsync.proposals.service import redact_proposal
            from vaultsync.proposals.write_proposals import propose_write

            proposed = propose_write(self.ctx, work, denied, agent=agent)
        if not isinstance(proposed, ProposalRecord):
            return proposed
        self.show_proposals()
        proposal = self.ctx.archive.find_proposal(proposed.id) or proposed
        shown = shown_proposal(redact_proposal(self.ctx, proposal))
        raise ProposedError(shown.title, shown.id, shown.outcome, proposal=shown)

    def close(self) -> None:
        """Finish the bookkeeping and close the services; idempotent, and nothing in a fork."""
        if self._is_closed or os.getpid() != self._process:
            return
        self.check_open()
        try:
            self.finish()
        finally:
            self._is_closed = True
            self.services.close()

    def finish(self) -> None:
        """Record bases, and update notes and derived data for the facts that were written here."""
        if self._left:
            self._waited_in_vain = False
            with self._unless_busy("writes the notes that wait"):
                pass
        self.record_bases()
        wrote, self.wrote = self.wrote, False
        if wrote and self.settings.derive:
            from vaultsync.api.embedding import FEW_CHANGES

            self._update_tables()
            self.embedding.start(changes=FEW_CHANGES)

    def _update_tables(self) -> None:
        """Update `.index/`, unless another engine does.

        The engine's lock is not held meanwhile, so others can write notes. A process that
        finds the files being written leaves them to that writer, which checks again at its end.
        """
        if not self.lock.try_lock():
            return
        from vaultsync.index_files.service import tables_are_current, write_tables

        self.lock.unlock()
        with tables_lock(self.settings.state_dir) as is_ours:
            try:
                for _ in range(MAX_TABLE_ROUNDS if is_ours else 0):
                    if tables_are_current(self.ctx):
                        break
                    write_tables(self.ctx, self.services.table_inputs)
            except (VaultsyncError, OSError) as error:
                _log.debug("the next run writes `.index/`: %s", error)

    def _signal_daemon(self) -> None:
        from vaultsync.backends.watchers.collector import signal_store_change

        try:
            signal_store_change(self.services.settings.state_dir)
        except OSError as error:
            _log.debug("the daemon notices at its next poll: %s", error)

    def sync(
        self, request: SyncRequest, *, derive: bool = True, progress: Progress | None = None
    ) -> Report:
        """Do a run, and rewrite the links to moved notes."""
        with self.exclusive():
            report = self._run(request, progress)
            return self.derive_after(report, progress) if derive else report

    def _run(self, request: SyncRequest, progress: Progress | None = None) -> Report:
        """Do a run, after applying the user's decisions on proposals; requires the lock."""
        from vaultsync.operations.relink import sync_and_relink

        settled = None
        if self.ctx.archive.proposals():
            from vaultsync.proposals.service import settle_proposals

            settled = settle_proposals(self.ctx, dry_run=request.dry_run)
        links = self.services.link_index
        report = sync_and_relink(self.ctx, links, request, files=self.files, progress=progress)
        if settled is None:
            return report
        from vaultsync.sync.finish import join_reports

        # If only proposals were applied, their run is the one to undo.
        run = settled.run if report.quiet and settled.run else report.run
        return structs.replace(join_reports(settled, report), run=run)

    @cached_property
    def on_demand(self) -> OnDemandSync:
        """Watches the vault for `sync_on_demand()`."""
        from vaultsync.backends.filesystem.tree import IgnoreRules
        from vaultsync.backends.watchers.choose_watcher import asked_watcher_maker
        from vaultsync.daemon.on_demand import OnDemandSync
        from vaultsync.daemon.schedule import Intervals

        settings = self.services.settings
        make = asked_watcher_maker(settings, IgnoreRules(settings.ignore).folder)
        intervals = Intervals(rescan=settings.watch.rescan_seconds)
        return self.services.closing(OnDemandSync(self.ctx, make, intervals))

    def sync_on_demand(self) -> Report:
        """Sync changes since the last call, without derived data; raises as `sync()`."""
        return self.on_demand.sync(lambda request: self.sync(request, derive=False))

    def files(self) -> Iterator[VaultPath]:
        """All files of the vault, because links lead to attachments too."""
        from vaultsync.backends.filesystem.find_files import vault_files

        return vault_files(self.services.settings.root)

    def derive_after(self, report: AnyReport, progress: Progress | None = None) -> AnyReport:
        """Update derived data after a run, if `derive` is set; the report times both."""
        from vaultsync.sync.recovery import release_displaced

        if not self.services.settings.derive or report.dry_run:
            return report
        if not (report.quiet and self.is_derived_current()):
            derived = self.update_derived(progress=progress)
            report = structs.replace(report, seconds=round(report.seconds + derived.seconds, 3))
            release_displaced(self.ctx, self.ctx.archive.displaced_files())
        self.embedding.start()
        return report

    def update_derived(
        self,
        *,
        rebuild: bool = False,
        requested: bool = False,
        approve: Callable[[EmbeddingCost], bool] | None = None,
        progress: Progress | None = None,
    ) -> DerivedReport:
        """Update indexes and tables; requires the lock.

        The vectors are left to the worker, unless only one process at a time can open the store:
        then they are computed here, if `requested` or if the settings embed automatically.
        """
        from vaultsync.api.derived_data import DerivedParts, update_derived

        services = self.services
        local = not services.shares_store and (requested or services.settings.embed_in_background)
        parts = DerivedParts(
            services.note_index,
            services.link_index,
            services.table_inputs,
            services.vector_index if local else None,
            lambda: services.embedder,
        )
        return update_derived(
            self.ctx, parts, rebuild=rebuild, counts=requested, approve=approve, progress=progress
        )

    def is_derived_current(self) -> bool:
        """Whether derived data is up to date."""
        from vaultsync.api.derived_data import is_derived_current

        return is_derived_current(self.ctx)

    def wait_for_derived(self, busy: EngineBusyError, progress: Progress | None) -> bool:
        """Wait until another engine has updated derived data.

        Args:
            busy: the error that another engine has the vault.
            progress: called with the stage, the number of facts in the note index, and the total.

        Returns:
            Whether it has; False if no other engine has the vault any longer.

        Raises:
            EngineBusyError: `busy`, if it makes no progress, as while it is suspended.
        """
        clock, index = self.services.clock, self.services.note_index
        previous, since = "", clock.monotonic()
        while not self.is_derived_current():
            if self.lock.try_lock():
                self.lock.unlock()
                return False
            current = f"{index.version()} {index.count()} {self.ctx.archive.setting('cursor')}"
            if current != previous:
                previous, since = current, clock.monotonic()
            elif clock.monotonic() - since > DERIVE_STALL_SECONDS:
                raise busy.silent(begun=False)
            if progress is not None:
                progress("index", index.count(), self.ctx.store.state().facts)
            clock.sleep(DERIVE_POLL_SECONDS)
        return True

    def make_missing_store(self) -> None:
        """Create an empty store in place of a missing one, for a rebuild."""
        try:
            self.ctx.store.state()
        except StoreUnavailableError:
            self._ctx = structs.replace(self.ctx, store=self.services.open_store(create=True))
            self._writer = None
