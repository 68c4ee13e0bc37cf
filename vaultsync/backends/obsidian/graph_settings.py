"""Obsidian's own settings of the graph view, read and replaced as a whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from vaultsync.errors import ConfigError

_FOLDER = ".obsidian"
_GRAPH = "graph.json"


class ObsidianSettings:
    """The folder `.obsidian` of one vault."""

    def __init__(self, root: Path) -> None:
        self._folder = root / _FOLDER

    @property
    def graph_path(self) -> Path:
        """Where the settings of the graph view are."""
        return self._folder / _GRAPH

    def read_graph(self) -> str | None:
        """The settings of the graph view; None when there are none yet.

        Raises:
            ConfigError: the vault was never opened in Obsidian, or the file is a link or
                no text.
        """
        path = self.graph_path
        if self._folder.is_symlink() or not self._folder.is_dir():
            message = f"{self._folder} is no folder of Obsidian's"
            raise ConfigError(message, hint="open the vault in Obsidian once")
        if path.is_symlink():
            message = f"{path} is a link, which is not followed"
            raise ConfigError(message, hint="put the file itself there")
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            message = f"{path} is not UTF-8; it was left alone"
            raise ConfigError(message, hint="mend it, or move it away") from None

    def write_graph(self, text: str) -> None:
        """Replace the settings of the graph view, in one atomic step.

        Raises:
            OSError: the disk is full or the folder cannot be written; nothing changed.
        """
        path = self.graph_path
        number, name = tempfile.mkstemp(prefix=f".{_GRAPH}.", dir=self._folder)
        try:
            with os.fdopen(number, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
