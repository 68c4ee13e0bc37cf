"""A vault as a whole: its marker, what a scan lists, its paths, what is derived."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.worlds import VAULT_ID, World, sha
from vaultsync.errors import (
    NotRegularFileError,
    UnreadableNoteError,
    UnsafePathError,
    VaultMissingError,
)
from vaultsync.model.file_names import CONFLICT_COPIES, ConflictCopyName
from vaultsync.model.paths import VaultPath
from vaultsync.storage.vault import Vault

NOTE = VaultPath("public/decisions/note.md")
OTHER = VaultPath("public/lessons/other.md")

# --- the marker ----------------------------------------------------------------------


def test_the_id_is_read_at_each_call_and_none_is_no_vault(world: World, vault: Vault) -> None:
    first = vault.vault_id()
    world.swap_id("another")
    assert (first, vault.vault_id()) == (VAULT_ID, "another")

    world.swap_id("")
    with pytest.raises(VaultMissingError, match="vault_id"):
        vault.vault_id()
    world.delete(".meta/config.toml")
    with pytest.raises(VaultMissingError):
        vault.vault_id()


@pytest.mark.changes
@pytest.mark.parametrize(
    "look",
    [
        *(lambda vault: vault.vault_id(), lambda vault: vault.scan()),
        lambda vault: vault.folder(VaultPath("public")),
        lambda vault: vault.stamp(NOTE),
        lambda vault: vault.read(NOTE),
        lambda vault: vault.stage("op", b""),
        lambda vault: vault.move(NOTE, OTHER),
        lambda vault: vault.exchange("op", NOTE, sha(b"")),
        lambda vault: vault.stage_removal("op", NOTE, sha(b"")),
    ],
)
@pytest.mark.parametrize("used_before", [False, True])
def test_a_missing_vault_is_never_taken_for_missing_notes(
    world: World, vault: Vault, look: Callable[[Vault], object], used_before: bool
) -> None:
    if used_before:
        vault.vault_id()
    world.vanish()

    with pytest.raises(VaultMissingError):
        look(vault)
    world.return_()
    world.save_in_place(NOTE, b"text")
    assert vault.vault_id() == VAULT_ID
    assert vault.read(NOTE).data == b"text"


# --- scanning ------------------------------------------------------------------------


def test_canvases_are_listed_without_hidden_ones(world: World, vault: Vault) -> None:
    for path in ["b/Plan.CANVAS", "A.canvas", ".x/B.canvas", "b/.C.canvas", "b/canvas.md"]:
        world.save_in_place(path, b"{}")

    assert vault.canvases() == ["A.canvas", "b/Plan.CANVAS"]


def test_a_scan_lists_notes_by_folder_with_names_as_on_disk(world: World, vault: Vault) -> None:
    own = {"On conflicted copies.md", "x.sync-conflict-1.md", "a~$.md"}
    a = {"UPPER.MD", "Ä e\u0308.md", *own}
    for path in ["top.md", *(f"a/{name}" for name in a), "a/b/x.md", "a/picture.png"]:
        world.save_in_place(path, b"text")
    world.make_folder("empty")

    scan = vault.scan()

    assert {path: set(folder.files) for path, folder in scan.folders.items()} == {
        "": {"top.md"},
        "a": a,
        "a/b": {"x.md"},
        "empty": set(),
    }
    assert all(path == folder.path for path, folder in scan.folders.items())
    assert not scan.unreadable


@pytest.mark.parametrize(
    "path",
    [
        *[".obsidian/plugin.md", "a/.trash/old.md", "a/.hidden.md", "a/~$note.md"],
        *["Templates/daily.md", "Templates/deep/daily.md"],
        "a/note.sync-conflict-20260214-134500-ABCDEF.md",
        "a/note (Ann's conflicted copy 2026-02-14).md",
    ],
)
def test_a_scan_passes_over_what_is_not_ours(world: World, vault: Vault, path: str) -> None:
    world.save_in_place(path, b"text")

    folders = vault.scan().folders

    assert not any(folder.files or folder.non_regular for folder in folders.values())
    assert path.rpartition("/")[0] not in set(folders) - {"a"}


@pytest.mark.parametrize("row", CONFLICT_COPIES, ids=lambda row: row.example)
def test_a_scan_names_copies_apart(world: World, vault: Vault, row: ConflictCopyName) -> None:
    world.save_in_place("a/Plan.md", b"text")
    world.save_in_place(f"a/{row.example}", b"text")

    folder = vault.scan().folders[VaultPath("a")]

    assert ([*folder.files], folder.copies) == (["Plan.md"], (row.example,))


@pytest.mark.parametrize("kind", ["a link", "a folder", "a hard link", "a pipe"])
def test_what_looks_like_a_note_and_is_none_is_named(world: World, vault: Vault, kind: str) -> None:
    world.make_odd("a/x.md", kind)

    scan = vault.scan()

    assert dict(scan.folders[VaultPath("a")].non_regular) == {"x.md": kind}
    assert not scan.folders[VaultPath("a")].files
    assert "a/x.md" not in scan.folders


@pytest.mark.parametrize(
    "path", ["no", "public/no", "Templates", "Templates/deep", "linked", "x.md"]
)
def test_a_folder_that_no_scan_enters_is_not_listed(world: World, vault: Vault, path: str) -> None:
    world.save_in_place("Templates/deep/daily.md", b"text")
    world.save_in_place("public/note.md", b"text")
    world.make_odd("linked", "a link")
    world.make_odd("x.md", "a folder")

    assert vault.folder(VaultPath(path)) is None
    assert set(vault.scan().folders) == {"", "public"}
    vault.stage("op", b"text")
    for call in (vault.read, vault.stamp, lambda linked: vault.create("op", linked)):
        with pytest.raises(UnsafePathError):
            call(VaultPath("linked/note.md"))


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
    assert [path for path in after if after[path] != before[path]] == ["public/decisions"]


def test_a_folder_that_cannot_be_listed_does_not_stop_the_walk(world: World, vault: Vault) -> None:
    world.save_in_place(NOTE, b"text")
    world.save_in_place(OTHER, b"text")
    stamps = [(path, vault.read(path).stamp) for path in (NOTE, OTHER)]
    world.break_folder("public/decisions")

    scan = vault.scan()

    assert vault.unchanged(stamps) == {OTHER}
    assert set(scan.unreadable) == {"public/decisions"}
    assert set(scan.folders) == {"", "public", "public/lessons"}
    assert vault.folder(VaultPath("public/decisions")) is None
    for look in (vault.stamp, vault.read):
        with pytest.raises(UnreadableNoteError):
            look(NOTE)


def test_stamps_agree_and_are_later_than_an_earlier_scan(world: World, vault: Vault) -> None:
    at_ns = vault.scan().at_ns
    world.save_in_place(NOTE, b"text")

    stamp = vault.read(NOTE).stamp

    assert stamp == vault.stamp(NOTE)
    assert stamp == vault.scan().folders[VaultPath("public/decisions")].files["note.md"]
    assert min(stamp.mtime_ns, stamp.ctime_ns) >= at_ns


@pytest.mark.changes
def test_only_regular_files_with_the_same_stamp_are_unchanged(world: World, vault: Vault) -> None:
    odd, folder = VaultPath("public/decisions/odd.md"), VaultPath("public/decisions")
    for path in (NOTE, OTHER, odd):
        world.save_in_place(path, b"text")
    stamps = {path: vault.read(path).stamp for path in (NOTE, OTHER, odd)}
    assert vault.unchanged(stamps.items()) == stamps.keys()

    world.save_in_place(NOTE, b"edited")
    world.delete(odd)
    world.make_odd(odd, "a link")
    stamps |= dict.fromkeys((folder, VaultPath("no/folder.md"), VaultPath("")), stamps[OTHER])
    assert vault.unchanged(stamps.items()) == {OTHER}
    assert vault.unchanged([]) == set()


@pytest.mark.changes
def test_one_folder_is_listed_as_in_a_scan_time_after_time(world: World, vault: Vault) -> None:
    world.save_in_place("top.md", b"text")
    world.save_in_place(NOTE, b"text")
    world.make_odd("public/odd.md", "a hard link")
    world.make_odd("public/linked.md", "a link")

    folders = vault.scan().folders

    assert {path: vault.folder(path) for path in folders} == folders == vault.scan().folders


# --- paths ---------------------------------------------------------------------------


@pytest.mark.changes
@pytest.mark.parametrize(
    "path",
    [
        "",
        *["/etc/passwd", "../note.md", "a/../../note.md", "./note.md", "a//note.md", "a/note.md/"],
        *[".obsidian/plugins/x/main.md", "a/.git/note.md", "a/.note.md", ".meta/config.toml"],
        *("a\\note.md", "a\0.md", "n" * 256 + ".md", "й" * 130 + ".md", "\udcff.md"),
    ],
)
def test_no_path_leaves_the_vault_or_names_what_is_hidden(vault: Vault, path: str) -> None:
    unsafe = VaultPath(path)
    vault.stage("op", b"text")

    for call in (
        lambda: vault.folder(unsafe or VaultPath(".")),
        lambda: vault.stamp(unsafe),
        lambda: vault.read(unsafe),
        lambda: vault.create("op", unsafe),
        lambda: vault.exchange("op", unsafe, ""),
        lambda: vault.move(unsafe, NOTE),
        lambda: vault.move(NOTE, unsafe),
        lambda: vault.stage_removal("new", unsafe, ""),
    ):
        with pytest.raises(UnsafePathError):
            call()


@pytest.mark.changes
@pytest.mark.parametrize(
    "path", ["Templates/new.md", "a/~$note.md", "a/x.sync-conflict-20260214-134500-ABCDEF.md"]
)
def test_nothing_is_written_where_no_scan_looks(world: World, vault: Vault, path: str) -> None:
    world.save_in_place(NOTE, b"text")
    vault.stage("op", b"new")

    with pytest.raises(UnsafePathError):
        vault.create("op", VaultPath(path))
    with pytest.raises(UnsafePathError):
        vault.move(NOTE, VaultPath(path))


@pytest.mark.parametrize("op", ["", ".", "a/b", "../x", "a~", "a" * 81, "ä", "a\n"])
def test_an_op_never_leaves_the_staging_folder(vault: Vault, op: str) -> None:
    with pytest.raises(UnsafePathError):
        vault.stage(op, b"text")


# --- derived files -------------------------------------------------------------------


@pytest.mark.changes
def test_derived_files_are_written_whole_and_dropped(world: World, vault: Vault) -> None:
    index = VaultPath(".index/by-type.md")
    record = VaultPath(".meta/conflicts/x.json")
    assert vault.write_meta(index, b"a long text")
    assert vault.write_meta(record, b"{}")
    assert vault.write_meta(index, b"short")
    assert not vault.write_meta(index, b"short")

    assert (world.content(index), world.content(record)) == (b"short", b"{}")
    vault.drop_meta(record)
    vault.drop_meta(record)
    assert world.content(record) is None
    assert vault.ops() == []


@pytest.mark.changes
def test_a_folder_in_place_of_a_derived_file_is_left_alone(world: World, vault: Vault) -> None:
    path = VaultPath(".meta/sync-state.json")
    world.make_odd(path, "a folder")
    with pytest.raises(NotRegularFileError, match=f"{path}: is a folder, not a file"):
        vault.write_meta(path, b"{}")
    assert vault.read_meta(path) is None
    assert vault.ops() == []


@pytest.mark.changes
def test_derived_files_are_read_and_listed(world: World, vault: Vault) -> None:
    assert vault.list_meta(VaultPath(".index")) == {}
    for name in ("b.md", "a.md", "parts/c.md"):
        vault.write_meta(VaultPath(f".index/{name}"), name.encode())
    vault.write_meta(VaultPath(".meta/sync-state.json"), b"{}")
    world.make_odd(".index/odd.md", "a link")

    listed = vault.list_meta(VaultPath(".index"))
    assert [*listed] == [".index/a.md", ".index/b.md"]
    assert [*vault.list_meta(VaultPath(".index/parts"))] == [".index/parts/c.md"]
    assert [*vault.list_meta(VaultPath(".meta"))] == [".meta/sync-state.json"]
    vault.write_meta(VaultPath(".index/a.md"), b"other.md")
    now = vault.list_meta(VaultPath(".index"))
    assert [now[path] == listed[path] for path in listed] == [False, True]
    assert vault.read_meta(VaultPath(".index/parts/c.md")) == b"parts/c.md"
    assert vault.read_meta(VaultPath(".index/odd.md")) is None
    assert vault.read_meta(VaultPath(".index/none.md")) is None
    assert vault.read_meta(VaultPath(".index/none/x.md")) is None
    world.make_odd(".meta/linked", "a link")
    assert vault.list_meta(VaultPath(".meta/linked")) == {}
    assert vault.read_meta(VaultPath(".meta/linked/note.md")) is None


@pytest.mark.parametrize(
    "path",
    [
        *(NOTE, ".obsidian/x", "/.index/x"),
        *[".meta", ".meta/config.toml", ".meta/Config.toml", ".meta/staging/op", ".meta/../x"],
        *[".index", ".index/../x.md", ".index/.git/x", ".index//x"],
    ],
)
def test_nothing_else_is_a_derived_file_or_listed_with_them(vault: Vault, path: str) -> None:
    for call in (vault.drop_meta, vault.read_meta, lambda it: vault.write_meta(it, b"text")):
        with pytest.raises(UnsafePathError):
            call(VaultPath(path))
    for folder in ("", "notes", ".obsidian", ".meta/staging", ".index/..", ".index/"):
        with pytest.raises(UnsafePathError):
            vault.list_meta(VaultPath(folder))


@pytest.mark.changes
def test_everything_can_be_synced_at_any_time(world: World, vault: Vault) -> None:
    vault.sync()
    for number in range(40):
        vault.stage(f"op{number}", b"text")
        vault.create(f"op{number}", VaultPath(f"public/{number}.md"))
        if number in {1, 39}:
            vault.sync()
    world.delete("public/0.md")
    vault.sync()

    assert len(vault.scan().folders[VaultPath("public")].files) == 39
