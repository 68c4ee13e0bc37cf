"""A long JSON text is read one value at a time, in pieces of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.exchange import json_stream
from vaultsync.exchange.json_stream import json_values
from vaultsync.exchange.source_facts import Unreadable

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
_SPACE = st.sampled_from(["", " ", "\n\t", "\r\n"])


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(st.lists(_values, max_size=5), st.integers(1, 9), _SPACE)
def test_an_array_is_read_in_any_pieces(values: list[object], size: int, space: str) -> None:
    inner = f"{space},{space}".join(map(json.dumps, values))
    text = f"{space}[{space}{inner}{space}]{space}"
    assert [*json_values(_pieces(text, size))] == values


@given(st.lists(_values.filter(lambda x: not isinstance(x, list)), max_size=5), st.integers(1, 9))
def test_lines_are_read_in_pieces_of_any_size(values: list[object], size: int) -> None:
    text = "".join(f"{json.dumps(each)}\n" for each in values)
    assert [*json_values(_pieces(text, size))] == values


@pytest.mark.parametrize(
    ("text", "read", "why"),
    [
        ("[1, 2", [1, 2], "ends in the middle"),
        ("[1, {", [1], "not JSON"),
        ('{"a": 1}\n{broken}\n{"b": 2}', [{"a": 1}], "not JSON"),
        ("[" + "[" * 200_000, [], "too deeply"),
    ],
)
def test_what_follows_a_flaw_is_not_read(text: str, read: list[object], why: str) -> None:
    *before, last = json_values(_pieces(text, 7_000))
    assert before == read
    assert isinstance(last, Unreadable)
    assert why in last.why


def test_a_value_that_never_ends_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_ELEMENT", 100)
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 10
            yield '"aaaaaaaa' if taken == 10 else "a" * 10

    (last,) = json_values(endless())
    assert isinstance(last, Unreadable)
    assert taken < 1_000


def test_reading_takes_time_in_proportion_to_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    class Counted(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[object, int]:
            taken.append(len(s) - idx)
            return super().raw_decode(s, idx)

    monkeypatch.setattr("vaultsync.exchange.json_stream.json.JSONDecoder", Counted)
    text = json.dumps(["x" * 100_000, "y"])
    assert len([*json_values(_pieces(text, 64))]) == 2
    assert sum(taken) < 4 * len(text)
