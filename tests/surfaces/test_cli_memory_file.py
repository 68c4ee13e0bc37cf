"""`memory-file`: what is asked, what is shown, how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs, to_builtins

from tests.memory_file_worlds import DEPLOY, PEOPLE, TESTS, memory
from tests.surfaces.command_line import ID, FakeMemory, one_object, run
from vaultsync import api as app
from vaultsync.api.memory import Memory
from vaultsync.errors import EngineBusyError, MemoryFileMissingError, UnreadableMemoryFileError
from vaultsync.memory_files.report import (
    AddResult,
    FileResult,
    SectionResult,
    counts_of,
    report_of_files,
)
from vaultsync.memory_files.sections import memory_file_notice
from vaultsync.model.fact import Fact
from vaultsync.sync.report import notices_of

NAME = "~/work/MEMORY.md"
TEXT = "Ask the harbour master before the database."
ACTIONS = [
    SectionResult("update", ID, "Tests", 7, ("content",), "changed in the file"),
    SectionResult("let_go", ID, "People", None, (), "gone from the file"),
]
DONE = report_of_files(
    [
        FileResult(
            NAME,
            sections=4,
            counts=counts_of(ACTIONS, 3),
            actions=ACTIONS,
            pending=[ID],
            left_out=2,
            written=1,
        )
    ],
    seconds=0.25,
)
QUIET = report_of_files([FileResult(NAME, 4, counts_of((), 4))])
(NOTICE,) = notices_of(
    [memory_file_notice("EditedElsewhere", NAME, "it was edited", "write it into the file", 7)]
)
WAITS = structs.replace(QUIET, attention=[NOTICE])


def test_a_report_is_printed_as_text() -> None:
    held = FakeMemory(sync_memory_file=DONE)
    result = run("memory-file", "sync", "MEMORY.md", "x", "--agent", "indy", memory=held)
    assert result.exit_code == 0
    assert f"{NAME}: 1 changed, 1 detached, 3 unchanged" in result.stdout
    assert "detach\tPeople\t\tgone from the file" in result.stdout
    assert "update\tTests (line 7)\tcontent\tchanged in the file" in result.stdout
    for words in ("1 queued text", "2 sections too short", "1 fact not embedded"):
        assert words in result.stderr
    args, named = held.call("sync_memory_file")
    assert args == ("MEMORY.md", "x")
    assert (named["again"], named["dry_run"], named["include"]) == (False, False, ())
    assert held.opened["agent"] == "indy"


def test_quiet_and_json_show_data_alone() -> None:
    held = FakeMemory(sync_memory_file=DONE)
    assert not run("memory-file", "sync", "m", "--quiet", memory=held).stdout
    found = one_object(run("memory-file", "sync", "m", "--json", memory=held))
    assert found["counts"] == {
        "created": 0,
        "updated": 1,
        "forgotten": 0,
        "let_go": 1,
        "unchanged": 3,
    }
    assert found["files"][0]["actions"][0]["fact_id"] == ID
    assert found["pending"] == 1


def test_what_waits_for_a_person_ends_with_3_and_says_so() -> None:
    held = FakeMemory(sync_memory_file=WAITS)
    result = run("memory-file", "sync", "m", memory=held)
    assert result.exit_code == 3
    assert "write it into the file" in result.stdout
    result = run("memory-file", "sync", "m", "--json", memory=held)
    assert result.exit_code == 3
    assert one_object(result)["attention"][0]["line"] == 7


def test_a_dry_run_says_that_it_is_one() -> None:
    held = FakeMemory(sync_memory_file=structs.replace(DONE, dry_run=True))
    result = run("memory-file", "sync", "m", "--dry-run", "--again", memory=held)
    assert result.stdout.startswith("dry run: ")
    assert held.call("sync_memory_file")[1]["again"] is True
    empty = FakeMemory(sync_memory_file=report_of_files([FileResult(NAME, 0, counts_of(()))]))
    assert "nothing to remember" in run("memory-file", "sync", "m", memory=empty).stdout


def test_a_skipped_file_is_not_called_empty() -> None:
    wrong = UnreadableMemoryFileError(NAME, "it is binary")
    told = memory_file_notice("UnreadableMemoryFileError", NAME, wrong.message, wrong.hint)
    held = FakeMemory(
        sync_memory_file=report_of_files([FileResult(NAME, 0, counts_of(()))], notices_of([told]))
    )
    result = run("memory-file", "sync", "m", memory=held)
    assert result.stdout.startswith(f"{NAME}: skipped\n")
    assert f"! {NAME}: was skipped: it is binary\n" in result.stdout


def test_a_missing_file_fails_with_a_hint() -> None:
    held = FakeMemory(sync_memory_file=MemoryFileMissingError(NAME))
    result = run("memory-file", "sync", "m", "--json", memory=held)
    assert result.exit_code == 1
    assert one_object(result)["error"]["kind"] == "MemoryFileMissingError"
    assert run("memory-file", "sync").exit_code == 2


@pytest.mark.parametrize(
    ("added", "code", "words"),
    [
        (AddResult(NAME, "Lessons", "written", synced=QUIET), 0, "written to ~/work"),
        (AddResult(NAME, "Lessons", "unchanged", synced=QUIET), 0, "already in"),
        (AddResult(NAME, "Lessons", "written", synced=WAITS), 3, "it was edited"),
        (AddResult(NAME, "Lessons", "queued", "it is taken"), 3, "queued for ~/work"),
    ],
)
def test_an_agents_text_is_written_or_queued(added: AddResult, code: int, words: str) -> None:
    held = FakeMemory(add_to_memory_file=added)
    ask = ("memory-file", "add", "m", "--section", "Lessons")
    result = run(*ask, TEXT, memory=held)
    assert (result.exit_code, words in result.output) == (code, True)
    result = run(*ask, "-", "--replace", "--json", stdin=TEXT, memory=held)
    assert one_object(result)["status"] == added.status
    args, named = held.calls[-2][1:]
    assert (args, named["replace_all"]) == (("m", TEXT), True)


# --- through a real memory -----------------------------------------------------------


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Memory]:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)
    with app.open(vault, state_dir=state, agent="indy") as memory_:
        yield memory_


def test_facts_of_a_file_have_notes_and_are_found_at_once(held: Memory, tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text(memory(DEPLOY, TESTS, PEOPLE), encoding="utf-8")
    report = held.sync_memory_file(file)
    assert report.counts["created"] == 3
    (fact,) = [each for each in held.list().facts if each.title == "People"]
    note = held.settings.root / (held.get(fact.id).path or "")
    assert PEOPLE[1] in note.read_text(encoding="utf-8")
    assert held.recall("who keeps the books").hits[0].id == fact.id
    assert held.sync().quiet
    assert held.verify().equal
    assert json.dumps(to_builtins(report))


def test_many_sections_may_go_at_once_for_the_file_says_so(held: Memory, tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    many = [(f"Section {n}", f"What number {n} has to say is this.") for n in range(40)]
    file.write_text(memory(*many), encoding="utf-8")
    held.sync_memory_file(file)
    file.write_text(memory(*many[:3]), encoding="utf-8")
    assert held.sync_memory_file(file).counts["forgotten"] == 37
    assert held.sync().quiet
    assert len(held.list().facts) == 3
    assert held.verify().equal


def test_an_agents_text_becomes_a_fact_of_the_files_own_agent(held: Memory, tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text(memory(DEPLOY), encoding="utf-8")
    held.sync_memory_file(file, agent="moss")
    added = held.add_to_memory_file(file, TEXT, section="Lessons")
    assert added.synced is not None
    assert added.synced.counts["created"] == 1
    assert {each.scope for each in app_facts(held)} == {"private-moss"}
    other = tmp_path / "other" / "MEMORY.md"
    other.parent.mkdir()
    held.add_to_memory_file(other, TEXT, section="Lessons")
    assert {each.scope for each in app_facts(held)} == {"private-moss", "private-indy"}


def app_facts(held: Memory) -> list[Fact]:
    return list(held._ctx.store.iter_facts())


def test_a_queued_text_is_not_synced(
    held: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.memory_files.write_queue.LOCK_TIMEOUT", 0.01)
    file = tmp_path / "MEMORY.md"
    file.write_text(memory(DEPLOY), encoding="utf-8")
    with held._memory_file(file).lock(1):
        added = held.add_to_memory_file(file, TEXT, section="Lessons")
    assert (added.status, added.synced) == ("queued", None)
    (said,) = held.status().attention
    assert (said.kind, said.path) == ("queued", added.name)
    assert said.message == "1 text of agents waits to be written into this file"
    assert said.hint == f"`vaultsync memory-file sync {added.name}` writes it"
    assert held.sync_memory_file(file).files[0].written == 1
    assert held.status().attention == ()


def test_queued_texts_are_reported_for_each_file(
    held: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.memory_files.write_queue.LOCK_TIMEOUT", 0.01)
    for number, name in enumerate(("a.md", "b c.md")):
        file = tmp_path / name
        file.write_text(memory(DEPLOY), encoding="utf-8")
        with held._memory_file(file).lock(1):
            for text in range(1, number + 2):
                held.add_to_memory_file(file, f"{TEXT} {text}", section="Lessons")
    one, two = held.status().attention
    assert one.path.endswith("a.md")
    assert two.message == "2 texts of agents wait to be written into this file"
    assert two.hint == f"`vaultsync memory-file sync '{two.path}'` writes them"
    assert all(note in held.status().attention for note in (one, two))


def test_while_another_engine_has_the_vault_the_facts_are_in_the_store(
    held: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text(memory(DEPLOY), encoding="utf-8")

    def busy(*_: object, **__: object) -> None:
        raise EngineBusyError("vault", "process 7")

    with monkeypatch.context() as other:
        other.setattr("vaultsync.operations.relink.sync_and_relink", busy)
        assert held.sync_memory_file(file).counts["created"] == 1
    (fact,) = held.list().facts
    assert held.get(fact.id).path is None
    held.sync()
    assert held.get(fact.id).path


def test_a_file_in_the_vault_or_the_home_has_a_name_that_moves_with_it(
    held: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root = held.settings.root
    names = [
        held._memory_file(each).name
        for each in (root / "MEMORY.md", tmp_path / "w" / "M.md", Path("/x/a\nb.md"))
    ]
    assert names == ["./MEMORY.md", "~/w/M.md", "/x/a\\x0ab.md"]


def test_the_daemon_follows_the_files_of_the_setting(tmp_path: Path) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    app.init(str(vault), state_dir=state)
    marker = vault / ".meta" / "config.toml"
    text = marker.read_text(encoding="utf-8")
    file = tmp_path / "MEMORY.md"
    table = f'[memory_file]\nfiles = ["{file}", "NOT.md"]\nagent = "moss"\n'
    marker.write_text(text + table, encoding="utf-8")
    with app.open(str(vault), state_dir=state) as held_:
        assert held_.follow_memory_files() is None
        file.write_text(memory(DEPLOY, TESTS), encoding="utf-8")
        report = held_.follow_memory_files([str(file)])
        assert report is not None
        assert report.counts["created"] == 2
        assert {each.agent_id for each in held_.list().facts} == {"moss"}
        file.unlink()
        report = held_.follow_memory_files()
        assert report is not None
        assert report.counts["forgotten"] == 2
        assert held_.follow_memory_files() is None
