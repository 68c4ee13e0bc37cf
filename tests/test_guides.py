"""The commands of the docs do what a reader expects who types them as they stand there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.test_docs import PAGES, ROOT, python_blocks
from tests.world import open_scopes
from vaultsync.cli.main import cli
from vaultsync.hosts.agent_hosts import HOSTS

pytestmark = pytest.mark.long(5)

DONE = (0, 3)
"""Exit codes of a command that succeeded, also with something to look at."""
ENDLESS = ("watch", "mcp", "bridge")
"""They run until stopped; other tests start them."""
ELSEWHERE = {
    "--confirm": "needs a run that the guard stopped",
    "qdrant://": "needs a server",
    "model fetch": "needs a network",
    "--print-unit": "has a redirection, which tests of the unit try",
    "/vault": "is in a container",
    "chatgpt-export": "needs an export",
    "questions.toml": "needs the file of questions that the page describes",
}
"""What commands are left to other tests, and why."""
EXAMPLE_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
BLOCK = re.compile(r"^ *```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Reader:
    """A person with a home folder, who types what a page shows."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, *, begins: bool = True) -> None:
        self.home = home
        self._monkeypatch = monkeypatch
        self._shell = CliRunner()
        self._made = 0
        if not begins:  # with nothing at all
            return
        self.type("vaultsync init ~/Memory")
        open_scopes(home / "Memory")
        self.type("cd ~/Memory")
        self.says("rebuild", "--from", "vault")

    def says(self, *words: str) -> dict[str, Any]:
        """What a command says as JSON."""
        done = self._shell.invoke(cli, [*words, "--json"])
        assert done.exit_code in DONE, f"{words}\n{done.output}"
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def type(self, line: str) -> str:
        """Type a line, and return what it prints on stdout.

        What is no command of vaultsync and changes no folder is left out.
        """
        line = line.replace("~", str(self.home))
        program, *words = shlex.split(line, comments=True)
        if program == "cd":
            self._monkeypatch.chdir(words[0])
        elif program == "cp":
            shutil.copytree(words[-2], words[-1])
        elif program == "vaultsync":
            return self._run(line, [self._placed(each) for each in words])
        return ""

    def _run(self, line: str, words: list[str]) -> str:
        if words[0] in ("purge", "install") and not {"--dry-run", "--yes"} & set(words):
            words.append("--yes")  # it asks, and here is no terminal
        done = self._shell.invoke(cli, words)
        said = f"$ {line}\n{done.output}"
        assert "Traceback" not in said, said
        missing = done.exit_code == 2 and (
            "which is not installed" in said or "no plugin for Obsidian" in said
        )
        assert done.exit_code in DONE or missing, said
        return done.stdout

    def _placed(self, word: str) -> str:
        """A word of the docs that stands for what a reader has."""
        if word == "ID" or EXAMPLE_ID.fullmatch(word):
            return self._fact()
        if word == "RUN":
            self._fact()
            return str(self.says("log")["runs"][0]["run"])
        if word == "PROPOSAL_ID":
            return self._proposal()
        if " (Conflicted copy)" in word:
            shutil.copy2(word.replace(" (Conflicted copy)", ""), word)
        return self._conflict() if word == "CONFLICT_ID" else word

    def _fact(self) -> str:
        self._made += 1
        return str(self.says("remember", f"The gate opened at {self._made}.")["id"])

    def _proposal(self) -> str:
        self._made += 1
        for _ in ("one", "copy"):
            text = f"The crane at gate {self._made} lifts ten tonnes."
            self.says("remember", text, "--agent", "indy", "--scope", "public")
        self.says("maintain")
        return str(self.says("proposals", "list")["proposals"][-1]["id"])

    def _conflict(self) -> str:
        fact = self._fact()
        note = Path(self.says("get", fact)["path"])
        note.write_text(note.read_text().replace("opened", "closed"))
        changed = self.says("update", fact, "--content", "The gate is gone.", "--agent", "indy")
        return str(changed["conflict"])


