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

from vaultsync.memory_files.match import KnownSection, match_sections
from vaultsync.memory_files.sections import MemorySection, hash_of, normalize
from vaultsync.model.fact import Fact
from vaultsync.model.schema import TYPES, Value


class _MatchIn(Enum):
    HEADING = "heading"
    TEXT = "text"


_ROWS = (
    (_MatchIn.HEADING, r"prefer|style|convention|always|never", "preference"),
    (_MatchIn.HEADING, r"project|repo|stack|deploy", "note"),
    (_MatchIn.HEADING, r"decision|chose|decided|rationale", "decision"),
    (_MatchIn.HEADING, r"correct|mistake|wrong|fix", "correction"),
    (_MatchIn.HEADING, r"task|todo|done|completed", "task"),
    (_MatchIn.TEXT, r"prefers?\b|always use|never use|convention", "preference"),
    (_MatchIn.TEXT, r"deployed|repository|sprint|deadline", "note"),
    (_MatchIn.TEXT, r"decided|chose|because|rationale|trade-?off", "decision"),
    (_MatchIn.TEXT, r"was wrong|corrected|mistake|actually", "correction"),
)
"""Where to look, for what, and the type that follows; the first row that is met counts."""
_TABLE = tuple((where, re.compile(words), name) for where, words, name in _ROWS)
DEFAULT_SECTION_TYPE = "fact"


def hinted_type(section: MemorySection) -> str | None:
    """The type that the section names itself, if there is such a type."""
    hint = (section.type_hint or "").lower()
    return hint if hint in TYPES else None


def guessed_type(section: MemorySection) -> str:
    """The type by the table."""
    told = {
        _MatchIn.HEADING: (section.heading or "").lower(),
        _MatchIn.TEXT: section.text.lower(),
    }
    for where, words, name in _TABLE:
        if words.search(told[where]):
            return name
    return DEFAULT_SECTION_TYPE


class SectionAction(Enum):
    """What happens with one section, or with a fact whose section is gone."""

    CREATE = "create"
    UPDATE = "update"
    SAME = "same"
    FORGET = "forget"
    DETACH = "let_go"
    """The section is gone, but the fact was edited since: it stays and is nobody's."""


@dataclass(frozen=True, slots=True)
class LastRead:
    """What the file said of a fact the last time it was read."""

    known: KnownSection
    type: str = ""
    certain: bool = True
    """False when it is only guessed from what the fact says now."""


@dataclass(frozen=True, slots=True)
class FileMetadataValues:
    """What the frontmatter says of all facts of a file."""

    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    priority: int | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class SectionStep:
    """What to do about one section or fact."""

    do: SectionAction
    section: int | None
    fact_id: str
    """Empty for a fact that gets its id yet."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """What to set, by key."""
    edited: bool = False
    """The fact says, or said, something else than the file had said."""


def type_of(section: MemorySection, metadata: FileMetadataValues) -> str:
    """The type that a section has by its hint, its file or its words."""
    return hinted_type(section) or metadata.type or guessed_type(section)


def plan_sections(
    sections: Sequence[MemorySection],
    said: Sequence[LastRead],
    facts: Mapping[str, Fact],
    *,
    before: FileMetadataValues,
    now: FileMetadataValues,
    again: bool,
) -> list[SectionStep]:
    """A step for each section, in order, and for each fact whose section is gone.

    Args:
        sections: what the file says.
        said: what it said before.
        facts: those of them that the store has.
        before: the frontmatter then.
        now: the frontmatter.
        again: what was done to facts since does not stand; the file says all anew.
    """
    found = match_sections(sections, [each.known for each in said])
    by_id = {each.known.id: each for each in said}
    steps = []
    for number, section in enumerate(sections):
        was = by_id.get(found.get(number, ""))
        if was is None:
            steps.append(SectionStep(SectionAction.CREATE, number, "", new_values(section, now)))
        else:
            fact = facts.get(was.known.id)
            step = _step(number, section, was, fact, again=again, now=now)
            if fact is not None and step.do is not SectionAction.CREATE:
                step = _with_metadata(step, fact, before=before, now=now)
            steps.append(step)
    matched = set(found.values())
    gone = [each for each in said if each.known.id not in matched]
    for each in gone:
        fact = facts.get(each.known.id)
        if fact is not None:
            edited = each.certain and is_edited(fact, each.known)
            do = SectionAction.DETACH if edited else SectionAction.FORGET
            steps.append(SectionStep(do, None, fact.id, edited=edited))
    return steps


def new_values(section: MemorySection, metadata: FileMetadataValues) -> dict[str, Value]:
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


def is_edited(fact: Fact, known: KnownSection) -> bool:
    """Whether a fact says something else than its section said."""
    return fact.title != known.title or hash_of(fact.content) != known.body


def _step(
    number: int,
    section: MemorySection,
    was: LastRead,
    fact: Fact | None,
    *,
    again: bool,
    now: FileMetadataValues,
) -> SectionStep:
    known = was.known
    speaks = again or not was.certain
    new_text = speaks or section.hash != known.hash
    new_title = speaks or section.title != known.title
    kind = type_of(section, now)
    if fact is None:
        if new_text or new_title:
            return SectionStep(SectionAction.CREATE, number, known.id, new_values(section, now))
        return SectionStep(SectionAction.SAME, number, known.id, edited=True)
    edited = was.certain and is_edited(fact, known)
    values: dict[str, Value] = {}
    if new_text and normalize(fact.content) != normalize(section.content):
        values["content"] = section.content
    if new_title and fact.title != section.title:
        values["title"] = section.title
    meant = hinted_type(section) is not None
    if (
        fact.type != kind
        and (again or (kind != was.type and (meant or fact.type == was.type)))
        and (was.certain or meant or again)
    ):
        values["type"] = kind
    if values:
        return SectionStep(SectionAction.UPDATE, number, fact.id, values, edited=edited)
    differs = fact.title != section.title or (normalize(fact.content) != normalize(section.content))
    return SectionStep(SectionAction.SAME, number, fact.id, edited=differs)


def _with_metadata(
    step: SectionStep,
    fact: Fact,
    *,
    before: FileMetadataValues,
    now: FileMetadataValues,
) -> SectionStep:
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
    return SectionStep(SectionAction.UPDATE, step.section, step.fact_id, values, edited=step.edited)
