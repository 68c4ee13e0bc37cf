"""The prefixes that models expect before texts, by the families of their names.

Some models were trained with a word before each text that tells a question from what answers
it; without it they find less. The name is that of the folder, of the hub or of the service.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Instructions(NamedTuple):
    """What is put before texts; `family` is part of the `embedding_identity()`."""

    family: str = ""
    question: str = ""
    text: str = ""


_SEARCH = "Represent this sentence for searching relevant passages: "
_TASK = "Given a web search query, retrieve relevant passages that answer the query"
FAMILIES: tuple[tuple[str, Instructions], ...] = (
    (r"\be5-.*-instruct\b", Instructions("e5-instruct", f"Instruct: {_TASK}\nQuery: ")),
    (r"\be5-(?:small|base|large)\b", Instructions("e5", "query: ", "passage: ")),
    (r"\bbge-(?:small|base|large)-en\b", Instructions("bge-en", _SEARCH)),
    (
        r"\bbge-(?:small|base|large)-zh\b",
        Instructions("bge-zh", "为这个句子生成表示以用于检索相关文章："),  # noqa: RUF001 - theirs
    ),
    (r"\bnomic-embed-text\b", Instructions("nomic", "search_query: ", "search_document: ")),
)
"""A pattern of names -> what the family expects. The first that matches counts."""


def instructions_for(model: str) -> Instructions:
    """What the model of a name expects; nothing where its family is not known."""
    for pattern, found in FAMILIES:
        if re.search(pattern, model.lower().replace("_", "-")):
            return found
    return Instructions()
