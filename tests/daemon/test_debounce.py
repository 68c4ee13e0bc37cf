from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from vaultsync.daemon.schedule import Debouncer
from vaultsync.model.paths import VaultPath

A, B = VaultPath("a.md"), VaultPath("b.md")
QUIET, LONGEST = 0.3, 2.0

gaps = st.floats(0.001, 1.0, allow_nan=False)
histories = st.lists(st.tuples(gaps, st.sampled_from([A, B])), min_size=1, max_size=40)


@given(histories)
@example([(0.2, A)] * 15)  # saved without end
@example([(0.25, A), (0.25, B), (1.0, A)])
def test_every_path_is_taken_once_when_it_is_due(history: list[tuple[float, VaultPath]]) -> None:
    settling = Debouncer(quiet=QUIET, longest=LONGEST)
    now = 0.0
    first: dict[VaultPath, float] = {}
    last: dict[VaultPath, float] = {}
    for gap, path in history:
        now += gap
        due = {x for x in first if min(last[x] + QUIET, first[x] + LONGEST) <= now}
        assert settling.pop_due(now) == due
        for done in due:
            del first[done], last[done]
        assert settling.oldest() == min(first.values(), default=None)
        settling.add([path], now)
        first.setdefault(path, now)
        last[path] = now
        assert settling.pending() == first.keys()
        assert settling.oldest() == min(first.values())
    assert settling.next_due() == min(min(last[x] + QUIET, first[x] + LONGEST) for x in first)
    assert settling.pop_due(now + LONGEST) == first.keys()
    assert settling.next_due() is None
