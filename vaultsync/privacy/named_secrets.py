"""Secrets that follow a name: `password: …`, `API_KEY=…`, "the token is …"."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from vaultsync.model.canonical import lower_each
from vaultsync.model.lazy_pattern import lazy_pattern

_compiled = cache(re.compile)
"""Compiles on first use: most texts need no pattern."""

ASCII_STEMS = (
    "pass", "pw", "secret", "token", "key", "credential", "kennwort", "wachtwoord", "senha",
    "contrase", "salasana", "parola",
)  # fmt: skip
"""Words before a secret, in lower case; `NAMED_VALUE` begins with them."""
OTHER_STEMS = (
    "пароль", "ключ", "токен", "секрет", "κωδικός", "hasło", "lösenord", "şifre", "schlüssel",
    "パスワード", "トークン", "シークレット", "キー", "密码", "密碼", "密钥", "密鑰", "口令",
    "令牌", "비밀번호", "암호", "토큰", "كلمة المرور", "كلمة السر", "الرمز", "סיסמה",
    "पासवर्ड", "รหัสผ่าน",
)  # fmt: skip
"""The same in other languages and scripts."""
_OF_PASSWORD = frozenset(OTHER_STEMS) - {
    "ключ", "токен", "секрет", "schlüssel", "トークン", "シークレット", "キー", "密钥", "密鑰",
    "令牌", "토큰", "الرمز",
}  # fmt: skip

_KEYS_OF = (
    "api", "access", "account", "auth", "signing", "encryption", "private", "secret",
    "master", "storage", "license", "service", "service_role", "admin", "webhook",
)  # fmt: skip
"""Words before `key` that make it a credential, not the key of a map."""

_NOT_ITSELF = frozenset({
    "policy", "policies", "file", "files", "path", "paths", "dir", "folder", "length", "len",
    "min", "max", "type", "kind", "format", "name", "names", "hint", "hints", "label", "field",
    "fields", "url", "uri", "link", "page", "form", "reset", "rotation", "ttl", "expiry",
    "expires", "expiration", "age", "version", "algorithm", "algo", "strength", "rule", "rules",
    "required", "enabled", "count", "limit", "limits", "budget", "size", "manager", "store",
    "provider", "source", "ref", "arn", "location", "prefix", "header", "index", "column",
    "table", "class", "fingerprint", "checksum", "encoder", "generator", "validator", "bits",
    "lifetime", "endpoint", "scope", "scopes", "usage", "ring",
})  # fmt: skip
"""Last words of names that speak of a secret: `password_policy`, `private_key_file`."""

_NOT_AFTER: Mapping[str, tuple[str, ...]] = {
    "pass": (
        "boarding", "bus", "city", "day", "hall", "lift", "mountain", "museum", "rail", "season",
        "ski", "travel", "first", "second", "third", "next", "last", "final", "one", "two",
        "single", "each", "every",
    ),
    "token": (
        "next", "page", "continuation", "pagination", "cursor", "forward", "backward", "lock",
        "sync", "idempotency",
    ),
}  # fmt: skip
"""Words before `pass` that make it a ticket or a turn, and before `token` that make it a place in
a list, or the name of a request."""

_STEM = (
    r"(?:(?P<pass>pass(?:word|wort|wd|phrase|code|e(?![a-z])|(?<![a-z]pass))|(?<![a-z])pw(?:d|(?![a-z]))"
    r"|kennwort|wachtwoord|senha|contrase[nñ]a|salasana|parola)"
    r"|secret|token|(?P<key>key)|credentials?"
    rf"|(?P<other>{'|'.join(map(re.escape, OTHER_STEMS))}))"
)
_SIGN = (
    r"(?:=>|:=|==?|->|::(?=[ \t])|:(?!:)|[\uff1a\uff1d→—–]|\|(?=[ \t])|>(?=[^\s<>]{6,200}</))"
    r"(?:[*_]{1,3}(?=\s))?"
)
"""`::` is Dataview's; bold type may end behind the sign."""
_BELOW = (
    r"\r?\n[ \t]{0,8}(?:\r?\n[ \t]{0,8})?(?:(?:`{3}|~{3})[a-z]{0,10}[ \t]{0,4}\r?\n[ \t]{0,8})?"
    r"(?:[*>-][ \t]{1,4})?"
)
"""Between the name and a value below it: a blank line, the opening of a fence, a bullet."""
_VALUE = r"(?P<quote>[\"'`*「“„«]{0,3})(?P<s>\S{6,512})"
_TAIL = r"(?P<tail>[_-][A-Za-z0-9_-]{1,30}|Key|Id)?"
NAMED_VALUE = (
    rf"(?i:{_STEM}){_TAIL}[\"'`*“”«»」]{{0,3}}\]{{0,2}}[ \t]{{0,4}}(?P<sign>{_SIGN})[ \t]{{0,4}}"
    rf"(?P<below>{_BELOW})?{_VALUE}"
)
"""`password: …`, `API_KEY=…`, `"token": "…"`; the value is checked separately."""
OPTION_VALUE = rf"(?i:{_STEM}){_TAIL}[ \t]{{1,4}}(?!-){_VALUE}"
"""An option of a command: `--password …`."""
_IS = (
    r"(?:is|is now|ist|ist jetzt|lautet|est|es|è|é|jest|är|er|was|war|set to|changed to|reads"
    r"|равен)"
)
_OF = r"(?:for|of|to|on|at|für|von|vom|zum|zur|pour|de|du|para|del|voor|van|för|til)"
SAID_VALUE = (
    rf"(?i:{_STEM})(?:(?:[^\S\n][^\s.:;=!?]{{1,20}}){{0,6}}?[^\S\n]{_IS}[^\S\n]?:?"
    rf"|(?<!(?i:pass))[^\S\n](?:{_OF}(?:[^\S\n][^\s.:;=!?]{{1,20}}){{1,4}}?|\([^()\n]{{1,30}}\)):"
    rf")[^\S\n]{_VALUE}"
)
"""In prose: `the password for the door is …`, `password for the door: …`, `password (door): …`."""
WRITTEN_VALUE = (
    r"(?i:(?P<other>" + "|".join(map(re.escape, OTHER_STEMS)) + r"))"
    r"[^\n!-~]{0,12}(?P<quote>[\"'`*]{0,3})(?P<s>[!-~]{6,512})"
)
"""In prose of other scripts: `パスワードは…です`."""

