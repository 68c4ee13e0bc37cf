"""One memory file -> its facts: read, matched, planned, written, kept in mind.

The facts of a memory file, written to the store as planned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from vaultsync.errors import (
    MemoryFileMissingError,
    RevisionMismatchError,
    ScopeDeniedError,
)
from vaultsync.memory_files.plan import Do, Metadata, Said, Step, plan_sections, type_of
from vaultsync.memory_files.ports import MemoryFile, MetadataReader, WriteQueue
from vaultsync.memory_files.read import Reading, notice, read_memory
from vaultsync.memory_files.report import FileDone, SectionDone
from vaultsync.memory_files.sections import Section, section_id
from vaultsync.memory_files.state import (
    SOURCE,
    FileState,
    States,
    guessed_from,
    key_of,
    read_states,
    said_by,
    state_of,
    write_states,
)
from vaultsync.memory_files.write_queue import PATIENCE, drain
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.model.scope import check_scope, private, sees
from vaultsync.storage.archive import Attention
from vaultsync.storage.feed_cursor import version_at
from vaultsync.storage.store import RevisionMismatch, StoreState, Write
from vaultsync.sync.context import Mirror

ACTOR = "memory-file"
"""Who writes these facts, in the feed and in the history."""
LET_GO = "memory-file"
"""The `source` of a fact that was a file's and stays without it."""
IMPORTANCE = 0.8
CONFIDENCE = 1.0
"""Of what a person keeps in such a file (seed 000)."""
_BATCH = 100
"""Facts of one write (seed 000)."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose facts those of a file are."""

    agent: str | None
    source: str
    scope: str


def carry_out(
    mirror: Mirror,
    steps: Sequence[Step],
    sections: Sequence[Section],
    facts: Mapping[str, Fact],
    owner: Owner,
) -> list[str] | None:
    """The ids of the steps' facts; None when others wrote to one of them meanwhile.

    What was written until then is not written again when it is planned anew.
    """
    work = _Writing(mirror, facts, owner)
    ids = [work.prepare(step, sections) for step in steps]
    return ids if work.write() else None


class _Writing:
    def __init__(self, mirror: Mirror, facts: Mapping[str, Fact], owner: Owner) -> None:
        self._store = mirror.store
        self._at = mirror.today()
        self._facts = facts
        self._owner = owner
        self._used = set(facts)
        self._alive = set(facts)
        self._equal: Counter[str] = Counter()
        self._writes: list[Write] = []

    def prepare(self, step: Step, sections: Sequence[Section]) -> str:
        """Note down what to write for a step; returns the fact's id."""
        if step.do is Do.CREATE and step.section is not None:
            if not step.fact_id:
                return self._create(sections[step.section].hash, step.values)
            self._revive(step.fact_id, step.values)
        elif step.do is Do.UPDATE:
            self._change(self._facts[step.fact_id], step.values)
        elif step.do is Do.LET_GO:
            self._change(self._facts[step.fact_id], {"source": LET_GO})
        elif step.do is Do.FORGET:
            revision = self._facts[step.fact_id].revision
            self._writes.append(Write(step.fact_id, None, revision, ACTOR))
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
        buried = self._store.buried(fact_id)
        if buried is None:
            self._writes.append(Write(fact_id, self._new(fact_id, values), None, ACTOR))
        else:
            self._change(buried, {**values, "source": self._owner.source})

    def _new(self, fact_id: str, values: Mapping[str, Value]) -> Fact:
        made: dict[str, Value] = {
            **values,
            "id": fact_id,
            "scope": self._owner.scope,
            "source": self._owner.source,
            "importance": IMPORTANCE,
            "confidence": CONFIDENCE,
            "createdAt": self._at,
            "updatedAt": self._at,
        }
        if self._owner.agent:
            made["agentId"] = self._owner.agent
        return make_fact(made)

    def _change(self, fact: Fact, values: Mapping[str, Value]) -> None:
        changed = fact.changed(values)
        if changed != fact or fact.id not in self._alive:
            changed = changed.but(updated_at=self._at)
            self._writes.append(Write(fact.id, changed, fact.revision, ACTOR))


