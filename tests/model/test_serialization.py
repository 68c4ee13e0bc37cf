"""Facts as lines of JSON."""

from __future__ import annotations

from hypothesis import given

from tests.strategies import facts
from vaultsync.model import serialization as wire
from vaultsync.model.fact import Fact


@given(facts())
def test_what_was_written_is_read(fact: Fact) -> None:
    line = wire.fact_to_json(fact)
    again = wire.from_line(line.encode(), "7-a")
    assert again == fact == wire.fact_from_json(line)
    assert again.revision == "7-a"
    assert wire.fact_line(again) == line.encode()
