"""The proof that both sides are equal, and each side rebuilt from the other."""

from __future__ import annotations

import pytest

from tests.doubles.store import MemoryStore
from tests.memory_archive import MemoryArchive
from tests.sim import SimVault
from tests.world import AGENTS, LINES, PERSONS, World, action, kinds, taken
from vaultsync.errors import StoreUnavailableError, VaultMissingError
from vaultsync.model.paths import VaultPath
from vaultsync.notes.render import render_note
from vaultsync.operations import verify as verify_module
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


def _populated() -> World:
    world = World()
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


def test_verify_finds_equal_sides_equal() -> None:
    world = _populated()
    proof = verify_all(world.ctx)
    assert proof.equal
    assert proof.checked == 3
    assert proof.as_json()["equal"] is True


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
def test_verify_names_every_field_that_differs_in_the_vault(old: str, new: str, key: str) -> None:
    world = _populated()
    (fact,) = [each for each in world.facts() if each.type == "decision"]
    world.person_edits(world.path(fact.id), old, new)
    proof = verify_all(world.ctx)
    assert not proof.equal
    (found,) = proof.differences
    assert (found.fact_id, found.path, found.field) == (
        fact.id,
        world.path(fact.id),
        key,
    )
    assert found.vault != found.store
    assert found.store == found.base


def test_verify_names_what_differs_in_the_store() -> None:
    world = _populated()
    (fact,) = [each for each in world.facts() if each.type == "decision"]
    world.agent_updates(fact.id, content="Changed.", confidence=1.0)
    found = {each.field for each in verify_all(world.ctx).differences}
    assert found == {"content", "confidence"}


def test_verify_trusts_no_file_time() -> None:
    world = _populated()
    path = world.notes()[0]
    inode = world.vault.files[path]
    # Bytes change, nothing else does: only reading tells.
    inode.data = inode.data.replace(b"O", b"0")
    assert world.sync().quiet
    assert not verify_all(world.ctx).equal


def test_verify_names_facts_without_notes_and_notes_without_facts() -> None:
    world = _populated()
    new = world.agent_remembers("New.", title="New")
    gone, lost, *_ = sorted(world.notes())
    world.person_deletes(gone)
    fact_id = world.archive.paths()[VaultPath(lost)]
    world.agent_forgets(fact_id)
    found = {each.fact_id: each.field for each in verify_all(world.ctx).differences}
    assert found[new.id] == "note"
    assert found[fact_id] == "fact"
    assert len(found) == 3


def test_verify_names_a_note_that_cannot_be_read() -> None:
    world = _populated()
    path = world.notes()[0]
    world.person_edits(path, "status: active", "status: [active")
    (found,) = verify_all(world.ctx).differences
    assert found.path == path
    assert path in found.why


def test_verify_names_a_value_that_its_field_does_not_take() -> None:
    world = _populated()
    path = world.notes()[0]
    world.person_edits(path, "priority: 2", "priority: 7")
    world.sync()
    proof = verify_all(world.ctx)
    (found,) = proof.held
    assert (found.path, found.field) == (path, "priority")
    assert (found.vault, found.store) == (7, 2)
    assert "7" in found.why
    assert proof.equal


def test_verify_says_how_far_it_is() -> None:
    world = _populated()
    seen: list[tuple[str, int, int]] = []
    verify_all(world.ctx, progress=lambda *args: seen.append(args))
    assert seen[-1] == ("verify", 3, 3)


def test_verify_needs_the_vault() -> None:
    world = _populated()
    world.vault.vanish()
    with pytest.raises(VaultMissingError):
        verify_all(world.ctx)


def test_verify_writes_nothing() -> None:
    world = _populated()
    world.person_edits(world.notes()[0], "status: active", "status: archived")
    with world.nobody_writes():
        verify_all(world.ctx)


