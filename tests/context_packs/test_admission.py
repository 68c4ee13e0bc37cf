from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.context_packs.relevance import relevance_of, required_relevance
from vaultsync.recall.ranking import MIN_ANSWERABLE, is_weak

SHARES = st.floats(0, 1)


@given(SHARES, SHARES, st.booleans())
def test_facts_fit_better_the_surer_the_answer(one: float, other: float, is_semantic: bool) -> None:
    low, high = (required_relevance(each, is_semantic=is_semantic) for each in sorted((one, other)))
    assert 0 < low <= high < 1


@given(st.tuples(SHARES, SHARES, SHARES), st.tuples(SHARES, SHARES, SHARES))
def test_a_fact_that_is_more_similar_and_nearer_and_has_more_words_fits_better(
    one: tuple[float, float, float], other: tuple[float, float, float]
) -> None:
    relevance = relevance_of(*one)
    assert -1e-9 <= relevance <= 1 + 1e-9
    assert relevance_of(*map(max, one, other)) >= relevance - 1e-9


def test_similarity_tells_the_fit_of_what_vectors_do_not_know() -> None:
    assert relevance_of(0.6, None, 0.6) == pytest.approx(0.6)
    assert relevance_of(1.0, 1.0, 1.0) == pytest.approx(1.0)
    assert relevance_of(0.6, 0.1, 0.6) < 0.6 < relevance_of(0.6, 0.9, 0.6)


@given(SHARES)
def test_an_answer_is_weak_below_a_probability(answerable: float) -> None:
    assert is_weak(answerable) is (answerable < MIN_ANSWERABLE)
