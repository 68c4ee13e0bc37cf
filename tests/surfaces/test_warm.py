"""Questions of the command line that a running bridge answers with its loaded model."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.bridges import Client, open_bridge
from vaultsync.api.memory import Memory
from vaultsync.api.read_only import ReadOnlyMemory, open_read_only
from vaultsync.backends.http import bridge_client
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.result import RecallResult

QUESTION = "what is embedded"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTSYNC_EMBEDDER", "hash")
        with open_bridge(tmp_path_factory.mktemp("bridge")) as opened:
            for text in ("SQLite is embedded.", "Tea is ready.", "The gate is shut."):
                body = {"text": text, "scope": "team-core"}
                assert opened("POST", "/v1/facts", body).status == 200
            _index(opened)
            yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that bridges are asked; the answers are theirs."""
    paths: list[str] = []
    real = bridge_client.ask_bridge

    def record(
        port: int, token: str, path: str, body: Mapping[str, object]
    ) -> dict[str, Any] | None:
        paths.append(path)
        return real(port, token, path, body)

    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    monkeypatch.setattr("vaultsync.api.daemon_client.ask_bridge", record)
    return paths


def _index(client: Client) -> None:
    """Sync, and make the vectors, which a run leaves to a process of its own."""
    assert client("POST", "/v1/sync", {}).status == 200
    with Memory(client.serving.settings) as memory:
        memory.index()


def _open(client: Client, agent: str | None = None) -> ReadOnlyMemory:
    settings = client.serving.settings
    where = str(settings.state_dir.parent)
    return open_read_only(str(settings.root), agent=agent, state_dir=where)


def _recall(client: Client, *, by: str | None = None, **wanted: Any) -> RecallResult:  # noqa: ANN401
    with _open(client, by) as memory:
        return memory.answer(RecallRequest(QUESTION, **wanted))


def test_a_question_for_the_model_goes_to_the_bridge(client: Client, asked: list[str]) -> None:
    by_bridge = _recall(client, mode="vector", explain=True)
    announced = client.serving.settings.state_dir / "bridge.json"
    aside = announced.rename(announced.with_suffix(".away"))
    try:
        here = _recall(client, mode="vector", explain=True)
    finally:
        aside.rename(announced)

    assert asked == ["/v1/recall"]
    assert [hit.id for hit in by_bridge] == [hit.id for hit in here]
    assert by_bridge.source == here.source == "vector"
    assert [stage.stage for stage in by_bridge.stages] == [stage.stage for stage in here.stages]
    first, other = (structs.replace(each[0], recency=0, score=0) for each in (by_bridge, here))
    assert first == other


@pytest.mark.parametrize("wanted", [{"mode": "index"}, {"mode": "vector", "agent": "moss"}])
def test_what_the_index_or_another_agent_is_asked_is_not_sent(
    client: Client, asked: list[str], wanted: dict[str, str]
) -> None:
    assert _recall(client, **wanted).hits
    assert asked == []


def test_each_filter_is_asked_of_the_bridge(client: Client, asked: list[str]) -> None:
    wide: dict[str, Any] = {"status": None, "heads_only": False, "until": "2099-01-01"}
    assert _recall(client, mode="vector", max_priority=4, **wide).hits
    assert not _recall(client, mode="vector", until="2001-01-01").hits
    assert asked == ["/v1/recall"] * 2


def test_the_bridge_shows_an_agent_what_it_may_see(client: Client, asked: list[str]) -> None:
    body = {"text": "Embedded secrets.", "scope": "private-moss"}
    secret = client("POST", "/v1/facts", body).json["id"]
    _index(client)

    seen = {agent: _recall(client, by=agent, mode="vector") for agent in ("moss", "indy")}

    assert asked == ["/v1/recall"] * 2
    assert secret in {hit.id for hit in seen["moss"]}
    assert secret not in {hit.id for hit in seen["indy"]}


def test_a_bridge_of_another_agent_is_not_asked(tmp_path: Path, asked: list[str]) -> None:
    with open_bridge(tmp_path, agent="moss") as client:
        client("POST", "/v1/facts", {"text": "Embedded.", "scope": "team-core"})
        _index(client)
        assert _recall(client, by="indy", mode="vector").hits
        assert _recall(client, mode="vector").hits
        assert asked == []
        answer = client("POST", "/v1/recall", {"query": "x", "agent": "indy"})
        assert answer.kind == "ScopeDeniedError"


@pytest.mark.parametrize(
    "fault", ["stale", "refused", "wrong token", "no token", "another version"]
)
def test_without_an_answer_the_model_is_loaded_here(
    client: Client, asked: list[str], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = client.serving.settings.state_dir
    announced, token = state / "bridge.json", state / "bridge.token"
    kept = {path: path.read_text(encoding="utf-8") for path in (announced, token)}
    said = json.loads(kept[announced])
    match fault:
        case "stale":
            announced.write_text(json.dumps({**said, "pid": 2**22 - 1}))
        case "refused":
            announced.write_text(json.dumps({**said, "address": "http://127.0.0.1:1"}))
        case "wrong token":
            token.write_text("wrong")
        case "no token":
            token.unlink()
        case _:
            monkeypatch.setattr("vaultsync.api.daemon_client.ask_bridge", lambda *_: {"hits": [{}]})
    try:
        assert _recall(client, mode="vector").hits
    finally:
        for path, text in kept.items():
            path.write_text(text, encoding="utf-8")


def test_a_context_for_the_model_goes_to_the_bridge(client: Client, asked: list[str]) -> None:
    with _open(client) as memory:
        made = memory.pack(ContextRequest("nothing of the kind at all", budget=200))
    with Memory(client.serving.settings) as memory:
        here = memory.context("nothing of the kind at all", budget=200, mode="index")

    assert asked == ["/v1/context"]
    assert (made.budget, made.format, made.intent) == (200, here.format, here.intent)
    assert made.tokens <= 200


def test_the_user_is_sent_to_the_bridge(client: Client, asked: list[str]) -> None:
    body = {"text": "Tea is hers.", "scope": "team-core", "fields": {"userId": "ada"}}
    hers = client("POST", "/v1/facts", body).json["id"]
    _index(client)
    with _open(client) as memory:
        made = memory.pack(ContextRequest("nothing of the kind", user="ada"))
    found = _recall(client, mode="vector", user="ada")

    assert asked == ["/v1/context", "/v1/recall"]
    assert [hit.id for hit in found] == [hers]
    assert {item.id for item in made.items} <= {hers}


def test_a_malformed_answer_of_a_bridge_is_no_answer() -> None:
    for said in (b"nonsense", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", b""):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer(said: bytes = said, server: socket.socket = server) -> None:
                link, _ = server.accept()
                link.recv(65536)
                link.sendall(said)
                link.close()

            thread = threading.Thread(target=answer)
            thread.start()
            port = server.getsockname()[1]
            assert bridge_client.ask_bridge(port, "t", "/v1/recall", {}) is None
            thread.join()
