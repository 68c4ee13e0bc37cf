"""What a memory file says -> what to do about each of its facts.

One rule decides: the file speaks when it changes. What a person or an agent did to a
fact since, in its note or in the store, stands until its section says something new;
then the file's words count. Decision 16 has the reasons.

Which type of fact a section of a memory file is: a guess by its words.

The words are those of seed 000. Its `project` is no type here that a text could have: a
project is an entity, whose name links all that mentions it. Such a section becomes a
note, which fades in half a year; `<!-- type: project -->` makes the entity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from vaultsync.memory_files.match import Known, match
from vaultsync.memory_files.sections import Section, hash_of, normalize
from vaultsync.model.fact import Fact
from vaultsync.model.schema import TYPES, Value


class _In(Enum):
    HEADING = "heading"
    TEXT = "text"


_ROWS = (
    (_In.HEADING, r"prefer|style|convention|always|never", "preference"),
    (_In.HEADING, r"project|repo|stack|deploy", "note"),
    (_In.HEADING, r"decision|chose|decided|rationale", "decision"),
    (_In.HEADING, r"correct|mistake|wrong|fix", "correction"),
    (_In.HEADING, r"task|todo|done|completed", "task"),
    (_In.TEXT, r"prefers?\b|always use|never use|convention", "preference"),
    (_In.TEXT, r"deployed|repository|sprint|deadline", "note"),
    (_In.TEXT, r"decided|chose|because|rationale|trade-?off", "decision"),
    (_In.TEXT, r"was wrong|corrected|mistake|actually", "correction"),
)
"""Where to look, for what, and the type that follows; the first row that is met counts."""
_TABLE = tuple((where, re.compile(words), name) for where, words, name in _ROWS)
OTHERWISE = "fact"


def hinted(section: Section) -> str | None:
    """The type that the section names itself, if there is such a type."""
    hint = (section.type_hint or "").lower()
    return hint if hint in TYPES else None


def guessed(section: Section) -> str:
    """The type by the table."""
    told = {
        _In.HEADING: (section.heading or "").lower(),
        _In.TEXT: section.text.lower(),
    }
    for where, words, name in _TABLE:
        if words.search(told[where]):
            return name
    return OTHERWISE


class Do(Enum):
    """What happens with one section, or with a fact whose section is gone."""

    CREATE = "create"
    UPDATE = "update"
    SAME = "same"
    FORGET = "forget"
    LET_GO = "let_go"
    """The section is gone, but the fact was edited since: it stays and is nobody's."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the file said of a fact the last time it was read."""

    known: Known
    type: str = ""
    certain: bool = True
    """False when it is only guessed from what the fact says now."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the frontmatter says of all facts of a file."""

    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    priority: int | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What to do about one section or fact."""

    do: Do
    section: int | None
    fact_id: str
    """Empty for a fact that gets its id yet."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """What to set, by key."""
    edited: bool = False
    """The fact says, or said, something else than the file had said."""


def type_of(section: Section, metadata: Metadata) -> str:
    """The type that a section has by its hint, its file or its words."""
    return hinted(section) or metadata.type or guessed(section)


def plan_sections(
    sections: Sequence[Section],
    said: Sequence[Said],
    facts: Mapping[str, Fact],
    *,
    before: Metadata,
    now: Metadata,
    again: bool,
) -> list[Step]:
    """A step for each section, in order, and for each fact whose section is gone.

    Args:
        sections: what the file says.
        said: what it said before.
        facts: those of them that the store has.
        before: the frontmatter then.
        now: the frontmatter.
        again: what was done to facts since does not stand; the file says all anew.
    """
    found = match(sections, [each.known for each in said])
    by_id = {each.known.id: each for each in said}
    steps = []
    for number, section in enumerate(sections):
        was = by_id.get(found.get(number, ""))
        if was is None:
            steps.append(Step(Do.CREATE, number, "", new_values(section, now)))
        else:
            fact = facts.get(was.known.id)
            step = _step(number, section, was, fact, again=again, now=now)
            if fact is not None and step.do is not Do.CREATE:
                step = _with_metadata(step, fact, before=before, now=now)
            steps.append(step)
    matched = set(found.values())
    gone = [each for each in said if each.known.id not in matched]
    for each in gone:
        fact = facts.get(each.known.id)
        if fact is not None:
            edited = each.certain and is_edited(fact, each.known)
            do = Do.LET_GO if edited else Do.FORGET
            steps.append(Step(do, None, fact.id, edited=edited))
    return steps


def new_values(section: Section, metadata: Metadata) -> dict[str, Value]:
    """What a new fact says."""
    values: dict[str, Value] = {
        "title": section.title,
        "content": section.content,
        "type": type_of(section, metadata),
        "tags": list(metadata.tags),
        "entities": list(metadata.entities),
    }
    if metadata.priority is not None:
        values["priority"] = metadata.priority
    return values


def is_edited(fact: Fact, known: Known) -> bool:
    """Whether a fact says something else than its section said."""
    return fact.title != known.title or hash_of(fact.content) != known.body


def _step(
    number: int,
    section: Section,
    was: Said,
    fact: Fact | None,
    *,
    again: bool,
    now: Metadata,
) -> Step:
    known = was.known
    speaks = again or not was.certain
    new_text = speaks or section.hash != known.hash
    new_title = speaks or section.title != known.title
    kind = type_of(section, now)
    if fact is None:
        if new_text or new_title:
            return Step(Do.CREATE, number, known.id, new_values(section, now))
        return Step(Do.SAME, number, known.id, edited=True)
    edited = was.certain and is_edited(fact, known)
    values: dict[str, Value] = {}
    if new_text and normalize(fact.content) != normalize(section.content):
        values["content"] = section.content
    if new_title and fact.title != section.title:
        values["title"] = section.title
    meant = hinted(section) is not None
    if (
        fact.type != kind
        and (again or (kind != was.type and (meant or fact.type == was.type)))
        and (was.certain or meant or again)
    ):
        values["type"] = kind
    if values:
        return Step(Do.UPDATE, number, fact.id, values, edited=edited)
    differs = fact.title != section.title or (
        normalize(fact.content) != normalize(section.content)
    )
    return Step(Do.SAME, number, fact.id, edited=differs)


def _with_metadata(step: Step, fact: Fact, *, before: Metadata, now: Metadata) -> Step:
    """The step with what changed in the frontmatter since, and nothing else of it."""
    values = dict(step.values)
    for key in ("tags", "entities"):
        old, new = getattr(before, key), getattr(now, key)
        if old == new:
            continue
        held = [each for each in getattr(fact, key) if each in new or each not in old]
        held += [each for each in new if each not in held]
        if tuple(held) != getattr(fact, key):
            values[key] = held
    if now.priority != before.priority and now.priority not in (None, fact.priority):
        values["priority"] = now.priority
    if values == step.values:
        return step
    return Step(Do.UPDATE, step.section, step.fact_id, values, edited=step.edited)
