"""The files of hosts on this machine, and backups of what installations replaced in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from vaultsync.backends.replace_file import read_file, replace_file
from vaultsync.errors import HostFileError
from vaultsync.hosts.agent_hosts import HostFile, System
from vaultsync.hosts.installation import Receipt
from vaultsync.settings import user_path

_LIMIT = 32 << 20


def this_system() -> System:
    """The operating system, by the names of `agent_hosts`."""
    return "macos" if sys.platform == "darwin" else "linux"


def place_of(file: HostFile, project: Path | None) -> Path | None:
    """The path of a host's file on this machine; None if the host has no such file here."""
    if project is not None:
        return project / file.project if file.project else None
    user = file.user if isinstance(file.user, str) else file.user[this_system()]
    if not user:
        return None
    moved = os.environ.get(file.variable) if file.variable else None
    if moved:
        return user_path(moved) / Path(user).name
    return user_path(user)


def read_host_file(path: Path) -> str | None:
    """The text of a file; None if there is none. Links are followed, as users link settings.

    Raises:
        HostFileError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        real = path.resolve()
        if real.exists() and real.stat().st_size > _LIMIT:
            raise HostFileError(str(path), "it is larger than 32 MiB")
        return read_file(real).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostFileError(str(path), error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise HostFileError(str(path), "it is not UTF-8") from None


class Receipts:
    """Records, by host and file, of what installations replaced, next to the user's settings."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "hosts.json"

    def read(self) -> dict[str, Receipt]:
        """All receipts, by `HOST PATH`; empty if the file is missing or damaged.

        Without a receipt, an entry is recognised by its content.
        """
        try:
            return msgspec.json.decode(read_file(self._path), type=dict[str, Receipt])
        except (OSError, msgspec.DecodeError):
            return {}

    def write(self, receipts: Mapping[str, Receipt]) -> None:
        """Replace all receipts; without any, the file is removed."""
        if not receipts:
            self._path.unlink(missing_ok=True)
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._path, msgspec.json.format(msgspec.json.encode(receipts)))
