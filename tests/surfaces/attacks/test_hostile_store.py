"""Servers that are no Qdrant, or a Qdrant that says what none would say."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

import vaultsync as app
from tests.machines import configure_machine
from tests.qdrant_server import FakeQdrant, Fault
from tests.world import open_scopes
from vaultsync.backends.qdrant.client import ClientPointCollection
from vaultsync.backends.qdrant.commit_log import COMMIT_RECORD_ID
from vaultsync.backends.qdrant.connection import QdrantConnection
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.cli.main import cli
from vaultsync.errors import ConfigError, StoreUnavailableError

pytestmark = pytest.mark.long(5)

PATIENCE = 0.5
"""Seconds that a request is retried, by the settings of these vaults."""
MARGIN = 60.0
"""Seconds that a command may take beyond what it retries."""
DEEP = b"[" * 200_000 + b"]" * 200_000


def ok(result: object) -> bytes:
    return json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()


def deep(result: str) -> bytes:
    inner = '{"a":' * 5_000 + "1" + "}" * 5_000
    return f'{{"result": {result % inner}, "status": "ok", "time": 0.0}}'.encode()


POINT = '[{"id": "%s", "payload": %%s}]' % "6f0c9a4e-8a5b-5d0e-9a53-7a1d6c0f2b11"  # noqa: UP031
ANSWERS: dict[str, Fault] = {
    "nothing": Fault(200, raw=b""),
    "nothing, not even a reason": Fault(204, raw=b""),
    "HTML": Fault(200, raw=b"<html><body>Sign in to the hotel's network</body></html>"),
    "HTML of a proxy": Fault(502, raw=b"<html>Bad Gateway</html>"),
    "deep JSON": Fault(200, raw=DEEP),
    "deep JSON in an error": Fault(400, raw=DEEP),
    "deep JSON in a payload": Fault(200, raw=deep(POINT)),
    "a redirect": Fault(301, headers={"Location": "http://127.0.0.1:9/"}, raw=b""),
    "a redirect to itself": Fault(307, headers={"Location": "/"}, raw=b""),
    "bytes that are no text": Fault(200, raw=bytes(range(256)) * 40),
    "JSON that is not closed": Fault(200, raw=b'{"result": [{"id"'),
    "null": Fault(200, raw=b"null"),
    "a result of null": Fault(200, raw=ok(None)),
    "a number": Fault(200, raw=b"7"),
    "huge numbers": Fault(200, raw=b'{"result": 1e999, "status": "ok", "time": 1e999}'),
    "a result of digits": Fault(200, raw=b'{"result": ' + b"9" * 9_000 + b"}"),
    "a list": Fault(200, raw=ok([])),
    "an object": Fault(200, raw=ok({})),
    "points without payload": Fault(200, raw=ok([{"id": 7}])),
    "a wait of no number": Fault(429, headers={"Retry-After": "tomorrow"}),
    "a wait of nan": Fault(429, headers={"Retry-After": "nan"}),
    "a wait for ever": Fault(429, headers={"Retry-After": "1e308"}),
    "teapot": Fault(418, raw=b"short and stout"),
}
HEADS: dict[str, dict[str, Any]] = {
    "empty": {},
    "without a number": {"kind": "head", "storeId": "x", "revision": "y", "facts": 0},
    "of a huge number": {"storeId": "x", "revision": "y", "seq": 1e308, "facts": 10**300},
    "of words": {"storeId": "x", "revision": "y", "seq": "many", "facts": "none"},
    "of other kinds": {"storeId": [], "revision": {}, "seq": [], "facts": {}},
    "with a broken log": {"storeId": "x", "revision": "y", "seq": 1, "facts": 0, "log": "::"},
    "with broken rows": {"storeId": "x", "revision": "y", "seq": 1, "facts": 0, "rows": "[[["},
    "with odd rows": {"storeId": "x", "revision": "y", "seq": 1, "facts": 0, "rows": "[1]"},
    "with deep rows": {"storeId": "x", "revision": "y", "seq": 1, "facts": 0, "rows": "[" * 99_999},
}
VERSIONS = ("", "latest", "0", "1.2.3", "9" * 9_000, "-1.99")


@pytest.fixture(scope="module")
def server() -> Iterator[FakeQdrant]:
    with FakeQdrant() as server:
        yield server


@pytest.fixture(scope="module")
def said() -> list[str]:
    """What was said while the store was away."""
    return []


@pytest.fixture(scope="module")
def vault(
    server: FakeQdrant, said: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A vault whose store was a Qdrant until now, and is one again: it gets all that was said."""
    vault = tmp_path_factory.mktemp("home") / "vault"
    url = f"qdrant://127.0.0.1:{server.port}/hostile"
    app.init(str(vault), store=url)
    open_scopes(vault)
    table = f"[qdrant]\ntimeout_seconds = 30\npatience_seconds = {PATIENCE}\n"
    configure_machine(vault, f'store = "{url}"\n{table}')
    with app.open(str(vault)) as memory:
        memory.remember("Said before.")
        assert not memory.sync().attention
    yield str(vault)
    server.fault = lambda method, path: None
    with app.open(str(vault)) as memory:
        memory.sync()
        assert memory.status().outbox == 0
        assert {fact.content for fact in memory.list(limit=1_000).facts} == {"Said before.", *said}
        assert memory.verify().equal


def check_unavailable(vault: str, said: list[str]) -> None:
    """Writes wait, questions are answered, and what needs the store says why it cannot."""
    began = time.monotonic()
    with app.open(vault) as memory:
        said.append(f"Said meanwhile, {len(said)}.")
        assert memory.waits(memory.remember(said[-1]).id)
        assert "store_away" in {each.kind for each in memory.sync().attention}
        assert memory.status().outbox == len(said)
        with pytest.raises(StoreUnavailableError) as error:
            memory.verify()
        assert "the store does not answer" in error.value.message
        assert error.value.hint
        assert len(error.value.message) < 500
        assert memory.recall("before").hits
    assert time.monotonic() - began < PATIENCE + MARGIN
    shown = CliRunner().invoke(cli, ["verify", "--vault", vault])
    assert shown.exit_code == 1
    assert "Traceback" not in shown.stderr
    assert "fault of vaultsync" not in shown.stderr


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.long(4)
def test_who_does_not_answer_as_qdrant_does_is_an_unavailable_store(
    vault: str, server: FakeQdrant, said: list[str], answer: Fault
) -> None:
    server.fault = lambda method, path: answer
    check_unavailable(vault, said)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.long(4)
def test_a_head_that_says_what_none_does_is_an_unavailable_store(
    vault: str, server: FakeQdrant, said: list[str], head: dict[str, Any]
) -> None:
    (point,) = server.client.retrieve("agent_memory_hostile", [COMMIT_RECORD_ID])
    own = (point.payload or {})["storeId"]
    payload = head | ({"storeId": own} if head.get("storeId") == "x" else {})
    answer = Fault(200, raw=ok([{"id": COMMIT_RECORD_ID, "payload": payload}]))
    server.fault = lambda method, path: answer if path.endswith("/points") else None
    check_unavailable(vault, said)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda text: text[:9])
@pytest.mark.long(4)
def test_a_version_that_is_none_is_refused(
    server: FakeQdrant, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "fault", lambda method, path: None)
    monkeypatch.setattr(server, "version", version)
    place = QdrantConnection("server", "agent_memory_x", host="127.0.0.1", port=server.port)
    points = ClientPointCollection(place, clock=SystemClock())
    with pytest.raises(ConfigError, match="does not support concurrent writers") as error:
        points.make(3)
    points.close()
    assert len(error.value.message) < 200
