"""The user's own patterns, on an engine whose time is linear: google-re2.

Without it, `re` runs the patterns for which it takes bounded time. Even on a linear engine, many
matches that each look far ahead are quadratic. So a long text is searched piece by piece, and a
piece with too many matches counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from vaultsync.errors import MissingExtraError
from vaultsync.extras import EXTRAS
from vaultsync.model.lazy_pattern import lazy_pattern

MAX_PATTERN_CHARS = 1_000
PIECE_CHARS = 4_096
"""Characters of a piece. A match is found whole if it has half as many."""
MAX_MATCHES = 100
"""Matches of a pattern in one piece, from which all of the piece is a secret."""


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the settings; that of `re2` has the methods of `re`.

    Raises:
        ValueError: it is no pattern of RE2, whose syntax has neither look-around nor references.
        MissingExtraError: google-re2 is not installed, and `re` may take long.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        why = f"longer than {MAX_PATTERN_CHARS:,} characters"
        raise ValueError(why)
    try:
        import re2  # type: ignore[import-untyped] # noqa: PLC0415 - an extra
    except ImportError:
        return _without_extra(pattern)
    options = re2.Options()
    options.log_errors = False
    try:
        compiled: re.Pattern[str] = re2.compile(pattern, options)
    except (re2.error, RecursionError) as wrong:
        reason = wrong.args[0] if wrong.args else wrong
        raise ValueError(reason.decode() if isinstance(reason, bytes) else str(reason)) from None
    return compiled


def _without_extra(pattern: str) -> re.Pattern[str]:
    from vaultsync.privacy.backtracking import why_unbounded  # noqa: PLC0415 - most have none

    why = why_unbounded(pattern)
    if why:
        raise MissingExtraError(f"the pattern `{pattern}` ({why})", *EXTRAS["re2"])
    return re.compile(pattern, re.ASCII)


def pattern_spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The spans of secrets: of the first group, or of the whole match."""
    group = 1 if pattern.groups else 0
    for start, piece in _pieces(text):
        for number, match in enumerate(pattern.finditer(piece)):
            if number == MAX_MATCHES:
                yield start, start + len(piece)
                break
            begin, end = match.span(group)
            if begin < end:
                yield start + begin, start + end


_BLANK = lazy_pattern(r"\s\S{0,200}\Z")


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Pieces of a text that overlap by half, begun behind a blank where there is one."""
    start = 0
    while True:
        yield start, text[start : start + PIECE_CHARS]
        if start + PIECE_CHARS >= len(text):
            return
        start += PIECE_CHARS // 2
        blank = _BLANK.search(text, start - 201, start)
        start = blank.start() + 1 if blank else start
