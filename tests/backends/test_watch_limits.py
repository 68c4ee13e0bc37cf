from __future__ import annotations

from pathlib import Path

import pytest

from vaultsync.backends.watchers import watch_checks as watch_limits
from vaultsync.backends.watchers.watch_checks import watch_checks


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    (tmp_path / "limits").mkdir()
    (tmp_path / "vault" / "a" / "b").mkdir(parents=True)
    return tmp_path / "limits"


@pytest.mark.parametrize(("limit", "enough"), [(6, True), (5, False)])
def test_a_vault_of_more_folders_than_can_be_watched_is_told(
    limits: Path, limit: int, *, enough: bool
) -> None:
    (limits / "max_user_watches").write_text(f"{limit}\n")
    found = {x.name: x for x in watch_checks(limits.parent / "vault", limits=limits)}
    assert found["inotify"].ok is enough
    assert ("sysctl" in found["inotify"].hint) is not enough
    assert found["mount"].ok


def test_other_systems_have_no_such_limit(limits: Path) -> None:
    names = [x.name for x in watch_checks(limits.parent / "vault", limits=limits)]
    assert names == ["mount"]


def test_a_network_mount_is_told(limits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_limits, "mount_without_events", lambda _: "nfs4")
    (found,) = watch_checks(limits.parent / "vault", limits=limits)
    assert "nfs4" in found.message
    assert "poll_seconds" in found.hint
