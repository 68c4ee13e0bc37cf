"""`completion`: print a shell completion script."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from vaultsync.cli.output import echo, print_json

_HOW = {
    "bash": 'add to ~/.bashrc: eval "$(vaultsync completion bash)"',
    "zsh": 'add to ~/.zshrc, after compinit: eval "$(vaultsync completion zsh)"',
    "fish": "vaultsync completion fish > ~/.config/fish/completions/vaultsync.fish",
}


@click.command()
@click.argument("shell", required=False, type=click.Choice(list(_HOW)))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def completion(context: click.Context, *, shell: str | None, as_json: bool) -> None:
    """Print a script that completes commands in your shell."""
    name = shell or os.environ.get("SHELL", "").rpartition("/")[2]
    shell_class = get_completion_class(name) if name in _HOW else None
    if shell_class is None:
        message = "your $SHELL is not supported: pass bash, zsh or fish"
        raise click.UsageError(message, context)
    program = context.find_root().command
    script = shell_class(program, {}, "vaultsync", "_VAULTSYNC_COMPLETE").source()
    if as_json:
        print_json({"shell": name, "script": script})
    else:
        # After the script: zsh requires #compdef on its first line.
        echo(f"{script.rstrip()}\n\n# To load it in every shell: {_HOW[name]}")
