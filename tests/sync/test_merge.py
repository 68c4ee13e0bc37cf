from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import edits, facts, versions
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import (
    FIELDS,
    OWN_FIELDS_BY_KEY,
    FieldOwner,
    MergeRule,
    Value,
    equal_as_json,
)
from vaultsync.notes.conflict_note import FieldConflict
from vaultsync.sync.merge import MERGE_RULES, MergeResult, merge

ID = "0193f6c2-0000-7000-8000-000000000000"
SHARED = (FieldOwner.SHARED,)
NOT_A_PERSONS = (FieldOwner.IDENTITY, FieldOwner.MACHINE, FieldOwner.VOLATILE)


def fact(**values: Value) -> Fact:
    return make_fact({"id": ID, "title": "t", **values})


def one_value(
    key: str, base: Value, vault: Value, store: Value
) -> tuple[Value, tuple[FieldConflict, ...]]:
    merged = merge(*(fact(**{key: value}) for value in (base, vault, store)))
    held = merged.fact.value(key)
    return list(held) if isinstance(held, tuple) else held, merged.conflicts


def test_every_rule_has_its_function() -> None:
    assert set(MERGE_RULES) == set(MergeRule)


@pytest.mark.parametrize(
    ("key", "base", "vault", "store", "merged"),
    [
        ("priority", 2, 2, 0, 0),
        ("priority", 2, 0, 2, 0),
        ("priority", 2, 0, 0, 0),
        ("context", "a", None, "a", None),
        ("decisionOutcome", "a", "a", "b", "b"),
        ("decisionOutcome", "a", "a", None, None),
        ("tags", ["a", "b"], ["b"], ["a", "b", "c"], ["b", "c"]),
        ("tags", ["a", "b"], ["b", "a", "v"], ["s", "a", "b"], ["b", "a", "v", "s"]),
        ("tags", ["a"], [], ["a"], []),
        ("tags", ["a"], [], [], []),
        ("tags", [], ["A"], ["a"], ["A", "a"]),
        ("aliases", ["a"], ["b"], ["c"], ["b", "c"]),
        ("decisionAlternatives", ["a"], ["a", "v"], ["s"], ["v", "s"]),
        ("content", "a\n\nb", "A\n\nb", "a\n\nb\n\nc", "A\n\nb\n\nc"),
        ("content", "a\n\nb", "a", "a\n\nb", "a"),
        # A line added below the last one is no edit of that one.
        ("content", "a\nb\nc", "a\nb\nc\nv", "a\nB\nc", "a\nB\nc\nv"),
        # A merged text has no blank lines around it.
        ("content", "a\n\nb\nc\nd", "b\nc\nd", "a\n\nb\nc\nD", "b\nc\nD"),
        ("role", None, "a", None, "a"),
        ("role", None, None, "a", "a"),
        ("role", "a", None, "a", None),
        ("role", ["a"], ["a"], ["b"], ["b"]),
        ("role", {"a": [1]}, {"a": [1]}, {"a": [2]}, {"a": [2]}),
        ("flag", 1, True, 1, True),
        ("flag", 1, 1, True, True),
    ],
)
def test_edits_of_different_things_merge(
    key: str, base: Value, vault: Value, store: Value, merged: Value
) -> None:
    held, conflicts = one_value(key, base, vault, store)

    assert equal_as_json(held, merged)
    assert conflicts == ()


@pytest.mark.parametrize(
    ("key", "base", "vault", "store"),
    [
        ("priority", 2, 0, 1),
        ("title", "t", "v", "s"),
        ("status", "active", "archived", "dormant"),
        ("context", "a", None, "b"),
        ("context", "a", "b", None),
        ("lessonCategory", "a", "b", "c"),
        ("content", "a", "b", "c"),
        ("content", "a", "", "b"),
        ("content", "a", "b", ""),
        ("role", "a", "b", "c"),
        ("role", "a", None, "c"),
        ("role", ["a"], ["a", "b"], ["a", "c"]),
        ("flag", None, 1, True),
    ],
)
def test_the_persons_value_stands_where_both_changed_the_same(
    key: str, base: Value, vault: Value, store: Value
) -> None:
    held, conflicts = one_value(key, base, vault, store)

    assert equal_as_json(held, vault)
    assert conflicts == (FieldConflict(key, base, vault, store),)


@pytest.mark.parametrize(
    ("key", "unset", "value"),
    [
        ("type", "note", "task"),
        ("priority", 2, 1),
        ("status", "active", "done"),
        ("context", None, "c"),
        ("content", "", "c"),
        ("tags", [], ["a"]),
        ("lessonPrevention", None, "p"),
        ("role", None, "r"),
    ],
)
def test_without_a_base_what_one_side_says_stands(key: str, unset: Value, value: Value) -> None:
    silent, speaking = fact(**{key: unset}), fact(**{key: value})

    assert merge(None, silent, speaking) == MergeResult(speaking, (), (), (key,), ())
    assert merge(None, speaking, silent) == MergeResult(speaking, (), (key,), (), ())


