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
    tmp_path: Path, path: str, kind: str, *, silent: bool
) -> None:
    info = tmp_path / "mountinfo"
    info.write_text(INFO)
    assert mount_kind(Path(path), mountinfo=info) == kind
    assert bool(mount_without_events(Path(path), mountinfo=info)) is silent


@pytest.mark.parametrize(("limit", "enough"), [(6, True), (5, False)])
def test_too_many_folders_to_watch_are_told(tmp_path: Path, limit: int, *, enough: bool) -> None:
    (tmp_path / "vault" / "a" / "b").mkdir(parents=True)
    (tmp_path / "max_user_watches").write_text(f"{limit}\n")
    found = {x.name: x for x in watch_checks(tmp_path / "vault", limits=tmp_path)}
    assert found["inotify"].ok is enough
    assert ("sysctl" in found["inotify"].hint) is not enough
    assert found["mount"].ok


def test_a_network_mount_alone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mount_without_events(tmp_path, mountinfo=tmp_path / "nothing") == ""
    assert mount_kind(tmp_path)
    monkeypatch.setattr(watch_limits, "mount_without_events", lambda _: "nfs4")
    (found,) = watch_checks(tmp_path, limits=tmp_path / "none")
    assert "nfs4" in found.message
    assert "poll_seconds" in found.hint
