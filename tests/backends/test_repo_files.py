"""The files of a repository: locked, replaced in one step, appended to line by line."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from vaultsync.backends import contended_files
from vaultsync.backends.filesystem import syscalls
from vaultsync.backends.repo_files.repo_folder import RepoFolder
from vaultsync.errors import LockTimeoutError, RepoFileError

HASH = "a" * 64


def locked(path: Path, seconds: float) -> AbstractContextManager[None]:
    return contended_files.locked_file(path, seconds, LockTimeoutError(str(path), seconds))


@pytest.fixture
def folder(tmp_path: Path) -> RepoFolder:
    folder = RepoFolder(tmp_path / "repos", HASH)
    with folder.memory_lock():
        pass
    return folder


# --- locks ----------------------------------------------------------------------------


@pytest.fixture(params=["flock", "file"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "file":

        def no_locks(_: int, __: int) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr(fcntl, "flock", no_locks)
    return str(request.param)


def test_one_writer_at_a_time(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.lock"
    with locked(path, 1):
        began = time.monotonic()
        with pytest.raises(LockTimeoutError, match=r"x\.lock"), locked(path, 0.05):
            pytest.fail("two have it")
        assert time.monotonic() - began < 20
    with locked(path, 0):
        pass


@pytest.mark.parametrize(("pid", "age"), [(2**22 + 5, 5), (1, 60), (None, 60)])
@pytest.mark.parametrize("kind", ["file"], indirect=True)
def test_a_lock_of_a_process_that_is_gone_or_that_is_old_counts_no_more(
    tmp_path: Path, kind: str, pid: int | None, age: int
) -> None:
    left = tmp_path / "x.lock.pid"
    left.write_text(f"{pid}\n{socket.gethostname()}\n" if pid else "half a li")
    then = time.time() - age
    os.utime(left, (then, then))
    with locked(tmp_path / "x.lock", 5):
        assert left.read_text().startswith(f"{os.getpid()}\n")
    assert not left.exists()


@pytest.mark.parametrize("owner", [f"1\n{socket.gethostname()}\n", "half"])
@pytest.mark.parametrize("kind", ["file"], indirect=True)
def test_a_young_lock_of_another_process_counts(tmp_path: Path, kind: str, owner: str) -> None:
    left = tmp_path / "x.lock.pid"
    left.write_text(owner)
    with pytest.raises(LockTimeoutError), locked(tmp_path / "x.lock", 0.02):
        pytest.fail("it was not waited for")
    assert left.read_text() == owner


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    code = (
        "import sys, time; from pathlib import Path\n"
        "from tests.backends.test_repo_files import locked\n"
        "with locked(Path(sys.argv[1]), 1):\n    print('held', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(LockTimeoutError), locked(path, 0.02):
        pytest.fail("two have it")
    process.kill()
    process.wait()
    with locked(path, 5):
        pass
    process.stdout.close()


def test_an_error_of_a_lock_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(RepoFileError, match="lock"),
        RepoFolder(tmp_path / "file", "x").memory_lock(),
    ):
        pytest.fail("there is no folder")


# --- files ----------------------------------------------------------------------------


def test_a_file_is_replaced_as_a_whole(folder: RepoFolder) -> None:
    assert folder.memory() is None
    assert folder.put_memory(b"one", None)
    assert folder.put_memory(b"two", b"one")
    assert folder.memory() == b"two"
    assert sorted(x.name for x in folder.path.iterdir() if "lock" not in x.name) == [
        "indexes",
        "memory.json",
    ]


@pytest.mark.parametrize("swaps", [True, False])
def test_what_was_saved_meanwhile_stays_in_the_file(
    folder: RepoFolder, monkeypatch: pytest.MonkeyPatch, *, swaps: bool
) -> None:
    if not swaps:
        name = "vaultsync.backends.filesystem.syscalls.exchange"
        monkeypatch.setattr(name, lambda *_: False)
    folder.put_memory(b"one", None)
    (folder.path / "memory.json").write_bytes(b"by hand")
    assert not folder.put_memory(b"two", b"one")
    assert folder.memory() == b"by hand"
    (folder.path / "memory.json").unlink()
    (folder.path / "memory.json").write_bytes(b"new by hand")
    assert not folder.put_memory(b"three", None)
    assert folder.memory() == b"new by hand"
    (folder.path / "memory.json").unlink()
    assert not folder.put_memory(b"four", b"gone")
    assert folder.put_memory(b"four", folder.memory())
    assert folder.memory() == b"four"
    assert folder.displaced() == []


def test_a_displaced_file_counts_once_no_program_writes_it(folder: RepoFolder) -> None:
    folder.put_memory(b"one", None)
    path = folder.path / "memory.json"
    with path.open("ab") as file:
        folder.put_memory(b"two", b"one")
        assert len(folder.displaced_paths()) == 1
        assert folder.displaced() == []
        file.write(b", by hand")
    assert folder.displaced() == [b"one, by hand"]
    folder.drop_displaced(b"one, by hand")
    assert not folder.displaced()
    assert not folder.displaced_paths()


def test_a_link_to_another_folder_stays(folder: RepoFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "synced" / "app.json"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(b"one")
    (folder.path / "memory.json").symlink_to(elsewhere)
    assert folder.put_memory(b"two", b"one")
    assert elsewhere.read_bytes() == b"two"
    assert (folder.path / "memory.json").is_symlink()
    (folder.path / "summaries.jsonl").symlink_to(elsewhere.with_name("lines"))
    for write in (
        folder.append_summary,
        folder.append_summary,
        lambda x: folder.put_summaries([x]),
    ):
        write(b"{}")
    assert elsewhere.with_name("lines").read_bytes() == b"{}\n"
    assert (folder.path / "summaries.jsonl").is_symlink()


def test_a_file_that_is_a_mount_point_is_an_error_that_changes_nothing(
    folder: RepoFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.put_summaries([b"one"])
    folder.put_memory(b"{}", None)

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "replace", fails)
    monkeypatch.setattr(syscalls, "swap_files", fails)
    writes: Sequence[Callable[[], object]] = (
        lambda: folder.put_summaries([b"2"]),
        lambda: folder.put_memory(b"[]", b"{}"),
    )
    for write in writes:
        with pytest.raises(RepoFileError, match="busy") as raised:
            write()
        assert "mount its folder" in raised.value.hint
    assert folder.summaries() == [b"one"]
    assert folder.memory() == b"{}"


def test_lines_are_appended_whole(folder: RepoFolder) -> None:
    path = folder.path / "summaries.jsonl"
    folder.append_summary(b"one")
    with path.open("ab") as file:
        file.write(b"cut o")  # another program died
    assert folder.summaries() == [b"one"]
    folder.append_summary(b"two")
    assert path.read_bytes() == b"one\ncut o\ntwo\n"


def test_a_line_that_does_not_fit_is_taken_away_again(
    folder: RepoFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.append_summary(b"one")
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda fd, data: write(fd, data[:2]))
        with pytest.raises(RepoFileError, match="No space"):
            folder.append_summary(b"two")
    assert (folder.path / "summaries.jsonl").read_bytes() == b"one\n"


def in_a_child(work: Callable[[], object], *, user: int | None = None) -> str:
    """What an error of some work says, in a process that may write less; empty for none.

    It is forked: another user may not be able to read this interpreter.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = "it failed"
        try:
            if user is not None:
                os.setgroups([])
                os.setuid(user)
            work()
            said = ""
        except RepoFileError as error:
            said = f"{error.number} {error.hint}"
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("number", [errno.EACCES, errno.EFBIG])
def test_a_full_folder_is_an_error_with_a_hint_and_keeps_what_it_has(number: int) -> None:
    """A folder that a user may not write, and a disk that ends in the middle of a file."""
    with tempfile.TemporaryDirectory() as place:  # that of pytest is closed to other users
        folder = RepoFolder(Path(place), HASH)
        with folder.memory_lock(), folder.summaries_lock():
            folder.put_memory(b"{}", None)
            folder.append_summary(b"one")
        folder.path.chmod(0o555)
        Path(place).chmod(0o755)

        def limited(work: Callable[[], object]) -> Callable[[], object]:
            def done() -> None:
                if number == errno.EFBIG:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
                work()

            return done

        user = 65534 if number == errno.EACCES and os.geteuid() == 0 else None
        long = b"x" * 4_000
        for write in (
            lambda: folder.put_memory(long, b"{}"),
            lambda: folder.put_summaries([long]),
            lambda: folder.append_summary(long),
            lambda: folder.put_state("x.json", long),
        ):
            found = in_a_child(limited(write), user=user)
            code, _, hint = found.partition(" ")
            assert int(code) in {number, errno.ENOSPC} - ({errno.ENOSPC} if user else set())
            assert hint
        folder.path.chmod(0o755)
        assert folder.memory() == b"{}"
        assert [*folder.summaries()] == [b"one"]


def test_a_file_on_another_file_system_is_replaced_there(folder: RepoFolder) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as other:
        if Path(other).stat().st_dev == folder.path.stat().st_dev:
            pytest.skip("there is one file system here")
        there = Path(other) / "memory.json"
        there.write_bytes(b"{}")
        (folder.path / "memory.json").symlink_to(there)
        assert folder.put_memory(b"[1]", b"{}")
        assert there.read_bytes() == b"[1]"
        assert (folder.path / "memory.json").is_symlink()
        with pytest.raises(OSError, match="cross-device"):
            there.rename(folder.path / "moved")


def test_states_are_kept_beside(folder: RepoFolder) -> None:
    assert folder.exists
    assert folder.state("x.json") is None
    folder.put_state("x.json", b"{}", durable=False)
    assert folder.state("x.json") == b"{}"
    other = RepoFolder(folder.path.parent, "b" * 64)
    assert not other.exists
    other.put_state("x.json", b"1")
    assert other.exists


def test_the_age_of_a_lock_is_documented() -> None:
    assert contended_files.STALE_SECONDS == 30
