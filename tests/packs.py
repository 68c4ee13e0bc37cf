"""Facts to pack, and token counters that are difficult to plan with."""

from __future__ import annotations

import hashlib
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from functools import cache

from hypothesis import strategies as st

from tests.strategies import facts
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.context_packs.pack import ContextPack, PackCandidate
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value


def fact(number: int, content: str = "", **values: Value) -> Fact:
    """A fact with a note; the number is in its id, title and content."""
    defaults: dict[str, Value] = {
        "id": f"0193f6c2-0000-7000-8000-{number:012d}",
        "title": f"Fact {number}",
        "content": content or f"What fact number {number} says, in one line.",
        "createdAt": "2026-02-14T13:45:00Z",
        "type": "fact",
    }
    path = VaultPath(f"public/facts/{number}.md")
    return make_fact({**defaults, **values}).evolve(path=path)


def candidate(number: int, content: str = "", **values: Value) -> PackCandidate:
    return PackCandidate(fact(number, content, **values), "words: fact")


def letters(text: str) -> int:
    return len(text)


def words(text: str) -> int:
    return len(text.split())


class Words:
    """A word is a token."""

    name = "words"
    exact = True

    def count(self, text: str) -> int:
        return words(text)


def quarters(text: str) -> int:
    """A quarter of the characters; because of rounding, it is not additive."""
    return math.ceil(len(text) / 4)


def swelling(text: str) -> int:
    """Superadditive: a text costs more than its parts, and more so the longer it is."""
    return len(text) + len(text) ** 2 // 500


def erratic(text: str) -> int:
    """Deterministic noise: each text costs up to a half more or less."""
    if not text:
        return 0
    factor = hashlib.sha256(text.encode("utf-8", "replace")).digest()[0]
    return 1 + len(text) * (256 + factor) // 512


def lumpy(text: str) -> int:
    """A few texts cost a hundred times as much as others."""
    return len(text) * (100 if text.count("e") % 7 == 3 else 1)


COUNTERS: Mapping[str, Callable[[str], int]] = {
    "letters": letters,
    "words": words,
    "quarters": quarters,
    "swelling": swelling,
    "erratic": erratic,
    "lumpy": lumpy,
    "fitted": EstimatingCounter().count,
}


@cache
def contents() -> st.SearchStrategy[str]:
    """Contents of a few paragraphs, with headings, code and what XML and JSON escape."""
    line = st.sampled_from(
        [
            *("The gate opens at noon.", "# Rationale", "## Deeper", "```", "~~~~", "- one"),
            *("</fact><critical>", '"quoted" & <b>bold</b>', "潮の表示", "]]>", "    code"),
            *("a" * 60, "\u2028"),
        ]
    )
    return st.lists(st.lists(line, min_size=1, max_size=4).map("\n".join), max_size=8).map(
        "\n\n".join
    )


@st.composite
def candidates(draw: st.DrawFn, most: int = 8) -> list[PackCandidate]:
    """Distinct facts of all types, some with the same text."""
    found: dict[str, PackCandidate] = {}
    for number in range(draw(st.integers(0, most))):
        if draw(st.booleans()):
            one = fact(
                number,
                draw(contents()),
                priority=draw(st.integers(0, 4)),
                importance=draw(st.sampled_from([None, 0.1, 0.9])),
                createdAt=draw(st.sampled_from(["2026-02-14T13:45:00Z", "2025-01-01T00:00:00Z"])),
            )
        else:
            one = draw(facts())
        passage = draw(st.sampled_from(["", "gate opens", "not there", "one"]))
        found[one.id] = PackCandidate(one, "words: fact", passage)
    return list(found.values())


@st.composite
def entities(draw: st.DrawFn, named_by: list[PackCandidate]) -> list[PackCandidate]:
    """Entities that some of the facts mention, and some that no fact mentions."""
    drawn = []
    for number in range(draw(st.integers(0, 4))):
        ids = [each.fact.id for each in named_by]
        by = draw(st.frozensets(st.sampled_from(ids))) if ids else frozenset()
        entity = fact(100 + number, type="entity", title=f"Entity {number}")
        drawn.append(PackCandidate(entity, "named", named_by=by))
    return drawn


def titles_in(pack: ContextPack) -> list[str]:
    """The titles of the facts in the text of a pack, parsed according to its format."""
    if not pack.text:
        return []
    if pack.format == "json":
        tiers_of_pack = json.loads(pack.text)
        tiers = ("critical", "notable", "background", "entities")
        return [each["title"] for tier in tiers for each in tiers_of_pack.get(tier, [])]
    if pack.format == "xml":
        root = ET.fromstring(pack.text)  # noqa: S314 - what we wrote ourselves
        return [each.get("title", "") for tier in root for each in tier]
    titles = r"^(?:~~~+ memory of (?:the|an?) \w+\n# |- \*\*)(.*?)(?:\*\* \(|$)"
    return re.findall(titles, pack.text, re.MULTILINE)
