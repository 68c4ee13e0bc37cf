"""`maintain` and `migrate`: less of a memory, and the same memory elsewhere."""

from __future__ import annotations

import click

from vaultsync.cli.exit_codes import DONE
from vaultsync.cli.options import Options, common
from vaultsync.cli.sync import confirm_option, dry_run_option, verbose_option


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
    from vaultsync.cli.progress import progress

    with session.memory(options) as memory:
        with progress(options) as bar:
            report = memory.maintain(
                dry_run=dry_run, max_delete=max_delete, confirm=confirm, progress=bar
            )
        waits = memory.conflicts()
    return show_passes.report(options, report, waits, verbose=verbose)


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
    from vaultsync.cli.format_facts import count
    from vaultsync.cli.output import clean, emit, say
    from vaultsync.cli.progress import progress

    with session.memory(options) as memory, progress(options) as bar:
        done = memory.migrate(to, progress=bar)
    if options.json:
        emit(done.as_json())
        return DONE
    say(
        options,
        f"{count(done.facts, 'fact')} and {count(done.tombstones, 'tombstone')} are in"
        f" {clean(done.store)}: {done.copied:,} came over now, with the vectors of"
        f" {done.vectors:,}; the vault goes on with it",
    )
    return DONE
