"""Planted secrets never appear in any answer, nor in any file that anybody is shown."""

from __future__ import annotations

import json
import random
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import vaultsync
from tests import secrets
from vaultsync.app import Memory
from vaultsync.app.agent_settings import settings_for
from vaultsync.app.agents import AgentMemory
from vaultsync.app.answering import ask_files
from vaultsync.cli import cli
from vaultsync.ports import Write

DICE = random.Random("vaultsync answers")
TOKEN, OTHER = secrets.token("github", DICE), secrets.token("stripe", DICE)
WORD = "a-word-of-the-env"
CODE = "ACME-" + "7731"
PLANTED = (TOKEN, OTHER, WORD, CODE)
MAY_HOLD = {"store.sqlite3", "archive.sqlite3"}
"""Files of the state folder that hold true texts; open to their owner alone."""
SETTINGS = """
[hygiene]
patterns = ['ACME-\\d{4}', "@iban"]
environment = ["CANARY_WORD", "CANARY_SHORT", "CANARY_UNSET"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    monkeypatch.setenv("CANARY_WORD", WORD)
    monkeypatch.setenv("CANARY_SHORT", "the")
    vaultsync.init(str(tmp_path / "vault"))
    marker = tmp_path / "vault" / ".meta" / "config.toml"
    marker.write_text(marker.read_text() + 'index_folder = "Index"\n' + SETTINGS)
    return tmp_path


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with vaultsync.open(str(folder / "vault"), agent="indy") as opened:
        yield opened


def _text() -> str:
    return f"The deploy uses {TOKEN} in the evening.\n\nFor <% x %> say {WORD}, then {CODE}."


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """All that is in files and their names, but where true texts belong."""
    for path in sorted(folder.rglob("*")):
        text = ""
        if path.is_file() and not any(path.name.startswith(each) for each in MAY_HOLD):
            text = path.read_bytes().decode("latin-1")
        yield path, f"{path}\n{text}"


def _leaks(text: object) -> list[str]:
    return [each for each in PLANTED if each in str(text)]


def test_no_file_and_no_answer_of_memory_holds_a_planted_secret(
    folder: Path, memory: Memory
) -> None:
    fact = memory.remember(
        _text(),
        title=f"Deploy {CODE}",
        tags=[TOKEN],
        entities=["Alice", TOKEN],
        scope="team-a",
    )
    answers: list[object] = [fact, memory.sync().as_json()]
    path = folder / "vault" / str(fact.path)
    path.write_text(path.read_text().replace("evening", f"morning {OTHER}"))
    answers += [memory.sync().as_json()]
    answers += [memory.update(fact.id, content=memory.get(fact.id).content + " More.")]
    assert OTHER in path.read_text()  # a person's own word in a person's own file
    path.write_text(path.read_text().replace("morning", "noon"))
    memory.remember("Another.", title="Another")
    with vaultsync.open(str(folder / "vault"), agent="otto") as other:
        changed = memory._mirror.store.get(fact.id)
        said = changed.content.replace("morning", f"night {TOKEN}")
        write = Write(fact.id, changed.but(content=said), changed.revision, "otto")
        other._mirror.store.write([write])
    answers += [memory.sync().as_json(), memory.conflicts()]
    assert len(memory.conflicts()) == 1
    answers += [
        memory.get(fact.id), memory.list().as_json(), memory.history(fact.id),
        memory.status().as_json(), memory.verify().as_json(), memory.doctor(),
        memory.recall("deploy evening"), memory.recall("deploy", explain=True),
        memory.context("deploy", budget=800), memory.context("deploy", format="json"),
        memory.graph_export().text, memory.graph_export(format="html").text,
        memory.related(fact.id).as_json(), memory.graph_stats(),
        memory.graph_neighbors("Alice"), memory.links_check(),
        memory.resolve(memory.conflicts()[0].id, take="store"),
        memory.index(rebuild=True).as_json(), memory.supersede(fact.id, f"now {CODE}"),
    ]  # fmt: skip
    assert [leaks for each in answers if (leaks := _leaks(each))] == []
    assert "[REDACTED:github:" in str(memory.get(fact.id))
    memory.close()
    path.write_text(path.read_text().replace(OTHER, ""))
    found = [(path, leaks) for path, text in _files(folder) if (leaks := _leaks(text))]
    # The note as the person had saved it is kept for a minute, in case an editor still writes.
    aside = [leaks for path, leaks in found if path.parent.name == "staging"]
    assert all(leaks == [OTHER] for leaks in aside)
    assert len(aside) == len(found)


def test_what_is_exported_is_whole(memory: Memory) -> None:
    fact = memory.remember(_text())
    lines: list[str] = []
    memory.export(lines.append)
    assert json.loads(lines[0])["content"] == _text()
    assert memory.import_(lines) == 1
    assert memory._mirror.store.get(fact.id).content == _text()


def test_the_command_line_hides_and_understands_placeholders(folder: Path) -> None:
    def run(*words: str) -> str:
        words = (*words, "--vault", str(folder / "vault"))
        done = CliRunner().invoke(cli, words)
        return done.output

    said = json.loads(run("remember", _text(), "--json"))
    assert _leaks(said) == []
    content = json.loads(run("get", said["id"], "--json"))["content"]
    assert _leaks(content) == []
    run("update", said["id"], "--content", f"{content} More.")
    with vaultsync.open(str(folder / "vault")) as memory:
        assert memory._mirror.store.get(said["id"]).content == f"{_text()} More."
    wrong = run("update", said["id"], "--content", "[REDACTED:x:00000000]", "--json")
    assert json.loads(wrong)["error"]["kind"] == "UnknownPlaceholderError"
    refused = run("update", said["id"], "--set", f"priority={TOKEN}", "--json")
    assert _leaks(refused) == []
    assert _leaks(run("list", "--json") + run("recall", "deploy", "--json")) == []


def test_an_agent_adds_no_secret_to_a_memory_file(folder: Path, memory: Memory) -> None:
    path = folder / "MEMORY.md"
    path.write_text("# Memory\n")
    memory.add_to_memory_file(path, f"The key is {TOKEN}.", section="Keys")
    assert "[REDACTED:github:" in path.read_text()
    assert _leaks(path.read_text()) == []


def test_the_text_of_a_note_is_hidden_from_an_agent_where_a_person_typed(
    folder: Path,
) -> None:
    with vaultsync.open(str(folder / "vault")) as memory:
        fact = memory.remember("The deploy is in the evening.", title="Deploy")
        path = folder / "vault" / str(fact.path)
        path.write_text(path.read_text().replace("evening", f"evening {TOKEN}"))
    settings = settings_for(str(folder / "vault"), agent="indy")
    with AgentMemory(settings) as agent:
        agent.take_up()
        _, text = agent.note(fact.id)
    assert "evening [REDACTED:github:" in text


def test_a_clone_without_a_store_hides_what_persons_typed(folder: Path) -> None:
    with vaultsync.open(str(folder / "vault")) as memory:
        fact = memory.remember("The deploy is in the evening.", title="Deploy")
        path = folder / "vault" / str(fact.path)
        path.write_text(path.read_text().replace("evening", f"evening {TOKEN}"))
        memory.sync()
    found = ask_files("deploy evening", path=str(folder / "vault"))
    assert found.hits
    assert _leaks(found) == []


def test_the_key_is_its_owners_alone_and_stays(folder: Path) -> None:
    def key() -> Path:
        (found,) = (folder / "state").rglob("hygiene.key")
        return found

    first = key().read_bytes()
    assert stat.S_IMODE(key().stat().st_mode) == 0o600
    with vaultsync.open(str(folder / "vault")):
        assert key().read_bytes() == first


def test_what_is_switched_off_is_shown(folder: Path) -> None:
    marker = folder / "vault" / ".meta" / "config.toml"
    text = marker.read_text().replace(
        "[hygiene]", "[hygiene]\nsecrets = false\nneutralise = false"
    )
    marker.write_text(text)
    with vaultsync.open(str(folder / "vault")) as memory:
        fact = memory.remember(_text())
        assert fact.content == _text()
        assert _text() in (folder / "vault" / str(fact.path)).read_text()
        assert memory.sync().quiet
        checks = {each.name: each for each in memory.doctor()}
        assert not checks["hygiene"].ok


def test_the_doctor_tells_what_is_hidden_and_what_cannot_be(folder: Path) -> None:
    with vaultsync.open(str(folder / "vault")) as memory:
        checks = {each.name: each for each in memory.doctor()}
    said = checks["hygiene"].message
    assert checks["hygiene"].ok
    assert "CANARY_SHORT" in said
    assert "CANARY_UNSET" in said
    assert WORD not in said
