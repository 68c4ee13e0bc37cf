"""Agents in processes of their own change the same facts without a condition, and lose no text."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import vaultsync
from tests.snippets import run
from tests.world import open_scopes

pytestmark = pytest.mark.long(5)

SECONDS = float(os.environ.get("VAULTSYNC_BLIND_SECONDS", "1.5"))
AGENTS = ("ada", "bob", "cleo")
WRITER = """
import contextlib, sys, time
import vaultsync
from vaultsync.errors import RevisionMismatchError

vault, state, agent, seconds, *ids = sys.argv[1:]
with vaultsync.open(vault, state_dir=state, agent=agent) as memory:
    memory.get(ids[0])
    until, number, said = time.monotonic() + float(seconds), 0, 0
    while time.monotonic() < until or said < 3:  # a busy machine may take long for one
        text = f"{agent} said {number} times."
        number += 1
        with contextlib.suppress(RevisionMismatchError):  # others were faster each time
            memory.update(ids[number % len(ids)], content=text)
            print(text)
            said += 1
"""


def test_every_acknowledged_text_is_in_the_history_or_the_fact(tmp_path: Path) -> None:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    vaultsync.init(vault, state_dir=state)
    open_scopes(Path(vault))
    with vaultsync.open(vault, state_dir=state) as memory:
        ids = [memory.remember(f"Fact {number}.", scope="public").id for number in range(3)]
        memory.sync()
    with ThreadPoolExecutor(len(AGENTS)) as pool:
        told = pool.map(lambda agent: run(WRITER, vault, state, agent, SECONDS, *ids), AGENTS)
        acknowledged = {line for each in told for line in each.splitlines()}
    with vaultsync.open(vault, state_dir=state) as memory:
        memory.sync()
        traces = {memory.get(each).content for each in ids}
        for each in ids:
            entries = memory.history(each)
            traces |= {str(value) for entry in entries for value in (entry.before, entry.after)}
        assert memory.verify().equal
        assert memory._ctx.store.replaced_versions() == []
    assert len(acknowledged) > len(AGENTS)
    assert acknowledged <= traces
