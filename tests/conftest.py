"""How hard hypothesis tries: HYPOTHESIS_PROFILE is `dev`, `ci` or `thorough`.

No profile has a deadline: a shared machine is slow at times, and a hang is caught by
the timeout of the test. `ci` tries the same examples in every run, so that a green
build stays green; `dev` and `thorough` try new ones each time, and print how to repeat
a failure. A test that wants a number of its own multiplies `settings().max_examples`,
so that the profile still counts.
"""

from __future__ import annotations

import os

from hypothesis import settings


def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: while one test waits for a program or the disk, another one computes."""
    return (os.cpu_count() or 1) + 1


settings.register_profile("dev", deadline=None, print_blob=True, max_examples=40)
settings.register_profile(
    "ci", deadline=None, print_blob=True, derandomize=True, max_examples=40
)
settings.register_profile(
    "thorough", deadline=None, print_blob=True, max_examples=2_000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
# Programs that tests start load what was compiled once, as an installation does.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Passes of tests make no vectors; those that are about vectors say which model.
os.environ.setdefault("VAULTSYNC_EMBEDDER", "none")
