from __future__ import annotations

import pytest

from vaultsync.indexing.session_context import day_words, hash63, own_title, speaker_names, turn_of
from vaultsync.indexing.session_neighbours import CONTEXT_SHARE, borrowed_text
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value

ID = "0193f6c2-0000-7000-8000-000000000001"


def a_fact(content: str = "Green.", **values: Value) -> Fact:
    defaults = {"id": ID, "title": "Tea", "sessionId": "s", "scope": "public"}
    return make_fact({**defaults, "content": content, **values})


def test_neighbours_lend_what_they_say_once_or_its_beginning() -> None:
    assert borrowed_text(a_fact("One.", title="First")) == "First\nOne."
    long = "A sentence that goes on and on and " + "on and " * 30
    for content in ("Green tea. It is hot.", "# Green tea\n\nHot.", long):
        fact = make_fact({"id": ID, "content": content})  # its title is made of the text
        assert borrowed_text(fact) == fact.content
    assert len(borrowed_text(a_fact("x" * 5 * CONTEXT_SHARE, title=""))) == CONTEXT_SHARE


def test_a_session_has_a_part_for_each_scope_and_no_session_none() -> None:
    assert turn_of(a_fact(sessionId=None)).session == hash63("") == 0
    public, private = a_fact(), a_fact(scope="private-indy")
    assert 0 < turn_of(public).session != turn_of(private).session
    assert 0 < hash63("x") < 2**63


def test_turns_sort_as_they_were_spoken() -> None:
    times = ["2026-02-14T13:45:00Z", "2026-02-14T13:45:00.25Z", "2026-02-14T13:45:01Z"]
    facts = [a_fact(createdAt=each) for each in times]
    assert sorted(map(turn_of, facts)) == [turn_of(each) for each in facts]


@pytest.mark.parametrize(
    "values",
    [
        *({key: "x"} for key in ("title", "context", "content", "sessionId", "decisionRationale")),
        *({key: ["x"]} for key in ("tags", "aliases", "entities")),
        *({"priority": 0}, {"status": "dormant"}, {"scope": "team-x"}, {"type": "task"}),
        *({"importance": 0.9}, {"expiresAt": "2026-03-01"}, {"userId": "u-1"}),
        *({"createdAt": "2026-02-14"}, {"supersededById": ID}, {"mood": ["x", {"y": 1}]}),
    ],
)
def test_the_fingerprint_covers_what_can_be_found_alone(values: dict[str, Value]) -> None:
    assert turn_of(a_fact().replace(values)).fingerprint != turn_of(a_fact()).fingerprint
    assert turn_of(a_fact(accessCount=3, lastAccessedAt="2026-02-14")) == turn_of(a_fact())


def test_a_title_counts_where_it_says_what_the_content_does_not() -> None:
    tea = Fact("a", title="Tea", content="Green. And more.")
    assert own_title(tea) == "Tea"
    assert own_title(tea.evolve(title="Green")) == ""
    assert own_title(tea.evolve(content="# Tea\n\nGreen.")) == ""
    long = make_fact({"id": ID, "content": f"- {'word ' * 60}"})
    assert long.title.endswith("…")
    assert own_title(long) == ""


def test_whom_a_fact_is_about_or_who_said_it_counts_once() -> None:
    fact = Fact("a", content="Caroline: I went: twice.", agent_id="indy", session_id="s")
    assert speaker_names(fact) == ("indy", "Caroline")
    assert speaker_names(fact.evolve(entities=("Caroline", "Mel"))) == ("Caroline", "Mel", "indy")
    alone = fact.evolve(session_id=None)
    assert speaker_names(alone) == ("indy",)
    assert speaker_names(alone, in_row=True) == ("indy", "Caroline")
    assert speaker_names(Fact("a", content="see https://x.org", session_id="s")) == ()
    assert speaker_names(Fact("a", content="At 10:30 we met", session_id="s")) == ()


def test_a_day_in_words() -> None:
    assert day_words("2023-05-08T13:56:00Z") == "8 May 2023 2023-05-08"
    assert day_words("") == ""
