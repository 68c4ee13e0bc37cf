"""An entry of an index file: created from a fact, written as a line, and parsed again.

- [2026-05-06] **Decision** P1 [[path|Title]] · summary · 239 tokens · importance 0.7
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from vaultsync.context_packs.formats import fact_body, is_code, text_paragraphs
from vaultsync.links.wikilinks import is_linkable, percent_decoded, wiki_link
from vaultsync.model.decay import listed_importance
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import RETIRED_STATUSES
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, path_key, stem_of
from vaultsync.model.schema import NAMED_TYPES, TYPES

ENTRY_TITLE_LENGTH = 120
ENTRY_SUMMARY_LENGTH = 120
TYPE_ORDER = {name: number for number, name in enumerate(TYPES)}
"""Type -> its place among the types."""


class IndexEntry(NamedTuple):
    """What index files say of a fact."""

    id: str
    type: str
    priority: int
    title: str
    summary: str
    tokens: int
    day: str
    """ISO date of its creation; empty when unknown."""
    importance: float | None
    entities: tuple[str, ...]
    """Names without brackets."""
    names: tuple[str, ...] = ()
    """Title and aliases of an entity; empty for other facts."""


def entry_of(fact: Fact, count: Callable[[str], int]) -> IndexEntry | None:
    """The entry of a fact; None when it was retired."""
    if fact.status in RETIRED_STATUSES or fact.superseded_by_id is not None:
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
        (fact.title, *fact.aliases) if fact.type in NAMED_TYPES else (),
    )


# ------------------------------------------------------------------------------ lines

_LINK = lazy_pattern(r"!?\[\[([^\[\]|]*?)(?:\\?\|([^\[\]]*))?\]\]|!?\[([^\[\]]*)\]\([^()\s]*\)")
# Each alternative begins with a letter of its own, so that `re` skips all other letters.
_MARKUP = lazy_pattern(
    r"\*+|`+|#(?<!\S#)#*|\\+(?=[\W_]|$)|~~|==|%%.*?(?:%%|$)|<!--.*?(?:-->|$)|\^(?<=\s\^)[\w-]+$"
)
_BRACKETS = str.maketrans("[]|", "()/")
_SKIPPED = lazy_pattern(r"#{1,6}[ \t]|\||<|---|\$\$|%%")
_SEPARATOR = " · "
_LEADING_MARKS, _PUNCTUATION = "> -+", ".:,;!?…。！？"
_MAX_CONTENT, _MAX_PARAGRAPH = 2_000, 600
"""Characters of a content, and of a paragraph, that are searched for a summary."""


def _plain(text: str) -> str:
    """Text in one line, without markup and what an entry is parsed by."""
    if "[" in text:
        text = _LINK.sub(lambda match: match[2] or match[1] or match[3] or "", text)
    return link_safe_title(_MARKUP.sub("", text).replace("·", ","))


def link_safe_title(title: str) -> str:
    """A title in one line, without the brackets and pipes that would end a link.

    Of the characters that are not shown, only those stay that join letters or emoji, or part them.
    """
    text = title.translate(_BRACKETS)
    return " ".join((text if text.isprintable() else "".join(map(_shown, text))).split())


def _shown(char: str) -> str:
    if char.isprintable() or char in "\u200c\u200d":
        return char
    return "" if unicodedata.category(char) == "Cf" else " "


def cut_between_words(text: str, length: int) -> str:
    """Text of at most `length` characters, cut between words with an ellipsis."""
    if len(text) <= length:
        return text
    words = text[: length - 1].rsplit(" ", 1)[0] or text[: length - 1]
    return f"{words.rstrip(' ,;:')}…"


def _summary(fact: Fact) -> str:
    """The first sentences that do not repeat the title, or else the context, in one line."""
    title = _plain(fact.title)
    for block in text_paragraphs(fact.content[:_MAX_CONTENT]):
        if is_code(block) or _SKIPPED.match(block):
            continue
        text = _without_title(title, block[:_MAX_PARAGRAPH].lstrip(_LEADING_MARKS))
        if text:
            return cut_between_words(text, ENTRY_SUMMARY_LENGTH)
    return cut_between_words(_plain(fact.context or ""), ENTRY_SUMMARY_LENGTH)


def _without_title(title: str, block: str) -> str:
    """The text of a paragraph, without the title as its first sentence, line or label.

    A sentence that only begins with the words of the title keeps them.
    """
    text, title_words = _plain(block), title.rstrip(".…")
    line, _, below = block.partition("\n")
    if (_plain(line) if below else text).rstrip(".…") == title_words:
        return _plain(below.lstrip(_LEADING_MARKS))
    rest = text[len(title_words) :]
    is_sentence = not rest or rest[0] in _PUNCTUATION or (title.endswith("…") and rest[0] == " ")
    repeats = text.startswith(title_words) and is_sentence
    return rest.lstrip(_PUNCTUATION + " ") if repeats else text


def entry_line(entry: IndexEntry, path: VaultPath) -> str:
    """The line of an entry, with a link to its note."""
    kind = f"**{entry.type.capitalize()}** P{entry.priority}"
    parts = [
        f"- [{entry.day or 'no date'}] {kind} {link_to(path, entry.title)}",
        entry.summary,
        f"{entry.tokens} tokens",
        "" if entry.importance is None else f"importance {entry.importance:.4g}",
    ]
    return _SEPARATOR.join(part for part in parts if part)


BUCKETS = 256
"""Number of buckets that a long list is divided into, by ids: a change stays in its own."""


def bucket_of(key: str) -> int:
    """The bucket of an id, which no other fact can change."""
    return crc32(key.encode(errors="surrogatepass")) % BUCKETS


class ListedEntry(NamedTuple):
    """An entry with its place: the path of the note, and the line that says all of it."""

    entry: IndexEntry
    path: VaultPath
    line: str

    @classmethod
    def of(cls, entry: IndexEntry, path: VaultPath) -> ListedEntry:
        """The entry of a note at a path."""
        return cls(entry, path, entry_line(entry, path))

    @property
    def id(self) -> str:
        """The id of the fact."""
        return self.entry.id

    @property
    def rank(self) -> tuple[float, int, str]:
        """What entries are sorted by: the most important first, then the newest."""
        importance = listed_importance(self.entry.type, self.entry.importance)
        return -importance, -self.ordinal, self.entry.id

    @property
    def ordinal(self) -> int:
        """The number of its day; 0 without one."""
        return ordinal_of(self.entry.day)

    @property
    def keys(self) -> tuple[str, str]:
        """Type and month: the part of `by-type.md` that it belongs to."""
        return self.entry.type, self.entry.day[:7] or "undated"

    @property
    def size(self) -> int:
        """Bytes of its line."""
        return len(self.line.encode(errors="surrogatepass")) + 1

    @property
    def mentioned(self) -> frozenset[str]:
        """The folded names that it mentions."""
        return frozenset(map(path_key, self.entry.entities))

    @property
    def own_names(self) -> tuple[tuple[int, str], ...]:
        """The folded names of an entity, with what they are: title, alias or file name."""
        if not self.entry.names:
            return ()
        title, *aliases = map(path_key, self.entry.names)
        stem = path_key(stem_of(self.path))
        return (0, title), *((1, each) for each in dict.fromkeys(aliases)), (2, stem)


@lru_cache(maxsize=1024)  # many facts are of one day
def ordinal_of(day: str) -> int:
    """The number of an ISO date; 0 for none."""
    return date.fromisoformat(day).toordinal() if day else 0


def link_to(path: VaultPath, title: str) -> str:
    """A wiki-link to a note, or a markdown link if no wiki-link can name its file."""
    if is_linkable(path) and not _UNUSUAL_BLANK.search(path):
        return wiki_link(path, title)
    quoted = _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), path)
    if path[0].isspace():
        quoted = f"/{quoted}"  # otherwise the blank would be stripped
    # A backslash at the end would escape the bracket.
    text = link_safe_title(title).rstrip("\\")
    return f"[{text or 'a note'}]({quoted})"


_UNSAFE = lazy_pattern(r"[\s%#^|\[\]<>()\"\\]")
# Blanks that Obsidian strips from the target of a link, or replaces.
_UNUSUAL_BLANK = lazy_pattern(r"\A\s|\s(?:\.md)?\Z|[^\S ]", re.IGNORECASE)
_LINE = lazy_pattern(
    r"""-\ \[(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2}|no\ date)\]
    \ \*\*(?P<type>[A-Z][a-z]+)\*\*\ P(?P<priority>[0-4])
    \ (?:\[\[(?P<wiki>[^\[\]|]+)(?:\|(?P<shown>[^\[\]]*))?\]\]
        |\[(?P<text>[^\[\]]*)\]\((?P<path>[^()\s]+)\))
    (?:\ ·\ (?P<summary>[^·]+))??
    \ ·\ (?P<tokens>[0-9]{1,15})\ tokens
    (?:\ ·\ importance\ (?P<importance>[0-9](?:\.[0-9]+)?(?:e-[0-9]+)?))?""",
    re.VERBOSE,
)


def parse_entry_line(line: str) -> tuple[IndexEntry, VaultPath] | None:
    """Parse a line into its entry and the path of the note; None if it is no entry, or damaged.

    A line has no id, so the entry's id is the path, and it has no entities or names.
    """
    match = _LINE.fullmatch(line)
    if match is None or match["type"].lower() not in TYPES:
        return None
    day = "" if match["day"] == "no date" else match["day"]
    try:
        ordinal_of(day)
    except ValueError:
        return None
    wiki = match["wiki"]
    if wiki:
        path = wiki if wiki[-3:].lower() == ".md" else f"{wiki}.md"
    else:
        path = percent_decoded(match["path"].removeprefix("/"))
    importance = match["importance"]
    entry = IndexEntry(
        path,
        match["type"].lower(),
        int(match["priority"]),
        match["shown"] or match["text"] or wiki.rpartition("/")[2],
        match["summary"] or "",
        int(match["tokens"]),
        day,
        float(importance) if importance else None,
        (),
    )
    return entry, VaultPath(path)
