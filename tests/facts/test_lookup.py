"""What a user may write in place of an id, and which run is undone next."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from tests.world import World
from vaultsync.cli.exit_codes import print_error
from vaultsync.errors import AmbiguousNameError, InvalidFieldError, NotFoundError, RunNotFoundError
from vaultsync.facts import service as facts
from vaultsync.facts.lookup import PURGE_KIND, find_fact_id, find_run_id, last_undoable_run
from vaultsync.model.schema import Value
from vaultsync.notes.view import NoteView
from vaultsync.operations.undo import undo_run
from vaultsync.storage.archive import RunRecord

ONE, TWO = "01a20000-0000-7000-8000-00000000000a", "01a20000-0000-7000-8000-00000000000b"


def remembered(world: World, **values: Value) -> str:
    return facts.remember(world.ctx, {"content": "Tea is green.", **values}, agent=None).id


def test_a_fact_is_named_by_its_id_the_beginning_of_it_its_path_or_its_title(world: World) -> None:
    fact_id = remembered(world, id=ONE, title="On tea", aliases=["Cha"])
    remembered(world, title="On coffee", aliases=["On tea"])  # a title wins over an alias
    unsynced = find_fact_id(world.ctx, ONE[:8], agent=None)
    world.sync()
    path = world.archive.note_paths([fact_id])[fact_id]
    names = [fact_id, fact_id.upper(), fact_id[:8], fact_id[:20], path, path[:-3], "on TEA", "cha"]

    assert unsynced == fact_id
    assert {find_fact_id(world.ctx, each, agent=None) for each in names} == {fact_id}


@pytest.mark.parametrize("name", ["01a2000", "ffffffff", "On tea", "nowhere/tea.md", ""])
def test_what_names_nothing_is_not_found(world: World, name: str) -> None:
    remembered(world, id=ONE)
    with pytest.raises(NotFoundError):
        find_fact_id(world.ctx, name, agent=None)


def test_a_beginning_of_two_ids_is_refused_with_both(world: World) -> None:
    remembered(world, id=ONE)
    remembered(world, id=TWO)
    world.sync()
    with pytest.raises(AmbiguousNameError) as caught:
        find_fact_id(world.ctx, "01a20000", agent=None)
    assert caught.value.candidates == (ONE, TWO)


def test_each_surface_quotes_names_in_its_own_way(capsys: pytest.CaptureFixture[str]) -> None:
    error = AmbiguousNameError("fact", "o", ("public/notes/O'Brien.md", "a.md"), 2)
    assert error.hint == 'use one of: "public/notes/O\'Brien.md", a.md'
    print_error(error, as_json=False)
    assert "'public/notes/O'\"'\"'Brien.md', a.md" in capsys.readouterr().err


def test_a_name_of_two_facts_and_a_typo_need_no_search_of_all_texts_for_secrets(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        remembered(world, title="On tea" if number < 2 else f"On tea {number}")
    world.sync()
    same = [x.id for x in world.store.iter_facts() if x.title == "On tea"]
    redacted, redact = Mock(return_value=None), NoteView.redact
    monkeypatch.setattr(NoteView, "redact", lambda view, fact: redacted() or redact(view, fact))
    monkeypatch.setattr(world.store, "iter_facts", read := Mock(wraps=world.store.iter_facts))
    with pytest.raises(AmbiguousNameError, match="2 facts match"):
        find_fact_id(world.ctx, "On tea", agent=None, called=lambda _: same)
    assert not read.called
    with pytest.raises(NotFoundError):
        find_fact_id(world.ctx, "On teaa", agent=None, called=lambda _: same)
    assert redacted.call_count == len(same)


def test_an_agent_cannot_tell_that_a_fact_of_another_exists(world: World) -> None:
    remembered(world, id=ONE, title="On tea", scope="private-bea")
    world.sync()
    hidden = str(world.archive.note_paths([ONE])[ONE])
    for name in ("01a20000", "On tea", hidden):
        assert find_fact_id(world.ctx, name, agent=None) == ONE
        with pytest.raises(NotFoundError):
            find_fact_id(world.ctx, name, agent="ann")
    remembered(world, id=TWO, title="On tea")
    for name in ("01a20000", "On tea"):
        assert find_fact_id(world.ctx, name, agent="ann") == TWO


def test_a_forgotten_fact_is_named_by_id_and_to_restore_it_by_title_or_path(world: World) -> None:
    remembered(world, id=ONE, title="On tea")
    remembered(world, title="On coffee")
    world.sync()
    path = str(world.ctx.archive.note_paths([ONE])[ONE])
    facts.forget(world.ctx, ONE, agent=None)
    world.sync()
    assert find_fact_id(world.ctx, ONE[:8], agent=None) == ONE
    for name in ("On tea", path):
        assert find_fact_id(world.ctx, name, agent=None, forgotten=True) == ONE
    with pytest.raises(NotFoundError):
        find_fact_id(world.ctx, "On tea", agent=None)
    remembered(world, id=TWO, title="On tea")
    world.sync()
    assert find_fact_id(world.ctx, path, agent=None, forgotten=True) == TWO


def test_without_its_store_a_fact_is_named_as_before(world: World) -> None:
    remembered(world, id=ONE, title="On tea")
    world.sync()
    with world.outage():
        waiting = remembered(world, title="On coffee")
        assert find_fact_id(world.ctx, "On tea", agent=None) == ONE
        assert find_fact_id(world.ctx, ONE[:8], agent=None) == ONE
        assert find_fact_id(world.ctx, waiting[:20], agent=None) == waiting


def test_a_run_is_named_by_the_beginning_of_its_id(world: World) -> None:
    remembered(world)
    run = world.sync().run
    assert find_run_id(world.ctx, run[:13]) == find_run_id(world.ctx, f" {run.upper()} ") == run
    assert find_run_id(world.ctx, "nothing") == "nothing"
    remembered(world)
    world.sync()
    with pytest.raises(AmbiguousNameError, match="2 runs match"):
        find_run_id(world.ctx, run[:8])


@pytest.mark.parametrize("name", ["", " ", "\n"])
def test_a_blank_name_names_no_run(world: World, name: str) -> None:
    remembered(world)
    world.sync()

    with pytest.raises(InvalidFieldError, match="run: expected the id of a run"):
        find_run_id(world.ctx, name)


def test_undoing_the_last_run_again_goes_back_in_time(world: World) -> None:
    runs = []
    for title in ("One", "Two"):
        remembered(world, title=title)
        runs.append(world.sync().run)
    undone = []
    for _ in runs:
        undone.append(last_undoable_run(world.ctx))
        undo_run(world.ctx, undone[-1])
    assert undone == runs[::-1]
    with pytest.raises(RunNotFoundError):
        last_undoable_run(world.ctx)


def test_a_run_that_only_found_notes_renamed_is_not_the_last_run_to_undo(world: World) -> None:
    fact_id = remembered(world, title="One")
    run = world.sync().run
    path = world.archive.note_paths([fact_id])[fact_id]
    world.person_renames(path, path.replace(".md", " (mine).md"))
    assert world.sync().counts["moved"] == 1

    assert last_undoable_run(world.ctx) == run


def test_a_purge_is_not_the_last_run_to_undo(world: World) -> None:
    remembered(world, title="One")
    run = world.sync().run
    remembered(world, title="Two")
    purge = world.sync().run
    with world.archive.transaction():
        world.archive.put_run(RunRecord(purge, "2026-01-01T00:00:00Z", PURGE_KIND))
    assert last_undoable_run(world.ctx) == run


def test_hidden_runs_are_neither_the_last_nor_alike_in_name(world: World) -> None:
    remembered(world, title="Seen")
    seen = world.sync().run
    world.agent_remembers("-", agent="ada", scope="private-ada", title="Hidden")
    hidden = world.sync().run
    assert last_undoable_run(world.ctx) == hidden
    assert last_undoable_run(world.ctx, agent="indy") == seen
    assert find_run_id(world.ctx, seen[:8], agent="indy") == seen
    assert find_run_id(world.ctx, hidden[:8], agent="moss") == seen
