"""One damaged row of a store: it is named, left alone, and takes nothing from the others."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import vaultsync as app
from vaultsync.backends.qdrant.connection import parse_qdrant_settings
from vaultsync.backends.qdrant.edge import EdgePointCollection
from vaultsync.backends.qdrant.operations import Point, UpsertPoints
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.cli.main import cli
from vaultsync.errors import DamagedFactError, StoreUnavailableError
from vaultsync.settings import QdrantSettings

pytestmark = pytest.mark.long(5)

Damage = Callable[[str], None]


@pytest.fixture(autouse=True)
def _without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")


@pytest.fixture(params=["sqlite", "qdrant+edge"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    app.init(str(tmp_path / "vault"), store=f"{request.param}:{tmp_path / 'store'}")
    return str(tmp_path / "vault")


@pytest.fixture
def damage(vault: str, tmp_path: Path) -> Damage:
    """Leaves half of what the store holds of a fact."""
    store = tmp_path / "store"

    def in_sqlite(fact_id: str) -> None:
        with closing(sqlite3.connect(store)) as db, db:
            half = "UPDATE facts SET body = substr(body, 1, length(body) / 2) WHERE id = ?"
            db.execute(half, (fact_id,))

    def in_edge(fact_id: str) -> None:
        place = parse_qdrant_settings(f"qdrant+edge:{store}", QdrantSettings(), root=tmp_path)
        points = EdgePointCollection(place, clock=SystemClock())
        payload = points.take([fact_id])[fact_id]
        half = payload["rest"][: len(payload["rest"]) // 2]
        points.do([UpsertPoints([Point(fact_id, {**payload, "rest": half})])])
        points.close()

    return in_edge if store.is_dir() else in_sqlite


def remember(vault: str, *texts: str) -> list[str]:
    with app.open(vault) as memory:
        ids = [memory.remember(f"{text}.", title=text).id for text in texts]
        memory.sync()
    return ids


def test_a_damaged_row_is_named_and_the_others_go_on(vault: str, damage: Damage) -> None:
    sound, bad = remember(vault, "Sound", "Bad")
    damage(bad)
    root = Path(vault)
    (note,) = root.rglob("*bad.md")
    before = note.read_bytes()
    note.write_bytes(before.replace(b"Bad.", b"Bad, says a person."))
    edited = note.read_bytes()

    with app.open(vault) as memory:
        (notice,) = memory.sync().attention
        assert notice.kind == "damaged_fact"
        assert bad in notice.message
        assert "rebuild --from vault" in notice.hint
        assert [each.kind for each in memory.status().attention] == ["damaged_fact"]
        (difference,) = memory.verify().differences
        assert difference.fact_id == bad
        assert "damaged in the store" in difference.why
        assert [fact.id for fact in memory.list().facts] == [sound]
        with pytest.raises(DamagedFactError, match=bad):
            memory.get(bad)
        assert [hit.id for hit in memory.recall("sound").hits] == [sound]
        memory.maintain()
        lines: list[str] = []
        assert memory.export(lines.append) == 1
    assert note.read_bytes() == edited


def test_an_export_says_what_it_left_out(vault: str, damage: Damage) -> None:
    sound, bad = remember(vault, "Sound", "Bad")
    damage(bad)

    exported = CliRunner().invoke(cli, ["export", "-", "--vault", vault])

    (line,) = exported.stdout.splitlines()
    assert json.loads(line)["id"] == sound
    assert exported.exit_code == 3
    assert bad in exported.stderr
    assert "damaged" in exported.stderr


def test_a_rebuild_from_the_notes_makes_a_damaged_row_sound(vault: str, damage: Damage) -> None:
    _, bad = remember(vault, "Sound", "Bad")
    damage(bad)
    with app.open(vault) as memory:
        memory.rebuild(source="store")
        assert "damaged" in str(memory.verify().differences)
        memory.rebuild(source="vault")
        proof = memory.verify()
        assert (proof.equal, proof.checked) == (True, 2)
        assert memory.get(bad).content.strip() == "Bad."
        assert not memory.sync().attention


def test_a_damaged_row_that_has_no_note_is_named(vault: str, damage: Damage) -> None:
    _, bad = remember(vault, "Sound", "Bad")
    damage(bad)
    state = Path(vault).parent / "again"
    app.init(vault, state_dir=str(state))
    with app.open(vault, state_dir=str(state)) as memory:
        assert bad in memory.sync().attention[0].message
        assert {each.fact_id for each in memory.verify().differences} >= {bad}


def test_no_facts_migrate_without_a_damaged_one(vault: str, damage: Damage, tmp_path: Path) -> None:
    _, bad = remember(vault, "Sound", "Bad")
    damage(bad)
    with app.open(vault) as memory, pytest.raises(DamagedFactError, match=bad):
        memory.migrate(f"sqlite:{tmp_path / 'other'}")


@pytest.mark.parametrize("store", ["qdrant+edge", "qdrant+local"])
def test_nothing_is_put_in_the_place_of_a_store_that_is_away(tmp_path: Path, store: str) -> None:
    vault, place = str(tmp_path / "vault"), tmp_path / "store"
    app.init(vault, store=f"{store}:{place}")
    (sound,) = remember(vault, "Sound")
    place.rename(tmp_path / "away")
    with app.open(vault) as memory:
        (notice,) = memory.sync().attention
        assert "its collection is not there" in notice.message
        assert [hit.id for hit in memory.recall("sound").hits] == [sound]
    assert not place.exists()
    (tmp_path / "away").rename(place)
    with app.open(vault) as memory:
        assert memory.sync().quiet
        assert memory.get(sound).title == "Sound"


def test_a_vault_whose_store_was_away_from_the_start_can_be_made_again(tmp_path: Path) -> None:
    vault, folder = str(tmp_path / "vault"), tmp_path / "disk"
    for _ in range(2):
        with pytest.raises(StoreUnavailableError) as away:
            app.init(vault, store=f"sqlite:{folder}/store")
        assert "config set store" in away.value.hint
    with app.open(vault) as memory:
        assert memory.status().attention
    folder.mkdir()
    app.init(vault, store=f"sqlite:{folder}/store")
    (fact_id,) = remember(vault, "Sound")
    folder.rename(tmp_path / "away")
    with pytest.raises(StoreUnavailableError):  # it is known now: no other takes its place
        app.init(vault)
    (tmp_path / "away").rename(folder)
    with app.open(vault) as memory:
        assert memory.get(fact_id).title == "Sound"


def test_the_status_of_a_damaged_file_says_how_to_repair_it(tmp_path: Path) -> None:
    store = tmp_path / "store"
    app.init(str(tmp_path / "vault"), store=f"sqlite:{store}")
    remember(str(tmp_path / "vault"), "Sound")
    store.write_bytes(b"x" * 10_000)
    with app.open(str(tmp_path / "vault")) as memory:
        (notice,) = memory.status().attention
        degraded = memory.index().degraded
    assert "damaged" in notice.message
    assert notice.hint.startswith("restore the store from a backup")
    assert len(degraded) == 1, "the reason is given once, and not for each index"


@pytest.mark.parametrize(
    ("store", "file", "data", "why"),
    [
        ("qdrant+edge", "edge_config.json", b"\xff{", "edge_config.json is damaged"),
        ("qdrant+edge", "edge_config.json", b"[]", "edge_config.json is damaged"),
        ("qdrant+edge", "payload_storage/page_0.dat", b"x", "the engine stopped"),
        ("qdrant+local", "meta.json", b"{half", "is damaged: JSONDecodeError"),
        ("qdrant+local", "meta.json", b"{}", "is damaged: KeyError"),
    ],
)
def test_a_damaged_folder_of_qdrant_is_a_store_that_is_away(
    tmp_path: Path, store: str, file: str, data: bytes, why: str
) -> None:
    vault = str(tmp_path / "vault")
    app.init(vault, store=f"{store}:{tmp_path / 'store'}")
    (sound,) = remember(vault, "Sound")
    for path in (tmp_path / "store").rglob(Path(file).name):
        if path.match(file):
            path.write_bytes(data)
    for _ in range(2):
        with app.open(vault) as memory:
            (notice,) = memory.sync().attention
            assert why in notice.message
            assert "rebuild --from vault" in notice.hint
            assert [hit.id for hit in memory.recall("sound").hits] == [sound]
