"""Builds the Obsidian plugin into the package, so that each wheel from a clone has it.

It needs Node.js and npm. Where they are missing, the wheel is built without the plugin, and
the build says so; `vaultsync plugin install` then does, too.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("main.js", "manifest.json", "styles.css")
MADE_OF = ("src", "esbuild.config.mjs", "manifest.json", "package-lock.json", "styles.css")
"""What the plugin is made of."""
_SECONDS = 300


class PluginBuildHook(BuildHookInterface[Any]):
    """Runs before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the plugin, unless it is up to date, or `make plugin` sees to it.

        An old Python is refused: of it, pip only says that it finds no version of a dependency.
        """
        wanted, found = self.metadata.core.python_constraint, platform.python_version()
        if not wanted.contains(found, prereleases=True):
            self.app.abort(f"vaultsync needs Python {wanted}; this is Python {found}.")
        if version == "editable":
            return
        root = Path(self.root)
        sources, built = root / "obsidian-plugin", root / "vaultsync" / "obsidian"
        if sources.is_dir() and not _is_newer(built, sources):
            why = build(sources, built)
            if why:
                self.app.display_warning(f"The plugin for Obsidian cannot be built: {why}.")
        if not all((built / name).is_file() for name in FILES):
            self.app.display_warning(
                "The package is built WITHOUT the plugin for Obsidian;"
                " with Node.js 20 and npm it is built with it."
            )


def build(sources: Path, built: Path) -> str:
    """Bundle the plugin; the answer is why that failed, or nothing."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return "Node.js with npm is not installed"
    commands = [[npm, "run", "--silent", "bundle", "--", str(built)]]
    if not (sources / "node_modules" / "esbuild").is_dir():
        quiet = ("--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        commands.insert(0, [npm, "ci", *quiet])
    for command in commands:
        try:
            done = subprocess.run(  # noqa: S603 - npm, with our own arguments
                command, cwd=sources, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as failed:
            return str(failed)
        if done.returncode:
            return (done.stderr or done.stdout).strip() or f"npm ended with {done.returncode}"
    return ""


def _is_newer(built: Path, sources: Path) -> bool:
    """Whether each built file is there, and newer than all that it is made of."""
    if not all((built / name).is_file() for name in FILES):
        return False
    made_of = [
        file
        for name in MADE_OF
        for file in ((sources / name).rglob("*") if name == "src" else [sources / name])
    ]
    newest = max(file.stat().st_mtime_ns for file in made_of)
    # Copied files have the times of their originals: the bundle alone is new.
    return (built / FILES[0]).stat().st_mtime_ns >= newest
