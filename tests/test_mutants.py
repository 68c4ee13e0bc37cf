"""The table of seeded bugs, which `make mutants` hunts, is of the code as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.__main__ import seeded
from tests.mutants.bugs import BUGS, Bug

SOURCE = Path(__file__).parent.parent / "vaultsync"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_seeded_bug_applies_to_the_code_as_it_is(bug: Bug) -> None:
    assert seeded((SOURCE / bug.file).read_text(encoding="utf-8"), bug) is not None
    file, _, test = bug.test.partition("::")
    tests = (SOURCE.parent / "tests" / file).read_text(encoding="utf-8")
    assert not test or f"def {test.partition('[')[0]}(" in tests
