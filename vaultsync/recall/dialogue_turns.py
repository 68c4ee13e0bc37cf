"""Rank the turns of a dialogue by who speaks, what they follow, and whether they can answer.

A turn that asks repeats the words of any question on its topic, and the next turn, which answers,
may have none of them. What is asked about a person was mostly said by that person. If another one
said it of themselves, the memory hardly has an answer. Most turns on a topic name no time and no
number, so if one is asked for, those that do are worth more. Turns on one topic share words that
the question lacks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from itertools import pairwise
from math import fsum
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.indexing.ports import NoteIndex
from vaultsync.indexing.session_context import speaker_names, turn_of
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.fact import ASSISTANT, USER, Fact, is_turn
from vaultsync.recall.answer_kinds import LACKING_FACTOR, AnswerKind, asked_kind
from vaultsync.recall.ranking import rarity

ANSWER_SHARE = 0.3
"""The share of a question's similarity that is added to that of the next turn. Measured: LoCoMo's
MRR rises by 4 to 5 points with 0.2 to 0.5 (docs/decisions/0095)."""
OTHER_SPEAKER_FACTOR = 0.6
"""Factor on the similarity of what a person says who is not the one that the question names.
Measured: with 0.5 to 0.7, LoCoMo's recall@5 rises by 2 to 3 points."""
OTHERS_LEAD = 0.3
"""By how much the similarity of what another person says of themselves must exceed that of all that
the named person says, for the question to be about the wrong person. Measured on LoCoMo: it does
for 40 % of the questions without an answer and 0.7 % of the others; with 0.2 for 44 % and 1.4 %,
and with 0.4 for 31 % and 0.2 % (docs/decisions/0098)."""

FIRST_TURNS = 5
"""The number of first candidates whose order stays."""
SHARED_WITH, SHARED_WORDS, SHARED_SHARE = 3, 10, 0.1
"""How many of them give words, how many words, and the share of the similarity for all of these.
Measured: LoCoMo's recall@10 by the index is 0.790 instead of 0.782 (docs/decisions/0101)."""
MAX_LACKING = 1_000
"""Maximum number of characters of such a turn. A longer one hardly lacks any, and takes longer to
read."""

FOLLOWS_QUESTION = "follows a question on this"
SHARES_WORDS = "shares words with the first hits"
SAID_BY_OTHER = "was said by another person (ranked lower)"

_MARKS = "?？؟"
_ASKS = rf"[{_MARKS}]\W*\Z"
_OF_SELF = r"\b(?:i|me|my|mine|myself|ich|mich|mir|meine?[mnrs]?|j|je|moi|mon|ma|mes|yo|mi|mis)\b"
_MAY_ASK_FOR_OTHER = (
    rf"{_OF_SELF}"
    r"|\b(?:our|us|we|who(?:m|se)?|any(?:body|one)|every(?:body|one)|some(?:body|one)"
    r"|wir|uns|unsere?[mnrs]?|wer|wen|wem|wessen|jemand\w*|alle"
    r"|nous|notre|nos|qui|quelqu|tous|nosotros|nuestr[ao]s?|quién(?:es)?|alguien|todos)\b"
)
"""What a question has that another person may answer with *I*: *Who ordered the flowers for
Anna?*, *What did I tell Anna?*."""
_WORD = r"\w{2,}"
_NOT_ADDRESSED = r"\b(?!\s*[,!?.:;…—-])"
"""After the name of a person who is not addressed: *Anna will send it*, not *Hi Anna!*."""


class RankedTurns(NamedTuple):
    """The similarities of candidates, by what they are in a dialogue."""

    similarities: dict[str, float]
    """Fact id -> similarity, 1 for the best."""
    answers: Mapping[str, str] = MappingProxyType({})
    """Fact id of a turn -> that of the question of another person that directly precedes it."""
    moves: Sequence[tuple[str, str]] = ()
    """Each turn that moved up or down, and why, as a remark for `explain_hit()`."""
    is_of_other: bool = False
    """Whether another person says of themselves what the question asks about the named one."""


def rank_turns(
    similarities: dict[str, float], facts: Mapping[str, Fact], question: str, index: NoteIndex
) -> RankedTurns:
    """Adjust the similarities of turns that persons with names say; others keep theirs.

    Args:
        similarities: fact id -> similarity, 0 to 1.
        facts: the same facts, or more.
        question: as it was written.
        index: what knows the order of turns.
    """
    speakers = {each: name for each in similarities if (name := _person(facts[each]))}
    answers = _answers(speakers, facts, index)
    by_others = _by_others(speakers, facts, question)
    kind = asked_kind(question)
    lacking = set[str]()
    if kind:
        lacking = {x for x in similarities if _lacks(kind, facts[x], speakers.get(x, ""))}
    if not (answers or by_others or lacking or len(speakers) > FIRST_TURNS):
        return RankedTurns(similarities)
    fits = {
        each: before + ANSWER_SHARE * similarities.get(answers.get(each, ""), 0.0)
        for each, before in similarities.items()
    }
    changed = {
        each: fit
        * (OTHER_SPEAKER_FACTOR if each in by_others else 1.0)
        * (LACKING_FACTOR if each in lacking else 1.0)
        for each, fit in fits.items()
    }
    top = max(changed.values()) or 1.0
    moves = [(each, FOLLOWS_QUESTION) for each in answers]
    moves += [(each, SAID_BY_OTHER) for each in by_others]
    moves += [(each, kind.without) for each in lacking] if kind else []
    shared = _shared(changed, facts, speakers, {*index.tokens(question)}, index)
    moves += [(each, SHARES_WORDS) for each in shared]
    return RankedTurns(
        {each: fit / top for each, fit in {**changed, **shared}.items()},
        answers,
        moves,
        _is_of_other(fits, facts, by_others)
        and not re.search(_MAY_ASK_FOR_OTHER, question, re.IGNORECASE),
    )


