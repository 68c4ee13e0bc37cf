"""Facts as lines of JSON."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import edits, facts
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath

counts = st.sampled_from([1, wire.MANY])


@given(facts(), counts)
def test_what_was_written_is_read(fact: Fact, count: int) -> None:
    line = wire.to_json(fact)
    again = wire.reader(count)(line.encode(), "7-a")
    assert again == fact == wire.from_json(line)
    assert again.revision == "7-a"
    assert wire.line_of(again) == line.encode()


@given(facts())
def test_a_line_is_made_once(fact: Fact) -> None:
    line = wire.line_of(fact)
    assert line == wire.to_json(fact).encode()
    assert wire.line_of(fact.but(path=VaultPath("a.md"), revision="8-b")) is line


@given(facts(), counts, st.data())
def test_a_line_is_let_go_of_as_soon_as_a_fact_says_something_else(
    fact: Fact, count: int, data: st.DataObject
) -> None:
    read = wire.reader(count)(wire.line_of(fact), "7-a")
    moved = read.but(path=VaultPath("public/notes/elsewhere.md"), revision="8-b")
    for each in (
        moved.but(title="Another title"),
        replace(moved, title="Another title"),
        data.draw(edits(moved)),
        moved.laid_over({"title": "Another title"}, {}),
    ):
        assert wire.from_json(wire.line_of(each).decode()) == each
    assert moved.line == read.line
