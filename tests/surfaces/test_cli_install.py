"""`vaultsync install`: hosts are connected, and disconnected without a trace."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name

import pytest
from click.testing import CliRunner, Result

from vaultsync.api.host_install import HostSession
from vaultsync.api.opening import init
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.memory_file import STAGING_DIR
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.cli.main import cli
from vaultsync.hosts.agent_hosts import HOSTS
from vaultsync.mcp_server.server import TOOLS_BY_NAME

pytestmark = pytest.mark.long(5)

RECORDED = Path(__file__).parents[2] / "golden" / "hosts"


def run(*words: str, fails: bool = False) -> Result:
    done = CliRunner().invoke(cli, words)
    assert (done.exit_code != 0) == fails, done.output
    return done


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, with a vault whose path has a space."""
    for variable in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("VAULTSYNC_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTSYNC_VAULT", str(tmp_path / "My notes"))
    init(str(tmp_path / "My notes"))
    return folder


def _tree(folder: Path) -> dict[str, bytes]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}


@pytest.mark.parametrize("host", HOSTS)
def test_installed_twice_and_removed_every_byte_is_as_before(home: Path, host: str) -> None:
    shutil.copytree(RECORDED / host, home, dirs_exist_ok=True)
    before = _tree(home)
    shown = json.loads(run("install", host, "--dry-run", "--json").stdout)
    assert _tree(home) == before
    done = json.loads(run("install", host, "--json").stdout)
    assert done == {**shown, "dry_run": False}
    after = _tree(home)
    assert {str(home / name) for name in after if after[name] != before.get(name)} == {
        each["path"] for each in done["changes"]
    }
    again = json.loads(run("install", host, "--json").stdout)
    assert {each["action"] for each in again["changes"]} == {"none"}
    assert _tree(home) == after
    run("install", host, "--remove", "--json")
    assert _tree(home) == before


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("number", range(4))
def test_an_installation_that_a_crash_ended_is_removed_byte_for_byte(
    home: Path, monkeypatch: pytest.MonkeyPatch, host: str, number: int
) -> None:
    shutil.copytree(RECORDED / host, home, dirs_exist_ok=True)
    before, writes = _tree(home), list[object]()

    def crash_after(write: Callable[..., None]) -> Callable[..., None]:
        def crashes(*args: object, **named: object) -> None:
            write(*args, **named)
            writes.append(write)
            if len(writes) > number:
                raise KeyboardInterrupt

        return crashes

    with monkeypatch.context() as patched:
        for target in ("write_host_file", "Receipts.write"):
            name = f"vaultsync.api.host_install.{target}"
            patched.setattr(name, crash_after(resolve_name(name)))
        with suppress(KeyboardInterrupt):
            HostSession(host, ["vaultsync"]).apply()
    assert writes
    run("install", host, "--remove", "--json")
    assert _tree(home) == before


def test_files_that_are_not_there_are_not_called_unchanged(home: Path) -> None:
    done = json.loads(
        run("install", "claude-code", "--no-hooks", "--no-instructions", "--json").stdout
    )
    assert [each["path"] for each in done["changes"]] == [str(home / ".claude.json")]
    done = json.loads(run("install", "codex", "--remove", "--json").stdout)
    assert done["changes"] == []


@pytest.mark.parametrize("host", HOSTS)
def test_in_an_empty_home_folder_nothing_is_left(home: Path, tmp_path: Path, host: str) -> None:
    own = _tree(tmp_path / "config")
    run("install", host, "--json")
    assert _tree(home)
    run("install", host, "--remove", "--json")
    assert _tree(tmp_path / "config") == own
    assert not _tree(home)


def test_a_project_that_is_not_there_is_refused(home: Path, tmp_path: Path) -> None:
    done = run("install", "cursor", "--project", str(tmp_path / "misspelled"), fails=True)
    assert (done.exit_code, "is not a folder" in done.stderr) == (2, True)
    assert not (tmp_path / "misspelled").exists()


