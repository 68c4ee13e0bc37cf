"""Both sides are verified to be equal, and each is rebuilt from the other."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.doubles.store import MemoryStore
from tests.memory_archive import MemoryArchive
from tests.sim import SimVault
from tests.world import AGENTS, LINES, PERSONS, SCOPE, World, action, kinds, rebuild_anyway, taken
from vaultsync.errors import StoreRewoundError, StoreUnavailableError, VaultMissingError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.render import render_note
from vaultsync.operations import verify as verify_module
from vaultsync.operations.migrate import copy_store, expect_store
from vaultsync.operations.rebuild import rebuild
from vaultsync.operations.undo import undo_run
from vaultsync.operations.verify import verify_all
from vaultsync.storage.vault import VaultScan
from vaultsync.sync.context import SyncContext

ALPHA, PERSONS_ALPHA = LINES.split("\n")[0], PERSONS.split("\n")[0]


def _fresh(world: World, *, store: bool = False, archive: bool = True) -> None:
    """Lose the store or the archive, or both, for good."""
    if store:
        world.store = MemoryStore(world.clock, "fresh")
    if archive:
        world.archive = MemoryArchive()
    world.ctx = SyncContext(world.store, world.archive, world.clock, vault=world.vault)


@pytest.fixture
def populated(world: World) -> World:
    other = world.mirrored("Other.", title="Other", type="person")
    world.mirrored(
        "A decision.",
        title="A decision",
        type="decision",
        decisionOutcome="done",
        tags=["a", "b"],
        entities=["Other"],
        relatedFactIds=[other.id],
        confidence=0.5,
        mood="sunny",
    )
    world.mirrored("", title="Empty", type="observation", priority=3)
    return world


def _team_notes(world: World) -> list[str]:
    """The paths of the notes in the scope of the team."""
    return [path for path in world.notes() if path.startswith(f"{SCOPE}/")]


def _state(world: World) -> tuple[dict[str, bytes], dict[str, str | None]]:
    """The bytes of every note and the revision of every fact."""
    notes = {path: world.data(path) for path in world.notes()}
    return notes, {fact.id: fact.revision for fact in world.facts()}


def _forgotten(world: World) -> tuple[Fact, str]:
    """A fact that an agent deleted, and the path of its note."""
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    path = world.path(fact.id)
    world.agent_forgets(fact.id)
    return fact, path


def test_verify_finds_equal_sides_equal(populated: World) -> None:
    proof = verify_all(populated.ctx)
    assert proof.equal
    assert proof.checked == 3
    assert to_builtins(proof)["equal"] is True


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("A decision.", "Another decision.", "content"),
        ("# A decision", "# Another", "title"),
        ("decisionOutcome: done", "decisionOutcome: open", "decisionOutcome"),
        ("mood: sunny", "mood: rainy", "mood"),
        ("  - a\n", "", "tags"),
        ("priority: 2", "priority: 0", "priority"),
    ],
)
def test_verify_names_fields_that_differ(populated: World, old: str, new: str, key: str) -> None:
    (fact,) = [each for each in populated.facts() if each.type == "decision"]
    populated.person_edits(fact, old, new)
    proof = verify_all(populated.ctx)
    assert not proof.equal
    (found,) = proof.differences
    assert (found.fact_id, found.path, found.field) == (fact.id, populated.path(fact.id), key)
    assert found.vault != found.store
    assert found.store == found.base


def test_verify_names_what_differs_in_the_store(populated: World) -> None:
    (fact,) = [each for each in populated.facts() if each.type == "decision"]
    populated.agent_updates(fact.id, content="Changed.", confidence=1.0, scope="public")
    found = {each.field: each.store for each in verify_all(populated.ctx).differences}
    assert found == {"content": "Changed.", "confidence": 1.0, "scope": "public"}


def test_verify_does_not_trust_file_times(populated: World) -> None:
    path = _team_notes(populated)[0]
    inode = populated.vault.files[path]
    # Only the bytes change, and only reading shows it.
    inode.data = inode.data.replace(b"O", b"0")
    assert populated.sync().quiet
    assert not verify_all(populated.ctx).equal


def test_verify_names_facts_without_notes_and_notes_without_facts(populated: World) -> None:
    new = populated.agent_remembers("New.", title="New")
    gone, lost, *_ = sorted(populated.notes())
    populated.person_deletes(gone)
    fact_id = populated.archive.paths()[VaultPath(lost)]
    populated.agent_forgets(fact_id)
    found = {each.fact_id: each.field for each in verify_all(populated.ctx).differences}
    assert (found[new.id], found[fact_id]) == ("note", "fact")
    assert len(found) == 3


def test_verify_names_an_invalid_value_and_a_note_that_cannot_be_read(populated: World) -> None:
    path, other, *_ = _team_notes(populated)
    populated.person_edits(path, "priority: 2", "priority: 7")
    populated.sync()
    proof = verify_all(populated.ctx)
    (found,) = proof.held
    assert (found.path, found.field) == (path, "priority")
    assert (found.vault, found.store) == (7, 2)
    assert "7" in found.why
    assert proof.equal
    populated.person_edits(other, "status: active", "status: [active")
    (broken,) = verify_all(populated.ctx).differences
    assert broken.path == other
    assert other in broken.why
    populated.person_renames(other, "public/notes/Renamed.md")
    populated.person_writes("Loose.md", "Not adopted.\n")
    populated.person_renames(path, "public/notes/Readable.md")
    found_at = {each.path: each for each in verify_all(populated.ctx).differences}
    assert "no such note" in found_at[path].why
    renamed = found_at["public/notes/Renamed.md"]
    assert len(found_at) == 2
    assert renamed.why == broken.why.replace(other, "public/notes/Renamed.md")


def test_verify_needs_the_vault_and_writes_nothing(populated: World) -> None:
    populated.person_edits(populated.notes()[0], "status: active", "status: archived")
    with populated.nobody_writes():
        verify_all(populated.ctx)
    populated.vault.vanish()
    with pytest.raises(VaultMissingError):
        verify_all(populated.ctx)


@pytest.mark.parametrize("source", ["vault", "store", ""])
def test_a_base_is_rebuilt_from_equal_sides_without_a_write(populated: World, source: str) -> None:
    before = _state(populated)
    _fresh(populated)
    for _ in range(2):
        if source:
            rebuild(populated.ctx, source)
        else:
            populated.quiesce()
        assert _state(populated) == before
    assert populated.conflicts() == []
    populated.assert_at_rest()


@pytest.mark.parametrize("archive", [True, False])
def test_the_store_is_rebuilt_from_the_vault(populated: World, archive: bool) -> None:
    before = {fact.id: fact for fact in populated.facts()}
    notes = {path: populated.data(path) for path in populated.notes()}
    _fresh(populated, store=True, archive=archive)
    rebuild(populated.ctx, "vault")
    populated.assert_at_rest()
    after = {fact.id: fact for fact in populated.facts()}
    assert after.keys() == before.keys()
    for fact_id, fact in before.items():
        same = after[fact_id].replace({"updatedAt": fact.updated_at})
        assert same.values() | {"relatedFactIds": []} == fact.values() | {"relatedFactIds": []}
        assert same.properties == fact.properties
        assert same.related_fact_ids == fact.related_fact_ids
    assert {path: populated.data(path) for path in populated.notes()} == notes


def test_the_vault_is_rebuilt_from_the_store(populated: World) -> None:
    before = {path: populated.text(path) for path in populated.notes()}
    for path in populated.notes():
        populated.vault.delete(path)
    rebuild(populated.ctx, "store")
    populated.assert_at_rest()
    assert {path: populated.text(path) for path in populated.notes()} == before


@pytest.mark.parametrize(
    ("source", "wins", "archived"),
    [("vault", PERSONS, "what the agent says"), ("store", AGENTS, PERSONS_ALPHA)],
)
def test_a_rebuild_uses_the_edit_of_its_source_and_archives_the_other(
    world: World, source: str, wins: str, archived: str
) -> None:
    fact = world.mirrored()
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    rebuild_anyway(world.ctx, source)
    assert world.fact(fact.id).content == wins
    assert wins in world.note(fact.id)
    world.assert_at_rest()
    assert archived in world.everything_kept()


def test_a_rebuild_from_the_vault_keeps_facts_without_notes(world: World) -> None:
    fact = world.mirrored()
    new = world.agent_remembers("New.", title="New")
    world.person_deletes(fact)
    rebuild(world.ctx, "vault")
    assert world.is_alive(fact.id)
    assert world.is_alive(new.id)
    world.mirrored("Stays.", title="A bystander")
    assert "New." in world.note(new.id)


def test_a_rebuild_to_a_store_that_the_vault_left_brings_no_deleted_fact_back(world: World) -> None:
    fact, gone = world.mirrored(), world.mirrored("Gone.", title="Gone")
    former, target = world.store, MemoryStore(world.clock, "next")
    copy_store(former, target)
    expect_store(world.ctx, target, former.state().seq)
    world.store, world.ctx = target, replace(world.ctx, store=target)
    world.quiesce()
    world.agent_updates(fact.id, content="Newer.")
    world.agent_forgets(gone.id)
    world.quiesce()

    world.store, world.ctx = former, replace(world.ctx, store=former)
    report = rebuild(world.ctx, "vault")
    assert action(report, gone.id).reason == "it was deleted since, and the store is older"
    assert [each.content for each in world.facts()] == ["Newer."]
    world.assert_at_rest()


@pytest.mark.parametrize("source", ["vault", "store"])
@pytest.mark.parametrize("is_next", [True, False])
def test_a_rebuild_that_is_killed_after_a_migration_does_not_make_the_new_store_an_older_one(
    world: World, source: str, *, is_next: bool
) -> None:
    facts = [world.mirrored(f"Fact {n}.", title=f"Fact {n}") for n in range(3)]
    for each in facts:  # the new store counts fewer writes
        world.agent_updates(each.id, tags=["a"])
    world.quiesce()
    former, target = world.store, MemoryStore(world.clock, "next")
    copy_store(former, target)
    if is_next:
        expect_store(world.ctx, target, former.state().seq)
    world.store, world.ctx = target, replace(world.ctx, store=target)
    with pytest.raises(KeyboardInterrupt):
        rebuild(world.ctx, source, prepare=Mock(side_effect=KeyboardInterrupt))

    if not is_next:  # nothing tells that it is not older
        with pytest.raises(StoreRewoundError):
            world.sync()
        rebuild(world.ctx, source)
    world.agent_updates(facts[1].id, content="Newer.")
    world.quiesce()
    assert world.note(facts[1].id).count("Newer.") == 1
    world.assert_at_rest()


def test_a_rebuild_from_the_store_keeps_notes_without_facts(world: World) -> None:
    world.mirrored()
    world.person_writes("team-core/notes/mine.md", "Mine.\n")
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        rebuild(world.ctx, "store")
    world.store.away = False
    rebuild(world.ctx, "store")
    assert world.text("team-core/notes/mine.md").endswith("Mine.\n")


def test_a_rebuild_leaves_what_cannot_be_read_alone(world: World) -> None:
    fact = world.mirrored()
    world.person_edits(fact, "status: active", "status: [active")
    bad = world.note(fact.id)
    world.agent_updates(fact.id, content=AGENTS)
    for source in ("vault", "store"):
        rebuild(world.ctx, source)
        assert world.note(fact.id) == bad
        assert world.fact(fact.id).content == AGENTS


def test_with_an_older_store_an_unreadable_note_counts_as_last_read(world: World) -> None:
    fact = world.mirrored()
    backup = world.store.snapshot()
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.quiesce()
    world.person_edits(fact, "status: active", "status: [active")
    bad = world.note(fact.id)
    world.store.restore(backup)
    assert action(rebuild(world.ctx, "vault"), fact.id).reason == "as its note was last read"
    assert world.note(fact.id) == bad
    assert PERSONS_ALPHA in world.fact(fact.id).content
    world.person_edits(fact, "status: [active", "status: done")
    world.quiesce()
    assert world.fact(fact.id).status == "done"
    assert PERSONS_ALPHA in world.note(fact.id)


def test_a_truth_value_that_the_fact_never_had_is_no_former_value(world: World) -> None:
    fact = world.mirrored(flag=1)
    world.person_edits(fact, "flag: 1", "flag: 2")
    world.quiesce()
    world.person_edits(fact, "status: active", "status: [active")
    world.agent_updates(fact.id, flag=True)
    rebuild(world.ctx, "vault")
    assert world.fact(fact.id).properties["flag"] is True


def test_an_unreadable_note_restores_a_fact_that_an_older_store_never_had(world: World) -> None:
    world.mirrored("Stays.", title="A bystander")
    backup = world.store.snapshot()
    fact = world.mirrored()
    world.person_edits(fact, "status: active", "status: [active")
    world.store.restore(backup)
    rebuild(world.ctx, "vault")
    assert world.fact(fact.id).content == LINES


def test_a_rebuild_from_the_vault_restores_deleted_facts(world: World) -> None:
    fact, _ = _forgotten(world)
    rebuild_anyway(world.ctx, "vault")
    assert world.fact(fact.id).content == LINES
    world.assert_at_rest()


def test_a_rebuild_from_the_vault_keeps_the_scope_of_a_deleted_fact(world: World) -> None:
    fact, _ = _forgotten(world)
    world.person_renames(fact, "public/notes/elsewhere.md")
    world.lose_archive()
    report = rebuild(world.ctx, "vault")
    assert world.fact(fact.id).scope == fact.scope
    assert "scope_move" in kinds(report)
    world.assert_at_rest()


@pytest.mark.parametrize("source", ["vault", "store"])
def test_a_note_that_appears_during_a_rebuild_is_read_like_any_other(
    world: World, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mirrored()
    fact = world.agent_remembers(LINES, title="Another")
    scan = SimVault.scan

    def once(vault: SimVault) -> VaultScan:
        found = scan(vault)
        monkeypatch.undo()
        world.person_writes("team-core/notes/new.md", render_note(fact, links={}))
        return found

    monkeypatch.setattr(SimVault, "scan", once)
    rebuild(world.ctx, source)
    world.assert_at_rest()
    assert world.path(fact.id) == "team-core/notes/new.md"


def test_verify_reads_and_reports_chunks(populated: World, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = verify_all(populated.ctx)
    monkeypatch.setattr(verify_module, "FACTS_PER_CHUNK", 2)
    steps: list[tuple[str, int, int]] = []
    assert verify_all(populated.ctx, progress=lambda *step: steps.append(step)) == proof
    assert steps == [("verify", 2, 3), ("verify", 3, 3)]


def test_a_rebuild_from_the_store_drops_the_base_of_a_fact_deleted_on_both(world: World) -> None:
    fact, _ = _forgotten(world)
    world.person_deletes(fact)
    rebuild(world.ctx, "store")
    world.quiesce()
    assert world.archive.find_base(fact.id) is None
    assert len(world.notes()) == 1
    world.assert_at_rest()


@pytest.mark.parametrize("archive", ["kept", "lost"])
def test_a_note_that_a_rebuild_deletes_can_be_restored(world: World, archive: str) -> None:
    fact, path = _forgotten(world)
    world.person_edits(path, "---\nid", "---\nmood: sunny # today\nid")
    world.person_edits(path, ALPHA, PERSONS_ALPHA)
    text = world.text(path)
    if archive == "lost":
        world.lose_archive()
    run = rebuild_anyway(world.ctx, "store").run
    assert path not in world.notes()
    world.assert_at_rest()
    (entry,) = [each for each in world.archive.history(run=run) if each.field == "note"]
    assert isinstance(entry.before, dict)
    assert (entry.fact_id, entry.before["path"], entry.after) == (fact.id, path, None)
    assert world.archive.blob(str(entry.before["sha"])) == text.encode()
    undo_run(world.ctx, run)
    world.assert_at_rest()
    before, now = (
        [line for line in each.split("\n") if not line.startswith("updatedAt:")]
        for each in (text, world.note(fact.id))
    )
    assert now == before
    assert world.fact(fact.id).content == PERSONS


@pytest.mark.parametrize("archive", ["kept", "lost"])
def test_edits_that_a_rebuild_overwrites_can_be_restored(world: World, archive: str) -> None:
    fact = world.mirrored()
    world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.person_edits(fact, "priority: 2", "priority: 1")
    if archive == "lost":
        world.lose_archive()
    run = rebuild_anyway(world.ctx, "store").run
    assert world.fact(fact.id).content == LINES
    before = {each.field: each.before for each in world.archive.history(run=run)}
    assert before == {"content": PERSONS, "priority": 1}
    undo_run(world.ctx, run)
    world.assert_at_rest()
    assert PERSONS in world.note(fact.id)
    assert world.fact(fact.id).priority == 1


def test_a_rebuild_from_the_store_does_nothing_for_a_fact_unknown_to_all(world: World) -> None:
    fact, _ = _forgotten(world)
    world.quiesce()
    world.lose_archive()
    assert taken(rebuild(world.ctx, "store"), fact.id) == []
    assert world.archive.history(fact_id=fact.id) == []


@pytest.mark.parametrize("text", [ALPHA, PERSONS_ALPHA])
def test_a_rebuild_from_the_vault_writes_a_missing_id(world: World, text: str) -> None:
    fact = world.mirrored()
    world.person_edits(fact, f"id: {fact.id}\n", "")
    world.person_edits(fact, ALPHA, text)
    rebuild(world.ctx, "vault")
    assert f"id: {fact.id}\n" in world.text(fact)
    assert text in world.fact(fact.id).content
    world.assert_at_rest()


def test_a_fact_that_the_store_lost_is_restored_after_a_rebuild_from_it(world: World) -> None:
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    del world.store._rows[fact.id]
    rebuild(world.ctx, "store")
    assert not world.is_alive(fact.id)
    assert LINES in world.note(fact.id)
    world.assert_at_rest()
    assert world.fact(fact.id).content == LINES


def test_the_note_of_an_erased_fact_that_comes_back_is_named_and_left_alone(world: World) -> None:
    fact = world.mirrored()
    path, data = world.path(fact.id), world.data(fact)
    world.agent_forgets(fact.id)
    world.quiesce()
    world.store.erase_text(fact.id)
    world.person_writes(path, data)
    for report in (world.sync(), rebuild(world.ctx, "vault"), world.sync()):
        (notice,) = report.attention
        assert notice.message == f"{path}: its fact was erased by `vaultsync purge`"
        assert notice.hint.startswith("delete it; to keep it, `vaultsync adopt PATH`")
        assert not world.is_alive(fact.id)
