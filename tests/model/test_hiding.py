"""What an answer says of what it hides."""

from __future__ import annotations

import pytest

from vaultsync.model.hiding import HiddenMatches, describe_hidden

SENTENCES = [
    ((), ""),
    (
        (HiddenMatches(12, "superseded"),),
        "12 more are hidden because they are superseded; --all shows them",
    ),
    ((HiddenMatches(1, "archived"),), "1 more is hidden because it is archived; --all shows it"),
    (
        (HiddenMatches(1, "background"),),
        "1 more is hidden because an agent wrote it with background priority; --all shows it",
    ),
    (
        (HiddenMatches(2_000, "superseded"), HiddenMatches(1, "expired", "status")),
        (
            "2,000 more are hidden because they are superseded, 1 is hidden because it is expired;"
            " --all and --status show them"
        ),
    ),
]


@pytest.mark.parametrize(("hidden", "sentence"), SENTENCES)
def test_a_sentence_says_how_many_why_and_how_to_see_them(
    hidden: tuple[HiddenMatches, ...], sentence: str
) -> None:
    assert describe_hidden(hidden) == sentence
