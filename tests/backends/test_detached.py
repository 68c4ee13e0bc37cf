from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GROUP = Path("/proc/self/autogroup")
LOWER = "from vaultsync.backends.system import detached; detached.lower_priority()"


@pytest.mark.skipif(not GROUP.exists(), reason="no scheduling group per session here")
@pytest.mark.parametrize(
    ("lowers", "nice"),
    [
        pytest.param(f"{LOWER}", "19", id="the leader"),
        pytest.param(
            f"import subprocess as s, sys; s.run([sys.executable, '-c', {LOWER!r}], check=True)",
            "0",
            id="a member",
        ),
    ],
)
def test_only_a_session_of_its_own_gives_way_as_a_whole(lowers: str, nice: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{lowers}; print(open('{GROUP}').read())"],
        start_new_session=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[-1] == nice
