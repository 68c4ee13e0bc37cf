"""All files of a vault, and Obsidian's own settings."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vaultsync.backends.filesystem.find_files import vault_files
from vaultsync.backends.filesystem.vault_fs import VaultFs
from vaultsync.backends.obsidian.settings_folder import ObsidianSettings
from vaultsync.errors import ConfigError


def _make(root: Path, *paths: str) -> None:
    for each in paths:
        path = root / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_a_name_that_is_not_nfc_is_spelled_as_on_disk(tmp_path: Path) -> None:
    names = {"Zoe\u0308/n.md", "Zoe\u0308/x.canvas"}
    _make(tmp_path, *names)
    vault = VaultFs(tmp_path, ignore=[], max_bytes=99)

    assert set(vault_files(tmp_path)) == names
    (canvas,) = vault.canvases()
    assert vault.read(canvas).data == b"x"
    assert [path for path, _ in vault.scan().notes()] == ["Zoe\u0308/n.md"]


def test_all_files_that_a_path_can_hold_are_named_among_them_all_notes(tmp_path: Path) -> None:
    shown = {"a.md", "b/p.png", "Templates/t.md", "b/c/x.canvas", "zoë.md", "b/c.MD"}
    _make(tmp_path, *shown, ".obsidian/app.json", "b/.hidden", ".meta/config.toml")
    _make(tmp_path, os.fsdecode(b"bad\xff.md"))
    (tmp_path / "b" / "link.md").symlink_to(tmp_path / "a.md")

    assert set(vault_files(tmp_path)) == {*shown, "b/link.md"}
    folders = VaultFs(tmp_path, ignore=["Templates"], max_bytes=99).scan().folders.values()
    notes = {f"{folder.path}/{name}".lstrip("/") for folder in folders for name in folder.files}
    assert notes == {"a.md", "zoë.md", "b/c.MD"}


# ------------------------------------------------------------------------ settings


@pytest.fixture
def settings(tmp_path: Path) -> ObsidianSettings:
    (tmp_path / ".obsidian").mkdir()
    return ObsidianSettings(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "folders"),
    [
        ("templates.json", '{"folder": "Templates/"}', ["Templates"]),
        (
            "plugins/templater-obsidian/data.json",
            '{"templates_folder": "Meta/Forms"}',
            ["Meta/Forms"],
        ),
        ("templates.json", '{"folder": "Gone"}', []),
        ("templates.json", '{"folder": "/"}', []),
        ("templates.json", '{"folder": "Meta/../.."}', []),
        ("templates.json", '{"folder": null}', []),
        ("templates.json", '["folder"]', []),
        ("templates.json", "{", []),
        (
            "app.json",
            '{"userIgnoreFilters": ["Templates/", "Meta/Forms", 5]}',
            ["Templates", "Meta/Forms"],
        ),
        ("app.json", '{"userIgnoreFilters": ["/Temp.*/", "Gone/"]}', []),
    ],
)
def test_ignored_folders_are_those_that_obsidian_and_plugins_name(
    settings: ObsidianSettings, tmp_path: Path, file: str, text: str, folders: list[str]
) -> None:
    for name in ("Templates", "Meta/Forms", ".obsidian/plugins/templater-obsidian"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".obsidian" / file).write_text(text)

    assert settings.ignored_folders() == folders


def test_settings_are_replaced_as_a_whole_or_stay(
    settings: ObsidianSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.read(settings.graph_path) is None

    settings.write(settings.graph_path, '{"é": 1}\r\n')
    settings.graph_path.chmod(0o640)
    settings.write(settings.graph_path, '{"é": 2}')

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        settings.write(settings.graph_path, "[]")
    assert settings.read(settings.graph_path) == '{"é": 2}'
    assert settings.graph_path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in settings.graph_path.parent.iterdir()] == ["graph.json"]


def test_what_are_no_settings_are_left_alone(settings: ObsidianSettings, tmp_path: Path) -> None:
    settings.graph_path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        settings.read(settings.graph_path)

    settings.graph_path.rename(tmp_path / "other.json")
    settings.graph_path.symlink_to(tmp_path / "other.json")
    with pytest.raises(ConfigError, match="is a link"):
        settings.read(settings.graph_path)

    root = tmp_path / "vault"
    root.mkdir()
    for never_opened in (True, False):
        if not never_opened:
            (root / ".obsidian").symlink_to(tmp_path / ".obsidian")
        with pytest.raises(ConfigError, match="not an Obsidian settings folder"):
            ObsidianSettings(root).read(root / ".obsidian/graph.json")
