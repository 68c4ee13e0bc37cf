"""Translate errors of Qdrant's client into errors of the store."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from vaultsync.backends.qdrant.retry import RequestFailure

_RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which the same request may succeed."""
_NO_ROOM = ("no space left", "disk is full", "out of disk", "available disk space")
_OTHER = "its responses are not those of Qdrant"
_OTHER_HINT = (
    "check the address in `store`: another program or a proxy may be answering; until then,"
    " changes wait in the outbox"
)
_BUSY, _GONE = "it is too busy (429)", "its collection is not there"
FREE_SOME_SPACE = "free some space on the disk of the store"
GrpcError: TypeAlias = Any
"""A grpc error. `Any`, because its type would require loading grpc."""


def common_failure(error: Exception) -> RequestFailure | None:
    """The failure for an error that both libraries may cause; None for others."""
    if any(each in str(error).lower() for each in _NO_ROOM):
        return RequestFailure("its disk is full", passing=False, hint=FREE_SOME_SPACE)
    return None


def status_of(error: BaseException | None) -> int | None:
    """The status code of a server's response; None if the error has none."""
    found = getattr(error, "status_code", None)
    return found if isinstance(found, int) else None


def exists_already(error: BaseException) -> bool:
    """Whether another process has already created it."""
    return "already exists" in str(error)


def translate_error(
    error: Exception, *, where: str = "", key: str = "QDRANT_API_KEY"
) -> RequestFailure | None:
    """The failure for an error of the client; None if it is a bug in vaultsync.

    `where` names the server, `key` the environment variable with its key.
    """
    text = str(error)
    found = common_failure(error) or _of_the_local_mode(error, text) or _of_a_server(error, key)
    if found is None and where:
        found = _of_another_server(error, text)
    return replace(found, why=f"{found.why} ({where})") if found and where else found


def _of_the_local_mode(error: Exception, text: str) -> RequestFailure | None:
    if isinstance(error, RuntimeError) and "already accessed" in text:
        return RequestFailure("another process has it", passing=True, refused=True)
    if isinstance(error, ValueError) and "not found" in text:
        return RequestFailure(_GONE, passing=False)
    if isinstance(error, (OSError, sqlite3.Error)):
        return RequestFailure(text, passing=False)
    return None


def _of_a_server(error: Exception, key: str) -> RequestFailure | None:
    kind = type(error).__name__
    if kind == "ResourceExhaustedResponse":
        wait = float(getattr(error, "retry_after_s", 0))
        return RequestFailure(_BUSY, passing=True, wait=wait or None)
    if kind == "ResponseHandlingException":
        source = getattr(error, "source", error)
        if type(source).__name__ == "ValidationError":
            return _foreign_answer("the response does not match the request")
        refused = type(source).__name__ == "ConnectError"
        return RequestFailure(f"{source}", passing=True, refused=refused)
    if kind == "UnexpectedResponse":
        return _http_failure(error, key)
    if hasattr(error, "code") and hasattr(error, "details"):
        return _by_grpc(error, key)
    return None


def _of_another_server(error: Exception, text: str) -> RequestFailure | None:
    """The failure for a response that is not from Qdrant."""
    if "Retry-After" in text:  # from a server that gives a date
        return RequestFailure(_BUSY, passing=True)
    if isinstance(error, (ValueError, AssertionError, RecursionError, OverflowError)):
        return _foreign_answer(f"it cannot be read ({type(error).__name__})")
    return None


def _foreign_answer(why: str) -> RequestFailure:
    return RequestFailure(f"{_OTHER}: {why}", passing=False, hint=_OTHER_HINT)


def _http_failure(error: Exception, key: str) -> RequestFailure | None:
    status = status_of(error)
    if status in (401, 403):
        return _refuses(f"{status}", key)
    if exists_already(error):
        return None
    message, is_qdrants = _error_message(bytes(getattr(error, "content", b"")))
    if status == 429:  # noqa: PLR2004 - Too Many Requests
        why = _BUSY
    elif status == 404 and message.startswith("Not found: Collection"):  # noqa: PLR2004 - Not Found
        why = _GONE
    else:
        why = f"it returned {status}: {message}".removesuffix(": ")
        if not is_qdrants and status not in _RETRYABLE_STATUSES:
            return _foreign_answer(why)
    return RequestFailure(why, passing=status in _RETRYABLE_STATUSES)


def _error_message(content: bytes) -> tuple[str, bool]:
    """The message of a response, and whether it is Qdrant's, because a proxy may respond too."""
    text, is_qdrants = content.decode(errors="replace"), False
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        text, is_qdrants = str(json.loads(text)["status"]["error"]), True
    return " ".join(text[:1_000].split())[:200], is_qdrants


def _refuses(code: str, key: str) -> RequestFailure:
    helps = f"set the key of the store in the environment, as {key}"
    return RequestFailure(f"it refused the key ({code})", passing=False, hint=helps)


def _by_grpc(error: GrpcError, key: str) -> RequestFailure | None:
    code = error.code().name
    if code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL"):
        why = f"{code.lower().replace('_', ' ')}: {error.details()}"
        return RequestFailure(why, passing=True, refused=code == "UNAVAILABLE")
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return _refuses(code, key)
    return None
