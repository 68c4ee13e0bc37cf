"""The key of a machine, and the environment."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vaultsync.api.privacy import environment_values
from vaultsync.backends.state import secret_files
from vaultsync.backends.state.secret_files import KEY_BYTES, read_or_make_key
from vaultsync.errors import ConfigError


def test_a_key_is_made_once_and_private_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    key = read_or_make_key(path)
    assert len(key) == KEY_BYTES
    assert read_or_make_key(path) == key
    assert [each.name for each in tmp_path.iterdir()] == ["a.key"]

    path.chmod(0o644)
    assert read_or_make_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_who_makes_a_key_at_once_with_others_has_theirs(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    with ThreadPoolExecutor(8) as many:
        keys = set(many.map(lambda _: read_or_make_key(path), range(32)))
    assert len(keys) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["a.key"]


def test_what_is_no_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "cut.key").write_bytes(b"short")
    (tmp_path / "other").write_bytes(b"x" * KEY_BYTES)
    (tmp_path / "link.key").symlink_to(tmp_path / "other")
    for name in ("cut", "link", "missing/a"):
        with pytest.raises(ConfigError, match="cut off" if name == "cut" else "cannot be used"):
            read_or_make_key(tmp_path / f"{name}.key")


def test_a_disk_without_links_holds_a_key_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", no_links)
    key = read_or_make_key(tmp_path / "a.key")
    assert read_or_make_key(tmp_path / "a.key") == key
    secret_files._make_key(tmp_path / "a.key")
    assert read_or_make_key(tmp_path / "a.key") == key


def test_variables_that_are_not_set_have_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", " 1 ")
    monkeypatch.setenv("EMPTY", " ")
    monkeypatch.delenv("NONE", raising=False)
    assert environment_values(["ONE", "EMPTY", "NONE"]) == {"ONE": "1"}
