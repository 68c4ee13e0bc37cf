"""What gives a fact away: pieces of its texts, found in any bytes."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.storage.erasure import MAX_PIECE, MIN_PIECE, Traces, distinctive_pieces

ID = "01a20799-8f08-712f-9e6d-6289dd2a3f9e"
MANY = [f"Sentence {n} of another text" for n in range(100)]


def test_sentences_and_lines_are_pieces_and_long_ones_are_cut() -> None:
    text = (
        "# The heading of it\n\nOne sentence is here. Another one follows! Too short.\n" + "x" * 150
    )
    assert distinctive_pieces(text) == {
        "The heading of it",
        "One sentence is here",
        "Another one follows!",
        "x" * MAX_PIECE,
        "x" * (150 - 2 * MAX_PIECE),
    }


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("PIN 4711", {"PIN 4711"}),
        ("implemented", set()),
        ("PIN 471", set()),
        ("a\nb 4 c\nd", {"a\nb 4 c\nd"}),
        ("PIN: 4711\n- Bank: UBS\n", {"PIN: 4711\n- Bank: UBS"}),
        ("a\nb\nc", set()),
    ],
)
def test_a_short_text_is_its_own_piece_unless_it_is_a_word(text: str, pieces: set[str]) -> None:
    assert distinctive_pieces(text) == pieces


@pytest.mark.parametrize("around", ["{}", "abc{}def", "99{}99", "\x00{}\x01", "é{}é", "{0} {0}"])
@pytest.mark.parametrize(
    "piece", ["Zum Löwen in Gräfelfing", "秘密の結婚式は来週の土曜日に行われます", ID]
)
@pytest.mark.parametrize("others", [[], MANY], ids=["alone", "among many"])
def test_a_piece_is_found_beside_anything(around: str, piece: str, others: list[str]) -> None:
    traces = Traces([ID], [piece, *others])
    text = around.format(piece)
    assert traces.found_in(text.encode())[piece] == text.count(piece)
    assert traces.found_in(json.dumps(text).encode())[piece] == text.count(piece)
    assert traces.mentions(text)
    assert not traces.mentions(text.replace(piece[3:], ""))
    assert not traces.mentions(None)
    assert traces.without([piece]).mentions(text) == (piece == ID)


@given(st.binary(max_size=200), st.lists(st.text(min_size=MIN_PIECE, max_size=30), max_size=5))
def test_what_is_found_is_there_and_what_is_there_is_found(data: bytes, pieces: list[str]) -> None:
    traces = Traces([], pieces)
    assert traces.found_in(data) == {}
    joined = data.join(each.encode() for each in pieces)
    found = traces.found_in(joined)
    assert found.keys() >= {each for each in pieces if each.encode() in joined}
    assert Traces([], [*pieces, *MANY]).found_in(joined) == found


def test_the_time_of_a_search_does_not_depend_on_the_number_of_pieces() -> None:
    random_ = random.Random(7)
    words = [f"word{random_.randrange(10**9)}" for _ in range(30_000)]
    pieces = [f"{a} {b} {c}" for (a, b), c in zip(pairwise(words), words, strict=False)]
    data = " ".join(words).encode()
    assert sum(len(each) for each in Traces([], pieces)._by_word.values()) <= 2 * len(pieces)
    assert Traces([], [pieces[0], *MANY]).found_in(data) == {}
    piece = " ".join(words[5:8])
    assert Traces([], [piece, *MANY]).found_in(data) == {piece: 1}
