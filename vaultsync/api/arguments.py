"""Arguments of the Python API, checked where the caller gives them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from vaultsync.errors import InvalidFieldError


def check_texts(name: str, given: Iterable[str]) -> tuple[str, ...]:
    """A list of texts; one text is refused, because Python would take its characters for a list.

    Raises:
        InvalidFieldError: it is a text, or not all of it are texts.
    """
    texts = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if (not texts and given) or not all(isinstance(each, str) for each in texts):
        raise InvalidFieldError(name, given, 'a list of texts, such as ["a", "b"]')
    return texts


def check_day(name: str, given: str | date | None) -> str | None:
    """A day, month or time as text; `date` and `datetime` are taken too.

    Raises:
        InvalidFieldError: it is of another type.
    """
    if isinstance(given, date):
        return given.isoformat()
    if given is not None and not isinstance(given, str):
        raise InvalidFieldError(name, given, "a date such as 2026-02-14")
    return given


def check_number(name: str, given: int) -> int:
    """A whole number.

    Raises:
        InvalidFieldError: it is of another type.
    """
    if not isinstance(given, int) or isinstance(given, bool):
        raise InvalidFieldError(name, given, "a whole number")
    return given


def check_text(name: str, given: str) -> str:
    """A text.

    Raises:
        InvalidFieldError: it is of another type.
    """
    if not isinstance(given, str):
        raise InvalidFieldError(name, given, "text")
    return given
