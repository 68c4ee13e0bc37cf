"""Which file is whose note: after copies, renames, moves, and edits of the id itself."""

from __future__ import annotations

import pytest

from tests.world import ALPHA, LINES, PERSONS, PERSONS_ALPHA, SCOPE, World, kinds, notice
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.render import render_note
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest

COPY = "team-core/notes/A copy.md"


@pytest.mark.parametrize(
    ("path", "text", "marked"),
    [
        ("team-core/notes/new.md", "# New\n\nWords.\n", "---\nid: ID\n---\n# New\n\nWords.\n"),
        (
            "team-core/decisions/new.md",
            "---\ntitle: 'New'  # mine\ntags: [a, b]\n---\n\nWords.\n",
            "---\ntitle: 'New'  # mine\ntags: [a, b]\nid: ID\n---\n\nWords.\n",
        ),
    ],
)
def test_a_new_note_gets_only_an_id(world: World, path: str, text: str, marked: str) -> None:
    world.person_writes(path, text)
    report = world.sync()
    (fact,) = world.facts()
    assert (fact.title, fact.content, fact.scope) == ("New", "Words.", "team-core")
    assert (fact.type, fact.tags) in [("note", ()), ("decision", ("a", "b"))]
    assert world.text(path) == marked.replace("ID", fact.id)
    assert report.counts["created_in_store"] == 1
    world.assert_at_rest()


@pytest.mark.parametrize(
    ("folder", "type_name", "priority"),
    [
        ("team-core/lessons", "lesson", 2),
        ("team-core/people", "person", 2),
        ("team-core/observations/critical", "observation", 0),
        ("team-core/observations/background", "observation", 3),
        ("team-core", "note", 2),
        ("team-core/somewhere/else", "note", 2),
    ],
)
def test_the_folder_of_a_new_note_says_its_type(
    world: World, folder: str, type_name: str, priority: int
) -> None:
    world.person_writes(f"{folder}/new.md", "Words.\n")
    world.assert_at_rest()
    (fact,) = world.facts()
    assert (fact.type, fact.priority) == (type_name, priority)


def test_an_empty_new_note_waits_until_it_says_something(world: World) -> None:
    world.person_writes("team-core/notes/Untitled.md", b"")
    world.quiesce()
    assert world.facts() == []
    assert world.data("team-core/notes/Untitled.md") == b""
    world.person_writes("team-core/notes/Untitled.md", b"Words.\n")
    world.quiesce()
    assert [fact.content for fact in world.facts()] == ["Words."]


def test_a_note_outside_of_all_scopes_is_left_alone_and_counted(world: World) -> None:
    world.person_writes("Journal/today.md", "Dear diary.\n")
    world.quiesce()
    assert world.facts() == []
    assert world.text("Journal/today.md") == "Dear diary.\n"
    assert read_status(world.ctx).foreign == 1


def test_a_copy_becomes_a_fact_of_its_own(world: World, fact: Fact) -> None:
    path, original = world.path(fact.id), world.note(fact.id)
    world.person_copies(path, COPY)
    world.sync()
    assert world.note(fact.id) == original
    assert world.path(fact.id) == path
    assert world.fact(fact.id).revision == fact.revision
    (copy,) = [each for each in world.facts() if each.id != fact.id]
    assert copy.content == LINES
    assert world.text(COPY) == original.replace(fact.id, copy.id)
    world.assert_at_rest()
    world.person_edits(COPY, ALPHA, "The copy says this.")
    world.person_edits(path, ALPHA, PERSONS_ALPHA)
    world.assert_at_rest()
    assert world.fact(fact.id).content == PERSONS
    assert world.fact(copy.id).content.startswith("The copy says this.")


def test_a_note_that_is_read_again_is_not_adopted(world: World) -> None:
    world.person_writes("Mine.md", "Not for the memory.\n")
    world.sync(SyncRequest(reread=frozenset({VaultPath("Mine.md")})))
    assert (world.facts(), world.text("Mine.md")) == ([], "Not for the memory.\n")