BYTES = 5 << 20
"""Bytes of all files together (seed 000)."""
SECTIONS = 500
"""Sections of all files together (seed 000); those that are known count first."""
TRIES = 10
"""How often a file is planned anew when it, or its facts, change meanwhile."""
_FEW = 5
"""So many sections may go without a second look at the file."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be done with files."""

    agent: str | None = None
    scope: str | None = None
    again: bool = False
    """What was done to facts since the file was read does not stand."""
    dry_run: bool = False
    embeds: bool = False
    """Whether what is written is embedded, and has to be seen to until it is."""


@dataclass(slots=True)
class Room:
    """What may still be taken in."""

    size: int = BYTES
    sections: int = SECTIONS


class FileSync:
    """The work on one file."""

    def __init__(
        self,
        mirror: Mirror,
        file: MemoryFile,
        asked: Asked,
        *,
        reader: MetadataReader,
        queue: WriteQueue,
        room: Room,
    ) -> None:
        self._mirror = mirror
        self._store = mirror.store
        self._file = file
        self._asked = asked
        self._reader = reader
        self._queue = queue
        self._room = room
        self._key = key_of(file.key, asked.agent)
        self._source = SOURCE + file.name

    def run(self) -> FileDone:
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
        with self._file.lock(PATIENCE):
            written = 0
            if waiting and not self._asked.dry_run:
                written = drain(self._file, self._queue)
            done = self._sync(read_states(self._file.state()))
        return replace(done, written=written)

    def _version(self) -> str:
        state = self._store.state()
        return version_at(self._store, state.store_id, state.seq, "")

    def _unchanged(self, states: States, data: bytes) -> FileState | None:
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
        return self._mirror.today()[:10]

    def _same(self, held: FileState, size: int) -> FileDone:
        self._room.size -= size
        self._room.sections -= len(held.sections)
        told = tuple(
            notice(
                str(each["kind"]),
                self._file.name,
                str(each["message"]),
                str(each["hint"]),
                int(each["line"]) or None,
            )
            for each in held.notices
        )
        count = len(held.sections)
        return FileDone(self._file.name, count, count, attention=told)

    def _sync(self, states: States) -> FileDone:
        """Plan and write, again when file or store changed meanwhile."""
        held = states.files.get(self._key)
        if held and not held.store.startswith(f"{self._store.state().store_id}:"):
            held = None  # what is kept here is about another store
        for _ in range(TRIES):
            before = self._store.state()
            data = self._file.read(self._room.size)
            plan = self._plan(data, held)
            if data is None and not plan.said:
                raise MemoryFileMissingError(self._file.name)
            if _is_much(plan):
                # An editor may be half way through saving it: look twice, as for notes.
                self._mirror.clock.sleep(self._mirror.policy.grace_seconds)
                if self._file.read(self._room.size) != data:
                    continue
            if self._asked.dry_run:
                return self._done(plan, [each.fact_id for each in plan.steps])
            ids = carry_out(
                self._mirror, plan.steps, plan.sections, plan.facts, self._owner()
            )
            if ids is not None:
                done = self._done(plan, ids)
                state = self._state(plan, ids, data, done, held=held, before=before)
                kept = write_states(states, self._key, state)
                if kept != self._file.state():
                    self._file.put_state(kept)
                if state is not None:
                    done = replace(done, pending=state.pending)
                return done
        raise RevisionMismatchError(
            self._file.name, "the one just read", "another, again and again"
        )

    def _owner(self) -> Owner:
        agent = self._asked.agent
        scope = self._asked.scope or (
            private(agent) if agent else self._mirror.policy.default_scope
        )
        if not sees(agent, check_scope(scope)):
            raise ScopeDeniedError(agent or "", scope)
        return Owner(agent, self._source, scope)

    def _plan(self, data: bytes | None, held: FileState | None) -> _Plan:
        title = self._file.key.removesuffix(".md")
        reading = read_memory(
            data or b"", name=self._file.name, title=title, reader=self._reader
        )
        said, facts = self._said(held)
        before = held.metadata if held else Metadata()
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
            each.section is not None and each.do is not Do.CREATE for each in steps
        )
        fresh = [each for each in steps if each.do is Do.CREATE]
        if len(fresh) > max(room, 0):
            beyond = {each.section for each in fresh[max(room, 0) :]}
            steps = [e for e in steps if e.section is None or e.section not in beyond]
            why = f"{len(beyond)} new sections were left out: {SECTIONS} are the most"
            hint = "part off what is no memory, or merge sections"
            notices.append(notice("TooManySections", self._file.name, why, hint))
        return _Plan(reading, now, said, facts, steps, notices)

    def _said(self, held: FileState | None) -> tuple[list[Said], dict[str, Fact]]:
        """What the file said before, and the facts that are of it now."""
        said = said_by(held) if held else []
        facts = self._store.find_many([each.known.id for each in said])
        if held is None or self._asked.again or held.scanned != self._today():
            known = {each.known.id for each in said}
            for fact in self._store.iter_facts():
                ours = (fact.source, fact.agent_id) == (self._source, self._asked.agent)
                if ours and fact.id not in known:
                    facts[fact.id] = fact
                    said.append(guessed_from(fact))
        return [_with_content(each, facts) for each in said], facts

    def _done(self, plan: _Plan, ids: Sequence[str]) -> FileDone:
        """The report of a plan that was carried out."""
        hide = self._mirror.lens.text
        actions = []
        attention = [x._replace(message=hide(x.message)) for x in plan.notices]
        unchanged = 0
        for step, fact_id in zip(plan.steps, ids, strict=True):
            section = None if step.section is None else plan.sections[step.section]
            fact = plan.facts.get(fact_id)
            title = section.title if section else fact.title if fact else ""
            title = hide(title, fact)
            line = section.line if section else None
            if step.do is Do.SAME:
                unchanged += 1
                if step.edited:
                    attention.append(self._edited(title, line, fact_id, fact))
                continue
            if step.do is Do.LET_GO:
                why = f"{title!r} is gone from the file, but its fact was edited since"
                hint = f"the fact stays; `vaultsync forget {fact_id}` deletes it"
                attention.append(notice("LetGo", self._file.name, why, hint))
            reason = _WHY[step.do]
            if step.do is Do.UPDATE and step.edited:
                reason = f"in the place of an edit; see `vaultsync history {fact_id}`"
            fields = tuple(sorted(step.values)) if step.do is Do.UPDATE else ()
            actions.append(
                SectionDone(step.do.value, fact_id, title, line, fields, reason)
            )
        return FileDone(
            self._file.name,
            sections=len(plan.sections),
            unchanged=unchanged,
            actions=actions,
            attention=attention,
            left_out=len(plan.reading.outline.left_out),
        )

    def _edited(
        self, title: str, line: int | None, fact_id: str, fact: Fact | None
    ) -> Attention:
        if fact is None:
            why = f"the fact of {title!r} was deleted, and the file still says it"
            hint = (
                f"take it out of the file, or say `vaultsync restore {fact_id}`;"
                " `memory-file sync --again` brings back all that the file says"
            )
        else:
            why = f"the fact of {title!r} was edited, and the file says something else"
            hint = (
                "write it into the file, or let the file say it again:"
                " `memory-file sync --again`"
            )
        return notice("EditedElsewhere", self._file.name, why, hint, line)

    def _state(
        self,
        plan: _Plan,
        ids: Sequence[str],
        data: bytes | None,
        done: FileDone,
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
                sections.append(state_of(section, fact_id, kind))
        room.sections -= len(sections)
        ours = {each.id for each in sections}
        waits = [*(held.pending if held else ()), *(a.fact_id for a in done.actions)]
        pending = sorted(ours & set(waits)) if self._asked.embeds else []
        now = self._store.state()
        mine = now.seq == before.seq + len(done.actions)
        seq = now.seq if mine else before.seq
        metadata = plan.metadata
        return FileState(
            store=version_at(self._store, now.store_id, seq, ""),
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
                for each in done.attention
                if each.kind != "LetGo"
            ],
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    reading: Reading
    metadata: Metadata
    said: Sequence[Said]
    facts: Mapping[str, Fact]
    steps: Sequence[Step]
    notices: Sequence[Attention]

    @property
    def sections(self) -> Sequence[Section]:
        return self.reading.outline.sections


_WHY = {
    Do.CREATE: "new in the file",
    Do.UPDATE: "changed in the file",
    Do.FORGET: "gone from the file",
    Do.LET_GO: "gone from the file, and edited since",
}


def _is_much(plan: _Plan) -> bool:
    """Whether so much goes that the file may be half saved."""
    gone = sum(each.section is None for each in plan.steps)
    return gone > 0 and (gone >= _FEW or gone * 2 >= len(plan.said))


def _with_content(said: Said, facts: Mapping[str, Fact]) -> Said:
    fact = facts.get(said.known.id)
    if fact is None:
        return said
    return replace(said, known=replace(said.known, content=fact.content))
