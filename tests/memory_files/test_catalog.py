"""Edge cases of memory files that no other test has: large ones, outages, lost states, disks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedding import Service, serving
from tests.machines import configure_machine
from tests.memory_file_worlds import (
    ALL,
    DEPLOY,
    PEOPLE,
    TESTS,
    TEXT,
    MemoryWorld,
    SimFile,
    kinds,
    memory,
)
from vaultsync import errors
from vaultsync.api import opening as app
from vaultsync.api.memory import Memory
from vaultsync.backends.filesystem.memory_file import STATE_FILE
from vaultsync.memory_files.report import MemoryFileReport
from vaultsync.memory_files.sections import LARGE_FILE_BYTES
from vaultsync.memory_files.service import (
    MAX_FILES,
    MAX_FILES_TAKEN,
    MAX_TOTAL_BYTES,
    MAX_TOTAL_SECTIONS,
)

pytestmark = pytest.mark.long(5)


def many(count: int) -> str:
    return memory(*((f"Section {n}", f"What number {n} says is {n}.") for n in range(count)))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def file(work: Path) -> Path:
    """A memory file that says `ALL`."""
    (work / "MEMORY.md").write_text(ALL)
    return work / "MEMORY.md"


def opened(tmp_path: Path, embedder: str = "none", **settings: str) -> Memory:
    vault = tmp_path / "vault"
    app.init(str(vault), state_dir=str(tmp_path / "state"))
    said = "".join(f"memory_file.{key} = {value}\n" for key, value in settings.items())
    configure_machine(vault, f'embedder = "{embedder}"\ngrace_seconds = 0.01\n{said}')
    return app.open(str(vault), state_dir=str(tmp_path / "state"), agent="indy")


def followed(held: Memory, *changed: Path) -> MemoryFileReport:
    """The report of the watched files."""
    report = held.follow_memory_files(changed or None)
    assert report is not None
    return report


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory_:
        yield memory_


def test_single_markdown_file_over_1_mb_is_taken_with_a_warning(world: MemoryWorld) -> None:
    world.file.says(memory(("Large", "x" * (LARGE_FILE_BYTES + 1))))
    report = world.syncs()
    assert kinds(report) == ["LargeFile"]
    assert report.counts["created"] == 1


def test_more_than_500_chunks_are_not_taken_and_what_is_known_stays(world: MemoryWorld) -> None:
    world.takes(memory(("Known", "This was there before all others.")))
    text = many(MAX_TOTAL_SECTIONS) + "\n## Known\n\nThis was there before all others.\n"
    world.file.says(text)
    report = world.syncs()
    assert kinds(report) == ["TooManySections"]
    assert len(world.remembered()) == MAX_TOTAL_SECTIONS
    assert world.by_title("Known")
    assert report.counts["forgotten"] == 0


def test_total_synced_content_over_5_mb_is_told_and_not_taken(world: MemoryWorld) -> None:
    half = b"x" * (MAX_TOTAL_BYTES // 2)
    files = [SimFile(name=f"~/{n}.md", data=half) for n in range(3)]
    report = world.syncs(*files)
    told = [each for each in report.attention if each.kind != "LargeFile"]
    assert [(each.kind, each.path) for each in told] == [("UnreadableMemoryFileError", "~/2.md")]
    assert len(world.remembered(files[1])) == 1


def test_over_50_files_the_first_by_name_are_taken_and_200_are_refused(world: MemoryWorld) -> None:
    files = [
        SimFile(name=f"~/{n:03}.md", data=f"What number {n} says, {'.' * 9}".encode())
        for n in reversed(range(MAX_FILES_TAKEN + 1))
    ]
    report = world.syncs(*files)
    assert len(report.files) == MAX_FILES_TAKEN
    assert kinds(report) == ["TooManyFiles"]
    assert not world.remembered(files[0])
    with pytest.raises(errors.TooManyFilesError):
        world.syncs(*[SimFile(name=f"~/{n}.md") for n in range(MAX_FILES)])


def test_binary_file_matching_glob_is_skipped_and_said(synced: MemoryWorld) -> None:
    for data in (b"text\0more" * 20, bytes(range(128, 256)) * 20):
        synced.file.data = data
        assert kinds(synced.syncs()) == ["UnreadableMemoryFileError"]
    assert len(synced.remembered()) == 3  # what came from it before stays


def test_user_saves_again_during_sync_and_the_next_cycle_picks_it_up(world: MemoryWorld) -> None:
    world.file.says(ALL)
    # The facts are written, the state is not.
    world.file.at("state", lambda: world.file.says(memory(DEPLOY)))
    world.syncs()
    assert len(world.remembered()) == 3
    assert world.syncs().counts["forgotten"] == 2


def test_editor_creates_temp_file_and_renames(held: Memory, work: Path) -> None:
    for name in (".MEMORY.md.swp", "MEMORY.md~", ".#MEMORY.md", "4913.tmp", "MEMORY.md.new"):
        (work / name).write_text(ALL)
    (work / "MEMORY.md.new").rename(work / "MEMORY.md")
    report = held.sync_memory_file(work, include=["*", ".*"])
    named = [each.name.rpartition("/")[2] for each in report.files]
    assert named == ["MEMORY.md"]


def test_store_unreachable_during_sync_and_the_next_sync_does_it(world: MemoryWorld) -> None:
    """The file is the queue: nothing is retried here, the daemon calls again."""
    world.file.says(ALL)
    world.store.away = True
    with pytest.raises(errors.StoreUnavailableError):
        world.syncs()
    assert world.file.kept is None
    world.store.away = False
    assert world.syncs().counts["created"] == 3


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the sleeps, which take no time."""
    sleep = "vaultsync.backends.system.system_clock.SystemClock.sleep"
    seconds: list[float] = []
    monkeypatch.setattr(sleep, lambda _, each: seconds.append(each))
    return seconds


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.delenv("VAULTSYNC_EMBEDDER", raising=False)
    with serving() as made:
        yield made


