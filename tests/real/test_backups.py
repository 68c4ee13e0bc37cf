"""Old backups put in place of the vault or of the store, and clones: what recover.md says.

The commands are processes of their own, on a vault and a store on the disk.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.forked import run_program
from tests.real.home import Home
from tests.real.programs import ROOT, command, command_line
from vaultsync.api import opening

pytestmark = pytest.mark.long(5)

GUARDED = 4
"""The exit code of the contract."""


def _run(home: Home, *words: str) -> dict[str, Any]:
    done = command(home, *words)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _refused(home: Home, *words: str) -> dict[str, Any]:
    done = command(home, *words)
    assert done.returncode == GUARDED, done.stdout + done.stderr
    error: dict[str, Any] = json.loads(done.stdout)["error"]
    return error


def _guide(heading: str, run: str = "") -> list[list[str]]:
    """The commands that the guide shows below a heading, with the id of a run."""
    _, _, after = (ROOT / "docs/guides/recover.md").read_text().partition(f"\n## {heading}\n")
    section, _, _ = after.partition("\n## ")
    lines = re.findall(r"^\$ vaultsync (.+)$", section, flags=re.MULTILINE)
    return [line.replace("RUN", run).split() for line in lines]


def _twelve(home: Home) -> list[str]:
    """Twelve facts with notes; their ids."""
    with home.open() as memory:
        some = [memory.remember(f"First {n}.", title=f"Fact {n}").id for n in range(12)]
        memory.sync()
    return some


def _move_on(home: Home, some: list[str]) -> str:
    """Ten facts change, one is deleted, and one is new; returns the id of the new one."""
    with home.open() as memory:
        for each in some[:10]:
            memory.update(each, content="Second.")
        memory.sync()
        memory.forget(some[10])
        new = memory.remember("Newer.", title="Newest").id
        memory.sync()
        assert memory.verify().equal
    return new


def _contents(home: Home) -> dict[str, str]:
    with home.open() as memory:
        return {fact.id: fact.content for fact in memory.list(limit=100).facts}


@pytest.mark.parametrize("times", [False, True], ids=["with new times", "with its times"])
@pytest.mark.long(2)
def test_an_older_vault_changes_nothing_unasked(home: Home, tmp_path: Path, times: bool) -> None:
    some = _twelve(home)
    backup = tmp_path / "backup"
    shutil.copytree(home.root, backup)
    new = _move_on(home, some)
    newest = _contents(home)
    shutil.rmtree(home.root)
    shutil.copytree(backup, home.root, copy_function=shutil.copy2 if times else shutil.copy)
    for _ in range(2):
        error = _refused(home, "sync")
        assert "10 have an earlier content" in error["message"]
        assert "1 was created since and is missing" in error["message"]
        assert "1 was deleted since and is back" in error["message"]
        assert len(error["examples"]) == 5
    assert _contents(home) == newest
    shown = run_program([each for each in command_line(home, "sync") if each != "--json"])
    assert error["examples"][0] in shown.stderr
    write_newest, *_ = _guide("An older copy of the vault came back")
    _run(home, *write_newest)
    home.check_equal()
    home.check_quiet()
    assert _contents(home) == newest
    assert "Newer." in home.text(home.note_of(new))


def test_a_right_older_vault_is_confirmed_and_can_be_undone(home: Home, tmp_path: Path) -> None:
    some = _twelve(home)
    shutil.copytree(home.root, tmp_path / "backup")
    _move_on(home, some)
    newest = _contents(home)
    shutil.rmtree(home.root)
    shutil.copytree(tmp_path / "backup", home.root)
    run = _refused(home, "sync")["run"]
    _, confirm, take_back = _guide("An older copy of the vault came back", run)
    assert _run(home, *confirm)["run"] == run
    _run(home, "sync")
    older = _contents(home)
    assert [older[each] for each in some[:10]] == [f"First {n}." for n in range(10)]
    _run(home, *take_back)
    _run(home, "sync")
    assert {each: _contents(home)[each] for each in some[:10]} == {
        each: newest[each] for each in some[:10]
    }
    home.check_equal()


def test_an_older_store_brings_nothing_back_deleted_since(home: Home, tmp_path: Path) -> None:
    some = _twelve(home)
    backup = tmp_path / "store.sqlite3"
    shutil.copy(home.store_file, backup)
    _move_on(home, some)
    newest = _contents(home)
    for each in home.state_dir.glob("store.sqlite3*"):
        each.unlink()
    shutil.copy(backup, home.store_file)
    error = _refused(home, "sync")
    assert "10 have an earlier content" in error["message"]
    assert "1 was deleted since and is back" in error["message"]
    asked = _refused(home, "rebuild", "--from", "store")
    assert "the store looks like an older copy" in asked["message"]
    notes = {path: home.data(path) for path in home.notes()}
    keep_notes, _ = _guide("The store was restored from a backup")
    _run(home, *keep_notes)
    assert _contents(home) == newest
    assert {path: home.data(path) for path in home.notes()} == notes
    home.check_equal()
    home.check_quiet()


def test_a_clone_becomes_a_vault_of_its_own_without_a_question(home: Home, tmp_path: Path) -> None:
    _move_on(home, _twelve(home))
    newest = _contents(home)
    clone = tmp_path / "clone"
    shutil.copytree(home.root, clone)
    assert command(home, "status").returncode == 0
    opening.init(str(clone), state_dir=str(home.state), new_id=True)
    of_clone = ["--vault", str(clone), "--state-dir", str(home.state), "--json"]
    words = [*command_line(home)[:3], "rebuild", "--from", "vault", *of_clone]
    done = run_program(words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["counts"]["created_in_store"] == len(newest)
    assert _contents(home) == newest


def test_a_vault_and_its_state_from_one_backup_go_on_from_there(home: Home, tmp_path: Path) -> None:
    some = _twelve(home)
    shutil.copytree(home.where, tmp_path / "backup")
    _move_on(home, some)
    shutil.rmtree(home.where)
    shutil.copytree(tmp_path / "backup", home.where)
    home.check_quiet()
    assert sorted(_contents(home)) == sorted(some)


def test_an_unsynced_edit_is_not_overwritten_unasked(home: Home) -> None:
    _twelve(home)
    path = home.notes()[0]
    text = home.text(path)
    home.save(path, text.replace("First", "Mine").encode())
    error = _refused(home, "rebuild", "--from", "store")
    assert error["examples"] == [path]
    assert "Mine" in home.text(path)
    rebuild, take_back = _guide("A rebuild asks", error["run"])
    _run(home, *rebuild)
    assert home.text(path) == text
    _run(home, *take_back)
    assert "Mine" in home.text(path)
    home.check_equal()
