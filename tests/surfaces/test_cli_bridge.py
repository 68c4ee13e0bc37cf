"""`bridge` and `bridge token`, as the processes that people start."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.surfaces.command_line import one_object, run
from vaultsync.api import opening as app


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)
    return ["--vault", vault, "--state-dir", state]


@contextmanager
def started(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves, and its address."""
    done = subprocess.Popen(
        [sys.executable, "-m", "vaultsync", *words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "VAULTSYNC_EMBEDDER": "none"},
    )
    try:
        assert done.stdout is not None
        yield done, json.loads(done.stdout.readline())["address"]
    finally:
        done.kill()
        done.communicate()


def _announced(words: list[str]) -> list[Path]:
    return list(Path(words[3]).glob("*/bridge.json"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_bridge_and_disconnects_listeners(
    words: list[str], number: signal.Signals
) -> None:
    token = one_object(run("bridge", "token", "--json", *words))["token"]
    with started("bridge", "--port", "0", *words) as (process, address):
        (announced,) = _announced(words)
        assert json.loads(announced.read_text())["address"] == address
        link = http.client.HTTPConnection(address.removeprefix("http://"), timeout=20)
        link.request("GET", "/v1/events", headers={"authorization": f"Bearer {token}"})
        stream = link.getresponse()
        assert stream.readline() == b"event: state\n"

        process.send_signal(number)

        assert process.wait(timeout=20) == 0
        assert stream.read().endswith(b"\n\n")
        link.close()
        assert _announced(words) == []
        out, err = process.communicate()
        assert out == ""
        assert token not in err
        assert "Traceback" not in err


def test_a_port_in_use_is_an_error(words: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = run("bridge", "--port", port, "--json", *words)

    assert ended.exit_code == 2
    assert one_object(ended)["error"]["kind"] == "ConfigError"
    assert _announced(words) == []


def test_two_vaults_can_be_served_at_once(words: list[str], tmp_path: Path) -> None:
    vault = str(tmp_path / "second")
    app.init(vault, state_dir=words[3])
    second = ["--vault", vault, "--state-dir", words[3]]
    with started("bridge", *words) as (_, one), started("bridge", *second) as (_, two):
        assert one != two
        assert len(_announced(words)) == 2


def test_the_token_is_created_once_and_rotated_on_request(words: list[str]) -> None:
    first = one_object(run("bridge", "token", "--json", *words))
    again = one_object(run("bridge", "token", "--json", *words))
    fresh = one_object(run("bridge", "token", "--rotate", "--json", *words))

    assert first == again
    assert first != fresh
    shown = run("bridge", "token", *words)
    assert shown.stdout.strip() == fresh["token"]
    assert "out of the vault" in shown.stderr
    assert run("bridge", "token", "--quiet", *words).stderr == ""


def test_without_a_vault_there_is_no_bridge(tmp_path: Path) -> None:
    for command in (("bridge",), ("bridge", "token")):
        ended = run(*command, "--json", "--vault", str(tmp_path))

        assert ended.exit_code == 2
        assert one_object(ended)["error"]["kind"] == "NotAVaultError"
