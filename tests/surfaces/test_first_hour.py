"""What people stumbled over in their first hour, from reading to leaving it running."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import vaultsync
from tests.surfaces.command_line import one_object
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NEEDS_REVIEW
from vaultsync.cli.main import cli
from vaultsync.model.dates import WHAT_IS_A_DATE

pytestmark = pytest.mark.long(5)


def run(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, words, input=stdin)


def shown_help(*words: str) -> str:
    """A help page on one line."""
    return " ".join(run(*words, "--help").stdout.split())


def test_a_name_that_no_agent_can_have_is_called_that(vault: Path) -> None:
    for command in (("remember", "x"), ("mcp",)):
        said = run(*command, "--agent", "Indy Bot")
        assert said.exit_code == 2
        assert "'Indy Bot' is not a valid agent name" in said.stderr
        assert "hint: use lower-case letters" in said.stderr


def test_a_new_store_is_said_to_be_empty(vault: Path, tmp_path: Path) -> None:
    where = f"sqlite:{tmp_path / 'other.sqlite3'}"
    done = run("config", "set", "store", where, "--vault", str(vault))
    assert "vaultsync migrate --to STORE" in done.stderr
    done = run("config", "set", "language", "german", "--vault", str(vault))
    assert done.stderr == ""


def test_an_unavailable_new_store_is_not_taken_for_the_old_one(vault: Path, tmp_path: Path) -> None:
    where = f"sqlite:{tmp_path / 'missing' / 'other.sqlite3'}"
    done = run("migrate", "--to", where, "--vault", str(vault))
    assert done.exit_code == 1
    assert "nothing was changed" in done.stderr
    assert "rebuild" not in done.stderr


def test_a_unit_finds_the_state_of_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "my state"))
    monkeypatch.delenv("VAULTSYNC_STATE_DIR", raising=False)
    vault = str(tmp_path / "vault")
    vaultsync.init(vault)
    said = run("watch", "--print-unit", "systemd", "--vault", vault).stdout
    assert f'"--state-dir" "{tmp_path}/my state/vaultsync"' in said

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    vaultsync.init(vault)
    assert "--state-dir" not in run("watch", "--print-unit", "systemd", "--vault", vault).stdout


def test_while_a_daemon_runs_nobody_is_sent_to_sync(vault: Path, tmp_path: Path) -> None:
    (state,) = (tmp_path / "state").iterdir()
    with EngineLock(state, str(vault)):
        said = run("remember", "We meet on Tuesdays.").stderr
    assert "its note follows" in said
    assert "`vaultsync watch` writes it" in said


def test_what_a_date_may_be_is_said_by_help_and_error(vault: Path) -> None:
    run("remember", "We meet on Tuesdays.")
    for command in (("list",), ("recall", "Tuesdays")):
        assert "created on or after this day, month or year" in shown_help(*command[:1])
        for text in ("2026-01", "2026", "yesterday", "last week", "7d", "monday"):
            assert "Tuesdays" in run(*command, "--since", text).stdout
        refused = run(*command, "--since", "someday")
        assert refused.exit_code == 2
        assert f"since: expected {WHAT_IS_A_DATE}" in refused.stderr


def test_a_dry_run_of_a_memory_file_leaves_nothing_beside_it(vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "work" / "MEMORY.md"
    file.parent.mkdir()
    file.write_text("# Memory\n\n## Gate\n\nIt opens ten minutes before slack water.\n")
    assert "1 new" in run("memory-file", "sync", str(file), "--dry-run").stdout
    assert [each.name for each in file.parent.iterdir()] == ["MEMORY.md"]


@pytest.mark.parametrize("words", [("remember", "-"), ("import", "-"), ("hook", "claude-code")])
def test_a_command_that_reads_the_terminal_says_so(
    vault: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("vaultsync.cli.user_input.is_terminal", lambda _: True)
    assert "Ctrl-D ends the input" in run(*words, stdin="{}").stderr


def test_a_path_of_windows_is_refused_with_that_of_wsl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("init", r"C:\Users\me\My Vault")
    assert (refused.exit_code, [*tmp_path.iterdir()]) == (2, [])
    assert "hint: in WSL, it is '/mnt/c/Users/me/My Vault'" in refused.stderr


@pytest.mark.parametrize("options", [(), ("--again",)])
def test_a_mistyped_memory_file_leaves_nothing_in_its_folder(
    vault: Path, tmp_path: Path, options: Sequence[str]
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    refused = run("memory-file", "sync", str(folder / "MEMO.md"), *options)
    assert "there is no memory file" in refused.stderr
    assert [*folder.iterdir()] == []


def test_a_model_that_cannot_be_fetched_is_a_matter_of_the_connection(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSYNC_MODELS", str(tmp_path / "models"))
    said = run("model", "fetch", "some/model", "--hub", "http://127.0.0.1:9")
    assert said.exit_code == 1
    assert "127.0.0.1:9 does not send config.json" in said.stderr
    assert "hint: check the connection, or use a mirror with --hub" in said.stderr


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("sync", "--quiet", "--confirm"), "sync"),
        (("memory-file", "sync", "MEMORY.md", "--confirm"), "memory-file sync"),
        (("proposals", "--vault"), "proposals"),
        (("sync", "--quiet=1"), "sync"),
    ],
)
def test_an_option_without_value_points_to_help(words: tuple[str, ...], command: str) -> None:
    refused = run(*words)
    assert refused.exit_code == 2
    assert f"`vaultsync {command} --help` shows the usage" in refused.stderr


def test_who_gives_too_little_of_an_id_is_told_how_much_is_enough(vault: Path) -> None:
    fact = run("remember", "We meet on Tuesdays.").stdout.strip()
    assert run("get", fact[:8]).exit_code == 0
    refused = run("get", fact[:7])
    assert refused.exit_code == 1
    assert "hint: give an id or at least 8 characters of it, a path" in refused.stderr
    assert "recall finds facts by other words" in refused.stderr


@pytest.mark.parametrize("by_hand", [True, False])
def test_who_starts_the_mcp_server_by_hand_is_told_that_it_waits(
    vault: Path, monkeypatch: pytest.MonkeyPatch, by_hand: bool
) -> None:
    monkeypatch.setattr("vaultsync.mcp_server.stdio.serve", lambda *_: None)
    monkeypatch.setattr("vaultsync.cli.mcp_commands.is_terminal", lambda _: by_hand)
    said = run("mcp")
    assert (said.exit_code, said.stdout) == (0, "")
    assert ("waiting for an MCP client" in said.stderr) is by_hand


def test_an_update_says_that_the_note_is_read_only(vault: Path) -> None:
    fact_id = run("remember", "We meet on Tuesdays.").stdout.strip()
    note = vault / one_object(run("get", fact_id, "--json"))["path"]
    note.chmod(0o444)
    before = note.read_text()

    said = run("update", fact_id, "--content", "We meet on Mondays.")
    assert said.exit_code == EXIT_NEEDS_REVIEW
    assert "changed, in the store only" in said.stderr
    assert "its note waits: " in said.stderr
    assert f"{note.name}: the note is read-only" in said.stderr
    assert "chmod u+w" in said.stderr
    as_json = one_object(run("update", fact_id, "--add-tag", "x", "--json"))
    assert "the note is read-only" in as_json["note_waits"]
    assert note.read_text() == before
    assert "Mondays" in run("get", fact_id).stdout
    assert "the note is read-only" in run("status").stdout

    note.chmod(0o644)
    run("sync")
    assert "Mondays" in note.read_text()
    assert "read-only" not in run("status").stdout

    note.chmod(0o444)
    said = run("forget", fact_id)
    assert said.exit_code == EXIT_NEEDS_REVIEW
    assert "its note waits: " in said.stderr
    assert note.exists()


def test_an_update_says_that_the_note_cannot_be_read(vault: Path) -> None:
    fact_id = run("remember", "We meet on Tuesdays.").stdout.strip()
    note = vault / one_object(run("get", fact_id, "--json"))["path"]
    both = "<<<<<<< HEAD\nOn Mondays.\n=======\nOn Fridays.\n>>>>>>> theirs\n"
    note.write_text(note.read_text() + both)

    said = run("update", fact_id, "--content", "We meet on Sundays.")
    assert said.exit_code == EXIT_NEEDS_REVIEW
    assert "changed, in the store only" in said.stderr
    assert "conflict markers of git" in said.stderr
    assert both in note.read_text()
    said = run("forget", fact_id)
    assert said.exit_code == EXIT_NEEDS_REVIEW
    assert "its note waits: " in said.stderr
    assert note.exists()


def test_a_folder_in_a_vault_names_the_vault(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "We meet on Tuesdays.")
    folder = next(vault.glob("public/*"))
    (vault / "link").symlink_to(folder)
    monkeypatch.delenv("VAULTSYNC_VAULT")
    for given in (folder, vault / "link", folder.parent):
        assert "Tuesdays" in run("list", "--vault", str(given)).stdout
    monkeypatch.setenv("VAULTSYNC_VAULT", str(folder))
    assert "Tuesdays" in run("list").stdout
    with vaultsync.open(str(folder)) as memory:
        assert memory.settings.root == vault
    for wrong in (folder / "none", next(folder.glob("*.md")), vault.parent):
        said = run("list", "--vault", str(wrong))
        assert said.exit_code == 2
        assert f"no vault at {wrong}" in said.stderr


def test_a_fact_is_found_by_the_path_that_a_shell_completes(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact_id = run("remember", "We meet on Tuesdays.").stdout.strip()
    note = next(vault.glob("public/*/*.md"))
    for folder in (vault, note.parent, vault.parent):
        monkeypatch.chdir(folder)
        for name in (os.path.relpath(note), f"./{os.path.relpath(note)}", str(note)):
            assert one_object(run("get", name, "--json"))["id"] == fact_id
    other = vault.parent / "other.md"
    other.write_text("Mine.\n")
    for wrong in ("none.md", "./none.md", str(other)):
        assert f"no fact is called '{wrong[:80]}'" in run("get", wrong).stderr
    run("forget", str(note))
    assert run("restore", str(note)).exit_code == 0


def test_the_log_names_an_undone_run_so_that_no_other_has_that_name(vault: Path) -> None:
    ids = [run("remember", text).stdout.strip() for text in ("One.", "Two.", "Three.")]
    for each in ids[:2]:
        run("forget", each)
    undone = one_object(run("undo", "--json"))["run"]
    runs = [x["run"] for x in one_object(run("log", "--json"))["runs"]]
    kind = run("log", "--limit", "1").stdout.split("\t")[1]
    name = kind.removeprefix("undo ")
    assert len(name) >= 8
    assert [x for x in runs if x.startswith(name)] == [runs[1]]
    assert runs[0] == undone
    assert run("undo", name).exit_code == 0


def test_an_unknown_run_is_answered_with_what_exists(vault: Path) -> None:
    run("remember", "We meet on Tuesdays.")
    newest = one_object(run("log", "--json"))["runs"][0]["run"]
    for name, short in ((newest[:4], True), ("01a00000-0000", False), ("nothing", True)):
        said = run("undo", name)
        assert said.exit_code == EXIT_FAILED
        assert f"there is no run {name}, or it changed nothing" in said.stderr
        assert f"the newest run is {newest} (remember)" in said.stderr
        assert ("8 characters or more" in said.stderr) is short


def test_a_hook_without_input_says_what_is_missing(vault: Path) -> None:
    said = run("observe", "--hook", stdin=" \n")
    assert said.exit_code == 0
    assert "standard input is empty: expected JSON" in said.stderr
    assert "`vaultsync observe TEXT` stores a text" in said.stderr


@pytest.mark.parametrize(
    ("command", "declined"),
    [(("undo",), "nothing was undone"), (("purge", ""), "nothing was changed")],
)
def test_an_answer_other_than_yes_changes_nothing_and_says_so(
    vault: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], declined: str
) -> None:
    fact_id = run("remember", "We meet on Tuesdays.").stdout.strip()
    command = tuple(word or fact_id for word in command)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    said = run(*command, stdin="n\n")
    assert said.exit_code == EXIT_FAILED
    assert said.stderr.endswith(f"{declined}\n")

    said = run(*command, stdin="")  # its end is like Ctrl-C
    assert said.exit_code == EXIT_INTERRUPTED
    assert said.stderr.endswith(f"\nerror: interrupted; {declined}\n")
    assert run("get", fact_id).exit_code == 0


@pytest.mark.parametrize(
    ("group", "default", "options"),
    [
        ("proposals", "list", ["--settled"]),
        ("observations", "list", ["--limit", "1"]),
        ("model", "list", ["--quiet"]),
        ("config", "get", ["--json"]),
        ("repo", "list", ["--repo", "."]),
    ],
)
def test_a_group_without_a_command_lists_what_there_is(
    vault: Path, group: str, default: str, options: list[str]
) -> None:
    for given in ([], ["--json"], options):
        said, wanted = run(group, *given), run(group, default, *given)
        assert (said.exit_code, said.stdout) == (wanted.exit_code, wanted.stdout)
        assert "Usage:" not in said.stderr
    for name in ("--help", "-h"):
        assert run(group, name).stdout.startswith(f"Usage: cli {group} [OPTIONS] COMMAND")
    assert "Without a command" in shown_help(group)
    assert run(group, "nothing").exit_code == 2


_MEMORY = """# Things

