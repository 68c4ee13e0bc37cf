from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.token_tables import small_table
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.backends.tokens.tiktoken import TiktokenCounter
from vaultsync.context_packs.ports import TokenCounter


def _tiktoken() -> TokenCounter:
    pytest.importorskip("tiktoken")
    return TiktokenCounter(small_table())


COUNTERS: dict[str, Callable[[], TokenCounter]] = {
    "fitted": EstimatingCounter,
    "tiktoken": _tiktoken,
}
ANY = st.text(max_size=200) | st.text(
    "abcXYZ019 .,#*[](){}`~|-=_\n\t\ud800äßжλ漢かな한ㄱ🙂ไทลาวአማ", max_size=200
)


@pytest.fixture(params=COUNTERS, scope="module")
def counter(request: pytest.FixtureRequest) -> TokenCounter:
    return COUNTERS[request.param]()


@given(ANY)
@example(" ")
@example("")
def test_any_text_costs_something_and_at_most_its_bytes(counter: TokenCounter, text: str) -> None:
    spelled = text.encode("utf-8", "replace" if "\ud800" in text else "strict")
    most = max(len(spelled), len(text.encode("utf-8", "surrogatepass")))

    assert bool(text) <= counter.count(text) <= most
    assert counter.count(text) == counter.count(text)


def test_what_steers_a_model_is_text_and_a_counter_says_who_counts(counter: TokenCounter) -> None:
    assert counter.count("<|endoftext|>") > 1
    assert (counter.name == "estimate") is not counter.exact
    assert counter.name


@pytest.mark.parametrize("text", ["word " * 40_000, "a" * 200_000, "#" * 200_000])
def test_long_texts_are_counted(counter: TokenCounter, text: str) -> None:
    assert 0 < counter.count(text) <= len(text)
