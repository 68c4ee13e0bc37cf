"""Notes that need no reading: they are what their facts would be written as."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.notes.test_view import OPEN, VIEW, planted
from tests.strategies import edits, facts
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import FIELDS, FieldOwner
from vaultsync.notes.canonical_form import is_canonical, leading_id
from vaultsync.notes.parse import home_folder, read_note
from vaultsync.notes.render import render_note
from vaultsync.notes.view import IDENTITY_VIEW, NoteView

ID = "0193f6c2-0000-7000-8000-00000000000a"
OTHER = "0193f6c2-0000-7000-8000-00000000000b"
THIRD = "0193f6c2-0000-7000-8000-00000000000c"
PATH = VaultPath("public/notes/a note.md")


def _links(fact: Fact) -> dict[str, str]:
    return {each: f"[[note {each[:8]}|its title]]" for each in fact.related_fact_ids}


def _at(fact: Fact) -> VaultPath:
    return VaultPath(f"{home_folder(fact)}/a note.md")


def _fact(*related: str) -> Fact:
    said = {"id": ID, "title": "A note", "content": "What it says.", "scope": "public"}
    return make_fact({**said, "relatedFactIds": list(related)})


@given(facts())
def test_what_was_written_of_a_fact_is_verbatim(fact: Fact) -> None:
    data = render_note(fact, links=_links(fact))
    assert leading_id(data) == fact.id
    assert is_canonical(data, _at(fact), fact, IDENTITY_VIEW)


@pytest.mark.parametrize("folder", ["team-core/notes", "public/lessons"])
def test_in_a_folder_that_implies_other_values_it_is_not(folder: str) -> None:
    data, path = render_note(_fact(), links={}), VaultPath(f"{folder}/a note.md")
    assert not is_canonical(data, path, _fact(), IDENTITY_VIEW)
    assert is_canonical(data, VaultPath("Mine/a note.md"), _fact(), IDENTITY_VIEW)


@given(planted(), st.sampled_from([VIEW, OPEN]))
def test_so_it_is_where_secrets_are_hidden_and_scripts_disarmed(fact: Fact, view: NoteView) -> None:
    data = render_note(view.to_note(fact), links=_links(fact))
    assert is_canonical(data, _at(fact), fact, view)


@given(planted(), st.data())
def test_a_note_that_says_something_else_is_not(fact: Fact, data: st.DataObject) -> None:
    other = data.draw(edits(fact))
    note = render_note(VIEW.to_note(other), links=_links(other))
    if differing_keys(fact, other):
        assert not is_canonical(note, _at(fact), fact, VIEW)


@given(facts(), st.data())
def test_each_byte_counts(fact: Fact, data: st.DataObject) -> None:
    note = render_note(fact, links=_links(fact))
    at = data.draw(st.integers(0, len(note) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda x: x != note[at]))
    changed = note[:at] + bytes([byte]) + note[at + 1 :]
    # Only the name that a link shows, or a volatile field, may differ.
    if is_canonical(changed, _at(fact), fact, IDENTITY_VIEW):
        was, now = read_note(note, PATH), read_note(changed, PATH)
        volatile = {row.key for row in FIELDS if row.owner is FieldOwner.VOLATILE}
        assert all(
            now.values.get(key) == was.values.get(key)
            for key in {*now.values, *was.values} - volatile
        )
        assert now.properties == was.properties
        assert len(now.body.related) == len(was.body.related)
        assert now.body.strays == was.body.strays


@given(facts(), st.data())
def test_volatile_fields_do_not_count(fact: Fact, data: st.DataObject) -> None:
    other = data.draw(edits(fact, FieldOwner.VOLATILE))
    note = render_note(other, links=_links(other))
    assert differing_keys(fact, other) == ()
    if fact.recall_ids == other.recall_ids:
        assert is_canonical(note, _at(fact), fact, IDENTITY_VIEW)


@pytest.mark.parametrize(
    "lines",
    [
        *("updatedAt: 2026-99-14T13:45:00Z", "updatedAt: [2026", "decayFactor: 2"),
        *("accessCount: 1.5", "accessCount: many", "accessCount: 3\naccessCount: 4"),
        *("accessCount: 3\n  - a tag", "accessCount: 3\n"),
    ],
)
def test_a_volatile_field_that_cannot_be_read_is_seen(lines: str) -> None:
    fact = _fact()
    note = render_note(fact, links={}).decode()
    for before in ("\nstatus: ", "\n---\n\n# "):
        changed = note.replace(before, f"\n{lines}{before}", 1)
        assert changed != note
        assert not is_canonical(changed.encode(), PATH, fact, IDENTITY_VIEW)


def test_a_volatile_line_within_another_value_is_seen() -> None:
    fact = _fact().replace({"tags": ["one", "two"]})
    note = render_note(fact, links={}).decode()
    changed = note.replace("  - two\n", "accessCount: 3\n  - two\n", 1)
    assert not is_canonical(changed.encode(), PATH, fact, IDENTITY_VIEW)
    good = note.replace("tags:\n", "accessCount: 3\ntags:\n", 1)
    assert is_canonical(good.encode(), PATH, fact, IDENTITY_VIEW)
    assert is_canonical(good.encode(), PATH, fact.replace({"accessCount": 9}), IDENTITY_VIEW)


@pytest.mark.parametrize(
    ("one", "two", "taken"),
    [
        ("[[B]]", "[[C]]", True),
        ("[[A/B|b]]", "[[C#d|e f]]", True),
        ("[[B]]", None, False),
        (None, None, False),
        *(("[[B]]", line, False) for line in ("what I think of it", "[[B]] and more", "[[B")),
        *(("[[B]]", line, False) for line in ("[[B]] [[C]]", "[[B]]\n- [[C]]", "[[]]", "[[?]]")),
    ],
)
def test_links_are_taken_as_they_stand_and_what_else_is_among_them_is_read(
    one: str | None, two: str | None, *, taken: bool
) -> None:
    fact = _fact(OTHER, THIRD)
    links = {key: link for key, link in ((OTHER, one), (THIRD, two)) if link is not None}
    data = render_note(fact, links=links).replace(b"?", b"\xff")  # which is no text
    assert is_canonical(data, PATH, fact, IDENTITY_VIEW) is taken


@pytest.mark.parametrize(
    "text", ["", "# A note\n", f"---\ntype: note\nid: {ID}\n---\n", f"---\r\nid: {ID}\r\n---\r\n"]
)
def test_a_note_that_begins_otherwise_is_read(text: str) -> None:
    assert leading_id(text.encode()) is None
