"""Match the sections of a memory file with its facts, and plan what to do about each.

The file has no ids. A section is the fact whose text is the same (a moved section), else the one
with the same content under another heading (renamed), else the one with the same heading (edited),
else one that was removed with this text, else the most similar one. Among equals the order in the
file decides: two equal sections are two facts.

The file wins when it changes. An edit of a fact, in its note or in the store, stands until its
section changes; then the text of the file wins (docs/decisions/0016). A managed section follows
its fact, and edits of both are merged (0068).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct

from vaultsync.markdown.diff3 import merge_text
from vaultsync.memory_files.sections import (
    FileMetadataValues,
    MemoryOutline,
    MemorySection,
    hash_of,
    normalize,
)
from vaultsync.model.fact import Fact
from vaultsync.model.schema import TYPES, Value

MIN_SHARED_WORDS = 0.5
"""Share of common words above which a section counts as an edited fact."""
MAX_COMPARED_PAIRS = 10_000
"""Pairs of texts above which similarity is not computed."""
_TYPE_PATTERNS = tuple(
    (of_heading, re.compile(words), name)
    for of_heading, words, name in (
        (True, r"convention", "convention"),
        (True, r"prefer|style|always|never", "preference"),
        (True, r"project|repo|stack|deploy", "note"),
        (True, r"decision|chose|decided|rationale", "decision"),
        (True, r"correct|mistake|wrong|fix", "correction"),
        (True, r"task|todo|done|completed", "task"),
        (False, r"prefers?\b|always use|never use|convention", "preference"),
        (False, r"deployed|repository|sprint|deadline", "note"),
        (False, r"decided|chose|because|rationale|trade-?off", "decision"),
        (False, r"was wrong|corrected|mistake|actually", "correction"),
    )
)
"""Whether to search the heading or the whole text, for what, and the type; the first match counts.

