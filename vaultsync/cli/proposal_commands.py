"""`proposals`: list, accept and reject what agents and rules propose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_conflicts import changed_lines
from vaultsync.cli.format_facts import display_value
from vaultsync.cli.format_reports import print_notices
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import DefaultGroup, choice_option, common, completes, flag
from vaultsync.cli.output import Options, clean, clean_one_line, echo, style
from vaultsync.cli.tables import print_pairs, table, terminal_width
from vaultsync.errors import UsageError
from vaultsync.model.counts import count_noun
from vaultsync.model.schema import Value
from vaultsync.notes.proposal_note import PROPOSAL_KINDS, ShownChange, ShownProposal
from vaultsync.proposals.service import SettledProposals
from vaultsync.sync.report import Proposals

_DAY = 10
"""Length of the date in a timestamp."""


def print_proposals(options: Options, proposals: Sequence[ShownProposal]) -> None:
    """Print proposals, one per line."""
    if options.printed_as_json(Proposals(proposals)):
        return
    heads = ["proposal", "kind", "what", "note", "until or outcome"]
    rows = [
        [each.id, each.kind, each.title, each.path or "", each.outcome or each.expires_at[:_DAY]]
        for each in proposals
    ]
    table(heads, rows, whole=("proposal",), name="what")
    if not proposals:
        options.print_message("no proposals")
    elif any(not each.outcome for each in proposals):
        options.print_message(
            "`vaultsync proposals show ID` shows what would change; `accept` applies it,"
            " `reject` closes it"
        )


def print_proposal(options: Options, shown: ShownProposal) -> None:
    """Print what a proposal would change, and why."""
    if options.printed_as_json(shown):
        return
    echo(style(clean_one_line(shown.title), bold=True))
    print_pairs(
        [
            ("proposal", shown.id),
            ("kind", shown.kind),
            ("why", shown.why),
            *([("changed since", ", ".join(shown.changed_since))] if shown.changed_since else []),
            ("proposed by", shown.proposer),
            ("note", shown.path or "–"),
            ("until", shown.expires_at[:_DAY]),
            ("outcome", shown.outcome or "open"),
            *([("run", shown.run)] if shown.run else []),
        ]
    )
    for change in shown.changes:
        name = clean_one_line(change.path or change.title or change.fact_id)
        verb = "delete" if change.after is None else "change" if change.before else "new"
        verb = verb if change.after or change.after is None else "keep"
        echo(f"\n{style(f'{verb} {name}', bold=True)}")
        for line in _lines(change):
            echo(line)


def _lines(change: ShownChange) -> Iterator[str]:
    after: Mapping[str, Value] = change.after or {}
    width = max(20, terminal_width() - 4)
    for key in sorted(after):
        before = clean(display_value(change.before[key])) if key in change.before else ""
        yield f"  {clean_one_line(key)}"
        for line in changed_lines(before, clean(display_value(after[key])), width=width):
            yield f"    {line}"


def print_settled(options: Options, settled: SettledProposals, verb: str) -> int:
    """Print the outcome of proposals, and return the exit code."""
    code = EXIT_NEEDS_REVIEW if settled.attention else EXIT_DONE
    if options.printed_as_json(settled):
        return code
    for each in settled.proposals:
        word = each.outcome or "changed since; review it again"
        if each.outcome and not (word.startswith(verb) and each.run == (settled.run or "")):
            word = f"already {word}"
        options.print_message(f"{clean_one_line(each.title)}: {word}")
    print_notices(settled.attention)
    if not settled.proposals:
        options.print_message(f"no open proposals to {verb}")
    if settled.run:
        number = count_noun(sum(x.run == settled.run for x in settled.proposals), "proposal")
        options.print_message(f"{number} in one run; `vaultsync undo {settled.run}` undoes it")
    return code


kind_option = choice_option("--kind", PROPOSAL_KINDS, "Only proposals of this kind.")
ids_argument = click.argument(
    "ids", metavar="[ID]...", nargs=-1, shell_complete=completes("proposal")
)


@click.group(cls=DefaultGroup, default="list")
def proposals() -> None:
    """List, accept and reject proposals of agents and rules.

    Without a command, it lists open proposals.
    """


@proposals.command("list")
@kind_option
@flag("--settled", "Include answered and expired proposals.")
@common
def list_(options: Options, *, kind: str | None, settled: bool) -> None:
    """List open proposals."""
    with open_memory(options) as memory:
        listed = memory.proposals(settled=settled)
    print_proposals(options, [each for each in listed if kind in (None, each.kind)])


@proposals.command()
@click.argument("proposal_id", metavar="ID", shell_complete=completes("proposal"))
@common
def show(options: Options, *, proposal_id: str) -> None:
    """Show what a proposal would change, and why.

    ID is its id, the beginning of it, its title, or the path of its note.
    """
    with open_memory(options) as memory:
        proposal = memory.proposal(proposal_id)
    print_proposal(options, proposal)


@proposals.command()
@ids_argument
@kind_option
@common
def accept(options: Options, *, ids: Sequence[str], kind: str | None) -> int:
    """Accept proposals, all in one run.

    ID is the id of a proposal, the beginning of it, its title, or the path of its note. A
    proposal whose facts have changed since is shown again instead.
    """
    return _answer(options, ids, kind, accepts=True)


@proposals.command()
@ids_argument
@kind_option
@common
def reject(options: Options, *, ids: Sequence[str], kind: str | None) -> int:
    """Reject proposals permanently; nothing changes.

    ID is the id of a proposal, the beginning of it, its title, or the path of its note.
    """
    return _answer(options, ids, kind, accepts=False)


def _answer(options: Options, ids: Sequence[str], kind: str | None, *, accepts: bool) -> int:
    verb = "accept" if accepts else "reject"
    if bool(ids) == bool(kind):
        message = f"specify the proposals to {verb}: their ids, or --kind"
        raise UsageError(message, hint="`vaultsync proposals list` shows the open ones")
    with open_memory(options) as memory:
        open_proposals = memory.proposals() if kind else ()
        chosen = [*ids, *(each.id for each in open_proposals if each.kind == kind)]
        settle = memory.accept_proposals if accepts else memory.reject_proposals
        settled = settle(chosen)
    return print_settled(options, settled, verb)
