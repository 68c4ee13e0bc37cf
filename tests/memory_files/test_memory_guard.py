"""A memory file that is gone, or emptied, takes no fact with it unasked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.memory_file_worlds import (
    ALL,
    DEPLOY,
    PEOPLE,
    TESTS,
    TEXT,
    MemoryWorld,
    SimFile,
    kinds,
    memory,
)
from vaultsync.errors import MemoryFileGuardError
from vaultsync.memory_files.report import FileResult
from vaultsync.memory_files.state import read_states


def _stopped(world: MemoryWorld, confirm: str | None = None) -> MemoryFileGuardError:
    before = world.store.state()
    with pytest.raises(MemoryFileGuardError) as stopped:
        world.syncs(confirm=confirm)
    assert world.store.state() == before
    return stopped.value


def _confirmed(world: MemoryWorld) -> FileResult:
    return world.syncs(confirm=_stopped(world).run).files[0]


def test_a_missing_file_is_asked_about_before_its_facts_are_forgotten(synced: MemoryWorld) -> None:
    synced.file.data = None
    error = _stopped(synced)
    assert "forget 3 of 3" in error.message
    assert f"--confirm {error.run}" in error.hint
    assert len(synced.remembered()) == 3
    synced.file.says(ALL)
    assert synced.syncs().quiet


def test_the_command_in_a_hint_names_a_file_of_the_vault_in_any_folder(world: MemoryWorld) -> None:
    file = SimFile(name="./notes/MEMORY.md", data=ALL.encode())
    world.syncs(file)
    file.data = None
    with pytest.raises(MemoryFileGuardError) as stopped:
        world.syncs(file, vault="/home/mara/My Vault")
    assert "memory-file sync '/home/mara/My Vault/notes/MEMORY.md' --confirm" in stopped.value.hint


def test_a_file_with_one_section_that_is_gone_is_asked_about(world: MemoryWorld) -> None:
    world.takes(memory(DEPLOY))
    world.file.data = None
    _stopped(world)


def test_a_file_that_was_emptied_is_asked_about(synced: MemoryWorld) -> None:
    synced.file.says("# Memory\n")
    _stopped(synced)
    assert synced.takes(memory(DEPLOY)).counts["forgotten"] == 2


def test_an_edited_fact_does_not_hide_that_a_file_was_emptied(synced: MemoryWorld) -> None:
    synced.agent_updates(synced.by_title("People").id, content="Mara keeps the books now.")
    synced.file.says("# Memory\n")
    assert "forget 2 of 3" in _stopped(synced).message
    assert len(synced.remembered()) == 3


def test_the_only_section_of_a_file_may_be_removed(world: MemoryWorld) -> None:
    world.takes(memory(DEPLOY))
    assert world.takes("# Memory\n").counts["forgotten"] == 1


def test_a_plan_is_confirmed_by_its_own_token_alone(synced: MemoryWorld) -> None:
    synced.file.data = None
    token = _stopped(synced).run
    synced.file.says("# Another\n\n")
    error = _stopped(synced, confirm=token)
    assert "confirms another plan" in error.message
    assert synced.syncs(confirm=error.run).counts["forgotten"] == 3


def test_a_dry_run_shows_what_would_be_forgotten(synced: MemoryWorld) -> None:
    synced.file.data = None
    assert synced.syncs(dry_run=True).counts["forgotten"] == 3


def test_of_several_files_only_the_one_that_is_gone_waits(synced: MemoryWorld) -> None:
    other = SimFile(name="~/work/OTHER.md", data=ALL.encode())
    synced.file.data = None
    assert kinds(synced.syncs(synced.file, other)) == ["MemoryFileGuardError"]
    assert len(synced.remembered(other)) == len(synced.remembered()) == 3


@pytest.mark.parametrize("through", [[], [TESTS], [None]])
def test_a_section_that_was_edited_and_comes_back_is_the_fact_it_was(
    world: MemoryWorld, through: list[tuple[str, str] | None]
) -> None:
    edited = ("People", "Bente keeps the books now.")
    world.takes(ALL)
    fact_id = world.by_title("People").id
    world.takes(memory(DEPLOY, TESTS, edited))
    if through == [None]:
        world.file.data = None
        _confirmed(world)
        assert world.remembered() == []
    else:
        assert world.takes(memory(DEPLOY, TESTS)).counts["forgotten"] == 1
    for other in filter(None, through):
        world.takes(memory(DEPLOY, other, ("New", "Another section comes in between.")))
    assert world.takes(memory(DEPLOY, TESTS, edited)).counts["created"] >= 1
    assert world.by_title("People").id == fact_id
    assert world.by_title("People").content == edited[1]


def test_the_state_remembers_no_more_sections_than_it_may(world: MemoryWorld) -> None:
    for part in range(0, 300, 50):
        some = [(f"S {n}", f"w{n}a w{n}b w{n}c w{n}d w{n}e w{n}f") for n in range(part, part + 50)]
        world.file.says(memory(*some))
        try:
            world.syncs()
        except MemoryFileGuardError as stopped:
            world.syncs(confirm=stopped.run)
    (state,) = read_states(world.file.kept).files.values()
    assert len(state.removed) == 200


def test_a_fact_that_was_given_back_stays_when_its_section_does_not(synced: MemoryWorld) -> None:
    fact = synced.by_title("People")
    synced.takes(memory(DEPLOY, TESTS))
    synced.gives_back(fact.id)
    synced.clock.advance(86_400)
    assert synced.syncs().counts["let_go"] == 1
    assert synced.is_alive(fact.id)


def test_a_section_of_a_fact_that_was_given_back_is_that_fact(synced: MemoryWorld) -> None:
    fact = synced.by_title("People")
    synced.takes(memory(DEPLOY, TESTS))
    synced.gives_back(fact.id)
    synced.takes(memory(DEPLOY, TESTS, PEOPLE))
    assert synced.by_title("People").id == fact.id


def test_with_again_a_file_takes_facts_that_came_back_without_it(synced: MemoryWorld) -> None:
    fact = synced.by_title("People")
    synced.takes(memory(DEPLOY, TESTS))
    synced.gives_back(fact.id)
    assert synced.syncs(again=True).counts["forgotten"] == 1


def test_a_written_text_is_no_error_when_the_sync_after_it_is_stopped(synced: MemoryWorld) -> None:
    synced.file.data = None
    assert synced.agent_adds(TEXT).status == "written"
    assert kinds(synced.syncs(after_add=True)) == ["MemoryFileGuardError"]
    _stopped(synced)


def test_a_forged_state_gives_no_fact_of_others_to_a_section(synced: MemoryWorld) -> None:
    other = synced.agent_remembers("Of another.", title="Other")
    synced.takes(memory(DEPLOY, TESTS))
    kept = (synced.file.kept or b"").decode()
    (state,) = read_states(synced.file.kept).files.values()
    ((_, fact_id),) = state.removed
    synced.file.kept = kept.replace(fact_id, other.id).encode()
    synced.takes(memory(DEPLOY, TESTS, PEOPLE))
    assert synced.fact(other.id).content == "Of another."


def test_a_section_that_fits_into_no_note_is_reported_and_not_written(world: MemoryWorld) -> None:
    world.ctx = replace(world.ctx, policy=world.ctx.policy._replace(max_note_bytes=32 * 1024))
    world.file.says(memory(DEPLOY, ("Long", "word " * 10_000)))
    report = world.syncs()
    assert kinds(report) == ["UnreadableMemoryFileError"]
    assert "'Long' is too large" in report.attention[0].message
    assert world.remembered() == []


# --- texts of agents --------------------------------------------------------------------


def test_a_queued_text_does_not_make_a_deleted_file_anew(synced: MemoryWorld) -> None:
    synced.file.busy = True
    assert synced.agent_adds(TEXT).status == "queued"
    synced.file.busy = False
    synced.file.data = None
    _confirmed(synced)
    assert synced.file.data is None
    assert len(synced.queue.items) == 1
    assert synced.takes(ALL).written == 1
    assert TEXT in synced.file.text


def test_a_queued_text_makes_the_file_that_it_was_meant_to_make(world: MemoryWorld) -> None:
    world.file.busy = True
    assert world.agent_adds(TEXT).status == "queued"
    world.file.busy = False
    assert world.syncs().files[0].written == 1
    assert TEXT in world.file.text
