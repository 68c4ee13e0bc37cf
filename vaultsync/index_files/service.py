"""Keep the files of `.index/`, and the visible copies in the user's folder, up to date.

A run without changes costs one comparison of versions. Otherwise the entries of the facts that
were written since, or whose notes moved, are made again; the parts that have them, and the
short files, are rendered; and files that differ are written. A file of the user's is never
overwritten: in the visible folder only files that carry the mark of an index file are touched.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from vaultsync.errors import NoteError, NoteMissingError
from vaultsync.index_files.entity_groups import put_entries, regroup
from vaultsync.index_files.entry import IndexEntry, ListedEntry, bucket_of, entry_of
from vaultsync.index_files.index_pages import IndexPage, render_listed, render_pages
from vaultsync.index_files.paging import Divisions, PagePlan
from vaultsync.index_files.ports import LAST_DAY, EntityGroup, EntryTable, PartKeys
from vaultsync.index_files.written_files import (
    INDEX_FOLDER,
    TABLES_SCHEMA,
    TABLES_SETTING,
    WrittenFiles,
    altered_paths,
    file_stamps,
    tables_version,
    written_files,
)
from vaultsync.model.paths import VaultPath, file_name_of, join_path
from vaultsync.notes.kinds import TABLE_NAME, is_table
from vaultsync.notes.view import NoteView
from vaultsync.privacy.escaping import may_have_active_content
from vaultsync.storage.feed_cursor import feed_backlog, version_of
from vaultsync.storage.store import StoreState
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Progress

_log = logging.getLogger(__name__)

TABLES_STAGE = "tables"
"""The stage of progress."""
FACTS_IN_MEMORY = 500
"""Facts that are in memory at once."""


@dataclass(frozen=True, slots=True)
class TableInputs:
    """What index files are made with."""

    entries: EntryTable
    scratch: Callable[[], AbstractContextManager[EntryTable]]
    """Opens an empty table for a moment, for what one agent may see."""
    count: Callable[[str], int]
    """Text -> tokens. An estimate rather than a tokenizer, which not every machine has: the
    files must be the same whichever machine with the vault wrote them."""


def read_index_files(ctx: SyncContext) -> dict[str, str]:
    """Name -> text of the files in `.index/`."""
    files = {name: ctx.vault.read_meta(path) for name, path in _index_paths(ctx).items()}
    return {name: x.decode(errors="replace") for name, x in files.items() if x is not None}


def write_tables(
    ctx: SyncContext,
    inputs: TableInputs,
    *,
    rebuild: bool = False,
    progress: Progress | None = None,
) -> int:
    """Bring the index files up to the store and to the paths of the notes.

    A rebuild makes all entries again, and compares every file. `progress` is called between
    batches of entries, and between files; what it raises leaves the entries as they were.

    Returns:
        How many files were written or removed.

    Raises:
        StoreUnavailableError: the store is unavailable; nothing was done.
        IndexBusyError: another process writes them.
        OSError: the disk is full or broken.
    """
    version, written = tables_version(ctx), written_files(ctx)
    if not rebuild and _is_current(ctx, version, written):
        return 0
    table, visible_folder = inputs.entries, ctx.policy.index_folder
    with table.changing():
        follows = not rebuild and written.entries and written.entries == table.version()
        changed = _update_entries(ctx, inputs, written.entries if follows else None, progress)
        known = written.parts if follows else {}
        divisions = Divisions(written.divisions if follows else {}, changed.touch)
        present = set(_index_paths(ctx)).difference(map(file_name_of, altered_paths(ctx, written)))
        if visible_folder:
            present &= _visible_paths(ctx, visible_folder).keys()

        def is_stale(plan: PagePlan) -> bool:
            same = known.get(plan.name) == plan.lines and plan.name in present
            return not same or changed.touches(plan)

        pages = _reported(
            render_pages(table, is_stale, divisions, until=_last_recent_day(ctx)), progress
        )
        number, lines = _write_pages(ctx, pages, written.folder)
        files = [*_visible_paths(ctx, visible_folder).values()] if visible_folder else []
        stamps = {
            path: stamp for path, stamp in file_stamps(ctx).items() if file_name_of(path) in lines
        }
    parts = {name: each for name, each in lines.items() if each}
    entries = table.version() or ""
    divided = {key: list(some) for key, some in divisions.now.items()}
    files.sort()
    written = WrittenFiles(version, visible_folder, files, stamps, entries, parts, divided)
    ctx.set_setting(TABLES_SETTING, msgspec.json.encode(written).decode())
    return number


def _reported(
    pages: Iterable[tuple[str, IndexPage]], progress: Progress | None
) -> Iterator[tuple[str, IndexPage]]:
    for number, page in enumerate(pages):
        if progress is not None:
            progress(TABLES_STAGE, number, number + 1)
        yield page


def _write_pages(
    ctx: SyncContext, pages: Iterable[tuple[str, IndexPage]], last_folder: VaultPath
) -> tuple[int, Mapping[str, str]]:
    """Write the pages that changed, and remove the files of parts that no longer exist.

    Returns:
        How many files were written or removed; and name -> which lines of all files.
    """
    folder, changed, lines = ctx.policy.index_folder, 0, {}
    for name, page in pages:
        lines[name] = page.lines
        if page.text is not None:
            text = page.text.encode()
            changed += ctx.vault.write_meta(VaultPath(f"{INDEX_FOLDER}/{name}"), text)
            if folder:
                with suppress(NoteError):  # the user's file, or one that is being saved, stays
                    changed += _put(ctx, join_path(folder, name), text)
    for name, path in _index_paths(ctx).items():
        if name not in lines:
            ctx.vault.drop_meta(path)
            changed += 1
    if folder:
        changed += _remove_visible_files(ctx, folder, lines)
    if last_folder and last_folder != folder:
        changed += _remove_visible_files(ctx, last_folder, {})
    if changed:
        ctx.vault.sync()
        _log.debug("%d index files were written or removed", changed)
    return changed, lines


def tables_are_current(ctx: SyncContext, state: StoreState | None = None) -> bool:
    """Whether the index files are up to date with store and notes, and as they were written.

    `state` is that of the redacted store, where the caller has just read it.

    Raises:
        StoreUnavailableError: the store is unavailable.
        OSError: their folder cannot be read.
    """
    return _is_current(ctx, tables_version(ctx, state), written_files(ctx))


def _is_current(ctx: SyncContext, version: str, written: WrittenFiles) -> bool:
    if written.of != version or altered_paths(ctx, written):
        return False
    visible = _visible_paths(ctx, written.folder).values() if written.folder else ()
    return set(visible).issuperset(written.files)


def tables_for(ctx: SyncContext, inputs: TableInputs, *, agent: str | None) -> Mapping[str, str]:
    """Name -> text of the index files as an agent may see them, from the listed entries.

    Raises:
        StoreUnavailableError: the store is unavailable.
    """
    if inputs.entries.version() is None:
        return {}
    allowed = {
        fact.id
        for fact in ctx.store.iter_facts()
        if ctx.policy.permissions.may_read(agent, fact.scope)
    }
    listed = (each for each in inputs.entries.iter_listed() if each.id in allowed)
    with inputs.scratch() as table:
        return render_listed(listed, table, until=_last_recent_day(ctx))


def _last_recent_day(ctx: SyncContext) -> str:
    """The day after the last write: it was that day in some time zone already."""
    rows = ctx.store.feed(ctx.store.state().seq - 1)
    if not rows:
        return LAST_DAY
    return (datetime.fromisoformat(rows[-1].at) + timedelta(days=1)).date().isoformat()


def _index_paths(ctx: SyncContext) -> dict[str, VaultPath]:
    """Name -> path of the files of `.index/` that are named like index files."""
    return {
        name: path
        for path in ctx.vault.list_meta(INDEX_FOLDER)
        if TABLE_NAME.fullmatch(name := path.rpartition("/")[2])
    }


def _visible_paths(ctx: SyncContext, folder: VaultPath) -> dict[str, VaultPath]:
    """Name -> path of the files of the user's folder that are named like index files."""
    found = ctx.vault.folder(folder)
    names = (*found.files, *found.non_regular) if found else ()
    return {name: join_path(folder, name) for name in names if TABLE_NAME.fullmatch(name)}


