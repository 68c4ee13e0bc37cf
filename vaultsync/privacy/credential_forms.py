"""Secrets that are recognised by their place: options of commands, fields of files, headers.

A text has to have a letter beside a digit, and a word that names the command or the file. In all
others, no pattern is run.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.privacy.named_secrets import (
    AROUND,
    changes,
    is_dummy,
    is_password,
    is_random,
    is_scrambled,
)
from vaultsync.privacy.providers import pattern_rows
from vaultsync.privacy.secret_names import LETTERS_ONLY, RARE_STEMS

_MIN_LENGTH = 6


def _is_recovery_code(value: str) -> bool:
    """Whether a single value behind such a name is a code, not a word, a version or a year."""
    sizes = [*map(len, re.split("[ -]", value))]
    digits = sum(map(str.isdigit, value))
    if len(sizes) > 1:
        return digits > 0 and len({*sizes}) == 1
    return digits == len(value) or (len(value) >= 8 and digits >= 3)  # noqa: PLR2004 - measured


def _is_login(value: str) -> bool:
    """Whether a value is the base64 of `user:password`."""
    bare = value.rstrip("=")
    try:
        text = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode()
    except (ValueError, binascii.Error):
        return False
    user, sign, secret = text.partition(":")
    return bool(user and sign and secret) and text.isprintable()


def _is_bare_token(value: str) -> bool:
    """Whether the value of a header without a scheme is random, and no name in a program."""
    digits = sum(map(str.isdigit, value))
    return is_random(value) and digits >= _DIGITS_OF_TOKENS and changes(value) >= 0.25  # noqa: PLR2004 - measured


_DIGITS_OF_TOKENS = 2
_UUID = lazy_pattern(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _is_session(value: str) -> bool:
    """Whether the value of a cookie lets in: a random one, which is not a mere id."""
    return is_random(value) and not _UUID.fullmatch(value)


def _is_jumbled(value: str) -> bool:
    """Whether a value behind a name of a user and a slash is a password, not a product."""
    return is_scrambled(value) and changes(value) >= 0.35 and "(" not in value  # noqa: PLR2004 - measured


def _is_network_key(value: str) -> bool:
    """Whether a value behind `WLAN` is its password, not the name of it or of a device."""
    return is_scrambled(value) and (_NAME_SIGNS.isdisjoint(value) or changes(value) > 0.5)  # noqa: PLR2004 - measured


_NAME_SIGNS = frozenset("-_./")


def _is_any_password(value: str) -> bool:
    """Whether a value behind an address is a password, not the name of a team."""
    return is_password(value) and len(value) > _MIN_LENGTH and "." not in value


def _is_no_page(value: str) -> bool:
    """Whether a value behind `login: … /` is a password, not the name of a page or a step."""
    return is_password(value) and not _NUMBERED_NAME.fullmatch(value)


_NUMBERED_NAME = lazy_pattern(r"[A-Z][a-z]+\d")


_JUDGES: Mapping[str, Callable[[str], bool]] = {
    "any": bool,
    "any_password": _is_any_password,
    "bare_token": _is_bare_token,
    "jumbled": _is_jumbled,
    "login": _is_login,
    "network_key": _is_network_key,
    "no_page": _is_no_page,
    "password": is_password,
    "random": is_random,
    "recovery_code": _is_recovery_code,
    "scrambled": is_scrambled,
    "session": _is_session,
}
_Form: TypeAlias = tuple[str, Callable[[str], bool]]
"""A pattern, and whether a value in this place is a secret."""
_FORMS_BY_WORD: dict[bytes, list[_Form]] = {}
_FORMS_BY_SIGN: list[tuple[str, _Form]] = []
_BEFORE_DIGITS: set[bytes] = set()
"""Words of forms whose secrets may have digits only."""
_OPTIONS: dict[str, tuple[str, str]] = {}
"""Command -> the letters of its options, and what else the row says."""
_COMMANDS: dict[bytes, list[str]] = {}
"""The first word of ASCII letters in a command -> commands."""


def _read_row(head: str, pattern: str) -> None:
    words, _, rest = head[1:].rpartition("] ")
    kind, _, mark = rest.partition(" ")
    if kind.startswith("-"):
        for name in words.split():
            _OPTIONS[name] = kind[1:], mark
            _COMMANDS.setdefault(name.encode().translate(LETTERS_ONLY).split()[0], []).append(name)
        return
    form = f"(?i){pattern}", _JUDGES[kind]
    if words.startswith('"'):
        _FORMS_BY_SIGN.append((words.strip('"'), form))
        return
    for word in words.encode().split():
        _FORMS_BY_WORD.setdefault(word, []).append(form)
        if mark == "digits":
            _BEFORE_DIGITS.add(word)


_ROWS = pattern_rows("credential_forms.txt")
_VALUE = dict(_ROWS)["VALUE"]
for _head, _pattern in _ROWS:
    if _head.startswith("["):
        _read_row(_head, _pattern)

_KNOWN = frozenset((*_FORMS_BY_WORD, *_COMMANDS, *RARE_STEMS))


def words_of(letters: bytes, *, mixed: bool) -> frozenset[bytes]:
    """The words of a text, in UTF-8, that may stand before a secret.

    Args:
        letters: the text.
        mixed: whether a letter stands beside a digit; otherwise secrets have digits only.
    """
    known = _KNOWN if mixed else _BEFORE_DIGITS
    return frozenset(known.intersection(letters.translate(LETTERS_ONLY).split()))


def rare_stems(words: frozenset[bytes]) -> frozenset[str]:
    """The words before a secret that are only looked for among these words."""
    return frozenset(RARE_STEMS[each] for each in words & RARE_STEMS.keys())


def form_spans(
    text: str, low: str, words: frozenset[bytes], *, mixed: bool
) -> Iterator[tuple[int, int]]:
    """The secrets of a text that are recognised by their place.

    Args:
        text: the text.
        low: the text in lower case.
        words: its words, as `words_of()` gives them.
        mixed: as there.
    """
    for word in words & _FORMS_BY_WORD.keys():
        for form in _FORMS_BY_WORD[word]:
            yield from _spans_at(text, _places(low, word.decode()), form)
    for sign, form in _FORMS_BY_SIGN if mixed else ():
        yield from _spans_at(text, _places(text, sign), form)
    for word in words & _COMMANDS.keys():
        for name in _COMMANDS[word]:
            for at in _places(text, name):
                yield from _option_spans(text, at, name)


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _spans_at(text: str, places: Iterable[int], form: _Form) -> Iterator[tuple[int, int]]:
    pattern, likely = form
    for at in places:
        if match := compiled(pattern).match(text, at):
            yield from _secret_of(match, likely)


def _secret_of(
    match: re.Match[str], likely: Callable[[str], bool], *, of_user: bool = False
) -> Iterator[tuple[int, int]]:
    """Where the secret of a match is, without what stands around it, if it is one."""
    group = match.lastindex or 0
    start, end = match.span(group)
    quotes = match.string[start - 1 : start] + match.string[end : end + 1]
    value = match[group] if quotes in {"''", '""'} else match[group].rstrip(AROUND)
    if of_user:
        start, value = start + value.find(":") + 1, value.partition(":")[2]
    bare = value.lstrip(_BEFORE)
    if len(bare) >= _MIN_LENGTH and not is_dummy(bare) and likely(bare):
        yield start + len(value) - len(bare), start + len(value)


_BEFORE = " \t\r\n,;|>*+[]\"'`-"


def _option_spans(text: str, at: int, name: str) -> Iterator[tuple[int, int]]:
    """The passwords in the options of the command at a place."""
    end = at + len(name)
    if text[end : end + 1] not in (" ", "\t"):
        return
    line = _END_OF_COMMAND.search(text, end, end + _COMMAND_REACH)
    stop = line.start() if line else end + _COMMAND_REACH
    letters, mark = _OPTIONS[name]
    if mark == "login" and text.find(" login", end, stop) < 0:
        return
    option = compiled(rf"[ \t]-[A-Za-z]{{0,5}}?[{letters}][ \t=]?{_VALUE}")
    for match in option.finditer(text, end, stop):
        yield from _secret_of(match, is_password, of_user=mark == "user")


_END_OF_COMMAND = lazy_pattern(r"[\n|]")
_COMMAND_REACH = 300
"""Characters of a command in which its options are read."""
