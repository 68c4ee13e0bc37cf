"""Where the MCP server listens, as JSON or for a person."""

from __future__ import annotations

import sys

from vaultsync.cli.options import Options
from vaultsync.cli.output import echo, emit, say


def listening(options: Options, address: str) -> None:
    """Its address; at once, for somebody may wait for it."""
    if options.json:
        emit({"address": address})
    else:
        echo(address)
    sys.stdout.flush()
    say(options, "`vaultsync bridge token` prints what clients have to know; ^C ends")
