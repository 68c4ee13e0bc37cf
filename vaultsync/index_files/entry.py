"""One line of `.index/`: what it says of a fact, how it is written, how it is read.

- [2026-05-06] **Decision** P1 [[path|Title]] · summary · 239 tokens · importance 0.7
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vaultsync.context_packs.formats import fact_body, is_code, text_paragraphs
from vaultsync.links.wikilinks import is_linkable, wiki_link
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import DEFAULT_STATUS

ENTRY_TITLE_LENGTH = 120
ENTRY_SUMMARY_LENGTH = 120
_ENTITY_TYPES = frozenset({"person", "project", "entity"})


class IndexEntry(NamedTuple):
    """What the tables say of a fact."""

    id: str
    type: str
    priority: int
    title: str
    summary: str
    tokens: int
    day: str
    """When it was created, as an ISO date; empty when nobody knows."""
    importance: float | None
    entities: tuple[str, ...]
    """Names, without brackets."""
    names: tuple[str, ...] = ()
    """What else an entity is called; nothing for other facts."""


def entry_of(fact: Fact, count: Callable[[str], int]) -> IndexEntry | None:
    """The entry of a fact; None when it is not active, or a newer one replaces it."""
    if fact.status != DEFAULT_STATUS or fact.superseded_by_id is not None:
        return None
    body = fact_body(fact)
    return IndexEntry(
        fact.id,
        fact.type,
        fact.priority,
        cut_between_words(link_safe_title(fact.title), ENTRY_TITLE_LENGTH),
        _summary(fact),
        count(f"# {fact.title}\n\n{body}" if body else f"# {fact.title}"),
        fact.created_at[:10],
        fact.importance,
        fact.entities,
        (fact.title, *fact.aliases) if fact.type in _ENTITY_TYPES else (),
    )


# ------------------------------------------------------------------------------ lines

_LINK = re.compile(r"!?\[\[([^\[\]|]*?)(?:\\?\|([^\[\]]*))?\]\]|!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKS = re.compile(r"[*`#\\]+|~~|==|%%.*?(?:%%|$)|<!--.*?(?:-->|$)|\s\^[\w-]+$")
_BRACKETS = str.maketrans("[]|", "()/")
_SKIPPED = re.compile(r"#{1,6}[ \t]|\||<|---|\$\$|%%")
_BETWEEN = " · "
_QUOTES, _ENDS = "> -+", ".:,;!?…。！？"
_LOOKED_INTO, _READ = 2_000, 600
"""Letters of a content, and of a paragraph, in which a summary is looked for."""


def _plain(text: str) -> str:
    """Text in one line, without what markdown or the form of an entry would read."""
    text = _LINK.sub(lambda found: found[2] or found[1] or found[3] or "", text)
    return link_safe_title(_MARKS.sub("", text).replace("·", ","))


def link_safe_title(title: str) -> str:
    """A title in one line, so that it can stand in a link."""
    text = title.translate(_BRACKETS)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def cut_between_words(text: str, length: int) -> str:
    """Text of so many letters at most, cut between words where it is longer."""
    if len(text) <= length:
        return text
    words = text[: length - 1].rsplit(" ", 1)[0] or text[: length - 1]
    return f"{words.rstrip(' ,;:')}…"


def _summary(fact: Fact) -> str:
    """The first sentences that are not the title, else the context; one line."""
    title = _plain(fact.title)
    for block in text_paragraphs(fact.content[:_LOOKED_INTO]):
        if is_code(block) or _SKIPPED.match(block):
            continue
        said = _beyond(title, block[:_READ].lstrip(_QUOTES))
        if said:
            return cut_between_words(said, ENTRY_SUMMARY_LENGTH)
    return cut_between_words(_plain(fact.context or ""), ENTRY_SUMMARY_LENGTH)


def _beyond(title: str, block: str) -> str:
    """What a paragraph says that the title does not.

    The title goes where it is a sentence, a line or a label; a sentence that begins with
    its words needs them.
    """
    said, words = _plain(block), title.rstrip(".…")
    line, _, below = block.partition("\n")
    if _plain(line).rstrip(".…") == words:
        return _plain(below.lstrip(_QUOTES))
    rest = said[len(words) :]
    ends = not rest or rest[0] in _ENDS or (title.endswith("…") and rest[0] == " ")
    return rest.lstrip(_ENDS + " ") if said.startswith(words) and ends else said


def entry_line(entry: IndexEntry, path: VaultPath) -> str:
    """The line of an entry."""
    kind = f"**{entry.type.capitalize()}** P{entry.priority}"
    parts = [
        f"- [{entry.day or 'no date'}] {kind} {link_to(path, entry.title)}",
        entry.summary,
        f"{entry.tokens} tokens",
        "" if entry.importance is None else f"importance {entry.importance:.4g}",
    ]
    return _BETWEEN.join(part for part in parts if part)


def link_to(path: VaultPath, title: str) -> str:
    """A link that leads to the note; a wiki-link unless no wiki-link can name the file."""
    if is_linkable(path) and not _EDGED.search(path):
        return wiki_link(path, title)
    spelled = _UNSAID.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path)
    if path[0].isspace():
        spelled = f"/{spelled}"  # else the blank would be stripped off
    # A backslash at its end would take the bracket for text.
    text = link_safe_title(title).rstrip("\\")
    return f"[{text or 'a note'}]({spelled})"


_UNSAID = re.compile(r"[\s%#^|\[\]<>()\"\\]")
# Blanks that Obsidian strips off the target of a link, or takes for others.
_EDGED = re.compile(r"\A\s|\s(?:\.md)?\Z|[^\S ]", re.IGNORECASE)
_PERCENT = re.compile(r"(?:%[0-9A-F]{2})+")
_LINE = re.compile(
    r"""-\ \[(?P<day>\d{4}-\d\d-\d\d|no\ date)\]
    \ \*\*(?P<type>[A-Z][a-z]+)\*\*\ P(?P<priority>\d)
    \ (?:\[\[(?P<wiki>[^\[\]|]+)(?:\|(?P<shown>[^\[\]]*))?\]\]
        |\[(?P<text>[^\[\]]*)\]\((?P<path>[^()\s]+)\))
    (?:\ ·\ (?P<summary>[^·]+))??
    \ ·\ (?P<tokens>\d+)\ tokens
    (?:\ ·\ importance\ (?P<importance>[\d.e+-]+))?""",
    re.VERBOSE,
)


def parse_entry_line(line: str) -> tuple[IndexEntry, VaultPath] | None:
    """The entry that a line tells of, as far as it tells; None for any other line.

    Its id is the path of its note, for a line has no id.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    path = _path(found["wiki"], found["path"])
    importance = found["importance"]
    entry = IndexEntry(
        path,
        found["type"].lower(),
        int(found["priority"]),
        found["shown"] or found["text"] or found["wiki"].rpartition("/")[2],
        found["summary"] or "",
        int(found["tokens"]),
        "" if found["day"] == "no date" else found["day"],
        float(importance) if importance else None,
        (),
    )
    return entry, VaultPath(path)


def _path(wiki: str | None, spelled: str | None) -> str:
    """The path that a link of one of both kinds names."""
    if wiki:
        return wiki if wiki[-3:].lower() == ".md" else f"{wiki}.md"
    return _PERCENT.sub(
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"),
        (spelled or "").removeprefix("/"),
    )
