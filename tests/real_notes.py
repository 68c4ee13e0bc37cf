"""The real notes, where they lie beside the project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

NOTES = Path(__file__).parents[2] / "shared" / "data" / "obsidian-help"
NEEDED = pytest.mark.skipif(
    not NOTES.is_dir(), reason="the real notes (../shared/data) are not beside the project"
)


def copied_to(root: Path) -> Path:
    """A copy that may be written to."""
    shutil.copytree(NOTES, root, copy_function=shutil.copyfile)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return root
