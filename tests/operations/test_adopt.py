"""Existing notes become facts; the only thing that changes in a file is its id."""

from __future__ import annotations

from contextlib import nullcontext
from operator import attrgetter
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec import structs

from tests.world import World, kinds, notice
from vaultsync import errors
from vaultsync.model.paths import VaultPath
from vaultsync.operations import adopt
from vaultsync.operations.adopt import adopt_notes, find_note_with_id
from vaultsync.operations.undo import undo_run
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import Report
from vaultsync.sync.run import sync_once
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest

DIARY = "# Today\n\nDear diary. [[Tomorrow]]\n"


@pytest.fixture
def foreign(world: World) -> World:
    """A vault with three notes that are no facts."""
    world.person_writes("Journal/today.md", DIARY)
    world.person_writes("Journal/old/then.md", "---\ntags: [past]\n---\nLong ago.\n")
    world.person_writes("loose.md", "Loose.\n")
    return world


def _adopt(world: World, *paths: str, **options: str) -> None:
    world.clock.advance(1)
    scope, type_name = options.get("scope"), options.get("type_name")
    adopt_notes(world.ctx, [*map(VaultPath, paths)], scope=scope, type_name=type_name)


def _without_id(world: World, path: str) -> str:
    lines = world.text(path).split("\n")
    return "\n".join(line for line in lines if not line.startswith("id: "))


def test_adopting_everything_adds_ids_and_nothing_else(foreign: World) -> None:
    before = {path: foreign.text(path) for path in foreign.notes()}
    _adopt(foreign)
    assert sorted(before) == foreign.notes()
    for path, text in before.items():
        assert _without_id(foreign, path) in (text, f"---\n---\n{text}")
    assert [fact.scope for fact in foreign.facts()] == ["public"] * 3  # the default scope
    foreign.assert_at_rest()


def test_an_underlined_title_is_the_title_and_stays_underlined(world: World) -> None:
    text = "Today\r\n=====\r\n\r\nDear diary.\r\n"
    world.person_writes("Journal/2026.md", text)
    _adopt(world)
    (fact,) = world.facts()
    assert (fact.title, fact.content) == ("Today", "Dear diary.")
    assert world.text("Journal/2026.md").endswith(text)
    world.agent_updates(fact.id, title="Tomorrow")
    world.quiesce()
    now = text.replace("Today", "Tomorrow")
    assert world.text("Journal/2026.md").endswith(now)
    world.assert_at_rest()


def test_one_note_is_adopted_alone(foreign: World) -> None:
    _adopt(foreign, "loose.md")
    assert [fact.content for fact in foreign.facts()] == ["Loose."]
    assert foreign.text("Journal/today.md") == DIARY
    foreign.assert_at_rest()
    assert read_status(foreign.ctx).foreign == 2
    with foreign.nobody_writes():
        assert adopt_notes(foreign.ctx, [VaultPath("loose.md")]).quiet


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("Stub.md", "", "it is empty"),
        ("Stub.md", "\n \n", "it is empty"),
        ("photo.png", "PNG", "is not a note"),
        ("Mine.conflict.md", "Mine.", "conflict note"),
        ("Other.md", f"---\nvaultsync: conflict\nconflict: {'0a' * 8}\n---\n", "conflict note"),
        ("Trip.sync-conflict-20260102-030405-ABCDEFG.md", "Trip.", "sync tool"),
        ("half.md", "---\ntags: [a, b", "without the `---`"),
        ("loose (table).md", "---\nvaultsync: index\n---\n", "table of contents"),
        ("linted.md", "---\r\nupdated: 1\r\nvaultsync: 'index'\r\n---\r\n", "table of contents"),
    ],
)
def test_the_report_says_why_a_named_note_was_not_adopted(
    foreign: World, path: str, text: str, why: str, *, dry_run: bool
) -> None:
    foreign.person_writes(path, text)
    report = adopt_notes(foreign.ctx, [VaultPath(path)], dry_run=dry_run)
    found = notice(report, "not_taken")
    assert found.path == path
    assert why in found.message
    assert found.hint
    assert not report.actions