_LONGEST_ADDRESS = 500
_WITHIN = 60
"""Characters from a stem within which a named value has its sign."""
_MOST_OVERLAPS = 4
"""How often stems inside of one value are looked at before all of it counts as a secret."""


_STEMS_AS_BYTES = tuple((each.encode(), each) for each in ASCII_STEMS)
_OTHER_LETTERS = frozenset(x for x in "".join(OTHER_STEMS) if not x.isascii())


@lru_cache(maxsize=1)
def stems_in(text: str) -> tuple[str, ...]:
    """The words before a secret that a text contains; the last text is often asked about again."""
    letters = text.encode(errors="replace")
    low = letters.lower()
    stems = tuple(stem for needle, stem in _STEMS_AS_BYTES if needle in low)
    others = non_ascii(letters)
    if others and not _is_other_to_all(others):
        lowered = lower_each(text)
        stems = tuple(each for each in (*ASCII_STEMS, *OTHER_STEMS) if each in lowered)
    return stems


_ASCII = bytes(range(128))


def non_ascii(letters: bytes) -> str:
    """The characters of a text in UTF-8 that are not of ASCII."""
    return letters.translate(None, _ASCII).decode()


def _is_other_to_all(others: str) -> bool:
    """Whether no word before a secret has one of the characters, in lower or upper case."""
    low = others.lower()
    # The sign of Kelvin is a capital of `k`.
    return _OTHER_LETTERS.isdisjoint(low) and not any(map(str.isascii, low))


