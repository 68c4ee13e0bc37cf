from __future__ import annotations

import errno
import json
import os
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import click
import pytest

import vaultsync
from tests.forked import start_program
from tests.snippets import modules_after
from tests.surfaces.command_line import ID, RUN, FakeMemory, one_object, run
from vaultsync import __main__ as program
from vaultsync import errors
from vaultsync.cli import exit_codes as failure
from vaultsync.cli.main import cli
from vaultsync.cli.options import complete_type

pytestmark = pytest.mark.long(5)

GUARDED = 4
ERRORS: list[tuple[Exception, int]] = [
    (errors.InvalidFieldError("priority", 9, "a number"), 2),
    (errors.ScopeDeniedError("a", "private-b"), 1),
    (errors.ProposalDeniedError("a", "0123456789abcdef"), 1),
    (errors.FactNotFoundError(ID), 1),
    (errors.UnreadableNoteError("a.md", "bad YAML"), 1),
    (errors.StoreUnavailableError("away"), 1),
    (errors.StoreRewoundError("it lost 7 facts", RUN), GUARDED),
    (errors.GuardError("it would delete 70 notes", RUN), GUARDED),
    (errors.EngineBusyError("/x"), 5),
    (OSError(28, "No space left on device"), 1),
    (ZeroDivisionError("a fault"), 1),
]


@pytest.mark.parametrize(("error", "code"), ERRORS)
def test_every_error_has_its_exit_code_in_json_and_in_words(error: Exception, code: int) -> None:
    as_json = run("sync", "--json", memory=FakeMemory(sync=error))

    shown = one_object(as_json)["error"]
    assert as_json.exit_code == code
    assert shown.keys() - {"run"} == {"kind", "message", "hint"}
    assert shown["kind"] == type(error).__name__
    if isinstance(error, errors.VaultsyncError):
        assert (shown["message"], shown["hint"]) == (error.message, error.hint)
        assert as_json.stderr == ""
    if code == GUARDED:  # it names the run that confirms what the guard stopped
        assert shown["run"] == RUN

    in_words = run("sync", "--quiet", memory=FakeMemory(sync=error))
    assert (in_words.exit_code, in_words.stdout) == (code, "")
    assert "error: " in in_words.stderr


@pytest.mark.parametrize("number", ["EACCES", "ENOENT", "EROFS", "ENOSPC", "EIO", "ENAMETOOLONG"])
def test_an_error_of_the_system_has_a_hint(number: str) -> None:
    code = getattr(errno, number)
    error = OSError(code, os.strerror(code), "/state")
    result = run("sync", "--json", memory=FakeMemory(sync=error))

    shown = one_object(result)["error"]
    assert shown["message"] == f"/state: {os.strerror(code)}"
    assert shown["hint"]


def test_the_exit_code_of_an_error_follows_from_its_kind() -> None:
    kinds: list[type[Exception]] = [errors.UsageError, *errors.UsageError.__subclasses__()]
    for kind in kinds:
        code = next(c for each, c in failure._CODES if issubclass(kind, each))
        refused = {errors.ImportLineError, errors.ScopeDeniedError, errors.WriteLimitError}
        wanted = 1 if kind in {*refused, errors.ProposalDeniedError} else 2
        assert (kind, code) == (kind, wanted)


WRONG = [
    *("nope", "get", f"get {ID} 'too much'", f"get {ID} --nope", "list --limit x"),
    *("list --limit 0", "recall q --limit 0", "recall q --mode magic", "recall", "recall ' '"),
    *("context ''", "context q --budget high", "sync --max-delete -1", "resolve x"),
    *("export", "init", "completion tcsh", "list --agent ''", "list --vault ''"),
    *("list --state-dir ''", "remember x --scope ''", "recall x --user ''", "mcp --user ''"),
]


