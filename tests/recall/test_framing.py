from __future__ import annotations

from datetime import date
from itertools import product

import pytest

from vaultsync.recall.framing import without_framing
from vaultsync.recall.query import parse_query

BEFORE = (
    *("Hey, ", "Hi! ", "Hello there: ", "Okay. ", "By the way, ", "Well, so, ", "Please tell me: "),
    *("Quick question: ", "Just a quick question - ", "I forgot. ", "I can't remember: "),
    *("I need to know ", "I'd like to know ", "User asks: ", "The user's question: "),
    *("Query: ", "Search memory for: ", "Search my notes for ", "Kurze Frage: "),
    *("Petite question : ", "Hola, una pregunta: ", "Ich habe es vergessen: ", "J’ai oublié: "),
)
AFTER = (
    *("Thanks!", "thank you.", "Many thanks in advance!", "Please?", "Danke schön!", "Bitte."),
    *("Merci d’avance !", "S'il te plaît.", "Muchas gracias.", "Por favor."),
)
QUESTIONS = ("what did we decide last week?", "open tasks.", "#storage!", "type:lesson since:30d.")


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_said_around_a_question_changes_nothing(question: str) -> None:
    today = date(2026, 6, 30)
    plain = parse_query(question, today=today)
    for before, after in product(("", *BEFORE), ("", *AFTER)):
        framed = f"{before}{question} {after}".strip()
        assert parse_query(framed, today=today) == plain, framed


@pytest.mark.parametrize(
    "text",
    [
        *("Thanks!", "hello", "Hey, ", "question", "user accounts", "search notes", "please"),
        *("Who said thanks?", "Hello World program", "A quick question of taste", "Danke"),
        *("The user said so", "I forgot my keys", "Recall of faulty valves"),
        *("query planner: cost", "one question"),
    ],
)
def test_a_request_that_only_has_such_words_stays(text: str) -> None:
    assert without_framing(text) == text
