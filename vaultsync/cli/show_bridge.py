"""A bridge and its token, as JSON or for a person."""

from __future__ import annotations

import sys

from vaultsync.cli.options import Options
from vaultsync.cli.output import echo, emit, say


def listening(options: Options, address: str) -> None:
    """Where it listens; at once, for somebody may wait for it."""
    if options.json:
        emit({"address": address})
    else:
        echo(address)
    sys.stdout.flush()
    say(options, "`vaultsync bridge token` prints what the plugin has to know; ^C ends")


def token(options: Options, found: str) -> None:
    """The token, which is a secret."""
    if options.json:
        emit({"token": found})
        return
    echo(found)
    say(
        options,
        "keep it out of the vault: whoever has it can read and write every fact",
    )
