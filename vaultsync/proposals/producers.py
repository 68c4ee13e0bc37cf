"""The rules for proposals: duplicates, contradictions, notes for names, better titles, junk.

Each rule is pure: facts go in, proposals come out. Precision matters more than recall, because a
missed proposal costs less than one that the user has to reject.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from msgspec import structs

from vaultsync.model.canonical import to_microseconds
from vaultsync.model.decay import last_used
from vaultsync.model.fact import FACT_TITLE_LENGTH, Fact, is_statement
from vaultsync.model.hiding import (
    ARCHIVED,
    OBSERVATION,
    RETIRED_STATUSES,
    is_agents_background,
    original_text,
)
from vaultsync.model.schema import RELATED_KEY, TYPES, Value
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.proposals.near_duplicate_pairs import (
    differing_parts,
    merged_text,
    near_duplicate_pairs,
)
from vaultsync.recall.contradictions import Statement, contradiction, statement_of

RULES = "rules"
"""The author of these proposals."""
MIN_MENTIONS = 5
"""The number of facts that must mention a name without a note before a note is proposed."""
MIN_NAME_LENGTH = 3
"""The minimum length of such a name, in characters."""
JUNK_DAYS = 90
"""The days without use or change after which a background fact counts as junk."""
MIN_TITLE_WORDS, MAX_TITLE_LENGTH = 3, 60
"""The minimum number of words, and maximum number of characters, of a proposed title."""
MAX_SENTENCES = 3
"""Maximum number of sentences of a fact that may contradict another. Longer texts are documents and
messages, in which almost every match of the rules is a false positive (docs/decisions/0049)."""
MAX_SHARING = 50
"""Words that more facts share are not used to find contradictions."""

WINDOW_DAYS = 30
"""The number of days within which observations count as repeated."""
MIN_SEEN = 3
"""Minimum number of repeated observations for which a fact is proposed."""
MAX_EVIDENCE = 50
"""Maximum number of observations listed as evidence of a fact, newest first."""
IMPORTANCE_STEP = 0.1
"""Increase in importance of a fact that was observed again."""
_NUMBERS = re.compile(r"\b(?=\w*\d)[\w.,:/-]*\w")
"""Numbers, times, versions and hashes, which differ from one observation to the next."""
_COLON = r"[*_]*+\s*+(?:\([^)\n]*+\)\s*+)?:"
_FORMS = {
    "decision": (
        rf"(?:decision|decided|entscheidung|beschluss|décision|decisión){_COLON}",
        r"we (?:have )?(?:decided|agreed) (?:to|on|that|not|against)\b",
        r"wir haben (?:entschieden|beschlossen)\b",
        r"(?:nous avons|on a) décidé (?:de|d'|que)\b",
        r"(?:hemos decidido|decidimos) (?:que )?\w",
    ),
    "lesson": (
        rf"(?:lessons?(?: learned)?|lektion|gelernt|leçon|lección){_COLON}",
        r"(?:we|i) learned (?:that|to|not)\b",
        r"(?:the )?lesson (?:learned )?(?:is|was)\b",
    ),
    "convention": (
        rf"(?:conventions?|konvention|convención|house rule){_COLON}",
        r"by convention\b",
        r"our convention is\b",
    ),
    "preference": (
        rf"(?:preference|präferenz|préférence|preferencia){_COLON}",
        r"(?:the )?user prefers\b",
    ),
}
FORMS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        name: re.compile(rf"\W*(?:{'|'.join(words)})", re.IGNORECASE)
        for name, words in _FORMS.items()
    }
)
"""The beginnings of texts that state their type."""


class Candidate(NamedTuple):
    """A change that a rule suggests."""

    title: str
    why: str
    scope: str
    changes: tuple[ProposedChange, ...]
    """Without paths; the id of a new fact is empty."""
    evidence: frozenset[str] = frozenset()
    """The facts that led to it; they lead to no second proposal of this kind."""


class Producer(NamedTuple):
    """A row of the table of producers."""

    find: Callable[[Sequence[Fact], datetime], Iterator[Candidate]]
    most: int
    """Maximum number of proposals of this kind per maintenance run."""
    reads_archived: bool = False
    """Whether it also reads archived observations."""
    by_scope: bool = False
    """Whether it compares only facts of one scope, so that each scope is a step of its own."""


def is_archived_observation(fact: Fact) -> bool:
    """Whether a fact is an observation that was archived as background."""
    return fact.type == OBSERVATION and fact.status == ARCHIVED


def is_live(fact: Fact) -> bool:
    """Whether a fact is neither deleted, superseded, archived nor expired."""
    return fact.superseded_by_id is None and fact.status not in RETIRED_STATUSES


def duplicates(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """Two facts of one scope and type say nearly the same: merge them into one.

    Only an agent's fact is removed. Both must have the same names, numbers and negations.
    """
    groups: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in filter(is_statement, facts):
        groups[fact.scope, fact.type].append(fact)
    for group in groups.values():
        if all(each.agent_id is None for each in group):
            continue  # as in a vault of adopted notes
        for one, other in near_duplicate_pairs([each.content for each in group]):
            kept, duplicate = sorted((group[one], group[other]), key=_rank)
            if duplicate.agent_id is not None and _says_the_same(kept, duplicate):
                yield _merged(kept, duplicate)


def _rank(fact: Fact) -> tuple[bool, int, str, str]:
    """The sort key for which of several facts is kept: the user's own, used ones, the oldest."""
    return fact.agent_id is not None, -fact.access_count, fact.created_at, fact.id


