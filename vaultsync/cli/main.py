"""The command line: each command is one call of `Memory`.

This module imports only click, to start fast; each command imports what it needs when it runs.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from vaultsync import __version__
from vaultsync.cli.exit_codes import exit_code
from vaultsync.cli.output import colour

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_WITHOUT_HELP = "vaultsync.without_help"
"""Whether a command was given without an option for help."""
COMMAND_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Facts": {
        "init": "Turn a folder into a vault; safe to run again.",
        "remember": "Store a fact, and write its note.",
        "observe": "Store an observation, to be classified later.",
        "observations": "Classify, list and show observations.",
        "get": "Show a fact.",
        "open": "Open the note of a fact in your editor or in Obsidian.",
        "list": "List facts, one page at a time.",
        "update": "Change a fact in the store, and its note.",
        "edit": "Change part of a fact's content.",
        "supersede": "Replace a fact with a new one; both are kept and linked.",
        "forget": "Delete a fact and its note; `restore` undoes it.",
        "restore": "Restore a forgotten fact and its note.",
        "purge": "Erase facts permanently, and verify that nothing is left.",
        "export": "Write all facts to FILE as JSON Lines; - is stdout.",
        "import": "Import facts from FILE, which holds JSON Lines; - is stdin.",
        "import-from": "Import memories from another tool.",
        "export-to": "Export all facts in the format of another tool.",
    },
    "Sync": {
        "sync": "Sync vault and store once, in both directions.",
        "adopt": "Turn existing notes into facts.",
        "status": "Show pending changes, conflicts and problems; changes nothing.",
        "conflicts": "List open conflicts.",
        "resolve": "Resolve a conflict.",
        "proposals": "List, accept and reject proposals of agents and rules.",
        "history": "Show the changes of a fact: who, when and on which side.",
        "log": "List the runs that changed something, newest first.",
        "undo": "Undo a run on both sides; later changes are kept.",
        "verify": "Compare vault, store and base, field by field.",
        "rebuild": "Rebuild one side, and the base, from the other side.",
        "maintain": "Delete expired and faded facts, and shorten version chains.",
        "migrate": "Copy all facts to another store, and switch the vault to it.",
        "config": "Show and change the settings of a vault.",
        "trust": "Review and allow the settings that a vault requests.",
        "doctor": "Check this machine and this vault for problems.",
        "memory-file": "Sync MEMORY.md and similar files with the store.",
        "module": "Write, read and sync the layered documents of a project.",
    },
    "Recall": {
        "recall": "Find the facts that answer a question.",
        "context": "Pack the facts that answer a question into a token budget.",
        "index": "Update `.index/`, the note index and the vectors.",
        "graph": "Export and explore the graph of facts and entities.",
        "links": "Check links between notes.",
        "model": "List and download embedding models.",
        "eval": "Measure recall on your own questions, and guard it.",
    },
    "Repositories": {"repo": "Remember conventions, decisions and notes per git repository."},
    "Long-running": {
        "watch": "Sync continuously until stopped.",
        "bridge": "Serve the Obsidian plugin on 127.0.0.1 until stopped.",
    },
    "Agents": {
        "mcp": "Serve the memory to an agent over the Model Context Protocol.",
        "install": "Connect an agent's host program to the vault.",
        "hook": "Handle a hook of an agent's host program.",
    },
    "Obsidian": {
        "plugin": "Install the Obsidian plugin into the vault.",
        "bases": "Write tables of facts for Obsidian Bases.",
    },
    "Shell": {"completion": "Print a script that completes commands in your shell."},
}
"""All commands by section, in the order of `--help`, with the first sentence of their help, so
that `--help` loads no command."""
SHORT_HELP = {name: text for section in COMMAND_SECTIONS.values() for name, text in section.items()}
COMMAND_MODULES = {
    "bases": "bases_commands",
    "bridge": "bridge_commands",
    "completion": "completion_command",
    "config": "config_commands",
    **dict.fromkeys(("recall", "context"), "recall_commands"),
    **dict.fromkeys(("export", "import", "import-from", "export-to"), "transfer_commands"),
    **dict.fromkeys(("graph", "links"), "graph_commands"),
    **dict.fromkeys(("remember", "get", "open", "list", "update", "edit"), "fact_commands"),
    **dict.fromkeys(("supersede", "forget", "restore"), "fact_commands"),
    "eval": "eval_commands",
    **dict.fromkeys(("observe", "observations"), "observation_commands"),
    "hook": "hook_command",
    "install": "install_command",
    "mcp": "mcp_commands",
    "memory-file": "memory_file_commands",
    "model": "model_commands",
    "module": "module_commands",
    "plugin": "plugin_commands",
    "proposals": "proposal_commands",
    "purge": "purge_command",
    "repo": "repo_commands",
    "resolve": "resolve_command",
    "trust": "trust_command",
    "watch": "watch_command",
}
"""The module of each command that is not one of `sync_commands`."""


GC_THRESHOLD = 100_000
"""Allocations between two garbage collections, instead of Python's 700: a run creates many
objects and no cycles. With 700, adopting 5,000 notes takes 2.2 s of CPU time instead of 1.8 s,
and a cold `vaultsync recall` takes 10 % longer."""


class Commands(click.Group):
    """All commands, which are loaded when they are used and end with a documented exit code."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> NoReturn:  # noqa: ANN401 - click's
        """Run the command that `args` name, and exit with its exit code."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a file name may be in any encoding
        words = list(sys.argv[1:] if args is None else args)
        options = words[: words.index("--")] if "--" in words else words
        extra |= {"standalone_mode": False, "color": colour()}
        sys.exit(exit_code(partial(super().main, words, *more, **extra), words=options, group=self))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """The names of all commands, in the order of the sections."""
        return list(SHORT_HELP)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; loads only its module, and examples if help may be shown."""
        if cmd_name not in SHORT_HELP:
            return None
        module = import_module(f"vaultsync.cli.{COMMAND_MODULES.get(cmd_name, 'sync_commands')}")
        commands = (each for each in vars(module).values() if isinstance(each, click.Command))
        command = next(each for each in commands if each.name == cmd_name)
        if ctx.meta.get(_WITHOUT_HELP) and not isinstance(command, click.Group):
            return command
        from vaultsync.cli.examples import add_examples

        return add_examples(command, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown name suggests similar ones."""
        ctx.meta[_WITHOUT_HELP] = not {*args}.intersection(ctx.help_option_names)
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            from vaultsync.cli.usage_errors import no_such_command  # only after a mistake

            raise no_such_command(error.command_name, SHORT_HELP, ctx) from None

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands, by section."""
        widest = max(map(len, SHORT_HELP))
        for title, section in COMMAND_SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command name or an option."""
        from click.shell_completion import CompletionItem

        texts = SHORT_HELP.items()
        names = [CompletionItem(n, help=text) for n, text in texts if n.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="vaultsync %(version)s")
def cli() -> None:
    """Sync an agent's memory with an Obsidian vault.

    Each command takes --vault PATH, --state-dir DIR, --json, --quiet and
    --verbose after its name.
    """


def main() -> NoReturn:
    """Run the command line, and end the process."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        cli.main(prog_name="vaultsync")
    except SystemExit as end:
        _exit_without_teardown(end)
        raise


def _exit_without_teardown(end: SystemExit) -> None:
    """End the process without freeing modules and objects.

    A cold `vaultsync recall` takes 99 ms instead of 121 ms. All files are closed by now. If a
    thread is still running, or output cannot be written, Python ends the process normally.
    """
    if threading.active_count() == 1 and isinstance(end.code, int):
        atexit._run_exitfuncs()  # noqa: SLF001 - what Python itself calls at the end
        with suppress(OSError, ValueError):  # Python reports it when it flushes again
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            os._exit(end.code)
