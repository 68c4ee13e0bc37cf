"""Secrets that follow a name: `password: …`, `API_KEY=…`, "the token is …"."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import ne
from typing import TypeAlias

from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.privacy.providers import data_text, pattern_rows
from vaultsync.privacy.secret_names import OTHER_STEMS, RARE_STEMS

_Groups: TypeAlias = Mapping[str, str | None]

NAME_PATTERNS = dict(
    pattern_rows(
        "named_secrets.txt",
        OTHER_STEMS="|".join(OTHER_STEMS),
        RARE_STEMS="|".join(RARE_STEMS.values()),
    )
)


def _words(name: str) -> tuple[str, ...]:
    return tuple(NAME_PATTERNS[name].split("|"))


_OF_KEY, _KEYS_OF, _NOT_ITSELF = _words("OF_KEY"), _words("KEYS_OF"), {*_words("NOT_ITSELF")}
_NOT_AFTER = {each: _words(f"NOT_AFTER_{each.upper()}") for each in ("pass", "clave", "token")}
_HEADING_END = lazy_pattern(
    r"(?:s|en)?[\"'`*_:]{0,3}(?:[ \t]{0,4}\([^()]{1,60}\))?[\"'`*_:]{0,3}\s*"
)
_COLUMNS = frozenset("|,;\t")
"""What stands between the headings of columns."""
_LONGEST_ADDRESS = 500
_WITHIN = 60
"""Characters from a stem within which a named value has its sign."""
MIN_VALUE = 6
"""The least length of a secret behind a name."""
_MOST_OVERLAPS = 4
"""How often stems inside of one value are looked at before all of it counts as a secret."""


def _pattern(name: str) -> re.Pattern[str]:
    return compiled(NAME_PATTERNS[name])


def named_secrets(
    text: str, low: str, stems: Sequence[str], *, mixed: bool
) -> Iterator[tuple[int, int, str]]:
    """The spans of named secrets and their kinds.

    Args:
        text: the text.
        low: the text in lower case.
        stems: the words before a secret that it has.
        mixed: whether a letter stands beside a digit, as in passwords without a sign before them.
    """
    for stem in stems:
        at = low.find(stem)
        inside = behind = 0
        while at >= 0:
            # A run of many names is one value of another: `pwd=pwd=pwd=…`.
            inside = inside + 1 if at < behind else 0
            if inside == _MOST_OVERLAPS:
                yield at, behind, "secret"
            elif inside < _MOST_OVERLAPS:
                other = _phrase_at(text, low, at, stem)
                if other is None and mixed and stem not in _NOT_USED_AS:
                    other = _value_before(text, low, at)
                if other:
                    yield *other, "password"
                found = _value_at(text, low, at, mixed=mixed)
                if found is not None:
                    start, end, stop, kind = found
                    behind = max(behind, stop)
                    if kind:
                        yield start, end, kind
            at = low.find(stem, at + len(stem))


_NOT_USED_AS = frozenset({
    "token", "key", "credential", "secret", "phrase", "mnemonic", "seed word",
})  # fmt: skip
"""Words that are not the last ones of `use … as the password`."""


_VALUE_SIGN = lazy_pattern("[:=\uff1a\uff1d→—–>|\"'](?<![\"'](?!,))")
_OPTION = lazy_pattern(r"(?<![\w-])--?(?:[A-Za-z][\w-]*)?\Z")
_REST_OF_LINE = lazy_pattern(r"[^\S\n]*(?:\n|\Z)")


def _value_at(text: str, low: str, at: int, *, mixed: bool) -> tuple[int, int, int, str] | None:
    """The span and kind of a value, and where its characters end; no kind if it is no secret."""
    match = _match_at(text, low, at)
    if match is None and mixed:
        match = _pattern("PLAIN_VALUE").match(text, at)
    # What was found before is NUL in a second look, up to what stands around it.
    if match is None or not match["s"].strip("\0" + AROUND):
        return None
    groups = match.groupdict()
    if not _names_a_secret(text, match, groups):
        return None
    of_password = _is_of_password(groups)
    likely = _judge_of(match, groups, of_password=of_password)
    start, stop = match.span("s")
    if likely is None or (groups.get("below") and not _REST_OF_LINE.match(text, stop)):
        return None
    plain = "plain" in groups
    value = _value_of(text, match.start(), groups["s"], groups["quote"])
    words = of_password and not plain and _are_joined_words(value)
    kind = ""
    if len(value) >= MIN_VALUE and (words or likely(value)) and not is_dummy(value):
        kind = "password" if of_password else "secret"
    return start, start + len(value), start if plain else stop, kind


def _match_at(text: str, low: str, at: int) -> re.Match[str] | None:
    """A name and a value in the first form that fits."""
    end = at + _WITHIN
    match = None
    if _VALUE_SIGN.search(low, at, end):
        match = _pattern("NAMED_VALUE").match(text, at)
    if match is None and low.find(" ", at, end) >= 0:
        match = _pattern("SAID_VALUE").match(text, at)
        begin = max(at - 40, 0)
        if match is None and text.find("-", begin, at) >= 0 and _OPTION.search(text, begin, at):
            match = _pattern("OPTION_VALUE").match(text, at)
    if match is None and not text[at : at + 1].isascii():
        match = _pattern("WRITTEN_VALUE").match(text, at)
    if match is None and low.find("\n", at, end) >= 0:
        near = text[max(at - _WITHIN, 0) : at].rpartition("\n")[2]
        if _COLUMNS.isdisjoint(near):
            match = _pattern("HEADED_VALUE").match(text, at)
    return match


def _is_of_password(groups: _Groups) -> bool:
    """Whether a name is that of a password, not of a key."""
    other = (groups.get("other") or "").lower()
    return bool(groups.get("pass")) or (other != "" and other not in _OF_KEY)


def kind_of_heading(text: str) -> str:
    """The kind of the secrets below the heading of a column; empty if it names none."""
    match = _pattern("HEADING").search(text)
    if match is None or not _HEADING_END.fullmatch(text, match.end()):
        return ""
    groups = match.groupdict()
    if not _names_a_secret(text, match, groups):
        return ""
    return "password" if _is_of_password(groups) else "secret"


_IN_PARENTHESES = lazy_pattern(r"\(\w{1,20}[ \t][^\s()]{6,100}\)")


def _is_unsure_name(match: re.Match[str], groups: _Groups) -> bool:
    """Whether a name may be another word: `bypass`, or the Spanish for a key of a map."""
    at = match.start()
    name = (groups.get("pass") or "").lower()
    inside = name in ("pass", "pw", "pwd") and match.string[max(at - 1, 0) : at].isalpha()
    return inside or groups.get("other") == "clave"


def _judge_of(
    match: re.Match[str], groups: _Groups, *, of_password: bool
) -> Callable[[str], bool] | None:
    """What tells whether the value of a match is a secret; None if it is none at all."""
    at = match.start()
    if "plain" in groups or (groups.get("to") and not groups.get("other")):
        before = match.string[max(at - 20, 0) : at].rstrip(" _-").lower()
        verb = (groups.get("pass") or "").lower() == "pass"
        if of_password and _IN_PARENTHESES.match(match.string, max(at - 1, 0)):
            return is_password
        if verb or not (of_password or before.endswith(_KEYS_OF)):
            return None
    elif groups.get("below") or groups.get("sign") == "|":
        return is_surely_secret
    elif groups.get("sign") == "=" and match[0][:6].lower() == "secret":
        return _is_shared_secret
    elif _OF_ANOTHER.match(groups.get("topic") or ""):
        return is_scrambled
    elif groups.get("sign") != "," and not _is_unsure_name(match, groups):
        return is_password if of_password else is_random
    return is_scrambled if of_password else is_random


_OF_ANOTHER = lazy_pattern("[の\u30a1-\u30fa管認設変機方要強共保再入初生期制対]")
"""What makes `パスワード` the first word of another, as in the Japanese for password manager."""
_OF_PHRASE = frozenset({"phrase", "mnemonic", "seed word", "パスフレーズ"})
_QUOTE = lazy_pattern("[\"'“„«「]")
_OF_APP = lazy_pattern(r"[a-z]{4}(?:[ -][a-z]{4}){3}(?![^\W\d_])")
"""A password for one program, as Google and Apple make them."""
_LETTERS = lazy_pattern("[a-z]+")
_OF_WALLET = lazy_pattern(r"(?i)seed|mnemonic|recovery|wiederher|récup|recuper")


def _is_phrase_name(text: str, at: int) -> bool:
    """Whether the name around a position is that of a passphrase, not of a password."""
    return _pattern("IS_PHRASE").search(text, max(at - 20, 0), at + 24) is not None


@cache
def _prose(kind: str) -> frozenset[str]:
    """Words of prose in some languages, from the table of this name."""
    return frozenset(tomllib.loads(data_text("prose_words.toml"))[kind])


_WORD = lazy_pattern(r"[^\W\d_]{1,15}")
_ENDINGS_OF_PROSE = ("ed", "ly", "ing", "é", "ée", "és", "ado", "ida", "ada", "ido")
_MIN_WORDS = 4
"""The least number of words of a passphrase."""


def _words_before(
    text: str, start: int, end: int, is_other: Callable[[str, int], bool], least: int
) -> tuple[int, int] | None:
    """The words up to the first that `is_other`, by itself and its number, if these are enough."""
    count, stop = 0, start
    for word in _WORD.finditer(text, start, end):
        if is_other(word[0].lower(), count):
            break
        count, stop = count + 1, word.end()
    return (start, stop) if count >= least else None


def _phrase_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The words up to the first one of prose, if these are enough for a passphrase."""

    def is_prose(word: str, number: int) -> bool:
        opens = number == 0 and (word in _prose("opening") or word.endswith(_ENDINGS_OF_PROSE))
        return opens or word in _prose("prose")

    return _words_before(text, start, end, is_prose, _MIN_WORDS)