def _says_the_same(one: Fact, other: Fact) -> bool:
    if _names(one.content) != _names(other.content):
        return False
    return not contradiction(statement_of(one), statement_of(other))


def _names(text: str) -> Counter[str]:
    """The capitalised words within sentences."""
    return Counter(re.findall(r"(?<![.!?:#>*-] )(?<=\S )[A-ZÀ-ÖØ-Þ]\w+", text))


def _merged(kept: Fact, duplicate: Fact) -> Candidate:
    values: dict[str, Value] = {
        "content": merged_text(kept.content, duplicate.content),
        "tags": [*dict.fromkeys((*kept.tags, *duplicate.tags))],
        "entities": [*dict.fromkeys((*kept.entities, *duplicate.entities))],
    }
    gone, stays = duplicate.title, kept.title
    title = f"Merge “{gone}” into “{stays}”"
    if gone == stays:  # both may begin alike, and be too long for a title
        gone, stays = differing_parts(duplicate.content, kept.content)
        title = f"Merge two versions of “{kept.title}”: “{gone}” into “{stays}”"
        if gone == stays:
            title = f"Merge two copies of “{kept.title}”"
    why = f"Both say nearly the same; “{stays}” keeps what only the other one says."
    return Candidate(title, why, kept.scope, (_change(kept, values), _deletion(duplicate)))


