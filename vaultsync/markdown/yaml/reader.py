"""Parse the YAML of frontmatter, with one clear sentence and a line for each error.

The parser, which is written in Rust, reads YAML 1.2 in microseconds. What it accepts but
JSON, Obsidian or our own edits cannot handle is refused here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import yaml_rs

from vaultsync.errors import UnreadableNoteError
from vaultsync.markdown.yaml.positions import YamlNode, alias_of_itself, yaml_outline
from vaultsync.markdown.yaml.writer import non_finite
from vaultsync.model.canonical import LARGEST_NUMBER
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import Value

MAX_BYTES = 64 * 1024
MAX_KEYS = 500
MAX_DEPTH = 20
MAX_ALIASES = 20

_LONG_NUMBER = lazy_pattern(r"(?=.{251})[+-]*\d", re.DOTALL)
"""In hexadecimal, no shorter number is too large."""
_FIRST_LINE = 2
"""Number of the first line of the YAML in the file, below the opening fence."""
_WIDE = 99
"""Length from which a line could nest deeper than the parser's stack allows."""
_DEEP = lazy_pattern(r"(?:---)?(?:[ \t]{100}|[ \t]*(?:[-?:][ \t]+){40})")
_TAG = lazy_pattern(r"(?<![^\s\[{,:])!\S*")
_DOCUMENT = lazy_pattern(r"^(?:---|\.\.\.)(?:\s|\Z)", re.MULTILINE)
_PARSE_ERROR = lazy_pattern(r"YAML parse error at line ([0-9]+), column ([0-9]+)")
# Stops an alias bomb long before it takes much memory.
_LIMITS = yaml_rs.AliasLimits(max_total_replayed_events=10_000)

_OPEN = "a bracket is not closed"
_BEHIND = "text behind a list or map in brackets"
_DEPTH = f"lists and maps are nested more than {MAX_DEPTH} levels deep"
_KEYS = f"more than {MAX_KEYS} properties"
_KEY = "a property name is not text"
_MERGE = "a merge (`<<`) of properties"
_KIND = "a value that is not text, a number, a list or a map"
_ALIASES = f"more than {MAX_ALIASES} anchors and aliases (`&name`, `*name`)"
_ENDLESS = "an alias (`*name`) inside the list or map that it stands for"
_HALF = "a lone surrogate, which is half a character"
_LARGE = "a number that is too large"
_NUL = "a NUL byte"
_SIMPLER = "properties are names with a text, a number, true, false, or a list"
_QUOTE = "put it in quotes"

_HINTS = {
    _DEPTH: _SIMPLER,
    _KEYS: "move the text that is not a property below the frontmatter",
    _KEY: "put the property name in quotes",
    _MERGE: "write the properties out in full",
    _KIND: _SIMPLER,
    _ALIASES: "write the values out in full",
    _ENDLESS: "write the value out in full, or put it in quotes",
}

# Part of a message of the parser -> a message for users, and a hint.
_MESSAGES = (
    ("mapping values are not allowed", "a second `: ` in one value", _QUOTE),
    ("unclosed bracket", _OPEN, ""),
    ("flow ", "a list or map in brackets is not well-formed", ""),
    ("unexpected character", "a value begins with a character that YAML reserves", _QUOTE),
    ("comments must", "a `#`, which begins a comment", _QUOTE),
    ("escape", "an unknown escape (backslash) in double quotes", "use single quotes"),
    ("surrogate", _HALF, ""),
    ("quoted scalar", "a quoted text is not closed, or continues without indentation", ""),
    ("tab", "a tab where YAML requires spaces", "use spaces"),
    ("whitespace", "a tab where YAML requires spaces", "use spaces"),
    ("unknown anchor", "an alias (`*name`) without its anchor", _QUOTE),
    ("':'", "a line that is not `name: value`", ""),
    ("did not find expected key", "the indentation is inconsistent", ""),
    ("indentation", "the indentation is inconsistent", ""),
    ("not allowed in this context", "a list item where none is allowed", ""),
    ("recursion limit", _DEPTH, _SIMPLER),
)


def load_yaml(yaml: str, path: str) -> dict[str, Value] | None:
    """The properties; None when the text is YAML, but no map.

    Raises:
        UnreadableNoteError: it is no YAML, or holds what a note cannot.
    """
    _check_before(yaml, path)
    try:
        found: object = yaml_rs.loads(yaml, parse_datetime=False, alias_limits=_LIMITS)
    except yaml_rs.YAMLDecodeError as error:
        raise _explained(str(error), yaml, path) from error
    except UnicodeError as error:
        raise _refused(_HALF, yaml, path) from error
    except TypeError as error:  # a map with a map in it as the name of a property
        raise _refused(_KEY, yaml, path) from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        if isinstance(found, list) and any(isinstance(each, dict) for each in found):
            marker = _DOCUMENT.search(yaml)  # several documents are a list, too
            if marker:
                why = "more than one YAML document"
                raise _refused(why, yaml, path, at=marker.start())
        return None
    try:
        values = _PlainConverter().map_of(found, 1)
    except _RefusedError as error:
        raise _refused(str(error), yaml, path) from None
    _check_notation(yaml, path)
    return values


