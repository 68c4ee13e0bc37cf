"""Every case of the edge-case catalog of seed 000, in its words, in its order.

Where our answer is another one than the seed's, the test says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedding import Service, serving
from tests.memory_file_worlds import DEPLOY, PEOPLE, TESTS, MemoryWorld, SimFile, memory
from vaultsync.api import opening as app
from vaultsync.api.memory import Memory
from vaultsync.backends.filesystem.memory_file import STATE_FILE, DiskMemoryFile
from vaultsync.errors import (
    MemoryFileBusyError,
    StoreUnavailableError,
    TooManyFilesError,
    UnreadableMemoryFileError,
)
from vaultsync.memory_files.report import MemoryFileReport
from vaultsync.memory_files.sections import LARGE_FILE_BYTES, MAX_SECTION_CHARS, MIN_SECTION_CHARS
from vaultsync.memory_files.service import (
    MAX_FILES,
    MAX_FILES_TAKEN,
    MAX_TOTAL_BYTES,
    MAX_TOTAL_SECTIONS,
)

ALL = memory(DEPLOY, TESTS, PEOPLE)
TEXT = "Ask the harbour master before the database."


def kinds(report: MemoryFileReport) -> list[str]:
    return [each.kind for each in report.attention]


def many(count: int) -> str:
    return memory(*((f"Section {n}", f"What number {n} says is {n}.") for n in range(count)))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def opened(tmp_path: Path, **settings: str) -> Memory:
    vault = tmp_path / "vault"
    app.init(str(vault), state_dir=str(tmp_path / "state"))
    marker = vault / ".meta" / "config.toml"
    said = "".join(f"{key} = {value}\n" for key, value in settings.items())
    marker.write_text(said + marker.read_text(encoding="utf-8"), encoding="utf-8")
    return app.open(str(vault), state_dir=str(tmp_path / "state"), agent="indy")


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path, embedder='"none"') as memory_:
        yield memory_


# --- 1. Large files ------------------------------------------------------------------


def test_single_markdown_file_over_1_mb_is_taken_with_a_warning() -> None:
    world = MemoryWorld()
    world.file.says(memory(("Large", "x" * (LARGE_FILE_BYTES + 1))))
    report = world.syncs()
    assert kinds(report) == ["LargeFile"]
    assert report.counts["created"] == 1


def test_more_than_500_chunks_are_not_taken_and_what_is_known_stays() -> None:
    world = MemoryWorld()
    world.takes(memory(("Known", "This was there before all others.")))
    text = many(MAX_TOTAL_SECTIONS) + "\n## Known\n\nThis was there before all others.\n"
    world.file.says(text)
    report = world.syncs()
    assert kinds(report) == ["TooManySections"]
    assert len(world.remembered()) == MAX_TOTAL_SECTIONS
    assert world.by_title("Known")
    assert report.counts["forgotten"] == 0


def test_single_section_over_4096_chars_is_split_at_paragraph_boundaries() -> None:
    world = MemoryWorld()
    world.takes(memory(("Long", "\n\n".join(["A paragraph of words. " * 50] * 9))))
    assert len(world.remembered()) == 3
    assert all(len(each.content) <= MAX_SECTION_CHARS for each in world.remembered())


def test_total_synced_content_over_5_mb_is_told_and_not_taken() -> None:
    world = MemoryWorld()
    half = b"x" * (MAX_TOTAL_BYTES // 2)
    files = [SimFile(name=f"~/{n}.md", data=half) for n in range(3)]
    report = world.syncs(*files)
    told = [each for each in report.attention if each.kind != "LargeFile"]
    assert [(each.kind, each.path) for each in told] == [("UnreadableMemoryFileError", "~/2.md")]
    assert len(world.remembered(files[1])) == 1


def test_over_50_files_the_first_by_name_are_taken_and_200_are_refused() -> None:
    world = MemoryWorld()
    files = [
        SimFile(name=f"~/{n:03}.md", data=f"What number {n} says, {'.' * 9}".encode())
        for n in reversed(range(MAX_FILES_TAKEN + 1))
    ]
    report = world.syncs(*files)
    assert len(report.files) == MAX_FILES_TAKEN
    assert kinds(report) == ["TooManyFiles"]
    assert not world.remembered(files[0])
    with pytest.raises(TooManyFilesError):
        world.syncs(*[SimFile(name=f"~/{n}.md") for n in range(MAX_FILES)])


def test_binary_file_matching_glob_is_skipped_and_said() -> None:
    world = MemoryWorld()
    world.takes(ALL)
    for data in (b"text\0more" * 20, bytes(range(128, 256)) * 20):
        world.file.data = data
        assert kinds(world.syncs()) == ["UnreadableMemoryFileError"]
    assert len(world.remembered()) == 3  # what came from it before stays


# --- 2. Rapid edits ------------------------------------------------------------------


def test_user_saves_10_times_in_5_seconds_and_only_the_final_state_is_synced() -> None:
    world = MemoryWorld()
    for number in range(10):
        world.file.says(memory(("Draft", f"This is draft number {number} of it.")))
    world.syncs()
    assert [each.content for each in world.remembered()] == ["This is draft number 9 of it."]


def test_user_saves_again_during_sync_and_the_next_cycle_picks_it_up() -> None:
    world = MemoryWorld()

    def save(step: str) -> None:
        if step == "state":  # the facts are written, the state is not
            world.file.says(memory(DEPLOY))

    world.file.says(ALL)
    world.file.before = save
    world.syncs()
    assert len(world.remembered()) == 3
    world.file.before = lambda _: None
    assert world.syncs().counts["forgotten"] == 2


def test_editor_creates_temp_file_and_renames(held: Memory, work: Path) -> None:
    for name in (".MEMORY.md.swp", "MEMORY.md~", ".#MEMORY.md", "4913.tmp"):
        (work / name).write_text(ALL, encoding="utf-8")
    temp = work / "MEMORY.md.new"
    temp.write_text(ALL, encoding="utf-8")
    temp.rename(work / "MEMORY.md")
    report = held.sync_memory_file(work, include=["*", ".*"])
    named = [each.name.rpartition("/")[2] for each in report.files]
    assert named == ["MEMORY.md"]


def test_git_checkout_changes_files_and_one_sync_takes_them_all() -> None:
    world = MemoryWorld()
    files = [SimFile(name=f"~/{n}/MEMORY.md") for n in range(3)]
    for file in files:
        file.says(ALL)
    assert world.syncs(*files).counts["created"] == 9
    for file in files:
        file.says(memory(DEPLOY, TESTS))
    report = world.syncs(*files)
    assert (report.counts["forgotten"], report.counts["unchanged"]) == (3, 6)


# --- 3. Network partitions -----------------------------------------------------------


def test_store_unreachable_during_sync_and_the_next_sync_does_it() -> None:
    """The file is the queue: nothing is retried here, the daemon calls again."""
    world = MemoryWorld()
    world.file.says(ALL)
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        world.syncs()
    assert world.file.kept is None
    world.store.away = False
    assert world.syncs().counts["created"] == 3


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.delenv("VAULTSYNC_EMBEDDER", raising=False)
    with serving() as made:
        yield made


def test_embedding_api_unreachable_leaves_chunks_pending(
    tmp_path: Path, work: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.backends.system.system_clock.SystemClock.sleep", lambda *_: None)
    file = work / "MEMORY.md"
    file.write_text(ALL, encoding="utf-8")
    service.answers = [lambda _: (503, {}, b"")] * 99
    with opened(tmp_path, embedder=f'"http:{service.url}#hash"') as held_:
        report = held_.sync_memory_file(file)
        assert report.counts["created"] == 3
        assert report.pending == 3
        service.answers.clear()
        report = held_.sync_memory_file(file)
        assert report.quiet
        assert not report.pending
        assert held_.recall("mara books", mode="vector").hits


def test_store_unreachable_during_deletion_and_the_deletion_is_retried() -> None:
    world = MemoryWorld()
    world.takes(ALL)
    world.store.lose_ack = True
    with pytest.raises(StoreUnavailableError):
        world.takes(memory(DEPLOY, TESTS))
    world.store.lose_ack = False
    world.syncs()
    assert [each.title for each in world.remembered()] == ["Deployment", "Tests"]


def test_partial_upsert_is_done_by_the_next_sync_and_makes_no_twins() -> None:
    world = MemoryWorld()
    world.store.lose_ack = True  # written, and nobody heard of it
    with pytest.raises(StoreUnavailableError):
        world.takes(ALL)
    world.store.lose_ack = False
    ids = [each.id for each in world.remembered()]
    world.syncs()
    assert [each.id for each in world.remembered()] == ids
    assert world.syncs().quiet


# --- 4. Concurrent access ------------------------------------------------------------


def test_agent_writes_while_sync_reads_and_the_write_is_queued() -> None:
    world = MemoryWorld()
    world.file.says(ALL)
    queued = []

    def add(step: str) -> None:
        if step == "state":
            world.file.before = lambda _: None
            queued.append(world.agent_adds(TEXT).status)

    world.file.before = add
    world.syncs()
    assert queued == ["queued"]
    assert world.syncs().files[0].written == 1


def test_two_agent_sessions_write_simultaneously(work: Path) -> None:
    """The seed rules it out; here one waits for the other."""
    file = DiskMemoryFile(work / "MEMORY.md", "m")
    other = DiskMemoryFile(work / "MEMORY.md", "m")
    with file.lock(0), pytest.raises(MemoryFileBusyError), other.lock(0.01):
        pass


def test_human_edits_file_and_agent_also_edits_and_the_human_wins() -> None:
    world = MemoryWorld()
    world.file.says(ALL)

    def save(step: str) -> None:
        if step == "swap":
            world.file.before = lambda _: None
            world.file.says(memory(("Deployment", "A person says it is otherwise.")))

    world.file.before = save
    assert world.agent_adds(TEXT).status == "queued"
    assert TEXT not in world.file.text
    world.syncs()
    assert world.by_title("Deployment").content == "A person says it is otherwise."
    assert world.by_title("Lessons").content == TEXT


def test_file_watcher_missed_an_event_and_a_full_reconciliation_catches_it(
    tmp_path: Path, work: Path
) -> None:
    file = work / "MEMORY.md"
    file.write_text(ALL, encoding="utf-8")
    settings = {"embedder": '"none"', "memory_file.files": f'["{work}"]'}
    with opened(tmp_path, **settings) as held_:
        assert held_.watched_memory_files() == [file]
        assert held_.follow_memory_files([work / "OTHER.md"]) is None
        report = held_.follow_memory_files()  # at the start, and at each rescan
        assert report is not None
        assert report.counts["created"] == 3
        file.write_text(memory(DEPLOY, TESTS), encoding="utf-8")
        report = held_.follow_memory_files([file])
        assert report is not None
        assert report.counts["forgotten"] == 1


# --- 5. State corruption -------------------------------------------------------------


@pytest.mark.parametrize("state", [None, b"", b"{", b"[]", b'{"format": 99}', b'{"files": 1}'])
def test_state_file_corrupted_or_missing_and_reimport_makes_no_duplicates(
    state: bytes | None,
) -> None:
    world = MemoryWorld()
    world.takes(ALL)
    before = world.file.kept
    ids = [each.id for each in world.remembered()]
    world.file.kept = state
    assert world.syncs().quiet
    assert [each.id for each in world.remembered()] == ids
    assert world.file.kept == before


def test_state_file_lost_after_edits_and_the_ids_are_still_the_same() -> None:
    world = MemoryWorld()
    world.takes(ALL)
    tests = world.by_title("Tests")
    world.takes(memory(PEOPLE, ("Testing", TESTS[1]), DEPLOY))
    world.file.kept = None
    edited = ("Testing", TESTS[1] + " And more words.")
    done = world.takes(memory(PEOPLE, edited))
    assert world.by_title("Testing").id == tests.id
    assert (done.counts["updated"], done.counts["forgotten"]) == (1, 1)
    world.file.kept = None
    assert world.syncs().quiet


def test_state_file_out_of_sync_with_the_store() -> None:
    """A fact that is gone may have been deleted by a person: it is told, not undone."""
    world = MemoryWorld()
    world.takes(ALL)
    fact = world.by_title("Tests")
    world.agent_forgets(fact.id)
    assert kinds(world.syncs()) == ["EditedElsewhere"]
    assert world.syncs(again=True).counts["created"] == 1
    assert world.by_title("Tests").id == fact.id


def test_store_has_points_not_in_state_file_and_a_daily_look_finds_them() -> None:
    world = MemoryWorld()
    world.takes(ALL)
    orphan = world.by_title("Tests")
    stale = world.file.kept
    world.takes(memory(DEPLOY, ("Tests", TESTS[1]), ("Extra", "Nobody remembers why.")))
    world.file.kept = stale
    world.file.says(memory(DEPLOY, ("Tests", TESTS[1]), PEOPLE))
    world.syncs()
    world.clock.advance(24 * 3600)
    world.syncs()
    assert "Extra" not in {each.title for each in world.remembered()}
    assert world.by_title("Tests").id == orphan.id


# --- 6. File system edge cases -------------------------------------------------------


def test_symlinked_memory_md_is_the_file_it_leads_to(held: Memory, work: Path) -> None:
    (work / "real").mkdir()
    real, link = work / "real" / "NOTES.md", work / "MEMORY.md"
    real.write_text(ALL, encoding="utf-8")
    link.symlink_to(real)
    assert held.sync_memory_file(link).counts["created"] == 3
    assert (work / "real" / STATE_FILE).exists()
    assert held.sync_memory_file(real).quiet
    assert held.add_to_memory_file(link, TEXT, section="Lessons").status == "written"
    assert link.is_symlink()
    assert TEXT in real.read_text(encoding="utf-8")


def test_file_on_nfs_needs_no_event_for_a_sync_looks_at_the_bytes(
    tmp_path: Path, work: Path
) -> None:
    file = work / "MEMORY.md"
    file.write_text(ALL, encoding="utf-8")
    settings = {"embedder": '"none"', "memory_file.files": f'["{file}"]'}
    with opened(tmp_path, **settings) as held_:
        held_.follow_memory_files()
        stamp = file.stat()
        file.write_text(ALL.replace("four", "five"), encoding="utf-8")
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        report = held_.follow_memory_files()
        assert report is not None
        assert report.counts["updated"] == 1


def test_file_permissions_change_to_read_only(held: Memory, work: Path) -> None:
    file = work / "MEMORY.md"
    file.write_text(ALL, encoding="utf-8")
    file.chmod(0o444)
    assert held.sync_memory_file(file).counts["created"] == 3
    with pytest.raises(UnreadableMemoryFileError, match="only be read"):
        held.add_to_memory_file(file, TEXT, section="Lessons")
    assert file.read_text(encoding="utf-8") == ALL
    file.chmod(0o644)
    assert held.sync_memory_file(file).files[0].written == 1
    assert TEXT in file.read_text(encoding="utf-8")


def test_file_moved_or_renamed(tmp_path: Path, work: Path) -> None:
    file, other = work / "MEMORY.md", work / "OTHER.md"
    file.write_text(ALL, encoding="utf-8")
    settings = {"embedder": '"none"', "memory_file.files": f'["{work}"]'}
    settings["memory_file.include"] = '["*.md"]'
    settings["grace_seconds"] = "0.01"
    with opened(tmp_path, **settings) as held_:
        held_.follow_memory_files()
        before = {each.id for each in held_.list().facts}
        file.rename(other)
        gone = held_.sync_memory_file(file)
        assert gone.counts["forgotten"] == 3
        report = held_.follow_memory_files()
        assert report is not None
        assert report.counts["created"] == 3
        assert not before & {each.id for each in held_.list().facts}
        other.rename(file)
        held_.sync_memory_file(file)
        assert before <= {each.id for each in held_.list().facts}


def test_a_folder_that_is_gone_is_no_deletion(held: Memory, work: Path) -> None:
    file = work / "MEMORY.md"
    file.write_text(ALL, encoding="utf-8")
    held.sync_memory_file(file)
    work.rename(work.with_name("unmounted"))
    report = held.sync_memory_file(file)
    assert kinds(report) == ["UnreadableMemoryFileError"]
    assert len(held.list().facts) == 3


def test_file_deleted_then_recreated_has_its_facts_again() -> None:
    world = MemoryWorld()
    world.takes(ALL)
    ids = {each.id for each in world.remembered()}
    world.file.data = None
    assert world.syncs().counts["forgotten"] == 3
    assert not world.remembered()
    world.takes(ALL)
    assert {each.id for each in world.remembered()} == ids


def test_encoding_issues_skip_a_file_above_one_percent_and_are_told_below() -> None:
    world = MemoryWorld()
    world.file.data = ALL.encode() + b"\xff" * 20
    assert kinds(world.syncs()) == ["UnreadableMemoryFileError"]
    world.file.data = memory(*[DEPLOY, TESTS, PEOPLE] * 5).encode() + b"na\xefve\n"
    assert kinds(world.syncs()) == ["BadEncoding"]
    assert len(world.remembered()) == 15


# --- 7. Embedding API edge cases -----------------------------------------------------


def test_rate_limit_is_respected_and_retried(
    tmp_path: Path, work: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(
        "vaultsync.backends.system.system_clock.SystemClock.sleep",
        lambda _, each: slept.append(each),
    )
    service.answers = [lambda _: (429, {"Retry-After": "7"}, b"")]
    (work / "MEMORY.md").write_text(ALL, encoding="utf-8")
    with opened(tmp_path, embedder=f'"http:{service.url}#hash"') as held_:
        assert not held_.sync_memory_file(work / "MEMORY.md").pending
    assert 7 <= max(slept) < 9


def test_embedding_of_other_dimensions_is_never_put(
    tmp_path: Path, work: Path, service: Service
) -> None:
    (work / "MEMORY.md").write_text(ALL, encoding="utf-8")
    with opened(tmp_path, embedder=f'"http:{service.url}#hash"') as held_:
        held_.sync_memory_file(work / "MEMORY.md")
        body = b'{"data": [{"index": 0, "embedding": [1, 2]}]}'
        service.answers = [lambda _: (200, {}, body)] * 9
        (work / "MEMORY.md").write_text(
            memory(DEPLOY, TESTS, ("People", "Other people, with other words.")), encoding="utf-8"
        )
        report = held_.sync_memory_file(work / "MEMORY.md")
        assert report.counts["updated"] == 1
        assert report.pending == 1


def test_empty_chunk_text_after_normalization_is_no_section() -> None:
    world = MemoryWorld()
    world.file.says("## \n\n   \n\n## Short\n\n \t \n")
    report = world.syncs(world.file, SimFile(name="~/b.md", data=ALL.encode()))
    assert [each.sections for each in report.files] == [3, 0]
    assert MIN_SECTION_CHARS == 32


def test_identical_chunks_across_files_are_two_facts() -> None:
    world = MemoryWorld()
    files = [SimFile(name=f"~/{n}/MEMORY.md", data=ALL.encode()) for n in range(2)]
    assert world.syncs(*files).counts["created"] == 6
    ids = [each.id for file in files for each in world.remembered(file)]
    assert len(set(ids)) == 6


# --- the memory that the guide shows -------------------------------------------------


def test_the_guide_shows_what_becomes_of_its_memory() -> None:
    root = Path(__file__).parent.parent
    world = MemoryWorld()
    world.file.data = (root / "golden" / "memory-file" / "MEMORY.md").read_bytes()
    done = world.syncs().files[0]
    guide = (root / "docs" / "guides" / "memory-file.md").read_text(encoding="utf-8")
    for each in done.actions:
        assert f"create  {each.title} (line {each.line}) " in guide
    world.quiesce()
    for fact in world.remembered():
        folder = world.path(fact.id).rpartition("/")[0]
        assert f"\n{folder}/" in guide
    assert {each.tags for each in world.remembered()} == {("tidebell",)}
