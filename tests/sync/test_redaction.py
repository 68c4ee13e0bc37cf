"""Secrets and scripts on their way through passes: kept in the store, hidden in the vault."""

from __future__ import annotations

import random
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from tests import secrets
from tests.world import LINES, World, kinds, notice
from vaultsync.errors import InvalidFieldError, UnknownPlaceholderError
from vaultsync.facts import service as fact_work
from vaultsync.facts.listing import select_facts
from vaultsync.facts.service import visible_conflicts
from vaultsync.index_files.entry import IndexEntry
from vaultsync.index_files.service import _escaped_entry
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.view import NoteView
from vaultsync.operations.rebuild import rebuild
from vaultsync.operations.undo import undo_run
from vaultsync.operations.verify import verify_all
from vaultsync.privacy.escaping import active_constructs
from vaultsync.privacy.placeholders import Redactor
from vaultsync.storage.store_view import StoreView
from vaultsync.sync.conflicts import (
    ConflictResolution,
    redact_conflict,
    redact_conflicts,
    resolve_conflict,
)
from vaultsync.sync.write_through import NoteWriter

DICE = random.Random("vaultsync passes")
TOKEN, OTHER = secrets.token("github", DICE), secrets.token("stripe", DICE)
VIEW = NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True)
NAME, OTHER_NAME = VIEW.redact_text(TOKEN), VIEW.redact_text(OTHER)
TEXT = f"Alpha says this.\n\nThe key is {TOKEN}.\n\nCharlie says more."
UNKNOWN = "[REDACTED:github:00000000]"


@pytest.fixture
def world() -> World:
    return World(view=VIEW)


@pytest.fixture
def fact(world: World) -> Fact:
    return world.mirrored(TEXT)


def in_vault(world: World) -> str:
    """All names and bytes of the vault."""
    files = {**world.vault.files, **world.vault.names}
    return "\n".join(
        [*map(str, files), *(each.data.decode(errors="replace") for each in files.values())]
    )


@pytest.mark.parametrize("at_once", [False, True])
def test_what_an_agent_remembers_is_hidden_in_note_and_name(world: World, at_once: bool) -> None:
    fact = world.agent_remembers(TEXT, title=f"Key {TOKEN}", tags=[TOKEN])
    if at_once:
        through = NoteWriter(world.ctx)
        through.note(fact, actor="indy")
        through.flush()
        assert TOKEN not in in_vault(world)
    world.assert_at_rest()
    assert TOKEN not in in_vault(world)
    assert NAME in world.note(fact.id)
    assert world.fact(fact.id).content == TEXT


def test_edits_of_both_sides_are_merged_as_true_texts(world: World, fact: Fact) -> None:
    world.person_edits(fact, "Alpha", f"{NAME} alpha")
    world.agent_updates(fact.id, content=TEXT.replace("Charlie", f"{OTHER} charlie"))
    assert world.sync().counts["conflicts"] == 0
    merged = TEXT.replace("Alpha", f"{TOKEN} alpha").replace("Charlie", f"{OTHER} charlie")
    assert world.fact(fact.id).content == merged
    assert OTHER not in in_vault(world)
    assert OTHER_NAME in world.note(fact.id)
    world.assert_at_rest()


def test_a_placeholder_that_a_person_deletes_is_a_secret_deleted(world: World, fact: Fact) -> None:
    world.person_edits(fact, f"The key is {NAME}.\n\n", "")
    world.sync()
    assert TOKEN not in world.fact(fact.id).content
    world.assert_at_rest()


def test_what_was_hidden_stays_so_and_is_understood_when_what_told_it_is_gone(world: World) -> None:
    fact = world.mirrored("The password: hunter2zebra.", tags=["hunter2zebra", "ops"])
    assert "hunter2zebra" not in world.note(fact.id)
    world.agent_updates(fact.id, content="Ask Alice.")
    world.quiesce()
    assert world.archive.notices() == []
    assert "hunter2zebra" not in world.note(fact.id)
    world.person_edits(fact, "- ops", "- on-call")
    world.assert_at_rest()
    assert world.fact(fact.id).tags == ("hunter2zebra", "on-call")