def _shared(
    fits: Mapping[str, float],
    facts: Mapping[str, Fact],
    speakers: Mapping[str, str],
    asked: Collection[str],
    index: NoteIndex,
) -> dict[str, float]:
    """Fact id -> higher similarity of a turn that shares rare words with the first candidates.

    A kind of *pseudo-relevance feedback* (Rocchio, *Relevance Feedback in Information Retrieval*,
    1971) that leaves the first ones first.
    """
    ranked = sorted(fits, key=lambda each: -fits[each])
    rest = [each for each in ranked[FIRST_TURNS:] if each in speakers]
    if not rest:
        return {}
    first = [each for each in ranked[:SHARED_WITH] if each in speakers]
    words = {each: _words_of(facts[each], speakers[each]) for each in (*first, *rest)}
    stems_of = index.stemmer(" ".join(facts[each].content for each in first))
    stem_of = {x: min(stems_of(x), default=x) for each in first for x in words[each]}
    terms = {each: {stem_of[x] for x in some if x in stem_of} for each, some in words.items()}
    sums = Counter[str]()
    for each in first:
        sums.update(dict.fromkeys(terms[each].difference(asked), fits[each]))
    counts, total = index.facts_with(sums), index.count()
    weights = {x: rarity(counts[x], total) for x in sorted(sums) if counts[x] > 1}
    rarest = nlargest(SHARED_WORDS, weights, key=lambda each: sums[each] * weights[each])
    sizes = {each: fsum(weights[x] for x in rarest if x in terms[each]) for each in rest}
    if not (largest := max(sizes.values())):
        return {}
    below = 0.99 * fits[ranked[FIRST_TURNS - 1]]
    return {
        each: max(fits[each], min(below, fits[each] + SHARED_SHARE * size / largest))
        for each, size in sizes.items()
        if size
    }


def _words_of(fact: Fact, speaker: str) -> set[str]:
    return set(re.findall(_WORD, fact.content.removeprefix(f"{speaker}:").casefold()))


def _lacks(kind: AnswerKind, fact: Fact, speaker: str) -> bool:
    """Whether a fact is a short turn without such an answer; the name of *April* is none."""
    text = fact.content.removeprefix(f"{speaker}:")
    return len(text) <= MAX_LACKING and is_turn(fact) and not kind.is_in(text)


def _person(fact: Fact) -> str:
    """Who says a turn; empty for no turn, for a role without a name, and for a heading."""
    if not is_turn(fact):
        return ""
    name = next(iter(speaker_names(fact.evolve(entities=(), agent_id=None))), "")
    words = name.split()
    is_heading = len(words) > 1 and any(each[0].islower() for each in words)
    return "" if is_heading or name in {ASSISTANT, USER} else name


def _answers(
    speakers: Mapping[str, str], facts: Mapping[str, Fact], index: NoteIndex
) -> dict[str, str]:
    """Fact id -> the question of another person that directly precedes it."""
    pairs = [
        (before, after)
        for before, after in pairwise(sorted(speakers, key=lambda each: _place(facts[each])))
        if speakers[before] != speakers[after]
        and _place(facts[before])[:2] == _place(facts[after])[:2]
        and re.search(_ASKS, facts[before].content)
    ]
    sessions = {turn_of(facts[before]).session for before, _ in pairs}
    # Other turns, which are no candidates, may be between them.
    turns = [each.fact_id for each in sorted(index.turns(sessions, ()))] if sessions else []
    following = dict(pairwise(turns))
    return {after: before for before, after in pairs if following.get(before) == after}


def _place(fact: Fact) -> tuple[str, str, int, str]:
    """The session of a turn, and its place there, as `SessionTurn` orders them."""
    return fact.session_id or "", fact.scope, to_microseconds(fact.created_at), fact.id


def _by_others(speakers: Mapping[str, str], facts: Mapping[str, Fact], question: str) -> set[str]:
    """The turns of persons whom the question does not name, unless they are about one it does."""
    words = {name: re.findall(_WORD, name) for name in set(speakers.values())}
    named = {name for name, parts in words.items() if any(_names(question, x) for x in parts)}
    if not named:
        return set()
    parts = "|".join(sorted({part for name in named for part in words[name]}))
    about = re.compile(rf"\b(?:{parts}){_NOT_ADDRESSED}")
    return {
        each
        for each, name in speakers.items()
        if name not in named and not about.search(facts[each].content, len(name) + 1)
    }


def _is_of_other(
    fits: Mapping[str, float], facts: Mapping[str, Fact], by_others: Collection[str]
) -> bool:
    """Whether the best that another person says of themselves leads what the named one says.

    Turns with a question mark only repeat the words of what is asked.
    """

    def states(fact_id: str) -> bool:
        return not any(map(facts[fact_id].content.__contains__, _MARKS))

    by_named = (fit for each, fit in fits.items() if each not in by_others and states(each))
    bound = max(by_named, default=0.0) + OTHERS_LEAD
    return any(
        fits[each] > bound
        and states(each)
        and re.search(_OF_SELF, facts[each].content, re.IGNORECASE)
        for each in by_others
    )


def _names(question: str, word: str) -> bool:
    """Whether a question has a word of a name: *Will*, but not *will*, unless all is lower case."""
    if not word.isascii() and word in question:
        return True  # in Japanese, no space follows
    flags = re.IGNORECASE if question.islower() else 0
    return bool(re.search(rf"\b{word}s?\b", question, flags))
