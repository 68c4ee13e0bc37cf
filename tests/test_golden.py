"""The pages under `golden/`, and that none is left over.

`golden/README.md` tells how to read and renew them.
"""

from __future__ import annotations

import difflib
import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests import golden_errors, golden_passes
from tests.contracts.test_store import STORES
from tests.golden import GOLDEN, RENEW, check, fenced, sections
from vaultsync.errors import UnsafeSpliceError
from vaultsync.model.canonical import link_name
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import TYPES, Value
from vaultsync.notes.conflict_note import (
    ConflictRecord,
    FieldConflict,
    conflict_id,
    render_conflict,
    ticked_fields,
)
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import render_note, rewrite_note
from vaultsync.notes.review_note import CONFLICT_SUFFIX, review_path
from vaultsync.notes.view import NoteView
from vaultsync.privacy.placeholders import Redactor
from vaultsync.sync.merge import MergeResult, merge

NOTES = sorted(GOLDEN.glob("notes/*.md"))
EDITS = sorted(GOLDEN.glob("edits/*.md"))
MERGES = sorted(GOLDEN.glob("merge/*.md"))
CONFLICTS = sorted(GOLDEN.glob("conflict/*.md"))
HYGIENE = sorted(GOLDEN.glob("hygiene/*.md"))
PASSES = sorted(page.parent for page in GOLDEN.glob("sync/*/case.md"))
ID = "0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e0f"
PATH = VaultPath("team-core/notes/A note.md")
ALONE = """
README.md embedding/reference.jsonl errors.md memory-file/MEMORY.md retrieval/README.md
retrieval/questions.toml retrieval/said.toml questions/README.md questions/sample-vault.toml
questions/help-vault.toml surface/cli-help.txt surface/cli-output.txt surface/cli-terminal.txt
surface/mcp.json surface/openapi.json baseline.json observations/README.md
observations/observations.jsonl observations/compressions.jsonl hooks/README.md
"""
TAKEN = {
    **dict.fromkeys(ALONE.split(), 1),
    "conflict/*.md": 4,
    "context/*.md": 6,
    "edits/*.md": 12,
    "exchange/**/*": 40,
    "hooks/*.json*": 20,
    "hosts/**/*": 10,
    "http/*.json": 40,
    "hygiene/*.md": 3,
    "index/*.md": 2,
    "merge/*.md": 6,
    "notes/*.md": 14,
    "sync/*/case.md": 12,
}
"""Every page is one of these, and there are at least so many."""


@pytest.mark.parametrize("case", NOTES, ids=lambda case: case.stem)
def test_notes_are_written_as_the_golden_pages_say(case: Path) -> None:
    def answer(given: dict[str, str]) -> str:
        fact = make_fact(json.loads(given["fact"]))
        links = json.loads(given.get("links", "{}"))
        data = render_note(fact, links=links)
        assert read_back(data, fact, links) == ()
        return fenced(data.decode(), "markdown")

    check(case, answer)


def read_back(data: bytes, fact: Fact, links: dict[str, str]) -> tuple[str, ...]:
    """The fields in which a note, read without its base, differs from the fact."""
    note = read_note(data, PATH)
    assert note.problems == ()
    ids = {link_name(text): fact_id for fact_id, text in links.items()}
    assert set(note.body.related) <= set(ids)
    said = make_fact({**note.properties, **note.values, "id": note.id, "scope": fact.scope})
    assert differing_keys(apply_note_edits(fact, note, note, ids=ids), fact) == ()
    return differing_keys(said, fact, volatile=True)


@pytest.mark.parametrize("case", EDITS, ids=lambda case: case.stem)
def test_an_agents_edit_changes_only_the_lines_of_the_golden_pages(case: Path) -> None:
    def answer(given: dict[str, str]) -> str:
        before = given["note"]
        links = json.loads(given.get("links", "{}"))
        note = read_note(before.encode(), PATH)
        fact = Fact(note.id or "", scope="team-core").overlay(note.values, note.properties)
        wanted = fact.replace(json.loads(given["edit"]))
        try:
            data = rewrite_note(note, fact, wanted, links=links)
        except UnsafeSpliceError as refused:
            return f"Refused: {refused.message}\n"
        after = data.decode()
        ids = {link_name(text): fact_id for fact_id, text in links.items()}
        again = read_note(data, PATH)
        assert differing_keys(apply_note_edits(fact, note, again, ids=ids), wanted) == ()
        differs = "\n".join(changes(before, after))
        return fenced(after, "markdown") + "\n" + fenced(f"{differs}\n", "diff")

    check(case, answer)


