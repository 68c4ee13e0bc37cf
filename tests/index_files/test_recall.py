from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.doubles.note_index import TemporaryIndex
from tests.entries import making
from tests.filtering import FACTS, filters
from tests.world import World
from vaultsync.errors import InvalidFieldError
from vaultsync.index_files import clone_recall
from vaultsync.index_files.clone_recall import (
    MAX_CONFIDENCE,
    NO_RETIRED_REASON,
    NO_TABLES_REASON,
    StorelessVault,
    recall_vault_only,
)
from vaultsync.index_files.service import write_tables
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.operations.adopt import adopt_notes
from vaultsync.recall.ranking import is_weak
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.result import RecallResult, RecallSources
from vaultsync.recall.service import RecallSearch
from vaultsync.storage.store import StoreWrite


class CloneWorld(World):
    """A world whose vault is asked without its store."""

    def keeps(self, title: str, content: str = "x", **values: Value) -> Fact:
        agent = str(values.pop("agent", "indy"))
        return self.mirrored(content, agent=agent, title=title, **values)

    def ask(
        self,
        question: str,
        *,
        agent: str | None = None,
        **more: Any,  # noqa: ANN401 - what recall_vault_only() takes
    ) -> RecallResult:
        clone = StorelessVault(self.vault, self.clock, TemporaryIndex())
        return recall_vault_only(clone, RecallRequest(question, agent=agent, **more))

    def titles(self, question: str, **more: Any) -> list[str]:  # noqa: ANN401
        return [hit.title for hit in self.ask(question, **more)]

    def where(self, title: str) -> str:
        """The path of the note of a title."""
        (fact,) = [each for each in self.facts() if each.title == title]
        return self.path(fact.id)

    def tables(self) -> None:
        write_tables(self.ctx, making())


@pytest.fixture
def world() -> CloneWorld:
    world = CloneWorld()
    world.keeps("Slack water at Skarvik", "It lasts 22 minutes.", type="fact")
    world.keeps("Hold a berth", "For twenty minutes.", type="decision", entities=["Pier Box"])
    world.keeps("The cabinet gets warm", "61 degrees.", priority=4, tags=["heat/sun"])
    world.tables()
    return world


def test_notes_are_found_by_the_words_of_their_entries(world: CloneWorld) -> None:
    found = world.ask("how long is slack water?")
    assert (found.source, found.degraded) == ("index-files", ())
    assert 0 < found.confidence <= MAX_CONFIDENCE
    hit = found[0]
    assert (hit.title, hit.stage) == ("Slack water at Skarvik", "index-files")
    assert (hit.id, hit.snippet) == (world.facts()[0].id, "It lasts 22 minutes.")
    assert hit.path == world.path(hit.id)
    assert "“Slack”" in hit.why


def test_words_that_no_entry_has_are_found_in_the_texts_of_notes(world: CloneWorld) -> None:
    text = "A trip.\n\n## To do\n\n- [ ] renew the passport"
    world.keeps("Lisbon", text, flight="K4T9")
    world.keeps("Gone", text)
    world.tables()
    world.person_deletes(world.where("Gone"))
    for question in ("passport", "lisbon flight"):
        found = world.ask(question)
        assert [hit.title for hit in found] == ["Lisbon"]
        assert found.confidence == MAX_CONFIDENCE
        assert not is_weak(found.answerable)
    assert world.titles("elephant passport") == ["Lisbon"]
    assert world.ask("elephant passport").confidence < MAX_CONFIDENCE


def test_a_set_is_listed_in_its_order(world: CloneWorld) -> None:
    world.keeps("Two boats", "In the rain.", type="decision", createdAt="2026-05-01T10:00:00Z")
    world.keeps("Boxes", "- [ ] mend the net 📅 2025-03-01\n- [x] row")
    world.keeps("Paint the hull", "- [ ] paint 📅 2025-02-01")
    world.tables()
    found = world.ask("type:decision since:2026-05-01 until:2026-05-01")
    assert [(hit.title, hit.date, hit.score) for hit in found] == [("Two boats", "2026-05-01", 1.0)]
    assert found[0].why == "Is one of the facts asked for."
    assert found.confidence == MAX_CONFIDENCE
    assert world.titles("What is our latest decision?", limit=1) == ["Two boats"]
    tasks = world.ask("overdue tasks")
    assert [hit.title for hit in tasks] == ["Paint the hull", "Boxes"]
    assert tasks[1].snippet.startswith("mend the net")
    assert world.ask("type:lesson").confidence == 0


