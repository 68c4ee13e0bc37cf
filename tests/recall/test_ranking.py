from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.decay import DEFAULT_IMPORTANCE, decay_factor, recency, utility
from vaultsync.model.fact import Fact
from vaultsync.model.schema import TYPES
from vaultsync.recall.ranking import (
    CHUNKS_AVERAGED,
    MOST_ANSWERABLE,
    AnswerSigns,
    RankingSignals,
    RankingWeights,
    answer_probability,
    answer_signs,
    chunks_similarity,
    confidence,
    fuse,
    rarity,
    rescale_similarities,
    weighted_score,
)
from vaultsync.recall.reranking import blend_reranked

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
SHARE = st.floats(0, 1)
SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.1, 100))
COSINES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1))


def at(**ago: float) -> str:
    return (NOW - timedelta(**ago)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("name", TYPES)
def test_a_fact_weighs_half_after_the_half_life_of_its_type(name: str) -> None:
    days = TYPES[name].half_life
    assert recency(at(days=days), name, NOW) == pytest.approx(0.5)
    assert recency(at(days=2 * days), name, NOW) == pytest.approx(0.25)
    assert recency(at(days=0), name, NOW) == 1


def test_a_future_fact_is_new_and_one_without_a_time_is_old() -> None:
    assert recency(at(days=-3), "note", NOW) == 1
    assert recency("", "note", NOW) == 0


def test_emotional_weight_slows_decay() -> None:
    old = at(days=100)
    plain, strong = (recency(old, "note", NOW, emotional_weight=each) for each in (0.0, 1.0))
    assert plain == recency(old, "note", NOW) < recency(old, "note", NOW, emotional_weight=0.3)
    assert strong == pytest.approx(plain**0.5)


def test_what_remains_of_a_fact_counts_from_its_last_use() -> None:
    unused = Fact("a", created_at=at(days=180))
    assert decay_factor(unused, NOW) == pytest.approx(0.5)
    assert decay_factor(unused.evolve(last_accessed_at=at(days=0)), NOW) == 1
    assert decay_factor(unused.evolve(emotional_weight=1.0), NOW) == pytest.approx(0.5**0.5)
    assert decay_factor(Fact("a"), NOW) == 0


def test_utility_is_importance_and_the_logarithm_of_use() -> None:
    assert utility(1.0, 0) == pytest.approx(0.5)
    assert utility(1.0, 9) == pytest.approx(1.0)
    assert utility(0.3, 0) == pytest.approx(0.15)
    assert utility(0.5, 99) == pytest.approx(0.75)
    assert utility(1.0, 10_000) == 1
    assert utility(1.0, -1) == pytest.approx(0.5)


def test_a_fact_without_importance_neither_stands_out_nor_sinks() -> None:
    assert utility(None, 3) == utility(DEFAULT_IMPORTANCE, 3)


def test_the_score_is_the_weighted_sum() -> None:
    signals = RankingSignals(similarity=0.8, recency=0.5, utility=0.25)
    assert weighted_score(signals, RankingWeights()) == pytest.approx(0.4 + 0.15 + 0.05)
    assert weighted_score(signals, RankingWeights(1, 0, 0)) == pytest.approx(0.8)


@given(
    low=st.tuples(SHARE, SHARE, SHARE),
    more=st.tuples(SHARE, SHARE, SHARE),
    weights=st.tuples(SHARE, SHARE, SHARE),
)
def test_the_score_grows_with_each_signal(
    low: tuple[float, float, float],
    more: tuple[float, float, float],
    weights: tuple[float, float, float],
) -> None:
    high = RankingSignals(*(max(pair) for pair in zip(low, more, strict=True)))
    assert weighted_score(high, RankingWeights(*weights)) >= weighted_score(
        RankingSignals(*low), RankingWeights(*weights)
    )


@given(one=st.floats(0, 5000), other=st.floats(0, 5000), name=st.sampled_from([*TYPES]))
def test_the_younger_fact_is_never_less_recent(one: float, other: float, name: str) -> None:
    young, old = sorted((one, other))
    assert 0 <= recency(at(days=old), name, NOW) <= recency(at(days=young), name, NOW)


@given(one=SHARE, other=SHARE, few=st.integers(0, 10**6), many=st.integers(0, 10**6))
def test_utility_grows_by_importance_and_use(one: float, other: float, few: int, many: int) -> None:
    small, great = sorted((one, other))
    few, many = sorted((few, many))
    assert 0 <= utility(small, few) <= utility(great, few) <= utility(great, many) <= 1


@pytest.mark.parametrize(
    ("scores", "floor", "similarities"),
    [
        ([3.0, 2.0, 1.0], 1.0, [1.0, 0.5, 0.0]),
        ([2.0, 1.0], 0.0, [1.0, 0.5]),  # none was left out
        ([2.0], 0.0, [1.0]),
        ([], 0.0, []),
        ([2.0, 2.0], 2.0, [1.0, 1.0]),  # none stands out
        ([0.0], 0.0, [1.0]),
    ],
)
def test_similarity_is_1_for_the_best_and_0_for_the_first_left_out(
    scores: list[float], floor: float, similarities: list[float]
) -> None:
    found = rescale_similarities(dict(zip("abc", scores, strict=False)), floor=floor)
    assert list(found.values()) == similarities


@given(fits=SCORES, share=SHARE)
def test_similarities_keep_the_order_of_the_fits(fits: dict[str, float], share: float) -> None:
    found = rescale_similarities(fits, floor=share * min(fits.values(), default=0.0))
    assert all(0 <= each <= 1 for each in found.values())
    order = sorted(fits, key=lambda each: fits[each])
    ranked = [found[each] for each in order]
    assert ranked == sorted(ranked)


FUSED: list[tuple[dict[str, float], dict[str, float], dict[str, float], dict[str, float]]] = [
    ({"a": 2.0}, {"b": 0.5}, {"vector_weight": 0}, {"a": 1.0, "b": 0.0}),
    ({"a": 2.0}, {"b": 0.5}, {"vector_weight": 4}, {"a": 3.0, "b": 2.0}),
    ({}, {"b": 0.5}, {"vector_weight": 0}, {"b": 0.5}),  # nothing to weigh it against
    ({}, {}, {}, {}),
    ({"a": 8.0, "b": 4.0}, {}, {}, {"a": 1.0, "b": 0.5}),
    ({"a": 8.0, "b": 4.0}, {}, {"trust": 0.5}, {"a": 0.25, "b": 0.125}),
    ({}, {"a": 0.8, "b": 0.4}, {}, {"a": 0.8, "b": 0.4}),
    ({"a": 2.0, "b": 1.0}, {"a": -0.5}, {}, {"a": 1.0, "b": 0.5}),  # points away
    ({}, {"a": -0.5}, {}, {"a": 0.0}),
]


def test_near_chunks_beside_the_nearest_one_lift_a_fact() -> None:
    all_about_it, mentions_it = chunks_similarity([0.6, 0.5]), chunks_similarity([0.62, 0.1])

    assert all_about_it > mentions_it
    assert chunks_similarity([0.6]) == pytest.approx(0.6)
    assert chunks_similarity([0.6, 0.5]) == pytest.approx(0.7 * 0.6 + 0.3 * 0.55)


@given(cosines=st.lists(st.floats(-1, 1), min_size=1), more=SHARE, at=st.integers(0, 30))
def test_a_nearer_chunk_never_makes_a_fact_less_similar(
    cosines: list[float], more: float, at: int
) -> None:
    nearer = [*cosines]
    nearer[at % len(cosines)] += more

    assert chunks_similarity(nearer) >= chunks_similarity(cosines) - 1e-9


def test_the_far_chunks_of_a_long_fact_do_not_lower_it() -> None:
    near = [0.5] * CHUNKS_AVERAGED

    assert chunks_similarity([*near, *[-0.2] * 50]) == pytest.approx(0.5)


@pytest.mark.parametrize(("keywords", "cosines", "weights", "scores"), FUSED)
def test_keyword_scores_and_cosines_are_added(
    keywords: dict[str, float],
    cosines: dict[str, float],
    weights: dict[str, float],
    scores: dict[str, float],
) -> None:
    assert fuse(keywords, cosines, **weights) == scores


def test_a_fact_found_by_both_searches_ranks_above_one_found_by_one() -> None:
    fits = fuse({"a": 5.0, "b": 5.0}, {"b": 0.5, "c": 0.5, "d": 0.1})
    assert sorted(fits, key=lambda key: -fits[key]) == ["b", "a", "c", "d"]


def test_untrusted_keyword_matches_give_way_to_vectors() -> None:
    words, near = {"a": 9.0}, {"b": 0.6, "a": 0.3}
    sure, unsure = fuse(words, near), fuse(words, near, trust=0.2)
    assert sure["a"] > sure["b"]
    assert unsure["b"] > unsure["a"]


@given(words=SCORES, near=COSINES, trust=SHARE)
def test_every_candidate_has_a_score(
    words: dict[str, float], near: dict[str, float], trust: float
) -> None:
    fits = fuse(words, near, trust=trust)
    assert fits.keys() == words.keys() | near.keys()
    assert all(each >= 0 for each in fits.values())


@given(words=SCORES, near=COSINES, key=st.sampled_from("abcdefgh"), more=SHARE)
def test_a_nearer_vector_never_ranks_a_fact_lower(
    words: dict[str, float], near: dict[str, float], key: str, more: float
) -> None:
    def rank(near: dict[str, float]) -> int:
        fits = fuse(words, near)
        return sum(fits[each] > fits[key] + 1e-9 for each in fits)

    near = {**near, key: near.get(key, min([0.0, *near.values()]))}
    others = {each: cosine for each, cosine in near.items() if each != key}
    if key in words or others:
        assert rank({**near, key: near[key] + more}) <= rank(near)


@given(words=SCORES, near=COSINES, key=st.sampled_from("abcdefgh"), more=SHARE)
def test_a_better_keyword_match_never_ranks_a_fact_lower(
    words: dict[str, float], near: dict[str, float], key: str, more: float
) -> None:
    def rank(words: dict[str, float]) -> int:
        fits = fuse(words, near)
        return sum(fits[each] > fits[key] + 1e-9 for each in fits)

    words = {**words, key: words.get(key, 1.0)}
    assert rank({**words, key: words[key] + 10 * more}) <= rank(words)


def test_a_reranker_decides_among_equals() -> None:
    fits = blend_reranked({"a": 1.0, "b": 1.0, "c": 0.4}, {"a": -3.0, "b": 7.0}, share=0.5)
    assert fits["b"] == 1
    assert fits["b"] > fits["a"] > fits["c"]


def test_a_reranker_that_finds_all_alike_changes_nothing() -> None:
    assert blend_reranked({"a": 1.0, "b": 0.5}, {"a": 2.0, "b": 2.0}, share=0.5) == {
        "a": 1.0,
        "b": 0.5,
    }


# --- confidence ------------------------------------------------------------------------

POSITIVE = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)
STRONG = (30.0, 12.0, 9.0, 8.0)
NEAR = (0.7, 0.3, 0.2)


