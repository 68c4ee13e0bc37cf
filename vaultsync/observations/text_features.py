"""The features of a text for a linear classifier: words, their parts, and form.

A number is only its length, so that no weight is fitted to one amount or one day.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

A_NUMBER = "a number"
"""What a reason calls any number."""
EXAMINED_CHARS = 4_000
"""How many characters of an observation are examined."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d[\d.,:]*|[^\w\s]")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Kana and Chinese characters, which are written without blanks between words."""
_LONGEST_NUMBER = 4
_PREFIXES = ((4, 4), (6, 6))
"""Letters that a word must exceed, and the length of the prefix that stands for its forms."""
_SUFFIX_OF, _SUFFIX = 4, 3
_GROUP_LENGTHS = range(3, 7)
"""Letters of a group, with the blanks between words."""
_LONGEST = 6
"""Texts of 64 words and more are equally long."""

FORMS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "question": re.compile(r"\?\s*\Z"),
        "exclamation": re.compile("!"),
        "ends well": re.compile(r"\.\.\. ?ok|\bok\b\W*\Z", re.IGNORECASE),
        "level": re.compile(
            r"\b(?:ERROR|CRITICAL|FATAL|EMERGENCY|FEHLER|KRITISCH|ERREUR|CRITIQUE|CRÍTICO)\b"
        ),
        "time stamp": re.compile(r"\A\W*\d\d:\d\d|\[\d\d:\d\d"),
        "money": re.compile(
            r"[€$£]\s?\d|\d\s?k?\s?(?:€|\$|£|eur\b|euros?\b|usd\b|chf\b)", re.IGNORECASE
        ),
        "percentage": re.compile(r"\d\s?%"),
        "two figures": re.compile(
            r"\d[^\n]{0,80}\b(?:instead of|was|before|from|statt|vorher|au lieu|contre|avant"
            r"|en vez|antes|vs|to)\b[^\n]{0,80}\d|\d[^\n]{0,20}(?:->|→)\s?\d",
            re.IGNORECASE,
        ),
        "quotation": re.compile('["“„«]'),
        "emoji": re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]"),
        "begins small": re.compile(r"\A[a-zäöüéèàáíóúñ]"),
        "label": re.compile(r"\A[\w ]{2,20} ?:"),
        "the user": re.compile(
            r"\A(?:the user|user|der nutzer|nutzer|l'utilisateur|el usuario)\b", re.IGNORECASE
        ),
        "name": re.compile(r"(?<=[a-zé,;] )[A-ZÄÖÜÉ][a-zäöüéèñ]{2,}"),
        "we": re.compile(r"\b(?:we|wir|nous|on)\b", re.IGNORECASE),
        "I": re.compile(r"\b(?:I|ich|je|j')\b", re.IGNORECASE),
        "date": re.compile(
            r"\b(?:by|until|before|bis|vor|avant|antes|hasta|from|ab|since|seit|depuis|desde)\b"
            r"[^.]{0,25}(?:\d|day|tag|woch|di\b|mon|fri|juin|jun|jul)",
            re.IGNORECASE,
        ),
        "an action": re.compile(
            r"\A(?:\W|\d|step|next|now|then|i |let me|we |just)*"
            r"(?:open|read|ran|run|list|search|look|print|cop|renam|sort|remov|add|save|saving|fetch|pull"
            r"|push|check|compil|format|wait|restart|mov|wr[io]t|creat|install|start|undid|revert"
            r"|appl|commit|rebas|view|scroll|merg|close|closing|count|build|built|download|upload|unpack"
            r"|continu|stop(?=p)|wrap)\w*\b",
            re.IGNORECASE,
        ),
        "denial": re.compile(
            r"\b(?:no|not|nothing|none|kein\w*|nicht|nichts|aucun\w*|rien|ning\w+|nada|sin)\b",
            re.IGNORECASE,
        ),
    }
)
"""The forms that an observation can have, and the pattern of each."""


def examined(text: str) -> str:
    """What is examined of a text: all, or the beginning and the end of a long one.

    A log ends with the error that stopped the program.
    """
    if len(text) <= EXAMINED_CHARS:
        return text
    half = EXAMINED_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


def text_features(text: str) -> dict[str, str]:
    """The features of a text, each with its name in a reason."""
    text = examined(text).replace("’", "'")
    found: dict[str, str] = {}
    words = _WORD.findall(text.lower())
    for word in words:
        if word[0].isdigit():
            found["w:" + _number(word)] = A_NUMBER
            continue
        if _JAPANESE.match(word):
            found |= {"c:" + each: each for each in (*word, *map("".join, pairwise(word)))}
            continue
        found["w:" + word] = word
        for longer, length in _PREFIXES:
            if len(word) > longer and word[0].isalpha():
                found[f"p{length}:{word[:length]}"] = word
        if len(word) > _SUFFIX_OF and word[0].isalpha():
            found["s:" + word[-_SUFFIX:]] = word
    for name, pattern in FORMS.items():
        if pattern.search(text):
            found["f:" + name] = name
    found[f"l:{min(_LONGEST, len(words).bit_length())}"] = "its length"
    return found


def letter_groups(text: str) -> dict[str, str]:
    """The groups of letters of a text, also across words: each, with the word it is mostly in.

    They are what forms of a word, compounds, misspelt words and phrases have in common.
    """
    words = _words(text)
    letters = f" {' '.join(words)} "
    shown = [A_NUMBER if word[0] == "#" else word for word in words for _ in f"{word} "]
    found: dict[str, str] = {}
    for length in _GROUP_LENGTHS:
        for start in range(len(letters) - length + 1):
            found["g:" + letters[start : start + length]] = shown[start + length // 2 - 1]
    return found


def word_pairs(text: str) -> dict[str, str]:
    """The pairs of adjacent words of a text, its beginning and its end among them."""
    pairs = pairwise(["", *_words(text), ""])
    return {f"b:{a} {b}": f"{a} {b}".strip() for a, b in pairs if a or b}


def _words(text: str) -> list[str]:
    """The words and signs of a text, where a number is only its length."""
    words = _WORD.findall(examined(text).lower().replace("’", "'"))
    return [_number(word) if word[0].isdigit() else word for word in words]


def _number(word: str) -> str:
    """A number, as the count of its digits alone."""
    return "#" * min(sum(map(str.isdigit, word)), _LONGEST_NUMBER)