@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage_exits_with_2_in_json_and_in_words(line: str) -> None:
    words = shlex.split(line)
    as_json = run(*words, "--json")
    shown = one_object(as_json)["error"]
    assert (as_json.exit_code, as_json.stderr) == (2, "")
    assert shown.keys() == {"kind", "message", "hint"}
    assert shown["kind"] == "UsageError"
    assert "--help" in shown["hint"]

    in_words = run(*words)
    assert (in_words.exit_code, in_words.stdout) == (2, "")
    assert in_words.stderr.startswith("error: ")
    assert "\n\nhint: `vaultsync" in in_words.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("purge", "x", "--max-delete", "x"),
            "--max-delete: expected a whole number, 0 or more, got 'x'",
        ),
        (("list", "--limit", "0"), "--limit: expected a whole number, 1 or more, got 0"),
        (("mcp", "--port", "70000"), "--port: expected a whole number, 0 to 65535, got 70000"),
        (("resolve", "x", "--take", "none"), "is not one of 'vault', 'store', 'merge'"),
        (("graph", "export", "-", "--depth", "2"), "--depth needs --around"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_expected(words: tuple[str, ...], said: str) -> None:
    assert said in run(*words).stderr


def test_text_that_looks_like_an_option_may_follow_two_dashes() -> None:
    memory = FakeMemory(remember=errors.ConfigError("no"))

    assert run("remember", "--", "--json", memory=memory).stdout == ""
    assert memory.call("remember")[0] == ("--json",)


def test_without_arguments_help_is_printed() -> None:
    result = run()

    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: vaultsync")


def test_a_bug_is_shown_with_its_traceback() -> None:
    result = run("sync", memory=FakeMemory(sync=ZeroDivisionError("\x1b[2Jx")))

    assert "Traceback" in result.stderr
    assert "ZeroDivisionError: x" in result.stderr
    assert "\x1b" not in result.stderr


def test_a_closed_pipe_is_no_error() -> None:
    receiving, sending = os.pipe()
    os.close(receiving)
    with os.fdopen(sending, "wb") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "vaultsync", "completion", "fish"],
            cwd=Path(__file__).parent.parent.parent,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert (done.returncode, done.stderr) == (1, b"")


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"vaultsync {vaultsync.__version__}\n"


def test_an_interruption_while_the_program_loads_prints_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "vaultsync.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "vaultsync.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == failure.EXIT_INTERRUPTED


def test_an_answer_that_is_interrupted_is_the_only_object_on_stdout(vault: Path) -> None:
    with vaultsync.open(str(vault)) as memory:
        fact_id = memory.remember("Tea is served at four. " * 10_000).id
    line = [sys.executable, "-m", "vaultsync", "get", fact_id, "--json", "--vault", str(vault)]
    pipe = subprocess.PIPE
    with start_program(line, stdout=pipe, stderr=pipe, text=True) as program:
        assert program.stdout
        select.select([program.stdout], [], [])  # it has begun, and the pipe is full
        program.send_signal(signal.SIGINT)
        said, erred = program.communicate(timeout=60)

    assert said.startswith('{"id": ')
    assert "Interrupted" not in said
    if program.returncode == failure.EXIT_DONE:  # Python may drop an interrupt, as in `__del__`
        assert json.loads(said)["id"] == fact_id
    else:
        assert program.returncode == failure.EXIT_INTERRUPTED
        assert erred.lstrip().startswith("error: interrupted")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_error_after_the_answer_is_on_stderr(error: BaseException) -> None:
    class Closing(FakeMemory):
        def __exit__(self, *_: object) -> None:
            raise error

    result = run("update", ID, "--set", "title=x", "--json", memory=Closing())

    assert one_object(result)["id"] == ID
    assert result.exit_code in {failure.EXIT_INTERRUPTED, failure.EXIT_FAILED}
    assert result.stderr.lstrip().startswith("error: ")
    assert "error" in one_object(run("nope", "--json"))


@pytest.mark.parametrize(
    ("shell", "sign"), [("zsh", "#compdef vaultsync"), ("fish", "function _vaultsync_completion")]
)
def test_completion_prints_the_script_of_a_shell(shell: str, sign: str) -> None:
    given = run("completion", shell)
    found = run("completion", env={"SHELL": f"/usr/bin/{shell}"})

    assert given.stdout.startswith(sign)
    assert f"vaultsync completion {shell}" in given.stdout
    assert found.stdout == given.stdout
    assert one_object(run("completion", shell, "--json"))["shell"] == shell


def test_completion_takes_the_options_of_every_command() -> None:
    words = "completion bash --vault v --state-dir s --json --quiet --verbose"
    assert run(*words.split()).exit_code == 0