@pytest.mark.parametrize("host", HOSTS)
def test_a_project_has_files_of_its_own(home: Path, tmp_path: Path, host: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    run("install", host, "--project", str(project), "--json")
    assert not _tree(home)
    assert bool(_tree(project)) == (host != "claude-desktop")
    files = (each for each in project.rglob("*") if each.is_file())
    assert {each.stat().st_mode & 0o044 for each in files} <= {project.stat().st_mode & 0o044}
    run("install", host, "--project", str(project), "--remove", "--json")
    assert not _tree(project)


def test_the_instructions_name_tools_that_the_server_has(home: Path) -> None:
    run("install", "claude-code", "--json")
    instructions = (home / ".claude" / "CLAUDE.md").read_text()
    named = set(re.findall(r"`(memory_\w+)`", instructions))
    assert named
    assert named <= TOOLS_BY_NAME.keys()


def test_what_a_person_changes_meanwhile_stays(home: Path) -> None:
    shutil.copytree(RECORDED / "gemini", home, dirs_exist_ok=True)
    run("install", "gemini", "--json")
    settings, memory = home / ".gemini" / "settings.json", home / ".gemini" / "GEMINI.md"
    settings.write_text(settings.read_text().replace('"GitHub"', '"Ayu"'))
    memory.write_text(memory.read_text() + "\n\nMine.\n")
    run("install", "gemini", "--remove", "--json")
    recorded = (RECORDED / "gemini" / ".gemini" / "settings.json").read_text()
    assert settings.read_text() == recorded.replace('"GitHub"', '"Ayu"')
    assert memory.read_text().strip() == "Mine."


def test_the_entries_start_this_installation_on_this_vault(home: Path, tmp_path: Path) -> None:
    run("install", "codex", "--agent", "ada", "--name", "notes", "--json")
    config = tomllib.loads((home / ".codex" / "config.toml").read_text())
    arguments = config["mcp_servers"]["notes"]["args"]
    assert arguments[:5] == ["mcp", "--vault", str(tmp_path / "My notes"), "--agent", "ada"]
    hooks = (home / ".codex" / "hooks.json").read_text()
    assert f"hook codex --vault '{tmp_path / 'My notes'}' --agent ada" in hooks


@pytest.mark.parametrize("name", ["my notes", "a.b", "ü", 'a"] x = 1 #'])
def test_a_server_may_have_any_name_but_none(home: Path, name: str) -> None:
    file = home / ".codex" / "config.toml"
    before = file.read_text() if file.exists() else None
    run("install", "codex", "--name", name, "--json")
    assert name in tomllib.loads(file.read_text())["mcp_servers"]
    run("install", "codex", "--name", name, "--remove", "--json")
    assert (file.read_text() if file.exists() else None) == before
    refused = CliRunner().invoke(cli, ["install", "codex", "--name", "", "--json"])
    assert (refused.exit_code, "name" in json.loads(refused.stdout)["error"]["message"]) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("host", "variable", "files"),
    [
        ("codex", "CODEX_HOME", {"config.toml", "hooks.json", "AGENTS.md"}),
        ("claude-code", "CLAUDE_CONFIG_DIR", {".claude.json", "settings.json", "CLAUDE.md"}),
    ],
)
def test_the_folder_of_a_host_may_be_named_by_a_variable(
    home: Path, monkeypatch: pytest.MonkeyPatch, host: str, variable: str, files: set[str]
) -> None:
    moved = home.parent / "moved"
    monkeypatch.setenv(variable, str(moved))
    run("install", host, "--json")
    assert _tree(moved).keys() == files
    assert not _tree(home)


