"""`observe` and `observations`: what agents notice, and how it is classified."""

from __future__ import annotations

import click

from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import agent_option, common, scope_option, text_or_stdin
from vaultsync.cli.output import Options, clean_one_line, echo, print_json, print_message


@click.command()
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--context", metavar="S", help="When or why it was noticed, in one line.")
@scope_option("Who may see it; default: only the agent, else the vault's default.")
@agent_option
@common
def observe(options: Options, *, text: str | None, context: str | None, scope: str | None) -> None:
    """Store what was noticed; it is classified later.

    TEXT may be piped in.
    """
    content = text_or_stdin(text, what="text to store")
    with open_memory(options) as memory:
        done = memory.observe(content, context=context, scope=scope)
    if options.json:
        print_json(done)
        return
    echo(clean_one_line(done.id))
    print_message(options, "pending: `vaultsync observations process` classifies it")
