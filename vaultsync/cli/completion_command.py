"""`completion`: print a shell completion script."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from vaultsync.cli.options import common
from vaultsync.cli.output import Options, echo

_HOW = {
    "bash": 'add to ~/.bashrc: eval "$(vaultsync completion bash)"',
    "zsh": 'add to ~/.zshrc, after compinit: eval "$(vaultsync completion zsh)"',
    "fish": "vaultsync completion fish > ~/.config/fish/completions/vaultsync.fish",
}


class _QuotingBash(BashComplete):
    """Click's script inserts a name as it is: `$(…)` or `&` in a note's path would be run."""

    source_template = r"""
%(complete_func)s_quote() {
    case $1 in
        \'*) value=${value//\'/\'\\\'\'} ;;
        \"*) value=${value//\\/\\\\} value=${value//\"/\\\"}
            value=${value//\$/\\\$} value=${value//\`/\\\`} ;;
        *) printf -v value %%q "$value" ;;
    esac
}

%(complete_func)s() {
    local line value
    COMPREPLY=()
    while IFS= read -r line; do
        value=${line#*,}
        case ${line%%%%,*} in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                %(complete_func)s_quote "${COMP_WORDS[COMP_CWORD]}"
                COMPREPLY+=("$value") ;;
        esac
    done < <(
        IFS=$'\n'
        env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \
            %(complete_var)s=bash_complete "$1"
    )
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _WholeFish(FishComplete):
    """Click's script truncates a name at its first comma."""

    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


_SHELLS: Mapping[str, type[ShellComplete]] = {
    "bash": _QuotingBash,
    "zsh": ZshComplete,
    "fish": _WholeFish,
}


@click.command()
@click.argument("shell", required=False, type=click.Choice(list(_HOW)))
@common
def completion(options: Options, *, shell: str | None) -> None:
    """Print a script that completes commands in your shell."""
    name = shell or os.environ.get("SHELL", "").rpartition("/")[2]
    if name not in _SHELLS:
        message = "your $SHELL is not supported: pass bash, zsh or fish"
        raise click.UsageError(message, click.get_current_context())
    program = click.get_current_context().find_root().command
    script = _SHELLS[name](program, {}, "vaultsync", "_VAULTSYNC_COMPLETE").source()
    if not options.printed_as_json({"shell": name, "script": script}):
        # After the script: zsh requires #compdef on its first line.
        echo(f"{script.rstrip()}\n\n# To load it in every shell: {_HOW[name]}")
