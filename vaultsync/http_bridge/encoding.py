"""JSON in and out: requests are decoded, errors become statuses."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import msgspec

from vaultsync import errors
from vaultsync.privacy.error_json import Failure, error_json, error_values_json
from vaultsync.privacy.redaction import scrub

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

B = TypeVar("B", bound=msgspec.Struct)
_log = logging.getLogger("vaultsync.bridge")
ERROR_STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (errors.ProposedError, HTTPStatus.ACCEPTED),
    (errors.NotFoundError, HTTPStatus.NOT_FOUND),
    (errors.NoteMissingError, HTTPStatus.NOT_FOUND),
    (errors.RevisionMismatchError, HTTPStatus.CONFLICT),
    (errors.GuardError, HTTPStatus.CONFLICT),
    (errors.MemoryFileGuardError, HTTPStatus.CONFLICT),
    (errors.StoreRewoundError, HTTPStatus.CONFLICT),
    (errors.PurgeNotUndoneError, HTTPStatus.CONFLICT),
    (errors.NoteChangedError, HTTPStatus.CONFLICT),
    (errors.NoteExistsError, HTTPStatus.CONFLICT),
    (errors.WriteLimitError, HTTPStatus.TOO_MANY_REQUESTS),
    (errors.UsageError, HTTPStatus.BAD_REQUEST),
    (errors.UnsafePathError, HTTPStatus.BAD_REQUEST),
    (errors.EngineBusyError, HTTPStatus.LOCKED),
    (errors.IndexBusyError, HTTPStatus.LOCKED),
    (errors.NotARepositoryError, HTTPStatus.BAD_REQUEST),
    (errors.UnknownBranchError, HTTPStatus.NOT_FOUND),
    (errors.BranchNotMergedError, HTTPStatus.CONFLICT),
    (errors.LockTimeoutError, HTTPStatus.LOCKED),
    (errors.ModulesBusyError, HTTPStatus.LOCKED),
    (errors.RepositoryError, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.StoreUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.VaultError, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.DaemonStoppedError, HTTPStatus.SERVICE_UNAVAILABLE),
)
"""The first that matches; any other error is 500."""


def parse_body(data: bytes, takes: type[B]) -> B:
    """The body of a request, of which an empty one has no keys; raises MalformedBodyError."""
    try:
        return msgspec.json.decode(data or b"{}", type=takes)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
        raise errors.MalformedBodyError(str(wrong)) from None


def parse_query_string(query: QueryParams, takes: type[B]) -> B:
    """The query of a request, with a list for a repeated key; raises MalformedBodyError."""
    values = {key: query.getlist(key) for key in query}
    given = {key: each if len(each) > 1 else each[0] for key, each in values.items()}
    try:
        return msgspec.convert(given, takes, strict=False)
    except msgspec.MsgspecError as wrong:
        raise errors.MalformedBodyError(str(wrong)) from None


def error_response(error: Exception) -> tuple[HTTPStatus, Failure | Mapping[str, object]]:
    """The status and the body for an error; an unexpected one is logged."""
    if not isinstance(error, errors.VaultsyncError):
        lines = "".join(traceback.format_exception(error))
        _log.error("a request failed\n%s", scrub(lines))
        hint = "this is a bug in vaultsync; see its log for details"
        body = error_values_json(type(error).__name__, "the request failed", hint)
        return HTTPStatus.INTERNAL_SERVER_ERROR, body
    status = next(
        (status for kind, status in ERROR_STATUSES if isinstance(error, kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    if isinstance(error, errors.ProposedError):
        return status, error.answer
    return status, error_json(error)
