"""The archive is lost: notes that say what their facts are written as are not parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sync.test_redaction import VIEW
from tests.world import AGENTS, ALPHA, LINES, PERSONS_ALPHA, World, taken
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.notes import canonical_form as verbatim
from vaultsync.notes.parse import Note
from vaultsync.sync import snapshot
from vaultsync.sync.sync_request import SyncRequest

Act = Callable[[World, str], object]


def _no_reading(data: bytes, path: VaultPath) -> Note:
    raise AssertionError(f"{path} was parsed")


def test_nothing_is_parsed_and_the_archive_is_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    ids = [
        world.mirrored(f"{LINES} {n}", title=f"Fact {n}", agent=agent).id
        for n, agent in enumerate(["indy", "otto"])
    ]
    ids.append(world.mirrored(title="Related", relatedFactIds=ids, priority=0).id)
    before = [world.base(each) for each in ids]
    world.lose_archive()
    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "read_note", _no_reading)
        report = world.sync()
    assert [taken(report, each) for each in ids] == [["record_base"]] * len(ids)
    assert [world.base(each) for each in ids] == before
    assert [world.base(each).fact for each in ids] == [each.fact for each in before]
    assert all(world.archive.blob(each.sha) == world.data(each.path) for each in before)
    assert world.archive.history(run=report.run) == []
    world.assert_second_pass_writes_nothing()
    world.assert_equal_sides()


def test_facts_are_asked_for_a_few_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for scope in ("public", "team-core", "team-other"):
        world.mirrored(scope=scope)
    world.lose_archive()
    monkeypatch.setattr(snapshot, "MIN_BULK_FACTS", 1)
    find, asked = world.store.find_many, []

    def told(ids: Iterable[str]) -> dict[str, Fact]:
        asked.append(list(ids))
        return find(asked[-1])

    world.store.find_many = told  # type: ignore[assignment, method-assign]
    world.sync()
    assert [len(each) for each in asked if each] == [1, 1, 1]
    world.assert_at_rest()


def _during_the_look(world: World, act: Callable[[], object]) -> None:
    """Let an agent act right after its fact was compared with the note."""
    find = world.store.find_many

    def slowly(ids: Iterable[str]) -> dict[str, Fact]:
        found = find(ids)
        world.store.find_many = find  # type: ignore[method-assign]
        act()
        return found

    world.store.find_many = slowly  # type: ignore[assignment, method-assign]


def test_what_an_agent_writes_during_the_scan_is_no_base(world: World, fact: Fact) -> None:
    world.lose_archive()
    _during_the_look(world, lambda: world.agent_updates(fact.id, content=AGENTS))
    report = world.sync()
    assert taken(report, fact.id) != ["record_base"]  # nobody knows which was first
    world.assert_at_rest()
    assert "Charlie says what the agent says." in world.everything_kept()


def test_what_an_agent_forgets_during_the_scan_comes_back(world: World, fact: Fact) -> None:
    world.lose_archive()
    _during_the_look(world, lambda: world.agent_forgets(fact.id))
    assert taken(world.sync(), fact.id) == ["restore_fact"]
    world.assert_at_rest()


def test_a_fact_that_is_asked_for_by_name_keeps_its_one_note(world: World) -> None:
    world.mirrored()
    keys = ("cursor", "cursor_row")
    before = {key: world.archive.setting(key) for key in keys}
    fact = world.mirrored(title="Another")
    folder, notes = parent_folder(world.path(fact.id)), world.notes()
    with world.archive.transaction():  # as if another machine had made its note
        world.archive.drop_bases([fact.id])
        world.archive.set_folders({folder: None})
        for key, value in before.items():
            world.archive.set_setting(key, value)
    assert taken(world.sync(SyncRequest(fact_ids=(fact.id,))), fact.id) == ["record_base"]
    assert world.notes() == notes
    world.assert_at_rest()


def _with(old: str, new: str) -> Act:
    return lambda world, path: world.person_writes(path, world.text(path).replace(old, new, 1))


def _moved(to: str) -> Act:
    return lambda world, path: world.person_renames(path, to)


def _agent(act: Callable[[World, str], object]) -> Act:
    return lambda world, _: act(world, world.facts()[0].id)


ACTS: dict[str, Act] = {
    "copied": lambda world, path: world.person_copies(path, "team-core/notes/a copy.md"),
    "moved": _moved("team-core/Projects/elsewhere.md"),
    "moved out": _moved("My Notes/elsewhere.md"),
    "in another scope": _moved("public/notes/elsewhere.md"),
    "edited": _with(ALPHA, PERSONS_ALPHA),
    "broken": _with("type: note", "type: [note"),
    "with a stray": _with("## Provenance", "My own line.\n\n## Provenance"),
    "updated": _agent(lambda world, fact_id: world.agent_updates(fact_id, content=AGENTS)),
    "recalled": _agent(lambda world, fact_id: world.agent_updates(fact_id, accessCount=3)),
    "forgotten": _agent(World.agent_forgets),
    "deleted": World.person_deletes,
}


def _told(acts: list[str], request: SyncRequest, *, away: bool) -> object:
    """All that can be seen after a loss of the archive and some acts before it."""
    world = World(view=VIEW)
    fact = world.mirrored(f"{LINES}\n\n<% tp.x %> and a\\b")
    other = world.mirrored(title="Another", relatedFactIds=[fact.id])
    path = world.path(fact.id)
    for act in acts:
        if path in world.vault.files:
            ACTS[act](world, path)
    world.lose_archive()
    world.store.away = away
    seen: list[object] = []
    for _ in range(3):
        report = world.sync(request)
        seen.append((report.counts, sorted((x.action, x.reason) for x in report.actions)))
        seen.append(sorted((x.kind, x.path) for x in report.attention))
        world.store.away = False
    world.quiesce()
    notes = {each: world.text(each) for each in world.vault.files if ".meta" not in each}
    facts = [world.archive.find_base(each) for each in (fact.id, other.id)]
    return seen, notes, [x and (x.fact, x.path, x.sha) for x in facts], world.facts()


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(list(ACTS)), max_size=3, unique=True),
    st.sampled_from(
        [SyncRequest(), SyncRequest(dry_run=True), SyncRequest(allow_scope_moves=True)]
    ),
    st.booleans(),
)
@example(acts=["copied", "in another scope"], request=SyncRequest(dry_run=True), away=False)
def test_parsed_or_not_passes_are_alike(acts: list[str], request: SyncRequest, away: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        told = _told(acts, request, away=away)
        patch.setattr(verbatim, "leading_id", lambda _: None)
        assert _told(acts, request, away=away) == told
