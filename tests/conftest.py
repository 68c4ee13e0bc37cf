"""The profiles of hypothesis, the folder of test files, and settings of the whole run.

HYPOTHESIS_PROFILE is `dev`, `ci` or `thorough`; `--short` tries a third of the examples of `ci`.

No profile has a deadline, or minds how long it takes to make an example: a shared machine is
slow at times, and the timeout of the test catches a hang. `ci` tries the same examples in every
run, so that a green build stays green; `dev` and `thorough` try new ones each time, and print
how to repeat a failure. A test that needs another number of examples multiplies
`settings().max_examples`, so that the profile still counts.

`--short` also leaves out most cases of the tests that are marked `long`; `make test` does, and
`make check` tries all.

All but the thorough tests keep their files in memory if there is enough of it; those
that test the behaviour of a disk use the fixture `disk`.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.proofs.turns import THOROUGH, TURN, load_all_modules

DISK = tempfile.gettempdir()
MEMORY = Path("/dev/shm")  # noqa: S108 - each run makes a folder of its own below it
REAL = Path(__file__).parent / "real"
NEEDED = 2 << 30
"""Bytes; all tests together need less than half of that."""


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder that is not in memory; it is kept if the test fails."""
    folder = Path(tempfile.mkdtemp(prefix="vaultsync-", dir=DISK)).resolve()
    failed = request.session.testsfailed
    yield folder
    if request.session.testsfailed == failed:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_report_header() -> str:
    return "samples: all" if THOROUGH else f"samples: TEST_TURN={TURN}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--short", action="store_true", help="try fewer examples and cases; `make check` tries all"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the number of examples before test modules read it."""
    if config.getoption("--short"):
        settings.load_profile("short")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start the tests that mostly wait first, in one worker, while the others compute."""
    if config.getoption("--short"):
        left_out = {*_left_out(items)}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [each for each in items if each not in left_out]
    items.sort(key=lambda item: not item.path.is_relative_to(REAL))


def _left_out(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """All but one in N of the cases of the tests marked `long(N)`; each turn keeps other ones."""
    seen = Counter[int]()
    for item in items:
        if mark := item.get_closest_marker("long"):
            one_in = mark.args[0]
            if (seen[one_in] - TURN) % one_in:
                yield item
            seen[one_in] += 1


def pytest_collection_finish() -> None:
    """Exclude what was collected, which stays to the end, from garbage collection."""
    if settings().derandomize:
        load_all_modules()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Start more workers than cores: while one test waits, another one computes."""
    return (os.cpu_count() or 1) + 1


# Otherwise garbage collection among ten thousand collected tests takes a tenth of all time.
gc.disable()
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= NEEDED and not THOROUGH:
    tempfile.tempdir = str(MEMORY)
for name, examples, again in (
    ("dev", 40, False),
    ("ci", 40, True),
    ("short", 13, True),
    ("thorough", 2_000, False),
):
    settings.register_profile(
        name,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
        derandomize=again,
        max_examples=examples,
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
# Tests, and programs that they start, use compiled files, as an installation does.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The runs of tests embed nothing; tests of vectors choose a model.
os.environ.setdefault("VAULTSYNC_EMBEDDER", "none")
# Only the tests of the background process start one.
os.environ["VAULTSYNC_EMBED_IN_BACKGROUND"] = "off"
# The user's own settings must not affect the tests.
os.environ["VAULTSYNC_CONFIG_DIR"] = tempfile.mkdtemp(prefix="vaultsync-config-")
atexit.register(shutil.rmtree, os.environ["VAULTSYNC_CONFIG_DIR"], ignore_errors=True)
# The editor of tests.
os.environ["EDITOR"] = "true"
os.environ.pop("VISUAL", None)
