"""Links between notes: parse them, resolve them as Obsidian does, write them."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple, TypeVar

from vaultsync.errors import AmbiguousNameError, NotFoundError
from vaultsync.markdown.blocks import ProseSpan, prose_spans
from vaultsync.model.canonical import link_name
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, file_name_of, fold_case, parent_folder, stem_of

T = TypeVar("T")

WIKI_LINK = "wiki"
MARKDOWN_LINK = "markdown"


class Link(NamedTuple):
    """A link in a text."""

    target: str
    """As written, percent-decoded in a markdown link, without subpath and surrounding
    blanks. Empty for a place in the same note."""
    subpath: str
    """`#Heading`, `#^block` or empty."""
    alias: str | None
    """The text that is shown instead of the target."""
    embed: bool
    start: int
    end: int
    """The span of the whole link in the text, brackets and `!` included."""
    kind: str
    """`WIKI_LINK` or `MARKDOWN_LINK`."""


def find_links(text: str) -> list[Link]:
    """The links in the body of a note, ordered by position.

    As in Obsidian, code, math, comments, escaped brackets and web addresses are not links.
    Spans nest only where an embed is the text of a link.
    """
    if "](" not in text:
        if "[[" not in text:
            return []
        if not any(mark in text for mark in _HIDING_MARKS):
            places = ((found, found.start()) for found in _WIKI.finditer(text))
            links = (_wiki(found, embed=at > 0 and text[at - 1] == "!") for found, at in places)
            return list(filter(None, links))
    found = [
        link
        for start, end, *_ in prose_spans(text)
        if text.find("[", start, end) >= 0
        for link in _Paragraph(text, start, end).links()
    ]
    return sorted(found, key=attrgetter("start"))


class ProseBlock(NamedTuple):
    """A block of prose, with its links and the spans that are not prose."""

    block: ProseSpan
    links: Sequence[Link]
    opaque: Sequence[tuple[int, int]]
    """The spans of code, math and comments."""


def prose_blocks(text: str) -> list[ProseBlock]:
    """The blocks of prose of a text."""
    found = []
    token = -1  # where the next one begins: a block without one needs no search of its own
    for block in prose_spans(text):
        start, end = block[:2]
        if token < start:
            match = _TOKEN.search(text, start)
            token = match.start() if match else len(text)
        if token >= end:
            found.append(tuple.__new__(ProseBlock, (block, (), ())))  # faster than its constructor
            continue
        scan = _Paragraph(text, start, end)
        links = sorted(scan.links(), key=attrgetter("start"))
        found.append(ProseBlock(block, links, scan.opaque))
    return found


def whole_link(text: str) -> Link | None:
    """The link that a text consists of, of either kind; None if it is anything else, or more."""
    found = _WIKI.fullmatch(text)
    if found:
        return _wiki(found, embed=False)
    if text[:1] == "[" and text[-1:] == ")":
        for link in find_links(text):
            if (link.start, link.end) == (0, len(text)):
                return link
    return None


def _wiki(found: re.Match[str], *, embed: bool) -> Link | None:
    """The link of a match of `_WIKI`, which the `!` of an embed precedes; None for `[[]]`."""
    inner, bar, alias = found[1].partition("|")
    if bar:
        inner = inner.removesuffix("\\")  # escaped within a table
    target, _, place = inner.partition("#")
    target, place = target.strip(), place.strip()
    if not target and not place:
        return None
    start, end = found.span()
    shown = alias.strip() if bar else None
    return Link(target, place and f"#{place}", shown, embed, start - embed, end, WIKI_LINK)


# Marks that can hide a link. Most texts have none of them and need no scan.
_HIDING_MARKS = ("`", "\\", "$", "<", "\t", "~~~", "%%", "    ")
# Each alternative begins with a letter of its own, so that `re` skips all other letters.
_TOKEN = lazy_pattern(r"\\.|``*|%%|<!--|\$\$?|!\[\[?|\[\[?|\]")
_WIKI = lazy_pattern(r"\[\[(?!\[)((?>(?:[^\r\n\[\]]++|\[(?!\[)|\](?!\]))+))\]\]")
_TICKS = lazy_pattern(r"`+")
# Only the next `$` can close; `$5 and $6` is money.
_MATH = lazy_pattern(r"\$(?![\s$])(?>(?:\\.|[^\n\\$]++)*)(?<!\s)\$(?![0-9])")
# The destination of a markdown link. Repetitions are bounded, so that no text makes the
# search quadratic.
DESTINATION = lazy_pattern(
    r"""\(\s*+(?:<(?P<angled>(?>(?:\\.|[^<>\\\n]){0,2000}))>
    |(?P<bare>(?>(?:\\.|[^\s\\()<>]|\((?>(?:\\.|[^\s\\()<>]){0,2000})\)){0,2000})))
    (?:\s++(?:"(?>(?:\\.|[^"\\]){0,2000})"|'(?>(?:\\.|[^'\\]){0,2000})'))?\s*+\)""",
    re.VERBOSE,
)
MAX_LINK_TEXT = 4_000
"""Characters of the text of a markdown link; what is nested deeper would be copied many times."""
_WEB = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.\-]*:|//")
_ESCAPED = lazy_pattern(r"\\([!-/:-@\[-`{-~])")
_PERCENT = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")


