"""Find definitions by patterns, line by line: for languages without a parser.

Patterns see a line without its context, so there are false negatives and false positives. A
parser is better; `PARSER` in an answer says that there was none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from vaultsync.repos.symbols import (
    MAX_DEFINITIONS,
    MAX_REFERENCES,
    Definition,
    FileSymbols,
    make_definition,
)

PARSER = "patterns"
_MAX_LINE = 400
"""The length above which a line counts as generated."""
_NAME = r"(?P<name>[^\W\d][\w$]*)"
_CLASS, _TYPE, _FUNCTION = "class", "type", "function"
_MODIFIERS = (
    r"(?>(?:(?:public|private|protected|internal|open|static|final|abstract|sealed|async|override"
    r"|virtual|partial|default|synchronized|native|inline|suspend|data|readonly|extern|unsafe"
    r"|export|declare|implicit|lazy|case|const|mutating|fileprivate)\s+){0,6})"
)
_C_TYPE = r"(?>(?:[\w:<>,*&\[\]?.]+\s+){1,5})[*&]*"
_NO_TYPE = (
    r"(?!(?:return|else|if|for|while|switch|new|throw|case|goto|using|typedef|delete|do|await"
    r"|yield|import|package|namespace)\b)"
)


def _pattern(*alternatives: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(rf"(?P<indent>\s*+){text}")) for kind, text in alternatives)


_NO_CALL = r"(?!(?:if|for|while|switch|catch|function|with|constructor)\b)"
_TYPES_OF_JAVA = (
    _CLASS,
    (
        rf"{_MODIFIERS}(?:class|interface|enum|record|struct|trait|object|protocol|extension|actor"
        rf"|@interface)\s+{_NAME}"
    ),
)
_METHOD = (_FUNCTION, rf"{_NO_TYPE}{_MODIFIERS}{_NO_TYPE}{_C_TYPE}{_NAME}\s*\([^;={{]*+(?:\{{|$)")
_FUN = (_FUNCTION, rf"{_MODIFIERS}(?:fun|def|function|func)\s+(?:<[^>]*>\s*)?{_NAME}")
_JAVASCRIPT = _pattern(
    (_CLASS, rf"{_MODIFIERS}(?:class|interface|enum|namespace)\s+{_NAME}"),
    (_TYPE, rf"{_MODIFIERS}type\s+{_NAME}[^=]*="),
    (_FUNCTION, rf"{_NO_CALL}{_MODIFIERS}(?:[gs]et\s+)?{_NAME}\s*\([^;={{]*+\{{\s*$"),
    (_FUNCTION, rf"{_MODIFIERS}function\s*\*?\s*{_NAME}"),
    (
        _FUNCTION,
        (
            rf"(?:export\s+)?(?:const|let|var)\s+{_NAME}\s*+(?::[^=]*+)?=\s*+(?:async\s*+)?"
            r"(?:function\b|\([^)]*+(?:\)\s*+(?::[^=]*+)?)?(?:=>|$)|\w++\s*+=>)"
        ),
    ),
)
_C = _pattern(
    (_CLASS, rf"(?:typedef\s+)?(?:struct|class|union|enum(?:\s+class)?)\s+{_NAME}[^;()]*$"),
    (_CLASS, rf"namespace\s+{_NAME}"),
    (_FUNCTION, rf"#\s*define\s+{_NAME}\("),
    (_FUNCTION, rf"{_NO_TYPE}{_C_TYPE}(?>(?:\w+::)*)~?{_NAME}\s*\([^;={{]*+(?:\{{|$)"),
)
_PATTERNS: Mapping[str, tuple[tuple[str, re.Pattern[str]], ...]] = MappingProxyType(
    {
        "python": _pattern(
            (_CLASS, rf"class\s+{_NAME}\s*[(:]"), (_FUNCTION, rf"(?:async\s+)?def\s+{_NAME}\s*\(")
        ),
        **dict.fromkeys(("javascript", "typescript", "tsx"), _JAVASCRIPT),
        "go": _pattern(
            (_TYPE, rf"type\s+{_NAME}"), (_FUNCTION, rf"func\s+(?:\([^)]*\)\s*)?{_NAME}\s*[(\[]")
        ),
        "rust": _pattern(
            (
                _CLASS,
                rf"(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|trait|union|mod)\s+{_NAME}",
            ),
            (_TYPE, rf"(?:pub(?:\([^)]*\))?\s+)?type\s+{_NAME}"),
            (
                _FUNCTION,
                (
                    r"(?:pub(?:\([^)]*\))?\s+)?"
                    r"(?>(?:(?:const|async|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*)"
                    rf"fn\s+{_NAME}"
                ),
            ),
            (_FUNCTION, rf"macro_rules!\s*{_NAME}"),
        ),
        **dict.fromkeys(("c", "cpp"), _C),
        "ruby": _pattern(
            (_CLASS, rf"(?:class|module)\s+(?>(?:\w+::)*){_NAME}"),
            (_FUNCTION, rf"def\s+(?:self\.)?{_NAME}"),
        ),
        **dict.fromkeys(("java", "csharp"), _pattern(_TYPES_OF_JAVA, _METHOD)),
        **dict.fromkeys(("kotlin", "swift", "scala", "php"), _pattern(_TYPES_OF_JAVA, _FUN)),
        "shell": _pattern((_FUNCTION, rf"function\s+{_NAME}"), (_FUNCTION, rf"{_NAME}\s*\(\)")),
        "lua": _pattern((_FUNCTION, rf"(?:local\s+)?function\s+(?>(?:\w+[.:])*){_NAME}")),
    }
)
_INDENTED = frozenset({"python", "ruby", "lua"})
"""Languages whose bodies do not begin with a brace."""
_WORD = re.compile(r"(?:(?<![\w.])|\.)[^\W\d]\w{2,79}")


def read_by_patterns(language: str, source: bytes) -> FileSymbols:
    """The symbols of a file, in time proportional to its size.

    A file in none of the `LANGUAGES` has no symbols; bytes that are not UTF-8 are replaced.
    """
    patterns = _PATTERNS.get(language)
    if patterns is None:
        return FileSymbols()
    lines = source.decode("utf-8", "replace").splitlines()
    found: list[Definition] = []
    parents: list[tuple[int, str]] = []
    for row, line in enumerate(lines):
        if len(line) > _MAX_LINE or len(found) >= MAX_DEFINITIONS:
            continue
        for kind, pattern in patterns:
            match = pattern.match(line)
            if match is None:
                continue
            indent = len(match["indent"].expandtabs(4))
            while parents and parents[-1][0] >= indent:
                parents.pop()
            name = match["name"]
            parent = parents[-1][1] if parents else ""
            signature = line if language in _INDENTED else line.partition("{")[0]
            found.append(make_definition(name, kind, row, signature, lines=lines, parent=parent))
            if kind == _CLASS:
                parents.append((indent, name))
            break
    short = (line for line in lines if len(line) <= _MAX_LINE)
    counts = Counter(word for line in short for word in _WORD.findall(line))
    for each in found:
        counts[each.name] -= 1
    return FileSymbols(
        tuple(found), {name: n for name, n in counts.most_common(MAX_REFERENCES) if n > 0}
    )
