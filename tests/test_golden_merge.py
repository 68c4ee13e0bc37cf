"""The cases under `golden/merge` and `golden/conflict`, each a page to read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden import GOLDEN, check, fenced
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import (
    Conflict,
    FieldConflict,
    conflict_id,
    conflict_path,
    render_conflict,
    ticked_fields,
)
from vaultsync.sync.merge import MergeResult, merge

MERGES = sorted(GOLDEN.glob("merge/*.md"))
CONFLICTS = sorted(GOLDEN.glob("conflict/*.md"))
ID = "0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e0f"


def read_value(text: str) -> Value:
    try:
        value: Value = json.loads(text)
    except ValueError:
        return text
    return value


def read_fact(text: str) -> Fact:
    """A fact of `key: value` lines, a blank line and the content."""
    head, _, content = text.partition("\n\n")
    rows = [line.partition(": ") for line in head.strip().split("\n")]
    values = {key: read_value(value) for key, _, value in rows if key}
    return make_fact({**values, "id": ID, "content": content})


def shown(value: Value) -> str:
    if isinstance(value, str) and read_value(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def write_fact(fact: Fact) -> str:
    unset = Fact(ID).values()
    rows = [
        f"{key}: {shown(value)}"
        for key, value in {**fact.values(), **fact.properties}.items()
        if key not in ("id", "content") and value != unset.get(key)
    ]
    return "\n".join([*rows, "", fact.content])


def write_merged(merged: MergeResult) -> str:
    def named(keys: tuple[str, ...]) -> str:
        return ", ".join(keys) or "nothing"

    return (
        fenced(write_fact(merged.fact).rstrip() + "\n", "text")
        + f"\n- to the store: {named(merged.from_vault)}"
        + f"\n- to the note: {named(merged.from_store)}"
        + f"\n- put back: {named(merged.reverted)}\n"
        + "".join(
            f"- conflict about {each.field}: before {json.dumps(each.base)},"
            f" vault {json.dumps(each.vault)}, store {json.dumps(each.store)}\n"
            for each in merged.conflicts
        )
    )


@pytest.mark.parametrize("case", MERGES, ids=lambda case: case.stem)
def test_merges_are_as_the_golden_pages_say(case: Path) -> None:
    def answer(given: dict[str, str]) -> str:
        base = read_fact(given["base"]) if "base" in given else None
        return write_merged(merge(base, read_fact(given["vault"]), read_fact(given["store"])))

    check(case, answer)


@pytest.mark.parametrize("case", CONFLICTS, ids=lambda case: case.stem)
def test_conflict_notes_are_as_the_golden_pages_say(case: Path) -> None:
    def answer(given: dict[str, str]) -> str:
        values = json.loads(given["conflict"])
        fields = tuple(FieldConflict(**each) for each in values["fields"])
        made = conflict_id(ID, fields)
        note = render_conflict(
            Conflict(
                id=made,
                fact_id=ID,
                path=VaultPath(values["path"]),
                conflict_path=conflict_path(values["path"], conflict_id=made),
                fields=fields,
                actor=values["actor"],
                at="2026-02-14T13:45:00Z",
                run="0193f6c2-7b1a-7c3d-8e4f-000000000001",
                title=values["title"],
            )
        )
        assert ticked_fields(note) == frozenset()
        return fenced(note.rstrip() + "\n", "markdown")

    check(case, answer)


def test_there_are_golden_pages() -> None:
    assert len(MERGES) > 5
    assert len(CONFLICTS) > 3
