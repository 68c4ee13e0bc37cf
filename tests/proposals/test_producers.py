from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.eval.observations import observations
from tests.fakes import FakeClock
from vaultsync.context_packs.near_duplicates import NearDuplicates
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.notes.proposal_note import PROPOSAL_KINDS
from vaultsync.proposals import producers
from vaultsync.proposals.near_duplicate_pairs import merged_text, near_duplicate_pairs
from vaultsync.proposals.producers import (
    JUNK_DAYS,
    MAX_SHARING,
    MIN_MENTIONS,
    PRODUCERS,
    Candidate,
    is_live,
)
from vaultsync.settings import ProposalSettings

CLOCK = FakeClock()
NOW = datetime(2026, 6, 1, tzinfo=UTC)
TIDES = "The tide table of the harbour is printed on the last Friday of each month by the office."


def fact(content: str, **values: Value) -> Fact:
    given: dict[str, Value] = {"type": "fact", "agentId": "indy", "scope": "team-core"}
    given |= {"id": CLOCK.new_id(), "createdAt": "2026-02-14T13:45:00Z", "content": content}
    return make_fact({**given, **values}).evolve(revision="1-a")


def found(kind: str, *facts: Fact) -> list[Candidate]:
    return list(PRODUCERS[kind].find(facts, NOW))


def test_each_producer_is_of_a_kind_that_undo_takes_back_and_has_a_setting() -> None:
    assert PRODUCERS.keys() < {*PROPOSAL_KINDS} - {"write"}
    assert {each.name for each in structs.fields(ProposalSettings)} == PRODUCERS.keys()


def test_retired_facts_are_not_live() -> None:
    assert is_live(fact("a"))
    assert not is_live(fact("a", status="archived"))
    assert not is_live(fact("a", supersededById=CLOCK.new_id()))


# ------------------------------------------------------------------------- duplicates

WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=0, max_size=9)
TEXTS = st.lists(WORDS.map(" ".join), max_size=8)


@given(TEXTS)
def test_the_pairs_are_those_that_comparing_all_finds(texts: list[str]) -> None:
    def repeats(one: str, other: str) -> bool:
        seen = NearDuplicates()
        seen.find(one)
        return seen.find(other) is not None

    wanted = {
        (a, b)
        for (a, one), (b, other) in combinations(enumerate(texts), 2)
        if one and repeats(one, other)
    }

    assert set(near_duplicate_pairs(texts)) == wanted


def test_scripts_without_blanks_are_compared_by_characters() -> None:
    text = "潮汐表由港务局在每月最后一个星期五印刷并分发给所有船长"

    assert list(near_duplicate_pairs(["", text, text + "。"])) == [(1, 2)]


@pytest.mark.parametrize(
    ("kept", "other", "merged"),
    [
        ("One.\nTwo.", "Two.\n\nThree.", "One.\nTwo.\nThree."),
        ("The door is open.", "the door  is OPEN", "The door is open."),
        ("The door is open.", "The door is not open.", "The door is open.\nThe door is not open."),
        ("Bo pays.\nOn Friday.", "On Friday\n\nAt night.", "Bo pays.\nOn Friday.\nAt night."),
        ("Said once.", "At night.\nAt night.", "Said once.\nAt night."),
    ],
)
def test_a_merge_loses_no_word(kept: str, other: str, merged: str) -> None:
    assert merged_text(kept, other) == merged


def test_two_facts_that_say_nearly_the_same_are_merged_into_the_one_that_is_used() -> None:
    long = f"{TIDES} {TIDES.replace('tide', 'duty')}"
    used = fact(long, tags=["port"], accessCount=3)
    other = fact(f"{long}\nBring cash.", tags=["cash"])
    (merge,) = found("duplicates", used, other)
    kept, gone = merge.changes

    assert (kept.fact_id, gone.fact_id, gone.after) == (used.id, other.id, None)
    assert kept.after is not None
    assert kept.after["content"] == f"{long}\nBring cash."
    assert kept.after["tags"] == ["port", "cash"]
    assert "entities" not in kept.after


