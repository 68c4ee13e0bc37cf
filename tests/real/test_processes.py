"""Several processes on one vault: one engine at a time, any number of agents."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.forked import start_program
from tests.proofs.ledger import words
from tests.real.home import Home
from tests.real.programs import command, command_line, start, wait_for
from vaultsync.errors import EngineBusyError

pytestmark = pytest.mark.long(5)

BUSY = 5
"""The exit code of the contract."""


@pytest.fixture
def holder(home: Home) -> subprocess.Popen[str]:
    """An engine in another process."""
    started = start("hold", home)
    wait_for(started)
    assert started.stdout
    assert started.stdout.readline() == "held\n"
    return started


def test_a_second_engine_is_refused_but_no_agent(home: Home, holder: subprocess.Popen[str]) -> None:
    with home.open() as memory, pytest.raises(EngineBusyError, match=str(holder.pid)):
        memory.sync()
    refused = command(home, "sync")
    assert refused.returncode == BUSY
    assert json.loads(refused.stdout)["error"]["kind"] == "EngineBusyError"
    told = command(home, "remember", "Seen meanwhile.")
    assert told.returncode == 0
    assert json.loads(told.stdout)["path"] is None
    assert home.notes() == []

    holder.communicate("stop\n")
    assert command(home, "sync").returncode == 0
    assert len(home.notes()) == 1
    home.check_equal()
    home.check_quiet()


def test_the_lock_of_a_killed_engine_is_free(home: Home, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    assert home.sync().quiet


def test_two_commands_that_remember_at_once_both_do(home: Home) -> None:
    said = [f"Said at once w{n}w." for n in range(4)]
    running = [
        start_program(
            command_line(home, "remember", text, "--title", "Same", "--type", "person"),
            stdout=subprocess.PIPE,
            text=True,
        )
        for text in said
    ]
    facts = []
    for each in running:
        out, _ = each.communicate(timeout=60)
        assert each.returncode == 0, out
        facts.append(json.loads(out))
    home.sync()

    assert len({fact["id"] for fact in facts}) == len(said)
    assert len(home.notes()) == len(said)
    assert words(" ".join(said)) <= home.in_vault() & home.in_store()
    home.check_equal()
    home.check_quiet()
