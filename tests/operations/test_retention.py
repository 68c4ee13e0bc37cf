from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.decay import FADED_DECAY
from vaultsync.model.fact import Fact
from vaultsync.operations.maintain import MAX_CHAIN_LENGTH, plan_retention
from vaultsync.sync.fact_changes import FactChange

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def a_fact(name: str = "a", **attrs: object) -> Fact:
    values = {"type": "episodic", "agent_id": "indy", "created_at": _ago(1)} | attrs
    return Fact(name).evolve(**values)


def _ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat().replace("+00:00", "Z")


def duties(*facts: Fact) -> list[FactChange]:
    return plan_retention(facts, NOW, floor=FADED_DECAY, longest=MAX_CHAIN_LENGTH)


def chain(length: int) -> list[Fact]:
    names = [f"v{at}" for at in range(length)]
    return [
        a_fact(
            name,
            supersedes_id=names[at - 1] if at else None,
            superseded_by_id=names[at + 1] if at + 1 < length else None,
        )
        for at, name in enumerate(names)
    ]


def test_expired_facts_are_deleted_whoever_wrote_them() -> None:
    gone = a_fact(expires_at=_ago(0), agent_id=None, priority=0)
    kept = a_fact("b", expires_at=_ago(-1))
    (duty,) = duties(gone, kept)
    assert (duty.before, duty.after) == (gone, None)
    assert "expired" in duty.reason


def test_facts_not_used_for_seven_half_lives_are_deleted() -> None:
    (duty,) = duties(a_fact("a", created_at=_ago(94)), a_fact("b", created_at=_ago(92)))
    assert duty.before.id == "a"
    assert "faded" in duty.reason


def test_emotional_weight_makes_facts_fade_later() -> None:
    assert duties(a_fact(created_at=_ago(180), emotional_weight=1.0)) == []
    (duty,) = duties(a_fact(created_at=_ago(190), emotional_weight=1.0))
    assert "(half-life 28 days)" in duty.reason


@pytest.mark.parametrize(
    "attrs",
    [
        {"created_at": _ago(1)},
        {"last_accessed_at": _ago(3)},
        {"updated_at": _ago(3)},
        {"agent_id": None},  # what a person wrote
        {"priority": 0},
        {"type": "observation", "status": "pending"},  # it may be critical
        {"created_at": ""},
    ],
)
def test_what_is_fresh_used_critical_or_a_persons_does_not_fade(attrs: dict[str, object]) -> None:
    old = a_fact(created_at=_ago(900))
    assert len(duties(old)) == 1
    assert duties(old.evolve(**attrs)) == []


def test_ends_that_do_not_name_each_other_are_no_chain() -> None:
    facts = chain(6)
    facts[2] = facts[2].evolve(superseded_by_id="elsewhere")
    assert duties(*facts) == []


@given(st.integers(1, 12))
def test_a_chain_of_five_stays_and_of_a_longer_one_the_ends(length: int) -> None:
    facts = {fact.id: fact for fact in chain(length)}
    for duty in duties(*facts.values()):
        if duty.after is None:
            del facts[duty.before.id]
        else:
            facts[duty.before.id] = duty.after
    assert duties(*facts.values()) == []
    assert len(facts) == (length if length <= MAX_CHAIN_LENGTH else 2)
    first, newest = "v0", f"v{length - 1}"
    assert length <= MAX_CHAIN_LENGTH or facts[first].superseded_by_id == newest
    assert length <= MAX_CHAIN_LENGTH or facts[newest].supersedes_id == first
