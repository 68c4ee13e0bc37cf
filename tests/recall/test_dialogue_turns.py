"""Turns of a dialogue rank by who speaks and by the question that they follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import pytest

from tests.fakes import FakeClock
from vaultsync.indexing.ports import NoteIndex, SessionTurn
from vaultsync.indexing.session_context import turn_of
from vaultsync.model.fact import Fact, make_fact
from vaultsync.recall.answer_kinds import KINDS, LACKING_FACTOR
from vaultsync.recall.dialogue_turns import (
    ANSWER_SHARE,
    FOLLOWS_QUESTION,
    MAX_LACKING,
    OTHER_SPEAKER_FACTOR,
    SAID_BY_OTHER,
    SHARED_SHARE,
    SHARES_WORDS,
    RankedTurns,
    rank_turns,
)


def told(*texts: str, **values: str) -> list[Fact]:
    """A conversation, a second between its turns."""
    clock = FakeClock()
    every = {"type": "episodic", "sessionId": "s", **values}
    return [
        make_fact(
            {
                **every,
                "id": clock.new_id(),
                "content": text,
                "createdAt": f"2026-05-01T10:00:{number:02}Z",
            }
        )
        for number, text in enumerate(texts)
    ]


class Turns:
    """A note index of some facts, as far as it is asked."""

    def __init__(self, facts: Sequence[Fact], rare: Mapping[str, int]) -> None:
        self._turns = [turn_of(each) for each in reversed(facts)]
        self.rare = rare

    def turns(self, sessions: Iterable[int], facts: Iterable[str]) -> list[SessionTurn]:
        assert not [*facts]
        wanted = set(sessions)
        return [each for each in self._turns if each.session in wanted]

    def tokens(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.casefold())

    def stemmer(self, _text: str) -> Callable[[str], Collection[str]]:
        return lambda word: {word}

    def facts_with(self, terms: Iterable[str]) -> Mapping[str, int]:
        return {term: self.rare.get(term, 0) for term in terms}

    def count(self) -> int:
        return 100


def ranked(
    facts: Sequence[Fact],
    similarities: Sequence[float],
    asked: str = "",
    rare: Mapping[str, int] = MappingProxyType({}),
) -> RankedTurns:
    fits = {fact.id: fit for fact, fit in zip(facts, similarities, strict=True)}
    index = cast(NoteIndex, Turns(facts, rare))
    return rank_turns(fits, {fact.id: fact for fact in facts}, asked, index)


def moved(facts: Sequence[Fact], found: RankedTurns, why: str) -> list[int]:
    """The places of the turns with a remark."""
    return [at for at, fact in enumerate(facts) if (fact.id, why) in found.moves]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("Ben: Where is the key?", "Anna: Under the mat."), [1]),
        (("Ben: Wo ist er? 😀", "Anna: Im Flur."), [1]),
        (("田中: 鍵はどこですか？", "佐藤: 机の上です。"), [1]),
        (("ben: where is it?", "anna b: no idea", "Anna: Under the mat."), []),
        (("Ben: Where is the key?", "Ben: I need it now."), []),
        (("Ben: Where is the key?", "Hm.", "Anna: Under the mat."), []),
        (("Ben: Where is it?", "Anna: What?", "Ben: The key.", "Anna: Here."), [1, 2]),
        (("Ben: I lost the key.", "Anna: It is under the mat."), []),
        (("User: Where is the key?", "Anna: Under the mat."), []),
        (("Ben: Where is the key?", "Assistant: Under the mat."), []),
        (("Ben: Where is the key?", "It is under the mat."), []),
        (("How keys are kept: who has one?", "Anna: Under the mat."), []),
    ],
)
def test_a_turn_after_a_question_of_another_person_answers_it(
    texts: Sequence[str], expected: list[int]
) -> None:
    facts = told(*texts)
    assert moved(facts, ranked(facts, [0.5] * len(facts)), FOLLOWS_QUESTION) == expected


def test_an_answer_gains_a_share_of_the_similarity_of_its_question() -> None:
    facts = told("Ben: Where is the key?", "Anna: Under the mat.", "Ben: Thanks.")
    found = ranked(facts, [1.0, 0.2, 0.1]).similarities
    assert [*found.values()] == pytest.approx([1.0, 0.2 + ANSWER_SHARE, 0.1])
    found = ranked(facts, [1.0, 0.9, 0.0]).similarities
    assert [*found.values()] == pytest.approx([1 / 1.2, 1.0, 0.0])  # ANSWER_SHARE is 0.3


def test_the_last_turn_of_a_session_is_not_answered_in_the_next_one() -> None:
    asking, greeting = told("Ben: Where is the key?", "Anna: Hello.")
    assert not ranked([asking, greeting.evolve(session_id="another")], [1.0, 0.5]).moves


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("What did Anna plant", [1, 3, 4, 6]),
        ("What did Smith plant", [1, 3, 4, 6]),
        ("What did Anna plant for Ben", [3, 4, 6]),
        ("What was planted", []),
        ("What did Will plant", [0, 1, 2, 4, 6]),
        ("What will Anna plant?", [1, 3, 4, 6]),
        ("what did anna plant?", [1, 3, 4, 6]),
        ("Wo sind Annas Bäume?", [1, 3, 4, 6]),
        ("田中さんは何を植えましたか？", [0, 1, 2, 3, 4]),
    ],
)
def test_what_another_person_says_counts_less(asked: str, expected: list[int]) -> None:
    facts = told(
        "Anna Smith: I planted a pear.",
        "Ben: Hi Anna! I planted roses.",
        "Ben: Anna planted a plum, too.",
        "Will: I like plums.",
        "Cleo: I planted nothing.",
        "Planting trees: a guide.",
        "田中: 木を植えました。",
    )
    fits = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    found = ranked(facts, fits, asked)
    assert moved(facts, found, SAID_BY_OTHER) == expected
    after = [fit * (OTHER_SPEAKER_FACTOR if at in expected else 1.0) for at, fit in enumerate(fits)]
    assert [*found.similarities.values()] == pytest.approx([each / max(after) for each in after])


@pytest.mark.parametrize(
    ("asked", "said", "fits", "expected"),
    [
        ("What did Anna plant?", ("Ben: I planted a pear.", "Anna: Nice."), (1.0, 0.6), True),
        ("What did Anna plant?", ("Ben: I planted a pear.",), (0.4,), False),  # Anna says nothing
        ("What did Anna plant?", ("Ben: I planted a pear.", "Anna: A plum."), (1.0, 0.8), False),
        ("What did Anna plant?", ("Anna: I planted a plum.", "Ben: Nice."), (1.0, 0.6), False),
        ("What did Anna plant?", ("Ben: A pear was planted.", "Anna: Nice."), (1.0, 0.6), False),
        ("What did Anna plant?", ("Ben: May I plant, too?", "Anna: Nice."), (1.0, 0.6), False),
        ("What did Anna plant?", ("Ben: I saw Anna plant.", "Anna: Nice."), (1.0, 0.6), False),
        ("What did Anna plant?", ("Ben: I planted.", "Anna: What?"), (1.0, 0.9), True),
        ("What did Anna plant?", ("Ben: I planted.", "A guide to plants."), (1.0, 0.9), False),
        ("What did I plant for Anna?", ("Ben: I planted.", "Anna: Nice."), (1.0, 0.6), False),
        ("When do we visit Anna?", ("Ben: I visit.", "Anna: Nice."), (1.0, 0.6), False),
        ("Who planted for Anna?", ("Ben: I planted.", "Anna: Nice."), (1.0, 0.6), False),
        ("Did anybody plant for Anna?", ("Ben: I planted.", "Anna: Nice."), (1.0, 0.6), False),
        ("Was pflanzte Anna?", ("Ben: Ich pflanzte Rosen.", "Anna: Schön."), (1.0, 0.6), True),
        ("Qu'a planté Anna ?", ("Ben: J'ai planté.", "Anna: Bien."), (1.0, 0.6), True),
        ("¿Qué plantó Anna?", ("Ben: Son mis rosas.", "Anna: Bien."), (1.0, 0.6), True),
    ],
)
def test_a_question_may_be_about_what_another_person_did(
    asked: str, said: Sequence[str], fits: Sequence[float], expected: bool
) -> None:
    assert ranked(told(*said), fits, asked).is_of_other is expected


def test_an_answer_shows_as_well_as_its_question_who_did_something() -> None:
    facts = told("Anna: What did you plant?", "Ben: My pear.", "Anna: A fine one.")
    assert ranked(facts, [1.0, 0.5, 0.4], "What did Anna plant?").is_of_other
    facts = told("Ben: What did you plant?", "Anna: A plum.", "Ben: I planted a pear.")
    assert not ranked(facts, [1.0, 0.5, 0.9], "What did Anna plant?").is_of_other


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("When was the pear planted?", [0]),
        ("How many trees are there?", [0, 1]),
        ("What grows?", []),
    ],
)
def test_a_turn_without_the_time_asked_for_counts_less(asked: str, expected: list[int]) -> None:
    facts = told(
        "User: I love my pear tree.",
        "Ben: We planted it last week.",
        "Ben: In 2019 there were two trees.",
        f"Assistant: {'A pear tree. ' * MAX_LACKING}",
        "Ben, of all people, said nothing about the time: a report.",
    )
    facts[4] = facts[4].evolve(type="note")
    found = ranked(facts, [0.9, 0.8, 1.0, 0.6, 0.5], asked)
    remarks = {each for kind in KINDS for each in moved(facts, found, kind.without)}
    assert sorted(remarks) == expected
    after = [
        fit * (LACKING_FACTOR if at in expected else 1.0)
        for at, fit in enumerate([0.9, 0.8, 1.0, 0.6, 0.5])
    ]
    assert [*found.similarities.values()] == pytest.approx(after)


def test_the_name_of_a_speaker_is_neither_a_time_nor_a_number() -> None:
    facts = told("April: I love my pear tree.", "Seven: I planted it in May.")
    found = ranked(facts, [1.0, 0.9], "When was the pear planted?")
    assert moved(facts, found, KINDS[0].without) == [0]
    found = ranked(facts, [1.0, 0.9], "How many pears are there?")
    assert moved(facts, found, KINDS[-1].without) == [0, 1]


@pytest.mark.parametrize(
    ("last", "words", "expected"),
    [
        (0.4, "The ferry has a crew.", 0.4 + SHARED_SHARE),
        (0.58, "The ferry has a crew.", 0.99 * 0.6),
        (0.4, "Some geese took off.", 0.4),
    ],
)
def test_a_turn_with_words_of_the_first_ones_rises_below_them(
    last: float, words: str, expected: float
) -> None:
    facts = told(
        *("Ann: I took the ferry.", "Ben: Our ferry was late.", "Ann: It rained.", "Ben: I read."),
        *("Ann: We ate.", "Ben: I slept.", f"Ann: {words}"),
    )
    fits = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, last]
    found = ranked(facts, fits, "Who took part?", {"ferry": 3})
    assert [*found.similarities.values()] == pytest.approx([*fits[:-1], expected])
    assert moved(facts, found, SHARES_WORDS) == [6] * (expected > last)


@pytest.mark.parametrize("values", [{"sessionId": ""}, {"type": "note"}])
def test_only_stored_messages_are_turns(values: dict[str, str]) -> None:
    facts = told("Ben: Where is the key?", "Anna: Under the mat.", **values)
    found = ranked(facts, [1.0, 0.5], "Where did Ben put the key")
    assert found == RankedTurns({facts[0].id: 1.0, facts[1].id: 0.5})


def test_similarities_of_zero_stay() -> None:
    facts = told("Ben: Where is the key?", "Anna: Under the mat.")
    assert [*ranked(facts, [0.0, 0.0]).similarities.values()] == [0.0, 0.0]
