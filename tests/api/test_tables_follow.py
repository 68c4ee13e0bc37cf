"""`.index/` follows what agents write, also where no daemon runs and nothing is synced."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import vaultsync
from vaultsync.api.memory import Memory
from vaultsync.backends.state.engine_lock import tables_lock
from vaultsync.index_files.service import tables_are_current

pytestmark = pytest.mark.long(5)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    made = tmp_path / "vault"
    vaultsync.init(str(made), state_dir=str(tmp_path / "state"))
    return made


def opened(vault: Path) -> Memory:
    return vaultsync.open(str(vault), state_dir=str(vault.parent / "state"))


def table(vault: Path) -> str:
    return (vault / ".index" / "vault-index.md").read_text(encoding="utf-8")


def test_tables_are_up_to_date_after_each_write(vault: Path) -> None:
    with opened(vault) as memory:
        fact = memory.remember("The berth is held.")
        memory.remember("The gate is shut.")
    assert "Total facts: 2" in table(vault)
    with opened(vault) as memory:
        memory.update(fact.id, content="The berth is free.")
    assert "The berth is free" in table(vault)
    with opened(vault) as memory:
        memory.forget(fact.id)
    assert "Total facts: 1" in table(vault)
    with opened(vault) as memory:
        assert tables_are_current(memory._engine.ctx)


def test_reading_writes_no_tables(vault: Path) -> None:
    with opened(vault) as memory:
        memory.remember("The berth is held.")
    before = (vault / ".index" / "vault-index.md").stat()
    with opened(vault) as memory:
        assert memory.recall("berth").hits
        memory.list()
    assert (vault / ".index" / "vault-index.md").stat() == before


def test_while_another_process_has_the_engine_or_tables_they_are_left_to_it(vault: Path) -> None:
    with opened(vault) as other:
        with other._engine.lock, opened(vault) as memory:
            memory.remember("The berth is held.")
        assert not (vault / ".index" / "vault-index.md").exists()
        with tables_lock(vault.parent / "state" / other.settings.vault_id):
            with opened(vault) as memory:
                memory.remember("The gate is shut.")
            assert not (vault / ".index" / "vault-index.md").exists()
        other.sync()
    assert "Total facts: 2" in table(vault)


@pytest.mark.long(5)
def test_tables_of_a_thousand_facts_cost_no_more_than_fifty_remembers(vault: Path) -> None:
    line = '{{"content": "Fact {0} of the harbour.", "title": "Fact {0}"}}'
    with opened(vault) as memory:
        memory.import_(line.format(number) for number in range(1_000))
        memory.sync()
        began = time.process_time()
        for number in range(50):
            memory.remember(f"More {number}.")
        memory._engine.record_bases()
        written = time.process_time()
        memory._engine.finish()
        tables = time.process_time() - written
        assert tables_are_current(memory._engine.ctx)
    assert tables < written - began