def test_facts_are_found_by_whatever_they_call_an_entity(world: CloneWorld) -> None:
    world.keeps("Pier Box", type="entity")
    world.keeps("Net Loft", type="entity", scope="public", aliases=["Attic (upper)"])
    world.keeps("Where we meet", entities=["attic (upper)"])
    world.keeps("Where we eat", entities=["Net Loft"])
    world.tables()
    assert set(world.titles("pier box")) == {"Pier Box", "Hold a berth"}
    for name in ("attic", "net loft"):
        assert {"Where we meet", "Where we eat"} <= set(world.titles(name))


def test_what_an_adopted_note_does_not_say_is_known_from_its_entry(world: CloneWorld) -> None:
    world.person_writes("Journal/Moon.md", "# Moon\n\nIt rose over the kelp.\n")
    adopt_notes(world.ctx, [VaultPath("Journal/Moon.md")], type_name="lesson")
    world.tables()
    (hit,) = world.ask("kelp moon", types=["lesson"], since="2026-01-01")
    assert (hit.title, hit.type) == ("Moon", "lesson")
    assert hit.recency > 0.9


def test_folders_entities_and_phrases_are_known(world: CloneWorld) -> None:
    assert len(world.titles("minutes")) == 2
    assert world.titles("minutes folder:decisions") == ["Hold a berth"]
    assert world.titles("minutes in the Decisions folder") == ["Hold a berth"]
    assert world.ask("minutes folder:nowhere").degraded == ()
    assert world.titles("minutes folder:nowhere") == []
    assert world.titles("pier box") == ["Hold a berth"]  # an entity
    assert world.titles('minutes "slack water"') == ["Slack water at Skarvik"]
    with pytest.raises(InvalidFieldError):
        world.ask("x", limit=0)


@pytest.fixture(scope="module")
def asked_both() -> Callable[..., tuple[RecallResult, RecallResult]]:
    """Asks a vault of facts of all kinds, and its store."""
    world = CloneWorld()
    # What agents write is live; what was replaced or put away has no entry.
    facts = [each for each in FACTS if not each.superseded_by_id][:24]
    world.store.write([StoreWrite(each.id, each, None, "indy") for each in facts])
    world.quiesce()
    world.tables()
    sources = RecallSources(world.ctx, TemporaryIndex())

    def ask(question: str, **more: Any) -> tuple[RecallResult, RecallResult]:  # noqa: ANN401
        answer = RecallSearch(sources, RecallRequest(question, mode="index", **more)).answer()
        return world.ask(question, **more), answer

    return ask


@given(asked=filters, topic=st.sampled_from(["tea", "elephant passports and tea", "elephants"]))
def test_a_question_means_what_it_means_with_a_store(
    asked_both: Callable[..., tuple[RecallResult, RecallResult]], asked: FactFilters, topic: str
) -> None:
    assume(asked.max_priority in {None, *range(5)})  # others are refused
    vault, store = asked_both(
        " ".join([topic, *(f"tier:{each}" for each in sorted(asked.tiers))]),
        limit=len(FACTS),
        scopes=sorted(asked.scopes or ()),
        types=sorted(asked.types),
        tags=sorted(asked.tags),
        max_priority=asked.max_priority,
        since=asked.since,
        until=asked.until,
    )
    assert [(hit.id, hit.score) for hit in vault] == [(hit.id, hit.score) for hit in store]
    assert (vault.answerable, vault.hidden) == (store.answerable, store.hidden)
    assert vault.confidence == min(store.confidence, MAX_CONFIDENCE)


