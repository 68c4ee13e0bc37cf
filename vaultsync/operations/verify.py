"""Verify that vault, store and base are equal, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from vaultsync.errors import DamagedFactError, NoteError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import id_in, read_note
from vaultsync.notes.render import stale_keys
from vaultsync.notes.view import NoteView
from vaultsync.storage.archive import Base
from vaultsync.sync.context import SyncContext
from vaultsync.sync.identity import base_note
from vaultsync.sync.note_links import linked_ids
from vaultsync.sync.note_status import EXCLUDED, why_no_note
from vaultsync.sync.report import Difference, Progress, Verification, proof_of
from vaultsync.sync.snapshot import is_ignored

FACTS_PER_CHUNK = 500


def verify_all(ctx: SyncContext, *, progress: Progress | None = None) -> Verification:
    """Read every note and every fact, and compare them and the bases; trusts no cache.

    Raises:
        VaultError, StoreError: a side is not available.
    """
    ctx.vault.vault_id()
    differences: list[Difference] = []
    invalid: list[Difference] = []
    total, checked = ctx.archive.count_bases(), 0
    with_base: set[str] = set()
    bases = ctx.archive.iter_bases()
    while chunk := list(islice(bases, FACTS_PER_CHUNK)):
        with_base.update(base.fact.id for base in chunk)
        differences += _chunk(ctx, chunk, invalid)
        checked += len(chunk)
        if progress is not None:
            progress("verify", checked, total)
    differences = _where_unreadable(ctx, differences)
    for fact in ctx.store.iter_facts():
        if fact.id not in with_base:
            checked += 1
            why = why_no_note(ctx, fact) or "it has no note yet"
            missing = Difference(fact.id, None, "note", None, fact.title, None, why)
            differences += _redacted_difference(ctx.view, [missing], fact)
    for fact_id, reason in ctx.store.damaged().items():
        if fact_id not in with_base:
            checked += 1
            why = DamagedFactError(fact_id, reason).message
            differences.append(Difference(fact_id, None, "fact", None, None, None, why))
    return proof_of(checked, differences, invalid)


def _chunk(ctx: SyncContext, bases: list[Base], invalid: list[Difference]) -> Iterator[Difference]:
    """The differences of some facts; invalid values are added to `invalid` instead."""
    facts = ctx.store.find_many([base.fact.id for base in bases])
    for base in bases:
        store = facts.get(base.fact.id)
        chunk_invalid: list[Difference] = []
        differences = list(_compare(ctx, base, store, chunk_invalid))
        if not differences and not chunk_invalid:
            continue
        shown = [*_redacted_difference(ctx.view, [*differences, *chunk_invalid], base.fact, store)]
        yield from shown[: len(differences)]
        invalid += shown[len(differences) :]


def _where_unreadable(ctx: SyncContext, differences: list[Difference]) -> list[Difference]:
    """The same, but a missing note that was renamed, and cannot be read, has its new path."""
    notes = [each for each in differences if each.field == "note" and each.path]
    listed = [path for path, _ in ctx.vault.scan().notes()] if notes else []
    missing = {each.fact_id: each for each in notes if each.path not in listed}
    renamed: dict[str, Difference] = {}
    for path in set(listed) - ctx.archive.paths().keys() if missing else ():
        file = ctx.find_file(path)
        each = missing.get(id_in(file.data) or "") if file is not None else None
        if file is None or each is None:
            continue
        try:
            read_note(file.data, path)
        except NoteError as error:
            base = ctx.archive.find_bases([each.fact_id])[each.fact_id]
            found = replace(each, path=path, why=error.message)
            (renamed[each.fact_id],) = _redacted_difference(ctx.view, [found], base.fact)
    return [renamed.get(each.fact_id, each) for each in differences]


def _redacted_difference(
    view: NoteView, differences: Sequence[Difference], *facts: Fact | None
) -> Iterator[Difference]:
    """The differences without the secrets of the facts."""
    sides = (
        view.redact_values([(each.field, getattr(each, side)) for each in differences], *facts)
        for side in ("vault", "store", "base")
    )
    for each, vault, store, base in zip(differences, *sides, strict=True):
        why = view.redact_text(each.why, *facts)
        yield replace(each, vault=vault, store=store, base=base, why=why)


def _compare(
    ctx: SyncContext, base: Base, store: Fact | None, invalid: list[Difference]
) -> Iterator[Difference]:
    fact_id, path, title = base.fact.id, base.path, base.fact.title
    if store is None:
        reason = ctx.store.damaged().get(fact_id)
        why = "the store does not have this fact"
        if reason is not None:
            why = DamagedFactError(fact_id, reason).message
        yield Difference(fact_id, path, "fact", title, None, title, why)
        return
    try:
        file = ctx.vault.read(path)
        note = read_note(file.data, path)
    except NoteError as error:
        yield Difference(fact_id, path, "note", None, store.title, None, error.message)
        return
    for problem in note.problems:
        key = problem.key
        values = note.raw.get(key), store.value(key), base.fact.value(key)
        invalid.append(Difference(fact_id, path, key, *values, problem.message))
    vault = base.fact
    if file.sha == base.sha and not differing_keys(base.fact, store):
        return
    why = "; ".join(EXCLUDED) if is_ignored(ctx, path) else "not equal"
    before = base_note(ctx, base)
    note = ctx.view.from_note(note, base.fact, store, before=before)
    if file.sha != base.sha:
        ids = linked_ids(ctx, before.links ^ note.links, path)
        vault = apply_note_edits(base.fact, before, note, ids=ids)
    keys = [*differing_keys(base.fact, store), *differing_keys(vault, store)]
    keys += stale_keys(note, vault, store)
    if vault.scope != store.scope:
        keys.append("scope")
    for key in dict.fromkeys(keys):
        values = vault.value(key), store.value(key), base.fact.value(key)
        yield Difference(fact_id, path, key, *values, why)
