"""Secrets in the columns of tables, in Markdown and CSV, whose headings name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.privacy.named_secrets import AROUND, is_dummy, is_surely_secret, kind_of_heading

_RULE = lazy_pattern(r"[ \t>]{0,12}\|?[ \t]*:?-[-:| \t]*\r?")
"""The line below the headings of a table in Markdown."""
_NAMES = lazy_pattern(r"[\"']?[\w.-]{1,40}[\"']?([,;\t])[\w.,;\t\"'-]{1,400}\r?")
"""The first line of CSV: names without blanks."""
_BAR = r"(?<!\\)\|"
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
        if start < done or not (found := _sign_and_rows(text, start, end)):
            continue
        sign, done = found
        kinds = [kind_of_heading(text[a:b]) for a, b in _cells(text, start, end, sign)]
        columns = [(number, kind) for number, kind in enumerate(kinds) if kind]
        while done < len(text):
            row_end = _line_end(text, done)
            cells = _cells(text, done, row_end, sign)
            if len(cells) == 1:
                break
            done = row_end + 1
            for number, kind in columns:
                if number >= len(cells):
                    break
                first, last = cells[number]
                value = text[first:last].rstrip(" \t\r" + AROUND)
                first += len(value) - len(value := value.lstrip(" \t" + _OPENERS))
                if is_surely_secret(value) and not is_dummy(value):
                    yield first, first + len(value), kind


def _likely_headings(low: str, stems: Sequence[str]) -> list[tuple[int, int]]:
    """The lines that have one of the stems, and a bar or no blank: most are prose."""
    found, low = dict[int, int](), f"{low}\n"
    for stem in stems:
        at = low.find(stem)
        while at >= 0:
            start, end = low.rfind("\n", 0, at) + 1, low.index("\n", at)
            if low.find("|", start, end) >= 0 or low.find(" ", start, end) < 0:
                found[start] = end
            at = low.find(stem, end)
    return sorted(found.items())


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _sign_and_rows(text: str, start: int, end: int) -> tuple[str, int] | None:
    """What separates the columns with headings in this line, and where their rows begin."""
    if text.find("|", start, end) >= 0:
        rule_end = _line_end(text, end + 1)
        return (_BAR, rule_end + 1) if _RULE.fullmatch(text, end + 1, rule_end) else None
    names = _NAMES.fullmatch(text, start, end)
    return (names[1], end + 1) if names else None


def _cells(text: str, start: int, end: int, sign: str) -> list[tuple[int, int]]:
    """Where the cells of a line begin and end."""
    signs = [match.span() for match in compiled(sign).finditer(text, start, end)]
    return list(zip([start, *(b for _, b in signs)], [*(a for a, _ in signs), end], strict=True))