class TableChanges:
    """Which lines of the long files changed."""

    def __init__(self) -> None:
        self._cells: set[tuple[PartKeys, int]] = set()

    def add(self, listed: Iterable[ListedEntry], groups: Iterable[EntityGroup] = ()) -> None:
        """Entries and entities as they were, and as they are."""
        self._cells.update((each.keys, bucket_of(each.id)) for each in listed)
        self._cells.update(((each.letter,), bucket_of(each.key)) for each in groups)

    def touch(self, part: PartKeys) -> bool:
        """Whether a part, as it is before it is divided by number, has any of them."""
        return any(keys == part for keys, _ in self._cells)

    def touches(self, plan: PagePlan) -> bool:
        """Whether a file has any of them. Types and letters have different names."""
        depth = len(plan.keys)
        is_type = plan.name.startswith("by-type")
        return any(
            keys[:depth] == plan.keys and bucket in plan.buckets and is_type == (len(keys) > 1)
            for keys, bucket in self._cells
        )


def _update_entries(
    ctx: SyncContext, inputs: TableInputs, version: str | None, progress: Progress | None
) -> TableChanges:
    """Bring the entries from a version up to the feed of the store and to the moves of notes.

    None stands for a table that cannot be continued: all entries are made again.
    """
    table, changes, touched = inputs.entries, TableChanges(), []
    of_store, _, moved = (version or "").rpartition("|")
    backlog = feed_backlog(ctx.redacted_store, of_store or None, TABLES_SCHEMA)
    last_move = ctx.archive.last_move()
    wanted = {row.fact_id: None for row in backlog.rows}
    known: dict[str, IndexEntry] = {}
    if backlog.is_full:
        table.clear()
    else:
        others = [each for each in ctx.archive.moved_since(int(moved)) if each not in wanted]
        known = {key: listed.entry for key, listed in table.find(others).items()}
        wanted |= dict.fromkeys(others)
    ids = list(wanted)
    for start in range(0, len(ids), FACTS_IN_MEMORY):
        if progress is not None:
            progress(TABLES_STAGE, start, len(ids))
        some = ids[start : start + FACTS_IN_MEMORY]
        paths = ctx.archive.note_paths(some)
        facts = ctx.redacted_store.find_many([x for x in some if x in paths and x not in known])
        put: list[ListedEntry] = []
        for fact_id, path in paths.items():
            entry = known.get(fact_id)
            if entry is None and fact_id in facts:
                entry = entry_of(facts[fact_id], inputs.count)
                entry = _escaped_entry(entry, ctx.view) if entry else None
            if entry is not None:
                put.append(ListedEntry.of(entry, path))
        listed = {each.id for each in put}
        names, changed = put_entries(table, put, [x for x in some if x not in listed])
        touched.append(names)
        changes.add(changed)
    changes.add((), regroup(table, touched))
    table.set_version(f"{version_of(backlog.store_id, backlog.end, TABLES_SCHEMA)}|{last_move}")
    return changes


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


def _remove_visible_files(ctx: SyncContext, folder: VaultPath, pages: Container[str]) -> int:
    """Remove the copies in the user's folder of files that no longer exist."""
    changed = 0
    for name, path in _visible_paths(ctx, folder).items():
        if name in pages:
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
