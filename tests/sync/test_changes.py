"""What happened on each side since the base; bytes decide, never times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import edits, facts
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import render_note
from vaultsync.sync.changes import (
    StoreChange,
    VaultChange,
    is_half_saved,
    store_change,
    vault_change,
)

ID = "0193f6c2-0000-7000-8000-00000000000a"
PATH = VaultPath("team-core/notes/a.md")
FACT = make_fact({"id": ID, "content": "One.\n\nTwo.", "scope": "team-core"}).evolve(
    path=PATH, revision="1"
)
NOTE = render_note(FACT, links={})


def _change(data: bytes, path: VaultPath = PATH) -> VaultChange:
    before, now = read_note(NOTE, PATH), read_note(data, path)
    return vault_change(FACT, before, now, "sha").change


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (b"One.", b"One!", VaultChange.MODIFIED),
        (b"status: active", b"status: 'active'", VaultChange.REFORMATTED),
        (b"status: active", b"status: active # yes", VaultChange.REFORMATTED),
        (b"status: active", b"status: active\nmood: sunny", VaultChange.MODIFIED),
        (b"id: " + ID.encode() + b"\n", b"", VaultChange.MODIFIED),
        (b"\n", b"\r\n", VaultChange.REFORMATTED),
    ],
)
def test_bytes_that_mean_the_same_are_a_reformat(
    old: bytes, new: bytes, change: VaultChange
) -> None:
    assert _change(NOTE.replace(old, new)) is change


def test_another_path_is_a_move_and_an_edit_is_more() -> None:
    other = VaultPath("team-core/notes/b.md")
    assert _change(NOTE, other) is VaultChange.MOVED
    assert _change(NOTE.replace(b"One.", b"1."), other) is VaultChange.MODIFIED
    assert _change(NOTE, VaultPath("team-core/lessons/a.md")) is VaultChange.MODIFIED


@pytest.mark.parametrize(
    ("folder", "scope"), [("project-x/notes", "project-x"), ("Desk", None), ("team-core", None)]
)
def test_the_scope_of_another_folder_is_named(folder: str, scope: str | None) -> None:
    before = read_note(NOTE, PATH)
    now = read_note(NOTE, VaultPath(f"{folder}/a.md"))
    assert vault_change(FACT, before, now, "sha").scope == scope


@pytest.mark.parametrize(
    ("base", "current", "known", "change"),
    [
        (None, None, False, StoreChange.NONE),
        (None, FACT, True, StoreChange.CREATED),
        (None, None, True, StoreChange.TOMBSTONE),
        (FACT, None, False, StoreChange.MISSING),
        (FACT, None, True, StoreChange.DELETED),
        (FACT, FACT, True, StoreChange.UNCHANGED),
        (FACT, FACT.evolve(revision="2"), True, StoreChange.TOUCHED),
        (
            FACT,
            FACT.evolve(revision="2", updated_at="2030-01-01T00:00:00Z"),
            True,
            StoreChange.TOUCHED,
        ),
        (FACT, FACT.evolve(revision="2", status="x"), True, StoreChange.MODIFIED),
    ],
)
def test_each_change_of_the_store(
    base: Fact | None, current: Fact | None, known: bool, change: StoreChange
) -> None:
    assert store_change(base, current, known=known) is change


@given(st.data())
def test_a_difference_is_a_modification_and_nothing_else_is(data: st.DataObject) -> None:
    fact = data.draw(facts()).evolve(revision="1")
    after = data.draw(edits(fact)).evolve(revision="2")
    found = store_change(fact, after, known=True)
    assert (found is StoreChange.MODIFIED) == bool(differing_keys(fact, after))


def test_a_note_cut_within_a_line_looks_half_saved() -> None:
    for end in range(len(NOTE)):
        if b"\n" not in (NOTE[end - 1 : end], NOTE[end : end + 1]):
            assert is_half_saved(NOTE, NOTE[:end]), NOTE[:end]


def test_a_note_cut_within_its_frontmatter_looks_half_saved() -> None:
    for end in range(1, NOTE.index(b"\n---\n", 3) + 1):
        assert is_half_saved(NOTE, NOTE[:end]), NOTE[:end]


@pytest.mark.parametrize(
    ("before", "now", "half"),
    [
        (b"words\n", b"", True),
        (b"words\n", b" \n", True),
        (b"", b"", False),
        (b"", b"new", False),
        (b"one\ntwo\n", b"one\n", False),
        (b"one\ntwo\n", b"one", False),
        (b"one\ntwo\n", b"on", True),
        (b"one\ntwo\n", b"One more\n", False),
        (b"---\na: 1\n---\nx\n", b"---\na: 2\n", True),
        (b"---\na: 1\n---\nx\n", b"words\n", False),
        (b"---\na: 1\n---\nx\n", b"---\na: 2\n---\n", False),
        (b"prose", b"---\nmore prose", False),
        ("ä".encode(), b"\xc3", True),
        (b"x", "yä".encode()[:-1], True),
        (b"x", b"\xff\xfe", False),
        (b"x", b"x", False),
    ],
)
def test_what_looks_half_saved(before: bytes, now: bytes, half: bool) -> None:
    assert is_half_saved(before, now) is half


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_a_note_that_only_grew_is_not_half_saved(before: bytes, more: bytes) -> None:
    now = b"words " + before.replace(b"---", b"") + b"\n"
    assert not is_half_saved(now, now)
    try:
        (now + more).decode()
    except UnicodeDecodeError:
        return
    assert not is_half_saved(now, now + more)
