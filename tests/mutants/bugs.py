"""Plausible bugs, each with the test that must find it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Bug(NamedTuple):
    """A bug: in one file, exact old lines become new lines."""

    name: str
    file: str
    """Below `vaultsync/`; a test double is `../tests/doubles/NAME.py`."""
    test: str
    """The test that fails of it, below `tests/`."""
    edits: tuple[tuple[str, str], ...]
    """Old and new lines."""


def _bug(paragraph: str) -> Bug:
    name, place, hunks = paragraph.split("\n", 2)
    file, test = place.split(" by ", 1)
    edits = ((_side(each, "-"), _side(each, "+")) for each in hunks.split("\n@@\n"))
    return Bug(name, file, test, tuple(edits))


def _side(hunk: str, sign: str) -> str:
    return "".join(f"{line[1:]}\n" for line in hunk.split("\n") if line[0] in (" ", sign))


_PAGE = Path(__file__).with_suffix(".diff").read_text(encoding="utf-8").strip()
BUGS = tuple(_bug(each) for each in _PAGE.split("\n\n") if not each.startswith("#"))
