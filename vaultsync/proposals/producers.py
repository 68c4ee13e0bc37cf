"""What rules propose: duplicates, contradictions, notes for names, better titles, junk.

Each rule is pure: facts go in, proposals come out. A proposal that is missed costs less than
one that the user has to reject, so each rule leaves out what it is not sure of.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.context_packs.near_duplicates import merged_text, near_duplicate_pairs
from vaultsync.model.decay import last_used
from vaultsync.model.fact import FACT_TITLE_LENGTH, Fact
from vaultsync.model.hiding import RETIRED_STATUSES, is_agents_background
from vaultsync.model.schema import TYPES, Value
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.recall.contradictions import Statement, contradiction, statement_of

RULES = "rules"
"""Who makes these proposals."""
MIN_MENTIONS = 5
"""Facts that name something which has no note, from which on it gets one."""
MIN_NAME_LENGTH = 3
"""Characters of such a name."""
JUNK_DAYS = 90
"""Days for which a fact of the tier background was neither used nor changed."""
MIN_TITLE_WORDS, MAX_TITLE_LENGTH = 3, 60
"""Words and characters of a title that is proposed."""
MAX_SENTENCES = 3
"""Sentences of a fact that may contradict another. Longer texts are documents and messages,
where almost every contradiction that the rules find is none (docs/decisions/0049)."""
RECORDS = frozenset({"episodic", "observation"})
"""Types of what happened: what came later repeats it, or is otherwise, and both hold."""
MAX_SHARING = 50
"""Facts that may have a word in common for it to lead to what contradicts a fact."""


class Candidate(NamedTuple):
    """A proposal that may be made."""

    title: str
    why: str
    scope: str
    changes: tuple[ProposedChange, ...]
    """Without paths; the id of a new fact is empty."""


class Producer(NamedTuple):
    """A row of the table of producers."""

    find: Callable[[Sequence[Fact], datetime], Iterator[Candidate]]
    most: int
    """Proposals of this kind that one run of maintenance makes at most."""


def is_live(fact: Fact) -> bool:
    """Whether nothing retired a fact."""
    return fact.superseded_by_id is None and fact.status not in RETIRED_STATUSES


def _is_statement(fact: Fact) -> bool:
    """Whether a fact says what is so, rather than what happened or was said."""
    return fact.type not in RECORDS and not fact.session_id


def duplicates(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """Two facts of one scope and type say nearly the same: keep one, with what both say.

    The one that goes is an agent's. Names, numbers and denials must be the same in both.
    """
    groups: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in filter(_is_statement, facts):
        groups[fact.scope, fact.type].append(fact)
    for group in groups.values():
        for one, other in near_duplicate_pairs([each.content for each in group]):
            kept, gone = sorted((group[one], group[other]), key=_rank)
            if gone.agent_id is not None and _says_the_same(kept, gone):
                yield _merged(kept, gone)


def _rank(fact: Fact) -> tuple[bool, int, str, str]:
    """Sorts facts by what is kept of several: the user's own, what is used, the oldest."""
    return fact.agent_id is not None, -fact.access_count, fact.created_at, fact.id


def _says_the_same(one: Fact, other: Fact) -> bool:
    if _names(one.content) != _names(other.content):
        return False
    return not contradiction(statement_of(one), statement_of(other))


def _names(text: str) -> Counter[str]:
    """The words in capitals within sentences."""
    return Counter(re.findall(r"(?<![.!?:#>*-] )(?<=\S )[A-ZÀ-ÖØ-Þ]\w+", text))


def _merged(kept: Fact, gone: Fact) -> Candidate:
    wanted: dict[str, Value] = {
        "content": merged_text(kept.content, gone.content),
        "tags": [*dict.fromkeys((*kept.tags, *gone.tags))],
        "entities": [*dict.fromkeys((*kept.entities, *gone.entities))],
    }
    title = f"Merge “{gone.title}” into “{kept.title}”"
    why = f"Both say nearly the same; “{kept.title}” keeps what only the other one says."
    return Candidate(title, why, kept.scope, (_change(kept, wanted), _deletion(gone)))