def named_secrets(text: str, stems: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The spans of named secrets and their kinds; `stems` are the words that the text has."""
    low = lower_each(text)
    for stem in stems:
        at = low.find(stem)
        inside = behind = 0
        while at >= 0:
            # A run of many names is one value of another: `pwd=pwd=pwd=…`.
            inside = inside + 1 if at < behind else 0
            if inside == _MOST_OVERLAPS:
                yield at, behind, "secret"
            elif inside < _MOST_OVERLAPS:
                found = _value_at(text, low, at)
                if found is not None:
                    start, end, stop, kind = found
                    behind = max(behind, stop)
                    if kind:
                        yield start, end, kind
            at = low.find(stem, at + len(stem))


_VALUE_SIGN = lazy_pattern("[:=\uff1a\uff1d→—–>|]")
_OPTION = lazy_pattern(r"(?<![\w-])--?(?:[A-Za-z][\w-]*)?\Z")
_REST_OF_LINE = lazy_pattern(r"[^\S\n]*(?:\n|\Z)")


def _value_at(text: str, low: str, at: int) -> tuple[int, int, int, str] | None:
    """The span and kind of a value, and where its characters end; no kind if it is no secret."""
    end = at + _WITHIN
    match = None
    if _VALUE_SIGN.search(low, at, end):
        match = _compiled(NAMED_VALUE).match(text, at)
    if match is None and low.find(" ", at, end) >= 0:
        match = _compiled(SAID_VALUE).match(text, at)
        if match is None and _OPTION.search(text, max(at - 40, 0), at):
            match = _compiled(OPTION_VALUE).match(text, at)
    if match is None and not text[at : at + 1].isascii():
        match = _compiled(WRITTEN_VALUE).match(text, at)
    # What was found before is all NUL in a second look.
    if match is None or not match["s"].strip("\0"):
        return None
    groups = match.groupdict()
    if not _names_a_secret(text, match, groups):
        return None
    of_password = bool(groups.get("pass")) or (groups["other"] or "").lower() in _OF_PASSWORD
    value = _value_of(text, match.start(), groups["s"], groups["quote"])
    likely = is_password if of_password else is_random
    start, stop = match.span("s")
    if groups.get("below") or groups.get("sign") == "|":
        likely = _is_surely_secret
        if groups["below"] and not _REST_OF_LINE.match(text, stop):
            return None
    kind = ""
    if len(value) >= 6 and likely(value) and not is_dummy(value):  # noqa: PLR2004
        kind = "password" if of_password else "secret"
    return start, start + len(value), stop, kind


_LAST_PART = lazy_pattern("[_-]")
_LAST_WORD = lazy_pattern(r"(?:[A-Z]?[a-z]+|[A-Z]+)\Z")
"""In `nextPage`, as well, the last word is `Page`."""
_PATH_BEFORE = lazy_pattern(r"[\w.-]/[\w./-]*\Z|\barn:[\w:*/-]*\Z")
_IN_PLACEHOLDER = lazy_pattern(r"REDACTED:[a-z0-9-]*\Z")


def _names_a_secret(text: str, match: re.Match[str], groups: Mapping[str, str | None]) -> bool:
    """Whether the name is that of a secret, and not of what belongs to one."""
    at = match.start()
    before = text[max(at - 60, 0) : at]
    if "REDACTED:" in before and _IN_PLACEHOLDER.search(before):
        return False
    tail = groups.get("tail")
    if tail and _LAST_PART.split(tail.lower().strip("_-"))[-1] in _NOT_ITSELF:
        return False
    words = before[-20:].rstrip(" _-")
    if groups.get("key") and not words.lower().endswith(_KEYS_OF):
        return False
    name = (groups.get("pass") or text[at : at + 5]).lower()
    word = _LAST_WORD.search(words) if name in _NOT_AFTER else None
    if word and word[0].lower() in _NOT_AFTER[name]:
        return False
    # `registry/token-service:v1`: an image; `arn:aws:secretsmanager:…:secret:name`: a name.
    image = groups.get("sign") == ":" and match.end("sign") == match.start("s")
    return not (image and _PATH_BEFORE.search(text, max(at - 100, 0), at))


_FOLLOWED = lazy_pattern(
    r"\[REDACTED:|[,;&|](?=[\"']?[A-Za-z_]{2}[\w.\"'-]{0,40}[=:])|\]\("
    r"|</(?=[a-z])|<(?=(?:a|b|br|code|div|i|img|li|p|pre|span|td)[\s>])"
)
"""Where an unquoted value ends although no blank follows: another setting, a tag, a link."""
_CLOSERS = {'"': '"', "'": "'", "`": "`", "*": "*", "「": "」", "“": "”", "„": "“", "«": "»"}
_AROUND = ".,;:!?)]}>\"'`*|」”“»。、】\uff0c\uff1b\uff01\uff1f\uff09"


def _value_of(text: str, end: int, value: str, quote: str) -> str:
    """The value of a name that begins at `end`, without what stands around it."""
    if quote:
        closed = value.find(_CLOSERS[quote[-1]])
        if closed >= 0:
            return value[:closed]
    begin = max(end - _LONGEST_ADDRESS, 0)
    if text.find("?", begin, end) >= 0:
        address = text[begin:end].rpartition("://")[2]
        if "?" in address and not any(map(str.isspace, address)):  # in the query of a URL
            value = re.split("[&#]", value, maxsplit=1)[0]
    found = _FOLLOWED.search(value)
    return (value[: found.start()] if found else value).rstrip(_AROUND)


_DUMMY = (
    r"(?i)\$[A-Z_{(]|%[A-Z_]+%|\.{0,2}/\S*[/.]|https?:|process\.|os\.|env\.|self\.|this\."
    r"|your|example|change|placeholder|redacted|dummy|sample|none\b|null\b|true\b|false\b"
    r"|(?:password|passwd|pass|secret|token|pw|guest|user(?:name)?|test)\d{0,3}\Z"
    r"|(?:sha-?\d+|md5|bcrypt|scrypt|argon2\w*|pbkdf2[\w-]*|base64|utf-?\d+|oauth2?)\b"
    r"|v?\d{1,5}(?:\.\d{1,5}){1,3}(?![\d\w$!@])|\d+-[a-z]+\Z|\d{4}-\d\d-\d\d"
    r"|[\w+/=-]{1,80}EXAMPLE|0x[0-9a-f]{40}\Z|\{\w[\w.]{0,60}\}(?!\w)"
    r"|[a-z]{2,15}:(?:[a-z]|//)|<[^<>\n]{1,80}>?\Z|\{\{|\[\[|[\[(]REDACTED:|(?:x{3,}|\*{3,}|\.{3,}|…)"
    r"|[a-z_][a-z_.]{2,60}[a-z_]\(|(?=[a-z_][a-z0-9]{0,40}[._])[a-z_][\w.]{2,80}\("
    r"|[a-z_][a-z_.]{2,60}\[(?:[\"':a-z_]|\d{1,3}(?:\]|\Z))"
    r"|[\w./-]{1,80}\.(?:pem|key|crt|cer|p12|pfx|jks|json|ya?ml|toml|txt|env|md|py|js|ts|go|rs)\Z"
)


def is_dummy(value: str) -> bool:
    """Whether a value is a variable, a path, a call or a placeholder word."""
    return _compiled(_DUMMY).match(value) is not None or len(set(value)) < 4  # noqa: PLR2004


_SHORT_WORD = 10
"""Length from which a value without a digit can be a password by its characters."""
_JUDGED = 200
"""Characters of a value by which it is judged."""


_KINDS = (str.islower, str.isupper, str.isdigit)


def _classes(value: str) -> int:
    """How many kinds of characters a value has: small, capital, digits, others."""
    return sum(any(map(kind, value)) for kind in _KINDS) + (not value.isalnum())


def is_password(value: str) -> bool:
    """Whether a value after `password` is not a word of prose."""
    value = value[:_JUDGED]
    if not any(map(str.isalpha, value)):
        return False
    numbered = any(map(str.isdigit, value))
    if numbered and value.isalnum():
        return True
    bits = entropy(value) if numbered or len(value) >= _SHORT_WORD else 0
    mixed = bits >= 3 and _classes(value) >= 3  # noqa: PLR2004 - of four; in bits
    return mixed or (numbered and bits >= 3.5)  # noqa: PLR2004


def _is_surely_secret(value: str) -> bool:
    """Whether a value is one even in a table or below its name, where others are words."""
    return is_random(value) or (
        len(value) >= _SHORT_WORD and is_password(value) and _classes(value) == len(_KINDS) + 1
    )


_LONG_HEX = 32
"""Length of a key in hex: each digit has only four bits."""


def is_random(value: str) -> bool:
    """Whether a value after `token` or `api_key` is too random for a word or a path."""
    value = value[:_JUDGED]
    if len(value) >= _LONG_HEX and not set(value) - set("0123456789abcdefABCDEF"):
        return entropy(value) >= 3  # noqa: PLR2004 - of the four that hex can have
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))) or "://" in value:
        return False
    longest = max(value.split("/"), key=len)
    if len(value) < 16 or entropy(value) < 3.5:  # noqa: PLR2004 - as gitleaks' generic rule
        return False
    if _is_name(value):
        return False
    words = len(longest) >= 8 and any(map(str.isdigit, longest))  # noqa: PLR2004
    return (words and any(map(str.isalpha, longest))) or _changes(value) >= 0.3  # noqa: PLR2004


_PARTS = lazy_pattern(r"[-_./:]+")
_WORD_PART = lazy_pattern(r"(?>(?:[A-Z]?[a-z]+)+)\d{0,5}[a-z]*|[A-Z]{1,8}\d{0,4}|\d{1,4}")
_LEAST_PARTS = 3
_LEAST_WORDS = 2


def _is_name(value: str) -> bool:
    """Whether a value consists of words and numbers, as in `db-credentials-prod-v2`."""
    parts = _PARTS.split(value.strip("-_./:"))
    words = sum(len(each) > 2 and each.isalpha() for each in parts)  # noqa: PLR2004
    if len(parts) < _LEAST_PARTS or words < _LEAST_WORDS:
        return False
    return all(map(_WORD_PART.fullmatch, parts))


def _changes(value: str) -> float:
    """How often the kind of character changes, per character.

    In names of words it rarely does, but for a capital at the beginning of each.
    """
    kinds = [
        "a" if x.islower() else "A" if x.isupper() else "1" if x.isdigit() else x for x in value
    ]
    pairs = pairwise(kinds)
    changed = sum(x != y and x + y != "Aa" and "/" not in (x, y) for x, y in pairs)
    return changed / len(kinds)


def entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())