class _Paragraph:
    """One scan of the tokens of a paragraph."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._at = start
        self._end = end
        self._links: list[Link] = []
        self._openers: list[tuple[int, bool]] = []
        """Positions of brackets that may begin a link, and whether it would be an embed."""
        self._linked = start
        """The end of the last link: links do not nest, so no bracket before it begins one."""
        self._unclosed: set[str] = set()
        self._ticks: dict[int, list[int]] | None = None
        """The positions of runs of backticks, by their length."""
        self.opaque: list[tuple[int, int]] = []

    def links(self) -> list[Link]:
        search, text, end, openers = _TOKEN.search, self._text, self._end, self._openers
        while found := search(text, self._at, end):
            mark, self._at = found[0], found.end()
            if mark == "]":
                if openers:
                    self._close_bracket()
            elif mark == "[":
                openers.append((found.start(), False))
            else:
                self._take(mark, found.start())
        return self._links

    def _take(self, mark: str, start: int) -> None:
        if mark.endswith("[["):
            self._wiki(start)
        elif mark == "![":
            self._openers.append((start, True))
        elif mark[0] == "`":
            self._skip_code(start, len(mark))
        elif mark == "$":
            math = _MATH.match(self._text, start, self._end)
            if math:
                self._skip_to(start, math.end())
        elif mark[0] != "\\":
            closer = "-->" if mark == "<!--" else mark
            self._skip(mark, start, closer)

    def _skip(self, mark: str, start: int, closer: str) -> None:
        if mark in self._unclosed:
            return
        found = self._text.find(closer, self._at, self._end)
        if found >= 0:
            self._skip_to(start, found + len(closer))
        else:
            self._unclosed.add(mark)

    def _skip_code(self, start: int, length: int) -> None:
        """Skip inline code; only a run of as many backticks closes it."""
        if self._ticks is None:
            self._ticks = {}
            for run in _TICKS.finditer(self._text, start, self._end):
                self._ticks.setdefault(len(run[0]), []).append(run.start())
        runs = self._ticks.get(length, [])
        number = bisect_left(runs, self._at)
        if number < len(runs):
            self._skip_to(start, runs[number] + length)

    def _skip_to(self, start: int, end: int) -> None:
        self.opaque.append((start, end))
        self._at = end

    def _wiki(self, start: int) -> None:
        embed = self._text[start] == "!"
        inner = start + embed + 2
        # Most brackets of hostile text need no pattern.
        hopeful = self._text[inner : inner + 1] not in "[\r\n"
        found = _WIKI.match(self._text, inner - 2, self._end) if hopeful else None
        if found is None:
            self._openers.append((start, embed))
            self._at = start + 2 if embed else start + 1
            return
        self._at = found.end()
        self._add(_wiki(found, embed=embed), embed=embed)

    def _close_bracket(self) -> None:
        start, embed = -1, False
        while self._openers and start < 0:
            start, embed = self._openers.pop()
            if start < self._linked and not embed:
                start = -1
        if (
            start < 0
            or self._at - start > MAX_LINK_TEXT
            or self._text[self._at : self._at + 1] != "("
        ):
            return
        found = DESTINATION.match(self._text, self._at, self._end)
        if found is None:
            return
        alias = self._text[self._text.index("[", start) + 1 : self._at - 1]
        self._at = found.end()
        angled, bare = found.group("angled", "bare")
        written = bare if angled is None else angled
        if _WEB.match(written):
            return
        if "\\" in written:
            written = _ESCAPED.sub(r"\1", written)
        target, _, place = written.partition("#")
        if "%" in written:
            target, place = percent_decoded(target), percent_decoded(place)
        target, place = target.strip(), place.strip()
        link = Link(target, place and f"#{place}", alias, embed, start, found.end(), MARKDOWN_LINK)
        self._add(link if target or place else None, embed=embed)

    def _add(self, link: Link | None, *, embed: bool) -> None:
        if not embed:
            self._linked = self._at
        if link is not None:
            self._links.append(link)


def percent_decoded(text: str) -> str:
    """A path in a URL as text; what is not UTF-8 stays encoded."""

    def decoded(found: re.Match[str]) -> str:
        try:
            return bytes.fromhex(found[0].replace("%", "")).decode()
        except UnicodeDecodeError:
            return found[0]

    return _PERCENT.sub(decoded, text)


class LinkResolver:
    """Resolves links among the files of a vault, by Obsidian's rule.

    The file at exactly that path wins, then the one in the folder of the linking note, then
    the one with the shortest path. Case and Unicode form do not count, `.md` may be left
    out, and aliases are not followed.
    """

    __slots__ = ("_by_name", "_ends", "_shared")

    def __init__(
        self, by_name: Mapping[str, VaultPath], shared: Mapping[str, Sequence[VaultPath]]
    ) -> None:
        self._by_name = by_name
        """Folded file name -> path, of names that only one file has."""
        self._shared = shared
        """Folded file name -> paths, the shortest first, of names that several files have."""
        self._ends: dict[str, dict[str, VaultPath]] = {}
        """Shared name -> end of a folded path -> the first path that ends so."""

    @classmethod
    def of(cls, paths: Iterable[VaultPath]) -> LinkResolver:
        """A resolver for these files; attachments may be among them."""
        by_name: dict[str, VaultPath] = {}
        shared: dict[str, list[VaultPath]] = {}
        for path in paths:
            name = fold_case(path.rpartition("/")[2])
            if (first := by_name.setdefault(name, path)) is not path:
                shared.setdefault(name, [first]).append(path)
        for name, namesakes in shared.items():
            del by_name[name]
            namesakes.sort(key=lambda path: (len(path), path))
        return cls(by_name, shared)

    def resolve(self, target: str, source: VaultPath) -> VaultPath | None:
        """The file that a target leads to from the note at `source`; None if there is none.

        An empty target is the note itself.
        """
        wanted = fold_case(target.strip())
        if not wanted:
            return source
        folder = fold_case(parent_folder(source))
        if wanted.startswith(("./", "../")):
            wanted = posixpath.normpath(f"{folder}/{wanted}" if folder else wanted)
            return self._exactly(wanted)
        if wanted.startswith("/"):
            return self._exactly(wanted[1:])
        return self._best(wanted, folder) or self._best(f"{wanted}.md", folder)

    def _exactly(self, wanted: str) -> VaultPath | None:
        return self._at(wanted) or self._at(f"{wanted}.md")

    def _at(self, folded: str) -> VaultPath | None:
        found = self._ending(folded)
        return found if found and fold_case(found) == folded else None

    def _best(self, wanted: str, folder: str) -> VaultPath | None:
        if file_name_of(wanted) not in self._shared:
            return self._ending(wanted)
        near = self._at(f"{folder}/{wanted}") if folder else None
        return self._at(wanted) or near or self._ending(wanted)

    def _ending(self, wanted: str) -> VaultPath | None:
        """The file with the shortest path that ends so, after a `/`."""
        name = file_name_of(wanted)
        if (only := self._by_name.get(name)) is not None:
            return only if f"/{fold_case(only)}".endswith(f"/{wanted}") else None
        if name in self._shared and name not in self._ends:
            ends = self._ends[name] = {}
            for path in self._shared[name]:
                end = fold_case(path)
                while end:
                    ends.setdefault(end, path)
                    end = end.partition("/")[2]
        return self._ends.get(name, {}).get(wanted)

    def candidates(self, target: str, source: VaultPath) -> tuple[VaultPath, ...]:
        """All files that a target could mean, the one that it resolves to first.

        A path from the root or from the note has one candidate at most.
        """
        found = self.resolve(target, source)
        wanted = fold_case(target.strip())
        if found is None or not wanted or wanted.startswith(("./", "../", "/")):
            return () if found is None else (found,)
        path = fold_case(found)
        if path in (wanted, f"{wanted}.md"):
            return (found,)
        tail = f"/{wanted}" if path.endswith(f"/{wanted}") else f"/{wanted}.md"
        alike, others = "/" not in wanted, self._shared.get(file_name_of(path), ())
        others = [p for p in others if p != found and (alike or f"/{fold_case(p)}".endswith(tail))]
        return (found, *others)

    def link_text(self, path: VaultPath) -> str:
        """The target of a link to a file: its name if that is unique, else its path."""
        key = fold_case(name := file_name_of(path))
        text = path if key in self._shared or self._by_name.get(key, path) != path else name
        short = _without_suffix(text)
        # The short form would lead to a file that is called just that, without `.md`.
        key = fold_case(file_name_of(short))
        return text if key in self._by_name or key in self._shared else short


@lru_cache(maxsize=8192)  # the links of a vault lead to few notes, again and again
def name_key(target: str) -> str:
    """A key that a link target shares with the path of every file it can resolve to."""
    key = file_name_of(fold_case(target.strip()))
    while key.endswith(".md"):  # `a.md` may lead to `a.md.md`
        key = key[:-3]
    return key


class NoteNames(NamedTuple):
    """Everything that a note can be called."""

    id: str
    path: str | None
    title: str
    aliases: Sequence[str]

    def rank_of(self, key: str) -> int | None:
        """How a name, as `fold_case()` has it, names the note; None if it does not.

        0 is by id, or the beginning of it, 1 by path, 2 by title or file name, 3 by alias.
        """
        path = fold_case(self.path or "")
        if key == self.id or (self.id.startswith(key) and ID_PREFIX.fullmatch(key)):
            return 0
        if key in (path, path.removesuffix(".md")):
            return 1
        if key in (fold_case(self.title), stem_of(path)):
            return 2
        return 3 if key in map(fold_case, self.aliases) else None


MAX_NAMES_IN_HINT = 5
MIN_PREFIX_LENGTH = 8
"""Minimum length of the beginning of an id that names something."""
ID_PREFIX = lazy_pattern(rf"[0-9a-f-]{{{MIN_PREFIX_LENGTH},}}")


def find_by_name(
    name: str, items: Iterable[T], names_of: Callable[[T], NoteNames], *, kind: str
) -> T:
    """The only item with a name.

    The beginning of an id, of 8 characters or more, wins over a path, a path over a title or
    file name, and that over an alias. Case does not count, and neither do the brackets of
    `[[Name]]`; `kind` is what the items are, for the error.

    Raises:
        NotFoundError: no item has the name.
        AmbiguousNameError: more than one has.
    """
    key = fold_case(link_name(name))
    matches: tuple[list[T], ...] = ([], [], [], [])
    for item in items if key else ():
        rank = names_of(item).rank_of(key)
        if rank is not None:
            matches[rank].append(item)
    found = next(filter(None, matches), [])
    if not found:
        message = f"no {kind} is called {name[:80]!r}"
        forms = (
            f"an id or at least {MIN_PREFIX_LENGTH} characters of it, a path, a title or an alias"
        )
        raise NotFoundError(message, hint=f"give {forms}; recall finds facts by other words")
    if len(found) > 1:
        several = [names_of(each) for each in found[:MAX_NAMES_IN_HINT]]
        listed = [each.path or each.id for each in several]
        raise AmbiguousNameError(kind, name, listed, len(found))
    return found[0]


def _without_suffix(text: str) -> str:
    """Without `.md`, unless the rest ends in `.md` too."""
    short = text[:-3] if text[-3:].lower() == ".md" else text
    return text if short[-3:].lower() == ".md" else short


def wiki_link(path_or_name: str, title: str | None) -> str:
    """A wiki-link that shows the title; always one valid link.

    Brackets, bars and line breaks in the title are replaced by similar characters.
    """
    name = _without_suffix(_UNNAMED.sub(" ", path_or_name).strip())
    shown = _alias(title or "")
    return f"[[{name}|{shown}]]" if shown and shown != name else f"[[{name}]]"


def is_linkable(name: str) -> bool:
    """Whether a wiki-link can hold the name; Obsidian has no escapes for `#^|[]` and `%%`."""
    return _UNLINKABLE.search(name) is None


_UNLINKABLE = lazy_pattern(r"[#^|\[\]\r\n]|%%")
_UNNAMED = lazy_pattern(r"[\[\]|\r\n]")
# Control characters, and those that change the direction of the following text.
_CONTROLS = lazy_pattern(r"[\x00-\x08\x0e-\x1b\x7f\u202a-\u202e\u2066-\u2069]")
_SIMILAR = str.maketrans({"[": "(", "]": ")", "|": "/"})


def _alias(title: str) -> str:
    text = _CONTROLS.sub("", title.translate(_SIMILAR))
    # No comment may begin within a link, nor the marker of the managed block.
    text = text.replace("<!--", "<! --").replace("-->", "-- >")
    text = re.sub("%(?=%)", "% ", text)
    return " ".join(text.split()).rstrip("\\ ")