def test_embedding_api_unreachable_leaves_chunks_pending(
    tmp_path: Path, file: Path, service: Service, slept: list[float]
) -> None:
    service.answers = [lambda _: (503, {}, b"")] * 99
    with opened(tmp_path, f"http:{service.url}#hash") as held_:
        report = held_.sync_memory_file(file)
        assert (report.counts["created"], report.pending) == (3, 3)
        assert held_.index().degraded
        assert held_.sync_memory_file(file).pending == 3
        service.answers.clear()
        held_.index()
        report = held_.sync_memory_file(file)
        assert report.quiet
        assert not report.pending
        assert held_.recall("mara books", mode="vector").hits
    assert slept


def test_store_unreachable_during_deletion_and_the_deletion_is_retried(synced: MemoryWorld) -> None:
    synced.store.lose_ack = True
    with pytest.raises(errors.StoreUnavailableError):
        synced.takes(memory(DEPLOY, TESTS))
    synced.store.lose_ack = False
    synced.syncs()
    assert [each.title for each in synced.remembered()] == ["Deployment", "Tests"]


def test_file_watcher_missed_an_event_and_a_full_reconciliation_catches_it(
    tmp_path: Path, work: Path, file: Path
) -> None:
    with opened(tmp_path, files=f'["{work}"]') as held_:
        assert held_.watched_memory_files() == [file]
        assert held_.follow_memory_files([work / "OTHER.md"]) is None
        # At the start, and at each rescan.
        assert followed(held_).counts["created"] == 3
        file.write_text(memory(DEPLOY, TESTS))
        assert followed(held_, file).counts["forgotten"] == 1


@pytest.mark.parametrize(
    "state",
    [
        *(None, b"", b"{", b"[]", b'{"format": 99}', b'{"files": 1}', b"null", b"\xff\xfe"),
        *(
            b"[" * 100_000,
            b'{"files": {"\xed\xa0\x80": {}}}',
            b'{"x": ' + b"[" * 100_000,
            b'{"files": ' + b'{"a": ' * 100_000,
        ),
    ],
    ids=lambda state: repr(state)[:20],
)
def test_state_file_corrupted_or_missing_and_reimport_makes_no_duplicates(
    state: bytes | None, synced: MemoryWorld
) -> None:
    before = synced.file.kept
    ids = [each.id for each in synced.remembered()]
    synced.file.kept = state
    assert synced.syncs().quiet
    assert [each.id for each in synced.remembered()] == ids
    assert synced.file.kept == before


