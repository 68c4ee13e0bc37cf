"""Facts and filters of all kinds: every index must interpret a filter in the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection

from hypothesis import example
from hypothesis import strategies as st

from tests.vector_rows import IDS
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.permissions import AgentPermissions, Permissions

SCOPES = ("public", "private-indy", "team-tea")
TYPES = ("note", "task", "decision", "entity")
STATUSES = ("active", "it's", "dormant")
TAGS = ((), ("hot",), ("Hot/Tea", "a"), ("hotter",), ("#a/B/c", 'o"x_%'), ("ß", "ä\\"))
TIMES = (
    *(None, "0001-01-01", "1969-12-31T23:59:59.999999Z", "2026-02-14", "2026-02-14T13:45:00Z"),
    *("2026-02-14T13:45:00.000001Z", "2026-02-14T13:45:00+02:00"),
)
USERS = (None, "ada")
AGENTS = ("Indy", "ada", None)
_TABLE = Permissions({"ada": AgentPermissions(read=("team-*",))}, teams={"team-core": ("indy",)})
READERS = [table.reader(agent) for agent in AGENTS for table in (Permissions(), _TABLE)]
EXPIRIES = (None, "2026-02-14T13:45:00Z", "2999-01-01")


def _fact(number: int) -> Fact:
    # Steps without a common divisor, so that all combinations occur.
    values = {
        "id": IDS[number],
        "title": "Tea",
        "content": "Green tea.",
        "scope": SCOPES[number % 3],
        "type": TYPES[number // 2 % 4],
        "status": STATUSES[max(0, number % 5 - 2)],
        "tags": list(TAGS[number % 7 % 6]),
        "createdAt": TIMES[number // 3 % 7],
        "priority": number % 11 % 5,
        "userId": USERS[number % 13 % 2],
        "supersededById": IDS[0] if number % 4 == 3 else None,
        "agentId": AGENTS[number % 17 % 3],
        "expiresAt": EXPIRIES[number % 19 % 3],
    }
    return make_fact(values)


FACTS = [_fact(number) for number in range(90)]

SEEDS = (
    FactFilters(),
    FactFilters(status=None, heads_only=False),
    FactFilters(scopes=frozenset(), status=None),
    FactFilters(scopes=frozenset({"public", "team-tea", "none"}), status="it's"),
    FactFilters(types=frozenset({"nothing"}), status=None),
    FactFilters(types=frozenset({"note", "hot", "a", *SCOPES, *STATUSES}), status=None),
    FactFilters(status="dormant", heads_only=False, max_priority=0),
    FactFilters(tags=frozenset({"A/B"}), status=None),
    FactFilters(tags=frozenset({"a", 'o"x_%'}), status=None),
    FactFilters(tags=frozenset({"o_x_%"}), status=None),
    FactFilters(since="2026-02-14T13:45:00.000001Z", status=None, heads_only=False),
    FactFilters(since="2026-02-14", until="2026-02-14T13:45:00.000001Z", status=None),
)
"""Filters that indexes once interpreted differently, in addition to random ones."""
_tags = st.sampled_from(["hot", "#HOT", "Hot/tea", "a", "A/b", "#a/b/C", "SS", "ä\\", "x"])
_times = st.none() | st.sampled_from(
    [*TIMES[1:], "2026-02-14T11:45:00Z", "2026-02-14T13:45:00-02:00", "9999-12-30"]
)
filters = st.builds(
    FactFilters,
    scopes=st.none() | st.frozensets(st.sampled_from([*SCOPES, "team-none"])),
    types=st.frozensets(st.sampled_from([*TYPES, "lesson"])),
    tags=st.frozensets(_tags, max_size=2),
    status=st.none() | st.sampled_from([*STATUSES, "none"]),
    max_priority=st.integers(-2, 5),
    since=_times,
    until=_times,
    heads_only=st.booleans(),
    user=st.none() | st.sampled_from(["ada", "bob"]),
    tiers=st.frozensets(st.sampled_from(["critical", "notable", "background"])),
    superseded_only=st.booleans(),
    hidden_statuses=st.frozensets(st.sampled_from(["dormant", "it's", "none"])),
    hide_background=st.booleans(),
    alive_at=st.none() | st.sampled_from(["2026-02-14T13:44:59Z", "2026-02-14T13:45:00Z"]),
    reader=st.none() | st.sampled_from(READERS),
    themes=st.just(frozenset()),  # no index knows themes
    among=st.none(),  # nor which facts a caller wants
)


def check_found(found: Collection[str], asked: FactFilters) -> None:
    """Check that an index finds all matches, and only extra facts that callers filter out."""
    loose = asked.unhidden._replace(
        user=None,
        tiers=frozenset(),
        heads_only=asked.heads_only,
        superseded_only=False,
        reader=None,
    )
    assert len(set(found)) == len(found)
    assert {each.id for each in FACTS if asked.admits(each)} <= set(found)
    assert set(found) <= {each.id for each in FACTS if loose.admits(each)}


def with_seeds(test: Callable[..., None]) -> Callable[..., None]:
    """A test with random `asked` filters, which also runs with the seeds."""
    for each in SEEDS:
        test = example(asked=each)(test)
    return test
