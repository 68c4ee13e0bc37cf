from __future__ import annotations

import errno
from itertools import product

import pytest

from tests.sim import SimVault
from vaultsync.errors import NoteExistsError, UnreadableNoteError
from vaultsync.model.paths import VaultPath

NOTE = VaultPath("public/note.md")


def data(vault: SimVault, path: str) -> bytes | None:
    return vault.names[path].data if path in vault.names else None


def written(vault: SimVault) -> str:
    """Replace the note; the sha that it had."""
    vault.save_in_place(NOTE, b"old")
    sha = vault.read(NOTE).sha
    vault.stage("op", b"new")
    vault.exchange("op", NOTE, sha)
    return sha


def test_a_program_that_dies_and_what_was_synced_lose_nothing() -> None:
    vault = SimVault()
    written(vault)
    vault.crash()
    assert (data(vault, NOTE), vault.ops()) == (b"new", ["op"])

    vault.sync()
    vault.crash(lambda _: False)
    assert (data(vault, NOTE), data(vault, ".meta/staging/op")) == (b"new", b"old")


@pytest.mark.parametrize("torn", [b"", b"ne"])
def test_of_what_was_not_synced_any_part_survives_and_new_bytes_are_torn(torn: bytes) -> None:
    left = set()
    for keep in product([False, True], repeat=4):
        vault = SimVault()
        written(vault)
        vault.crash(keep.__getitem__, torn=lambda new: new[: len(torn)])
        left.add((data(vault, NOTE), data(vault, ".meta/staging/op")))

    assert left == {(b"old", None), (b"old", torn), (torn, b"old")}


def test_what_a_person_did_survives_and_so_does_what_led_to_it() -> None:
    vault = SimVault()
    written(vault)
    vault.save_in_place(NOTE, b"hers")
    vault.rename(NOTE, "moved.md")
    vault.save_by_rename("other.md", b"hers too")

    vault.crash(lambda _: False)

    assert {path: inode.data for path, inode in vault.files.items()} == {
        "moved.md": b"hers",
        "other.md": b"hers too",
    }
    assert data(vault, ".meta/staging/op") == b"old"


def test_names_that_differ_in_case_may_be_one_file() -> None:
    vault = SimVault(case_insensitive=True)
    vault.save_in_place("public/Note.md", b"text")
    vault.stage("op", b"new")

    assert vault.read(NOTE).data == b"text"
    with pytest.raises(NoteExistsError):
        vault.create("op", NOTE)
    vault.move(VaultPath("public/Note.md"), NOTE)
    assert set(vault.files) == {NOTE}


def test_a_disk_may_be_full() -> None:
    vault = SimVault(quota=200)
    vault.stage("op", b"x" * 100)
    vault.stage("op", b"y" * 100)

    with pytest.raises(OSError, match="space") as caught:
        vault.stage("more", b"x" * 100)
    assert caught.value.errno == errno.ENOSPC
    assert vault.ops() == ["op"]


def test_folders_are_renamed_deleted_broken_and_mended() -> None:
    vault = SimVault()
    vault.save_in_place("a/b/x.md", b"text")
    vault.rename_folder("a", "c/d")
    assert set(vault.files) == {"c/d/b/x.md"}
    assert set(vault.scan().folders) == {"", "c", "c/d", "c/d/b"}

    vault.break_folder("c/d")
    with pytest.raises(UnreadableNoteError):
        vault.read(VaultPath("c/d/b/x.md"))
    vault.mend_folder("c/d")
    assert vault.read(VaultPath("c/d/b/x.md")).data == b"text"

    vault.copy("c/d/b/x.md", "top.md")
    vault.delete_folder("c")
    assert set(vault.files) == {"top.md"}
    assert set(vault.scan().folders) == {""}


def test_a_fault_happens_before_the_effect() -> None:
    steps: list[str] = []
    vault = SimVault(before=steps.append)
    written(vault)

    assert steps == ["read", "stage", "exchange", "exchange.swap", "exchange.examine"]
