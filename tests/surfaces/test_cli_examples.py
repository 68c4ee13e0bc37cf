"""The examples of the help: each is a command line as it stands, and works."""

from __future__ import annotations

import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import vaultsync
from tests.gits import GitFolder
from tests.sample_vault import ROOT
from tests.surfaces.test_cli_help import WORKING
from vaultsync.cli.examples import EXAMPLES, examples_of
from vaultsync.cli.main import cli
from vaultsync.model.schema import TYPES

NAMES = [" ".join(words) for words in (*WORKING, ("bridge",))]
SERVES = {"watch", "bridge", "mcp"}
"""These do not end by themselves."""
ELSEWHERE = {
    "migrate": "there is no such server",
    "plugin install": "a clone has no built plugin",
    "model fetch": "there is no network",
    "resolve": "nothing is in conflict",
    "graph stats": "takes an extra",
}
NOT_THERE = ("--obsidian", "0123456789abcdef", "01a1fd60-2f48", "~/", "|", "$(")
"""What is no file, run or conflict of the sample vault, or needs a shell or Obsidian."""
QUESTIONS = '[[question]]\nquestion = "tides"\nexpected = ["team-core/people/Mara Lindqvist.md"]\n'
ANSWERS = '{"question": "tides", "found": ["team-core/people/Mara Lindqvist.md"]}\n'
EXAMPLES_BY_NAME = {
    name: examples_of(name, {each.split()[1] for each in NAMES if each.startswith(f"{name} ")})
    for name in NAMES
}
LINES = EXAMPLES.strip().splitlines()
EACH = [(name, line) for name, lines in EXAMPLES_BY_NAME.items() for line in lines]
EACH.sort(key=lambda each: LINES.index(each[1]))


def words_of(line: str) -> list[str]:
    """The words of the last command of a line that are for vaultsync."""
    command = line.removeprefix('eval "$(').removesuffix(')"')
    mine = next(part for part in command.split(" | ") if part.startswith("vaultsync "))
    return shlex.split(mine.partition(" > ")[0])[1:]


def test_every_command_has_examples_and_shows_them() -> None:
    assert [line for _, line in EACH] == LINES
    for name, lines in EXAMPLES_BY_NAME.items():
        assert lines, f"add an example of {name} to cli/examples.py"
        said = CliRunner().invoke(cli, [*name.split(), "--help"]).stdout
        for line in lines:
            assert f"  {line}\n" in said


@pytest.mark.parametrize(("name", "line"), EACH)
def test_every_example_parses(name: str, line: str, tmp_path: Path) -> None:
    words = words_of(line)
    (tmp_path / "facts.jsonl").touch()
    (tmp_path / "talk.json").touch()
    (tmp_path / "questions.toml").touch()
    (tmp_path / "answers.jsonl").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        command: click.Command = cli
        context = click.Context(cli, **cli.context_settings)
        for part in name.split():
            assert isinstance(command, click.Group)
            found = command.get_command(context, part)
            assert found is not None
            assert words.pop(0) == part
            command = found
        types = {value for option, value in pairwise(words) if option == "--type"}
        command.make_context(name, words, parent=context)
    assert types <= set(TYPES)


@pytest.mark.long(5)
def test_examples_work_on_the_sample_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = tmp_path / "vault"
    shutil.copytree(ROOT, vault)
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(vault)
    GitFolder(vault)
    (vault / "MEMORY.md").write_text("# Memory\n\n## Tides\n\nLow at noon.\n", encoding="utf-8")
    (vault / "questions.toml").write_text(QUESTIONS, encoding="utf-8")
    (vault / "answers.jsonl").write_text(ANSWERS, encoding="utf-8")
    (vault / "talk.json").write_text('[{"role": "user", "content": "Hi."}]', encoding="utf-8")
    with vaultsync.open() as memory:
        memory.rebuild(source="vault")
    for name, line in EACH:
        if name in SERVES | ELSEWHERE.keys() or any(each in line for each in NOT_THERE):
            continue
        done = CliRunner().invoke(cli, words_of(line))
        # A gate may find, on a busy machine, that it is slower than a moment ago.
        slower = name == "eval gate" and "worse than the baseline" in done.output
        assert slower or done.exit_code in {0, 3}, f"{line}\n{done.output}"
