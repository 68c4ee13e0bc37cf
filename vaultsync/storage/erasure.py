"""Erasing facts: the traces of a fact, and the contract of every place that holds some."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from mmap import mmap
from typing import NamedTuple, Protocol

from vaultsync.model.lazy_pattern import lazy_pattern

_BREAKS = lazy_pattern(r'[\x00-\x1f\x7f"\\<>|`*_\[\]]+|(?<=[.!?。！？])\s+')
"""Where a text is cut: at the ends of sentences, and at what JSON, YAML or a note may escape."""
_WORDS = lazy_pattern(rb"[0-9A-Za-z\x80-\xff]+")
MIN_PIECE, MAX_PIECE = 12, 60
"""Characters. Shorter pieces occur anywhere; a long one may lie across two pages of a file."""
_FEW_FORMS = 64
"""Up to this number, searching each form takes at most half the time of matching each word."""
_NOWHERE: Mapping[tuple[int, int], Mapping[bytes, Sequence[str]]] = {}
_MIN_TEXT = 8
"""Characters of a text that has no piece, and is recognised as a whole."""


def distinctive_pieces(text: str) -> set[str]:
    """Pieces of a text that identify it.

    A text of short lines is its own piece, unless it is a single word, which may occur anywhere.
    """
    pieces = set()
    for part in _BREAKS.split(text):
        sentence = part.strip(" \t#>-.:,;")
        for start in range(0, len(sentence), MAX_PIECE):
            piece = sentence[start : start + MAX_PIECE].strip()
            if len(piece) >= MIN_PIECE:
                pieces.add(piece)
    whole = text.strip()
    is_piece = len(whole) >= _MIN_TEXT and not whole.isalpha()
    return pieces or ({whole} if is_piece else set())


class Traces:
    """The ids of facts, and pieces of their texts, to be looked for in any bytes.

    The time of a search does not depend on how many there are: where there are many, a
    piece is found by the one of its words that the fewest others have.
    """

    def __init__(self, fact_ids: Iterable[str], pieces: Iterable[str] = ()) -> None:
        self.fact_ids = frozenset(fact_ids)
        self.pieces = frozenset(pieces)
        self._by_word: dict[bytes, dict[tuple[int, int], dict[bytes, list[str]]]] = {}
        """Word -> its place in pieces, and their length -> these pieces."""
        self._one_by_one: list[tuple[bytes, str]] = []
        forms = {
            (form, each)
            for each in self.fact_ids | self.pieces
            for form in (each.encode(errors="surrogatepass"), json.dumps(each)[1:-1].encode())
        }
        if len(forms) <= _FEW_FORMS:
            self._one_by_one += forms
            return
        # What stands before or after a piece may continue its first or last word.
        inner = {
            form: [m for m in _WORDS.finditer(form) if m.start() and m.end() < len(form)]
            for form, _ in forms
        }
        frequency = Counter(match[0] for found in inner.values() for match in found)
        for form, name in forms:
            if not inner[form]:
                self._one_by_one.append((form, name))
                continue
            word = min(inner[form], key=lambda m: (frequency[m[0]], m.start() - m.end()))
            places = self._by_word.setdefault(word[0], {})
            alike = places.setdefault((word.start(), len(form)), {})
            alike.setdefault(form, []).append(name)

    def found_in(self, data: bytes | mmap) -> Mapping[str, int]:
        """Which ids and pieces occur in bytes, and how often."""
        counts: dict[str, int] = {}
        for match in _WORDS.finditer(data) if self._by_word else ():
            for (offset, size), forms in self._by_word.get(match[0], _NOWHERE).items():
                start = match.start() - offset
                for name in forms.get(data[start : start + size], ()) if start >= 0 else ():
                    counts[name] = counts.get(name, 0) + 1
        for form, name in self._one_by_one:
            at = data.find(form)
            while at >= 0:
                counts[name] = counts.get(name, 0) + 1
                at = data.find(form, at + 1)
        return counts

    def mentions(self, value: str | bytes | None) -> bool:
        """Whether a value names one of the facts or quotes them."""
        if isinstance(value, str):
            value = value.encode(errors="surrogatepass")
        return bool(value and self.found_in(value))

    def without(self, names: Collection[str]) -> Traces:
        """The traces without those that other facts share."""
        return Traces(self.fact_ids, self.pieces - set(names))


UNREADABLE = "cannot be read"


class Remnant(NamedTuple):
    """A file in which something of an erased fact was found, or that could not be searched."""

    path: str
    what: str
    """What was found: `id`, `text`, `UNREADABLE`, or why the file counts as holding either."""
    hits: int = 1
    of_user: bool = False
    """Whether it is a file of the user, which is not erased."""


class Erasable(Protocol):
    """A part of the memory that holds facts and can erase them."""

    def erase(self, traces: Traces) -> Mapping[str, int]:
        """Erase the facts, and compact its files; idempotent.

        Returns:
            How much was erased, by place.

        Raises:
            VaultsyncError, OSError: not all of it could be erased.
        """


class PurgeIntent(Protocol):
    """The ids of facts that are being purged, kept until the purge is complete."""

    def fact_ids(self) -> tuple[str, ...]:
        """The facts of a purge that did not end; empty when there is none.

        Raises:
            ConfigError: the record is damaged.
        """

    def begin(self, fact_ids: Iterable[str], *, deleted: bool = False) -> None:
        """Note that a purge of these facts begins, or that it has deleted them."""

    def were_deleted(self) -> bool:
        """Whether it has deleted them: those that exist were created again since."""

    def end(self) -> None:
        """Note that it is complete."""


class ByteSearch(Protocol):
    """A search of every byte that is kept of the memory and of its vault."""

    def find(self, traces: Traces, *, erased: bool) -> Iterator[Remnant]:
        """Every file that holds a trace, and what could not be searched.

        With `erased`, too, each file of a compressed format that was written before the
        purge began: what it holds cannot be read by bytes, so only a new one is clean.
        """
