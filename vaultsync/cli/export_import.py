"""`export` and `import`: all facts as JSON Lines.

The files that `export` writes and `import` reads.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOTDIR
from pathlib import Path
from typing import BinaryIO

import click

from vaultsync.cli.exit_codes import EXIT_DONE
from vaultsync.cli.options import Options, common
from vaultsync.errors import ImportLineError, UsageError
from vaultsync.settings import MARKER

LineWriter = Callable[[str], object]


def text_lines(source: BinaryIO) -> Iterator[str]:
    """The lines as text; only a line feed ends one."""
    for number, line in enumerate(source, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ImportLineError(number, "it is not UTF-8") from None


@contextmanager
def open_input(file: str) -> Iterator[BinaryIO]:
    """A file or, for `-`, stdin."""
    if file == "-":
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as stream:
        yield stream


@contextmanager
def open_output(file: str) -> Iterator[LineWriter]:
    """A function that writes lines to a file, a pipe or stdout."""
    if file == "-":
        yield _stream_writer(sys.stdout.buffer)
        return
    named = Path(file)
    if named.exists() and not named.is_file():
        # A pipe or a device (`/dev/stdout`): a rename would put a file in its place.
        with named.open("wb") as stream:
            yield _stream_writer(stream)
        return
    target = named.resolve()  # a link stays a link
    if not target.parent.is_dir():
        raise NotADirectoryError(ENOTDIR, "there is no such folder", str(target.parent))
    _check_free(target)
    with _replacement_file(target) as stream:
        yield _stream_writer(stream)


def _check_free(target: Path) -> None:
    """See that a file is no note of a vault, and none of what its programs keep there.

    Raises:
        UsageError: it is, or would be; nothing was written.
    """
    roots = (each for each in target.parents if (each / MARKER).is_file())
    root = next(roots, None)
    if root is None:
        return
    why = ""
    if any(part.startswith(".") for part in target.relative_to(root).parts):
        why = "it lies in a hidden folder of the vault, which is not for exports"
    elif target.suffix.lower() == ".md":
        why = "it would be a note of the vault"
    if why:
        message = f"{target} is not written: {why}"
        raise UsageError(message, hint="name a file outside the vault, or a visible one")


def _stream_writer(stream: BinaryIO) -> LineWriter:
    return lambda line: stream.write(line.rstrip("\n").encode() + b"\n")


@contextmanager
def _replacement_file(target: Path) -> Iterator[BinaryIO]:
    """A file beside the target that takes its place when all is written.

    It is its owner's alone, as memories are private, unless the target was otherwise.
    """
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            Path(name).chmod(stat.S_IMODE(target.stat().st_mode))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@common
def export_facts(options: Options, *, file: str) -> int:
    """Write all facts to FILE, a line of JSON each; - is stdout.

    FILE appears whole or not at all.
    """
    if file == "-" and options.json:
        message = "with --json FILE cannot be -, for stdout is one JSON object then"
        raise click.UsageError(message)

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory, open_output(file) as write:
        count = memory.export(write)
    show.print_transferred(options, count, f"written to {file}", data=file != "-")
    return EXIT_DONE


@click.command("import")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, readable=True)
)
@common
def import_facts(options: Options, *, file: str) -> int:
    """Take facts from FILE, a line of JSON each; - is stdin.

    All lines are taken or, when one is bad, none.
    """
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import output
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory, open_input(file) as source:
        count = memory.import_(text_lines(source))
    show.print_transferred(options, count, f"taken from {file}", data=True)
    if count and not options.json:
        output.print_message(options, "`vaultsync sync` writes their notes")
    return EXIT_DONE
