"""Errors of Qdrant's client as failures of the store."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from vaultsync.backends.qdrant.folder_lock import FolderLockedError
from vaultsync.backends.qdrant.retry import RequestFailure

_RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may be answered."""
_NO_ROOM = ("no space left", "disk is full", "out of disk", "available disk space")
_FULL = "make room on the disk of the store"
_BUSY, _GONE = "it is too busy (429)", "its collection is not there"
GrpcError: TypeAlias = Any
"""An error of grpc. Its type would have grpc loaded."""


class ClosedError(Exception):
    """It was closed."""


def status_of(error: BaseException | None) -> int | None:
    """The number of an answer of a server; None when it is none."""
    found = getattr(error, "status_code", None)
    return found if isinstance(found, int) else None


def exists_already(error: BaseException) -> bool:
    """Whether another process was faster to make it."""
    return "already exists" in str(error)


def translate_error(
    error: Exception, *, where: str = "", key: str = "QDRANT_API_KEY"
) -> RequestFailure | None:
    """The failure that an error of the client stands for; None when it is a bug of ours.

    `where` names the server, `key` the variable that its key is read from.
    """
    text = str(error)
    if isinstance(error, ClosedError):
        found: RequestFailure | None = RequestFailure("it was closed", passing=False)
    elif isinstance(error, FolderLockedError):
        found = error.failure()
    elif any(each in text.lower() for each in _NO_ROOM):
        found = RequestFailure("its disk is full", passing=False, hint=_FULL)
    else:
        found = _of_the_local_mode(error, text) or _of_a_server(error, key)
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
        refused = type(source).__name__ == "ConnectError"
        return RequestFailure(f"{source}", passing=True, refused=refused)
    if kind == "UnexpectedResponse":
        return _http_failure(error, key)
    if hasattr(error, "code") and hasattr(error, "details"):
        return _by_grpc(error, key)
    return None


def _http_failure(error: Exception, key: str) -> RequestFailure | None:
    status = status_of(error)
    if status in (401, 403):
        return _refuses(f"{status}", key)
    if exists_already(error):
        return None
    message = _error_message(bytes(getattr(error, "content", b"")))
    if status == 429:  # noqa: PLR2004 - Too Many Requests
        why = _BUSY
    elif status == 404 and message.startswith("Not found: Collection"):  # noqa: PLR2004
        why = _GONE
    else:
        why = f"it answers {status}: {message}".removesuffix(": ")
    return RequestFailure(why, passing=status in _RETRYABLE_STATUSES)


def _error_message(content: bytes) -> str:
    """The words of an answer, which are JSON where the server itself says them."""
    text = content.decode(errors="replace")
    with suppress(ValueError, LookupError, TypeError):  # a proxy may answer with any text
        text = str(json.loads(text)["status"]["error"])
    return " ".join(text.split())[:200]


def _refuses(code: str, key: str) -> RequestFailure:
    helps = f"set the key of the store in the environment, as {key}"
    return RequestFailure(f"it refuses the key ({code})", passing=False, hint=helps)


def _by_grpc(error: GrpcError, key: str) -> RequestFailure | None:
    code = error.code().name
    if code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL"):
        why = f"{code.lower().replace('_', ' ')}: {error.details()}"
        return RequestFailure(why, passing=True, refused=code == "UNAVAILABLE")
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return _refuses(code, key)
    return None
