"""Do the tests bite? `python -m tests.mutants` seeds bugs, one at a time, in a copy.

Each bug must apply to the source as it is and be caught by the test that is named for
it, which passes without the bug. Prints a table; the exit code is 1 if a bug survives,
does not apply, or its test fails anyway. Words as arguments choose bugs by their names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.mutants.bugs import BUGS, Bug

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2
PASSED, FAILED, TIMED_OUT = 0, 1, -1
"""What pytest returns; everything else but a timeout is a mistake of the table."""
SECONDS = 1200
"""Per test: a machine under load is no bug."""


class Caught(NamedTuple):
    """What came of a bug."""

    bug: Bug
    verdict: str
    seconds: float


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of all that the tests need, which goes afterwards."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder)
        leave = shutil.ignore_patterns("__pycache__", ".[!m]*")  # a vault needs its `.meta`
        for name in ("vaultsync", "tests", "golden", "sample-vault"):
            if (ROOT / name).exists():
                shutil.copytree(ROOT / name, copy / name, ignore=leave)
        shutil.copy(ROOT / "pyproject.toml", copy)
        yield copy


def run(copy: Path, tests: Sequence[str]) -> int:
    """Run tests in a copy; the exit code of pytest."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    settings = {
        **os.environ,
        "HYPOTHESIS_PROFILE": "ci",
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        return subprocess.run(
            [*command, *(f"tests/{each}" for each in tests)],
            cwd=copy,
            env=settings,
            capture_output=True,
            check=False,
            timeout=SECONDS * len(tests),
        ).returncode
    except subprocess.TimeoutExpired:
        return TIMED_OUT


def seeded(text: str, bug: Bug) -> str | None:
    """The source with the bug; None when it does not apply exactly once."""
    for old, new in bug.edits:
        if text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text


def hunt(bug: Bug) -> Caught:
    """Seed one bug and see whether its test finds it."""
    began = time.perf_counter()
    with copied() as copy:
        file = copy / "vaultsync" / bug.file
        text = seeded(file.read_text(), bug)
        if text is None:
            return Caught(bug, "does not apply", 0.0)
        file.write_text(text)
        code = run(copy, [bug.test])
    verdicts = {FAILED: "caught", PASSED: "SURVIVED", TIMED_OUT: "TIMED OUT"}
    verdict = verdicts.get(code, f"no test ran ({code})")
    return Caught(bug, verdict, time.perf_counter() - began)


def main(words: Sequence[str]) -> int:
    bugs = [bug for bug in BUGS if all(word in bug.name for word in words)]
    with copied() as copy, ThreadPoolExecutor(WORKERS) as pool:
        tests = list(dict.fromkeys(bug.test for bug in bugs))
        control = pool.submit(run, copy, tests)
        found = []
        for caught in pool.map(hunt, bugs):
            found.append(caught)
            bug = caught.bug
            print(f"{bug.name:48} {caught.verdict:16} {caught.seconds:5.1f} s")
            print(f"    vaultsync/{bug.file}  by  tests/{bug.test}", flush=True)
        sound = control.result() == PASSED
    escaped = [caught for caught in found if caught.verdict != "caught"]
    print(f"\n{len(found) - len(escaped)} of {len(found)} bugs caught")
    if not sound:
        print("and the tests do not all pass without a bug")
    return 1 if escaped or not sound else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
