from __future__ import annotations

import io
import json
import os
import plistlib
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Never

import pytest
from click.testing import CliRunner, Result

import vaultsync
from tests.fakes import START
from tests.forked import start_program
from tests.machines import configure_machine
from vaultsync.cli.main import cli
from vaultsync.cli.units import unit
from vaultsync.cli.watch_command import LogLines, event_log
from vaultsync.errors import EngineBusyError
from vaultsync.http_bridge import encoding as answers
from vaultsync.model.schema import Value
from vaultsync.service.daemon_runner import WatchService
from vaultsync.sync.report import REPORT_COUNTS

WAITS, WRONG = 3, 2
REPORT: dict[str, Value] = {
    "run": "r1",
    "seconds": 0.1,
    "counts": {**dict.fromkeys(REPORT_COUNTS, 0), "moved": 2},
    "actions": [{"action": "move", "path": "a.md", "reason": "a secret of the note"}],
    "attention": [
        {"kind": "unreadable", "path": "a.md", "line": 3, "message": "secret", "hint": ""}
    ],
}


pytestmark = pytest.mark.usefixtures("vault")


def watch(*words: str) -> Result:
    return CliRunner().invoke(cli, ["watch", *words])


def test_once_settled_syncs_and_ends() -> None:
    with vaultsync.open() as memory:
        memory.import_(['{"title": "Fact", "content": "Text."}'])
    done = watch("--once-settled", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["passes"] >= 1
    events = [json.loads(line)["event"] for line in done.stderr.splitlines()]
    assert events[0] == "ready"
    assert "pass" in events
    assert events[-1] == "stopped"
    with vaultsync.open() as memory:
        assert memory.verify().equal
        assert memory.sync().quiet


def test_the_exit_code_says_that_something_waits_for_the_user(vault: Path) -> None:
    (vault / "public" / "notes").mkdir(parents=True)
    (vault / "public" / "notes" / "broken.md").write_text("---\na: [b\n---\n")
    assert watch("--once-settled", "--quiet").exit_code == WAITS


def test_the_log_can_go_to_a_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert watch("--once-settled", "--log", str(log)).stderr == ""
    assert [json.loads(line) for line in log.read_text().splitlines()]


def test_invalid_settings_are_wrong_usage(vault: Path) -> None:
    configure_machine(vault, '[watch]\nwatcher = "crystal ball"\n')
    done = watch()
    assert done.exit_code == WRONG
    assert "watchfiles" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(vault: Path, number: signal.Signals) -> None:
    started = start_program(
        [sys.executable, "-m", "vaultsync", "watch"], stderr=subprocess.PIPE, text=True
    )
    assert started.stderr
    assert json.loads(started.stderr.readline())["event"] == "ready"
    started.send_signal(number)
    _, rest = started.communicate(timeout=60)
    assert started.returncode == 0
    assert json.loads(rest.splitlines()[-1])["event"] == "stopped"


def test_the_status_shows_the_errors_of_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon: Mapping[str, Value] = {
        "since": "2026-02-14T13:45:00Z",
        "watcher": "",
        "watcher_trouble": "no more watches",
        "lag_seconds": 2.5,
        "passes": 3,
        "failing": True,
        "last_error": {"at": "2026-02-14T13:46:00Z", "message": "the disk is full"},
    }
    monkeypatch.setattr("vaultsync.backends.state.process_files.DaemonFile.read", lambda _: daemon)
    with vaultsync.open() as memory, memory._engine.exclusive():
        said = CliRunner().invoke(cli, ["status"]).stdout
    for words in ("no more watches", "2.5 s", "failing", "the disk is full", "none"):
        assert words in said


def test_a_unit_has_the_command(vault: Path) -> None:
    said = watch("--print-unit", "systemd").stdout
    assert f'"watch" "--vault" "{vault}"' in said
    assert "Restart=on-failure" in said
    assert "WantedBy=default.target" in said
    as_json = json.loads(watch("--print-unit", "launchd", "--json").stdout)
    assert as_json["kind"] == "launchd"
    assert "<plist" in as_json["unit"]


def test_the_guide_makes_the_units_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/watch.md").read_text(encoding="utf-8")
    lines = [line.removeprefix("$ ") for line in guide.splitlines() if line.startswith("$ ")]
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for system in ("systemd", "launchd"):
        at = next(n for n, line in enumerate(lines) if f"--print-unit {system}" in line)
        script = f'vaultsync() {{ {sys.executable} -m vaultsync "$@"; }}\n'
        subprocess.run(["bash", "-ec", script + "\n".join(lines[at - 1 : at + 1])], check=True)
    made = [each.name for each in (tmp_path / "home").rglob("*") if each.is_file()]
    assert sorted(made) == ["vaultsync.plist", "vaultsync.service"]


def test_a_unit_quotes_special_characters() -> None:
    said = unit("systemd", '/home/me/100% "mine" $x', state_dir=None)
    assert '"/home/me/100%% \\"mine\\" $$x"' in said
    said = unit("systemd", "/me/Notes\nExecStart=x", state_dir=None)
    assert said.count("\nExecStart=") == 1
    assert '"/me/Notes\\nExecStart=x"' in said
    there = unit("systemd", "/home/me/Notes", state_dir=None, config_dir=Path('/a 100% "b" $c'))
    assert '\nEnvironment="VAULTSYNC_CONFIG_DIR=/a 100%% \\"b\\" $c"\nExecStart=' in there
    there = unit("launchd", "/home/me/Notes", state_dir=None, config_dir=Path("/a & b"))
    variables = plistlib.loads(there.encode())["EnvironmentVariables"]
    assert variables == {"VAULTSYNC_CONFIG_DIR": "/a & b"}
    listed = plistlib.loads(unit("launchd", "/home/me/a & <b>", state_dir="state").encode())
    assert "/home/me/a & <b>" in listed["ProgramArguments"]
    assert str(Path("state").absolute()) in listed["ProgramArguments"]
    label = listed["Label"]
    assert label.startswith("vaultsync.a----b-.")
    other = plistlib.loads(unit("launchd", "/home/you/a & <b>", state_dir=None).encode())
    assert other["Label"] != label


def test_a_bug_of_the_bridge_is_a_line_of_the_same_log(tmp_path: Path) -> None:
    file = tmp_path / "log"
    with event_log(str(file), quiet=True):
        answers.error_response(ValueError("a bug"))
    answers.error_response(ValueError("nobody watches"))
    (line,) = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    assert (line["level"], line["event"]) == ("error", "error")
    assert line["kind"] == "vaultsync.bridge"
    assert line["message"].endswith("ValueError: a bug\n")


def test_the_log_of_a_run_has_no_contents_of_notes() -> None:
    stream = io.StringIO()
    log = LogLines(stream, lambda: START)
    log("pass", REPORT)
    log("state", {"passes": 1})
    log("error", {"message": "the disk is full"})
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "at": "2026-02-14T13:45:00.000Z",
        "level": "info",
        "event": "pass",
        "run": "r1",
        "seconds": 0.1,
        "counts": {"moved": 2},
        "attention": [{"kind": "unreadable", "path": "a.md", "line": 3}],
        "attentions": 1,
    }
    assert second["level"] == "error"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


