"""The log of a command, on stderr and in the log file of the vault."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from vaultsync.cli.output import Options, clean, dim, echo
from vaultsync.errors import VaultsyncError

if TYPE_CHECKING:
    from vaultsync.api.state_log import LogLine

LOGGER = logging.getLogger("vaultsync")


class LogTo(logging.Handler):
    """Passes on each record as text without secrets and control characters."""

    def __init__(self, level: int, write: Callable[[logging.LogRecord, str], None]) -> None:
        super().__init__(level)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or drop it if it cannot be written."""
        from vaultsync.privacy.redaction import scrub

        try:
            self._write(record, clean(scrub(self.format(record))))
        except Exception:  # noqa: BLE001 - a command must not fail because of its log
            return


class _LazyFile:
    """The log file, opened for its first line: most commands log nothing."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._append: LogLine | None = None

    def write(self, record: logging.LogRecord, text: str) -> None:
        if self._append is None:
            from vaultsync.api.state_log import open_log_file

            options = self._options
            self._append = open_log_file(options.vault, state_dir=options.state_dir)
        if self._append is not None:
            at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
            head = f"{at.replace('+00:00', 'Z')} {record.levelname} {os.getpid()} {record.name}"
            self._append(f"{head} {text}".replace("\n", "\n    "))


def _to_stderr(record: logging.LogRecord, text: str) -> None:
    line = f"{record.levelname.lower()}: {record.name.removeprefix('vaultsync.')}: {text}"
    echo(dim(line) if record.levelno < logging.WARNING else line, err=True)


@contextmanager
def command_log(options: Options) -> Iterator[None]:
    """Log what happens during a command.

    The file records what was done and what failed, without the text of notes, and stderr gets
    only warnings. With `--verbose`, both also get details.
    """
    level = logging.DEBUG if options.verbose else logging.INFO
    file = LogTo(level, _LazyFile(options).write)
    stderr = LogTo(logging.DEBUG if options.verbose else logging.WARNING, _to_stderr)
    root, previous_level = logging.getLogger(), LOGGER.level
    LOGGER.setLevel(level)
    LOGGER.addHandler(file)
    root.addHandler(stderr)
    try:
        yield
    except Exception as error:
        _log_failure(error)
        raise
    finally:
        root.removeHandler(stderr)
        LOGGER.removeHandler(file)
        LOGGER.setLevel(previous_level)


def _log_failure(error: Exception) -> None:
    """Log the class of an error; its message may quote a note, and is logged as a detail."""
    LOGGER.info("the command failed: %s", type(error).__name__)
    if not isinstance(error, (VaultsyncError, click.ClickException, click.Abort, OSError)):
        LOGGER.info("%s", "".join(traceback.format_tb(error.__traceback__)))
    LOGGER.debug("the error message: %s", error)
