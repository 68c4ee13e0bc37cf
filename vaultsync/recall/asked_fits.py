"""How well candidates fit a question that names a thing, an identifier, or a type and a topic.

A person is also named by a role, such as *harbour master*.

Loaded for such questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain, pairwise

from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS
from vaultsync.model.dates import TimeSpan
from vaultsync.model.fact import REPORTS, Fact, is_turn
from vaultsync.model.inline_tags import all_tags, may_be_tagged
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.asked_for import status_word
from vaultsync.recall.asked_words import GENERIC, OTHER_QUESTION, AskedFor, word_set
from vaultsync.recall.explanation import QueryTerms
from vaultsync.recall.question_words import QuestionWords
from vaultsync.recall.ranking import (
    ASKED_MISMATCH_FACTOR,
    NAMED_MISMATCH_FACTOR,
    ORDERED_SIMILARITY,
)

_IDENTIFIER = lazy_pattern(
    r"(?<![\w./-])(?:(?=[\w./:-]*[^\W\d_])(?:\w+(?:[._/]|::|-(?=\d)|://))+\w[\w./-]*(?<![./-])"
    r"|\d+(?:\.\d+)+(?![\w-]))"
)
"""A name of code, a path, a number with letters or dots: `cart/totals.py`, `AF-220`, `0.9.2`."""
_PART = lazy_pattern(r"[^\W\d_]{2,}|\d+")
"""A part of an identifier that is more than a letter: *a.m.* and *e.g.* have none."""
_CIRCUMSTANCES = frozenset(
    (
        *("why", "when", "where", "how", "warum", "wieso", "weshalb", "wann", "wo", "wie"),
        *("pourquoi", "quand", "où", "comment", "combien", "por", "¿por", "cuándo", "¿cuándo"),
        *("dónde", "¿dónde", "cómo", "¿cómo", "cuánto", "¿cuánto"),
    )
)
"""First words of questions for a reason, time, place or manner."""
_EVERY = word_set("all every alle sämtliche tous toutes todos todas")
_TAG_WORDS = 2
"""Maximum number of terms that are looked for as tags."""
_NAME_WORDS = 3
"""Maximum number of words of a name that is all of a question."""
_PAST = frozenset(
    (
        *("was", "were", "did", "happened", "war", "waren", "hat", "haben", "hatte", "fand"),
        *("passed", "elapsed", "geschah", "passierte", "passiert", "était", "a", "avons", "ont"),
        *("passé", "fue", "fueron", "hubo", "pasó", "ocurrió"),
    )
)
"""Words of a question for what happened, or when it did."""
_BETWEEN = " \t'’-"


def named_notes(question: str, terms: QueryTerms, things: Iterable[Fact]) -> set[str]:
    """The ids of the notes whose titles or aliases have all words of the question.

    Such as *Clara*, *Who is Clara?*, *Tell me about Clara*; none for *Why Clara?*.
    """
    number = len(terms.stems)
    is_more = number > _NAME_WORDS or _CIRCUMSTANCES.intersection(question.lower().split()[:1])
    return {
        fact.id
        for fact in (() if is_more or not number else things)
        if any(len(terms.matched_words(each)) == number for each in (fact.title, *fact.aliases))
    }


def prefer_identifiers(
    question: str, fits: dict[str, float], facts: Mapping[str, Fact], text_of: Callable[[Fact], str]
) -> None:
    """Raise the fit of facts with the identifiers of the question as written, if there are any."""
    written = (each.lower() for each in _IDENTIFIER.findall(question))
    # Nor is *and/or* a name.
    names = [x for x in written if not FUNCTION_WORDS[ENGLISH].issuperset(_PART.findall(x))]
    texts = {each: text_of(facts[each]).lower() for each in fits} if names else {}
    # `AF-22` is not the beginning of `AF-220`.
    whole = [rf"(?<!\w){re.escape(each)}(?!\w)" for each in names]
    having = {k for k, text in texts.items() if all(re.search(each, text) for each in whole)}
    if having:
        # The rest of the question orders those that have them, as it does the others.
        lead = 1 - NAMED_MISMATCH_FACTOR
        fits.update({k: NAMED_MISMATCH_FACTOR * x + lead * (k in having) for k, x in fits.items()})


def prefer_tagged(
    asked: AskedFor,
    words: QuestionWords,
    fits: dict[str, float],
    facts: Mapping[str, Fact],
    span: TimeSpan | None,
) -> AbstractSet[str]:
    """Raise the fit of facts with tags that are all of the question: *incidents*, *vegan recipes*.

    A status that the author gave counts as a tag: *books read*. A verb of the request does not
    count, nor does a time or an order; if some of these facts are of that time, others do not fit:
    *Which trips did we make last year?*.

    Args:
        asked: what the question asks for.
        words: its words.
        fits: of the candidates; changed.
        facts: the candidates.
        span: the time that it asks for.

    Returns: the facts with these tags.
    """
    every, tokens = {*words.terms.stems}, words.index.tokens
    stems = _requested(asked, words) or every
    if len(stems) > _TAG_WORDS:
        return frozenset()
    tags = {each: {*may_be_tagged(facts[each]), status_word(facts[each])} for each in fits}
    written = {*chain.from_iterable(tags.values())} if stems else ()
    named = {tag: found for tag in written if (found := {*tokens(tag)}) <= stems}

    def is_all(found: Iterable[str]) -> bool:
        return stems == set[str]().union(*(named[each] for each in found if each in named))

    tagged = fits if any(named.values()) else ()
    having = {
        x
        for x in tagged
        if is_all(tags[x]) and is_all((*all_tags(facts[x]), status_word(facts[x])))
    }
    if not having:
        return having
    is_set = span is not None or len(stems) < len(every)
    share = ASKED_MISMATCH_FACTOR if is_set else NAMED_MISMATCH_FACTOR
    lead = 1 - NAMED_MISMATCH_FACTOR
    raised = {each: lead + NAMED_MISMATCH_FACTOR * fits[each] for each in having}
    fits.update({each: share * fit for each, fit in fits.items()} | raised)
    of_time = {each for each in having if span and span.holds(facts[each].created_at)}
    others = having - of_time if of_time else ()
    fits.update({each: ASKED_MISMATCH_FACTOR * fits[each] for each in others})
    return having


def _requested(asked: AskedFor, words: QuestionWords) -> AbstractSet[str]:
    """The terms before the verb of a request, such as *trips*; empty if it is none.

    *What did we make for the trip?* asks for another thing.
    """
    first = words.searched.lower().split()[:1]
    if asked.types or not (_CIRCUMSTANCES | OTHER_QUESTION).isdisjoint(first):
        return frozenset()
    of_word = {word: {*words.stems_of(word)} for word in asked.topic}
    nouns = frozenset[str]().union(*(x for word, x in of_word.items() if word not in GENERIC))
    every = set[str]().union(*(x for word, x in of_word.items() if word in _EVERY))
    lead = next((stem for stem in words.terms.stems if stem not in every), "")
    is_first = asked.order or lead in nouns
    return nouns & {*words.terms.stems} if is_first else frozenset()


def prefer_titled(
    of_type: AbstractSet[str], terms: QueryTerms, fits: dict[str, float], facts: Mapping[str, Fact]
) -> None:
    """Raise the fit of facts of other types whose titles have all words of the question.

    *Piano lessons* are no facts of the type lesson, if a note has that title.
    """
    number = len(terms.stems)
    others = (each for each in fits if each not in of_type)
    fits.update({x: 1.0 for x in others if len(terms.matched_words(facts[x].title)) == number})


def prefer_topic(
    typed: AbstractSet[str],
    words: QuestionWords,
    fits: dict[str, float],
    facts: Mapping[str, Fact],
    cosines: Mapping[str, float],
    *,
    order: str,
) -> None:
    """Change the fits of facts of the type that is asked for (`typed`) by the words of the topic.

    *Decide* in *What did we decide about the pier?* is not what it is about. If an order is
    asked for, all that have the whole topic fit alike.
    """
    topic = _found_topic(words, facts)
    of_type = {x: words.of(facts[x]).keys() for x in fits if x in typed}
    if not order:
        # Others are no first hits, unless they have all of the topic.
        best = max(map(fits.__getitem__, of_type), default=0.0)
        fits.update({each: best for each in of_type if topic <= of_type[each]})
        of_type = {k: x for k, x in of_type.items() if fits[k] >= ORDERED_SIMILARITY}
    about = [each for each, numbers in of_type.items() if topic & numbers]
    most = min((NAMED_MISMATCH_FACTOR * fits[each] for each in about), default=1.0)
    near = min((cosines.get(each, 0.0) for each in about), default=0.0)
    others = (each for each in of_type.keys() - about if cosines.get(each, -1.0) <= near)
    fits.update({each: min(fits[each], most) for each in others})
    if order:
        fits.update({each: 1.0 for each in about if topic <= of_type[each]})


_ROLE = lazy_pattern(
    r"\A(?:#[^\n]*+\s++)?(?P<role>(?!#)[^.,;:\n]{2,60}?)"
    r"(?=[.,;:\n]|\Z|\s++(?:at|of|in|for|since|an|am|bei|von|seit|de|du|en|depuis|del|desde)\s)"
)


def roles_of(fact: Fact) -> tuple[str, ...]:
    """The roles of a person: the field `role`, and the first words of their note."""
    if fact.type != "person":
        return ()
    begin = _ROLE.match(fact.content)
    role = fact.properties.get("role")
    return (*((role,) if isinstance(role, str) else ()), *((begin["role"],) if begin else ()))


def is_role_named(person: Fact, words: QuestionWords, *, least: int) -> bool:
    """Whether a question names a role of `least` words or more, and only words of the note."""
    if not words.are_all_in(person):
        return False
    stems = set(words.terms.stems)
    named = map(set, map(words.index.tokens, roles_of(person)))
    return any(len(each) >= least and each <= stems for each in named)


def is_of_past(question: str) -> bool:
    """Whether a question is about the past: *When was the launch?*, *What happened in Oslo?*."""
    return not _PAST.isdisjoint(question.lower().split()[1:])


def reports_of(words: QuestionWords, facts: Mapping[str, Fact]) -> list[str]:
    """The facts that report the event of a topic: their titles have all of it that any fact has.

    A turn of a dialogue, whose title is what it begins with, may only mention the event.
    """
    reports = [each for each in facts.values() if each.type in REPORTS and not is_turn(each)]
    if not reports:
        return []
    found = _found_topic(words, facts)
    return [each.id for each in reports if found <= words.terms.matched_words(each.title).keys()]


def _found_topic(words: QuestionWords, facts: Mapping[str, Fact]) -> AbstractSet[int]:
    """The terms of the topic that any fact has; if none has one, all of them."""
    return words.topic & set(chain.from_iterable(map(words.of, facts.values()))) or words.topic


def ordered_facts(
    question: str, words: QuestionWords, fits: Mapping[str, float], facts: Mapping[str, Fact]
) -> list[str] | None:
    """The facts of a topic among which the newest or oldest is asked for, those of events if any.

    Titles make a series if they have all of the topic that any fact has: in *When did we last
    see Clara?*, none may have *see*. Without a series, texts may have all of the topic.

    Returns: None if *first* or *last* is part of a name in a title, as in *First boss*, or in
        a text while there is no such series.
    """
    numbers, terms = words.topic, words.terms
    found = _found_topic(words, facts)
    titled = (each for each in fits if not is_turn(facts[each]))
    about = [x for x in titled if found <= terms.matched_words(facts[x].title).keys()]
    texts = {each: facts[each].title for each in about} or {
        each: words.text_of(facts[each]) for each in fits if fits[each] >= ORDERED_SIMILARITY
    }
    pairs = _ordered_pairs(question, numbers, terms)
    if any(pairs & _ordered_pairs(text, numbers, terms) for text in texts.values()):
        return None
    about = about or [each for each in texts if numbers <= words.of(facts[each]).keys()]
    return [each for each in about if facts[each].type in REPORTS] or about


def _ordered_pairs(text: str, numbers: AbstractSet[int], terms: QueryTerms) -> set[tuple[int, int]]:
    """The terms of a topic directly behind a term that is none, such as *last meeting*."""
    return {
        (before[2], behind[2])
        for before, behind in pairwise(terms.positions(text))
        if before[2] not in numbers
        and behind[2] in numbers
        and not text[before[1] : behind[0]].strip(_BETWEEN)
    }