A section about a project becomes a note, which fades in half a year: a `project` is an entity,
whose name links all that mentions it. `<!-- type: project -->` makes one.
"""


class KnownSection(Struct, frozen=True):
    """A section as it was last read, and its fact."""

    id: str
    """The id of the fact."""
    hash: str
    """The hash of heading and content."""
    body: str
    """Hash of the content alone."""
    title: str
    type: str
    """Empty when the section is only inferred from the fact as it is now."""
    text: str | None = None
    """The last synced content of a managed section."""

    def differs_from(self, fact: Fact) -> bool:
        """Whether the fact is known to have been edited since the section was read."""
        if not self.type:
            return False
        return fact.title != self.title or hash_of(fact.content) != self.body


class SectionAction(Enum):
    """The action for one section, or for a fact whose section is gone."""

    CREATE = "create"
    UPDATE = "update"
    SAME = "same"
    FORGET = "forget"
    DETACH = "let_go"
    """The section is gone, but the fact was edited since: it stays, and belongs to no file."""
    REWRITE = "rewrite"
    """The section is updated after an edit of its fact."""
    REMOVE = "remove"
    """The section is removed with its fact."""
    RETURN = "return"
    """The section is restored with its fact."""


@dataclass(frozen=True, slots=True)
class SectionStep:
    """The planned step for one section or fact."""

    do: SectionAction
    section: int | None
    """Number of the section; None when it is gone from the file."""
    fact_id: str
    """Empty for a new fact."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """The values to set, by key."""
    edited: bool = False
    """Whether the fact differs, or differed, from its section as it was last read."""
    merged: bool = False
    """Whether the section and its fact were edited, and both edits stand."""


def short_with_facts(
    outline: MemoryOutline, known: Sequence[KnownSection], removed: AbstractSet[str]
) -> list[MemorySection]:
    """The sections of a file that are too short for a new fact, but have one already.

    A person who shortens a section does not remove it. `removed` has the hashes of sections that
    were removed with their facts.
    """
    bodies = {each.body for each in known}
    short = [each for each in outline.left_out if each.content]
    kept = [x for x in short if hash_of(x.content) in bodies or x.hash in removed]
    found = {hash_of(each.content) for each in (*outline.sections, *kept)}
    missing = Counter(each.title for each in known if each.body not in found)
    missing -= Counter(each.title for each in outline.sections)
    for each in short:
        if each not in kept and missing[each.title] > 0:
            missing[each.title] -= 1
            kept.append(each)
    return kept


def match_sections(
    sections: Sequence[MemorySection],
    known: Sequence[KnownSection],
    contents: Mapping[str, str],
    removed: AbstractSet[str] = frozenset(),
) -> dict[int, str]:
    """Fact ids by number of section, each id at most once; new sections are missing.

    `contents` are those of the facts now, by id. Sections with the hash of one that was `removed`
    are that one, however similar they are to others.
    """
    matcher = _SectionMatcher(sections, known, contents)
    matcher.match_equal(lambda section: section.hash, lambda fact: fact.hash)
    # The content of a heading without text identifies nothing.
    matcher.match_equal(
        lambda section: hash_of(section.content) if section.content else None,
        lambda fact: fact.body,
    )
    matcher.match_headings()
    changed = [n for n, section in matcher.sections.items() if section.hash not in removed]
    matcher.match_similar(changed, list(matcher.facts), MIN_SHARED_WORDS)
    return matcher.found


class _SectionMatcher:
    def __init__(
        self,
        sections: Sequence[MemorySection],
        known: Sequence[KnownSection],
        contents: Mapping[str, str],
    ) -> None:
        self.found: dict[int, str] = {}
        self.contents = contents
        self.sections = dict(enumerate(sections))
        """Sections without a fact yet."""
        self.facts = {fact.id: fact for fact in known}
        """Facts without a section yet."""

    def match_equal(
        self,
        of_section: Callable[[MemorySection], Hashable],
        of_fact: Callable[[KnownSection], Hashable],
    ) -> None:
        """Match those with the same key, in the order of the file; None matches nothing."""
        ids = defaultdict(list)
        for fact in self.facts.values():
            ids[of_fact(fact)].append(fact.id)
        for number, section in list(self.sections.items()):
            key = of_section(section)
            if key is not None and ids[key]:
                self._match(number, ids[key].pop(0))

    def match_headings(self) -> None:
        """Match those with the same title; of several, the most similar ones first."""
        ids, numbers = defaultdict(list), defaultdict(list)
        for fact in self.facts.values():
            ids[fact.title].append(fact.id)
        for number, section in self.sections.items():
            numbers[section.title].append(number)
        for title in numbers.keys() & ids.keys():
            if len(numbers[title]) > 1 or len(ids[title]) > 1:
                self.match_similar(numbers[title], ids[title], 0.0)
        self.match_equal(lambda section: section.title, lambda fact: fact.title)

    def match_similar(self, numbers: list[int], ids: list[str], minimum: float) -> None:
        """Match the pairs that share more than `minimum` of their words, the best first."""
        if len(numbers) * len(ids) > MAX_COMPARED_PAIRS:
            return
        words = {n: Counter(self.sections[n].content.lower().split()) for n in numbers}
        others = [Counter(self.contents.get(each, "").lower().split()) for each in ids]
        pairs = []
        for number in numbers:
            for at, other in enumerate(others):
                longest = max(words[number].total(), other.total(), 1)
                share = (words[number] & other).total() / longest
                if share > minimum:
                    pairs.append((-share, number, at))
        for _, number, at in sorted(pairs):
            if number in self.sections and ids[at] in self.facts:
                self._match(number, ids[at])

    def _match(self, number: int, fact_id: str) -> None:
        self.found[number] = fact_id
        del self.sections[number], self.facts[fact_id]


def hinted_type(section: MemorySection) -> str | None:
    """The type that the section's marker names, if it is a known type."""
    hint = (section.type_hint or "").lower()
    return hint if hint in TYPES else None


def guessed_type(section: MemorySection) -> str:
    """The type that heading and text suggest."""
    heading, text = (section.heading or "").lower(), section.text.lower()
    for of_heading, words, name in _TYPE_PATTERNS:
        if words.search(heading if of_heading else text):
            return name
    return "fact"


def type_of(section: MemorySection, metadata: FileMetadataValues) -> str:
    """The type of a section by its marker, else by the frontmatter, else guessed."""
    return hinted_type(section) or metadata.type or guessed_type(section)


