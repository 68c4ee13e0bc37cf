from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.backoff import BackOff


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 100))
def test_waits_double_up_to_the_longest_and_half_of_each_is_random(jitter: float, n: int) -> None:
    waits = BackOff(first=1.0, longest=60.0, jitter=lambda: jitter)
    shares = [min(2.0**failure, 60.0) * (0.5 + 0.5 * jitter) for failure in range(n)]
    assert [waits.next() for _ in shares] == shares
    waits.reset()
    assert waits.next() == shares[0]
