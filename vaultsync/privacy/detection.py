"""Find secrets in text: tokens of providers, and values that look like secrets.

A text without secrets costs a few microseconds: tokens are searched only in texts with a
long word, and named secrets only in texts with such a name.
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
"""Words before a secret, followed by `=` or `:`; `ASSIGNED_VALUE` begins with them."""

_KEYS_OF = (
    "api", "access", "account", "auth", "signing", "encryption", "private", "secret",
    "master", "storage", "license", "service", "service_role", "admin", "webhook",
)  # fmt: skip
"""Words before `key` that make it a credential, not the key of a map."""

ASSIGNED_VALUE = (
    r"(?i:(?P<pass>pass(?:word|wort|wd|phrase|(?<![a-z]pass))|(?<![a-z])pwd)"
    r"|secret|token|(?P<key>key)|credentials?)"
    r"(?:[_-][A-Za-z0-9_]{1,30}|Key|Id)?"
    r"[\"'`*]{0,3}\]{0,2}[ \t]{0,4}(?:=>|:=|==?|:)[ \t]{0,4}[\"'`*]{0,3}"
    r"(?P<s>[^\s\"'`,;<>(){}\[\]|*]{6,512})"
)
"""`password: …`, `API_KEY=…`, `"token": "…"`; the value is checked separately."""

SEED_PHRASE_KIND = "seed-phrase"
OPTIONAL_FORMS: Mapping[str, str] = {
    "card": r"(?<![\w.-])(?:\d[ -]?){12,18}\d(?![\w-])",
    "iban": r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])",
    SEED_PHRASE_KIND: r"[A-Za-z]+",
}
"""Off by default; enabled by `@card`, `@iban` and `@seed-phrase` among the patterns. All have
a checksum."""

compiled = cache(re.compile)
"""Compiles on first use: most texts need no pattern."""


class SecretSpan(NamedTuple):
    """The position of a secret in a text."""

    start: int
    end: int
    kind: str


def merge_spans(spans: Sequence[SecretSpan]) -> list[SecretSpan]:
    """Spans in order; those that overlap become one, with the kind of the first."""
    merged: list[SecretSpan] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = SecretSpan(last.start, max(last.end, span.end), last.kind)
        else:
            merged.append(span)
    return merged


_SIGNS = ":=<`\\!$~&"
"""Characters of which each named secret, URL and active content contains one."""


def _kind(letter: str) -> str:
    if letter in _SIGNS:
        return "!"
    return "x" if letter.isascii() and (letter.isalnum() or letter in "-_") else " "


_KINDS = "".join(_kind(chr(each)) for each in range(256)).encode()
_RUNS = _KINDS.replace(b"!", b" ")
_LONG = b"x" * MIN_TOKEN_RUN
_BEFORE, _FAR, _AFTER = 24, 80, 4
"""Characters around a long word in which the literals of its kind are searched."""

_UNSEEN = frozenset(
    "\xad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)
"""Invisible characters, which get into a token that is copied from a page, and those that change
the direction of text."""

_ASCII = bytes(range(128))


def _has_unseen(letters: bytes) -> bool:
    """Whether a text in UTF-8 contains an invisible character."""
    others = letters.translate(None, _ASCII).decode()
    return bool(others) and any(letter in others for letter in _UNSEEN)


def find_secrets(text: str) -> Iterator[SecretSpan]:
    """The secrets of a text, in no order; spans may overlap."""
    return with_invisible_removed(_spans_of, text)


def with_invisible_removed(
    find: Callable[[str], Iterator[SecretSpan]], text: str
) -> Iterator[SecretSpan]:
    """What is found in a text, and in the text without invisible characters."""
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
    """Whether a text has neither a long word nor a character that secrets or active content need.

    Most texts do not; the check takes two microseconds for a thousand characters.
    """
    letters = text.encode(errors="replace")
    kinds = letters.translate(_KINDS)
    return b"!" not in kinds and _LONG not in kinds and not _has_unseen(letters)


def _one_by_one(text: str) -> bytes:
    """One byte per character; those outside of Latin-1 become `?`."""
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
                token = match[group].rstrip(".")  # the end of a sentence
                sample = len(set(token[-20:])) < 6 or token.endswith("EXAMPLE")  # noqa: PLR2004
                if not sample:
                    start = match.start(group)
                    end = start + len(token)
                    # Characters right behind a token are a part of it, or another one.
                    while text[end : end + 1] in _WORD and end < len(text):
                        end += 1
                    yield SecretSpan(start, end, row.kind)
    if "-----BEGIN" in text:
        for match in compiled(PRIVATE_KEY).finditer(text):
            yield SecretSpan(*match.span(), "private-key")


_SIGN_WITHIN = 60
"""Characters from a stem within which `ASSIGNED_VALUE` has its sign."""


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
    address = text[max(at - _LONGEST_ADDRESS, 0) : at].rpartition("://")[2]
    if "?" in address and not any(map(str.isspace, address)):  # in the query of a URL
        value = re.split("[&#]", value, maxsplit=1)[0]
    value = value.rstrip(".:!?")
    likely = _is_password if match["pass"] else _is_random
    if len(value) >= 6 and not _is_dummy(value) and likely(value):  # noqa: PLR2004
        start = match.start("s")
        yield SecretSpan(start, start + len(value), "password" if match["pass"] else "secret")


_LONGEST_ADDRESS = 500

_DUMMY = (
    r"(?i)\$[A-Z_{(]|%[A-Z_]+%|\.{0,2}/\S*[/.]|https?:|process\.|os\.|env\.|self\.|this\."
    r"|your|example|change|placeholder|redacted|dummy|none\b|null\b|true\b|false\b"
    r"|(?:password|passwd|secret|token|pw)\d{0,3}\Z"
    r"|(?:sha-?\d+|md5|bcrypt|scrypt|argon2\w*|pbkdf2[\w-]*|base64|utf-?\d+|oauth2?)\b"
)


def _is_dummy(value: str) -> bool:
    """Whether a value is a variable, a path or a placeholder word."""
    return compiled(_DUMMY).match(value) is not None or len(set(value)) < 4  # noqa: PLR2004


_SHORT_WORD = 10
"""Length from which a value without a digit can be a password by its characters."""


def _is_password(value: str) -> bool:
    """Whether a value after `password` is not a word of prose."""
    if not any(map(str.isalpha, value)):
        return False
    kinds = (str.islower, str.isupper, str.isdigit)
    classes = sum(any(map(kind, value)) for kind in kinds) + (not value.isalnum())
    mixed = classes >= 3 and entropy(value) >= 3  # noqa: PLR2004 - of four; in bits
    if any(map(str.isdigit, value)):
        return mixed or value.isalnum()
    return mixed and len(value) >= _SHORT_WORD


_LONG_HEX = 32
"""Length of a key in hex: each digit has only four bits."""


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
    """Shannon entropy in bits per character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


def _is_card(text: str) -> bool:
    """Check the Luhn checksum."""
    digits = [int(each) for each in text if each.isdigit()]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Check the checksum of ISO 13616."""
    bare = text.replace(" ", "")
    return int("".join(str(int(each, 36)) for each in bare[4:] + bare[:4])) % 97 == 1


_CHECKED = {"card": _is_card, "iban": _is_iban}


def optional_spans(text: str, kind: str) -> Iterator[SecretSpan]:
    """The secrets of an optional kind."""
    if kind == SEED_PHRASE_KIND:
        from vaultsync.privacy.bip39 import seed_phrases  # noqa: PLC0415 - few need it

        yield from (SecretSpan(start, end, kind) for start, end in seed_phrases(text))
        return
    for match in compiled(OPTIONAL_FORMS[kind]).finditer(text):
        if _CHECKED[kind](match[0]):
            yield SecretSpan(*match.span(), kind)


def find_all(text: str, value: str, kind: str) -> Iterator[SecretSpan]:
    """All occurrences of `value` in a text."""
    at = text.find(value) if value else -1
    while at >= 0:
        yield SecretSpan(at, at + len(value), kind)
        at = text.find(value, at + len(value))
