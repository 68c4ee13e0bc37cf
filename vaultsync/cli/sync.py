"""Commands about both sides as a whole.

`maintain` and `migrate`: less of a memory, and the same memory elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from vaultsync.cli.options import Options, common, complete_type

verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="List every action, not only the first 20."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
)
confirm_option = click.option(
    "--confirm", metavar="RUN", help="Do what the guard stopped, by the run it named."
)
sides = click.Choice(["store", "vault"])


@click.command()
@click.argument("path", required=False)
@click.option(
    "--store",
    metavar="URL",
    help="Where its facts lie: sqlite, sqlite:PATH, qdrant://HOST:6333, …",
)
@common
def init(options: Options, *, path: str | None, store: str | None) -> int:
    """Make a vault of a folder; harmless when it is one already.

    PATH may be left out when --vault names the folder.
    """
    place = path or options.vault
    if not place:
        message = "missing argument 'PATH': the folder that becomes a vault"
        raise click.UsageError(message)

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    show.print_initialised(options, session.init_vault(place, store=store, options=options))
    return EXIT_DONE


@click.command()
@dry_run_option
@click.option(
    "--allow-scope-moves",
    is_flag=True,
    help="Notes that were moved to another scope's folder change who may see them.",
)
@click.option(
    "--max-delete",
    metavar="N",
    type=click.IntRange(min=0),
    help="Stop before a pass that deletes more than N.",
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
    """Make vault and store equal: one pass over both."""
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = memory.sync(
                dry_run=dry_run,
                allow_scope_moves=allow_scope_moves,
                max_delete=max_delete,
                confirm=confirm,
                progress=bar,
            )
        waits = memory.conflicts()
    return show_passes.print_report(options, report, waits, verbose=verbose)


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--scope", metavar="S", help="Who may see them; else by their folder.")
@click.option("--type", "fact_type", metavar="T", shell_complete=complete_type, help="Their type.")
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
    """Make facts of notes that are there already.

    PATH is a note or a folder; without one, all are taken. An id is all that is added.
    """
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = memory.adopt(paths, scope=scope, type=fact_type, dry_run=dry_run, progress=bar)
        waits = memory.conflicts()
    return show_passes.print_report(options, report, waits, verbose=verbose)


@click.command()
@common
def status(options: Options) -> int:
    """Show what waits and what is wrong; changes nothing."""
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory:
        found = memory.status()
    return show_passes.print_status(options, found)


@click.command()
@common
def conflicts(options: Options) -> int:
    """Show what both sides changed differently and nobody has settled."""
    from vaultsync.cli import format_conflicts as show_conflicts
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory:
        found = memory.conflicts()
    return show_conflicts.print_conflicts(options, found)


@click.command()
@click.argument("conflict_id", metavar="CONFLICT_ID")
@click.option(
    "--take",
    type=sides,
    required=True,
    help="Whose values stand: the agent's (store) or the person's (vault).",
)
@click.option("--field", metavar="F", help="Only this field; else all.")
@common
def resolve(options: Options, *, conflict_id: str, take: str, field: str | None) -> int:
    """Settle a conflict."""
    from vaultsync.cli import format_conflicts as show_conflicts
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory:
        settled = memory.resolve(conflict_id, take=take, field=field)
        left = memory.conflicts()
    return show_conflicts.print_resolved(options, settled, left)


@click.command()
@click.argument("fact_id", metavar="ID")
@common
def history(options: Options, *, fact_id: str) -> int:
    """Show who changed which field of a fact when, from which side."""
    from vaultsync.cli import format_conflicts as show_conflicts
    from vaultsync.cli import vault as session

    with session.open_memory(options) as memory:
        found = memory.history(fact_id)
    show_conflicts.print_history(options, found)
    return EXIT_DONE


@click.command()
@click.argument("run", metavar="RUN")
@verbose_option
@common
def undo(options: Options, *, run: str, verbose: bool) -> int:
    """Take a run back, on both sides; later changes stay."""
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = memory.undo(run, progress=bar)
        waits = memory.conflicts()
    return show_passes.print_report(options, report, waits, verbose=verbose, undone=True)


@click.command()
@common
def verify(options: Options) -> int:
    """Prove that vault, store and base are equal, field by field."""
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory, progress_bar(options) as bar:
        found = memory.verify(progress=bar)
    show_passes.print_verification(options, found)
    return EXIT_DONE if found.equal else EXIT_FAILED


@click.command()
@click.option("--from", "source", type=sides, required=True, help="The side that is right.")
@verbose_option
@common
def rebuild(options: Options, *, source: str, verbose: bool) -> int:
    """Rebuild the other side, and what both last agreed on."""
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = memory.rebuild(source=source, progress=bar)
        waits = memory.conflicts()
    return show_passes.print_report(options, report, waits, verbose=verbose)


@click.command()
@common
def doctor(options: Options) -> int:
    """Check this machine and this vault."""
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session

    checks = session.run_doctor(options)
    show_passes.print_checks(options, checks)
    return EXIT_DONE if all(each.ok for each in checks) else EXIT_FAILED


@click.command()
@dry_run_option
@click.option(
    "--max-delete",
    metavar="N",
    type=click.IntRange(min=0),
    help="Stop before more than N facts would be deleted.",
)
@confirm_option
@verbose_option
@common
def maintain(
    options: Options,
    *,
    dry_run: bool,
    max_delete: int | None,
    confirm: str | None,
    verbose: bool,
) -> int:
    """Delete what expired or faded, and collapse long chains."""
    from vaultsync.cli import format_reports as show_passes
    from vaultsync.cli import vault as session
    from vaultsync.cli.output import progress_bar

    with session.open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = memory.maintain(
                dry_run=dry_run, max_delete=max_delete, confirm=confirm, progress=bar
            )
        waits = memory.conflicts()
    return show_passes.print_report(options, report, waits, verbose=verbose)


@click.command()
@click.option(
    "--to",
    metavar="URL",
    required=True,
    help="sqlite:PATH, qdrant://HOST:6333, qdrant+local:PATH or qdrant+edge:PATH.",
)
@common
def migrate(options: Options, *, to: str) -> int:
    """Take all facts to another store, and go on with that one.

    It can be run again when it broke off. The vault goes over to the new store once all
    facts are proved to be there; the old store stays as it is.
    """
    from vaultsync.cli import vault as session
    from vaultsync.cli.format_facts import count_noun
    from vaultsync.cli.output import clean, print_json, print_message, progress_bar

    with session.open_memory(options) as memory, progress_bar(options) as bar:
        done = memory.migrate(to, progress=bar)
    if options.json:
        print_json(done)
        return EXIT_DONE
    print_message(
        options,
        f"{count_noun(done.facts, 'fact')} and {count_noun(done.tombstones, 'tombstone')} are in"
        f" {clean(done.store)}: {done.copied:,} came over now, with the vectors of"
        f" {done.vectors:,}; the vault goes on with it",
    )
    return EXIT_DONE