def contradictions(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """A newer fact of a scope gives another value than an older one, which it supersedes.

    What one merely denies stays: most denials are a turn of speech (docs/decisions/0049).
    """
    statements = map(_values_of, sorted(filter(_is_statement, facts), key=_age))
    some = [each for each in statements if len(each.claims) <= MAX_SENTENCES]
    for at, before in _may_disagree(some):
        newer, older = some[at], some[before]
        if newer.fact.scope != older.fact.scope or newer.fact.supersedes_id is not None:
            continue
        why = contradiction(newer, older)
        if why:
            yield _superseding(newer.fact, older.fact, why)


def _values_of(fact: Fact) -> Statement:
    """What a fact says, as far as it gives amounts, dates and states."""
    found = statement_of(fact)
    claims = tuple(each._replace(denied=False, never=()) for each in found.claims)
    return found._replace(claims=claims)


def _age(fact: Fact) -> tuple[str, str]:
    return fact.created_at, fact.id


def _may_disagree(statements: Sequence[Statement]) -> Iterator[tuple[int, int]]:
    """Pairs that share the rarest word of a sentence, without which they share no subject."""
    frequency = Counter(
        word
        for each in statements
        for word in frozenset().union(*(claim.words for claim in each.claims))
    )
    sharing: defaultdict[str, set[int]] = defaultdict(set)
    rarest: defaultdict[str, set[int]] = defaultdict(set)
    for at, each in enumerate(statements):
        found: set[int] = set()
        own = [claim.words for claim in each.claims if claim.words]
        first = {min(words, key=lambda word: (frequency[word], word)) for words in own}
        for word in frozenset().union(*own):
            found |= rarest[word]  # all words of an older sentence may be in this one
            if word in first and frequency[word] <= MAX_SHARING:
                found |= sharing[word]  # or all of this one in an older one
        yield from ((at, before) for before in sorted(found))
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
    """A name that several facts of a scope mention, and that has no note, gets one."""
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
        values: dict[str, Value] = {"type": "entity", "title": name, "content": "", "scope": scope}
        change = ProposedChange("", "", {}, values, None, name)
        why = f"{number} facts name it, and their links lead nowhere."
        yield Candidate(f"Make a note for “{name}”", why, scope, (change,))


def titles(facts: Sequence[Fact], _now: datetime) -> Iterator[Candidate]:
    """A title that is a sentence cut off gets the first clause of it instead."""
    for fact in facts:
        if not fact.title.endswith("…") or fact.title[:-1] not in " ".join(fact.content.split()):
            continue
        clause = re.split(r"[,;:(]|\s[–—-]\s", fact.title[:-1], maxsplit=1)[0].strip()
        if len(clause) <= MAX_TITLE_LENGTH and len(clause.split()) >= MIN_TITLE_WORDS:
            why = f"The title is a sentence, cut off after {FACT_TITLE_LENGTH} characters."
            change = _change(fact, {"title": clause})
            yield Candidate(f"Call it “{clause}”", why, fact.scope, (change,))


def junk(facts: Sequence[Fact], now: datetime) -> Iterator[Candidate]:
    """An agent's fact of the tier background that nothing ever used goes."""
    until = now - timedelta(days=JUNK_DAYS)
    for fact in facts:
        used = last_used(fact)
        if not is_agents_background(fact) or fact.access_count or not used:
            continue
        if datetime.fromisoformat(used) < until:
            why = f"No answer used it, and it was not changed, since {used[:10]}."
            yield Candidate(f"Delete “{fact.title}”", why, fact.scope, (_deletion(fact),))


def _change(fact: Fact, after: Mapping[str, Value]) -> ProposedChange:
    """A change of the fields that differ; the content must stay what the rule has read."""
    differing = {key: value for key, value in after.items() if fact.plain(key) != value}
    before = {key: fact.plain(key) for key in ("content", *differing)}
    return ProposedChange(fact.id, fact.revision or "", before, differing, None, fact.title)


def _deletion(fact: Fact) -> ProposedChange:
    before: dict[str, Value] = {"content": fact.content}
    return ProposedChange(fact.id, fact.revision or "", before, None, None, fact.title)


PRODUCERS: Mapping[str, Producer] = MappingProxyType(
    {
        "duplicates": Producer(duplicates, 5),
        "contradiction": Producer(contradictions, 5),
        "link": Producer(links, 3),
        "retitle": Producer(titles, 5),
        "junk": Producer(junk, 10),
    }
)
"""THE TABLE of producers, by the kind of their proposals."""