def test_a_placeholder_that_stands_for_nothing_is_refused_and_said(world: World) -> None:
    fact = world.mirrored(TEXT, context="why")
    world.person_edits(fact, "Alpha", UNKNOWN)
    world.person_edits(fact, "why", "because")
    report = world.sync()
    assert UNKNOWN in notice(report, "invalid_field").message
    assert world.fact(fact.id).content == TEXT
    assert world.fact(fact.id).context == "because"
    assert UNKNOWN in world.text(fact)
    world.quiesce()
    assert [each.kind for each in world.archive.notices()] == ["invalid_field"]
    # An agent's edit of another field goes on; one of this field waits, and is said.
    world.agent_updates(fact.id, context="later")
    world.quiesce()
    assert "later" in world.text(fact)
    assert UNKNOWN in world.text(fact)
    world.agent_updates(fact.id, content=f"{TEXT} And more.")
    report = world.sync()
    assert kinds(report) == ["held_field", "invalid_field"]
    world.person_edits(fact, UNKNOWN, "Alpha")
    world.quiesce()
    assert world.archive.notices() == []
    world.assert_equal_sides()


def test_a_secret_that_a_person_types_stays_in_the_note_and_nowhere_else(world: World) -> None:
    fact = world.mirrored(LINES)
    world.person_edits(fact, "Alpha", f"{TOKEN} alpha")
    before = world.text(fact)
    world.quiesce()
    assert world.text(fact) == before
    assert TOKEN in world.fact(fact.id).content
    assert TOKEN not in world.ctx.redacted_store.get(fact.id).content
    world.agent_updates(fact.id, status="archived")
    world.assert_at_rest()
    assert TOKEN in world.text(fact)
    assert world.text(fact).count("\n") == before.count("\n")


def test_a_script_that_a_person_writes_stays_and_an_agents_is_disarmed(world: World) -> None:
    fact = world.mirrored(f"{LINES}\n\n<% theirs %>")
    assert "<\\% theirs %>" in world.text(fact)
    world.person_edits(fact, "Alpha", "<% mine %> alpha")
    world.quiesce()
    assert "<% mine %>" in world.text(fact)
    assert "<% mine %>" in world.fact(fact.id).content
    world.agent_updates(fact.id, content=world.fact(fact.id).content + "\n<% more %>")
    world.quiesce()
    assert "<% mine %>" in world.text(fact)
    assert "<\\% more %>" in world.text(fact)
    # Who takes the backslash out means to run it; nothing else changes.
    world.person_edits(fact, "<\\% theirs", "<% theirs")
    before = world.text(fact)
    world.assert_at_rest()
    assert world.text(fact) == before


def test_a_copy_of_a_note_has_the_secrets_of_the_note(world: World, fact: Fact) -> None:
    world.person_copies(fact, "team-core/notes/copy.md")
    world.assert_at_rest()
    (copy,) = [each for each in world.facts() if each.id != fact.id]
    assert copy.content == TEXT


def test_in_a_new_note_a_placeholder_is_text(world: World) -> None:
    world.person_writes("team-core/notes/new.md", f"# New\n\n{UNKNOWN}\n")
    world.quiesce()
    (fact,) = world.facts()
    assert fact.content == UNKNOWN
    world.person_edits("team-core/notes/new.md", UNKNOWN, f"x {UNKNOWN}")
    world.assert_at_rest()
    assert world.fact(fact.id).content == f"x {UNKNOWN}"


def test_conflict_notes_and_their_records_hide_and_disarm(world: World) -> None:
    fact = world.mirrored(TEXT, title=f"T {TOKEN}")
    world.person_edits(fact, f"key is {NAME}", "key is gone <% a %>")
    theirs = TEXT.replace(f"key is {TOKEN}", f"key is {OTHER} <% b %>")
    world.agent_updates(fact.id, content=theirs)
    assert world.sync().counts["conflicts"] == 1
    (conflict,) = world.conflicts()
    assert conflict.fields[0].store == theirs
    for away in (False, True):
        world.store.away = away
        shown = str(redact_conflict(world.ctx, conflict))
        assert TOKEN not in shown
        assert OTHER not in shown
    world.store.away = False
    assert TOKEN not in in_vault(world)
    assert OTHER not in in_vault(world)
    (text,) = [world.text(each) for each in world.conflict_notes()]
    assert "<%" not in text
    assert OTHER_NAME in text
    resolve_conflict(world.ctx, ConflictResolution(conflict, "store", ("content",)))
    world.quiesce()
    assert world.fact(fact.id).content == theirs
    assert OTHER not in in_vault(world)
    world.assert_equal_sides()


