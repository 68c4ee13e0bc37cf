"""`hook`: the command that agents' hosts call at the start and end of a session."""

from __future__ import annotations

import sys

import click

from vaultsync.api.configuration import find_repository
from vaultsync.api.read_only import open_read_only
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import agent_option, common, number_option
from vaultsync.cli.output import Options, clean, echo
from vaultsync.cli.user_input import say_if_terminal_is_read
from vaultsync.errors import VaultsyncError
from vaultsync.hosts.agent_hosts import HOSTS, START_EVENTS, context_answer, event_of
from vaultsync.model.counts import count_noun
from vaultsync.model.schema import TIERS
from vaultsync.observations.hooks import MAX_HOOK_BYTES
from vaultsync.recall.recall_request import ContextRequest

_LOWEST = max(TIERS["notable"])
"""The lowest priority of what a session begins with: none of it is background."""


@click.command()
@click.argument("host", metavar="HOST", type=click.Choice([*HOSTS]))
@number_option(
    "--budget", "Maximum size in tokens of what a session begins with.", metavar="TOKENS",
    default=1500,
)  # fmt: skip
@agent_option
@common
def hook(options: Options, *, host: str, budget: int) -> None:
    """Handle a hook of an agent's host program.

    Reads the JSON of HOST from stdin. `vaultsync install HOST` configures a host to call this
    command.

    When a session starts, it prints the most important facts in the format of the host; at other
    events it stores what matters. It never fails the host: on an error the exit code is 0, and
    the message goes to stderr.
    """
    say_if_terminal_is_read()
    given = sys.stdin.buffer.read(MAX_HOOK_BYTES + 1) if sys.stdin else b""
    payload = given.decode(errors="replace")
    event = event_of(payload)
    try:
        if event in START_EVENTS:
            with open_read_only(
                options.vault, agent=options.agent, state_dir=options.state_dir
            ) as memory:
                root = find_repository()
                repo = None if root is None else str(root)
                request = ContextRequest("", budget=budget, repo=repo, max_priority=_LOWEST)
                pack = memory.pack(request)
            if pack.items:
                echo(clean(context_answer(host, event, pack.text)))
        elif sys.stdin:
            with open_memory(options) as memory:
                stored = memory.observe_hook(payload).kept
            options.print_message(f"vaultsync: {count_noun(len(stored), 'observation')} stored")
    except VaultsyncError as error:
        hint = f" ({error.hint})" if error.hint else ""
        options.print_message(f"vaultsync: {clean(f'{error.message}{hint}')}")
