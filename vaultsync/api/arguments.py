"""Validate the arguments of `Memory`: texts, numbers, dates and paths.

Each names the argument in its error, `InvalidFieldError`; paths have errors of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from vaultsync.errors import InvalidFieldError, NoteMissingError, UnsafePathError
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.settings import user_path

_MOST = 2**31 - 1
"""A limit that stands for none: no memory has as many facts or runs."""


def path_in_vault(text: str, root: Path) -> VaultPath:
    """A path in the vault, given relative to its root or as the system has it.

    Raises:
        NoteMissingError: nothing is there.
        UnsafePathError: it is outside the vault.
    """
    path = user_path(text)
    if not path.is_absolute() and os.path.exists(root / path):  # noqa: PTH110 - any name
        path = root / path
    try:
        inside = Path(os.path.normpath(path.absolute())).relative_to(root)
    except ValueError:
        if not os.path.exists(path):  # noqa: PTH110 - any name
            raise NoteMissingError(text) from None
        raise UnsafePathError(text, "it is not inside the vault") from None
    return vault_path(inside.as_posix()) if inside.parts else VaultPath("")


def check_texts(name: str, given: Iterable[str]) -> tuple[str, ...]:
    """A list of texts; one text is refused, because Python would take its characters for a list."""
    texts = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if (not texts and given) or not all(isinstance(each, str) for each in texts):
        raise InvalidFieldError(name, given, 'a list of texts, such as ["a", "b"]')
    return texts


def check_day(name: str, given: str | date | None) -> str | None:
    """A day, month or time as text; `date` and `datetime` are taken too."""
    if isinstance(given, date):
        return given.isoformat()
    if given is not None and not isinstance(given, str):
        raise InvalidFieldError(name, given, "a date such as 2026-02-14")
    return given


def check_number(name: str, given: int) -> int:
    """A whole number; no bool."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise InvalidFieldError(name, given, "a whole number")
    return given


def check_limit(given: int) -> int:
    """A limit, which the stores of this machine can hold."""
    return min(check_number("limit", given), _MOST)


def check_text(name: str, given: str) -> str:
    """A text."""
    if not isinstance(given, str):
        raise InvalidFieldError(name, given, "text")
    return given
