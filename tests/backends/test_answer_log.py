"""How long answers took that no daemon gave: measured in a line each, and shown by `status`."""

from __future__ import annotations

from pathlib import Path

import vaultsync
from vaultsync.api.memory import Memory
from vaultsync.api.read_only import open_read_only
from vaultsync.backends.state.answer_log import (
    ANSWER_LOG_NAME,
    MAX_LOG_BYTES,
    AnswerLog,
    read_answer_times,
)
from vaultsync.recall.recall_request import ContextRequest, RecallRequest


def test_times_are_read_by_surface_and_source(tmp_path: Path) -> None:
    assert read_answer_times(tmp_path) == {}
    for number in range(1, 101):
        AnswerLog(tmp_path, "command").add("index", number / 1000)
    AnswerLog(tmp_path, "mcp").add("context", 2)
    with (tmp_path / ANSWER_LOG_NAME).open("a") as log:
        log.write("command.index 0.0\ncommand.index\nmcp.index x\n")

    found = read_answer_times(tmp_path)

    assert ([*found], found["command.index"].count) == (["command.index", "mcp.context"], 101)
    assert (found["command.index"].p50, found["command.index"].p99) == (0.05, 0.099)


def test_the_log_is_rotated_and_says_nothing_of_what_was_asked(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path, "command")
    for _ in range(3 * MAX_LOG_BYTES // len("command.index 0.0010\n")):
        log.add("index", 0.001)

    sizes = {each.name: each.stat().st_size for each in tmp_path.iterdir()}
    assert set(sizes) <= {ANSWER_LOG_NAME, f"{ANSWER_LOG_NAME}.1"}
    assert sum(sizes.values()) <= 2 * (MAX_LOG_BYTES + 100)
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in tmp_path.iterdir())
    assert read_answer_times(tmp_path)["command.index"].p95 == 0.001


def test_a_log_that_cannot_be_written_stops_no_answer(tmp_path: Path) -> None:
    AnswerLog(tmp_path / "gone", "command").add("index", 0.1)
    (tmp_path / ANSWER_LOG_NAME).mkdir()
    AnswerLog(tmp_path, "command").add("index", 0.1)
    assert read_answer_times(tmp_path) == {}


def test_status_shows_how_long_commands_took_and_an_agent_nothing_of_it(tmp_path: Path) -> None:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    vaultsync.init(vault, state_dir=state)
    with open_read_only(vault, state_dir=state) as asked:
        asked.answer(RecallRequest("where is the crane?", mode="index"))
        asked.pack(ContextRequest("where is the crane?", mode="index"))
    with vaultsync.open(vault, state_dir=state) as memory:
        memory.recall("where is the crane?", mode="index")
        assert [*memory.status().answers] == ["command.context", "command.index"]
        agents = Memory(memory.settings, surface="mcp")
    with agents:
        agents.recall("where is the crane?", mode="index")
        assert "mcp.index" in agents.status().answers
    with vaultsync.open(vault, agent="indy", state_dir=state) as memory:
        assert not memory.status().answers
