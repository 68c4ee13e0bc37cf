"""Files by which Obsidian shows facts: Bases, change reports, types of properties, colours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal

from msgspec import Struct

from vaultsync.backends.obsidian.bases_folder import BasesFolder
from vaultsync.backends.obsidian.settings_folder import ObsidianSettings
from vaultsync.errors import ConfigError
from vaultsync.graph.colours import merged_colours
from vaultsync.index_files.change_page import change_page, is_unedited_page
from vaultsync.index_files.obsidian_bases import base_files
from vaultsync.index_files.property_types import PropertyClash, typed_properties, with_missing_types
from vaultsync.model.paths import vault_path
from vaultsync.model.written_dates import time_span
from vaultsync.notes.kinds import changes_name
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext

LAST_DAYS = "last 7 days"
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


class ChangeNote(Struct, frozen=True):
    """The result of writing a change report."""

    path: str
    status: Literal["written", "unchanged", "edited"]
    """`edited` if the user changed it, or has another file there; it was not written."""
    counts: dict[str, int]
    """Numbers of facts that were `created`, `updated` and `forgotten`, and of `conflicts` and
    `proposals`."""


class GraphColours(Struct, frozen=True):
    """The settings of Obsidian's graph view, with a colour for each type."""

    path: str
    """The path of the settings file, relative to the vault."""
    changed: bool


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
    with _reading(path):
        types, after = typed_properties(before), with_missing_types(before)
    written = write and bool(types.missing)
    if written:
        files.write(path, after)
    return PropertyTypes(str(path), types.missing, types.clashes, written)


def colour_graph(settings: Settings) -> GraphColours:
    """As `Memory.graph_colours()`."""
    files = ObsidianSettings(settings.root)
    path = files.graph_path
    before = files.read(path)
    with _reading(path):
        after = merged_colours(before)
    if after != before:
        files.write(path, after)
    return GraphColours(str(path), after != before)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise a ConfigError if a file does not have Obsidian's format."""
    try:
        yield
    except ValueError as error:
        message = f"{path} does not have Obsidian's format: {error}"
        raise ConfigError(message, hint="it was not changed; fix it, or move it away") from None


def check_property_types(settings: Settings) -> str:
    """Check Obsidian's property types, for `doctor`; raises as `property_types()`."""
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


def write_change_note(
    ctx: SyncContext, settings: Settings, since: str | None, folder: str
) -> ChangeNote:
    """As `Memory.write_change_note()`."""
    place = vault_path(folder)
    today = ctx.clock.local_day(ctx.clock.now())
    span = time_span(since or LAST_DAYS, None, today=today)
    first = (span.since or "")[:10]
    span = span.of_days(ctx.clock.start_of_day)
    page = change_page(ctx, span, f"Changes from {first} to {today.isoformat()}")
    files = BasesFolder(settings.root, place)
    name = changes_name(first, today.isoformat())
    path = f"{place}/{name}"
    before = files.read(name)
    is_ours = before is not None and is_unedited_page(before)
    recorded = {path: sha256(before or b"").hexdigest()} if is_ours else {}
    written, unchanged, _, _ = files.write({name: page.text}, recorded)
    status: Literal["written", "unchanged", "edited"] = "unchanged" if unchanged else "edited"
    return ChangeNote(path, "written" if written else status, page.counts)
