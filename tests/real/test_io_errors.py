"""The N-th system call that touches files fails: once, or from then on until the fault is gone.

Afterwards both sides are equal, nothing is lost, and a further pass writes nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.home import Home, say
from tests.real.strace import needs_strace
from tests.real.test_kill import Calls, spread, strike_at

pytestmark = [needs_strace, pytest.mark.long(5)]

SAMPLE = 4
STRIKES = [("error=ENOSPC", "+"), ("error=EIO", ""), ("error=EACCES", "")]


@pytest.mark.parametrize("turn", range(len(STRIKES)))
@pytest.mark.long(2)
def test_a_pass_repairs_what_a_failing_system_call_leaves(
    turn: int, template: Home, calls: Calls, tmp_path: Path
) -> None:
    how, on = STRIKES[turn]
    chosen = spread(calls("pass"), SAMPLE, turn + 2)
    struck = strike_at(chosen, chosen, template, "pass", tmp_path, how=how, on=on)
    assert any(each.refused for each in struck)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("how", "on"), STRIKES)
def test_a_pass_repairs_whichever_system_call_fails(
    how: str, on: str, template: Home, calls: Calls, tmp_path: Path
) -> None:
    found = calls("pass")
    struck = strike_at(found, found, template, "pass", tmp_path, how=how, on=on)
    refused = sum(bool(each.refused) for each in struck)
    say(f"{how}{on}: {len(found)} system calls, {refused} passes refused")
    assert refused > len(found) // 4
