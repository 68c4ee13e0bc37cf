"""`proposals`: list, accept and reject what agents and rules propose."""

from __future__ import annotations

from collections.abc import Sequence

import click

from vaultsync.cli.default_group import DefaultGroup
from vaultsync.cli.format_proposals import print_proposal, print_proposals, print_settled
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import choice_option, common, completes, flag
from vaultsync.cli.output import Options
from vaultsync.errors import UsageError
from vaultsync.proposals.proposal_kinds import KINDS

kind_option = choice_option("--kind", [*KINDS], "Only proposals of this kind.")
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