def test_a_text_made_of_both_versions_may_keep_their_placeholders(world: World, fact: Fact) -> None:
    world.person_edits(fact, "The key is", "The good key is")
    world.agent_updates(fact.id, content=TEXT.replace("The key is", f"{OTHER} is"))
    world.sync()
    (conflict,) = world.conflicts()
    wrong = ConflictResolution(conflict, "vault", ("content",), f"never {UNKNOWN}")
    with pytest.raises(UnknownPlaceholderError):
        resolve_conflict(world.ctx, wrong)
    by_hand = f"{NAME} and {OTHER_NAME}"
    resolve_conflict(world.ctx, ConflictResolution(conflict, "vault", ("content",), by_hand))
    world.quiesce()
    assert world.fact(fact.id).content == f"{TOKEN} and {OTHER}"
    assert OTHER not in in_vault(world)


@pytest.mark.parametrize("agent", [None, "indy"])
def test_the_facts_of_many_conflicts_are_read_at_once(world: World, agent: str | None) -> None:
    """A server of a store would be asked for each of them."""
    for number in range(5):
        fact = world.mirrored(TEXT, title=f"T {number}")
        world.person_edits(fact, "Alpha", "A person")
        world.agent_updates(fact.id, content=TEXT.replace("Alpha", "An agent"))
    world.sync()
    store = Mock(wraps=world.store)
    ctx = replace(world.ctx, store=store)
    conflicts = redact_conflicts(ctx, visible_conflicts(ctx, agent=agent))
    assert len(conflicts) == 5
    assert TOKEN not in str(conflicts)
    assert len(store.mock_calls) == (1 if agent is None else 2)


def test_without_a_lens_conflicts_show_what_they_are() -> None:
    world = World()
    fact = world.mirrored(TEXT)
    world.person_edits(fact, "Alpha", "A person")
    world.agent_updates(fact.id, content=TEXT.replace("Alpha", "An agent"))
    world.sync()
    (conflict,) = world.conflicts()
    assert redact_conflict(world.ctx, conflict) is conflict
    assert world.ctx.redacted_store is world.store


def test_a_crash_before_the_note_is_written_loses_no_secret(world: World, fact: Fact) -> None:
    world.person_edits(fact, "Alpha", "A person")
    world.agent_updates(fact.id, content=TEXT.replace("Charlie", f"Charlie {OTHER}"))
    world.dies_at("exchange")
    world.assert_at_rest()
    merged = TEXT.replace("Alpha", "A person").replace("Charlie", f"Charlie {OTHER}")
    assert world.fact(fact.id).content == merged
    assert OTHER not in world.note(fact.id)


def test_a_note_comes_back_hidden_when_its_fact_is_restored(world: World, fact: Fact) -> None:
    world.person_edits(fact, "Alpha", "<% mine %>")
    world.quiesce()
    world.agent_forgets(fact.id)
    world.quiesce()
    assert world.notes() == []
    fact_work.restore(world.ctx, fact.id, agent=None)
    world.assert_at_rest()
    assert TOKEN not in in_vault(world)
    assert "<% mine %>" in world.note(fact.id)


def test_a_rebuild_from_either_side_keeps_the_secrets(world: World, fact: Fact) -> None:
    for source in ("store", "vault"):
        rebuild(world.ctx, source)
        world.quiesce()
        assert world.fact(fact.id).content == TEXT
        assert TOKEN not in in_vault(world)
    world.lose_archive()
    rebuild(world.ctx, "store")
    world.quiesce()
    assert world.fact(fact.id).content == TEXT
    world.assert_equal_sides()


def test_an_undo_takes_back_what_was_hidden(world: World, fact: Fact) -> None:
    world.person_edits(fact, f"The key is {NAME}.", "No key.")
    report = world.sync()
    undo_run(world.ctx, report.run)
    assert world.fact(fact.id).content == TEXT
    assert NAME in world.note(fact.id)
    assert TOKEN not in in_vault(world)


@pytest.mark.parametrize("key", [b"k", b"o"])
def test_placeholders_of_any_key_come_back_by_edits(world: World, fact: Fact, key: bytes) -> None:
    view = NoteView.of(Redactor(key * 32), redacts=True, escapes=True)
    world.ctx = replace(world.ctx, view=view)
    world.person_edits(fact, "Alpha", "A person")
    world.assert_at_rest()
    assert world.fact(fact.id).content == TEXT.replace("Alpha", "A person")
    assert NAME in world.note(fact.id)


