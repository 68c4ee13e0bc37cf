"""`log --note` writes what changed, the same each time, and what it writes is never a fact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import vaultsync
from tests.fakes import START
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.cli.main import cli
from vaultsync.errors import InvalidFieldError, ProposedError, ScopeDeniedError, UnsafePathError


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTSYNC_VAULT", str(tmp_path / "vault"))
    monkeypatch.setattr(SystemClock, "now", lambda _: START)  # the name of the note has the day
    vaultsync.init(str(tmp_path / "vault"))
    (tmp_path / "old.jsonl").write_text(
        '{"content": "The pier is old.", "createdAt": "2020-01-01T00:00:00Z"}\n'
        '{"content": "The tide was low.", "createdAt": "2020-01-01T00:00:00Z"}\n'
    )
    with vaultsync.open() as memory, (tmp_path / "old.jsonl").open() as lines:
        memory.import_(lines)
        memory.sync()
        memory.remember("Use [[SQLite]] | now <% x %> `$= y`.", type="decision", scope="public")
        memory.forget(memory.remember("Pay `Bo`.", type="commitment", scope="public").id)
        memory.update(memory.get("The pier is old").id, add_tags=["pier"])
        key = "AKIA" + "ABCDEFGHIJKLMNOP"
        ada = memory.remember(f"The gate opens at nine, says {key}.", title="The gate")
    note = tmp_path / "vault" / str(ada.path)
    note.write_text(note.read_text().replace("nine", "ten"))
    with vaultsync.open() as memory:
        memory.update(ada.id, content="The gate opens at noon.")
    with vaultsync.open(agent="indy") as indy, pytest.raises(ProposedError):
        indy.remember("The quay is wet.", scope="public")
    return tmp_path / "vault"


def write(*words: str, code: int = 0) -> dict[str, object]:
    done = CliRunner().invoke(cli, ["log", "--note", "--json", *words])
    assert done.exit_code == code, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_change_note_lists_what_changed_and_is_no_fact(vault: Path) -> None:
    report = write()
    path = vault / str(report["path"])
    text = path.read_text()
    assert report["status"] == "written"
    counted = {"created": 2, "updated": 1, "forgotten": 1, "conflicts": 1, "proposals": 0}
    assert report["counts"] == counted
    assert "**Decision** [[public/decisions/" in text
    assert "|Use ((SQLite)) / now <\\% x %> `\\$= y`" in text
    assert "## Forgotten\n" in text
    assert "Pay \\`Bo\\`" in text
    assert "|The pier is old]]" in text
    assert "|The gate]]: content, open" in text
    assert "The tide was low" not in text
    assert "AKIA" not in text

    with vaultsync.open() as memory:
        assert memory.sync().quiet
        assert memory.adopt(dry_run=True).quiet
        assert memory.status().foreign == 0
        assert memory.verify().equal
        (conflict,) = memory.conflicts()
        memory.resolve(conflict.id, take="store")
        memory.accept_proposals([each.id for each in memory.proposals()])
    assert write()["status"] == "written"
    assert "content, the store's value was taken" in path.read_text()
    assert "The quay is wet”: accepted" in path.read_text()
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert write()["status"] == "unchanged"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_change_note_that_a_person_edited_is_left_alone(vault: Path) -> None:
    path = vault / str(write("--folder", "Log/Weeks")["path"])
    for text in (path.read_text().replace("# Changes", "# Our changes"), "Mine.\n"):
        path.write_text(text)
        assert write("--folder", "Log/Weeks", code=3)["status"] == "edited"
        assert path.read_text() == text
    with vaultsync.open() as memory:
        memory.import_(['{"content": "It has no note yet."}'])
    shown = CliRunner().invoke(cli, ["log", "--note", "--since", "2019"])
    assert "written: 5 created" in shown.stderr
    assert "**Note** It has no note yet\n" in (vault / shown.stdout.strip()).read_text()


def test_a_change_note_is_for_the_user_in_the_vault_and_of_a_span(vault: Path) -> None:
    with vaultsync.open() as memory:
        for folder in ("../out", "/tmp", ".obsidian"):  # noqa: S108
            with pytest.raises(UnsafePathError):
                memory.write_change_note(folder=folder)
        with pytest.raises(InvalidFieldError):
            memory.write_change_note(since="soon")
        assert memory.write_change_note(since="tomorrow").counts["created"] == 0
    with vaultsync.open(agent="indy") as indy, pytest.raises(ScopeDeniedError):
        indy.write_change_note()
