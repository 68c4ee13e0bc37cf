"""A marker that cannot be used says why, and is not taken for a missing vault."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vaultsync.api.configuration import config_folder, find_repository, find_root, load_settings
from vaultsync.errors import ConfigError, NotAVaultError
from vaultsync.settings import MARKER

ID = "0193f6c2-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("number", "why", "hint"),
    [
        (errno.EACCES, "Permission denied", "so that you can read it"),
        (errno.EMFILE, "Too many open files", "ulimit -n"),
    ],
)
def test_a_marker_that_cannot_be_read_is_named_with_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: str, hint: str
) -> None:
    (tmp_path / ".meta").mkdir()
    with pytest.raises(NotAVaultError):
        load_settings(tmp_path)
    (tmp_path / MARKER).touch()

    def refuse(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ConfigError, match=rf"config\.toml cannot be read: {why}") as caught:
        load_settings(tmp_path)
    assert hint in caught.value.hint


@pytest.mark.parametrize(("text", "why"), [("", "is empty"), ("ignore = []\n", "has no vault_id")])
def test_an_emptied_marker_says_where_its_id_is(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / ".meta").mkdir()
    (tmp_path / MARKER).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=why) as caught:
        load_settings(tmp_path, state_dir="/here")
    assert "/here" in caught.value.hint
    assert "--state-dir" in caught.value.hint


def test_a_relative_base_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VAULTSYNC_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder, home in (("mine", ".config"), (str(tmp_path / "mine"), "mine")):
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
        assert config_folder() == tmp_path / home / "vaultsync"


@pytest.mark.parametrize("variable", ["HOME", "VAULTSYNC_CONFIG_DIR", "VAULTSYNC_STATE_DIR"])
def test_a_relative_folder_in_the_environment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """In another working directory, the vault would have no facts, and no settings."""
    (tmp_path / MARKER).parent.mkdir()
    (tmp_path / MARKER).write_text(f'vault_id = "{ID}"\n', encoding="utf-8")
    for name in ("VAULTSYNC_CONFIG_DIR", "VAULTSYNC_STATE_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "mine")
    given = ("mine", None) if variable == "VAULTSYNC_STATE_DIR" else (None,)
    for state_dir in given:  # the command line passes on what the variable says
        with pytest.raises(ConfigError, match=f"{variable} is 'mine'") as caught:
            load_settings(tmp_path, state_dir=state_dir)
        assert str(tmp_path / "mine") in caught.value.hint


def test_a_folder_for_the_state_may_be_given_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / MARKER).parent.mkdir()
    (tmp_path / MARKER).write_text(f'vault_id = "{ID}"\n', encoding="utf-8")
    monkeypatch.delenv("VAULTSYNC_STATE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert load_settings(tmp_path, state_dir="mine").state_dir == tmp_path / "mine" / ID


def test_a_deleted_current_folder_has_neither_vault_nor_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VAULTSYNC_VAULT", raising=False)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for path in (None, "."):
        with pytest.raises(NotAVaultError, match="was deleted"):
            find_root(path)
    assert find_repository() is None
