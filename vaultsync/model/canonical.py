"""Validate the values of fields, and convert them to a canonical form.

All values from outside pass through here once; equal meanings become equal values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, chain

from vaultsync.errors import InvalidFieldError, InvalidIdError, UnknownTypeError
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import (
    ALL_FIELDS_BY_KEY,
    DEFAULT_PRIORITY,
    DEFAULT_STATUS,
    LIST_KINDS,
    TYPES,
    Field,
    Value,
    ValueKind,
)
from vaultsync.model.scope import check_scope

# Patterns are compiled when they are first used: a question loads this module, too.
_UUID = r"\A[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"


def check_id(value: object) -> str:
    """The id in canonical form: a lower-case UUID with hyphens.

    Raises:
        InvalidIdError: it is not a UUID.
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if re.match(_UUID, text):
            return text
    raise InvalidIdError(value)


_NO_TEXT = r"[\x00\ud800-\udfff]"
_HALF = r"[\ud800-\udfff]"
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
TAG_CHARACTERS = "\U000e0000-\U000e007f"
"""Letters that no person sees, but a model reads: an agent could be told anything in them."""


def clean_text(key: str, value: object) -> str:
    r"""Text with `\n` line ends and no blank lines around it.

    Raises:
        InvalidFieldError: it is not text, or contains NUL or lone surrogates.
    """
    if not isinstance(value, str):
        raise InvalidFieldError(key, value, ValueKind.TEXT.value)
    if re.search(_NO_TEXT, value):
        raise InvalidFieldError(key, value, "text without NUL or lone surrogates")
    return value.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


def clean_line(key: str, value: object) -> str:
    """One line of text, without blanks around it."""
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidFieldError(key, value, ValueKind.LINE.value)
    text = clean_text(key, str(value)).strip()
    if re.search(r"[\n\x85\u2028\u2029]", text) or re.search(_CONTROL, text):
        raise InvalidFieldError(key, value, ValueKind.LINE.value)
    return text


_PLAIN_TIME = lazy_pattern(r"\A\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\Z", re.ASCII)
_TRAILING = r"(?<=\.\d{3})0{3}(?=Z)"


def clean_time(key: str, value: object) -> str:
    """A time in UTC, as `2026-02-14T13:45:00Z`; a date alone is its midnight."""
    text = value.strip() if isinstance(value, str) else ""
    try:
        parsed = datetime.fromisoformat(text)
        if _PLAIN_TIME.match(text):
            return text
        known = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        utc = known.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        raise InvalidFieldError(key, value, ValueKind.TIME.value) from None
    return re.sub(_TRAILING, "", utc)


