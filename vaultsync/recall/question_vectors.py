"""Embed a question: as one vector, or as one for each of the two events that it compares.

Each event has a fact of its own. The vector of *How many days passed between the review of the
draft and the launch of the site?* lies between those of the two facts, and near neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from vaultsync.indexing.instructions import instructions_for
from vaultsync.indexing.ports import Embedder

_FORMS = (
    (("how long", "how many", "how much"), " between ", " and "),
    (("wie lange", "wie viel"), " zwischen ", " und "),
    (("combien",), " entre ", " et "),
    (("cuánt",), " entre ", " y "),
)
"""What asks for an amount or a duration, and the words around the first event, per language."""


def question_vectors(
    embedder: Embedder, question: str, in_english: str = ""
) -> Sequence[Sequence[float]]:
    """The vector of a question, or those of the two events that it compares.

    Args:
        embedder: what embeds it, with the prefix that the model expects.
        question: the question.
        in_english: its translation; then the vector is the mean of both.
    """
    before = instructions_for(embedder.model).question
    texts = (question, in_english) if in_english else compared_events(question) or (question,)
    vectors = embedder.embed([before + each for each in texts])
    if not in_english:
        return vectors
    from vaultsync.recall.glosses import mean_direction  # noqa: PLC0415 - few questions

    return [mean_direction(vectors)]


def compared_events(question: str) -> tuple[str, ...]:
    """The two events that a question compares, as written; none in other questions.

    The last *and* divides them. A single word is no event: *between Oslo and Bergen*.
    """
    for amounts, before, between in _FORMS:
        asked, _, rest = question.partition(before)
        events = rest.partition("?")[0].rsplit(between, 1)
        asks = any(map(asked.lower().__contains__, amounts))
        if asks and len(events) > 1 and all(len(each.split()) > 1 for each in events):
            return tuple(each.strip() for each in events)
    return ()
