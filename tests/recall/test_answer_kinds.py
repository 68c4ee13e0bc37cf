"""What a question asks for, a time or a number, and what texts have one."""

from __future__ import annotations

import pytest

from vaultsync.recall.answer_kinds import KINDS, AnswerKind, asked_kind

TIME, FREQUENCY, NUMBER = KINDS
QUESTIONS = [
    (
        TIME,
        [
            "When did Anna move?",
            "when's the launch?",
            "Until when is the berth ours?",
            "When exactly did Anna move?",
            "When would you come?",
            "In which year did Anna move?",
            "What time does the ferry leave?",
            "Seit wann wohnt Anna hier?",
            "In welchem Jahr zog Anna um?",
            "Quand Anna a-t-elle déménagé ?",
            "En quelle année Anna a-t-elle déménagé ?",
            "¿Cuándo se mudó Anna?",
            "¿Qué día sale el barco?",
            "アンナはいつ引っ越しましたか？",
            "アンナは何年に引っ越しましたか？",
        ],
    ),
    (
        NUMBER,
        [
            "How many guests came?",
            "how long has Anna lived there?",
            "At what age did Anna move?",
            "Cuantas personas vinieron?",
            "Wie viele Gäste kamen?",
            "Wieviel kostet es?",
            "Combien d'invités sont venus ?",
            "¿Cuántas personas vinieron?",
            "客は何人来ましたか？",
        ],
    ),
    (
        FREQUENCY,
        [
            "How often does the ferry leave?",
            "Wie oft fährt die Fähre?",
            "À quelle fréquence part le ferry ?",
            "¿Cada cuánto sale el barco?",
            "¿Con qué frecuencia sale el barco?",
        ],
    ),
    (
        None,
        [
            "What did Anna plant?",
            "When I start a project, what comes first?",
            "What did Anna say when she left?",
            "Was tat Anna, als sie ging?",
            "Quand je commence un projet, que faire ?",
            "¿Qué plantó Anna cuando vino?",
            "アンナは何を植えましたか？",
            "アンナはいつも何を飲みますか？",
            "",
        ],
    ),
]
"""Questions for each kind of answer, and for none."""


@pytest.mark.parametrize(
    ("kind", "question"), [(kind, each) for kind, some in QUESTIONS for each in some]
)
def test_the_kind_of_answer_that_is_asked_for(kind: AnswerKind | None, question: str) -> None:
    assert asked_kind(question) is kind


@pytest.mark.parametrize(
    ("text", "has_frequency"),
    [
        ("Ben: On Fridays.", True),
        ("Ben: Three times a week.", True),
        ("Copies are made nightly at 02:30.", True),
        ("Twelve of us, once.", True),
        ("We rarely do.", True),
        ("Jeden Freitag", True),
        ("Montags und donnerstags", True),
        ("Chaque lundi", True),
        ("dos veces por semana", True),
        ("Alimentar los martes", True),
        ("毎日です", True),
        ("Ben: On Friday, 12 of us.", False),
        ("Born in 1949.", False),
        ("Le mardi 3", False),
        ("", False),
    ],
)
def test_texts_with_a_frequency(text: str, has_frequency: bool) -> None:
    assert FREQUENCY.is_in(text) is has_frequency


@pytest.mark.parametrize(
    ("text", "has_time", "has_number"),
    [
        ("Ben: We moved last week.", True, False),
        ("Ben: We moved two years ago.", True, True),
        ("Ben: It was in May.", True, False),
        ("Ben: It may rain, so we march on.", False, False),
        ("Ben: It was MONDAY!", True, False),
        ("Ben: At 9:30.", True, True),
        ("Ben: On the 3rd.", True, True),
        ("Ben: It was 2019, I think.", True, True),
        ("Ben: Seven of us came.", False, True),
        ("Ben: I tried it twice.", False, True),
        ("Ben: Room 12.", False, True),
        ("Ben: One of a kind!", False, False),
        ("Ben: After the exam.", True, False),
        ("Ben: On my birthday.", True, False),
        ("Ben: Last night.", True, False),
        ("Ben: The other day.", True, False),
        ("Ben: Next spring.", True, False),
        ("Ben: On Jan fifth.", True, True),
        ("Ben: At 5pm.", True, True),
        ("Ben: In the ’90s.", True, True),
        ("Ben: MAY 5TH.", True, True),
        ("Ben: Both of them.", False, True),
        ("Ben: Twins!", False, True),
        ("Ben: Dozens came.", False, True),
        ("Ben: A few friends.", False, True),
        ("Ben: Just one.", False, True),
        ("Ben: None.", False, True),
        ("Ben: It was my third win.", False, True),
        ("Ben: Every morning.", True, True),
        ("Ben: A year.", True, True),
        ("Ben: Such a great day!", False, False),
        ("Ben: Wir zogen vor drei Wochen um.", True, True),
        ("Ben: Nach der Prüfung.", True, False),
        ("Ben: Am Abend.", True, False),
        ("Ben: Beide.", False, True),
        ("Ben: Seit einem Jahr.", True, True),
        ("Ben: Wir wohnen am Hafen.", False, False),
        ("Ben: Hier soir.", True, False),
        ("Ben: Après l'examen.", True, False),
        ("Ben: Une douzaine.", False, True),
        ("Ben: Il a été malade.", False, False),
        ("Ben: Después del examen.", True, False),
        ("Ben: Anoche.", True, False),
        ("Ben: Un par de amigos.", False, True),
        ("Ben: C'était l'année dernière.", True, False),
        ("Ben: Fue el martes.", True, False),
        ("ベン: 先週引っ越しました。", True, False),
        ("ベン: 試験の後です。", True, False),
        ("ベン: 昨夜です。", True, False),
        ("ベン: 五月です。", True, True),
        ("ベン: 私の名前です。", False, False),
        ("ベン: 三人来ました。", False, True),
        ("ベン: 双子です。", False, True),
        ("ベン: ふたりです。", False, True),
        ("Ben: Thanks, Anna!", False, False),
        ("", False, False),
    ],
)
def test_texts_with_a_time_or_a_number(text: str, has_time: bool, has_number: bool) -> None:
    assert (TIME.is_in(text), NUMBER.is_in(text)) == (has_time, has_number)
