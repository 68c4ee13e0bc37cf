"""Links in JSON Canvas files (https://jsoncanvas.org/spec/1.0): find them, and retarget them.

A card of a file has the path of the file from the root of the vault; a card of text is prose,
in which links are written as in a note.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from unicodedata import normalize

from vaultsync.errors import NoteError, UnreadableNoteError
from vaultsync.links.rewrite import RetargetLink, rewrite_links
from vaultsync.links.wikilinks import WIKI_LINK, Link, find_links
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath
from vaultsync.privacy.placeholders import replace_spans
from vaultsync.storage.vault import Vault

_log = logging.getLogger(__name__)

_LINKING = {"file": "file", "group": "background", "text": "text"}
"""Type of a card -> the key that has its links: a path, or prose."""


class PlacedLink(NamedTuple):
    """A link of a note or on a canvas, and where it is."""

    link: Link
    """That of the card of a file is a path from the root, such as `/people/Alice.md`."""
    written: str
    line: int
    """In the file, from 1; on a canvas, that of the card's text."""


class Canvas(NamedTuple):
    """What a canvas links to."""

    path: VaultPath
    links: tuple[PlacedLink, ...]
    card_ids: frozenset[str]


class _CardText(NamedTuple):
    """A text of a card that can have links."""

    card: int
    key: str
    value: str
    start: int
    end: int
    """The span of its JSON, with the quotes."""


def read_canvas(text: str, path: VaultPath) -> Canvas:
    """The links of a canvas, in the order of the file.

    Raises:
        UnreadableNoteError: it is not a JSON Canvas.
    """
    cards, texts = _texts(text, path)
    links: list[PlacedLink] = []
    line, at = 1, 0
    for each in texts:
        line, at = line + text.count("\n", at, each.start), each.start
        if each.key == "text":
            found = find_links(each.value)
            links += (PlacedLink(x, each.value[x.start : x.end], line) for x in found)
        else:
            place = cards[each.card].get("subpath") if each.key == "file" else None
            place = place if isinstance(place, str) else ""
            link = Link(f"/{each.value}", place, None, embed=True, start=0, end=0, kind=WIKI_LINK)
            links.append(PlacedLink(link, each.value + place, line))
    ids = frozenset(str(card.get("id")) for card in cards)
    return Canvas(path, tuple(links), ids)


def retarget_canvas(
    text: str, path: VaultPath, moved: Mapping[VaultPath, VaultPath], retarget: RetargetLink
) -> str:
    """The text of a canvas with its links retargeted, and every other byte as it was.

    Args:
        text: of the canvas.
        path: of the canvas, for the error.
        moved: old path -> new path, for the cards of files.
        retarget: for the links in cards of text.

    Raises:
        UnreadableNoteError: it is not a JSON Canvas.
    """
    cards, texts = _texts(text, path)
    targets = {normalize("NFC", old): normalize("NFC", new) for old, new in moved.items()}
    edits: list[tuple[int, int, str]] = []
    for each in texts:
        if each.key == "text":
            value = rewrite_links(each.value, retarget)
        else:
            value = targets.get(normalize("NFC", each.value), each.value)
        if value != each.value:
            cards[each.card][each.key] = value
            edits.append((each.start, each.end, _written_like(text[each.start : each.end], value)))
    rewritten = replace_spans(text, edits)
    # A key that a card has twice has one value only.
    return rewritten if _texts(rewritten, path)[0] == cards else text


def iter_canvases(vault: Vault) -> Iterator[Canvas]:
    """The canvases of a vault that can be read, by path."""
    for path in vault.canvases():
        try:
            yield read_canvas(vault.read(path).data.decode(), path)
        except (NoteError, UnicodeDecodeError) as error:
            _log.debug("the links of a canvas were not read: %s", error)


def _texts(text: str, path: VaultPath) -> tuple[list[dict[str, object]], list[_CardText]]:
    """The cards of a canvas, and their texts that can have links."""
    try:
        # Some editors begin a file with a byte order mark, which JSON does not know.
        plain = text.removeprefix("\ufeff")
        cards = [dict(card) for card in json.loads(plain or "{}").get("nodes", ())]
        texts = [
            each
            for each in _strings(text)
            if each.key == _LINKING.get(str(cards[each.card].get("type")))
        ]
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError) as error:
        why = "it is not a JSON Canvas"
        raise UnreadableNoteError(path, why, hint="open it in Obsidian, or move it away") from error
    return cards, texts


_TOKEN = lazy_pattern(r'"(?>(?:[^"\\]++|\\.)*)"|[\[\]{},:]')


def _strings(text: str) -> Iterator[_CardText]:
    """The strings that are values of cards, in valid JSON."""
    way: list[str | int | None] = []
    """The keys and numbers that lead to here; None where a key follows."""
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark == "{":
            way.append(None)
        elif mark == "[":
            way.append(0)
        elif mark in "]}":
            way.pop()
        elif mark == ",":
            at = way[-1]
            way[-1] = at + 1 if isinstance(at, int) else None
        elif mark != ":" and way:
            if way[-1] is None:
                way[-1] = json.loads(mark)
            elif len(way) == 3 and way[0] == "nodes":  # noqa: PLR2004 - nodes, number, key
                _, card, key = way
                if isinstance(card, int) and isinstance(key, str):
                    yield _CardText(card, key, json.loads(mark), *found.span())


def _written_like(before: str, value: str) -> str:
    """A value as JSON that escapes what the JSON before did."""
    old = json.loads(before)
    plain = json.dumps(old, ensure_ascii=False) == before
    return json.dumps(value, ensure_ascii=not plain and json.dumps(old) == before)
