from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.embedding import Answer, Service, cosine, serving
from tests.fakes import FakeClock
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.embedders.http_embedder import HttpEmbedder
from vaultsync.errors import ConfigError, EmbedderError

TEXTS = ["green tea", "black tea", "no tea"]
KEY = "sk-very-secret-0123"
CODES = (400, 401, 404)


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as opened:
        yield opened


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def embedder(service: Service, clock: FakeClock) -> HttpEmbedder:
    return HttpEmbedder(service.url, "hash", clock=clock, jitter=lambda: 0.0)


def status(code: int, said: str = "", **headers: str) -> Callable[[Answer], Answer]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: (code, named, said.encode())


def instead(body: object) -> Callable[[Answer], Answer]:
    return lambda _: (200, {}, json.dumps(body).encode())


def half(answer: Answer) -> Answer:
    code, _, body = answer
    return code, {"Content-Length": str(len(body))}, body[: len(body) // 2]


def changed(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[Answer], Answer]:
    return lambda answer: instead({"data": change(json.loads(answer[2])["data"])})(answer)


without_last = changed(lambda rows: rows[1:])
same_index = changed(lambda rows: [row | {"index": 0} for row in rows])
of_other_length = changed(lambda rows: [row | {"embedding": row["embedding"][:7]} for row in rows])


def refused(embedder: HttpEmbedder) -> EmbedderError:
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(TEXTS)
    return caught.value


def test_a_hundred_texts_go_in_a_request(service: Service, embedder: HttpEmbedder) -> None:
    texts = [f"note {n}" for n in range(250)]
    service.gate = threading.Barrier(3)

    vectors = embedder.embed(texts)

    sizes = sorted(len(str(each["input"]).split(",")) for each in service.requests)
    assert sizes == [50, 100, 100]
    assert service.most_at_once == 3
    assert {str(each["model"]) for each in service.requests} == {"hash"}
    for a, b in zip(vectors, HashEmbedder().embed(texts), strict=True):
        assert cosine(a, b) == pytest.approx(1.0)


def test_after_three_requests_there_is_a_rest(
    service: Service, embedder: HttpEmbedder, clock: FakeClock
) -> None:
    embedder.embed([f"note {n}" for n in range(300)])
    assert clock.monotonic() == 0
    embedder.embed(["why tea?"])
    assert clock.monotonic() == 0  # a question does not wait

    embedder.embed([f"note {n}" for n in range(601)])

    assert clock.monotonic() == pytest.approx(3 * 0.2)
    assert len(service.requests) == 3 + 1 + 7
    assert service.most_at_once <= 3
    clock.advance(10)
    embedder.embed(TEXTS)
    assert clock.monotonic() == pytest.approx(10 + 3 * 0.2)


@pytest.mark.parametrize(
    "trouble",
    [
        status(429),
        status(500, "oops"),
        status(503),
        half,
        without_last,
        same_index,
        instead({}),
        instead([]),
        instead({"data": [{"index": 0}]}),
        lambda _: (200, {}, b"not json"),
        instead({"data": [{"index": n, "embedding": "x"} for n in range(3)]}),
        instead({"data": [{"index": n, "embedding": [0.0] * 64} for n in range(3)]}),
    ],
)
def test_what_passes_is_tried_again(
    trouble: Callable[[Answer], Answer], service: Service, embedder: HttpEmbedder, clock: FakeClock
) -> None:
    embedder.embed(TEXTS)
    service.answers = [trouble, trouble]

    assert [len(each) for each in embedder.embed(TEXTS)] == [64, 64, 64]
    assert len(service.requests) == 4
    assert 0.75 <= clock.monotonic() <= 1.5


def test_the_time_to_wait_grows_and_ends_and_a_question_is_asked_again_once(
    service: Service, embedder: HttpEmbedder, clock: FakeClock
) -> None:
    service.answers = [status(500, '{"error": "too hot"}')] * 9

    error = refused(embedder)

    assert len(service.requests) == 6
    assert 15.5 / 2 <= clock.monotonic() <= 15.5
    assert "answers 500 (too hot), 6 times" in error.message
    with pytest.raises(EmbedderError):
        embedder.embed(["why tea?"])
    assert len(service.requests) == 6 + 2


def in_seconds(seconds: int) -> str:
    return format_datetime(FakeClock().now() + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        # The date is reached for the most part while the first wait lasts.
        (["20", in_seconds(27)], 27, 28),
        (["86400"], 60, 60),
        *(([said], 0, 0.5) for said in ("soon", "-5", "Mon, 99 Foo 2026", "")),
    ],
)
def test_the_time_that_is_asked_for_is_waited_but_no_longer_than_a_minute(
    service: Service, embedder: HttpEmbedder, said: list[str], least: float, most: float
) -> None:
    service.answers = [status(429, Retry_After=each) for each in said]

    embedder.embed(TEXTS)

    assert least <= embedder._clock.monotonic() <= most


