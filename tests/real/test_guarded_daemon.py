"""What stops a running daemon, and what does not: busy agents, and an older copy of its vault."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.real.home import Home
from tests.real.watched_home import Daemon, equal, make_home, wait_until
from vaultsync.facts import service as fact_work

pytestmark = pytest.mark.long(5)

FACTS, REWRITTEN = 150, 130


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path / "home")


def _remembered(home: Home, count: int) -> list[str]:
    with home.open() as memory:
        said = [(f"First {n}.", f"Fact {n}") for n in range(count)]
        some = [memory.remember(text, title=title, scope="public").id for text, title in said]
        memory.sync()
    return some


def _rewrite(home: Home, some: list[str]) -> None:
    """Two agents write to the store, which answers both."""
    with home.open() as memory:
        for number, each in enumerate(some):
            agent = ("indy", "ada")[number % 2]
            fact_work.update(memory._ctx, each, {"content": "Second."}, agent=agent)


def _contents(home: Home) -> list[str]:
    with home.open() as memory:
        return [fact.content for fact in memory.list(limit=500).facts]


def test_what_busy_agents_wrote_while_the_daemon_was_suspended_does_not_stop_it(home: Home) -> None:
    some = _remembered(home, FACTS)
    daemon = Daemon(home)
    daemon.is_ready()
    daemon.process.send_signal(signal.SIGSTOP)
    _rewrite(home, some[:REWRITTEN])
    daemon.process.send_signal(signal.SIGCONT)
    wait_until(lambda: equal(home))
    assert not daemon.events("error")
    assert sum("Second." in home.text(path) for path in home.notes()) == REWRITTEN
    assert daemon.stop() == 0
    home.check_equal()


def test_an_older_copy_under_a_daemon_stops_it_for_a_decision(home: Home, tmp_path: Path) -> None:
    some = _remembered(home, 12)
    shutil.copytree(home.root, tmp_path / "backup")
    _rewrite(home, some[:10])
    home.sync()
    daemon = Daemon(home)
    daemon.is_ready()
    newest = _contents(home)
    # All at once: of what a slow machine restores piece by piece, the first are edits.
    daemon.process.send_signal(signal.SIGSTOP)
    shutil.copytree(tmp_path / "backup", home.root, dirs_exist_ok=True)
    daemon.process.send_signal(signal.SIGCONT)
    wait_until(lambda: daemon.events("error"))
    error = daemon.events("error")[-1]
    assert error["kind"] == "GuardError"
    assert "an older copy" in error["message"]
    assert _contents(home) == newest
    assert daemon.stop() == 0
    with home.open() as memory:
        memory.rebuild(source="store")
    assert _contents(home) == newest
    home.check_equal()
