"""Validate the arguments of `Memory`: texts, numbers, dates and paths.

Each function names the argument in its `InvalidFieldError`; paths have their own errors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from unicodedata import normalize

from vaultsync.errors import InvalidFieldError, NoteMissingError, UnsafePathError
from vaultsync.model.paths import VaultPath, vault_path
from vaultsync.model.schema import Value
from vaultsync.model.scope import private_scope
from vaultsync.settings import user_path

_MOST = 2**31 - 1
"""The largest limit, which means no limit: no memory has as many facts or runs."""


def path_in_vault(
    text: str | Path, root: Path, sees: Callable[[VaultPath], bool] = lambda _: True
) -> VaultPath:
    """A path in the vault, given relative to its root or as a path of the system.

    What the caller does not see is not looked for: it is as if nothing were there.

    Raises:
        NoteMissingError: nothing exists there.
        UnsafePathError: it is outside the vault, or empty.
    """
    text = str(text)
    if not text:
        raise UnsafePathError(text, "a path is not empty")
    path = user_path(text)
    inner = VaultPath(Path(os.path.normpath(path)).as_posix())
    if not path.is_absolute() and sees(inner) and os.path.exists(root / path):  # noqa: PTH110 - any name
        path = root / path
    whole = Path(os.path.normpath(path.absolute()))
    if not whole.is_relative_to(root):  # perhaps the vault is given by a link to it
        whole = Path(os.path.realpath(whole.parent), whole.name)
    try:
        inside = whole.relative_to(root)
    except ValueError:
        if not os.path.exists(path):  # noqa: PTH110 - any name
            raise NoteMissingError(text) from None
        raise UnsafePathError(text, "it is not inside the vault") from None
    return _as_spelled(inside, root) if inside.parts else VaultPath("")


def _as_spelled(inside: Path, root: Path) -> VaultPath:
    """A path with the names that its files have on the disk, whatever their Unicode form is."""
    path = vault_path(inside.as_posix())
    if path.isascii():
        return path
    names: list[str] = []
    for given, name in zip(inside.parts, path.split("/"), strict=True):
        listed: list[str] = []
        with suppress(OSError):  # there is no such folder
            listed = os.listdir(root.joinpath(*names))  # noqa: PTH208 - only the names
        same = [each for each in listed if normalize("NFC", each) == name]
        names.append(given if given in same else min(same, default=name))
    return VaultPath("/".join(names))


def check_texts(name: str, value: Iterable[str]) -> tuple[str, ...]:
    """A list of texts; a single text is refused, because it would be read as its characters."""
    texts = () if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    if (not texts and value) or not all(isinstance(each, str) for each in texts):
        raise InvalidFieldError(name, value, 'a list of texts, such as ["a", "b"]')
    return texts


def check_fields(name: str, value: Mapping[str, Value] | None) -> Mapping[str, Value]:
    """Values by the names of their fields; empty for None."""
    fields = {} if value is None else value
    if not isinstance(fields, Mapping) or not all(isinstance(each, str) for each in fields):
        raise InvalidFieldError(name, value, 'values by name, such as {"mood": "good"}')
    return fields


def check_paths(name: str, value: Iterable[str | Path]) -> tuple[str, ...]:
    """A list of paths, as texts; a single one is refused, as a single text is."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return check_texts(name, value)
    return check_texts(name, [str(each) if isinstance(each, Path) else each for each in value])


def check_day(name: str, value: str | date | None) -> str | None:
    """A day, month or time as text; accepts `date` and `datetime` too."""
    if isinstance(value, date):
        return value.isoformat()
    if value is not None and not isinstance(value, str):
        raise InvalidFieldError(name, value, "a date such as 2026-02-14")
    return value


def check_number(name: str, value: int, *, least: int | None = None) -> int:
    """An integer, not below `least`; a bool is refused."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidFieldError(name, value, "a whole number")
    if least is not None and value < least:
        raise InvalidFieldError(name, value, f"{least} or more")
    return value


def check_optional(name: str, value: int | None, *, least: int | None = None) -> int | None:
    """As `check_number()`, or None."""
    return None if value is None else check_number(name, value, least=least)


def check_limit(value: int, *, least: int | None = None) -> int:
    """A limit, not below `least`, reduced to what the databases can represent."""
    return min(check_number("limit", value, least=least), _MOST)


def check_text(name: str, value: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise InvalidFieldError(name, value, "text")
    return value


def acting_agent(agent: str | None, default: str | None) -> str | None:
    """The agent of a call: the one it names, or else that of the memory."""
    if agent not in (None, ""):
        private_scope(agent)  # refuses invalid names
    return agent or default


def check_names(name: str, value: str | Iterable[str] | None) -> tuple[str, ...]:
    """One string, or several, each of which UTF-8 can encode; None is no string."""
    if value is None:
        return ()
    texts = (value,) if isinstance(value, str) else check_texts(name, value)
    for each in texts:
        check_name(name, each)
    return texts


def check_user(user: str | None) -> str | None:
    """The name of a user, or None; a blank one, as of a variable that is not set, is refused."""
    if user is not None and not check_text("user", user).strip():
        raise InvalidFieldError("user", user, "the name of a user")
    return check_name("user", user)


def check_name(name: str, value: str | None) -> str | None:
    """A string that UTF-8 can encode, or None."""
    if value is not None and not check_text(name, value).isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidFieldError(name, value, "text without lone surrogates") from None
    return value
