"""Normalize text for the note index: one form for similar characters, spaces between words.

A tokenizer that splits at everything but letters and digits then finds words in any script. In
scripts without blanks between words (Chinese, Japanese, Thai …), and in Korean, whose particles
are attached to words, bigrams of letters are words.
"""

from __future__ import annotations

import re
import unicodedata

# Most text needs none of these classes, which take longer to compile than the rest of this
# module to load: `re` compiles and caches them when they are first used.
#
# Combining marks that are no letters to Unicode, so that a word would be split at them:
# accents without a composed letter, tones, viramas, nuktas. Also the points of Hebrew and
# Arabic, which are mostly left out, and lone surrogates, which are no text.
_MARKS = (
    "["
    "\u0300-\u0344\u0346-\u0362\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2"
    "\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u06df\u06e0\u06ea-\u06ec"
    "\u0740-\u074a\u07eb-\u07f3\u07fd\u0818\u0819\u082d\u0859-\u085b\u0898-\u089f"
    "\u08ca-\u08d3\u08e0\u08e1\u08ea-\u08ef\u093c\u094d\u0951-\u0954\u09bc\u09cd"
    "\u09fe\u0a3c\u0a4d\u0abc\u0acd\u0afd-\u0aff\u0b3c\u0b4d-\u0b55\u0bcd\u0c3c"
    "\u0c4d\u0cbc\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e47-\u0e4c\u0e4e\u0eba"
    "\u0ec8-\u0ecc\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e\u0f3f\u0f84\u0f86\u0f87"
    "\u0fc6\u1037\u1039\u103a\u135d-\u135f\u1714\u1715\u1734\u17b4\u17b5"
    "\u17c9-\u17d3\u17dd\u180b-\u180d\u180f\u1939-\u193b\u1a60\u1a75-\u1a7f"
    "\u1ab0-\u1abe\u1ac1-\u1acb\u1b34\u1b44\u1b6b-\u1b73\u1baa\u1bab\u1be6"
    "\u1bf2\u1bf3\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce8\u1ced\u1cf4\u1cf7-\u1cf9"
    "\u1dc0-\u1dd2\u1df5-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f"
    "\u302a-\u302f\u3099\u309a\ua66f-\ua672\ua67c\ua67d\ua6f0\ua6f1\ua806\ua82c"
    "\ua8c4\ua8e0-\ua8f1\ua92b-\ua92d\ua953\ua9b3\ua9c0\uaabf\uaac1\uaaf6"
    "\uabec\uabed\ud800-\udfff\ufe00-\ufe0f\ufe20-\ufe2f"
    "]"
)
_NON_LATIN = "[^\x00-\u02ff\u2000-\u20cf]"
"""A letter or mark of another script; general punctuation and symbols are not among them."""
_INVISIBLE = ("\u00ad", "\u200b", "\u200c", "\u200d")
"""Soft hyphen, zero-width space, joiners."""
_DOTTED = "\u0130"
"""The capital I with a dot, which in lower case is an i and a combining mark."""
NO_BLANKS = (
    "["
    "\u0e01-\u0e5b"  # Thai
    "\u0e81-\u0edf"  # Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17b3\u17b6-\u17d3"  # Khmer
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f"  # Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Katakana
    "\u3105-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul
    "]+"
)
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]+"
_ASCII = bytes(range(128))


def normalize_text_form(text: str) -> str:
    """Normalize what looks alike: width, ligatures, combining marks, invisible characters."""
    return text if text.isascii() else _normalized(text)[0]


def _normalized(text: str) -> tuple[str, bool]:
    """The normalized text, and whether it contains letters of scripts without blanks.

    Only the characters beyond ASCII are searched, which are few in most texts.
    """
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    non_ascii = non_ascii_in(text)
    for each in _INVISIBLE:
        if each in non_ascii:
            text = text.replace(each, "")
    if _DOTTED in non_ascii:
        text = text.replace(_DOTTED, "I")
    if re.search(_NON_LATIN, non_ascii) is None:
        return text, False
    if re.search(_MARKS, non_ascii):
        text, non_ascii = re.sub(_MARKS, "", text), re.sub(_MARKS, "", non_ascii)
    return text, re.search(NO_BLANKS, non_ascii) is not None


def non_ascii_in(text: str) -> str:
    """The characters beyond ASCII of a text; deleting the others is faster than a search."""
    encoded = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return encoded.decode("utf-8", "surrogatepass")


def index_words(text: str) -> str:
    """A text to index, with blanks between words; single letters of bigrams are appended."""
    if text.isascii():
        return text
    text, has_runs = _normalized(text)
    if not has_runs:
        return text
    single = " ".join(dict.fromkeys("".join(re.findall(NO_BLANKS, text))))
    return f"{re.sub(NO_BLANKS, _bigrams, text)} {single}"


def phrase_words(text: str) -> str:
    """A phrase to search for, with blanks between words; a single letter is a word."""
    return text if text.isascii() else re.sub(NO_BLANKS, _bigrams, normalize_text_form(text))


def query_words(text: str) -> str:
    """A question with blanks between words, and after them each Chinese character.

    Such a character often is a word, which may be next to others in the answer.
    """
    words = phrase_words(text)
    if words.isascii():
        return words
    return f"{words} {' '.join(''.join(re.findall(_HAN, normalize_text_form(text))))}"


def _bigrams(match: re.Match[str]) -> str:
    run = match[0]
    bigrams = run if len(run) == 1 else " ".join(map(str.__add__, run, run[1:]))
    return f" {bigrams} "


def split_words(text: str) -> list[str]:
    """The words of a text, split at all but letters, marks and digits, as tantivy does."""
    if text.isascii():
        return re.findall(r"[A-Za-z0-9]+", text)
    characters = (each if unicodedata.category(each)[0] in "LMN" else " " for each in text)
    return "".join(characters).split()