def _wallet_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The words up to the first one that no wallet has, if these are enough for a wallet."""
    from vaultsync.privacy.bip39 import PHRASE_SIZES, numbers  # noqa: PLC0415 - few need it

    known = numbers()
    return _words_before(text, start, end, lambda word, _: word not in known, PHRASE_SIZES[-1])


_JOINED = lazy_pattern(r"[^\W\d_]{3,12}([-._])[^\W\d_]{3,12}(?:\1[^\W\d_]{3,12}){2,20}")


def _are_joined_words(value: str) -> bool:
    """Whether a value is a passphrase with the same sign between all words."""
    if not _JOINED.fullmatch(value) or not (value.islower() or value.istitle()):
        return False
    return _phrase_span(value, 0, len(value)) == (0, len(value))


def _phrase_at(text: str, low: str, at: int, stem: str) -> tuple[int, int] | None:
    """The words behind a name of a passphrase, or in quotes behind one of a password."""
    of_app = stem == "pass" and "app" in low[max(at - 14, 0) : at] and _is_phrase_name(text, at)
    named = (
        stem in _OF_PHRASE or low.startswith("satz", at + 8) or "frase" in low[max(at - 12, 0) : at]
    ) and _is_phrase_name(text, at)
    if not (named or of_app) and (
        stem in _NOT_USED_AS or not _QUOTE.search(text, at, at + _WITHIN)
    ):
        return None
    match = _pattern("PHRASE").match(text, at)
    if match is None:
        return None
    start, end = match.span("s")
    if of_app:
        groups = _OF_APP.match(text, start)
        return groups.span() if groups else None
    if stem == "mnemonic":  # it mostly names a sentence that helps to remember something
        return _wallet_span(text, start, end)
    if not named:
        if not _NOT_ITSELF.isdisjoint(_LETTERS.findall(low, at, start)):
            return None
        closed = match["quote"] and text.startswith(_CLOSERS[match["quote"][-1]], end)
        return _phrase_span(text, start, end) if closed and text[start:end].islower() else None
    if _OF_WALLET.search(text, max(at - 20, 0), at + 20) and (
        found := _wallet_span(text, start, end)
    ):
        return found
    line = text.find("\n", start, end)
    return _phrase_span(text, start, end if line < 0 else line)


_NAMED_BEHIND = lazy_pattern(
    r"(?i)[ \t\r\n](?:as|als|comme|como|come)(?:[ \t]\w{1,10}){0,3}[ \t][\"'`*]?\Z"
)


def _value_before(text: str, low: str, at: int) -> tuple[int, int] | None:
    """The value of `use … as the password`."""
    begin = max(at - 40, 0)
    near = low[begin:at]
    if not (" as " in near or " als " in near or " com" in near):
        return None
    found = _NAMED_BEHIND.search(text, begin, at)
    if found is None:
        return None
    end = found.start()
    word = text[max(end - 100, 0) : end].rsplit(None, 1)[-1:]
    value = word[0].rstrip(AROUND).lstrip("\"'`*“„«「(") if word else ""
    start = text.rfind(value, 0, end)
    return (start, start + len(value)) if is_scrambled(value) and not is_dummy(value) else None


_LAST_PART = lazy_pattern("[_-]")
_LAST_WORD = lazy_pattern(r"(?:[A-Z]?[a-z]+|[A-Z]+)\Z")
"""In `nextPage`, as well, the last word is `Page`."""
_PATH_BEFORE = lazy_pattern(r"[\w.-]/[\w./-]*\Z|\barn:[\w:*/-]*\Z")
_IN_PLACEHOLDER = lazy_pattern(r"REDACTED:[a-z0-9-]*\Z")


def _names_a_secret(text: str, match: re.Match[str], groups: _Groups) -> bool:
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
AROUND = ".,;:!?)]}>\"'`*|」”“»。、】\uff0c\uff1b\uff01\uff1f\uff09"


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
    return (value[: found.start()] if found else value).rstrip(AROUND)


_judge = lru_cache(maxsize=256)
"""For what judges a value: many lines of a log have the same one, and texts are searched again."""


@_judge
def is_dummy(value: str) -> bool:
    """Whether a value is a variable, a path, a call or a placeholder word."""
    # Most long values show by their first characters that they have many.
    few = len(set(value[:_JUDGED])) < _FEW_LETTERS and len(set(value)) < _FEW_LETTERS
    return few or _pattern("DUMMY").match(value) is not None


_FEW_LETTERS = 4
"""Different characters that a secret has at least."""


_SHORT_WORD = 10
"""Length from which a value without a digit can be a password by its characters."""
_JUDGED = 200
"""Characters of a value by which it is judged."""


_KINDS = (str.islower, str.isupper, str.isdigit)


def _classes(value: str) -> int:
    """How many kinds of characters a value has: small, capital, digits, others."""
    return sum(any(map(kind, value)) for kind in _KINDS) + (not value.isalnum())


@_judge
def is_password(value: str) -> bool:
    """Whether a value after `password` is not a word of prose."""
    value = value[:_JUDGED]
    if not any(map(str.isalpha, value)) or _begins_uncased(value):
        return False
    numbered = any(map(str.isdigit, value))
    if numbered and value.isalnum():
        return True
    if value.isalpha():  # as base64 may be
        return len(value) >= _SCRAMBLED_LENGTH + 4 and _are_letters_of_no_words(value)
    if not numbered and len(value) < _SHORT_WORD:
        return False
    classes, bits = _classes(value), entropy(value)
    mixed = (classes == 3 and bits >= 3) or (classes == 4 and bits >= 2.5)  # noqa: PLR2004 - measured
    return mixed or (numbered and bits >= 3.5)  # noqa: PLR2004 - measured


_SYLLABLES = lazy_pattern(r"[A-Z]?(?=[a-z]{0,40}[aeiouy])[a-z]{2,}")


def _are_letters_of_no_words(value: str) -> bool:
    """Whether letters change between small and capital as random ones do.

    In `getPasswordFromEnvironment`, most are in parts that can be spoken. Of names in programs
    0.2 % count, of random letters 75 to 90 %.
    """
    spoken = sum(map(len, _SYLLABLES.findall(value)))
    return spoken < len(value) / 2 and changes(value) >= 0.15  # noqa: PLR2004 - measured


def _begins_uncased(value: str) -> bool:
    """Whether a value begins as prose does in scripts without capitals."""
    return value[0].isalpha() and value[0].lower() == value[0].upper()


_SCRAMBLED_LENGTH = 8
_VERSIONED = lazy_pattern(r"[A-Za-z]+(?:[-_. ]?v?\d{1,4}){1,4}[a-z]?")
"""As `Apache-2.0`."""


@_judge
def is_scrambled(value: str) -> bool:
    """Whether a value is a password even where nothing but its characters tells it from a word."""
    value = value[:_JUDGED]
    return (
        len(value) >= _SCRAMBLED_LENGTH
        and any(map(str.islower, value))
        and any(map(str.isupper, value))
        and is_password(value)
        and not _VERSIONED.fullmatch(value)
        and changes(value) >= 0.25  # noqa: PLR2004 - measured
        and not _is_name(value)
    )


_BASE32 = lazy_pattern(r"[A-Z2-7]{16,64}=*")


def _is_shared_secret(value: str) -> bool:
    """Whether a value after `secret=` is one: of a peer, or of one-time passwords."""
    return is_random(value) or is_scrambled(value) or _BASE32.fullmatch(value) is not None


def is_surely_secret(value: str) -> bool:
    """Whether a value is one even in a table or below its name, where others are words."""
    return is_random(value) or (
        len(value) >= _SHORT_WORD and is_password(value) and _classes(value) == len(_KINDS) + 1
    )


_RANDOM_LENGTH = 16
"""The least length of a random value."""
_LONG_HEX = 32
"""Length of a key in hex: each digit has only four bits."""


@_judge
def is_random(value: str) -> bool:
    """Whether a value after `token` or `api_key` is too random for a word or a path."""
    value = value[:_JUDGED]
    if len(value) >= _LONG_HEX and not set(value) - set("0123456789abcdefABCDEF"):
        return entropy(value) >= 3  # noqa: PLR2004 - of the four that hex can have
    if value.isalpha():
        return len(value) >= _RANDOM_LENGTH and _are_letters_of_no_words(value)
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))) or "://" in value:
        return False
    longest = max(value.split("/"), key=len)
    if len(value) < _RANDOM_LENGTH or entropy(value) < 3.5:  # noqa: PLR2004 - as gitleaks' generic rule
        return False
    if _is_name(value):
        return False
    words = len(longest) >= 8 and any(map(str.isdigit, longest))  # noqa: PLR2004 - measured
    return (words and any(map(str.isalpha, longest))) or changes(value) >= 0.3  # noqa: PLR2004 - measured


_PARTS = lazy_pattern(r"[-_./:]+")
_WORD_PART = lazy_pattern(r"(?>(?:[A-Z]?[a-z]+)+)\d{0,5}[a-z]*|[A-Z]{1,8}\d{0,4}|\d{1,4}")
_LEAST_PARTS = 3
_LEAST_WORDS = 2


def _is_name(value: str) -> bool:
    """Whether a value consists of words and numbers, as in `db-credentials-prod-v2`."""
    parts = _PARTS.split(value.strip("-_./:"))
    words = sum(len(each) > 2 and each.isalpha() for each in parts)  # noqa: PLR2004 - measured
    if len(parts) < _LEAST_PARTS or words < _LEAST_WORDS:
        return False
    return all(map(_WORD_PART.fullmatch, parts))


def changes(value: str) -> float:
    """How often the kind of character changes, per character.

    In names of words it rarely does, but for a capital at the beginning of each.
    """
    parts = value.translate(_KIND_OF).split("/")
    changed: int = sum(sum(map(ne, part, part[1:])) - part.count("Aa") for part in parts)
    return changed / len(value)


class _KindOf(dict[int, str]):
    """By code, what stands for the kind of a character; those of ASCII are kept."""

    def __missing__(self, code: int) -> str:
        """The character itself, if it is neither a letter with a case nor a digit."""
        letter = chr(code)
        if letter.islower():
            return "a"
        if letter.isupper():
            return "A"
        return "1" if letter.isdigit() else letter


_KIND_OF = _KindOf()
_KIND_OF.update((code, _KIND_OF[code]) for code in range(128))


def entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    size = len(text)
    shares = [count / size for count in map(text.count, dict.fromkeys(text))]
    return -sum(share * math.log2(share) for share in shares)
