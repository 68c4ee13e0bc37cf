"""The command line on a real vault, from `init` to `undo`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from vaultsync.cli.main import cli


class Shell:
    """A person's shell, in which one vault is named by the environment."""

    def __init__(self, place: Path) -> None:
        self.vault = place / "vault"
        self.runner = CliRunner(
            env={
                "VAULTSYNC_VAULT": str(self.vault),
                "VAULTSYNC_STATE_DIR": str(place / "state"),
                "VAULTSYNC_AGENT": None,
            }
        )

    def __call__(self, *words: str, code: int = 0, stdin: str = "") -> dict[str, Any]:
        result = self.runner.invoke(cli, [*words, "--json"], input=stdin)
        assert result.exit_code == code, result.output
        said: dict[str, Any] = json.loads(result.stdout)
        return said


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    assert shell("init")["vault"] == str(shell.vault)
    return shell


def test_a_fact_is_remembered_edited_and_undone(shell: Shell) -> None:
    fact = shell("remember", "We meet on Tuesdays.", "--tag", "team")
    assert fact["mirrored"]
    note = shell.vault / fact["path"]

    note.write_text(note.read_text().replace("Tuesdays", "Mondays"))
    report = shell("sync")
    assert report["counts"]["updated_in_store"] == 1
    assert "Mondays" in shell("get", fact["id"])["content"]
    assert shell("verify")["equal"]

    assert {each["field"] for each in shell("history", fact["id"])["history"]} >= {"content"}
    shell("undo", report["run"])
    assert "Tuesdays" in note.read_text()
    assert shell("verify")["equal"]
    assert shell("status")["facts"] == 1


def test_the_first_sync_of_a_folder_with_notes_names_adopt(shell: Shell) -> None:
    for name in ("Tea", "Coffee"):
        (shell.vault / f"{name}.md").write_text(f"{name} at four.\n", "utf-8")
    words = "not adopted: 2 notes; `vaultsync adopt --dry-run` shows which would become facts"
    assert words in shell.runner.invoke(cli, ["sync"]).stderr
    assert "not adopted" not in shell.runner.invoke(cli, ["sync", "--json"]).stderr
    shell("adopt", "Tea.md")
    assert "not adopted" not in shell.runner.invoke(cli, ["sync"]).stderr


EMPTY = "the memory is empty; `vaultsync adopt` turns your notes into facts"


def test_recall_on_an_empty_memory_prints_how_to_begin(shell: Shell) -> None:
    def hint(question: str = "ferries") -> str:
        return shell.runner.invoke(cli, ["recall", question]).stderr

    shell("config", "set", "embedder", "hash")
    assert hint() == f"nothing found: {EMPTY}\n"  # and nothing about vectors of no facts
    pack = shell.runner.invoke(cli, ["context", "ferries"]).stderr
    assert pack.endswith(f"Nothing in the memory matches the question.\n{EMPTY}\n")
    shell("config", "set", "embedder", "none")
    shell("remember", "We meet on Tuesdays.")
    assert "nothing found: try other words" in hint()
    nothing = "The memory has no facts of the type decision."
    assert hint("What decisions did we make?") == f"{nothing}\n"
    assert shell("recall", "our decisions")["nothing_known"] == nothing


def test_a_clone_without_a_store_answers_from_its_index_files(shell: Shell, tmp_path: Path) -> None:
    shell("remember", "We meet on Tuesdays at the pier.", "--scope", "team-core")
    shell("sync")
    clone = Shell(tmp_path / "clone")
    shutil.copytree(shell.vault, clone.vault)

    said = clone("recall", "when do we meet?", "--vault-only", "--mode=index")

    assert said["source"] == "index-files"
    assert "Tuesdays" in said["hits"][0]["title"]
    assert [each.name for each in (tmp_path / "clone").iterdir()] == ["vault"]


def test_init_ignores_templates_and_files_excluded_in_obsidian(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for name in (".obsidian", 'Our "Forms"', "Old"):
        (shell.vault / name).mkdir(parents=True)
    (shell.vault / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["Old/", "/tmp/"]}')
    (shell.vault / "Old/Note.md").write_text("Long gone.\n")
    (shell.vault / ".obsidian/templates.json").write_text('{"folder": "Our \\"Forms\\""}')
    (shell.vault / 'Our "Forms"/Meeting.md').write_text("# Meeting\n\nAgenda:\n")
    (shell.vault / "Tea.md").write_text("Green.\n")

    said = shell.runner.invoke(cli, ["init"]).stdout
    shell("adopt")

    assert 'ignored   Our "Forms", by Obsidian\'s settings\n' in said
    assert "ignored   Old, by" in said
    assert [fact["path"] for fact in shell("list")["facts"]] == ["Tea.md"]
    assert shell("init")["ignored"] == []


def test_init_is_harmless_when_repeated(shell: Shell) -> None:
    assert shell("init") == shell("init", str(shell.vault))
    again = shell.runner.invoke(cli, ["init"])
    assert f"vault     {shell.vault}\n" in again.stdout
    assert "vaultsync adopt --dry-run" in again.stderr
    assert {each["ok"] for each in shell("doctor")["checks"]} == {True}


def test_init_says_how_a_vault_gets_its_lost_marker_back(shell: Shell) -> None:
    first, fact = shell("init"), shell("remember", "We meet on Tuesdays.")
    marker = shell.vault / ".meta" / "config.toml"
    marker.unlink()

    said = shell.runner.invoke(cli, ["init"])

    line = f'vault_id = "{first["vault_id"]}"'
    assert (
        f"{first['state_dir']}. To go on with it, write its id into {marker} before" in said.stderr
    )
    assert said.stderr.count(f"  {line}\n") == 1
    assert shell("list")["facts"] == []
    again = shell("init")
    assert again["earlier_id"] is None
    marker.write_text(marker.read_text().replace(f'vault_id = "{again["vault_id"]}"', line))
    assert [each["id"] for each in shell("list")["facts"]] == [fact["id"]]


@pytest.mark.parametrize("store", ["mysql://x", "qdrant://", "qdrant+nowhere:x"])
def test_an_invalid_store_creates_no_vault(tmp_path: Path, store: str) -> None:
    shell = Shell(tmp_path)

    assert shell("init", "--store", store, code=2)["error"]["kind"] == "ConfigError"
    assert not (shell.vault / ".meta").exists()
