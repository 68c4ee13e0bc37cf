"""`open` starts the user's program with the note, whatever the note is called."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import vaultsync
from vaultsync.api.memory import Memory
from vaultsync.backends.system.note_opener import editor_command, obsidian_uri
from vaultsync.cli.main import cli

HOSTILE = "-x $(touch owned) ;`touch owned`&vault=other#%20 'a\" b.md"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    for name in ("editor", "xdg-open"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\nfor each; do echo "$each"; done > {tmp_path}/{name}.log\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("VISUAL", "editor --wait '-o p'")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(tmp_path)
    vaultsync.init(f"{tmp_path}/vault", state_dir=f"{tmp_path}/state")
    return vaultsync.open(f"{tmp_path}/vault", state_dir=f"{tmp_path}/state")


def run(memory: Memory, name: str, *words: str) -> Result:
    place = ["--vault", str(memory.settings.root), "--state-dir"]
    state = str(memory.settings.state_dir.parent)
    return CliRunner().invoke(cli, ["open", *words, *place, state, "--", name])


def test_a_note_is_one_argument_whatever_its_name(memory: Memory, tmp_path: Path) -> None:
    with memory:
        fact = memory.remember("It is open.", title="--help; $(touch owned)")
        assert fact.path is not None
        (memory.settings.root / fact.path).rename(memory.settings.root / "public" / HOSTILE)
        memory.sync()
    done = run(memory, fact.id[:13], "--json")
    opened = json.loads(done.stdout)
    assert opened["path"] == f"public/{HOSTILE}"
    given_words = ["--wait", "-o p", str(memory.settings.root / "public" / HOSTILE)]
    assert (tmp_path / "editor.log").read_text().splitlines() == given_words
    assert opened["command"] == ["editor", *given_words]

    assert json.loads(run(memory, fact.title, "--obsidian", "--json").stdout)["uri"]
    (uri,) = (tmp_path / "xdg-open.log").read_text().splitlines()
    assert parse_qs(urlsplit(uri).query) == {"path": given_words[-1:]}
    assert not [*tmp_path.rglob("owned")]

    (tmp_path / "xdg-open").write_text("#!/bin/sh\nexit 3\n")
    assert "hint: install Obsidian" in run(memory, fact.title, "--obsidian").stderr


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_no_name_ends_the_uri_or_its_argument(name: str) -> None:
    file = Path("/vault") / name.replace("/", "")
    parts = urlsplit(obsidian_uri(file))
    assert parse_qs(parts.query, strict_parsing=True) == {"path": [str(file)]}
    assert (parts.netloc, parts.fragment) == ("open", "")
    assert editor_command(file)[-1] == str(file)


@pytest.mark.parametrize(
    ("editor", "says"),
    [
        ("missing-editor", "missing-editor cannot be started"),
        ("false", "false ended with exit code 1"),
        ("'", "$VISUAL cannot be read"),
        ("", "neither $VISUAL nor $EDITOR"),
    ],
)
def test_what_does_not_open_says_why(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, editor: str, says: str
) -> None:
    with memory:
        fact = memory.remember("It is open.")
    monkeypatch.setenv("VISUAL", editor)
    monkeypatch.delenv("EDITOR")
    if not editor:
        monkeypatch.setenv("PATH", "")
    done = run(memory, fact.id)
    assert done.exit_code == 1
    assert says in done.stderr
    assert "hint: set EDITOR" in done.stderr


def test_a_fact_without_a_note_and_a_link_are_not_opened(memory: Memory, tmp_path: Path) -> None:
    with memory:
        fact = memory.remember("It is open.")
        assert fact.path is not None
        (tmp_path / "facts.jsonl").write_text('{"content": "No note yet."}\n')
        with (tmp_path / "facts.jsonl").open() as lines:
            memory.import_(lines)
    done = run(memory, "No note yet")
    assert "the fact has no note yet" in done.stderr
    assert "hint: `vaultsync sync --vault" in done.stderr
    note = memory.settings.root / fact.path
    note.unlink()
    note.symlink_to("/etc/hostname")
    assert "is not a file in the vault" in run(memory, fact.id).stderr
