from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec import to_builtins

from tests.watching import Daemonic
from tests.world import LINES, SCOPE
from vaultsync.daemon.schedule import Intervals
from vaultsync.errors import DaemonStoppedError, GuardError, StoreUnavailableError
from vaultsync.model.fact import Fact
from vaultsync.sync.report import Progress
from vaultsync.sync.status import daemon_status, read_status
from vaultsync.sync.sync_request import SyncRequest

OLD, NEW = "Alpha says this.", "Alpha says what a person says."


@pytest.fixture
def it() -> Daemonic:
    return Daemonic()


def with_fact(it: Daemonic, **values: str) -> Fact:
    """A fact on both sides, and a daemon at rest."""
    fact = it.world.mirrored(**values)
    it.rests()
    return fact


# ---------------------------------------------------------------------- the two ways


def test_at_the_start_the_whole_vault_is_looked_at(it: Daemonic) -> None:
    it.world.agent_remembers("Said before it began.", title="Before")
    it.runs(0.1)
    assert it.whole_passes() == 1
    assert len(it.world.notes()) == 1


def test_what_an_agent_stores_is_a_note_within_a_poll(it: Daemonic) -> None:
    it.rests()
    fact = it.world.agent_remembers("Said now.", title="Now")
    it.runs(2 * it.intervals.poll)
    assert "Said now." in it.world.note(fact.id)
    assert it.whole_passes() == 0


def test_a_saved_note_is_in_the_store_when_it_has_settled(it: Daemonic) -> None:
    fact = with_fact(it)
    it.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(it.intervals.settle - 0.1)
    assert it.world.fact(fact.id).content == LINES
    it.runs(0.2)
    assert NEW in it.world.fact(fact.id).content
    assert it.whole_passes() == 0


def test_a_note_that_is_saved_again_and_again_is_heard_after_two_seconds(it: Daemonic) -> None:
    fact = with_fact(it)
    path, text = it.world.path(fact.id), OLD
    for number in range(30):
        it.person_edits(path, text, text := f"Alpha says {number}.")
        it.runs(0.1)
        if it.world.fact(fact.id).content != LINES:
            break
    assert 19 <= number <= 22


def test_an_agent_waits_for_a_note_that_is_being_saved(it: Daemonic) -> None:
    fact = with_fact(it)
    path = it.world.path(fact.id)
    it.person_edits(path, OLD, NEW)
    changed = LINES.replace("Charlie says more.", "Charlie says what an agent says.")
    it.world.agent_updates(fact.id, content=changed)
    it.hears(path)
    it.runs(0.2)
    assert "what an agent says" not in it.world.note(fact.id)
    it.runs(1)
    assert "what an agent says" in it.world.note(fact.id)
    assert NEW in it.world.note(fact.id)
    it.world.assert_equal_sides()


def test_our_own_writes_come_back_as_events_and_cause_no_write(it: Daemonic) -> None:
    fact = with_fact(it)
    it.world.agent_updates(fact.id, content="Said anew.")
    it.runs(0.2)
    path = it.world.path(fact.id)
    it.hears(path, others=(path.rpartition("/")[0],))
    it.up_to_date = True
    with it.world.nobody_writes():
        it.runs(5)
    assert it.whole_passes() == 0


def test_at_rest_nothing_is_looked_at(it: Daemonic) -> None:
    with_fact(it)
    it.runs(30)
    assert it.requests == []
    assert it.told == []


# --------------------------------------------------------------------- more than edits


def test_a_deleted_note_is_deleted_in_the_store_after_two_looks(it: Daemonic) -> None:
    fact = with_fact(it)
    path = it.world.path(fact.id)
    it.world.vault.delete(path)
    it.hears(path)
    it.runs(3)
    assert not it.world.is_alive(fact.id)
    assert it.daemon.is_idle


