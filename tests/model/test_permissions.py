"""Which agent reads, writes and proposes in which scopes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.model.permissions import (
    EVERY_AGENT,
    AgentPermissions,
    Permissions,
    Reader,
    normal_permissions,
)

AGENTS = ("indy", "ada", "moss")
SCOPES = (
    *("public", "team-core", "team-tide", "project-x", "project-y"),
    *(f"private-{agent}" for agent in AGENTS),
)
_PATTERNS = st.lists(st.sampled_from([*SCOPES, "*", "team-*", "project-x*"]), max_size=3).map(tuple)
_MEMBERS = st.lists(st.sampled_from(AGENTS), max_size=2).map(tuple)
TABLES = st.builds(
    Permissions,
    st.dictionaries(
        st.sampled_from([*AGENTS, EVERY_AGENT]),
        st.builds(AgentPermissions, _PATTERNS, _PATTERNS, _PATTERNS),
    ),
    st.dictionaries(st.just("team-core"), _MEMBERS),
    st.dictionaries(st.just("project-x"), _MEMBERS),
)


def read(table: Permissions, agent: str | None) -> set[str]:
    return {each for each in SCOPES if table.may_read(agent, each)}


def written(table: Permissions, agent: str | None) -> set[str]:
    return {each for each in SCOPES if table.may_write(agent, each)}


def proposed(table: Permissions, agent: str | None) -> set[str]:
    return {each for each in SCOPES if table.may_propose(agent, each)}


def test_without_a_table_an_agent_writes_its_own_and_proposes_to_teams() -> None:
    shared = {"public", "team-core", "team-tide", "project-x", "project-y"}
    for agent in ("indy", "INDY"):
        assert read(Permissions(), agent) == shared | {"private-indy"}
        assert written(Permissions(), agent) == {"private-indy", "project-x", "project-y"}
        proposes = {"private-indy", "public", "team-core", "team-tide"}
        assert proposed(Permissions(), agent) == proposes


@given(TABLES)
def test_the_user_may_all(table: Permissions) -> None:
    for may in (read, written, proposed):
        assert may(table, None) == set(SCOPES)


@given(TABLES, st.sampled_from(AGENTS))
def test_an_agent_has_a_scope_and_writes_where_it_reads(table: Permissions, agent: str) -> None:
    assert f"private-{agent}" in written(table, agent)
    assert written(table, agent) | proposed(table, agent) <= read(table, agent)


@given(TABLES, st.sampled_from(AGENTS))
def test_a_pattern_opens_no_private_scope(table: Permissions, agent: str) -> None:
    row = table.agents.get(agent) or table.agents.get(EVERY_AGENT) or AgentPermissions()
    for other in set(AGENTS) - {agent}:
        named = f"private-{other}" in row.read
        assert table.may_read(agent, f"private-{other}") == named


@given(TABLES, st.sampled_from(AGENTS))
def test_a_list_of_members_closes_a_scope_to_all_others(table: Permissions, agent: str) -> None:
    for scope, members in [*table.teams.items(), *table.projects.items()]:
        if agent not in members:
            assert scope not in read(table, agent)


@given(TABLES)
def test_all_readers_of_a_scope_are_asked_whether_they_read_another(table: Permissions) -> None:
    known = {*AGENTS, *table.agents, "stranger"} - {EVERY_AGENT}
    for scope in SCOPES:
        readers = [each for each in known if table.may_read(each, scope)]
        for other in SCOPES:
            if table.readers_also_read(scope, other):
                assert all(table.may_read(each, other) for each in readers)
        assert table.readers_also_read(scope, scope)


@given(TABLES, TABLES, st.sampled_from(AGENTS))
def test_readers_of_a_key_read_the_same(table: Permissions, other: Permissions, agent: str) -> None:
    one, two = table.reader(agent), other.reader(agent)
    assert one is not None
    assert two is not None
    if one.key == two.key:
        assert [*map(one.reads, SCOPES)] == [*map(two.reads, SCOPES)]
    assert table.reader(None) is None


def test_names_of_agents_are_compared_in_any_case() -> None:
    table = normal_permissions(
        Permissions({"Indy": AgentPermissions(write=("team-*",))}, {"team-core": ("Indy",)})
    )
    assert table.may_write("INDY", "team-core")
    assert not table.may_read("ada", "team-core")


@pytest.mark.parametrize(
    "table",
    [
        Permissions({"indy": AgentPermissions(read=("teams-*",))}),
        Permissions({"indy": AgentPermissions(write=("private-*",))}),
        Permissions({"indy": AgentPermissions(propose=("",))}),
        Permissions(teams={"project-x": ()}),
        Permissions(teams={"team-*": ()}),
        Permissions(projects={"public": ()}),
    ],
)
def test_what_is_no_scope_is_refused(table: Permissions) -> None:
    with pytest.raises(ValueError, match=r"[a-z*-]*"):
        normal_permissions(table)


def test_a_reader_is_the_key_of_what_is_kept_for_it() -> None:
    table = Permissions({"indy": AgentPermissions(read=("team-*",))})
    kept = {table.reader("indy"): 1, Permissions().reader("indy"): 2}
    assert (kept[table.reader("INDY")], len(kept)) == (1, 2)


def test_with_proposals_an_agent_writes_where_it_may_propose() -> None:
    table = Permissions({"indy": AgentPermissions(write=(), propose=("team-core",))})
    lifted = table.with_proposals()
    assert [x for x in SCOPES if lifted.may_write("indy", x)] == ["team-core", "private-indy"]
    assert lifted.may_write("ada", "public")
    assert not lifted.may_write("ada", "private-indy")


@given(TABLES, st.sampled_from(AGENTS), st.sampled_from(AGENTS))
def test_agents_share_a_reader_only_if_they_read_the_same_beside_their_own_scopes(
    table: Permissions, one: str, other: str
) -> None:
    shared, others = Reader(one, table).shared(), Reader(other, table).shared()
    seen = {each for each in SCOPES if shared.reads(each)}
    assert seen - {f"private-{one}"} == read(table, one) - {f"private-{one}"}
    same = seen == {each for each in SCOPES if others.reads(each)}
    assert same or shared.key != others.key
    assert (shared == others) == (table.readable(one) == table.readable(other))
    assert shared.key != Reader(one, table).key