def test_links_to_a_fact_do_not_tell_its_title(world: World) -> None:
    one = world.mirrored(TEXT, title=f"Key {TOKEN}")
    world.mirrored("See it.", title="Another", relatedFactIds=[one.id])
    assert TOKEN not in in_vault(world)
    world.assert_at_rest()


def test_an_agent_may_write_back_what_it_was_shown(world: World) -> None:
    fact = world.mirrored(TEXT, tags=["a"])
    shown = world.ctx.redacted_store.get(fact.id).content
    assert NAME in shown
    world.agent_updates(fact.id, content=f"{shown} And so on.")
    assert world.fact(fact.id).content == f"{TEXT} And so on."
    fact_work.update(world.ctx, fact.id, {}, agent="indy", add_tags=[NAME])
    assert world.fact(fact.id).tags == ("a", TOKEN)
    fact_work.update(world.ctx, fact.id, {}, agent="indy", remove_tags=[NAME])
    assert world.fact(fact.id).tags == ("a",)
    fresh = fact_work.supersede(world.ctx, fact.id, f"now {NAME}", agent="indy")
    assert fresh.content == f"now {TOKEN}"


def test_a_placeholder_that_an_agent_made_up_is_refused(world: World, fact: Fact) -> None:
    with pytest.raises(UnknownPlaceholderError, match="00000000"):
        world.agent_updates(fact.id, content=f"use {UNKNOWN}")
    assert world.fact(fact.id).content == TEXT


def test_a_secret_in_which_an_entity_is_named_is_not_linked(world: World) -> None:
    world.mirrored("A person.", type="person", title="Alice")
    said = "The password: Tr0ub-Alice-9x. Later more."
    assert world.agent_remembers(said).content == said
    assert "[[Alice]]" in world.agent_remembers("Alice has more.").content


def test_a_value_that_no_field_takes_is_told_as_it_was_said(world: World) -> None:
    key = secrets.OTHERS["private-key"][0](DICE)
    fact = world.mirrored(f"{key}\n\nand {TOKEN}", tags=["a"])
    name = VIEW.redact_text(key)
    for values in ({"priority": NAME}, {"context": name}):
        with pytest.raises(InvalidFieldError) as wrong:
            world.agent_updates(fact.id, **values)
        assert "REDACTED" in wrong.value.message
        assert TOKEN not in wrong.value.message
        assert "PRIVATE KEY" not in wrong.value.message
    with pytest.raises(InvalidFieldError, match="tags"):
        fact_work.update(world.ctx, fact.id, {}, agent="indy", add_tags=[name])


def test_what_differs_and_what_was_is_told_without_secrets(world: World) -> None:
    fact = world.mirrored("The password: hunter2zebra.", tags=["hunter2zebra"])
    path = world.path(fact.id)
    world.person_edits(path, "priority: 2", f"priority: {TOKEN}")
    world.agent_updates(fact.id, title="hunter2zebra", status="archived")
    told = verify_all(world.ctx)
    assert told.differences
    assert "hunter2zebra" not in str(told)
    world.quiesce()
    held = verify_all(world.ctx).held
    assert held
    assert TOKEN not in str(held)
    world.agent_remembers(f"Alone {TOKEN}.")
    assert TOKEN not in str(verify_all(world.ctx))
    assert "hunter2" not in str(fact_work.history(world.ctx, fact.id, agent=None))
    world.agent_forgets(fact.id)
    world.quiesce()
    assert fact_work.history(world.ctx, fact.id, agent=None)[-1].before == path


def test_while_the_store_is_away_placeholders_are_understood_too(world: World, fact: Fact) -> None:
    shown = TEXT.replace(TOKEN, NAME)
    world.store.away = True
    world.agent_updates(fact.id, content=f"{shown} Later.")
    world.store.away = False
    world.assert_at_rest()
    assert world.fact(fact.id).content == f"{TEXT} Later."


