"""`trust`: allow the settings that a vault requests, or revoke them."""

from __future__ import annotations

import sys

import click

from vaultsync.api.vault_trust import (
    VaultTrust,
    move_requests,
    read_trust,
    revoke_trust,
    trust_vault,
)
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.options import common, flag
from vaultsync.cli.output import Options, clean_one_line, echo, is_terminal, print_json
from vaultsync.cli.user_input import confirm


@click.command()
@flag("--yes", "Allow without asking, for scripts.")
@flag("--move", "Move the settings from the vault to your own file.")
@flag("--revoke", "Revoke all permissions.")
@common
def trust(options: Options, *, yes: bool, move: bool, revoke: bool) -> int:
    """Review and allow the settings that a vault requests.

    A vault's own settings may name a store, a model, memory files or environment variables, or
    keep the history shorter. They have no effect until you allow them here; changed settings must
    be allowed again.
    """
    if revoke and (yes or move):
        message = "--revoke takes neither --yes nor --move"
        raise click.UsageError(message)
    if revoke:
        _print(options, revoke_trust(options.vault))
        return EXIT_DONE
    reviewed = read_trust(options.vault)
    if not reviewed.requests or (reviewed.trusted and not move) or (options.json and not yes):
        _print(options, reviewed)
        return EXIT_DONE if reviewed.trusted else EXIT_NEEDS_REVIEW
    if not options.json:
        _print(options, reviewed)
    if not yes:
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            message = "there is no terminal to ask on: pass --yes, or run the command on a terminal"
            raise click.UsageError(message)
        confirm("Move these to your own settings?" if move else "Allow this?")
    result = move_requests(reviewed) if move else trust_vault(reviewed)
    if options.json:
        print_json(result)
    outcome = "moved to" if move else "allowed in"
    options.print_message(f"{outcome} {clean_one_line(result.file)}")
    return EXIT_DONE


def _print(options: Options, trust: VaultTrust) -> None:
    """Print the requests of a vault on stdout, and messages about them on stderr."""
    if options.printed_as_json(trust):
        return
    vault = clean_one_line(trust.vault)
    if not trust.requests:
        options.print_message(f"the vault at {vault} requests nothing beyond its notes")
        return
    state = "is allowed" if trust.trusted else "requests permission, but is not allowed"
    options.print_message(f"the vault at {vault} {state} to:")
    for each in trust.requests:
        echo(f"  - {clean_one_line(each.line())}")
