"""The Python API, where it promises more than the engine below it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import to_builtins

from vaultsync import api as app
from vaultsync.api.derived_data import DerivedReport
from vaultsync.api.read_only import open_for_recall
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.errors import ConfigError, UsageError
from vaultsync.model.decay import utility


def test_remembering_succeeds_where_the_note_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)

    def denied(_: object, __: str, path: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    with app.open(vault, state_dir=state, agent="indy") as memory:
        with monkeypatch.context() as folder:
            folder.setattr(VaultFs, "create", denied)
            fact = memory.remember("Words.", scope="team-core")
            assert fact.path is None
            assert memory.get(fact.id).content == "Words."
            (said,) = memory.sync().attention
        assert said.path.startswith("team-core/notes/")
        assert "Permission denied" in said.message
        assert "right to write" in said.hint
        assert memory.sync().attention == []
        assert memory.get(fact.id).path == said.path


def test_a_restored_note_is_the_one_that_was_there(tmp_path: Path) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    app.init(str(vault), state_dir=state)
    note = vault / "Journal" / "By hand.md"
    note.parent.mkdir()
    note.write_text("---\nmood: 'sunny' # today\n---\nWords.\n", encoding="utf-8")
    with app.open(str(vault), state_dir=state) as memory:
        memory.adopt(["Journal/By hand.md"])
        (fact,) = memory.list().facts
        text = note.read_text(encoding="utf-8")
        memory.forget(fact.id)
        assert not note.exists()
        memory.restore(fact.id)
        assert note.read_text(encoding="utf-8") == text
        run = memory.history(fact.id)[-1].run
        memory.undo(run)
        assert not note.exists()
        memory.undo(memory.history(fact.id)[-1].run)
        assert note.read_text(encoding="utf-8") == text


def test_recalls_are_counted_when_somebody_looks(tmp_path: Path) -> None:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)
    with app.open(vault, state_dir=state) as memory:
        fact = memory.remember("The crane is red.", scope="public")
        memory.sync()
        waiting = memory.settings.state_dir / "recalled.log"
        for _ in range(2):
            with open_for_recall(vault, state_dir=state) as asked:
                assert asked.recall("crane", mode="index").hits
        assert waiting.read_text().count(fact.id) == 2
        assert memory.get(fact.id).access_count == 2
        assert not waiting.exists()
        (hit,) = memory.recall("crane", mode="index")
        assert hit.utility == round(utility(None, 2), 4)
        (listed,) = memory.list().facts
        assert listed.access_count == 3
        memory.recall("crane", mode="index")
        assert {each.action for each in memory.sync().actions} == {"record_base"}
        assert not waiting.exists()


def test_no_value_is_lost_that_was_given_twice(tmp_path: Path) -> None:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)
    with app.open(vault, state_dir=state) as memory:
        with pytest.raises(UsageError, match="content was given twice"):
            memory.remember("The crane is red.", fields={"content": "It is green."})
        with pytest.raises(UsageError, match="priority was given twice"):
            memory.remember("The crane is red.", priority=0, fields={"priority": 1})
        fact = memory.remember("Red.", priority=1, fields={"priority": 1})
        assert fact.priority == 1


def test_an_answer_of_the_index_loads_nothing_dear(tmp_path: Path) -> None:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)
    with app.open(vault, state_dir=state) as memory:
        memory.remember("The crane is red.", scope="public")
        memory.sync()
    words = ["recall", "crane", "--json", "--vault", vault, "--state-dir", state]
    code = (
        "import sys\nfrom vaultsync.cli.main import cli\n"
        f"try:\n    cli.main({words!r})\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["source"] == "index"
    dear = {"filelock", "lancedb", "networkx", "numpy", "onnxruntime", "torch"}
    assert dear.isdisjoint(done.stderr.split())


def test_a_report_tells_the_time_of_all_that_follows_the_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    app.init(str(vault), state_dir=state)
    (vault / "Loose.md").write_text("Words.\n", encoding="utf-8")
    long = DerivedReport(1, 1, 1, seconds=1_000.0)
    monkeypatch.setattr("vaultsync.api.derived_data.update_derived", lambda *_, **__: long)
    with app.open(str(vault), state_dir=state) as memory:
        assert memory.adopt(dry_run=True).seconds < 1_000
        assert memory.adopt().seconds > 1_000


def test_what_a_person_edited_meanwhile_is_not_said_to_be_forgotten(tmp_path: Path) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    app.init(str(vault), state_dir=state)
    with app.open(str(vault), state_dir=state, agent="indy") as memory:
        fact = memory.remember("The crane is red.", scope="public")
        note = vault / str(fact.path)
        note.write_text(note.read_text() + "\nIt is green.\n", encoding="utf-8")

        done = memory.forget(fact.id)

        assert to_builtins(done) == {"id": fact.id, "status": "active"}
        assert "green" in memory.get(fact.id).content
        (met,) = memory.conflicts()
        assert met.fact_id == fact.id


def test_a_marker_that_lost_its_id_is_not_given_another_one(tmp_path: Path) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    known = app.init(str(vault), state_dir=state).vault_id
    marker = vault / ".meta" / "config.toml"
    marker.write_text("", encoding="utf-8")

    with pytest.raises(ConfigError) as wrong:
        app.init(str(vault), state_dir=state)

    assert marker.read_text(encoding="utf-8") == ""
    assert "backup" in wrong.value.hint
    assert "init" not in wrong.value.hint  # it would not help
    marker.write_text(f'vault_id = "{known}"\n', encoding="utf-8")
    assert app.init(str(vault), state_dir=state).vault_id == known
