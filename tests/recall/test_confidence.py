from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.recall.ranking import Evidence, confidence

SURE = Evidence(
    term_count=3,
    matched_terms=(3, 1),
    keyword_scores=(30.0, 12.0, 9.0, 8.0),
    cosines=(),
    fact_count=1_000,
)
VECTORS = Evidence(
    term_count=3, matched_terms=(0,), keyword_scores=(), cosines=(0.7, 0.3, 0.2), fact_count=1_000
)
SCORES = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)


def test_a_strong_match_of_all_words_is_sure() -> None:
    assert confidence(SURE) >= 0.7


def test_nothing_found_is_not_sure_at_all() -> None:
    assert confidence(SURE._replace(keyword_scores=())) == 0


def test_one_word_of_many_is_not_sure() -> None:
    assert confidence(SURE._replace(term_count=8, matched_terms=(1,), keyword_scores=(7.0,))) < 0.2


def test_many_that_match_alike_are_less_sure() -> None:
    alike = SURE._replace(keyword_scores=(30.0,) * 12)
    assert confidence(alike) < confidence(SURE)


def test_the_same_score_says_less_among_more_facts() -> None:
    assert confidence(SURE._replace(fact_count=100_000)) < confidence(SURE)


def test_vectors_alone_are_sure_when_one_is_far_ahead() -> None:
    alike = VECTORS._replace(cosines=(0.7,) * 12)
    assert confidence(alike) < 0.3 < confidence(VECTORS)


@given(words=SCORES, more=st.floats(0, 100), held=st.integers(0, 5))
def test_a_better_best_hit_is_never_less_sure(words: list[float], more: float, held: int) -> None:
    best, *rest = sorted(words, reverse=True)
    one = Evidence(5, (held,), (best, *rest), (), 500)
    other = Evidence(5, (held,), (best + more, *rest), (), 500)
    assert 0 <= confidence(one) <= confidence(other) <= 1


@given(words=SCORES, held=st.integers(0, 4))
def test_more_of_the_words_is_never_less_sure(words: list[float], held: int) -> None:
    one = Evidence(5, (held,), words, (), 500)
    assert confidence(one) < confidence(one._replace(matched_terms=(held + 1,)))
