"""Settings files of a vault and of the user; read with their owner, edited line by line.

An edit changes only the lines of one setting: the result is parsed before it is written, and
refused if it has any other change.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from vaultsync.backends.replace_file import replace_file
from vaultsync.errors import ConfigError, NotAVaultError, system_hint
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.settings import MARKER, MARKER_BYTES, Table, parse_toml

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_HEADER = lazy_pattern(r"\s*\[")
_LINES = lazy_pattern(r"[^\n]*\n|[^\n]+")
_LAST_LINE = lazy_pattern(r"(?:\]|\"\"\"|''')\s*(?:#.*)?$")
"""The last line of a value that has more than one."""
_MOST_PLACES = 100
"""Number of places at which a setting is looked for: each is parsed."""
_BARE_KEY = lazy_pattern(r"[A-Za-z0-9_-]+")
Changes = Mapping[tuple[str, ...], object]
"""Path of a setting, such as `("watch", "watcher")` -> its value; None removes it."""


class Marker(NamedTuple):
    """The settings file of a vault, as text."""

    text: str
    owner: str
    """Another user to whom the vault belongs; empty if it is this user's, or root's."""


def _unreadable(path: Path, error: OSError) -> ConfigError:
    why = "it is a link" if path.is_symlink() else error.strerror
    hint = system_hint(error, "change its permissions so that you can read it")
    return ConfigError(f"{path} cannot be read: {why}", hint=hint)


def _unwritable(path: Path, error: OSError, hint: str) -> ConfigError:
    message = f"{path} cannot be written: {error.strerror}"
    return ConfigError(message, hint=system_hint(error, hint))


def read_marker(root: Path) -> Marker:
    """Read `.meta/config.toml`, without following links.

    Raises:
        NotAVaultError: there is none.
        ConfigError: it cannot be read, or is not a settings file.
    """
    path = root / MARKER
    try:
        folder = path.parent.lstat()
        if stat.S_ISLNK(folder.st_mode):
            raise ConfigError(f"{path.parent} is a link", hint="replace it with the folder itself")
        text, found = _read(path)
        owner = _other_user(root.stat(), folder, found)
    except (FileNotFoundError, NotADirectoryError):
        raise NotAVaultError(str(root)) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return Marker(text, owner)


def read_machine_file(path: Path) -> str:
    """The user's own settings for a vault; empty if there are none.

    Raises:
        ConfigError: it cannot be read, or another user could write it.
    """
    try:
        text, found = _read(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _unreadable(path, error) from None
    if _other_user(found) or found.st_mode & 0o022:
        raise ConfigError(
            f"others can write {path}, which defines what vaultsync may do on this machine",
            hint=f"review it, then run `chmod 600 {quote(str(path))}`",
        )
    return text


def edit_machine_file(path: Path, changes: Changes) -> None:
    """Change the user's own settings for a vault; the file is created if missing.

    Raises:
        ConfigError: it cannot be written, or not without other changes.
    """
    before = read_machine_file(path)
    header = "# Settings of this machine for one vault. Only you should be able to write it.\n"
    text = edit_toml(before or header, changes, path)
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        replace_file(path, text.encode())
    except OSError as error:
        hint = (
            "change its permissions so that you can write it, or choose another folder with"
            " VAULTSYNC_CONFIG_DIR"
        )
        raise _unwritable(path, error, hint) from None


def edit_marker(root: Path, changes: Changes) -> None:
    """Change the settings of a vault; all other lines are kept.

    Raises:
        ConfigError: it cannot be written, or not without other changes.
    """
    path = root / MARKER
    text = edit_toml(read_marker(root).text, changes, path)
    try:
        replace_file(path, text.encode(), mode=path.stat().st_mode & 0o777)
    except OSError as error:
        raise _unwritable(path, error, "change its permissions so that you can write it") from None


def edit_toml(text: str, changes: Changes, path: Path) -> str:
    """Change values in a TOML text, keeping all other lines.

    Raises:
        ConfigError: the text is not TOML, or a setting is written in a way that cannot be
            changed line by line.
    """
    for names, value in changes.items():
        table, key = names[:-1], names[-1]
        without = dict(parse_toml(text, path))
        _table(without, table).pop(key, None)
        lines = _without(_LINES.findall(text), key, without, path)
        if value is None and table and not _table(without, table):
            lines = _without_header(lines, table)
        if value is not None:
            _table(without, table)[key] = list(value) if isinstance(value, tuple) else value
            _insert(lines, table, f"{_key(key)} = {_literal(value)}")
        text = "".join(lines)
        try:
            found = parse_toml(text, path)
            is_right = found == _pruned(without, found)
        except ConfigError:
            is_right = False
        if not is_right:
            raise _unchangeable(path, names)
    return text


def _without(lines: Sequence[str], key: str, wanted: dict[str, Any], path: Path) -> list[str]:
    """The lines without those of a setting; all of them if it has none."""
    begins = re.compile(rf"""\s*(["']?){re.escape(key)}\1\s*=""")
    starts = (start for start, line in enumerate(lines) if begins.match(line))
    places = chain.from_iterable(_possible_ends(lines, start) for start in starts)
    found_at = -1
    for start, end in islice(places, _MOST_PLACES):
        if start == found_at or not _is_toml(lines[start:end], path):
            continue
        found_at = start
        rest = [*lines[:start], *lines[end:]]
        with suppress(ConfigError):
            found = parse_toml("".join(rest), path)
            if found == _pruned(wanted, found):
                return rest
    return list(lines)


def _possible_ends(lines: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """A line in which a value begins, with each of the lines behind which it may end."""
    yield start, start + 1
    for end in range(start + 1, len(lines)):
        if _LAST_LINE.search(lines[end]):
            yield start, end + 1


def _is_toml(lines: Sequence[str], path: Path) -> bool:
    try:
        parse_toml("".join(lines), path)
    except ConfigError:
        return False
    return True


def _without_header(lines: list[str], table: Sequence[str]) -> list[str]:
    """The lines without the header of a table that is now empty, without even a comment."""
    header = _header(table)
    start = next((n for n, each in enumerate(lines) if header.match(each)), len(lines))
    end = start + 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    if start == len(lines) or (end < len(lines) and not _HEADER.match(lines[end])):
        return lines
    kept = [*lines[:start], *lines[end:]]
    while end >= len(lines) and kept and not kept[-1].strip():
        kept.pop()
    return kept


def _header(table: Sequence[str]) -> re.Pattern[str]:
    name = r"\s*\.\s*".join(rf"(?:{re.escape(each)}|{re.escape(_key(each))})" for each in table)
    return re.compile(rf"\s*\[\s*{name}\s*\]\s*(?:#.*)?$")


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _literal(name)


def _pruned(wanted: Table, found: Table) -> Table:
    """The wanted tables, without empty ones that were not found."""
    kept = {}
    for key, value in wanted.items():
        there = found.get(key)
        inner = _pruned(value, there or {}) if isinstance(value, dict) else value
        if inner != {} or key in found:
            kept[key] = inner
    return kept


def _insert(lines: list[str], table: Sequence[str], line: str) -> None:
    """Add a line at the end of its table, which is created if necessary."""
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    at = 0
    if table:
        header = _header(table)
        heads = [n for n, each in enumerate(lines) if header.match(each)]
        if not heads:
            name = ".".join(map(_key, table))
            lines += [*([end] if lines else []), f"[{name}]{end}", f"{line}{end}"]
            return
        at = heads[0] + 1
    while at < len(lines) and not _HEADER.match(lines[at]):
        at += 1
    while at and not lines[at - 1].strip():
        at -= 1
    lines.insert(at, f"{line}{end}")


def _read(path: Path) -> tuple[str, os.stat_result]:
    fd = os.open(path, _READ)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(f"{path} is not a file", hint="restore it from a backup")
        data = file.read(MARKER_BYTES + 1)
    if len(data) > MARKER_BYTES:
        why = f"it has more than {MARKER_BYTES:,} bytes"
        raise ConfigError(f"{path} cannot be read: {why}", hint="restore it from a backup")
    try:
        return data.decode(), found
    except UnicodeDecodeError as error:
        message = f"{path} cannot be read: {error}"
        raise ConfigError(message, hint="save the file as UTF-8") from None


def _other_user(*found: os.stat_result) -> str:
    """The first owner who is neither this user nor root; empty if there is none."""
    if not hasattr(os, "geteuid"):
        return ""
    allowed = {0, os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        allowed.add(int(os.environ["SUDO_UID"]))
    other = next((each.st_uid for each in found if each.st_uid not in allowed), None)
    return "" if other is None else _user_name(other)


def _user_name(number: int) -> str:
    import pwd

    try:
        return f"{pwd.getpwuid(number).pw_name} (user {number})"
    except KeyError:
        return f"user {number}"


def _table(tables: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    for name in names:
        tables = tables.setdefault(name, {})
    return tables


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)


def _unchangeable(path: Path, names: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"`{'.'.join(names)}` in {path} cannot be changed safely in its current form;"
        " nothing was written",
        hint="change it by hand",
    )
