"""The Python API: each method is one call into the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from vaultsync.adapters.machine import machine_checks
from vaultsync.app.session import Session
from vaultsync.core.conflict import Conflict
from vaultsync.core.fact import Fact
from vaultsync.core.fields import Value
from vaultsync.engine import facts as fact_work
from vaultsync.engine.adopt import adopt
from vaultsync.engine.conflicts import (
    Verdict,
    find_conflict,
    settle,
    visible_conflicts,
)
from vaultsync.engine.facts import Forgotten
from vaultsync.engine.listing import Page, select
from vaultsync.engine.rebuild import rebuild
from vaultsync.engine.report import Check, Progress, Report, Status, Verification
from vaultsync.engine.request import Request
from vaultsync.engine.status import status
from vaultsync.engine.sync import sync
from vaultsync.engine.transfer import export, import_lines
from vaultsync.engine.undo import undo
from vaultsync.engine.verify import verify
from vaultsync.errors import (
    InvalidFieldError,
    VaultsyncError,
)
from vaultsync.ports import HistoryEntry

SOURCES = ("vault", "store")


class Memory(Session):
    """The memory that people and agents share: facts in a store, notes in a vault.

    To be used as a context manager, or closed: what was remembered is in the store and
    visible as a note at once, but the last bookkeeping happens in `close()`.
    """

    # ------------------------------------------------------------------------ facts

    def remember(
        self,
        text: str,
        *,
        type: str | None = None,  # noqa: A002 - the contract's word
        title: str | None = None,
        scope: str | None = None,
        priority: int | None = None,
        tags: Sequence[str] = (),
        entities: Sequence[str] = (),
        fields: Mapping[str, Value] | None = None,
        context: str | None = None,
        agent: str | None = None,
        id: str | None = None,  # noqa: A002 - the contract's word
    ) -> Fact:
        """Write a fact to the store and its note to the vault.

        The returned fact has a `path` when its note is there already; while another
        engine has the vault, that engine writes it.

        Raises:
            UsageError: a value that its field does not take.
            RevisionMismatchError: the id is taken.
        """
        kind = type or self._mirror.policy.default_type
        own = {
            fact_work.field_key(key, kind): value
            for key, value in (fields or {}).items()
        }
        values: dict[str, Value] = {
            "content": text,
            "type": kind,
            "title": title,
            "context": context,
            "scope": scope,
            "priority": priority,
            "tags": list(tags),
            "entities": list(entities),
            "id": id,
            **own,
        }
        who = agent or self.agent
        fact = fact_work.remember(self._mirror, values, agent=who)
        return self._note(fact, who)

    def get(self, id: str) -> Fact:  # noqa: A002 - the contract's word
        """One fact.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        self._flush()
        return fact_work.get(self._mirror, id, agent=self.agent)

    def list(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the contract's word
        scope: str | None = None,
        status: str | None = None,
        tag: str | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> Page:
        """Facts by id, a page at a time."""
        self._flush()
        return select(
            self._mirror,
            agent=self.agent,
            type_name=type,
            scope=scope,
            status=status,
            tag=tag,
            limit=limit,
            after=after,
        )

    def update(
        self,
        id: str,  # noqa: A002 - the contract's word
        *,
        content: str | None = None,
        set: Mapping[str, Value] | None = None,  # noqa: A002 - the contract's word
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        expect: str | None = None,
        agent: str | None = None,
    ) -> Fact:
        """Change a fact in the store; its note follows.

        Raises:
            FactNotFoundError, InvalidFieldError, UnknownTypeError.
            RevisionMismatchError: the fact is not at `expect`.
        """
        self._flush()
        kind = ""
        if set:
            kind = fact_work.get(self._mirror, id, agent=agent or self.agent).type
        values = {fact_work.field_key(k, kind): v for k, v in (set or {}).items()}
        if content is not None:
            values["content"] = content
        fact = fact_work.update(
            self._mirror,
            id,
            values,
            agent=agent or self.agent,
            add_tags=add_tags,
            remove_tags=remove_tags,
            expect=expect,
        )
        self._follow(fact.id)
        with suppress(VaultsyncError):
            # As it stands now: a person may have edited it at the same moment.
            return fact_work.get(self._mirror, fact.id, agent=None)
        return self._with_path(fact)

    def supersede(
        self,
        id: str,  # noqa: A002 - the contract's word
        text: str,
        *,
        agent: str | None = None,
    ) -> Fact:
        """A new fact that replaces an older one, both linked."""
        self._flush()
        fresh = fact_work.supersede(self._mirror, id, text, agent=agent or self.agent)
        self._follow(fresh.id, fresh.supersedes_id or "")
        return self._with_path(fresh)

    def forget(self, id: str, *, agent: str | None = None) -> Forgotten:  # noqa: A002
        """Delete a fact and its note; `restore` brings both back."""
        self._flush()
        done = fact_work.forget(self._mirror, id, agent=agent or self.agent)
        self._follow(done.id)
        return done

    def restore(self, id: str) -> Forgotten:  # noqa: A002 - the contract's word
        """Bring back a deleted fact and its note as it was."""
        self._flush()
        done = fact_work.restore(self._mirror, id, agent=self.agent)
        self._follow(done.id)
        return done

    def export(self, write: Callable[[str], object]) -> int:
        """Give every fact to `write`, a line of JSON each; returns how many."""
        return export(self._mirror, write, agent=self.agent)

    def import_(self, lines: Iterable[str]) -> int:
        """Take facts from lines of JSON; all or, when one is bad, none.

        Raises:
            ImportLineError: names the bad line.
        """
        return import_lines(self._mirror, lines, agent=self.agent)

    # ----------------------------------------------------------------------- mirror

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
        request = Request(
            dry_run=dry_run,
            allow_scope_moves=allow_scope_moves,
            max_delete=max_delete,
            confirm=confirm,
            actor=self._person(),
        )
        with self._engine() as mirror:
            return sync(mirror, request, progress=progress)

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
        wanted = [self._vault_path(each) for each in paths]
        with self._engine() as mirror:
            return adopt(
                mirror,
                wanted,
                scope=scope,
                type_name=type,
                dry_run=dry_run,
                actor=self._person(),
                progress=progress,
            )

    def status(self) -> Status:
        """What waits and what is wrong; changes nothing."""
        self._flush()
        return status(self._mirror, engine=self._lock.holder())

    def conflicts(self) -> tuple[Conflict, ...]:
        """The open conflicts, but for those about other agents' private facts."""
        return tuple(visible_conflicts(self._mirror, agent=self.agent))

    def resolve(
        self, conflict_id: str, *, take: str, field: str | None = None
    ) -> Conflict:
        """Settle a conflict, or one field of it, for one side.

        Raises:
            ConflictNotFoundError, InvalidFieldError.
        """
        if take not in SOURCES:
            raise InvalidFieldError("take", take, "`store` or `vault`")
        with self._engine() as mirror:
            conflict = find_conflict(mirror, conflict_id, agent=self.agent)
            fields = tuple(each.field for each in conflict.fields)
            if field is not None and field not in fields:
                raise InvalidFieldError("field", field, "one of " + ", ".join(fields))
            verdict = Verdict(conflict, take, (field,) if field else fields)
            settled = settle(mirror, verdict, actor=self._person())
            request = Request(
                kind="resolve", named=(conflict.fact_id,), only_named=True
            )
            sync(mirror, request)
        return settled

    def history(self, id: str) -> Sequence[HistoryEntry]:  # noqa: A002
        """Who changed which field when, from which side; oldest first."""
        self._flush()
        found = fact_work.history(self._mirror, id, agent=self.agent)
        return [_readable(entry) for entry in found]

    def undo(self, run: str, *, progress: Progress | None = None) -> Report:
        """Take a run back on both sides.

        Raises:
            RunNotFoundError.
        """
        with self._engine() as mirror:
            return undo(mirror, run, actor=self._person(), progress=progress)

    def verify(self, *, progress: Progress | None = None) -> Verification:
        """Prove vault = store = base, field by field."""
        with self._engine() as mirror:
            return verify(mirror, progress=progress)

    def rebuild(self, *, source: str, progress: Progress | None = None) -> Report:
        """Rebuild the other side and the base from `vault` or `store`."""
        if source not in SOURCES:
            raise InvalidFieldError("source", source, "`vault` or `store`")
        if source == "vault":
            self._make_store()
        with self._engine() as mirror:
            return rebuild(mirror, source, actor=self._person(), progress=progress)

    def doctor(self) -> tuple[Check, ...]:
        """Check this machine and this vault."""
        settings = self.settings
        found = machine_checks(settings.root, settings.state_dir)
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
        holder = self._lock.holder()
        checks.append(Check("engine", ok=True, message=f"the engine is {holder}"))
        return tuple(checks)


def _readable(entry: HistoryEntry) -> HistoryEntry:
    """A note that went is shown by where it was."""
    if entry.field == "note" and isinstance(entry.before, Mapping):
        return replace(entry, before=entry.before.get("path"))
    return entry
