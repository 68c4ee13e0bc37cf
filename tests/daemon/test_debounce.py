from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultsync.daemon.schedule import Debouncer
from vaultsync.model.paths import VaultPath

A, B = VaultPath("a.md"), VaultPath("b.md")
QUIET, LONGEST = 0.3, 2.0

gaps = st.floats(0.001, 1.0, allow_nan=False)
histories = st.lists(st.tuples(gaps, st.sampled_from([A, B])), min_size=1, max_size=40)


def table() -> Debouncer:
    return Debouncer(quiet=QUIET, longest=LONGEST)


def test_a_path_settles_when_nothing_was_heard_of_it_for_a_while() -> None:
    settling = table()
    settling.add([A], 0.0)
    settling.add([A], 0.2)
    assert settling.pop_due(0.4) == frozenset()
    assert settling.pending() == {A}
    assert settling.pop_due(0.5) == {A}
    assert settling.pop_due(9.0) == frozenset()


def test_a_path_that_is_saved_without_end_settles_all_the_same() -> None:
    settling = table()
    taken = None
    for number in range(30):
        settling.add([A], number / 10)
        if settling.pop_due(number / 10):
            taken = number / 10
            break
    assert taken == LONGEST


def test_paths_settle_apart() -> None:
    settling = table()
    settling.add([A], 0.0)
    settling.add([B], 0.25)
    assert settling.pop_due(0.3) == {A}
    assert settling.oldest() == 0.25
    assert settling.pop_due(0.6) == {B}
    assert settling.oldest() is None


@given(histories)
def test_every_path_is_taken_once_after_its_last_mark_and_never_too_early(
    history: list[tuple[float, VaultPath]],
) -> None:
    settling = table()
    now = 0.0
    first: dict[VaultPath, float] = {}
    last: dict[VaultPath, float] = {}
    for gap, path in history:
        now += gap
        for done in settling.pop_due(now):
            due = min(last[done] + QUIET, first[done] + LONGEST)
            assert due <= now
            del first[done], last[done]
        settling.add([path], now)
        first.setdefault(path, now)
        last[path] = now
        assert settling.pending() == first.keys()
        assert settling.oldest() == min(first.values())
    soonest = settling.next_due()
    assert soonest == min(min(last[x] + QUIET, first[x] + LONGEST) for x in first)
    assert settling.pop_due(now + LONGEST) == first.keys()
    assert settling.next_due() is None