def test_facts_that_come_meanwhile_do_not_put_off_the_second_look(it: Daemonic) -> None:
    fact = with_fact(it)
    path = it.world.path(fact.id)
    it.world.vault.delete(path)
    it.hears(path)
    for number in range(30):
        it.world.agent_remembers(f"Fact {number}.", title=f"{number}", type="lesson")
        it.world.clock.advance(-0.9)
        it.runs(0.1)
    assert not it.world.is_alive(fact.id)


def test_a_note_that_moved_to_a_folder_of_which_nothing_was_heard_is_found(it: Daemonic) -> None:
    fact = with_fact(it)
    path = it.world.path(fact.id)
    it.world.vault.rename(path, f"{SCOPE}/lessons/elsewhere.md")
    it.hears(path)
    it.runs(2)
    assert it.world.path(fact.id) == f"{SCOPE}/lessons/elsewhere.md"
    assert it.world.fact(fact.id).type == "lesson"


def test_a_note_that_came_from_a_folder_of_which_nothing_was_heard_is_no_twin(it: Daemonic) -> None:
    fact = with_fact(it)
    it.world.vault.rename(it.world.path(fact.id), f"{SCOPE}/lessons/elsewhere.md")
    it.hears(f"{SCOPE}/lessons/elsewhere.md")
    it.runs(2)
    assert it.world.path(fact.id) == f"{SCOPE}/lessons/elsewhere.md"
    assert it.world.archive.notices() == []


def test_a_folder_that_moved_in_is_looked_into(it: Daemonic) -> None:
    it.rests()
    it.world.vault.save_in_place(f"{SCOPE}/new/deep/note.md", b"# Note\n\nText.\n")
    it.hears(others=(f"{SCOPE}/new",))
    it.runs(1)
    assert len(it.world.facts()) == 1


def test_a_folder_that_went_takes_its_notes_along(it: Daemonic) -> None:
    fact = with_fact(it)
    folder = it.world.path(fact.id).rpartition("/")[0]
    it.world.vault.rename_folder(folder, f"{SCOPE}/lessons")
    it.hears(others=(folder,))
    it.runs(1)
    assert it.world.path(fact.id).startswith(f"{SCOPE}/lessons/")


def test_a_folder_that_was_never_known_and_is_gone_is_nothing(it: Daemonic) -> None:
    with_fact(it)
    it.hears(others=("picture.png",))
    it.runs(2)
    assert it.requests == []


def test_the_root_itself_means_a_look_at_everything(it: Daemonic) -> None:
    with_fact(it)
    it.hears(others=("",))
    it.runs(2)
    assert it.whole_passes() == 1


def test_a_conflict_note_means_a_look_at_everything(it: Daemonic) -> None:
    with_fact(it)
    it.hears(f"{SCOPE}/facts/a-plain-fact.conflict.md")
    it.runs(2)
    assert it.whole_passes() == 1


def test_very_many_folders_mean_a_look_at_everything(it: Daemonic) -> None:
    with_fact(it)
    it.hears(*(f"{SCOPE}/f{n}/note.md" for n in range(150)))
    it.runs(2)
    assert it.whole_passes() == 1


# ------------------------------------------------------------------------------ rescans


def test_what_no_event_told_is_found_by_the_next_rescan(it: Daemonic) -> None:
    fact = with_fact(it)
    it.world.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(it.intervals.rescan + 1)
    assert NEW in it.world.fact(fact.id).content


def test_lost_events_mean_a_rescan_now(it: Daemonic) -> None:
    fact = with_fact(it)
    it.world.person_edits(it.world.path(fact.id), OLD, NEW)
    it.hears(lost="the queue was full")
    it.runs(0.1)
    assert NEW in it.world.fact(fact.id).content
    assert ("rescan", {"why": "the queue was full"}) in it.told


