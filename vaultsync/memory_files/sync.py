"""One memory file -> its facts: read, matched, planned, written, kept in mind.

The facts of a memory file, written to the store as planned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from msgspec import structs

from vaultsync.errors import MemoryFileMissingError, RevisionMismatchError, ScopeDeniedError
from vaultsync.memory_files.plan import (
    FileMetadataValues,
    LastRead,
    SectionAction,
    SectionStep,
    plan_sections,
    type_of,
)
from vaultsync.memory_files.ports import MemoryFile, MetadataReader, WriteQueue
from vaultsync.memory_files.read import MemoryFileContent, memory_file_notice, read_memory
from vaultsync.memory_files.report import FileResult, SectionResult, counts_of
from vaultsync.memory_files.sections import MemorySection, section_id
from vaultsync.memory_files.state import (
    SOURCE_PREFIX,
    FileState,
    FolderState,
    last_read,
    last_read_from_fact,
    read_states,
    section_state,
    state_key,
    write_states,
)
from vaultsync.memory_files.write_queue import LOCK_TIMEOUT, drain_write_queue
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.model.scope import can_see, check_scope, private_scope
from vaultsync.storage.archive import Notice
from vaultsync.storage.feed_cursor import make_version
from vaultsync.storage.store import RevisionMismatch, StoreState, StoreWrite
from vaultsync.sync.context import SyncContext

MEMORY_FILE_ACTOR = "memory-file"
"""Who writes these facts, in the feed and in the history."""
DETACHED_SOURCE = "memory-file"
"""The `source` of a fact that was a file's and stays without it."""
MEMORY_IMPORTANCE = 0.8
MEMORY_CONFIDENCE = 1.0
"""Of what a person keeps in such a file (seed 000)."""
_BATCH = 100
"""Facts of one write (seed 000)."""


@dataclass(frozen=True, slots=True)
class MemoryFileOwner:
    """Whose facts those of a file are."""

    agent: str | None
    source: str
    scope: str


def write_facts(
    ctx: SyncContext,
    steps: Sequence[SectionStep],
    sections: Sequence[MemorySection],
    facts: Mapping[str, Fact],
    owner: MemoryFileOwner,
) -> list[str] | None:
    """The ids of the steps' facts; None when others wrote to one of them meanwhile.

    What was written until then is not written again when it is planned anew.
    """
    work = _FactWriter(ctx, facts, owner)
    ids = [work.prepare(step, sections) for step in steps]
    return ids if work.write() else None


class _FactWriter:
    def __init__(self, ctx: SyncContext, facts: Mapping[str, Fact], owner: MemoryFileOwner) -> None:
        self._store = ctx.store
        self._at = ctx.today()
        self._facts = facts
        self._owner = owner
        self._used = set(facts)
        self._alive = set(facts)
        self._equal: Counter[str] = Counter()
        self._writes: list[StoreWrite] = []

    def prepare(self, step: SectionStep, sections: Sequence[MemorySection]) -> str:
        """Note down what to write for a step; returns the fact's id."""
        if step.do is SectionAction.CREATE and step.section is not None:
            if not step.fact_id:
                return self._create(sections[step.section].hash, step.values)
            self._revive(step.fact_id, step.values)
        elif step.do is SectionAction.UPDATE:
            self._change(self._facts[step.fact_id], step.values)
        elif step.do is SectionAction.DETACH:
            self._change(self._facts[step.fact_id], {"source": DETACHED_SOURCE})
        elif step.do is SectionAction.FORGET:
            revision = self._facts[step.fact_id].revision
            self._writes.append(StoreWrite(step.fact_id, None, revision, MEMORY_FILE_ACTOR))
        return step.fact_id

    def write(self) -> bool:
        """Write it all; False when something of it was refused."""
        for start in range(0, len(self._writes), _BATCH):
            done = self._store.write(self._writes[start : start + _BATCH])
            if any(isinstance(each, RevisionMismatch) for each in done):
                return False
        return True

    def _create(self, digest: str, values: Mapping[str, Value]) -> str:
        """A new fact under the first free id of its hash."""
        while True:
            owner = self._owner
            number = self._equal[digest]
            self._equal[digest] += 1
            fact_id = section_id(owner.agent, owner.source, digest, number)
            if fact_id in self._used:
                continue
            there = self._store.find_many([fact_id]).get(fact_id)
            if there is None:
                self._revive(fact_id, values)
            elif (there.source, there.agent_id) == (owner.source, owner.agent):
                # A crash came before the state was kept.
                self._alive.add(fact_id)
                self._change(there, values)
            else:
                continue
            self._used.add(fact_id)
            return fact_id

    def _revive(self, fact_id: str, values: Mapping[str, Value]) -> None:
        """A new fact, or one that was deleted and is back."""
        buried = self._store.tombstone(fact_id)
        if buried is None:
            self._writes.append(
                StoreWrite(fact_id, self._new(fact_id, values), None, MEMORY_FILE_ACTOR)
            )
        else:
            self._change(buried, {**values, "source": self._owner.source})

    def _new(self, fact_id: str, values: Mapping[str, Value]) -> Fact:
        made: dict[str, Value] = {
            **values,
            "id": fact_id,
            "scope": self._owner.scope,
            "source": self._owner.source,
            "importance": MEMORY_IMPORTANCE,
            "confidence": MEMORY_CONFIDENCE,
            "createdAt": self._at,
            "updatedAt": self._at,
        }
        if self._owner.agent:
            made["agentId"] = self._owner.agent
        return make_fact(made)

    def _change(self, fact: Fact, values: Mapping[str, Value]) -> None:
        changed = fact.replace(values)
        if changed != fact or fact.id not in self._alive:
            changed = changed.evolve(updated_at=self._at)
            self._writes.append(StoreWrite(fact.id, changed, fact.revision, MEMORY_FILE_ACTOR))


