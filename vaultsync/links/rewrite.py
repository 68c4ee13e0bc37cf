"""Rewrite what links lead to, and nothing else of a note.

What is replaced is the target within a link. The alias, the heading, the blanks, the
kind of the link and every byte around it stay, and the result is read again to prove it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from itertools import repeat
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
from vaultsync.markdown.blocks import TABLE_ROW_BLOCK
from vaultsync.markdown.frontmatter import NoteParts
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.model.schema import Value


class Retarget(NamedTuple):
    """What a link shall lead to."""

    target: str
    """As `Link.target`."""
    shown_text: str | None = None
    """What a wiki-link shows that showed its target before."""


RetargetLink: TypeAlias = Callable[[Link], Retarget | None]
"""Says where a link shall lead; None leaves it alone."""


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def rewrite_note_links(text: str, path: str, retarget: RetargetLink) -> str:
    """The text of a note whose links lead elsewhere, in its properties and its body.

    Raises:
        UnreadableNoteError: the note cannot be read.
        UnsafeSpliceError: a property could not be proved to change in its link only.
    """
    parts, properties = frontmatter.split_note(text, path)
    body = rewrite_links(parts.body, retarget)
    parts = _relink_properties(parts, properties, path, retarget)
    return parts._replace(body=body).text


def rewrite_links(text: str, retarget: RetargetLink) -> str:
    """The body of a note whose links lead elsewhere."""
    edits: list[_Edit] = []
    for passage in prose_blocks(text):
        for link in passage.links:
            turn = _retargeted(link, retarget)
            if turn is not None:
                row = passage.block.kind == TABLE_ROW_BLOCK
                edits += _edits(text, link, turn, pipe="\\|" if row else "|")
    made = _applied(text, edits)
    return made if _is_proved(text, made, retarget) else text


def _retargeted(link: Link, retarget: RetargetLink) -> Retarget | None:
    """What a link shall lead to, when that is something else and can be said."""
    turn = retarget(link) if link.target else None
    if turn is None or turn.target == link.target:
        return None
    if link.kind == WIKI_LINK and not is_linkable(turn.target):
        return None
    return turn


def _applied(text: str, edits: list[_Edit]) -> str:
    pieces, at = [], 0
    for start, end, fresh in sorted(edits):
        pieces += [text[at:start], fresh]
        at = end
    return "".join([*pieces, text[at:]])


def _edits(text: str, link: Link, turn: Retarget, *, pipe: str) -> list[_Edit]:
    begin = link.start + (1 if link.embed else 0)
    if link.kind == MARKDOWN_LINK:
        return [_edit_destination(text, begin + 1 + len(link.alias or "") + 1, turn)]
    start = text.index(link.target, begin + 2)
    edits = [_Edit(start, start + len(link.target), turn.target)]
    if turn.shown_text is not None and link.alias is None:
        edits.append(_Edit(link.end - 2, link.end - 2, pipe + turn.shown_text))
    return edits


def _edit_destination(text: str, at: int, turn: Retarget) -> _Edit:
    found = DESTINATION.match(text, at)
    assert found is not None  # noqa: S101 - it is how the link was found
    kind = "angled" if found["angled"] is not None else "bare"
    start, end = found.span(kind)
    place = found[kind].find("#")
    if place >= 0:
        end = start + place - found[kind][:place].endswith("\\")
    return _Edit(start, end, _encoded(turn.target, _UNSAFE[kind]))


# What would end the destination, be read as something else, or hide it in a table.
_UNSAFE = {
    "angled": re.compile(r"[\x00-\x1f\x7f<>\\%#|`]"),
    "bare": re.compile(r"[\x00-\x20\x7f\xa0<>()\\%#|`\"]"),
}


def _encoded(target: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), target)


def _is_proved(old: str, new: str, retarget: RetargetLink) -> bool:
    """Whether the new text has the same links, but for what they lead to."""
    then, now = find_links(old), find_links(new)
    return len(then) == len(now) and all(map(_links_as_meant, then, now, repeat(retarget)))


def _links_as_meant(before: Link, after: Link, retarget: RetargetLink) -> bool:
    turn = _retargeted(before, retarget) or Retarget(before.target)
    alias = turn.shown_text if before.alias is None else before.alias
    if before.kind == MARKDOWN_LINK:
        alias = after.alias  # it may hold an embed, which is judged by itself
    return (after.target, after.subpath, after.alias, after.embed, after.kind) == (
        turn.target,
        before.subpath,
        alias,
        before.embed,
        before.kind,
    )


# ---------------------------------------------------------------------- properties


def _relink_properties(
    parts: NoteParts, properties: Mapping[str, Value], path: str, retarget: RetargetLink
) -> NoteParts:
    fresh: dict[str, str] = {}
    meant = {key: _relinked(value, retarget, fresh) for key, value in properties.items()}
    if not fresh:
        return parts
    made = parts._replace(yaml=_in_quotes(parts.yaml, fresh))
    try:
        if repr(frontmatter.read_properties(made, path)) == repr(meant):
            return made
    except UnreadableNoteError:
        pass  # a name that needs other quotes: the whole value is written anew
    changed = {key: each for key, each in meant.items() if each != properties[key]}
    return frontmatter.edit_properties(parts, changed, path, before=dict(properties))


def _relinked(value: Value, retarget: RetargetLink, fresh: dict[str, str]) -> Value:
    """A value whose links lead elsewhere; `fresh` gets each text that changes."""
    if isinstance(value, str):
        link = whole_link(value.strip())
        turn = _retargeted(link, retarget) if link else None
        if link is None or turn is None:
            return value
        made = value.strip()
        fresh[value] = value.replace(made, _applied(made, _edits(made, link, turn, pipe="|")))
        return fresh[value]
    if isinstance(value, Mapping):
        return {key: _relinked(each, retarget, fresh) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_relinked(each, retarget, fresh) for each in value]
    return value


def _in_quotes(yaml: str, fresh: Mapping[str, str]) -> str:
    """Properties with texts replaced where they stand in quotes, not in comments."""

    def replaced(found: re.Match[str]) -> str:
        line = yaml.rfind("\n", 0, found.start()) + 1
        if _COMMENT.search(yaml, line, found.start()):
            return found[0]
        return f"{found[1]}{fresh[found[2]]}{found[1]}"

    texts = "|".join(re.escape(text) for text in sorted(fresh, key=len, reverse=True))
    return re.sub(rf"([\"'])({texts})\1", replaced, yaml)


_COMMENT = re.compile(r"(?:\A|(?<=\n)|[ \t])#")


# ------------------------------------------------------------------------- moves


class MovedFiles:
    """What links meant before some files moved, and what they mean now."""

    def __init__(
        self,
        before: LinkResolver,
        now: LinkResolver,
        moved: Mapping[VaultPath, VaultPath],
    ) -> None:
        self.before = before
        self.now = now
        self.moved = moved
        """Where each of them was -> where it is."""
        self._was = {new: old for old, new in moved.items()}

    def source(self, path: VaultPath) -> VaultPath:
        """Where the note was that is at `path` now."""
        return self._was.get(path, path)

    def retarget(self, path: VaultPath) -> RetargetLink:
        """Turns the links of the note that is at `path` now to what they meant before."""
        source = self.source(path)

        def turn(link: Link) -> Retarget | None:
            led = self.before.resolve(link.target, source)
            if led is None:
                return None
            to = self.moved.get(led, led)
            if self.now.resolve(link.target, path) == to:
                return None
            relative = _is_relative(link, source, led)
            said = link_target_text(self.now, to, link, path, relative=relative)
            return Retarget(said) if said else None

        return turn


def link_target_text(
    names: LinkResolver,
    to: VaultPath,
    link: Link,
    source: VaultPath,
    *,
    relative: bool = False,
) -> str | None:
    """What a link like `link` in the note at `source` says to lead to a file.

    The shortest name that is unique, else the path; `.md` as the link had it, and a path
    from the note where it had one. None when no such link leads there.
    """
    suffix = link.target[-3:].lower() == ".md" and to[-3:].lower() == ".md"
    short = names.link_text(to)
    forms = [short, to, f"/{to}"]
    if relative:
        path = posixpath.relpath(to, parent_folder(source) or ".")
        dotted = link.target.startswith(".") and not path.startswith(".")
        forms.insert(0, f"./{path}" if dotted else path)
    for form in forms:
        bare = form[:-3] if form[-3:].lower() == ".md" and not suffix else form
        said = f"{bare}.md" if suffix and bare[-3:].lower() != ".md" else bare
        if names.resolve(said, source) == to and (link.kind == MARKDOWN_LINK or is_linkable(said)):
            return said
    return None


def _is_relative(link: Link, source: VaultPath, led: VaultPath) -> bool:
    """Whether a link says the way from its note, as other programs read markdown links."""
    if link.target.startswith(("./", "../")):
        return True
    if link.kind != MARKDOWN_LINK or link.target.startswith("/"):
        return False
    path = posixpath.normpath(posixpath.join(parent_folder(source), link.target))
    return led in (path, f"{path}.md")
