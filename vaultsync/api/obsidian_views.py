"""Files by which Obsidian shows facts: Bases, the types of properties, colours of the graph."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from vaultsync.backends.obsidian.bases_folder import BasesFolder
from vaultsync.backends.obsidian.settings_folder import ObsidianSettings
from vaultsync.errors import ConfigError
from vaultsync.index_files.obsidian_bases import base_files
from vaultsync.index_files.property_types import PropertyClash, typed_properties, with_missing_types
from vaultsync.model.paths import vault_path
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext

_SETTING = "bases"
"""The setting of the archive with the hashes of the files as last written."""


class BasesReport(Struct, frozen=True):
    """The files of Bases, by what happened to them."""

    folder: str
    written: int
    unchanged: int
    edited: tuple[str, ...]
    """Files that the user edited or created, which were not changed."""
    files: tuple[str, ...]
    """The files that were written."""


class PropertyTypes(Struct, frozen=True):
    """Obsidian's types for the properties of facts."""

    path: str
    """The path of Obsidian's file with the types."""
    missing: Mapping[str, str]
    """Property without a type in Obsidian -> its type."""
    clashes: tuple[PropertyClash, ...]
    """Properties that have another type in Obsidian, which is kept."""
    written: bool
    """Whether the missing types were added."""


def property_types(settings: Settings, *, write: bool) -> PropertyTypes:
    """As `Memory.property_types()`."""
    files = ObsidianSettings(settings.root)
    path = files.types_path
    before = files.read(path)
    try:
        types, after = typed_properties(before), with_missing_types(before)
    except ValueError as error:
        message = f"{path} does not have Obsidian's format: {error}"
        raise ConfigError(message, hint="it was not changed; fix it, or move it away") from None
    written = write and bool(types.missing)
    if written:
        files.write(path, after)
    return PropertyTypes(str(path), types.missing, types.clashes, written)


def check_property_types(settings: Settings) -> str:
    """Check Obsidian's property types, for `doctor`.

    Raises: as `property_types()`.
    """
    if not ObsidianSettings(settings.root).is_there:
        return "the vault was not opened in Obsidian"
    types = property_types(settings, write=False)
    clashes = ", ".join(f"{each.key} as {each.found}" for each in types.clashes)
    if clashes:
        return f"Obsidian shows {clashes}, which does not fit; see `vaultsync bases types`"
    return "the property types in Obsidian fit the properties of facts"


def write_bases(ctx: SyncContext, settings: Settings, folder: str) -> BasesReport:
    """As `Memory.write_bases()`."""
    place = vault_path(folder)
    facts = {(fact.type, fact.scope) for fact in ctx.store.iter_facts()}
    types, scopes = {each for each, _ in facts}, {each for _, each in facts}
    recorded = json.loads(ctx.archive.setting(_SETTING) or "{}")
    written, unchanged, edited, now = BasesFolder(settings.root, place).write(
        base_files(types, scopes), recorded
    )
    if now != recorded:
        ctx.set_setting(_SETTING, json.dumps(now))
    return BasesReport(str(place), len(written), len(unchanged), tuple(edited), tuple(written))
