"""What an agent may not write it does not change, whatever it calls."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.world import World
from vaultsync import errors
from vaultsync.facts import service as work
from vaultsync.model.fact import Fact
from vaultsync.model.permissions import AgentPermissions, Permissions
from vaultsync.model.schema import Value
from vaultsync.operations.export_import import export_facts, import_facts
from vaultsync.operations.undo import undo_run
from vaultsync.sync.context import SyncContext

READ_ONLY = Permissions(
    {"moss": AgentPermissions(read=("team-*",), write=())}, {"team-closed": ("ada",)}
)
CLOSED = "team-closed"


def limited(world: World) -> SyncContext:
    """The world as it is for agents with the permissions of this test."""
    return replace(world.ctx, policy=world.ctx.policy._replace(permissions=READ_ONLY))


CHANGES: dict[str, Callable[[SyncContext, Fact, str], object]] = {
    "remember": lambda ctx, fact, agent: work.remember(
        ctx, {"content": "-", "scope": fact.scope}, agent=agent
    ),
    "update": lambda ctx, fact, agent: work.update(ctx, fact.id, {"priority": 0}, agent=agent),
    "supersede": lambda ctx, fact, agent: work.supersede(ctx, fact.id, "-", agent=agent),
    "forget": lambda ctx, fact, agent: work.forget(ctx, fact.id, agent=agent),
    "check": lambda ctx, fact, agent: work.check_writable(ctx, [fact.id], agent=agent),
}


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_agent_changes_nothing_that_it_may_only_read(
    world: World, change: Callable[[SyncContext, Fact, str], object], *, away: bool
) -> None:
    fact = world.mirrored()
    before = world.facts()
    ctx = limited(world)
    world.store.away = away
    for agent in ("indy", "moss"):
        with pytest.raises(errors.ScopeDeniedError, match="team-core") as refused:
            change(ctx, fact, agent)
        assert refused.value.proposes
        assert f"private-{agent}" in refused.value.hint
    assert not world.archive.outbox()
    world.store.away = False
    assert world.facts() == before
    for allowed in (None, "indy"):
        work.check_writable(world.ctx, [fact.id], agent=allowed)


def test_an_agent_does_not_bring_back_what_it_may_only_read(world: World) -> None:
    fact = world.mirrored()
    world.agent_forgets(fact.id)
    with pytest.raises(errors.ScopeDeniedError):
        work.restore(limited(world), fact.id, agent="indy")
    assert not world.is_alive(fact.id)
    assert work.restore(limited(world), fact.id, agent=None).status == "active"


def test_an_agent_forgets_no_version_whose_older_one_it_may_not_restore(world: World) -> None:
    old = world.mirrored()
    new = world.agent_remembers("Own.", agent="moss", scope="private-moss", supersedesId=old.id)
    world.agent_updates(old.id, supersededById=new.id)
    with pytest.raises(errors.ScopeDeniedError, match="team-core"):
        work.forget(limited(world), new.id, agent="moss", restore_previous=True)
    assert world.is_alive(new.id)


@pytest.mark.parametrize("away", [False, True])
def test_an_agent_moves_no_fact_out_of_its_reach(world: World, *, away: bool) -> None:
    own = work.remember(world.ctx, {"content": "Own."}, agent="indy")
    world.quiesce()
    world.store.away = away
    for scope in ("team-core", "private-ada"):
        with pytest.raises(errors.ScopeDeniedError):
            work.update(limited(world), own.id, {"scope": scope}, agent="indy")
    assert not world.archive.outbox()


def test_a_team_that_is_closed_is_as_if_it_were_not_there(world: World) -> None:
    hidden = world.mirrored(scope=CLOSED, agent="ada")
    ctx = limited(world)
    absent = world.clock.new_id()
    for each in (hidden.id, absent):
        for act in (work.get, work.forget, work.history):
            with pytest.raises(errors.FactNotFoundError) as error:
                act(ctx, each, agent="indy")
            assert str(error.value) == str(errors.FactNotFoundError(each))
        with pytest.raises(errors.FactNotFoundError):
            work.update(ctx, each, {"priority": 0}, agent="indy")
    with pytest.raises(errors.ScopeDeniedError) as refused:
        work.remember(ctx, {"content": "-", "scope": CLOSED}, agent="indy")
    assert not refused.value.proposes
    assert work.get(ctx, hidden.id, agent="Ada")


def test_entities_of_a_closed_team_are_linked_where_only_its_members_read(world: World) -> None:
    world.agent_remembers("-", agent="ada", scope=CLOSED, type="person", title="Zelda Quint")
    world.quiesce()
    table = Permissions({"ada": AgentPermissions(write=("*",))}, READ_ONLY.teams)
    ctx = replace(world.ctx, policy=world.ctx.policy._replace(permissions=table))
    for scope, agent, is_linked in (
        (CLOSED, "ada", True),
        ("private-ada", "ada", True),
        ("project-x", "ada", False),
        ("private-indy", "indy", False),
    ):
        said = {"content": "We met Zelda Quint.", "scope": scope}
        assert ("[[" in work.remember(ctx, said, agent=agent).content) == is_linked


def test_an_import_writes_nothing_that_its_agent_may_only_read(world: World) -> None:
    fact = world.mirrored()
    lines: list[str] = []
    export_facts(world.ctx, lines.append)
    with pytest.raises(errors.ImportLineError, match="may only propose"):
        import_facts(limited(world), lines, agent="indy")
    moved = json.dumps({**json.loads(lines[0]), "scope": "private-indy"})
    with pytest.raises(errors.ImportLineError, match="may only propose"):
        import_facts(limited(world), [moved], agent="indy")
    assert world.fact(fact.id).scope == "team-core"


def test_an_agent_undoes_of_a_run_only_what_it_may_write(world: World) -> None:
    team, own = world.mirrored(), world.mirrored(scope="private-indy", title="Own")
    for each in (team, own):
        world.person_edits(each, "Alpha", "Omega")
    run = world.sync().run
    report = undo_run(limited(world), run, actor="indy", agent="indy")
    assert "Omega" in world.fact(team.id).content
    assert "Omega" not in world.fact(own.id).content
    kept = [each for each in report.actions if each.fact_id == team.id]
    assert [each.action for each in kept] == ["keep"]
    assert "may not write" in kept[0].reason


@pytest.mark.parametrize("away", [False, True])
def test_agents_keep_no_observations_in_a_team(world: World, *, away: bool) -> None:
    own = world.mirrored(scope="private-indy", type="observation", title="Seen")
    note = world.mirrored()
    world.store.away = away
    said = {"content": "Seen.", "type": "observation", "scope": "team-core"}
    acts: tuple[Callable[[], Fact], ...] = (
        lambda: work.remember(world.ctx, said, agent="indy"),
        lambda: work.update(world.ctx, own.id, {"scope": "team-core"}, agent="indy"),
        lambda: work.update(world.ctx, note.id, {"type": "observation"}, agent="indy"),
    )
    for act in acts:
        with pytest.raises(errors.InvalidFieldError, match="team-core"):
            act()
    assert work.remember(world.ctx, said, agent=None).scope == "team-core"


def test_an_observation_that_a_person_put_into_a_team_is_kept_by_its_writers(world: World) -> None:
    said = {"content": "Seen.", "type": "observation", "scope": "team-core"}
    fact = work.remember(world.ctx, said, agent=None)
    assert work.update(world.ctx, fact.id, {"priority": 0}, agent="indy").priority == 0
    with pytest.raises(errors.InvalidFieldError):
        work.supersede(world.ctx, fact.id, "Seen again.", agent="indy")


def test_a_hidden_fact_is_related_to_as_one_that_never_was(world: World) -> None:
    hidden = world.mirrored(scope="private-ada", agent="ada")
    for each in (hidden.id, world.clock.new_id()):
        with pytest.raises(errors.FactNotFoundError, match=each):
            work.remember(world.ctx, {"content": "-", "relatedFactIds": [each]}, agent="indy")
        assert work.remember(world.ctx, {"content": "-", "relatedFactIds": [each]}, agent=None)


# ---------------------------------------------------------------------- limits

FEW = Permissions({"indy": AgentPermissions(write=("*",), max_facts_per_hour=3, max_bytes=8)})


def _few(world: World) -> SyncContext:
    return replace(world.ctx, policy=world.ctx.policy._replace(permissions=FEW))


def test_an_agent_writes_no_more_facts_in_an_hour_than_it_may(world: World) -> None:
    ctx = _few(world)
    first = work.remember(ctx, {"content": "One."}, agent="indy")
    work.update(ctx, first.id, {"content": "Two."}, agent="Indy")
    work.update(ctx, first.id, {"content": "Two."}, agent="indy")  # nothing is written
    with pytest.raises(errors.WriteLimitError, match="3 facts in an hour"):
        import_facts(ctx, ['{"content": "a", "scope": "project-x"}'] * 2, agent="indy")
    work.supersede(ctx, first.id, "Three.", agent="indy")
    with pytest.raises(errors.WriteLimitError):
        work.remember(ctx, {"content": "Four."}, agent="indy")
    with pytest.raises(errors.WriteLimitError):
        work.update(ctx, first.id, {"content": "Four."}, agent="indy")
    work.remember(ctx, {"content": "Others write."}, agent="ada")
    work.remember(ctx, {"content": "The user writes."}, agent=None)
    world.clock.advance(3600)
    assert work.remember(ctx, {"content": "Four."}, agent="indy").content == "Four."


def test_an_agent_writes_no_longer_texts_than_it_may(world: World) -> None:
    ctx = _few(world)
    with pytest.raises(errors.WriteLimitError, match="at most 8 bytes, not 10"):
        work.remember(ctx, {"content": "äöüäö"}, agent="indy")
    values: dict[str, Value] = {"p": ["Tea", "time"], "q": {"Tea": "time"}}
    values |= dict.fromkeys(("title", "context", "r", "decisionRationale"), "Tea time.")
    for key, value in values.items():
        with pytest.raises(errors.WriteLimitError, match="at most 8 bytes"):
            work.remember(ctx, {"content": "One.", key: value}, agent="indy")
    first = work.remember(ctx, {"content": "One."}, agent="indy")
    world.quiesce()
    with world.outage(), pytest.raises(errors.WriteLimitError):
        work.update(ctx, first.id, {"content": "One and two."}, agent="indy")
    assert not world.archive.outbox()
    assert import_facts(ctx, [], agent="indy") == 0
