"""The marker of a vault, and its state folder."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from vaultsync.backends.replace_file import read_file, replace_file, sync_folder
from vaultsync.backends.state.settings_files import read_marker
from vaultsync.errors import ConfigError, CopiedVaultError, VaultsyncError, system_hint
from vaultsync.settings import parse_toml

_log = logging.getLogger(__name__)

_MARKER = """\
# The marker and settings of this vault. Keep it with the notes.
vault_id = {vault_id}
default_scope = {scope}

# Folders whose notes are not synced, for example templates:
{ignore}
"""
MODULE_FOLDER, MEMORY_FILE_FOLDER = "modules", "memory-files"
"""The folders in the state folder of a vault that has used modules, or memory files."""
_ROOT = "root"
"""The file in the state folder of a vault that names the vault's folder."""


def make_marker(root: Path, vault_id: str, *, scope: str, ignore: Sequence[str] = ()) -> bool:
    """Write `.meta/config.toml`, unless there is one, and say whether it was written.

    Args:
        root: the folder of the vault.
        vault_id: its new id.
        scope: the default scope of notes.
        ignore: the folders to ignore, relative to the vault.

    Raises:
        ConfigError: it cannot be written.
    """
    from vaultsync.backends.contended_files import create_file  # once per vault

    setting = f"ignore = {json.dumps(ignore, ensure_ascii=False)}"
    text = _MARKER.format(
        vault_id=json.dumps(vault_id),
        scope=json.dumps(scope),
        ignore=setting if ignore else '# ignore = ["Templates"]',
    )
    try:
        (root / ".meta").mkdir(parents=True, exist_ok=True)
        is_new = create_file(root / ".meta" / "config.toml", text.encode(), mode=None)
        sync_folder(root)
    except OSError as error:
        message = f"the vault cannot be created at {root}: {error.strerror}"
        hint = system_hint(error, "use a folder to which you can write")
        raise ConfigError(message, hint=hint) from None
    return is_new


def make_state_dir(path: Path) -> None:
    """Create the state folder, accessible only to its owner; `ConfigError` on failure.

    One that is read-only suffices for questions.
    """
    try:
        missing = takewhile(lambda each: not each.exists(), path.parents)
        for folder in reversed([path, *missing]):  # others could replace it in an open folder
            folder.mkdir(mode=0o700, exist_ok=True)
        found = path.stat()
        if found.st_uid != os.getuid():
            message = f"the state folder {path} belongs to another user"
            raise ConfigError(message, hint="use your own folder with --state-dir")
        if found.st_mode & 0o077:
            path.chmod(0o700)
        if not os.access(path, os.W_OK):
            _log.warning("the state folder %s is read-only, so nothing can be recorded", path)
    except OSError as error:
        message = f"the state folder {path} cannot be used: {error.strerror}"
        hint = system_hint(error, "use another one with --state-dir")
        raise ConfigError(message, hint=hint) from None


def claimed_root(state_dir: Path) -> str:
    """The folder that is the vault of a state folder; empty if there is none yet."""
    try:
        root, _, state = os.fsdecode(read_file(state_dir / _ROOT)).partition("\0")
    except OSError:
        return ""
    return root if state == str(state_dir) else ""


def claim_state_dir(state_dir: Path, root: Path, vault_id: str) -> None:
    """Remember which folder is the vault of a state folder, and refuse a second one.

    A vault that was moved is the same vault: its old folder is gone, or has another id. A
    vault that was copied with its state folder shares nothing with the original.

    Raises:
        CopiedVaultError: the folder that was the vault is still there, with the same id.
    """
    before = claimed_root(state_dir)
    if before == str(root):
        return
    is_other = before and _is_vault(Path(before), vault_id)
    if is_other and not Path(before).samefile(root):
        raise CopiedVaultError(str(root), before)
    try:
        replace_file(state_dir / _ROOT, os.fsencode(f"{root}\0{state_dir}"))
    except OSError as error:
        _log.debug("the folder of the vault was not recorded: %s", error)


def _is_vault(root: Path, vault_id: str) -> bool:
    try:
        return parse_toml(read_marker(root).text, root).get("vault_id") == vault_id
    except (VaultsyncError, OSError):
        return False


def uses_modules(state_dir: Path) -> bool:
    """Whether a vault has used modules; if not, their code is not loaded."""
    return (state_dir / MODULE_FOLDER).is_dir()


def uses_memory_files(state_dir: Path) -> bool:
    """The same for memory files."""
    return (state_dir / MEMORY_FILE_FOLDER).is_dir()
