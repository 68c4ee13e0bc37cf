from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.backoff import BackOff


def test_waits_after_failures_double_up_to_the_longest() -> None:
    waits = BackOff(first=1.0, longest=10.0, jitter=lambda: 1.0)
    assert [waits.next() for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    waits.reset()
    assert waits.next() == 1.0


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 100))
def test_jitter_never_waits_longer_and_never_less_than_half(jitter: float, failures: int) -> None:
    waits = BackOff(first=1.0, longest=60.0, jitter=lambda: jitter)
    whole = 1.0
    for _ in range(failures):
        assert whole / 2 <= waits.next() <= whole
        whole = min(whole * 2, 60.0)
