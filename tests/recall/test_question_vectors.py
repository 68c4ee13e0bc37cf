"""What a question compares: two events, each with a fact of its own."""

from __future__ import annotations

import pytest

from vaultsync.recall.question_vectors import compared_events, mean_direction


@pytest.mark.parametrize(
    ("question", "events"),
    [
        (
            "How many days passed between the review of the draft and the launch of the site?",
            ("the review of the draft", "the launch of the site"),
        ),
        (
            "How long was it between when we served food and drinks and when the talks began? Ok",
            ("when we served food and drinks", "when the talks began"),
        ),
        (
            "Wie lange dauerte es zwischen dem ersten Entwurf und der letzten Prüfung?",
            ("dem ersten Entwurf", "der letzten Prüfung"),
        ),
        (
            "Combien de jours entre le premier essai et la dernière version ?",
            ("le premier essai", "la dernière version"),
        ),
        (
            "¿Cuántos días pasaron entre la primera prueba y el lanzamiento final?",
            ("la primera prueba", "el lanzamiento final"),
        ),
        (
            "How many days do I have between the first draft and the final deadline?",
            ("the first draft", "the final deadline"),
        ),
        ("How many guests stayed at the pier between 1 May and 3 June?", ()),
        ("How much deposit was paid between the first day and the last day?", ()),
        ("How long does slack water last between the rising and the falling tide?", ()),
        ("Wie viele Gäste kamen zwischen dem 1. Mai und dem 3. Juni?", ()),
        ("How many miles are there between Oslo and Bergen?", ()),
        ("What is the difference between a berth and a mooring?", ()),
        ("How many days are left between now?", ()),
        ("How many boats came and went?", ()),
        ("", ()),
    ],
)
def test_two_events_are_compared(question: str, events: tuple[str, ...]) -> None:
    assert compared_events(question) == events


def test_the_mean_of_directions_is_between_them() -> None:
    assert mean_direction([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx([0.5**0.5] * 2)
    assert mean_direction([[1.0, 0.0], [-1.0, 0.0]]) == [0.0, 0.0]
