"""`vaultsync bases write`: what a person edits stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import vaultsync
from vaultsync.cli.main import cli
from vaultsync.errors import ConfigError, ScopeDeniedError, UnsafePathError


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTSYNC_VAULT", str(tmp_path / "vault"))
    vaultsync.init(str(tmp_path / "vault"))
    with vaultsync.open(str(tmp_path / "vault")) as memory:
        memory.remember("We use SQLite.", type="decision", scope="team-core")
        memory.remember("Pay Bo.", type="commitment", scope="public")
    return tmp_path / "vault"


def run(*words: str) -> Result:
    done = CliRunner().invoke(cli, ["bases", "write", *words])
    assert done.exit_code == 0, done.output
    return done


def test_bases_are_written_once_for_what_there_is(vault: Path) -> None:
    first = json.loads(run("--json").stdout)
    assert first["written"] == len(first["files"]) == 5
    assert sorted(each.name for each in (vault / "Bases").iterdir()) == [
        "Commitments.base",
        "Decisions.base",
        "Memory.base",
        "Scope public.base",
        "Scope team-core.base",
    ]
    again = json.loads(run("--json").stdout)
    assert (again["written"], again["unchanged"], again["edited"]) == (0, 5, [])
    with vaultsync.open(str(vault)) as memory:
        assert memory.sync().quiet


def test_what_a_person_edited_or_made_is_left_alone(vault: Path) -> None:
    run()
    edited = vault / "Bases" / "Decisions.base"
    edited.write_text("views: []\n")
    own = vault / "Tables" / "Memory.base"
    own.parent.mkdir()
    own.write_text("views: []\n")
    assert json.loads(run("--json").stdout)["edited"] == ["Bases/Decisions.base"]
    assert "Tables/Memory.base" in run("--folder", "Tables").stderr
    assert edited.read_text() == own.read_text() == "views: []\n"
    edited.unlink()
    assert json.loads(run("--json").stdout)["files"] == ["Bases/Decisions.base"]


def test_a_base_of_ours_follows_the_version_that_writes_it(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    monkeypatch.setattr("vaultsync.index_files.obsidian_bases._COLUMNS", ("file.name",))
    assert json.loads(run("--json").stdout)["written"] == 5


def test_no_file_is_written_outside_of_the_vault(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (vault / "Linked").symlink_to(tmp_path / "elsewhere")
    (vault / "File").write_text("x")
    with vaultsync.open(str(vault)) as memory:
        for folder in ("../elsewhere", ".obsidian", "/tmp"):  # noqa: S108 - is refused
            with pytest.raises(UnsafePathError):
                memory.write_bases(folder)
        for folder in ("Linked", "Linked/a", "File"):
            with pytest.raises(ConfigError):
                memory.write_bases(folder)
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_a_base_that_is_a_link_is_left_alone(vault: Path, tmp_path: Path) -> None:
    (vault / "Bases").mkdir()
    (vault / "Bases" / "Memory.base").symlink_to(tmp_path / "elsewhere")
    with vaultsync.open(str(vault)) as memory, pytest.raises(ConfigError):
        memory.write_bases()
    assert not (tmp_path / "elsewhere").exists()


def test_an_agent_may_not_write_them(vault: Path) -> None:
    indy, denied = vaultsync.open(str(vault), agent="indy"), pytest.raises(ScopeDeniedError)
    with indy as memory, denied as refused:
        memory.write_bases()
    assert refused.value.message == "agent 'indy' may not write tables of all facts"
    assert "ask the user" in refused.value.hint


def test_types_of_properties_are_shown_and_added_only_when_asked(vault: Path) -> None:
    def types(*words: str) -> Result:
        return CliRunner().invoke(cli, ["bases", "types", *words])

    assert types().exit_code == 2
    file = vault / ".obsidian" / "types.json"
    file.parent.mkdir()
    file.write_text('{"types": {"priority": "date", "tags": "tags"}}')
    before = file.read_text()

    shown = types()

    assert "priority" in shown.stdout
    assert "`vaultsync bases types --write` adds what is missing" in shown.stderr
    assert file.read_text() == before
    with vaultsync.open(str(vault)) as memory:
        said = {each.name: each for each in memory.doctor()}["properties"]
        assert said.ok
        assert "Obsidian shows priority as date, which does not fit" in said.message
    assert json.loads(types("--write", "--json").stdout)["written"]
    now = json.loads(file.read_text())["types"]
    assert (now["priority"], now["createdAt"]) == ("date", "datetime")
    assert "added" not in types().stdout
    file.write_text("[]")
    assert "not changed" in types("--write").stderr
    with vaultsync.open(str(vault), agent="indy") as memory:
        with pytest.raises(ScopeDeniedError):
            memory.property_types(write=True)
        with pytest.raises(ScopeDeniedError):
            memory.graph_colours()
