"""Commands about both sides as a whole: `sync`, `status`, `conflicts`, `undo` and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from vaultsync.cli.options import Options, common, complete_type

if TYPE_CHECKING:
    from vaultsync.api.memory import Memory
    from vaultsync.cli.output import DelayedBar
    from vaultsync.sync.report import Report

verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="List every action, not only the first 20."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be done, without doing it."
)
confirm_option = click.option(
    "--confirm", metavar="RUN", help="Carry out the run that the guard stopped."
)
sides = click.Choice(["store", "vault"])


def _run_and_report(
    options: Options,
    run: Callable[[Memory, DelayedBar | None], Report],
    *,
    verbose: bool,
    undone: bool = False,
) -> int:
    """Run something on both sides, print its report, and return the exit code."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_reports import print_report
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = run(memory, bar)
        open_conflicts = memory.conflicts()
    return print_report(options, report, open_conflicts, verbose=verbose, undone=undone)


@click.command()
@click.argument("path", required=False)
@click.option(
    "--store",
    metavar="URL",
    help="Where facts are stored: sqlite, sqlite:PATH, qdrant://HOST:6333, …",
)
@common
def init(options: Options, *, path: str | None, store: str | None) -> int:
    """Turn a folder into a vault; safe to run again.

    PATH may be omitted when --vault names the folder.
    """
    folder = path or options.vault
    if not folder:
        message = "missing argument 'PATH': the folder to turn into a vault"
        raise click.UsageError(message)

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

    show.print_initialised(options, session.init_vault(folder, store=store, options=options))
    return EXIT_DONE


@click.command()
@dry_run_option
@click.option(
    "--allow-scope-moves",
    is_flag=True,
    help="Change the scope of notes that were moved to another scope's folder.",
)
@click.option(
    "--max-delete",
    metavar="N",
    type=click.IntRange(min=0),
    help="Stop, and change nothing, if more than N would be deleted.",
)
@confirm_option
@verbose_option
@common
def sync(
    options: Options,
    *,
    dry_run: bool,
    allow_scope_moves: bool,
    max_delete: int | None,
    confirm: str | None,
    verbose: bool,
) -> int:
    """Sync vault and store once, in both directions."""
    return _run_and_report(
        options,
        lambda memory, bar: memory.sync(
            dry_run=dry_run,
            allow_scope_moves=allow_scope_moves,
            max_delete=max_delete,
            confirm=confirm,
            progress=bar,
        ),
        verbose=verbose,
    )


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--scope", metavar="S", help="Who may see the facts; default: by their folder.")
@click.option(
    "--type",
    "fact_type",
    metavar="T",
    shell_complete=complete_type,
    help="Type of the facts; default: by their folder.",
)
@dry_run_option
@verbose_option
@common
def adopt(
    options: Options,
    *,
    paths: Sequence[str],
    scope: str | None,
    fact_type: str | None,
    dry_run: bool,
    verbose: bool,
) -> int:
    """Turn existing notes into facts.

    PATH is a note or a folder; default: the whole vault. Each note gets an id in its
    frontmatter, and nothing else in it changes.
    """
    return _run_and_report(
        options,
        lambda memory, bar: memory.adopt(
            paths, scope=scope, type=fact_type, dry_run=dry_run, progress=bar
        ),
        verbose=verbose,
    )


@click.command()
@common
def status(options: Options) -> int:
    """Show pending changes, conflicts and problems; changes nothing."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_reports import print_status

    with session.open_memory(options) as memory:
        status = memory.status()
    return print_status(options, status)


@click.command()
@common
def conflicts(options: Options) -> int:
    """List what both sides changed differently."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_conflicts import print_conflicts

    with session.open_memory(options) as memory:
        found = memory.conflicts()
    return print_conflicts(options, found)


