"""Paths of notes: the folder taxonomy, and which names denote the same file.

Paths from outside are checked by `vault_path` before they are used.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple, NewType

from vaultsync.errors import UnsafePathError
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import TIERS, TYPES
from vaultsync.model.scope import is_scope

VaultPath = NewType("VaultPath", str)
"""Vault-relative, `/` between names, NFC. `""` is the root."""

NAME_BYTES = 255
"""Maximum length of a name on ext4, APFS and NTFS, in bytes of UTF-8 at worst."""

# What Windows also calls .obsidian, .git and the like (8.3 names).
_SHORT_NAME = lazy_pattern(r"(?:obsidi|git|trash|meta|index|stfold)~\d+", re.IGNORECASE)
_DRIVE = lazy_pattern(r"[A-Za-z]:/")
_PLAIN_PATH = lazy_pattern(
    r"(?>(?:[A-Za-z0-9_-][A-Za-z0-9_. -]*+/)*)[A-Za-z0-9_-][A-Za-z0-9_. -]*\Z"
)
"""Most paths: safe without further checks."""
# Compiled on first use: recall imports this module and checks no path.
_CONTROL = r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]"


def vault_path(text: str) -> VaultPath:
    """The path in canonical form.

    Raises:
        UnsafePathError: it leads out of the vault, names a hidden file or folder, or is
        not a valid name on every file system.
    """
    if len(text) <= NAME_BYTES and _PLAIN_PATH.match(text):
        return VaultPath(text)
    path = text if text.isascii() else unicodedata.normalize("NFC", text)
    if path.startswith("/") or _DRIVE.match(path):
        raise UnsafePathError(text, "it is absolute")
    names = path.split("/")
    if ".." in names:
        raise UnsafePathError(text, "it contains `..`")
    if why := next(filter(None, map(_unsafe, names)), ""):
        raise UnsafePathError(text, why, hint="rename the file or folder, or use another path")
    return VaultPath(path)


def _unsafe(name: str) -> str:
    # HFS+ ignores format characters: a zero-width blank and `.git` is `.git`.
    formats = itertools.takewhile(lambda char: unicodedata.category(char) == "Cf", name)
    shown = name if name.isascii() else name[len(list(formats)) :]
    if "\\" in name:
        return "it contains a backslash"
    if re.search(_CONTROL, name):
        return "it contains a control character or is not UTF-8"
    if not shown:
        return "a name in it is empty"
    if shown.startswith("."):
        return "names that begin with a dot are hidden"
    if len(name.encode()) > NAME_BYTES:
        return f"a part of it has more than {NAME_BYTES} bytes"
    if "~" in name and _SHORT_NAME.fullmatch(name):
        return "Windows reads a name in it as a hidden folder"
    return ""


def path_key(path: str) -> str:
    """A key that is equal for two paths or names that some file system treats as one."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


def fold_case(text: str) -> str:
    """Lower case as in Obsidian, without case folding: `Straße` and `Strasse` differ."""
    if text.isascii():
        return text.lower()
    # Obsidian reads a no-break space in a link as a space.
    plain = text.replace("\u00a0", " ").replace("\u202f", " ")
    return unicodedata.normalize("NFC", plain).lower()


def parent_folder(path: VaultPath) -> VaultPath:
    """The folder a path lies in."""
    return VaultPath(path.rpartition("/")[0])


def file_name_of(path: str) -> str:
    """The last name of a path."""
    return path.rpartition("/")[2]


def stem_of(path: str) -> str:
    """The last name of a path, without `.md`."""
    name = file_name_of(path)
    return name[:-3] if name[-3:].lower() == ".md" else name


def join_path(folder: VaultPath, name: str) -> VaultPath:
    """The path of `name` in a folder; raises as `vault_path()`."""
    return vault_path(f"{folder}/{name}" if folder else name)


_TYPE_FOLDERS = frozenset(row.folder for row in TYPES.values())


class PathInfo(NamedTuple):
    """The scope, type folder and tier that a path implies."""

    scope: str | None
    """None outside the folders of scopes."""
    folder: str | None
    """The folder of a type, directly below the scope's."""
    tier: str | None
    """Of an observation."""


def path_info(path: VaultPath) -> PathInfo:
    """Read scope, type folder and tier from a path."""
    return _place_in(path.rpartition("/")[0])


@lru_cache(maxsize=1024)  # many notes lie in one folder
def _place_in(folder: str) -> PathInfo:
    folders = folder.split("/") if folder else []
    if not folders or not is_scope(folders[0]):
        return PathInfo(None, None, None)
    below = [path_key(name) for name in folders[1:3]]
    if not below or below[0] not in _TYPE_FOLDERS:
        return PathInfo(folders[0], None, None)
    tiered = below[0] == TYPES["observation"].folder and below[-1] in TIERS
    return PathInfo(folders[0], below[0], below[-1] if tiered else None)


def is_note_name(name: str) -> bool:
    """Whether a file of that name is a note."""
    return name[-3:].lower() == ".md" and not name.startswith(".")
