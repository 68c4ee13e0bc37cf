"""Stories that once ended badly, each as short as it could be made."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

from tests.proofs import agents, texts
from tests.proofs.world import Crash, World
from vaultsync.errors import StoreUnavailableError
from vaultsync.model import serialization as wire
from vaultsync.operations.rebuild import rebuild
from vaultsync.storage.store import StoreWrite


def _mirrored(count: int = 1, *, batch: int = 1000, **more: str) -> World:
    world = World(batch=batch)
    for _ in range(count):
        word = world.ledger.word
        lines = f"One {word()}.\nTwo {word()}.\nThree {word()}."
        world.remember({"title": "Plan", "content": lines, "tags": [word()], **more})
    world.turn()
    world.clock.advance(1)
    return world


def _agent(world: World, change: agents.Change, which: int = 0) -> None:
    word = world.ledger.word()
    world.update(list(world.facts())[which], lambda fact: change(fact, word))


def test_a_note_deleted_while_a_pass_writes_beside_it_is_seen_to_be_gone() -> None:
    world = _mirrored(3)
    kept = list(world.facts())[1]
    path = world.notes_by_id()[kept][0]
    for fact_id in list(world.facts()):
        if fact_id != kept:
            world.forget(fact_id)
    world.turn({6: lambda: world.delete(path)})
    world.quiesce()
    assert not world.facts()


def test_two_writers_of_one_line_in_an_outage_both_keep_their_words() -> None:
    world = _mirrored()
    world.store.away = True
    _agent(world, agents.first_line)
    world.store.away = False
    # Another process, whose connection holds.
    fact_id, fact = next(iter(world.facts().items()))
    row = world.store._rows[fact_id]
    word = world.ledger.word()
    other = fact.replace(agents.first_line(fact, word))
    before, after = wire.fact_to_json(fact), wire.fact_to_json(other)
    world.ledger.wrote("another agent", saw=before, over=before, after=after)
    world.store.write([StoreWrite(fact_id, other, row.feed_row.revision, "other")])
    world.quiesce()


def test_a_store_that_lost_only_what_the_mirror_wrote_is_noticed() -> None:
    world = _mirrored()
    world.keep_backup()
    world.edit(world.notes()[0], texts.append)
    world.turn()
    world.restore_backup()
    world.quiesce()


def test_a_fact_whose_folder_was_unreadable_gets_its_note_later() -> None:
    world = _mirrored()
    world.vault.break_folder("public")
    world.remember({"title": "Alice", "content": world.ledger.word()})
    world.turn()
    world.quiesce()
    assert len(world.notes()) == 2


def test_a_note_moved_to_another_type_while_its_fact_is_deleted_says_its_type() -> None:
    world = _mirrored(type="decision")
    world.rename(world.notes()[0], "public/notes/A.md")
    world.forget(next(iter(world.facts())))
    world.quiesce()
    assert b"type: note\n" in world.data("public/notes/A.md")


def test_an_agent_deletes_in_an_outage_what_it_cannot_see_changed() -> None:
    world = _mirrored()
    _agent(world, agents.append)
    world.store.away = True
    world.forget(next(iter(world.facts())))
    world.quiesce()


def test_a_tick_does_not_run_over_what_the_agent_wrote_since() -> None:
    world = _mirrored()
    _agent(world, agents.append)
    world.edit(world.notes()[0], texts.append)
    world.turn()
    world.tick(world.conflict_notes()[0])
    _agent(world, agents.append)
    world.quiesce()


def test_a_count_is_no_reason_to_write_a_note() -> None:
    world = _mirrored()
    path = world.notes()[0]
    world.edit(path, lambda data, _: texts._set(data, "accessCount", "3"))
    world.quiesce()
    _agent(world, agents.access)
    before = world.data(path)
    world.quiesce()
    assert world.data(path) == before


def test_a_note_with_a_decomposed_name_is_mirrored() -> None:
    world = World()
    world.turn()
    world.new_note("public/notes/e\u0301.md")
    world.quiesce()
    assert len(world.facts()) == 1


def test_a_note_renamed_and_broken_at_once_is_not_deleted() -> None:
    world = _mirrored()
    world.rename(world.notes()[0], "public/notes/A.md")
    world.break_yaml("public/notes/A.md")
    for _ in range(4):
        world.turn()
        world.clock.advance(5)
        assert len(world.facts()) == 1, world.tell()
    world.quiesce()


def test_a_note_restored_after_its_deletion_was_half_recorded_stays() -> None:
    world = _mirrored()
    world.delete(world.notes()[0])
    world.turn()
    world.clock.advance(5)
    world.store.lose_ack = True
    world.turn()
    world.store.lose_ack = False
    world.restore_from_trash()
    world.quiesce()
    assert len(world.notes()) == len(world.facts()) == 1


def test_what_a_rebuild_from_the_vault_replaces_in_the_store_is_kept() -> None:
    world = _mirrored()
    _agent(world, agents.append)
    world.ledger.at_least_kept(list(world.ledger.owed))
    world.run(lambda: rebuild(world.mirror, "vault"))
    world.quiesce()


def test_what_waits_in_the_outbox_is_not_what_a_rebuild_replaces() -> None:
    world = _mirrored()
    world.keep_backup()
    world.new_note("public/notes/A.md")
    world.turn()
    world.restore_backup()
    world.store.away = True
    _agent(world, agents.append)
    world.store.away = False
    world.quiesce()


def test_a_rebuild_that_was_interrupted_is_completed_by_the_next_pass() -> None:
    world = _mirrored(batch=1)
    world.keep_backup()
    _agent(world, agents.append)
    world.new_note("public/notes/A.md")
    world.turn()
    world.restore_backup()
    world.store.lose_ack = True
    world.turn()
    world.store.lose_ack = False
    world.quiesce()


def test_after_a_rebuild_that_was_interrupted_the_older_store_is_noticed_again() -> (
    None
):
    world = _mirrored(2, batch=1)
    world.keep_backup()
    _agent(world, agents.append, 1)
    world.turn()
    world.restore_backup()
    _agent(world, agents.append, 0)
    _agent(world, agents.append, 1)
    world.store.lose_ack = True
    world.turn()
    world.store.lose_ack = False
    world.quiesce()


def test_a_change_whose_answer_was_lost_is_a_change_of_what_was_read() -> None:
    world = _mirrored()
    world.keep_backup()
    _agent(world, agents.append)
    world.turn()
    world.restore_backup()
    world.store.lose_ack = True
    _agent(world, agents.append)
    world.store.lose_ack = False
    world.quiesce()


def test_what_an_interrupted_rebuild_replaced_in_the_store_is_kept() -> None:
    world = _mirrored()
    world.keep_backup()
    _agent(world, agents.append)
    world.turn()
    world.restore_backup()
    _agent(world, agents.append)
    world.store.lose_ack = True
    world.turn()
    world.quiesce()


def test_a_folder_with_a_racy_note_is_looked_into_again() -> None:
    # All of it within one tick of the file system's clock, and of equal length.
    world = _mirrored()
    path = world.notes()[0]
    world.edit(path, texts.append)
    world.turn()
    world.turn()
    stamp = world.vault.names[path].stamp
    world.save(path, world.data(path).replace(b"One w1w", b"Now w1w"))
    assert world.vault.names[path].stamp == stamp
    world.quiesce()
    assert next(iter(world.facts().values())).content.startswith("Now")


def test_a_save_into_a_displaced_file_outlives_the_archive() -> None:
    world = _mirrored()
    world.edit(world.notes()[0], texts.append)
    world.open(world.notes()[0])
    _agent(world, agents.first_line)
    world.turn()
    world.drop_archive()
    world.save_through_handle(world.editors[0])
    world.quiesce()


def test_a_rescued_save_survives_a_power_cut() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.open(world.notes()[0])
        world.forget(next(iter(world.facts())))
        world.turn()
        world.save_through_handle(world.editors[0])
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.power_loss(lambda step: False)
        world.quiesce()


def test_a_broken_note_that_moved_keeps_its_fact_when_its_old_place_is_taken() -> None:
    world = _mirrored()
    world.rename(world.notes()[0], "Inbox/A.md")
    world.break_yaml("Inbox/A.md")
    world.turn()
    world.remember({"title": "Plan", "content": world.ledger.word()})
    world.turn()
    world.quiesce()


def test_a_note_deleted_after_a_crash_that_followed_its_making_is_seen_to_be_gone() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        made = world.remember({"title": "Alice", "content": world.ledger.word()})
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        for path in world.notes_by_id().get(made or "", []):
            world.delete(path)
        world.quiesce()


def test_an_agents_edit_of_a_half_made_fact_reaches_its_note() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.new_note("public/notes/A.md")
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        _agent(world, agents.tag, -1)
        world.quiesce()


def test_taking_a_deletion_does_not_delete_what_was_written_since() -> None:
    world = _mirrored()
    world.edit(world.notes()[0], texts.append)
    world.forget(next(iter(world.facts())))
    world.turn()
    _agent(world, agents.append)
    world.command("store")
    world.quiesce()


def test_a_crash_while_a_note_is_made_again_is_repaired() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.delete(world.notes()[0])
        world.turn()
        world.clock.advance(5)
        _agent(world, agents.append)
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.quiesce()
        assert len(world.notes()) == 1


def test_an_older_store_does_not_overrule_a_note_that_cannot_be_read_now() -> None:
    world = _mirrored()
    world.keep_backup()
    world.edit(world.notes()[0], texts.append)
    world.turn()
    word = world.ledger.word()
    world.update(next(iter(world.facts())), lambda fact: agents.append(fact, word))
    world.turn()
    world.restore_backup()
    world.vault.break_folder("public")
    world.turn()
    world.vault.broken.clear()
    world.quiesce()
    assert any(word in fact.content for fact in world.facts().values())


def test_a_broken_note_counts_as_it_was_read_last_beside_an_older_store() -> None:
    world = _mirrored()
    path = world.notes()[0]
    world.keep_backup()
    world.edit(path, texts.append)
    world.turn()
    world.break_yaml(path)
    world.restore_backup()
    world.turn()
    world.quiesce()


def test_a_copy_whose_owner_was_unclear_becomes_a_note_of_its_own_when_it_is_clear() -> (
    None
):
    world = _mirrored()
    world.rename(world.notes()[0], "public/decisions/a.md")
    world.turn()
    _agent(world, agents.append)
    world.copy("public/decisions/a.md", "public/notes/A.md")
    world.rename("public/decisions/a.md", "public/decisions/A.md")
    world.turn()
    world.clock.advance(60)
    world.turn()
    world.copy("public/decisions/A.md", "public/decisions/a.md")
    world.quiesce()


def test_a_merge_without_a_base_that_a_full_disk_stopped_is_agreed_by_nobody() -> None:
    world = _mirrored()
    world.drop_archive()
    _agent(world, agents.tag)
    world.vault.quota = sum(len(each.data) for each in world.vault.names.values())
    world.turn()
    world.edit(world.notes()[0], texts.status)
    world.turn()
    world.quiesce()


def test_an_older_store_after_the_archive_was_lost_and_no_pass_ended_is_filled() -> (
    None
):
    world = _mirrored(batch=1)
    world.keep_backup()
    alice = world.remember({"title": "Alice", "content": world.ledger.word()})
    world.remember({"title": "Bob", "content": world.ledger.word()})
    world.turn()
    world.drop_archive()
    _agent(world, agents.tag, -1)
    world.vault.quota = sum(len(each.data) for each in world.vault.names.values())
    world.turn()
    world.restore_backup()
    world.quiesce()
    assert alice in world.facts()


def test_a_broken_note_that_moved_is_still_the_note_of_its_fact_without_an_archive() -> (
    None
):
    world = _mirrored()
    world.rename(world.notes()[0], "Inbox/A.md")
    world.break_yaml("Inbox/A.md")
    world.drop_archive()
    world.turn()
    assert world.notes() == ["Inbox/A.md"]
    world.quiesce()
    assert len(world.notes()) == len(world.facts()) == 1


def test_a_note_whose_id_was_not_written_yet_gets_it_beside_an_older_store() -> None:
    world = _mirrored()
    world.keep_backup()
    world.store.lose_ack = True
    world.new_note("public/notes/A.md")
    world.turn()
    world.begin_save("public/notes/A.md", empty=False)
    world.turn()
    world.restore_backup()
    world.turn()
    world.quiesce()
    assert all(texts.id_of(world.data(path)) for path in world.notes())


def test_a_note_that_moved_on_before_its_making_was_repaired_is_seen_to_be_gone() -> (
    None
):
    world = _mirrored()
    world.store.lose_ack = True
    world.new_note("team-core/notes/a.md")
    world.turn()
    world.store.lose_ack, world.store.away = False, True
    world.rename("team-core/notes/a.md", "public/notes/a.md")
    world.turn()
    world.quiesce()
    assert "public/notes/a.md" in world.notes()


def test_an_older_store_is_noticed_when_the_last_pass_did_not_come_to_its_end() -> None:
    world = _mirrored(2, batch=1)
    world.keep_backup()
    path = world.notes_by_id()[next(iter(world.facts()))][0]
    room = len(world.data(path)) + 20
    world.rename(path, path.replace("/notes/", "/decisions/"))
    _agent(world, agents.append, 1)
    used = sum(len(each.data) for each in world.vault.names.values())
    world.vault.quota = used + room  # for the first note, not for the second one
    world.turn()
    world.restore_backup()
    world.quiesce()
    assert [fact.type for fact in world.facts().values()] == ["decision", "note"]


def test_a_deletion_that_an_older_store_takes_back_gives_its_note_back() -> None:
    world = _mirrored(2, batch=1)
    world.keep_backup()
    world.forget(next(iter(world.facts())))
    _agent(world, agents.append)
    world.vault.quota = sum(len(each.data) for each in world.vault.names.values())
    world.turn()
    world.restore_backup()
    world.quiesce()


def test_a_note_that_brings_back_its_fact_shows_what_was_changed_before_the_deletion() -> (
    None
):
    world = _mirrored(2)
    fact_id = next(iter(world.facts()))
    world.forget(fact_id)
    world.delete(world.notes_by_id()[fact_id][0])
    world.turn()
    world.unearth(fact_id)
    _agent(world, agents.source)
    world.forget(fact_id)
    world.restore_from_trash()
    world.quiesce()
    assert fact_id in world.facts()


def test_a_save_into_a_displaced_file_is_kept_when_the_archive_is_lost_after_it() -> (
    None
):
    world = _mirrored()
    world.open(world.notes()[0])
    _agent(world, agents.first_line)
    world.turn()
    world.save_through_handle(world.editors[0])
    world.drop_archive()
    world.quiesce()


def test_a_displaced_save_waits_while_a_merge_of_its_note_is_not_repaired() -> None:
    world = _mirrored(2)
    one, other = (world.notes_by_id()[each][0] for each in world.facts())
    world.open(one)
    _agent(world, agents.append)
    world.turn()
    _agent(world, agents.first_line)
    world.edit(other, texts.append)
    world.store.lose_ack = True
    world.turn()
    world.store.lose_ack, world.store.away = False, True
    world.save_through_handle(world.editors[0])
    world.turn()
    world.quiesce()


def test_a_crash_while_a_field_is_put_back_is_repaired() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.edit(world.notes()[0], texts.source)
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.quiesce()


def test_a_deletion_whose_answer_was_lost_is_a_deletion_of_what_was_read() -> None:
    world = _mirrored()
    world.keep_backup()
    world.edit(world.notes()[0], texts.append)
    world.turn()
    world.restore_backup()
    world.store.lose_ack = True
    world.forget(next(iter(world.facts())))
    world.store.lose_ack = False
    world.quiesce()


def test_a_new_note_whose_name_differs_in_case_alone_does_not_stand_for_one_deleted() -> (
    None
):
    world = World(case_insensitive=True)
    world.turn()
    world.keep_backup()
    world.new_note("public/notes/con.md")
    world.turn()
    world.clock.advance(1)
    world.delete("public/notes/con.md")
    world.new_note("public/notes/CON.md")
    world.store.away = True
    world.turn()
    world.restore_backup()
    world.quiesce()
    assert [fact.title for fact in world.facts().values()] == ["CON"]


def test_a_note_whose_place_another_got_before_a_crash_is_seen_to_be_gone() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.delete(world.notes()[0])
        made = world.remember({"title": "Plan", "content": world.ledger.word()})
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.quiesce()
        assert list(world.facts()) == [made]


def test_an_older_store_does_not_overrule_what_a_new_archive_saw_brought_to_a_note() -> (
    None
):
    world = _mirrored()
    world.keep_backup()
    world.drop_archive()
    _agent(world, agents.tag)
    world.turn()
    _agent(world, agents.append)
    world.turn()
    (said,) = world.facts().values()
    world.vault.break_folder("public")
    world.restore_backup()
    world.turn()
    world.quiesce()
    (fact,) = world.facts().values()
    assert (fact.content, fact.tags) == (said.content, said.tags)


def test_two_writers_of_a_field_of_the_store_in_an_outage_both_keep_their_words() -> (
    None
):
    world = _mirrored()
    _agent(world, agents.source)
    world.store.away = True
    _agent(world, agents.source)
    world.quiesce()
    world.tick(world.conflict_notes()[0])
    world.quiesce()
    (fact,) = world.facts().values()
    assert fact.source == f"w{world.ledger.made}w"


def test_a_note_moves_to_the_place_of_one_that_lies_elsewhere_twice() -> None:
    world = _mirrored(2)
    one, other = (world.notes_by_id()[each][0] for each in world.facts())
    world.rename(one, "public/notes/A.md")
    world.copy("public/notes/A.md", "public/notes/B.md")
    world.edit("public/notes/A.md", texts.append)
    world.edit("public/notes/B.md", texts.append)
    world.rename(other, one)
    world.quiesce()
    world.quiesce()


def test_a_note_that_comes_back_after_a_rebuild_gives_its_fact_back() -> None:
    world = _mirrored()
    world.keep_backup()
    made = world.remember({"title": "Alice", "content": world.ledger.word()})
    world.turn()
    world.restore_backup()
    world.delete(world.notes_by_id()[made or ""][0])
    world.turn()
    world.restore_from_trash()
    world.quiesce()
    assert made in world.facts()


def test_a_save_that_begins_after_a_crash_and_looks_torn_is_kept() -> None:
    effect = 0
    while True:
        effect += 1
        world = World()
        world.remember({"title": "Plan", "content": world.ledger.word()})
        world.turn()
        _agent(world, agents.append)  # within the same second: but for it all is equal
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.begin_save(world.notes()[0], empty=False)
        world.turn()
        world.quiesce()


def test_a_note_that_is_deleted_as_soon_as_a_pass_made_it_is_seen_to_be_gone() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        made = world.remember({"title": "Alice", "content": world.ledger.word()})

        def deletes(world: World = world, made: str | None = made) -> None:
            for path in world.notes_by_id().get(made or "", []):
                world.delete(path)

        world.turn({effect: deletes})
        if len(world.trail) < effect:
            break
        world.quiesce()


def test_a_save_into_a_displaced_file_beside_an_older_store_takes_nothing_away() -> (
    None
):
    world = _mirrored()
    world.keep_backup()
    world.open(world.notes()[0])
    _agent(world, agents.append)
    world.turn()
    world.save_through_handle(world.editors[0])
    world.restore_backup()
    world.quiesce()


def test_an_edit_in_an_outage_beats_a_deletion_beside_a_store_that_lost_the_fact() -> (
    None
):
    world = _mirrored()
    world.keep_backup()
    made = world.remember({"title": "Alice", "content": world.ledger.word()})
    world.turn()
    world.store.away = True
    world.delete(world.notes_by_id()[made or ""][0])
    _agent(world, agents.append, -1)
    world.store.away = False
    world.restore_backup()
    world.quiesce()
    assert made in world.facts()


def test_what_an_older_store_knows_alone_comes_into_a_note_without_a_base() -> None:
    world = _mirrored()
    world.keep_backup()
    world.delete(world.notes()[0])
    world.turn()
    world.clock.advance(1)
    world.turn()
    world.restore_from_trash()
    world.restore_backup()
    _agent(world, agents.source)
    world.quiesce()


def test_a_note_that_is_deleted_after_a_crash_that_followed_its_move_is_seen_to_be_gone() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.rename(world.notes()[0], "Inbox/A.md")
        world.turn()
        world.rename("Inbox/A.md", "public/notes/A.md")
        world.turn()
        world.clock.advance(1)
        world.rename("public/notes/A.md", "Inbox/A.md")
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.delete("Inbox/A.md")
        world.quiesce()


def test_a_note_whose_place_another_moved_to_before_a_crash_is_no_copy() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored(2)
        one, other = list(world.facts())
        world.rename(world.notes_by_id()[one][0], "public/decisions/a.md")
        world.turn()
        world.clock.advance(1)
        world.rename("public/decisions/a.md", "Inbox/A.md")
        world.rename(world.notes_by_id()[other][0], "public/decisions/a.md")
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.turn()
        world.rename("public/decisions/a.md", "public/notes/B.md")
        world.quiesce()
        assert sorted(world.facts()) == sorted([one, other])


def test_a_note_that_is_deleted_while_a_pass_follows_its_move_is_seen_to_be_gone() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.rename(world.notes()[0], "team-core/notes/A.md")
        _agent(world, agents.append)

        def deletes(world: World = world) -> None:
            for path in world.notes():
                world.delete(path)

        world.turn({effect: deletes})
        if len(world.trail) < effect:
            break
        world.quiesce()


def test_what_is_saved_again_after_a_write_without_an_answer_is_no_deletion_by_an_agent() -> (
    None
):
    world = _mirrored()
    path = world.notes()[0]
    world.begin_save(path, empty=True)
    world.clock.advance(45)
    world.store.lose_ack = True
    world.turn()
    world.store.lose_ack = False
    _agent(world, agents.append)
    world.end_save(path)
    world.quiesce()


def test_what_is_saved_again_after_a_crash_is_no_deletion_by_an_agent() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        path = world.notes()[0]
        world.begin_save(path, empty=True)
        world.clock.advance(45)
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        _agent(world, agents.append)
        world.end_save(path)
        world.quiesce()


def test_what_a_person_puts_back_after_a_crash_is_back_whatever_an_agent_adds() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        path = world.notes()[0]
        before = world.data(path)
        world.save(path, before.replace(b"  - w4w\n", b"").replace(b"One w1w.\n", b""))
        world.clock.advance(1)
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        _agent(world, agents.tag)
        world.save(path, before)
        world.quiesce()
        (fact,) = world.facts().values()
        assert "w4w" in fact.tags
        assert "One w1w." in fact.content


def test_what_an_agent_puts_back_after_a_crash_is_back_whatever_the_person_adds() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        (before,) = world.facts().values()
        _agent(world, lambda _, word: {"tags": [word], "content": f"Only {word}."})
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.edit(world.notes()[0], texts.mood)
        said = {"tags": list(before.tags), "content": before.content}
        world.update(before.id, lambda _, said=said: said)  # type: ignore[misc]
        world.quiesce()
        (fact,) = world.facts().values()
        assert "w4w" in fact.tags
        assert before.content in fact.content


def test_nothing_is_merged_before_it_is_known_what_of_the_last_pass_was_written() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        path = world.notes()[0]
        world.begin_save(path, empty=True)
        world.clock.advance(45)
        world.store.lose_ack = True
        world.turn()
        world.store.lose_ack = False
        _agent(world, agents.append)
        world.end_save(path)

        def falls_silent(world: World = world) -> None:
            if world.trail[-1].startswith("store"):
                raise StoreUnavailableError("gone")

        world.turn({effect: falls_silent, effect + 1: falls_silent})
        if len(world.trail) < effect:
            break
        world.quiesce()


def test_a_new_note_that_changes_in_a_pass_that_crashes_is_one_fact() -> None:
    for leaves, first in product((False, True), range(10, 20)):
        crash = first
        while True:
            crash += 1
            world = World()
            world.turn()
            world.new_note("public/notes/A.md")

            def deed(world: World = world, *, leaves: bool = leaves) -> None:
                if leaves:
                    world.rename("public/notes/A.md", "public/notes/B.md")
                else:
                    world.edit("public/notes/A.md", texts.append, rename=True)

            with suppress(Crash):
                world.turn({first: deed, crash: world.die})
            if len(world.trail) < crash:
                break
            world.quiesce()
            assert len(world.facts()) == len(world.notes()) == 1, world.tell()


def test_an_older_store_that_comes_back_after_a_crash_is_filled_from_the_notes() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.keep_backup()
        world.edit(world.notes()[0], texts.append)
        _agent(world, agents.tag)
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.restore_backup()
        world.quiesce()


def test_a_deletion_that_is_taken_takes_the_note_wherever_it_was_moved_to() -> None:
    world = _mirrored(2)
    fact_id = next(iter(world.facts()))
    (path,) = world.notes_by_id()[fact_id]
    world.edit(path, texts.append)
    world.forget(fact_id)
    world.turn()
    world.rename(path, "team-core/notes/A.md")
    world.tick(world.conflict_notes()[0])
    world.quiesce()
    assert fact_id not in world.facts()


def test_a_tick_in_a_conflict_note_of_a_crashed_pass_is_not_left_unheard() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.edit(world.notes()[0], texts.append)
        world.forget(next(iter(world.facts())))
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        for path in world.conflict_notes():
            world.tick(path)
        world.quiesce()
        assert all(b"[x]" not in world.data(p) for p in world.conflict_notes())


def test_an_older_store_is_told_by_what_a_crashed_pass_saw_replaced() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.keep_backup()
        _agent(world, agents.source)
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.edit(world.notes()[0], texts.append)
        world.turn()
        world.restore_backup()
        world.break_yaml(world.notes()[0])
        world.turn()
        world.quiesce()


def test_a_tick_is_about_the_note_wherever_it_lies_now() -> None:
    world = _mirrored()
    world.edit(world.notes()[0], texts.append)
    world.forget(next(iter(world.facts())))
    world.turn()
    world.rename(world.notes()[0], "team-core/notes/A.md")
    world.tick(world.conflict_notes()[0])
    world.quiesce()
    assert not world.facts()


def test_the_history_tells_what_a_crashed_pass_did() -> None:
    effect = 0
    while True:
        effect += 1
        world = _mirrored(2)
        kept, gone = list(world.facts())
        _agent(world, agents.status)
        world.edit(world.notes_by_id()[kept][0], texts.title)
        world.forget(gone)
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.quiesce()
        fact = world.facts()[kept]
        told = {x.field: (x.side, x.after) for x in world.archive.history(fact_id=kept)}
        assert told["status"] == ("store", fact.status)
        assert told["title"] == ("vault", fact.title)
        assert gone in world.archive.note_tombstones([gone])


def test_an_older_store_is_told_by_what_a_note_made_again_showed_first() -> None:
    world = _mirrored()
    world.keep_backup()
    _agent(world, agents.append)
    world.delete(world.notes()[0])
    world.quiesce()
    world.restore_backup()
    world.break_yaml(world.notes()[0])
    world.turn()
    world.quiesce()


def test_an_older_store_is_told_by_what_a_fact_made_again_said_before() -> None:
    world = World()
    world.turn()
    world.keep_backup()
    world.remember({"title": "Plan", "content": world.ledger.word()})
    world.turn()
    empty = world.backup
    world.keep_backup()
    early, world.backup = world.backup, empty
    world.edit(world.notes()[0], texts.append)
    world.restore_backup()
    world.quiesce()
    world.backup = early
    world.restore_backup()
    world.break_yaml(world.notes()[0])
    world.turn()
    world.quiesce()


def test_a_copy_that_is_broken_before_its_id_was_written_gets_it_when_it_is_mended() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.copy(world.notes()[0], "public/notes/A.md")
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        world.break_yaml("public/notes/A.md")
        world.turn()
        world.quiesce()
        assert len(world.facts()) == 2


def test_what_is_written_after_a_tick_in_a_note_of_a_crashed_pass_is_not_deleted() -> (
    None
):
    effect = 0
    while True:
        effect += 1
        world = _mirrored()
        world.edit(world.notes()[0], texts.append)
        world.forget(next(iter(world.facts())))
        world.crash_at(effect)
        if len(world.trail) < effect:
            break
        for path in world.conflict_notes():
            world.tick(path)
        world.edit(world.notes()[0], texts.append)
        world.quiesce()


def test_an_older_store_is_told_by_a_deletion_that_was_taken_back_since() -> None:
    world = _mirrored()
    fact_id = next(iter(world.facts()))
    world.forget(fact_id)
    world.quiesce()
    world.keep_backup()
    world.unearth(fact_id)
    _agent(world, agents.append)
    world.quiesce()
    world.restore_backup()
    world.break_yaml(world.notes()[0])
    world.turn()
    world.quiesce()
    assert len(world.facts()) == len(world.notes()) == 1


def test_a_half_saved_note_is_not_torn_when_a_full_disk_stopped_the_pass_before() -> (
    None
):
    world = World()
    content = f"One {world.ledger.word()}.\nTwo {world.ledger.word()}."
    world.remember({"title": "Plan", "content": content})
    world.turn()
    _agent(world, agents.append)
    world.edit(world.notes()[0], texts.change_line)
    world.vault.quota = sum(len(i.data) for i in world.vault.names.values()) + 600
    world.remember({"title": "Alice", "content": "A long text.\n" * 60})
    world.turn()
    assert world.archive.intents()
    world.begin_save(world.notes()[0], empty=False)
    world.turn()
    world.quiesce()


def _broken_elsewhere() -> tuple[World, str, str]:
    """A note that moved and broke while another got its place, after a pass."""
    world = _mirrored(2)
    one, other = list(world.facts())
    place = world.notes_by_id()[one][0]
    world.rename(place, "Inbox/A.md")
    world.break_yaml("Inbox/A.md")
    world.rename(world.notes_by_id()[other][0], place)
    world.turn()
    return world, one, other


def test_a_broken_note_whose_place_another_got_is_its_note_when_it_is_mended() -> None:
    world, one, other = _broken_elsewhere()
    world.quiesce()
    assert world.notes_by_id()[one] == ["Inbox/A.md"]
    assert sorted(world.facts()) == sorted([one, other])


def test_a_broken_note_whose_place_another_got_is_gone_after_two_looks() -> None:
    world, one, other = _broken_elsewhere()
    del world.broken["Inbox/A.md"]
    world.delete("Inbox/A.md")
    world.clock.advance(5)
    world.turn()
    assert sorted(world.facts()) == sorted([one, other])
    world.quiesce()
    assert list(world.facts()) == [other]


def test_copies_that_got_ids_of_their_own_in_a_crash_do_not_keep_a_fact_alive() -> None:
    world = _mirrored()
    path = world.notes()[0]
    world.copy(path, "public/notes/a.md")
    world.copy(path, "public/notes/CON.md")
    world.turn({1: lambda: world.delete(path)})
    world.restore_from_trash()
    world.store.lose_ack = True
    world.turn({1: lambda: _agent(world, agents.append)})
    world.turn()
    world.turn({1: lambda: world.delete(path)})
    world.quiesce()


def test_a_half_saved_note_does_not_bring_back_one_that_lay_there_before() -> None:
    world = _mirrored()
    (gone,) = world.facts()
    world.delete(world.notes()[0])
    world.remember({"title": "Plan", "content": world.ledger.word()})
    world.touch(gone)
    world.turn()
    world.begin_save(world.notes()[0], empty=False)
    world.clock.advance(5)
    world.turn()
    world.quiesce()
    assert len(world.facts()) == 1


def test_what_an_agent_adds_to_an_older_fact_overrules_a_note_that_may_be_a_copy() -> (
    None
):
    world = _mirrored()
    world.keep_backup()
    world.edit(world.notes()[0], texts.append)
    world.quiesce()
    world.rename(world.notes()[0], "team-core/notes/A.md")
    world.restore_backup()
    _agent(world, agents.append)
    world.vault.break_folder("public/notes")
    world.turn()
    world.quiesce()


def test_a_note_that_lies_elsewhere_unread_does_so_for_a_rebuild_too() -> None:
    for twins, effect in product((True, False), range(1, 28)):
        world = _mirrored(2)
        one, other = world.facts()
        place = world.notes_by_id()[one][0]
        world.keep_backup()
        world.edit(place, texts.append)
        world.quiesce()
        world.rename(place, "Inbox/A.md")
        if twins:
            world.copy("Inbox/A.md", "Inbox/CON.md")
        else:
            world.break_yaml("Inbox/A.md")
        world.rename(world.notes_by_id()[other][0], place)
        world.turn()
        world.restore_backup()
        world.crash_at(effect)
        world.quiesce()
        assert world.notes_by_id()[other] == [place]
        assert twins or world.notes_by_id()[one] == ["Inbox/A.md"]


def test_an_older_store_is_noticed_wherever_a_pass_that_wrote_only_notes_ended() -> (
    None
):
    for cut, effect in product((False, True), range(1, 28)):
        world = _mirrored()
        world.keep_backup()
        _agent(world, agents.append)
        world.crash_at(effect)
        world.restore_backup()
        if cut:
            world.power_loss(lambda _: False)
        world.quiesce()


def test_a_note_that_was_put_back_before_its_deletion_was_known_is_seen() -> None:
    for effect in range(1, 28):
        world = _mirrored()
        world.delete(world.notes()[0])
        world.turn()
        world.crash_at(effect)
        world.restore_from_trash()
        world.clock.advance(1)
        world.store.away = True
        world.turn()
        world.store.away = False
        world.quiesce()
        assert len(world.facts()) == len(world.notes()) == 1
