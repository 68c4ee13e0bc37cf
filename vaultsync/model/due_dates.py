"""The properties that say when a task or promise is due, as their authors write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vaultsync.errors import InvalidFieldError
from vaultsync.model.dates import DAY_LENGTH, day_span
from vaultsync.model.schema import WITH_STATE, Value, ValueKind

DUE_PROPERTIES = ("due", "dueDate", "taskDueDate", "deadline")
"""The properties with the due date of a task or promise; a promise has a field for it, too."""


def due_text(value: object) -> str:
    """A due date as text, without the brackets of a link to a daily note; empty if not set."""
    return str(value).strip().removeprefix("[[") if value else ""


def invalid_due_dates(
    fact_type: object, values: Mapping[str, Value]
) -> Iterator[InvalidFieldError]:
    """An error for each property that says when a task or promise is due, but names no day.

    As in the field of a promise, a time or words may follow the date; it may be a month, too.
    """
    for key in DUE_PROPERTIES if fact_type in WITH_STATE else ():
        due = due_text(values.get(key))
        if due and day_span(due[:DAY_LENGTH]) is None:
            yield InvalidFieldError(key, values[key], ValueKind.DATE.value)