def test_completion_of_another_shell_is_wrong_usage() -> None:
    assert run("completion", env={"SHELL": "/bin/tcsh"}).exit_code == 2
    assert run("completion", env={"SHELL": None}).exit_code == 2


def test_a_shell_completes_commands_and_types() -> None:
    context = click.Context(cli, **cli.context_settings)

    types = complete_type(context, click.Option(["--type"]), "p")
    assert types == ["preference", "person", "project"]
    assert [each.value for each in cli.shell_complete(context, "re")] == [
        *("remember", "restore", "resolve", "rebuild", "recall", "repo")
    ]
    assert "--version" in {each.value for each in cli.shell_complete(context, "--")}


@pytest.mark.parametrize("code", ["import vaultsync.cli", "import vaultsync.__main__"])
def test_help_loads_only_the_command_line(code: str) -> None:
    own = {name for name in modules_after(code) if name.startswith("vaultsync")}
    parts = {".".join(name.split(".")[:2]) for name in own}
    assert parts <= {"vaultsync", "vaultsync.__main__", "vaultsync.cli", "vaultsync.errors"}
    assert not own & {"vaultsync.cli.open_vault", "vaultsync.cli.format_facts"}


def ended(
    code: str, *, stdout: IO[str] | int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """A process that ran `main` as a piece of Python says."""
    words = "import atexit, sys, threading, time\nfrom vaultsync.cli.main import main\n"
    return subprocess.run(
        [sys.executable, "-c", words + code, "--version"],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("atexit.register(lambda: sys.stdout.write('the last word'))\n", "the last word"),
        ("threading.Timer(0.3, print, ['done']).start()\n", "done\n"),
        # Modules are not freed.
        ("class Late:\n  def __del__(self):\n    print('late')\nkept = Late()\n", "\n"),
    ],
)
def test_the_process_ends_with_its_exit_functions_and_threads(code: str, end: str) -> None:
    done = ended(f"{code}main()")
    assert done.returncode == 0
    first, _, last = done.stdout.partition("\n")
    assert first.startswith("vaultsync ")
    assert last == end.removeprefix("\n")


@pytest.mark.parametrize(
    ("words", "closed", "code", "text"),
    [
        ("import -", "<&-", 2, "standard input is closed"),
        ("export -", ">&-", 2, "standard output is closed"),
        ("graph export -", ">&-", 2, "standard output is closed"),
        ("mcp", ">&-", 2, "standard output is closed"),
        ("resolve", "<&-", 2, "missing option '--take'"),
        ("undo", "<&-", 0, ""),
        ("list", ">&-", 0, ""),
    ],
)
def test_a_closed_stream_is_no_bug(
    vault: Path, words: str, closed: str, code: int, text: str
) -> None:
    with vaultsync.open(str(vault)) as memory:
        memory.remember("Tea is served at four.")
    line = f'exec "$0" -m vaultsync {words} --vault "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(vault)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        check=False,
    )

    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert text in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("recall tea --vault {}", 0, "four"),
        ("context tea --vault {}", 0, "four"),
        ("list", 2, "no vault at the current folder, which was deleted"),
        ("list --vault .", 2, "no vault at the current folder, which was deleted"),
    ],
)
def test_the_current_folder_may_be_gone(
    vault: Path, monkeypatch: pytest.MonkeyPatch, words: str, code: int, text: str
) -> None:
    with vaultsync.open(str(vault)) as memory:
        memory.remember("Tea is served at four.")
    gone = vault.parent / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.delenv("VAULTSYNC_VAULT", raising=False)
    gone.rmdir()
    done = subprocess.run(
        [sys.executable, "-m", "vaultsync", *words.format(vault).split()],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert text in done.stdout + done.stderr


needs_full_device = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="there is no device that is always full"
)


@needs_full_device
@pytest.mark.parametrize("words", [("completion", "fish"), ("get", "x", "--vault", "/")])
def test_a_full_disk_is_reported_on_stderr_also_with_json(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vaultsync", *words, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode in {1, 2}
    assert done.stderr.startswith("error: ")


@needs_full_device
def test_output_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        assert ended("main()", stdout=full).returncode != 0
