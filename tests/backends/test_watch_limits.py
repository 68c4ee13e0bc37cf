from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.backends.watchers import watch_checks as watch_limits
from vaultsync.backends.watchers.watch_checks import watch_checks


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
