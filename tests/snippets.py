"""Run snippets of Python, each in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.forked import start_program

ROOT = Path(__file__).parents[1]


def run(code: str, *args: object) -> str:
    """Run a snippet, which must succeed, and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def killed(code: str, *args: object, after: int) -> list[str]:
    """Kill a snippet once it has printed some lines, and return these."""
    command = [sys.executable, "-c", code, *map(str, args)]
    with start_program(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(after)]
        writer.kill()
        return [*lines, *writer.stdout]


def modules_after(code: str) -> set[str]:
    """The modules that are loaded after a snippet."""
    return set(run(f"{code}\nimport sys\nprint(*sys.modules)").split())


def packages_after(code: str) -> set[str]:
    """The packages of the modules that are loaded after a snippet."""
    return {name.partition(".")[0] for name in modules_after(code)}
