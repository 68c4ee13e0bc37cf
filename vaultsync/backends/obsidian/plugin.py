"""The plugin for Obsidian: its built files, and the folder of a vault that has it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from vaultsync.errors import ConfigError, PluginNotBuiltError

_BUILT = Path(__file__).parent.parent / "obsidian"
_FILES = ("main.js", "manifest.json", "styles.css")
"""What Obsidian loads; `data.json` beside them is the plugin's own and is left alone."""
_OBSIDIAN = ".obsidian"


class PluginFiles:
    """The plugin that came with this installation; `built` is where its files are."""

    def __init__(self, built: Path = _BUILT) -> None:
        self._built = built

    def read(self) -> Mapping[str, bytes]:
        """Its files, by their names.

        Raises:
            PluginNotBuiltError: it was never built here.
        """
        found = {}
        for name in _FILES:
            try:
                found[name] = (self._built / name).read_bytes()
            except FileNotFoundError:
                raise PluginNotBuiltError(str(self._built / name)) from None
        return found

    def version(self) -> str:
        """Its version, as its manifest says.

        Raises:
            PluginNotBuiltError: as `read()`.
        """
        return str(json.loads(self.read()["manifest.json"])["version"])


class PluginFolder:
    """The folder of the plugin in one vault."""

    path = f"{_OBSIDIAN}/plugins/vaultsync"
    """Vault-relative."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, files: Mapping[str, bytes]) -> tuple[str, ...]:
        """Put files there, each in one atomic step; the names of those that changed.

        Raises:
            ConfigError: the vault was never opened in Obsidian, or a link stands in the
                way; nothing was written.
            OSError: the disk is full or the folder cannot be written.
        """
        home = self._root / _OBSIDIAN
        if not home.is_dir():
            message = f"{self._root} was never opened in Obsidian"
            raise ConfigError(message, hint="open it there as a vault, once")
        folder = self._root / self.path
        for each in (home, folder.parent, folder, *(folder / name for name in files)):
            if each.is_symlink():
                message = f"{each} is a link, which is not followed"
                raise ConfigError(message, hint="put the folder itself there")
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(name for name, data in files.items() if _replaced(folder / name, data))


def _replaced(path: Path, data: bytes) -> bool:
    if path.is_file() and path.read_bytes() == data:
        return False
    number, staged = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(staged).chmod(0o644)
        Path(staged).replace(path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise
    return True
