from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOWER = "from vaultsync.backends.system.detached import lower_priority; lower_priority()"
SHOW = "print(open('/proc/self/autogroup').read().split()[-1])"
GROUPS = Path("/proc/self/autogroup")


@pytest.mark.skipif(not GROUPS.exists(), reason="this system has no scheduling groups of sessions")
@pytest.mark.parametrize(
    ("program", "niceness"),
    [
        (f"{LOWER}; {SHOW}", "19"),
        (f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOWER!r}]); {SHOW}", "0"),
    ],
    ids=["its own session", "the session of a terminal"],
)
def test_only_a_session_of_its_own_becomes_nice(program: str, niceness: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        start_new_session=True,
    )

    assert done.stdout.strip() == niceness
