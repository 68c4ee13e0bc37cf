"""A service with OpenAI's API, such as Ollama: JSON requests and responses, with retries.

The key is read from the environment at each request, and not stored; it is sent to only one
address, and not unencrypted to another machine. Transient failures (too many requests, a failing
server, an incomplete response) are retried after the time that the response names, otherwise
after an increasing time with jitter.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC
from math import inf
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import urlsplit

from vaultsync.errors import ConfigError, DerivedError
from vaultsync.model.backoff import BackOff
from vaultsync.storage.clock import Clock

T = TypeVar("T")
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
_LARGEST_ANSWER = 64 << 20
_RETRYABLE_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Status codes of transient failures."""
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class ServiceWords(NamedTuple):
    """The name of a service in errors, and hints on its settings."""

    what: str
    """The name, such as `embedding service`."""
    key_setting: str
    address_hint: str
    """How to set the address and the model."""
    away_hint: str
    """What happens while it does not respond."""


class RetryableError(Exception):
    """A transient failure of a request; `wait` is the number of seconds that the service names."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


class ModelService:
    """One route of a service.

    Args:
        url: the URL of the service; `/v1` and the route are added if missing.
        route: the route, such as `embeddings`.
        words: texts for its errors.
        error: the class of its errors.
        clock: the clock for waits.
        key_variable: the environment variable with the key; empty for none.
        jitter: returns a number from 0 to 1.

    Raises:
        ConfigError: the address or `key_variable` is invalid.
    """

    def __init__(
        self,
        url: str,
        route: str,
        *,
        words: ServiceWords,
        error: type[DerivedError],
        clock: Clock,
        key_variable: str = "",
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if key_variable and not key_variable.isidentifier():
            # The value is not quoted, because it may be the key itself.
            raise ConfigError(
                f"{words.key_setting} is not a valid variable name",
                hint="write the name of the environment variable that holds the key,"
                " such as OPENAI_API_KEY",
            )
        self._url = _endpoint(url, route, words.address_hint)
        self._words = words
        self._error = error
        self._clock = clock
        self._key_variable = key_variable
        self._jitter = jitter

    @property
    def host(self) -> str:
        """The host and port, for errors."""
        where = urlsplit(self._url)
        return f"{where.hostname}:{where.port}" if where.port else f"{where.hostname}"

    def ask(
        self,
        body: Mapping[str, object],
        read: Callable[[bytes], T],
        *,
        tries: int,
        seconds: float,
        deadline: float = inf,
    ) -> T:
        """Send a request, and return the response parsed by `read`.

        Args:
            body: the body, sent as JSON.
            read: parses a response; raises RetryableError if another attempt could help.
            tries: maximum number of attempts.
            seconds: time limit of one attempt for data.
            deadline: the time of the clock after which nothing more is tried or read.

        Raises:
            DerivedError, of the class `error`: the service refuses, or does not respond.
        """
        waits = BackOff(first=_FIRST_WAIT, longest=_LONGEST_WAIT, jitter=self._jitter)
        for tried in range(1, tries + 1):
            try:
                return read(self._asked(body, seconds, deadline))
            except RetryableError as error:
                why = error
            # At least the time that the service names, plus jitter.
            wait = min(waits.next() + (why.wait or 0.0), _LONGEST_WAIT)
            if tried == tries or self._clock.monotonic() + wait >= deadline:
                break
            self._clock.sleep(wait)
        times = f", {tried} times" if tried > 1 else ""
        message = f"the {self._words.what} at {self.host} {why}{times}"
        raise self._error(message, hint=self._words.away_hint)

    def _asked(self, body: Mapping[str, object], seconds: float, deadline: float) -> bytes:
        from http.client import HTTPException
        from urllib.error import HTTPError

        seconds = min(seconds, max(0.05, deadline - self._clock.monotonic()))
        try:
            with _opener().open(self._request(body), timeout=seconds) as answer:
                return self._read(answer, deadline)
        except HTTPError as refused:
            payload = b""
            with refused, suppress(OSError, HTTPException, RetryableError):  # its status is known
                payload = self._read(refused, deadline)
            message = self._without_key(_error_message(payload))
            if refused.code in _RETRYABLE_STATUSES:
                wait = self._retry_after(refused.headers.get("Retry-After"))
                raise RetryableError(f"answers {refused.code}{message}", wait) from None
            self._refuse(refused.code, message)
        except (OSError, HTTPException, UnicodeError) as error:  # the last for a host name
            reason = getattr(error, "reason", error)
            raise RetryableError(f"does not answer ({reason})") from None

    def _read(self, answer: Any, deadline: float) -> bytes:  # noqa: ANN401 - imported late
        whole = bytearray()
        # Only what is available at once, so that slow responses end too.
        while len(whole) < _LARGEST_ANSWER and (part := answer.read1(1 << 16)):
            whole += part
            if self._clock.monotonic() > deadline:
                raise RetryableError("timed out")
        return bytes(whole)

    def _request(self, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - imported late
        from urllib.request import Request

        headers = {"Content-Type": "application/json"}
        if self._key_variable:
            headers["Authorization"] = f"Bearer {self._key()}"
        sent = json.dumps(body).encode()
        return Request(self._url, sent, headers, method="POST")  # noqa: S310 - checked

    def _key(self) -> str:
        key = os.environ.get(self._key_variable, "").strip()
        if not key:
            raise self._error(
                f"the key of the {self._words.what} is not set: {self._key_variable} is empty",
                hint=f"export {self._key_variable}=…",
            )
        if not (key.isascii() and key.isprintable()):
            raise self._error(
                f"the key of the {self._words.what} is not valid: {self._key_variable} contains"
                " a line break or another character that no key has",
                hint="copy the key again",
            )
        where = urlsplit(self._url)
        if where.scheme == "http" and where.hostname not in LOCAL_HOSTS:
            raise self._error(
                f"the key in {self._key_variable} would be sent to {self.host} unencrypted",
                hint="use an https:// address",
            )
        return key

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self._key_variable, "").strip()
        return text.replace(key, "…") if key else text

    def _refuse(self, status: int, message: str) -> NoReturn:
        if status not in (401, 403):
            hint = f"check the address and the model in {self._words.address_hint}"
        elif self._key_variable:
            hint = f"check that {self._key_variable} holds a valid key"
        else:
            setting = self._words.key_setting
            hint = f"set `{setting}` to the name of the environment variable with the key"
        raise self._error(
            f"the {self._words.what} at {self.host} refused with {status}{message}", hint=hint
        )

    def _retry_after(self, value: str | None) -> float | None:
        """The seconds of a `Retry-After`, which may be a number or a date (RFC 9110)."""
        from email.utils import parsedate_to_datetime

        if not value:
            return None
        with suppress(ValueError):  # otherwise it is a date
            return max(0.0, float(value))
        try:
            until = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, (until - self._clock.now()).total_seconds())


def _endpoint(url: str, route: str, hint: str) -> str:
    where, is_valid = urlsplit(""), False
    with suppress(ValueError):  # brackets that do not match, or a port that is no number
        where = urlsplit(url)
        is_valid = where.port != 0 and where.scheme in ("http", "https") and where.path.isascii()
    if not is_valid or not where.hostname or where.username:
        raise ConfigError(
            # Without the path, and a password that may come before the host.
            f"{where.scheme}://{where.netloc.rpartition('@')[2]} is not a valid service URL",
            hint=f"use {hint}; put a key into the environment",
        )
    bare = url.rstrip("/")
    if bare.endswith(f"/{route}"):
        return bare
    return f"{bare}/{route}" if where.path.strip("/") else f"{bare}/v1/{route}"


def _opener() -> Any:  # noqa: ANN401 - imported late
    """An opener that follows no redirects, because the key is for one address only."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    return build_opener(Stay)


def _error_message(payload: bytes) -> str:
    """The message in a service's response, on one line."""
    try:
        body = json.loads(payload)
        error = body.get("error", body)
        words = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, AttributeError, RecursionError):
        return ""
    return f" ({' '.join(str(words).split())[:200]})"
