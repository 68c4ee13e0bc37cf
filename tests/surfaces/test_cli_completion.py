"""What a shell offers after a Tab."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import vaultsync
from vaultsync.cli.main import cli
from vaultsync.model.schema import TYPES

pytestmark = [pytest.mark.usefixtures("vault"), pytest.mark.long(5)]


def offered(*words: str) -> list[str]:
    *before, typed = words
    shell = ShellComplete(cli, {}, "vaultsync", "_VAULTSYNC_COMPLETE")
    return [each.value for each in shell.get_completions(list(before), typed)]


def test_facts_are_offered_by_id_and_by_path() -> None:
    with vaultsync.open() as memory:
        fact = memory.remember("Tea is served at four.")
        gone = memory.remember("Coffee is served at five.")
        memory.forget(gone.id)
    assert fact.path is not None
    for command in ("get", "update", "edit", "supersede", "forget", "restore", "history"):
        assert fact.path in offered(command, "public/")
        assert fact.id in offered(command, fact.id[:9])
    assert gone.id in offered("restore", gone.id[:13])
    assert offered("get", "public/nothing") == []
    assert fact.path in offered("list", "--links-to", "pub")
    assert fact.id in offered("list", "--after", fact.id)
    assert fact.path in offered("graph", "neighbors", "pub")


def test_settings_are_offered(vault: Path) -> None:
    for command in ("set", "unset", "get"):
        assert "watch.settle_seconds" in offered("config", command, "watch.")
        assert "store" in offered("config", command, "")
        assert offered("config", command, "nothing") == []
    assert offered("config", "set", "--vault", str(vault / ".."), "") == []


def test_an_agent_is_offered_only_what_it_sees() -> None:
    with vaultsync.open(agent="indy") as memory:
        mine = memory.remember("My own thought.")
    assert mine.path is not None
    for words, agent, seen in (
        (("get", "private-"), "indy", True),
        (("get", "private-"), "moss", False),
        (("get", mine.id[:9]), "indy", True),
        (("get", mine.id[:9]), "moss", False),
        (("remember", "--scope", "private-"), "indy", True),
        (("remember", "--scope", "private-"), "moss", False),
    ):
        command, *rest = words
        assert bool(offered(command, "--agent", agent, *rest)) is seen
    assert offered("get", "--agent", "moss", "") == []


def test_runs_conflicts_scopes_and_types_are_offered(vault: Path) -> None:
    with vaultsync.open() as memory:
        memory.remember("Tea is served at four.", scope="team-core")
        (vault / "public/notes").mkdir(parents=True, exist_ok=True)
        (vault / "public/notes/a.md").write_text("A note.\n", encoding="utf-8")
        run = memory.sync().run
    assert run in offered("undo", run[:10])
    assert run in offered("sync", "--confirm", "")
    assert offered("recall", "--scope", "") == ["public", "team-core"]
    assert offered("adopt", "--scope", "t") == ["team-core"]
    assert offered("resolve", "") == []
    assert offered("recall", "--type", "") == list(TYPES)


def test_files_are_completed_by_the_shell() -> None:
    shell = ShellComplete(cli, {}, "vaultsync", "_VAULTSYNC_COMPLETE")
    for command in ("sync", "add", "manage"):
        (offer,) = shell.get_completions(["memory-file", command], "no")
        assert (offer.type, offer.value) == ("file", "no")


def test_a_shell_is_offered_nothing_where_there_is_no_vault_and_no_state(tmp_path: Path) -> None:
    empty = str(tmp_path / "empty")
    assert offered("get", "--vault", empty, "") == []
    vaultsync.init(empty, state_dir=str(tmp_path / "state"))
    assert offered("get", "--vault", empty, "--state-dir", str(tmp_path / "new"), "") == []


ODD = 'public/notes/R&D $(touch pwned), it\'s "tea" `x` $1.md'
BASH = """
eval "$("$0" -m vaultsync completion bash)"
env() { command env "${@:1:$#-1}" "$PYTHON" -m vaultsync; }
COMP_WORDS=(vaultsync get "$1public/notes/R") COMP_CWORD=2
_vaultsync_completion vaultsync
eval "printf '%s\\n' $1${COMPREPLY[0]}$1"
"""
FISH = """
$PYTHON -m vaultsync completion fish | source
function vaultsync; end
function env; command env $argv[1..-2] $PYTHON -m vaultsync; end
complete -C "vaultsync get public/notes/R"
"""


@pytest.fixture
def odd_note(vault: Path) -> str:
    with vaultsync.open() as memory:
        (vault / "public/notes").mkdir(parents=True)
        (vault / ODD).write_text("A note.\n", encoding="utf-8")
        memory.sync()
    return ODD


def output_of(*words: str) -> str:
    done = subprocess.run(
        words, env=os.environ | {"PYTHON": sys.executable}, capture_output=True, check=False
    )
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.mark.parametrize("mark", ["", "'", '"'])
def test_bash_gets_any_path_as_one_quoted_word(odd_note: str, vault: Path, mark: str) -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    assert output_of("bash", "-c", BASH, sys.executable, mark).rstrip("\n") == odd_note
    assert not (vault / "pwned").exists()


def test_fish_gets_a_path_with_a_comma_whole(odd_note: str) -> None:
    script = output_of(sys.executable, "-m", "vaultsync", "completion", "fish")
    assert 'string split --max 1 "," $completion' in script
    if shutil.which("fish") is not None:
        assert output_of("fish", "-c", FISH).partition("\t")[0] == odd_note
