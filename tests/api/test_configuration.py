"""A marker that cannot be used says why, and is not taken for a missing vault."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vaultsync.api.configuration import load_settings
from vaultsync.errors import ConfigError, NotAVaultError
from vaultsync.settings import MARKER


def test_a_marker_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ConfigError, match=r"config\.toml cannot be read: Permission") as caught:
        load_settings(tmp_path)
    assert "permissions" in caught.value.hint
    monkeypatch.undo()
    with pytest.raises(NotAVaultError):
        load_settings(tmp_path)


@pytest.mark.parametrize(("text", "why"), [("", "is empty"), ("# a\n", "has no vault_id")])
def test_a_marker_that_was_emptied_says_where_its_id_is_found(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / ".meta").mkdir()
    (tmp_path / MARKER).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=why) as caught:
        load_settings(tmp_path, state_dir="/here")
    assert caught.value.message.startswith(str(tmp_path))
    assert "/here" in caught.value.hint
    assert "--state-dir" in caught.value.hint
