"""Keep a repository's facts and inspectable files equal, and write new facts to both."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import structs

from vaultsync.api.engine import Engine
from vaultsync.api.repo_branches import RepoBranches, RepoHandle, read_state
from vaultsync.backends.repo_files.repo_folder import MEMORY_FILE, RepoFolder
from vaultsync.errors import (
    FactNotFoundError,
    InvalidFieldError,
    RepoFileParseError,
    UsageError,
    VaultsyncError,
)
from vaultsync.facts import service as fact_service
from vaultsync.facts.lookup import find_fact_id
from vaultsync.model.canonical import clean_time, to_microseconds
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.repos.entries import (
    CONVENTION,
    DECISION,
    REPLACES,
    STEP,
    SUMMARY,
    Entry,
    RepoConvention,
    RepoDecision,
    RepoNote,
    StepSummary,
    by_kind,
    place_values,
    recorded,
    summary_values,
    to_entry,
)
from vaultsync.repos.inspectable import (
    JsonEntry,
    JsonMemory,
    MemoryEdits,
    UnknownKeys,
    added_values,
    changed_values,
    kept_lines,
    memory_edits,
    nearest_base,
    read_memory,
    read_summary,
    render_memory,
    unknown_keys,
    with_facts,
)
from vaultsync.repos.repo_identity import SHARED, RepoIdentity
from vaultsync.repos.repository_note import make_repository_note, repository_links
from vaultsync.settings import RepoSettings
from vaultsync.sync.context import SyncContext

_log = logging.getLogger(__name__)
_MOST_ROUNDS = 20
"""Maximum retries of writing `memory.json` if it was saved in the meantime."""
_WRITTEN = "memory.base.json"
EntryT = TypeVar("EntryT", RepoConvention, RepoDecision, RepoNote, StepSummary)


class _Written(msgspec.Struct, frozen=True):
    """The version of `memory.json` that was written last; a crash may leave a newer one."""

    number: int = 0
    is_plain: bool = False
    """Whether it has no unknown keys of other tools."""


class _FoundFile(NamedTuple):
    """`memory.json` as it was found."""

    data: bytes | None
    is_edited: bool
    is_plain: bool
    """Whether it is known to have no unknown keys of other tools."""
    unwritten: int = 0
    """How many of the newest versions may not have been put there because of a crash."""


class RepoFiles:
    """The facts of repositories and their files."""

    def __init__(self, branches: RepoBranches, engine: Engine, settings: RepoSettings) -> None:
        self._branches = branches
        self._engine = engine
        self._settings = settings

    @property
    def _ctx(self) -> SyncContext:
        return self._engine.ctx

    def synced(self, handle: RepoHandle) -> list[Fact]:
        """The facts that apply, after both files were read and written."""
        facts = self._branches.holding(handle)
        if not facts and not handle.folder.exists:
            return facts
        self._branches.record(handle)
        # Without the locks: what is as it should be was not read in the middle of a write.
        file = self._find(handle.folder)
        is_current = file.data == render_memory(facts, self._unknown(file))
        if not is_current or handle.folder.displaced():
            with handle.folder.memory_lock():  # includes earlier writes by others
                facts, file = self._take_all(handle)
                facts = self._project(handle, facts, file)
        if [*handle.folder.summaries()] != self._lines(facts):
            with handle.folder.summaries_lock():
                facts = self._take_lines(handle, self._branches.holding(handle))
                self._put_lines(handle, facts)
        return facts

    def put(
        self,
        handle: RepoHandle,
        values: dict[str, Value],
        entry: type[EntryT],
        *,
        fact_id: str | None = None,
        agent: str | None,
        unscoped: bool,
    ) -> EntryT:
        """Write an entry, completely or not at all.

        `fact_id` is the id of the entry to change, or another name of it; with `unscoped`, it
        applies to every branch. Raises NotFoundError for a name of no such entry, or of several.
        """
        if fact_id is not None:
            fact_id = find_fact_id(self._ctx, fact_id, agent=agent)
        self._branches.record(handle)
        self._branches.facts(handle)  # slow the first time, so do it before taking the lock
        with handle.folder.memory_lock():
            facts, file = self._take_all(handle)
            old = _replaced(facts, values, fact_id)
            before: Fact | None = None
            if old is not None and (fact_id or _is_of(handle, old, unscoped=unscoped)):
                before = fact_service.get(self._ctx, old.id, agent=agent)

            def write(ctx: SyncContext) -> Fact:
                if before is not None:
                    fields = {key: x for key, x in values.items() if key != "type"}
                    return fact_service.update(ctx, before.id, fields, agent=agent)
                links: dict[str, Value] = {REPLACES: [old.id]} if old else {}
                return self._new(ctx, handle, values | links, agent, unscoped=unscoped)

            fact: Fact = self._engine.proposing(agent, write)
            replaced = {fact.id, *recorded(fact).replaces}
            shown: list[Fact] = [x for x in facts if x.id not in replaced]
            try:
                self._project(handle, [*shown, self._ctx.view.redact(fact)], file)
            except BaseException:
                self._undo_write(fact, before)
                raise
        if before is None:
            self._write_note_of(fact, agent)
        else:
            self._engine.update_notes(fact.id, kind="update")
        return _entry_of(entry, self._ctx.view.redact(fact))

    def append(
        self, handle: RepoHandle, values: dict[str, Value], *, agent: str | None
    ) -> StepSummary:
        """Write a summary, completely or not at all."""
        self._branches.record(handle)
        self._branches.facts(handle)
        with handle.folder.summaries_lock():
            facts = self._take_lines(handle, self._branches.holding(handle))

            def write(ctx: SyncContext) -> Fact:
                return self._new(ctx, handle, values, agent)

            fact: Fact = self._engine.proposing(agent, write)
            try:
                self._put_lines(handle, [*facts, self._ctx.view.redact(fact)])
            except BaseException:
                self._undo_write(fact, None)
                raise
        self._write_note_of(fact, agent)
        return _entry_of(StepSummary, self._ctx.view.redact(fact))

    # --- memory.json

    @staticmethod
    def _find(folder: RepoFolder) -> _FoundFile:
        """`memory.json`, and whether it was edited since it was written."""
        data, numbers = folder.memory(), folder.versions()
        last = read_state(folder.state(_WRITTEN), _Written())
        unwritten = sum(number > last.number for number in numbers)
        # After a crash, the version before the newest may be there still. An older one that is
        # there was put there on purpose.
        is_ours = any(data == folder.version(x) for x in numbers[-1 - unwritten :])
        is_plain = is_ours and numbers[-1:] == [last.number] and last.is_plain
        return _FoundFile(data, not is_ours, is_plain, unwritten)

    def _take_all(self, handle: RepoHandle) -> tuple[list[Fact], _FoundFile]:
        """The facts that apply, with all edits of `memory.json`, and the file as it was found.

        Versions that were saved, and displaced by later ones or by a write that crashed, come
        first. One that cannot be read stays beside the file.
        """
        folder, facts = handle.folder, self._branches.holding(handle)
        versions = _versions(folder)
        for data in folder.displaced():
            saved = _FoundFile(data, data not in versions, is_plain=False)
            try:
                # The oldest last: who saved it may know nothing of the later ones.
                facts = self._take_edits(handle, facts, saved, *versions[1:], *versions[:1])
            except RepoFileParseError as error:
                _log.warning("what a write displaced stays beside the file: %s", error.message)
            else:
                folder.drop_displaced(data)
        file = self._find(folder)
        return self._take_edits(handle, facts, file), file

    def _take_edits(
        self, handle: RepoHandle, facts: Sequence[Fact], file: _FoundFile, *bases: bytes
    ) -> list[Fact]:
        """Apply edits of `memory.json`; `bases` may have been edited, by default all kept ones."""
        if not file.is_edited or file.data is None:
            return [*facts]
        name = str(handle.folder.path / MEMORY_FILE)
        if not bases:
            bases = _versions(handle.folder)
            if (put := len(bases) - file.unwritten) > 0:  # the last of these was edited
                bases = (*bases[: put - 1], *bases[put:], bases[put - 1])
            if file.data in bases:
                bases = bases[-1:]
        entries = read_memory(file.data, name)
        by_id = {fact.id: fact for fact in facts}
        if not bases:  # the order is unknown, so entries of known facts are not edits
            entries = {
                kind: [x for x in listed if x.get("id") not in by_id]
                for kind, listed in entries.items()
            }
        base = with_facts(
            nearest_base(bases, file.data, name),
            entries,
            {fact.id: fact.type for fact in facts},
            (read_memory(each, name) for each in _versions(handle.folder)),
        )
        edits = memory_edits(base, entries)
        if edits.is_emptied:
            _log.warning("%s was emptied: no fact is deleted, and it is written again", name)
        try:
            self._apply(handle, edits, by_id, base)
        except UsageError as error:
            raise RepoFileParseError(name, error.message) from error
        return [*by_id.values()]

    def _apply(
        self, handle: RepoHandle, edits: MemoryEdits, by_id: dict[str, Fact], base: JsonMemory
    ) -> None:
        """Write the edits of `memory.json` since `base` to the store.

        New entries are written last, and together: if one is refused, the next read of the file
        finds all of them again, as it does after a crash.
        """
        new, is_missing = [], False
        shown = {str(each.get("id")) for listed in base.values() for each in listed}
        written = Counter(_without_id(x) for x in by_id.values() if x.id not in shown)
        changes, retyped = self._changes(edits, by_id)
        for kind, entry in (*edits.added, *retyped):
            values, is_missing = self._with_link(self._ctx, handle, added_values(kind, entry))
            fact = fact_service.new_fact(self._ctx, values, agent=None)
            key = _without_id(self._ctx.view.redact(fact))
            if written[key]:  # by a call that crashed before it wrote the file
                written[key] -= 1
            else:
                new.append(fact)
        for fact_id, values in changes.items():
            if values:
                changed = fact_service.update(self._ctx, fact_id, values, agent=None)
                if fact_id in by_id:
                    by_id[fact_id] = self._ctx.view.redact(changed)
                self._engine.update_notes(fact_id, kind="update")
        for fact_id in edits.removed:
            if by_id.pop(fact_id, None) is not None:
                with suppress(FactNotFoundError):
                    fact_service.forget(self._ctx, fact_id, agent=None)
                self._engine.update_notes(fact_id, kind="update")
        for fact in filter(None, fact_service.write_new(self._ctx, new, agent=None)):
            by_id[fact.id] = self._ctx.view.redact(fact)
            self._write_note_of(fact, None)
        if is_missing:
            self._write_repository_note(handle.identity)

    def _changes(
        self, edits: MemoryEdits, by_id: dict[str, Fact]
    ) -> tuple[dict[str, dict[str, Value]], list[tuple[str, JsonEntry]]]:
        """The new values of facts, by id, and edited entries whose facts are no such entries."""
        changes, retyped = {}, []
        for kind, before, after in edits.changed:
            fact_id = str(after.get("id"))
            current = by_id.get(fact_id) or self._find_again(fact_id, by_id)
            if current is None or current.type != kind:
                retyped.append((kind, after))
            else:
                changes[fact_id] = changed_values(current, kind, before, after)
        return changes, retyped

    def _find_again(self, fact_id: str, by_id: dict[str, Fact]) -> Fact | None:
        """The fact of an edited entry that is not listed any more; None if it is purged.

        An edit takes precedence over a deletion, so a deleted fact is restored, and listed again.
        """
        store, is_deleted = self._ctx.store, self._ctx.store.tombstone(fact_id) is not None
        if is_deleted:
            fact_service.restore(self._ctx, fact_id, agent=None)
            self._engine.update_notes(fact_id, kind="restore")
        found = store.find_many([fact_id]).get(fact_id)
        fact = None if found is None else self._ctx.view.redact(found)
        if is_deleted and fact is not None:
            by_id[fact_id] = fact
        return fact

    def _project(self, handle: RepoHandle, facts: Sequence[Fact], file: _FoundFile) -> list[Fact]:
        """Write `memory.json`; returns the facts, including edits saved meanwhile."""
        folder, current = handle.folder, [*facts]
        for _ in range(_MOST_ROUNDS):
            unknown = self._unknown(file)
            data = render_memory(current, unknown)
            newest = max(folder.versions(), default=0)
            number = folder.keep_version(data)
            if data == file.data or folder.put_memory(data, file.data):
                self._branches.keep(folder, _WRITTEN, _Written(number, unknown is None))
                break
            if number > newest:  # it was never in the file, so it was not edited
                folder.drop_version(number)
            bases = *_versions(folder), file.data or b"{}"
            file = _FoundFile(folder.memory(), is_edited=True, is_plain=False)
            current = self._take_edits(handle, current, file, *bases)
        return current

    def _unknown(self, file: _FoundFile) -> UnknownKeys | None:
        return None if file.is_plain else unknown_keys(file.data, self._ctx.view.redact_text)

    # --- summaries.jsonl

    def _lines(self, facts: Iterable[Fact]) -> list[bytes]:
        steps = by_kind(each for each in facts if each.type == SUMMARY)[SUMMARY]
        return kept_lines(
            (x for x in map(to_entry, reversed(steps)) if isinstance(x, StepSummary)),
            entries=self._settings.summaries_max_entries,
            size=self._settings.summaries_max_bytes,
        )

    def _take_lines(self, handle: RepoHandle, facts: Sequence[Fact]) -> list[Fact]:
        """Import the lines that other programs appended to `summaries.jsonl`."""
        entries = [*facts]
        lines = [x for x in map(read_summary, handle.folder.summaries()) if x and not x.id]
        stored = {_step_key(fact) for fact in facts if fact.type == SUMMARY} if lines else set()
        for summary in lines:
            try:
                values = summary_values(
                    summary.run_id, summary.step_id, summary.summary, summary.tags, ()
                )
            except InvalidFieldError as error:
                _log.warning("a line of summaries.jsonl is no summary: %s", error)
                continue
            draft = make_fact({**values, "id": self._ctx.clock.new_id()})
            key = _step_key(self._ctx.view.redact(draft))
            if key in stored:  # by a call that crashed before it wrote the file
                continue
            values |= {"source": "tool", "createdAt": self._time_of(summary)}
            fact = self._new(self._ctx, handle, values, None)
            stored.add(key)
            entries.append(self._ctx.view.redact(fact))
            self._write_note_of(fact, None)
        return entries

    def _time_of(self, summary: StepSummary) -> str:
        """The time that a line states, unless it is invalid or in the future; else the present."""
        now = self._ctx.today()
        try:
            return min(clean_time("timestamp", summary.timestamp), now, key=to_microseconds)
        except InvalidFieldError:
            return now

    def _put_lines(self, handle: RepoHandle, facts: Sequence[Fact]) -> None:
        lines, now = self._lines(facts), [*handle.folder.summaries()]
        if lines == now:
            return
        if lines[:-1] == now:
            handle.folder.append_summary(lines[-1])
        else:
            handle.folder.put_summaries(lines)

    # --- facts

    def _new(
        self,
        ctx: SyncContext,
        handle: RepoHandle,
        values: dict[str, Value],
        agent: str | None,
        *,
        unscoped: bool = False,
    ) -> Fact:
        named, is_missing = self._with_link(ctx, handle, values, unscoped=unscoped)
        fact = fact_service.remember(ctx, named, agent=agent)
        if is_missing and ctx is self._ctx:
            self._write_repository_note(handle.identity)
        return fact

    @staticmethod
    def _with_link(
        ctx: SyncContext, handle: RepoHandle, values: Mapping[str, Value], *, unscoped: bool = False
    ) -> tuple[dict[str, Value], bool]:
        """The values of an entry with links to its repository, and whether that has no note."""
        identity = handle.identity
        unscoped = unscoped or identity.branch_scope == SHARED
        links, is_missing = repository_links(ctx, identity)
        return {**values, **place_values(identity, unscoped=unscoped), **links}, is_missing

    def _write_repository_note(self, identity: RepoIdentity) -> None:
        if note := make_repository_note(self._ctx, identity):
            self._write_note_of(note, None)

    def _undo_write(self, fact: Fact, before: Fact | None) -> None:
        """Undo a write to the store whose file could not be written."""
        try:
            if before is None:
                fact_service.forget(self._ctx, fact.id, agent=None, expect=fact.revision)
            else:
                keys = {"title", "content", "tags", "source", *before.own, *fact.own}
                values = {key: before.plain(key) for key in keys}
                fact_service.update(self._ctx, fact.id, values, agent=None, expect=fact.revision)
        except VaultsyncError as error:
            _log.warning("what was written of %s stays: %s", fact.id, error)

    def _write_note_of(self, fact: Fact, agent: str | None) -> None:
        self._engine.write_note(fact, actor=agent or "person")


def _versions(folder: RepoFolder) -> tuple[bytes, ...]:
    """The stored versions of `memory.json`, newest last."""
    return tuple(filter(None, map(folder.version, folder.versions())))


def _replaced(facts: Sequence[Fact], values: dict[str, Value], fact_id: str | None) -> Fact | None:
    """The existing entry that a new one replaces."""
    if fact_id is not None:
        fact = next((x for x in facts if x.id == fact_id), None)
        if fact is None or fact.type != values["type"]:
            raise FactNotFoundError(fact_id)
        return fact
    if values["type"] not in (CONVENTION, DECISION):
        return None
    title = str(values["title"]).casefold()
    same = (x for x in facts if x.type == values["type"] and x.title.casefold() == title)
    return next(same, None)


def _without_id(fact: Fact) -> Entry:
    """What the entry of a fact says."""
    entry = to_entry(fact)
    if isinstance(entry, StepSummary):
        return structs.replace(entry, id="", timestamp="")
    return structs.replace(entry, id="", created_at="", updated_at="")


def _step_key(fact: Fact) -> tuple[object, ...]:
    """What tells the summaries of steps apart."""
    return fact.session_id, fact.value(STEP), fact.content


def _is_of(handle: RepoHandle, fact: Fact, *, unscoped: bool) -> bool:
    """Whether a fact was written on this branch, so that it may change for all branches."""
    at = recorded(fact)
    if at.commit is None or unscoped:
        return at.commit is None
    identity = handle.identity
    return at.commit == identity.commit if identity.branch is None else at.branch == identity.branch


def _entry_of(kind: type[EntryT], fact: Fact) -> EntryT:
    entry = to_entry(fact)
    assert isinstance(entry, kind)  # noqa: S101 - the type of the fact says so
    return entry