def test_state_file_lost_after_edits_and_the_ids_are_still_the_same(synced: MemoryWorld) -> None:
    tests = synced.by_title("Tests")
    synced.takes(memory(PEOPLE, ("Testing", TESTS[1]), DEPLOY))
    synced.file.kept = None
    edited = ("Testing", TESTS[1] + " And more words.")
    done = synced.takes(memory(PEOPLE, edited))
    assert synced.by_title("Testing").id == tests.id
    assert (done.counts["updated"], done.counts["forgotten"]) == (1, 1)
    synced.file.kept = None
    assert synced.syncs().quiet


def test_store_has_points_not_in_state_file_and_a_daily_look_finds_them(
    synced: MemoryWorld,
) -> None:
    orphan = synced.by_title("Tests")
    stale = synced.file.kept
    synced.takes(memory(DEPLOY, ("Tests", TESTS[1]), ("Extra", "Nobody remembers why.")))
    synced.file.kept = stale
    synced.file.says(memory(DEPLOY, ("Tests", TESTS[1]), PEOPLE))
    synced.syncs()
    synced.clock.advance(24 * 3600)
    synced.syncs()
    assert "Extra" not in {each.title for each in synced.remembered()}
    assert synced.by_title("Tests").id == orphan.id


def test_symlinked_memory_md_is_the_file_it_leads_to(held: Memory, work: Path, file: Path) -> None:
    (work / "real").mkdir()
    real = file.rename(work / "real" / "NOTES.md")
    file.symlink_to(real)
    assert held.sync_memory_file(file).counts["created"] == 3
    assert (work / "real" / STATE_FILE).exists()
    assert held.sync_memory_file(real).quiet
    assert held.add_to_memory_file(file, TEXT, section="Lessons").status == "written"
    assert file.is_symlink()
    assert TEXT in real.read_text()


def test_file_permissions_change_to_read_only(held: Memory, file: Path) -> None:
    file.chmod(0o444)
    assert held.sync_memory_file(file).counts["created"] == 3
    with pytest.raises(errors.UnreadableMemoryFileError, match="it is read-only"):
        held.add_to_memory_file(file, TEXT, section="Lessons")
    assert file.read_text() == ALL
    file.chmod(0o644)
    assert held.sync_memory_file(file).files[0].written == 1
    assert TEXT in file.read_text()


def test_file_moved_or_renamed(tmp_path: Path, work: Path, file: Path) -> None:
    other = work / "OTHER.md"
    with opened(tmp_path, files=f'["{work}"]', include='["*.md"]') as held_:
        followed(held_)
        before = {each.id for each in held_.list().facts}
        file.rename(other)
        with pytest.raises(errors.MemoryFileGuardError) as stopped:
            held_.sync_memory_file(file)
        run = stopped.value.run
        assert held_.sync_memory_file(file, confirm=run).counts["forgotten"] == 3
        assert followed(held_).counts["created"] == 3
        assert not before & {each.id for each in held_.list().facts}
        other.rename(file)
        held_.sync_memory_file(file)
        assert before <= {each.id for each in held_.list().facts}


def test_a_folder_that_is_gone_is_no_deletion(held: Memory, work: Path, file: Path) -> None:
    held.sync_memory_file(file)
    work.rename(work.with_name("unmounted"))
    assert kinds(held.sync_memory_file(file)) == ["UnreadableMemoryFileError"]
    assert len(held.list().facts) == 3


def test_encoding_issues_skip_a_file_above_one_percent_and_are_told_below() -> None:
    world = MemoryWorld()
    world.file.data = ALL.encode() + b"\xff" * 20
    assert kinds(world.syncs()) == ["UnreadableMemoryFileError"]
    world.file.data = memory(*[DEPLOY, TESTS, PEOPLE] * 5).encode() + b"na\xefve\n"
    assert kinds(world.syncs()) == ["BadEncoding"]
    assert len(world.remembered()) == 15


def test_the_guide_shows_what_becomes_of_its_memory() -> None:
    root = Path(__file__).parents[2]
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
