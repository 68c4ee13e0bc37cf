"""The program into which faults are injected: `strace … python -m tests.real.victim`.

It forks a child per order and lets that do the work, so that Python starts once. strace
counts calls per process: the child first makes so many empty calls that the N-th of
its own is the one that the strace was told to strike at. All that the parent says goes
through `writev`, which no strace strikes at.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import vaultsync
from vaultsync.api.memory import Memory
from vaultsync.errors import VaultsyncError

_LIBC = ctypes.CDLL(None, use_errno=True)

EMPTY: dict[str, Callable[[], object]] = {
    "openat": lambda: os.open("", os.O_RDONLY),
    "write": lambda: os.write(-1, b""),
    "pwrite64": lambda: os.pwrite(-1, b"", 0),
    "fsync": lambda: _LIBC.fsync(-1),
    "fdatasync": lambda: _LIBC.fdatasync(-1),
    "syncfs": lambda: _LIBC.syncfs(-1),
    "ftruncate": lambda: _LIBC.ftruncate(-1, 0),
    "rename": lambda: _LIBC.rename(b"", b""),
    "renameat": lambda: _LIBC.renameat(-1, b"", -1, b""),
    "renameat2": lambda: _LIBC.renameat2(-1, b"", -1, b"", 1),
    "link": lambda: _LIBC.link(b"", b""),
    "linkat": lambda: _LIBC.linkat(-1, b"", -1, b"", 0),
    "unlink": lambda: _LIBC.unlink(b""),
    "unlinkat": lambda: _LIBC.unlinkat(-1, b"", 0),
    "mkdir": lambda: _LIBC.mkdir(b"", 0),
    "mkdirat": lambda: _LIBC.mkdirat(-1, b"", 0),
    "fchmod": lambda: _LIBC.fchmod(-1, 0),
}
"""One call of each kind that accesses files, with arguments that access none."""


def say(**words: object) -> None:
    """Send a line of JSON to the test."""
    os.writev(1, [json.dumps(words).encode() + b"\n"])


def one_pass(memory: Memory, order: dict[str, Any]) -> None:
    memory.sync()


def write_through(memory: Memory, order: dict[str, Any]) -> None:
    """Actions of an agent by the Python API, each acknowledged when it is done."""
    old = order["fact"]
    first, second, third, changed, newer = order["words"]
    made = memory.remember(f"First {first}.", scope="public", title="Told")
    say(acknowledged=first)
    memory.remember(f"Ann {second}.", scope="public", type="person", title="Ann")
    say(acknowledged=second)
    memory.update(made.id, content=f"First {first}.\n\nChanged {changed}.")
    say(acknowledged=changed)
    memory.remember(f"Third {third}.", scope="public", type="lesson", title="Told")
    say(acknowledged=third)
    memory.supersede(old, f"Newer {newer}.")
    say(acknowledged=newer)
    memory.forget(made.id)
    memory.restore(made.id)


WORKS: dict[str, Callable[[Memory, dict[str, Any]], None]] = {
    "pass": one_pass,
    "write through": write_through,
}


def work(order: dict[str, Any]) -> int:
    empty = EMPTY.get(order["call"], lambda: None)
    for _ in range(order["skip"]):
        with contextlib.suppress(OSError):
            empty()
    say(began=os.getpid())
    try:
        with vaultsync.open(order["root"], "indy", order["state"]) as memory:
            WORKS[order["work"]](memory, order)
    except (VaultsyncError, OSError) as error:
        say(refused=repr(error))
        return 1
    except BaseException:  # noqa: BLE001 - it is told, and fails the test
        say(broke=traceback.format_exc())
        return 2
    return 0


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        order = json.loads(line)
        child = os.fork()
        if not child:
            os._exit(work(order))
        _, status = os.waitpid(child, 0)
        say(status=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
