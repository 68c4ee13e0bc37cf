"""How long a client waits until an agent's server has answered its first word."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.bench.measure import in_turns
from tests.bench.table import Row, row_of
from tests.bench.worlds import World, new_folder

ROOT = Path(__file__).parents[2]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "0"},
    },
}
BARE = "import mcp.server.lowlevel, mcp.server.stdio"


def initialized(folder: Path, *, times: int, target: float) -> Row:
    """`vaultsync mcp`, started anew, to the answer to `initialize`."""
    world = World(new_folder(folder))
    with world.open() as memory:
        memory.remember("The crane is green.")
    words = ["mcp", "--vault", str(world.vault), "--state-dir", str(world.state)]
    command = [sys.executable, "-m", "vaultsync", *words]
    hello = (json.dumps(HELLO) + "\n").encode()

    def ours() -> None:
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as server:
            assert server.stdin
            assert server.stdout
            server.stdin.write(hello)
            server.stdin.flush()
            if b"serverInfo" not in server.stdout.readline():
                raise SystemExit("bench: the MCP server did not answer")
            server.kill()

    def bare() -> None:
        subprocess.run([sys.executable, "-c", BARE], check=True)

    bare()
    ours()
    pair = in_turns(bare, ours, times=times)
    return row_of("MCP initialize, cold", times, "import of the SDK", pair, target=target)
