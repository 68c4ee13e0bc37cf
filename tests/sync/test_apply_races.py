"""What changes between the scan and the write: given up for now, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.world import AGENTS, ALPHA, LINES, PERSONS_ALPHA, World, kinds, notice, refuse, taken
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.sync.recovery import OPENING_SECONDS

PATH = "team-core/notes/mine.md"
MANY = 20


def _shapeless(world: World, text: str = "Just words.\n") -> str:
    """A fact that a person wrote as a note without heading; its id."""
    world.person_writes(PATH, text)
    world.quiesce()
    (fact,) = world.facts()
    return fact.id


def test_a_note_that_cannot_take_the_agents_words_is_named_and_left_as_it_is(world: World) -> None:
    fact_id = _shapeless(world, "---\ndecision: {outcome: open}\n---\nJust words.\n")
    before = world.text(PATH)
    world.agent_updates(fact_id, content="Agent's words.", decisionOutcome=None)
    for _ in range(2):
        told = notice(world.sync(), "unsafe_splice")
        assert told.path == PATH
        assert told.hint
        assert world.text(PATH) == before
    world.agent_updates(fact_id, decisionOutcome="open")
    world.assert_at_rest()
    assert "Agent's words." in world.text(PATH)


def test_what_a_note_never_showed_can_be_taken_out(world: World) -> None:
    fact = world.agent_remembers("Words.", title="Mine", confidence=0.5)
    world.person_writes(PATH, f"---\nid: {fact.id}\n---\n# Mine\n\nWords.\n")
    world.quiesce()
    world.agent_updates(fact.id, confidence=None)
    assert kinds(world.sync()) == []
    world.assert_at_rest()


def test_a_note_whose_last_form_cannot_take_what_it_is_to_say_gets_a_new_form(world: World) -> None:
    fact_id = _shapeless(world, "---\ndecision: {outcome: open}\n---\nJust words.\n")
    world.mirrored("Stays.", title="A bystander")
    world.agent_forgets(fact_id)
    world.quiesce()
    assert PATH not in world.notes()
    content = "Agent's words."
    fact_work.restore(world.ctx, fact_id, agent="indy")
    world.agent_updates(fact_id, content=content, decisionOutcome=None)
    world.assert_at_rest()
    assert "# mine" in world.note(fact_id)
    assert content in world.note(fact_id)


def test_a_scope_that_an_agent_changes_moves_a_note_of_which_no_line_changes(world: World) -> None:
    fact_id = _shapeless(world)
    text = world.text(PATH)
    world.agent_updates(fact_id, scope="public")
    world.assert_at_rest()
    assert world.path(fact_id) == "public/notes/mine.md"
    assert world.note(fact_id) == text


def test_two_saves_while_a_note_is_written_are_both_kept(world: World, fact: Fact) -> None:
    path, data = world.path(fact.id), world.data(fact)
    first = data.replace(ALPHA.encode(), b"Alpha, saved first.")
    second = data.replace(ALPHA.encode(), b"Alpha, saved second.")
    world.agent_updates(fact.id, content=AGENTS)

    def save_again() -> None:
        world.vault.save_by_rename(path, second)

    def save() -> None:
        world.vault.save_by_rename(path, first)
        world.at("exchange.back", save_again)

    world.at("exchange.swap", save)
    world.sync()
    world.assert_at_rest()
    assert "Alpha, saved second." in world.fact(fact.id).content
    assert "what the agent says" in world.fact(fact.id).content
    assert "Alpha, saved first." in world.everything_kept()


@pytest.mark.parametrize("person_edits", [False, True])
def test_a_note_that_may_not_be_written_stops_no_other(world: World, person_edits: bool) -> None:
    fact, other = world.mirrored(), world.mirrored("Another.", title="Another")
    if person_edits:
        world.person_edits(fact, ALPHA, PERSONS_ALPHA)
    world.agent_updates(fact.id, content=AGENTS)
    world.agent_updates(other.id, content="Changed.")
    world.at("exchange", lambda: refuse(world.path(fact.id)))
    report = world.sync()
    assert "Permission denied" in notice(report, "not_written").message
    assert taken(report, fact.id) == []
    assert taken(report, other.id) == ["update_vault"]
    world.quiesce()
    assert "what the agent says" in world.note(fact.id)
    assert (PERSONS_ALPHA in world.note(fact.id)) is person_edits
    assert "Changed." in world.note(other.id)
    world.assert_at_rest()


def test_a_note_that_becomes_a_link_before_it_is_written_is_left(world: World, fact: Fact) -> None:
    path, data = world.path(fact.id), world.data(fact)
    world.agent_updates(fact.id, content=AGENTS)

    def replace() -> None:
        world.vault.delete(path)
        world.vault.make_odd(path, "a link")

    world.at("exchange", replace)
    assert notice(world.sync(), "not_written").path == path
    assert world.vault.names[path].kind == "a link"
    world.quiesce()
    world.vault.delete(path)
    world.vault.save_by_rename(path, data)
    world.assert_at_rest()
    assert "what the agent says" in world.note(fact.id)


@pytest.mark.parametrize(
    "happens",
    [
        lambda world, path: world.vault.delete(path),
        lambda world, path: world.vault.save_by_rename(path, b"Mine.\n"),
    ],
    ids=["deleted", "saved"],
)
def test_what_happens_right_after_a_write_is_seen(
    world: World, fact: Fact, happens: Callable[[World, str], None]
) -> None:
    world.mirrored("Stays.", title="A bystander")
    path = world.path(fact.id)
    world.agent_updates(fact.id, content=AGENTS)
    world.at("exchange", lambda: world.at("sync", lambda: happens(world, path)))
    world.sync()
    world.quiesce()
    if path in world.notes():
        assert world.fact(fact.id).content == "Mine."
    else:
        assert not world.is_alive(fact.id)
    world.assert_at_rest()


def test_a_late_save_into_one_of_many_displaced_files_is_kept(world: World) -> None:
    for number in range(MANY):
        world.person_writes(f"team-core/notes/{number}.md", f"Number {number}.\n")
    path = "team-core/notes/7.md"
    editor = world.vault.open_handle(path)
    world.sync()
    editor.write(b"Number 7, saved late.\n")
    world.clock.advance(70)
    world.sync()
    world.assert_at_rest()
    assert "Number 7, saved late." in world.text(path)
    assert world.vault.ops() == []
    assert len(world.facts()) == MANY


def test_a_displaced_file_that_nobody_has_open_goes_with_its_run(world: World) -> None:
    world.vault.knows_writers = True
    for number in range(MANY):
        world.person_writes(f"team-core/notes/{number}.md", f"Number {number}.\n")
    editor = world.vault.open_handle("team-core/notes/7.md")
    world.at("sync", lambda: world.at("sync", lambda: world.clock.advance(OPENING_SECONDS)))

    world.sync()

    (left,) = world.archive.displaced_files()
    assert world.vault.ops() == [left.op]
    editor.write(b"Number 7, saved late.\n")
    editor.close()
    world.clock.advance(OPENING_SECONDS)
    world.sync()
    world.quiesce()
    assert "Number 7, saved late." in world.text("team-core/notes/7.md")
    assert world.vault.ops() == []
    world.assert_at_rest()


def test_who_was_opening_a_note_has_a_moment_to_save_into_it(world: World) -> None:
    world.vault.knows_writers = True
    fact = world.mirrored(LINES)
    world.agent_updates(fact.id, title="Changed")
    path = world.path(fact.id)
    inode = world.vault.names[path]
    world.sync()
    assert world.archive.displaced_files()
    world.vault.overwrite(inode, inode.data + b"Saved late.\n")
    world.quiesce()
    assert "Saved late." in world.fact(fact.id).content


def test_a_displaced_file_stays_while_the_archive_lacks_its_bytes(world: World) -> None:
    world.vault.knows_writers = True
    fact = world.mirrored(LINES)
    world.agent_updates(fact.id, title="Changed")
    world.sync()
    (displaced,) = world.archive.displaced_files()
    with world.archive.transaction():
        world.archive._rows.blobs.pop(displaced.sha)
    world.clock.advance(OPENING_SECONDS)
    world.sync()
    assert world.archive.displaced_files() == [displaced]
