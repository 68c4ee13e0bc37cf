"""Memory files through a real memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs, to_builtins

from tests.forked import start_program
from tests.machines import configure_machine
from tests.memory_file_worlds import DEPLOY, PEOPLE, TESTS, memory
from vaultsync.api import opening as app
from vaultsync.api.configuration import load_settings
from vaultsync.api.memory import Memory
from vaultsync.backends.filesystem.memory_file import STAGING_DIR
from vaultsync.errors import EngineBusyError, MemoryFileGuardError, UnreadableMemoryFileError
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.answers import FileAdded
from vaultsync.mcp_server.server import TOOLS_BY_NAME
from vaultsync.memory_files.report import VaultReport
from vaultsync.memory_files.sections import MANAGED_MARKER, hash_of
from vaultsync.model.fact import Fact

pytestmark = pytest.mark.long(5)

TEXT = "Ask the harbour master before the database."


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Memory]:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)
    with app.open(vault, state_dir=state, agent="indy") as memory_:
        yield memory_


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "MEMORY.md"
    file.write_text(memory(DEPLOY), encoding="utf-8")
    return file


def test_facts_of_a_file_have_notes_and_are_found_at_once(held: Memory, file: Path) -> None:
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


def test_many_sections_may_go_at_once_for_the_file_says_so(held: Memory, file: Path) -> None:
    many = [(f"Section {n}", f"What number {n} has to say is this.") for n in range(40)]
    file.write_text(memory(*many), encoding="utf-8")
    held.sync_memory_file(file)
    file.write_text(memory(*many[:3]), encoding="utf-8")
    assert held.sync_memory_file(file).counts["forgotten"] == 37
    assert held.sync().quiet
    assert len(held.list().facts) == 3
    assert held.verify().equal


def test_an_agents_text_becomes_a_fact_of_the_files_own_agent(held: Memory, file: Path) -> None:
    held.sync_memory_file(file, agent="moss")
    added = held.add_to_memory_file(file, TEXT, section="Lessons")
    assert added.synced is not None
    assert added.synced.counts["created"] == 1
    assert {each.scope for each in app_facts(held)} == {"private-moss"}
    other = file.parent / "other" / "MEMORY.md"
    other.parent.mkdir()
    held.add_to_memory_file(other, TEXT, section="Lessons")
    assert {each.scope for each in app_facts(held)} == {"private-moss", "private-indy"}


def app_facts(held: Memory) -> list[Fact]:
    return list(held._ctx.store.iter_facts())


def test_a_queued_text_waits(held: Memory, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultsync.memory_files.write_queue.LOCK_TIMEOUT", 0.01)
    with held._memory_files.file(file).lock(1):
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
        with held._memory_files.file(file).lock(1):
            for text in range(1, number + 2):
                held.add_to_memory_file(file, f"{TEXT} {text}", section="Lessons")
    one, two = held.status().attention
    assert one.path.endswith("a.md")
    assert two.message == "2 texts of agents wait to be written into this file"
    assert two.hint == f"`vaultsync memory-file sync '{two.path}'` writes them"
    assert all(note in held.status().attention for note in (one, two))


def test_while_another_engine_has_the_vault_the_facts_are_in_the_store(
    held: Memory, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        held._memory_files.file(each).name
        for each in (root / "MEMORY.md", tmp_path / "w" / "M.md", Path("/x/a\nb.md"))
    ]
    assert names == ["./MEMORY.md", "~/w/M.md", "/x/a\\x0ab.md"]


def test_the_daemon_follows_the_files_of_the_setting(tmp_path: Path) -> None:
    vault, state = tmp_path / "vault", str(tmp_path / "state")
    app.init(str(vault), state_dir=state)
    file = tmp_path / "MEMORY.md"
    table = f'[memory_file]\nfiles = ["{file}", "NOT.md"]\nagent = "moss"\n'
    configure_machine(vault, table)
    with app.open(str(vault), state_dir=state) as held_:
        assert held_.follow_memory_files() is None
        file.write_text(memory(DEPLOY, TESTS), encoding="utf-8")
        report = held_.follow_memory_files([str(file)])
        assert report is not None
        assert report.counts["created"] == 2
        assert {each.agent_id for each in held_.list().facts} == {"moss"}
        file.unlink()
        with pytest.raises(MemoryFileGuardError) as stopped:
            held_.follow_memory_files()
        done = held_.sync_memory_file(file, agent="moss", confirm=stopped.value.run)
        assert done.counts["forgotten"] == 2
        assert held_.follow_memory_files() is None


def test_the_run_that_is_named_undoes_what_a_deleted_file_took(held: Memory, file: Path) -> None:
    file.write_text(memory(DEPLOY, TESTS, PEOPLE), encoding="utf-8")
    held.sync_memory_file(file)
    file.unlink()
    with pytest.raises(MemoryFileGuardError) as stopped:
        held.sync_memory_file(file)
    run = held.sync_memory_file(file, confirm=stopped.value.run).run
    assert run is not None
    assert held.list().facts == ()
    held.undo(run)
    before = {fact.id for fact in held.list().facts}
    assert len(before) == 3
    file.write_text(memory(DEPLOY, TESTS, PEOPLE), encoding="utf-8")
    held.sync_memory_file(file)
    assert {fact.id for fact in held.list().facts} == before
    assert held.verify().equal


def test_an_agents_text_recreates_no_deleted_file_without_facts(held: Memory, file: Path) -> None:
    file.write_text(memory(DEPLOY, TESTS, PEOPLE), encoding="utf-8")
    held.sync_memory_file(file)
    held.add_to_memory_file(file, TEXT, section="Lessons")
    before = file.read_text(encoding="utf-8")
    file.unlink()
    with pytest.raises(UnreadableMemoryFileError, match="it was deleted") as refused:
        held.add_to_memory_file(file, "Bente had the right number.", section="Lessons")
    assert "queued" in refused.value.hint
    assert not file.exists()
    assert len(held.list().facts) == 4
    file.write_text(before, encoding="utf-8")
    held.sync_memory_file(file)
    assert "Bente had the right number." in file.read_text(encoding="utf-8")
    assert len(held.list().facts) == 4


def test_a_file_has_the_block_of_the_last_call(held: Memory, file: Path, tmp_path: Path) -> None:
    held.remember(TEXT, title="Ask", scope="project-pier")
    held.manage_memory_file(file, budget=900)
    with app.open(str(tmp_path / "vault"), state_dir=str(tmp_path / "state")) as person:
        person.manage_memory_file(file, budget=300)
        before = file.read_bytes()
        person.sync()
        person.sync()
        assert file.read_bytes() == before
        assert [each.budget for each in person.status().blocks] == [300]


def test_a_memory_file_is_managed_by_two_processes_at_once(held: Memory, file: Path) -> None:
    for number in range(12):
        held.remember(f"Pier {number} has {number + 3} guest berths.", title=f"Pier {number}")
    own = file.read_bytes()
    held.manage_memory_file(file, dry_run=True)
    assert file.read_bytes() == own
    state = str(held.settings.state_dir)
    code = (
        "import sys; from vaultsync.api import opening\n"
        "with opening.open(sys.argv[1], state_dir=sys.argv[2], agent='indy') as memory:\n"
        "    for n in range(5):\n"
        "        memory.manage_memory_file(sys.argv[3], form=sys.argv[4], budget=300 + n)"
    )
    command = [sys.executable, "-c", code, str(held.settings.root), state, str(file)]
    forms = ("full", "index")
    processes = [start_program([*command, form]) for form in forms]
    assert [each.wait(timeout=60) for each in processes] == [0, 0]
    assert file.read_bytes().startswith(own)
    done = held.manage_memory_file(file, form="index")
    assert (done.status, len(done.included)) == ("written", 12)
    assert file.read_text("utf-8").count("vaultsync:memory:begin") == 1
    held.recall("guest berths")
    assert held.manage_memory_file(file, form="index").status == "unchanged"
    # What the block says is no section: the file says what it said before.
    assert held.sync_memory_file(file).counts["created"] == 1


def test_a_folder_without_a_memory_file_says_so(held: Memory, file: Path) -> None:
    empty = file.parent / "empty"
    empty.mkdir()
    report = held.sync_memory_file(empty, file)
    assert report.counts["created"] == 1
    (said,) = report.attention
    assert (said.kind, said.path) == ("NoMemoryFile", str(empty))
    assert held.sync_memory_file(file.parent).attention == []
    (said,) = held.sync_memory_file(held.settings.root).attention
    assert said.message.startswith(". has no memory file")


def test_sections_that_are_too_short_are_named(held: Memory, file: Path) -> None:
    file.write_text(memory(DEPLOY, ("Next", "Soon.")), encoding="utf-8")
    (done,) = held.sync_memory_file(file).files
    assert (done.left_out, list(done.short)) == (1, ["Next"])


MANAGED = (
    f"{memory(DEPLOY)}\n## Harbour\n{MANAGED_MARKER}\n\nCount the berths at dawn, from the pier.\n"
)


def test_a_sync_brings_a_note_into_the_section_that_follows_it(held: Memory, file: Path) -> None:
    file.write_text(MANAGED, encoding="utf-8")
    held.sync_memory_file(file)
    assert held.sync().quiet
    (fact,) = [each for each in held.list().facts if each.title == "Harbour"]
    note = held.settings.root / (held.get(fact.id).path or "")
    note.write_text(
        note.read_text(encoding="utf-8").replace("at dawn", "at noon"), encoding="utf-8"
    )
    assert held.sync(dry_run=True).dry_run
    assert file.read_text(encoding="utf-8") == MANAGED
    report = held.sync()
    assert isinstance(report, VaultReport)
    assert report.memory_files is not None
    assert report.memory_files.counts["rewritten"] == 1
    assert file.read_text(encoding="utf-8") == MANAGED.replace("at dawn", "at noon")
    assert held.sync().quiet
    file.write_text(MANAGED.replace("from the pier", "from the tower"), encoding="utf-8")
    held.sync()
    assert "from the tower" in held.get(fact.id).content
    assert "from the tower" in note.read_text(encoding="utf-8")
    file.unlink()
    assert held.sync().quiet, "a file that nobody asked to follow may go"
    assert held.get(fact.id)


def test_an_edit_of_a_note_counts_before_a_sync_of_the_vault(held: Memory, file: Path) -> None:
    file.write_text(MANAGED, encoding="utf-8")
    held.sync_memory_file(file)
    notes = [held.settings.root / str(each.path) for each in held.list().facts]

    def edit() -> None:
        for note in notes:
            text = note.read_text("utf-8")
            note.write_text(text.replace("\n\n<!-- vault", " At noon.\n\n<!-- vault"), "utf-8")

    edit()
    assert held.sync_memory_file(file, dry_run=True).attention == []
    report = held.sync_memory_file(file)
    assert [each.kind for each in report.attention] == ["EditedElsewhere"]
    assert report.counts["rewritten"] == 1
    assert "At noon." in file.read_text(encoding="utf-8")
    edit()
    report = held.sync_memory_file(file, again=True)
    assert report.attention == []
    assert sum("At noon." in each.read_text("utf-8") for each in notes) == 1, "the file wins"
    assert held.sync().quiet
    assert not held.conflicts()


def test_a_section_without_its_marker_is_not_followed_any_more(held: Memory, file: Path) -> None:
    file.write_text(MANAGED, encoding="utf-8")
    held.sync_memory_file(file)
    file.write_text(MANAGED.replace(MANAGED_MARKER, ""), encoding="utf-8")
    held.sync()
    (fact,) = [each for each in held.list().facts if each.title == "Harbour"]
    held.update(fact.id, content="Count them at noon, from the pier and the tower.")
    assert held.sync().quiet
    assert "at noon" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("data", [b"\0", b"\xff\xfe\xfd\xfc", None])
def test_an_unreadable_file_is_followed_later(held: Memory, file: Path, data: bytes | None) -> None:
    file.write_text(MANAGED, encoding="utf-8")
    held.sync_memory_file(file)
    (fact,) = [each for each in held.list().facts if each.title == "Harbour"]
    file.unlink() if data is None else file.write_bytes(data)
    for _ in range(2):
        expected = [] if data is None else ["UnreadableMemoryFileError"]
        assert [each.kind for each in held.sync().attention] == expected
    file.write_text(MANAGED, encoding="utf-8")
    held.update(fact.id, content="Count them at noon, from the pier and the tower.")
    assert not held.sync().attention
    assert "at noon" in file.read_text(encoding="utf-8")


def test_a_block_without_facts_is_written_with_the_first_one(held: Memory, file: Path) -> None:
    before = file.read_bytes()
    assert held.manage_memory_file(file).status == "unchanged"
    held.sync()
    assert file.read_bytes() == before
    held.remember("Count the berths at dawn.", title="Berths")
    held.sync()
    assert "at dawn" in file.read_text(encoding="utf-8")
    file.write_bytes(before)
    held.sync()
    held.remember("Tea is served at four.", title="Tea")
    held.sync()
    assert file.read_bytes() == before


def test_the_block_of_a_file_that_comes_back_is_followed_again(held: Memory, file: Path) -> None:
    berths = held.remember("Count the berths at dawn.", title="Berths")
    held.manage_memory_file(file)
    text = file.read_text(encoding="utf-8")
    file.unlink()
    held.sync()
    assert not file.exists()
    file.write_text(text, encoding="utf-8")
    held.update(berths.id, content="Count the berths at noon.")
    held.sync()
    assert "at noon" in file.read_text(encoding="utf-8")


def test_a_file_that_becomes_a_link_to_another_is_followed_there(held: Memory, file: Path) -> None:
    file.write_text(MANAGED, encoding="utf-8")
    held.sync_memory_file(file)
    (fact,) = [each for each in held.list().facts if each.title == "Harbour"]
    tea = held.remember("Tea is served at four.", title="Tea")
    held.manage_memory_file(file)
    agents = file.rename(file.with_name("AGENTS.md"))
    file.symlink_to(agents.name)
    held.update(fact.id, content="Count them at noon, from the pier and the tower.")
    held.update(tea.id, content="Tea is served at five.")
    held.sync()
    assert not held.sync().attention
    assert file.is_symlink()
    assert not list(file.parent.glob(f"{STAGING_DIR}*"))
    text = agents.read_text(encoding="utf-8")
    assert ("at noon" in text, "at five" in text) == (True, True)
    assert len([x for x in held.list().facts if x.title == fact.title]) == 1
    assert held.watched_memory_files() == [agents]
    private = file.parent / "home" / "private.md"
    private.parent.mkdir()
    private.write_text(f"## Mine\n{MANAGED_MARKER}\n\nNone of this is for the memory.\n")
    before = agents.rename(private.with_name("kept.md")).read_bytes()
    for target in (private, private.with_name("none.md"), private.with_name("kept.md")):
        agents.unlink(missing_ok=True)
        agents.symlink_to(target)
        held.update(tea.id, content=f"Tea is served at six, and at {target.stem}.")
        assert {x.kind for x in held.sync().attention} == {"UnreadableMemoryFileError"}
        assert "may have made the link" in held.sync().attention[0].message
    assert (private.with_name("kept.md").read_bytes(), private.with_name("none.md").exists()) == (
        before,
        False,
    )
    assert "None of this" not in "".join(each.content for each in held.list().facts)
    held.sync_memory_file(agents)
    held.manage_memory_file(agents)
    assert not held.sync().attention


def test_a_copy_that_is_synced_with_its_file_gets_facts_of_its_own(
    held: Memory, file: Path
) -> None:
    file.write_text(MANAGED, encoding="utf-8")
    held.sync_memory_file(file)
    before = {each.id for each in held.list().facts}
    copied = file.with_name("COPY.md")
    copied.write_text(MANAGED, encoding="utf-8")
    counts = held.sync_memory_file(file, copied).counts
    assert (counts["created"], counts["updated"]) == (len(before), 0)
    assert before < {each.id for each in held.list().facts}


def test_files_with_blocks_that_are_notes_settle(held: Memory) -> None:
    root = held.settings.root
    held.remember("Tea is served at four.")
    for name in ("CLAUDE.md", "AGENTS.md"):
        (root / name).write_text(f"# {name}\n\nMine.\n", encoding="utf-8")
        held.manage_memory_file(root / name)
    held.adopt()
    for _ in range(3):
        held.sync()
    assert held.sync().quiet
    assert held.verify().equal
    text = (root / "CLAUDE.md").read_text(encoding="utf-8")
    assert "Tea is served at four" in text
    assert text.count("Mine.") == 1


def test_a_known_block_follows_the_memory_and_status_lists_what_did_not_fit(
    held: Memory, file: Path
) -> None:
    held.remember("Count the berths at dawn.", title="Berths")
    held.manage_memory_file(file, budget=150)
    assert "Count the berths" in file.read_text(encoding="utf-8")
    before = file.read_bytes()
    assert held.sync().quiet
    assert file.read_bytes() == before
    held.remember("Mara keeps the books. " * 20, title="Books", priority=3)
    held.sync()
    (block,) = held.status().blocks
    assert [(each.title, each.reason) for each in block.left_out] == [
        ("Books", "the budget is 150 tokens")
    ]
    assert block.included == 1
    assert file.read_bytes() == before
    (berths,) = [each for each in held.list().facts if each.title == "Berths"]
    held.update(berths.id, content="Count the berths at noon.")
    held.sync()
    assert (
        file.read_bytes() == before.replace(b"at dawn", b"at noon")
        or b"at noon" in file.read_bytes()
    )
    noon = file.read_bytes()
    file.write_bytes(b"")  # as a program does that saves it
    held.sync()
    file.write_bytes(noon)
    held.update(berths.id, content="Count the berths at two.")
    held.sync()
    assert b"at two" in file.read_bytes()
    file.write_text("# Mine\n", encoding="utf-8")
    held.sync()
    assert file.read_text(encoding="utf-8") == "# Mine\n"
    assert held.status().blocks == []


def test_a_block_with_half_of_its_marks_is_a_notice_of_a_sync(held: Memory, file: Path) -> None:
    held.remember("Count the berths at dawn.", title="Berths")
    held.manage_memory_file(file)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("<!-- vaultsync:memory:end -->", ""), encoding="utf-8")
    assert [each.kind for each in held.sync().attention] == ["UnreadableMemoryFileError"]


def test_an_added_text_takes_the_room_of_facts_in_the_block(held: Memory, file: Path) -> None:
    for number in range(8):
        held.remember(f"Berth {number} is for guests, and has a light.", title=f"Berth {number}")
    held.sync_memory_file(file)
    assert held.manage_memory_file(file, max_lines=50).left_out
    for number in range(6):
        held.add_to_memory_file(file, f"{TEXT}\n\nIt was lesson {number}.", section="Lessons")
        text = file.read_text(encoding="utf-8")
        assert f"lesson {number}." in text
        assert text.count("\n") <= 50
    (lessons,) = [each for each in held.list().facts if each.title == "Lessons"]
    held.update(lessons.id, content=held.get(lessons.id).content + "\n\nAnd\n\nmore\n\nlines.")
    assert held.sync_memory_file(file).counts["rewritten"] == 1
    text = file.read_text(encoding="utf-8")
    assert "more\n\nlines." in text
    assert text.count("\n") <= 50
    assert held.manage_memory_file(file, max_lines=50).status == "unchanged"
    end = "<!-- vaultsync:memory:end -->"
    file.write_text(text.replace(end, f"Mine.\n{end}"), encoding="utf-8")
    held.add_to_memory_file(file, "A last one, a bit longer than others.", section="Lessons")
    assert f"Mine.\n{end}" in file.read_text(encoding="utf-8")


def test_an_agent_on_mcp_adds_to_memory_files_of_its_folder_and_to_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    app.init(vault, state_dir=state)
    (work := tmp_path / "work").mkdir()
    monkeypatch.chdir(work)
    mine, others = work / "MEMORY.md", tmp_path / "MEMORY.md"
    mine.write_text(memory(DEPLOY), encoding="utf-8")
    others.write_text(memory(DEPLOY), encoding="utf-8")
    tool = TOOLS_BY_NAME["memory_file_add"]
    settings = structs.replace(
        load_settings(Path(vault), state_dir=state), agent="moss", user="mara"
    )

    def add(file: str = "MEMORY.md") -> FileAdded:
        arguments = {"text": TEXT, "section": "Lessons", "file": file}
        answer = tool.call(agent, arguments)
        assert isinstance(answer, FileAdded)
        return answer

    with AgentMemory(settings) as agent:
        assert add().status == "written"
        (lesson,) = [each for each in agent.list().facts if each.title == "Lessons"]
        assert (lesson.agent_id, lesson.user_id) == ("moss", "mara")
        section = agent.memory_file_section(lesson.id)
        assert section is not None
        assert (section.section_header, section.chunk_index) == ("Lessons", 1)
        assert section.content_hash == hash_of(f"## Lessons\n\n{TEXT}")
        said = to_builtins(section)
        assert said.keys() == {"file", "sectionHeader", "chunkIndex", "contentHash", "managed"}
        assert agent.memory_file_section(agent.remember("Another one.").id) is None
        for file in (str(others), "../MEMORY.md", ".bashrc", str(work / "other.md")):
            with pytest.raises(UnreadableMemoryFileError, match="may write"):
                add(file)
        with app.open(vault, state_dir=state) as user:
            user.sync_memory_file(mine, agent="indy")
        with pytest.raises(UnreadableMemoryFileError, match="may write"):
            add()
    assert TEXT not in others.read_text(encoding="utf-8")


def test_what_a_person_edits_in_a_block_reaches_the_facts(held: Memory, file: Path) -> None:
    held.remember("Count the berths at dawn.", title="Berths", scope="project-pier")
    held.manage_memory_file(file, scopes=["project-pier"])
    end = "<!-- vaultsync:memory:end -->"
    text = file.read_text("utf-8").replace("at dawn", "at noon")
    file.write_text(text.replace(end, f"\nBuy a rope for the pier.\n{end}"), encoding="utf-8")
    planned = held.manage_memory_file(file, scopes=["project-pier"], dry_run=True)
    assert [each.action for each in planned.edits] == ["update", "create"]
    report = held.sync()
    assert isinstance(report, VaultReport)
    assert report.memory_files is not None
    (block,) = report.memory_files.blocks
    assert (block.status, len(block.included)) == ("written", 2)
    assert {each.title for each in held.list(scope="project-pier").facts} == {
        "Berths",
        "Buy a rope for the pier",
    }
    (berths,) = [each for each in held.list().facts if each.title == "Berths"]
    assert "at noon" in (held.settings.root / (berths.path or "")).read_text("utf-8")
    assert held.sync().quiet
    held.manage_memory_file(file, form="index", scopes=["project-pier"])
    text = file.read_text("utf-8").replace("- Berths (", "- Piers (")
    file.write_text(text, encoding="utf-8")
    (said,) = held.manage_memory_file(file, form="index", scopes=["project-pier"]).attention
    assert said.kind == "BlockEdit"
    (proposal,) = held.proposals()
    assert (proposal.kind, proposal.proposer) == ("block", "indy")
    held.accept_proposals([proposal.id])
    held.manage_memory_file(file, form="index", scopes=["project-pier"])
    assert "- Piers (" in file.read_text("utf-8")
    held.purge(berths.id)
    state = held.settings.state_dir / "memory-files"
    assert not [x for x in state.rglob("*") if x.is_file() and b"at noon" in x.read_bytes()]
