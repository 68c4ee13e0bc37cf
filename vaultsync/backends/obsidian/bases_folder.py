"""Files that vaultsync writes into a folder of the vault, such as Obsidian's Bases."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from vaultsync.backends.replace_file import read_file, replace_file
from vaultsync.errors import ConfigError, system_hint
from vaultsync.model.paths import VaultPath


class BasesFolder:
    """Files that vaultsync writes and users may edit."""

    def __init__(self, root: Path, folder: VaultPath) -> None:
        """Use a folder, which may not exist yet.

        Raises:
            ConfigError: it is a link or a file.
        """
        self._root = root
        self._folder = root / folder
        for place in (self._folder, *self._folder.parents):
            if place == root:
                break
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                message = f"{place} is not a folder in the vault"
                raise ConfigError(message, hint="choose another folder")

    def write(
        self, files: Mapping[str, str], known: Mapping[str, str]
    ) -> tuple[list[str], list[str], list[str], dict[str, str]]:
        """Write files that are missing, or unchanged since they were last written; leave others.

        Args:
            files: name -> text.
            known: path in the vault -> SHA-256 of the last written content.

        Returns:
            The paths written, unchanged, and skipped because the user edited them, and the new
            `known`.

        Raises:
            ConfigError: a file cannot be read or written.
        """
        written, unchanged, edited, now = [], [], [], dict(known)
        for name, text in files.items():
            path = self._folder / name
            place = path.relative_to(self._root).as_posix()
            digest = sha256(text.encode()).hexdigest()
            data = self.read(name)
            found = None if data is None else sha256(data).hexdigest()
            if found == digest:
                unchanged.append(place)
            elif found is not None and found != known.get(place):
                edited.append(place)
                continue
            else:
                self._replace(path, text)
                written.append(place)
            now[place] = digest
        return written, unchanged, edited, now

    def read(self, name: str) -> bytes | None:
        """The current content of a file; None if there is none.

        Raises:
            ConfigError: it cannot be read.
        """
        path = self._folder / name
        try:
            return read_file(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}"
            raise ConfigError(message, hint="move it away") from None

    def _replace(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode(), mode=0o644)
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror}"
            hint = system_hint(error, "change its permissions so that you can write it")
            raise ConfigError(message, hint=hint) from None