def test_a_service_that_is_not_there_is_named(clock: FakeClock) -> None:
    with serving() as gone:
        pass

    error = refused(HttpEmbedder(gone.url, "hash", clock=clock))

    assert gone.url.removeprefix("http://") in error.message
    assert "does not answer" in error.message
    assert error.hint


def test_a_slow_service_is_not_waited_for(
    service: Service, embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.backends.embedders.http_embedder._MANY", (6, 0.1))
    release = threading.Event()

    def slow(answer: Answer) -> Answer:
        release.wait(60)
        return answer

    service.answers = [slow]
    try:
        assert len(embedder.embed(TEXTS)) == 3
    finally:
        release.set()


@pytest.mark.parametrize(
    ("code", "said", "words"),
    [
        *(
            (code, '{"error": {"message": "no such\\nmodel"}}', " (no such model)")
            for code in CODES
        ),
        *((400, said, "") for said in ("[]", "no json", '{"error": {}}', "")),
    ],
)
def test_a_refusal_is_not_repeated(
    service: Service, embedder: HttpEmbedder, code: int, said: str, words: str
) -> None:
    service.answers = [status(code, said)]

    error = refused(embedder)

    assert error.message.endswith(f"refused with {code}{words}")
    assert error.hint
    assert len(service.requests) == 1


def test_the_key_does_not_follow_to_another_address(
    service: Service, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_KEY", KEY)
    with serving() as other:
        service.answers = [status(307, Location=f"{other.url}/v1/embeddings")]
        embedder = HttpEmbedder(service.url, "hash", clock=clock, key_variable="TEA_KEY")

        assert "refused with 307" in refused(embedder).message
        assert other.keys == []


def test_the_dimension_is_known_or_asked_for_once_and_no_other_is_taken(
    service: Service, embedder: HttpEmbedder, clock: FakeClock
) -> None:
    known = HttpEmbedder(service.url, "text-embedding-3-small", clock=clock)
    assert known.dimension == 1536
    assert service.requests == []
    assert "not of 1536" in refused(known).message

    assert [embedder.dimension, embedder.dimension] == [64, 64]
    assert len(service.requests) == 2
    service.answers = [of_other_length]
    assert "vectors of 7 dimensions, not of 64" in refused(embedder).message
    assert embedder.embed(TEXTS)


def test_a_key_is_sent_where_it_is_named_and_set_and_never_shown(
    service: Service,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TEA_KEY", f" {KEY}\n")
    unnamed, unset, embedder = (
        HttpEmbedder(service.url, "hash", clock=clock, key_variable=name)
        for name in ("", "VAULTSYNC_NO_SUCH_KEY", "TEA_KEY")
    )
    unnamed.embed(TEXTS)
    assert "VAULTSYNC_NO_SUCH_KEY" in refused(unset).hint
    service.answers = [status(401, json.dumps({"error": f"bad key {KEY}"}))]

    error = refused(embedder)

    assert service.keys == [None, f"Bearer {KEY}"]
    assert "(bad key …)" in error.message
    assert "TEA_KEY" in error.hint
    assert KEY not in error.message + error.hint + caplog.text + repr(vars(embedder))


def test_a_key_never_goes_in_the_clear(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEA_KEY", KEY)
    embedder = HttpEmbedder("http://tea.example", "hash", clock=clock, key_variable="TEA_KEY")

    assert "unencrypted" in refused(embedder).message


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://tea.example", KEY),
        *((url, "") for url in ("tea.example", "ftp://tea.example", "http:", "http://[::1")),
        *((f"http://tea.example{rest}", "") for rest in (":99999", ":tea", "/thé")),
        (f"https://me:{KEY}@tea.example", ""),
    ],
)
def test_what_is_no_address_or_no_name_is_not_repeated(url: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpEmbedder(url, "hash", clock=FakeClock(), key_variable=key)

    assert KEY not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("rest", ["…", "\nX-Tea: green", "\x7f"])
def test_a_key_that_no_header_can_hold_is_an_error_that_does_not_repeat_it(
    rest: str, service: Service, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_KEY", f"{KEY}{rest}more")
    embedder = HttpEmbedder(service.url, "hash", clock=clock, key_variable="TEA_KEY")

    error = refused(embedder)

    assert "TEA_KEY" in error.message
    assert KEY not in error.message + error.hint
    assert service.requests == []


def test_a_host_name_that_no_server_can_have_is_named(clock: FakeClock) -> None:
    embedder = HttpEmbedder(f"http://{'tea' * 30}.example", "hash", clock=clock)

    assert "does not answer" in refused(embedder).message


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_an_address_may_end_anywhere(path: str, service: Service, clock: FakeClock) -> None:
    assert HttpEmbedder(service.url + path, "hash", clock=clock).embed(["tea"])


def test_texts_are_sent_as_services_take_them(service: Service, embedder: HttpEmbedder) -> None:
    embedder.embed(["", " \n", "x" * 100_000])

    (asked,) = service.requests
    assert asked["input"] == [".", ".", "x" * 8_000]


def bytes_of(text: str) -> Callable[[Answer], Answer]:
    return lambda _: (200, {}, text.encode())


DEEP = "[" * 200_000 + "]" * 200_000
ONE_VECTOR = '{"data": [{"index": 0, "embedding": [%s]}]}'


@pytest.mark.parametrize(
    "answer",
    [
        bytes_of(DEEP),
        bytes_of(ONE_VECTOR % DEEP),
        bytes_of(""),
        bytes_of("<html><body>Sign in</body></html>"),
        bytes_of("null"),
        bytes_of('{"data": null}'),
        bytes_of('{"data": [null]}'),
        bytes_of('{"data": [{"index": {}, "embedding": []}]}'),
        bytes_of(ONE_VECTOR % "1e999, 2"),
        bytes_of(ONE_VECTOR % ("9" * 400)),
        bytes_of(ONE_VECTOR % ("9" * 9_000)),
        bytes_of(ONE_VECTOR % "1e300, 1e300"),
        bytes_of(ONE_VECTOR % "true, false"),
        lambda _: (200, {}, b"\xff\xfe" * 100),
        lambda _: (204, {}, b""),
        status(502, DEEP),
        status(503, "", Retry_After="9" * 9_000),
        status(503, "", Retry_After="Sat, 99 Foo 99999 99:99:99"),
        status(503, "", Retry_After=f"Thu, 01 Jan 2026 {'9' * 20}:00:00 GMT"),
        status(502, "50\r\nhalf of it", Transfer_Encoding="chunked"),
    ],
)
def test_what_is_no_answer_ends_as_an_error_of_the_embedder(
    service: Service, clock: FakeClock, answer: Callable[[Answer], Answer]
) -> None:
    embedder = HttpEmbedder(service.url, "unknown", clock=clock, jitter=lambda: 0.0)
    service.answers = [answer] * 9
    began = clock.monotonic()

    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["One text."])

    assert caught.value.hint
    assert len(caught.value.message) < 400
    assert clock.monotonic() - began <= 60


def test_a_refusal_in_deep_json_is_a_refusal(service: Service, embedder: HttpEmbedder) -> None:
    service.answers = [status(400, DEEP)]
    assert "refused with 400" in refused(embedder).message
