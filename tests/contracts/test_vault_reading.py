"""A vault: what a scan and a look at one note say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.worlds import MAX_BYTES, World, sha
from vaultsync.core.paths import VaultPath
from vaultsync.errors import (
    NoteExistsError,
    NoteMissingError,
    NotRegularFileError,
    UnreadableNoteError,
    UnsafePathError,
)
from vaultsync.ports import Vault

NOTE = VaultPath("public/decisions/note.md")
OTHER = VaultPath("public/lessons/other.md")
ROOT = VaultPath("")


# --- scanning ------------------------------------------------------------------------


def test_a_scan_lists_notes_by_folder_with_names_as_on_disk(
    world: World, vault: Vault
) -> None:
    for path in ["top.md", "a/UPPER.MD", "a/Ä e\u0308.md", "a/b/x.md", "a/picture.png"]:
        world.save_in_place(path, b"text")
    world.make_folder("empty")

    scan = vault.scan()

    assert {path: set(folder.files) for path, folder in scan.folders.items()} == {
        "": {"top.md"},
        "a": {"UPPER.MD", "Ä e\u0308.md"},
        "a/b": {"x.md"},
        "empty": set(),
    }
    assert all(path == folder.path for path, folder in scan.folders.items())
    assert not scan.unreadable


@pytest.mark.parametrize(
    "path",
    [
        ".obsidian/plugin.md",
        "a/.trash/old.md",
        "a/.hidden.md",
        "Templates/daily.md",
        "Templates/deep/daily.md",
        "a/note.sync-conflict-20260214-134500-ABCDEF.md",
        "a/note (Conflicted copy by Ann).md",
        "a/~$note.md",
    ],
)
def test_a_scan_passes_over_what_is_not_ours(
    world: World, vault: Vault, path: str
) -> None:
    world.save_in_place(path, b"text")

    folders = vault.scan().folders

    assert not any(folder.files or folder.odd for folder in folders.values())
    assert path.rpartition("/")[0] not in set(folders) - {"a"}


@pytest.mark.parametrize("kind", ["a link", "a folder", "a hard link", "a pipe"])
def test_what_looks_like_a_note_and_is_none_is_named(
    world: World, vault: Vault, kind: str
) -> None:
    world.make_odd("a/x.md", kind)

    scan = vault.scan()

    assert dict(scan.folders[VaultPath("a")].odd) == {"x.md": kind}
    assert not scan.folders[VaultPath("a")].files
    assert "a/x.md" not in scan.folders


def test_a_linked_folder_is_not_entered(world: World, vault: Vault) -> None:
    world.make_odd("linked", "a link")

    assert set(vault.scan().folders) == {""}
    for look in (vault.read, vault.stamp):
        with pytest.raises(UnsafePathError):
            look(VaultPath("linked/note.md"))
    vault.stage("op", b"text")
    with pytest.raises(UnsafePathError):
        vault.create("op", VaultPath("linked/new.md"))


def test_stamps_agree(world: World, vault: Vault) -> None:
    world.save_in_place(NOTE, b"text")

    stamp = vault.stamp(NOTE)

    assert stamp == vault.read(NOTE).stamp
    assert stamp == vault.scan().folders[VaultPath("public/decisions")].files["note.md"]


def test_fingerprints_are_equal_while_nothing_changes(
    world: World, vault: Vault
) -> None:
    world.save_in_place(NOTE, b"text")
    world.make_odd("public/decisions/odd.md", "a link")

    assert vault.scan().folders == vault.scan().folders


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.save_in_place(NOTE, b"TEXT"),
        lambda world: world.save_by_rename(NOTE, b"text"),
        lambda world: world.delete(NOTE),
        lambda world: world.rename(NOTE, NOTE + ".md"),
        lambda world: world.save_in_place("public/decisions/new.md", b""),
        lambda world: world.make_odd("public/decisions/odd.md", "a link"),
    ],
)
def test_a_change_changes_the_fingerprint_of_its_folder_only(
    world: World, vault: Vault, change: Callable[[World], None]
) -> None:
    world.save_in_place(NOTE, b"text")
    world.save_in_place(OTHER, b"text")
    before = vault.scan().folders

    change(world)

    after = vault.scan().folders
    assert [path for path in after if after[path] != before[path]] == [
        "public/decisions"
    ]


def test_a_folder_that_cannot_be_listed_is_named_and_the_walk_goes_on(
    world: World, vault: Vault
) -> None:
    world.save_in_place(NOTE, b"text")
    world.save_in_place(OTHER, b"text")
    world.break_folder("public/decisions")

    scan = vault.scan()

    assert set(scan.unreadable) == {"public/decisions"}
    assert set(scan.folders) == {"", "public", "public/lessons"}


def test_of_a_note_in_such_a_folder_nothing_is_known(
    world: World, vault: Vault
) -> None:
    world.save_in_place(NOTE, b"text")
    world.break_folder("public/decisions")

    for look in (vault.stamp, vault.read):
        with pytest.raises(UnreadableNoteError):
            look(NOTE)


def test_what_is_saved_after_a_scan_began_is_stamped_later(
    world: World, vault: Vault
) -> None:
    at_ns = vault.scan().at_ns
    world.save_in_place(NOTE, b"text")

    stamp = vault.stamp(NOTE)

    assert stamp
    assert min(stamp.mtime_ns, stamp.ctime_ns) >= at_ns


def test_one_folder_is_listed_as_in_a_scan(world: World, vault: Vault) -> None:
    world.save_in_place("top.md", b"text")
    world.save_in_place(NOTE, b"text")
    world.make_odd("public/odd.md", "a hard link")

    folders = vault.scan().folders

    assert {path: vault.folder(path) for path in folders} == folders


@pytest.mark.parametrize(
    "path", ["no", "public/no", "Templates", "Templates/deep", "linked", "x.md"]
)
def test_a_folder_that_no_scan_enters_is_not_listed(
    world: World, vault: Vault, path: str
) -> None:
    world.save_in_place("Templates/deep/daily.md", b"text")
    world.save_in_place("public/note.md", b"text")
    world.make_odd("linked", "a link")
    world.make_odd("x.md", "a folder")

    assert vault.folder(VaultPath(path)) is None


def test_a_folder_that_the_system_refuses_is_not_listed(
    world: World, vault: Vault
) -> None:
    world.save_in_place(NOTE, b"text")
    world.break_folder("public")

    assert vault.folder(VaultPath("public")) is None
    assert vault.folder(VaultPath("public/decisions")) is None


# --- reading -------------------------------------------------------------------------


def test_a_note_is_read_whole(world: World, vault: Vault) -> None:
    data = b"\xef\xbb\xbfline\r\n\x00\xff" * 100
    world.save_in_place(NOTE, data)

    note = vault.read(NOTE)

    assert (note.data, note.sha, note.stamp.size) == (data, sha(data), len(data))


def test_an_empty_note_is_a_note(world: World, vault: Vault) -> None:
    world.save_in_place(NOTE, b"")

    assert vault.read(NOTE).data == b""


@pytest.mark.parametrize("path", [NOTE, "no/folder/note.md", "top.md", "top.md/x.md"])
def test_where_nothing_is_there_is_no_note(
    world: World, vault: Vault, path: str
) -> None:
    world.save_in_place("public/decisions/else.md", b"text")
    if path == "top.md/x.md":
        world.save_in_place("top.md", b"text")

    assert vault.stamp(VaultPath(path)) is None
    with pytest.raises(NoteMissingError):
        vault.read(VaultPath(path))


@pytest.mark.parametrize("kind", ["a link", "a folder", "a hard link", "a pipe"])
def test_what_is_no_regular_file_is_neither_read_nor_replaced(
    world: World, vault: Vault, kind: str
) -> None:
    world.make_odd(NOTE, kind)
    vault.stage("op", b"new")

    for call in (
        lambda: vault.stamp(NOTE),
        lambda: vault.read(NOTE),
        lambda: vault.exchange("op", NOTE, sha(b"secret")),
        lambda: vault.withdraw("new", NOTE, sha(b"secret")),
        lambda: vault.move(NOTE, OTHER),
    ):
        with pytest.raises(NotRegularFileError, match=kind):
            call()
    with pytest.raises(NoteExistsError):
        vault.create("op", NOTE)
    assert vault.ops() == ["op"]


def test_a_note_beyond_the_limit_is_not_read(world: World, vault: Vault) -> None:
    world.save_in_place(NOTE, b"x" * MAX_BYTES)
    vault.read(NOTE)
    world.save_in_place(NOTE, b"x" * (MAX_BYTES + 1))

    with pytest.raises(UnreadableNoteError, match="larger"):
        vault.read(NOTE)