def test_of_two_equal_facts_one_just_goes() -> None:
    (merge,) = found("duplicates", fact(TIDES), fact(TIDES))

    assert [each.after for each in merge.changes] == [{}, None]


def test_the_users_own_facts_stay() -> None:
    mine = fact(TIDES, agentId=None)
    (merge,) = found("duplicates", mine, fact(TIDES, accessCount=9))

    assert (merge.changes[0].fact_id, merge.changes[0].after) == (mine.id, {})
    assert found("duplicates", mine, fact(TIDES, agentId=None)) == []


def test_duplicates_are_named_by_their_titles() -> None:
    (merge,) = found("duplicates", fact(TIDES, title="Tides"), fact(TIDES, title="The tide table"))
    assert merge.title == "Merge “The tide table” into “Tides”"


@pytest.mark.parametrize(
    ("end", "other_end", "said"),
    [
        ("", " on call", "”: “… page the platform team on call” into “… page the platform team”"),
        (" or", " and", "”: “… page the platform team and” into “… page the platform team or”"),
        ("", "", "”"),
    ],
)
def test_duplicates_with_one_title_are_named_by_what_differs(
    end: str, other_end: str, said: str
) -> None:
    alike = "When the deployment pipeline of the billing service fails at night, restart the worker"
    alike += " pool and check the length of its queue before you page the platform team"
    (merge,) = found("duplicates", fact(alike + end), fact(alike + other_end))
    which = "copies" if end == other_end else "versions"
    assert merge.title.startswith(f"Merge two {which} of “When the deployment pipeline")
    assert merge.title.endswith(said)


def test_what_differs_in_a_name_a_number_or_a_denial_is_no_duplicate() -> None:
    for now in (
        TIDES.replace("Friday", "Sunday"),
        TIDES.replace("the office", "the Office"),
        TIDES.replace("is printed", "is not printed"),
        TIDES.replace("the last Friday", "the 3 Friday"),
    ):
        assert found("duplicates", fact(TIDES), fact(now)) == [], now


def test_scopes_types_and_records_are_kept_apart() -> None:
    one = fact(TIDES)
    assert found("duplicates", one, fact(TIDES, scope="public")) == []
    assert found("duplicates", one, fact(TIDES, type="lesson")) == []
    assert found("duplicates", fact(TIDES, sessionId="s"), fact(TIDES, sessionId="s")) == []
    assert found("duplicates", *(fact(TIDES, type="episodic") for _ in "ab")) == []


# ---------------------------------------------------------------------- contradictions

OLD = "The quay has 38 berths."
NEW = "The quay has 42 berths."


def test_a_newer_value_supersedes_an_older_one() -> None:
    old = fact(OLD, createdAt="2026-01-01T00:00:00Z")
    new = fact(NEW, createdAt="2026-02-01T00:00:00Z")
    for order in ((old, new), (new, old)):
        (one,) = found("contradiction", *order)
        first, second = one.changes
        assert (first.fact_id, first.after) == (old.id, {"supersededById": new.id})
        assert (second.fact_id, second.after) == (new.id, {"supersedesId": old.id})
        assert "42 berths” against" in one.why


def test_a_more_general_sentence_is_compared_with_the_older_and_the_newer() -> None:
    general = "The budget is 40 EUR."
    special = "The kitchen budget is 60 EUR."
    for one, other in ((general, special), (special, general)):
        assert len(found("contradiction", fact(one), fact(other))) == 1


def test_a_denial_and_other_scopes_and_replaced_facts_and_long_texts_contradict_nothing() -> None:
    old = fact(OLD)
    for now in (
        fact("The quay never has 38 berths."),
        fact("The quay has not 38 berths."),
        fact(NEW, scope="public"),
        fact(NEW, supersedesId=CLOCK.new_id()),
        fact(f"{NEW}\nIt rains.\nIt snows.\nIt pours."),
        fact(NEW, type="observation"),
        fact("The mast has 2 lamps."),
        fact(""),
    ):
        assert found("contradiction", old, now) == [], now.content


def test_a_word_of_many_facts_leads_to_none() -> None:
    many = [fact(f"The quay {n} has berths.") for n in range(MAX_SHARING + 1)]

    assert found("contradiction", *many, fact("Quay."), fact("Berths.")) == []


