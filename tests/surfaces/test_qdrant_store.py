"""The command line over a store in Qdrant: upkeep, migration, two machines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from tests.forked import start_program
from tests.machines import configure_machine
from tests.qdrant_server import FakeQdrant, Fault
from tests.qdrants import SERVER, needs_server
from tests.world import open_scopes
from vaultsync import errors
from vaultsync.api import opening as app
from vaultsync.api import store_migration
from vaultsync.api.wiring import Services
from vaultsync.backends.qdrant.edge_journal import JOURNAL_FILE
from vaultsync.backends.qdrant.qdrant_store import QdrantStore
from vaultsync.backends.sqlite import database as sqlite_file
from vaultsync.backends.state.settings_files import edit_machine_file
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.cli.main import cli
from vaultsync.model.fact import Fact
from vaultsync.service.memory_worker import MemoryWorker

pytestmark = pytest.mark.long(5)

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")


@pytest.fixture
def edge(tmp_path: Path) -> str:
    app.init(str(tmp_path / "vault"), store="qdrant+edge:../edge")
    open_scopes(tmp_path / "vault")
    return str(tmp_path / "vault")


def test_a_journal_of_a_crash_beside_a_newer_copy_undoes_nothing(edge: str, tmp_path: Path) -> None:
    """As when a backup of the shard is unpacked over the folder that a crash left."""
    with app.open(edge) as memory:
        kept, gone, back = (memory.remember(f"{x} is old.") for x in ("Buoy", "Crane", "Tide"))
        memory.forget(back.id)
        memory.update(kept.id, content="Buoy is older.")
        (journal,) = (tmp_path / "edge").rglob(JOURNAL_FILE)
        of_crash = journal.read_bytes()
    with app.open(edge) as memory:
        memory.update(kept.id, content="Buoy is new.")
        memory.restore(back.id)
        memory.purge(gone.id)
        facts, state = memory.list(all=True).facts, memory.status().facts
    journal.write_bytes(of_crash)
    with app.open(edge) as memory:
        assert memory.list(all=True).facts == facts
        assert memory.status().facts == state == 2
        assert memory.verify().equal


def test_facts_and_vectors_go_from_store_to_store(tmp_path: Path) -> None:
    vault = str(tmp_path / "vault")
    app.init(vault)
    with app.open(vault) as memory:
        ids = [memory.remember(f"Ferry number {n}.").id for n in range(3)]
        memory.forget(ids.pop())
        memory.sync()
        memory.index()

    for store in ("qdrant+edge:../edge", "qdrant+local:../local", "sqlite:../x.db"):
        with app.open(vault) as memory:
            done = memory.migrate(store)
        assert (done.facts, done.tombstones, done.copied) == (2, 1, 4)
        # Those beside SQLite are there from the beginning.
        assert done.vectors == (0 if store.startswith("sqlite") else 2)
        with app.open(vault) as memory:
            assert memory.sync().quiet
            assert memory.index().embedded == 0
            assert memory.verify().equal
            found = memory.recall("ferry", mode="vector")
            assert {hit.id for hit in found} == set(ids)
            assert not found.degraded


def _migrated_and_changed(vault: Path, other: str) -> list[Fact]:
    """Move three facts to another store; then edit the note of the first and forget the second."""
    with app.open(str(vault)) as memory:
        facts = [memory.remember(f"Ferry number {n}.") for n in range(3)]
        memory.migrate(other)
    with app.open(str(vault)) as memory:
        note = vault / str(facts[0].path)
        note.write_text(note.read_text().replace("number 0", "number zero"))
        memory.sync()
        memory.forget(facts[1].id)
    return facts


@pytest.mark.parametrize("other", ["sqlite:../x.db", "qdrant+edge:../edge"])
def test_a_vault_that_returns_to_an_old_store_keeps_all_changes(tmp_path: Path, other: str) -> None:
    vault = tmp_path / "vault"
    state = Path(app.init(str(vault)).state_dir)
    edited, _, purged = _migrated_and_changed(vault, other)
    note = vault / str(edited.path)
    expected = note.read_text()
    with app.open(str(vault)) as memory:
        memory.purge(purged.id, max_delete=9)
        memory.migrate("sqlite")

    with app.open(str(vault)) as memory:
        assert memory.sync().quiet
        assert memory.verify().equal
        assert memory.get(edited.id).content == "Ferry number zero."
        assert [fact.id for fact in memory.list().facts] == [edited.id]
    assert note.read_text() == expected
    assert b"number 2" not in (state / "store.sqlite3").read_bytes()


@pytest.mark.parametrize("other", ["sqlite:../x.db", "qdrant+edge:../edge"])
def test_a_vault_without_archive_takes_no_older_texts(tmp_path: Path, other: str) -> None:
    vault = tmp_path / "vault"
    state = Path(app.init(str(vault)).state_dir)
    edited, forgotten, unchanged = _migrated_and_changed(vault, other)
    note = vault / str(edited.path)
    expected = note.read_text()
    for path in state.glob("archive.sqlite3*"):
        path.unlink()

    with app.open(str(vault)) as memory:
        memory.sync()
        with pytest.raises(errors.UnknownStoreError, match="2 facts") as raised:
            memory.migrate("sqlite")
        assert {*raised.value.examples} == {edited.id, forgotten.id}
    with app.open(str(vault)) as memory:
        assert memory.sync().quiet
        assert memory.get(edited.id).content == "Ferry number zero."
    assert note.read_text() == expected
    for path in state.glob("store.sqlite3*"):
        path.unlink()
    with app.open(str(vault)) as memory:
        memory.migrate("sqlite")
        assert {fact.id for fact in memory.list().facts} == {edited.id, unchanged.id}
    assert note.read_text() == expected


@pytest.mark.parametrize("other", ["sqlite:../x.db", "qdrant+edge:../edge"])
def test_a_process_that_has_the_old_store_open_reverts_nothing(tmp_path: Path, other: str) -> None:
    vault = tmp_path / "vault"
    app.init(str(vault))
    with app.open(str(vault)) as held:
        fact = held.remember("Ferry number 0.")
        held.sync()
        with app.open(str(vault)) as memory:
            memory.migrate(other)
            assert memory.verify().equal
        note = vault / str(fact.path)
        note.write_text(note.read_text().replace("number 0", "number zero"))
        with pytest.raises(errors.StoreUnavailableError, match="name another one by now"):
            held.list()
        with pytest.raises(
            errors.StoreUnavailableError, match=r"by now: .*; .* not known locally"
        ) as raised:
            held.update("018e3b2e-4c5f-7a3b-8c9d-0123456789ab", content="Ferry number 2.")
        assert "open the vault again" in raised.value.hint
        held.sync()
        held.remember("Ferry number 1.")

        with app.open(str(vault)) as memory:
            memory.sync()
            expected = {"Ferry number zero.", "Ferry number 1."}
            assert {each.content for each in memory.list().facts} == expected
            assert memory.verify().equal
        assert "number zero" in note.read_text()


def test_servers_follow_the_vault_to_another_store(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    app.init(str(vault))
    with MemoryWorker(lambda: app.open(str(vault)), name="held") as held:
        fact = held(lambda memory: memory.remember("Ferry number 0."))
        with app.open(str(vault)) as memory:
            memory.migrate("sqlite:../x.db")
        held(lambda memory: memory.edit(fact.id, append="It is new."))
        with app.open(str(vault)) as memory:
            assert memory.get(fact.id).content.endswith("It is new.")
            assert memory.sync().quiet
            assert held(lambda memory: memory.store_path) == memory.store_path


@pytest.mark.parametrize(
    ("during", "is_killed"),
    [
        *(("migrate", False), ("verify", False), ("vectors", False), ("vectors", True)),
        *(("switch", False), ("switch", True)),
    ],
)
def test_what_agents_write_during_a_migration_is_copied_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str, *, is_killed: bool
) -> None:
    vault = tmp_path / "vault"
    app.init(str(vault))
    open_store = Services.open_store

    def killed(self: Services, *, former: bool = False, **named: Any) -> Any:  # noqa: ANN401
        if former and is_killed:
            raise KeyboardInterrupt
        return open_store(self, former=former, **named)

    def switch(*given: Any) -> None:  # noqa: ANN401
        write("switch")
        edit_machine_file(*given)

    if is_killed:
        monkeypatch.setattr(Services, "open_store", killed)
    monkeypatch.setattr(store_migration, "edit_machine_file", switch)
    with app.open(str(vault)) as memory, app.open(str(vault)) as agents:
        memory.remember("Ferry number 0.")
        memory.index()

        def write(stage: str, *_: int) -> None:
            if stage == during:
                agents.remember("Ferry number 1.")

        if is_killed:  # right after the switch
            with pytest.raises(KeyboardInterrupt):
                memory.migrate("qdrant+edge:../edge", progress=write)
        else:
            assert memory.migrate("qdrant+edge:../edge", progress=write).copied == 2
    monkeypatch.setattr(Services, "open_store", open_store)
    with app.open(str(vault)) as memory:
        memory.sync()
        contents = {each.content for each in memory.list().facts}
        assert contents == {"Ferry number 0.", "Ferry number 1."}
        assert memory.verify().equal
        assert memory.sync().quiet


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_former_store_that_is_away_is_asked_again_unless_its_file_was_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_gone: bool
) -> None:
    vault = tmp_path / "vault"
    state = Path(app.init(str(vault)).state_dir)
    with pytest.MonkeyPatch.context() as patch, app.open(str(vault)) as memory:
        patch.setattr(store_migration, "finish_copy", Mock(side_effect=KeyboardInterrupt))
        memory.remember("Ferry number 0.")
        with pytest.raises(KeyboardInterrupt):
            memory.migrate("sqlite:../x.db")
    for path in state.glob("store.sqlite3*"):
        path.unlink()
    if not is_gone:
        (state / "store.sqlite3").mkdir()
    with app.open(str(vault)) as memory:
        for _ in range(2):
            memory.sync()
        assert [each.content for each in memory.list().facts] == ["Ferry number 0."]
    assert len([x for x in caplog.messages if "former store" in x]) == (0 if is_gone else 2)


def test_a_write_that_waits_while_the_vault_leaves_the_store_is_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "vault"
    app.init(str(vault))
    with app.open(str(vault)) as memory, app.open(str(vault)) as agents:
        memory.remember("Ferry number 0.")
        begin = sqlite_file.transaction

        def late(db: sqlite3.Connection) -> AbstractContextManager[sqlite3.Connection]:
            monkeypatch.setattr(sqlite_file, "transaction", begin)
            memory.migrate("sqlite:../x.db")
            return begin(db)

        monkeypatch.setattr(sqlite_file, "transaction", late)
        queued = agents.remember("Ferry number 1.")
        assert agents.waits(queued.id)
    with app.open(str(vault)) as memory:
        memory.sync()
        contents = {each.content for each in memory.list().facts}
        assert contents == {"Ferry number 0.", "Ferry number 1."}


@pytest.mark.parametrize("is_update", [True, False])
def test_a_write_to_a_server_that_ends_after_the_vault_left_it_is_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_update: bool
) -> None:
    vault = tmp_path / "vault"
    with FakeQdrant() as server:
        app.init(str(vault), store=f"qdrant://127.0.0.1:{server.port}/test")
        with app.open(str(vault)) as memory, app.open(str(vault)) as agents:
            fact = memory.remember("Ferry number 0.")
            head = QdrantStore._head

            def late(store: QdrantStore) -> Any:  # noqa: ANN401 - passed on
                if store is agents._services.store:
                    monkeypatch.setattr(QdrantStore, "_head", head)
                    memory.migrate("sqlite:../x.db")
                return head(store)

            monkeypatch.setattr(QdrantStore, "_head", late)
            if is_update:
                fact = agents.update(fact.id, content="Ferry number 1.")
            else:
                fact = agents.remember("Ferry number 1.")
            assert agents.waits(fact.id)
        with app.open(str(vault)) as memory:
            memory.sync()
            contents = {each.content for each in memory.list().facts}
            assert contents == {"Ferry number 1.", *([] if is_update else ["Ferry number 0."])}
            assert memory.conflicts() == ()
            assert memory.sync().quiet


def test_a_migration_that_is_killed_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed among the facts, and once more among the vectors."""
    vault = tmp_path / "vault"
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", f"{vault}.state")
    app.init(str(vault))
    texts = [json.dumps({"content": f"Ferry number {n}."}) for n in range(600)]
    with app.open(str(vault)) as memory:
        memory.import_(texts)
        memory.forget(memory.list(limit=1).facts[0].id)
        memory.sync()
        memory.index()
    with FakeQdrant() as server:
        url = f"qdrant://127.0.0.1:{server.port}/test"
        batches = []

        def kills(method: str, path: str) -> Fault | None:
            if path.endswith("/points/batch"):
                batches.append(path)
            if len(batches) in (3, 5):
                killed.kill()
            return None

        server.fault = kills
        for _ in range(2):
            killed = _started(["migrate", "--to", url], vault)
            killed.communicate(timeout=300)
            assert killed.returncode == -signal.SIGKILL
        server.fault = lambda method, path: None

        with app.open(str(vault)) as memory:
            assert "sqlite" in memory.store_path
            assert memory.verify().equal
            done = memory.migrate(url)
        assert (done.facts, done.tombstones) == (599, 1)
        assert done.copied < 600
        assert done.vectors == 599
        with app.open(str(vault)) as memory:
            assert memory.sync().quiet
            proof = memory.verify()
            assert (proof.equal, proof.checked) == (True, 599)
            assert memory.index().embedded == 0


