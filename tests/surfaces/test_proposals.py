"""Proposals through the engine: a run does what was ticked, and a daemon what it is asked."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

import vaultsync
from tests.daemons import watched
from tests.mcp_clients import Home
from vaultsync.api.memory import Memory
from vaultsync.errors import ProposalNotFoundError
from vaultsync.mcp_server.server import TOOLS_BY_NAME
from vaultsync.model.fact import Fact
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.proposals.answer_counts import MIN_ANSWERS, count_answers
from vaultsync.proposals.service import ProposalDraft, propose


def proposed(memory: Memory, fact: Fact, title: str = "Crane 2") -> str:
    """The id of a proposal to change the title of a fact."""
    fact = memory._ctx.store.get(fact.id) or fact
    values = {"title": fact.title}
    change = ProposedChange(
        fact.id, fact.revision or "", values, {"title": title}, memory.get(fact.id).path, fact.title
    )
    draft = ProposalDraft("retitle", "Rename it", "So it is.", "indy", fact.scope, (change,))
    return propose(memory._ctx, draft).id


def notes(home: Home) -> list[Path]:
    return sorted(home.vault.rglob("*.proposal.md"))


def tick(note: Path, box: str = "Accept") -> None:
    note.write_text(note.read_text("utf-8").replace(f"- [ ] {box}", f"- [x] {box}"), "utf-8")


def test_a_sync_does_what_was_ticked_and_undo_takes_it_back(home: Home) -> None:
    with home.memory() as memory:
        fact = memory.remember("It is red.", title="Crane", scope="public")
        proposed(memory, fact)
        memory.sync()
        (note,) = notes(home)
        assert memory.status().proposals == 1
        tick(note)
        foreseen = memory.sync(dry_run=True)
        assert [each.action for each in foreseen.actions] == ["accept_proposal"]
        report = memory.sync()
        assert memory.get(fact.id).title == "Crane 2"
        assert notes(home) == []
        assert memory.status().proposals == 0
        memory.undo(report.run)
        assert memory.get(fact.id).title == "Crane"
        assert memory.verify().equal


@pytest.mark.parametrize(
    ("box", "outcome", "title"),
    [("Accept", "accepted", "Crane 2"), ("Reject", "rejected", "Crane")],
)
def test_a_users_tick_precedes_an_agent(home: Home, box: str, outcome: str, title: str) -> None:
    with home.memory() as memory:
        fact = memory.remember("It is red.", title="Crane", scope="public")
        made = proposed(memory, fact)
        memory.sync()
        (note,) = notes(home)
        tick(note, box)
        answers = memory.accept_proposals, memory.reject_proposals
        for answer in answers if box == "Reject" else reversed(answers):
            (shown,) = answer([made], agent="indy").proposals
            assert shown.outcome == outcome
            assert memory.get(fact.id).title == title
        assert notes(home) == []


def test_two_ticked_boxes_are_in_the_status_until_one_is_unticked(home: Home) -> None:
    with home.memory() as memory:
        fact = memory.remember("It is red.", title="Crane", scope="public")
        proposed(memory, fact)
        memory.sync()
        (note,) = notes(home)
        text = note.read_text("utf-8")
        note.write_text(text.replace("- [ ]", "- [x]"), "utf-8")
        assert [each.kind for each in memory.sync().attention] == ["unclear_answer"]
        assert [each.kind for each in memory.status().attention] == ["unclear_answer"]
        note.write_text(text.replace("- [ ] Reject", "- [x] Reject"), "utf-8")
        report = memory.sync()
        assert ([each.action for each in report.actions], report.attention) == (
            ["reject_proposal"],
            [],
        )
        assert report.counts["unchanged"] == 1
        assert memory.status().attention == ()


@pytest.mark.parametrize("named", ["id", "beginning", "capitals", "title", "path"])
def test_the_user_is_asked_by_whichever_name_an_agent_accepts(home: Home, named: str) -> None:
    with home.memory() as memory:
        made = proposed(memory, memory.remember("It is red.", title="Crane", scope="public"))
        memory.sync()
        (shown,) = memory.proposals()
        names = {"id": made, "beginning": made[:8], "capitals": made.upper(), "title": "rename it"}
        name = names.get(named, shown.path)
        tool = TOOLS_BY_NAME["memory_resolve_proposal"]

        asked = [
            tool.question_for(memory, {"proposal": name, "accept": accept})
            for accept in (True, False)
        ]

        assert asked == ["Accept the proposal “Rename it”?", ""]
        assert tool.question_for(memory, {"proposal": "none", "accept": True}) == ""


def test_an_update_of_a_fact_shows_and_settles_proposals_too(home: Home) -> None:
    with home.memory() as memory:
        fact = memory.remember("It is red.", title="Crane", scope="public")
        proposed(memory, fact)
        memory.update(fact.id, add_tags=["port"])
        (note,) = notes(home)
        tick(note)
        memory.update(fact.id, add_tags=["sea"])
        assert memory.get(fact.id).title == "Crane 2"


def test_a_daemon_is_asked_to_answer_and_does_all_in_one_run(home: Home) -> None:
    with home.memory() as memory:
        facts = [memory.remember(f"It is {x}.", title=x, scope="public") for x in ("A", "B", "C")]
        memory.sync()
    with watched(env=home.environment), home.memory() as memory:
        made = [proposed(memory, fact, f"{fact.title} 2") for fact in facts]
        done = memory.accept_proposals(made[:2])
        assert [each.outcome for each in done.proposals] == ["accepted", "accepted"]
        assert {each.run for each in done.proposals} == {done.run}
        (no,) = memory.reject_proposals(made[2:]).proposals
        assert no.outcome == "rejected"
        assert [memory.get(x.id).title for x in facts] == ["A 2", "B 2", "C"]
        assert memory.accept_proposals([]).proposals == ()


@pytest.mark.parametrize("is_watched", [True, False])
def test_of_several_proposals_all_unknown_ones_are_named(home: Home, *, is_watched: bool) -> None:
    with home.memory() as memory:
        made = proposed(memory, memory.remember("It is A.", title="A", scope="public"))
        memory.sync()
    with ExitStack() as running:
        if is_watched:
            running.enter_context(watched(env=home.environment))
        memory = running.enter_context(home.memory())
        with pytest.raises(ProposalNotFoundError) as unknown:
            memory.accept_proposals([made, "none", made[:8], "0123456789abcdef"])
        assert unknown.value.message == (
            "no proposal none, 0123456789abcdef; none of the others was answered"
        )
        assert memory.proposal(made).outcome == ""


def test_commands_answer_all_proposals_of_a_kind(home: Home) -> None:
    with home.memory() as memory:
        for name in ("A", "B"):
            proposed(memory, memory.remember(f"It is {name}.", title=name, scope="public"), "Z")
    done = home.run("proposals", "accept", "--kind", "retitle", "--json")
    answer = json.loads(done.stdout)

    assert [each["outcome"] for each in answer["proposals"]] == ["accepted", "accepted"]
    assert json.loads(home.run("proposals", "list", "--json").stdout) == {"proposals": []}


def test_maintenance_proposes_and_status_says_what_fell_silent(home: Home) -> None:
    text = "The crane at the second gate lifts ten tonnes, and no more."
    with home.memory() as memory:
        for _ in "ab":
            memory.remember(text, scope="public")
        memory.sync()
        assert memory.maintain().proposed == {}  # the counts are of all facts
        assert memory.status().proposals == 1
    assert "propose" not in home.run("maintain", "--dry-run").stdout
    with vaultsync.open(str(home.vault), state_dir=str(home.state)) as user:
        (open_,) = user.proposals()
        for _ in "ab":
            user.remember("The tram stops at the old harbour.", scope="public", agent="indy")
        assert user.maintain().proposed == {"duplicates": 1}
        by_agent = [each.id for each in user.proposals() if each.id != open_.id]
        assert user.accept_proposals(by_agent, agent="indy").proposals[0].outcome == "accepted"
    settings = home.vault / ".meta" / "config.toml"
    settings.write_text(settings.read_text("utf-8") + '\n[proposals]\nduplicates = "auto"\n')
    with vaultsync.open(str(home.vault), state_dir=str(home.state)) as user:
        assert len(user.reject_proposals([user.proposals()[0].id]).proposals) == 1
        for _ in "ab":
            user.remember("The ferry leaves at nine on Sundays.", scope="public", agent="indy")
        made = user.maintain()
        assert (made.proposed, made.accepted) == ({"duplicates": 1}, {"duplicates": 1})
        count_answers(user._ctx, ["duplicates"] * MIN_ANSWERS, accepted=False)
        assert user.status().silent_proposals == ["duplicates: 11 of 11 were rejected"]
        assert user.maintain().silent == ["duplicates: 11 of 11 were rejected"]
    assert "11 of 11" in home.run("status").stdout