def test_without_a_base_lists_unite_and_different_values_conflict() -> None:
    one, other = fact(tags=["a", "b"], priority=0, role="v"), fact(tags=["c"], priority=1, role="s")

    merged = merge(None, one, other)

    assert merged.conflicts == (
        FieldConflict("priority", None, 0, 1),
        FieldConflict("role", None, "v", "s"),
    )
    assert merged.fact == fact(tags=["a", "b", "c"], priority=0, role="v")


def test_what_a_person_may_not_change_is_put_back() -> None:
    base = fact(importance=0.5, agentId="indy", accessCount=3)
    vault = base.replace({"importance": 1.0, "agentId": "me", "accessCount": 9})

    merged = merge(base, vault, base)

    assert merged == MergeResult(base, (), (), ("agentId", "importance"), merged.reverted)
    assert merged.reverted == ("agentId", "importance")


def test_what_the_store_says_of_its_own_is_no_edit_to_put_back() -> None:
    base, store = fact(importance=0.5), fact(importance=1.0)

    assert merge(base, base, store).reverted == ()
    assert merge(base, store, store).reverted == ()
    assert merge(None, fact(), store).reverted == ()
    assert merge(None, fact(importance=0.1), store).reverted == ("importance",)


def test_a_note_that_a_person_moved_is_no_reason_to_write() -> None:
    base, moved = fact(scope="public"), fact(scope="team-a")

    merged = merge(base, moved, base)

    assert (merged.fact.scope, merged.from_vault, merged.from_store) == ("public", (), ())
    assert merge(base, base, moved).from_store == ("scope",)
    assert merge(None, moved, base).from_store == ("scope",)


def test_the_merged_fact_lies_where_the_note_is_at_the_revision_of_the_store() -> None:
    vault = Fact(ID, path=VaultPath("v.md"), revision="old")
    store = Fact(ID, path=VaultPath("s.md"), revision="new")

    merged = merge(None, vault, store).fact

    assert (merged.path, merged.revision) == ("v.md", "new")


def test_an_entity_that_becomes_a_person_is_of_that_type() -> None:
    base = fact(type="project", entityType="project")
    vault = base.replace({"type": "entity", "entityType": "tool"})
    store = base.replace({"entityType": "person"})

    merged = merge(base, vault, store)

    assert merged.fact.type == "entity"
    assert [each.field for each in merged.conflicts] == ["entityType"]
    silent = base.replace({"type": "entity", "entityType": None})
    assert merge(base.replace({"entityType": None}), silent, store).fact.type == "person"


def test_order_emptiness_and_volatile_fields_are_no_difference() -> None:
    one = fact(tags=["a", "b"], decisionAlternatives=["x", "y"], role=["a", "b"])
    other = fact(tags=["b", "a"], decisionAlternatives=["y", "x"], role=["b", "a"])
    assert differing_keys(one, other) == ("role",)
    assert differing_keys(fact(), fact().replace({"createdAt": None})) == ()
    assert differing_keys(fact(role=""), fact()) == ("role",)
    counted = fact(accessCount=1, updatedAt="2026-02-14")
    assert differing_keys(counted, fact()) == ()
    assert differing_keys(counted, fact(), volatile=True) == ("updatedAt", "accessCount")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, True, False),
        (0, False, False),
        (1, 1.0, True),
        (True, True, True),
        ([1], [True], False),
        ([1], (1,), True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": [1]}, {"a": [1.0]}, True),
        ("1", 1, False),
        (None, "", False),
        ([], {}, False),
    ],
)
def test_values_are_compared_as_json(one: Value, other: Value, equal: bool) -> None:
    assert equal_as_json(one, other) is equal


@given(versions(*FieldOwner))
def test_where_the_vault_changed_nothing_the_store_stands(three: tuple[Fact, Fact, Fact]) -> None:
    base, _, store = three

    merged = merge(base, base, store)

    assert differing_keys(merged.fact, store, volatile=True) == ()
    assert (merged.conflicts, merged.from_vault, merged.reverted) == ((), (), ())


@given(versions())
def test_where_the_store_changed_nothing_the_vault_stands(three: tuple[Fact, Fact, Fact]) -> None:
    base, vault, _ = three

    merged = merge(base, vault, base)

    assert differing_keys(merged.fact, vault) == ()
    assert (merged.conflicts, merged.from_store, merged.reverted) == ((), (), ())


@given(versions())
def test_equal_edits_are_no_conflict(three: tuple[Fact, Fact, Fact]) -> None:
    base, side, _ = three

    assert merge(base, side, side) == MergeResult(side, (), (), (), ())
    assert merge(None, side, side) == MergeResult(side, (), (), (), ())


