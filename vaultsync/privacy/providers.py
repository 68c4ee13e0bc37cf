"""The tokens of each provider, read from `privacy/providers.toml` on first use."""

from __future__ import annotations

import pkgutil
import re
import tomllib
from functools import cache
from typing import NamedTuple

MIN_TOKEN_RUN = 20
"""Each token of the table has a run of at least this many of `[A-Za-z0-9_-]`."""


class SecretKind(NamedTuple):
    """A table of the file, which documents its keys."""

    kind: str
    says: str
    needs: tuple[str, ...]
    pattern: str
    """Compiled on first use."""
    far: bool = False


_START = "(?<![A-Za-z0-9_-]{})"
"""A token does not begin inside a word; without this, each position of a long word is tried."""
_FIRST = re.compile(r"(?:[A-Za-z0-9_-]+|\[[A-Z]+\])(?![{*+?])")
"""The literal prefix of a token. Before `_START`, it lets `re` skip to its occurrences."""


@cache
def providers() -> tuple[SecretKind, ...]:
    """Kinds of tokens that are designed to be recognized."""
    # Not by `importlib.resources`: its imports would cost a cold start 9 ms.
    data = pkgutil.get_data("vaultsync.privacy", "providers.toml") or b""
    return tuple(
        SecretKind(
            kind, row["says"], tuple(row["needs"]), _at_start(row["pattern"]), row.get("far", False)
        )
        for kind, row in tomllib.loads(data.decode()).items()
    )


def _at_start(pattern: str) -> str:
    found = _FIRST.match(pattern)
    first = found[0] if found else ""
    return first + _START.format(first) + pattern.removeprefix(first)
