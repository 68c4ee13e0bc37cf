"""`install`: connect the programs that agents run in to the vault."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import click

from vaultsync.api.host_install import HostInstallation, HostSession
from vaultsync.cli.exit_codes import EXIT_DONE
from vaultsync.cli.options import common, dry_run_option, flag, named_option, text_option
from vaultsync.cli.output import Options, clean, clean_one_line, echo, is_terminal, print_json
from vaultsync.cli.units import program_words
from vaultsync.cli.user_input import confirm
from vaultsync.errors import MissingExtraError
from vaultsync.extras import EXTRAS
from vaultsync.hosts.agent_hosts import HOSTS


@click.command()
@click.argument("host", metavar="HOST", type=click.Choice([*HOSTS]))
@named_option("--agent", "NAME", "Name of the agent; default: the name of the host.")
@text_option("--project", "DIR", "Configure this project instead of the user.")
@click.option(
    "--name", default="vaultsync", show_default=True, help="Name of the MCP server in the host."
)
@flag("--no-hooks", "Do not install hooks.")
@flag("--no-instructions", "Do not install instructions for the agent.")
@dry_run_option
@flag("--remove", "Remove what was installed.")
@flag("--yes", "Do not ask for confirmation, which happens only on a terminal.")
@common
def install(
    options: Options,
    *,
    host: str,
    project: str | None,
    name: str,
    no_hooks: bool,
    no_instructions: bool,
    dry_run: bool,
    remove: bool,
    yes: bool,
) -> int:
    """Connect an agent's host program to the vault.

    HOST is claude-code, codex, cursor, gemini, vscode or claude-desktop.

    Adds the MCP server, hooks and instructions to its configuration, after showing the changes.
    Nothing else in these files changes, and --remove reverts everything.
    """
    session = HostSession(
        host,
        program_words(),
        vault=options.vault,
        state_dir=options.state_dir,
        agent=options.agent,
        server=name,
        project=project,
        hooks=not no_hooks,
        instructions=not no_instructions,
        remove=remove,
    )
    planned = session.result
    changed = [each for each in planned.changes if each.action != "none"]
    if not options.json:
        _print_changes(planned)
        if not remove:
            _print_missing_extra(options)
    if changed and not dry_run:
        can_ask = is_terminal(sys.stdin) and is_terminal(sys.stderr) and not options.json
        if can_ask and not yes:
            confirm("Change these files?")
        planned = session.apply()
    if options.json:
        print_json(planned)
    elif not changed:
        options.print_message("nothing to change")
    elif not dry_run:
        outcome = "removed from" if remove else "installed in"
        restart = "" if remove else f"; start {HOSTS[host].title} again"
        options.print_message(f"{outcome} {HOSTS[host].title}{restart}")
    return EXIT_DONE


def _print_missing_extra(options: Options) -> None:
    """Tell the user what the host needs to start the server, if that is not installed."""
    if find_spec("mcp") is None:
        missing = MissingExtraError("the MCP server", *EXTRAS["mcp"])
        options.print_message(f"\n{missing.message}, so the host cannot start it yet")
        options.print_message(f"hint: {missing.hint}\n")


def _print_changes(planned: HostInstallation) -> None:
    for change in planned.changes:
        if change.action == "none":
            echo(f"unchanged: {clean_one_line(change.path)}")
        else:
            echo(f"{change.action}: {clean_one_line(change.path)}")
            echo(clean(change.diff))
    for each in planned.skipped:
        echo(f"skipped: {each}")