def test_a_note_that_another_machine_wrote_for_a_fact_is_named_and_left_alone(
    world: World, fact: Fact
) -> None:
    theirs = f"---\nid: {fact.id}\n---\n# {fact.title}\n\n{LINES}\n"
    world.person_writes(COPY, theirs)
    for _ in range(2):
        said = notice(world.sync(), "twins")
        assert said.message.startswith(f"{COPY}: a second note of the fact of {fact.path}")
        assert "run vaultsync on only one of them" in said.hint
    world.agent_updates(fact.id, content=PERSONS)
    world.sync()  # now it says what the fact said before
    assert kinds(world.sync(SyncRequest(reread=frozenset({VaultPath(COPY)})))) == ["twins"]
    world.person_writes(COPY, theirs.replace(LINES, PERSONS))
    with world.outage():
        assert "twins" in kinds(world.sync())
    world.agent_updates(fact.id, tags=["new"])
    world.person_writes(COPY, render_note(world.fact(fact.id), links={}))
    assert kinds(world.sync()) == ["twins"]
    assert len(world.facts()) == 1
    world.person_deletes_for_good(world.path(fact.id))
    world.quiesce()
    assert (world.path(fact.id), world.is_alive(fact.id)) == (COPY, True)


def test_a_second_note_of_a_fact_whose_base_was_lost_is_named(world: World, fact: Fact) -> None:
    moved = "team-core/tasks/A.md"  # shorter, so this is the note
    world.person_writes(COPY, world.note(fact.id).replace("type: note", 'type: "note"'))
    world.person_renames(world.path(fact.id), moved)
    world.lose_archive()
    said = notice(world.sync(), "twins")
    assert said.message.startswith(f"{COPY}: a second note of the fact of {moved}")


def test_a_second_note_does_not_restore_a_deleted_fact(world: World, fact: Fact) -> None:
    world.person_writes(COPY, f"---\nid: {fact.id}\n---\n# {fact.title}\n\n{LINES}\n")
    world.sync()
    world.agent_forgets(fact.id)
    world.quiesce()
    for name in ("One", "Two"):
        world.person_writes(f"team-core/notes/{name}.md", "Other words.\n")
        said = notice(world.sync(), "twins")
        assert said.message == f"{COPY}: a second note of a fact that was deleted"
        assert not world.is_alive(fact.id)
    world.sync(SyncRequest(adopt=frozenset({VaultPath(COPY)})))
    assert (world.is_alive(fact.id), world.path(fact.id)) == (True, COPY)
    world.assert_at_rest()


@pytest.mark.parametrize(
    ("path", "text"), [(COPY, PERSONS), ("private-indy/notes/A copy.md", LINES)]
)
def test_a_copy_with_a_text_or_a_scope_of_its_own_becomes_a_fact(
    world: World, fact: Fact, path: str, text: str
) -> None:
    world.person_writes(path, f"---\nid: {fact.id}\n---\n# {fact.title}\n\n{text}\n")
    world.assert_at_rest()
    assert len(world.facts()) == 2


def test_a_copy_in_another_scope_belongs_to_that_scope(world: World, fact: Fact) -> None:
    world.person_copies(fact, "project-tide/notes/copy.md")
    world.assert_at_rest()
    (copy,) = [each for each in world.facts() if each.id != fact.id]
    assert copy.scope == "project-tide"
    assert world.fact(fact.id).scope == "team-core"


def test_a_rename_changes_nothing_but_the_path_and_stays(world: World, fact: Fact) -> None:
    note, to = world.note(fact.id), "team-core/notes/Another name.md"
    world.person_renames(fact, to)
    report = world.sync()
    assert world.path(fact.id) == to
    assert world.text(to) == note
    assert world.fact(fact.id).revision == fact.revision
    assert report.counts["moved"] == 1
    world.agent_updates(fact.id, title="A very different title")
    world.assert_at_rest()
    assert world.notes() == [world.path(fact.id)] == [to]


