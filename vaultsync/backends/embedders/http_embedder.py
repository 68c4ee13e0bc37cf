"""Embeddings from a service with OpenAI's API, such as Ollama."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from math import isfinite, sqrt
from typing import Any, NoReturn
from urllib.parse import urlsplit

from vaultsync.errors import ConfigError, EmbedderError
from vaultsync.model.backoff import BackOff
from vaultsync.storage.clock import Clock

_BATCH = 100
_MAX_PARALLEL = 3
_REQUEST_INTERVAL = 0.2
"""Seconds between the answers of parallel requests and the next ones: services limit rates."""
_MANY, _ONE = (6, 60.0), (2, 15.0)
"""Tries, and the seconds of each. One text is mostly a question: a user waits for it."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
_LONGEST_TEXT = 8_000
"""Characters that are sent: about as many tokens as such models take."""
_LARGEST_ANSWER = 64 << 20
_RETRYABLE_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Transient failures."""
_DIMENSIONS: Mapping[str, int] = {
    "all-minilm": 384,
    "bge-m3": 1024,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "text-embedding-3-large": 3072,
    "text-embedding-3-small": 1536,
    "text-embedding-ada-002": 1536,
}
"""Of well-known models; others are asked once."""


class HttpEmbedder:
    """A model behind `POST URL/v1/embeddings`.

    100 texts go in one request, three requests at once, and the next ones 200 ms after
    their answers. A single text, which is mostly a question, does not wait. Transient
    failures (too many requests, a failing server, an incomplete answer) are retried after
    the time that the answer names, otherwise after a growing time with jitter. The key is
    read from the environment at each request, and kept nowhere.

    Raises:
        ConfigError: the address is not one of a service, or `key_variable` is no name.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        clock: Clock,
        key_variable: str = "",
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if key_variable and not key_variable.isidentifier():
            # The value is not repeated: it may be the key itself.
            raise ConfigError(
                "embedder_key is not the name of a variable",
                hint="write the name of the environment variable that holds the key,"
                " such as OPENAI_API_KEY",
            )
        self._url = _endpoint(url)
        self.model = model
        self._clock = clock
        self._key_variable = key_variable
        self._jitter = jitter
        self._dimension = _DIMENSIONS.get(model, 0)
        self._rested = 0.0
        """When the next requests may go."""

    @property
    def dimension(self) -> int:
        """A model that is not well known is asked once. Raises as `embed()`."""
        if not self._dimension:
            self.embed(["."])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if len(texts) <= 1:
            return [vector for text in texts for vector in self._vectors([text])]
        from concurrent.futures import ThreadPoolExecutor

        parts = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        vectors: list[list[float]] = []
        with ThreadPoolExecutor(min(_MAX_PARALLEL, len(parts))) as pool:
            for at in range(0, len(parts), _MAX_PARALLEL):
                self._clock.sleep(max(0.0, self._rested - self._clock.monotonic()))
                for found in pool.map(self._vectors, parts[at : at + _MAX_PARALLEL]):
                    vectors += found
                self._rested = self._clock.monotonic() + _REQUEST_INTERVAL
        return vectors

    def close(self) -> None:
        """Do nothing: no resource is open."""

    def _vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of one request, with retries."""
        tries, seconds = _MANY if len(texts) > 1 else _ONE
        waits = BackOff(first=_FIRST_WAIT, longest=_LONGEST_WAIT, jitter=self._jitter)
        why: _RetryableError | None = None
        for _ in range(tries):
            if why is not None:
                # At least the time that the service names, plus jitter.
                wait = waits.next() + (why.wait or 0.0)
                self._clock.sleep(min(wait, _LONGEST_WAIT))
            try:
                return [self._unit(each) for each in self._asked(texts, seconds)]
            except _RetryableError as error:
                why = error
        raise EmbedderError(
            f"the embedding service at {self._host} {why}, {tries} times",
            hint="check that it runs; until it does, texts are found by their words only",
        )

    def _asked(self, texts: Sequence[str], seconds: float) -> list[object]:
        from http.client import HTTPException
        from urllib.error import HTTPError

        try:
            with _opener().open(self._request(texts), timeout=seconds) as answer:
                return _embeddings(answer.read(_LARGEST_ANSWER), len(texts))
        except HTTPError as refused:
            with refused:
                message = self._without_key(_error_message(refused))
            if refused.code in _RETRYABLE_STATUSES:
                wait = self._retry_after(refused.headers.get("Retry-After"))
                raise _RetryableError(f"answers {refused.code}{message}", wait) from None
            self._refuse(refused.code, message)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise _RetryableError(f"does not answer ({reason})") from None

    def _request(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - imported late
        from urllib.request import Request

        # Some services refuse blank texts; the model itself would cut long ones.
        given = [text[:_LONGEST_TEXT] if text.strip() else "." for text in texts]
        body = json.dumps({"model": self.model, "input": given}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key_variable:
            headers["Authorization"] = f"Bearer {self._key()}"
        return Request(self._url, body, headers, method="POST")  # noqa: S310 - checked

    def _key(self) -> str:
        key = os.environ.get(self._key_variable, "").strip()
        if not key:
            raise EmbedderError(
                f"the key of the embedding service is not set: {self._key_variable} is empty",
                hint=f"export {self._key_variable}=…",
            )
        where = urlsplit(self._url)
        if where.scheme == "http" and where.hostname not in _HERE:
            raise EmbedderError(
                f"the key in {self._key_variable} would go to {self._host} in the clear",
                hint="use an https:// address",
            )
        return key

    @property
    def _host(self) -> str:
        where = urlsplit(self._url)
        return f"{where.hostname}:{where.port}" if where.port else f"{where.hostname}"

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self._key_variable, "").strip()
        return text.replace(key, "…") if key else text

    def _refuse(self, status: int, message: str) -> NoReturn:
        if status in (401, 403):
            hint = (
                f"check that {self._key_variable} holds a valid key"
                if self._key_variable
                else "set `embedder_key` to the name of the environment variable with the key"
            )
        else:
            hint = "check the address and the model in the setting `http:URL#MODEL`"
        raise EmbedderError(
            f"the embedding service at {self._host} refuses with {status}{message}", hint=hint
        )

    def _unit(self, vector: object) -> list[float]:
        """The vector scaled to length 1, if it has the right dimension."""
        if not isinstance(vector, list) or not all(map(_is_number, vector)):
            raise _RetryableError("answers with what is no vector")
        self._dimension = self._dimension or len(vector)
        if len(vector) != self._dimension:
            raise EmbedderError(
                f"{self.model} at {self._host} gives vectors of {len(vector)} numbers,"
                f" not of {self._dimension}",
                hint="another model answers; name it in `http:URL#MODEL`",
            )
        length = sqrt(sum(float(each) * float(each) for each in vector))
        if not length or not isfinite(length):
            raise _RetryableError("answers with a vector without direction")
        return [each / length for each in vector]

    def _retry_after(self, value: str | None) -> float | None:
        """The seconds of a `Retry-After`, which may be a number or a date (RFC 9110)."""
        from email.utils import parsedate_to_datetime

        if not value:
            return None
        with suppress(ValueError):  # then it is a date
            return max(0.0, float(value))
        try:
            until = parsedate_to_datetime(value)
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, (until - self._clock.now()).total_seconds())


_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def _is_number(value: object) -> bool:
    """Whether a value of an answer is a number that a float can hold."""
    try:
        return type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False


class _RetryableError(Exception):
    """A transient failure of a request."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