# ------------------------------------------------------------------ links, titles, junk


def named(*names: str, times: int = MIN_MENTIONS, **values: Value) -> list[Fact]:
    return [fact("It is so.", entities=[*names], **values) for _ in range(times)]


def titles_of(candidates: Iterable[Candidate]) -> list[str]:
    return [each.title for each in candidates]


def test_a_name_that_is_mentioned_often_gets_a_note() -> None:
    (made,) = found("link", *named("Pier Box"))
    (change,) = made.changes

    assert (change.fact_id, change.revision) == ("", "")
    assert change.after == {
        "type": "entity",
        "title": "Pier Box",
        "content": "",
        "scope": "team-core",
    }


def test_a_name_in_two_spellings_gets_one_note() -> None:
    facts = [*named("PIER BOX"), *named("Pier Box", times=MIN_MENTIONS + 1)]
    assert titles_of(found("link", *facts)) == ["Create a note for “Pier Box”"]


def test_names_with_a_note_an_alias_few_mentions_or_no_letters_get_none() -> None:
    bob = fact("", type="person", title="Bob", aliases=["Robert"])
    box = fact("", type="entity", title="Box", aliases=["Pier Box"])
    assert found("link", *[*named("Bob", "Robert", "Pier Box", "42nd", "ab"), bob, box]) == []
    assert found("link", *named("Crane", times=MIN_MENTIONS - 1)) == []
    assert found("link") == []


def test_a_title_that_is_cut_off_gets_its_first_clause() -> None:
    long = "We print the tide table, " + "because the captains like paper " * 6
    (made,) = found("retitle", fact(long), fact("Short."), fact("x", title="Mine…"))

    assert made.changes[0].after == {"title": "We print the tide table"}
    assert found("retitle", fact("Well, " + long)) == []
    assert found("retitle", fact(long.replace(",", ""))) == []


def test_background_that_nothing_used_is_junk() -> None:
    old = "2026-01-01T00:00:00Z"
    values: dict[str, Value] = {"priority": 4, "createdAt": old}
    unused = fact("Noise.", **values)
    recent = (NOW - timedelta(days=JUNK_DAYS - 1)).isoformat()
    kept = [
        fact("Noise.", **values | {"accessCount": 1}),
        fact("Noise.", **values | {"priority": 2}),
        fact("Noise.", **values | {"agentId": None}),
        fact("Noise.", **values | {"createdAt": recent}),
        fact("Noise.", **values).evolve(created_at=""),
    ]

    assert titles_of(found("junk", unused, *kept)) == ["Delete “Noise”"]


# --------------------------------------------------------------------- consolidation

FAILED = "Build {} of the Gannet branch failed: the tide gauge did not answer within {} s."


def seen(number: int, **values: Value) -> Fact:
    content = str(values.pop("content", FAILED.format(number, number * 7)))
    values = {"createdAt": f"2026-05-{number + 10}T08:00:00Z", **values}
    return fact(content, type="observation", **values)


def test_observations_that_repeat_but_for_numbers_become_one_fact() -> None:
    rows = [
        seen(1, status="archived", observationOriginalContent=FAILED.format(9, 9), content="Short"),
        seen(2, entities=["Gannet"], priority=0),
        seen(3, entities=["Tide gauge", "Gannet"]),
    ]
    (made,) = found("consolidation", *rows, fact(TIDES), seen(4, scope="project-x"))
    (change,) = made.changes
    assert (made.title, made.why) == (
        f"Keep “{rows[2].title}” as one fact",
        "Seen 3 times since 2026-05-11.",
    )
    assert change.after == {
        "type": "fact",
        "content": rows[2].content,
        "scope": "team-core",
        "priority": 1,
        "entities": ["Gannet", "Tide gauge"],
        "relatedFactIds": [each.id for each in rows],
    }
    assert made.evidence == {each.id for each in rows}


