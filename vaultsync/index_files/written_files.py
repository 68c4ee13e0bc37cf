"""What was written of `.index/`, and what other programs changed or removed since."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import msgspec

from vaultsync.errors import StoreUnavailableError
from vaultsync.model.counts import count_noun
from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Notice
from vaultsync.storage.feed_cursor import version_of
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import SyncContext

INDEX_FOLDER = VaultPath(".index")
TABLES_SCHEMA = "7"
"""To be changed with the format of entries or files: a new schema rebuilds them."""
TABLES_SETTING = "tables"
"""The archive's setting with the version of the files, and their names."""


class NumberedPart(NamedTuple):
    """Some buckets of a part that is divided by number."""

    start: int
    stop: int
    lines: int
    too_large: bool
    """Whether it is a single bucket, and still too large."""


class WrittenFiles(msgspec.Struct, frozen=True):
    """What the setting says of the files that were written last."""

    of: str = ""
    """See `tables_version()`."""
    folder: VaultPath = VaultPath("")
    files: list[VaultPath] = []
    """Those in the user's folder, some of which may be the user's."""
    stamps: dict[VaultPath, str] = {}
    """Those in `.index/`, with sizes and times, by which changes of other programs are found."""
    entries: str = ""
    """The version of the entries that they were written from."""
    parts: dict[str, str] = {}
    """Name of a long file, or of its part -> which lines it has."""
    divisions: dict[str, list[NumberedPart]] = {}
    """Of parts that are divided by number."""


def tables_version(ctx: SyncContext, state: StoreState | None = None) -> str:
    """What the files depend on: the facts, the paths of their notes, the user's folder."""
    state = state or ctx.redacted_store.state()
    version = version_of(state.store_id, state, TABLES_SCHEMA)
    return f"{version}|{ctx.archive.last_move()}|{ctx.policy.index_folder}"


def written_files(ctx: SyncContext) -> WrittenFiles:
    """What was written last; nothing where the setting is damaged."""
    try:
        return msgspec.json.decode(ctx.archive.setting(TABLES_SETTING) or "{}", type=WrittenFiles)
    except msgspec.MsgspecError:
        return WrittenFiles()


def altered_files(ctx: SyncContext) -> list[Notice]:
    """A notice if files of `.index/` are missing, or were changed by another program.

    None while they are out of date, as they may be being written.
    """
    written, altered = written_files(ctx), list[VaultPath]()
    with suppress(StoreUnavailableError, OSError):
        altered = altered_paths(ctx, written) if written.of == tables_version(ctx) else []
    if not altered:
        return []
    why = f"{count_noun(len(altered), 'file')} missing, or changed by another program"
    hint = "`vaultsync index` writes what belongs there"
    return [Notice("index_files", INDEX_FOLDER, why, hint)]


def altered_paths(ctx: SyncContext, written: WrittenFiles) -> list[VaultPath]:
    """The files of `.index/` that are missing, or were changed by another program."""
    now = file_stamps(ctx)
    return [path for path, stamp in written.stamps.items() if now.get(path) != stamp]


def file_stamps(ctx: SyncContext) -> dict[VaultPath, str]:
    """The sizes and times of the files of `.index/`."""
    listed = ctx.vault.list_meta(INDEX_FOLDER).items()
    return {path: f"{stamp.size} {stamp.mtime_ns}" for path, stamp in listed}
