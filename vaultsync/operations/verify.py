"""Verify that vault, store and base are equal, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from vaultsync.errors import NoteError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import stale_keys
from vaultsync.notes.view import NoteView
from vaultsync.storage.archive import Base
from vaultsync.sync.context import SyncContext
from vaultsync.sync.identity import base_note
from vaultsync.sync.report import Difference, Progress, Verification, proof_of

FACTS_PER_CHUNK = 500


def verify_all(ctx: SyncContext, *, progress: Progress | None = None) -> Verification:
    """Read every note and every fact, and compare them and the bases; trusts no cache.

    Raises:
        VaultError, StoreError: a side is not available.
    """
    ctx.vault.vault_id()
    differences: list[Difference] = []
    held: list[Difference] = []
    total, checked = ctx.archive.count_bases(), 0
    with_base: set[str] = set()
    chunk: list[Base] = []
    for base in ctx.archive.iter_bases():
        with_base.add(base.fact.id)
        chunk.append(base)
        if len(chunk) == FACTS_PER_CHUNK:
            differences += _chunk(ctx, chunk, held)
            checked += len(chunk)
            chunk = []
            if progress is not None:
                progress("verify", checked, total)
    differences += _chunk(ctx, chunk, held)
    checked += len(chunk)
    for fact in ctx.store.iter_facts():
        if fact.id not in with_base:
            checked += 1
            why = "it has no note yet"
            missing = Difference(fact.id, None, "note", None, fact.title, None, why)
            differences += _redacted_difference(ctx.view, [missing], fact)
    if progress is not None:
        progress("verify", total, total)
    return proof_of(checked, differences, held)


def _chunk(ctx: SyncContext, bases: list[Base], held: list[Difference]) -> Iterator[Difference]:
    """What differs; what a field does not take is added to `held`."""
    facts = ctx.store.find_many([base.fact.id for base in bases])
    for base in bases:
        store = facts.get(base.fact.id)
        kept: list[Difference] = []
        found = list(_compare(ctx, base, store, kept))
        shown = [*_redacted_difference(ctx.view, [*found, *kept], base.fact, store)]
        yield from shown[: len(found)]
        held += shown[len(found) :]


def _redacted_difference(
    view: NoteView, found: Sequence[Difference], *facts: Fact | None
) -> Iterator[Difference]:
    """The differences without the secrets of the facts."""
    sides = [
        view.redact_values(
            [(each.field, value) for each, value in zip(found, side, strict=True)], *facts
        )
        for side in (
            [each.vault for each in found],
            [each.store for each in found],
            [each.base for each in found],
        )
    ]
    for each, vault, store, base in zip(found, *sides, strict=True):
        why = view.redact_text(each.why, *facts)
        yield replace(each, vault=vault, store=store, base=base, why=why)


def _compare(
    ctx: SyncContext, base: Base, store: Fact | None, held: list[Difference]
) -> Iterator[Difference]:
    fact_id, path = base.fact.id, base.path
    if store is None:
        yield Difference(
            fact_id,
            path,
            "fact",
            base.fact.title,
            None,
            base.fact.title,
            "the store has no such fact",
        )
        return
    try:
        file = ctx.vault.read(path)
        note = read_note(file.data, path)
    except NoteError as error:
        yield Difference(fact_id, path, "note", None, store.title, None, error.message)
        return
    for problem in note.problems:
        key = problem.key
        said = note.raw.get(key), store.value(key), base.fact.value(key)
        held.append(Difference(fact_id, path, key, *said, problem.message))
    vault = base.fact
    if file.sha == base.sha and not differing_keys(base.fact, store):
        return
    before = base_note(ctx, base)
    note = ctx.view.from_note(note, base.fact, store, before=before)
    if file.sha != base.sha:
        ids = ctx.ids(before.links ^ note.links, path)
        vault = apply_note_edits(base.fact, before, note, ids=ids)
    keys = dict.fromkeys(
        [
            *differing_keys(base.fact, store),
            *differing_keys(vault, store),
            *stale_keys(note, vault, store),
        ]
    )
    if vault.scope != store.scope:
        keys["scope"] = None
    for key in keys:
        yield Difference(
            fact_id,
            path,
            key,
            vault.value(key),
            store.value(key),
            base.fact.value(key),
            "not equal",
        )
