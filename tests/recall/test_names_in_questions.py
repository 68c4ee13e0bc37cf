from __future__ import annotations

import pytest

from vaultsync.recall.names_in_questions import names_in


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Is the gate open in Oslo?", ["Oslo?"]),
        ("When does the gate of McDonald’s open?", ["McDonald’s"]),
        ("is the gate at Oslo, Bergen, open?", ["Oslo,"]),
        ("Est-ce que le gate est ouvert à Lyon ?", ["Lyon"]),
        ("Is the Gate open?", ["Gate"]),
        ("Who is Dr. Lenz?", ["Lenz?"]),
        ("Where did St. Lenz live?", ["Lenz"]),
        ("Oslo gate", []),
        ("Is the gate open for Mrs Kowalski?", ["Kowalski?"]),
        ("Is the gate open for Dr Lenz?", ["Lenz?"]),
        ("Is the gate open for Dr. Lenz?", ["Lenz?"]),
        ("I like the gate. Is it open for Mrs. Kowalski?", ["Kowalski?"]),
        ("May the gate open, Claude?", []),
        ("gate oslo", []),
        ("Tell me. Oslo, is the gate open?", []),
        ("Who may open the gate of IBM?", []),
        ("gate in Oslo", []),
        ("Write a page for the gate in Oslo.", []),
        ("Write a page in Kotlin. Who opens the gate in Oslo?", ["Oslo?"]),
        ("Can you write a page for the gate in Oslo?", []),
        ("¿Puedes abrir el gate en Oslo?", []),
        ("Who opens the gate?\nThanks", []),
        ("I like the gate\nWho opens it in Oslo?", ["Oslo?"]),
        ("Is The Gate Of The Pier Open In Oslo?", []),
        ('Who is in "The Gate of Oslo"?', []),
        ("Who is in “The Gate of Oslo”?", []),
        ("May I open the gate on a Friday?", []),
        ("Is the gate open on Fridays, at Christmas or in March?", []),
        ("Is the gate open on Fri and in Sept?", []),
        ("", []),
    ],
)
def test_a_name_has_a_capital_letter_inside_a_sentence(question: str, expected: list[str]) -> None:
    assert names_in(question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wann hat Dr. Lenz am Montag Zeit?", ["Lenz"]),
        ("Was hat Frau Yıldız von Herrn Bauer?", ["Yıldız", "Bauer?"]),
        ("Wo ist das Tor in Oslo?", []),
    ],
)
def test_a_name_in_german_is_behind_an_address(question: str, expected: list[str]) -> None:
    assert names_in(question, nouns_too=True) == expected