NEVER, FOREVER = -(2**63), 2**63 - 1
"""Microseconds before and after all times."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(time: str) -> int:
    """A time as microseconds since 1970; UTC unless it has an offset.

    `NEVER` when it is not a time.
    """
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return NEVER
    known = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (known - EPOCH) // _MICROSECOND


def from_microseconds(moment: int) -> str:
    """The inverse of `to_microseconds()`; empty for `NEVER`."""
    if moment == NEVER:
        return ""
    return (EPOCH + moment * _MICROSECOND).isoformat().replace("+00:00", "Z")


def _date(key: str, value: object) -> str:
    """A date, which a time or words may follow, but no more digits."""
    text = value.strip() if isinstance(value, str) else ""
    goes_on = text[10:11].isdigit() or text[10:11] == "-"
    try:
        day = date.fromisoformat(text if goes_on else text[:10])
    except ValueError:
        raise InvalidFieldError(key, value, ValueKind.DATE.value) from None
    return day.isoformat()


_DIGITS = lazy_pattern(r"\A\d{1,15}(?:\.\d{1,15})?\Z", re.ASCII)


def _number(key: str, value: object) -> float | int:
    """A number of the kind of a field; a flag is one, too.

    Tables have numbers as text, and so have properties whose type is text in Obsidian.
    """
    kind = ALL_FIELDS_BY_KEY[key].kind
    number = value
    if isinstance(value, str) and _DIGITS.match(value.strip()):
        number = float(value)
    if isinstance(number, bool):
        if kind is ValueKind.FLAG:
            return number
    elif isinstance(number, (int, float)):
        whole = isinstance(number, int) or number.is_integer()
        if kind is ValueKind.PRIORITY and whole and 0 <= number <= 4:  # noqa: PLR2004 - P0 to P4
            return int(number)
        if kind is ValueKind.COUNT and whole and number >= 0:
            return int(number)
        if kind is ValueKind.SHARE and 0 <= number <= 1:
            return float(number)
    raise InvalidFieldError(key, value, kind.value)


LINK = lazy_pattern(r"\A\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]\Z")


def link_name(text: str) -> str:
    """`[[Name|alias]]` -> `Name`; other text is returned as it is."""
    found = LINK.match(text.strip())
    return found[1].strip() if found else text.strip()


_NO_NAME = lazy_pattern(r"[\[\]|]")


def _list(key: str, value: object) -> tuple[str, ...]:
    if value == "":
        return ()
    kind = ALL_FIELDS_BY_KEY[key].kind
    if isinstance(value, str) and key == "tags":
        value = [part for part in re.split(r"[,\s]+", value) if part]
    if isinstance(value, Mapping):
        raise InvalidFieldError(key, value, kind.value)
    many: Sequence[object] = value if isinstance(value, (list, tuple)) else (value,)
    links = kind is ValueKind.LINKS
    seen: dict[str, None] = {}
    for one in many:
        item = one
        while links and isinstance(item, (list, tuple)) and len(item) == 1:
            item = item[0]  # YAML reads an unquoted `[[Name]]` as a list in a list
        each = clean_line(key, item)
        if links:
            each = link_name(each)
            if _NO_NAME.search(each):
                raise InvalidFieldError(key, each, "names of notes, without []|")
        elif kind is ValueKind.IDS:
            each = check_id(each)
        elif key == "tags":
            each = each.lstrip("#")
        seen[each] = None
    return tuple(filter(None, seen))


def check_type(value: object) -> str:
    """The name of a type in canonical form.

    Raises:
        UnknownTypeError: there is no such type.
    """
    name = value.strip().lower() if isinstance(value, str) else value
    if not isinstance(name, str) or name not in TYPES:
        raise UnknownTypeError(value, tuple(TYPES))
    return name


def tag_key(tag: str) -> str:
    """The key by which tags are compared: without `#`, spaces and case."""
    return hyphenated(tag.lstrip("#")).casefold()


def hyphenated(tag: str) -> str:
    """The tag as Obsidian takes it, with hyphens for spaces."""
    return "-".join(tag.split())


def tags_in(text: str) -> list[str]:
    """The tags in a text, as Obsidian takes them: a comma ends a tag."""
    return [hyphenated(each) for each in text.split(",") if each.strip()]


def tag_keys(tags: Iterable[str]) -> Iterator[str]:
    """The keys of tags; notes may also have one with commas, which counts as several."""
    return (tag_key(each) for tag in tags for each in tags_in(tag) or [tag])


MAX_TAG_DEPTH = 100
"""How many parents of a tag count; of one with 20,000, they would take 400 MB."""


def tag_keys_with_parents(tags: Iterable[str]) -> frozenset[str]:
    """The keys of tags and of their parents, up to a depth: `a/b` is also `a`."""
    parts = (tag.split("/", MAX_TAG_DEPTH) for tag in tag_keys(tags))
    return frozenset(chain.from_iterable(accumulate(each, "{}/{}".format) for each in parts))


_CLEANERS: Mapping[ValueKind, Callable[[str, object], Value | tuple[str, ...]]] = {
    ValueKind.LINE: clean_line,
    ValueKind.TEXT: clean_text,
    ValueKind.LINES: _list,
    ValueKind.LINKS: _list,
    ValueKind.IDS: _list,
    ValueKind.ID: lambda _, value: check_id(value),
    ValueKind.TIME: clean_time,
    ValueKind.DATE: _date,
    ValueKind.PRIORITY: _number,
    ValueKind.SHARE: _number,
    ValueKind.NUMBER: _number,
    ValueKind.COUNT: _number,
    ValueKind.FLAG: _number,
    ValueKind.TYPE: lambda _, value: check_type(value),
    ValueKind.SCOPE: lambda _, value: check_scope(value if isinstance(value, str) else repr(value)),
}
"""The function that makes values of a kind canonical, given the key of their field."""

_CLEANERS_BY_KEY = {key: _CLEANERS[row.kind] for key, row in ALL_FIELDS_BY_KEY.items()}
_TEXTS = (ValueKind.LINE, ValueKind.TEXT, ValueKind.TIME, ValueKind.DATE, ValueKind.ID)
_UNSET_VALUES: Mapping[str, Value] = {
    "title": "",
    "content": "",
    "status": DEFAULT_STATUS,
    "priority": DEFAULT_PRIORITY,
    "accessCount": 0,
}
"""Values of fields that are not set; all others are None or an empty list."""


def canonical(row: Field, value: object) -> Value | tuple[str, ...]:
    """The canonical form of a value of a field; None or () when it is not set.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidIdError, InvalidScopeError: the
        field does not accept it.
    """
    if value is not None and not (value == "" and row.kind in _TEXTS):
        found = _CLEANERS_BY_KEY[row.key](row.key, value)
        if found != "":
            return found
    if row.kind in (ValueKind.TYPE, ValueKind.SCOPE):
        return _CLEANERS[row.kind](row.key, value)
    return () if row.kind in LIST_KINDS else _UNSET_VALUES.get(row.key)


def canonical_values(values: Mapping[str, Value]) -> dict[str, Value | tuple[str, ...]]:
    """`canonical()` for values by key; a key that is not a field of any type is a property."""
    found: dict[str, Value | tuple[str, ...]] = {}
    for key, value in values.items():
        row = ALL_FIELDS_BY_KEY.get(key)
        if row is not None:
            found[key] = canonical(row, value)
        else:
            new = json_value(key, value)
            found[key if new is None else check_property(key)] = new
    return found


_PROPERTY = r"\A(?!<<\Z)[^\s:#\-?\[\]{}&*!|>'\"%@`,\x00-\x1f\ud800-\udfff]"
_PROPERTY += r"[^:\x00-\x1f\x7f\ud800-\udfff]{0,99}\Z"


def is_property_name(key: str) -> bool:
    """Whether a property can have this name."""
    return bool(re.match(_PROPERTY, key)) and key == key.strip() and not re.search(_CONTROL, key)


@lru_cache(maxsize=4096)  # the notes of a vault share their few names of properties
def check_property(key: str) -> str:
    """The key, if it is a valid name of a property."""
    if not is_property_name(key):
        raise InvalidFieldError("a property's name", key, "a short name without colon")
    return key


LARGEST_NUMBER = 10**308  # other JSON readers, and notes, accept only smaller ones
MAX_VALUE_DEPTH = 19
"""How deep lists and maps of a value may lie; what is deeper is refused in frontmatter, too."""


def json_value(key: str, value: object, *, depth: int = 0) -> Value:
    """A value as JSON: lists, maps with text keys but `<<`, numbers, not nested too deeply.

    Raises:
        InvalidFieldError: JSON cannot represent it.
    """
    if isinstance(value, str):
        if not value.isascii() and re.search(_HALF, value):
            raise InvalidFieldError(key, value, "text without lone surrogates")
        return value
    if isinstance(value, (int, float)) and not -LARGEST_NUMBER < value < LARGEST_NUMBER:
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    depth += 1
    if depth > MAX_VALUE_DEPTH:
        expected = f"lists and maps nested at most {MAX_VALUE_DEPTH} levels deep"
        raise InvalidFieldError(key, "[…", expected)
    if isinstance(value, (list, tuple)):
        return [json_value(key, each, depth=depth) for each in value]
    if isinstance(value, Mapping) and all(isinstance(x, str) and x != "<<" for x in value):
        return {
            str(json_value(key, name)): json_value(key, each, depth=depth)
            for name, each in value.items()
        }
    raise InvalidFieldError(key, value, "text, a number, true, false or a list of them")


def lower_each(text: str) -> str:
    """In lower case, character by character, so that positions stay the same."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(low if len(low := each.lower()) == 1 else each for each in text)
