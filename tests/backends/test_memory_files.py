"""Memory files on the disk: found, read, saved by people and agents at once."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.filesystem.find_files import find_memory_files, matches
from vaultsync.backends.filesystem.memory_file import LOCK_FILE, STAGING_DIR, DiskMemoryFile
from vaultsync.backends.filesystem.syscalls import EntryAt
from vaultsync.backends.state.file_write_queue import FileWriteQueue
from vaultsync.backends.state.known_memory_files import KnownFile, KnownMemoryFiles
from vaultsync.errors import MemoryFileChangedError, UnreadableMemoryFileError
from vaultsync.memory_files.ports import QueuedText

ITEM = QueuedText("01", "m", "Lessons", "Text “with” signs\ud800.", False, None, "now")


# --- finding -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "fit", "others"),
    [
        ("MEMORY.md", ["MEMORY.md"], ["a/MEMORY.md"]),
        ("**/MEMORY.md", ["a/b/MEMORY.md", "MEMORY.md"], []),
        ("docs/**/*.md", ["docs/a/b.md"], []),
        ("docs/*/*.md", [], ["docs/b.md"]),
        ("*.md", [], ["a/b.md"]),
        ("dist/**", ["dist/x/y.md"], []),
        ("dist**", ["dist", "dist.md"], ["dist/x", "distant/x"]),
        ("a?b", ["a.b", "a\nb"], ["a/b"]),
        ("a[!x]b", ["a-b", "a[b"], ["a/b", "axb"]),
        ("a[--9]b", ["a-b", "a0b"], ["a/b"]),
        ("a[.*]b", ["a.b", "a*b"], ["axb"]),
        ("a[]x]b", ["a]b", "axb"], ["a/b"]),
        ("a.[b", ["a.[b"], ["a.b"]),
        ("a*b*.md", ["axbx.md"], ["a/b.md", "ab/.md"]),
        ("**/**/a.md", ["a.md", "b/a.md"], ["ba.md"]),
        ("a/**/b/**", ["a/b/c", "a/b/b/c/d", "a/c/b/c"], ["a/b", "a/c"]),
        ("**/a/**/b/**/c", ["a/b/c", "a/a/x/b/b/c/c"], ["a/c/b", "b/a/c", "x/b/c"]),
        ("**/a/b/**/*.md", ["a/b/c.md", "a/a/b/x/c.md"], ["a/x/b/c.md"]),
        ("**", ["a", "a/b"], []),
        ("**/a/**/a/**/a/**/a/**/a/**/b", [], ["a/" * 1_000]),
        ("**/" * 50 + "b", [], ["a/" * 1_000]),
    ],
)
def test_only_two_stars_take_whole_folders(pattern: str, fit: list[str], others: list[str]) -> None:
    assert [each for each in (*fit, *others) if matches(each, [pattern])] == fit


def test_of_a_folder_only_what_is_included_and_not_excluded_is_found(tmp_path: Path) -> None:
    for folder in ("", "a", "node_modules/x", "a/node_modules/x", "a/.git", "b"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "MEMORY.md").write_text("x", encoding="utf-8")
    (tmp_path / "a/CHANGELOG.md").write_text("x", encoding="utf-8")
    here = Path(os.path.realpath(tmp_path))
    assert find_memory_files([tmp_path]) == [here / "MEMORY.md"]
    both = [tmp_path, tmp_path / "no.md"]
    found = find_memory_files(both, include=["**/*.md"], exclude=["b/**"])
    assert found == [here / "MEMORY.md", here / "a/MEMORY.md", here / "no.md"]


def test_a_folder_is_searched_unless_everything_in_it_is_excluded(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    for name in ("a/x.md", "a/.y.md", "a/b/z.md"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    here = Path(os.path.realpath(tmp_path))
    found = find_memory_files([tmp_path], include=["**/*.md"], exclude=["**/.*"])
    assert found == [here / "a/b/z.md", here / "a/x.md"]
    found = find_memory_files([tmp_path], include=["**/*.md"], exclude=["a/*"])
    assert found == [here / "a/b/z.md"]


# --- the queue -----------------------------------------------------------------------


def test_the_queue_is_files_log_and_blobs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    queue = FileWriteQueue(tmp_path / "q")
    assert queue.waiting("m") == []
    item = QueuedText("02", "m", "S", "Text.", True, "indy", "now")
    others = QueuedText("00", "other", "S", "Text.", False, None, "now")
    for each in (item, item, ITEM, ITEM, others):
        queue.put(each)
    (tmp_path / "q" / "queue" / "03.json").write_bytes(b"{half")
    (tmp_path / "q" / "queue" / "04.json").mkdir()
    assert FileWriteQueue(tmp_path / "q").waiting("m") == [ITEM, item]
    assert [each.message.partition("queue/")[2][:7] for each in caplog.records] == [
        "03.json",
        "04.json",
    ]
    queue.drop("01")
    queue.drop("01")
    assert queue.waiting("m") == [item]
    mode = (tmp_path / "q" / "queue" / "02.json").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    with mock.patch.object(os, "listdir", return_value=["05.json"]):  # it was written just now
        assert queue.waiting() == []

    queue.log({"a": 1})
    queue.log({"text": "zwei\nZeilen"})
    lines = (tmp_path / "q" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(each) for each in lines] == [{"a": 1}, {"text": "zwei\nZeilen"}]
    name = queue.keep(b"bytes")
    assert (tmp_path / "q" / "kept" / name).read_bytes() == b"bytes"


# --- the file ------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "MEMORY.md"
    path.parent.mkdir()
    path.write_bytes(b"one")
    return path


def test_a_new_text_looks_as_the_file_it_replaces_which_has_no_second_name(path: Path) -> None:
    path.chmod(0o640)
    DiskMemoryFile(path, "m").replace(b"two", b"one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(each.name for each in path.parent.iterdir()) == ["MEMORY.md"]

    path.with_name("twin.md").hardlink_to(path)
    with pytest.raises(UnreadableMemoryFileError, match="more than one hard link"):
        DiskMemoryFile(path, "m").replace(b"three", b"two")


def test_a_write_that_a_crash_cut_off_displaced_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = syscalls.write_new

    def cut_off(place: EntryAt, data: bytes) -> None:
        write(place, data[:2])
        raise KeyboardInterrupt

    monkeypatch.setattr(syscalls, "write_new", cut_off)
    with pytest.raises(KeyboardInterrupt):
        DiskMemoryFile(path, "m").replace(b"two", b"one")
    assert DiskMemoryFile(path, "m").displaced() == []
    assert path.read_bytes() == b"one"


def test_a_link_that_was_made_since_is_not_replaced(path: Path) -> None:
    other = path.rename(path.with_name("AGENTS.md"))
    path.symlink_to(other)
    before = other.read_bytes()
    with pytest.raises(UnreadableMemoryFileError, match="it is a link now"):
        DiskMemoryFile(path, "m").replace(b"new", before)
    assert path.is_symlink()
    assert other.read_bytes() == before
    assert not (path.parent / STAGING_DIR).exists()


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "circle.md").symlink_to("circle.md")
    for name in ("folder.md", "pipe.md", "circle.md", "no/file.md"):
        with pytest.raises(UnreadableMemoryFileError):
            DiskMemoryFile(tmp_path / name, "m").read(99)


def test_a_file_that_grows_meanwhile_is_reread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DiskMemoryFile(path, "m")
    real, saves = os.read, [b"one!!", b"one!"]

    def grows(fd: int, size: int) -> bytes:
        data = real(fd, size)
        if saves:
            path.write_bytes(saves.pop())
        return data

    monkeypatch.setattr(os, "read", grows)
    assert file.read(99) == b"one!!"
    saves += [b"x" * length for length in range(99)]
    with pytest.raises(UnreadableMemoryFileError, match="changes faster"):
        file.read(999)


def test_a_lock_that_is_a_link_leaves_the_file_behind_it_alone(path: Path) -> None:
    mine = path.parent / "mine.txt"
    mine.write_text("Mine.")
    (path.parent / LOCK_FILE).symlink_to(mine)
    with DiskMemoryFile(path, "m").lock(1.0):
        assert mine.read_text() == "Mine."


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_a_repository_put_into_the_staging_folder_is_named(path: Path, kind: str) -> None:
    inside = path.parent / STAGING_DIR / "new"
    inside.parent.mkdir()
    if kind == "folder":
        inside.mkdir()
    else:
        inside.symlink_to("/etc/hostname")
    with pytest.raises(UnreadableMemoryFileError, match=STAGING_DIR) as raised:
        DiskMemoryFile(path, "m").displaced()
    assert raised.value.hint == f"delete {STAGING_DIR}"


def test_a_folder_that_takes_no_file_needs_no_lock_and_keeps_no_state(tmp_path: Path) -> None:
    file = DiskMemoryFile(tmp_path / "gone" / "MEMORY.md", "m")
    file.put_state(b"{}")
    assert file.state() is None
    with pytest.raises(UnreadableMemoryFileError, match="cannot be written"):
        file.replace(b"two", None)
    # A folder in which nothing can be made, even by root: its name is a file's.
    (tmp_path / "file").write_bytes(b"")
    with DiskMemoryFile(tmp_path / "file" / "MEMORY.md", "m").lock(0):
        pass


def test_a_save_into_the_displaced_file_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"")
    editor = path.open("wb", buffering=0)

    def saves(_: float) -> None:
        with editor:
            editor.write(b"what a person typed")

    monkeypatch.setattr("time.sleep", saves)
    with pytest.raises(MemoryFileChangedError):
        DiskMemoryFile(path, "m").replace(b"two", b"")
    assert path.read_bytes() == b"what a person typed"


def test_what_is_written_into_the_displaced_file_later_is_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, staging = DiskMemoryFile(path, "m"), path.parent / STAGING_DIR
    monkeypatch.setattr("time.sleep", lambda _: None)
    with path.open("ab", buffering=0) as slow:  # as of `command >> MEMORY.md`
        file.replace(b"two", b"one")
        file.drop_leftovers()
        slow.write(b" more")
        assert (file.has_leftovers(), [*file.displaced()]) == (True, [])
    assert [*file.displaced()] == [(b"one more", b"two")]
    file.drop_leftovers()
    with path.open("ab"):
        file.replace(b"three", b"two")
        monkeypatch.setattr("time.time", lambda: staging.stat().st_ctime + 3601)
        file.replace(b"four", b"three")
    assert not staging.exists()


def test_a_version_in_between_waits_to_be_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = DiskMemoryFile(path.with_name("other.md"), "o")
    saves, exchange = [b"first save", b"second save"], syscalls.exchange

    def saved(*entries: EntryAt) -> bool:
        if saves:
            path.write_bytes(saves.pop(0))
        return exchange(*entries)

    monkeypatch.setattr(syscalls, "exchange", saved)
    file = DiskMemoryFile(path, "m")
    with pytest.raises(MemoryFileChangedError) as caught:
        file.replace(b"two", b"one")
    assert path.read_bytes() == b"second save"
    assert list(caught.value.saved) == [data for data, _ in file.displaced()] == [b"first save"]
    other.replace(b"new", None)  # another file of the folder
    assert (list(file.displaced()), list(other.displaced())) == ([(b"first save", None)], [])
    file.drop_leftovers()
    assert not (path.parent / STAGING_DIR).exists()


def test_what_a_former_version_left_is_told_until_it_is_dropped(path: Path) -> None:
    left = path.parent / STAGING_DIR / "new"
    left.parent.mkdir()
    left.write_bytes(b"a save that a crash displaced")
    file = DiskMemoryFile(path, "m")
    assert list(file.displaced()) == [(left.read_bytes(), None)]
    file.replace(b"two", b"one")
    assert list(file.displaced()) == [(left.read_bytes(), None)]
    file.drop_leftovers()
    assert not left.parent.exists()


def test_a_file_is_removed_unless_saved_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DiskMemoryFile(path, "m")
    with pytest.raises(MemoryFileChangedError):
        file.remove(b"two")
    assert path.read_bytes() == b"one"
    create = DiskMemoryFile._create

    def saved(self: DiskMemoryFile, staged: EntryAt, note: EntryAt) -> None:
        path.write_bytes(b"a newer save")
        create(self, staged, note)

    with monkeypatch.context() as patched:
        patched.setattr(DiskMemoryFile, "_create", saved)
        with pytest.raises(MemoryFileChangedError) as caught:
            file.remove(b"two")
    assert (path.read_bytes(), [*caught.value.saved]) == (b"a newer save", [b"one"])
    assert [*file.displaced()] == [(b"one", None)]
    path.unlink()
    assert [*file.displaced()] == [(b"one", None)]
    path.write_bytes(b"a newer save")
    file.drop_leftovers()
    file.remove(b"a newer save")
    file.remove(b"a newer save")
    assert [*path.parent.iterdir()] == []


def test_what_a_crash_staged_is_not_displaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, exchange = DiskMemoryFile(path, "m"), syscalls.exchange
    for left in (b"two", b"one"):

        def dies(*entries: EntryAt, left: bytes = left) -> None:
            if left == b"one":
                exchange(*entries)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(syscalls, "exchange", dies)
            with pytest.raises(KeyboardInterrupt):
                file.replace(b"two", b"one")
        (staged,) = (path.parent / STAGING_DIR).iterdir()
        assert staged.read_bytes() == left
        assert [*file.displaced()] == []
    file.replace(b"three", b"two")
    assert not (path.parent / STAGING_DIR).exists()


def test_equal_writes_displace_a_version_each(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, exchange, saves = DiskMemoryFile(path, "m"), syscalls.exchange, [b"first", b"second"]
    for saved in saves:
        path.write_bytes(b"one")

        def dies(*entries: EntryAt, saved: bytes = saved) -> bool:
            path.write_bytes(saved)
            assert exchange(*entries)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(syscalls, "exchange", dies)
            with pytest.raises(KeyboardInterrupt):
                file.replace(b"two", b"one")
    assert [*file.displaced()] == [(each, b"two") for each in saves]
    file.replace(b"three", b"two")
    file.drop_leftovers(b"second")
    assert [*file.displaced()] == [(b"first", None)]


def test_two_files_of_a_folder_are_written_at_once(path: Path) -> None:
    paths = [path, path, path.with_name("other.md")]
    counts = [0] * len(paths)

    def writes(number: int) -> None:
        file = DiskMemoryFile(paths[number], "m")
        for at in range(60):
            now = file.read(1 << 20)
            with suppress(MemoryFileChangedError):
                file.replace(f"{number} {at}".encode(), now)
                counts[number] += 1

    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(writes, number) for number in range(len(paths))]:
            done.result()
    assert counts[2] == 60
    assert not (path.parent / STAGING_DIR).exists()


@pytest.mark.parametrize(
    "name", ["x" * 255, "\u00e9" * 127, "MEMORY.md~", ".hidden", "new.MEMORY.md"]
)
def test_any_name_can_be_staged(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    other = path.with_name(name)
    other.write_bytes(b"one")
    exchange = syscalls.exchange

    def dies(*entries: EntryAt) -> bool:
        other.write_bytes(b"saved")
        assert exchange(*entries)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(syscalls, "exchange", dies)
        with pytest.raises(KeyboardInterrupt):
            DiskMemoryFile(other, "o").replace(b"two", b"one")
    assert not DiskMemoryFile(path, "m").displaced()
    DiskMemoryFile(path, "m").replace(b"two", b"one")
    assert list(DiskMemoryFile(other, "o").displaced()) == [(b"saved", b"two")]


def test_a_swap_that_can_never_end_gives_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saves: list[bytes] = []

    def look(*_: object) -> bytes:
        saves.append(f"save {len(saves)}".encode())
        return saves[-1]

    monkeypatch.setattr("vaultsync.backends.filesystem.syscalls.read_bytes", look)
    with pytest.raises(MemoryFileChangedError) as caught:
        DiskMemoryFile(path, "m").replace(b"two", b"one")
    assert {saves[0], saves[-1]} <= {*caught.value.saved}  # the last is staged, and stays out


def test_a_damaged_record_of_a_known_file_is_no_record(tmp_path: Path) -> None:
    known = KnownMemoryFiles(tmp_path)
    for path in ("/b", "/a"):
        known.put(KnownFile(path, "indy"))
    (tmp_path / "memory-files" / "known" / "half").write_bytes(b"{half")
    assert [each.path for each in known.all()] == ["/a", "/b"]
    known.drop(KnownFile("/a", "indy", "public"))
    assert [each.path for each in known.all()] == ["/b"]
