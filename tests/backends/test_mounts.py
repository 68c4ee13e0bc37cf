from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.backends.watchers.watch_checks import mount_kind, mount_without_events

INFO = r"""21 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:21 / /mnt/share rw - cifs //host/share rw
23 21 0:22 / /mnt/share/deep rw - ext4 /dev/sdb1 rw
24 21 0:23 / /mnt/with\040blank rw - nfs4 host:/x rw
25 21 0:24 / /mnt/c rw - 9p drvfs rw
26 21 0:25 / /mnt/fuse rw - fuse.sshfs host: rw
27 21 0:26 / /mnt/crypt rw - fuse.gocryptfs gocryptfs rw
a line that is none
"""


@pytest.fixture
def info(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(INFO)
    return path


@pytest.mark.parametrize(
    ("path", "kind", "silent"),
    [
        ("/home/me/vault", "ext4", False),
        ("/mnt/share/vault", "cifs", True),
        ("/mnt/share", "cifs", True),
        ("/mnt/shared", "ext4", False),
        ("/mnt/share/deep/vault", "ext4", False),
        ("/mnt/with blank/vault", "nfs4", True),
        ("/mnt/c/Users/me", "9p", True),
        ("/mnt/fuse/vault", "fuse.sshfs", True),
        ("/mnt/crypt/vault", "fuse.gocryptfs", False),
    ],
)
def test_a_folder_is_on_the_deepest_mount_above_it(
    info: Path, path: str, kind: str, *, silent: bool
) -> None:
    assert mount_kind(Path(path), mountinfo=info) == kind
    assert bool(mount_without_events(Path(path), mountinfo=info)) is silent


def test_where_nothing_can_be_told_changes_are_expected_to_be(tmp_path: Path) -> None:
    assert mount_without_events(tmp_path, mountinfo=tmp_path / "nothing") == ""


def test_this_machine_can_be_asked(tmp_path: Path) -> None:
    assert mount_kind(tmp_path)
