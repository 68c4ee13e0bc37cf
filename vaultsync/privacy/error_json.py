"""An error as JSON, the same on every surface, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from vaultsync import errors
from vaultsync.privacy.redaction import scrub


class Trouble(TypedDict):
    """What went wrong."""

    kind: str
    message: str
    hint: str
    run: NotRequired[str]


class Failure(TypedDict):
    """An error."""

    error: Trouble


def error_values(kind: str, message: str, hint: str = "") -> Trouble:
    """What went wrong, without the secrets that its words repeat."""
    return {"kind": kind, "message": scrub(message), "hint": scrub(hint)}


def error_values_json(
    kind: str, message: str, hint: str = "", *, run: str | None = None
) -> Failure:
    """The same as an answer."""
    said = error_values(kind, message, hint)
    return {"error": said if run is None else {**said, "run": run}}


def error_json(error: errors.VaultsyncError, *, hint: str | None = None) -> Failure:
    """An error; with another hint where its own is of no use."""
    own = error.hint if hint is None else hint
    return error_values_json(type(error).__name__, error.message, own, run=error.run)


def error_from_json(said: Mapping[str, str]) -> errors.VaultsyncError:
    """The error that `error_json()` told of, by its kind, in the same words."""
    kind = getattr(errors, said["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, errors.VaultsyncError)):
        kind = errors.VaultsyncError
    error = kind.__new__(kind)  # its own __init__ would make the words anew
    errors.VaultsyncError.__init__(error, said["message"], hint=said["hint"])
    error.run = said.get("run")
    return error
