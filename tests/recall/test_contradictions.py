"""Whether two facts contradict each other: the rules, in a table of pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.recall.contradictions import (
    EXAMINED_CHARS,
    Glance,
    contradiction,
    done_share,
    statement_of,
)

_CLOCK = FakeClock()


def fact(text: str, **values: Value) -> Fact:
    at = "2026-02-14T13:45:00Z"
    return make_fact({"id": _CLOCK.new_id(), "content": text, "createdAt": at, **values})


def why(one: Fact, other: Fact) -> str:
    return contradiction(statement_of(one), statement_of(other))


CONTRADICT = [
    # another amount
    ("The harbour has 38 berths.", "The harbour now has 42 berths after the extension."),
    ("The budget of Kestrel is 40,000 EUR.", "The budget of Kestrel is 55 000 EUR."),
    ("The mooring fee is €12.", "The mooring fee is 15 €."),
    ("The ferry takes three hours.", "The ferry takes four hours."),
    ("The ferry has forty seats.", "The ferry has 50 seats."),
    ("The ferry has forty-two seats.", "The ferry has 43 seats."),
    ("Le port a quarante-deux places.", "Le port a 43 places."),
    ("El puerto tiene cuarenta y dos amarres.", "El puerto tiene 43 amarres."),
    ("Die Fähre hat fünfundzwanzig Plätze.", "Die Fähre hat 30 Plätze."),
    ("The bridge listens on port 8080.", "The bridge listens on port 9090."),
    ("Der Hafen hat 38 Liegeplätze.", "Der Hafen hat jetzt 42 Liegeplätze."),
    ("Le port a 38 places.", "Le port a 42 places."),
    ("Le port a vingt places.", "Le port a trente places."),
    ("El puerto tiene 38 amarres.", "El puerto tiene 42 amarres."),
    # another date
    ("The launch of Kestrel is on 10 April.", "The launch of Kestrel is on April 12th, 2026."),
    ("The launch of Kestrel is on 2026-04-10.", "The launch of Kestrel is on 12 April 2026."),
    ("The harbour council is on Tuesday.", "The harbour council is on Thursdays."),
    ("The harbour council begins at 9:30.", "The harbour council begins at 10:00."),
    ("Die Sitzung beginnt am 3. März.", "Die Sitzung beginnt am 5. März."),
    ("La réunion est le 3 avril.", "La réunion est le 5 avril."),
    ("La reunión es el 3 de abril.", "La reunión es el 5 de abril."),
    # another state
    ("The sea gate is open.", "The sea gate is closed."),
    ("Das Seetor ist offen.", "Das Seetor ist geschlossen."),
    # a denial
    ("We deploy on Fridays.", "We do not deploy on Fridays."),
    ("There is no quay crane.", "There is a quay crane."),
    ("We use Redis for the queue.", "We no longer use Redis for the queue."),
    ("The server is never restarted by hand.", "We restarted the server by hand."),
    ("I have never written any Flask routes.", "I've written two Flask routes for the login."),
    (
        "I've never met Bryan or Alice at a film festival, so who are they?",
        "I liked the advice that I got from Bryan at the film festival.",
    ),
    ("I've never used tools, like Zotero, for citations.", "I used tools such as Zotero today."),
    (
        "I am sure that I have never sailed a leg of the regatta.",
        "Can you plot a course, considering I've sailed every leg of the regatta?",
    ),
    ("I have never sailed a regatta.", "What is a fair start, so I ask, as I sailed a regatta?"),
]
AGREE = [
    ("The north harbour has 38 berths.", "The south harbour has 42 berths."),
    ("The harbour has 38 berths.", "The harbour has 4 cranes."),
    ("The harbour has forty-two berths.", "The harbour has 42 berths."),
    ("Der Hafen hat einundzwanzig Liegeplätze.", "Der Hafen hat 21 Liegeplätze."),
    ("Le port a quatre-vingt-dix places.", "Le port a 90 places."),
    ("The harbour has a hundred and forty-two berths.", "The harbour has 142 berths."),
    ("Le port a cent vingt-cinq places.", "Le port a 125 places."),
    ("El puerto tiene doscientos treinta y cinco barcos.", "El puerto tiene 235 barcos."),
    ("The harbour has at least 38 berths.", "The harbour has 42 berths."),
    ("The harbour has 1,200 members.", "The harbour has 1200 members."),
    ("The harbour has 38 berths and 4 cranes.", "The harbour has 40 berths and 5 cranes."),
    ("The pier has 2 or 3 berths, 4 berths.", "The pier has 7 berths."),
    ("In 2023 we sold 400 tickets.", "In 2024 we sold 500 tickets."),
    ("I moored 5 boats.", "I moored 7 boats."),
    ("Invoice 17 is paid.", "Invoice 18 is unpaid."),
    ("Invoice 17 is 300 EUR.", "Invoice 18 is 400 EUR."),
    ("Anna owes 20 euros for lunch, that is all.", "Bert owes 30 euros for lunch, that is all."),
    ("I met Anna on 3 April.", "I met Anna on 5 April."),
    ("The launch is on 10 April.", "The launch is on 10 April 2026."),
    ("The launch is on 10 April.", "The launch is on Friday at 10:00."),
    ("The council is on 10 April.", "The council is at 9:30."),
    ("The harbour is open from May to October.", "The harbour is closed in winter."),
    ("The sea gate is open on 3 May.", "The sea gate is closed on 4 May."),
    ("The sea gate is open.", "Is the sea gate closed?"),
    ("The harbour does not have 38 berths.", "The harbour has 42 berths."),
    ("I've never used Zotero.", "Zotero manages citations and is used by many."),
    ("I have never been to Oslo.", "Should I go to Oslo, since I have never been to Oslo?"),
    ("Never commit secrets to Git.", "How do I commit secrets to Git?"),
    ("Never mind the sea gate.", "I mind the sea gate."),
    ("I am confused because I have never repaired nets or sails.", "I was confused by the nets."),
    (
        "I have never repaired the nets.",
        "What would help, give me the tools that repaired the nets.",
    ),
    ("I've never sailed to Oslo.", "I never sailed to Oslo by night."),
    ("No worries, Mel!", "Thanks, Mel!"),
    ("1. Open the gate.\n2. Wait until it is open.", "8. Open it.\n9. Wait until it is open."),
    ("", "The harbour has 38 berths."),
    ("38", "42"),
]


@pytest.mark.parametrize(("one", "other"), CONTRADICT)
def test_what_cannot_both_hold_contradicts_each_other(one: str, other: str) -> None:
    assert why(fact(one), fact(other))
    assert why(fact(other), fact(one))


@pytest.mark.parametrize(("one", "other"), AGREE)
def test_what_may_both_hold_does_not(one: str, other: str) -> None:
    assert not why(fact(one, title="" if one else "Harbour"), fact(other))
    assert not why(fact(other), fact(one, title="" if one else "Harbour"))


def test_the_reason_quotes_both_sentences() -> None:
    long = (
        "The harbour " + "of the islands beyond the sound and the skerries " * 2 + "has 42 berths."
    )
    assert why(fact("The harbour has 38 berths."), fact("The harbour has 42 berths.")) == (
        "“The harbour has 38 berths” against “The harbour has 42 berths”"
    )
    assert why(fact(long.replace("42", "38")), fact(long)).endswith(
        "and the skerries of the islands …”"
    )


@pytest.mark.parametrize(
    ("title", "other", "expected"),
    [
        ("The harbour has 38 berths", "The harbour has 42 berths", True),
        ("Budget 2025", "Budget 2026", False),
        ("What has 38 berths", "What has 42 berths", False),
        ("Version 2.1 is out", "Version 2.2 is out", False),
        ("Port 80 is open", "Port 443 is open", False),
    ],
)
def test_a_title_may_state_a_value(title: str, other: str, *, expected: bool) -> None:
    one = fact("Counted by hand.", title=title)
    assert bool(why(one, fact("In spring, there were fewer.", title=other))) is expected
    assert bool(why(one, fact(other))) is expected


def test_a_sentence_of_a_titled_fact_is_about_its_title() -> None:
    one = fact("It has 38 berths.", title="Harbour Mole")
    assert why(one, fact("42 berths after the dredging.", title="Harbour Mole"))
    assert not why(one, fact("It has 42 berths.", title="Marina Sound"))
    assert not why(one, fact("The pier has 42 berths."))


def test_facts_about_other_entities_or_of_other_projects_do_not() -> None:
    one, other = "The team has 5 members.", "The team has 7 members."
    assert why(fact(one, entities=["Kestrel"]), fact(other, entities=["Kestrel", "Ada"]))
    assert not why(fact(one, entities=["Kestrel"]), fact(other, entities=["Falcon"]))
    assert not why(fact(one, scope="project-a"), fact(other, scope="project-b"))
    assert why(fact(one, scope="project-a"), fact(other, scope="public"))


def test_two_versions_of_a_fact_do_not() -> None:
    old = fact("The harbour has 38 berths.")
    new = fact("The harbour has 42 berths.", supersedesId=old.id)
    assert not why(new, old)
    assert not why(old, new)
    assert not why(old.evolve(superseded_by_id=new.id), new.evolve(supersedes_id=None))
    assert not why(old, old)


def test_facts_of_one_title_contradict_by_the_fields_of_their_type() -> None:
    values: dict[str, Value] = {"title": "Quay wall", "type": "commitment"}
    one = fact("Ada repairs it.", commitmentDueDate="2026-03-01", **values)
    other = fact("Bo repairs it.", commitmentDueDate="2026-04-01", **values)
    assert why(one, other) == "2026-03-01 against 2026-04-01"
    assert not why(one, fact("Bo repairs it.", commitmentDueDate="2026-03-01", **values))


def test_what_another_speaker_says_of_himself_does_not() -> None:
    def said(text: str) -> Fact:
        return fact(text, sessionId="s")

    assert why(said("Mel: I have never sailed to Oslo."), said("Mel: I sailed to Oslo."))
    assert not why(said("Mel: I have never sailed to Oslo."), said("Bo: I sailed to Oslo."))


def test_who_says_something_in_a_session_may_be_unknown() -> None:
    never = fact("I have never sailed to Oslo.", sessionId="s")
    assert why(never, fact("Last year, in May (a warm one), I sailed to Oslo.", sessionId="s"))


def test_code_and_what_is_far_down_is_not_examined() -> None:
    other = fact("The harbour has 42 berths.")
    assert not why(fact("Code:\n\n```\nThe harbour has 38 berths.\n```\n"), other)
    assert not why(fact("x" * EXAMINED_CHARS + "\nThe harbour has 38 berths."), other)


@pytest.mark.parametrize(
    ("sentence", "examined"),
    [("Show the harbour in the note.", 27), ("The port of the bridge is 8080.", 27)],
)
def test_a_sentence_that_the_limit_cuts_is_not_examined(sentence: str, examined: int) -> None:
    text = "x" * (EXAMINED_CHARS - examined - 1) + "\n" + sentence
    assert text[:EXAMINED_CHARS].endswith(("not", "8"))
    assert not why(fact(text), fact(sentence))


def test_something_done_is_told_in_the_past_or_with_figures() -> None:
    (denial,) = statement_of(fact("I have never sailed the regatta.")).claims
    for text, share in (
        ("I am trying to sail the regatta.", 0),
        ("I sail the regatta, where 12 boats start.", 0),
        ("I've read much, and my place in the regatta is 12th.", 0.5),
        ("I've sailed 12 miles of the regatta.", 1),
    ):
        (claim,) = statement_of(fact(text)).claims
        assert done_share(denial, claim) == share, text
        assert not any(each.never for each in statement_of(fact(text)).claims)


@given(*[st.text(st.characters(codec="utf-8", exclude_characters="\0"))] * 2)
def test_any_texts_can_be_compared_and_none_contradicts_itself(one: str, other: str) -> None:
    first, second = fact(one), fact(other)
    assert bool(why(first, second)) == bool(why(second, first))
    assert not why(first, first)


@given(st.integers(13, 10**6), st.integers(13, 10**6))
def test_another_number_of_the_same_contradicts_and_the_same_does_not(one: int, other: int) -> None:
    first, second = (fact(f"The harbour has {each} berths.") for each in (one, other))
    assert bool(why(first, second)) == (one != other)


@pytest.mark.parametrize(("one", "other"), CONTRADICT)
def test_a_glance_lets_pass_whatever_contradicts(one: str, other: str) -> None:
    for said, text in ((one, other), (one, f"{other} It does not rain."), (other, one)):
        claims = statement_of(fact(said)).claims
        assert any(map(Glance(fact(text)).may_contradict, claims)), (said, text)


@pytest.mark.parametrize(
    ("sentence", "has_value"),
    [
        ("The harbour has 38 berths.", True),
        ("Der Hafen hat zwölf Kräne.", True),
        ("The harbour doesn't sleep.", True),
        ("The harbour is no longer ours.", True),
        ("I have never been to Oslo.", True),
        ("The sea gate is closed.", True),
        ("We meet on Fridays.", True),
        ("The harbour belongs to the city.", False),
        ("Whoever is sleepless walks the pier.", False),
    ],
)
def test_only_values_are_read_where_nothing_is_denied(sentence: str, has_value: bool) -> None:
    claims = statement_of(fact(f"Fog lies low. {sentence}"), with_value=True).claims
    assert [each.text.rstrip(".") for each in claims] == [sentence.rstrip(".")] * has_value


def test_a_text_with_more_sentences_than_are_wanted_has_no_claims() -> None:
    said = fact("Fog lies low.\n\nThe sea gate is closed.")
    assert [len(statement_of(said, maximum=most).claims) for most in (1, 2)] == [0, 2]
