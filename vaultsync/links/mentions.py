"""Find names in a text, as whole words in any script.

Letters join to words, so a name in Latin, Cyrillic or Arabic letters must stand free on both
sides. Han, Hiragana and the scripts of Thailand, Laos, Cambodia and Myanmar put no blanks
between words: a name in them counts wherever it stands, from two characters on. A Katakana
word ends where the script changes. A Hangul name may go on with a particle.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

MIN_NAME_LENGTH = 2
"""Characters of a name that is looked for."""
SURE_LENGTH = 6
"""From so many letters on, or from two words on, a name may be written in another case."""


class Mention(NamedTuple):
    """A place where a text says a name."""

    start: int
    end: int
    keys: tuple[str, ...]
    """Who is called so; nobody where the name is part of a path, an address or the like."""


class NameMatcher:
    """Names to be looked for; to add some costs no look at the others."""

    def __init__(self, names: Mapping[str, Iterable[str]] | None = None) -> None:
        self._called: dict[str, dict[str, str]] = {}
        """Folded name -> who is called so -> how it is spelled."""
        self._lengths: dict[str, list[int]] = {}
        """The first folded characters -> the lengths of names, the longest first."""
        for key, many in (names or {}).items():
            self.add(key, many)

    def add(self, key: str, names: Iterable[str]) -> None:
        """Look for these names, too."""
        for name in names:
            for form in _forms(name):
                self._called.setdefault(form, {})[key] = " ".join(name.split())
                lengths = self._lengths.setdefault(form[:MIN_NAME_LENGTH], [])
                if len(form) not in lengths:
                    lengths.append(len(form))
                    lengths.sort(reverse=True)

    def drop(self, key: str, names: Iterable[str]) -> None:
        """Look for these names no more, unless others are called so."""
        for name in names:
            for form in _forms(name):
                called = self._called.get(form, {})
                called.pop(key, None)
                if not called:
                    self._called.pop(form, None)

    def mentions(self, text: str) -> list[Mention]:
        """Everywhere that a text says a name; they may overlap."""
        if not self._called:
            return []
        folded, known = _folded(text), self._called
        places = [
            (at, at + length)
            for at in map(re.Match.start, _starts(text).finditer(text))
            for length in self._lengths.get(folded[at : at + MIN_NAME_LENGTH], ())
            if folded[at : at + length] in known and at + length <= len(text)
        ]
        found = (self._said(text, *place, known[folded[slice(*place)]]) for place in places)
        return [mention for mention in found if mention is not None]

    @staticmethod
    def _said(text: str, at: int, end: int, called: Mapping[str, str]) -> Mention | None:
        if not (_parted(text, at) and _ends(text, end)):
            return None
        if _is_stuck(text, at, end):
            return Mention(at, end, ())
        said = unicodedata.normalize("NFC", text[at:end])
        joined = text[at - 1 : at] == "-" or text[end : end + 1] == "-"
        keys = [key for key, name in called.items() if _case_matches(said, name, joined=joined)]
        return Mention(at, end, tuple(keys)) if keys else None


def _forms(name: str) -> list[str]:
    """A name as texts may hold it, folded; none when it says too little."""
    text = " ".join(name.split())
    if len(text) < MIN_NAME_LENGTH or not any(map(str.isalpha, text)):
        return []
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)
    return [*dict.fromkeys((_folded(composed), _folded(decomposed)))]


def _folded(text: str) -> str:
    """In lower case, character by character, so that no place moves."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _case_matches(said: str, name: str, *, joined: bool) -> bool:
    """Whether a text that says a name but for its case means it.

    A short name may be written larger, never smaller: `will` is not Will. A part of a
    hyphenated word, as in `convex-app`, must be the name as it is.
    """
    name = unicodedata.normalize("NFC", name)
    if said == name or joined:
        return said == name
    if " " in name or len(name) >= SURE_LENGTH:
        return True
    return all(a == b or a.isupper() for a, b in zip(said, name, strict=False))


# ------------------------------------------------------------------------ borders

_WORD, _SPACELESS, _KATAKANA, _HANGUL = "word", "spaceless", "katakana", "hangul"
_HAN = "\u2e80-\u2fd5\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_SCRIPTS = (
    (_SPACELESS, f"{_HAN}\u3040-\u309f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"),
    (_KATAKANA, "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"),
    (_HANGUL, "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"),
)
_UNSPACED = "".join(chars for _, chars in _SCRIPTS)
# Where a name can begin: not behind a letter, unless the script parts no words.
_STARTS = re.compile(r"(?<![^\W_])\S")
_PARTICLES = (
    "은|는|이|가|을|를|의|에|와|과|도|로|으로|에서|에게|에게서|한테|께|께서|만|까지|부터"
    "|처럼|보다|이나|나|랑|이랑|하고|라는|이라는|님|씨"
)
# Part of a path, a tag, an address, a block's id or a program's name; right at a link.
_STUCK_BEFORE = re.compile(r"(?:[@#/\\^~$\]]|(?<=\w)[.:=]|::)\Z")
_STUCK_BEHIND = re.compile(r"[@/\\]|\[(?!\^)|[.:=](?=\w)|::|_+(?=[^\W_])|\(\)")


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """A pattern of whole scripts: so dear to make that few should wait for it."""
    return re.compile(text)


def _starts(text: str) -> re.Pattern[str]:
    """What finds all places where a name can begin; most texts need only the quick one."""
    if text.isascii() or not _pattern(f"[{_UNSPACED}]").search(text):
        return _STARTS
    return _pattern(rf"{_STARTS.pattern}|(?<=[{_UNSPACED}])\S|[{_UNSPACED}]")


@lru_cache(maxsize=4096)
def _kind(char: str) -> str:
    """What a character joins with; empty for what belongs to no word."""
    for kind, chars in () if char.isascii() else _SCRIPTS:
        if _pattern(f"[{chars}]").match(char):
            return kind
    return _WORD if char.isalnum() else ""


def _is_mark(char: str) -> bool:
    return char > "\u02ff" and unicodedata.category(char)[0] == "M"


def _parted(text: str, at: int) -> bool:
    """Whether a word can end, and another begin, between two characters."""
    if at == 0 or at == len(text):
        return True
    if _is_mark(text[at]):
        return False
    before = at - 1
    while before and _is_mark(text[before]):
        before -= 1
    one, other = _kind(text[before]), _kind(text[at])
    return not one or not other or one != other or one == _SPACELESS


def _ends(text: str, at: int) -> bool:
    if _parted(text, at):
        return True
    if _kind(text[at - 1]) != _HANGUL:
        return False
    particle = _pattern(f"(?:{_PARTICLES})(?![\uac00-\ud7af])")
    return particle.match(text, at) is not None


def _is_stuck(text: str, start: int, end: int) -> bool:
    """Whether a name is part of something longer that is no word."""
    if _STUCK_BEHIND.match(text, end):
        return True
    if _STUCK_BEFORE.search(text, max(start - 2, 0), start):
        return True
    before = start
    while before and text[before - 1] == "_":  # `_Alice_` stands free, `x_Alice` not
        before -= 1
    return before < start and text[before - 1 : before].isalnum()
