"""The marker of a vault, and its state folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

from vaultsync.backends.replace_file import replace_file
from vaultsync.errors import ConfigError

_MARKER = """\
# The marker and settings of this vault. Keep it with the notes.
vault_id = {vault_id}
default_scope = {scope}
{store}
# Folders whose notes are left alone, for example templates:
# ignore = ["Templates"]
"""


def make_marker(root: Path, vault_id: str, *, scope: str, store: str | None) -> None:
    """Write `.meta/config.toml`, unless there is one; `ConfigError` if it cannot be written."""
    text = _MARKER.format(
        vault_id=json.dumps(vault_id),
        scope=json.dumps(scope),
        store=f"store = {json.dumps(store)}\n" if store else "",
    )
    try:
        (root / ".meta").mkdir(parents=True, exist_ok=True)
        path = root / ".meta" / "config.toml"
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        return
    except OSError as error:
        message = f"no vault can be made at {root}: {error.strerror}"
        raise ConfigError(message, hint="give a folder that you may write in") from None


def set_store(root: Path, store: str) -> None:
    """Name another store in the marker; every other line of it stays."""
    path = root / ".meta" / "config.toml"
    line = f"store = {json.dumps(store)}"
    before = path.read_text(encoding="utf-8").split("\n")
    table = next((n for n, each in enumerate(before) if each.startswith("[")), None)
    top, rest = before[:table], before[len(before) if table is None else table :]
    at = [n for n, each in enumerate(top) if each.partition("=")[0].strip() == "store"]
    if at:
        top[at[0]] = line
    else:
        top.insert(len(top) - (table is None and top[-1:] == [""]), line)
    text = "\n".join([*top, *rest])
    replace_file(path, text.encode(), mode=path.stat().st_mode & 0o777)


def make_state_dir(path: Path) -> None:
    """Make the state folder, open to its owner alone; `ConfigError` if it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.stat()
        if hasattr(os, "getuid") and found.st_uid != os.getuid():
            message = f"the state folder {path} belongs to another user"
            raise ConfigError(message, hint="name one of your own with --state-dir")
        if found.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        message = f"the state folder {path} cannot be used: {error.strerror}"
        raise ConfigError(message, hint="name another one with --state-dir") from None
