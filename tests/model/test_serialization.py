"""Facts as lines of JSON."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import edits, facts
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath


@given(facts())
def test_what_was_written_is_read(fact: Fact) -> None:
    line = wire.fact_to_json(fact)
    again = wire.from_line(line.encode(), "7-a")
    assert again == fact == wire.fact_from_json(line)
    assert again.revision == "7-a"
    assert wire.fact_line(again) == line.encode()


@given(facts())
def test_a_line_is_made_once(fact: Fact) -> None:
    line = wire.fact_line(fact)
    assert line == wire.fact_to_json(fact).encode()
    assert wire.fact_line(fact.evolve(path=VaultPath("a.md"), revision="8-b")) is line


@given(facts(), st.data())
def test_a_line_is_let_go_of_as_soon_as_a_fact_says_something_else(
    fact: Fact, data: st.DataObject
) -> None:
    read = wire.from_line(wire.fact_line(fact), "7-a")
    moved = read.evolve(path=VaultPath("public/notes/elsewhere.md"), revision="8-b")
    for each in (
        moved.evolve(title="Another title"),
        replace(moved, title="Another title"),
        data.draw(edits(moved)),
        moved.overlay({"title": "Another title"}, {}),
    ):
        assert wire.fact_from_json(wire.fact_line(each).decode()) == each
    assert moved.line == read.line