def jsonable(value: object) -> Value:
    """A value as JSON, as it would be read back.

    Raises:
        ValueError: JSON cannot represent it, or it is nested too deep.
    """
    return _PlainConverter().of(value, 2)


class _RefusedError(ValueError):
    """The values are not valid properties of a note, for the reason given."""


class _PlainConverter:
    """Converts values to JSON, and counts their keys."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys = 0

    def of(self, value: object, depth: int) -> Value:
        """The value as JSON; `depth` is its own, that of the root is 1."""
        if value is None or isinstance(value, (str, bool)):
            return value
        if isinstance(value, int):
            if -LARGEST_NUMBER < value < LARGEST_NUMBER:
                return value
            raise _RefusedError(_LARGE)
        if isinstance(value, float):
            return value if math.isfinite(value) else non_finite(value)
        if depth > MAX_DEPTH:
            raise _RefusedError(_DEPTH)
        if isinstance(value, (list, tuple)):
            return [self.of(each, depth + 1) for each in value]
        if not isinstance(value, Mapping):
            raise _RefusedError(_KIND)
        return self.map_of(value, depth)

    def map_of(self, mapping: Mapping[object, object], depth: int) -> dict[str, Value]:
        """The same for a map, whose keys must be valid names of properties."""
        self._keys += len(mapping)
        if self._keys > MAX_KEYS:
            raise _RefusedError(_KEYS)
        found: dict[str, Value] = {}
        for key, value in mapping.items():
            if type(key) is not str:
                raise _RefusedError(_KEY)
            if key == "<<":
                raise _RefusedError(_MERGE)
            found[key] = self.of(value, depth + 1)
        return found


def _check_before(yaml: str, path: str) -> None:
    """Refuse what the parser cannot handle: too large, with NUL, or too deep for its stack."""
    if len(yaml) * 4 > MAX_BYTES and len(yaml.encode(errors="replace")) > MAX_BYTES:
        why = f"the frontmatter is larger than {MAX_BYTES // 1024} KiB"
        raise UnreadableNoteError(path, why, hint=_HINTS[_KEYS], line=_FIRST_LINE - 1)
    if "\x00" in yaml:
        raise _refused(_NUL, yaml, path, at=yaml.index("\x00"))
    lines = yaml.split("\n")
    if "\r" in yaml and yaml.count("\r") != yaml.count("\r\n"):
        lines = re.split("[\r\n]", yaml)
    for line in lines:
        if len(line) > _WIDE and _DEEP.match(line):
            outline = yaml_outline(yaml)
            if not outline.whole or any(_PROBLEM_NODES[_DEPTH](node) for node in outline.nodes):
                raise _refused(_DEPTH, yaml, path)
            return


_ALIAS = lazy_pattern(r"[&*](?<![^\s,\[\]{}:\"'?-].)(?![\s,\[\]{}]|\Z)")
"""What may begin an anchor or an alias; a lookbehind follows, for speed."""
_ANCHOR_NAME = lazy_pattern(r"&([^\s,\[\]{}]+)")
_ALIAS_NAME = lazy_pattern(r"\*([^\s,\[\]{}]+)")


def _check_notation(yaml: str, path: str) -> None:
    """Refuse what leaves no trace in the values: tags, too many anchors, and endless aliases."""
    tag = _tag_at(yaml)
    if tag is not None:
        raise _tagged(yaml, path, tag)
    if (
        yaml.count("&") + yaml.count("*") > MAX_ALIASES
        and sum(1 for _ in _ALIAS.finditer(yaml)) > MAX_ALIASES
    ):
        outline = yaml_outline(yaml)
        anchored = [node.start for node in outline.nodes if node.anchor is not None]
        if len(anchored) > MAX_ALIASES or not outline.whole:
            at = anchored[MAX_ALIASES] if len(anchored) > MAX_ALIASES else 0
            raise _refused(_ALIASES, yaml, path, at=at)
    if "&" in yaml and "*" in yaml and {*_ANCHOR_NAME.findall(yaml)} & {*_ALIAS_NAME.findall(yaml)}:
        endless = alias_of_itself(yaml)
        if endless is not None:
            raise _refused(_ENDLESS, yaml, path, at=endless.start)


def _tag_at(yaml: str) -> int | None:
    """The position of the first tag; None when there is none."""
    tag = _TAG.search(yaml) if "!" in yaml else None
    if tag is None:
        return None
    outline = yaml_outline(yaml)
    at = next((node.start for node in outline.nodes if node.tagged), None)
    return at if at is not None or outline.whole else tag.start()


def _tagged(yaml: str, path: str, at: int) -> UnreadableNoteError:
    why = f"a tag ({yaml[at : at + 30].split(maxsplit=1)[0]})"
    return _refused(why, yaml, path, at=at, hint=_QUOTE)


def _refused(
    why: str, yaml: str, path: str, *, at: int | None = None, hint: str = ""
) -> UnreadableNoteError:
    if at is None and why in _PROBLEM_NODES:
        is_problem = _PROBLEM_NODES[why]
        at = next((node.start for node in yaml_outline(yaml).nodes if is_problem(node)), None)
    if why == _KEY and "{{" in yaml:
        hint = 'put the placeholder in quotes, as in "{{date}}"'
    line = _FIRST_LINE + yaml.count("\n", 0, at or 0)
    return UnreadableNoteError(path, why, hint=hint or _HINTS.get(why, ""), line=line)


def _is_text_key(node: YamlNode) -> bool:
    if node.text is None:
        return False
    if node.style != "plain":
        return True
    found: object = yaml_rs.loads(node.text, parse_datetime=False)
    return isinstance(found, str)


_PROBLEM_NODES: dict[str, Callable[[YamlNode], bool]] = {
    _DEPTH: lambda node: node.text is None and node.depth > MAX_DEPTH,
    _KEY: lambda node: node.is_key and not _is_text_key(node),
    _MERGE: lambda node: node.is_key and node.text == "<<",
    _KIND: lambda node: node.tagged,
    _LARGE: lambda node: node.style == "plain" and _LONG_NUMBER.match(node.text or "") is not None,
}


def _explained(message: str, yaml: str, path: str) -> UnreadableNoteError:
    last = message.rsplit("\n", 1)[-1].strip()
    if last.startswith("duplicate mapping key: "):
        return _duplicate(last.removeprefix("duplicate mapping key: "), yaml, path)
    if last.startswith("alias "):
        return _refused(_ALIASES, yaml, path)
    tag = _tag_at(yaml) if "tag" in last or "handle" in last else None
    if tag is not None:
        return _tagged(yaml, path, tag)
    line = _FIRST_LINE + _place(message, last, yaml)
    if any(part in last for part in ("flow", "':'", "indentation")):
        opened = _opened_above(yaml, line - _FIRST_LINE)
        if opened is not None:
            return _refused(_OPEN, yaml, path, at=opened)
    if "expected key" in last and _is_behind_bracket(message, yaml):
        return UnreadableNoteError(path, _BEHIND, hint=_QUOTE, line=line)
    for part, why, hint in _MESSAGES:
        if part in last:
            return UnreadableNoteError(path, why, hint=hint, line=line)
    return UnreadableNoteError(path, last[:100], line=line)


def _is_behind_bracket(message: str, yaml: str) -> bool:
    """Whether the parser complains about what follows a list or map on its line."""
    found = _PARSE_ERROR.match(message)
    number, column = map(int, found.groups()) if found else (1, 1)
    return yaml.split("\n")[number - 1][: column - 1].rstrip().endswith(("]", "}"))


def _place(message: str, last: str, yaml: str) -> int:
    """The line of the YAML, from 0, that the parser complains about."""
    found = _PARSE_ERROR.match(message)
    if found is None:  # of tags alone, it does not say where they are
        tag = _TAG.search(yaml)
        return yaml.count("\n", 0, tag.start()) if tag else 0
    at = int(found[1]) - 1
    lines = yaml.split("\n")
    if last.endswith("expect ':'") and found[2] == "1":
        # The parser misses the colon only in the next line.
        above = [n for n in range(min(at, len(lines))) if lines[n].strip()]
        return above[-1] if above else at
    if last.endswith("found a tab"):  # somewhere in the text that began there
        below = [n for n in range(at, len(lines)) if "\t" in lines[n]]
        return below[0] if below else at
    return at


def _opened_above(yaml: str, number: int) -> int | None:
    """The position of a bracket that is still open where a line begins a new property."""
    begins = "".join(yaml.split("\n")[number : number + 1])[:1]
    if begins in ("", " ", "\t"):
        return None
    opened: list[YamlNode] = []
    for node in yaml_outline(yaml).nodes:
        if node.is_end:
            opened.pop()
        elif node.text is None and node.style != "alias":
            opened.append(node)
    at = next((node.start for node in opened if node.style == "flow"), None)
    return at if at is not None and yaml.count("\n", 0, at) < number else None


def _duplicate(shown: str, yaml: str, path: str) -> UnreadableNoteError:
    seen: set[tuple[int, str]] = set()
    at = None
    for node in yaml_outline(yaml).nodes:
        if node.is_key and node.text is not None:
            if (node.parent, node.text) in seen:
                at = node.start
                break
            seen.add((node.parent, node.text))
    why = f"the property {shown[:60]} occurs twice"
    # Different names with one value, such as `1` and `true`, may both be intended.
    hint = "keep one of the two" if at is not None else "put their names in quotes"
    return _refused(why, yaml, path, at=at, hint=hint)
