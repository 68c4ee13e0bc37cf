from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.eval.measures import (
    average,
    calibration_by_chance,
    calibration_error,
    interval,
    measured,
)


def test_a_perfect_order_is_worth_1() -> None:
    worth = measured(["a", "b", "c"], {"a": 3, "b": 2, "c": 1}, tokens=7)
    assert (worth.recall_5, worth.recall_10, worth.ndcg_10, worth.mrr) == (1, 1, 1, 1)
    assert (worth.hit_5, worth.tokens) == (1, 7)


def test_grade_1_counts_in_ndcg_alone() -> None:
    worth = measured(["c", "x", "a"], {"a": 3, "b": 2, "c": 1})
    assert worth.recall_5 == 0.5
    assert worth.mrr == pytest.approx(1 / 3)
    assert 0 < worth.ndcg_10 < 1


def test_recall_is_taken_of_k_where_more_are_relevant() -> None:
    grades = dict.fromkeys("abcdefgh", 3)
    assert measured([*"abcde"], grades).recall_5 == 1
    assert measured([*"abcde"], grades).recall_10 == pytest.approx(5 / 8)


def test_the_sixth_hit_is_none_of_five() -> None:
    worth = measured([*"vwxyza"], {"a": 3})
    assert (worth.hit_5, worth.recall_5, worth.recall_10) == (0, 0, 1)
    assert measured([*"vwxyz"], {"a": 3}).mrr == 0


@given(order=st.permutations("abcdefghijkl"))
def test_every_measure_is_a_share(order: list[str]) -> None:
    worth = measured(order, {"a": 3, "b": 2, "c": 1})
    for each in (worth.recall_5, worth.recall_10, worth.ndcg_10, worth.mrr):
        assert 0 <= each <= 1


def test_the_mean_is_taken_of_each_measure() -> None:
    worth = average([measured(["a"], {"a": 3}), measured(["b"], {"a": 3})])
    assert (worth.recall_5, worth.mrr, worth.tokens) == (0.5, 0.5, 0)


@given(values=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=30))
def test_the_mean_lies_in_its_interval(values: list[float]) -> None:
    low, high = interval(values, draws=200)
    assert 0 <= low <= high <= 1
    assert low <= sum(values) / len(values) + 1e-9
    assert high >= sum(values) / len(values) - 1e-9


def test_an_interval_shrinks_with_more_questions_and_repeats() -> None:
    few, many = interval([0.0, 1.0] * 5), interval([0.0, 1.0] * 50)
    assert many[1] - many[0] < few[1] - few[0]
    assert few == interval([0.0, 1.0] * 5)
    assert interval([1.0] * 9) == (1, 1)


def test_probabilities_that_come_true_as_often_have_no_calibration_error() -> None:
    assert calibration_error([(0.5, True), (0.5, False), (1.0, True), (0.0, False)]) == 0
    assert calibration_error([(1.0, False)]) == 1


def test_each_bin_counts_by_its_share_of_the_answers() -> None:
    said = [(0.91, True), (0.99, True), (0.05, True)]
    assert calibration_error(said) == pytest.approx((0.1 + 0.95) / 3)


def test_true_probabilities_have_an_error_by_chance_that_shrinks_with_more_questions() -> None:
    few, many = (calibration_by_chance([0.3, 0.7] * n) for n in (10, 1_000))
    assert many < 0.03 < few
    assert calibration_by_chance([0.0, 1.0]) == 0
