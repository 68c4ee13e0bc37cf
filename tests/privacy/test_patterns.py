"""The user's own patterns, whose time is limited whatever they are and whatever they read."""

from __future__ import annotations

import re
import sys
import time

import pytest

from vaultsync.errors import MissingExtraError
from vaultsync.privacy.patterns import (
    MAX_MATCHES,
    PIECE_CHARS,
    SecretPattern,
    compile_pattern,
    pattern_spans,
)
from vaultsync.privacy.redaction import Redactor

SLOW = r".*.*.*=z!q", r"(?:a+)+$x", r"(?:a.*b|a)", r"a", r"\d+z", r"(?:(?:a*)*)*b", r"(a|aa)+c"
"""Quadratic, cubic and exponential for an engine that backtracks."""


@pytest.mark.parametrize("pattern", SLOW)
def test_no_pattern_of_a_user_takes_long_over_any_text(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    for text in ("a" * (1 << 18), "a1" * (1 << 17), "=z!" * (1 << 16)):
        began = time.process_time()
        list(pattern_spans(compiled, text))
        assert time.process_time() - began < 3, (pattern, text[:10])


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(" * 600, "missing|nest"),
        ("(" * 5_000 + ")" * 5_000, "longer than 1,000 characters"),
        ("(?<!x)y", "invalid perl operator"),
        (r"(a)\1", "invalid escape"),
        ("a{5000}", "invalid repetition size"),
        ("((a{100}){100}){100}", "repetition size|too large"),
    ],
)
def test_a_pattern_that_is_none_or_too_large_says_why(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        compile_pattern(pattern)


@pytest.mark.parametrize("compiled", [re.compile(r"ACME-(\w+)"), compile_pattern(r"ACME-(\w+)")])
def test_a_match_is_found_wherever_it_is_in_a_long_text(compiled: SecretPattern) -> None:
    for before in (0, 100, PIECE_CHARS // 2 - 4, PIECE_CHARS - 4, 3 * PIECE_CHARS):
        for filling in ("ä ", "x y\n", "-"):
            start = filling * (before // len(filling))
            text = f"{start} ACME-7731 {filling * PIECE_CHARS}"
            found = {text[begin:end] for begin, end in pattern_spans(compiled, text)}
            assert found == {"7731"}
    assert list(pattern_spans(compiled, "")) == []


def test_a_piece_with_too_many_matches_is_hidden_as_a_whole() -> None:
    text = "a " * (MAX_MATCHES + 1)
    redactor = Redactor(b"k", (compile_pattern("a"),))
    (span,) = redactor.spans(text)
    assert (span.start, span.end) == (0, len(text))
    few = "a " * MAX_MATCHES
    assert len(redactor.spans(few)) == MAX_MATCHES


def test_the_extra_that_runs_patterns_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(MissingExtraError) as caught:
        compile_pattern("never-compiled-before")
    assert "vaultsync[patterns]" in caught.value.hint
