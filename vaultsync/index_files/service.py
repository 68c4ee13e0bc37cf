"""The tables of `.index/`, and of the folder in which a person sees them, up to date.

A pass that changed nothing costs one look at the store's number. Else the entries of the
facts that were written since are made anew, all texts are put together, and those that
differ are written. A file that a person made is never written over: what stands in the
folder that a person sees must say itself that it is a table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from vaultsync.errors import NoteError, NoteMissingError
from vaultsync.index_files.entry import IndexEntry, entry_of
from vaultsync.index_files.paging import INDEX_FOLDER
from vaultsync.index_files.ports import CachedEntries, EntryCache
from vaultsync.index_files.render import render_index
from vaultsync.model.paths import VaultPath, file_name_of, join_path
from vaultsync.model.scope import can_see
from vaultsync.notes.kinds import TABLE_NAME, is_table
from vaultsync.notes.view import NoteView
from vaultsync.privacy.escaping import may_have_active_content
from vaultsync.storage.feed_cursor import feed_backlog, make_version
from vaultsync.sync.context import SyncContext

TABLES_SCHEMA = "2"
"""Changes with what an entry, or a table, says."""
TABLES_SETTING = "tables"
"""The setting that says what the tables were made of, and which they are."""
FACTS_IN_MEMORY = 10_000
"""Facts that are in memory at once."""
_INDEX_FOLDER = VaultPath(INDEX_FOLDER)


@dataclass(frozen=True, slots=True)
class TableInputs:
    """What tables are made with."""

    entries: EntryCache
    """What was made of the facts so far."""
    count: Callable[[str], int]
    """Text -> tokens. The same on every machine that has the vault, or its tables would
    differ with who wrote them last: an estimate, not a tokenizer that not all have."""


def read_index_files(ctx: SyncContext) -> dict[str, str]:
    """The tables of `.index/` as they are, by the names of their files."""
    found = {}
    for path in ctx.vault.list_meta(_INDEX_FOLDER):
        data = ctx.vault.read_meta(path) if TABLE_NAME.fullmatch(file_name_of(path)) else None
        if data is not None:
            found[file_name_of(path)] = data.decode(errors="replace")
    return found


def write_tables(ctx: SyncContext, making: TableInputs, *, anew: bool = False) -> int:
    """Bring the tables up to the store and to where the notes lie now.

    Args:
        ctx: the sides.
        making: what they are made with.
        anew: forget the entries that were made, and look at every file.

    Returns:
        How many files were written or removed.

    Raises:
        StoreUnavailableError: the store is away; nothing was done.
        OSError: the disk is full or broken.
    """
    if not anew and tables_are_current(ctx):
        return 0
    seen = ctx.policy.index_folder
    made_of = _made_of(ctx)
    done = _done(ctx)
    held = _caught_up_entries(ctx, making, anew=anew)
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    texts = {name: text.encode() for name, text in render_index(held.values(), paths).items()}
    before = VaultPath(str(done.get("folder") or ""))
    changed = _write_index_files(ctx, texts)
    changed += _write_visible_tables(ctx, seen, texts) if seen else 0
    if before and before != seen:
        changed += _drop_visible_tables(ctx, before, {})
    if changed:
        ctx.vault.sync()
    said = {"of": made_of, "folder": seen, "files": sorted(_present(ctx, seen))}
    with ctx.archive.transaction():
        ctx.archive.set_setting(TABLES_SETTING, json.dumps(said))
    return changed


def tables_are_current(ctx: SyncContext) -> bool:
    """Whether the tables are those of the store and the notes, and all of them are there.

    Raises:
        StoreUnavailableError: the store is away.
        OSError: their folder cannot be read.
    """
    done = _done(ctx)
    made_of = _made_of(ctx)
    return done.get("of") == made_of and _all_there(ctx, done)


def tables_for(ctx: SyncContext, making: TableInputs, *, agent: str | None) -> Mapping[str, str]:
    """The texts of the tables by the names of their files, as an agent may see them.

    They are those of the files, which are of all facts, without what the agent may not
    see; of the entries that were made for the files last.

    Raises:
        StoreUnavailableError: the store is away.
    """
    held = making.entries.load()
    if held is None:
        return {}
    paths = {fact_id: path for path, fact_id in ctx.archive.paths().items()}
    seen = {f.id for f in ctx.store.iter_facts() if can_see(agent, f.scope)}
    entries = [each for key, each in held.entries.items() if key in seen]
    return render_index(entries, paths)


def _made_of(ctx: SyncContext) -> str:
    """What the tables depend on. Where notes lie changes only in a pass that is recorded."""
    state = ctx.redacted_store.state()
    version = make_version(ctx.redacted_store, state.store_id, state.seq, TABLES_SCHEMA)
    run = ctx.archive.last_run()
    return f"{version}:{run.run if run else ''}:{ctx.policy.index_folder}"


def _done(ctx: SyncContext) -> Mapping[str, object]:
    said = json.loads(ctx.archive.setting(TABLES_SETTING) or "{}")
    return said if isinstance(said, dict) else {}


def _all_there(ctx: SyncContext, done: Mapping[str, object]) -> bool:
    """Whether nobody removed a table since."""
    files = done.get("files")
    folder = VaultPath(str(done.get("folder") or ""))
    return isinstance(files, list) and _present(ctx, folder).issuperset(files)


def _present(ctx: SyncContext, seen: VaultPath) -> set[str]:
    """The paths of all files that are named as tables are."""
    hidden = {str(path) for path in ctx.vault.list_meta(_INDEX_FOLDER)}
    shown = {f"{seen}/{name}" for name in _names_in(ctx, seen)} if seen else set()
    return {path for path in hidden | shown if TABLE_NAME.fullmatch(file_name_of(path))}


def _names_in(ctx: SyncContext, folder: VaultPath) -> set[str]:
    found = ctx.vault.folder(folder)
    return {*found.files, *found.non_regular} if found else set()


def _caught_up_entries(
    ctx: SyncContext, making: TableInputs, *, anew: bool
) -> Mapping[str, IndexEntry]:
    """The entries of all facts that are listed, brought up to the store's feed."""
    held = None if anew else making.entries.load()
    todo = feed_backlog(ctx.redacted_store, held.version if held else None, TABLES_SCHEMA)
    found = {} if held is None or todo.anew else dict(held.entries)
    for start in range(0, len(todo.rows), FACTS_IN_MEMORY):
        ids = [row.fact_id for row in todo.rows[start : start + FACTS_IN_MEMORY]]
        facts = ctx.redacted_store.find_many(ids)
        for fact_id in ids:
            fact = facts.get(fact_id)
            entry = entry_of(fact, making.count) if fact else None
            if entry is not None:
                found[fact_id] = _escaped_entry(entry, ctx.view)
            else:
                found.pop(fact_id, None)
    if todo.rows or todo.anew:
        version = make_version(ctx.redacted_store, todo.store_id, todo.seq, TABLES_SCHEMA)
        making.entries.save(CachedEntries(version, found))
    return found


