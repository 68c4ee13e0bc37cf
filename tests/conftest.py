"""How hard hypothesis tries, where tests keep files, and what the collector looks at.

HYPOTHESIS_PROFILE is `dev`, `ci` or `thorough`.

No profile has a deadline: a shared machine is slow at times, and a hang is caught by
the timeout of the test. `ci` tries the same examples in every run, so that a green
build stays green; `dev` and `thorough` try new ones each time, and print how to repeat
a failure. A test that wants a number of its own multiplies `settings().max_examples`,
so that the profile still counts.

`--short` leaves out most cases of the tests that are marked `long`; `make test` does, and `make
check` tries all.

All but the thorough tests keep their files in memory where there is enough of it; those
that prove what a disk does ask for a `disk`.
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
from hypothesis import settings

from tests.proofs.turns import THOROUGH, TURN

DISK = tempfile.gettempdir()
MEMORY = Path("/dev/shm")  # noqa: S108 - each run makes a folder of its own below it
REAL = Path(__file__).parent / "real"
NEEDED = 2 << 30
"""Bytes; all tests at once keep less than half of that."""


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder that is not in memory; it is left where a test failed."""
    folder = Path(tempfile.mkdtemp(prefix="vaultsync-", dir=DISK)).resolve()
    failed = request.session.testsfailed
    yield folder
    if request.session.testsfailed == failed:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_report_header() -> str:
    return "samples: all" if THOROUGH else f"samples: TEST_TURN={TURN}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--short", action="store_true", help="leave out most cases of tests marked `long`"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What waits more than it computes begins first, in one worker; the others compute."""
    if config.getoption("--short"):
        left_out = {*_left_out(items)}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [each for each in items if each not in left_out]
    items.sort(key=lambda item: not item.path.is_relative_to(REAL))


def _left_out(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of each long test all cases but one in N, or all; each turn keeps other cases."""
    seen = Counter[str]()
    for item in items:
        if mark := item.get_closest_marker("long"):
            name = item.nodeid.partition("[")[0]
            if not mark.args or (seen[name] - TURN) % mark.args[0]:
                yield item
            seen[name] += 1


def pytest_collection_finish() -> None:
    """What was collected stays to the end: it need not be looked through ever again."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: while one test waits for a program or the disk, another one computes."""
    return (os.cpu_count() or 1) + 1


# A tenth of all time goes by with looking for garbage where ten thousand tests lie about.
gc.disable()
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= NEEDED and not THOROUGH:
    tempfile.tempdir = str(MEMORY)
settings.register_profile("dev", deadline=None, print_blob=True, max_examples=40)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True, max_examples=40)
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
# Tests, and programs that tests start, load what was compiled once, as an installation does.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Passes of tests make no vectors; those that are about vectors say which model.
os.environ.setdefault("VAULTSYNC_EMBEDDER", "none")
# No test starts a process that embeds, but those that are about it.
os.environ["VAULTSYNC_EMBED_IN_BACKGROUND"] = "off"
# What this machine does for the vaults of tests is never that of the person who runs them.
os.environ["VAULTSYNC_CONFIG_DIR"] = tempfile.mkdtemp(prefix="vaultsync-config-")
atexit.register(shutil.rmtree, os.environ["VAULTSYNC_CONFIG_DIR"], ignore_errors=True)
# A note that a test opens is opened by this.
os.environ["EDITOR"] = "true"
os.environ.pop("VISUAL", None)