@given(versions(), st.booleans())
def test_swapped_sides_conflict_alike(three: tuple[Fact, Fact, Fact], without_base: bool) -> None:
    base, vault, store = three
    known = None if without_base else base

    one, other = merge(known, vault, store), merge(known, store, vault)

    def rows(conflicts: tuple[FieldConflict, ...]) -> Mapping[str, FieldConflict]:
        return {each.field: each for each in conflicts}

    swapped = [
        FieldConflict(each.field, each.base, each.store, each.vault) for each in other.conflicts
    ]
    assert rows(one.conflicts) == rows(tuple(swapped))
    if not one.conflicts:
        assert set(differing_keys(one.fact, other.fact)) <= {"scope"}


@given(versions(*SHARED, *NOT_A_PERSONS))
def test_what_has_to_be_written_makes_both_sides_equal(three: tuple[Fact, Fact, Fact]) -> None:
    base, vault, store = three

    merged = merge(base, vault, store)

    def written(side: Fact, keys: tuple[str, ...]) -> Fact:
        return side.replace({key: merged.fact.value(key) for key in keys})

    assert differing_keys(written(store, merged.from_vault), merged.fact) == ()
    ours = [key for key in merged.from_store if key != "id"]
    assert differing_keys(written(vault, tuple(ours)), merged.fact) == ()
    assert set(merged.reverted) <= set(merged.from_store)


@given(versions(*SHARED, *NOT_A_PERSONS))
def test_what_both_sides_hold_stays(three: tuple[Fact, Fact, Fact]) -> None:
    base, vault, store = three
    merged = merge(base, vault, store).fact

    for agreed in (merged, base, None):
        again = merge(agreed, merged, merged)

        assert differing_keys(again.fact, merged) == ()
        assert (again.conflicts, again.from_vault, again.from_store) == ((), (), ())


@given(versions())
def test_a_side_that_has_the_merged_fact_gets_nothing_more(three: tuple[Fact, Fact, Fact]) -> None:
    # Of a text this holds where no line repeats: see test_diff3.
    base, vault, store = (each.replace({"content": None}) for each in three)
    done = merge(base, vault, store)

    for again in (merge(base, done.fact, store), merge(base, vault, done.fact)):
        assert differing_keys(again.fact, done.fact) == ()
    assert merge(base, done.fact, store).from_store == ()
    assert merge(base, vault, done.fact).from_vault == ()


@given(versions())
def test_what_one_side_removed_stays_removed(three: tuple[Fact, Fact, Fact]) -> None:
    base, vault, store = three
    merged = merge(base, vault, store).fact

    for row in (*FIELDS, *OWN_FIELDS_BY_KEY.values()):
        if row.rule is MergeRule.SET:
            had, ours, theirs, held = (
                set(map(str, value if isinstance(value, (list, tuple)) else ()))
                for value in (each.value(row.key) for each in (*three, merged))
            )
            assert held == (ours & theirs) | (ours - had) | (theirs - had)


@given(versions())
def test_all_lines_are_in_the_merged_text_or_a_conflict(three: tuple[Fact, Fact, Fact]) -> None:
    base, vault, store = three
    merged = merge(base, vault, store)

    kept = [merged.fact.content]
    kept += [str(each.store) for each in merged.conflicts if each.field == "content"]
    for side in (vault, store):
        written = Counter(side.content.split("\n")) - Counter(base.content.split("\n"))
        held = Counter("\n".join(kept).split("\n"))
        assert all(held[line] >= n for line, n in written.items() if line)


@given(versions())
def test_every_value_written_is_in_the_fact_or_a_conflict(three: tuple[Fact, Fact, Fact]) -> None:
    base, vault, store = three
    merged = merge(base, vault, store)

    conflicts = {each.field: each for each in merged.conflicts}
    for key in differing_keys(base, store):
        if key in differing_keys(merged.fact, store) and key not in conflicts:
            row = next(
                (row for row in (*FIELDS, *OWN_FIELDS_BY_KEY.values()) if row.key == key), None
            )
            assert row is not None
            assert row.rule in (MergeRule.SET, MergeRule.TEXT)
    for key in conflicts:
        assert key not in differing_keys(merged.fact, vault)


@given(st.data())
def test_facts_without_a_difference_mean_the_same(data: st.DataObject) -> None:
    one = data.draw(facts())
    other = data.draw(edits(one, *FieldOwner))

    assert differing_keys(one, other) == differing_keys(other, one)
    assert differing_keys(one, one, volatile=True) == ()
    changed = {key: other.value(key) for key in differing_keys(one, other, volatile=True)}
    assert differing_keys(one.replace(changed), other, volatile=True) == ()


def test_between_writers_of_the_store_its_own_fields_conflict_too() -> None:
    base = fact(source="a talk", importance=0.5, accessCount=1)
    one = base.replace({"source": "a call", "importance": 0.7, "accessCount": 2})
    other = base.replace({"source": "a mail", "accessCount": 3})

    merged = merge(base, one, other, peers=True)

    assert merged.conflicts == (FieldConflict("source", "a talk", "a call", "a mail"),)
    assert merged.fact == one.replace({"accessCount": 3})
