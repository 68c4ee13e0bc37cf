"""The bridge in a daemon: one process, two threads, one engine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.daemons import PATIENCE, wait_until, watched
from tests.forked import start_program
from vaultsync.api import configuration as config
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.service import bridge_service as serving


@pytest.fixture
def bridge(vault: Path) -> Iterator[httpx.Client]:
    token = serving.vault_token(config.load_settings(vault))
    headers = {"Authorization": f"Bearer {token}", "X-Vaultsync": "1"}
    with (
        watched("--vault", str(vault)) as address,
        httpx.Client(base_url=address, headers=headers, timeout=PATIENCE) as client,
    ):
        yield client


def test_the_daemon_writes_the_note_of_a_bridges_fact(bridge: httpx.Client, vault: Path) -> None:
    made = bridge.post("/v1/facts", json={"text": "Said by the bridge.", "title": "Said"})
    assert made.status_code == 200, made.text
    fact_id = made.json()["id"]
    wait_until(lambda: bridge.get(f"/v1/facts/{fact_id}").json()["path"])
    note = vault / bridge.get(f"/v1/facts/{fact_id}").json()["path"]
    note.write_text(note.read_text().replace("the bridge", "a person"))
    wait_until(lambda: "a person" in bridge.get(f"/v1/facts/{fact_id}").json()["content"])


def test_clients_of_the_bridge_get_the_daemons_events(bridge: httpx.Client, vault: Path) -> None:
    kinds: list[str] = []
    with bridge.stream("GET", "/v1/events") as stream:
        (vault / "public" / "notes").mkdir(parents=True)
        (vault / "public" / "notes" / "a.md").write_text("# A\n\nText.\n")
        kind = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                status = json.loads(line.removeprefix("data: "))
                kinds.append(kind)
                if kind == "state" and status["facts"] == 1:
                    break
    assert "pass" in kinds
    daemon = status["daemon"]
    assert daemon["passes"] > 0
    assert daemon["watcher"]
    assert daemon["last_error"] is None
    assert status["notes"] == 1


def test_a_vault_that_asks_for_more_meanwhile_is_shown_and_not_obeyed(
    bridge: httpx.Client, vault: Path
) -> None:
    assert bridge.get("/v1/status").json()["attention"] == []
    with (vault / ".meta" / "config.toml").open("a") as file:
        file.write('store = "qdrant://store.example:6333"\n')
    (notice,) = bridge.get("/v1/status").json()["attention"]
    assert notice["kind"] == "UntrustedVaultError"
    assert "connect to store.example:6333" in notice["message"]
    assert "vaultsync trust" in notice["hint"]
    assert bridge.post("/v1/facts", json={"text": "Still here."}).status_code == 200


def test_daemons_tell_how_long_changes_and_answers_take(bridge: httpx.Client, vault: Path) -> None:
    def telemetry() -> dict[str, Any]:
        found: dict[str, Any] = bridge.get("/v1/status").json()["daemon"]["telemetry"] or {}
        return found

    fact_id = bridge.post("/v1/facts", json={"text": "Beans climb poles."}).json()["id"]
    wait_until(lambda: bridge.get(f"/v1/facts/{fact_id}").json()["path"])
    note = vault / bridge.get(f"/v1/facts/{fact_id}").json()["path"]
    note.write_text(note.read_text().replace("poles", "trees"))
    wait_until(lambda: "trees" in bridge.get(f"/v1/facts/{fact_id}").json()["content"])
    for question in ("beans", "type:note"):
        assert bridge.post("/v1/recall", json={"query": question, "mode": "index"}).is_success
    assert bridge.post("/v1/context", json={"query": "beans", "mode": "index"}).is_success

    wait_until(lambda: len(telemetry().get("recall", ())) == 3 and telemetry()["note_to_store"])
    found = telemetry()
    assert found["recall"].keys() == {"context", "index", "set"}
    for each in (found["write_through"], found["note_to_store"], *found["recall"].values()):
        assert each["count"] >= 1
        assert 0 < each["p50"] <= each["p95"] <= each["p99"] < PATIENCE
    assert found["edits"] >= 2
    assert (found["conflicts"], found["restarts"], found["crashes"]) == (0, 0, 0)
    kept = (config.load_settings(vault).state_dir / "telemetry.json").read_text()
    assert "Beans" not in kept
    assert fact_id not in kept


def test_a_daemon_that_is_started_again_goes_on_measuring(vault: Path) -> None:
    file = DaemonFile(config.load_settings(vault).state_dir)
    words = ("--vault", str(vault), "--no-bridge")
    found: list[Any] = []

    def measured(pid: int | None = None) -> bool:
        state = file.read() or {}
        return bool(state.get("telemetry")) and pid in (None, state["pid"])

    def run() -> None:
        with watched(*words):
            wait_until(measured)
            found.append((file.read() or {})["telemetry"])

    run()
    run()
    command = [sys.executable, "-m", "vaultsync", "watch", *words]
    with start_program(command, stderr=subprocess.DEVNULL) as dies:
        wait_until(lambda: measured(dies.pid))
        dies.kill()
    run()

    assert [(each["restarts"], each["crashes"]) for each in found] == [(0, 0), (1, 0), (3, 1)]
    assert len({each["since"] for each in found}) == 1