def test_observations_that_nearly_repeat_become_one_fact() -> None:
    long = f"{TIDES} {TIDES.replace('tide', 'duty')}"
    rows = [
        seen(n, content=f"{long}{x}") for n, x in enumerate(("", "\nBring cash.", "\nBring it."))
    ]
    (made,) = found("consolidation", *rows)
    assert made.evidence == {each.id for each in rows}


def test_observations_about_others_of_long_ago_or_too_few_are_not_consolidated() -> None:
    two = [seen(1), seen(2)]
    for third in (
        seen(3, createdAt="2026-01-01"),
        fact(seen(3).content.replace("Gannet", "Heron"), type="observation"),
        seen(3, scope="team-other"),
        fact("Quite another thing happened at the gate of the harbour.", type="observation"),
    ):
        assert found("consolidation", *two, third) == []


def test_a_line_of_a_log_that_repeats_thousands_of_times_is_read_in_time() -> None:
    rows = [seen(n % 15, content=f"heartbeat {n}: the tide gauge answers") for n in range(3_000)]
    blank = [seen(1, content=f"{n}") for n in range(9)]
    began = time.process_time()
    (made,) = found("consolidation", *rows, *blank)
    assert made.why.startswith("Seen 3000 times")
    assert time.process_time() - began < 5


def test_only_facts_that_a_rule_could_change_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(texts: list[str]) -> list[tuple[int, int]]:
        raise AssertionError(texts)

    monkeypatch.setattr(producers, "near_duplicate_pairs", compare)
    mine = [fact(TIDES, agentId=None), fact(TIDES, agentId=None)]

    for kind in ("duplicates", "consolidation"):
        assert found(kind, *mine, seen(1, scope="public"), seen(2, scope="public")) == []


def test_observations_that_name_others_are_not_the_same() -> None:
    texts = [f"{FAILED.format(n, n)} {TIDES}" for n in (1, 2, 3)]
    texts[2] = texts[2].replace("Gannet", "Heron")
    assert found("consolidation", *(seen(n, content=x) for n, x in enumerate(texts))) == []


def test_a_fact_that_is_seen_again_becomes_more_important() -> None:
    known = fact(FAILED.format(0, 0), type="lesson", importance=0.7)
    rows = [seen(1), seen(2), seen(3)]
    (made,) = found("consolidation", known, *rows)
    assert made.title == f"“{known.title}” was seen again"
    assert made.changes[0].after == {
        "importance": 0.8,
        "relatedFactIds": [each.id for each in rows],
    }
    linked = known.evolve(related_fact_ids=tuple(each.id for each in rows))
    assert found("consolidation", linked, *rows) == []
    (again,) = found("consolidation", linked.evolve(importance=None), *rows, *map(seen, (4, 5, 6)))
    assert again.changes[0].after is not None
    assert again.changes[0].after["importance"] == 0.6


# --------------------------------------------------------------------------- retype


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("**Decision** (board): one store.", "decision"),
        ("Wir haben beschlossen, eine Datei zu nehmen.", "decision"),
        ("Lesson learned: look at the tide first.", "lesson"),
        ("By convention names are in lower case.", "convention"),
        ("User prefers small commits.", "preference"),
    ],
)
def test_a_note_that_says_what_it_is_gets_that_type(text: str, name: str) -> None:
    (made,) = found("retype", fact(text, type="note"))
    assert made.changes[0].after == {"type": name}
    assert found("retype", fact(text, type="task")) == []
    assert found("retype", fact(text, type="note", sessionId="1")) == []


def test_a_note_that_only_mentions_a_decision_stays_a_note() -> None:
    for text in (
        "The decision is due on Friday.",
        "Did we decide to move? Nobody knows.",
        "Beschluss am Morgen: es gibt Döner",
        "A list of lessons: one, two.",
    ):
        assert found("retype", fact(text, type="note")) == []


def test_the_golden_observations_are_neither_repeated_nor_of_another_type() -> None:
    texts = [each.text for each in observations()]
    rows = [fact(each, type="observation", createdAt="2026-05-20") for each in texts]
    assert found("consolidation", *rows) == []
    titles = [each.title for each in found("retype", *(fact(x, type="note") for x in texts))]
    assert [each.rpartition(" ")[2] for each in titles] == ["preference", "decision"]
