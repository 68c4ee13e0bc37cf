"""How commands end: exit codes, and errors in words or as JSON."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import click

from vaultsync import errors
from vaultsync.cli.output import clean, echo, emit, style

DONE = 0
FAILED = 1
WRONG_USAGE = 2
WAITS = 3
"""Done, and something waits for a person."""
GUARDED = 4
BUSY = 5
INTERRUPTED = 130
"""128 + SIGINT, as shells count."""

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.ImportLineError, FAILED),  # the usage is right, the file is not
    (errors.ScopeDeniedError, FAILED),
    (errors.UsageError, WRONG_USAGE),
    (errors.GuardError, GUARDED),
    (errors.StoreRewoundError, GUARDED),
    (errors.EngineBusyError, BUSY),
    (click.UsageError, WRONG_USAGE),
)


def exit_code(run: Callable[[], object], *, words: Sequence[str]) -> int:
    """Run the command of some words; whatever it raises is told, and is an exit code."""
    as_json = "--json" in words
    try:
        code = run()
        _flush()
    except click.exceptions.NoArgsIsHelpError as no_words:
        no_words.show()
        return WRONG_USAGE
    except (click.Abort, KeyboardInterrupt):
        hint = "run it again; the next pass takes up what this one left"
        _tell("Interrupted", "interrupted", hint, as_json=as_json)
        return INTERRUPTED
    except BrokenPipeError:
        _let_go_of_stdout()
        return FAILED
    except Exception as error:  # noqa: BLE001 - a person or a script waits for words
        _learn_rules(words)
        return failed(error, as_json=as_json)
    return code if isinstance(code, int) else DONE


def _learn_rules(words: Sequence[str]) -> None:
    """Know the user's rules of what is secret, where it failed before they were read."""
    from vaultsync.cli import vault as session

    text = "\0".join([*words, ""])
    _, _, vault = text.partition("--vault\0" if "--vault\0" in text else "--vault=")
    with suppress(Exception):  # then the vault has none that anybody could read
        session.know_rules(vault.partition("\0")[0] or None)


def failed(error: Exception, *, as_json: bool) -> int:
    """Tell an error, and return its exit code."""
    run = None
    if isinstance(error, errors.VaultsyncError):
        kind, message, hint = type(error).__name__, error.message, error.hint
        run = error.run
    elif isinstance(error, click.ClickException):
        kind, message, hint = _usage(error)
    elif isinstance(error, OSError):
        kind, message = "OSError", _system(error)
        hint = _SYSTEM.get(error.errno or 0, "")
    else:
        import traceback

        told = "".join(traceback.format_exception(error))
        echo(clean(_scrubbed(told)), err=True)
        kind, message = type(error).__name__, f"{type(error).__name__}: {error}"
        hint = "this is a fault of vaultsync; please report it with the lines above"
    _tell(kind, message, hint, as_json=as_json, run=run)
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def _usage(error: click.ClickException) -> tuple[str, str, str]:
    message = " ".join(error.format_message().split()).removesuffix(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "vaultsync"
    hint = f"`{path} --help` shows how"
    if isinstance(error, click.NoSuchOption) and context and not context.parent:
        hint = f"it stands after the command: `vaultsync status {error.option_name}`"
        message = message.partition(" Did you mean")[0].removesuffix(".")
    kind = "UsageError" if isinstance(error, click.UsageError) else type(error).__name__
    return kind, message[:1].lower() + message[1:], hint


_RIGHT = "give yourself the right to it, or name another place"
_ROOM = "make room and try again; what was begun is repaired by the next pass"
_SYSTEM: Mapping[int, str] = {
    errno.EACCES: _RIGHT,
    errno.EPERM: _RIGHT,
    errno.ENOENT: "make the folder first, or name another place",
    errno.EROFS: "it can only be read there; name another place",
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EIO: "see to the disk; what was begun is repaired by the next pass",
}
"""What to do when the system refuses."""


def _system(error: OSError) -> str:
    said = error.strerror or str(error) or type(error).__name__
    return f"{os.fsdecode(error.filename)}: {said}" if error.filename else said


def _tell(
    kind: str, message: str, hint: str, *, as_json: bool, run: str | None = None
) -> None:
    try:
        if as_json:
            from vaultsync.privacy.error_json import trouble_json

            emit(trouble_json(kind, message, hint, run=run))
            _flush()
            return
        error = style("error:", fg="red", bold=True)
        echo(f"{error} {clean(_scrubbed(message))}", err=True)
        if hint:
            told = clean(_scrubbed(hint))
            echo(f"\n{style('hint:', bold=True)} {told}", err=True)
    except OSError:
        _let_go_of_stdout()  # nobody listens any more


def _scrubbed(text: str) -> str:
    """Words for the screen and for logs: what an error repeats may be a secret."""
    from vaultsync.privacy.redaction import scrub

    return scrub(text)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _let_go_of_stdout() -> None:
    """Keep the interpreter, which flushes at its end, from complaining too."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return  # there is none, or it is a test's