def contradictions(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """A newer fact of a scope states a different value than an older one: supersede that.

    Denials are not proposed, because most are figures of speech (docs/decisions/0049).
    """
    statements = [*map(_values_of, sorted(filter(is_statement, facts), key=_age))]
    for at, before in _may_disagree(statements):
        newer, older = statements[at], statements[before]
        if newer.fact.scope != older.fact.scope or newer.fact.supersedes_id is not None:
            continue
        why = contradiction(newer, older)
        if why:
            yield _superseding(newer.fact, older.fact, why)


def _values_of(fact: Fact) -> Statement:
    """The amounts, dates and states in a short fact."""
    found = statement_of(fact, maximum=MAX_SENTENCES)
    claims = tuple(structs.replace(each, denied=False, never=()) for each in found.claims)
    return structs.replace(found, claims=claims)


def _age(fact: Fact) -> tuple[str, str]:
    return fact.created_at, fact.id


def _may_disagree(statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    """Pairs of facts that share the rarest word of a sentence, so perhaps a subject."""
    frequency = Counter(
        word
        for each in statements
        for word in frozenset().union(*(claim.words for claim in each.claims))
    )
    sharing: defaultdict[str, set[int]] = defaultdict(set)
    rarest: defaultdict[str, set[int]] = defaultdict(set)
    for at, each in enumerate(statements):
        candidates: set[int] = set()
        own = [claim.words for claim in each.claims if claim.words]
        first = {min(words, key=lambda word: (frequency[word], word)) for words in own}
        for word in frozenset().union(*own):
            candidates |= rarest[word]  # all words of an older sentence may be in this one
            if word in first and frequency[word] <= MAX_SHARING:
                candidates |= sharing[word]  # or all of this one in an older one
        yield from ((at, before) for before in sorted(candidates))
        for word in frozenset().union(*own):
            sharing[word].add(at)
        for word in first:
            if frequency[word] <= MAX_SHARING:
                rarest[word].add(at)


def _superseding(newer: Fact, older: Fact, why: str) -> Candidate:
    return Candidate(
        f"“{newer.title}” supersedes “{older.title}”",
        f"The newer fact contradicts the older one: {why}.",
        newer.scope,
        (_change(older, {"supersededById": newer.id}), _change(newer, {"supersedesId": older.id})),
    )


def links(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """Several facts of a scope mention a name without a note: create one."""
    known: set[str] = set()
    for fact in facts:
        if TYPES[fact.type].named:
            known.update(each.casefold() for each in (fact.title, *fact.aliases))
    mentions = Counter(
        (fact.scope, name) for fact in facts for name in {x.strip() for x in fact.entities}
    )
    for (scope, name), number in mentions.most_common():
        if number < MIN_MENTIONS:
            return
        if name.casefold() in known or len(name) < MIN_NAME_LENGTH or not name[0].isalpha():
            continue
        known.add(name.casefold())
        values: dict[str, Value] = {"type": "entity", "title": name, "content": "", "scope": scope}
        change = ProposedChange("", "", {}, values, None, name)
        why = f"{number} facts mention it, but there is no note for it."
        yield Candidate(f"Create a note for “{name}”", why, scope, (change,))


def titles(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """A title is a truncated sentence: use its first clause."""
    for fact in facts:
        if not fact.title.endswith("…") or fact.title[:-1] not in " ".join(fact.content.split()):
            continue
        clause = re.split(r"[,;:(]|\s[–—-]\s", fact.title[:-1], maxsplit=1)[0].strip()
        if len(clause) <= MAX_TITLE_LENGTH and len(clause.split()) >= MIN_TITLE_WORDS:
            why = f"The title is a sentence, cut off after {FACT_TITLE_LENGTH} characters."
            change = _change(fact, {"title": clause})
            yield Candidate(f"Call it “{clause}”", why, fact.scope, (change,))


def junk(facts: Sequence[Fact], now: datetime) -> Iterator[Candidate]:
    """An agent's background fact was never used: remove it."""
    until = now - timedelta(days=JUNK_DAYS)
    for fact in facts:
        used = last_used(fact)
        if not is_agents_background(fact) or fact.access_count or not used:
            continue
        if datetime.fromisoformat(used) < until:
            why = f"It was neither used in an answer nor changed since {used[:10]}."
            yield Candidate(f"Delete “{fact.title}”", why, fact.scope, (_deletion(fact),))


def consolidations(facts: Sequence[Fact], now: datetime) -> Iterator[Candidate]:
    """Observations of one scope repeat: combine them into one fact that cites them.

    Except for numbers, they say nearly the same, and mention the same names. If a fact already
    says so, its importance is increased instead.
    """
    since = to_microseconds((now - timedelta(days=WINDOW_DAYS)).isoformat())
    groups: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.type != OBSERVATION or to_microseconds(fact.created_at) >= since:
            groups[fact.scope].append(fact)
    for group in groups.values():
        linked = {each for fact in group for each in fact.related_fact_ids}
        open_ = [x for x in group if x.type != OBSERVATION or x.id not in linked]
        if sum(each.type == OBSERVATION for each in open_) < MIN_SEEN:
            continue  # comparing the other facts would take long, for nothing
        for same in _repeating(open_):
            seen = [each for each in same if each.type == OBSERVATION]
            known = [each for each in same if each.type != OBSERVATION and is_statement(each)]
            if len(seen) >= MIN_SEEN:
                seen.sort(key=_age)
                yield _more_important(min(known, key=_rank), seen) if known else _learned(seen)


def _repeating(facts: Sequence[Fact]) -> Iterator[list[Fact]]:
    """Groups of facts that repeat each other.

    Of facts with equal texts, one is compared with the others: a log may have thousands of them.
    """
    equal: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        equal[_NUMBERS.sub(" ", original_text(fact))].append(fact)
    texts = [text for text in equal if text.strip()]
    names = [*map(_names, texts)]
    group_of = [*range(len(texts))]

    def root(at: int) -> int:
        while group_of[at] != at:
            at = group_of[at]
        return at

    for one, other in near_duplicate_pairs(texts):
        if names[one] == names[other]:
            group_of[root(other)] = root(one)
    groups: defaultdict[int, list[Fact]] = defaultdict(list)
    for at, text in enumerate(texts):
        groups[root(at)] += equal[text]
    yield from groups.values()


def _learned(observations: Sequence[Fact]) -> Candidate:
    last = observations[-1]
    values: dict[str, Value] = {
        "type": "fact",
        "content": original_text(last),
        "scope": last.scope,
        "priority": max(min(each.priority for each in observations), 1),
        "entities": [*dict.fromkeys(x for each in observations for x in each.entities)],
        RELATED_KEY: [each.id for each in observations][-MAX_EVIDENCE:],
    }
    title = f"Keep “{last.title}” as one fact"
    change = ProposedChange("", "", {}, values, None, last.title)
    return Candidate(title, _seen_often(observations), last.scope, (change,), _ids(observations))


def _more_important(fact: Fact, observations: Sequence[Fact]) -> Candidate:
    importance = 0.5 if fact.importance is None else fact.importance
    wanted: dict[str, Value] = {
        "importance": round(min(importance + IMPORTANCE_STEP, 1.0), 2),
        RELATED_KEY: [*fact.related_fact_ids, *[x.id for x in observations][-MAX_EVIDENCE:]],
    }
    title = f"“{fact.title}” was seen again"
    change = _change(fact, wanted)
    return Candidate(title, _seen_often(observations), fact.scope, (change,), _ids(observations))


def _ids(facts: Sequence[Fact]) -> frozenset[str]:
    return frozenset(each.id for each in facts)


def _seen_often(observations: Sequence[Fact]) -> str:
    return f"Seen {len(observations)} times since {observations[0].created_at[:10]}."


def retypes(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """A note states its type in its text, such as “Decision: …”: change the type."""
    for fact in facts:
        if fact.type != "note" or fact.session_id:
            continue
        found = [name for name, form in FORMS.items() if form.match(fact.content)]
        if len(found) == 1:
            why = f"Its text has the form of a {found[0]}."
            change = _change(fact, {"type": found[0]})
            title = f"“{fact.title}” is a {found[0]}"
            yield Candidate(title, why, fact.scope, (change,))


def _change(fact: Fact, after: Mapping[str, Value]) -> ProposedChange:
    """A change of the fields that differ, valid while the content is unchanged."""
    differing = {key: value for key, value in after.items() if fact.plain(key) != value}
    return ProposedChange.of(fact, differing, needs=["content"])


def _deletion(fact: Fact) -> ProposedChange:
    return ProposedChange.of(fact, None, needs=["content"])


PRODUCERS: Mapping[str, Producer] = MappingProxyType(
    {
        "duplicates": Producer(duplicates, 5),
        "contradiction": Producer(contradictions, 5),
        "consolidation": Producer(consolidations, 5, reads_archived=True, by_scope=True),
        "link": Producer(links, 3),
        "retype": Producer(retypes, 5),
        "retitle": Producer(titles, 5),
        "junk": Producer(junk, 10),
    }
)
"""Kind of proposal -> its producer."""