def test_adopted_and_unreadable_notes_get_no_second_notice(foreign: World) -> None:
    _adopt(foreign, "loose.md")
    bad = "---\na: b: c\n---\n"
    foreign.person_writes("Journal/bad.md", bad)
    foreign.clock.advance(60)
    named = [VaultPath("loose.md"), VaultPath("Journal/bad.md")]
    assert kinds(adopt_notes(foreign.ctx, named)) == ["unreadable"]
    assert kinds(adopt_notes(foreign.ctx, [VaultPath("Journal")])) == ["unreadable"]
    assert foreign.text("Journal/bad.md") == bad
    assert len(foreign.facts()) == 3


def test_new_notes_in_an_adopted_folder_are_adopted_by_the_next_run(foreign: World) -> None:
    _adopt(foreign, "Journal")
    assert len(foreign.facts()) == 2
    foreign.person_writes("Journal/next.md", "Next.\n")
    foreign.person_writes("other.md", "Other.\n")
    foreign.quiesce()
    assert len(foreign.facts()) == 3
    assert foreign.text("other.md") == "Other.\n"
    foreign.assert_at_rest()


def test_scope_and_type_are_set_for_notes_without_them(foreign: World) -> None:
    foreign.person_writes("Journal/typed.md", "---\ntype: lesson\n---\nLearned.\n")
    _adopt(foreign, "Journal", scope="team-core", type_name="Episodic")
    found = {fact.content.split(".")[0]: fact for fact in foreign.facts()}
    assert {fact.scope for fact in found.values()} == {"team-core"}
    assert (found["Long ago"].type, found["Learned"].type) == ("episodic", "lesson")
    assert foreign.path(found["Learned"].id) == "Journal/typed.md"
    foreign.assert_at_rest()


def test_a_dry_run_shows_what_would_be_adopted(foreign: World) -> None:
    before = {path: foreign.text(path) for path in foreign.notes()}
    foreign.sync()
    with foreign.nobody_writes():
        report = adopt_notes(foreign.ctx, [], dry_run=True)
    assert report.counts["created_in_store"] == 3
    assert {each.path for each in report.actions} == set(before)
    assert {path: foreign.text(path) for path in foreign.notes()} == before
    assert foreign.facts() == []
    foreign.person_writes("Journal/next.md", "Next.\n")
    foreign.quiesce()
    assert foreign.facts() == []


