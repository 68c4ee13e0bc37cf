"""`vaultsync plugin install`: the built files go into the vault, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner
from msgspec.json import encode

from vaultsync.api import opening as app
from vaultsync.api.opening import install_plugin
from vaultsync.backends.obsidian import settings_folder as obsidian_plugin
from vaultsync.cli.main import cli
from vaultsync.errors import ConfigError, PluginNotBuiltError

FILES = {
    "main.js": b"module.exports = {};\n",
    "manifest.json": b'{"id": "vaultsync", "version": "0.1.0"}\n',
    "styles.css": b"/* none */\n",
}
FOLDER = ".obsidian/plugins/vaultsync"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "built"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    app.init(str(root), state_dir=str(tmp_path / "state"))
    (root / ".obsidian").mkdir()
    return root


def test_the_plugin_is_installed_and_keeps_its_settings(vault: Path, built: Path) -> None:
    (vault / FOLDER).mkdir(parents=True)
    (vault / FOLDER / "data.json").write_text('{"address": "mine"}')
    done = install_plugin(str(vault), built=built)
    assert json.loads(encode(done)) == {"path": FOLDER, "version": "0.1.0", "changed": list(FILES)}
    found = {path.name: path.read_bytes() for path in (vault / FOLDER).iterdir()}
    assert found == {**FILES, "data.json": b'{"address": "mine"}'}


def test_what_is_up_to_date_is_not_written_again(vault: Path, built: Path) -> None:
    install_plugin(str(vault), built=built)
    before = (vault / FOLDER / "main.js").stat().st_ino
    assert install_plugin(str(vault), built=built).changed == ()
    assert (vault / FOLDER / "main.js").stat().st_ino == before
    (built / "main.js").write_bytes(b"newer")
    assert install_plugin(str(vault), built=built).changed == ("main.js",)


def test_an_installation_without_a_built_plugin_says_so(vault: Path, built: Path) -> None:
    (built / "styles.css").unlink()
    with pytest.raises(PluginNotBuiltError, match=r"styles\.css is missing") as failed:
        install_plugin(str(vault), built=built)
    assert "make plugin" in (failed.value.hint or "")
    assert not (vault / FOLDER).exists()


def test_a_vault_that_obsidian_never_saw_stays_as_it_is(vault: Path, built: Path) -> None:
    (vault / ".obsidian").rmdir()
    with pytest.raises(ConfigError, match="never opened in Obsidian"):
        install_plugin(str(vault), built=built)
    assert not (vault / ".obsidian").exists()


@pytest.mark.parametrize("place", [".obsidian/plugins", FOLDER, f"{FOLDER}/main.js"], ids=str)
def test_a_link_is_not_followed(vault: Path, built: Path, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (vault / place).parent.mkdir(parents=True, exist_ok=True)
    (vault / place).symlink_to(outside)
    with pytest.raises(ConfigError, match="is a link") as refused:
        install_plugin(str(vault), built=built)
    assert refused.value.hint == "replace the link with a copy of what it leads to"
    assert not list(outside.iterdir())


def test_a_failed_write_leaves_no_temporary_file(vault: Path, built: Path) -> None:
    full = OSError(28, "No space left on device")
    with mock.patch("os.fsync", side_effect=full), pytest.raises(OSError, match="No space"):
        install_plugin(str(vault), built=built)
    assert not list((vault / FOLDER).iterdir())


def test_the_command_prints_the_remaining_steps(
    vault: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obsidian_plugin, "BUILT", built)
    words = ["plugin", "install", "--vault", str(vault)]
    first = CliRunner().invoke(cli, words)
    assert (first.exit_code, first.stdout) == (0, f"vaultsync 0.1.0 installed in {FOLDER}\n")
    assert "turn on Vaultsync" in first.stderr
    again = CliRunner().invoke(cli, words)
    assert again.stdout == f"vaultsync 0.1.0 was already installed in {FOLDER}\n"
    as_json = json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)
    assert as_json == {"path": FOLDER, "version": "0.1.0", "changed": []}
