"""The mirror: passes, what waits, conflicts, history, undo, proofs.

Each method loads the part of the engine that it calls: a command uses one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import ValidationError, convert, structs

from vaultsync.api.daemon_client import ask_running_engine
from vaultsync.api.indexing import IndexMethods
from vaultsync.errors import EngineBusyError, InvalidFieldError, VaultsyncError

if TYPE_CHECKING:
    from vaultsync.notes.conflict_note import Conflict
    from vaultsync.storage.archive import HistoryEntry
    from vaultsync.sync.report import DoctorCheck, Progress, Report, Status, Verification

SOURCES = ("vault", "store")
_BY_ITSELF = "it does this by itself, and `vaultsync status` shows how far it is"
_NO_PATHS = "say `vaultsync adopt` without a PATH, adopt it in Obsidian, or stop it first"


class SyncMethods(IndexMethods):
    """What keeps both sides equal, and all that is derived from them."""

    def sync(
        self,
        *,
        dry_run: bool = False,
        allow_scope_moves: bool = False,
        max_delete: int | None = None,
        confirm: str | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """One pass over both sides.

        While a daemon has the vault, it looks for itself; what only a person can say, or
        wants to see, it is asked to do.

        Raises:
            EngineBusyError, VaultError, StoreError.
            GuardError: the plan is not plausible; nothing was done.
        """
        from vaultsync.operations.relink import sync_and_relink
        from vaultsync.sync.sync_request import SyncRequest

        said: dict[str, Any] = {
            "dry_run": dry_run,
            "allow_scope_moves": allow_scope_moves,
            "max_delete": max_delete,
            "confirm": confirm,
        }
        request = SyncRequest(**said, actor=self._person())
        try:
            with self._engine() as ctx:
                links = self._derived.links
                report = sync_and_relink(ctx, links, request, files=self._files, progress=progress)
                return self._derived_from(ctx, report, progress)
        except EngineBusyError as busy:
            if request == SyncRequest(actor=request.actor):
                raise busy.watched(_BY_ITSELF) from None
            return self._report_of_daemon("/v1/sync", said, busy)

    def adopt(
        self,
        paths: Sequence[str] = (),
        *,
        scope: str | None = None,
        type: str | None = None,  # noqa: A002 - the contract's word
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Existing notes become facts; an id is all that is added to them.

        While a daemon has the vault, it is asked to, for all notes: its bridge takes no
        paths.

        Raises:
            NoteMissingError: nothing is at one of the paths.
            EngineBusyError: who has the vault cannot be asked.
        """
        from vaultsync.operations.adopt import adopt_notes

        wanted = [self._vault_path(each) for each in paths]
        try:
            with self._engine(watched=_NO_PATHS) as ctx:
                report = adopt_notes(
                    ctx,
                    wanted,
                    scope=scope,
                    type_name=type,
                    dry_run=dry_run,
                    actor=self._person(),
                    progress=progress,
                )
                return self._derived_from(ctx, report, progress)
        except EngineBusyError as busy:
            if any(wanted):
                raise
            said = {"scope": scope, "type": type, "dry_run": dry_run}
            return self._report_of_daemon("/v1/adopt", said, busy)

    def adopt_id(
        self,
        id: str,  # noqa: A002 - the contract's word
        *,
        scope: str | None = None,
        type: str | None = None,  # noqa: A002 - the contract's word
    ) -> Report:
        """The note that bears an id becomes the fact of that id, wherever it lies.

        Raises:
            IdNotInVaultError: no note bears it.
            InvalidIdError, InvalidScopeError, UnknownTypeError.
        """
        from vaultsync.operations.adopt import adopt_notes, find_note_with_id

        with self._engine() as ctx:
            report = adopt_notes(
                ctx, [find_note_with_id(ctx, id)], scope=scope, type_name=type, actor=self._person()
            )
            return self._derived_from(ctx, report)

    def status(self) -> Status:
        """What waits and what is wrong; changes nothing."""
        from vaultsync.backends.state.daemon_file import DaemonFile
        from vaultsync.sync.report import DaemonState
        from vaultsync.sync.status import read_status

        self._flush()
        holder = self._lock.holder()
        told = DaemonFile(self.settings.state_dir)
        said = None if holder == "idle" else told.read()
        try:
            daemon = None if said is None else convert(said, DaemonState)
        except ValidationError:
            daemon = None  # it is of another version
        return read_status(self._ctx, engine=holder, daemon=daemon)

    def conflicts(self) -> tuple[Conflict, ...]:
        """The open conflicts, but for those about other agents' private facts."""
        from vaultsync.facts.service import visible_conflicts
        from vaultsync.sync.conflicts import redact_conflict

        found = visible_conflicts(self._ctx, agent=self.agent)
        return tuple(redact_conflict(self._ctx, each) for each in found)

    def resolve(
        self, conflict_id: str, *, take: str, field: str | None = None, agent: str | None = None
    ) -> Conflict:
        """Settle a conflict, or one field of it, for one side.

        While a daemon has the vault, it is asked to.

        Raises:
            ConflictNotFoundError, InvalidFieldError.
            EngineBusyError: who has the vault cannot be asked.
        """
        if take not in SOURCES:
            raise InvalidFieldError("take", take, "`store` or `vault`")
        agent = agent or self.agent
        try:
            return self._settle(conflict_id, take, field, None, agent)
        except EngineBusyError as busy:
            said = {"take": take, "field": field, "agent": agent}
            return self._settled_by_daemon(conflict_id, said, agent, busy)

    def resolve_by_hand(
        self, conflict_id: str, *, field: str, text: str, agent: str | None = None
    ) -> Conflict:
        """Settle one field of a conflict by a text made of both versions.

        In a field that is a list, each line is an item.
        While a daemon has the vault, it is asked to.

        Raises:
            ConflictNotFoundError.
            InvalidFieldError: no such field, or it does not take the text.
            EngineBusyError: who has the vault cannot be asked.
        """
        agent = agent or self.agent
        try:
            return self._settle(conflict_id, "vault", field, text, agent)
        except EngineBusyError as busy:
            said = {"field": field, "text": text, "agent": agent}
            return self._settled_by_daemon(conflict_id, said, agent, busy)

    def _settled_by_daemon(
        self, conflict_id: str, said: Mapping[str, object], agent: str | None, busy: EngineBusyError
    ) -> Conflict:
        from vaultsync.notes.conflict_note import Conflict
        from vaultsync.sync.report import ResolveResult

        path = f"/v1/conflicts/{quote(conflict_id, safe='')}/resolve"
        done = ask_running_engine(self.settings, path, said, agent=agent, busy=busy)
        shown = convert(done, ResolveResult).resolved
        return Conflict(**structs.asdict(shown), actor="", at="", run="")

    def _report_of_daemon(
        self, path: str, said: Mapping[str, object], busy: EngineBusyError
    ) -> Report:
        from vaultsync.sync.report import Report

        said = ask_running_engine(self.settings, path, said, agent=self.agent, busy=busy)
        return convert(said, Report)

    def _settle(
        self, conflict_id: str, take: str, field: str | None, text: str | None, agent: str | None
    ) -> Conflict:
        from vaultsync.facts.service import find_conflict
        from vaultsync.notes.conflict_note import is_deletion
        from vaultsync.sync.conflicts import ConflictResolution, redact_conflict, resolve_conflict
        from vaultsync.sync.run import sync_once
        from vaultsync.sync.sync_request import SyncRequest

        with self._engine() as ctx:
            conflict = find_conflict(ctx, conflict_id, agent=agent)
            fields = tuple(
                each.field for each in conflict.fields if text is None or not is_deletion(each)
            )
            if field is not None and field not in fields:
                raise InvalidFieldError("field", field, "one of " + ", ".join(fields))
            resolution = ConflictResolution(conflict, take, (field,) if field else fields, text)
            settled = resolve_conflict(ctx, resolution, actor=agent or "person")
            request = SyncRequest.for_facts([conflict.fact_id], "resolve")
            sync_once(ctx, request)
            return redact_conflict(ctx, settled)

    def history(self, id: str) -> Sequence[HistoryEntry]:  # noqa: A002
        """Who changed which field when, from which side; oldest first."""
        from vaultsync.facts import service as fact_work

        self._flush()
        return fact_work.history(self._ctx, id, agent=self.agent)

    def undo(self, run: str, *, progress: Progress | None = None) -> Report:
        """Take a run back on both sides; while a daemon has the vault, it is asked to.

        Raises:
            RunNotFoundError.
            EngineBusyError: who has the vault cannot be asked.
        """
        from vaultsync.operations.undo import undo_run

        try:
            with self._engine() as ctx:
                report = undo_run(ctx, run, actor=self._person(), progress=progress)
                return self._derived_from(ctx, report, progress)
        except EngineBusyError as busy:
            path = f"/v1/runs/{quote(run, safe='')}/undo"
            return self._report_of_daemon(path, {}, busy)

    def verify(self, *, progress: Progress | None = None) -> Verification:
        """Prove vault = store = base, field by field.

        While a daemon has the vault, it is asked to.

        Raises:
            EngineBusyError: who has the vault cannot be asked.
        """
        from vaultsync.operations.verify import verify_all
        from vaultsync.sync.report import Verification

        try:
            with self._engine() as ctx:
                return verify_all(ctx, progress=progress)
        except EngineBusyError as busy:
            settings, agent = self.settings, self.agent
            said = ask_running_engine(settings, "/v1/verify", None, agent=agent, busy=busy)
            return convert(said, Verification)

    def rebuild(self, *, source: str, progress: Progress | None = None) -> Report:
        """Rebuild the other side and the base from `vault` or `store`.

        Raises:
            EngineBusyError: another engine has this vault; nothing was done.
        """
        from vaultsync.operations.rebuild import rebuild

        if source not in SOURCES:
            raise InvalidFieldError("source", source, "`vault` or `store`")
        with self._lock:
            if source == "vault":
                self._make_store()
            with self._engine() as ctx:
                person = self._person()
                report = rebuild(ctx, source, actor=person, progress=progress)
                return self._derived_from(ctx, report, progress)

    def doctor(self) -> tuple[DoctorCheck, ...]:
        """Check this machine and this vault."""
        from vaultsync.api.derived import embedder_check, unknown_settings_check
        from vaultsync.api.privacy import redaction_check
        from vaultsync.backends.system.host_checks import machine_checks
        from vaultsync.backends.watchers.watch_checks import watch_checks
        from vaultsync.sync.report import DoctorCheck

        settings = self.settings
        found = [*machine_checks(settings.root, settings.state_dir), *watch_checks(settings.root)]
        checks = [DoctorCheck(*each) for each in found]
        for name, ask in (
            ("vault", self._ctx.vault.vault_id),
            ("store", self._ctx.store.state),
            ("archive", self._ctx.archive.count_bases),
        ):
            try:
                ask()
                checks.append(DoctorCheck(name, ok=True, message=f"the {name} answers"))
            except VaultsyncError as error:
                checks.append(DoctorCheck(name, ok=False, message=error.message, hint=error.hint))
        checks += [
            DoctorCheck(*unknown_settings_check(settings)),
            DoctorCheck(*redaction_check(settings)),
        ]
        checks.append(DoctorCheck(*embedder_check(self._derived)))
        holder = self._lock.holder()
        checks.append(DoctorCheck("engine", ok=True, message=f"the engine is {holder}"))
        return tuple(checks)
