"""Errors as an agent is told them: what happened, why, and what helps."""

from __future__ import annotations

import sys
import traceback

from vaultsync import errors
from vaultsync.privacy.error_json import Failure, error_json, error_values_json
from vaultsync.privacy.redaction import scrub

_HINTS: tuple[tuple[type[errors.VaultsyncError], str], ...] = (
    (
        errors.FactForgottenError,
        "it was deleted; a person can bring it back: `vaultsync restore ID`",
    ),
    (
        errors.FactNotFoundError,
        "memory_recall and query_vault find the facts there are, with their ids",
    ),
    (errors.ConflictNotFoundError, "memory_conflicts lists the open ones"),
    (
        errors.InvalidIdError,
        "an id is a UUID: take the `id` of a hit, item or fact of an answer",
    ),
    (
        errors.RevisionMismatchError,
        (
            "somebody changed it meanwhile: read it again with query_vault, and repeat"
            " the change with its new `revision`"
        ),
    ),
    (
        errors.EngineBusyError,
        (
            "another program mirrors this vault now, and has no bridge to ask; try again"
            " in a moment, or ask the person to tick the box in the conflict note"
        ),
    ),
)
"""What helps whoever has tools and no command line; else the error's own hint."""


def error_parts(error: Exception) -> Failure:
    """Kind, message and hint of an error, as the command line has them."""
    if isinstance(error, errors.VaultsyncError):
        hint = next((h for kind, h in _HINTS if isinstance(error, kind)), error.hint)
        return error_json(error, hint=hint)
    if isinstance(error, OSError):
        message = f"the disk or the system failed: {error.strerror or error}"
        return error_values_json("OSError", message)
    lines = "".join(traceback.format_exception(error))
    sys.stderr.write(scrub(lines))
    kind = type(error).__name__
    hint = "this is a fault of vaultsync; its log has the lines to report"
    return error_values_json(kind, f"{kind}: {error}", hint)


def error_text(said: Failure) -> str:
    """The same for a reader."""
    error = said["error"]
    hint = f"\nhint: {error['hint']}" if error["hint"] else ""
    return f"{error['message']}{hint}"
