"""The Python API, where it promises more than the engine below it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vaultsync import app
from vaultsync.adapters.vault_fs import VaultFs
from vaultsync.engine.deriving import Indexed


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


def test_a_report_tells_the_time_of_all_that_follows_the_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    app.init(str(vault), state_dir=state)
    (vault / "Loose.md").write_text("Words.\n", encoding="utf-8")
    long = Indexed(1, 1, 1, seconds=1_000.0)
    monkeypatch.setattr("vaultsync.engine.deriving.derive", lambda *_, **__: long)
    with app.open(str(vault), state_dir=state) as memory:
        assert memory.adopt(dry_run=True).seconds < 1_000
        assert memory.adopt().seconds > 1_000