@pytest.mark.parametrize(
    ("paths", "options", "error"),
    [
        (["loose.md", "nothing.md"], {}, errors.NoteMissingError),
        (["loose.md", "Nowhere"], {}, errors.NoteMissingError),
        ([], {"scope": "../etc"}, errors.InvalidScopeError),
        ([], {"type_name": "poem"}, errors.UnknownTypeError),
    ],
)
def test_a_missing_path_or_a_wrong_option_stops_the_adoption(
    foreign: World, paths: list[str], options: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        _adopt(foreign, *paths, **options)
    foreign.quiesce()
    assert foreign.facts() == []


def test_a_note_with_an_id_of_another_store_is_adopted_with_it(world: World) -> None:
    fact_id = world.clock.new_id()
    text = f"---\nid: {fact_id}\nconfidence: 0.5\n---\nFrom afar.\n"
    world.person_writes("afar.md", text)
    _adopt(world, "afar.md")
    fact = world.fact(fact_id)
    assert (fact.content, fact.confidence) == ("From afar.", 0.5)
    assert world.text("afar.md") == text
    world.assert_at_rest()


def test_two_notes_with_the_same_text_become_two_facts_and_others_none(world: World) -> None:
    left = {
        "Stub.md": "",
        "a.conflict.md": "Not mine.\n",
        "zettel.md": "---\nid: 20240101\n---\nZettel.\n",
    }
    for path, text in {"one.md": "Same.\n", "two.md": "Same.\n", **left}.items():
        world.person_writes(path, text)
    _adopt(world)
    assert [fact.content for fact in world.facts()] == ["Same.", "Same."]
    assert {path: world.text(path) for path in left} == left
    assert read_status(world.ctx).foreign == 1  # without the empty one
    world.assert_at_rest()


def test_an_invalid_value_does_not_stop_an_adoption(world: World) -> None:
    text = "---\ntype: poem\npriority: high\ncreatedAt: long ago\nstatus: 7\n---\nWords.\n"
    world.person_writes("a.md", text)
    world.clock.advance(1)
    report = adopt_notes(world.ctx, [VaultPath("a.md")])
    world.quiesce()
    assert [(fact.content, fact.priority) for fact in world.facts()] == [("Words.", 2)]
    assert _without_id(world, "a.md") == text
    assert set(kinds(report)) == {"invalid_field"}


RESERVED = ("path", "revision", "properties", "content", "scope", "embedding", "Status", "名")
UNUSUAL = ("'': x", "'a:b': x", "' a': x", "'- a': x", "'#a': x", "1: x", "null: x")


@pytest.mark.parametrize("line", [*(f"{key}: mine" for key in RESERVED), *UNUSUAL])
def test_a_property_with_a_reserved_or_unusual_name_is_kept(world: World, line: str) -> None:
    text = f"---\n{line}\nstatus: active\n---\nWords.\n"
    world.person_writes("a.md", text)
    world.clock.advance(60)
    _adopt(world, "a.md")
    world.quiesce()
    assert _without_id(world, "a.md") == text
    assert world.facts() or line in UNUSUAL
    for fact in world.facts():
        assert (fact.content, fact.scope) == ("Words.", "public")
        world.agent_updates(fact.id, content="Other words.")
        world.assert_at_rest()
        assert line in world.text("a.md")


def test_an_unadopted_note_can_be_adopted_again(world: World) -> None:
    world.person_writes("a.md", "Words.\n")
    run = adopt_notes(world.ctx, [VaultPath("a.md")]).run
    world.quiesce()
    undo_run(world.ctx, run)
    world.quiesce()
    assert world.facts() == []
    _adopt(world, "a.md")
    world.quiesce()
    assert [fact.content for fact in world.facts()] == ["Words."]
    world.person_edits("a.md", "Words.", "Other words.")
    world.assert_at_rest()


def test_a_foreign_note_is_left_alone_whatever_its_properties(world: World) -> None:
    world.mirrored()
    text = f"---\nid: {world.clock.new_id()}\npriority: high\n---\nWords.\n"
    world.person_writes("Journal/today.md", text)
    world.person_writes("Journal/other.md", "---\npriority: high\n---\nWords.\n")
    assert kinds(world.sync()) == []
    world.quiesce()
    assert world.text("Journal/today.md") == text
    assert len(world.facts()) == 1


def _adopt_id(world: World, fact_id: str) -> None:
    world.clock.advance(1)
    adopt_notes(world.ctx, [find_note_with_id(world.ctx, fact_id)], type_name="lesson")


def test_a_note_with_an_id_becomes_the_fact_with_that_id(foreign: World) -> None:
    fresh = foreign.clock.new_id()
    text = f"---\nid: {fresh}\n---\nMind the gap.\n"
    foreign.person_writes("Journal/gap.md", text)
    foreign.person_writes("Journal/about.md", f"About {fresh}.\n")
    _adopt_id(foreign, fresh)
    assert foreign.fact(fresh).content == "Mind the gap."
    assert foreign.fact(fresh).type == "lesson"
    assert foreign.text("Journal/gap.md") == text
    assert len(foreign.facts()) == 1
    _adopt_id(foreign, fresh)
    assert len(foreign.facts()) == 1
    foreign.assert_at_rest()


def test_of_two_notes_with_one_id_the_one_saved_last_is_found_wherever_it_is(world: World) -> None:
    fact = world.mirrored()
    world.person_renames(fact, "elsewhere.md")
    assert find_note_with_id(world.ctx, fact.id) == "elsewhere.md"
    fresh = world.clock.new_id()
    for path in ("b.md", "a.md", "b.md"):
        world.person_writes(path, f"---\nid: {fresh}\n---\nWords.\n")
        assert find_note_with_id(world.ctx, fresh) == path


def test_an_id_that_no_note_has_is_refused(foreign: World) -> None:
    fresh = foreign.clock.new_id()
    foreign.person_writes("bad.md", f"---\nid: {fresh}\nid: {fresh}\n---\n")
    foreign.person_writes("x.conflict.md", f"---\nid: {fresh}\n---\n")
    with pytest.raises(errors.IdNotInVaultError, match=fresh):
        find_note_with_id(foreign.ctx, fresh)
    with pytest.raises(errors.InvalidIdError):
        find_note_with_id(foreign.ctx, "../x")


def test_long_notes_are_adopted_fewer_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adopt, "BYTES_IN_MEMORY", 4 * adopt.BYTES_PER_NOTE)
    for number in range(6):
        text = "A long line.\n" * (700 if number == 2 else 1)
        world.person_writes(f"Notes/{number}/Note.md", f"# Note {number}\n\n{text}")
    parts: list[list[str]] = []

    def counted(ctx: SyncContext, request: SyncRequest, **rest: Any) -> Report:  # noqa: ANN401
        if request.folders:
            parts.append(sorted(path.split("/")[1] for path in request.adopt))
        return sync_once(ctx, request, **rest)

    monkeypatch.setattr(adopt, "sync_once", counted)
    adopt_notes(world.ctx, [VaultPath(path) for path in world.notes()])

    assert parts == [["0", "1"], ["2"], ["3", "4", "5"]]
    world.assert_at_rest()


