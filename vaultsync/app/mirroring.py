"""The mirror: passes, what waits, conflicts, history, undo, proofs.

Each method loads the part of the engine that it calls: a command uses one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vaultsync.app.indexing import Indexing
from vaultsync.errors import InvalidFieldError, VaultsyncError

if TYPE_CHECKING:
    from vaultsync.core.conflict import Conflict
    from vaultsync.engine.report import Check, Progress, Report, Status, Verification
    from vaultsync.ports import HistoryEntry

SOURCES = ("vault", "store")


class Mirroring(Indexing):
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

        Raises:
            EngineBusyError, VaultError, StoreError.
            GuardError: the plan is not plausible; nothing was done.
        """
        from vaultsync.engine.relink import sync_and_relink
        from vaultsync.engine.request import Request

        request = Request(
            dry_run=dry_run,
            allow_scope_moves=allow_scope_moves,
            max_delete=max_delete,
            confirm=confirm,
            actor=self._person(),
        )
        with self._engine() as mirror:
            links = self._derived.links
            report = sync_and_relink(
                mirror, links, request, files=self._files, progress=progress
            )
            return self._derived_from(mirror, report, progress)

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

        Raises:
            NoteMissingError: nothing is at one of the paths.
        """
        from vaultsync.engine.adopt import adopt

        wanted = [self._vault_path(each) for each in paths]
        with self._engine() as mirror:
            report = adopt(
                mirror,
                wanted,
                scope=scope,
                type_name=type,
                dry_run=dry_run,
                actor=self._person(),
                progress=progress,
            )
            return self._derived_from(mirror, report, progress)

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
        from vaultsync.engine.adopt import adopt, note_of_id

        with self._engine() as mirror:
            report = adopt(
                mirror,
                [note_of_id(mirror, id)],
                scope=scope,
                type_name=type,
                actor=self._person(),
            )
            return self._derived_from(mirror, report)

    def status(self) -> Status:
        """What waits and what is wrong; changes nothing."""
        from vaultsync.adapters.daemon_file import DaemonFile
        from vaultsync.engine.status import status

        self._flush()
        holder = self._lock.holder()
        told = DaemonFile(self.settings.state_dir)
        daemon = None if holder == "idle" else told.read()
        return status(self._mirror, engine=holder, daemon=daemon)

    def conflicts(self) -> tuple[Conflict, ...]:
        """The open conflicts, but for those about other agents' private facts."""
        from vaultsync.engine.conflicts import hidden_conflict, visible_conflicts

        found = visible_conflicts(self._mirror, agent=self.agent)
        return tuple(hidden_conflict(self._mirror, each) for each in found)

    def resolve(
        self, conflict_id: str, *, take: str, field: str | None = None
    ) -> Conflict:
        """Settle a conflict, or one field of it, for one side.

        Raises:
            ConflictNotFoundError, InvalidFieldError.
        """
        if take not in SOURCES:
            raise InvalidFieldError("take", take, "`store` or `vault`")
        return self._settle(conflict_id, take, field, None)

    def resolve_by_hand(self, conflict_id: str, *, field: str, text: str) -> Conflict:
        """Settle one field of a conflict by a text made of both versions.

        In a field that is a list, each line is an item.

        Raises:
            ConflictNotFoundError.
            InvalidFieldError: no such field, or it does not take the text.
        """
        return self._settle(conflict_id, "vault", field, text)

    def _settle(
        self, conflict_id: str, take: str, field: str | None, text: str | None
    ) -> Conflict:
        from vaultsync.core.conflict import is_deletion
        from vaultsync.engine.conflicts import (
            Verdict,
            find_conflict,
            hidden_conflict,
            settle,
        )
        from vaultsync.engine.request import Request
        from vaultsync.engine.sync import sync

        with self._engine() as mirror:
            conflict = find_conflict(mirror, conflict_id, agent=self.agent)
            fields = tuple(
                each.field
                for each in conflict.fields
                if text is None or not is_deletion(each)
            )
            if field is not None and field not in fields:
                raise InvalidFieldError("field", field, "one of " + ", ".join(fields))
            verdict = Verdict(conflict, take, (field,) if field else fields, text)
            settled = settle(mirror, verdict, actor=self._person())
            request = Request(
                kind="resolve", named=(conflict.fact_id,), only_named=True
            )
            sync(mirror, request)
            return hidden_conflict(mirror, settled)

    def history(self, id: str) -> Sequence[HistoryEntry]:  # noqa: A002
        """Who changed which field when, from which side; oldest first."""
        from vaultsync.engine import facts as fact_work

        self._flush()
        found = fact_work.history(self._mirror, id, agent=self.agent)
        base = self._mirror.archive.find_base(found[0].fact_id) if found else None
        known, hide = base.fact if base else None, self._mirror.lens.value
        return [
            replace(
                entry,
                before=hide(entry.field, entry.before, known),
                after=hide(entry.field, entry.after, known),
            )
            for entry in map(_readable, found)
        ]

    def undo(self, run: str, *, progress: Progress | None = None) -> Report:
        """Take a run back on both sides.

        Raises:
            RunNotFoundError.
        """
        from vaultsync.engine.undo import undo

        with self._engine() as mirror:
            report = undo(mirror, run, actor=self._person(), progress=progress)
            return self._derived_from(mirror, report, progress)

    def verify(self, *, progress: Progress | None = None) -> Verification:
        """Prove vault = store = base, field by field."""
        from vaultsync.engine.verify import verify

        with self._engine() as mirror:
            found = verify(mirror, progress=progress)
            hide = mirror.lens.value
            return replace(
                found,
                differences=[
                    replace(
                        each,
                        vault=hide(each.field, each.vault),
                        store=hide(each.field, each.store),
                        base=hide(each.field, each.base),
                    )
                    for each in found.differences
                ],
            )

    def rebuild(self, *, source: str, progress: Progress | None = None) -> Report:
        """Rebuild the other side and the base from `vault` or `store`."""
        from vaultsync.engine.rebuild import rebuild

        if source not in SOURCES:
            raise InvalidFieldError("source", source, "`vault` or `store`")
        if source == "vault":
            self._make_store()
        with self._engine() as mirror:
            person = self._person()
            report = rebuild(mirror, source, actor=person, progress=progress)
            return self._derived_from(mirror, report, progress)

    def doctor(self) -> tuple[Check, ...]:
        """Check this machine and this vault."""
        from vaultsync.adapters.machine import machine_checks
        from vaultsync.adapters.watch_limits import watch_checks
        from vaultsync.app.hygiene import hygiene_check
        from vaultsync.app.stray_settings import settings_check
        from vaultsync.engine.report import Check

        settings = self.settings
        found = [
            *machine_checks(settings.root, settings.state_dir),
            *watch_checks(settings.root),
        ]
        checks = [Check(*each) for each in found]
        for name, ask in (
            ("vault", self._mirror.vault.vault_id),
            ("store", self._mirror.store.state),
            ("archive", self._mirror.archive.count_bases),
        ):
            try:
                ask()
                checks.append(Check(name, ok=True, message=f"the {name} answers"))
            except VaultsyncError as error:
                checks.append(
                    Check(name, ok=False, message=error.message, hint=error.hint)
                )
        checks += [Check(*settings_check(settings)), Check(*hygiene_check(settings))]
        holder = self._lock.holder()
        checks.append(Check("engine", ok=True, message=f"the engine is {holder}"))
        return tuple(checks)


def _readable(entry: HistoryEntry) -> HistoryEntry:
    """A note that went is shown by where it was."""
    if entry.field == "note" and isinstance(entry.before, Mapping):
        return replace(entry, before=entry.before.get("path"))
    return entry
