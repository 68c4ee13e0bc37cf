from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.packs import contents
from vaultsync.context_packs.excerpt import Excerpt, excerpt


def sentences(*numbers: int) -> str:
    return " ".join(f"Sentence number {n:02} has six words." for n in numbers)


TWENTY = sentences(*range(20))


def text_of(found: Excerpt | None) -> str:
    assert found is not None
    return found.text


TIDES = "\n\n".join(f"潮位は{n}番。曲線は{n}本。" for n in range(20))


@pytest.mark.parametrize(
    ("text", "passage", "room", "kept"),
    [
        (TWENTY, "number 10 has", 110, f"… {sentences(10, 11, 12)} …"),
        (TWENTY, "", 80, f"{sentences(0, 1)} …"),
        (TWENTY, "number 19", 110, f"… {sentences(17, 18, 19)}"),
        (TIDES, "曲線は7本", 8, "… 曲線は7本。 …"),  # a script without blanks
        (f"The gate opens.\n\n## Deeper\n\n{TWENTY}", "gate", 40, "The gate opens. …"),
    ],
)
def test_sentences_around_the_passage_stay(text: str, passage: str, room: int, kept: str) -> None:
    assert text_of(excerpt(text, passage, room)) == kept


@given(st.integers(0, 690), st.integers(1, 150))
def test_a_passage_that_stands_there_stays_whole(begin: int, length: int) -> None:
    passage = TWENTY[begin : begin + length].strip()
    assert passage in text_of(excerpt(TWENTY, f"…{passage}…", 260))


def test_a_passage_longer_than_the_room_is_cut() -> None:
    assert len(text_of(excerpt(TWENTY, TWENTY[200:500], 110))) <= 110 + len("… " + " …")


def test_a_text_hardly_longer_stays_whole() -> None:
    assert excerpt(TWENTY, "number 10", len(TWENTY)) is None
    assert excerpt("One sentence " * 40 + "is all.", "", 100) is None


def test_the_heading_above_is_named() -> None:
    text = f"# Top\n\n{TWENTY}\n\n## Deeper\n\nThe gate opens at noon.\n\n## Last\n\nNo."
    found = excerpt(text, "gate opens noon", 30)
    assert found == Excerpt("… The gate opens at noon. …", "Deeper")


@pytest.mark.parametrize("after", ["", "\n\nEnd."])
def test_a_code_block_is_never_cut(after: str) -> None:
    code = "```python\na = 1\n\nb = 2. c\n```"
    assert code in text_of(excerpt(f"{TWENTY}\n\n{code}{after}", "b c python", 20))


@given(contents(), st.sampled_from(["", "gate opens", "one", "nowhere"]))
def test_an_excerpt_is_a_part_of_the_text(text: str, passage: str) -> None:
    found = excerpt(text, passage, 40)
    if found is not None:
        part = found.text.removeprefix("… ").removesuffix(" …")
        assert part
        assert part in text
        assert len(part) < len(text)


def test_blanks_have_no_excerpt() -> None:
    assert excerpt(" \n" * 400, "   ") is None