def test_a_rename_in_case_only_is_a_rename(world: World) -> None:
    world.vault.case_insensitive = True
    fact = world.mirrored()
    path = world.path(fact.id)
    world.person_renames(path, path.replace("a-plain", "A-Plain"))
    world.assert_at_rest()
    assert world.path(fact.id) == path.replace("a-plain", "A-Plain")
    assert world.is_alive(fact.id)
    assert len(world.facts()) == 1


def test_a_note_without_heading_is_renamed_and_so_is_its_fact(world: World) -> None:
    world.person_writes("team-core/notes/old name.md", "Words.\n")
    world.quiesce()
    (fact,) = world.facts()
    world.person_renames("team-core/notes/old name.md", "team-core/notes/new name.md")
    world.assert_at_rest()
    assert world.fact(fact.id).title == "new name"


def test_a_renamed_folder_moves_all_its_notes(world: World) -> None:
    many = [world.mirrored(f"Number {n}.", title=f"Fact {n}") for n in range(4)]
    world.person_renames_folder("team-core/notes", "team-core/sorted/by hand")
    report = world.sync()
    for fact in many:
        assert world.path(fact.id).startswith("team-core/sorted/by hand/")
        assert world.fact(fact.id).revision == fact.revision
    assert (report.counts["moved"], report.counts["deleted_in_store"]) == (4, 0)
    world.assert_at_rest()


def _one_and_two(world: World) -> tuple[Fact, Fact]:
    return world.mirrored("One.", title="One"), world.mirrored("Two.", title="Two")


def test_two_notes_that_swap_their_names_keep_their_facts(world: World) -> None:
    one, two = _one_and_two(world)
    first, second = world.path(one.id), world.path(two.id)
    world.person_renames(first, "team-core/notes/between.md")
    world.person_renames(second, first)
    world.person_renames("team-core/notes/between.md", second)
    world.assert_at_rest()
    assert (world.path(one.id), world.path(two.id)) == (second, first)
    assert [each.content for each in world.facts()] == ["One.", "Two."]


@pytest.mark.parametrize("incremental", [False, True])
def test_a_note_moved_onto_a_deleted_ones_path_is_itself(world: World, incremental: bool) -> None:
    one, two = _one_and_two(world)
    path = world.path(one.id)
    world.person_deletes(path)
    world.person_renames(two, path)
    if incremental:
        world.sync(SyncRequest.for_facts([two.id], "follow"))
    world.assert_at_rest()
    assert world.fact(two.id).content == "Two."
    assert world.path(two.id) == path
    assert not world.is_alive(one.id)
    assert "One." in world.everything_kept()


@pytest.mark.parametrize(
    ("folder", "values", "line"),
    [
        ("team-core/decisions", {"type": "decision"}, "type: decision\n"),
        ("team-core/observations/critical", {"type": "observation"}, "priority: 0\n"),
    ],
)
def test_a_move_into_another_folder_changes_type_or_priority(
    world: World, folder: str, values: dict[str, Value], line: str
) -> None:
    fact = world.mirrored(type="observation", priority=3)
    assert "/background/" in world.path(fact.id)
    to = f"{folder}/moved here.md"
    world.person_renames(fact, to)
    world.assert_at_rest()
    now = world.fact(fact.id)
    assert (now.type, now.path) == (values["type"], to)
    assert now.priority == (0 if "critical" in folder else 3)
    assert line in world.text(to)


def test_a_type_that_an_agent_changes_moves_the_note(world: World, fact: Fact) -> None:
    old = world.path(fact.id)
    world.agent_updates(fact.id, type="lesson")
    report = world.sync()
    assert world.path(fact.id) == old.replace("/notes/", "/lessons/")
    assert world.notes() == [world.path(fact.id)]
    assert "type: lesson\n" in world.note(fact.id)
    assert report.counts["moved"] == 1
    world.assert_at_rest()


def test_a_place_that_a_person_chose_is_theirs(world: World, fact: Fact) -> None:
    chosen = "team-core/reading/list.md"
    world.person_renames(fact, chosen)
    world.quiesce()
    world.agent_updates(fact.id, type="lesson")
    world.assert_at_rest()
    assert world.path(fact.id) == chosen
    assert world.fact(fact.id).type == "lesson"


