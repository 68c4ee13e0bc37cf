"""What a question leaves out: *decisions that are not about deposits*, *tasks except billing*.

Loaded for questions with one of the words.
"""

from __future__ import annotations

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


def is_excluded(excluded: str, text: str, index: NoteIndex) -> bool:
    """Whether a text has all words of something excluded: *billing*, *billing and the old pier*.

    What has nothing but function words excludes nothing.
    """
    for words in _OR.split(excluded):
        terms = QueryTerms(index.tokens(words), index.stemmer(words))
        if 0 < len(terms.stems) == len(terms.matched_words(text)):
            return True
    return False


def exclusion(question: str) -> tuple[str, str]:
    """The question without what it leaves out, and that; both empty if it leaves out nothing."""
    question = " ".join(question.split())  # the pattern takes long for many spaces
    found = _EXCEPT.search(question)
    return (question[: found.start()].rstrip(" ,"), found["what"]) if found else ("", "")
