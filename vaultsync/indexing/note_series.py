"""The places of notes in a row: `03.md` after `02.md`, a page of a journal after the day before.

A note without a session takes its neighbours from such a row, also a note that was begun some
minutes after another. Notes that only lie in one folder have nothing to do with each other.

Loaded when notes are indexed.
"""

from __future__ import annotations

import re
from datetime import date

from msgspec import Struct

from vaultsync.model.paths import VaultPath

STEP = 300
"""How far a number, or a day, is from the next one; for notes named by a time, seconds."""
REACH = 2 * STEP
"""The greatest distance of neighbours in a row. Where more is missing, they are none."""

_DAY = r"\A(\d{4})([-_.]?)(\d\d)\2(\d\d)"
_TIME = r"[ T_-]*(\d\d)[-.:h]?(\d\d)(?:[-.:m]?(\d\d))?(?!\d)"
_FIRST = r"\A(\d{1,3})(?=[\s._)-])"
_LAST = r"[\s._#-]*(?<!\d)(\d{1,6})\Z"
_AFTER_DAY = r"[\s._#-]+(\d{1,6})"


class SeriesPlace(Struct, frozen=True):
    """The place of a note in a row."""

    series: str
    """What the notes of the row have in common."""
    number: int
    """As far from those beside it as `STEP` and `REACH` say."""


def series_place(path: VaultPath) -> SeriesPlace | None:
    """The place of a note, by a day, a time or a number in its name; None without one.

    After a number or a time, the name may say anything: `07 Lisbon`, `202604091530 Lisbon`.
    After a day it may not: notes of one day, or of two, are about many things.
    """
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    if begin := re.match(_DAY, stem):
        return _dated(folder, stem, begin)
    if first := re.match(_FIRST, stem):
        return SeriesPlace(f"{folder}/", int(first[1]) * STEP)
    if last := re.search(_LAST, stem):
        return SeriesPlace(f"{folder}/{stem[: last.start()].casefold()}", int(last[1]) * STEP)
    return None


def _dated(folder: str, stem: str, begin: re.Match[str]) -> SeriesPlace | None:
    year, _, month, day = begin.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal()
    except ValueError:
        return None
    rest = stem[begin.end() :]
    if time := re.match(_TIME, rest):
        hours, minutes, seconds = (int(each or 0) for each in time.groups())
        return SeriesPlace(f"{folder}/at", ((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    if number := re.fullmatch(_AFTER_DAY, rest):
        return SeriesPlace(f"{folder}/{begin[0]}", int(number[1]) * STEP)
    return None if rest else SeriesPlace(f"{folder}/on", days * STEP)
