"""`export`, `import` and the exchange with other tools."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from errno import ENOTDIR
from pathlib import Path
from typing import BinaryIO

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_facts import print_transferred
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import (
    agent_option,
    common,
    dry_run_option,
    flag,
    named_option,
    scope_option,
)
from vaultsync.cli.output import (
    Options,
    clean_one_line,
    echo,
    escape_control,
    is_terminal,
    progress_bar,
)
from vaultsync.cli.user_input import MAX_TEXT, TOO_LARGE, open_input
from vaultsync.errors import ImportLineError, UsageError
from vaultsync.exchange.exchange_formats import FORMATS, WRITTEN
from vaultsync.exchange.service import ImportReport
from vaultsync.exchange.source_facts import is_exported
from vaultsync.model.counts import count_noun
from vaultsync.settings import MARKER

_LONGEST_LINE = 1 << 24
"""Maximum number of bytes to read of an existing file, to see whether it is an export."""
LineWriter = Callable[[str], object]


def text_lines(source: BinaryIO) -> Iterator[str]:
    """Decode lines, which end with a line feed only.

    Raises:
        ImportLineError: a line is not UTF-8, or too large.
    """
    for number, line in enumerate(iter(lambda: source.readline(MAX_TEXT + 1), b""), 1):
        if len(line) > MAX_TEXT:
            raise ImportLineError(number, f"it is {TOO_LARGE}")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ImportLineError(number, "it is not UTF-8") from None


@contextmanager
def open_output(
    file: str, *, force: bool = False, is_export: Callable[[bytes], bool] = lambda _: True
) -> Iterator[LineWriter]:
    """Open a file, a pipe or (`-`) stdout, and yield a function that writes a line to it.

    A file is overwritten if `is_export` accepts its first bytes; with `force`, any file is, except
    notes and hidden files of a vault.

    Raises:
        UsageError: the file is a note, a hidden file or an existing canvas of a vault, or
            another file that may not be overwritten; or stdout is closed.
    """
    if file == "-":
        if sys.stdout is None:
            raise UsageError("standard output is closed", hint="redirect it, or name a file")
        write = _stream_writer(sys.stdout.buffer)
        if is_terminal(sys.stdout):
            yield lambda line: write(escape_control(line))
        else:
            yield write
        return
    path = Path(file)
    if path.exists() and not path.is_file():
        # A pipe or a device such as `/dev/stdout`, which a rename would replace with a file.
        with path.open("wb") as stream:
            yield _stream_writer(stream)
        return
    target = path.resolve()  # a symbolic link is kept
    if not target.parent.is_dir():
        raise NotADirectoryError(ENOTDIR, "no such folder", str(target.parent))
    _refuse_vault_files(target, force=force)
    if not force:
        _refuse_other_files(target, is_export)
    with _replacement_file(target) as stream:
        yield _stream_writer(stream)


def _refuse_vault_files(target: Path, *, force: bool) -> None:
    """Refuse to overwrite notes, hidden files and, without `force`, canvases of a vault."""
    root = next((each for each in target.parents if (each / MARKER).is_file()), None)
    if root is None:
        return
    why = ""
    if any(part.startswith(".") for part in target.relative_to(root).parts):
        why = "it is in a hidden folder of the vault"
    elif target.suffix.lower() == ".md":
        why = "it would become a note of the vault"
    elif target.suffix.lower() == ".canvas" and target.exists() and not force:
        # The user may have arranged it by hand, even if it began as an export.
        message = f"{target} was not written: the canvas exists, and you may have changed it"
        raise UsageError(message, hint="--force overwrites it; another name keeps both")
    if why:
        message = f"{target} was not written: {why}"
        raise UsageError(message, hint="write to a file outside the vault, or to a visible folder")


def _refuse_other_files(target: Path, is_export: Callable[[bytes], bool]) -> None:
    """Refuse to replace a file that is neither empty nor an earlier export."""
    start = b""
    if target.exists():
        with target.open("rb") as stream:
            start = stream.read(_LONGEST_LINE)
    if start and not is_export(start):
        message = f"{target} was not written: the file exists, and is not an export"
        raise UsageError(message, hint="--force overwrites it; another name keeps both")


def _begins_with_fact(start: bytes) -> bool:
    """Whether the first line of a file is a fact."""
    try:
        first = json.loads(start.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and is_exported(first)


def _stream_writer(stream: BinaryIO) -> LineWriter:
    return lambda line: stream.write(line.rstrip("\n").encode() + b"\n")


@contextmanager
def _replacement_file(target: Path) -> Iterator[BinaryIO]:
    """Write a temporary file beside the target, then rename it over the target.

    Only its owner can read it, as memories are private; an existing target keeps its mode.
    """
    try:
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        error.filename = str(target)
        raise
    try:
        with os.fdopen(number, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            Path(name).chmod(stat.S_IMODE(target.stat().st_mode))
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # of a call with a descriptor
            error.filename = str(target)
        raise


def refuse_json_on_stdout(options: Options, file: str) -> None:
    """Refuse `--json` together with `-`: both would write to stdout.

    Raises:
        click.UsageError: both are given.
    """
    if file == "-" and options.json:
        raise click.UsageError("--json needs stdout for its own object: FILE cannot be -")


def _bar_beside(file: str, options: Options) -> AbstractContextManager[object]:
    """A progress bar, unless the user may see or type the data themselves."""
    return nullcontext() if file == "-" else progress_bar(options)


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@named_option("--user", "U", "Only facts about this user.")
@flag("--force", "Overwrite a file that is not an earlier export.")
@common
def export_facts(options: Options, *, file: str, user: str | None, force: bool) -> int:
    """Write all facts to FILE as JSON Lines; - is stdout.

    An earlier export is replaced once the new one is complete. Facts that are damaged in the
    store are skipped and listed; the exit code is then 3.
    """
    refuse_json_on_stdout(options, file)
    output = open_output(file, force=force, is_export=_begins_with_fact)
    with open_memory(options) as memory, output as write, _bar_beside(file, options):
        count = memory.export(write, user=user)
        damaged = memory.damaged_facts()
    outcome, is_free = f"written to {file}", file != "-"
    print_transferred(options, count, outcome, stdout_is_free=is_free, damaged=damaged)
    return EXIT_NEEDS_REVIEW if damaged else EXIT_DONE


@click.command("import")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, readable=True)
)
@common
def import_facts(options: Options, *, file: str) -> None:
    """Import facts from FILE, which holds JSON Lines; - is stdin.

    A fact that the vault has already becomes the one of its line, even an older version; the
    replaced texts stay in `vaultsync history`. A deleted fact is restored.

    If a line is invalid, nothing is imported.
    """
    with open_memory(options) as memory, open_input(file) as source, _bar_beside(file, options):
        count = memory.import_(text_lines(source))
    print_transferred(options, count, f"imported from {file}", stdout_is_free=True)
    if count and not options.json:
        options.print_message("`vaultsync sync` writes their notes")


@click.command("import-from")
@click.argument("format_name", metavar="FORMAT", type=click.Choice([*FORMATS]))
@click.argument("path", metavar="PATH", type=click.Path(exists=True))
@scope_option("Who may see the facts; default: that of the vault.")
@dry_run_option
@agent_option
@common
def import_from(
    options: Options, *, format_name: str, path: str, scope: str | None, dry_run: bool
) -> int:
    """Import memories from another tool.

    FORMAT is one of chatgpt, claude, basic-memory, mem0, letta, mcp-memory, claude-code, cursor,
    notion, markdown, jsonl and csv; PATH is a file, a folder or a ZIP archive of that tool.

    Nothing is imported twice. Unreadable items are skipped and listed; the exit code is then 3.
    """
    with open_memory(options) as memory, progress_bar(options) as bar:
        report = memory.import_from(format_name, path, scope=scope, dry_run=dry_run, progress=bar)
    if not options.printed_as_json(report):
        _print_import(options, report)
    return EXIT_NEEDS_REVIEW if report.skipped else EXIT_DONE


def _print_import(options: Options, report: ImportReport) -> None:
    did = "would be imported" if report.dry_run else "imported"
    kinds = ", ".join(f"{name} {count:,}" for name, count in report.types.items())
    echo(f"{count_noun(report.facts, 'fact')} {did}" + f" ({kinds})" * bool(kinds))
    if report.continued:
        did = "would be" if report.dry_run else "were" if report.continued > 1 else "was"
        what = count_noun(report.continued, "conversation")
        options.print_message(f"{what} went on since, and {did} extended")
    if report.updated:
        did = "would be" if report.dry_run else "were" if report.updated > 1 else "was"
        what = count_noun(report.updated, "fact")
        options.print_message(f"{what} {did} updated, because the memory changed")
    if report.kept:
        verb = "differs" if report.kept == 1 else "differ"
        what = count_noun(report.kept, "fact")
        options.print_message(
            f"{what} may have been edited here and {verb} from the source, so nothing was replaced"
        )
    for fact in report.kept_facts:
        options.print_message(f"not changed: {fact.id} {clean_one_line(fact.title)}")
    if report.duplicates:
        verb = "is" if report.duplicates == 1 else "are"
        options.print_message(f"{report.duplicates:,} {verb} already in the memory")
    for each in report.problems:
        options.print_message(f"skipped: {clean_one_line(each.where)}: {clean_one_line(each.why)}")
    if report.skipped > len(report.problems):
        options.print_message(f"… and {report.skipped - len(report.problems):,} more")
    if report.run:
        options.print_message(f"`vaultsync undo {report.run}` reverts it")


@click.command("export-to")
@click.argument("format_name", metavar="FORMAT", type=click.Choice([*WRITTEN]))
@click.argument("path", metavar="FOLDER", type=click.Path(file_okay=False))
@named_option("--user", "U", "Only facts about this user.")
@agent_option
@common
def export_to(options: Options, *, format_name: str, path: str, user: str | None) -> None:
    """Export all facts in the format of another tool.

    FORMAT is basic-memory, mem0, letta, markdown or jsonl. FOLDER must be empty or missing.
    """
    with open_memory(options) as memory, progress_bar(options):
        report = memory.export_to(format_name, path, user=user)
    if options.printed_as_json(report):
        return
    echo(f"{count_noun(report.facts, 'fact')} written to {clean_one_line(report.path)}")
