from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from select import select
from unittest.mock import Mock

import pytest

from tests.snippets import run
from tests.worlds import VAULT_ID, refuse_exchange, staged_text
from vaultsync import errors
from vaultsync.backends.filesystem import syscalls, tree
from vaultsync.backends.filesystem.syscalls import EntryAt, FileMetadata
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import (
    INVALID_FOLDER_NAME,
    INVALID_NAME,
    NOT_DOWNLOADED,
    OTHER_VAULT,
    FileStamp,
)

NOTE = VaultPath("public/note.md")
STAGING = ".meta/staging"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_vault(root: Path, vault_id: str = VAULT_ID) -> None:
    (root / ".meta").mkdir(parents=True)
    (root / ".meta/config.toml").write_text(f'vault_id = "{vault_id}"\n')


@pytest.fixture
def tmp_path(disk: Path) -> Path:
    return disk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    make_vault(root)
    (root / "public").mkdir()
    return root


@pytest.fixture
def vault(
    request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[VaultFs]:
    if not getattr(request, "param", True):
        refuse_exchange(monkeypatch)
    vault = VaultFs(root)
    yield vault
    vault.close()


without_exchange = pytest.mark.parametrize("vault", [False], indirect=True)
both_ways = pytest.mark.parametrize("vault", [True, False], indirect=True)


def save(root: Path, path: str, data: bytes) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def open_files() -> set[str]:
    return {file.name for file in Path("/dev/fd").iterdir()}


def refuse(code: int) -> Mock:
    return Mock(side_effect=OSError(code, os.strerror(code)))


# --- the root ------------------------------------------------------------------------


def test_another_vault_in_its_place_is_left_untouched(root: Path, vault: VaultFs) -> None:
    vault.vault_id()
    vault.stage("op", b"ours")
    root.rename(root.with_name("old"))
    make_vault(root, "another")

    with pytest.raises(errors.VaultMissingError, match="another folder"):
        vault.scan()
    with pytest.raises(errors.VaultMissingError):
        vault.create("op", VaultPath("new/note.md"))
    assert not (root / "new").exists()

    assert vault.vault_id() == "another"
    assert vault.ops() == []


def test_an_empty_folder_never_becomes_half_a_vault(root: Path, vault: VaultFs) -> None:
    shutil.rmtree(root)
    root.mkdir()

    with pytest.raises(errors.VaultMissingError):
        vault.stage("op", b"text")
    with pytest.raises(errors.VaultMissingError):
        vault.write_meta(VaultPath(".index/x.md"), b"text")
    assert list(root.iterdir()) == []


def test_a_vault_that_the_system_cannot_open_is_not_called_missing(
    vault: VaultFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "config.toml")

    vault.close()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(
        errors.VaultMissingError, match="cannot be read: Too many open files"
    ) as caught:
        vault.vault_id()
    assert "missing" not in caught.value.message
    assert "ulimit -n" in caught.value.hint


def test_a_link_in_place_of_a_folder_is_to_be_replaced_by_one(root: Path, vault: VaultFs) -> None:
    (root / "Linked").symlink_to(root / "public")
    with pytest.raises(errors.UnsafePathError, match="Linked is a link") as caught:
        vault.stamp(VaultPath("Linked/a.md"))
    assert caught.value.hint == "put a folder in its place"


def test_an_error_of_a_displaced_file_names_its_whole_path(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.stage("op1", b"a")

    def refuse(path: str, *, dir_fd: int) -> None:
        assert dir_fd
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(OSError, match="denied") as caught:
        vault.discard("op1")
    assert caught.value.filename == f"{root}/{STAGING}/op1"


@pytest.mark.parametrize("call", ["mkdir", "open", "write"])
def test_an_error_of_the_system_names_the_whole_path(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    vault.vault_id()
    vault.write_meta(VaultPath(".index/a.md"), b"a")
    real = getattr(os, call)

    def refuse(path: str | int, *args: int, **named: int) -> object:
        if isinstance(path, int):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        if call == "mkdir" or "~" in path or path == "op1":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, *args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        if call == "mkdir":
            with pytest.raises(OSError, match="Read-only") as caught:
                vault.write_meta(VaultPath(".index/new/b.md"), b"b")
            assert caught.value.filename == f"{root}/.index/new"
            return
        with pytest.raises(OSError, match="Read-only") as caught:
            vault.write_meta(VaultPath(".index/b.md"), b"b")
        assert str(caught.value.filename).startswith(f"{root}/{STAGING}/~")
        with pytest.raises(OSError, match="Read-only") as caught:
            vault.stage("op1", b"b")
        assert caught.value.filename == f"{root}/{STAGING}/op1"


@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ENOSPC]
)
@pytest.mark.parametrize("step", ["create", "exchange", "move", "stage_removal"])
def test_only_the_note_waits_that_the_system_does_not_let_us_write(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    save(root, NOTE, b"old")
    vault.stage("op", b"new")
    new = VaultPath("team-core/new.md")
    call, values = {
        "create": ("rename_new", ("op", new)),
        "exchange": ("exchange", ("op", NOTE, sha(b"old"))),
        "move": ("rename_new", (NOTE, new)),
        "stage_removal": ("replace", ("other", NOTE, sha(b"old"))),
    }[step]

    def refuse(*_: object) -> bool:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(syscalls, call, refuse)
    waits = number not in (errno.EIO, errno.ENOSPC)
    with pytest.raises(errors.UnwritableNoteError if waits else OSError, match=os.strerror(number)):
        getattr(vault, step)(*values)
    assert (root / NOTE).read_bytes() == b"old"
    assert not (root / new).exists()


@pytest.mark.parametrize(
    "marker",
    [
        b"\xff",
        b"vault_id",
        b"[vault]\nid = 1\n",
        b"a = " + b"[" * 5000,
        b"a." * 30_000 + b"a = 1",
        b"#" * 70_000,
        None,
    ],
    ids=lambda marker: repr(marker)[:16],
)
def test_a_bad_or_linked_marker_is_none(root: Path, vault: VaultFs, marker: bytes | None) -> None:
    if marker is None:
        (root / ".meta").rename(root.parent / "elsewhere")
        (root / ".meta").symlink_to(root.parent / "elsewhere")
    else:
        (root / ".meta/config.toml").write_bytes(marker)

    with pytest.raises(errors.VaultMissingError):
        vault.vault_id()


def test_the_limit_of_notes_is_not_that_of_the_marker(root: Path) -> None:
    vault = VaultFs(root, max_bytes=1)
    assert vault.vault_id() == VAULT_ID
    vault.close()


def test_nothing_stays_open_and_the_root_may_be_a_link(root: Path) -> None:
    link = root.with_name("Memory")
    link.symlink_to(root)
    vault = VaultFs(link)
    assert vault.vault_id() == VAULT_ID
    save(root, NOTE, b"text")
    vault.stage("op", b"new")
    before = open_files()

    vault.scan()
    vault.read(NOTE)
    vault.exchange("op", NOTE, sha(b"text"))
    vault.write_meta(VaultPath(".index/x.md"), b"text")
    vault.sync()
    for bad in ("no/such/note.md", ".git/x.md", "public"):
        with pytest.raises(Exception, match=r"."):
            vault.read(VaultPath(bad))
    with pytest.raises(errors.NoteExistsError):
        vault.create("op", NOTE)

    assert open_files() == before
    vault.close()


# --- scanning ------------------------------------------------------------------------


def test_names_that_no_path_can_hold_are_named_and_not_entered(root: Path, vault: VaultFs) -> None:
    folder = os.fsencode(root)
    for name in (b"\xff.md", b"new\nline.md", b"back\\slash.md"):
        Path(os.fsdecode(folder + b"/public/" + name)).touch()
    Path(os.fsdecode(folder + b"/\xfffolder")).mkdir()
    save(root, "public/ä\u200b.md", b"")

    scan = vault.scan()

    public = scan.folders[VaultPath("public")]
    assert set(public.files) == {"ä\u200b.md"}
    names = ("\ufffd.md", "new\nline.md", "back\\slash.md")
    assert public.non_regular == dict.fromkeys(names, INVALID_NAME)
    assert scan.unreadable == {"\ufffdfolder": INVALID_FOLDER_NAME}


def test_patterns_ignore_folders_and_files(root: Path) -> None:
    for path in ("a/drawing.excalidraw.md", "a/x.md", "b/Daily/x.md", "Old/x.md"):
        save(root, path, b"")
    vault = VaultFs(root, ignore=["*.excalidraw.md", "*/daily", "old/"])

    folders = vault.scan().folders

    assert {path: list(folder.files) for path, folder in folders.items()} == {
        "": [],
        "a": ["x.md"],
        "b": [],
        "public": [],
    }
    vault.stage("op", b"text")
    for path in ("a/new.excalidraw.md", "b/daily/deep/x.md", "OLD/x.md"):
        with pytest.raises(errors.UnsafePathError):
            vault.create("op", VaultPath(path))
    vault.close()


@pytest.mark.parametrize("beside", [[], ["x (conflicted copy 2026-01-01).md"]])
def test_a_file_is_ignored_whatever_folder_and_settings_have(root: Path, beside: list[str]) -> None:
    kept = ["diary.md", "x.md"]
    for name in (*kept, *beside, "Private.md"):
        save(root, f"a/{name}", b"")
    save(root, "diary.md", b"")
    vault = VaultFs(root, ignore=["A/private.md", "diary.md"])

    folders = vault.scan().folders

    assert list(folders[VaultPath("a")].files) == kept
    assert not folders[VaultPath("")].files
    vault.close()


def test_a_folder_that_goes_while_it_is_listed_is_not_taken_for_empty(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(root, "a/x.md", b"")
    listed = tree.list_folder

    def listed_late(fd: int, path: str, ignore: tree.IgnoreRules) -> object:
        found = listed(fd, path, ignore)
        if not path:
            (root / "a").rename(root / "b")
        return found

    monkeypatch.setattr(tree, "list_folder", listed_late)

    assert set(vault.scan().unreadable) == {"a"}


def test_a_vault_inside_the_vault_is_named_and_not_listed(root: Path, vault: VaultFs) -> None:
    save(root, ".meta/config.toml", b"")
    save(root, "inner/.meta/config.toml", b"")
    save(root, "inner/deep/x.md", b"")
    save(root, "inner/x.canvas", b"{}")
    save(root, "near/.meta", b"a file")
    save(root, "near/x.md", b"")

    scan = vault.scan()

    assert scan.unreadable == {"inner": OTHER_VAULT}
    assert set(scan.folders) == {"", "near", "public"}
    assert vault.folder(VaultPath("inner")) is None
    assert vault.folder(VaultPath("inner/deep")) is None
    assert vault.canvases() == []
    near = vault.folder(VaultPath("near"))
    assert near is not None
    assert set(near.files) == {"x.md"}


def test_fingerprints_are_the_same_in_every_process_and_hold_inodes_of_64_bits(root: Path) -> None:
    save(root, "public/x.md", b"")
    save(root, "public/ä.md", b"")
    (root / "public/odd.md").symlink_to("x.md")
    code = (
        "import sys; from vaultsync.backends.filesystem.vault_fs import VaultFs\n"
        "scan = VaultFs(sys.argv[1]).scan()\n"
        "print({p: f.fingerprint.hex() for p, f in scan.folders.items()})"
    )

    # Each process has another seed for the hashes of strings.
    assert run(code, root) == run(code, root) != ""
    small, big = ({"x.md": FileStamp(1, 2, 3, inode)} for inode in (4, 2**64 - 1))
    of = tree.fingerprint
    assert len({of(small, {}), of(big, {}), of({}, big), of({}, {})}) == 4


# --- reading -------------------------------------------------------------------------


def test_a_note_that_changes_is_read_as_it_is_then_and_not_while_it_keeps_changing(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = save(root, NOTE, b"before")
    real, saves = os.read, [b"AFTER!"]

    def read(fd: int, size: int) -> bytes:
        data = real(fd, size)
        if saves:
            file.write_bytes(saves.pop())
        return data

    monkeypatch.setattr(os, "read", read)

    assert vault.read(NOTE).data == b"AFTER!"
    saves += [b"x" * length for length in range(100)]
    with pytest.raises(errors.NoteChangedError):
        vault.read(NOTE)


@pytest.mark.skipif(not hasattr(os, "O_NOATIME"), reason="Linux only")
def test_reading_leaves_the_access_time(root: Path, vault: VaultFs) -> None:
    file = save(root, NOTE, b"text")
    os.utime(file, ns=(1, 2))
    vault.read(NOTE)
    assert file.stat().st_atime_ns == 1


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.EIO, "check the disk"), (errno.EACCES, "so that you can read it")]
)
def test_what_the_system_refuses_is_unreadable(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    save(root, NOTE, b"text")
    monkeypatch.setattr(syscalls, "open_to_read", refuse(number))

    with pytest.raises(errors.UnreadableNoteError, match=os.strerror(number)) as refused:
        vault.read(NOTE)
    assert hint in refused.value.hint


def test_a_folder_that_became_a_link_is_not_entered(root: Path, vault: VaultFs) -> None:
    path = VaultPath("a/b/note.md")
    file = save(root, path, b"text")
    vault.stage("op", b"new")
    assert vault.read(path).data == b"text"
    (root / "a").rename(root.parent / "elsewhere")
    (root / "a").symlink_to(root.parent / "elsewhere")

    for act in (
        lambda: vault.read(path),
        lambda: vault.stamp(path),
        lambda: vault.create("op", VaultPath("a/b/new.md")),
        lambda: vault.exchange("op", path, sha(b"text")),
        lambda: vault.move(path, NOTE),
        lambda: vault.stage_removal("gone", path, sha(b"text")),
    ):
        with pytest.raises(errors.UnsafePathError):
            act()
    assert file.read_bytes() == b"text"


def test_a_folder_is_not_taken_for_its_successor(root: Path, vault: VaultFs) -> None:
    save(root, "a/b/note.md", b"text")
    vault.read(VaultPath("a/b/note.md"))
    (root / "a").rename(root / "old")
    save(root, "a/b/note.md", b"successor")

    vault.stage("op", b"new")
    vault.create("op", VaultPath("a/b/new.md"))

    assert vault.read(VaultPath("a/b/note.md")).data == b"successor"
    assert [file.name for file in (root / "old/b").iterdir()] == ["note.md"]


# --- modes ---------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_a_new_note_has_the_mode_of_any_new_file(root: Path, vault: VaultFs, umask: int) -> None:
    before = os.umask(umask)
    try:
        vault.stage("op", b"text")
        vault.create("op", VaultPath("a/b/note.md"))
        like = save(root, "like.md", b"").stat().st_mode
        (root / "like").mkdir()
    finally:
        os.umask(before)

    assert (root / "a/b/note.md").stat().st_mode == like
    assert (root / "a/b").stat().st_mode == (root / "like").stat().st_mode
    assert stat.S_IMODE((root / STAGING).stat().st_mode) == 0o700
    assert (root / ".meta/.gitignore").read_text() == "staging/\n"


@both_ways
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604, 0o644])
def test_a_note_keeps_its_mode_and_its_tags(root: Path, vault: VaultFs, mode: int) -> None:
    file = save(root, NOTE, b"old")
    tagged = sys.platform == "linux"
    if tagged:
        try:
            os.setxattr(file, "user.tags", b"red")
        except OSError:  # this file system has no extended attributes
            tagged = False
    file.chmod(mode)
    vault.stage("op", b"new")

    vault.exchange("op", NOTE, sha(b"old"))

    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert stat.S_IMODE((root / STAGING / "op").stat().st_mode) == mode
    assert not tagged or os.getxattr(file, "user.tags") == b"red"