def _endpoint(url: str) -> str:
    where = urlsplit(url)
    if where.scheme not in ("http", "https") or not where.hostname or where.username:
        raise ConfigError(
            f"{where.scheme}://{where.hostname or ''} is no address of a service",
            hint="write http:URL#MODEL, such as"
            " http:http://localhost:11434#nomic-embed-text; a key goes into the"
            " environment",
        )
    bare = url.rstrip("/")
    if bare.endswith("/embeddings"):
        return bare
    return f"{bare}/embeddings" if where.path.strip("/") else f"{bare}/v1/embeddings"


def _opener() -> Any:  # noqa: ANN401 - imported late
    """Follows no redirects: the key is for one address only."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    return build_opener(Stay)


def _embeddings(body: bytes, expected: int) -> list[object]:
    try:
        rows = json.loads(body)["data"]
        ordered = sorted(rows, key=lambda row: row["index"])
        found = [row["embedding"] for row in ordered]
        indices = [row["index"] for row in ordered]
    except (ValueError, TypeError, KeyError, RecursionError) as broken:
        raise _RetryableError("answers with what is no list of vectors") from broken
    if indices != list(range(expected)):
        raise _RetryableError(f"answers with {len(found)} vectors for {expected} texts")
    return found


def _error_message(refused: Any) -> str:  # noqa: ANN401 - imported late
    """The message in the answer of a service, in one line."""
    try:
        body = json.loads(refused.read(_LARGEST_ANSWER))
        error = body.get("error", body)
        words = error["message"] if isinstance(error, dict) else error
    except (OSError, ValueError, KeyError, AttributeError, RecursionError):
        return ""
    return f" ({' '.join(str(words).split())[:200]})"
