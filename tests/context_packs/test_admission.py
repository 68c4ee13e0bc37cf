from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.context_packs.admission import DOUBTFUL, MIN_ANSWERABLE, is_silent, least_fit

SHARES = st.floats(0, 1)
ASKED = "Where does the ferry stop when the wind is in the east?"


@given(SHARES, SHARES)
def test_a_fact_has_to_fit_better_the_surer_the_answer_is(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 < least_fit(low) <= least_fit(high) < 1


@given(st.sampled_from([*DOUBTFUL, "vector"]), SHARES, SHARES, SHARES)
def test_no_sign_of_an_answer_makes_a_pack_silent(
    source: str, answerable: float, confidence: float, more: float
) -> None:
    if not is_silent(ASKED, source, answerable=answerable, confidence=confidence):
        for stronger in ((max(answerable, more), confidence), (answerable, max(confidence, more))):
            assert not is_silent(ASKED, source, answerable=stronger[0], confidence=stronger[1])


def test_two_weak_signs_make_it_silent_and_one_does_not() -> None:
    for source, (answerable, confidence) in DOUBTFUL.items():
        weak = MIN_ANSWERABLE, confidence - 0.01
        assert is_silent(ASKED, source, answerable=weak[0], confidence=weak[1])
        assert not is_silent(ASKED, source, answerable=answerable, confidence=weak[1])
        assert not is_silent(ASKED, source, answerable=weak[0], confidence=confidence)


def test_of_a_question_in_another_language_low_confidence_says_little() -> None:
    for asked in (ASKED, "berths", "Wo hält die Fähre, wenn Wind ist?", "桟橋はどこですか？"):
        silent = is_silent(asked, "fused", answerable=MIN_ANSWERABLE, confidence=0.1)
        assert silent is asked.isascii()
