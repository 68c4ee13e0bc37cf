"""Which questions ask for what an assistant said."""

from __future__ import annotations

import pytest

from vaultsync.recall.assistant_words import asks_for_assistant


@pytest.mark.parametrize(
    "question",
    [
        "What did you suggest for the cache?",
        "How did you recommend structuring the work?",
        "Which library have you recommended?",
        "Which of the three ways you suggested is the fastest?",
        "What was your advice about the deposit?",
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
        "Que recommandes-tu ?",
        "¿Qué recomiendas?",
        "何を提案しますか？",
        "私は何を提案しましたか？",
    ],
)
def test_what_it_would_say_and_what_others_said_is_another_question(question: str) -> None:
    assert not asks_for_assistant(question)