def sure(
    keyword_scores: Sequence[float] = STRONG,
    cosines: Sequence[float] = (),
    *,
    coverage: float = 1.0,
    fact_count: int = 1_000,
) -> float:
    return confidence(keyword_scores, cosines, coverage=coverage, fact_count=fact_count)


def test_a_strong_match_of_all_terms_is_sure_and_one_of_many_terms_is_not() -> None:
    assert sure() >= 0.7
    assert sure((7.0,), coverage=1 / 8) < 0.2
    assert sure(()) == 0


def test_equal_matches_and_more_facts_make_an_answer_less_sure() -> None:
    assert sure((30.0,) * 12) < sure()
    assert sure(fact_count=100_000) < sure()
    assert sure((), (0.7,) * 12, coverage=0) < 0.3 < sure((), NEAR, coverage=0)


@given(scores=POSITIVE, more=st.floats(0, 100), coverage=st.floats(0, 1))
def test_a_better_hit_is_never_less_sure(scores: list[float], more: float, coverage: float) -> None:
    best, *rest = sorted(scores, reverse=True)
    before, after = (sure((each, *rest), coverage=coverage) for each in (best, best + more))
    assert 0 <= before <= after <= 1


@given(scores=POSITIVE, matched=st.integers(0, 4))
def test_more_of_the_terms_is_never_less_sure(scores: list[float], matched: int) -> None:
    assert sure(scores, coverage=matched / 5) < sure(scores, coverage=(matched + 1) / 5)