@pytest.mark.skipif(sys.platform != "linux", reason="Python has these functions only there")
@pytest.mark.parametrize("refused", ["getxattr", "setxattr"])
def test_a_tag_that_the_system_refuses_does_not_affect_the_others(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    tags = {"security.label": b"x", "user.tags": b"red"}
    kept: dict[str, bytes] = {}

    def read(_: int, key: str) -> bytes:
        return give(refused == "getxattr", key)

    def write(_: int, key: str, value: bytes) -> None:
        give(refused == "setxattr", key)
        kept[key] = value

    def give(refuses: bool, key: str) -> bytes:
        if refuses and key == "security.label":
            raise PermissionError(errno.EPERM, "not permitted")
        return tags[key]

    monkeypatch.setattr(os, "listxattr", lambda _: list(tags))
    monkeypatch.setattr(os, "getxattr", read)
    monkeypatch.setattr(os, "setxattr", write)
    save(root, NOTE, b"old")
    vault.stage("op", b"new")
    vault.exchange("op", NOTE, sha(b"old"))
    assert kept == {"user.tags": b"red"}


def test_a_placeholder_stands_for_a_note_not_on_this_machine(root: Path, vault: VaultFs) -> None:
    for name in (".cloud.md.icloud", ".both.md.icloud", "both.md", ".x.png.icloud", ".md.icloud"):
        save(root, f"public/{name}", b"bplist00")
    listed = vault.folder(VaultPath("public"))
    assert listed is not None
    assert ([*listed.files], listed.non_regular) == (["both.md"], {"cloud.md": NOT_DOWNLOADED})
    (root / "public/.cloud.md.icloud").unlink()
    now = vault.folder(VaultPath("public"))
    assert now is not None
    assert (now.non_regular, now.fingerprint == listed.fingerprint) == ({}, False)


# --- the staging folder --------------------------------------------------------------


def test_a_deleted_staging_folder_is_made_again_and_no_link(root: Path, vault: VaultFs) -> None:
    for op in ("one", "two"):
        vault.stage(op, b"text")
        assert vault.ops() == [op]
        shutil.rmtree(root / STAGING)
        assert vault.ops() == []

    (root.parent / "elsewhere").mkdir()
    (root / STAGING).symlink_to(root.parent / "elsewhere")
    with pytest.raises(errors.UnsafePathError):
        vault.stage("op", b"text")
    assert list((root.parent / "elsewhere").iterdir()) == []

    (root / STAGING).unlink()
    (root / STAGING).write_bytes(b"a file")
    with pytest.raises(errors.UnsafePathError, match="staging is a file, not a folder"):
        vault.stage("op", b"text")
    assert (root / STAGING).read_bytes() == b"a file"


def link_aside(staged: EntryAt, note: EntryAt) -> None:
    assert syscalls._link(note, syscalls.aside_name(staged))


def link_plainly(staged: EntryAt, note: EntryAt) -> None:
    assert syscalls._link(staged, note)


@pytest.mark.parametrize(
    ("files", "steps", "after"),
    [
        # A swap that did not replace is undone, and one that did is finished.
        ({"note": b"old", "op": b"new"}, [link_aside], {"note": b"old", "op": b"new"}),
        (
            {"note": b"old", "op": b"new"},
            [link_aside, syscalls.replace],
            {"note": b"new", "op": b"old"},
        ),
        ({"op": b"new"}, [link_plainly], {"note": b"new"}),  # it is created
        ({"~derived": b"half"}, [], {}),
    ],
)
def test_what_a_crash_left_is_finished_or_undone(
    root: Path,
    files: dict[str, bytes],
    steps: list[Callable[[EntryAt, EntryAt], None]],
    after: dict[str, bytes],
) -> None:
    for name, data in files.items():
        save(root, NOTE if name == "note" else f"{STAGING}/{name}", data)
    staging, public = os.open(root / STAGING, os.O_RDONLY), os.open(root / "public", os.O_RDONLY)
    for step in steps:
        step(EntryAt(staging, "op"), EntryAt(public, "note.md"))
    os.close(staging)
    os.close(public)

    vault = VaultFs(root)

    assert vault.ops() == [name for name in after if name != "note"]
    found = {path.name: path.read_bytes() for path in (root / STAGING).iterdir()}
    if (root / NOTE).exists():
        found["note"] = vault.read(NOTE).data
    assert found == after
    vault.close()


# --- poorer file systems -------------------------------------------------------------


@without_exchange
def test_without_links_notes_are_created_and_exchanged(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    vault.stage("op", b"one")
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(os, "replace", refuse(errno.EIO))
        with pytest.raises(OSError, match="rror"):
            vault.create("op", NOTE)
    assert not (root / NOTE).exists()  # its name was claimed before the rename failed

    vault.create("op", NOTE)
    vault.stage("op", b"two")
    with pytest.raises(errors.NoteExistsError):
        vault.create("op", NOTE)

    vault.exchange("op", NOTE, sha(b"one"))

    assert (staged_text(vault), (root / NOTE).read_bytes()) == (b"one", b"two")
    assert {file.name for file in (root / STAGING).iterdir()} == {"op"}


@without_exchange
@pytest.mark.parametrize("moment", ["before", "after"])
def test_without_exchange_a_save_while_linking_is_kept(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    file = save(root, NOTE, b"old")
    vault.stage("op", b"new")
    real, hers = os.link, [b"hers"]

    def link(*args: str, **named: int) -> None:
        if moment == "after":
            real(*args, **named)  # type: ignore[arg-type]
        if hers:
            save(root, "public/.temp", hers.pop()).replace(file)
            if moment == "before":  # as when the name was read before the save
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if moment == "before":
            real(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", link)

    with pytest.raises(errors.NoteChangedError):
        vault.exchange("op", NOTE, sha(b"old"))
    assert file.read_bytes() == b"hers"


def test_a_call_that_the_system_does_not_have_is_done_without(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syscalls, "_RENAME", None)
    monkeypatch.setattr(syscalls, "_SYNCFS", None)

    create(vault, 40)
    vault.sync()
    vault.stage("op", b"new")
    vault.exchange("op", VaultPath("public/7.md"), sha(b"text"))

    assert (root / "public/7.md").read_bytes() == b"new"


@pytest.fixture
def mounted(root: Path, monkeypatch: pytest.MonkeyPatch) -> VaultPath:
    """A note whose folder is another mount: no rename and no link leads there."""
    (root / "mount").mkdir()
    inside = (root / "mount").stat().st_ino

    def guard(name: str, folders: Callable[..., tuple[int, int]]) -> None:
        module = syscalls if hasattr(syscalls, name) else os
        real = getattr(module, name)

        def guarded(*args: object, **named: object) -> object:
            one, other = folders(*args, **named)
            if (os.fstat(one).st_ino == inside) != (os.fstat(other).st_ino == inside):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            return real(*args, **named)

        monkeypatch.setattr(module, name, guarded)

    guard("exchange", lambda one, other: (one.folder, other.folder))
    guard("rename_new", lambda one, other: (one.folder, other.folder))
    guard("replace", lambda one, other: (one.folder, other.folder))
    guard("link", lambda *_, src_dir_fd, dst_dir_fd, **__: (src_dir_fd, dst_dir_fd))
    return VaultPath("mount/note.md")


@both_ways
def test_on_another_mount_notes_are_written_beside_themselves_and_none_is_moved_there(
    root: Path, vault: VaultFs, mounted: VaultPath
) -> None:
    vault.stage("op", b"one")
    stamp = vault.create("op", mounted)
    assert stamp == vault.stamp(mounted)
    assert vault.ops() == []

    vault.stage("op", b"two")
    stamp = vault.exchange("op", mounted, sha(b"one"))
    assert stamp == vault.stamp(mounted)
    assert staged_text(vault) == b"one"

    vault.stage_removal("gone", mounted, sha(b"two"))
    assert (root / STAGING / "gone").read_bytes() == b"two"
    assert list((root / "mount").iterdir()) == []
    vault.sync()

    save(root, NOTE, b"text")
    with pytest.raises(errors.UnsafePathError, match="another file system"):
        vault.move(NOTE, mounted)
    assert (root / NOTE).read_bytes() == b"text"


def test_a_save_on_another_mount_is_put_back(
    root: Path, vault: VaultFs, mounted: VaultPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = save(root, mounted, b"old")
    vault.stage("op", b"new")
    real = syscalls.copy_metadata

    def looks(given: FileMetadata, target: EntryAt, found: os.stat_result) -> None:
        real(given, target, found)
        file.write_bytes(b"hers")

    monkeypatch.setattr(syscalls, "copy_metadata", looks)

    with pytest.raises(errors.NoteChangedError):
        vault.exchange("op", mounted, sha(b"old"))
    assert [f.name for f in (root / "mount").iterdir()] == ["note.md"]
    assert file.read_bytes() == b"hers"


# --- syncing -------------------------------------------------------------------------


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def flush(fd: int, more: str = "") -> bool:
        os.fsync(fd)  # which a pipe refuses
        seen.append(str(Path(f"/proc/self/fd/{fd}").readlink()) + more)
        return True

    monkeypatch.setattr(syscalls, "flush", flush)
    monkeypatch.setattr(syscalls, "flush_all", lambda fd: flush(fd, " all"))
    return seen


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@on_linux
def test_syncing_reaches_all_that_changed(root: Path, vault: VaultFs, synced: list[str]) -> None:
    vault.stage("op", b"text")
    vault.create("op", VaultPath("a/b/note.md"))
    vault.stage("kept", b"text")

    vault.sync()

    wanted = {".", ".meta", STAGING, f"{STAGING}/kept", "a", "a/b", "a/b/note.md"}
    assert {Path(path).relative_to(root).as_posix() for path in synced} == wanted
    synced.clear()
    vault.sync()
    assert synced == []
    vault.sync([VaultPath("a/b/note.md")])  # as if another process had written it
    assert {Path(path).name for path in synced} == {"b", "note.md"}


def create(vault: VaultFs, count: int) -> None:
    for number in range(count):
        vault.stage("op", b"text")
        vault.create("op", VaultPath(f"public/{number}.md"))


def to_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound, contextlib.chdir(path.parent):
        bound.bind(path.name)


REPLACEMENTS: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: None,
    "link": lambda path: path.symlink_to("elsewhere"),
    "circle": lambda path: path.symlink_to(path.name),
    "pipe": os.mkfifo,
    "socket": to_socket,
}


@on_linux
@pytest.mark.parametrize("now", ["many", "a link as its folder", *REPLACEMENTS])
def test_much_is_synced_by_one_call_and_what_others_replaced_before(
    root: Path, vault: VaultFs, synced: list[str], now: str
) -> None:
    create(vault, 50 if now == "many" else 1)
    if now in REPLACEMENTS:
        (root / "public/0.md").rename(root / "moved.md")
        REPLACEMENTS[now](root / "public/0.md")
    elif now != "many":
        (root / "public").rename(root / "moved")
        (root / "public").symlink_to("moved")

    vault.sync()

    assert synced[-1] == f"{root} all"
    assert now != "many" or len(synced) == 1


@on_linux
def test_much_is_synced_on_each_file_system_that_has_some_of_it(
    root: Path, vault: VaultFs, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create(vault, 50)
    mounted, real = (root / "public").stat().st_ino, os.fstat

    def fstat(fd: int) -> os.stat_result:
        found = real(fd)
        other = found.st_dev + (found.st_ino == mounted)
        return os.stat_result((*found[:2], other, *found[3:]))

    monkeypatch.setattr(os, "fstat", fstat)
    vault.sync()
    assert synced == [f"{root} all", f"{root / 'public'} all"]


@pytest.mark.parametrize("many", [1, 50])
def test_no_sync_after_one_that_failed_succeeds(vault: VaultFs, many: int) -> None:
    create(vault, many)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syscalls, "flush", refuse(errno.EIO))
        patch.setattr(syscalls, "flush_all", refuse(errno.EIO))
        with pytest.raises(OSError, match="rror"):
            vault.sync()

    with pytest.raises(OSError, match="rror"):
        vault.sync()


def test_a_derived_file_replaces_a_link_and_is_written_once(root: Path, vault: VaultFs) -> None:
    outside = root.parent / "outside"
    outside.write_bytes(b"theirs")
    file = root / ".index/x.md"
    file.parent.mkdir()
    file.symlink_to(outside)

    vault.write_meta(VaultPath(".index/x.md"), b"ours")
    before = file.lstat()
    vault.write_meta(VaultPath(".index/x.md"), b"ours")

    assert outside.read_bytes() == b"theirs"
    assert file.lstat() == before
    assert not file.is_symlink()


@pytest.mark.parametrize("finishes", [False, True])
def test_derived_files_that_two_processes_write_at_once_are_not_mixed(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch, finishes: bool
) -> None:
    table, summary = VaultPath(".index/x.md"), VaultPath(".meta/sync-state.json")
    other, real = VaultFs(root), syscalls.replace

    def replace(source: EntryAt, target: EntryAt) -> None:
        monkeypatch.setattr(syscalls, "replace", real)
        other.write_meta(summary, b"{}")
        if finishes:
            assert other.ops() == []  # removes what others left unfinished
        real(source, target)

    monkeypatch.setattr(syscalls, "replace", replace)
    vault.write_meta(table, b"a table")
    other.close()
    assert ((root / table).read_bytes(), (root / summary).read_bytes()) == (b"a table", b"{}")
    assert {each.name for each in (root / STAGING).iterdir()} <= {".gitignore"}


def test_writing_a_derived_file_leaves_alone_what_another_process_is_exchanging(
    root: Path, vault: VaultFs
) -> None:
    for name in ("op~", "op"):
        save(root, f"{STAGING}/{name}", name.encode())
    vault.write_meta(VaultPath(".index/x.md"), b"text")
    assert {each.name for each in (root / STAGING).iterdir()} == {"op~", "op"}
    assert vault.ops() == ["op"]
    assert {each.name for each in (root / STAGING).iterdir()} == {"op"}


def test_a_derived_file_that_another_process_just_finished_hides_no_staged_file(
    root: Path, vault: VaultFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(root, f"{STAGING}/op", b"op")
    names = syscalls.list_names
    monkeypatch.setattr(syscalls, "list_names", lambda folder: ["~gone", *names(folder)])
    assert vault.ops() == ["op"]


# --- the storm -----------------------------------------------------------------------

SECONDS = 1.0
PERSON = """
import os, sys, time
note, style = sys.argv[1:]
for line in sys.stdin:
    text, wait = line.split()
    if style == "handle":
        fd = os.open(note, os.O_RDWR)
    os.write(1, b"r")
    end = time.perf_counter() + float(wait)
    while time.perf_counter() < end:
        pass
    if style == "rename":
        with open(note + "~", "w") as file:
            file.write(text)
        os.replace(note + "~", note)
    else:
        if style == "in place":
            fd = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(fd, text.encode())
        os.close(fd)
    os.write(1, b"s")
"""
"""Says `r` when ready, waits, saves in one style, says `s`."""


def storm(root: Path, style: str, write: Callable[[], Iterable[bytes]]) -> tuple[int, int]:
    """Let a person save while we write: how many saves there were, and were lost."""
    file = save(root, NOTE, b"start")
    rng = random.Random(0)
    saves = lost = 0
    with subprocess.Popen(
        [sys.executable, "-c", PERSON, str(file), style],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as person:
        assert person.stdin
        assert person.stdout
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            text = f"save-{rng.random()}"
            person.stdin.write(f"{text} {rng.random() * 5e-4}\n".encode())
            assert person.stdout.read(1) == b"r"
            kept: set[bytes] = set()
            while not select([person.stdout], [], [], 0)[0]:
                kept.update(write())
            assert person.stdout.read(1) == b"s"
            kept.update(path.read_bytes() for path in (root / STAGING).iterdir())
            kept.add(file.read_bytes())
            saves += 1
            lost += not any(data.startswith(text.encode()) for data in kept)
            file.write_bytes(b"start")
            for path in (root / STAGING).iterdir():
                path.unlink()
        person.stdin.close()
    return saves, lost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "vault"),
    [
        *((style, True) for style in ("in place", "rename", "handle")),
        *((style, False) for style in ("in place", "handle")),
    ],
    indirect=["vault"],
)
def test_no_save_is_lost_in_a_storm(root: Path, vault: VaultFs, style: str) -> None:
    ops = map("op{}".format, count())
    changed = 0

    def write() -> Iterable[bytes]:
        nonlocal changed
        op = next(ops)
        vault.stage(op, b"ours " + op.encode())
        try:
            note = vault.read(NOTE)
            vault.exchange(op, NOTE, note.sha)
        except errors.NoteChangedError as error:
            changed += 1
            return error.displaced
        return [note.data]

    vault.stage("op", b"")
    saves, lost = storm(root, style, write)

    assert saves
    assert changed
    assert lost == 0


@pytest.mark.slow
def test_the_storm_shows_what_check_and_replace_loses(root: Path, vault: VaultFs) -> None:
    vault.stage("op", b"")

    def write() -> Iterable[bytes]:
        note = vault.read(NOTE)
        temp = save(root, "public/.temp", b"ours")
        if vault.read(NOTE).sha == note.sha:
            temp.replace(root / NOTE)
        return [note.data]

    saves, lost = storm(root, "in place", write)

    assert saves > lost > 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
def test_a_displaced_file_may_be_written_while_somebody_has_it_open(tmp_path: Path) -> None:
    (tmp_path / ".meta").mkdir()
    (tmp_path / NOTE).parent.mkdir()
    (tmp_path / NOTE).write_bytes(b"one")
    vault = VaultFs(tmp_path)
    with (tmp_path / NOTE).open("r+b") as editor, (tmp_path / NOTE).open("rb"):
        vault.stage("op", b"two")
        vault.exchange("op", NOTE, hashlib.sha256(b"one").hexdigest())
        assert vault.may_be_written("op")
        editor.close()
        assert not vault.may_be_written("op")  # who reads it does no harm
    assert not vault.may_be_written("none")


def test_where_the_system_cannot_tell_every_file_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".meta").mkdir()
    vault = VaultFs(tmp_path)
    vault.stage("op", b"two")
    monkeypatch.delattr(fcntl, "F_SETLEASE", raising=False)
    assert vault.may_be_written("op")
    vault.close()
