"""Write values as YAML that all parsers read the same: 1.1, 1.2 and Obsidian's.

Text is plain only where every parser reads it as text, and text of several lines is a literal
block; all other text is in the double quotes of JSON, with the escapes that YAML needs in
addition.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import Value

# A letter of any script first, so that it is not a number; then no characters that have a
# meaning in YAML, and blanks only inside.
_WORDS = lazy_pattern(r"[^\W\d_](?:[\w./-]|[ ]+(?=[\w./-]))*\Z")
_RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_TIME = lazy_pattern(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?\Z"
)
# In addition to the escapes of JSON: line ends of YAML 1.1, characters that YAML does not
# allow, and characters that editors lose.
_ESCAPED = lazy_pattern("[\x7f-\xa0\u2028-\u202f\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
# Characters that an editor or linter may remove from a line, or a parser take for its end.
_LOST = lazy_pattern(rf"[\x00-\x08\x0b-\x1f]|[ \t](?:\n|\Z)|{_ESCAPED.pattern}")
INDENT = "  "


def emit_property(key: str, value: Value, *, indent: str = INDENT) -> str:
    """The lines of `key: value`, each with its line feed; `indent` as in `emit_value()`."""
    if isinstance(value, str) and "\n" not in value:
        return f"{key_text(key)}: {_text(value)}\n"
    first, items = emit_value(value, indent=indent)
    gap = " " if first else ""
    return "\n".join([f"{key_text(key)}:{gap}{first}", *items, ""])


def emit_value(value: Value, *, indent: str = INDENT) -> tuple[str, list[str]]:
    """The text behind `key: `, and the lines below it without line ends.

    `indent` is that of a literal block; when it is empty, such a text is quoted.
    """
    if value is None:
        return "", []
    if isinstance(value, str):
        if indent and "\n" in value and is_tall(value):
            lines = value.removesuffix("\n").split("\n")
            header = "|" if value.endswith("\n") else "|-"
            return header, [indent + line if line else "" for line in lines]
        return _text(value), []
    if isinstance(value, Sequence) and value:
        return "", [
            _item(each) if isinstance(each, str) else f"{INDENT}- {_json(each)}" for each in value
        ]
    return emit_inline(value), []


@lru_cache(maxsize=4096)  # notes share their tags and links
def _item(text: str) -> str:
    return f"{INDENT}- {_text(text)}"


def is_tall(value: Value) -> bool:
    """Whether a value is a text that can be written as a literal block."""
    return (
        isinstance(value, str)
        and "\n" in value[:-1]
        and not value[0].isspace()
        and not value.endswith("\n\n")
        and _LOST.search(value) is None
    )


@lru_cache(maxsize=1024)  # notes share their few names of properties
def key_text(key: str) -> str:
    """The name of a property, quoted where it has to be."""
    return quoted(key) if key[:1].isdecimal() else _text(key)


def emit_inline(value: Value) -> str:
    """A value on one line; lists and maps in JSON's notation."""
    return _text(value) if isinstance(value, str) else _json(value)


def emit_flow_list(values: Sequence[Value]) -> str:
    """A list on one line, its texts plain where possible."""
    return f"[{', '.join(map(emit_inline, values))}]"


def _text(text: str) -> str:
    if text[:1].isdecimal():
        plain = _UUID.match(text) is not None or _is_time(text)
    else:
        plain = _WORDS.match(text) is not None and text.lower() not in _RESERVED
    return text if plain else quoted(text)


def _is_time(text: str) -> bool:
    if not _TIME.match(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:  # some parsers fail on a 30th of February
        return False
    return True


def quoted(text: str) -> str:
    """A text in double quotes, as YAML and JSON both read it."""
    return _ESCAPED.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)
    )


def _json(value: Value) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        text = float.__repr__(value) if math.isfinite(value) else quoted(non_finite(value))
        # `1e+22` is text in YAML 1.1.
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if isinstance(value, Mapping):
        pairs = (f"{quoted(key)}: {_json(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    return f"[{', '.join(map(_json, value))}]"


def non_finite(value: float) -> str:
    """The text for a number that JSON does not have."""
    if math.isnan(value):
        return ".nan"
    return ".inf" if value > 0 else "-.inf"