def test_a_lost_archive_is_rebuilt_by_a_pass_from_two_equal_sides() -> None:
    world = _populated()
    notes = {path: world.data(path) for path in world.notes()}
    revisions = {fact.id: fact.revision for fact in world.facts()}
    _fresh(world)
    world.quiesce()
    assert {path: world.data(path) for path in world.notes()} == notes
    assert {fact.id: fact.revision for fact in world.facts()} == revisions
    assert world.conflicts() == []
    world.assert_at_rest()


@pytest.mark.parametrize("source", ["vault", "store"])
def test_the_base_is_rebuilt_from_two_equal_sides_without_a_write(source: str) -> None:
    world = _populated()
    notes = {path: world.data(path) for path in world.notes()}
    revisions = {fact.id: fact.revision for fact in world.facts()}
    _fresh(world)
    rebuild(world.ctx, source)
    assert {path: world.data(path) for path in world.notes()} == notes
    assert {fact.id: fact.revision for fact in world.facts()} == revisions
    world.assert_at_rest()


@pytest.mark.parametrize("archive", [True, False])
def test_the_store_is_rebuilt_from_the_vault(archive: bool) -> None:
    world = _populated()
    before = {fact.id: fact for fact in world.facts()}
    notes = {path: world.data(path) for path in world.notes()}
    _fresh(world, store=True, archive=archive)
    rebuild(world.ctx, "vault")
    world.assert_at_rest()
    after = {fact.id: fact for fact in world.facts()}
    assert after.keys() == before.keys()
    for fact_id, fact in before.items():
        same = after[fact_id].replace({"updatedAt": fact.updated_at})
        assert same.values() | {"relatedFactIds": []} == fact.values() | {"relatedFactIds": []}
        assert same.properties == fact.properties
        assert same.related_fact_ids == fact.related_fact_ids
    assert {path: world.data(path) for path in world.notes()} == notes


def test_the_vault_is_rebuilt_from_the_store() -> None:
    world = _populated()
    before = {path: world.text(path) for path in world.notes()}
    for path in world.notes():
        world.vault.delete(path)
    rebuild(world.ctx, "store")
    world.assert_at_rest()
    assert {path: world.text(path) for path in world.notes()} == before


def test_a_rebuild_from_the_vault_takes_the_persons_word_and_keeps_the_agents() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    rebuild(world.ctx, "vault")
    assert world.fact(fact.id).content == PERSONS
    assert PERSONS_ALPHA in world.note(fact.id)
    world.assert_at_rest()
    assert "what the agent says" in world.everything_kept()


def test_a_rebuild_from_the_store_takes_the_agents_word_and_keeps_the_persons() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    rebuild(world.ctx, "store")
    assert world.fact(fact.id).content == AGENTS
    assert ALPHA in world.note(fact.id)
    assert "what the agent says" in world.note(fact.id)
    world.assert_at_rest()
    assert PERSONS_ALPHA in world.everything_kept()


def test_a_rebuild_from_the_vault_keeps_facts_without_notes() -> None:
    world = World()
    world.mirrored()
    new = world.agent_remembers("New.", title="New")
    rebuild(world.ctx, "vault")
    assert world.is_alive(new.id)
    world.quiesce()
    assert "New." in world.note(new.id)


def test_a_rebuild_from_the_store_keeps_notes_without_facts() -> None:
    world = World()
    world.mirrored()
    world.person_writes("team-core/notes/mine.md", "Mine.\n")
    rebuild(world.ctx, "store")
    assert world.text("team-core/notes/mine.md").endswith("Mine.\n")


def test_a_rebuild_leaves_what_cannot_be_read_alone() -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), "status: active", "status: [active")
    bad = world.note(fact.id)
    world.agent_updates(fact.id, content=AGENTS)
    for source in ("vault", "store"):
        rebuild(world.ctx, source)
        assert world.note(fact.id) == bad
        assert world.fact(fact.id).content == AGENTS


