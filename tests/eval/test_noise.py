"""Classifying hides the noise of sessions from recall, and not what matters."""

from __future__ import annotations

import pytest

from tests.eval.noise import NOISE_SHARE, generate, measure


def test_the_corpus_is_the_same_each_time_and_nothing_is_in_it_twice() -> None:
    rows = generate(500)

    assert rows == generate(500)
    assert len({each.text for each in rows}) == 500
    assert sum(not each.asks for each in rows) == round(500 * NOISE_SHARE)


@pytest.mark.long(5)
def test_default_recall_carries_little_of_what_is_stored_and_still_finds_what_matters() -> None:
    found = measure(150)

    assert found.saved >= 0.7
    assert found.recall_kept >= found.recall_raw - 0.01
    assert found.noise_kept < 0.3  # of so few; the report measures 10,000
    assert found.noise_in_hits < found.noise_in_raw_hits