MAX_TOTAL_BYTES = 5 << 20
"""Bytes of all files together (seed 000)."""
MAX_TOTAL_SECTIONS = 500
"""Sections of all files together (seed 000); those that are known count first."""
MAX_SYNC_TRIES = 10
"""How often a file is planned anew when it, or its facts, change meanwhile."""
_FEW = 5
"""So many sections may go without a second look at the file."""


@dataclass(frozen=True, slots=True)
class FileSyncRequest:
    """What is to be done with files."""

    agent: str | None = None
    scope: str | None = None
    again: bool = False
    """What was done to facts since the file was read does not stand."""
    dry_run: bool = False
    embeds: bool = False
    """Whether what is written is embedded, and has to be seen to until it is."""


@dataclass(slots=True)
class SizeBudget:
    """What may still be taken in."""

    size: int = MAX_TOTAL_BYTES
    sections: int = MAX_TOTAL_SECTIONS


class FileSync:
    """The work on one file."""

    def __init__(
        self,
        ctx: SyncContext,
        file: MemoryFile,
        asked: FileSyncRequest,
        *,
        reader: MetadataReader,
        queue: WriteQueue,
        room: SizeBudget,
    ) -> None:
        self._ctx = ctx
        self._store = ctx.store
        self._file = file
        self._asked = asked
        self._reader = reader
        self._queue = queue
        self._room = room
        self._key = state_key(file.key, asked.agent)
        self._source = SOURCE_PREFIX + file.name
        self.notices: list[Notice] = []
        """What waits for a person, after `run()`."""

    def run(self) -> FileResult:
        """Do it.

        Raises:
            MemoryFileError, StoreUnavailableError.
        """
        waiting = self._queue.waiting(self._file.name)
        if not waiting and not self._asked.again:
            states = read_states(self._file.state())
            data = self._file.read(self._room.size)
            if data is not None and (held := self._unchanged(states, data)):
                return self._same(held, len(data))
        with self._file.lock(LOCK_TIMEOUT):
            written = 0
            if waiting and not self._asked.dry_run:
                written = drain_write_queue(self._file, self._queue)
            done = self._sync(read_states(self._file.state()))
        return structs.replace(done, written=written)

    def _version(self) -> str:
        state = self._store.state()
        return make_version(self._store, state.store_id, state.seq, "")

    def _unchanged(self, states: FolderState, data: bytes) -> FileState | None:
        """The state of the file, when neither it nor the store has changed since."""
        held = states.files.get(self._key)
        if (
            held is not None
            and not held.pending
            and held.digest == sha256(data).hexdigest()
            and held.scanned == self._today()
            and held.store == self._version()
            and len(held.sections) <= self._room.sections
        ):
            return held
        return None

    def _today(self) -> str:
        return self._ctx.today()[:10]

    def _same(self, held: FileState, size: int) -> FileResult:
        self._room.size -= size
        self._room.sections -= len(held.sections)
        self.notices = [
            memory_file_notice(
                str(each["kind"]),
                self._file.name,
                str(each["message"]),
                str(each["hint"]),
                int(each["line"]) or None,
            )
            for each in held.notices
        ]
        count = len(held.sections)
        return FileResult(self._file.name, count, counts_of((), count))

    def _sync(self, states: FolderState) -> FileResult:
        """Plan and write, again when file or store changed meanwhile."""
        held = states.files.get(self._key)
        if held and not held.store.startswith(f"{self._store.state().store_id}:"):
            held = None  # what is kept here is about another store
        for _ in range(MAX_SYNC_TRIES):
            before = self._store.state()
            data = self._file.read(self._room.size)
            plan = self._plan(data, held)
            if data is None and not plan.said:
                raise MemoryFileMissingError(self._file.name)
            if _is_much(plan):
                # An editor may be half way through saving it: look twice, as for notes.
                self._ctx.clock.sleep(self._ctx.policy.grace_seconds)
                if self._file.read(self._room.size) != data:
                    continue
            if self._asked.dry_run:
                return self._done(plan, [each.fact_id for each in plan.steps])
            ids = write_facts(self._ctx, plan.steps, plan.sections, plan.facts, self._owner())
            if ids is not None:
                done = self._done(plan, ids)
                state = self._state(plan, ids, data, done, held=held, before=before)
                kept = write_states(states, self._key, state)
                if kept != self._file.state():
                    self._file.put_state(kept)
                if state is not None:
                    done = structs.replace(done, pending=state.pending)
                return done
        raise RevisionMismatchError(
            self._file.name, "the one just read", "another, again and again"
        )

    def _owner(self) -> MemoryFileOwner:
        agent = self._asked.agent
        scope = self._asked.scope or (
            private_scope(agent) if agent else self._ctx.policy.default_scope
        )
        if not can_see(agent, check_scope(scope)):
            raise ScopeDeniedError(agent or "", scope)
        return MemoryFileOwner(agent, self._source, scope)

    def _plan(self, data: bytes | None, held: FileState | None) -> _FilePlan:
        title = self._file.key.removesuffix(".md")
        reading = read_memory(data or b"", name=self._file.name, title=title, reader=self._reader)
        said, facts = self._said(held)
        before = held.metadata if held else FileMetadataValues()
        now = before if reading.metadata is None else reading.metadata
        steps = plan_sections(
            reading.outline.sections,
            said,
            facts,
            before=before,
            now=now,
            again=self._asked.again,
        )
        notices = list(reading.notices)
        room = self._room.sections - sum(
            each.section is not None and each.do is not SectionAction.CREATE for each in steps
        )
        fresh = [each for each in steps if each.do is SectionAction.CREATE]
        if len(fresh) > max(room, 0):
            beyond = {each.section for each in fresh[max(room, 0) :]}
            steps = [e for e in steps if e.section is None or e.section not in beyond]
            why = f"{len(beyond)} new sections were left out: {MAX_TOTAL_SECTIONS} are the most"
            hint = "part off what is no memory, or merge sections"
            notices.append(memory_file_notice("TooManySections", self._file.name, why, hint))
        return _FilePlan(reading, now, said, facts, steps, notices)

    def _said(self, held: FileState | None) -> tuple[list[LastRead], dict[str, Fact]]:
        """What the file said before, and the facts that are of it now."""
        said = last_read(held) if held else []
        facts = self._store.find_many([each.known.id for each in said])
        if held is None or self._asked.again or held.scanned != self._today():
            known = {each.known.id for each in said}
            for fact in self._store.iter_facts():
                ours = (fact.source, fact.agent_id) == (self._source, self._asked.agent)
                if ours and fact.id not in known:
                    facts[fact.id] = fact
                    said.append(last_read_from_fact(fact))
        return [_with_content(each, facts) for each in said], facts

    def _done(self, plan: _FilePlan, ids: Sequence[str]) -> FileResult:
        """The report of a plan that was carried out."""
        hide = self._ctx.view.redact_text
        actions = []
        notices = [x._replace(message=hide(x.message)) for x in plan.notices]
        self.notices = notices
        unchanged = 0
        for step, fact_id in zip(plan.steps, ids, strict=True):
            section = None if step.section is None else plan.sections[step.section]
            fact = plan.facts.get(fact_id)
            title = section.title if section else fact.title if fact else ""
            title = hide(title, fact)
            line = section.line if section else None
            if step.do is SectionAction.SAME:
                unchanged += 1
                if step.edited:
                    notices.append(self._edited(title, line, fact_id, fact))
                continue
            if step.do is SectionAction.DETACH:
                why = f"{title!r} is gone from the file, but its fact was edited since"
                hint = f"the fact stays; `vaultsync forget {fact_id}` deletes it"
                notices.append(memory_file_notice("LetGo", self._file.name, why, hint))
            reason = _WHY[step.do]
            if step.do is SectionAction.UPDATE and step.edited:
                reason = f"in the place of an edit; see `vaultsync history {fact_id}`"
            fields = tuple(sorted(step.values)) if step.do is SectionAction.UPDATE else ()
            actions.append(SectionResult(step.do.value, fact_id, title, line, fields, reason))
        return FileResult(
            self._file.name,
            sections=len(plan.sections),
            counts=counts_of(actions, unchanged),
            actions=actions,
            left_out=len(plan.reading.outline.left_out),
        )

    def _edited(self, title: str, line: int | None, fact_id: str, fact: Fact | None) -> Notice:
        if fact is None:
            why = f"the fact of {title!r} was deleted, and the file still says it"
            hint = (
                f"take it out of the file, or say `vaultsync restore {fact_id}`;"
                " `memory-file sync --again` brings back all that the file says"
            )
        else:
            why = f"the fact of {title!r} was edited, and the file says something else"
            hint = (
                "write it into the file, or let the file say it again: `memory-file sync --again`"
            )
        return memory_file_notice("EditedElsewhere", self._file.name, why, hint, line)

    def _state(
        self,
        plan: _FilePlan,
        ids: Sequence[str],
        data: bytes | None,
        done: FileResult,
        *,
        held: FileState | None,
        before: StoreState,
    ) -> FileState | None:
        """What the file says, and what of it waits to be embedded; None when it is gone."""
        if data is None:
            return None
        room = self._room
        room.size -= len(data)
        sections = []
        for step, fact_id in zip(plan.steps, ids, strict=True):
            if step.section is not None:
                section = plan.sections[step.section]
                kind = type_of(section, plan.metadata)
                sections.append(section_state(section, fact_id, kind))
        room.sections -= len(sections)
        ours = {each.id for each in sections}
        waits = [*(held.pending if held else ()), *(a.fact_id for a in done.actions)]
        pending = sorted(ours & set(waits)) if self._asked.embeds else []
        now = self._store.state()
        mine = now.seq == before.seq + len(done.actions)
        seq = now.seq if mine else before.seq
        metadata = plan.metadata
        return FileState(
            store=make_version(self._store, now.store_id, seq, ""),
            scanned=self._today(),
            digest=sha256(data).hexdigest(),
            sections=sections,
            agent=self._asked.agent,
            tags=list(metadata.tags),
            entities=list(metadata.entities),
            priority=metadata.priority,
            type=metadata.type,
            pending=pending,
            notices=[
                {
                    "kind": each.kind,
                    "message": each.message,
                    "hint": each.hint,
                    "line": each.line or 0,
                }
                for each in self.notices
                if each.kind != "LetGo"
            ],
        )


@dataclass(frozen=True, slots=True)
class _FilePlan:
    reading: MemoryFileContent
    metadata: FileMetadataValues
    said: Sequence[LastRead]
    facts: Mapping[str, Fact]
    steps: Sequence[SectionStep]
    notices: Sequence[Notice]

    @property
    def sections(self) -> Sequence[MemorySection]:
        return self.reading.outline.sections


_WHY = {
    SectionAction.CREATE: "new in the file",
    SectionAction.UPDATE: "changed in the file",
    SectionAction.FORGET: "gone from the file",
    SectionAction.DETACH: "gone from the file, and edited since",
}


def _is_much(plan: _FilePlan) -> bool:
    """Whether so much goes that the file may be half saved."""
    gone = sum(each.section is None for each in plan.steps)
    return gone > 0 and (gone >= _FEW or gone * 2 >= len(plan.said))


def _with_content(said: LastRead, facts: Mapping[str, Fact]) -> LastRead:
    fact = facts.get(said.known.id)
    if fact is None:
        return said
    return replace(said, known=replace(said.known, content=fact.content))