def leave_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests counts."""
    hosts = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
    for name in ("VAULTSYNC_VAULT", "VAULTSYNC_STATE_DIR", "VAULTSYNC_AGENT", *hosts):
        monkeypatch.delenv(name, raising=False)
    for name, folder in {
        "HOME": "",
        "XDG_STATE_HOME": "state",
        "XDG_CONFIG_HOME": "config",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Someone with a vault, other notes, and the memory file of an agent."""
    leave_home(tmp_path, monkeypatch)
    shutil.copytree(ROOT / "sample-vault", tmp_path / "Memory")
    (tmp_path / "Memory/.obsidian").mkdir(exist_ok=True)
    for note in ("Notes/Projects/Boat.md", "Notes/Reading list.md"):
        path = tmp_path / note
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {path.stem}\n\nTo be done in May.\n")
    for folder in ("tidebell", "work"):
        (tmp_path / folder).mkdir()
        shutil.copy2(ROOT / "golden/memory-file/MEMORY.md", tmp_path / folder)
    return Reader(tmp_path, monkeypatch)


def _lines(page: Path) -> Iterator[str]:
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in re.findall(r"^ *\$ (.*)$", block, re.MULTILINE):
            words = line.split()
            endless = words[0] == "vaultsync" and words[1] in ENDLESS and words[2:3] != ["token"]
            if not endless and not any(each in line for each in ELSEWHERE):
                yield line


WALKED = [page for page in PAGES if any(line.startswith("vaultsync") for line in _lines(page))]


@pytest.mark.parametrize("page", WALKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_succeed_as_they_stand_there(page: Path, reader: Reader) -> None:
    for line in _lines(page):
        reader.type(line)


@pytest.mark.parametrize("page", ["README.md", "docs/guides/quickstart.md"])
def test_who_begins_with_nothing_gets_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    leave_home(tmp_path, monkeypatch)
    reader = Reader(tmp_path, monkeypatch, begins=False)
    typed = takewhile(lambda line: "CONFLICT_ID" not in line, _lines(ROOT / page))
    told = {line: reader.type(line) for line in typed}
    answers = [told[each] for each in told if re.search("recall .*LanceDB|context ", each)]
    assert len(answers) >= 2
    for example in python_blocks(ROOT / page):
        exec(compile(example, page, "exec"), {})  # noqa: S102 - our own
        if "context(" in example:
            answers.append(capsys.readouterr().out)
    assert [each for each in answers if "LanceDB is embedded" not in each] == []


def _sections_of_hosts() -> dict[str, str]:
    page = (ROOT / "docs/guides/hosts.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")[1:]
    return {re.findall(r"install ([a-z-]+) --yes", each)[0]: each for each in sections}


def test_each_host_has_a_guide_of_ten_lines() -> None:
    sections = _sections_of_hosts()
    assert sections.keys() == HOSTS.keys()
    for text in sections.values():
        lines = [each for each in text.split("\n")[1:] if each and not each.startswith("```")]
        assert len(lines) <= 10


@pytest.mark.parametrize("host", HOSTS)
def test_the_guide_of_a_host_works_in_an_empty_home_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    leave_home(tmp_path, monkeypatch)
    reader = Reader(tmp_path, monkeypatch, begins=False)
    *lines, install = re.findall(r"^\$ (.*)$", _sections_of_hosts()[host], re.MULTILINE)
    for line in lines:
        reader.type(line)
    assert reader.says("list")["facts"][0]["content"] == "I like tea without milk."
    before = _files_of_hosts(tmp_path)
    reader.type(install)
    assert any("vaultsync" in text for text in _files_of_hosts(tmp_path).values())
    reader.type(f"vaultsync install {host} --remove --yes")
    assert _files_of_hosts(tmp_path) == before == {}


def _files_of_hosts(home: Path) -> dict[str, str]:
    """The files in a home folder that are not vaultsync's own."""
    files = (each.relative_to(home) for each in home.rglob("*") if each.is_file())
    own = ("Memory", "state", "config")
    return {str(each): (home / each).read_text() for each in files if each.parts[0] not in own}


def test_the_guides_are_walked() -> None:
    names = {page.name for page in WALKED}
    assert names >= {
        "README.md",
        "quickstart.md",
        "move-an-existing-vault.md",
        "resolve-a-conflict.md",
        "recover.md",
        "erase.md",
        "memory-file.md",
        "obsidian-plugin.md",
    }
