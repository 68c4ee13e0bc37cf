"""What an error of Qdrant's client says about the store."""

from __future__ import annotations

import sqlite3
from typing import Any, TypeAlias

from vaultsync.adapters.qdrant_patience import Trouble

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may be answered."""
_NO_ROOM = ("no space left", "disk is full", "out of disk", "available disk space")
_FULL = "make room on the disk of the store; what must reach it waits in the outbox"
GrpcError: TypeAlias = Any
"""An error of grpc. Its type would have grpc loaded."""


class ClosedError(Exception):
    """It was closed."""


def status_of(error: BaseException | None) -> int | None:
    """The number of an answer of a server; None when it is none."""
    found = getattr(error, "status_code", None)
    return found if isinstance(found, int) else None


def exists_already(error: BaseException) -> bool:
    """Whether somebody else was faster to make it."""
    return "already exists" in str(error)


def judge(error: Exception) -> Trouble | None:
    """What an error of the client says about the store; None when it is our mistake."""
    text = str(error)
    if isinstance(error, ClosedError):
        return Trouble("it was closed", passing=False)
    if any(each in text.lower() for each in _NO_ROOM):
        return Trouble("its disk is full", passing=False, hint=_FULL)
    return _of_the_local_mode(error, text) or _of_a_server(error)


def _of_the_local_mode(error: Exception, text: str) -> Trouble | None:
    if isinstance(error, RuntimeError) and "already accessed" in text:
        return Trouble("another process has it", passing=True, refused=True)
    if isinstance(error, ValueError) and "not found" in text:
        return Trouble("its collection is not there", passing=False)
    if isinstance(error, (OSError, sqlite3.Error)):
        return Trouble(text, passing=False)
    return None


def _of_a_server(error: Exception) -> Trouble | None:
    kind = type(error).__name__
    if kind == "ResourceExhaustedResponse":
        wait = float(getattr(error, "retry_after_s", 0))
        return Trouble("it is too busy (429)", passing=True, wait=wait or None)
    if kind == "ResponseHandlingException":
        source = getattr(error, "source", error)
        refused = type(source).__name__ == "ConnectError"
        return Trouble(f"{source}", passing=True, refused=refused)
    if kind == "UnexpectedResponse":
        return _answered(error)
    if hasattr(error, "code") and hasattr(error, "details"):
        return _by_grpc(error)
    return None


def _answered(error: Exception) -> Trouble | None:
    status = status_of(error)
    if status in (401, 403):
        return Trouble(
            f"it refuses the key ({status})",
            passing=False,
            hint="set the key of the store in the environment, as QDRANT_API_KEY",
        )
    if exists_already(error):
        return None
    said = bytes(getattr(error, "content", b""))[:200].decode(errors="replace")
    return Trouble(f"it answers {status}: {said}", passing=status in _PASSING)


def _by_grpc(error: GrpcError) -> Trouble | None:
    code = error.code().name
    if code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL"):
        why = f"{code.lower().replace('_', ' ')}: {error.details()}"
        return Trouble(why, passing=True, refused=code == "UNAVAILABLE")
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return Trouble(f"it refuses the key ({code})", passing=False)
    return None
