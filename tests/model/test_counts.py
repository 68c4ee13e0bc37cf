"""A number agrees with its noun."""

from __future__ import annotations

import pytest

from vaultsync.model.counts import count_noun


@pytest.mark.parametrize(
    ("number", "word", "many", "text"),
    [
        (0, "note", "", "0 notes"),
        (1, "note", "", "1 note"),
        (1, "copy", "copies", "1 copy"),
        (1234, "copy", "copies", "1,234 copies"),
    ],
)
def test_only_one_is_singular(number: int, word: str, many: str, text: str) -> None:
    assert count_noun(number, word, many=many) == text
