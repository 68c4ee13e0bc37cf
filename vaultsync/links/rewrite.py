"""Rewrite the targets of links, and nothing else in a note.

Alias, heading, blanks, the kind of the link and every byte around it stay; the result is
parsed again to prove it.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from vaultsync.errors import UnreadableNoteError
from vaultsync.links.wikilinks import (
    DESTINATION,
    MARKDOWN_LINK,
    WIKI_LINK,
    Link,
    LinkResolver,
    find_links,
    is_linkable,
    prose_blocks,
    whole_link,
)
from vaultsync.markdown import frontmatter
from vaultsync.markdown.blocks import TABLE_ROW_BLOCK, TEXT_BLOCK, ProseSpan
from vaultsync.markdown.frontmatter import NoteParts
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, fold_case, parent_folder
from vaultsync.model.schema import Value
from vaultsync.privacy.placeholders import replace_spans


class Retarget(NamedTuple):
    """The new target of a link."""

    target: str
    """As `Link.target`."""
    shown_text: str | None = None
    """The alias for a wiki-link that has none; None adds none."""


RetargetLink: TypeAlias = Callable[[Link], Retarget | None]
"""Returns the new target of a link; None leaves it alone."""


def rewrite_note_links(text: str, path: str, retarget: RetargetLink) -> str:
    """The text of a note with the links of its properties and its body retargeted.

    Raises:
        UnreadableNoteError: the note cannot be parsed.
        UnsafeSpliceError: more than the link of a property might change.
    """
    parts, properties = frontmatter.split_note(text, path)
    body = rewrite_links(parts.body, retarget)
    parts = _relink_properties(parts, properties, path, retarget)
    return parts._replace(body=body).text


def rewrite_links(text: str, retarget: RetargetLink) -> str:
    """The body of a note with its links retargeted; unchanged if that cannot be proved safe."""
    edits: list[tuple[int, int, str]] = []
    before: list[tuple[Link, Retarget | None]] = []
    table_end = -1
    for block, links, _ in prose_blocks(text):
        if _is_table(text, block, table_end):
            table_end = block.end
        for link in links:
            new = _new_target(link, retarget)
            before.append((link, new))
            if new is not None:
                edits += _edits(text, link, new, pipe="\\|" if table_end == block.end else "|")
    if not edits:
        return text
    rewritten = replace_spans(text, sorted(edits))
    after = find_links(rewritten)
    same = len(before) == len(after)
    return rewritten if same and all(map(_is_retargeted, before, after)) else text


def _is_table(text: str, block: ProseSpan, table_end: int) -> bool:
    """Whether a block is a row of a table, a table without outer bars, or goes on with one."""
    if block.kind != TEXT_BLOCK:
        return block.kind == TABLE_ROW_BLOCK
    return block.start == table_end or _DELIMITER_ROW.search(text, *block[:2]) is not None


_DELIMITER_ROW = lazy_pattern(r"^[ \t>]*+:?-++:?[ \t]*+\|[-:| \t\r]*+$", re.MULTILINE)


def _new_target(link: Link, retarget: RetargetLink) -> Retarget | None:
    """The new target of a link, if it differs and the link can hold it."""
    new = retarget(link) if link.target else None
    if new is None or new.target == link.target:
        return None
    if link.kind == WIKI_LINK and not is_linkable(new.target):
        return None
    return new


def _edits(text: str, link: Link, new: Retarget, *, pipe: str) -> list[tuple[int, int, str]]:
    begin = link.start + (1 if link.embed else 0)
    if link.kind == MARKDOWN_LINK:
        return [_edit_destination(text, begin + 1 + len(link.alias or "") + 1, new)]
    start = text.index(link.target, begin + 2)
    edits = [(start, start + len(link.target), new.target)]
    if new.shown_text is not None and link.alias is None:
        edits.append((link.end - 2, link.end - 2, pipe + new.shown_text))
    return edits


def _edit_destination(text: str, position: int, new: Retarget) -> tuple[int, int, str]:
    found = DESTINATION.match(text, position)
    assert found is not None  # noqa: S101 - it is how the link was found
    kind = "angled" if found["angled"] is not None else "bare"
    start, end = found.span(kind)
    place = found[kind].find("#")
    if place >= 0:
        end = start + place - found[kind][:place].endswith("\\")
    encoded = _UNSAFE[kind].sub(
        lambda char: "".join(f"%{byte:02X}" for byte in char[0].encode()), new.target
    )
    return (start, end, encoded)


# Characters that would end the destination, change its meaning, end a table cell, or begin
# code or math.
_UNSAFE = {
    "angled": re.compile(r"[\x00-\x1f\x7f<>\\%#|`$:]"),
    "bare": re.compile(r"[\x00-\x1f\x7f\s<>()\\%#|`$:\"]"),
}


def _is_retargeted(pair: tuple[Link, Retarget | None], after: Link) -> bool:
    """Whether a link is the same, but for its target."""
    before, found = pair
    new = found or Retarget(before.target)
    alias = new.shown_text if before.alias is None else before.alias
    return (
        (after.target, after.subpath, after.embed, after.kind)
        == (new.target, before.subpath, before.embed, before.kind)
        # The text of a markdown link may contain an embed, which is checked by itself.
    ) and (after.alias == alias or before.kind == MARKDOWN_LINK)


def _relink_properties(
    parts: NoteParts, properties: Mapping[str, Value], path: str, retarget: RetargetLink
) -> NoteParts:
    replacements: dict[str, str] = {}
    intended = {key: _relinked(each, retarget, replacements) for key, each in properties.items()}
    if not replacements:
        return parts
    lines = (_line_replaced(line, replacements) for line in parts.yaml.split("\n"))
    edited = parts._replace(yaml="\n".join(lines))
    try:
        if repr(frontmatter.read_properties(edited, path)) == repr(intended):
            return edited
    except UnreadableNoteError:
        pass  # the new name needs other quotes: rewrite the whole value
    changed = {key: each for key, each in intended.items() if each != properties[key]}
    return frontmatter.edit_properties(parts, changed, path, before=properties)


def _relinked(value: Value, retarget: RetargetLink, replacements: dict[str, str]) -> Value:
    """A value with its links retargeted; each text that changes is added to `replacements`."""
    if isinstance(value, str):
        text = value.strip()
        link = whole_link(text)
        new = _new_target(link, retarget) if link else None
        if link is None or new is None:
            return value
        edited = replace_spans(text, sorted(_edits(text, link, new, pipe="|")))
        replacements[value] = value.replace(text, edited)
        return replacements[value]
    if isinstance(value, Mapping):
        return {key: _relinked(each, retarget, replacements) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_relinked(each, retarget, replacements) for each in value]
    return value


def _line_replaced(line: str, replacements: Mapping[str, str]) -> str:
    edits, at = [], 0
    comment = _COMMENT.search(line)
    for mark in _QUOTE.finditer(line, 0, comment.end() if comment else len(line)):
        end = line.find(mark[0], mark.end())
        new = replacements.get(line[mark.end() : end]) if mark.start() >= at and end >= 0 else None
        if new is not None:
            edits.append((mark.end(), end, new))
            at = end + 1
    return replace_spans(line, edits)


_COMMENT = lazy_pattern(r"(?:\A|[ \t])#")
_QUOTE = lazy_pattern(r"[\"']")


class MovedFiles:
    """How links resolved before some files moved, and how they resolve now."""

    def __init__(
        self, before: LinkResolver, now: LinkResolver, moved: Mapping[VaultPath, VaultPath]
    ) -> None:
        self._before = before
        self._now = now
        self.moved = moved
        """Old path -> new path."""
        self._old_paths = {new: old for old, new in moved.items()}

    def retarget(self, path: VaultPath) -> RetargetLink:
        """Retargets the links of the note now at `path` to the files that they led to."""
        source = self._old_paths.get(path, path)

        def new_target(link: Link) -> Retarget | None:
            old = self._before.resolve(link.target, source)
            if old is None:
                return None
            to = self.moved.get(old, old)
            if self._now.resolve(link.target, path) == to:
                return None
            relative = _is_relative(link, source, old)
            whole = not relative and _is_whole_path(link, old)
            text = link_target_text(self._now, to, link, path, relative=relative, whole=whole)
            return Retarget(text) if text else None

        return new_target

    def target_before(self, target: str, path: VaultPath) -> VaultPath | None:
        """The current path of the file that a link in the note now at `path` led to."""
        old = self._before.resolve(target, self._old_paths.get(path, path))
        return self.moved.get(old, old) if old is not None else None

    def target_now(self, target: str, path: VaultPath) -> VaultPath | None:
        """The file that a link in the note at `path` leads to now."""
        return self._now.resolve(target, path)


def link_target_text(
    names: LinkResolver,
    to: VaultPath,
    link: Link,
    source: VaultPath,
    *,
    relative: bool = False,
    whole: bool = False,
) -> str | None:
    """The shortest target of a link from the note at `source` to a file; None if no link can.

    Like `link`, it has or lacks `.md`; `relative` prefers a path from the note, and `whole` one
    from the root of the vault.
    """
    suffix = link.target[-3:].lower() == ".md" and to[-3:].lower() == ".md"
    short = names.link_text(to)
    forms = [short, to, f"/{to}"]
    if whole:
        forms.insert(0, f"/{to}" if link.target.startswith("/") else to)
    if relative:
        path = posixpath.relpath(to, parent_folder(source) or ".")
        dotted = link.target.startswith(".") and not path.startswith(".")
        forms.insert(0, f"./{path}" if dotted else path)
    for form in forms:
        bare = form[:-3] if form[-3:].lower() == ".md" and not suffix else form
        text = f"{bare}.md" if suffix and bare[-3:].lower() != ".md" else bare
        if names.resolve(text, source) == to and (link.kind == MARKDOWN_LINK or is_linkable(text)):
            return unicodedata.normalize("NFC", text)  # as Obsidian writes it
    return None


def _is_whole_path(link: Link, old: VaultPath) -> bool:
    """Whether a markdown link is the path from the root of the vault, as Obsidian can write them.

    Other programs find the file by such a path, and none by its name alone.
    """
    path, whole = fold_case(link.target).removeprefix("/"), fold_case(old)
    return link.kind == MARKDOWN_LINK and "/" in old and path in (whole, whole.removesuffix(".md"))


def _is_relative(link: Link, source: VaultPath, old: VaultPath) -> bool:
    """Whether a link is a path from its note, as other programs read markdown links."""
    if link.target.startswith(("./", "../")):
        return True
    if link.kind != MARKDOWN_LINK or link.target.startswith("/"):
        return False
    path = posixpath.normpath(posixpath.join(parent_folder(source), link.target))
    return old in (path, f"{path}.md")
