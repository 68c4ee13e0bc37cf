"""The data files of this package, and the tokens of each provider, read on first use."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from vaultsync.model.lazy_pattern import compiled, lazy_pattern

if TYPE_CHECKING:
    from importlib.abc import ResourceLoader

MIN_TOKEN_RUN = 20
"""Nearly each token of the table has a run of at least this many of `[A-Za-z0-9_+-]`."""


MAX_LENGTH = 2048
"""Of a secret with its literal inside, and of what is looked at around it."""


class SecretKind(NamedTuple):
    """A table of the file, which documents its keys."""

    kind: str
    says: str
    needs: tuple[str, ...]
    pattern: str
    far: bool = False
    word_before: bool = False

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """The matches of the pattern, which is compiled on first use.

        `re` finds a literal much faster than a pattern that does not begin with one.
        """
        pattern = compiled(self.pattern)
        if self.far:
            yield from pattern.finditer(text)
            return
        literals = [re.escape(need) for need in self.needs]
        if self.word_before:
            literals = [rf"{each}(?<=[A-Za-z0-9_+-]{{{MIN_TOKEN_RUN}}}{each})" for each in literals]
        places = (each.start() for literal in literals for each in compiled(literal).finditer(text))
        start = stop = 0
        for place in sorted(places):
            if place - MAX_LENGTH > stop:
                yield from pattern.finditer(text, start, stop)
                start = place - MAX_LENGTH
            stop = place + MAX_LENGTH
        yield from pattern.finditer(text, start, stop)


_AFTER_LITERAL = "(?<![A-Za-z]{})"
_AFTER_CLASS = "(?<![A-Za-z0-9]{})"
_ALONE = "(?<![A-Za-z0-9_-]{})"
"""What may not be before a token: with a literal prefix, it begins inside a name as well. Without
this, each position of a long word is tried."""
_LITERAL = lazy_pattern(r"(?:\(\?:)*[A-Za-z0-9]")
_FIRST = lazy_pattern(r"(?:[A-Za-z0-9_-]+|\[[A-Z]+\])(?![{*+?])")
"""The literal prefix of a token. Before `_START`, it lets `re` skip to its occurrences."""


def data_text(name: str) -> str:
    """The text of a data file of this package."""
    # Not by `importlib.resources`: its imports would cost a cold start 9 ms, `pkgutil` 1 ms.
    loader = cast("ResourceLoader", __spec__.loader)
    return loader.get_data(f"{__file__[: -len('providers.py')]}{name}").decode()


def pattern_rows(name: str, **parts: str) -> list[tuple[str, str]]:
    """The rows of a data file of patterns: the head of each, and its lines, joined.

    A row above, or one of `parts`, stands for its name in braces.
    """
    rows = []
    for row in data_text(name).rstrip().split("\n\n"):
        head, *lines = (line for line in row.split("\n") if not line.startswith("#"))
        parts[head] = re.sub(r"\{([A-Z_]+)\}", lambda found: parts[found[1]], "".join(lines))
        rows.append((head, parts[head]))
    return rows


def table_text() -> str:
    """The table as it is written, which takes a hundredth of the time that reading it takes."""
    return data_text("providers.toml")


@cache
def providers() -> tuple[SecretKind, ...]:
    """Kinds of tokens that are designed to be recognized."""
    return tuple(
        SecretKind(
            kind,
            row["says"],
            tuple(row["needs"]),
            _at_start(row["pattern"], alone=row.get("alone", False)),
            row.get("far", False),
            row.get("word_before", False),
        )
        for kind, row in tomllib.loads(table_text()).items()
    )


_BEGIN = 3
"""Characters by which literals are looked up: a search for each of them takes longer."""


@cache
def _numbers_by_begin() -> tuple[Mapping[tuple[str, ...], Sequence[int]], frozenset[int]]:
    """The rows by how their literals begin, and those that have to be looked at each time."""
    rows: dict[tuple[str, ...], list[int]] = {}
    short: set[int] = set()
    for number, row in enumerate(providers()):
        for need in row.needs:
            if row.far or len(need) < _BEGIN:
                short.add(number)
            else:
                rows.setdefault(tuple(need[:_BEGIN]), []).append(number)
    return rows, frozenset(short)


def providers_in(near: str, far: str) -> Iterator[SecretKind]:
    """The kinds that have a literal in a text, in order.

    Args:
        near: the text of which the literals of most kinds are a part.
        far: a larger text, for those whose literal may be farther from the long word.
    """
    rows, found = _numbers_by_begin()
    begins = {*zip(*(near[at:] for at in range(_BEGIN)), strict=False)}
    found = found.union(*(rows[each] for each in begins & rows.keys()))
    for number in sorted(found):
        row = providers()[number]
        window = far if row.far else near
        if any(need in window for need in row.needs):
            yield row


def _at_start(pattern: str, *, alone: bool) -> str:
    found = _FIRST.match(pattern)
    first = found[0] if found else ""
    before = _ALONE if alone else _AFTER_LITERAL if _LITERAL.match(pattern) else _AFTER_CLASS
    return f"(?a:{first}{before.format(first)}{pattern.removeprefix(first)})"
