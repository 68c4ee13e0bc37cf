"""`vaultsync model`: what is listed, and what is fetched from a hub on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.model_hub import NAME, serving_hub
from vaultsync.cli.main import cli


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VAULTSYNC_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["model", *words])


def test_the_models_of_packages_are_listed_with_their_settings() -> None:
    listed = json.loads(run("list", "--json").stdout)["models"]

    assert [(each["embedder"], each["extra"]) for each in listed] == [
        ("local", "local"),
        ("sentence", "sentence"),
    ]
    assert "all-MiniLM-L6-v2" in run("list").stdout


def test_a_fetched_model_is_told_as_a_setting_and_listed(tmp_path: Path) -> None:
    with serving_hub() as hub:
        fetched = run("fetch", NAME, "--hub", hub.url, "--sha256", hub.sha)
        again = json.loads(run("fetch", NAME, "--hub", hub.url, "--json").stdout)

    assert fetched.exit_code == 0
    folder = tmp_path / "models" / "fetched" / "tea--tea-small@main"
    assert fetched.stdout == f'embedder = "local:{folder}"\n'
    assert hub.sha in fetched.stderr
    listed = json.loads(run("list", "--json").stdout)["models"]
    assert listed[-1] == again
    assert (again["embedder"], again["sha256"]) == (f"local:{folder}", hub.sha)


def test_what_cannot_be_fetched_is_an_error_with_a_hint() -> None:
    with serving_hub() as hub:
        unknown = run("fetch", "tea/green-tea", "--hub", hub.url)
        clear = run("fetch", NAME, "--hub", "http://models.example")

    assert unknown.exit_code == clear.exit_code - 1 == 1
    assert "has no config.json of tea/green-tea" in unknown.stderr
    assert "hint: use an https:// address" in clear.stderr