def _escaped_entry(entry: IndexEntry, view: NoteView) -> IndexEntry:
    """An entry in which nothing runs, wherever Obsidian shows it."""
    if not may_have_active_content(
        "\n".join((entry.title, entry.summary, *entry.entities, *entry.names))
    ):
        return entry
    names = view.escape(entry.names)
    entities = view.escape(entry.entities)
    assert isinstance(names, tuple) and isinstance(entities, tuple)  # noqa: S101, PT018 - narrows
    return entry._replace(
        title=str(view.escape(entry.title)),
        summary=str(view.escape(entry.summary)),
        entities=tuple(map(str, entities)),
        names=tuple(map(str, names)),
    )


def _write_index_files(ctx: SyncContext, texts: Mapping[str, bytes]) -> int:
    changed = 0
    for name, data in texts.items():
        path = VaultPath(f"{INDEX_FOLDER}/{name}")
        if ctx.vault.read_meta(path) != data:
            ctx.vault.write_meta(path, data)
            changed += 1
    for path in ctx.vault.list_meta(_INDEX_FOLDER):
        name = file_name_of(path)
        if name not in texts and TABLE_NAME.fullmatch(name):
            ctx.vault.drop_meta(path)
            changed += 1
    return changed


def _write_visible_tables(ctx: SyncContext, folder: VaultPath, texts: Mapping[str, bytes]) -> int:
    """Write the tables where a person sees them; what is no table of ours stays."""
    changed = 0
    for name, data in texts.items():
        with suppress(NoteError):  # a person's file, or one being saved: it stays
            changed += _put(ctx, join_path(folder, name), data)
    return changed + _drop_visible_tables(ctx, folder, texts)


def _put(ctx: SyncContext, path: VaultPath, data: bytes) -> bool:
    """Write one file; says whether it was written.

    Raises:
        NoteError: it cannot be, or must not be.
    """
    op = ctx.clock.new_id()
    try:
        found = ctx.vault.read(path)
    except NoteMissingError:
        ctx.vault.stage(op, data)
        try:
            ctx.vault.create(op, path)
        finally:
            ctx.vault.discard(op)
        return True
    if found.data == data or not is_table(found.data):
        return False
    ctx.vault.stage(op, data)
    try:
        ctx.vault.exchange(op, path, found.sha)
    finally:
        ctx.vault.discard(op)
    return True


def _drop_visible_tables(ctx: SyncContext, folder: VaultPath, texts: Mapping[str, bytes]) -> int:
    """Remove the tables that are no longer made."""
    changed = 0
    for name in sorted(_names_in(ctx, folder) - set(texts)):
        if not TABLE_NAME.fullmatch(name):
            continue
        with suppress(NoteError):
            path = join_path(folder, name)
            found = ctx.vault.read(path)
            if is_table(found.data):
                op = ctx.clock.new_id()
                ctx.vault.stage_removal(op, path, found.sha)
                ctx.vault.discard(op)
                changed += 1
    return changed