def test_many_notes_are_adopted_some_folders_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adopt, "BYTES_IN_MEMORY", 4 * adopt.BYTES_PER_NOTE)
    for number in range(12):
        world.person_writes(f"Notes/{number // 3}/{number}.md", f"# Note {number}\n\nText.\n")
    most: list[int] = []

    def counted(ctx: SyncContext, request: SyncRequest, **rest: Any) -> Report:  # noqa: ANN401
        most.append(len(request.adopt) if request.folders else 0)
        return sync_once(ctx, request, **rest)

    monkeypatch.setattr(adopt, "sync_once", counted)

    report = adopt_notes(world.ctx, [])

    assert most == [3, 3, 3, 3, 0]
    assert report.counts["created_in_store"] == 12
    assert len(report.actions) == 12
    assert len(world.facts()) == 12
    (kept,) = [each for each in world.archive.runs(limit=9) if each.kind == "adopt"]
    assert kept.run == report.run
    assert len({each.run for each in world.archive.history()}) == 1
    world.assert_at_rest()


def test_a_dry_run_in_parts_shows_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for number in range(12):
        world.person_writes(f"Notes/{number // 3}/{number}.md", f"# Note {number}\n\nText.\n")
    world.person_writes("Notes/1/odd.md", "---\npriority: high up\n---\nOdd.\n")
    world.person_writes("public/notes/tea.md", "Tea is green.\n")

    def shown(**options: Any) -> Report:  # noqa: ANN401
        report = adopt_notes(world.ctx, [], dry_run=True, **options)
        actions = sorted((each.path or "", each.action, each.fields) for each in report.actions)
        notices = sorted(report.attention, key=attrgetter("kind", "message"))
        return structs.replace(report, run="", seconds=0.0, actions=actions, attention=notices)

    for state in ("new", "unread facts", "synced", "outage"):
        if state == "unread facts":
            world.agent_remembers("Unread.")
        elif state == "synced":
            world.sync()
        with subtests.test(state), world.outage() if state == "outage" else nullcontext():
            whole = shown(scope="team-core")
            runs = Mock(wraps=sync_once)
            with monkeypatch.context() as patch:
                patch.setattr(adopt, "sync_once", runs)
                patch.setattr(adopt, "BYTES_IN_MEMORY", 4 * adopt.BYTES_PER_NOTE)
                assert shown(scope="team-core") == whole
            # Each scan would read everything where the store has to be read.
            assert runs.call_count == (1 if state in ("unread facts", "outage") else 5)
