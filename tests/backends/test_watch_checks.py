from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.backends.watchers import watch_checks as watch_limits
from vaultsync.backends.watchers.watch_checks import mount_kind, mount_without_events, watch_checks

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
    assert mount_kind(tmp_path)


@pytest.mark.parametrize(("limit", "enough"), [(6, True), (5, False)])
def test_a_vault_of_more_folders_than_can_be_watched_is_told(
    tmp_path: Path, limit: int, *, enough: bool
) -> None:
    (tmp_path / "vault" / "a" / "b").mkdir(parents=True)
    (tmp_path / "max_user_watches").write_text(f"{limit}\n")
    found = {x.name: x for x in watch_checks(tmp_path / "vault", limits=tmp_path)}
    assert found["inotify"].ok is enough
    assert ("sysctl" in found["inotify"].hint) is not enough
    assert found["mount"].ok


def test_a_network_mount_is_told_and_no_limit_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_limits, "mount_without_events", lambda _: "nfs4")
    (found,) = watch_checks(tmp_path, limits=tmp_path / "none")
    assert "nfs4" in found.message
    assert "poll_seconds" in found.hint