## Deployment

Each harbour has a pier box that must go on without a network.

## Skarvik

38 guest berths (not 42, that was the old plan of the pier).
"""


def test_a_memory_file_stays_the_memory_of_its_agent(vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text(_MEMORY)
    run("memory-file", "sync", str(file), "--agent", "indy")
    facts = one_object(run("list", "--json"))["facts"]
    file.write_text(_MEMORY.replace("38", "40"))

    said = run("memory-file", "sync", str(file))
    assert "1 changed, 1 unchanged" in said.stdout
    assert "its facts are those of the agent indy, as before" in said.stderr
    assert (
        one_object(run("memory-file", "sync", str(file), "--json"))["files"][0]["agent"] == "indy"
    )
    now = one_object(run("list", "--json"))["facts"]
    assert {each["id"] for each in now} == {each["id"] for each in facts}

    run("memory-file", "sync", str(file), "--agent", "moss")
    refused = run("memory-file", "sync", str(file))
    assert refused.exit_code == EXIT_FAILED
    assert "is the memory of 2 agents: indy, moss" in refused.stderr
    assert "--agent" in refused.stderr
    named = tmp_path / "b" / "MEMORY.md"
    named.parent.mkdir()
    named.write_text(_MEMORY)
    both = one_object(run("memory-file", "sync", str(file), str(named), "--json"))
    assert [(each["sections"], each["agent"]) for each in both["files"]] == [(2, None)]
    assert [each["kind"] for each in both["attention"]] == ["MemoryFileOwnersError"]


def test_a_memory_file_of_the_user_stays_the_users(vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text(_MEMORY)
    for agent in ([], ["--agent", "indy"], []):
        done = one_object(run("memory-file", "sync", str(file), *agent, "--json"))
        assert done["files"][0]["agent"] is None
    assert done["counts"]["unchanged"] == 2


def test_a_block_without_facts_says_what_to_do(vault: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "CLAUDE.md")
    said = run("memory-file", "manage", file).stderr
    assert "there are no facts but those that come from the file itself" in said
    assert "`vaultsync remember TEXT` stores one" in said
    said = run("memory-file", "manage", file, "--scope", "project-x").stderr
    assert "the scope project-x has no facts" in said
    assert "`vaultsync remember TEXT --scope project-x` stores one" in said
    assert "`vaultsync list` shows the scopes" in said
    said = run("memory-file", "manage", file, "--scope", "project-x", "--scope", "public").stderr
    assert "project-x, public have no facts" in said
    run("remember", "We meet on Tuesdays.")
    assert "stores one" not in run("memory-file", "manage", file).stderr
