"""What an agent may know of notices, plans and counts."""

from __future__ import annotations

import pytest

from tests.world import World
from vaultsync.operations.verify import verify_all
from vaultsync.sync.agent_view import AgentView
from vaultsync.sync.report import ReportedNotice
from vaultsync.sync.status import daemon_status, read_status


def a_notice(path: str = "", message: str = "Something.", hint: str = "") -> ReportedNotice:
    return ReportedNotice("odd", path, None, message, hint)


NOTICES = [
    (a_notice(), True),
    (a_notice("public/notes/a.md"), True),
    (a_notice("Journal/a.md"), True),
    (a_notice("private-indy/a.md"), True),
    (a_notice("private-ada/a.md"), False),
    (a_notice("public/a.md", "it belongs to private-ada; its scope was not changed"), False),
    (a_notice("public/a.md", "it belongs to Private-Indy"), True),
    (a_notice("public/a.md", hint="look at private-ada/b.md"), False),
    (a_notice("public/a.md", "a non-private-sector note"), True),
]


@pytest.mark.parametrize(("found", "seen"), NOTICES)
def test_an_agent_reads_no_hidden_notice(world: World, found: ReportedNotice, seen: bool) -> None:
    assert bool(AgentView(world.ctx, "indy").notices([found])) is seen
    assert AgentView(world.ctx, None).notices([found]) == [found]


def test_a_notice_about_the_note_of_an_unseen_fact_is_not_for_an_agent(world: World) -> None:
    fact = world.mirrored(agent="ada", scope="private-ada")
    world.person_renames(fact, "Journal/moved.md")
    world.quiesce()
    names = ("moved.md", "moved.conflict.md", "moved.0badcafe.conflict.md", "moved.proposal.md")
    found = [a_notice(f"Journal/{name}") for name in names]
    assert AgentView(world.ctx, "indy").notices(found) == []
    assert AgentView(world.ctx, "ada").notices(found) == found


def test_a_fact_without_a_base_is_hidden_by_the_store_and_while_that_is_away(world: World) -> None:
    view = AgentView(world.ctx, "indy")
    hers = world.agent_remembers("Of Ada.", agent="ada", scope="private-ada")
    gone = world.agent_remembers("Gone.", agent="ada", scope="private-ada")
    public = world.agent_remembers("Of all.", agent="ada", scope="public")
    world.agent_forgets(gone.id, agent="ada")
    ids = {hers.id, gone.id, public.id}
    assert view.hidden_facts(ids) == {hers.id, gone.id}
    with world.outage():
        assert view.hidden_facts(ids) == ids


def test_a_verification_names_only_facts_and_notes_that_the_agent_sees(world: World) -> None:
    hers = world.agent_remembers("Of Ada.", agent="ada", scope="private-ada")
    public = world.agent_remembers("Of all.", agent="ada", scope="public")
    whole = verify_all(world.ctx)
    assert {each.fact_id for each in whole.differences} == {hers.id, public.id}
    seen = AgentView(world.ctx, "indy").verification(whole, facts=1)
    assert [each.fact_id for each in seen.differences] == [public.id]
    assert AgentView(world.ctx, "ada").verification(whole, facts=2) == whole


def test_counts_are_of_what_the_agent_sees(world: World) -> None:
    world.mirrored(scope="public")
    fact = world.mirrored("Of Ada.", agent="ada", scope="private-ada")
    gone = world.mirrored("Of Ada, too.", agent="ada", scope="private-ada")
    world.person_edits(fact, "Of Ada.", "Of Ada, by a person.")
    world.person_writes("private-ada/new.md", "Not adopted.\n")
    world.person_deletes(gone)
    world.clock.advance(60)
    for agent, notes, pending in ((None, 2, 2), ("ada", 2, 2), ("indy", 1, 0)):
        status = read_status(world.ctx, agent=agent)
        assert (status.notes, status.pending > 0) == (notes, pending > 0)
    world.sync()
    assert daemon_status(world.ctx, daemon=None).pending == 1
    assert daemon_status(world.ctx, daemon=None).last_run is not None
    of_indy = daemon_status(world.ctx, daemon=None, agent="indy")
    assert (of_indy.notes, of_indy.pending, of_indy.last_run) == (1, 0, None)
    assert daemon_status(world.ctx, daemon=None, agent="ada").pending == 1