@pytest.mark.parametrize("how", ["stopped", "asleep", "set back"])
def test_after_a_gap_in_time_the_vault_is_looked_at(it: Daemonic, how: str) -> None:
    fact = with_fact(it)
    it.world.vault.save_in_place(
        it.world.path(fact.id), it.world.note(fact.id).replace(OLD, NEW).encode()
    )
    if how == "stopped":
        it.world.clock.advance(8)
    else:
        it.world.clock.set_back(-900 if how == "asleep" else 900)
    it.runs(0.1)
    assert NEW in it.world.fact(fact.id).content
    assert it.kinds().count("rescan") == 1


def test_a_change_that_hides_behind_its_stamp_is_found_within_an_hour(it: Daemonic) -> None:
    fact = with_fact(it)
    path = it.world.path(fact.id)
    inode = it.world.vault.files[path]
    stamp = inode.stamp
    inode.data = inode.data.replace(OLD.encode(), b"Alpha says that!")
    assert inode.stamp == stamp
    it.runs(3000)
    assert it.world.fact(fact.id).content == LINES
    it.runs(600)
    assert "Alpha says that!" in it.world.fact(fact.id).content


def test_a_watcher_that_died_means_a_look_and_is_told(it: Daemonic) -> None:
    with_fact(it)
    it.watcher.ill = "its thread ended"
    it.runs(2)
    assert len(it.watchers) == 2
    assert it.whole_passes() == 1
    assert it.daemon.state.watcher_trouble == "its thread ended"
    assert {"watcher", "state", "rescan"} <= set(it.kinds())


def test_without_a_watcher_the_rescans_go_on(it: Daemonic) -> None:
    def refuse() -> None:
        raise OSError(28, "no more watches")

    it.starts = refuse
    fact = it.world.mirrored()
    it.runs(8)
    assert it.daemon.state.watcher == ""
    it.world.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(it.intervals.rescan + 1)
    assert NEW in it.world.fact(fact.id).content


# ------------------------------------------------------------------------------ trouble


def test_a_store_that_is_away_is_asked_ever_more_rarely(it: Daemonic) -> None:
    fact = with_fact(it)
    asked: list[float] = []

    def away(_: str) -> None:
        asked.append(it.world.clock.monotonic())
        raise StoreUnavailableError("no answer")

    it.world.store.before = away
    it.runs(300)
    assert len(asked) < 60  # a rescan a minute asks twice
    assert it.reopened > 3
    assert "no answer" in it.daemon.state.store_away
    it.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(5)
    it.world.store.before = lambda _: None
    it.runs(31)
    assert it.daemon.state.store_away == ""
    assert NEW in it.world.fact(fact.id).content
    assert it.kinds().count("store") == 2


def test_after_a_failure_the_next_pass_waits_ever_longer(it: Daemonic) -> None:
    with_fact(it)
    failed: list[float] = []

    def fail(stage: str) -> None:
        failed.append(it.world.clock.monotonic())
        raise OSError(28, "No space left on device")

    it.in_pass = fail
    it.hears(lost="something")
    it.runs(30)
    gaps = [b - a for a, b in pairwise(failed)]
    assert [round(gap) for gap in gaps] == [1, 2, 4, 8]
    error = it.daemon.state.last_error
    assert error is not None
    assert error.kind == "OSError"
    assert it.daemon.error is not None
    assert not it.daemon.is_idle
    it.in_pass = lambda _: None
    it.daemon.retry_soon()
    it.runs(1)
    assert it.daemon.error is None
    assert not it.daemon.state.failing
    assert it.daemon.state.last_error == error


def test_what_fails_beside_the_passes_is_told_too(it: Daemonic) -> None:
    it.runs(1)
    it.daemon.record_error(OSError(28, "No space left on device"))
    assert it.daemon.state.last_error is not None
    assert it.daemon.state.last_error.kind == "OSError"
    assert not it.daemon.state.failing
    assert it.daemon.error is None


