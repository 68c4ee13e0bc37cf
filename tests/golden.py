"""Read and write golden pages.

A page has a title, an explanation, its inputs as fenced texts under `##` headings, and
under `## expected` the expected result. With VAULTSYNC_UPDATE_GOLDEN=1, the results
are written again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "golden"
EXPECTED = "\n## expected\n\n"
RENEW = os.environ.get("VAULTSYNC_UPDATE_GOLDEN") == "1"
VISIBLE = "visible"
"""The language of a fence whose text shows invisible characters."""

_SECTION = re.compile(r"^## (\w+)\n\n(`{3,})(\w*)\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
_SIGNS = {"\r": "␍", "\t": "␉", "\ufeff": "␂", "\u202e": "␛"}
_NO_END = "␃"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def visible(text: str) -> str:
    """Make carriage returns, tabs, trailing spaces and a missing final newline visible."""
    for sign, shown in _SIGNS.items():
        text = text.replace(sign, shown)
    text = re.sub(r" +(?=␍?$)", lambda m: "␠" * len(m[0]), text, flags=re.MULTILINE)
    return text if text.endswith("\n") else f"{text}{_NO_END}\n"


def invisible(text: str) -> str:
    """The inverse of `visible()`."""
    for sign, shown in _SIGNS.items():
        text = text.replace(shown, sign)
    return text.replace("␠", " ").removesuffix(f"{_NO_END}\n")


def sections(page: str) -> dict[str, str]:
    """The exact text of each section, with or without a final newline."""
    return {
        name: invisible(text) if language == VISIBLE else text
        for name, _, language, text in _SECTION.findall(page)
    }


def fenced(text: str, language: str) -> str:
    """The text in a fence, with invisible characters shown if it has any."""
    if visible(text) != text:
        text, language = visible(text), VISIBLE
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{fence}\n"


def check(case: Path, answer: Callable[[dict[str, str]], str]) -> None:
    """Compare the result with the expectation of a page."""
    page = case.read_text(encoding="utf-8")
    head, found, expected = page.partition(EXPECTED)
    assert re.match("# .+\n\n.+\n", page), "a page begins with a title and a why"
    assert found

    actual = answer(sections(head))

    if RENEW:
        case.write_text(head + EXPECTED + actual, encoding="utf-8")
    else:
        assert actual == expected


class Placeholders:
    """Placeholders for ids that differ in each run; ids of the inputs are kept."""

    def __init__(self, known: str) -> None:
        self._known = set(_UUID.findall(known))
        self._runs: dict[str, str] = {}
        self._ids: dict[str, str] = {}

    def run(self, run: str) -> None:
        """Register an id as the id of a run."""
        self._runs.setdefault(run, f"<run {len(self._runs) + 1}>")

    def __call__(self, text: str) -> str:
        """Replace the ids in a text by placeholders, numbered in order of appearance."""
        return _UUID.sub(self._named, text)

    def _named(self, found: re.Match[str]) -> str:
        name = found[0]
        if name in self._known:
            return name
        if name in self._runs:
            return self._runs[name]
        return self._ids.setdefault(name, f"<id {len(self._ids) + 1}>")
