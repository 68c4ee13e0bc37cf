"""A vault: its marker, its paths, and what is derived."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.worlds import VAULT_ID, World, sha
from vaultsync.core.paths import VaultPath
from vaultsync.errors import (
    UnsafePathError,
    VaultMissingError,
)
from vaultsync.ports import Vault

NOTE = VaultPath("public/decisions/note.md")
OTHER = VaultPath("public/lessons/other.md")
ROOT = VaultPath("")


# --- the marker ----------------------------------------------------------------------


def test_the_id_is_read_anew_at_each_call(world: World, vault: Vault) -> None:
    first = vault.vault_id()
    world.swap_id("another")

    assert (first, vault.vault_id()) == (VAULT_ID, "another")


def test_a_marker_without_an_id_is_no_marker(world: World, vault: Vault) -> None:
    world.swap_id("")

    with pytest.raises(VaultMissingError, match="vault_id"):
        vault.vault_id()


def test_without_a_marker_there_is_no_vault(world: World, vault: Vault) -> None:
    world.delete(".meta/config.toml")

    with pytest.raises(VaultMissingError):
        vault.vault_id()


@pytest.mark.parametrize(
    "look",
    [
        lambda vault: vault.vault_id(),
        lambda vault: vault.scan(),
        lambda vault: vault.folder(VaultPath("public")),
        lambda vault: vault.stamp(NOTE),
        lambda vault: vault.read(NOTE),
        lambda vault: vault.stage("op", b""),
        lambda vault: vault.move(NOTE, OTHER),
        lambda vault: vault.exchange("op", NOTE, sha(b"")),
        lambda vault: vault.withdraw("op", NOTE, sha(b"")),
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


def test_a_vault_that_came_back_goes_on(world: World, vault: Vault) -> None:
    world.save_in_place(NOTE, b"text")
    world.vanish()
    with pytest.raises(VaultMissingError):
        vault.vault_id()
    world.return_()

    assert vault.vault_id() == VAULT_ID
    assert vault.read(NOTE).data == b"text"


# --- paths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../note.md",
        "a/../../note.md",
        "./note.md",
        "a//note.md",
        "a/note.md/",
        ".obsidian/plugins/x/main.md",
        "a/.git/note.md",
        "a/.note.md",
        ".meta/config.toml",
        "a\\note.md",
        "a\0.md",
        "n" * 256 + ".md",
        "й" * 130 + ".md",
        "\udcff.md",
    ],
)
def test_no_path_leaves_the_vault_or_names_what_is_hidden(
    vault: Vault, path: str
) -> None:
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
        lambda: vault.withdraw("new", unsafe, ""),
    ):
        with pytest.raises(UnsafePathError):
            call()


@pytest.mark.parametrize(
    "path", ["Templates/new.md", "a/~$note.md", "a/x.sync-conflict-20260102-150405-ABCDEFG.md"]
)
def test_nothing_is_written_where_no_scan_would_find_it(
    world: World, vault: Vault, path: str
) -> None:
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


def test_derived_files_are_written_whole_and_dropped(
    world: World, vault: Vault
) -> None:
    index = VaultPath(".index/by-type.md")
    record = VaultPath(".meta/conflicts/x.json")
    vault.write_meta(index, b"a long text")
    vault.write_meta(record, b"{}")
    vault.write_meta(index, b"short")

    assert (world.content(index), world.content(record)) == (b"short", b"{}")
    vault.drop_meta(record)
    vault.drop_meta(record)
    assert world.content(record) is None
    assert vault.ops() == []


@pytest.mark.parametrize(
    "path",
    [
        NOTE,
        ".meta",
        ".index",
        ".meta/config.toml",
        ".meta/Config.toml",
        ".meta/staging/op",
        ".meta/../x",
        ".index/../x.md",
        ".index/.git/x",
        ".index//x",
        ".obsidian/x",
        "/.index/x",
    ],
)
def test_nothing_else_is_a_derived_file(vault: Vault, path: str) -> None:
    with pytest.raises(UnsafePathError):
        vault.write_meta(VaultPath(path), b"text")
    with pytest.raises(UnsafePathError):
        vault.drop_meta(VaultPath(path))


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
