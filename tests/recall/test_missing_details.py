"""Questions for a detail, such as a price, and texts that have one."""

from __future__ import annotations

import pytest

from vaultsync.recall.missing_details import DETAILS, MAX_DETAIL_TEXT, asked_detail, lacks_detail

KINDS = dict(
    zip(
        "colour money duration age weight height memory phone email password".split(),  # noqa: SIM905 - a list
        DETAILS,
        strict=True,
    )
)


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("colour", "What colour is Clara's car?"),
        ("colour", "what is the color of the door"),
        ("colour", "In welcher Farbe ist das Tor?"),
        ("colour", "De quelle couleur est la porte ?"),
        ("colour", "¿De qué color es la puerta?"),
        ("colour", "クララの車は何色ですか？"),
        ("money", "How much did Tom's laptop cost?"),
        ("money", "what does the pier box cost"),
        ("money", "What is the contract with Nordwind worth?"),
        ("money", "How much money do they give us?"),
        ("money", "What salary do we offer?"),
        ("money", "What is our monthly rent?"),
        ("money", "Wie hoch ist die Miete?"),
        ("money", "Wie viel kostet der Platz?"),
        ("money", "Combien coûte le billet ?"),
        ("money", "¿Cuánto cuesta la entrada?"),
        ("money", "入場料はいくらですか？"),
        ("duration", "For how long may guests stay?"),
        ("duration", "Wie lange dauert der Kurs?"),
        ("duration", "Combien de temps dure le cours ?"),
        ("duration", "¿Cuánto tiempo dura el curso?"),
        ("age", "How old is Clara?"),
        ("age", "Wie alt ist Oma?"),
        ("age", "Quel âge a Lucie ?"),
        ("weight", "How much does a panel weigh?"),
        ("weight", "Wie schwer ist das Boot?"),
        ("height", "How deep is the harbour?"),
        ("memory", "How much memory does the server have?"),
        ("phone", "What is Clara's phone number?"),
        ("email", "What is the e-mail address of the office?"),
        ("password", "What's the wifi password?"),
    ],
)
def test_questions_for_a_detail(kind: str, question: str) -> None:
    assert asked_detail(question) is KINDS[kind]


@pytest.mark.parametrize(
    "question",
    [
        "Who bought a car?",
        "How much time does a restore cost?",
        "How long has Clara lived here?",
        "Paint the sign in whatever colour the pier has.",
        "What colour is the car and who sold it?",
        "What colour is it? The sign must be legible.",
        "We reprint the signs, what colour are they?",
        "What number of berths is there?",
        "",
    ],
)
def test_other_questions(question: str) -> None:
    assert asked_detail(question) is None


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Clara bought a car.", ""),
        (
            "2026-11-30\nThe meeting on 12 May, May 14 or in 2027 is at 9:30 in room-7.",
            "duration age",
        ),
        ("Clara bought a dark Polo.", "colour"),
        ("Das Tor ist moosgrünes Holz.", "colour"),
        ("Header: #1A73E8", "colour"),
        ("The plumber wanted 240 for it.", "money duration age weight height memory"),
        ("He asked for forty.", "money duration age weight height memory"),
        ("Parking is 75/month.", "money duration age weight height memory"),
        ("It takes 20 minutes.", "duration"),
        ("It was free.", "money"),
        ("11 €", "money duration age weight height memory"),
        ("The mast of 12 metres", "duration height"),
        ("The trailer of 750 kg", "weight"),
        ("64GB", "memory"),
        ("born in Oslo", "age"),
        ("the church of 1911", "duration age"),
        ("+49 171 5550123", "money duration age weight height memory phone"),
        ("tom@example.org", "email"),
        ("The PIN is in the drawer.", "password"),
        ("[REDACTED:password:0f3c19aa]", "phone email password"),
        ("![[car.jpg]]", "all"),
        ("Clara kjøpte en bil, og den er knall.", "all"),
        ("Clara bought a car. " * (MAX_DETAIL_TEXT // 20 + 1), "all"),
    ],
)
def test_texts_with_a_detail(text: str, kinds: str) -> None:
    found = {kind for kind, detail in KINDS.items() if detail.is_in(text)}
    assert found == (KINDS.keys() if kinds == "all" else {*kinds.split()})


def test_a_detail_is_lacking_if_no_text_has_it() -> None:
    without, with_one = "Clara bought a car.", "The car is red."
    assert lacks_detail("What colour is Clara's car?", [without])
    assert not lacks_detail("What colour is Clara's car?", [without, with_one])
    assert not lacks_detail("Who bought a car?", [without])
