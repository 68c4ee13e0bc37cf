"""When a note of the user was written: the `createdAt` of the fact that is made of it.

A vault is often years older than its adoption, and *last month* asks for the notes that were
written then. The first of these that is a time, and not in the future, is taken:

1. the note's own `createdAt`
2. a property such as `created`, `date created` or `date`
3. the day at the beginning of its file name, as daily notes have it
4. when the file was last saved, if that is more than a day ago
5. the time of the run
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from vaultsync.errors import InvalidFieldError
from vaultsync.model.canonical import clean_time, from_microseconds, link_name, to_microseconds
from vaultsync.model.dates import DAY_LENGTH
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.notes.parse import Note
from vaultsync.storage.clock import time_text
from vaultsync.storage.vault import FileStamp

PROPERTIES = ("created", "createdon", "datecreated", "creationdate", "date")
"""Properties in small letters without blanks, hyphens and underscores, the best one first."""
_IGNORED = str.maketrans("", "", " _-")
_NOON = "T12:00:00Z"
"""The time of a day without one: at noon it is the same day in nearly all time zones."""
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\d(?=[T ]|\Z)")
_DAY_IN_NAME = lazy_pattern(r"(\d{4})([-_.]?)(\d\d)\2(\d\d)(?=\D|\d{4}(?:\d\d)?(?!\d)|\Z)")
_EARLIEST_SAVED = to_microseconds("2000-01-01")
"""Archives without times set them to 1970 or 1980."""
_JUST_SAVED = 24 * 60 * 60 * 1_000_000
"""In microseconds."""


def creation_time(note: Note, stamp: FileStamp | None, now: datetime) -> str:
    """When the fact of a new note was created, in UTC; `stamp` is that of its file, if known."""
    if own := note.values.get("createdAt"):
        return str(own)
    present = time_text(now)
    latest = to_microseconds(present)
    for stated in _stated_times(note):
        if to_microseconds(stated) <= latest:
            return stated
    saved = stamp.mtime_ns // 1_000_000_000 * 1_000_000 if stamp else latest
    is_old = _EARLIEST_SAVED <= saved <= latest - _JUST_SAVED
    return from_microseconds(saved) if is_old else present


def _stated_times(note: Note) -> Iterator[str]:
    """The times that properties and the name state, the best one first."""
    given = {key.casefold().translate(_IGNORED): value for key, value in note.properties.items()}
    for key in PROPERTIES:
        value = given.get(key)
        if isinstance(value, str):
            # A link to a daily note may name its folder.
            yield from _time_of(link_name(value).rpartition("/")[2])
    if day := _DAY_IN_NAME.match(note.path.rpartition("/")[2]):
        yield from _time_of("-".join(day.group(1, 3, 4)))


def _time_of(text: str) -> Iterator[str]:
    """A day, or a day with a time, in the format of facts; nothing for any other text."""
    if _TIME.match(text):
        try:
            yield clean_time("createdAt", text + _NOON if len(text) == DAY_LENGTH else text)
        except InvalidFieldError:
            return
