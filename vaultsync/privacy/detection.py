"""Find secrets in text: tokens of providers, and values that look like secrets.

A text without secrets costs a few microseconds: tokens are searched only in texts with a
long word, and named secrets only in texts with such a name. What finds them is only imported
for these, as most commands read none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, starmap
from typing import NamedTuple

from vaultsync.model.canonical import lower_each
from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.privacy.clean_texts import LONG_WORD, RUNS
from vaultsync.privacy.invisible_letters import INVISIBLE, may_split_secrets
from vaultsync.privacy.placeholders import replace_spans
from vaultsync.privacy.providers import providers_in
from vaultsync.privacy.secret_names import has_codes, has_letter_beside_digit, non_ascii, stems_in

_BASE64 = r"[A-Za-z0-9+/=]"
PRIVATE_KEY = (
    r"-----BEGIN[ A-Za-z0-9]{0,40}(?:PRIVATE KEY(?: BLOCK)?|Static key V1)-----"
    r"(?:"
    r"(?>(?:[A-Za-z0-9+/=:,.\\ \t\r\n>\"']++|-(?!----))+)-----END[ A-Za-z0-9]{0,60}-----"
    rf"|(?>(?:(?>(?:\\[nr]|[\s>])*){_BASE64}{{16,}}+)+)"
    r")"
)
"""A whole block, over many lines or with `\\n` between them; cut off, what is there."""

_KEY_DATA = lazy_pattern(rf"{_BASE64}{{16}}")

URL_LOGIN = r"://(?:(?P<user>[^\s/:@\"'<>]{0,100}):)?(?P<s>[^\s/\"'<>]{3,200})@(?=[A-Za-z0-9\[])"
"""`scheme://user:password@host`, and `scheme://token@host`."""
HOST_LOGIN = (
    r"(?<![\w/:.@%+-])(?P<user>(?!(?:mailto|e-?mail|xmpp|sips?)\b)[A-Za-z][\w.-]{0,60})"
    r":(?P<s>[^\s:/@\"'<>]{8,100})@(?=[A-Za-z0-9\[])(?!sha\d)"
)
"""`user:password@host` without a scheme; only a password that is no word counts."""
CURL_COMMAND = r"curl (?:[^|;\n]{1,300})"
CURL_LOGIN = (
    r" -(?:[A-Za-z]{0,6}u|-user|-proxy-user)[ =]?"
    r"(?P<user>[^\s:]{1,100}):(?P<s>[^\s\"']{3,99})"
)
"""`curl -u user:password`: the option, of which a command may have several."""

SEED_PHRASE_KIND = "seed-phrase"
OPTIONAL_FORMS: Mapping[str, str] = {
    "card": r"(?<![\w.-])(?:\d[ -]?){12,18}\d(?![\w-])",
    "iban": r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])",
    SEED_PHRASE_KIND: r"[A-Za-z]+",
}
"""Off by default; enabled by `@card`, `@iban` and `@seed-phrase` among the patterns. All have
a checksum."""


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


_SURE = "Q~"
"""A literal of tokens that need not have a long word, as dots and tildes may part them."""
_BEFORE, _FAR, _AFTER = 24, 80, 4
"""Characters around a long word in which the literals of its kind are searched."""


def find_secrets(text: str) -> Iterator[SecretSpan]:
    """The secrets of a text, in no order; spans may overlap."""
    yield from with_invisible_removed(_spans_of, text)
    if ("%" in text or "\\" in text or "&" in text) and _ESCAPED.search(text):
        yield from _spans_of(_ESCAPED.sub(_unescaped, text))


_ESCAPED = lazy_pattern(
    r"(?:%|\\x)(?P<hex>[0-9A-Fa-f]{2})|\\u(?P<uni>[0-9A-Fa-f]{4})|\\[nrtfbv0\"'/\\]"
    r"|&(?:quot|amp|apos|lt|gt|nbsp|#[0-9]{1,5}|#x(?P<entity>[0-9A-Fa-f]{1,4}));"
)
"""Escapes of URLs, JSON, languages and HTML, which may stand right beside a secret."""
_NAMED = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "nbsp": " "}


def _unescaped(match: re.Match[str]) -> str:
    """The character of an escape among blanks, in as many characters."""
    word = match[0]
    code = match["hex"] or match["uni"] or match["entity"]
    if code:
        letter = chr(int(code, 16))
    elif word[0] == "&":
        letter = _NAMED.get(word[1:-1]) or chr(int(word[2:-1]))
    else:
        letter = "\n" if word == "\\n" else word[1]
    if letter in "\"'":
        return letter * min(len(word), 3) + " " * (len(word) - 3)
    shown = letter if letter in "=:&\n" else " "
    return shown.center(len(word))


def with_invisible_removed(
    find: Callable[[str], Iterator[SecretSpan]], text: str
) -> Iterator[SecretSpan]:
    """What is found in a text, and in the text without invisible characters."""
    yield from find(text)
    others = "" if text.isascii() else non_ascii(text.encode(errors="replace"))
    if may_split_secrets(others, text):
        yield from _without(INVISIBLE, find, text)


def _without(
    pattern: re.Pattern[str], find: Callable[[str], Iterator[SecretSpan]], text: str
) -> Iterator[SecretSpan]:
    """What is found in a text without the matches of a pattern, as spans of the whole text."""
    matches = [match.span() for match in pattern.finditer(text)]
    if not matches:
        return
    removed = [0, *accumulate(end - start for start, end in matches)]
    places = [start - gone for (start, _), gone in zip(matches, removed, strict=False)]
    for start, end, kind in find(replace_spans(text, ((*each, "") for each in matches))):
        first, last = (at + removed[bisect_right(places, at)] for at in (start, end - 1))
        yield SecretSpan(first, last + 1, kind)


_RUN = r"[A-Za-z0-9_+/=.-]"
_LINE_BREAK = lazy_pattern(
    rf"[\\\"'`\r\n](?<={_RUN}{{12}}[\\\"'`\r\n])(?:(?<=\n)|\r?\n)[ \t>]{{0,12}}[\"'`]?"
    rf"(?=(?>{_RUN}{{8,}})[\"'`\\,;)]{{0,3}}[ \t]{{0,3}}(?:\r?\n|\Z))"
    rf"(?={_RUN}*[0-9])(?={_RUN}*[a-z0-9][A-Z])"
)
"""Where a token may go on in the next line, which has nothing else, and is no word."""
_GOES_ON = lazy_pattern(r"[\w+/=-]")


def _split_tokens(text: str, tokens: Sequence[SecretSpan]) -> Iterator[SecretSpan]:
    """The tokens in which a line ends, unless another one or a path is in the next line."""
    starts = sorted(each.start for each in tokens)
    for span in _without(_LINE_BREAK, partial(_tokens, to_word_end=False), text):
        is_alone = bisect_right(starts, span.start) == bisect_right(starts, span.end)
        if is_alone and not _GOES_ON.match(text, span.end):
            yield span


def _spans_of(text: str) -> Iterator[SecretSpan]:
    letters = text.encode(errors="replace")
    if LONG_WORD in letters.translate(RUNS) or _SURE in text:
        yield from (tokens := list(_tokens(text)))
        yield from _split_tokens(text, tokens) if "\n" in text else ()
    stems, mixed = stems_in(text), has_letter_beside_digit(letters)
    if stems or mixed or has_codes(letters):
        yield from _named_spans(text, letters, stems, mixed=mixed)
    for sign, matches in ((b"@", _url_logins), (b"@", _host_logins), (b"curl", _curl_logins)):
        for match in matches(text) if sign in letters else ():
            if _is_login(match["user"], match["s"], sure=matches is not _host_logins):
                yield SecretSpan(*match.span("s"), "url-password")


def _named_spans(
    text: str, letters: bytes, stems: Sequence[str], *, mixed: bool
) -> Iterator[SecretSpan]:
    """The secrets that are recognised by what stands before them."""
    from vaultsync.privacy.credential_forms import form_spans, rare_stems, words_of  # noqa: PLC0415 - see above
    from vaultsync.privacy.named_secrets import named_secrets  # noqa: PLC0415 - see above

    words = words_of(letters, mixed=mixed)
    stems = (*stems, *rare_stems(words)) if mixed else stems
    low = lower_each(text)
    for start, end, kind in named_secrets(text, low, stems, mixed=mixed):
        yield SecretSpan(start, end, kind)
    if "\n" in text:
        from vaultsync.privacy.secret_columns import column_secrets  # noqa: PLC0415 - see above

        yield from starmap(SecretSpan, column_secrets(text, low, stems))
    for start, end in form_spans(text, low, words, mixed=mixed):
        yield SecretSpan(start, end, "password")


def _url_logins(text: str) -> Iterator[re.Match[str]]:
    return compiled(URL_LOGIN).finditer(text)


def _curl_logins(text: str) -> Iterator[re.Match[str]]:
    """The matches of `CURL_LOGIN` that begin in a command."""
    for command in compiled(CURL_COMMAND).finditer(text):
        option = compiled(CURL_LOGIN)
        end = command.end() + _LONGEST_OPTION
        for match in option.finditer(text, command.start(), end):
            if match.start() < command.end():
                yield match


_LONGEST_OPTION = 230
"""Characters of an option with a user and a password."""


def _host_logins(text: str) -> Iterator[re.Match[str]]:
    """The matches of `HOST_LOGIN`, each of which ends at an `@` and has no other."""
    end = 0
    while (at := text.find("@", end)) >= 0:
        match = compiled(HOST_LOGIN).search(text, max(end, at - _LONGEST_LOGIN), at + 6)
        if match:
            yield match
        end = at + 1


_LONGEST_LOGIN = 162
"""Characters before the `@`."""


def _is_login(user: str | None, secret: str, *, sure: bool) -> bool:
    """Whether what stands in an address, or behind the name of a user, is a secret.

    Where the place is not `sure`, its characters have to tell it from a word.
    """
    from vaultsync.privacy.named_secrets import is_dummy, is_random, is_scrambled  # noqa: PLC0415 - see above

    if not (sure or is_scrambled(secret)):
        return False
    return (user is not None or is_random(secret)) and not is_dummy(secret) and user != secret


def _word_end(text: str, at: int) -> int:
    found = compiled(r"[A-Za-z0-9_-]*").match(text, at)
    return found.end() if found else at


def _tokens(text: str, *, to_word_end: bool = True) -> Iterator[SecretSpan]:
    near, far = [_SURE] if _SURE in text else [], []
    # One byte per character; those outside of Latin-1 become `?`.
    runs = text.encode("latin-1", "replace").translate(RUNS)
    at = runs.find(LONG_WORD)
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(runs) if end < 0 else end
        far.append(text[max(at - _FAR, 0) : end + _AFTER])
        near.append(far[-1][max(min(at, _FAR) - _BEFORE, 0) :])
        at = runs.find(LONG_WORD, end)
    for row in providers_in("\n".join(dict.fromkeys(near)), "\n".join(dict.fromkeys(far))):
        pattern = compiled(row.pattern)
        group = "s" if "s" in pattern.groupindex else 0
        end = 0
        for match in row.matches(text):
            start = match.start(group)
            token = match[group].rstrip(".")  # the end of a sentence
            sample = len(set(token[-20:])) < 6 or token.endswith("EXAMPLE")  # noqa: PLR2004 - as people write samples
            if "whole" in pattern.groupindex and match["whole"] is None:
                continue
            if not sample and start >= end:
                end = start + len(token)
                # Characters right behind a token are a part of it, or another one.
                end = _word_end(text, end) if to_word_end else end
                yield SecretSpan(start, end, row.kind)
    if "-----BEGIN" in text:
        for match in compiled(PRIVATE_KEY).finditer(text):
            if _KEY_DATA.search(match[0].split("-----", 3)[2]):
                yield SecretSpan(*match.span(), "private-key")


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
