"""Keep the files of `.index/`, and the visible copies in the user's folder, up to date.

A run without changes costs one comparison of versions. Otherwise the entries of the facts that
were written since are made again, all texts are rendered, and files that differ are written. A
file of the user's is never overwritten: in the visible folder only files that carry the mark of
an index file are touched.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from vaultsync.errors import NoteError, NoteMissingError
from vaultsync.index_files.entry import IndexEntry, entry_of
from vaultsync.index_files.index_pages import render_index
from vaultsync.index_files.paging import INDEX_FOLDER
from vaultsync.index_files.ports import CachedEntries, EntryCache
from vaultsync.model.paths import VaultPath, join_path
from vaultsync.model.scope import can_see
from vaultsync.notes.kinds import TABLE_NAME, is_table
from vaultsync.notes.view import NoteView
from vaultsync.privacy.escaping import may_have_active_content
from vaultsync.storage.feed_cursor import feed_backlog, version_of
from vaultsync.sync.context import SyncContext

_log = logging.getLogger(__name__)

TABLES_SCHEMA = "3"
"""To be changed with the format of entries or files: a new schema rebuilds them."""
TABLES_SETTING = "tables"
"""The archive's setting with the version of the files, and their names."""
FACTS_IN_MEMORY = 10_000
"""Facts that are in memory at once."""
_INDEX_FOLDER = VaultPath(INDEX_FOLDER)


@dataclass(frozen=True, slots=True)
class TableInputs:
    """What index files are made with."""

    entries: EntryCache
    count: Callable[[str], int]
    """Text -> tokens. An estimate rather than a tokenizer, which not every machine has: the
    files must be the same whichever machine with the vault wrote them."""


class _WrittenFiles(msgspec.Struct, frozen=True):
    """What the setting says of the files that were written last."""

    of: str = ""
    """See `_version()`."""
    folder: VaultPath = VaultPath("")
    files: list[VaultPath] = []


def read_index_files(ctx: SyncContext) -> dict[str, str]:
    """Name -> text of the files in `.index/`."""
    files = {name: ctx.vault.read_meta(path) for name, path in _index_paths(ctx).items()}
    return {name: x.decode(errors="replace") for name, x in files.items() if x is not None}


def write_tables(ctx: SyncContext, inputs: TableInputs, *, rebuild: bool = False) -> int:
    """Bring the index files up to the store and to the paths of the notes.

    A rebuild makes all entries again, and compares every file.

    Returns:
        How many files were written or removed.

    Raises:
        StoreUnavailableError: the store is away; nothing was done.
        OSError: the disk is full or broken.
    """
    version, written = _version(ctx), _written(ctx)
    if not rebuild and _is_current(ctx, version, written):
        return 0
    visible_folder = ctx.policy.index_folder
    entries = _updated_entries(ctx, inputs, rebuild=rebuild)
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    texts = {name: text.encode() for name, text in render_index(entries.values(), paths).items()}
    changed = _write_index_files(ctx, texts)
    files = [VaultPath(f"{INDEX_FOLDER}/{name}") for name in texts]
    if visible_folder:
        changed += _write_visible_files(ctx, visible_folder, texts)
        files += _visible_paths(ctx, visible_folder).values()
    if written.folder and written.folder != visible_folder:
        changed += _write_visible_files(ctx, written.folder, {})
    if changed:
        ctx.vault.sync()
        _log.debug("%d index files were written or removed", changed)
    setting = msgspec.json.encode(_WrittenFiles(version, visible_folder, sorted(files))).decode()
    with ctx.archive.transaction():
        ctx.archive.set_setting(TABLES_SETTING, setting)
    return changed


def tables_are_current(ctx: SyncContext) -> bool:
    """Whether the index files are up to date with store and notes, and all exist.

    Raises:
        StoreUnavailableError: the store is away.
        OSError: their folder cannot be read.
    """
    return _is_current(ctx, _version(ctx), _written(ctx))


def _is_current(ctx: SyncContext, version: str, written: _WrittenFiles) -> bool:
    if written.of != version:
        return False
    present = set(_index_paths(ctx).values())
    if written.folder:
        present.update(_visible_paths(ctx, written.folder).values())
    return present.issuperset(written.files)


def tables_for(ctx: SyncContext, inputs: TableInputs, *, agent: str | None) -> Mapping[str, str]:
    """Name -> text of the index files as an agent may see them, from the cached entries.

    Raises:
        StoreUnavailableError: the store is away.
    """
    cached = inputs.entries.load()
    if cached is None:
        return {}
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    allowed = {fact.id for fact in ctx.store.iter_facts() if can_see(agent, fact.scope)}
    entries = [each for key, each in cached.entries.items() if key in allowed]
    return render_index(entries, paths)


