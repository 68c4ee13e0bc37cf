"""How commands end: exit codes, and errors in words or as JSON."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import click

from vaultsync import errors
from vaultsync.cli.output import clean, echo, print_json, style

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NEEDS_REVIEW = 3
"""Done, and something waits for a person."""
EXIT_GUARD = 4
EXIT_BUSY = 5
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells count."""

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.ImportLineError, EXIT_FAILED),  # the usage is right, the file is not
    (errors.ScopeDeniedError, EXIT_FAILED),
    (errors.UsageError, EXIT_USAGE),
    (errors.GuardError, EXIT_GUARD),
    (errors.StoreRewoundError, EXIT_GUARD),
    (errors.EngineBusyError, EXIT_BUSY),
    (click.UsageError, EXIT_USAGE),
)


def exit_code(run: Callable[[], object], *, words: Sequence[str]) -> int:
    """Run the command of some words; whatever it raises is told, and is an exit code."""
    as_json = "--json" in words
    try:
        code = run()
        _flush()
    except click.exceptions.NoArgsIsHelpError as no_words:
        no_words.show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        hint = "run it again; the next pass takes up what this one left"
        _print_failure("Interrupted", "interrupted", hint, as_json=as_json)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _detach_stdout()
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - a person or a script waits for words
        _register_secret_rules(words)
        return print_error(error, as_json=as_json)
    return code if isinstance(code, int) else EXIT_DONE


def _register_secret_rules(words: Sequence[str]) -> None:
    """Know the user's rules of what is secret, where it failed before they were read."""
    from vaultsync.cli import vault as session

    text = "\0".join([*words, ""])
    _, _, vault = text.partition("--vault\0" if "--vault\0" in text else "--vault=")
    with suppress(Exception):  # then the vault has none that anybody could read
        session.register_secret_rules(vault.partition("\0")[0] or None)


def print_error(error: Exception, *, as_json: bool) -> int:
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
    _print_failure(kind, message, hint, as_json=as_json, run=run)
    return next((code for kind, code in _CODES if isinstance(error, kind)), EXIT_FAILED)


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


def _print_failure(
    kind: str, message: str, hint: str, *, as_json: bool, run: str | None = None
) -> None:
    try:
        if as_json:
            from vaultsync.privacy.error_json import error_values_json

            print_json(error_values_json(kind, message, hint, run=run))
            _flush()
            return
        error = style("error:", fg="red", bold=True)
        echo(f"{error} {clean(_scrubbed(message))}", err=True)
        if hint:
            told = clean(_scrubbed(hint))
            echo(f"\n{style('hint:', bold=True)} {told}", err=True)
    except OSError:
        _detach_stdout()  # nobody listens any more


def _scrubbed(text: str) -> str:
    """Words for the screen and for logs: what an error repeats may be a secret."""
    from vaultsync.privacy.redaction import scrub

    return scrub(text)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _detach_stdout() -> None:
    """Keep the interpreter, which flushes at its end, from complaining too."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return  # there is none, or it is a test's
