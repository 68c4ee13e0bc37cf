"""The command that a hook calls keeps what matters, and fails no host."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Never

import pytest
from click.testing import CliRunner, Result

import vaultsync
from tests.machines import configure_machine
from vaultsync.cli.exit_codes import exit_code
from vaultsync.cli.hook_command import hook
from vaultsync.cli.main import cli
from vaultsync.errors import InvalidFieldError
from vaultsync.observations.hooks import MAX_HOOK_BYTES

pytestmark = pytest.mark.long(5)

RECORDED = Path(__file__).parents[2] / "golden" / "hooks"
HOOKS = sorted(each.stem for each in RECORDED.glob("*.json") if "transcript" not in each.name)
TRANSCRIPTS = {
    "claude-code-session-end": ("claude-code-transcript.jsonl", "the berth list stays"),
    "codex-pre-compact": ("codex-transcript.jsonl", "I promised the harbour office"),
    "cursor-session-end": ("cursor-transcript.jsonl", "the crane schedule is not public"),
    "gemini-cli-pre-compress": ("gemini-cli-transcript.json", "invoices go out on the 1st"),
}


def _run(vault: Path | str, told: str | bytes, *words: str) -> Result:
    return CliRunner().invoke(cli, ["observe", "-", *words, "--vault", str(vault)], input=told)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


def _told(name: str) -> str:
    return (RECORDED / f"{name}.json").read_text(encoding="utf-8")


def _put_transcript(home: Path, hook: str) -> Path:
    name, _ = TRANSCRIPTS[hook]
    path = Path(json.loads(_told(hook))["transcript_path"].replace("~", str(home), 1))
    path.parent.mkdir(parents=True)
    path.write_bytes((RECORDED / name).read_bytes())
    return path


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.usefixtures("home")
def test_every_recorded_hook_is_taken_and_says_what_was_kept(vault: Path, name: str) -> None:
    done = _run(vault, _told(name), "--json")

    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert report["seen"] == report["noise"] + report["known"] + len(report["kept"])


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_hook_keeps_what_its_transcript_says(vault: Path, home: Path, name: str) -> None:
    _put_transcript(home, name)

    first = _run(vault, _told(name))
    again = _run(vault, _told(name), "--hook")

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert TRANSCRIPTS[name][1] in first.stdout
    assert "stored" in first.stderr
    assert again.stdout == ""
    assert "stored 0 of" in again.stderr


@pytest.mark.parametrize("how", ["elsewhere", "link", "folder", "suffix", "dots", "circle"])
def test_no_file_outside_the_hosts_own_folder_is_read(vault: Path, home: Path, how: str) -> None:
    diary = home / "diary.jsonl"
    row = {"role": "user", "content": "We decided to sell the boat to Mara."}
    diary.write_text(json.dumps(row), encoding="utf-8")
    folder = home / ".claude" / "projects"
    folder.mkdir(parents=True)
    path = folder / "session.jsonl"
    if how == "elsewhere":
        path = diary
    elif how == "link":
        path.symlink_to(diary)
    elif how == "folder":
        path.mkdir()
    elif how == "suffix":
        path = folder / "notes.txt"
        path.write_bytes(diary.read_bytes())
    elif how == "dots":
        path = folder / ".." / ".." / "diary.jsonl"
    else:
        path.symlink_to(path)
    told = json.dumps({"hook_event_name": "SessionEnd", "transcript_path": str(path)})

    done = _run(vault, told, "--hook")

    assert done.exit_code == 0
    assert "boat" not in done.output
    with vaultsync.open(str(vault)) as memory:
        assert memory.observations() == ()
        with pytest.raises((InvalidFieldError, OSError)):
            memory.observe_hook(told)


def test_a_long_transcript_is_read_from_its_end(vault: Path, home: Path) -> None:
    path = _put_transcript(home, "claude-code-session-end")
    row = {"role": "assistant", "content": "Reading the next file of the list now. " * 60}
    with path.open("a", encoding="utf-8") as file:
        for _ in range(600):
            file.write(json.dumps(row) + "\n")
        file.write(json.dumps({"role": "user", "content": "We decided to close the pier."}) + "\n")

    said = _run(vault, _told("claude-code-session-end")).stdout

    assert "We decided to close the pier." in said
    assert "berth list" not in said


@pytest.mark.parametrize(
    "told",
    [b"", b"\xff\xfe", b"no JSON", b"{}", b"[" * 100_000, b'{"hook_event_name": "Stop"}' * 2],
    ids=["empty", "bytes", "text", "object", "deep", "twice"],
)
def test_a_hook_that_tells_nonsense_fails_no_host(vault: Path, told: bytes) -> None:
    done = _run(vault, told, "--hook")

    assert (done.exit_code, done.stdout) == (0, "")
    assert "hint" in done.stderr


def test_a_hook_is_stored_while_the_classifier_cannot_be_used(vault: Path) -> None:
    configure_machine(vault, 'classifier = "model"\n')

    done = _run(vault, _told("claude-code-stop"), "--json")

    assert {each["tier"] for each in json.loads(done.stdout)["kept"]} == {"pending"}


def test_a_hook_beside_a_missing_vault_fails_no_host(tmp_path: Path) -> None:
    told = _told("claude-code-stop")

    done = _run(tmp_path / "none", told, "--hook")

    assert (done.exit_code, done.stdout) == (0, "")
    assert "none" in done.stderr
    assert _run(tmp_path / "none", told).exit_code != 0


def test_codex_gives_the_json_of_its_notify_as_an_argument(vault: Path) -> None:
    words = ["observe", "--hook", "--vault", str(vault), _told("codex-notify")]
    done = CliRunner().invoke(cli, words)

    assert done.exit_code == 0
    assert "Codex: stored 1 of 1" in done.stderr


HOOK = ("claude-code", "--vault")
START = b'{"hook_event_name": "SessionStart", "source": "startup"}'


def test_the_hook_command_reads_text_in_any_encoding(vault: Path) -> None:
    told = START.replace(b"}", b', "cwd": "/\xe9"}')
    strict = {"PYTHONIOENCODING": "utf-8:strict"}
    words = [sys.executable, "-m", "vaultsync", "hook", "claude-code", "--vault", str(vault)]
    done = subprocess.run(
        words, input=told, env={**os.environ, **strict}, capture_output=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (b"", "standard input is empty"),
        (b"no JSON", "expected JSON"),
        (b"{}", "expected an object"),
        (b'{"hook_event_name": "Stop", "text": "' + b"x" * MAX_HOOK_BYTES, "at most 8 MiB"),
    ],
    ids=["empty", "text", "object", "long"],
)
def test_the_hook_command_says_what_it_cannot_read(vault: Path, told: bytes, why: str) -> None:
    done = CliRunner().invoke(cli, ["hook", "claude-code", "--vault", str(vault)], input=told)

    assert (done.exit_code, done.stdout) == (0, "")
    assert why in done.stderr


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "no space left on device"), RuntimeError("a bug")]
)
def test_the_hook_command_fails_no_host(
    vault: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> Never:
        raise error

    monkeypatch.setattr("vaultsync.cli.hook_command.open_read_only", fails)
    words = ["hook", "claude-code", "--vault", str(vault)]
    done = CliRunner().invoke(cli, words, input=START)

    assert (done.exit_code, done.stdout) == (0, "")
    assert str(error.args[-1]) in done.stderr.lower()


def test_a_hook_that_its_host_stops_says_nothing(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(*_: object, **__: object) -> Never:
        raise KeyboardInterrupt

    monkeypatch.setattr("vaultsync.cli.hook_command.open_read_only", stops)
    done = CliRunner().invoke(cli, ["hook", "claude-code", "--vault", str(vault)], input=START)
    assert (done.exit_code, done.stdout, done.stderr.strip()) == (0, "", "")


@pytest.mark.parametrize("words", ["hook claude-code", "observe - --hook"])
def test_a_hook_whose_host_has_closed_the_pipe_fails_no_host(vault: Path, words: str) -> None:
    with vaultsync.open(str(vault)) as memory:
        memory.remember("Tea is served at four.")
    receiving, sending = os.pipe()
    os.close(receiving)
    with os.fdopen(sending, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "vaultsync", *words.split(), "--vault", str(vault)],
            input=START,
            stdout=closed,
            stderr=closed,
            check=False,
        )

    assert done.returncode == 0


def test_without_stdin_the_hook_does_nothing(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    command = [*HOOK, str(vault)]
    assert exit_code(lambda: hook.main(command, standalone_mode=False), words=[], group=cli) == 0