def test_a_deleted_or_broken_note_is_not_found(world: CloneWorld) -> None:
    world.vault.delete(world.where("Slack water at Skarvik"))
    assert world.titles("type:fact") == []
    world.vault.save_in_place(world.where("Hold a berth"), b"\xff\xfe")
    assert world.titles("minutes") == []


@pytest.mark.parametrize(
    "line",
    [
        "- [2026-01-01] **Fact** P1 [[public/x|Slack]] · 12 tokens · importance 1.2.3",
        "- [2026-01-01] **Fact** P1 [[public/x|Slack]] · 12 tokens · importance e",
        f"- [2026-01-01] **Fact** P1 [[public/x|Slack]] · {'9' * 5_000} tokens",
        "- [2026-02-30] **Fact** P1 [[public/x|Slack]] · 12 tokens",
        "- [\u0662\u0660\u0662\u0666-01-01] **Fact** P1 [[public/x|Slack]] · 12 tokens",
        "- [2026-01-01] **Whim** P1 [[public/x|Slack]] · 12 tokens",
        "- [2026-01-01] **Fact** P7 [[public/x|Slack]] · 12 tokens",
    ],
)
def test_a_damaged_line_is_passed_over(world: CloneWorld, line: str) -> None:
    world.person_writes("public/x.md", "Slack.\n")
    table = VaultPath(".index/vault-index.md")
    text = (world.vault.read_meta(table) or b"").decode()
    world.vault.write_meta(table, f"{text}\n{line}\n".encode())
    assert world.titles("slack") == ["Slack water at Skarvik"]


def test_an_agent_does_not_see_the_private_scopes_of_others(world: CloneWorld) -> None:
    for agent in ("ada", "indy"):
        world.keeps(f"Minutes of {agent}", scope=f"private-{agent}", agent=agent)
    world.tables()
    assert "Minutes of indy" in world.titles("minutes", agent="indy")
    assert "Minutes of ada" not in world.titles("minutes", agent="indy")
    assert "Minutes of ada" in world.titles("minutes", agent=None)


def test_without_an_answer_or_tables_there_is_no_hit(world: CloneWorld) -> None:
    for asked, why in ((world, ()), (CloneWorld(), (NO_TABLES_REASON,))):
        found = asked.ask("penguins")
        assert (found.hits, found.confidence, found.degraded) == ((), 0.0, why)


@pytest.mark.parametrize("asked", [{"all": True}, {"status": None}, {"status": "archived"}])
def test_who_asks_for_retired_facts_hears_that_the_files_list_none(
    world: CloneWorld, asked: dict[str, Any]
) -> None:
    assert world.ask("slack water", **asked).degraded == (NO_RETIRED_REASON,)
    assert world.ask("slack water", status="active").degraded == ()


def test_a_note_outside_all_scopes_belongs_to_the_default_scope(world: CloneWorld) -> None:
    note = b"---\nid: 0193f6c2-0000-7000-8000-000000000099\n---\nNo heading.\n"
    world.vault.save_in_place("Inbox/Ferry ideas.md", note)
    line = "- [2026-02-14] **Note** P2 [[Inbox/Ferry ideas]] · No heading. · 5 tokens\n"
    table = VaultPath(".index/by-type.md")
    text = (world.vault.read_meta(table) or b"") + line.encode()
    world.vault.write_meta(table, text)
    for scopes in ([], ["public"]):
        assert world.titles("ferry ideas", scopes=scopes) == ["Ferry ideas"]


def test_of_all_but_the_most_important_notes_only_entries_are_searched(
    world: CloneWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clone_recall, "MAX_TEXTS", 1)
    world.keeps("Fog signal", "It sounds.\n\nThe keeper has a spare horn.", priority=0)
    world.keeps("Lamp", "It turns.\n\nThe keeper has a spare wick.")
    world.tables()
    assert world.titles("keeper") == ["Fog signal"]
    assert world.titles("lamp turns") == ["Lamp"]
