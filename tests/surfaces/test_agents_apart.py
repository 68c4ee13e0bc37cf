"""An agent cannot tell from any answer what it may not read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from tests.machines import configure_machine
from tests.mcp_clients import Home, make_home
from tests.surfaces.attacks.test_private_words import MEMBERS
from vaultsync.api.embedding import EmbeddingWorker
from vaultsync.errors import ProposedError, ScopeDeniedError
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.sync.report import EmbeddingState

pytestmark = pytest.mark.long(5)

_TIDES = "tide tide harbour crane"
WORDS = ["harbour", "berth", "tide", "gate", "deposit", "booking", "crane", "buoy"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = make_home(tmp_path)
    configure_machine(made.vault, MEMBERS)
    return made


@pytest.fixture
def indy(home: Home) -> Iterator[AgentMemory]:
    with home.memory("indy") as memory:
        for number, word in enumerate(WORDS):
            scope = "public" if number % 2 else None
            memory.remember(f"The {word} of day {number}, and the tide.", scope=scope)
        memory.finish_pending()
        yield memory


@pytest.mark.parametrize(
    ("mode", "hidden"), [("index", None), ("auto", None), ("index", "team-harbour")]
)
def test_scores_ignore_what_only_others_see(tmp_path: Path, mode: str, hidden: str | None) -> None:
    at = {"createdAt": "2026-02-14T13:45:00Z"}
    ids = [f"0193f6c2-0000-7000-8000-{number:012}" for number in range(len(WORDS))]

    def answers(home: Home, secrets: int) -> list[Any]:
        found: list[Any] = []
        configure_machine(home.vault, MEMBERS)
        with home.memory("ada") as ada, home.memory("indy") as indy:
            for each, word in zip(ids, WORDS, strict=True):
                text = f"The {word} of the day, and the tide."
                indy.remember(text, id=each, scope="public", fields=at)
            for part in range(2):
                for number in range(secrets):
                    ada.remember(f"{_TIDES} {number} {part} " + "filler " * number, scope=hidden)
                if secrets:
                    ada.forget(ada.remember("harbour no more", scope=hidden).id)
                for word in WORDS:
                    answer = indy.recall(f"{word} and tide", mode=mode)
                    found += [answer.confidence, answer.hidden, to_builtins(answer.hits)]
                    found.append(to_builtins(indy.context(word)))
                indy.update(ids[0], content="The harbour, otherwise.")
            assert len(ada.recall("filler", limit=50)) == max(0, 2 * secrets - 2)
        return found

    alone = answers(make_home(tmp_path / "alone"), 0)
    beside = answers(make_home(tmp_path / "beside"), 20)
    assert len(alone) == len(beside)
    for expected, found in zip(alone, beside, strict=True):
        assert found == expected


@pytest.mark.parametrize("scope", ["private-ada", "team-harbour"])
def test_a_status_counts_and_tells_nothing_of_what_only_others_can_see(
    home: Home, indy: AgentMemory, scope: str
) -> None:
    with home.memory("ada") as ada:
        ada.remember("Hers, but open.", scope="team-core")
        ada.finish_pending()
    indy.finish_pending()
    before = indy.status()
    with home.memory("ada") as ada:
        for number in range(5):
            ada.remember(f"Hidden {number}.", scope=scope)
        fact = ada.remember("A secret plan.", title="Plan", scope=scope)
        moved = ada.remember("To be moved.", title="Moved", scope=scope)
        ada.finish_pending()
        note = home.note(ada.get(fact.id).path)
        note.write_text(note.read_text("utf-8").replace("secret", "secretive"), "utf-8")
        ada.update(fact.id, content="Another plan.")
        assert len(ada.conflicts()) == 1
        path = home.note(ada.get(moved.id).path)
    path.rename(home.vault / "public" / "moved.md")
    (home.vault / scope / "bad.md").write_text("---\nid: [\n---\n", "utf-8")
    (home.vault / scope / "new.md").write_text("Not adopted yet.\n", "utf-8")

    after = indy.status()
    assert scope not in str(to_builtins(after))
    assert (after.facts, after.notes) == (before.facts, before.notes)
    assert (after.pending, after.conflicts, after.outbox) == (0, 0, 0)
    assert len(after.attention) == len(before.attention) == 0
    assert after.last_run is None

    assert home.run("sync").exit_code == 3
    again = indy.status()
    assert not again.attention
    assert (again.facts, again.pending, again.conflicts) == (before.facts, 0, 0)
    with home.memory("ada") as ada:
        hers = ada.status()
        assert hers.conflicts == 1
        assert any("moved" in each.message for each in hers.attention)


def test_an_agent_changes_by_no_command_what_it_may_only_read(home: Home) -> None:
    text = "Alpha.\n\nSee [[Tides table]]."
    with home.memory("indy") as indy:
        indy.remember("-", title="Tide table", scope="public")
        fact = indy.remember(text, title="Linked", scope="public")
        indy.finish_pending()
        note = home.note(indy.get(fact.id).path)
        note.write_text(note.read_text("utf-8").replace("Alpha", "Omega"), "utf-8")
        indy.update(fact.id, content=text.replace("Alpha", "Gamma"))
        (conflict,) = indy.conflicts()
    configure_machine(home.vault, "")
    before = note.read_bytes()
    with home.memory("indy") as indy:
        with pytest.raises(ScopeDeniedError):
            indy.purge(fact.id)
        with pytest.raises(ScopeDeniedError):
            indy.resolve(conflict.id, take="store")
        with pytest.raises(ProposedError):
            indy.edit(fact.id, append="More.")
        assert indy.links_check(fix=True).fixed == ()
        assert len(indy.conflicts()) == 1
    assert note.read_bytes() == before


def test_an_agent_has_weights_and_a_limit_of_its_own(home: Home) -> None:
    configure_machine(
        home.vault,
        "[permissions.agents.indy]\nmax_hits = 2\n[permissions.agents.indy.weights]\n"
        "similarity = 0\nrecency = 0\nutility = 1\nleast = 0.1\n",
    )
    with home.memory("ada") as ada, home.memory("indy") as indy:
        for number, word in enumerate(WORDS):
            fields = {"importance": number / 10}
            ada.remember(f"The {word} and the tide.", scope="project-x", fields=fields)
        hers, its = (each.recall("tide", mode="index", limit=5).hits for each in (ada, indy))
        assert (len(hers), len(its)) == (5, 2)
        assert [each.score for each in its] == [each.utility for each in its]
        assert [each.score for each in hers] != [each.utility for each in hers]


def test_agents_without_private_facts_share_an_index(home: Home) -> None:
    with home.memory("ada") as ada:
        ada.remember("The tide of Ada.", scope="private-ada")
        ada.remember("The tide of all.", scope="public")

    def asks(agent: str) -> list[str]:
        with home.memory(agent) as memory:
            return sorted(hit.title for hit in memory.recall("tide"))

    def indexes() -> int:
        return len(list(home.state.glob("*/index/words-*/")))

    for number in range(4):
        assert asks(f"agent-{number}") == ["The tide of all"]
    assert indexes() == 1
    with home.memory("agent-1") as first:
        first.remember("The tide of one.", scope="private-agent-1")
    assert asks("agent-1") == ["The tide of all", "The tide of one"]
    assert asks("agent-2") == ["The tide of all"]
    assert indexes() == 2

    for folder in home.state.glob("*/index/words-*/"):
        os.utime(folder, (0, 0))
    with home.memory("agent-1") as one:
        one.recall("tide")
    with home.memory(None) as memory:
        memory.maintain()
    assert indexes() == 1


def test_the_progress_of_embedding_counts_only_what_the_agent_sees(
    home: Home, indy: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with home.memory("ada") as ada:
        for number in range(10):
            ada.remember(f"{_TIDES} {number}")
    monkeypatch.setattr("vaultsync.api.wiring.Services.can_embed", True)
    for share, facts in ((1.0, len(WORDS)), (0.5, len(WORDS) // 2)):
        state = EmbeddingState(facts=18, share=share, texts_left=7, seconds_left=70.0)
        monkeypatch.setattr(EmbeddingWorker, "state", lambda *_, state=state, **__: state)
        seen = indy.status().embedding
        assert seen is not None
        assert (seen.facts, seen.texts_left) == (facts, len(WORDS) - facts)
        assert indy.index(wait=False).embedding == seen
        assert seen.seconds_left is None
