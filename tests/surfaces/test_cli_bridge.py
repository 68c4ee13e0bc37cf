"""`bridge` and `bridge token`, as the processes that people start."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.bridges import open_bridge
from tests.daemons import wait_until, watched
from tests.mcp_clients import Home, serving, token
from tests.surfaces.command_line import one_object
from vaultsync.api import opening as app


def _announced(home: Home) -> list[Path]:
    return list(home.state.glob("*/bridge.json"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.long(2)
def test_a_signal_stops_the_bridge_and_its_listeners(home: Home, number: signal.Signals) -> None:
    secret = token(home)
    with serving(home, "bridge", "--port", "0") as (process, address):
        (announced,) = _announced(home)
        assert json.loads(announced.read_text())["address"] == address
        link = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        link.request("GET", "/v1/events", headers={"authorization": f"Bearer {secret}"})
        stream = link.getresponse()
        assert stream.readline() == b"event: state\n"

        process.send_signal(number)

        assert process.wait(timeout=60) == 0
        assert stream.read().endswith(b"\n\n")
        link.close()
        assert _announced(home) == []
        out, err = process.communicate()
        assert out == ""
        assert secret not in err
        assert "Traceback" not in err


def test_every_answer_has_the_path_of_a_new_fact(tmp_path: Path) -> None:
    with open_bridge(tmp_path) as bridge:
        made = bridge("POST", "/v1/facts", {"text": "Said by the bridge."}).json

        assert made["path"]
        assert bridge("GET", f"/v1/facts/{made['id']}").json["path"] == made["path"]
        (hit,) = bridge("POST", "/v1/recall", {"query": "bridge"}).json["hits"]
        assert hit["path"] == made["path"]
        with app.open(str(tmp_path / "vault"), state_dir=str(tmp_path / "state")) as other:
            assert other.get(made["path"]).id == made["id"]
            assert other.verify().equal


@pytest.mark.parametrize("agent", [None, "indy"])
def test_a_bridge_beside_a_daemon_is_announced_only_after_it(home: Home, agent: str | None) -> None:
    words = ("bridge", "--port", "0", *(("--agent", agent) if agent else ()))
    token(home)

    def address() -> object:
        (file,) = _announced(home)
        return json.loads(file.read_text())["address"]

    with watched(env=home.environment) as first:
        with serving(home, *words):
            assert address() == first
            assert home.run("verify", "--json").exit_code == 0  # the daemon does it
        assert address() == first
        with serving(home, *words) as (_, alone):
            assert address() == first
            (daemon,) = home.state.glob("*/daemon.json")
            os.kill(json.loads(daemon.read_text())["pid"], signal.SIGTERM)
            wait_until(lambda: _announced(home) and address() == alone)
            with watched(env=home.environment) as second:
                assert address() == second
            wait_until(lambda: _announced(home) and address() == alone)
    assert _announced(home) == []


def test_a_port_in_use_is_an_error(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ended = home.run("bridge", "--port", str(other.getsockname()[1]), "--json")

    assert ended.exit_code == 2
    assert one_object(ended)["error"]["kind"] == "ConfigError"
    assert _announced(home) == []


def test_two_vaults_can_be_served_at_once(home: Home) -> None:
    second = Home(home.vault.with_name("second"), home.state)
    app.init(str(second.vault), state_dir=str(second.state))
    with serving(home, "bridge") as (_, one), serving(second, "bridge") as (_, two):
        assert one != two
        assert len(_announced(home)) == 2
        assert {httpx.get(f"{each}/v1/status").status_code for each in (one, two)} == {401}


def test_the_token_is_created_once_and_rotated_on_request(home: Home) -> None:
    first, again = token(home), token(home)
    fresh = one_object(home.run("bridge", "token", "--rotate", "--json"))["token"]

    assert first == again
    assert first != fresh
    shown = home.run("bridge", "token")
    assert shown.stdout.strip() == fresh
    assert "out of the vault" in shown.stderr
    assert home.run("bridge", "token", "--quiet").stderr == ""


@pytest.mark.parametrize("option", ["--vault /other", "--json", "-q", "--port 0"])
def test_an_option_before_token_is_not_ignored(home: Home, option: str) -> None:
    ended = home.run("bridge", *option.split(), "token")

    assert ended.exit_code == 2
    assert "follows the command" in ended.output


@pytest.mark.parametrize("command", ["bridge", "bridge token"])
def test_without_a_vault_there_is_no_bridge(home: Home, command: str) -> None:
    ended = home.run(*command.split(), "--json", "--vault", str(home.state))

    assert ended.exit_code == 2
    assert one_object(ended)["error"]["kind"] == "NotAVaultError"