def test_an_edit_that_a_failed_pass_had_in_hand_is_taken_up_by_the_next(it: Daemonic) -> None:
    fact = with_fact(it)

    def fail(stage: str) -> None:
        raise OSError(28, "No space left on device")

    it.in_pass = fail
    it.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(it.intervals.settle + 0.2)
    assert it.daemon.error is not None
    assert it.whole_passes() == 0
    it.in_pass = lambda _: None
    it.runs(it.intervals.failure + 0.2)
    assert NEW in it.world.fact(fact.id).content


def test_what_was_stopped_when_somebody_asked_can_still_be_confirmed(it: Daemonic) -> None:
    all_notes_go(it)
    it.runs(120)
    with pytest.raises(GuardError) as stopped:
        it.world.sync()
    it.daemon.retry_soon()
    it.runs(120)
    it.world.sync(SyncRequest(confirm=stopped.value.run))
    assert it.world.facts() == []


def all_notes_go(it: Daemonic) -> None:
    """More deletions than anybody means."""
    for number in range(30):
        it.world.agent_remembers(f"Fact {number}.", title=f"Fact {number}")
    it.world.quiesce()
    it.rests()
    for path in it.world.notes():
        it.world.vault.delete(path)
    it.hears(others=(SCOPE,))


def test_what_the_guard_stopped_is_tried_under_the_run_that_can_be_confirmed(it: Daemonic) -> None:
    all_notes_go(it)
    it.runs(120)
    error = it.daemon.error
    assert isinstance(error, GuardError)
    assert {each.run for each in it.requests[3:]} == {error.run}
    assert len(it.world.facts()) == 30

    it.world.sync(SyncRequest(confirm=error.run))
    it.daemon.retry_soon()
    it.runs(10)
    assert it.world.facts() == []
    assert it.daemon.is_idle


def test_what_waits_for_a_person_is_not_looked_at_for_ever(it: Daemonic) -> None:
    fact = with_fact(it)
    path = it.world.path(fact.id)
    it.world.vault.save_in_place(path, b"---\nid: [broken\n---\n")
    it.hears(path)
    it.runs(50)
    it.forget()
    it.runs(50)
    assert len(it.requests) <= 1
    assert it.daemon.is_idle


# -------------------------------------------------------------------------- the stop


def test_a_pass_ends_between_its_parts_when_the_daemon_is_stopped(it: Daemonic) -> None:
    for number in range(20):
        it.world.agent_remembers(f"Fact {number}.", title=f"Fact {number}")

    def stop(stage: str) -> None:
        it.is_stopped = stage == "plan"

    it.in_pass = stop
    with pytest.raises(DaemonStoppedError):
        it.runs(1)
    assert it.world.notes() == []
    it.is_stopped, it.in_pass = False, lambda _: None
    it.runs(1)
    assert len(it.world.notes()) == 20
    it.daemon.close()
    assert it.watcher.stopped


def test_deriving_ends_when_the_daemon_is_stopped(it: Daemonic) -> None:
    def stop(progress: Progress) -> tuple[str, ...]:
        it.is_stopped = True
        progress("embed", 1, 2)
        return ()

    it.in_derive = stop
    with pytest.raises(DaemonStoppedError):
        it.runs(5)


# --------------------------------------------------------------------- what is derived


def test_what_is_derived_follows_after_a_quiet_moment(it: Daemonic) -> None:
    it.rests()
    it.world.agent_remembers("Said now.", title="Now")
    it.runs(0.5)
    assert it.derived == 0
    it.runs(1)
    assert it.derived == 1
    assert it.told[-1] == ("derived", {"behind": []})


def test_nothing_is_derived_when_all_of_it_is_there(it: Daemonic) -> None:
    it.up_to_date = True
    it.world.agent_remembers("Said now.", title="Now")
    it.rests()
    assert it.derived == 0


