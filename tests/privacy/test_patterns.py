"""The user's own patterns, whose time is limited whatever they are and whatever they read."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.errors import MissingExtraError
from vaultsync.privacy.backtracking import why_unbounded
from vaultsync.privacy.patterns import MAX_MATCHES, PIECE_CHARS, compile_pattern, pattern_spans
from vaultsync.privacy.placeholders import Redactor
from vaultsync.privacy.redaction import secret_spans
from vaultsync.settings import check_file

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
def test_a_match_is_found_wherever_it_is_in_a_long_text(compiled: re.Pattern[str]) -> None:
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
    (span,) = secret_spans(redactor, text)
    assert (span.start, span.end) == (0, len(text))
    few = "a " * MAX_MATCHES
    assert len(secret_spans(redactor, few)) == MAX_MATCHES


@pytest.fixture
def base_install(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "re2", None)
    compile_pattern.cache_clear()
    yield
    compile_pattern.cache_clear()


SAFE = (
    r"ACME-(\d{6})", r"\bEMP\d+", r"(?i)internal-[a-z0-9]+", r"[A-Z]{2}\d{6}",
    r"(?:ticket|case)/(\S+)", r"customer\s{0,5}:\s{0,5}(\w+)", r"(?P<s>x.y)?z", r"a|bc+",
    r"(?:ab){1,3}c", r"^key [^ ]+", r"x\d{1,200}",
)  # fmt: skip
UNSAFE = (
    r".*.*.*=z!q", r"a+$", r"\d+z", r"(a?){30}b", r"(?:a|aa){1,20}c", r"customer\s*:\s*(\w+)",
    r"(?:ab)+", r"(?:a+|b)c", r"\d{0,900}x", r"(?:a+b){2}c",
)  # fmt: skip
READ_OTHERWISE = (
    "[[:alpha:]]x", "(?<!a)b", "(?=a)b", r"(a)\1", r"\u0041", "a{,3}b", "[a&&b]", "(?#c)a",
    "(?i:a)", "(?i)\u00e4", r"(?i)a\u00e4", "a++b", r"a\Zb",
)  # fmt: skip


@pytest.mark.usefixtures("base_install")
@pytest.mark.parametrize("pattern", SAFE)
def test_a_bounded_pattern_needs_no_extra_and_takes_no_longer(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    assert isinstance(compiled, re.Pattern)
    for text in ("a" * (1 << 18), "a1" * (1 << 17), "x1 " * (1 << 16), "customer   " * (1 << 14)):
        began = time.process_time()
        list(pattern_spans(compiled, text))
        assert time.process_time() - began < 3, (pattern, text[:10])


@pytest.mark.usefixtures("base_install")
@pytest.mark.parametrize("pattern", [*UNSAFE, *READ_OTHERWISE])
def test_a_pattern_that_needs_the_extra_is_named(pattern: str) -> None:
    with pytest.raises(MissingExtraError) as caught:
        compile_pattern(pattern)
    assert f"`{pattern}`" in caught.value.message
    assert "vaultsync[patterns]" in caught.value.hint


@pytest.mark.usefixtures("base_install")
@pytest.mark.parametrize("pattern", ["(", "a**", "[", "(?i)a(?i)b", "[\\p{L}]"])
def test_what_is_no_pattern_is_none_without_the_extra_either(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", SAFE)
@given(text=st.text(alphabet="AaCcMmEeXxYyZzbcPp-/: 0129\n\u00e4", max_size=60))
def test_a_pattern_means_the_same_without_the_extra(pattern: str, text: str) -> None:
    assert why_unbounded(pattern) == ""
    backtracking = re.compile(pattern, re.ASCII)
    linear = compile_pattern(pattern)
    assert list(pattern_spans(backtracking, text)) == list(pattern_spans(linear, text))


@pytest.mark.usefixtures("base_install")
def test_a_vault_does_not_open_without_one_of_its_patterns_and_all_are_named() -> None:
    patterns = ["ACME-[0-9]+", r"\d+z", "(?=a)b", "@card"]
    with pytest.raises(MissingExtraError) as caught:
        check_file({"hygiene": {"patterns": patterns}}, "config.toml")
    assert r"`\d+z`" in caught.value.message
    assert "`(?=a)b`" in caught.value.message
    assert "ACME" not in caught.value.message
    check_file({"hygiene": {"patterns": ["ACME-[0-9]+", "@card"]}}, "config.toml")
