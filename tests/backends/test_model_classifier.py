"""The model classifier takes one word and nothing else, in time, and keeps its key."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from tests.chat_service import ChatService, serving_chat
from tests.fakes import FakeClock
from vaultsync.backends.classifiers.model_classifier import SECONDS, ModelClassifier
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import ConfigError
from vaultsync.observations.classifier import ObservedText

pytestmark = pytest.mark.long(5)

TEXT = ObservedText("The pump of the harbour box leaks.", "on the pier")
KEY = "sk-very-secret-4711"


@pytest.fixture
def service() -> Iterator[ChatService]:
    with serving_chat() as opened:
        yield opened


def _tiers(service: ChatService, model: str, count: int = 1, key: str = "") -> list[str | None]:
    asked = ModelClassifier(service.url, model, clock=FakeClock(), key_variable=key, seconds=60)
    return asked.classify([TEXT] * count)


@pytest.mark.parametrize(
    ("said", "tier"),
    [
        ("CRITICAL", "critical"),
        (" NOTABLE\n", "notable"),
        ("BACKGROUND", "background"),
        ("critical", "background"),
        ("CRITICAL, because a pump leaks", "background"),
        ("", "background"),
    ],
)
def test_exactly_one_word_is_an_answer_and_anything_else_is_background(
    service: ChatService, said: str, tier: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert _tiers(service, f"say:{said}") == [tier]
    is_logged = "counts as background" in caplog.text
    assert is_logged == (said.strip() not in ("CRITICAL", "NOTABLE", "BACKGROUND"))


def test_it_is_asked_for_ten_tokens_at_temperature_zero(service: ChatService) -> None:
    _tiers(service, "say:NOTABLE")

    [asked] = service.requests()
    assert (asked["temperature"], asked["max_tokens"]) == (0, 10)
    assert asked["path"] == "/v1/chat/completions"
    assert TEXT.content in asked["messages"][-1]["content"]
    assert TEXT.context in asked["messages"][-1]["content"]
    assert asked["key"] is None


def test_a_busy_service_is_asked_again(service: ChatService) -> None:
    assert _tiers(service, "twice-busy:NOTABLE") == ["notable"]


@pytest.mark.parametrize("model", ["status:500", "status:401", "status:302", "broken:"])
def test_what_is_not_answered_stays_pending_and_says_so(
    service: ChatService, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert _tiers(service, model) == [None]
    assert "stays pending" in caplog.text


@pytest.mark.parametrize("model", ["silent:60", "drip:NOTABLE"])
def test_an_answer_that_comes_slowly_is_not_waited_for(service: ChatService, model: str) -> None:
    asked = ModelClassifier(service.url, model, clock=SystemClock(), seconds=0.3)
    began = time.monotonic()

    assert asked.classify([TEXT]) == [None]
    assert time.monotonic() - began < 30
    assert SECONDS == 2


def test_a_service_that_is_away_is_asked_for_four_and_not_for_all(service: ChatService) -> None:
    assert _tiers(service, "status:401", count=50) == [None] * 50

    assert len(service.requests()) == 4


def test_the_key_is_sent_to_the_service_and_never_shown(
    service: ChatService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("VOTE_KEY", KEY)

    _tiers(service, "status:401", key="VOTE_KEY")

    assert service.requests()[0]["key"] == f"Bearer {KEY}"
    assert KEY not in caplog.text


def test_a_key_is_not_sent_in_the_clear_nor_asked_for_where_it_is_not_set(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VOTE_KEY", KEY)
    far = ModelClassifier("http://models.example", "m", clock=FakeClock(), key_variable="VOTE_KEY")
    unset = ModelClassifier("https://x.example", "m", clock=FakeClock(), key_variable="NO_KEY")

    assert [*far.classify([TEXT]), *unset.classify([TEXT])] == [None, None]
    assert "unencrypted" in caplog.text
    assert "NO_KEY is empty" in caplog.text


@pytest.mark.parametrize(("url", "key"), [("ftp://x", ""), ("http://x", "sk-not a name")])
def test_an_impossible_address_or_key_is_refused(url: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelClassifier(url, "m", clock=FakeClock(), key_variable=key)

    assert "sk-not" not in f"{caught.value} {caught.value.hint}"
