"""Symbols: what a file of source code defines, and which names it refers to.

All texts are untrusted: they are cut to a length and one line, without control characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

MAX_FILE_BYTES = 512 * 1024
"""Size above which a file is listed by name only, because most such files are generated."""
_MAX_LINE_BYTES = 500
"""Mean length of the lines above which a file is minified."""
MAX_DEFINITIONS = 400
MAX_REFERENCES = 2_000
MAX_SIGNATURE = 160
MAX_SUMMARY = 100
_MAX_NAME = 80
_MAX_COMMENT_LINES = 40
_MAX_DOCSTRING_OFFSET = 12
"""Lines between a definition and its docstring: those of its signature."""

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        ext: language
        for language, extensions in {
            "python": "py pyi pyw",
            "javascript": "js jsx mjs cjs",
            "typescript": "ts mts cts",
            "tsx": "tsx",
            "go": "go",
            "rust": "rs",
            "java": "java",
            "c": "c h",
            "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp tpp",
            "ruby": "rb rake gemspec",
            "csharp": "cs",
            "kotlin": "kt kts",
            "swift": "swift",
            "scala": "scala",
            "php": "php",
            "shell": "sh bash zsh",
            "lua": "lua",
        }.items()
        for ext in extensions.split()
    }
)
"""Extension of a file, in lower case -> the language."""
FAMILIES: Mapping[str, str] = MappingProxyType(
    {"typescript": "javascript", "tsx": "javascript", "cpp": "c", "kotlin": "java", "scala": "java"}
)
"""Language -> the language with which it shares names; others share none."""


class Definition(Struct, frozen=True, array_like=True):
    """A class, function, type or constant that a file defines."""

    name: str
    kind: str
    """`class`, `function`, `type`, `constant`, or `module`."""
    line: int
    """From 1."""
    signature: str
    """The definition without its body, in one line."""
    summary: str = ""
    """The first line of the docstring, or of the comment above it."""
    parent: str = ""
    """The class or module that it is a member of; empty at the top of a file."""


class FileSymbols(Struct, frozen=True, array_like=True):
    """What one file defines and refers to."""

    definitions: tuple[Definition, ...] = ()
    references: Mapping[str, int] = {}
    """Name -> how often the file refers to it; `.name` may be something else's."""


def language_of(path: str) -> str:
    """The language of a file by its extension; empty where it is not known."""
    return LANGUAGES.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "")


def family_of(language: str) -> str:
    """The language whose names a language shares."""
    return FAMILIES.get(language, language)


def is_source(source: bytes) -> bool:
    """Whether a file can be hand-written source: not empty, binary or minified."""
    lines = source.count(b"\n") + 1
    return 0 < len(source) <= min(MAX_FILE_BYTES, lines * _MAX_LINE_BYTES) and b"\0" not in source


_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\s]+")


def one_line(text: str, limit: int) -> str:
    """A text in one line, without control characters, of at most `limit` characters."""
    text = _UNSAFE.sub(" ", text[: 8 * limit]).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def make_definition(
    name: str, kind: str, row: int, signature: str, *, lines: Sequence[str], parent: str = ""
) -> Definition:
    """A definition with its summary.

    Args:
        name: as the source spells it.
        kind: as in `Definition.kind`.
        row: the line of the definition, from 0.
        signature: the source of the definition up to its body.
        lines: of the file.
        parent: name of what it is a member of.
    """
    signature = one_line(signature, MAX_SIGNATURE + 8).replace("( ", "(").replace(", )", ")")
    signature = one_line(signature, MAX_SIGNATURE).rstrip("{:=; ")
    return Definition(
        one_line(name, _MAX_NAME),
        kind,
        row + 1,
        signature,
        one_line(_docstring_below(lines, row) or _comment_above(lines, row), MAX_SUMMARY),
        one_line(parent, _MAX_NAME),
    )


_DOCSTRING = re.compile(r"""\s*[rRuUbB]?("{3}|'{3}|"|')\s*(.*)""")
_DEF = re.compile(r"\s*(?:async\s+)?(?:def|class)\b")


def _docstring_below(lines: Sequence[str], row: int) -> str:
    """The first line of a Python docstring after the definition in a line; else empty."""
    if not _DEF.match(lines[row]):
        return ""
    end = min(len(lines), row + _MAX_DOCSTRING_OFFSET)
    for at in range(row, end - 1):
        if lines[at].partition("#")[0].rstrip().endswith(":"):
            found = _DOCSTRING.match(lines[at + 1])
            if found is None:
                return ""
            text = found[2].partition(found[1])[0].strip()
            return text or (lines[at + 2].strip() if at + 2 < len(lines) else "")
        if not lines[at + 1].strip() or _DEF.match(lines[at + 1]):
            break
    return ""


_BETWEEN = re.compile(r"\s*(?:@|#\[|\[[A-Z]|(?:template\b.*|export|export\s+default)\s*$)")
"""Lines between a definition and its comment: decorators, attributes, templates."""
_COMMENT = re.compile(r"\s*(?:///?!?|/\*+!?|\*+/?|(?:#+|--+)(?=\s|$))\s?(.*)")
_NO_TEXT = re.compile(
    r"[\W_]*(?:@\w.*|eslint.*|noqa.*|nolint.*|pylint.*|type:.*|!.*)?", re.IGNORECASE
)


def _comment_above(lines: Sequence[str], row: int) -> str:
    """The first line with text of the comment that ends right above a line; else empty."""
    first = ""
    for at in range(row - 1, max(-1, row - 1 - _MAX_COMMENT_LINES), -1):
        line = lines[at][: 8 * MAX_SUMMARY]
        if _BETWEEN.match(line) and not first:
            continue
        found = _COMMENT.match(line)
        if found is None:
            break
        text = found[1].strip().removesuffix("*/").strip()
        if not _NO_TEXT.fullmatch(text):
            first = text
        if line.lstrip().startswith("/*"):
            break
    return first