@click.command()
@click.argument("conflict_id", metavar="CONFLICT_ID")
@click.option("--take", type=sides, required=True, help="The side whose values to keep.")
@click.option("--field", metavar="F", help="Only this field; default: all fields.")
@common
def resolve(options: Options, *, conflict_id: str, take: str, field: str | None) -> int:
    """Resolve a conflict."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_conflicts import print_resolved

    with session.open_memory(options) as memory:
        resolved = memory.resolve(conflict_id, take=take, field=field)
        still_open = memory.conflicts()
    return print_resolved(options, resolved, still_open)


@click.command()
@click.argument("fact_id", metavar="ID")
@common
def history(options: Options, *, fact_id: str) -> int:
    """Show who changed what in a fact, when and from which side."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_conflicts import print_history

    with session.open_memory(options) as memory:
        entries = memory.history(fact_id)
    print_history(options, entries)
    return EXIT_DONE


@click.command()
@click.argument("run", metavar="RUN")
@verbose_option
@common
def undo(options: Options, *, run: str, verbose: bool) -> int:
    """Undo a run on both sides; later changes are kept."""
    return _run_and_report(
        options, lambda memory, bar: memory.undo(run, progress=bar), verbose=verbose, undone=True
    )


@click.command()
@common
def verify(options: Options) -> int:
    """Compare vault, store and base, field by field."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_reports import print_verification
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory, progress_bar(options) as bar:
        verification = memory.verify(progress=bar)
    print_verification(options, verification)
    return EXIT_DONE if verification.equal else EXIT_FAILED


@click.command()
@click.option("--from", "source", type=sides, required=True, help="The side to rebuild from.")
@verbose_option
@common
def rebuild(options: Options, *, source: str, verbose: bool) -> int:
    """Rebuild one side, and the base, from the other side."""
    return _run_and_report(
        options, lambda memory, bar: memory.rebuild(source=source, progress=bar), verbose=verbose
    )


@click.command()
@common
def doctor(options: Options) -> int:
    """Check this machine and this vault for problems."""
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_reports import print_checks

    checks = session.run_doctor(options)
    print_checks(options, checks)
    return EXIT_DONE if all(each.ok for each in checks) else EXIT_FAILED


@click.command()
@dry_run_option
@click.option(
    "--max-delete",
    metavar="N",
    type=click.IntRange(min=0),
    help="Stop, and change nothing, if more than N facts would be deleted.",
)
@confirm_option
@verbose_option
@common
def maintain(
    options: Options, *, dry_run: bool, max_delete: int | None, confirm: str | None, verbose: bool
) -> int:
    """Delete expired and faded facts, and shorten version chains."""
    return _run_and_report(
        options,
        lambda memory, bar: memory.maintain(
            dry_run=dry_run, max_delete=max_delete, confirm=confirm, progress=bar
        ),
        verbose=verbose,
    )


@click.command()
@click.option(
    "--to",
    metavar="URL",
    required=True,
    help="sqlite:PATH, qdrant://HOST:6333, qdrant+local:PATH or qdrant+edge:PATH.",
)
@common
def migrate(options: Options, *, to: str) -> int:
    """Copy all facts to another store, and switch the vault to it.

    Safe to run again after an interruption. The vault switches once every fact is verified
    in the new store; the old store is not changed.
    """
    from vaultsync.cli import open_vault as session
    from vaultsync.cli.format_facts import count_noun
    from vaultsync.cli.output import clean, print_json, print_message, progress_bar

    with session.open_memory(options) as memory, progress_bar(options) as bar:
        done = memory.migrate(to, progress=bar)
    if options.json:
        print_json(done)
        return EXIT_DONE
    print_message(
        options,
        f"{clean(done.store)} has {count_noun(done.facts, 'fact')} and"
        f" {count_noun(done.tombstones, 'tombstone')}: {done.copied:,} copied now, with the"
        f" vectors of {count_noun(done.vectors, 'fact')}; the vault now uses this store",
    )
    return EXIT_DONE
