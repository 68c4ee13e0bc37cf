"""The demo shows what it claims."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("store", ["", "qdrant+local:../store", "qdrant+edge:../store"])
def test_the_demo_works_and_leaves_nothing_behind(tmp_path: Path, store: str) -> None:
    words = ["--store", store] if store else []
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo", *words],
        cwd=ROOT,
        env={"TMPDIR": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "It worked" in done.stdout.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
