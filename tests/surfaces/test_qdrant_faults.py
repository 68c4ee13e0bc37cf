"""What a person and an agent see of a Qdrant in trouble, and that nothing is lost by it.

Each fault comes over one vault in the middle of work, and goes again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.daemons import wait_until
from tests.machines import configure_machine
from tests.qdrant_server import FakeQdrant, Fault
from tests.world import open_scopes
from vaultsync.api import opening as app
from vaultsync.api.memory import Memory
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import StoreUnavailableError

pytestmark = pytest.mark.long(5)

Faults = Callable[[str, str], Fault | None]
PATIENCE = "\n[qdrant]\ntimeout_seconds = {}\npatience_seconds = 0\n"
LONG, SHORT = 60, 1
"""Seconds; the short time is for a server that does not answer at all."""


def _answered(status: int, said: str = "trouble") -> Callable[[FakeQdrant], Faults]:
    return lambda server: lambda method, path: Fault(status, said)


def _away(server: FakeQdrant) -> Faults:
    server.stop()
    return lambda method, path: None


def _slow(server: FakeQdrant) -> Faults:
    return lambda method, path: Fault(held=threading.Event())


def _restarting_in_the_middle_of_a_batch(server: FakeQdrant) -> Faults:
    """The head is written, and then nobody answers."""
    written: list[str] = []

    def happens(method: str, path: str) -> Fault:
        if path.endswith("/points/batch"):
            written.append(path)
        return Fault(503 if len(written) > 1 else 0)

    return happens


def _losing_each_acknowledgement(server: FakeQdrant) -> Faults:
    return lambda method, path: Fault(lost=path.endswith("/points/batch"))


FAULTS: dict[str, Callable[[FakeQdrant], Faults]] = {
    "away": _away,
    "slow": _slow,
    "busy 429": _answered(429),
    "broken 500": _answered(500),
    "restarting mid-batch": _restarting_in_the_middle_of_a_batch,
    "lost acknowledgement": _losing_each_acknowledgement,
    "full disk": _answered(500, "Service internal error: No space left on device"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeQdrant]:
    with FakeQdrant() as opened:
        yield opened


@pytest.fixture(scope="module")
def vault(server: FakeQdrant, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("faults") / "vault"
    url = _url(server)
    app.init(str(root), state_dir=f"{root}.state", store=url)
    _configure(root, server, LONG)
    return root


def _url(server: FakeQdrant) -> str:
    return f"qdrant://127.0.0.1:{server.port}/test"


def _configure(vault: Path, server: FakeQdrant, timeout: int) -> None:
    configure_machine(vault, f'store = "{_url(server)}"{PATIENCE.format(timeout)}')
    open_scopes(vault)


def _opened(vault: Path) -> Memory:
    return app.open(str(vault), agent="indy", state_dir=f"{vault}.state")


@pytest.fixture(autouse=True)
def _model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.long(4)
def test_a_store_in_trouble_costs_no_word(vault: Path, server: FakeQdrant, name: str) -> None:
    word = f"word{[*FAULTS].index(name)}x"
    _configure(vault, server, LONG)
    with _opened(vault) as memory:
        fact = memory.remember(f"The ferry {word}.", title=word, scope="public")
        memory.sync()
        memory.index()
        note = vault / str(memory.get(fact.id).path)
    _configure(vault, server, SHORT if name == "slow" else LONG)
    with _opened(vault) as memory:
        server.fault = FAULTS[name](server)
        waiting = memory.remember(f"Agent {word}.", title=f"a {word}", scope="public")
        text = note.read_text(encoding="utf-8")
        note.write_text(text.replace("The ferry", "My ferry"), encoding="utf-8")
        # Where reads are answered and writes are not, a pass begins, and breaks off.
        breaks_off = name == "lost acknowledgement"
        with pytest.raises(StoreUnavailableError) if breaks_off else nullcontext():
            memory.sync()
        found = memory.recall(f"ferry {word}", mode="vector")
        assert fact.id in {hit.id for hit in found}
        if name not in ("restarting mid-batch", "lost acknowledgement"):
            assert found.degraded
            assert found.source == "index"
            assert memory.status().outbox == 1

        server.start()
        server.fault = lambda method, path: None
        # It is not asked for as long as the last caller waited in vain.
        wait_until(lambda: "store_away" not in {each.kind for each in memory.sync().attention})
        memory.sync()
        memory.index()
        assert memory.status().outbox == 0
        assert "My ferry" in memory.get(fact.id).content
        assert f"Agent {word}." in memory.get(waiting.id).content
        assert memory.verify().equal
        assert not memory.recall(f"ferry {word}", mode="vector").degraded


def test_where_vectors_do_not_fit_the_index_answers(vault: Path, server: FakeQdrant) -> None:
    with _opened(vault) as memory:
        fact = memory.remember("The gate is wide.", scope="public")
        memory.sync()
        memory.index()
    (name,) = (each.name for each in server.client.get_collections().collections)
    wrong = "Wrong input: Vector dimension error: expected dim: 8, got 64"
    server.fault = lambda method, path: Fault(400 * path.endswith("/query"), wrong)

    with _opened(vault) as memory:
        found = memory.recall("gate", mode="vector")
        server.fault = lambda method, path: None

        assert found.hits[0].id == fact.id
        assert "expected dim" in " ".join(found.degraded)
        assert memory.verify().equal
    assert name == "agent_memory_test"


def test_a_store_that_restarts_is_waited_for_without_the_lock_of_the_engine(
    vault: Path, server: FakeQdrant, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_machine(
        vault, f'store = "qdrant://127.0.0.1:{server.port}/test"\n[qdrant]\npatience_seconds = 60\n'
    )
    free: list[bool] = []

    def looks(clock: SystemClock, seconds: float) -> None:
        del clock, seconds
        other = EngineLock(memory.settings.state_dir, "")
        free.append(other.try_lock())
        if free[-1]:
            other.unlock()
        if len(free) == 2:
            server.fault = lambda method, path: None

    with _opened(vault) as memory:
        server.fault = lambda method, path: Fault(503)
        monkeypatch.setattr(SystemClock, "sleep", looks)
        memory.sync()
    assert free == [True, True]
