"""What a question leaves out: *tasks except billing*, *everything but tasks*.

Loaded for questions with one of the words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vaultsync.indexing.language import ENGLISH, language_of
from vaultsync.indexing.ports import IMPORTANT, NoteIndex
from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.model.schema import TYPES
from vaultsync.recall.asked_words import GENERIC, OTHER_QUESTION, AskedFor, function_words
from vaultsync.recall.explanation import QueryTerms

_EXCEPT = lazy_pattern(
    r"(?i)\s+(?:(?:(?:that|which|who)\s+)?(?:(?:is|are|was|were|do|does|did)\s*)?(?:not|n['’]t)\s+"
    r"(?:(?:about|concerning|for|from|in|of|on|tagged|with|involving?)\b|related\s+to"
    r"|to(?=\s+(?:(?:the|our|my|his|her|their)\b|(?-i:[A-Z])))"  # but *our decision not to buy it*
    r"|mention|(?:assigned|belong)\s+to|ha(?:s|ve)\s+to\s+do\s+with)"
    r"|(?:(?:that\s+)?are\s+)?(?:unrelated\s+to|not(?=\s+\w+['’]s\b))"
    r"|(?:without(?:\s+the)?\s+tag|sans\s+l['’]étiquette|sin(?:\s+la)?\s+etiqueta"
    r"|(?:without|ohne(?:\s+den)?(?:\s+Tag)?|sans|sin)(?=\s+[\"'“„«]?#))"
    r"|except(?:\s+(?:for|about|those\s+\w+))?|excluding|other\s+than|apart\s+from|besides"
    r"|but\s+not(?:\s+(?:about|for|on|of))?|(?<=\ball )but|(?<=thing )but"
    r"|außer(?:\s+denen)?(?:\s+(?:zu[mr]?|für|über|bei|von))?|bis\s+auf|abgesehen\s+von"
    r"|(?:die\s+)?(?:nichts\s+mit|nicht\s+(?:zu[mr]|zu(?=\s+(?-i:[A-ZÄÖÜ]))|für|über|von|mit|bei))"
    r"|sauf|hors|hormis|à\s+part|excepté|à\s+l['’]exception|autres?\s+que"
    r"|qui\s+ne\s+(?:sont|concernent|portent)\s+pas(?:\s+(?:sur|de))?"
    r"|pas\s+(?:sur|de|pour)|excepto|salvo|a\s+excepción|sin\s+contar|menos(?=\s+(?:l[ao]s?|el|de)\b)|aparte\s+de|que\s+no\s+(?:sean|son|tratan)"
    r"(?:\s+(?:de|del|sobre|para))?|no\s+(?:sobre|de|para))\s+"
    # *celles sur les achats* are those about *achats*
    r"(?:(?:celles?|celui|ceux|las?|los|el)\s+)?(?:(?:sobre|para|sur|pour|del?|du|des)\s+|d['’])?"
    r"(?:(?:las?|los|el|les?)\s+)?(?P<what>[^?!.;]+?)"
    r"(?:\s+(?:ones|sind|gehören|zu\s+tun\s+haben))?\W*\Z"
)
_JAPANESE_EXCEPT = lazy_pattern(r"(?P<what>[^\s、。]{1,20}?)(?:以外|を除[くいた]{1,2})の?")
_ONLY_EXCEPT = (
    r"(?i:except|exclud|other\s+than|apart|besides|außer|abgesehen|sauf|hormis|salvo|aparte)"
)
_EVERYTHING = frozenset({"", "all", "anything", "todo"})
"""What asks for everything before an exclusion, and otherwise for nothing, or for tasks. It is
empty behind a request: *Show me everything besides people*."""
_MAX_NOUNS = 2
"""Maximum number of words of what is listed, if it is no type: *vegan recipes*."""
_OR = lazy_pattern(r"(?i),|\b(?:and|or|nor|und|oder|noch|et|ou|ni|y|o)\b")


def exclusion_test(excluded: str, question: str, index: NoteIndex) -> Callable[[str], bool]:
    """What tells whether a text has all words of something excluded.

    *Billing and the old pier* are two things; one of function words alone excludes nothing. Of a
    question in another language than the facts, the English translation counts, too. A text that
    leaves it out itself, such as *all are paid, except for Oslo*, is not about it.

    Args:
        excluded: from `without_exclusion()`.
        question: the whole question, which has a language.
        index: of the facts.
    """
    language = language_of(question, least=1, likely=index.languages())
    things = []
    for words in _OR.split(excluded):
        things.append(QueryTerms(index.tokens(words), index.stemmer(words)))
        if language not in (None, ENGLISH):
            from vaultsync.recall.glosses import translated_terms  # noqa: PLC0415 - few questions

            translation = translated_terms(words, index, language)
            things += [translation[1]] if translation else []
    left_out = rf"{_ONLY_EXCEPT}\w*\W+(?:\w+\W+){{0,2}}?(?i:{re.escape(excluded)})\b"
    return lambda text: (
        any(0 < len(each.stems) == len(each.matched_words(text)) for each in things)
        and not re.search(left_out, text)
    )


def _is_list(rest: str, sign: str) -> bool:
    """Whether a question is a noun or two, and a sign leaves something out: *all recipes except …*.

    *Berth not for sale* asks for these words, and *What does the cache hold besides sessions?* for
    a fact with them.
    """
    words = re.findall(r"[^\W\d_]+", rest.lower())
    known = function_words(words) | GENERIC
    nouns = [at for at, word in enumerate(words) if word not in known]
    # Before them is at most *which* or *all*.
    is_bare = bool(nouns) and nouns[-1] <= len(nouns) <= _MAX_NOUNS
    return (
        is_bare and OTHER_QUESTION.isdisjoint(words) and bool(compiled(_ONLY_EXCEPT).search(sign))
    )


class Exclusion(NamedTuple):
    """A question without what it excludes."""

    question: str
    excluded: str = ""
    """The words of a topic that it excludes."""
    types: frozenset[str] = frozenset()
    """The other types, if it asks for everything except some types."""


def without_exclusion(question: str, asked_of: Callable[[str], AskedFor]) -> Exclusion:
    """A question for facts of a type or a tag, or for all facts, without what it excludes."""
    spaced = " ".join(question.split())  # the pattern takes long for many spaces
    if japanese := _JAPANESE_EXCEPT.match(spaced):
        rest = spaced[japanese.end() :]
        return Exclusion(rest, japanese["what"]) if asked_of(rest).types else Exclusion(question)
    spaced = f" {spaced}"
    found = _EXCEPT.search(spaced)
    if not found:
        return Exclusion(question)
    rest = spaced[1 : found.start()].rstrip(" ,")
    if rest.lower() in _EVERYTHING:
        rest = "everything"
    asked, sign = asked_of(rest), spaced[found.start() : found.start("what")]
    if asked == AskedFor(order=IMPORTANT):
        others = asked_of(found["what"])
        if others.types and not others.topic:
            return Exclusion(rest, types=frozenset(TYPES) - others.types)
    is_of_tag = "tag" in sign or "#" in found["what"]
    is_set = asked.types or (is_of_tag and asked.order and not asked.topic)  # *notes not tagged …*
    if not (is_set or _is_list(rest, sign)):
        return Exclusion(question)
    # *Tasks not in progress* and *tasks except overdue ones* are those in another state.
    for denied in (question, f"{rest} not {found['what']}"):
        asked = asked_of(denied)
        if asked.state and not asked.topic:
            return Exclusion(denied)
    return Exclusion(rest, found["what"])
