"""Find names in a text, as whole words in any script.

A name in Latin, Cyrillic or Arabic letters must have a word boundary on both sides. Han,
Hiragana and the scripts of Thailand, Laos, Cambodia and Myanmar have no spaces between words:
a name of two or more such characters matches anywhere. A Katakana word ends where the script
changes. A Hangul name may be followed by a particle.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from vaultsync.model.canonical import lower_each
from vaultsync.model.lazy_pattern import compiled, lazy_pattern

MIN_NAME_LENGTH = 2
"""Minimum number of characters of a name."""
CASE_INSENSITIVE_LENGTH = 6
"""A name of at least this many characters, or of two words, matches in any case."""


class Mention(NamedTuple):
    """A place where a text contains a name."""

    start: int
    end: int
    keys: tuple[str, ...]
    """The owners of the name; empty where it is part of a path, an address or the like."""


class NameMatcher:
    """A set of names to search for, by the key of their owner; it can grow and shrink."""

    def __init__(self, names: Mapping[str, Iterable[str]] | None = None) -> None:
        self._owners: dict[str, dict[str, list[str]]] = {}
        """Folded name -> key of the owner -> spellings."""
        self._lengths: dict[str, list[int]] = {}
        """The first folded characters -> the lengths of names, the longest first."""
        self._starts: dict[bool, re.Pattern[str]] = {}
        """Patterns of where a name can begin; see `_starts_in()`."""
        for key, own in (names or {}).items():
            self.add(key, own)

    def add(self, key: str, names: Iterable[str]) -> None:
        """Add names of an owner."""
        for name in names:
            for form in _forms(name):
                spellings = self._owners.setdefault(form, {}).setdefault(key, [])
                spellings.append(" ".join(name.split()))
                if form[:MIN_NAME_LENGTH] not in self._lengths:
                    self._starts.clear()
                lengths = self._lengths.setdefault(form[:MIN_NAME_LENGTH], [])
                if len(form) not in lengths:
                    lengths.append(len(form))
                    lengths.sort(reverse=True)

    def drop(self, key: str, names: Iterable[str]) -> None:
        """Remove names of an owner."""
        for name in names:
            for form in _forms(name):
                owners = self._owners.get(form, {})
                spellings, gone = owners.get(key, []), " ".join(name.split())
                if gone in spellings:
                    spellings.remove(gone)
                if not spellings:
                    owners.pop(key, None)
                if not owners:
                    self._owners.pop(form, None)

    def mentions(self, text: str) -> list[Mention]:
        """Every place where a text contains a name; places may overlap."""
        if not self._owners:
            return []
        folded, known = lower_each(text), self._owners
        spans = [
            (start, start + length)
            for start in map(re.Match.start, self._starts_in(folded).finditer(folded))
            for length in self._lengths.get(folded[start : start + MIN_NAME_LENGTH], ())
            if folded[start : start + length] in known and start + length <= len(text)
        ]
        keys_of: dict[tuple[str, bool], tuple[str, ...]] = {}
        found = (_mention(text, *span, known[folded[slice(*span)]], keys_of) for span in spans)
        return [mention for mention in found if mention is not None]

    def _starts_in(self, folded: str) -> re.Pattern[str]:
        """Matches where one of the names can begin; most texts need only a simple pattern."""
        unspaced = not folded.isascii() and compiled(f"[{_UNSPACED}]").search(folded) is not None
        if unspaced not in self._starts:
            first = "".join(map(re.escape, sorted({form[0] for form in self._lengths})))
            # Not after a letter, unless the script has no spaces.
            place = r"(?<![^\W_])"
            if unspaced:
                place = rf"(?:{place}|(?<=[{_UNSPACED}])|(?=[{_UNSPACED}]))"
            self._starts[unspaced] = re.compile(f"{place}[{first}]")
        return self._starts[unspaced]


def _mention(
    text: str,
    start: int,
    end: int,
    owners: Mapping[str, Sequence[str]],
    keys_of: dict[tuple[str, bool], tuple[str, ...]],
) -> Mention | None:
    """The mention at a place; `keys_of` keeps whom a name means, by how it is written."""
    if not (_is_boundary(text, start) and _is_word_end(text, end)):
        return None
    if _is_part_of_longer(text, start, end):
        return Mention(start, end, ())
    joined = text[start - 1 : start] == "-" or text[end : end + 1] == "-"
    form = text[start:end], joined
    keys = keys_of.get(form)
    if keys is None:
        written = unicodedata.normalize("NFC", form[0])
        keys = keys_of[form] = tuple(
            key
            for key, names in owners.items()
            if any(_case_matches(written, name, joined=joined) for name in names)
        )
    return Mention(start, end, keys) if keys else None


def _forms(name: str) -> list[str]:
    """The folded forms of a name in texts; none if it is too short or has no letter."""
    text = " ".join(name.split())
    if len(text) < MIN_NAME_LENGTH or not any(map(str.isalpha, text)):
        return []
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)
    return [*dict.fromkeys((lower_each(composed), lower_each(decomposed)))]


def _case_matches(written: str, name: str, *, joined: bool) -> bool:
    """Whether the case of a written name is close enough.

    A short name may be written in capitals, but not in lower case: `will` is not Will. Part
    of a hyphenated word, as in `convex-app`, must have the exact case.
    """
    name = unicodedata.normalize("NFC", name)
    if written == name or joined:
        return written == name
    if " " in name or len(name) >= CASE_INSENSITIVE_LENGTH:
        return True
    return all(a == b or a.isupper() for a, b in zip(written, name, strict=False))


_WORD, _SPACELESS, _KATAKANA, _HANGUL = "word", "spaceless", "katakana", "hangul"
_HAN = "\u2e80-\u2fd5\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_SCRIPTS = (
    (_SPACELESS, f"{_HAN}\u3040-\u309f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"),
    (_KATAKANA, "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"),
    (_HANGUL, "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"),
)
_UNSPACED = "".join(chars for _, chars in _SCRIPTS)
_PARTICLES = (
    "은|는|이|가|을|를|의|에|와|과|도|로|으로|에서|에게|에게서|한테|께|께서|만|까지|부터"
    "|처럼|보다|이나|나|랑|이랑|하고|라는|이라는|님|씨"
)
# Part of a path, a tag, an address, a block id or an identifier; directly at a link.
_JOINED_BEFORE = lazy_pattern(r"(?:[@#/\\^~$\]]|(?<=\w)[.:=]|::)\Z")
_JOINED_AFTER = lazy_pattern(r"[@/\\]|\[(?!\^)|[.:=](?=\w)|::|_+(?=[^\W_])|\(\)")


@lru_cache(maxsize=4096)
def _kind(char: str) -> str:
    """The kind of characters that form words with this one; empty for none."""
    for kind, chars in () if char.isascii() else _SCRIPTS:
        if compiled(f"[{chars}]").match(char):
            return kind
    return _WORD if char.isalnum() else ""


def _is_mark(char: str) -> bool:
    return char > "\u02ff" and unicodedata.category(char)[0] == "M"


def _is_boundary(text: str, position: int) -> bool:
    """Whether one word can end, and another begin, at a position."""
    if position in (0, len(text)):
        return True
    if _is_mark(text[position]):
        return False
    before = position - 1
    while before and _is_mark(text[before]):
        before -= 1
    one, other = _kind(text[before]), _kind(text[position])
    return not one or not other or one != other or one == _SPACELESS


def _is_word_end(text: str, position: int) -> bool:
    if _is_boundary(text, position):
        return True
    if _kind(text[position - 1]) != _HANGUL:
        return False
    particle = compiled(f"(?:{_PARTICLES})(?![\uac00-\ud7af])")
    return particle.match(text, position) is not None


def _is_part_of_longer(text: str, start: int, end: int) -> bool:
    """Whether a name is part of something longer than a word: a path, an identifier."""
    if _JOINED_AFTER.match(text, end):
        return True
    if _JOINED_BEFORE.search(text, max(start - 2, 0), start):
        return True
    before = start
    while before and text[before - 1] == "_":  # `_Alice_` is emphasis, `x_Alice` a name
        before -= 1
    return before < start and text[before - 1 : before].isalnum()
