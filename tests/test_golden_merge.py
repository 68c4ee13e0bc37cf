"""The cases under `golden/merge` and `golden/conflict`, each a page to read.

A page has a title, a word on why, its inputs, and what is expected of them. With
VAULTSYNC_UPDATE_GOLDEN=1 the expectations are written anew; read the diff then.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

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

GOLDEN = Path(__file__).parent.parent / "golden"
MERGES = sorted(GOLDEN.glob("merge/*.md"))
CONFLICTS = sorted(GOLDEN.glob("conflict/*.md"))
ID = "0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e0f"
EXPECTED = "\n## expected\n\n"


def inputs(page: str) -> dict[str, str]:
    """The fenced text of each section."""
    found = re.findall(
        r"^## (\w+)\n\n(`{3,})\w*\n(.*?)\n\2$", page, re.MULTILINE | re.DOTALL
    )
    return {name: text for name, _, text in found}


def fenced(text: str, language: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def read_value(text: str) -> Value:
    try:
        value: Value = json.loads(text)
    except ValueError:
        return text
    return value


def read_fact(text: str) -> Fact:
    """A fact of `key: value` lines, a blank line and the content."""
    head, _, content = f"{text}\n".partition("\n\n")
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
        fenced(write_fact(merged.fact), "text")
        + f"\n- to the store: {named(merged.from_vault)}"
        + f"\n- to the note: {named(merged.from_store)}"
        + f"\n- put back: {named(merged.reverted)}\n"
        + "".join(
            f"- conflict about {each.field}: before {json.dumps(each.base)},"
            f" vault {json.dumps(each.vault)}, store {json.dumps(each.store)}\n"
            for each in merged.conflicts
        )
    )


def check(case: Path, answer: Callable[[dict[str, str]], str]) -> None:
    page = case.read_text(encoding="utf-8")
    head, found, expected = page.partition(EXPECTED)
    assert page.startswith("# ")
    assert found

    actual = answer(inputs(head))

    if os.environ.get("VAULTSYNC_UPDATE_GOLDEN") == "1":
        case.write_text(head + EXPECTED + actual, encoding="utf-8")
    else:
        assert actual == expected


@pytest.mark.parametrize("case", MERGES, ids=lambda case: case.stem)
def test_merges_are_as_the_golden_pages_say(case: Path) -> None:
    def answer(given: dict[str, str]) -> str:
        base = read_fact(given["base"]) if "base" in given else None
        return write_merged(
            merge(base, read_fact(given["vault"]), read_fact(given["store"]))
        )

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
        return fenced(note, "markdown")

    check(case, answer)


def test_there_are_golden_pages() -> None:
    assert len(MERGES) > 5
    assert len(CONFLICTS) > 3
