"""Questions for what an assistant said and for advice, and facts that state a preference."""

from __future__ import annotations

import pytest

from vaultsync.model.fact import Fact
from vaultsync.recall.conversation_words import (
    asks_for_advice,
    asks_for_assistant,
    states_preference,
)


@pytest.mark.parametrize(
    "question",
    [
        "What did you suggest for the cache?",
        "How did you recommend structuring the work?",
        "Which library have you recommended?",
        "Which of the three ways you suggested is the fastest?",
        "What was your advice about the deposit?",
        "What was on your checklist for the move?",
        "Was stand auf deiner Liste?",
        "What was I told about the deposit?",
        "What did the assistant say about retries?",
        "Was hast du mir für den Cache vorgeschlagen?",
        "Was haben Sie zum Lager empfohlen?",
        "Welche Bibliothek ist es, die du empfohlen hast?",
        "Was war dein Vorschlag für den Hafen?",
        "Was sagte der Assistent zu den Gebühren?",
        "Qu'as-tu recommandé pour le cache ?",
        "Que m'avez-vous conseillé ?",
        "Quelle était ta réponse sur les frais ?",
        "Que disait l'assistant sur les frais ?",
        "¿Qué me recomendaste para la caché?",
        "¿Qué has sugerido?",
        "¿Cuál fue tu consejo sobre el puerto?",
        "¿Qué hay en tu lista?",
        "¿Qué dijo el asistente?",
        "キャッシュについて何を提案してくれましたか？",
        "あなたが勧めたライブラリは？",
        "アシスタントは何と言いましたか？",
        "どの方法を教えてくれた？",
    ],
)
def test_it_is_asked_for_in_five_languages(question: str) -> None:
    assert asks_for_assistant(question)


@pytest.mark.parametrize(
    "question",
    [
        "What would you suggest I use?",
        "Can you give me a summary of how my project went?",
        "Could you show me how to log in?",
        "What did Caroline suggest?",
        "Can you tell me what we decided?",
        "Do you remember what I said?",
        "Who is the teaching assistant?",
        "Was schlägst du vor?",
        "Wer hat den Hafen empfohlen?",
        "Was steht auf ihrer Liste?",
        "Que recommandes-tu ?",
        "¿Qué recomiendas?",
        "¿Qué hay en su lista?",
        "何を提案しますか？",
        "私は何を提案しましたか？",
    ],
)
def test_what_it_would_say_and_what_others_said_is_another_question(question: str) -> None:
    assert not asks_for_assistant(question)


@pytest.mark.parametrize(
    "question",
    [
        "What would you suggest for the cache?",
        "Could you please show me how to log in?",
        "How should I split the work?",
        "Where do you think the boat belongs?",
        "I'm planning to sail on Sunday. Which sail?",
        "If it rains, how do we dry the sails?",
        "What are some good options for the sail?",
        "Was würdest du mir für den Cache empfehlen?",
        "Können Sie mir beim Segeln helfen?",
        "Soll ich am Sonntag segeln?",
        "Wie kann ich das Segel trocknen?",
        "Wie machen wir das Boot fest?",
        "Que recommandes-tu ?",
        "Pourriez-vous m'aider ?",
        "Comment puis-je sécher la voile ?",
        "¿Qué recomiendas?",
        "¿Puedes ayudarme con el puerto?",
        "¿Debería navegar el domingo?",
        "¿Cómo puedo secar la vela?",
        "使い方を教えてください",
        "どうすればいいですか？",
        "どうやって帆を乾かしますか？",
    ],
)
def test_advice_is_asked_for_in_five_languages(question: str) -> None:
    assert asks_for_advice(question)


@pytest.mark.parametrize(
    "question",
    [
        "What did you suggest?",
        "Who told you?",
        "How did I dry the sails?",
        "What are some changes that Mara made?",
        "Was sagte er?",
        "Wie hat er das gemacht?",
        "Où est-il ?",
        "Comment va-t-il ?",
        "¿Cómo está el barco?",
        "何ですか？",
        "",
    ],
)
def test_what_was_said_is_no_advice(question: str) -> None:
    assert not asks_for_advice(question)


@pytest.mark.parametrize(
    "content",
    [
        "User: I'm going to Oslo, and I'd prefer the night train.",
        "We usually prefer short meetings.",
        "User: Always name the version when I ask about a library.",
        "Never call after nine.",
        "We'd rather meet early.",
        "Ich bevorzuge kurze Antworten.",
        "Am liebsten nehme ich den Zug.",
        "Ich fahre lieber nachts.",
        "Niemals vor neun anrufen.",
        "Je préfère le train.",
        "Nous préférons le train.",
        "J'aime mieux le train.",
        "Jamais avant neuf heures.",
        "Prefiero el tren.",
        "Siempre a las nueve.",
        "電車のほうが好きです。",
        "朝は電車がいい、夜より電車のほうがいい。",
        "必ず朝に電話してください。",
    ],
)
def test_a_text_states_a_preference(content: str) -> None:
    assert states_preference(Fact("a", content=content))


def test_a_type_states_a_preference_and_other_texts_do_not() -> None:
    assert states_preference(Fact("a", type="convention", content="Four spaces."))
    for content in ("I've never sailed.", "It always rains.", "Prefer it?"):
        assert not states_preference(Fact("a", content=content))
    said = Fact("a", content="Assistant: I prefer Redis.", session_id="s-1")
    assert not states_preference(said)
