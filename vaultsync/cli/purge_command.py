"""`purge`: erase facts permanently."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import common, dry_run_option, flag, named_option, number_option
from vaultsync.cli.output import Options, clean, clean_one_line, echo, is_terminal, progress_bar
from vaultsync.cli.user_input import confirm
from vaultsync.errors import FactNotFoundError, UsageError
from vaultsync.model.counts import count_noun
from vaultsync.operations.purge import FoundTrace, PurgeReport

if TYPE_CHECKING:
    from vaultsync.api.memory import Memory

MAX_LISTED = 20
"""Maximum number of facts, and of places with the same words, to list: a title may be in many."""
_FINAL = "This cannot be undone: no backup, history or undo of vaultsync keeps them."


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@named_option("--user", "U", "Erase all facts about this user.")
@flag("--yes", "Do not ask for confirmation. Erasing cannot be undone.")
@dry_run_option
@number_option("--max-delete", "Stop, and change nothing, if more than N facts would be erased.")
@common
def purge(
    options: Options,
    *,
    ids: tuple[str, ...],
    user: str | None,
    yes: bool,
    dry_run: bool,
    max_delete: int | None,
) -> int:
    """Erase facts permanently, and verify that nothing is left.

    This includes forgotten facts. Afterwards, every byte of the state folder, the store and the
    vault is searched for the content of the facts; the exit code is 1 if any is left.
    """
    with open_memory(options) as memory:

        def erase(*, dry_run: bool) -> PurgeReport:
            with progress_bar(options):
                return memory.purge(*ids, user=user, dry_run=dry_run, max_delete=max_delete)

        if not dry_run and not yes:
            preview = erase(dry_run=True)
            if preview.purged or preview.remaining:
                _confirm(options, preview, _names(memory, preview))
        report = erase(dry_run=dry_run)
        names = _names(memory, report) if dry_run else []
    if not options.printed_as_json(report):
        _print(options, report, names)
    return EXIT_FAILED if report.remaining and not dry_run else EXIT_DONE


def _names(memory: Memory, preview: PurgeReport) -> list[str]:
    """What the facts are called: their titles, or ids where they are forgotten."""
    names = []
    for fact_id in preview.purged[:MAX_LISTED]:
        try:
            names.append(f"“{memory.get(fact_id, used=False).title}”")
        except FactNotFoundError:
            names.append(f"{fact_id}, which is forgotten")
    if rest := len(preview.purged) - len(names):
        names.append(f"… and {count_noun(rest, 'more fact')}: --json lists the ids of all")
    return names


def _confirm(options: Options, preview: PurgeReport, names: Sequence[str]) -> None:
    """Ask for confirmation on a terminal; without one, fail, as `--yes` is missing."""
    if options.json or not is_terminal(sys.stdin):
        message = f"{count_noun(len(preview.purged), 'fact')} would be erased permanently"
        raise UsageError(message, hint="review them with --dry-run; to erase them, pass --yes")
    _print(options, preview, names)
    confirm(f"{_FINAL} Erase {count_noun(len(preview.purged), 'fact')}?")


def _print(options: Options, report: PurgeReport, names: Sequence[str]) -> None:
    facts = count_noun(len(report.purged), "fact")
    if not (report.purged or report.remaining):
        options.print_message("nothing to erase")
    elif report.dry_run:
        options.print_message(f"would erase {facts} permanently")
    elif report.remaining:
        options.print_message(f"{facts}: {count_noun(report.remaining, 'trace')} left")
    else:
        options.print_message(f"{facts} erased; no trace remains in the data of vaultsync")
    for line in (*names, *(f"{name}: {count}" for name, count in report.places.items())):
        echo(f"  {clean_one_line(line)}")
    for line in _places(report.found):
        echo(f"  {'is in' if report.dry_run else 'left in'} {line}")
    for path in report.quoted[:MAX_LISTED]:
        echo(f"  the same words, not erased: {clean(path)}")
    if rest := len(report.quoted[MAX_LISTED:]):
        echo(f"  … and in {count_noun(rest, 'more place')}: --json lists them all")
    for kept in report.kept:
        echo(f"  {'stays' if report.dry_run else 'kept'}: {clean(kept)}")
    if report.remaining and not report.dry_run:
        options.print_message(
            "delete copies of the notes, and stores from before `vaultsync migrate`, that are"
            " listed above, stop other programs that have the vault open, and run it again"
        )


def _places(found: Sequence[FoundTrace]) -> list[str]:
    """Each file with what was found in it."""
    traces: dict[str, list[str]] = {}
    for each in found:
        traces.setdefault(each.path, []).append(f"{each.what} ({each.hits})")
    return [f"{clean(path)}: {', '.join(some)}" for path, some in traces.items()]
