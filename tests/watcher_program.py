"""A watcher in a separate process: `python -m tests.watcher_program …`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.real.home import say
from tests.watchers import make

PATIENCE = 20


def main() -> None:
    """Listen; after a line on stdin, print the events up to the next pause.

    A number in that line is how many notes there are to hear of: until then, or until a
    loss was heard of, quiet is what lasts longer than a loaded machine may pause.
    """
    kind, root, state = sys.argv[1:]
    watcher = make(kind, Path(root), Path(state))
    watcher.start()
    began = time.process_time()
    say("ready")
    many = int(sys.stdin.readline().strip() or 0)
    notes: set[str] = set()
    lost, quiet_at = "", time.monotonic() + (PATIENCE if many else 2)
    while time.monotonic() < quiet_at:
        heard = watcher.drain()
        notes |= heard.notes
        lost = heard.lost or lost
        if heard:
            quiet_at = time.monotonic() + (1 if lost or len(notes) >= many else PATIENCE)
        time.sleep(0.05)
    watcher.stop()
    cpu = time.process_time() - began
    say(json.dumps({"notes": len(notes), "lost": lost, "cpu": cpu}))


if __name__ == "__main__":
    main()
