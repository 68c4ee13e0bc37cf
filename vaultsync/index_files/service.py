"""The tables of `.index/`, and of the folder in which a person sees them, up to date.

A pass that changed nothing costs one look at the store's number. Else the entries of the
facts that were written since are made anew, all texts are put together, and those that
differ are written. A file that a person made is never written over: what stands in the
folder that a person sees must say itself that it is a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from vaultsync.errors import NoteError, NoteMissingError
from vaultsync.index_files.entry import Entry, entry_of
from vaultsync.index_files.paging import FOLDER
from vaultsync.index_files.ports import EntryFile, Held
from vaultsync.index_files.render import index_texts
from vaultsync.model.paths import VaultPath, join, name_of
from vaultsync.model.scope import sees
from vaultsync.notes.kinds import is_table
from vaultsync.notes.view import Lens
from vaultsync.privacy.escaping import may_run
from vaultsync.storage.feed_cursor import behind, version_at
from vaultsync.sync.context import Mirror

SCHEMA = "2"
"""Changes with what an entry, or a table, says."""
DONE = "tables"
"""The setting that says what the tables were made of, and which they are."""
BATCH = 10_000
"""Facts that are in memory at once."""
_HIDDEN = VaultPath(FOLDER)
_OURS = re.compile(r"(?:vault-index|by-(?:type|priority|entity))(?:-[\w-]+)?\.md")


@dataclass(frozen=True, slots=True)
class Making:
    """What tables are made with."""

    entries: EntryFile
    """What was made of the facts so far."""
    count: Callable[[str], int]
    """Text -> tokens. The same on every machine that has the vault, or its tables would
    differ with who wrote them last: an estimate, not a tokenizer that not all have."""


def hidden_texts(mirror: Mirror) -> dict[str, str]:
    """The tables of `.index/` as they are, by the names of their files."""
    found = {}
    for path in mirror.vault.list_meta(_HIDDEN):
        data = mirror.vault.read_meta(path) if _OURS.fullmatch(name_of(path)) else None
        if data is not None:
            found[name_of(path)] = data.decode(errors="replace")
    return found


def write_tables(mirror: Mirror, making: Making, *, anew: bool = False) -> int:
    """Bring the tables up to the store and to where the notes lie now.

    Args:
        mirror: the sides.
        making: what they are made with.
        anew: forget the entries that were made, and look at every file.

    Returns:
        How many files were written or removed.

    Raises:
        StoreUnavailableError: the store is away; nothing was done.
        OSError: the disk is full or broken.
    """
    if not anew and tables_stand(mirror):
        return 0
    seen = mirror.policy.index_folder
    made_of = _made_of(mirror)
    done = _done(mirror)
    held = _followed(mirror, making, anew=anew)
    paths = {fact_id: path for path, fact_id in mirror.archive.paths().items()}
    texts = {
        name: text.encode() for name, text in index_texts(held.values(), paths).items()
    }
    before = VaultPath(str(done.get("folder") or ""))
    changed = _write_hidden(mirror, texts)
    changed += _write_seen(mirror, seen, texts) if seen else 0
    if before and before != seen:
        changed += _drop_seen(mirror, before, {})
    if changed:
        mirror.vault.sync()
    said = {"of": made_of, "folder": seen, "files": sorted(_present(mirror, seen))}
    with mirror.archive.transaction():
        mirror.archive.set_setting(DONE, json.dumps(said))
    return changed


def tables_stand(mirror: Mirror) -> bool:
    """Whether the tables are those of the store and the notes, and all of them are there.

    Raises:
        StoreUnavailableError: the store is away.
        OSError: their folder cannot be read.
    """
    done = _done(mirror)
    made_of = _made_of(mirror)
    return done.get("of") == made_of and _all_there(mirror, done)


def tables_for(
    mirror: Mirror, making: Making, *, agent: str | None
) -> Mapping[str, str]:
    """The texts of the tables by the names of their files, as an agent may see them.

    They are those of the files, which are of all facts, without what the agent may not
    see; of the entries that were made for the files last.

    Raises:
        StoreUnavailableError: the store is away.
    """
    held = making.entries.load()
    if held is None:
        return {}
    paths = {fact_id: path for path, fact_id in mirror.archive.paths().items()}
    seen = {f.id for f in mirror.store.iter_facts() if sees(agent, f.scope)}
    entries = [each for key, each in held.entries.items() if key in seen]
    return index_texts(entries, paths)


def _made_of(mirror: Mirror) -> str:
    """What the tables depend on. Where notes lie changes only in a pass that is recorded."""
    state = mirror.shown.state()
    version = version_at(mirror.shown, state.store_id, state.seq, SCHEMA)
    run = mirror.archive.last_run()
    return f"{version}:{run.run if run else ''}:{mirror.policy.index_folder}"


def _done(mirror: Mirror) -> Mapping[str, object]:
    said = json.loads(mirror.archive.setting(DONE) or "{}")
    return said if isinstance(said, dict) else {}


def _all_there(mirror: Mirror, done: Mapping[str, object]) -> bool:
    """Whether nobody removed a table since."""
    files = done.get("files")
    folder = VaultPath(str(done.get("folder") or ""))
    return isinstance(files, list) and _present(mirror, folder).issuperset(files)


def _present(mirror: Mirror, seen: VaultPath) -> set[str]:
    """The paths of all files that are named as tables are."""
    hidden = {str(path) for path in mirror.vault.list_meta(_HIDDEN)}
    shown = {f"{seen}/{name}" for name in _names_in(mirror, seen)} if seen else set()
    return {path for path in hidden | shown if _OURS.fullmatch(name_of(path))}


def _names_in(mirror: Mirror, folder: VaultPath) -> set[str]:
    found = mirror.vault.folder(folder)
    return {*found.files, *found.odd} if found else set()


def _followed(mirror: Mirror, making: Making, *, anew: bool) -> Mapping[str, Entry]:
    """The entries of all facts that are listed, brought up to the store's feed."""
    held = None if anew else making.entries.load()
    todo = behind(mirror.shown, held.version if held else None, SCHEMA)
    found = {} if held is None or todo.anew else dict(held.entries)
    for start in range(0, len(todo.rows), BATCH):
        ids = [row.fact_id for row in todo.rows[start : start + BATCH]]
        facts = mirror.shown.find_many(ids)
        for fact_id in ids:
            fact = facts.get(fact_id)
            entry = entry_of(fact, making.count) if fact else None
            if entry is not None:
                found[fact_id] = _disarmed(entry, mirror.lens)
            else:
                found.pop(fact_id, None)
    if todo.rows or todo.anew:
        version = version_at(mirror.shown, todo.store_id, todo.seq, SCHEMA)
        making.entries.save(Held(version, found))
    return found