def test_a_fact_that_replaces_no_other_is_restored(edge: str) -> None:
    with app.open(edge) as memory:
        fact = memory.remember("Ferry.")
        memory.forget(fact.id)
        assert memory.restore(fact.id).status == "active"
        assert memory.get(fact.id).path == fact.path


def test_a_migration_to_where_the_facts_are_is_refused(edge: str) -> None:
    with app.open(edge) as memory, pytest.raises(errors.ConfigError, match="already"):
        memory.migrate("qdrant+edge:../edge")


def test_another_path_of_the_same_store_is_no_target_of_a_migration(tmp_path: Path) -> None:
    vault, link = str(tmp_path / "vault"), tmp_path / "link"
    app.init(vault)
    link.symlink_to(tmp_path)
    with app.open(vault) as memory:
        memory.migrate("sqlite:../other.db")
    for path in (link / "other.db", tmp_path / "vault" / ".." / "other.db"):
        with app.open(vault) as memory, pytest.raises(errors.ConfigError, match="already"):
            memory.migrate(f"sqlite:{path}")


@pytest.mark.parametrize("kind", ["sqlite:{}.db", "qdrant+edge:{}"])
def test_no_migration_leads_into_the_vault_or_anothers_store(tmp_path: Path, kind: str) -> None:
    vault, link = str(tmp_path / "vault"), tmp_path / "link"
    app.init(vault)
    other = Path(app.init(str(tmp_path / "other")).state_dir)
    link.symlink_to(tmp_path / "vault")
    places = {"store": "in the vault", f"{link}/store": "in the vault", f"{other}/x": "another"}
    for place, why in {**places, f"{other}/store.sqlite3": "another"}.items():
        with app.open(vault) as memory, pytest.raises(errors.ConfigError, match=why):
            memory.migrate(kind.format(place))
    assert list(tmp_path.rglob("store.db")) == list(tmp_path.rglob("x*")) == []
    for place in ("sqlite:../outside.db", "sqlite"):
        with app.open(vault) as memory:
            memory.migrate(place)