EVENTS: list[tuple[str, dict[str, Value], str]] = [
    ("ready", {"vault": "/v"}, "watching /v; Ctrl-C stops"),
    ("bridge", {"address": "http://x:1"}, "the Obsidian plugin can connect to http://x:1"),
    ("watcher", {"watcher": "watchfiles", "trouble": ""}, "watchfiles reports changes"),
    (
        "watcher",
        {"watcher": "polling", "trouble": "it died"},
        "polling reports changes; the last watcher failed: it died",
    ),
    (
        "watcher",
        {"watcher": "", "trouble": "no space"},
        "no watcher, so only scans find changes: no space",
    ),
    (
        "rescan",
        {"why": "the store is available again"},
        "scanning the whole vault: the store is available again",
    ),
    ("store", {"away": "no answer"}, "the store is unavailable: no answer"),
    ("store", {"away": ""}, "the store is available again"),
    ("pass", REPORT, "2 notes moved; 1 notice, the first about a.md (`vaultsync status` explains)"),
    ("pass", {**REPORT, "attention": [], "counts": {}}, "nothing changed"),
    ("memory-file", {"files": ["~/MEMORY.md"], "attentions": 1}, "synced ~/MEMORY.md; 1 notice"),
    ("memory-file", {"files": ["~/MEMORY.md"], "attentions": 0}, "synced ~/MEMORY.md"),
    ("derived", {"behind": []}, "indexes are up to date"),
    ("derived", {"behind": ["no model"]}, "indexes are out of date: no model"),
    (
        "error",
        {"message": "the disk is full", "hint": "make room", "again_in": 2.0},
        "error: the disk is full; trying again in 2 s (make room)",
    ),
    ("error", {"message": "no bridge"}, "error: no bridge"),
    ("stopped", {"passes": 2}, "stopped after 2 syncs"),
    ("new", {"some": 1}, 'new: {"some": 1}'),
]


def test_on_a_terminal_the_log_is_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with event_log(None, quiet=False) as log:
        for kind, data, _ in EVENTS:
            log(kind, data)
    lines = terminal.getvalue().splitlines()
    assert [line.partition("  ")[2] for line in lines] == [words for *_, words in EVENTS]
    with event_log(None, quiet=False, as_json=True) as log:
        log("ready", {"vault": "/v"})
    assert json.loads(terminal.getvalue().splitlines()[-1])["event"] == "ready"


def test_a_quiet_log_has_only_warnings_and_errors_and_a_closed_one_stops_nothing() -> None:
    stream = io.StringIO()
    log = LogLines(stream, lambda: START, quiet=True)
    log("ready", {})
    log("store", {"away": "no answer"})
    assert json.loads(stream.getvalue())["level"] == "warning"
    stream.close()
    log("store", {"away": "no answer"})


@pytest.mark.parametrize("words", [(), ("--once-settled",)])
def test_a_daemon_that_is_stopped_while_it_waits_prints_its_json(
    vault: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def stopped_while_waiting(_: object) -> Never:
        os.kill(os.getpid(), signal.SIGTERM)
        raise EngineBusyError(str(vault))

    monkeypatch.setattr(WatchService, "run", stopped_while_waiting)
    words = ("watch", "--wait", "--no-bridge", "--json", "--vault", str(vault), *words)
    done = CliRunner().invoke(cli, words)

    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"passes": 0, "last_error": None}
