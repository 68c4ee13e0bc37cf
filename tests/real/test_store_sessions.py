"""Two agents and one vault, over stores that one process at a time can have open.

What an agent was told is remembered is in the store or in the outbox, and reaches the notes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vaultsync
from tests.forked import run_program, start_program
from tests.machines import configure_machine
from tests.real.programs import ROOT
from tests.world import open_scopes

pytestmark = pytest.mark.long(5)

AGENT = """
import sys, vaultsync
vault, name, count = sys.argv[1:]
for number in range(int(count)):
    with vaultsync.open(vault, agent=name) as memory:
        text = f"{name} said number {number}."
        memory.remember(text, title=text, scope="public")
        print(text, flush=True)
"""


@pytest.fixture(params=["qdrant+edge", "qdrant+local"])
def vault(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    vault, url = tmp_path / "vault", f"{request.param}:{tmp_path / 'store'}"
    vaultsync.init(str(vault), store=url)
    configure_machine(vault, f'store = "{url}"\n[qdrant]\npatience_seconds = 3\n')
    open_scopes(vault)
    return vault


@pytest.mark.long(2)
def test_two_agents_in_two_processes_lose_nothing(vault: Path) -> None:
    agents = [
        start_program(
            [sys.executable, "-c", AGENT, str(vault), name, "4"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for name in ("one", "other")
    ]
    told: list[str] = []
    for each in agents:
        out, errors = each.communicate(timeout=100)
        assert (each.returncode, errors) == (0, "")
        told += out.splitlines()
    assert len(told) == 8

    with vaultsync.open(str(vault)) as memory:
        assert not memory.sync().attention
        assert memory.status().outbox == 0
        assert memory.verify().equal
        lines: list[str] = []
        memory.export(lines.append)
    assert {json.loads(line)["content"] for line in lines} == {*told}
    notes = " ".join(each.read_text("utf-8") for each in (vault / "public").rglob("*.md"))
    assert all(text in notes for text in told)


@pytest.mark.long(2)
def test_what_an_agent_says_beside_a_session_waits_in_the_outbox(vault: Path) -> None:
    with vaultsync.open(str(vault)) as session:
        first = session.remember("Said in the session.", scope="public")
        words = [sys.executable, "-c", AGENT, str(vault), "other", "1"]
        done = run_program(words, timeout=100, cwd=ROOT)
        assert (done.returncode, done.stdout) == (0, "other said number 0.\n")
        assert session.status().outbox == 1
        session.sync()
        assert session.status().outbox == 0
        texts = {fact.content for fact in session.list().facts}
        assert texts == {first.content, "other said number 0."}