SIGNS = st.builds(AnswerSigns, SHARE, SHARE, st.floats(0, 3), SHARE)


@given(SIGNS, SIGNS, st.booleans())
def test_more_signs_of_an_answer_make_it_no_less_likely(
    signs: AnswerSigns, other: AnswerSigns, has_cosines: bool
) -> None:
    more = AnswerSigns(
        unknown=min(signs.unknown, other.unknown),
        nearest=max(signs.nearest, other.nearest),
        strength=max(signs.strength, other.strength),
        lacking=min(signs.lacking, other.lacking),
    )
    for has_words in (True, not has_cosines):
        found = [
            answer_probability(each, has_keyword_scores=has_words, has_cosines=has_cosines)
            for each in (signs, more)
        ]
        assert 0 <= found[0] <= found[1] <= MOST_ANSWERABLE


def test_where_nothing_was_found_there_is_no_answer() -> None:
    found = answer_probability(AnswerSigns(0, 1, 1, 0), has_keyword_scores=False, has_cosines=False)
    assert found == 0


def test_the_signs_of_an_answer_do_not_depend_on_the_length_of_the_question() -> None:
    short = answer_signs([3.0, 6.0], [], rarities=[1.0], unknown=0.5, lacking=0.5, fact_count=100)
    assert short == answer_signs(
        [12.0], [], rarities=[1.0, 1.0], unknown=1.0, lacking=0.5, fact_count=100
    )
    assert short.unknown == 0.5


def test_the_nearest_fact_is_a_sign_of_an_answer() -> None:
    none = partial(answer_signs, [], rarities=[], unknown=0.0, lacking=0.0, fact_count=0)
    assert none([-0.2, 0.4, 0.3]) == AnswerSigns(0.0, nearest=0.4, strength=0.0, lacking=0.0)
    assert none([-0.2]).nearest == 0


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_rarity_is_a_share_even_where_former_versions_are_counted(found: int, facts: int) -> None:
    assert 0 <= rarity(found, facts) <= 1


def test_signs_are_known_where_more_facts_have_a_term_than_there_are() -> None:
    signs = answer_signs([3.0], [], rarities=[rarity(9, 2)], unknown=0.0, lacking=0.0, fact_count=2)
    assert signs.strength > 0
