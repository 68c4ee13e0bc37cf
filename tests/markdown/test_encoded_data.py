from __future__ import annotations

from base64 import b64encode
from random import Random

import pytest

from vaultsync.markdown.encoded_data import replace_encoded_data, without_encoded_data


def data(size: int, seed: int = 0) -> str:
    return b64encode(Random(seed).randbytes(size)).decode()


def test_a_picture_in_a_link_is_encoded_data_with_its_padding() -> None:
    text = f"Above\n\n![chart](data:image/png;base64,{data(1000)})\n\nBelow"

    assert without_encoded_data(text) == "Above\n\n![chart](data:image/png;base64, )\n\nBelow"


def test_lines_of_a_drawing_are_one_passage() -> None:
    lines = data(192 * 30)
    drawing = "\n\n".join(lines[at : at + 256] for at in range(0, len(lines), 256))
    text = f"## Drawing\n```compressed-json\n{drawing}\n```\n%%"

    told = replace_encoded_data(text, "[{}]".format)

    assert told == f"## Drawing\n```compressed-json\n[{len(drawing)}]\n```\n%%"


@pytest.mark.parametrize(
    "text",
    [
        "-" * 300,
        "a" * 300,
        "Donaudampfschifffahrtsgesellschaftskapitän" * 4,
        "0123456789abcdef" * 8,  # a hash
        "ACGT" * 50,
        f"https://example.com/{'Path-1/page.html?x=1&' * 8}",
        "私は学生です" * 40,
        "/".join(["home", "Anna", "notes2"] * 6),
        data(60),
    ],
)
def test_long_words_that_people_write_are_not(text: str) -> None:
    assert without_encoded_data(text) == text
