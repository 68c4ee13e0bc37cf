from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.packs import COUNTERS, contents, fact, words
from vaultsync.context_packs.formats import PACK_FORMS, PackPiece, RenderedPiece, citation_of
from vaultsync.context_packs.truncate import cut_piece, cut_words

TEN = "\n\n".join(f"Paragraph {n} has five words." for n in range(10))


def rendered(piece: PackPiece) -> RenderedPiece:
    text = PACK_FORMS["markdown"].piece(piece)
    return RenderedPiece(piece, text, words(text))


def shortened(body: str, room: int, passage: str = "") -> RenderedPiece | None:
    one = fact(1)
    whole = PackPiece(one, "notable", "words: x", citation_of(one), body)
    return cut_piece(rendered(whole), passage, room, rendered)


def body_of(shorter: RenderedPiece | None) -> str:
    assert shorter is not None
    assert shorter.piece.cut
    return shorter.piece.body


LIST = "\n".join(f"- item {n} of a list" for n in range(30))
DEEPER = "## Deeper\n\n" + "word " * 90


@pytest.mark.parametrize(
    ("body", "room", "kept", "mark"),
    [
        (TEN, 56, TEN.partition("\n\nParagraph 7")[0], "paragraphs 1 to 7 of 10"),
        (TEN, 28, "Paragraph 0 has five words.", "paragraph 1 of 10"),
        (
            f"One two three.\n\n{DEEPER}",
            46,
            "One two three.",
            "paragraph 1 of 3",
        ),  # no heading last
        (DEEPER, 46, "## Deeper", "paragraph 1 of 2"),  # but better than nothing
        (LIST, 66, LIST.partition("\n- item 7")[0], "lines 1 to 7 of 30"),
    ],
)
def test_the_first_pieces_that_fit_stay(body: str, room: int, kept: str, mark: str) -> None:
    assert body_of(shortened(body, room)) == f"{kept}\n\n[cut to {mark}]"


def test_a_passage_that_stays_anyway_changes_nothing() -> None:
    assert shortened(TEN, 66, "Paragraph 4") == shortened(TEN, 66)
    assert shortened(TEN, 66, "not there") == shortened(TEN, 66)


def test_a_passage_further_down_is_kept_with_the_heading_above_it() -> None:
    text = TEN.replace("Paragraph 5 has five words.", "## Deeper\n\nParagraph 5\nhas five words.")
    shorter = shortened(text, 46, "Paragraph 6 has")
    assert body_of(shorter).startswith("## Deeper\n\nParagraph 5\nhas")
    assert shorter is not None
    assert shorter.piece.citation == "public/facts/1.md#Deeper"


def test_a_passage_too_far_below_its_heading_begins_what_is_kept() -> None:
    body = body_of(shortened(f"# Top\n\n{TEN}", 56, "Paragraph 7 has five"))
    assert body.startswith("Paragraph 7")
    assert body.endswith("[cut to paragraphs 9 to 11 of 11]")


@pytest.mark.parametrize(
    "body",
    ["word " * 90, "", "```\n" + "line of code\n" * 40 + "```", "word " * 90 + "\n" + "word " * 90],
)
def test_what_cannot_be_cut_to_fit_is_left_out(body: str) -> None:
    assert shortened(body, 40) is None


@given(
    contents(),
    st.sampled_from(sorted(COUNTERS)),
    st.integers(0, 600),
    st.sampled_from(["", "gate opens", "one"]),
)
def test_a_cut_fits_and_shows_whole_lines(body: str, counter: str, room: int, passage: str) -> None:
    count = COUNTERS[counter]
    form = PACK_FORMS["xml"]

    def counted(piece: PackPiece) -> RenderedPiece:
        text = form.piece(piece)
        return RenderedPiece(piece, text, count(text))

    one = fact(1)
    whole = PackPiece(one, "notable", "words: x", citation_of(one), body)
    shorter = cut_piece(counted(whole), passage, room, counted)
    if shorter is not None:
        assert shorter.tokens == count(shorter.text) <= room
        kept = shorter.piece.body.rpartition("\n\n[cut to ")[0]
        assert kept
        assert {line for line in kept.split("\n") if line.strip()} <= set(body.split("\n"))
        assert counted(replace(shorter.piece)) == shorter


def test_a_counter_that_nothing_pleases_is_not_asked_for_ever() -> None:
    asked: list[PackPiece] = []

    def never(piece: PackPiece) -> RenderedPiece:
        asked.append(piece)
        return RenderedPiece(piece, "", 101)

    one = fact(1)
    whole = PackPiece(one, "notable", "words: x", citation_of(one), "\n\n".join("abcdefgh" * 20))
    assert cut_piece(RenderedPiece(whole, "", 101), "", 100, never) is None
    assert len(asked) < 20


@given(st.integers(-600, 0))
def test_where_there_is_no_room_no_word_is_left(room: int) -> None:
    def counted(piece: PackPiece) -> RenderedPiece:
        return RenderedPiece(piece, piece.body, len(piece.body))

    one = fact(1)
    whole = PackPiece(one, "notable", "words: x", citation_of(one), "word " * 90)
    assert cut_words(counted(whole), "", room, counted) is None