def test_notices_hide_what_they_repeat(world: World) -> None:
    fact = world.mirrored("x", priority=2)
    world.person_edits(fact, "priority: 2", f"priority: {TOKEN}")
    assert TOKEN not in notice(world.sync(), "invalid_field").message
    assert TOKEN not in str(world.archive.notices())
    assert TOKEN not in world.data(fact).decode().replace(TOKEN, "", 1)
    summary = world.vault.read_meta(VaultPath(".meta/sync-state.json")) or b""
    assert TOKEN.encode() not in summary


def test_what_is_listed_and_read_to_be_shown_is_hidden(world: World, fact: Fact) -> None:
    (listed,) = select_facts(world.ctx, agent=None).facts
    assert listed.content == TEXT.replace(TOKEN, NAME)
    shown = world.ctx.redacted_store
    assert isinstance(shown, StoreView)
    assert shown.find_many([fact.id])[fact.id].content == listed.content
    assert [each.content for each in shown.iter_facts()] == [listed.content]
    assert shown.get(fact.id).content == listed.content
    assert shown.tombstone(fact.id) is None
    world.agent_forgets(fact.id)
    buried = shown.tombstone(fact.id)
    assert buried is not None
    assert buried.content == listed.content
    for write in (
        lambda: shown.write([]),
        lambda: shown.count_accesses({}, "x"),
        lambda: shown.drop_replaced([]),
    ):
        with pytest.raises(NotImplementedError):
            write()
    again = world.agent_remembers(TEXT)
    world.agent_updates(again.id, content="Harmless.")
    assert shown.replaced_ids() == [again.id]
    (kept,) = shown.replaced_versions([again.id])
    assert kept.fact.content == listed.content
    shown.close()
    row = shown.last_write(fact.id)
    assert row is not None
    assert row in shown.feed()
    assert shown.revision_at(row.seq) == row.revision
    assert shown.last_ops([fact.id]) == world.store.last_ops([fact.id])
    assert shown.state().store_id == f"{world.store.state().store_id}~{VIEW.version}"


ALONE = sorted(kind for kind in secrets.TOKENS if kind != "bearer" and "hook" not in kind)
"""Kinds of tokens that are secrets wherever they stand."""
CANARIES = ("content", "title", "context", "source", "sessionId", "decisionRationale", "role")


@pytest.mark.long(5)
@pytest.mark.parametrize("seed", range(12))
def test_planted_secrets_never_reach_the_vault(seed: int) -> None:
    """Whatever agents write, in whatever field, and whatever a person does with the note."""
    dice = random.Random(f"vaultsync canary {seed}")
    world = World(view=VIEW)
    planted = []
    for _ in range(4):
        said: dict[str, object] = {"content": "plain", "type": "decision"}
        for key in CANARIES:
            secret = secrets.token(dice.choice(ALONE), dice)
            around = dice.choice(("{}", "see {} there", "export X={}"))
            planted.append(secret)
            said[key] = around.format(secret)
        said["tags"] = [_planted(dice, planted)]
        said["entities"] = [_planted(dice, planted), "Alice"]
        said["aliases"] = [_planted(dice, planted)]
        fact = world.agent_remembers(**said)  # type: ignore[arg-type]
        world.quiesce()
        path = world.path(fact.id)
        world.person_edits(path, "Alice", "Bob") if dice.random() < 0.5 else None
        world.agent_updates(fact.id, status=_planted(dice, planted))
        world.quiesce()
        if dice.random() < 0.5:
            world.person_edits(path, "# ", "# Mine: ")
            world.agent_updates(fact.id, title=f"Theirs {_planted(dice, planted)}")
            world.sync()
    world.quiesce()
    seen = in_vault(world)
    assert [each for each in planted if each in seen] == []
    world.assert_equal_sides()


def _planted(dice: random.Random, planted: list[str]) -> str:
    secret = secrets.token(dice.choice(("github", "gitlab", "stripe", "npm", "groq")), dice)
    planted.append(secret)
    return secret


def test_an_entry_of_the_tables_is_disarmed_where_it_would_run() -> None:
    entry = IndexEntry(
        "a", "note", 2, "<% x %>", "see obsidian://open", 3, "", None, ("<%",), ("<%",)
    )
    safe = _escaped_entry(entry, VIEW)
    assert (
        active_constructs("\n".join((safe.title, safe.summary, *safe.entities, *safe.names)))
        == frozenset()
    )
    plain = entry._replace(title="T", summary="S", entities=("Alice",), names=())
    assert _escaped_entry(plain, VIEW) is plain
