"""Bases of Obsidian for the types and scopes of a vault."""

from __future__ import annotations

import json

from msgspec import Struct

from vaultsync.backends.obsidian.bases_folder import BasesFolder
from vaultsync.index_files.obsidian_bases import base_files
from vaultsync.model.paths import vault_path
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext

BASES_FOLDER = "Bases"
_SETTING = "bases"
"""The setting of the archive that has what was written last."""


class BasesReport(Struct, frozen=True):
    """What became of the bases."""

    folder: str
    written: int
    unchanged: int
    edited: tuple[str, ...]
    """Files that a person changed or made, which were left alone."""
    files: tuple[str, ...]
    """Those that were written."""


def write_bases(ctx: SyncContext, settings: Settings, folder: str) -> BasesReport:
    """As `Memory.write_bases()`."""
    place = vault_path(folder)
    facts = {(fact.type, fact.scope) for fact in ctx.store.iter_facts()}
    types, scopes = {each for each, _ in facts}, {each for _, each in facts}
    known = json.loads(ctx.archive.setting(_SETTING) or "{}")
    written, unchanged, edited, now = BasesFolder(settings.root, place).write(
        base_files(types, scopes), known
    )
    if now != known:
        with ctx.archive.transaction():
            ctx.archive.set_setting(_SETTING, json.dumps(now))
    return BasesReport(str(place), len(written), len(unchanged), tuple(edited), tuple(written))
