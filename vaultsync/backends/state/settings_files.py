"""Settings files of a vault and of the user: read with their owner, and changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from vaultsync.backends.replace_file import replace_file
from vaultsync.errors import ConfigError, NotAVaultError, system_hint
from vaultsync.settings import MARKER, MARKER_BYTES

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_SECONDS = 5.0
"""Seconds after which a process that changes settings counts as stopped."""
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
    header = "# Settings of this machine for one vault. Only you should be able to write it.\n"
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        with _locked(path.parent):
            text = _changed(read_machine_file(path) or header, changes, path)
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
    read_marker(root)  # raises if there is none
    try:
        with _locked(path.parent):
            text = _changed(read_marker(root).text, changes, path)
            replace_file(path, text.encode(), mode=path.stat().st_mode & 0o777)
    except OSError as error:
        raise _unwritable(path, error, "change its permissions so that you can write it") from None


def _locked(folder: Path) -> AbstractContextManager[None]:
    """Keep other processes from changing settings, as they would undo what they have not read."""
    from vaultsync.backends.contended_files import locked_folder

    return locked_folder(folder, _LOCK_SECONDS)


def _changed(text: str, changes: Changes, path: Path) -> str:
    # Every command reads settings, and few change any.
    from vaultsync.backends.state.toml_edits import edit_toml

    return edit_toml(text, changes, path)


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