@pytest.mark.parametrize("news", ["a fact", "an edit", "a loss", "a question"])
def test_the_mirror_comes_before_what_is_derived(it: Daemonic, news: str) -> None:
    fact = with_fact(it)
    finished: list[bool] = []

    def long_work(progress: Progress) -> tuple[str, ...]:
        if not finished and news == "a fact":
            it.world.agent_remembers("Said meanwhile.", title="Meanwhile")
        elif not finished and news == "an edit":
            it.person_edits(it.world.path(fact.id), OLD, NEW)
        elif not finished and news == "a loss":
            it.hears(lost="the queue was full")
        it.is_asked = not finished and news == "a question"
        finished.append(False)
        for step in range(100):
            it.world.clock.advance(0.02)
            progress("embed", step, 100)
        finished[-1] = True
        return ()

    it.in_derive = long_work
    it.world.agent_remembers("Said now.", title="Now")
    it.runs(2)
    assert finished[0] is False
    it.runs(8)
    assert finished[-1] is True
    assert it.daemon.is_idle


def test_deriving_that_fails_is_told_and_not_repeated_at_once(it: Daemonic) -> None:
    def fail(progress: Progress) -> tuple[str, ...]:
        raise OSError(28, "No space left on device")

    it.in_derive = fail
    it.runs(30)
    assert it.derived == 1
    assert it.daemon.state.last_error is not None
    assert "error" in it.kinds()


# ------------------------------------------------------------------------ what is told


def test_the_state_tells_how_far_behind_the_mirror_is(it: Daemonic) -> None:
    fact = with_fact(it)
    assert to_builtins(it.daemon.state)["lag_seconds"] == 0
    it.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(0.2)
    assert 0.1 < it.daemon.state.lag_seconds < 0.3
    it.runs(1)
    assert it.daemon.state.lag_seconds == 0
    told = dict(it.told)
    assert told["pass"]["counts"]["updated_in_store"] == 1  # type: ignore[call-overload, index]
    assert told["state"]["watcher"] == "fake"


def test_who_hears_that_it_listens_finds_that_in_its_status(it: Daemonic) -> None:
    it.runs(1)
    told = [kind for kind, _ in it.told]
    assert "state" in told[: told.index("watcher")]


def test_the_state_tells_what_waits_for_a_person(it: Daemonic) -> None:
    fact = with_fact(it)
    it.world.vault.save_in_place(it.world.path(fact.id), b"---\nid: [broken\n---\n")
    it.hears(it.world.path(fact.id))
    it.runs(2)
    it.world.agent_remembers("Said later.", title="Later")
    it.runs(1)
    said = to_builtins(it.daemon.state)
    assert (said["waiting"], said["attention"], said["conflicts"]) == (1, 1, 0)


def test_what_waits_for_a_person_is_told_once_at_the_start(it: Daemonic) -> None:
    it.world.person_writes("public/notes/bad.md", "---\nid: [\n---\n")
    it.runs(200)
    told: list[Any] = [said for kind, said in it.told if kind == "pass"]
    assert [[x["path"] for x in each["attention"]] for each in told] == [["public/notes/bad.md"]]
    state = [said for kind, said in it.told if kind == "state"][-1]
    assert (state["passes"], state["attention"]) == (1, 1)


def test_what_is_known_is_told_without_a_look(it: Daemonic) -> None:
    assert daemon_status(it.ctx, daemon=None).last_run is None
    it.world.mirrored()
    it.rests()
    daemon = to_builtins(it.daemon.state)
    with it.world.nobody_writes():
        looked = read_status(it.ctx, engine="this process", daemon=daemon)
        requests = len(it.requests)
        known = daemon_status(it.ctx, daemon=daemon)
    assert known == looked
    assert len(it.requests) == requests


def test_intervals_are_what_they_are_set_to() -> None:
    it = Daemonic(Intervals(settle=1.0, rescan=5.0))
    fact = with_fact(it)
    it.runs(11)
    assert it.whole_passes() == 2
    it.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(0.9)
    assert it.world.fact(fact.id).content == LINES
    it.runs(0.3)
    assert NEW in it.world.fact(fact.id).content
