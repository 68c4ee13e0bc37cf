"""A fit of the classifier by rules speaks for texts that it has not seen.

It takes long, and runs no code of the package that `tests/observations/test_rules.py` does not run
on more texts: `make check` runs it without coverage.
"""

from __future__ import annotations

import pytest

from tests.eval.fit_tiers import left_out


@pytest.mark.parametrize(("one_in", "least"), [(4, (0.72, 0.83)), (1, (0.80, 0.91))])
@pytest.mark.long(2)
def test_the_tiers_of_examples_that_a_fit_has_not_seen_are_as_good_as_they_were(
    one_in: int, least: tuple[float, float]
) -> None:
    macro_f1, critical_recall = left_out(one_in)

    assert macro_f1 >= least[0]
    assert critical_recall >= least[1]
