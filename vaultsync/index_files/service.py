"""Keep the files of `.index/`, and the visible copies in the user's folder, up to date.

A run without changes costs one comparison of versions. Otherwise the entries of the facts that
were written since are made again, all texts are rendered, and files that differ are written. A
file of the user's is never overwritten: in the visible folder only files that carry the mark of
an index file are touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from vaultsync.errors import NoteError, NoteMissingError
from vaultsync.index_files.entry import IndexEntry, entry_of
from vaultsync.index_files.index_pages import render_index
from vaultsync.index_files.paging import INDEX_FOLDER
from vaultsync.index_files.ports import CachedEntries, EntryCache
from vaultsync.model.paths import VaultPath, file_name_of, join_path
from vaultsync.model.scope import can_see
from vaultsync.notes.kinds import TABLE_NAME, is_table
from vaultsync.notes.view import NoteView
from vaultsync.privacy.escaping import may_have_active_content
from vaultsync.storage.feed_cursor import feed_backlog, version_of
from vaultsync.sync.context import SyncContext

TABLES_SCHEMA = "2"
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


def read_index_files(ctx: SyncContext) -> dict[str, str]:
    """Name -> text of the files in `.index/`."""
    found = {}
    for path in ctx.vault.list_meta(_INDEX_FOLDER):
        data = ctx.vault.read_meta(path) if TABLE_NAME.fullmatch(file_name_of(path)) else None
        if data is not None:
            found[file_name_of(path)] = data.decode(errors="replace")
    return found


def write_tables(ctx: SyncContext, inputs: TableInputs, *, rebuild: bool = False) -> int:
    """Bring the index files up to the store and to the paths of the notes.

    Args:
        ctx: store, vault and archive.
        inputs: what the files are made with.
        rebuild: make all entries again, and compare every file.

    Returns:
        How many files were written or removed.

    Raises:
        StoreUnavailableError: the store is away; nothing was done.
        OSError: the disk is full or broken.
    """
    if not rebuild and tables_are_current(ctx):
        return 0
    visible_folder = ctx.policy.index_folder
    version = _version(ctx)
    written = _written(ctx)
    entries = _updated_entries(ctx, inputs, rebuild=rebuild)
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    texts = {name: text.encode() for name, text in render_index(entries.values(), paths).items()}
    former_folder = VaultPath(str(written.get("folder") or ""))
    changed = _write_index_files(ctx, texts)
    changed += _write_visible_files(ctx, visible_folder, texts) if visible_folder else 0
    if former_folder and former_folder != visible_folder:
        changed += _drop_visible_files(ctx, former_folder, {})
    if changed:
        ctx.vault.sync()
    files = sorted(_present_files(ctx, visible_folder))
    setting = json.dumps({"of": version, "folder": visible_folder, "files": files})
    with ctx.archive.transaction():
        ctx.archive.set_setting(TABLES_SETTING, setting)
    return changed


def tables_are_current(ctx: SyncContext) -> bool:
    """Whether the index files are up to date with store and notes, and all exist.

    Raises:
        StoreUnavailableError: the store is away.
        OSError: their folder cannot be read.
    """
    written = _written(ctx)
    if written.get("of") != _version(ctx):
        return False
    files = written.get("files")
    folder = VaultPath(str(written.get("folder") or ""))
    return isinstance(files, list) and _present_files(ctx, folder).issuperset(files)


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
    run = ctx.archive.last_run()
    return f"{version}:{run.run if run else ''}:{ctx.policy.index_folder}"


def _written(ctx: SyncContext) -> Mapping[str, object]:
    """The setting about the files that were written last."""
    setting = json.loads(ctx.archive.setting(TABLES_SETTING) or "{}")
    return setting if isinstance(setting, dict) else {}


def _present_files(ctx: SyncContext, visible_folder: VaultPath) -> set[str]:
    """The paths of all files that are named like index files."""
    paths = {str(path) for path in ctx.vault.list_meta(_INDEX_FOLDER)}
    if visible_folder:
        paths |= {f"{visible_folder}/{name}" for name in _names_in(ctx, visible_folder)}
    return {path for path in paths if TABLE_NAME.fullmatch(file_name_of(path))}


def _names_in(ctx: SyncContext, folder: VaultPath) -> set[str]:
    found = ctx.vault.folder(folder)
    return {*found.files, *found.non_regular} if found else set()


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
    for path in ctx.vault.list_meta(_INDEX_FOLDER):
        name = file_name_of(path)
        if name not in texts and TABLE_NAME.fullmatch(name):
            ctx.vault.drop_meta(path)
            changed += 1
    return changed


def _write_visible_files(ctx: SyncContext, folder: VaultPath, texts: Mapping[str, bytes]) -> int:
    """Write the copies in the user's folder."""
    changed = 0
    for name, data in texts.items():
        with suppress(NoteError):  # the user's file, or one that is being saved, stays
            changed += _put(ctx, join_path(folder, name), data)
    return changed + _drop_visible_files(ctx, folder, texts)


def _put(ctx: SyncContext, path: VaultPath, data: bytes) -> bool:
    """Write one file unless it is the user's; returns whether it was written.

    Raises:
        NoteError: it cannot be written.
    """
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


def _drop_visible_files(ctx: SyncContext, folder: VaultPath, texts: Mapping[str, bytes]) -> int:
    """Remove the copies of files that no longer exist."""
    changed = 0
    for name in sorted(_names_in(ctx, folder) - set(texts)):
        if not TABLE_NAME.fullmatch(name):
            continue
        with suppress(NoteError):  # one that is being saved is removed by the next run
            path = join_path(folder, name)
            found = ctx.vault.read(path)
            if is_table(found.data):
                op = ctx.clock.new_id()
                ctx.vault.stage_removal(op, path, found.sha)
                ctx.vault.discard(op)
                changed += 1
    return changed