def test_beside_an_older_store_a_note_counts_as_it_was_read_last() -> None:
    world = World()
    fact = world.mirrored()
    backup = world.store.snapshot()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.quiesce()
    world.person_edits(world.path(fact.id), "status: active", "status: [active")
    bad = world.note(fact.id)
    world.store.restore(backup)
    report = rebuild(world.ctx, "vault")
    assert action(report, fact.id).reason == "as its note was read last"
    assert world.note(fact.id) == bad
    assert PERSONS_ALPHA in world.fact(fact.id).content
    world.person_edits(world.path(fact.id), "status: [active", "status: done")
    world.quiesce()
    assert world.fact(fact.id).status == "done"
    assert PERSONS_ALPHA in world.note(fact.id)


def test_a_note_that_cannot_be_read_brings_back_what_an_older_store_never_had() -> None:
    world = World()
    world.mirrored("Stays.", title="A bystander")
    backup = world.store.snapshot()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), "status: active", "status: [active")
    world.store.restore(backup)
    rebuild(world.ctx, "vault")
    assert world.fact(fact.id).content == LINES


def test_a_rebuild_from_the_store_takes_notes_of_deleted_facts_away() -> None:
    world = World()
    fact = world.mirrored()
    path = world.path(fact.id)
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    rebuild(world.ctx, "store")
    assert path not in world.notes()
    world.assert_at_rest()
    assert LINES in world.everything_kept()


def test_a_rebuild_from_the_vault_restores_deleted_facts() -> None:
    world = World()
    fact = world.mirrored()
    world.agent_forgets(fact.id)
    rebuild(world.ctx, "vault")
    assert world.fact(fact.id).content == LINES
    world.assert_at_rest()


def test_a_rebuild_from_the_vault_keeps_a_deleted_fact_among_those_who_may_see_it() -> None:
    world = World()
    fact = world.mirrored()
    world.agent_forgets(fact.id)
    world.person_renames(world.path(fact.id), "public/notes/elsewhere.md")
    world.lose_archive()
    report = rebuild(world.ctx, "vault")
    assert world.fact(fact.id).scope == fact.scope
    assert "scope_move" in kinds(report)
    world.assert_at_rest()