def plan_sections(
    sections: Sequence[MemorySection],
    last_read: Sequence[KnownSection],
    facts: Mapping[str, Fact],
    *,
    before: FileMetadataValues,
    now: FileMetadataValues,
    again: bool,
    removed: AbstractSet[str] = frozenset(),
) -> list[SectionStep]:
    """A step for each section, in order, then for each fact whose section is gone.

    `facts` are those of `last_read` that are in the store; `removed` has the hashes of sections
    that were removed before. With `again`, the file also wins over edits of its facts since.
    """
    contents = {fact_id: fact.content for fact_id, fact in facts.items()}
    found = match_sections(sections, last_read, contents, removed) if last_read else {}
    by_id = {each.id: each for each in last_read}
    steps = []
    for number, section in enumerate(sections):
        was = by_id.pop(found.get(number, ""), None)
        if was is None:
            values = new_values(section, now)
            steps.append(SectionStep(SectionAction.CREATE, number, "", values))
            continue
        fact = facts.get(was.id)
        if fact is not None:
            text, merged = section.content, False
            if section.follows and not again:
                text, merged = _merged(section, was, fact)
            values = _changed_text(section, text, was, fact, again=again, now=now)
            if values:
                edited = was.differs_from(fact)
            else:
                edited = fact.title != section.title or (
                    normalize(fact.content) != normalize(section.content)
                )
            values |= _changed_metadata(fact, before=before, now=now)
            do = SectionAction.UPDATE if values else SectionAction.SAME
            step = SectionStep(do, number, fact.id, values, edited=edited, merged=merged)
        elif again or (section.hash, section.title) != (was.hash, was.title):
            values = new_values(section, now)
            step = SectionStep(SectionAction.CREATE, number, was.id, values)
        else:
            step = SectionStep(SectionAction.SAME, number, was.id, edited=True)
        steps.append(step)
    for was in by_id.values():
        fact = facts.get(was.id)
        if fact is not None:
            edited = was.differs_from(fact)
            do = SectionAction.DETACH if edited else SectionAction.FORGET
            steps.append(SectionStep(do, None, fact.id, edited=edited))
    return steps


def new_values(section: MemorySection, metadata: FileMetadataValues) -> dict[str, Value]:
    """The values of a new fact."""
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


def _merged(section: MemorySection, was: KnownSection, fact: Fact) -> tuple[str, bool]:
    """The content with the edits of the section and of its fact, and whether both stand.

    Where they contradict each other, that of the section is taken; lines that both insert at
    the same place contradict nothing.
    """
    if was.text is None or not was.differs_from(fact):
        return section.content, False
    texts = [f"{each}\n" for each in (was.text, section.content, fact.content)]
    merged = merge_text(*texts, keep_inserted=True)
    taken = merge_text(*texts, keep_inserted=True, prefer_vault=True) if merged is None else merged
    return (taken or "").removesuffix("\n"), merged is not None


def _changed_text(
    section: MemorySection,
    text: str,
    was: KnownSection,
    fact: Fact,
    *,
    again: bool,
    now: FileMetadataValues,
) -> dict[str, Value]:
    """The text and type to set: what changed in the file, or all that differs with `again`."""
    values: dict[str, Value] = {}
    all_new = again or not was.type
    new_text = all_new or section.hash != was.hash
    if new_text and normalize(fact.content) != normalize(text):
        values["content"] = text
    if (all_new or section.title != was.title) and fact.title != section.title:
        values["title"] = section.title
    kind, hinted = type_of(section, now), hinted_type(section) is not None
    if fact.type != kind and (again or (kind != was.type and (hinted or fact.type == was.type))):
        values["type"] = kind
    return values


def _changed_metadata(
    fact: Fact, *, before: FileMetadataValues, now: FileMetadataValues
) -> dict[str, Value]:
    """What changed in the frontmatter; tags and entities that others added stay."""
    values: dict[str, Value] = {}
    for key in ("tags", "entities"):
        old, new = getattr(before, key), getattr(now, key)
        if old == new:
            continue
        kept = [each for each in getattr(fact, key) if each in new or each not in old]
        kept += [each for each in new if each not in kept]
        if tuple(kept) != getattr(fact, key):
            values[key] = kept
    if now.priority != before.priority and now.priority not in (None, fact.priority):
        values["priority"] = now.priority
    return values
