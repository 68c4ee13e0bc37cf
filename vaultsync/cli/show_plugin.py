"""The plugin for Obsidian, as JSON or for a person."""

from __future__ import annotations

from vaultsync.api.plugging import Plugged
from vaultsync.cli.options import Options
from vaultsync.cli.output import echo, emit, say


def installed(options: Options, done: Plugged) -> None:
    """Where it is, and what is left to do."""
    if options.json:
        emit(done.as_json())
        return
    was = "is in" if done.changed else "was already in"
    echo(f"vaultsync {done.version} {was} {done.path}")
    if done.changed:
        say(
            options,
            "in Obsidian: Settings, Community plugins, turn on Vaultsync (reload first"
            " when it is not listed); then paste what `vaultsync bridge token` prints",
        )
