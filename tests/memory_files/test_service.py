"""Memory files become facts: the file wins when it changes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.doubles.store import MemoryStore
from tests.memory_file_worlds import (
    ALL,
    DEPLOY,
    NAME,
    PEOPLE,
    TESTS,
    MemoryWorld,
    SimFile,
    kinds,
    memory,
)
from tests.world import SCOPE
from vaultsync.errors import MemoryFileMissingError, RevisionMismatchError, ScopeDeniedError
from vaultsync.facts import service as fact_work
from vaultsync.memory_files.service import refresh_pending
from vaultsync.memory_files.state import read_states, state_key
from vaultsync.operations.migrate import copy_store, expect_store
from vaultsync.operations.rebuild import rebuild
from vaultsync.sync.preconditions import known_store_ids


def test_each_section_becomes_a_fact_with_the_values_of_the_file(world: MemoryWorld) -> None:
    done = world.takes(memory(DEPLOY, TESTS, head="---\ntags: [a, b]\n---\n# M\n"))
    assert done.counts["created"] == 2
    fact = world.by_title("Deployment")
    assert fact.content == DEPLOY[1]
    assert fact.type == "note"  # by the table: its heading speaks of deploying
    assert (fact.scope, fact.agent_id) == ("private-indy", "indy")
    assert fact.source == f"memory-file:{NAME}"
    assert (fact.importance, fact.confidence) == (0.8, 1.0)
    assert (fact.tags, fact.id[14]) == (("a", "b"), "5")
    world.quiesce()
    assert world.path(fact.id).startswith("private-indy/notes/")


def test_a_sync_of_an_unchanged_file_writes_nothing(synced: MemoryWorld) -> None:
    seq, states = synced.store.state().seq, synced.file.states_written
    done = synced.syncs()
    assert done.quiet
    assert done.files[0].counts["unchanged"] == 3
    assert (synced.store.state().seq, synced.file.states_written) == (seq, states)
    synced.agent_remembers("Something else.")
    assert synced.syncs().quiet
    assert synced.syncs().quiet


@pytest.mark.parametrize(
    ("title", "words", "fields"),
    [
        ("How we test", TESTS[1], ("title",)),
        ("Tests", "All of it is other words now.", ("content",)),
        ("How we test", TESTS[1].replace("no sleep", "no pause"), ("content", "title")),
    ],
)
def test_a_renamed_or_edited_section_keeps_its_id_and_history(
    synced: MemoryWorld, title: str, words: str, fields: tuple[str, ...]
) -> None:
    before = synced.by_title("Tests")
    done = synced.takes(memory(DEPLOY, (title, words), PEOPLE))
    assert [(each.action, each.fields) for each in done.actions] == [("update", fields)]
    after = synced.by_title(title)
    assert (after.id, after.created_at) == (before.id, before.created_at)


@pytest.mark.parametrize(
    ("title", "words"), [("Tests", "None."), ("Tests", "No\nsleep."), ("T", "No sleep.")]
)
def test_a_shortened_section_keeps_its_fact(synced: MemoryWorld, title: str, words: str) -> None:
    before = synced.by_title("Tests")
    synced.takes(memory(DEPLOY, ("Tests", "No sleep."), PEOPLE, ("Tests", "Other.")))
    done = synced.takes(memory(DEPLOY, (title, words), PEOPLE, ("Tests", "Other.")))
    assert (done.counts["forgotten"], done.short) == (0, ["Tests"])
    after = synced.by_title(title)
    assert (after.id, after.content) == (before.id, words)
    synced.takes(memory(DEPLOY, PEOPLE))
    assert synced.takes(memory(DEPLOY, (title, words), PEOPLE)).counts["created"] == 1
    assert synced.by_title(title).id == before.id
    assert synced.takes(memory(DEPLOY, (title, ""), PEOPLE)).counts["forgotten"] == 1


def test_two_equal_sections_are_two_memories(world: MemoryWorld) -> None:
    assert world.takes(memory(DEPLOY, TESTS, DEPLOY)).counts["created"] == 3
    first, second, _ = world.remembered()
    assert first.id != second.id
    assert world.takes(memory(DEPLOY, DEPLOY, TESTS)).counts["unchanged"] == 3
    assert world.takes(memory(DEPLOY, TESTS)).counts["forgotten"] == 1
    assert world.by_title("Deployment").id in {first.id, second.id}


def test_of_sections_with_one_heading_each_keeps_to_the_words_that_are_its_own() -> None:
    one, two = (("Notes", "Berths are counted at dawn."), ("Notes", "Tides turn at noon in May."))
    world = MemoryWorld()
    world.takes(memory(one, two))
    _, tides = world.remembered()
    world.takes(memory(("Notes", "Tides turn at noon in May, or later.")))
    assert [each.id for each in world.remembered()] == [tides.id]


def test_a_new_section_with_the_words_that_another_had_once_is_another_memory() -> None:
    world = MemoryWorld()
    world.takes(memory(TESTS))
    world.takes(memory(("Tests", "Each test has a sentence for a name, and no more.")))
    done = world.takes(
        memory(("Tests", "Each test has a sentence for a name, and no more."), TESTS)
    )
    assert done.counts["created"] == 1
    assert len({each.id for each in world.remembered()}) == 2


# --- who else writes to the facts ----------------------------------------------------


def test_an_edit_of_the_note_stands_until_its_section_changes(synced: MemoryWorld) -> None:
    synced.quiesce()
    fact = synced.by_title("Tests")
    synced.person_edits(fact, "no sleep", "no sleep at all")
    synced.quiesce()
    report = synced.syncs()
    assert report.quiet
    (notice,) = report.attention
    assert (notice.kind, notice.line) == ("EditedElsewhere", 7)
    assert "no sleep at all" in synced.by_title("Tests").content
    assert synced.syncs().attention == [notice]  # from what is kept, without a look
    done = synced.takes(memory(DEPLOY, ("Tests", TESTS[1] + " Nor a wait."), PEOPLE))
    assert "vaultsync history" in done.actions[0].reason
    synced.quiesce()
    assert synced.by_title("Tests").content == TESTS[1] + " Nor a wait."
    entries = fact_work.history(synced.ctx, fact.id, agent=None)
    assert any("no sleep at all" in str(each.before) for each in entries)


def test_a_copy_of_a_note_is_no_section_of_the_file(synced: MemoryWorld) -> None:
    synced.quiesce()
    fact = synced.by_title("Tests")
    copy = synced.path(fact.id).replace(".md", " copy.md")
    synced.person_copies(fact, copy)
    synced.quiesce()
    assert len(synced.facts()) == 4
    before = synced.text(copy)
    for state in (synced.file.kept, None):
        synced.file.kept = state
        synced.clock.advance(86_400)
        assert not synced.syncs().attention
        synced.quiesce()
        assert (len(synced.facts()), synced.text(copy)) == (4, before)
    assert fact.id in {each.id for each in synced.facts()}


def test_with_again_the_file_wins_over_edits_and_deletions(synced: MemoryWorld) -> None:
    fact, other = synced.by_title("Tests"), synced.by_title("People")
    synced.agent_updates(fact.id, content="Agents say otherwise.", title="Other")
    synced.agent_forgets(other.id)
    assert len(synced.syncs().attention) == 2
    report = synced.syncs(again=True)
    assert (report.counts["updated"], report.counts["created"]) == (1, 1)
    assert not report.attention
    assert synced.by_title("Tests").content == TESTS[1]
    again = synced.by_title("People")
    assert (again.id, again.created_at) == (other.id, other.created_at)


def test_a_deleted_fact_stays_deleted_until_its_section_changes(synced: MemoryWorld) -> None:
    fact = synced.by_title("Tests")
    synced.agent_forgets(fact.id)
    assert synced.syncs().quiet
    synced.takes(memory(DEPLOY, ("Tests", TESTS[1] + " Nor a wait."), PEOPLE))
    assert synced.by_title("Tests").id == fact.id


def test_an_edit_beats_the_deletion_of_its_section(synced: MemoryWorld) -> None:
    fact = synced.by_title("Tests")
    synced.agent_updates(fact.id, content="A person knows it better.")
    synced.file.says(memory(DEPLOY, PEOPLE))
    report = synced.syncs()
    assert report.counts["let_go"] == 1
    assert kinds(report) == ["LetGo"]
    synced.takes(ALL)
    assert synced.by_title("Tests").id != fact.id
    kept = synced.store.get(fact.id)
    assert (kept.content, kept.source) == ("A person knows it better.", "memory-file")


def test_tags_types_and_priorities_that_others_set_stay(world: MemoryWorld) -> None:
    world.takes(memory(DEPLOY, head="---\ntags: [a, b]\npriority: 1\n---\n"))
    fact = world.by_title("Deployment")
    world.agent_updates(fact.id, tags=["a", "b", "mine"], type="lesson", priority=0)
    world.takes(memory(DEPLOY, head="---\ntags: [b, c]\npriority: 1\n---\n"))
    fact = world.by_title("Deployment")
    assert fact.tags == ("b", "mine", "c")
    assert (fact.type, fact.priority) == ("lesson", 0)
    world.takes(memory(DEPLOY, head="---\ntags: [b, c]\npriority: 3\n---\n"))
    assert world.by_title("Deployment").priority == 3


def test_a_type_that_the_file_names_is_set_without_other_words(world: MemoryWorld) -> None:
    world.takes(memory(TESTS))
    before = world.by_title("Tests")
    assert before.type == "fact"
    hint = ("Tests", "<!-- type: convention -->\n\n" + TESTS[1])
    assert [each.fields for each in world.takes(memory(hint)).actions] == [("type",)]
    assert world.by_title("Tests").id == before.id


def test_an_agents_file_is_for_that_agent_and_two_agents_share_none(synced: MemoryWorld) -> None:
    synced.syncs(agent="ada")
    synced.syncs(agent=None)
    scopes = sorted(each.scope for each in synced.remembered())
    assert scopes == ["private-ada"] * 3 + ["private-indy"] * 3 + ["public"] * 3
    assert synced.syncs().quiet
    assert synced.syncs(agent="ada").quiet
    synced.file.says(memory(DEPLOY, TESTS))
    assert synced.syncs(agent="ada").counts["forgotten"] == 1
    assert len(synced.remembered()) == 8


def test_a_scope_may_be_named_and_must_be_ones_own(world: MemoryWorld) -> None:
    world.file.says(ALL)
    world.syncs(scope=SCOPE)
    assert {each.scope for each in world.remembered()} == {SCOPE}
    with pytest.raises(ScopeDeniedError):
        world.syncs(SimFile(name="x/B.md", data=ALL.encode()), scope="private-ada")


def test_a_dry_run_reports_and_writes_nothing(world: MemoryWorld) -> None:
    world.file.says(ALL)
    report = world.syncs(dry_run=True)
    assert report.counts["created"] == 3
    assert not world.remembered()
    assert world.file.kept is None
    assert to_builtins(report)["dry_run"] is True


# --- races and failures -------------------------------------------------------------------------


NEW_WORDS = memory(
    ("Deployment", "Now it is another cluster altogether."),
    ("Tests", "Other words, and they are new."),
    PEOPLE,
)


def test_after_a_race_for_a_fact_its_plan_is_new_and_others_stand(synced: MemoryWorld) -> None:
    synced.others_write_first(synced.by_title("Tests").id, times=2)
    synced.takes(NEW_WORDS)
    fact = synced.by_title("Tests")
    assert (fact.content, fact.access_count) == ("Other words, and they are new.", 2)


def test_a_race_that_never_ends_is_an_error_and_loses_nothing(synced: MemoryWorld) -> None:
    synced.others_write_first(synced.by_title("Tests").id, times=99)
    with pytest.raises(RevisionMismatchError):
        synced.takes(NEW_WORDS)
    synced.store.before = lambda _: None
    assert synced.syncs().counts["updated"] == 1


def test_what_others_write_during_a_sync_is_seen_by_the_next(synced: MemoryWorld) -> None:
    fact = synced.by_title("Tests")
    edit = "Another edit at the same time."
    synced.file.at("state", lambda: synced.agent_updates(fact.id, content=edit))
    synced.takes(memory(DEPLOY, TESTS, ("People", PEOPLE[1] + " And Joaquim cooks.")))
    assert kinds(synced.syncs()) == ["EditedElsewhere"]


def test_a_half_saved_file_deletes_nothing(synced: MemoryWorld) -> None:
    reads = 0

    def save(step: str) -> None:
        nonlocal reads
        reads += step == "read"
        if reads == 3:  # the look before, the look under the lock, the second look
            synced.file.says(memory(DEPLOY, TESTS, PEOPLE))

    synced.file.before = save
    done = synced.takes("")
    assert done.counts["forgotten"] == 0
    assert len(synced.remembered()) == 3


def test_an_unknown_file_is_an_error_alone_and_a_notice_among_others(world: MemoryWorld) -> None:
    with pytest.raises(MemoryFileMissingError):
        world.syncs()
    other = SimFile(name="~/work/OTHER.md", data=ALL.encode())
    assert kinds(world.syncs(world.file, other)) == ["MemoryFileMissingError"]
    assert len(world.remembered(other)) == 3


@pytest.mark.parametrize("migrated", [True, False])
def test_an_edit_of_a_fact_stands_in_another_store(world: MemoryWorld, *, migrated: bool) -> None:
    """The facts were migrated there, or it is rebuilt because the former one is lost."""
    world.takes(ALL)
    world.sync()
    fact = world.by_title(DEPLOY[0])
    world.person_edits(fact, "four of them", "five of them")
    world.sync()
    target = MemoryStore(world.clock, "target")
    if migrated:
        copy_store(world.ctx.store, target)
        expect_store(world.ctx, target)
    world.ctx = replace(world.ctx, store=target)
    if not migrated:
        rebuild(world.ctx, "vault")
    for _ in range(2):  # before a run knows the new store, and after
        assert kinds(world.syncs()) == ["EditedElsewhere"]
        world.sync()
        assert "five of them" in target.get(fact.id).content
    assert len([*target.iter_facts()]) == 3


# --- what waits to be embedded -------------------------------------------------------


def _refreshed(
    world: MemoryWorld, missing: Callable[[Sequence[str]], Sequence[str]]
) -> Mapping[str, Sequence[str]]:
    return refresh_pending([world.file], "indy", known_store_ids(world.ctx), missing)


def test_written_facts_are_pending_until_they_are_embedded(world: MemoryWorld) -> None:
    world.file.says(ALL)
    ids = sorted(world.syncs(embeds=True).files[0].pending)
    assert ids == sorted(each.id for each in world.remembered())
    key = state_key(world.file.key, "indy")

    assert _refreshed(world, lambda found: found[:1]) == {NAME: (ids[0],)}
    assert read_states(world.file.kept).files[key].pending == (ids[0],)
    assert _refreshed(world, lambda found: found) == {NAME: (ids[0],)}

    assert world.syncs(embeds=True).files[0].pending == (ids[0],)
    _refreshed(world, lambda _: [])
    assert _refreshed(world, lambda _: []) == {}
    assert not world.syncs(embeds=True).pending


def test_facts_stay_pending_while_another_process_has_the_file(world: MemoryWorld) -> None:
    world.file.says(ALL)
    world.syncs(embeds=True)
    world.file.busy = True
    assert _refreshed(world, lambda _: []) == {NAME: ()}
    world.file.busy = False
    assert world.syncs(embeds=True).pending == 3


# --- what is wrong in a file ---------------------------------------------------------


def test_broken_frontmatter_is_reported_and_takes_no_tags_away(world: MemoryWorld) -> None:
    world.takes(memory(DEPLOY, head="---\ntags: [a]\n---\n"))
    world.file.says(memory(DEPLOY, TESTS, head="---\ntags: [a\n---\n"))
    assert kinds(world.syncs()) == ["BadFrontmatter"]
    assert {each.tags for each in world.remembered()} == {("a",)}


def test_frontmatter_that_no_package_can_read_is_reported(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "frontmatter", None)
    world.file.says(memory(DEPLOY, head="---\ntags: [a]\n---\n"))
    (notice,) = world.syncs().attention
    assert "reading frontmatter needs python-frontmatter" in notice.message
    assert notice.hint == "python -m pip install 'vaultsync[memory-file]'"
    assert len(world.remembered()) == 1


@pytest.mark.parametrize(
    ("head", "mark", "notice", "type_name"),
    [
        ("---\npriority: high\ntype: lesson\nother: 1\n---\n", "", ("BadFrontmatter", 1), "lesson"),
        ("# M\n", "<!-- type: poem -->\n", ("UnknownType", 3), "fact"),
    ],
)
def test_a_value_that_cannot_be_is_reported_and_the_others_count(
    world: MemoryWorld, head: str, mark: str, notice: tuple[str, int], type_name: str
) -> None:
    world.file.says(memory(("Tests", mark + TESTS[1]), head=head))
    assert [(each.kind, each.line) for each in world.syncs().attention] == [notice]
    assert world.by_title("Tests").type == type_name


def test_rules_around_text_are_no_frontmatter(world: MemoryWorld) -> None:
    world.takes("---\nWords between two rules, and enough of them.\n---\n")
    assert "between two rules" in world.remembered()[0].content


def test_tags_that_are_set_already_are_not_set_again(world: MemoryWorld) -> None:
    world.takes(memory(DEPLOY))
    world.agent_updates(world.by_title("Deployment").id, tags=["a"])
    assert not world.takes(memory(DEPLOY, head="---\ntags: [a]\n---\n")).actions


def test_facts_that_a_crash_left_without_state_are_found_and_not_written_again() -> None:
    world = MemoryWorld()
    world.takes(memory(DEPLOY))
    before = world.file.kept
    world.takes(ALL)
    seq = world.store.state().seq
    world.file.kept = before
    world.syncs()
    assert world.store.state().seq == seq
    assert len(world.remembered()) == 3
    assert world.syncs().quiet


def test_a_section_that_is_back_is_its_fact_and_no_edit_of_another(world: MemoryWorld) -> None:
    other = "## Gate\n\nThe gate opens ten minutes before slack water.\n\n"
    mole = "## Mole\n\nCount the berths at dawn, and begin at the mole.\n\n"
    pier = "## Pier\n\nCount the berths at dawn, and begin at the pier.\n\n"
    world.takes(other + mole + pier)
    ids = {fact.title: fact.id for fact in world.store.iter_facts()}
    world.takes(other + mole)
    result = world.takes(other + pier)

    assert {each.action: each.fact_id for each in result.actions} == {
        "create": ids["Pier"],
        "forget": ids["Mole"],
    }
    assert {fact.title: fact.id for fact in world.store.iter_facts()} == {
        "Gate": ids["Gate"],
        "Pier": ids["Pier"],
    }


def test_the_facts_of_a_file_that_was_moved_with_its_state_follow_it(world: MemoryWorld) -> None:
    world.takes(memory(DEPLOY, TESTS, PEOPLE))
    before = {each.id for each in world.remembered()}
    moved = SimFile("~/play/MEMORY.md", kept=world.file.kept)
    moved.says(memory(DEPLOY, TESTS, (PEOPLE[0], "Mara keeps the books, alone.")))
    report = world.syncs(moved, gone=[NAME])
    assert [(x.action, x.fields) for x in report.files[0].actions] == [
        ("update", ("source",)),
        ("update", ("source",)),
        ("update", ("content",)),
    ]
    assert {each.id for each in world.remembered(moved)} == before
    assert world.remembered() == []
    assert not world.syncs(moved, gone=[NAME]).files[0].actions
    moved.says(memory(DEPLOY))
    world.syncs(moved, gone=[NAME])
    assert [each.title for each in world.remembered(moved)] == [DEPLOY[0]]


def test_the_facts_of_a_file_that_was_renamed_follow_it(world: MemoryWorld) -> None:
    world.takes(memory(DEPLOY, TESTS, PEOPLE))
    before = {each.id for each in world.remembered()}
    agents = SimFile("~/work/AGENTS.md", kept=world.file.kept)
    agents.says(memory(DEPLOY, TESTS, (PEOPLE[0], "Mara keeps the books, alone.")))
    assert world.syncs(agents, gone=[NAME]).counts["updated"] == 3
    assert {each.id for each in world.remembered(agents)} == before
    world.file = SimFile(data=agents.data, kept=agents.kept)
    assert world.syncs().counts["created"] == 3


@pytest.mark.parametrize("name", ["~/play/MEMORY.md", "~/play/NOTES.md"])
def test_a_copy_of_a_file_gets_facts_of_its_own(world: MemoryWorld, name: str) -> None:
    world.takes(memory(DEPLOY, TESTS))
    before = world.remembered()
    copied = SimFile(name, kept=world.file.kept)
    copied.says(memory(DEPLOY, PEOPLE))
    world.syncs(copied, gone=[NAME] if "NOTES" in name else [])
    assert world.remembered() == before
    assert len(world.remembered(copied)) == 2
