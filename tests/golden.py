"""How golden pages are read and written.

A page has a title, a word on why, its inputs as fenced texts under `##` headings, and
under `## expected` what comes of them. With VAULTSYNC_UPDATE_GOLDEN=1 the expectations
are written anew.
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
"""The language of a fence whose text shows what cannot be seen."""

_SECTION = re.compile(r"^## (\w+)\n\n(`{3,})(\w*)\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
_SIGNS = {"\r": "␍", "\t": "␉", "\ufeff": "␂", "\u202e": "␛"}
_NO_END = "␃"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def visible(text: str) -> str:
    """Text in which carriage returns, tabs, trailing blanks and a missing end show."""
    for sign, shown in _SIGNS.items():
        text = text.replace(sign, shown)
    text = re.sub(r" +(?=␍?$)", lambda m: "␠" * len(m[0]), text, flags=re.MULTILINE)
    return text if text.endswith("\n") else f"{text}{_NO_END}\n"


def invisible(text: str) -> str:
    """What `visible()` made that of."""
    for sign, shown in _SIGNS.items():
        text = text.replace(shown, sign)
    return text.replace("␠", " ").removesuffix(f"{_NO_END}\n")


def sections(page: str) -> dict[str, str]:
    """The text of each section, as it is: with its last line feed, or without."""
    return {
        name: invisible(text) if language == VISIBLE else text
        for name, _, language, text in _SECTION.findall(page)
    }


def fenced(text: str, language: str) -> str:
    """The text in a fence, one that shows everything when there is a need."""
    if visible(text) != text:
        text, language = visible(text), VISIBLE
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{fence}\n"


def check(case: Path, answer: Callable[[dict[str, str]], str]) -> None:
    """Hold what comes of the inputs of a page against what the page expects."""
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
    """Names for ids that are new in each run; those of the inputs stay."""

    def __init__(self, known: str) -> None:
        self._known = set(_UUID.findall(known))
        self._runs: dict[str, str] = {}
        self._ids: dict[str, str] = {}

    def run(self, run: str) -> None:
        """An id that is known to be a run's."""
        self._runs.setdefault(run, f"<run {len(self._runs) + 1}>")

    def __call__(self, text: str) -> str:
        """The text with ids replaced in the order in which they appear."""
        return _UUID.sub(self._named, text)

    def _named(self, found: re.Match[str]) -> str:
        name = found[0]
        if name in self._known:
            return name
        if name in self._runs:
            return self._runs[name]
        return self._ids.setdefault(name, f"<id {len(self._ids) + 1}>")
