"""Commands that work on both sides: `sync`, `status`, `conflicts`, `undo` and others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from vaultsync.api import opening
from vaultsync.api.memory import Memory
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from vaultsync.cli.format_conflicts import print_conflicts, print_history
from vaultsync.cli.format_facts import print_initialised
from vaultsync.cli.format_reports import (
    describe_run,
    embedding_text,
    print_change_note,
    print_checks,
    print_note_status,
    print_report,
    print_runs,
    print_status,
    print_verification,
)
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import (
    common,
    completes,
    date_option,
    dry_run_option,
    fact_argument,
    flag,
    number_option,
    scope_option,
    text_option,
    type_option,
    verbose_option,
)
from vaultsync.cli.output import DelayedBar, Options, clean, is_terminal, print_json, progress_bar
from vaultsync.cli.user_input import confirm
from vaultsync.errors import UsageError, VaultsyncError, system_error_texts
from vaultsync.indexing.ports import NO_EMBEDDER
from vaultsync.model.counts import count_noun
from vaultsync.sync.report import DoctorCheck, Report

if TYPE_CHECKING:  # few commands embed texts
    from vaultsync.indexing.embedding_texts import EmbeddingCost

confirm_option = text_option(
    "--confirm", "RUN", "Confirm the run that the guard stopped, by its id.", names="run"
)
sides = click.Choice(["store", "vault"])


def _run_and_report(
    options: Options,
    run: Callable[[Memory, DelayedBar | None], Report],
    *,
    verbose: bool,
    undone: bool = False,
) -> int:
    """Run an operation on both sides, print its report, and return the exit code."""
    with open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = run(memory, bar)
        open_conflicts = memory.conflicts()
        # Who syncs a folder of notes for the first time expects that they are synced.
        foreign = memory.status().foreign if report.quiet and memory.is_empty else 0
    code = print_report(options, report, open_conflicts, verbose=verbose, undone=undone)
    if foreign:
        options.print_message(
            f"not adopted: {count_noun(foreign, 'note')};"
            " `vaultsync adopt --dry-run` shows which would become facts"
        )
    return code


@click.command()
@click.argument("path", required=False)
@text_option("--store", "URL", "Where facts are stored: sqlite, sqlite:PATH, qdrant://HOST:6333, …")
@flag("--new-id", "Give a copied vault a new id.")
@common
def init(options: Options, *, path: str | None, store: str | None, new_id: bool) -> None:
    """Turn a folder into a vault; safe to run again.

    PATH may be omitted when --vault names the folder.
    """
    folder = path or options.vault
    if not folder:
        message = "missing argument 'PATH': the folder to turn into a vault"
        raise UsageError(
            message,
            hint="`vaultsync init .` turns the current folder into a vault;"
            " see `vaultsync init --help`",
        )
    vault = opening.init(folder, store=store, state_dir=options.state_dir, new_id=new_id)
    print_initialised(options, vault)


@click.command()
@dry_run_option
@flag("--allow-scope-moves", "Change the scope of notes that were moved to another scope's folder.")
@number_option("--max-delete", "Stop, and change nothing, if more than N would be deleted.")
@confirm_option
@verbose_option
@common
def sync(options: Options, *, verbose: bool, **request: Any) -> int:  # noqa: ANN401 - click's options
    """Sync vault and store once, in both directions."""
    return _run_and_report(
        options, lambda memory, bar: memory.sync(**request, progress=bar), verbose=verbose
    )


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@scope_option("Who may see the facts; default: by their folder.")
@type_option(text="Type of the facts; default: by their folder.")
@dry_run_option
@verbose_option
@common
def adopt(options: Options, *, paths: Sequence[str], verbose: bool, **request: Any) -> int:  # noqa: ANN401 - click's options
    """Turn existing notes into facts.

    PATH is a note or a folder; default: the whole vault. Each note gets an id in its
    frontmatter, and nothing else in it changes.
    """
    return _run_and_report(
        options, lambda memory, bar: memory.adopt(paths, **request, progress=bar), verbose=verbose
    )


@click.command()
@click.argument("note", metavar="[NOTE]", required=False)
@common
def status(options: Options, *, note: str | None) -> int:
    """Show pending changes, conflicts and problems; changes nothing.

    NOTE is the path of a note: show whether it is synced, and if not, why.
    """
    with open_memory(options) as memory:
        if note is not None:
            return print_note_status(options, memory.note_status(note))
        with progress_bar(options):
            report = memory.status()
    return print_status(options, report)


@click.command()
@common
def conflicts(options: Options) -> int:
    """List open conflicts.

    Includes the conflict copies that sync tools create.
    """
    with open_memory(options) as memory:
        records, copies = memory.conflicts(), memory.conflict_copies()
    return print_conflicts(options, records, copies)


@click.command()
@fact_argument
@common
def history(options: Options, *, fact_id: str) -> None:
    """Show the changes of a fact: who, when and on which side."""
    with open_memory(options) as memory:
        entries = memory.history(fact_id)
    print_history(options, entries)


@click.command()
@number_option("--limit", "Maximum number of runs.", minimum=1, default=20)
@date_option("--since", "Only runs on or after")
@flag("--note", "Write a note of the changes instead; default: of the last 7 days.")
@text_option("--folder", "PATH", "Folder of the note for --note.", default="Changes")
@common
def log(options: Options, *, limit: int, since: str | None, note: bool, folder: str) -> int:
    """List the runs that changed something, newest first.

    With --note, write a note that lists the facts that were created, updated and forgotten, the
    conflicts and the proposals. The note never becomes a fact; if you edit it, it is not
    overwritten.
    """
    source_of = click.get_current_context().get_parameter_source
    if not note and source_of("folder") is ParameterSource.COMMANDLINE:
        message = "--folder needs --note"
        raise click.UsageError(message)
    if note and source_of("limit") is ParameterSource.COMMANDLINE:
        message = "--limit does not apply to --note, which lists all changes since a day"
        raise click.UsageError(message)
    with open_memory(options) as memory:
        if note:
            return print_change_note(options, memory.write_change_note(since=since, folder=folder))
        runs = memory.log(limit=limit, since=since)
    print_runs(options, runs, since=since)
    return EXIT_DONE


@click.command()
@click.argument("run", metavar="[RUN]", required=False, shell_complete=completes("run"))
@flag("--yes", "Do not ask for confirmation.")
@verbose_option
@common
def undo(options: Options, *, run: str | None, yes: bool, verbose: bool) -> int:
    """Undo a run on both sides; later changes are kept.

    RUN is the id of a run, or at least the first 8 characters, as `vaultsync log` lists
    them; default: the last run that is not undone yet. Before that is chosen, deletions that
    wait for a second scan, and queued changes, are carried out.
    """

    def undo_it(memory: Memory, bar: DelayedBar | None) -> Report:
        last = memory.last_undoable_run() if run is None else None
        if last and not yes and not options.json and is_terminal(sys.stdin):
            # What waited is carried out by then.
            confirm(f"Undo {describe_run(last)}?", declined="nothing was undone")
        return memory.undo(last.run if last else run, progress=bar)

    return _run_and_report(options, undo_it, verbose=verbose, undone=True)


@click.command()
@common
def verify(options: Options) -> int:
    """Compare vault, store and base, field by field."""
    with open_memory(options) as memory, progress_bar(options) as bar:
        verification = memory.verify(progress=bar)
    print_verification(options, verification)
    return EXIT_DONE if verification.equal else EXIT_FAILED


@click.command()
@text_option("--from", None, "The side to rebuild from.", "source", type=sides, required=True)
@confirm_option
@verbose_option
@common
def rebuild(options: Options, *, source: str, confirm: str | None, verbose: bool) -> int:
    """Rebuild one side, and the base, from the other side."""
    return _run_and_report(
        options,
        lambda memory, bar: memory.rebuild(source=source, confirm=confirm, progress=bar),
        verbose=verbose,
    )


@click.command()
@common
def doctor(options: Options) -> int:
    """Check this machine and this vault for problems."""
    checks: Sequence[DoctorCheck]
    try:
        with open_memory(options) as memory:
            checks = memory.doctor()
    except UsageError:
        raise
    except VaultsyncError as error:  # a vault that cannot be opened is a failed check
        checks = [DoctorCheck("open", ok=False, message=error.message, hint=error.hint)]
    except OSError as error:
        message, hint = system_error_texts(error)
        checks = [DoctorCheck("open", ok=False, message=message, hint=hint)]
    print_checks(options, checks)
    return EXIT_DONE if all(each.ok for each in checks) else EXIT_FAILED


@click.command()
@dry_run_option
@number_option("--max-delete", "Stop, and change nothing, if more than N facts would be deleted.")
@confirm_option
@verbose_option
@common
def maintain(options: Options, *, verbose: bool, **request: Any) -> int:  # noqa: ANN401 - click's options
    """Delete expired and faded facts, and shorten version chains."""
    return _run_and_report(
        options, lambda memory, bar: memory.maintain(**request, progress=bar), verbose=verbose
    )


@click.command()
@text_option(
    "--to",
    "URL",
    "sqlite:PATH, qdrant://HOST:6333, qdrant+local:PATH or qdrant+edge:PATH.",
    required=True,
)
@common
def migrate(options: Options, *, to: str) -> None:
    """Copy all facts to another store, and switch the vault to it.

    Safe to run again after an interruption. The vault switches once every fact is verified
    in the new store; the old store is not changed.
    """
    with open_memory(options) as memory, progress_bar(options) as bar:
        report = memory.migrate(to, progress=bar)
    if options.printed_as_json(report):
        return
    vectors = f", with the vectors of {count_noun(report.vectors, 'fact')}" * bool(report.vectors)
    options.print_message(
        f"{clean(report.store)} has {count_noun(report.facts, 'fact')} and"
        f" {count_noun(report.tombstones, 'tombstone')}: {report.copied:,} copied now{vectors}; the"
        " vault now uses this store; the former one still has all texts: delete it when you do"
        " not need it any more"
    )


@click.command()
@flag("--rebuild", "Rebuild the indexes from the facts.")
@flag("--wait", "Wait until every text is embedded.")
@flag("--stop", "Stop the background process that embeds texts, and exit.")
@common
def index(options: Options, *, rebuild: bool, wait: bool, stop: bool) -> None:
    """Update `.index/`, the note index and the vectors.

    Texts are embedded in a background process, most important and newest first;
    `vaultsync status` shows its progress.
    """
    if stop:
        _stop_embedding(options)
        return

    def print_cost(cost: EmbeddingCost) -> bool:
        options.print_message(
            f"the embedding model has changed: embedding {count_noun(cost.texts, 'text')} of"
            f" {count_noun(cost.facts, 'fact')} again takes about {cost.seconds:.0f} s"
        )
        return True

    with open_memory(options) as memory, progress_bar(options) as bar:
        settings = memory.settings
        wait = wait or not settings.embed_in_background
        report = memory.index(rebuild=rebuild, wait=wait, approve=print_cost, progress=bar)
    if options.printed_as_json(report):
        return
    options.print_message(
        f"{count_noun(report.notes, 'fact')} indexed for keyword search, {report.chunks:,} for"
        f" semantic search; {count_noun(report.embedded, 'text')} embedded in"
        f" {report.seconds:.1f} s"
    )
    state = report.embedding
    if state is not None and report.notes and not (state.complete or report.degraded):
        options.print_message(f"embedding: {embedding_text(state, report.notes)}")
    if report.embedding is None and not report.chunks and settings.embedder != "none":
        options.print_message(f"only keyword search is possible: {NO_EMBEDDER}")
    for why in report.degraded:
        options.print_message(f"behind: {why}")


def _stop_embedding(options: Options) -> None:
    with open_memory(options) as memory:
        pid = memory.stop_embedding()
    if options.json:
        print_json({"stopped": pid})
    elif pid is None:
        options.print_message("nothing is being embedded")
    else:
        options.print_message(
            f"stopped process {pid}; the next `vaultsync sync` or `vaultsync index` continues"
            " where it stopped"
        )
