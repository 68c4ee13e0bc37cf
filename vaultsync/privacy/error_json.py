"""Errors as JSON, the same on every surface, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from vaultsync import errors


class Trouble(TypedDict):
    """What went wrong."""

    kind: str
    message: str
    hint: str
    run: NotRequired[str]
    examples: NotRequired[list[str]]


class Failure(TypedDict):
    """An error."""

    error: Trouble


def error_values(kind: str, message: str, hint: str = "") -> Trouble:
    """An error as JSON, with secrets removed from its texts."""
    from vaultsync.privacy.redaction import scrub  # noqa: PLC0415 - reports load this module too

    return {"kind": kind, "message": scrub(message), "hint": scrub(hint)}


def error_values_json(
    kind: str, message: str, hint: str = "", *, run: str | None = None, examples: Sequence[str] = ()
) -> Failure:
    """The same below the key `error`, with the id of the run and examples if there are any."""
    values = error_values(kind, message, hint)
    if run is not None:
        values["run"] = run
    if examples:
        from vaultsync.privacy.redaction import scrub  # noqa: PLC0415 - see above

        values["examples"] = [scrub(each) for each in examples]
    return {"error": values}


def error_json(
    error: errors.VaultsyncError, *, hint: str | None = None, for_agent: bool = False
) -> Failure:
    """An error as JSON; `hint` replaces its own. An agent may not see all notes it is about."""
    own = error.hint if hint is None else hint
    examples = () if for_agent else error.examples
    return error_values_json(
        type(error).__name__, error.message, own, run=error.run, examples=examples
    )


def error_from_json(values: Trouble) -> errors.VaultsyncError:
    """The error of `error_json()`, of the same class and with the same texts."""
    kind = getattr(errors, values["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, errors.VaultsyncError)):
        kind = errors.VaultsyncError
    error = kind.__new__(kind)  # its own __init__ would compose other texts
    errors.VaultsyncError.__init__(error, values["message"], hint=values["hint"])
    error.run = values.get("run")
    error.examples = values.get("examples", ())
    return error
