"""What a person finds in the log, and with `--verbose` on stderr."""

from __future__ import annotations

import json
import logging
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import vaultsync
from vaultsync.api.memory import Memory
from vaultsync.cli.main import cli

TOKEN = "ghp_" + "x9Kq2LmZ7Rt4Wv8Yb3Nc6Pd1Sf5Gh0Jk2Aa4"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def logged(vault: Path) -> str:
    (file,) = (vault.parent / "state").glob("*/log/vaultsync.log")
    return file.read_text(encoding="utf-8")


def test_a_run_and_a_failure_are_lines_of_the_log_file(vault: Path) -> None:
    with vaultsync.open() as memory:
        memory.import_(['{"title": "Quiet words", "content": "Nobody else reads this."}'])
    assert run("sync").exit_code == 0
    assert run("get", "Nobody").exit_code == 1
    found = logged(vault).splitlines()
    assert len(found) == 2
    assert "INFO" in found[0]
    assert "vaultsync.sync.run run " in found[0]
    assert "(sync)" in found[0]
    assert "'created_in_vault': 1" in found[0]
    assert found[1].endswith("vaultsync the command failed: NotFoundError")
    assert "Quiet" not in "".join(found)


def test_details_are_logged_where_asked_for(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def status(self: Memory) -> None:
        logging.getLogger("vaultsync.some").debug("a detail with %s\x1b[2J", TOKEN)
        logging.getLogger("vaultsync.some").warning("mind this")
        raise ValueError("a bug")

    monkeypatch.setattr(Memory, "status", status)
    plain, verbose = run("status"), run("status", "--verbose")
    assert "mind this" in plain.stderr
    assert "a detail" not in plain.stderr
    assert "debug: some: a detail with " in verbose.stderr
    for text in (verbose.stderr, logged(vault)):
        assert TOKEN not in text
        assert "\x1b[2J" not in text
    assert logged(vault).count("a detail") == 1
    assert "in status" in logged(vault)  # the traceback of a bug
    assert logging.getLogger("vaultsync").handlers == []


def test_a_log_that_cannot_be_written_fails_no_command(vault: Path) -> None:
    (vault.parent / "state").mkdir(exist_ok=True)
    (folder,) = [each for each in (vault.parent / "state").iterdir() if each.is_dir()]
    (folder / "log").write_text("no folder", encoding="utf-8")
    assert run("sync").exit_code == 0
    assert run("status", "--vault", str(vault.parent / "nowhere")).exit_code == 2


def test_a_run_has_the_kind_of_its_command(vault: Path) -> None:
    for words in (
        ("remember", "One.", "--title", "Tea"),
        ("update", "Tea", "--content", "Two."),
        ("supersede", "Tea", "Tea is hot."),
        ("forget", "Tea is hot"),
        ("restore", "Tea is hot"),
    ):
        assert run(*words).exit_code == 0
    runs = json.loads(run("log", "--json").stdout)["runs"]
    kinds = [each["kind"] for each in runs]
    assert kinds == ["restore", "forget", "supersede", "update", "remember"]


def test_forgetting_a_version_and_restoring_the_previous_is_undone_at_once(vault: Path) -> None:
    assert run("remember", "Tea is cold.", "--title", "Tea").exit_code == 0
    assert run("supersede", "Tea", "Tea is hot.").exit_code == 0

    def current_ids() -> list[str]:
        return [x["id"] for x in json.loads(run("recall", "tea", "--json").stdout)["hits"]]

    before = current_ids()
    assert run("forget", "Tea is hot", "--restore-previous").exit_code == 0
    assert current_ids() != before
    assert run("undo", "--yes").exit_code == 0
    assert current_ids() == before


def test_options_of_the_note_are_refused_without_it_and_others_with_it(vault: Path) -> None:
    alone = run("log", "--folder", "Changes")
    assert (alone.exit_code, "--folder needs --note" in alone.stderr) == (2, True)
    limited = run("log", "--note", "--limit", "5")
    assert (limited.exit_code, "--limit does not apply to --note" in limited.stderr) == (2, True)


def test_suggested_commands_name_the_vault_that_the_command_named(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("remember", "One.", "--title", "Tea").exit_code == 0
    monkeypatch.delenv("VAULTSYNC_VAULT")
    named = re.escape(shlex.quote(str(vault)))
    forgotten = run("forget", "Tea", "--vault", str(vault)).stderr
    assert re.search(rf"`vaultsync restore \S+ --vault {named}` restores", forgotten)
    unknown = run("config", "get", "nothing", f"--vault={vault}").stderr
    assert re.search(rf"hint: `vaultsync config get --vault {named}` lists", unknown)
    monkeypatch.setenv("VAULTSYNC_VAULT", str(vault))
    assert "--vault" not in run("config", "get", "nothing").stderr
