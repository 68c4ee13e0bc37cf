"""The facts of a memory file, written to the store as planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaultsync.memory_files.plan import Do, Step
from vaultsync.memory_files.sections import Section, section_id
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.storage.store import RevisionMismatch, Write
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
