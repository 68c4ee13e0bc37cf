"""A daemon that gets a stop signal at each point of its waiting, one after the other.

`python -m tests.signalled VAULT STATE_DIR`: in a separate process, because a bug
would make it hang.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from tests.proofs.turns import sampled
from tests.real.home import say
from vaultsync.api import configuration as config
from vaultsync.service import daemon_runner as watching

if TYPE_CHECKING:
    from _typeshed import TraceFunction

MOMENTS = 20
PATIENCE = 60.0
NEAR = 3
"""The call depth below the daemon's loop that covers its waits and nothing else."""


class Moment:
    """Raises a signal before one line of the code with which the daemon waits."""

    def __init__(self, number: int) -> None:
        self.number = number

    def called(self, frame: FrameType, _event: str, _arg: object) -> TraceFunction | None:
        """Trace a call: if the loop waits in it, a signal may come before each of its lines."""
        code = frame.f_code
        if code.co_filename != threading.__file__ and not code.co_qualname.startswith("WakeEvent."):
            return None
        above: FrameType | None = frame
        for _ in range(NEAR):
            above = above.f_back if above else None
            if above and above.f_code.co_name == "_loop":
                return self.line
        return None

    def line(self, _frame: FrameType, event: str, _arg: object) -> TraceFunction | None:
        if event == "line":
            self.number -= 1
            if self.number == 0:
                signal.raise_signal(signal.SIGTERM)
        return self.line


def main(vault: str, state_dir: str) -> None:
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    settings = config.load_settings(config.find_root(vault), state_dir=state_dir)
    for number in sampled(range(1, MOMENTS + 1), 2):
        daemon = watching.DaemonRunner(settings)
        signal.signal(signal.SIGTERM, lambda *_, stop=daemon.stop: stop())
        sys.settrace(Moment(number).called)
        try:
            daemon.run()
        finally:
            sys.settrace(None)
    say(f"stopped at {MOMENTS} moments")


if __name__ == "__main__":
    main(*sys.argv[1:])
