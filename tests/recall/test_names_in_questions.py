from __future__ import annotations

import pytest

from vaultsync.recall.names_in_questions import names_in


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Is the gate open in Oslo?", ["Oslo?"]),
        ("When does the gate of McDonald’s open?", ["McDonald’s"]),
        ("the gate at Oslo, Bergen", ["Oslo,"]),
        ("Est-ce que le gate est ouvert à Lyon ?", ["Lyon"]),
        ("Is the Gate open?", ["Gate"]),
        ("Oslo gate", []),
        ("May the gate open, Claude?", []),
        ("gate oslo", []),
        ("Tell me. Oslo, is the gate open?", []),
        ("Who may open the gate of IBM?", []),
        ("Is The Gate Of The Pier Open In Oslo?", []),
        ('Who is in "The Gate of Oslo"?', []),
        ("Who is in “The Gate of Oslo”?", []),
        ("May I open the gate on a Friday?", []),
        ("Is the gate open on Fridays, at Christmas or in March?", []),
        ("", []),
    ],
)
def test_a_name_has_a_capital_letter_in_the_middle_of_a_sentence(
    question: str, expected: list[str]
) -> None:
    assert names_in(question) == expected
