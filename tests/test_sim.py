from __future__ import annotations

import errno
from itertools import product

import pytest

from tests.sim import SimVault
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


def test_a_disk_may_be_full() -> None:
    vault = SimVault(quota=200)
    vault.stage("op", b"x" * 100)
    vault.stage("op", b"y" * 100)

    with pytest.raises(OSError, match="space") as caught:
        vault.stage("more", b"x" * 100)
    assert caught.value.errno == errno.ENOSPC
    assert vault.ops() == ["op"]