@pytest.mark.parametrize("case", HYGIENE, ids=lambda case: case.stem)
def test_secrets_and_scripts_are_shown_as_the_golden_pages_say(case: Path) -> None:
    view = NoteView.of(
        Redactor(b"a key for golden pages", (re.compile(r"ACME-\d{4}"),)),
        redacts=True,
        escapes=True,
    )

    def answer(given: dict[str, str]) -> str:
        fact = make_fact(json.loads(given["fact"]))
        text = render_note(view.to_note(fact), links={}).decode()
        note = view.from_base_note(read_note(text.encode(), PATH), fact)
        assert differing_keys(apply_note_edits(fact, note, note), fact) == ()
        if "edit" not in given:
            return fenced(text, "markdown")
        for old, new in json.loads(given["person"]).items():
            assert old in text
            text = text.replace(old, new)
        now = view.from_note(read_note(text.encode(), PATH), fact, before=note)
        vault = apply_note_edits(fact, note, now)
        assert rewrite_note(now, vault, vault, links={}, view=view).decode() == text
        said = json.loads(given["edit"])
        content = vault.content + said["append"]
        for old, new in said["replace"].items():
            content = content.replace(old, new)
        merged = vault.replace({"content": content})
        after = rewrite_note(now, vault, merged, links={}, view=view).decode()
        differs = "\n".join(changes(text, after))
        return fenced(after, "markdown") + "\n" + fenced(f"{differs}\n", "diff")

    check(case, answer)


def changes(before: str, after: str) -> list[str]:
    """The lines that only the one or the other has."""
    return [
        line if line[2:] else line[0]
        for line in difflib.ndiff(before.split("\n"), after.split("\n"))
        if line[:2] in ("- ", "+ ")
    ]


# --- merges and conflicts -------------------------------------------------------------


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
        path = VaultPath(values["path"])
        beside = review_path(path, CONFLICT_SUFFIX, review_id=made)
        who, at, run = values["actor"], "2026-02-14T13:45:00Z", f"{ID[:-12]}000000000001"
        conflict = ConflictRecord(
            made, ID, path, beside, fields, who, at, run, title=values["title"]
        )
        note = render_conflict(conflict)
        assert ticked_fields(note) == frozenset()
        return fenced(note.rstrip() + "\n", "markdown")

    check(case, answer)


# --- passes and errors -----------------------------------------------------------------


@pytest.mark.parametrize("store", ["memory", "sqlite", "qdrant local", "qdrant edge"])
@pytest.mark.parametrize("case", PASSES, ids=lambda case: case.name)
def test_whole_passes_end_as_the_golden_cases_say(case: Path, store: str, tmp_path: Path) -> None:
    golden_passes.play(case, tmp_path / "vault", partial(STORES[store], tmp_path))


@pytest.mark.long(5)
def test_mistakes_are_answered_as_the_golden_page_says(tmp_path: Path) -> None:
    path = GOLDEN / "errors.md"
    page = path.read_text(encoding="utf-8")

    actual = golden_errors.play(page, tmp_path)

    if RENEW:
        path.write_text(actual, encoding="utf-8")
    else:
        assert actual == page


def test_every_situation_is_on_the_golden_page() -> None:
    page = (GOLDEN / "errors.md").read_text(encoding="utf-8")
    given = {found["given"] for found in golden_errors.SECTION.finditer(page)}
    assert given == set(golden_errors.SITUATIONS)


def test_there_is_a_golden_note_of_every_type() -> None:
    shown = [
        make_fact(json.loads(sections(case.read_text(encoding="utf-8"))["fact"])).type
        for case in NOTES
    ]
    assert set(shown) == set(TYPES)


def test_no_golden_page_is_left_over() -> None:
    taken = {row: set(GOLDEN.glob(row)) for row in TAKEN}
    counts = {row: len(found) for row, found in taken.items()}
    assert {row for row, least in TAKEN.items() if counts[row] < least} == set()
    cases = [page.parent for page in taken["sync/*/case.md"]]
    left = {
        path
        for path in GOLDEN.rglob("*")
        if path.is_file()
        and not any(case in path.parents for case in cases)
        and not any(path in found for found in taken.values())
    }
    assert left == set()
