"""Where the secrets of a text are: tokens of providers, and what its form gives away.

A text without any costs a few microseconds: tokens are looked for only in texts with a
long word, and secrets that have a name only in texts with such a name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from vaultsync.privacy.providers import MIN_TOKEN_RUN, providers

_BASE64 = r"[A-Za-z0-9+/=]"
PRIVATE_KEY = (
    r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:"
    r"(?:[A-Za-z0-9+/=:,.\\ \t\r\n>\"']|-(?!----))++-----END[ A-Z0-9]{0,60}-----"
    rf"|(?:(?:\\[nr]|[\s>])*+{_BASE64}{{16,}}+)++"
    r")"
)
"""A whole block, over many lines or with `\\n` between them; cut off, what is there."""

URL_LOGIN = r"://(?:[^\s/:@\"'<>]{0,100}(?P<user>:))?(?P<s>[^\s/\"'<>]{3,200})@(?=[A-Za-z0-9\[])"
"""`scheme://user:password@host`, and `scheme://token@host`."""

_STEMS = (b"pass", b"pwd", b"secret", b"token", b"key", b"credential")
"""Words after which, with `=` or `:` between, a secret may stand; they begin `ASSIGNED`."""

_KEYS_OF = (
    "api", "access", "account", "auth", "signing", "encryption", "private", "secret",
    "master", "storage", "license", "service", "service_role", "admin", "webhook",
)  # fmt: skip
"""What stands before `key` when it is the key of a lock and not of a map."""

ASSIGNED_VALUE = (
    r"(?i:(?P<pass>pass(?:word|wort|wd|phrase|(?<![a-z]pass))|(?<![a-z])pwd)"
    r"|secret|token|(?P<key>key)|credentials?)"
    r"(?:[_-][A-Za-z0-9_]{1,30}|Key|Id)?"
    r"[\"'`*]{0,3}\]{0,2}[ \t]{0,4}(?:=>|:=|==?|:)[ \t]{0,4}[\"'`*]{0,3}"
    r"(?P<s>[^\s\"'`,;<>(){}\[\]|*]{6,512})"
)
"""`password: …`, `API_KEY=…`, `"token": "…"`; whether the value is a secret is checked apart."""

SEED_PHRASE_KIND = "seed-phrase"
OPTIONAL_FORMS: Mapping[str, str] = {
    "card": r"(?<![\w.-])(?:\d[ -]?){12,18}\d(?![\w-])",
    "iban": r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])",
    SEED_PHRASE_KIND: r"[A-Za-z]+",
}
"""Off by default; named `@card`, `@iban` and `@seed-phrase` among the patterns. All have a
checksum."""

compiled = cache(re.compile)
"""Most texts need none of the patterns, so none is compiled before it is needed."""


class SecretSpan(NamedTuple):
    """Where a secret stands in a text."""

    start: int
    end: int
    kind: str


def merge_spans(spans: Sequence[SecretSpan]) -> list[SecretSpan]:
    """Spans in order, those that overlap as one, named by the one that begins first."""
    made: list[SecretSpan] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if made and span.start < made[-1].end:
            last = made[-1]
            made[-1] = SecretSpan(last.start, max(last.end, span.end), last.kind)
        else:
            made.append(span)
    return made


_SIGNS = ":=<`\\!$~&"
"""What stands in every secret that has a name or an address, and in all that may run."""


def _kind(letter: str) -> str:
    if letter in _SIGNS:
        return "!"
    return "x" if letter.isascii() and (letter.isalnum() or letter in "-_") else " "


_KINDS = "".join(_kind(chr(each)) for each in range(256)).encode()
_RUNS = _KINDS.replace(b"!", b" ")
_LONG = b"x" * MIN_TOKEN_RUN
_BEFORE, _FAR, _AFTER = 24, 80, 4
"""Letters around a long word in which the literals of its kind are looked for."""


_UNSEEN = frozenset(
    "\xad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)
"""Letters that nobody sees, which come into a token when it is copied from a page, and
those that turn the direction of what follows."""


_ASCII = bytes(range(128))


def _has_unseen(letters: bytes) -> bool:
    """Whether nobody sees some letter of a text in UTF-8. Few of most are not ASCII."""
    others = letters.translate(None, _ASCII).decode()
    return bool(others) and any(letter in others for letter in _UNSEEN)


def find_secrets(text: str) -> Iterator[SecretSpan]:
    """The secrets of the tables. A text without any costs a few microseconds."""
    return with_invisible_removed(_spans_of, text)


def with_invisible_removed(
    find: Callable[[str], Iterator[SecretSpan]], text: str
) -> Iterator[SecretSpan]:
    """What is found in a text, and what is found in it without letters nobody sees."""
    yield from find(text)
    if not text.isascii() and _has_unseen(text.encode(errors="replace")):
        seen = [at for at, letter in enumerate(text) if letter not in _UNSEEN]
        for start, end, kind in find("".join(text[at] for at in seen)):
            yield SecretSpan(seen[start], seen[end - 1] + 1, kind)


def _spans_of(text: str) -> Iterator[SecretSpan]:
    letters = text.encode(errors="replace")
    if _LONG in letters.translate(_RUNS):
        yield from _tokens(text)
    if b"=" in letters or b":" in letters:
        yield from _assigned(text, _one_by_one(text).lower())
        if b"://" in letters and b"@" in letters:
            for match in compiled(URL_LOGIN).finditer(text):
                likely = match["user"] or _is_random(match["s"])
                if likely and not _is_dummy(match["s"]):
                    yield SecretSpan(*match.span("s"), "url-password")


_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def is_surely_clean(text: str) -> bool:
    """Whether a text has neither a long word nor a sign that a secret or a script needs.

    Most texts are, and it costs two microseconds to know of a thousand letters.
    """
    letters = text.encode(errors="replace")
    looked = letters.translate(_KINDS)
    return b"!" not in looked and _LONG not in looked and not _has_unseen(letters)


def _one_by_one(text: str) -> bytes:
    """A byte for each letter; what is not Latin is none that matters."""
    return text.encode("latin-1", "replace")


def _tokens(text: str) -> Iterator[SecretSpan]:
    near, far = [], []
    runs = _one_by_one(text).translate(_RUNS)
    at = runs.find(_LONG)
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(runs) if end < 0 else end
        far.append(text[max(at - _FAR, 0) : end + _AFTER])
        near.append(far[-1][max(min(at, _FAR) - _BEFORE, 0) :])
        at = runs.find(_LONG, end)
    windows = "\n".join(near), "\n".join(far)
    for row in providers():
        window = windows[row.far]
        if any(need in window for need in row.needs):
            pattern = compiled(row.pattern)
            group = "s" if "s" in pattern.groupindex else 0
            for match in pattern.finditer(text):
                token = match[group].rstrip(".")  # it ends a sentence
                if not _is_sample(token):
                    start = match.start(group)
                    end = start + len(token)
                    # What is glued to a token is a part of it, or another one.
                    while text[end : end + 1] in _WORD and end < len(text):
                        end += 1
                    yield SecretSpan(start, end, row.kind)
    if "-----BEGIN" in text:
        for match in compiled(PRIVATE_KEY).finditer(text):
            yield SecretSpan(*match.span(), "private-key")


def _is_sample(token: str) -> bool:
    """Whether a token stands for one in a text that shows how tokens look."""
    return len(set(token[-20:])) < 6 or token.endswith("EXAMPLE")  # noqa: PLR2004


_SIGN_WITHIN = 60
"""Letters from a stem within which `ASSIGNED` has its sign."""


def _assigned(text: str, low: bytes) -> Iterator[SecretSpan]:
    for stem in _STEMS:
        at = low.find(stem)
        while at >= 0:
            end = at + _SIGN_WITHIN
            if low.find(b":", at, end) >= 0 or low.find(b"=", at, end) >= 0:
                yield from _assigned_at(text, at)
            at = low.find(stem, at + len(stem))


def _assigned_at(text: str, at: int) -> Iterator[SecretSpan]:
    match = compiled(ASSIGNED_VALUE).match(text, at)
    if match is None:
        return
    if match["key"]:
        before = text[max(at - 12, 0) : at].rstrip(" _-").lower()
        if not before.endswith(_KEYS_OF):
            return
    value = match["s"]
    if _is_in_query(text, at):
        value = re.split("[&#]", value, maxsplit=1)[0]
    value = value.rstrip(".:!?")
    likely = _is_password if match["pass"] else _is_random
    if len(value) >= 6 and not _is_dummy(value) and likely(value):  # noqa: PLR2004
        start = match.start("s")
        yield SecretSpan(start, start + len(value), "password" if match["pass"] else "secret")


_LONGEST_ADDRESS = 500


def _is_in_query(text: str, at: int) -> bool:
    """Whether a place is in an address, after its question mark."""
    word = text[max(at - _LONGEST_ADDRESS, 0) : at].rpartition("://")[2]
    return "?" in word and not any(map(str.isspace, word))


_DUMMY = (
    r"(?i)\$[A-Z_{(]|%[A-Z_]+%|\.{0,2}/\S*[/.]|https?:|process\.|os\.|env\.|self\.|this\."
    r"|your|example|change|placeholder|redacted|dummy|none\b|null\b|true\b|false\b"
    r"|(?:password|passwd|secret|token|pw)\d{0,3}\Z"
    r"|(?:sha-?\d+|md5|bcrypt|scrypt|argon2\w*|pbkdf2[\w-]*|base64|utf-?\d+|oauth2?)\b"
)


def _is_dummy(value: str) -> bool:
    """Whether a value is a variable, a path or a word that stands for a value."""
    return compiled(_DUMMY).match(value) is not None or len(set(value)) < 4  # noqa: PLR2004


def _classes(value: str) -> int:
    kinds = (str.islower, str.isupper, str.isdigit)
    return sum(any(map(kind, value)) for kind in kinds) + (not value.isalnum())


_SHORT_WORD = 10
"""Letters from which on a password without a digit is told from a word by its letters."""


def _is_password(value: str) -> bool:
    """Whether a value after `password` is none of the words that prose has there."""
    if not any(map(str.isalpha, value)):
        return False
    mixed = _classes(value) >= 3 and entropy(value) >= 3  # noqa: PLR2004 - of four; in bits
    if any(map(str.isdigit, value)):
        return mixed or value.isalnum()
    return mixed and len(value) >= _SHORT_WORD


_LONG_HEX = 32
"""Digits of a key that is written in hex: each has but four bits."""


def _is_random(value: str) -> bool:
    """Whether a value after `token` or `api_key` is too random for a word or a path."""
    longest = max(value.split("/"), key=len)
    if not (any(map(str.isdigit, longest)) and any(map(str.isalpha, longest))):
        return False
    if len(value) >= _LONG_HEX and not set(value) - set("0123456789abcdefABCDEF"):
        return entropy(value) >= 3  # noqa: PLR2004 - of the four that hex can have
    return (
        len(value) >= 16  # noqa: PLR2004
        and len(longest) >= 8  # noqa: PLR2004
        and entropy(value) >= 3.5  # noqa: PLR2004 - as gitleaks' generic rule
        and "://" not in value
    )


def entropy(text: str) -> float:
    """Bits for each letter, by how often each occurs."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


def _is_card(text: str) -> bool:
    """Luhn's sum."""
    digits = [int(each) for each in text if each.isdigit()]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """The sum of ISO 13616."""
    bare = text.replace(" ", "")
    return int("".join(str(int(each, 36)) for each in bare[4:] + bare[:4])) % 97 == 1


_CHECKED = {"card": _is_card, "iban": _is_iban}


def optional_spans(text: str, kind: str) -> Iterator[SecretSpan]:
    """The secrets of a kind that is looked for only when it is asked for."""
    if kind == SEED_PHRASE_KIND:
        from vaultsync.privacy.bip39 import seed_phrases  # noqa: PLC0415 - few need it

        yield from (SecretSpan(start, end, kind) for start, end in seed_phrases(text))
        return
    for match in compiled(OPTIONAL_FORMS[kind]).finditer(text):
        if _CHECKED[kind](match[0]):
            yield SecretSpan(*match.span(), kind)


def find_all(text: str, value: str, kind: str) -> Iterator[SecretSpan]:
    """Wherever a text stands in another."""
    at = text.find(value) if value else -1
    while at >= 0:
        yield SecretSpan(at, at + len(value), kind)
        at = text.find(value, at + len(value))