@pytest.mark.parametrize("source", ["vault", "store"])
def test_a_note_that_comes_while_a_rebuild_begins_is_read_like_any_other(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
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


def test_a_rebuild_needs_the_store() -> None:
    world = World()
    world.mirrored()
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        rebuild(world.ctx, "vault")


@pytest.mark.parametrize("source", ["vault", "store"])
def test_a_rebuild_can_be_repeated(source: str) -> None:
    world = _populated()
    rebuild(world.ctx, source)
    notes = {path: world.data(path) for path in world.notes()}
    revisions = {fact.id: fact.revision for fact in world.facts()}
    rebuild(world.ctx, source)
    assert {path: world.data(path) for path in world.notes()} == notes
    assert {fact.id: fact.revision for fact in world.facts()} == revisions
    world.assert_at_rest()


def test_verify_says_how_far_it_is_with_many_facts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    for number in range(5):
        world.agent_remembers(f"{number}.", title=f"Fact {number}")
    world.quiesce()
    monkeypatch.setattr(verify_module, "FACTS_PER_CHUNK", 2)
    told: list[tuple[str, int, int]] = []
    proof = verify_all(world.ctx, progress=lambda *step: told.append(step))
    assert (proof.equal, proof.checked) == (True, 5)
    assert told == [("verify", 2, 5), ("verify", 4, 5), ("verify", 5, 5)]
    assert verify_all(world.ctx) == proof


def test_verify_names_a_scope_that_differs() -> None:
    world = World()
    fact = world.mirrored()
    world.agent_updates(fact.id, scope="public")
    (found,) = verify_all(world.ctx).differences
    assert (found.field, found.vault, found.store) == ("scope", "team-core", "public")


def test_a_rebuild_from_the_vault_deletes_no_fact_whose_note_is_gone() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.person_deletes(world.path(fact.id))
    rebuild(world.ctx, "vault")
    assert world.is_alive(fact.id)


def test_a_rebuild_from_the_store_of_what_is_deleted_on_both_sides_forgets_it() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    world.person_deletes(world.path(fact.id))
    rebuild(world.ctx, "store")
    world.quiesce()
    assert world.archive.find_base(fact.id) is None
    assert len(world.notes()) == 1
    world.assert_at_rest()


def test_a_rebuild_from_the_store_takes_notes_of_deleted_facts_away_without_a_base() -> None:
    world = World()
    fact = world.mirrored()
    path = world.path(fact.id)
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    world.lose_archive()
    rebuild(world.ctx, "store")
    assert path not in world.notes()
    assert LINES in world.everything_kept()
    world.assert_at_rest()


@pytest.mark.parametrize("archive", ["kept", "lost"])
def test_a_note_that_a_rebuild_takes_away_is_in_the_history_and_comes_back(
    archive: str,
) -> None:
    world = World()
    fact = world.mirrored()
    path = world.path(fact.id)
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    world.person_edits(path, "---\nid", "---\nmood: sunny # today\nid")
    world.person_edits(path, ALPHA, PERSONS_ALPHA)
    text = world.text(path)
    if archive == "lost":
        world.lose_archive()
    run = rebuild(world.ctx, "store").run
    assert path not in world.notes()
    entries = world.archive.history(run=run)
    (entry,) = [each for each in entries if each.field == "note"]
    assert isinstance(entry.before, dict)
    assert (entry.fact_id, entry.before["path"], entry.after) == (fact.id, path, None)
    assert world.archive.blob(str(entry.before["sha"])) == text.encode()
    undo_run(world.ctx, run)
    world.assert_at_rest()
    assert _timeless(world.note(fact.id)) == _timeless(text)
    assert world.fact(fact.id).content == PERSONS


def _timeless(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith("updatedAt:")]


@pytest.mark.parametrize("archive", ["kept", "lost"])
def test_what_a_rebuild_writes_over_is_in_the_history_and_comes_back(
    archive: str,
) -> None:
    world = World()
    fact = world.mirrored()
    world.person_edits(world.path(fact.id), ALPHA, PERSONS_ALPHA)
    world.person_edits(world.path(fact.id), "priority: 2", "priority: 1")
    if archive == "lost":
        world.lose_archive()
    run = rebuild(world.ctx, "store").run
    assert world.fact(fact.id).content == LINES
    before = {each.field: each.before for each in world.archive.history(run=run)}
    assert before == {"content": PERSONS, "priority": 1}
    undo_run(world.ctx, run)
    world.assert_at_rest()
    assert PERSONS in world.note(fact.id)
    assert world.fact(fact.id).priority == 1


def test_a_rebuild_from_the_store_has_nothing_to_do_for_a_fact_without_a_trace() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact.id)
    world.quiesce()
    world.lose_archive()
    report = rebuild(world.ctx, "store")
    assert taken(report, fact.id) == []
    assert world.archive.history(fact_id=fact.id) == []


@pytest.mark.parametrize("text", [ALPHA, PERSONS_ALPHA])
def test_a_rebuild_from_the_vault_gives_a_note_its_id_back(text: str) -> None:
    world = World()
    fact = world.mirrored()
    path = world.path(fact.id)
    world.person_edits(path, f"id: {fact.id}\n", "")
    world.person_edits(path, ALPHA, text)
    rebuild(world.ctx, "vault")
    assert f"id: {fact.id}\n" in world.text(path)
    assert text in world.fact(fact.id).content
    world.assert_at_rest()


def test_a_fact_that_the_store_lost_is_given_back_after_a_rebuild_from_it() -> None:
    world = World()
    fact = world.mirrored()
    world.mirrored("Stays.", title="A bystander")
    del world.store._rows[fact.id]
    rebuild(world.ctx, "store")
    assert not world.is_alive(fact.id)
    assert LINES in world.note(fact.id)
    world.assert_at_rest()
    assert world.fact(fact.id).content == LINES