@pytest.mark.parametrize("text", ["", "id: 0193f6c2-0000-7000-8000-00000000000a\n", "id: 7\n"])
def test_an_id_that_a_person_changed_is_put_back(world: World, fact: Fact, text: str) -> None:
    before = world.note(fact.id)
    world.person_edits(fact, f"id: {fact.id}\n", text)
    assert world.sync().attention or not text
    world.assert_at_rest()
    assert [each.id for each in world.facts()] == [fact.id]
    assert sorted(world.note(fact.id).split("\n")) == sorted(before.split("\n"))


def test_an_id_that_comes_back_after_it_was_put_back_is_named(world: World, fact: Fact) -> None:
    path, note = world.path(fact.id), world.note(fact.id)
    theirs = note.replace(fact.id, "0193f6c2-0000-7000-8000-00000000000a")
    world.person_writes(path, theirs)
    world.quiesce()
    assert world.text(path) == note
    world.agent_updates(fact.id, tags=["late"])
    world.person_writes(path, theirs)
    for _ in range(3):
        said = notice(world.sync(), "unreadable")
        assert said.message == (
            f"{path}: cannot be read: its id was put back, and another program has changed it again"
        )
        assert f"`id: {fact.id}`" in said.hint
        assert world.text(path) == theirs
    world.person_writes(path, note)
    world.assert_at_rest()
    assert "late" in world.note(fact.id)


def test_an_id_taken_from_another_note_steals_nothing(world: World) -> None:
    one, two = _one_and_two(world)
    world.person_edits(two, two.id, one.id)
    world.assert_at_rest()
    assert [each.content for each in world.facts()] == ["One.", "Two."]
    assert f"id: {two.id}\n" in world.note(two.id)


