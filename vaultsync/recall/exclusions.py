"""What a question leaves out: *decisions that are not about deposits*, *tasks except billing*.

Loaded for questions with one of the words.
"""

from __future__ import annotations

from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.explanation import QueryTerms

_EXCEPT = lazy_pattern(
    r"(?i)\s+(?:(?:(?:that|which|who)\s+)?(?:(?:is|are|was|were|do|does|did)\s*)?(?:not|n['’]t)\s+"
    r"(?:(?:about|concerning|for|from|in|of|on|tagged|to|with|involving?)\b|related\s+to"
    r"|ha(?:s|ve)\s+to\s+do\s+with)"
    r"|except(?:\s+(?:for|about|those\s+\w+))?|excluding|other\s+than|apart\s+from|besides"
    r"|but\s+not(?:\s+(?:about|for|on|of))?"
    r"|außer(?:\s+(?:zu[mr]?|für|über|bei|von))?|bis\s+auf|abgesehen\s+von"
    r"|(?:die\s+)?nicht\s+(?:zu[mr]?|für|über|von|mit|bei)"
    r"|sauf|hors|hormis|à\s+part|excepté"
    r"|qui\s+ne\s+(?:sont|concernent|portent)\s+pas(?:\s+(?:sur|de))?"
    r"|pas\s+(?:sur|de|pour)|excepto|salvo|menos(?=\s+(?:l[ao]s?|el|de)\b)|aparte\s+de|que\s+no\s+(?:sean|son|tratan)"
    r"(?:\s+(?:de|del|sobre|para))?|no\s+(?:sobre|de|para))\s+(?P<what>[^?!.;]+?)\W*\Z"
)


def has_all(words: str, text: str, index: NoteIndex) -> bool:
    """Whether a text has all of some words, which are not only function words."""
    terms = QueryTerms(index.tokens(words), index.stemmer(words))
    return 0 < len(terms.stems) == len(terms.matched_words(text))


def exclusion(question: str) -> tuple[str, str]:
    """The question without what it leaves out, and that; both empty if it leaves out nothing."""
    found = _EXCEPT.search(question)
    return (question[: found.start()].rstrip(" ,"), found["what"]) if found else ("", "")