def _disarmed(entry: Entry, lens: Lens) -> Entry:
    """An entry in which nothing runs, wherever Obsidian shows it."""
    if not may_run(
        "\n".join((entry.title, entry.summary, *entry.entities, *entry.names))
    ):
        return entry
    names = lens.disarmed(entry.names)
    entities = lens.disarmed(entry.entities)
    assert isinstance(names, tuple) and isinstance(entities, tuple)  # noqa: S101, PT018 - narrows
    return entry._replace(
        title=str(lens.disarmed(entry.title)),
        summary=str(lens.disarmed(entry.summary)),
        entities=tuple(map(str, entities)),
        names=tuple(map(str, names)),
    )


def _write_hidden(mirror: Mirror, texts: Mapping[str, bytes]) -> int:
    changed = 0
    for name, data in texts.items():
        path = VaultPath(f"{FOLDER}/{name}")
        if mirror.vault.read_meta(path) != data:
            mirror.vault.write_meta(path, data)
            changed += 1
    for path in mirror.vault.list_meta(_HIDDEN):
        name = name_of(path)
        if name not in texts and _OURS.fullmatch(name):
            mirror.vault.drop_meta(path)
            changed += 1
    return changed


def _write_seen(mirror: Mirror, folder: VaultPath, texts: Mapping[str, bytes]) -> int:
    """Write the tables where a person sees them; what is no table of ours stays."""
    changed = 0
    for name, data in texts.items():
        with suppress(NoteError):  # a person's file, or one being saved: it stays
            changed += _put(mirror, join(folder, name), data)
    return changed + _drop_seen(mirror, folder, texts)


def _put(mirror: Mirror, path: VaultPath, data: bytes) -> bool:
    """Write one file; says whether it was written.

    Raises:
        NoteError: it cannot be, or must not be.
    """
    op = mirror.clock.new_id()
    try:
        found = mirror.vault.read(path)
    except NoteMissingError:
        mirror.vault.stage(op, data)
        try:
            mirror.vault.create(op, path)
        finally:
            mirror.vault.discard(op)
        return True
    if found.data == data or not is_table(found.data):
        return False
    mirror.vault.stage(op, data)
    try:
        mirror.vault.exchange(op, path, found.sha)
    finally:
        mirror.vault.discard(op)
    return True


def _drop_seen(mirror: Mirror, folder: VaultPath, texts: Mapping[str, bytes]) -> int:
    """Remove the tables that are no longer made."""
    changed = 0
    for name in sorted(_names_in(mirror, folder) - set(texts)):
        if not _OURS.fullmatch(name):
            continue
        with suppress(NoteError):
            path = join(folder, name)
            found = mirror.vault.read(path)
            if is_table(found.data):
                op = mirror.clock.new_id()
                mirror.vault.withdraw(op, path, found.sha)
                mirror.vault.discard(op)
                changed += 1
    return changed


def is_listed_there(mirror: Mirror, folder: VaultPath, name: str) -> bool:
    """Whether a file is one of the tables that a person sees, by its name."""
    seen = mirror.policy.index_folder
    return bool(seen) and folder == seen and _OURS.fullmatch(name) is not None
