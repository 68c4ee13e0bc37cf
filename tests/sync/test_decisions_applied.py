"""Every row of the table, reached by what people and agents do.

What has to come of it is written down here a second time, in other words than the
table's: which words are found on each side when everything is at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from tests.world import AGENTS, ALPHA, LINES, MERGED, PERSONS, PERSONS_ALPHA, World
from vaultsync.facts import service as work
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.render import render_note
from vaultsync.storage.store import StoreWrite
from vaultsync.sync import finish, planning
from vaultsync.sync.changes import StoreChange as S
from vaultsync.sync.changes import VaultChange as V
from vaultsync.sync.decision_table import (
    DECISIONS_WITH_BASE,
    DECISIONS_WITHOUT_BASE,
    Decision,
    decide,
)
from vaultsync.sync.sync_request import SyncRequest

Change = Callable[[World, Fact], object]
ELSEWHERE = "team-core/notes/kept/moved by hand.md"


@contextmanager
def decisions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[V, S, bool]]]:
    """Which pairs of changes were decided."""
    seen: list[tuple[V, S, bool]] = []

    def noted(vault: V, store: S, *, base: bool) -> Decision:
        seen.append((vault, store, base))
        return decide(vault, store, base=base)

    monkeypatch.setattr(planning, "decide", noted)
    monkeypatch.setattr(finish, "decide", noted)
    yield seen


# --- what happens in the vault ---------------------------------------------------------


def _nothing(_: World, __: Fact) -> None:
    pass


def _edit(old: str, new: str) -> Change:
    return lambda world, fact: world.person_edits(fact, old, new)


def _move(world: World, fact: Fact) -> None:
    world.person_renames(fact, ELSEWHERE)


def _save_the_rest(world: World, fact: Fact) -> None:
    before = world.archive.blob(world.base(fact.id).sha)
    assert before is not None
    world.person_writes(fact, before)


def _move_and_copy(world: World, fact: Fact) -> None:
    _move(world, fact)
    world.person_edits(ELSEWHERE, "Bravo", "Big Bravo")
    world.person_copies(ELSEWHERE, ELSEWHERE.replace("moved", "copied"))


def _take_id_from_copy(world: World, fact: Fact) -> None:
    copy = ELSEWHERE.replace("moved", "copied")
    world.person_deletes(copy)
    world.person_edits(ELSEWHERE, "Big Bravo", "Bravo")


# --- what happens in the store ---------------------------------------------------------


def _update(field: str, value: Value) -> Change:
    return lambda world, fact: work.update(world.ctx, fact.id, {field: value}, agent="indy")


def _lose(world: World, fact: Fact) -> None:
    del world.store._rows[fact.id]


class Doing(NamedTuple):
    """How a change comes about, and how what stands in the way is put right."""

    do: Change
    undo: Change = _nothing


REFORMAT = _edit("status: active", "status:   'active'")
VAULT: dict[V, Doing] = {
    V.UNCHANGED: Doing(_nothing),
    V.REFORMATTED: Doing(REFORMAT),
    V.MOVED: Doing(_move),
    V.MODIFIED: Doing(_edit(ALPHA, PERSONS_ALPHA)),
    V.GONE: Doing(lambda world, fact: world.person_deletes(fact)),
    V.DELETED: Doing(lambda world, fact: world.person_deletes(fact)),
    V.UNREADABLE: Doing(_edit(": active", ": [active"), _edit(": [active", ": active")),
    V.UNSETTLED: Doing(lambda my, fact: my.person_writes(fact, b""), _save_the_rest),
    V.UNKNOWN: Doing(
        lambda world, _: world.vault.break_folder("team-core/notes"),
        lambda world, _: world.vault.mend_folder("team-core/notes"),
    ),
    V.COPIED: Doing(_move_and_copy, _take_id_from_copy),
}
STORE: dict[S, Change] = {
    S.UNCHANGED: _nothing,
    S.TOUCHED: _update("accessCount", 7),
    S.MODIFIED: _update("content", AGENTS),
    S.DELETED: lambda world, fact: world.agent_forgets(fact.id),
    S.MISSING: _lose,
    S.UNAVAILABLE: lambda world, _: setattr(world.store, "away", True),
}

FIRST_LOOK = {V.GONE, V.UNREADABLE, V.UNSETTLED, V.UNKNOWN, V.COPIED}
"""Where a pass must leave both sides alone."""


def expected_end(vault: V, store: S) -> str | None:
    """The content on both sides at rest; None when the fact is deleted."""
    if vault is V.MODIFIED:
        return MERGED if store is S.MODIFIED else PERSONS
    if vault in (V.GONE, V.DELETED):
        # An edit beats a deletion; without one, a deletion stands.
        return AGENTS if store is S.MODIFIED else None
    if store is S.DELETED:
        return None
    return AGENTS if store is S.MODIFIED else LINES


def sides(world: World) -> tuple[dict[str, bytes], dict[str, str | None]]:
    """All that people and agents can see."""
    notes = {path: inode.data for path, inode in world.vault.files.items()}
    return notes, {key: row.body for key, row in world.store._rows.items()}


def test_the_examples_reach_all_rows_there_are() -> None:
    assert set(DECISIONS_WITH_BASE) == {(vault, store) for vault in VAULT for store in STORE}
    assert set(DECISIONS_WITHOUT_BASE) == set(NEWCOMERS)


@pytest.mark.parametrize("store", STORE, ids=lambda s: s.name.lower())
@pytest.mark.parametrize("vault", VAULT, ids=lambda v: v.name.lower())
def test_each_row_for_a_fact_with_a_base(
    world: World, fact: Fact, vault: V, store: S, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = world.mirrored("Not touched by anybody.", title="A bystander")
    bystander = world.note(other.id)
    VAULT[vault].do(world, fact)
    if vault is V.DELETED:
        world.sync()
        world.clock.advance(5)
    STORE[store](world, fact)
    before = sides(world)
    with decisions(monkeypatch) as seen:
        world.sync(SyncRequest(fact_ids=(fact.id,)))

    assert (vault, store, True) in seen
    if vault in FIRST_LOOK and (vault, store) != (V.GONE, S.DELETED):
        assert sides(world) == before
    if store is S.UNAVAILABLE:
        assert sides(world) == before
        world.store.away = False
    VAULT[vault].undo(world, fact)
    world.sync(SyncRequest(fact_ids=(fact.id,)))
    world.assert_at_rest()

    content = expected_end(vault, store)
    if content is None:
        assert not world.is_alive(fact.id)
        assert world.notes() == [world.path(other.id)]
        assert "Alpha says this." in world.everything_kept()
    else:
        assert world.fact(fact.id).content == content
        for line in content.split("\n"):
            assert line in world.note(fact.id)
        if vault in (V.MOVED, V.COPIED):
            assert world.path(fact.id) == ELSEWHERE
    assert world.note(other.id) == bystander


@pytest.mark.parametrize("store", [S.UNCHANGED, S.TOUCHED, S.MISSING])
def test_reformatting_writes_no_file_and_no_revision(world: World, fact: Fact, store: S) -> None:
    REFORMAT(world, fact)
    STORE[store](world, fact)
    note = world.data(fact)
    world.sync(SyncRequest(fact_ids=(fact.id,)))
    world.quiesce()
    assert world.data(fact) == note
    assert store is not S.UNCHANGED or world.fact(fact.id).revision == fact.revision


def test_a_touched_fact_is_no_reason_to_write_its_note(world: World, fact: Fact) -> None:
    note, stamp = world.note(fact.id), world.vault.files[world.path(fact.id)].stamp
    world.agent_updates(fact.id, accessCount=7, lastAccessedAt="2026-02-14T14:00:00Z")
    world.quiesce()
    assert world.note(fact.id) == note
    assert world.vault.files[world.path(fact.id)].stamp == stamp


# --- facts without a base ---------------------------------------------------------------

NEW = "team-core/notes/new.md"
Setup = Callable[[World], SyncRequest]


def _name_unknown(world: World) -> SyncRequest:
    return SyncRequest(fact_ids=(world.clock.new_id(),))


def _remember(world: World) -> SyncRequest:
    world.agent_remembers(LINES, title="New")
    return SyncRequest()


def _remember_and_forget(world: World) -> SyncRequest:
    world.agent_forgets(world.agent_remembers(LINES, title="New").id)
    return SyncRequest()


def _write_note(world: World) -> SyncRequest:
    world.person_writes(NEW, f"# New\n\n{LINES}\n")
    return SyncRequest()


def _note_with_id(world: World) -> str:
    fact_id = world.clock.new_id()
    text = f"---\nid: {fact_id}\n---\n\n# New\n\n{LINES}\n"
    world.person_writes(NEW, text)
    return fact_id


def _foreign_note(world: World) -> SyncRequest:
    _note_with_id(world)
    return SyncRequest()


def _note_of_a_fact(world: World) -> SyncRequest:
    fact = Fact(_note_with_id(world), title="New", content=LINES, scope="team-core")
    world.store.write([StoreWrite(fact.id, fact, None, "indy")])
    return SyncRequest()


def _new_note_of_a_fact(world: World) -> SyncRequest:
    fact = world.agent_remembers(LINES, title="New")
    world.person_writes(NEW, render_note(fact, links={}))
    return SyncRequest()


def _note_of_a_tombstone(world: World) -> SyncRequest:
    _note_of_a_fact(world)
    world.agent_forgets(world.facts()[0].id)
    return SyncRequest()


def _adopting(setup: Setup) -> Setup:
    def act(world: World) -> SyncRequest:
        setup(world)
        return SyncRequest(kind="adopt", adopt=frozenset({VaultPath(NEW)}))

    return act


def _then(setup: Setup, act: Callable[[World], object]) -> Setup:
    def both(world: World) -> SyncRequest:
        request = setup(world)
        act(world)
        return request

    return both


def _away(setup: Setup) -> Setup:
    return _then(setup, lambda world: setattr(world.store, "away", True))


def _broken(setup: Setup) -> Setup:
    """The note cannot be read at first."""
    broken = "open: [\n---\n\n# New"
    return _then(setup, lambda world: world.person_edits(NEW, "---\n\n# New", broken))


def _half_saved(setup: Setup) -> Setup:
    """Of the note only the beginning is there at first."""
    return _then(
        setup, lambda world: world.person_writes(NEW, world.text(NEW).partition("\n---\n")[0])
    )


def _complete(world: World) -> None:
    """What was broken or half saved is whole."""
    head = world.text(NEW).partition("\nopen")[0].partition("\n---\n")[0]
    world.person_writes(NEW, f"{head}\n---\n\n# New\n\n{LINES}\n")


class Newcomer(NamedTuple):
    """How a fact without a base comes about, and whether it lives when all is done."""

    act: Setup
    alive: bool


NEWCOMERS: dict[tuple[V, S], Newcomer] = {
    (V.NONE, S.NONE): Newcomer(_name_unknown, alive=False),
    (V.NONE, S.CREATED): Newcomer(_remember, alive=True),
    (V.NONE, S.TOMBSTONE): Newcomer(_remember_and_forget, alive=False),
    (V.NONE, S.UNAVAILABLE): Newcomer(_away(_name_unknown), alive=False),
    (V.CREATED, S.NONE): Newcomer(_write_note, alive=True),
    (V.CREATED, S.CREATED): Newcomer(_adopting(_note_of_a_fact), alive=True),
    (V.CREATED, S.TOMBSTONE): Newcomer(_adopting(_note_of_a_tombstone), alive=True),
    (V.CREATED, S.UNAVAILABLE): Newcomer(_away(_write_note), alive=True),
    (V.FOREIGN, S.NONE): Newcomer(_foreign_note, alive=False),
    (V.FOREIGN, S.CREATED): Newcomer(_note_of_a_fact, alive=True),
    (V.FOREIGN, S.TOMBSTONE): Newcomer(_note_of_a_tombstone, alive=True),
    (V.FOREIGN, S.UNAVAILABLE): Newcomer(_away(_foreign_note), alive=False),
    (V.EQUAL, S.CREATED): Newcomer(_new_note_of_a_fact, alive=True),
    (V.UNREADABLE, S.NONE): Newcomer(_broken(_foreign_note), alive=False),
    (V.UNREADABLE, S.CREATED): Newcomer(_broken(_note_of_a_fact), alive=True),
    (V.UNREADABLE, S.TOMBSTONE): Newcomer(_broken(_note_of_a_tombstone), alive=True),
    (V.UNREADABLE, S.UNAVAILABLE): Newcomer(_broken(_away(_note_of_a_fact)), alive=True),
    (V.UNSETTLED, S.NONE): Newcomer(_half_saved(_foreign_note), alive=False),
    (V.UNSETTLED, S.CREATED): Newcomer(_half_saved(_note_of_a_fact), alive=True),
    (V.UNSETTLED, S.TOMBSTONE): Newcomer(_half_saved(_note_of_a_tombstone), alive=True),
    (V.UNSETTLED, S.UNAVAILABLE): Newcomer(_half_saved(_away(_note_of_a_fact)), alive=True),
}


@pytest.mark.parametrize("pair", NEWCOMERS, ids=lambda p: f"{p[0].name}-{p[1].name}".lower())
def test_each_row_for_a_fact_without_a_base(
    world: World, pair: tuple[V, S], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = NEWCOMERS[pair].act(world)
    before = sides(world)
    with decisions(monkeypatch) as seen:
        world.sync(request)
    assert (*pair, False) in seen
    if pair[1] is S.UNAVAILABLE or pair[0] in FIRST_LOOK:
        assert sides(world) == before
    world.store.away = False
    if pair[0] in FIRST_LOOK:
        _complete(world)
        before = sides(world)
    world.assert_at_rest()
    facts = world.facts()
    assert len(facts) == (1 if NEWCOMERS[pair].alive else 0)
    for fact in facts:
        assert fact.content == LINES
        assert LINES in world.note(fact.id)
        assert world.notes() == [world.path(fact.id)]
    if before[0] and not facts:
        assert sides(world) == before


def test_a_note_with_an_unknown_id_waits_for_a_person(world: World) -> None:
    fact_id = _note_with_id(world)
    report = world.sync()
    assert [each.kind for each in report.attention] == ["unknown_id"]
    assert report.attention[0].hint
    assert not world.is_alive(fact_id)