def test_two_notes_with_one_id_elsewhere_wait_for_a_person(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_renames(path, "team-core/notes/a.md")
    world.person_edits("team-core/notes/a.md", "Bravo", "Bravissimo")
    world.person_copies("team-core/notes/a.md", "team-core/notes/b.md")
    both = {path: world.data(path) for path in world.notes()}
    report = world.sync()
    assert kinds(report) == ["twins"]
    assert "a.md" in notice(report, "twins").message
    assert "b.md" in notice(report, "twins").message
    assert {path: world.data(path) for path in world.notes()} == both
    assert world.fact(fact.id).revision == fact.revision
    assert kinds(world.sync()) == ["twins"]
    world.person_edits("team-core/notes/b.md", f"id: {fact.id}\n", "")
    world.assert_at_rest()
    assert world.path(fact.id) == "team-core/notes/a.md"
    assert len(world.facts()) == 2


@pytest.mark.parametrize("mark", [" 2", ".sync-conflict-20260102-030405-ABCDEFG"])
@pytest.mark.parametrize("edited", [True, False])
def test_a_conflict_copy_does_not_take_the_fact_of_a_moved_note(
    world: World, fact: Fact, mark: str, edited: bool
) -> None:
    path = world.path(fact.id)
    world.person_copies(path, path.replace(".md", f"{mark}.md"))
    world.sync()
    world.person_renames(path, "team-core/notes/moved.md")
    if edited:
        world.person_edits("team-core/notes/moved.md", "Bravo", "Bravissimo")
    assert "twins" not in kinds(world.sync())
    assert world.path(fact.id) == "team-core/notes/moved.md"
    assert ("Bravissimo" in world.fact(fact.id).content) is edited


def test_a_note_whose_path_another_took_while_it_was_in_two_places_syncs(world: World) -> None:
    one, two = _one_and_two(world)
    path, other = world.path(one.id), world.path(two.id)
    text = world.text(path)
    world.person_writes(path, world.text(other).replace("Two.", "Second."))
    world.person_writes(other, text)
    world.person_writes(COPY, text)
    world.sync(SyncRequest(folders=frozenset({VaultPath(f"{SCOPE}/notes")})))
    world.person_deletes(COPY)
    world.agent_updates(one.id, content="First.")
    world.assert_at_rest()
    assert [each.content for each in world.facts()] == ["First.", "Second."]
    assert (world.path(one.id), world.path(two.id)) == (other, path)


def test_the_note_at_the_path_of_two_missing_ones_is_that_of_its_id(world: World) -> None:
    one, two = _one_and_two(world)
    path = VaultPath(world.path(two.id))
    world.person_deletes(one)
    bases = [
        base._replace(fact=base.fact.evolve(path=path), missing_since=world.ctx.now())
        for base in world.archive.iter_bases()
    ]
    with world.archive.transaction():
        world.archive.put_bases(bases)
    world.agent_updates(one.id, content="First.")
    assert [each.reason for each in world.sync().actions if each.action == "wait"] == []
    world.assert_at_rest()
    assert (world.path(two.id), world.fact(one.id).content) == (path, "First.")


@pytest.mark.parametrize("act", ["", "forgets", "writes"])
def test_a_run_about_some_facts_deletes_no_note_that_moved_elsewhere(
    world: World, act: str
) -> None:
    one, two = _one_and_two(world)
    path, elsewhere = world.path(two.id), VaultPath(f"{SCOPE}/notes/later/Two.md")
    world.person_renames(two, elsewhere)
    world.person_renames(one, path)
    forgotten = act == "forgets"
    if forgotten:
        world.agent_forgets(two.id)
    elif act:
        world.agent_updates(two.id, summary="Of an agent.")
    about = two if act else one
    for _ in range(3):
        world.sync(SyncRequest.for_facts([about.id], "update"))
        assert world.is_alive(two.id) is not forgotten
    world.assert_at_rest()
    assert world.is_alive(two.id) is not forgotten
    assert world.notes() == [path] if forgotten else [elsewhere, path]
    assert "Two." in world.everything_kept()


def test_a_run_about_some_facts_takes_no_note_from_another_folder_for_an_edit(world: World) -> None:
    one, two = _one_and_two(world)
    world.person_renames(one, f"{SCOPE}/notes/later/One.md")
    world.quiesce()
    path, elsewhere = world.path(two.id), VaultPath(f"{SCOPE}/notes/later/Two.md")
    world.person_renames(two, elsewhere)
    world.person_renames(one, path)
    for _ in range(2):
        world.sync(SyncRequest.for_facts([two.id], "update"))
    world.assert_at_rest()
    assert [each.content for each in world.facts()] == ["One.", "Two."]
    assert (world.path(one.id), world.path(two.id)) == (path, elsewhere)


def test_two_new_notes_with_one_unknown_id_become_two_facts_when_adopted(world: World) -> None:
    fact_id = world.clock.new_id()
    for name in ("one", "two"):
        path = f"team-core/notes/{name}.md"
        world.person_writes(path, f"---\nid: {fact_id}\n---\n{name}\n")
    paths = frozenset(VaultPath(path) for path in world.notes())
    world.sync(SyncRequest(kind="adopt", adopt=paths))
    world.assert_at_rest()
    assert sorted(fact.content for fact in world.facts()) == ["one", "two"]


def test_an_id_that_is_no_uuid_in_a_new_note_is_left_alone_and_named(world: World) -> None:
    text = "---\nid: ../../etc/passwd\npriority: urgent\n---\nWords.\n"
    world.person_writes("team-core/notes/new.md", text)
    assert kinds(world.sync()) == ["foreign_id"]
    assert world.text("team-core/notes/new.md") == text
    assert world.facts() == []


def test_two_titles_that_differ_only_in_case_get_two_files(world: World) -> None:
    one = world.agent_remembers("One.", title="Alice", type="person")
    two = world.agent_remembers("Two.", title="ALICE", type="person")
    world.assert_at_rest()
    first, second = world.path(one.id), world.path(two.id)
    assert first.casefold() != second.casefold()
    assert "One." in world.text(first)
    assert "Two." in world.text(second)


def test_a_new_fact_never_replaces_a_file_that_is_there(world: World) -> None:
    world.person_writes("team-core/people/alice.md", "---\nid: mine\n---\nMine.\n")
    fact = world.agent_remembers("Hers.", title="Alice", type="person")
    world.quiesce()
    assert "Mine." in world.text("team-core/people/alice.md")
    assert "Hers." in world.note(fact.id)
    assert world.path(fact.id).casefold() != "team-core/people/alice.md"


def test_a_file_that_appears_at_the_wanted_place_in_the_last_moment_is_kept(world: World) -> None:
    fact = world.agent_remembers("Hers.", title="Alice", type="person")
    path = "team-core/people/Alice.md"
    world.at("create", lambda: world.vault.save_in_place(path, b"Mine.\n"))
    world.sync()
    world.assert_at_rest()
    assert "Mine." in world.text(path)
    assert "Hers." in world.note(fact.id)
    assert len(world.facts()) == 2


@pytest.mark.parametrize(
    "title", ["x" * 300, "🙂🙂🙂", "CON", "a/b:c?", "..", "ж" * 300, "#^[]|", ".hidden", "שלום"]
)
@pytest.mark.parametrize("type_name", ["note", "person"])
def test_any_title_gets_a_note_inside_its_folder(world: World, title: str, type_name: str) -> None:
    fact = world.agent_remembers("Words.", title=title, type=type_name)
    world.assert_at_rest()
    folder = "team-core/people/" if type_name == "person" else "team-core/notes/"
    path = world.path(fact.id)
    assert path.startswith(folder)
    assert len(path.removeprefix(folder).encode()) <= 255
    assert "/" not in path.removeprefix(folder)
    assert world.fact(fact.id).title == title


def test_the_copy_of_a_note_that_became_a_link_is_its_own(world: World, fact: Fact) -> None:
    path = world.path(fact.id)
    world.person_copies(path, COPY)
    world.vault.delete(path)
    world.vault.make_odd(path, "a link")
    for _ in range(3):
        world.sync()
    assert world.path(fact.id) == path
    assert sorted(each.content for each in world.facts()) == [LINES, LINES]
    assert fact.id not in world.text(COPY)


def test_two_new_facts_that_lead_to_one_note_link_it_alike(world: World) -> None:
    other = world.mirrored("About something else.", title="Another fact")
    facts = [
        world.agent_remembers(f"{n}.", title=f"Fact {n}", relatedFactIds=[other.id])
        for n in range(2)
    ]
    world.assert_at_rest()
    stem = world.path(other.id).rpartition("/")[2].removesuffix(".md")
    for fact in facts:
        assert f"- [[{stem}|Another fact]]\n" in world.note(fact.id)


def test_what_cannot_be_linked_is_named_by_its_id_alone(world: World) -> None:
    odd = world.mirrored("Odd.", title="Odd")
    world.person_renames(odd, "team-core/notes/a [b] #c.md")
    world.quiesce()
    unknown = world.clock.new_id()
    words = {"content": "Words.", "scope": SCOPE, "relatedFactIds": [odd.id, unknown]}
    fact = fact_work.remember(world.ctx, {**words, "title": "Fact"}, agent=None)
    world.assert_at_rest()
    assert "Related Facts" not in world.note(fact.id)
    assert world.note(fact.id).count(odd.id) == world.note(fact.id).count(unknown) == 1


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_relation_that_an_agent_removes_leaves_the_note(world: World, *, forgotten: bool) -> None:
    other = world.mirrored("Words.", title="The other one")
    fact = world.mirrored("Words.", title="Fact", relatedFactIds=[other.id])
    path = str(world.base(fact.id).path)
    assert "|The other one]]" in world.text(path)
    if forgotten:
        world.agent_forgets(other.id)
        world.sync()
    world.agent_updates(fact.id, relatedFactIds=[])
    world.sync()
    assert "The other one" not in world.text(path)
    assert "Related Facts" not in world.text(path)
