"""Files in a vault's `.obsidian`: the plugin, graph colours, and property types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from vaultsync.backends.replace_file import read_file, replace_file
from vaultsync.errors import ConfigError, PluginNotBuiltError

BUILT = Path(__file__).parents[2] / "obsidian"
_FILES = ("main.js", "manifest.json", "styles.css")
"""The files that Obsidian loads; `data.json` belongs to the plugin and is not changed."""
_FOLDER = ".obsidian"
PLUGIN_PATH = f"{_FOLDER}/plugins/vaultsync"
"""The folder of the plugin, relative to the vault."""
_IGNORED_SETTINGS = (
    ("templates.json", "folder"),
    ("plugins/templater-obsidian/data.json", "templates_folder"),
    ("app.json", "userIgnoreFilters"),
)
"""The files and the setting with folders that are not notes to the user: of templates, by
Obsidian's own plugin and Templater; and the excluded files, a list of folders and `/patterns/`."""


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        message = f"{path} is a link, and links are not followed"
        raise ConfigError(message, hint="replace the link with a copy of what it leads to")


class ObsidianSettings:
    """Obsidian's own settings of one vault."""

    def __init__(self, root: Path) -> None:
        self._folder = root / _FOLDER
        self.graph_path = self._folder / "graph.json"
        """The settings of the graph view."""
        self.types_path = self._folder / "types.json"
        """The types of properties."""

    @property
    def is_there(self) -> bool:
        """Whether the vault was opened in Obsidian."""
        return self._folder.is_dir()

    def ignored_folders(self) -> list[str]:
        """The folders of templates and of excluded files, relative to the vault, that are there."""
        found = []
        for name, key in _IGNORED_SETTINGS:
            try:
                value = json.loads(read_file(self._folder / name))[key]
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue  # not used, or not as these plugins write it
            for each in value if isinstance(value, list) else [value]:
                folder = each.strip("/") if isinstance(each, str) else ""
                inside = not {"", ".", ".."} & {*folder.split("/")} and "\0" not in folder
                if inside and folder not in found and (self._folder.parent / folder).is_dir():
                    found.append(folder)
        return found

    def read(self, path: Path) -> str | None:
        """The text of one of the files; None if there is none yet.

        `ConfigError`: the vault was never opened in Obsidian, or the file is a link or not text.
        """
        if self._folder.is_symlink() or not self._folder.is_dir():
            message = f"{self._folder} is not an Obsidian settings folder"
            raise ConfigError(message, hint="open the vault in Obsidian once")
        _refuse_link(path)
        try:
            return read_file(path).decode()
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}; it was not changed"
            raise ConfigError(message, hint="replace it with a file, or move it away") from None
        except UnicodeDecodeError:
            message = f"{path} is not UTF-8; it was not changed"
            raise ConfigError(message, hint="repair it or move it away") from None

    def write(self, path: Path, text: str) -> None:
        """Replace one of the files atomically."""
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        replace_file(path, text.encode(), mode=mode)


def read_plugin(built: Path | None = None) -> Mapping[str, bytes]:
    """The files of the plugin in this installation, or in a folder, by their names.

    `PluginNotBuiltError`: it was never built there.
    """
    found = {}
    for name in _FILES:
        path = (built or BUILT) / name
        try:
            found[name] = path.read_bytes()
        except FileNotFoundError:
            raise PluginNotBuiltError(str(path)) from None
    return found


def write_plugin(root: Path, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Write the files of the plugin into a vault; returns the names of those that changed.

    `ConfigError`: the vault was never opened in Obsidian, or the path contains a link;
    nothing was written.
    """
    home = root / _FOLDER
    if not home.is_dir():
        message = f"{root} was never opened in Obsidian"
        raise ConfigError(message, hint="open it once as a vault in Obsidian")
    folder = root / PLUGIN_PATH
    for each in (home, folder.parent, folder, *(folder / name for name in files)):
        _refuse_link(each)
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, data in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            replace_file(path, data, mode=0o644)
            changed.append(name)
    return tuple(changed)
