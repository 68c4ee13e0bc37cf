"""Fold a text as the terms of the note index are: a question looks for them in it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from vaultsync.indexing.text_normalization import NO_BLANKS, non_ascii_in, normalize_text_form


class FoldedText(Struct, frozen=True):
    """A text with the characters of index terms, and the positions in the original text."""

    text: str
    starts: tuple[int, ...] = ()
    """Positions in this text from which the distance to the original text is another one."""
    shifts: tuple[int, ...] = ()
    """That distance from each of them on."""

    def original(self, at: int) -> int:
        """The position in the original text of a position in this one."""
        before = bisect_right(self.starts, at)
        return at + self.shifts[before - 1] if before else at


class _Folding(dict[int, str]):
    """Code point -> its characters in index terms, computed when it is first looked up."""

    def __missing__(self, code: int) -> str:
        form = normalize_text_form(chr(code)).lower()
        is_sign = form and not any(map(str.isalnum, form))
        self[code] = folded = chr(code) if is_sign else "".join(map(_without_accent, form))
        return folded


def _without_accent(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[0]
    base = _LETTERS.get(base, base)
    return base if base.isascii() else letter


_LETTERS: Mapping[str, str] = MappingProxyType(
    dict(zip("ðđħ\u0131ĸłŋøŧəɓɔɖɗɛɨƙɲʉƴ", "ddhiqlnotaboddeiknuy", strict=True))
    | {"æ": "ae", "œ": "oe", "ß": "ss", "þ": "th"}
)
"""Letters of Latin alphabets that have no decomposition, and how index terms spell them."""
_FOLDING = _Folding()
_DECOMPOSED = (
    r"[^\W\x00-\x7f][\u0300-\u036f\u0653-\u0655\u3099\u309a]+"
    r"|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"  # Hangul
)
"""Letters that Unicode composes with the marks after them."""


def fold_text(text: str) -> FoldedText:
    """A text as index terms spell it: in lower case, Latin letters without accents."""
    foldings = {each: _FOLDING[ord(each)] for each in set(non_ascii_in(text))}
    others = "".join(each for each, folded in foldings.items() if len(folded) != 1)
    patterns = [f"[{re.escape(others)}]"] if others else []
    if not unicodedata.is_normalized("NFC", text):
        patterns.insert(0, _DECOMPOSED)
    spellings = dict(foldings)
    """Those of letters with marks, too."""
    parts: list[str] = []
    starts: list[int] = []
    shifts: list[int] = []
    at = length = 0
    for match in re.finditer("|".join(patterns), text) if patterns else ():
        spelled = spellings.get(match[0])
        if spelled is None:
            spelled = spellings[match[0]] = normalize_text_form(match[0]).translate(_FOLDING)
        parts += [text[at : match.start()], spelled]
        length += match.start() - at + len(spelled)
        at = match.end()
        # Within the spelling, positions lead to the end of the original characters.
        first = min(length - len(spelled) + 1, length)
        starts += range(first, length + 1)
        shifts += range(at - first, at - length - 1, -1)
    folded_text = "".join([*parts, text[at:]])
    for each, folded in foldings.items():
        if each != folded and len(folded) == 1:
            folded_text = folded_text.replace(each, folded)
    return FoldedText(folded_text.lower(), tuple(starts), tuple(shifts))


def has_no_blanks(term: str) -> bool:
    """Whether a term is of a script without blanks between words."""
    return not term.isascii() and re.search(NO_BLANKS, term) is not None