def test_a_linked_file_is_changed_where_it_really_is(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(real)
    run("install", "cursor", "--json")
    assert "vaultsync" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    assert (home / ".cursor" / "mcp.json").is_symlink()


def test_instructions_for_two_hosts_stay_until_both_are_removed(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("# Ours\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    for host in ("claude-code", "codex"):
        run("install", host, "--project", str(project))
    both = (project / "AGENTS.md").read_text()
    assert both.count("memory_get_context") == 1
    done = json.loads(
        run("install", "codex", "--project", str(project), "--remove", "--json").stdout
    )
    assert done["skipped"] == ["instructions: claude-code uses the same file"]
    assert (project / "AGENTS.md").read_text() == both
    run("install", "claude-code", "--project", str(project), "--remove")
    assert (project / "AGENTS.md").read_text() == "# Ours\n"
    assert _tree(project).keys() == {"AGENTS.md", "CLAUDE.md"}


def test_a_broken_file_is_left_alone_and_nothing_else_is_written(home: Path) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("{ broken")
    failed = run("install", "gemini", fails=True)
    assert failed.exit_code == 2
    assert "settings.json cannot be changed" in failed.stderr
    assert _tree(home) == {".gemini/settings.json": b"{ broken"}


def test_what_a_host_saves_in_the_moment_of_the_write_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, saved, exchange = home / ".claude.json", '{"theme": "dark"}\n', syscalls.exchange
    file.write_text('{"theme": "light"}\n')

    def saves(*entries: EntryAt) -> bool:
        if saved not in file.read_text():
            file.write_text(saved)
        return exchange(*entries)

    with monkeypatch.context() as patched:
        patched.setattr(syscalls, "exchange", saves)
        assert "changed in the meantime" in run("install", "claude-code", fails=True).stderr
    assert file.read_text() == saved
    left = home / STAGING_DIR / "new"
    left.parent.mkdir()
    left.write_text("a save that a crash displaced")
    assert str(left.parent.name) in run("install", "claude-code", fails=True).stderr
    assert file.read_text() == saved
    left.unlink()
    run("install", "claude-code")
    assert json.loads(file.read_text())["theme"] == "dark"


@pytest.mark.parametrize("step", ["created", "removed"])
def test_what_a_host_saves_while_its_file_is_created_or_removed_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file, saved, rename_new = home / ".claude.json", '{"theme": "dark"}\n', syscalls.rename_new
    replace = syscalls.replace

    def saves(file_to_save: Path) -> None:
        if not (file_to_save.exists() and file_to_save.read_text() == saved):
            file_to_save.write_text(saved)

    def creates(source: EntryAt, target: EntryAt) -> bool:
        if target.name == file.name:
            saves(file)
        return rename_new(source, target)

    def removes(source: EntryAt, target: EntryAt) -> None:
        if source.name == file.name:
            saves(file)
        replace(source, target)

    if step == "removed":
        run("install", "claude-code")
    with monkeypatch.context() as patched:
        if step == "created":
            patched.setattr(syscalls, "rename_new", creates)
            words = ["install", "claude-code"]
        else:
            patched.setattr(syscalls, "replace", removes)
            words = ["install", "claude-code", "--remove"]
        assert "changed in the meantime" in run(*words, fails=True).stderr
    assert file.read_text() == saved
    assert not (home / STAGING_DIR).exists()


def test_a_folder_without_a_vault_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_VAULT", str(home))
    assert run("install", "cursor", fails=True).exit_code == 2
    assert not _tree(home)
    run("install", "cursor", "--remove")  # which needs none


def test_the_change_is_shown_as_a_diff(home: Path) -> None:
    shutil.copytree(RECORDED / "claude-desktop", home, dirs_exist_ok=True)
    shown = run("install", "claude-desktop", "--dry-run")
    assert '+    "vaultsync": {' in shown.stdout
    assert shown.stdout.startswith("update: ")
    assert "start Claude Desktop again" in run("install", "claude-desktop").stderr
    assert run("install", "claude-desktop").stderr.strip() == "nothing to change"


SESSIONS = {
    "claude-code": {
        "session_id": "abc123",
        "transcript_path": "/home/ada/.claude/projects/tidebell/abc123.jsonl",
        "cwd": "/home/ada/tidebell",
        "hook_event_name": "SessionStart",
        "source": "startup",
    },
    "codex": {"session_id": "1", "cwd": "/", "hook_event_name": "SessionStart", "source": "resume"},
    "cursor": {"conversation_id": "2", "hook_event_name": "sessionStart", "cursor_version": "2.4"},
    "gemini": {"session_id": "3", "hook_event_name": "SessionStart", "source": "startup"},
}
"""What hosts hand to their hooks at the start of a session, by their documentation."""


@pytest.mark.long(5)
@pytest.mark.parametrize("host", SESSIONS)
def test_a_session_begins_with_the_most_important_facts(home: Path, host: str) -> None:
    run("remember", "The harbour pays on Fridays.", "--type", "decision", "--field", "priority=0")
    run("remember", "The boat is blue.")
    run("remember", "The gulls are loud.", "--field", "priority=3")
    run("install", host, "--json")
    texts = [each.read_text() for each in home.rglob("*.json")]
    (command,) = {
        found for text in texts for found in re.findall(r'"command": "(.* hook .*)"', text)
    }
    answered = subprocess.run(
        shlex.split(command),
        input=json.dumps(SESSIONS[host]),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(answered.stdout)
    if host == "cursor":
        text = answer["additional_context"]
    else:
        text = answer["hookSpecificOutput"]["additionalContext"]
        assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert text.startswith("# Context\n")
    assert text.index("pays on Fridays") < text.index("boat is blue")
    assert "gulls" not in text


@pytest.mark.parametrize("given", ["", "[]", "{", '{"hook_event_name": 7}', "[" * 9_999])
def test_a_hook_never_fails_its_host(home: Path, given: str) -> None:
    done = CliRunner().invoke(cli, ["hook", "codex"], input=given)
    assert (done.exit_code, done.stdout) == (0, "")


def test_a_hook_without_vault_says_so_and_ends(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_VAULT", str(home / "gone"))
    done = CliRunner().invoke(cli, ["hook", "cursor"], input=json.dumps(SESSIONS["cursor"]))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "gone" in done.stderr


def test_an_empty_memory_adds_nothing_to_a_session(home: Path) -> None:
    done = CliRunner().invoke(cli, ["hook", "gemini"], input=json.dumps(SESSIONS["gemini"]))
    assert (done.exit_code, done.stdout) == (0, "")


def test_what_mattered_in_a_session_is_kept_at_its_end(home: Path) -> None:
    payload = {
        "session_id": "1",
        "hook_event_name": "Stop",
        "last_assistant_message": "We decided to move the ledger to SQLite: it is embedded.",
    }
    done = CliRunner().invoke(cli, ["hook", "codex"], input=json.dumps(payload))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "1 observation stored" in done.stderr
    assert "ledger" in run("observations", "list").stdout
