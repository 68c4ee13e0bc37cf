"""The link index, a file of SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubles.sqlite import MemoryLinks
from vaultsync.backends.sqlite.links import SqliteLinks
from vaultsync.links.ports import EntityRecord, LinkedFact, LinkIndex, LinkReference

A, B, C = "a" * 8, "b" * 8, "c" * 8


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LinkIndex]:
    opened = SqliteLinks(tmp_path / "index" / "links.sqlite3")
    yield opened
    opened.close()


def link(fact_id: str, target: str, **more: str) -> LinkReference:
    return LinkReference(fact_id, target, **{"subpath": "", "kind": "wiki", **more})


def put(index: LinkIndex, *links: LinkReference, version: str = "s:1:1") -> None:
    by_fact: dict[str, list[LinkReference]] = {}
    for each in links:
        by_fact.setdefault(each.fact_id, []).append(each)
    index.update([LinkedFact(*each) for each in by_fact.items()], [], version=version)


def test_links_come_back_as_they_were_put_and_in_order(index: LinkIndex) -> None:
    links = [
        link(A, "Zoë", subpath="#Größe"),
        link(A, "b/Note.md", kind="embed"),
        link(A, "Note", kind="property", key="see.0"),
        link(A, "Note", kind="property", key="see.0"),
        link(A, "", subpath="#here"),
    ]
    put(index, *links, link(B, "Other"))

    assert index.links_from(A) == links
    assert index.version() == "s:1:1"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("Note", "Note.md"),
        ("note", "b/NOTE.md"),
        ("b/Note.md", "Note"),
        ("../x/Note", "Note.md"),
        ("/Note", "Note.md"),
        ("zoe\u0308", "Zoë.md"),
        ("p.png", "p.png"),
        ("v1.2", "v1.2.md"),
        ("odd.md", "odd.md.md"),
        ("two\u00a0words", "two words.md"),
    ],
)
def test_links_are_found_by_the_name_they_end_in(index: LinkIndex, target: str, name: str) -> None:
    put(index, link(A, target), link(B, "Else"))

    assert index.links_to([name, "nobody"]) == [link(A, target)]


def test_many_names_are_asked_at_once_and_answered_in_order(index: LinkIndex) -> None:
    here = link(C, "", subpath="#here")  # a place in the same note is no link to any
    put(index, link(B, "x"), link(A, "y"), link(A, "x"), link(C, "z"), here)

    assert index.links_to(["x", "y", "X.md"]) == [link(A, "y"), link(A, "x"), link(B, "x")]
    assert index.links_to(["", ".md"]) == index.links_to([]) == []


def test_what_is_put_replaces_the_links_of_its_fact_until_it_is_dropped(index: LinkIndex) -> None:
    put(index, link(A, "x"), link(B, "x"))
    index.update([LinkedFact(A, [link(A, "y")]), LinkedFact(C)], [], version="s:2:1")

    assert index.links_to(["x"]) == [link(B, "x")]
    assert index.links_from(A) == [link(A, "y")]
    assert index.version() == "s:2:1"

    index.update([], [A, C], version="s:3:1")
    assert index.links_from(A) == []
    assert index.links_to(["x", "y"]) == [link(B, "x")]


def test_entities_are_those_that_were_named_last(index: LinkIndex) -> None:
    alice = EntityRecord(A, "public", ("Alice", "Al"))
    bob = EntityRecord(B, "private-indy", ("Bob",))
    put = [LinkedFact(x.fact_id, (), x.names, x.scope) for x in (bob, alice)]
    index.update(put, [], version="s:1:1")
    assert index.entities() == [alice, bob]

    index.update([LinkedFact(A)], [], version="s:2:1")
    assert index.entities() == [bob]

    index.update([], [B], version="s:3:1")
    assert index.entities() == []


def test_a_new_and_a_cleared_index_are_empty_and_have_no_version(index: LinkIndex) -> None:
    for _ in range(2):
        assert index.version() is None
        assert index.links_from(A) == index.links_to(["x"]) == []
        assert index.entities() == []
        index.update([LinkedFact(A, [link(A, "x")], ("n",), "s")], [], version="v")
        index.clear()
    index.close()
    index.close()


_TARGETS = st.lists(st.sampled_from(["x", "y/x", "X.md", "z", ""]), max_size=3)
_TURN = st.tuples(
    st.dictionaries(st.sampled_from("ABC"), _TARGETS, max_size=2),
    st.lists(st.sampled_from("ABC"), max_size=1),
    st.booleans(),
)
Turn: TypeAlias = tuple[dict[str, list[str]], list[str], bool]


@given(st.lists(_TURN, max_size=5))
def test_an_index_that_follows_changes_answers_as_one_made_anew(turns: list[Turn]) -> None:
    follows, held = MemoryLinks(), dict[str, LinkedFact]()
    for links, drop, named in turns:
        scope = "public" if named else ""
        put = {
            key: LinkedFact(key, [link(key, to) for to in targets], (key,), scope)
            for key, targets in links.items()
        }
        gone = [each for each in drop if each not in put]
        follows.update([*put.values()], gone, version="v")
        held = {key: each for key, each in (held | put).items() if key not in gone}
        anew = MemoryLinks()
        anew.update([*held.values()], [], version="v")
        assert _told(follows) == _told(anew)
        assert [*map(follows.links_from, held)] == [[*each.links] for each in held.values()]


def _told(index: LinkIndex) -> object:
    return (
        [index.links_from(key) for key in "ABC"],
        index.links_to(["x"]),
        index.links_to(["z.md", "y"]),
        index.entities(),
        index.called("ABC"),
    )


def test_facts_are_found_by_their_titles_and_aliases_until_they_change(index: LinkIndex) -> None:
    names = {A: ("Zoë Lid.md", "Pot"), B: ("POT", "a/b/Tea"), C: ()}
    put = [LinkedFact(key, (), each) for key, each in names.items()]
    index.update(put, [], version="s:1:1")
    assert index.called(["pot"]) == [A, B]
    assert index.called(["x/zoë lid", "Tea"]) == [A, B]
    assert index.called(["", "Mug"]) == []
    index.update([LinkedFact(A, (), ("Mug",))], [B], version="s:1:2")
    assert index.called(["pot", "Tea", "Mug"]) == [A]
    index.clear()
    assert index.called(["Mug"]) == []