def _version(ctx: SyncContext) -> str:
    """What the files depend on. Paths of notes change only in a run, which is recorded."""
    state = ctx.redacted_store.state()
    version = version_of(state.store_id, state, TABLES_SCHEMA)
    return f"{version}:{ctx.archive.last_run_id()}:{ctx.policy.index_folder}"


def _written(ctx: SyncContext) -> _WrittenFiles:
    """What was written last; nothing where the setting is damaged."""
    try:
        return msgspec.json.decode(ctx.archive.setting(TABLES_SETTING) or "{}", type=_WrittenFiles)
    except msgspec.MsgspecError:
        return _WrittenFiles()


def _index_paths(ctx: SyncContext) -> dict[str, VaultPath]:
    """Name -> path of the files of `.index/` that are named like index files."""
    return {
        name: path
        for path in ctx.vault.list_meta(_INDEX_FOLDER)
        if TABLE_NAME.fullmatch(name := path.rpartition("/")[2])
    }


def _visible_paths(ctx: SyncContext, folder: VaultPath) -> dict[str, VaultPath]:
    """Name -> path of the files of the user's folder that are named like index files."""
    found = ctx.vault.folder(folder)
    names = (*found.files, *found.non_regular) if found else ()
    return {name: join_path(folder, name) for name in names if TABLE_NAME.fullmatch(name)}


def _updated_entries(
    ctx: SyncContext, inputs: TableInputs, *, rebuild: bool
) -> Mapping[str, IndexEntry]:
    """Fact id -> entry of all facts that are listed, up to the store's feed."""
    cached = None if rebuild else inputs.entries.load()
    version = cached.version if cached else None
    backlog = feed_backlog(ctx.redacted_store, version, TABLES_SCHEMA)
    entries = {} if cached is None or backlog.is_full else dict(cached.entries)
    for start in range(0, len(backlog.rows), FACTS_IN_MEMORY):
        ids = [row.fact_id for row in backlog.rows[start : start + FACTS_IN_MEMORY]]
        facts = ctx.redacted_store.find_many(ids)
        for fact_id in ids:
            fact = facts.get(fact_id)
            entry = entry_of(fact, inputs.count) if fact else None
            if entry is not None:
                entries[fact_id] = _escaped_entry(entry, ctx.view)
            else:
                entries.pop(fact_id, None)
    if backlog.rows or backlog.is_full:
        new = version_of(backlog.store_id, backlog.end, TABLES_SCHEMA)
        inputs.entries.save(CachedEntries(new, entries))
    return entries


def _escaped_entry(entry: IndexEntry, view: NoteView) -> IndexEntry:
    """An entry without active content, as Obsidian shows index files, too."""
    texts = (entry.title, entry.summary, *entry.entities, *entry.names)
    if not may_have_active_content("\n".join(texts)):
        return entry
    return entry._replace(
        title=str(view.escape(entry.title)),
        summary=str(view.escape(entry.summary)),
        entities=tuple(str(view.escape(each)) for each in entry.entities),
        names=tuple(str(view.escape(each)) for each in entry.names),
    )


def _write_index_files(ctx: SyncContext, texts: Mapping[str, bytes]) -> int:
    changed = 0
    for name, data in texts.items():
        changed += ctx.vault.write_meta(VaultPath(f"{INDEX_FOLDER}/{name}"), data)
    for name, path in _index_paths(ctx).items():
        if name not in texts:
            ctx.vault.drop_meta(path)
            changed += 1
    return changed


def _write_visible_files(ctx: SyncContext, folder: VaultPath, texts: Mapping[str, bytes]) -> int:
    """Write the copies in the user's folder, and remove those of files that no longer exist."""
    changed = 0
    for name, data in texts.items():
        with suppress(NoteError):  # the user's file, or one that is being saved, stays
            changed += _put(ctx, join_path(folder, name), data)
    for name, path in _visible_paths(ctx, folder).items():
        if name in texts:
            continue
        with suppress(NoteError):  # one that is being saved is removed by the next run
            found = ctx.vault.read(path)
            if is_table(found.data):
                op = ctx.clock.new_id()
                ctx.vault.stage_removal(op, path, found.sha)
                ctx.vault.discard(op)
                changed += 1
    return changed


def _put(ctx: SyncContext, path: VaultPath, data: bytes) -> bool:
    """Write one file unless it is the user's; returns whether it was written."""
    try:
        found = ctx.vault.read(path)
    except NoteMissingError:
        found = None
    if found is not None and (found.data == data or not is_table(found.data)):
        return False
    op = ctx.clock.new_id()
    ctx.vault.stage(op, data)
    try:
        if found is None:
            ctx.vault.create(op, path)
        else:
            ctx.vault.exchange(op, path, found.sha)
    finally:
        ctx.vault.discard(op)
    return True
