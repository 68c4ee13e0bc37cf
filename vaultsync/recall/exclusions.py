"""What a question leaves out: *decisions that are not about deposits*, *tasks except billing*.

Loaded for questions with one of the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vaultsync.indexing.language import ENGLISH, language_of
from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.explanation import QueryTerms

_EXCEPT = lazy_pattern(
    r"(?i)\s+(?:(?:(?:that|which|who)\s+)?(?:(?:is|are|was|were|do|does|did)\s*)?(?:not|n['’]t)\s+"
    r"(?:(?:about|concerning|for|from|in|of|on|tagged|with|involving?)\b|related\s+to"
    r"|to(?=\s+(?:(?:the|our|my|his|her|their)\b|(?-i:[A-Z])))"  # but *our decision not to buy it*
    r"|ha(?:s|ve)\s+to\s+do\s+with)"
    r"|except(?:\s+(?:for|about|those\s+\w+))?|excluding|other\s+than|apart\s+from|besides"
    r"|but\s+not(?:\s+(?:about|for|on|of))?"
    r"|außer(?:\s+(?:zu[mr]?|für|über|bei|von))?|bis\s+auf|abgesehen\s+von"
    r"|(?:die\s+)?nicht\s+(?:zu[mr]|zu(?=\s+(?-i:[A-ZÄÖÜ]))|für|über|von|mit|bei)"
    r"|sauf|hors|hormis|à\s+part|excepté"
    r"|qui\s+ne\s+(?:sont|concernent|portent)\s+pas(?:\s+(?:sur|de))?"
    r"|pas\s+(?:sur|de|pour)|excepto|salvo|menos(?=\s+(?:l[ao]s?|el|de)\b)|aparte\s+de|que\s+no\s+(?:sean|son|tratan)"
    r"(?:\s+(?:de|del|sobre|para))?|no\s+(?:sobre|de|para))\s+(?P<what>[^?!.;]+?)(?:\s+ones)?\W*\Z"
)
_OR = lazy_pattern(r"(?i),|\b(?:and|or|nor|und|oder|noch|et|ou|ni|y|o)\b")


def excluded_terms(excluded: str, question: str, index: NoteIndex) -> Sequence[QueryTerms]:
    """The terms of each thing that is excluded: of *billing and the old pier*, two.

    Of a question in another language than the facts, those of the English translation, too.

    Args:
        excluded: from `exclusion()`.
        question: the whole question, which has a language.
        index: of the facts.
    """
    language = language_of(question, least=1, likely=index.languages())
    found = []
    for words in _OR.split(excluded):
        found.append(QueryTerms(index.tokens(words), index.stemmer(words)))
        if language not in (None, ENGLISH):
            from vaultsync.recall.glosses import translated_terms  # noqa: PLC0415 - few questions

            translation = translated_terms(words, index, language)
            found += [translation[1]] if translation else []
    return found


def has_all_of_any(terms: Iterable[QueryTerms], text: str) -> bool:
    """Whether a text has all terms of one thing, which has any."""
    return any(0 < len(each.stems) == len(each.matched_words(text)) for each in terms)


def exclusion(question: str) -> tuple[str, str]:
    """The question without what it leaves out, and that; both empty if it leaves out nothing."""
    question = " ".join(question.split())  # the pattern takes long for many spaces
    found = _EXCEPT.search(question)
    return (question[: found.start()].rstrip(" ,"), found["what"]) if found else ("", "")