def test_a_migration_is_told_in_words(tmp_path: Path) -> None:
    vault = str(tmp_path / "vault")
    app.init(vault)
    with app.open(vault) as memory:
        memory.remember("Ferry.")

    words = ["migrate", "--to", "sqlite:../other.db", "--vault", vault]
    told = CliRunner().invoke(cli, words)

    assert told.stderr == (
        f"{tmp_path / 'vault' / '../other.db'} has 1 fact and 0 tombstones: 1 copied now;"
        " the vault now uses this store; the former one still has all texts: delete it when you do"
        " not need it any more\n"
    )
    status = CliRunner().invoke(cli, ["status", "--json", *words[3:]])
    assert json.loads(status.stdout)["facts"] == 1


def test_upkeep_clears_old_tombstones_away(edge: str, tmp_path: Path) -> None:
    lines = 'store = "qdrant+edge:../edge"\n[qdrant]\nretention_days = 0\n'
    configure_machine(tmp_path / "vault", lines)
    with app.open(edge) as memory:
        fact = memory.remember("Gone soon.")
        memory.forget(fact.id)
        memory.maintain(dry_run=True)
        assert memory._ctx.store.tombstone(fact.id) is not None
        memory._ctx.clock.sleep(1.1)  # tombstones are dated to the second
        memory.maintain()
        assert memory._ctx.store.last_write(fact.id) is None
        with pytest.raises(errors.FactNotFoundError):
            memory.get(fact.id)


