"""Secrets in the columns of tables, in Markdown and CSV, whose headings name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.privacy.named_secrets import (
    AROUND,
    is_dummy,
    is_scrambled,
    is_surely_secret,
    kind_of_heading,
)

_RULE = lazy_pattern(r"[ \t>]{0,12}\|?[ \t]*:?-[-:| \t]*\r?(?:\n|\Z)")
"""The line below the headings of a table in Markdown."""
_NAME = r"(?:\"[\w .()/-]{1,60}\"|'[\w .()/-]{1,60}'|[\w.-]{1,60})"
_NAMES = lazy_pattern(rf"{_NAME}([,;\t]){_NAME}(?:\1{_NAME}){{0,60}}\r?")
"""The first line of CSV: names without blanks, or in quotes."""
_BAR = r"(?<!\\)\|"
_QUOTED = r"(?<![^{0}\n])\"(?>[^\"]|\"\")*\""
"""The cell of CSV in quotes: separators and lines in it are text."""
_OPENERS = "\"'`*“„«「("


def column_secrets(text: str, low: str, stems: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The spans of secrets below a heading that names them, and their kinds.

    Args:
        text: the text.
        low: the text in lower case.
        stems: the words before a secret that it has.
    """
    done = 0
    for start, end in _likely_headings(low, stems):
        if start < done or not (found := _signs_and_rows(text, start, end)):
            continue
        signs, done = found
        kinds = [kind_of_heading(text[a:b]) for a, b in _cells(text, start, signs)[0]]
        columns = [(number, kind) for number, kind in enumerate(kinds) if kind]
        while done < len(text):
            cells, next_row = _cells(text, done, signs)
            if len(cells) == 1:
                break
            done = next_row
            for number, kind in columns:
                if number >= len(cells):
                    break
                first, last = cells[number]
                value = text[first:last].rstrip(" \t\r" + AROUND)
                first += len(value) - len(value := value.lstrip(" \t" + _OPENERS))
                # Below *Token* may be words: GPT4oMini.
                is_mixed = kind == "password" and value.isalnum() and is_scrambled(value)
                if (is_mixed or is_surely_secret(value)) and not is_dummy(value):
                    yield first, first + len(value), kind


def _likely_headings(low: str, stems: Sequence[str]) -> list[tuple[int, int]]:
    """The lines that have one of the stems, and a bar, a quote or no blank: most are prose."""
    found, low = dict[int, int](), f"{low}\n"
    for stem in stems:
        at = low.find(stem)
        while at >= 0:
            start, end = low.rfind("\n", 0, at) + 1, low.index("\n", at)
            if (
                low.find("|", start, end) >= 0
                or low.find(" ", start, end) < 0
                or low.startswith(("'", '"'), start)
            ):
                found[start] = end
            at = low.find(stem, end)
    return sorted(found.items())


def _signs_and_rows(text: str, start: int, end: int) -> tuple[str, int] | None:
    """What separates the columns with headings in this line, and where their rows begin."""
    if text.find("|", start, end) >= 0:
        rule = _RULE.match(text, end + 1)
        return (_BAR, rule.end()) if rule else None
    names = _NAMES.fullmatch(text, start, end)
    return (f"{_QUOTED.format(names[1])}|{names[1]}", end + 1) if names else None


def _cells(text: str, at: int, signs: str) -> tuple[list[tuple[int, int]], int]:
    """Where the cells of a row begin and end, and where the next row begins."""
    cells = []
    for found in compiled(rf"{signs}|\n").finditer(text, at):
        if found[0][0] != '"':
            cells.append((at, found.start()))
            at = found.end()
            if found[0] == "\n":
                return cells, at
    return [*cells, (at, len(text))], len(text)
