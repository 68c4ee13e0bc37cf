"""Exit codes, and how errors are printed: as text or as JSON."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from shlex import quote

import click

from vaultsync import errors
from vaultsync.cli.output import COMMAND_WORDS, JSON_BEGUN, clean, echo, print_json, style, suggest

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NEEDS_REVIEW = 3
"""The command succeeded, and something needs the user's attention."""
EXIT_GUARD = 4
EXIT_BUSY = 5
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells count."""

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.ImportLineError, EXIT_FAILED),  # a usage error in Python, a bad file here
    (errors.ScopeDeniedError, EXIT_FAILED),
    (errors.ProposalDeniedError, EXIT_FAILED),
    (errors.WriteLimitError, EXIT_FAILED),
    (errors.UsageError, EXIT_USAGE),
    (errors.GuardError, EXIT_GUARD),
    (errors.MemoryFileGuardError, EXIT_GUARD),
    (errors.StoreRewoundError, EXIT_GUARD),
    (errors.EngineBusyError, EXIT_BUSY),
    (click.UsageError, EXIT_USAGE),
)


def exit_code(run: Callable[[], object], *, words: Sequence[str], group: click.Group) -> int:
    """Run a command with the arguments `words`, print its error, and return the exit code."""
    if words[:1] == ["hook"] or (words[:1] == ["observe"] and "--hook" in words):
        return _run_hook(run, words=words)
    as_json = "--json" in words
    COMMAND_WORDS.set(words)
    JSON_BEGUN.set(False)
    try:
        code = run()
        _flush()
    except click.exceptions.NoArgsIsHelpError as no_args:
        no_args.show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt) as stop:
        if isinstance(stop, click.Abort) and stop.__cause__ is None:  # at a prompt
            echo(err=True)  # ends the line of the prompt
            declined = f"interrupted; {str(stop) or 'nothing was changed'}"
            _print_failure("Interrupted", declined, "", as_json=as_json)
            return EXIT_INTERRUPTED
        hint = "run the command again; the next sync finishes what was interrupted"
        _print_failure("Interrupted", "interrupted", hint, as_json=as_json)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _detach_stdout()
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - every failure gets a message and an exit code
        if isinstance(error, click.UsageError) and error.ctx is None:
            from vaultsync.cli.usage_errors import context_of  # only after a mistake

            error.ctx = context_of(group, words)
        return _explain(error, words, as_json=as_json)
    return code if isinstance(code, int) else EXIT_DONE


def _run_hook(run: Callable[[], object], *, words: Sequence[str]) -> int:
    """Run a command as a hook of an agent's host, which must never fail its host."""
    try:
        run()
        _flush()
    except (BrokenPipeError, SystemExit):  # click exits where a pipe is closed
        _detach_stdout()
    except (KeyboardInterrupt, click.Abort):  # click raises its own for the first
        pass  # the host stops its hooks when it ends
    except Exception as error:  # noqa: BLE001 - as above
        _explain(error, words, as_json=False)  # on stderr
    return EXIT_DONE


def _explain(error: Exception, words: Sequence[str], *, as_json: bool) -> int:
    """Print the error of a command; that of a missing library names its extra."""
    from vaultsync.cli.given_vault import register_secret_rules

    register_secret_rules(words)
    if isinstance(error, ImportError):
        from vaultsync.extras import missing_extra

        error = missing_extra("this command", error) or error
    return print_error(error, as_json=as_json)


def print_error(error: Exception, *, as_json: bool) -> int:
    """Print an error, and return its exit code."""
    if isinstance(error, errors.ProposedError):
        return _print_proposed(error, as_json=as_json)
    run = None
    examples: Sequence[str] = ()
    if isinstance(error, errors.VaultsyncError):
        kind, message, hint = type(error).__name__, error.message, error.hint
        if isinstance(error, errors.AmbiguousNameError) and error.candidates:
            hint = f"use one of: {', '.join(map(quote, error.candidates))}"
        run, examples = error.run, error.examples
    elif isinstance(error, click.ClickException):
        from vaultsync.cli.usage_errors import usage_texts  # only after a mistake

        kind, message, hint = usage_texts(error)
    elif isinstance(error, OSError):
        kind, (message, hint) = "OSError", errors.system_error_texts(error)
    else:
        echo(_printable("".join(traceback.format_exception(error))), err=True)
        kind, message = type(error).__name__, f"{type(error).__name__}: {error}"
        hint = "this is a bug in vaultsync; please report it with the traceback above"
    _print_failure(kind, message, hint, as_json=as_json, run=run, examples=examples)
    return next((code for kind, code in _CODES if isinstance(error, kind)), EXIT_FAILED)


def _print_proposed(error: errors.ProposedError, *, as_json: bool) -> int:
    if as_json:
        print_json(error.answer)
        _flush()
    else:
        _print_with_hint(_printable(error.message), error.hint)
    return EXIT_NEEDS_REVIEW


def _print_with_hint(text: str, hint: str) -> None:
    echo(text, err=True)
    if hint:
        echo(f"\n{style('hint:', bold=True)} {suggest(_printable(hint))}", err=True)


def _print_failure(
    kind: str,
    message: str,
    hint: str,
    *,
    as_json: bool,
    run: str | None = None,
    examples: Sequence[str] = (),
) -> None:
    if as_json:
        from vaultsync.privacy.error_json import error_values_json

        with suppress(OSError):
            if not JSON_BEGUN.get():  # else stdout has an object, which may be incomplete
                print_json(error_values_json(kind, message, hint, run=run, examples=examples))
                _flush()
                return
        _detach_stdout()  # the disk is full, the reader has closed the stream, or see above
    try:
        error = f"{style('error:', fg='red', bold=True)} {_printable(message)}"
        _print_with_hint("\n  ".join((error, *map(_printable, examples))), hint)
    except OSError:
        return  # the reader has closed the stream


def _printable(text: str) -> str:
    """Clean and redact a message, which may repeat a secret."""
    from vaultsync.privacy.redaction import scrub

    return clean(scrub(text))


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _detach_stdout() -> None:
    """Redirect stdout to the null device: the interpreter flushes it at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return  # there is no stdout, or it is no real file