def test_what_faded_below_the_floor_of_the_settings_goes(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    app.init(str(vault), store="qdrant+edge:../edge")
    # An episode is half gone after 14 days.
    then = (SystemClock().now() - timedelta(days=20)).isoformat()
    line = {"type": "episodic", "agentId": "indy", "createdAt": then, "updatedAt": then}
    with app.open(str(vault)) as memory:
        memory.import_([json.dumps({**line, "content": "We spoke of the ferry."})])
        memory.sync()
        assert not memory.maintain(dry_run=True).actions
    config = vault / ".meta" / "config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(f"decay_floor = 0.5\n{text}", encoding="utf-8")
    with app.open(str(vault)) as memory:
        (action,) = memory.maintain(dry_run=True).actions
        assert "it faded to 0.37" in action.reason
        assert memory.maintain().counts["deleted_in_store"] == 1


def test_a_store_that_was_lost_is_made_anew_from_the_notes(edge: str, tmp_path: Path) -> None:
    with app.open(edge) as memory:
        memory.remember("Stays in the note.")
        memory.sync()
    shutil.rmtree(tmp_path / "edge")

    with app.open(edge) as memory:
        assert [each.kind for each in memory.sync().attention] == ["store_away"]
        memory.rebuild(source="vault")
        proof = memory.verify()
        assert (proof.equal, proof.checked) == (True, 1)


def test_another_collection_is_another_store(edge: str, tmp_path: Path) -> None:
    with app.open(edge) as memory:
        memory.remember("Mine.")
        memory.sync()
    app.init(str(tmp_path / "other"), store="qdrant+edge:../elsewhere")
    with app.open(str(tmp_path / "other")) as memory:
        memory.remember("Theirs.")

    with (
        app.open(edge, store="qdrant+edge:../elsewhere") as memory,
        pytest.raises(errors.StoreMismatchError),
    ):
        memory.sync()


@pytest.fixture(params=["ours", pytest.param("there", marks=needs_server)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server: one of ours, and the one that is named."""
    if request.param == "there":
        yield f"{SERVER}/test-{os.getpid()}"
        return
    with FakeQdrant() as server:
        yield f"qdrant://127.0.0.1:{server.port}/test"


def _started(words: list[str], vault: Path) -> subprocess.Popen[str]:
    return start_program(
        [sys.executable, "-m", "vaultsync", *words, "--vault", str(vault), "--json"],
        cwd=ROOT,
        env=os.environ
        | {"VAULTSYNC_STATE_DIR": str(vault) + ".state", "VAULTSYNC_EMBEDDER": "none"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _said(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    said: dict[str, Any] = json.loads(out)
    return said


@pytest.mark.timeout(600)  # two processes, each of which loads the client
def test_two_machines_over_one_server_say_the_same(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    vaults = [tmp_path / "one", tmp_path / "two"]
    for vault in vaults:
        app.init(str(vault), state_dir=f"{vault}.state", store=url)

    def remember(vault: Path) -> str:
        with app.open(str(vault), state_dir=f"{vault}.state") as memory:
            return memory.remember(f"From {vault.name}.").id

    with ThreadPoolExecutor() as pool:
        made = {*pool.map(remember, vaults)}
    both = [_started(["sync"], vault) for vault in vaults]
    assert [_said(each)["attention"] for each in both] == [[], []]

    for vault in vaults:
        with app.open(str(vault), state_dir=f"{vault}.state") as memory:
            assert memory.sync().quiet
            proof = memory.verify()
            assert (proof.equal, proof.checked) == (True, 2)
            assert {fact.id for fact in memory.list().facts} == made
        assert len(list((vault / "public").rglob("*.md"))) == 2


@pytest.mark.parametrize("kind", ["edge", "local"])
def test_the_facts_of_a_folder_are_closed_to_other_users(tmp_path: Path, kind: str) -> None:
    vault, folder = str(tmp_path / "vault"), tmp_path / "facts"
    app.init(vault, store=f"qdrant+{kind}:../facts")
    folder.chmod(0o755)
    for each in folder.iterdir():
        each.chmod(0o755 if each.is_dir() else 0o644)
    with app.open(vault) as memory:
        (before,) = (each for each in memory.doctor() if each.name == "store place")
        assert not before.ok
        memory.remember("Ferry.")
        (after,) = (each for each in memory.doctor() if each.name == "store place")
        assert after.ok
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert files
    for file in files:
        above = [each for each in file.parents if each.is_relative_to(folder)]
        assert any(each.stat().st_mode & 0o077 == 0 for each in above), file


@pytest.mark.parametrize("kind", ["edge", "local"])
def test_no_file_of_facts_is_open_to_other_users(tmp_path: Path, kind: str) -> None:
    """Not even where the folder above it is opened to them later, or is copied."""
    vault, folder = str(tmp_path / "vault"), tmp_path / "facts"
    app.init(vault, store=f"qdrant+{kind}:../facts")
    (elsewhere := tmp_path / "elsewhere").write_text("")
    elsewhere.chmod(0o644)

    def opened() -> list[Path]:
        return [each for each in folder.rglob("*") if each.lstat().st_mode & 0o077]

    with app.open(vault) as memory:
        memory.remember("Ferry.")
    assert opened() == []

    for each in folder.rglob("*"):  # as they were made before
        if ".lock" not in each.name:
            each.chmod(0o755 if each.is_dir() else 0o644)
    (folder / "link").symlink_to(elsewhere)
    with app.open(vault) as memory:
        assert memory.list().facts
    (folder / "link").unlink()
    assert opened() == []
    assert elsewhere.stat().st_mode & 0o777 == 0o644


def test_isolated_scopes_are_one_store_whose_words_are_in_their_own_collections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    vault = str(tmp_path / "vault")
    with FakeQdrant() as server:
        url = f"qdrant://127.0.0.1:{server.port}/test"

        def holders(word: str) -> set[str]:
            names = [each.name for each in server.client.get_collections().collections]
            return {each for each in names if word in repr(server.client.scroll(each, limit=99)[0])}

        app.init(vault, store=url)
        isolated = '[qdrant]\nisolated_scopes = ["private-*"]\n'
        configure_machine(Path(vault), f'store = "{url}"\n{isolated}')
        with app.open(vault) as memory:
            memory.remember("The ferry leaves.", scope="public")
            for agent in ("indy", "bob"):
                memory.remember(f"The ferry of {agent}word.", scope=f"private-{agent}")
            gone = memory.remember("Old indyword.", scope="private-indy")
            memory.forget(gone.id)
            memory.sync()
            memory.index()
            assert len(memory.recall("ferry", mode="vector")) == 3
            assert holders("indyword") == {"agent_memory_test.private-indy"}
            assert holders("bobword") == {"agent_memory_test.private-bob"}

            (moved,) = memory.list(scope="private-bob").facts
            note = Path(vault, str(moved.path))
            note.rename(Path(vault, "public", *note.relative_to(vault).parts[1:]))
            memory.sync(allow_scope_moves=True)
            assert memory.sync().quiet
            memory.index()
            assert memory.index().embedded == 0
            assert len(memory.recall("ferry", mode="vector")) == 3
            proof = memory.verify()
            assert (proof.equal, proof.checked) == (True, 3)
            memory.maintain()
            lines: list[str] = []
            assert memory.export(lambda each: lines.append(str(each))) == 3

            secret = memory.list(scope="private-indy").facts[0]
            memory.purge(secret.id, gone.id, max_delete=9)
            assert holders("indyword") == set()
            done = memory.migrate("sqlite:../x.db")
            assert (done.facts, done.tombstones) == (2, 2)
