from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.disputes import conflict_in
from tests.watching import Daemonic
from tests.world import LINES, SCOPE
from vaultsync import errors
from vaultsync.daemon.schedule import Intervals
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.proposals.service import ProposalDraft, propose
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict
from vaultsync.sync.report import Progress
from vaultsync.sync.status import daemon_status, read_status
from vaultsync.sync.sync_request import SyncRequest

pytestmark = pytest.mark.long(5)

OLD, NEW = "Alpha says this.", "Alpha says what a person says."


@pytest.fixture
def it() -> Daemonic:
    return Daemonic()


class Noted(Daemonic):
    """A fact on both sides, and a daemon at rest."""

    def __init__(self, intervals: Intervals | None = None) -> None:
        super().__init__(intervals)
        self.fact = self.world.mirrored().id
        self.path = self.world.path(self.fact)
        self.rests()

    def content(self) -> str:
        return self.world.fact(self.fact).content

    def edit(self) -> None:
        """The user's edit, heard at once."""
        self.person_edits(self.path, OLD, NEW)

    def delete(self) -> None:
        self.world.vault.delete(self.path)
        self.hears(self.path)

    def break_note(self) -> None:
        self.world.vault.save_in_place(self.path, b"---\nid: [broken\n---\n")
        self.hears(self.path)


@pytest.fixture
def noted() -> Noted:
    return Noted()


def full(*_: object) -> NoReturn:
    raise OSError(28, "No space left on device")


# ---------------------------------------------------------------------- the two ways


def test_at_the_start_the_whole_vault_is_looked_at(it: Daemonic) -> None:
    it.world.agent_remembers("Said before it began.", title="Before")
    it.runs(0.1)
    assert it.whole_passes() == 1
    assert len(it.world.notes()) == 1


@pytest.mark.parametrize("signalled", [True, False])
def test_what_an_agent_stores_is_a_note_by_signal_or_poll(it: Daemonic, *, signalled: bool) -> None:
    it.rests()
    it.runs(it.intervals.poll / 2)
    fact = it.world.agent_remembers("Said now.", title="Now")
    if signalled:
        it.hears_of_the_store()
    it.runs(0.1 if signalled else 2 * it.intervals.poll)
    assert "Said now." in it.world.note(fact.id)
    assert it.whole_passes() == 0


def test_a_saved_note_is_in_the_store_when_it_has_settled(noted: Noted) -> None:
    noted.edit()
    noted.runs(noted.intervals.settle - 0.1)
    assert noted.content() == LINES
    noted.runs(0.2)
    assert NEW in noted.content()
    assert noted.whole_passes() == 0


def test_a_note_that_is_saved_again_and_again_is_heard_after_two_seconds(noted: Noted) -> None:
    text = OLD
    for number in range(30):
        noted.person_edits(noted.path, text, text := f"Alpha says {number}.")
        noted.runs(0.1)
        if noted.content() != LINES:
            break
    assert 19 <= number <= 22


def test_an_agent_waits_for_a_note_that_is_being_saved(noted: Noted) -> None:
    noted.edit()
    changed = LINES.replace("Charlie says more.", "Charlie says what an agent says.")
    noted.world.agent_updates(noted.fact, content=changed)
    noted.hears(noted.path)
    noted.runs(0.2)
    assert "what an agent says" not in noted.world.note(noted.fact)
    noted.runs(1)
    assert "what an agent says" in noted.world.note(noted.fact)
    assert NEW in noted.world.note(noted.fact)
    noted.world.assert_equal_sides()


def test_our_own_writes_come_back_as_events_and_cause_no_write(noted: Noted) -> None:
    noted.world.agent_updates(noted.fact, content="Said anew.")
    noted.runs(0.2)
    noted.hears(noted.path, others=(noted.path.rpartition("/")[0],))
    noted.up_to_date = True
    with noted.world.nobody_writes():
        noted.runs(5)
    assert noted.whole_passes() == 0


def test_at_rest_nothing_is_looked_at(noted: Noted) -> None:
    noted.runs(30)
    assert (noted.requests, noted.told) == ([], [])


# --------------------------------------------------------------------- more than edits


def test_a_deleted_note_is_deleted_in_the_store_after_two_looks(noted: Noted) -> None:
    noted.delete()
    noted.runs(3)
    assert not noted.world.is_alive(noted.fact)
    assert noted.daemon.is_idle


def test_facts_that_come_meanwhile_do_not_put_off_the_second_look(noted: Noted) -> None:
    noted.delete()
    for number in range(30):
        noted.world.agent_remembers(f"Fact {number}.", title=f"{number}", type="lesson")
        noted.world.clock.advance(-0.9)
        noted.runs(0.1)
    assert not noted.world.is_alive(noted.fact)


@pytest.mark.parametrize("heard", ["the old path", "the new path"])
def test_a_note_that_moved_is_found_and_is_no_twin(noted: Noted, heard: str) -> None:
    new = f"{SCOPE}/lessons/elsewhere.md"
    noted.world.vault.rename(noted.path, new)
    noted.hears(noted.path if heard == "the old path" else new)
    noted.runs(2)
    assert noted.world.path(noted.fact) == new
    assert noted.world.fact(noted.fact).type == "lesson"
    assert noted.world.archive.notices() == []


def test_a_folder_that_moved_in_is_looked_into(it: Daemonic) -> None:
    it.rests()
    it.world.vault.save_in_place(f"{SCOPE}/new/deep/note.md", b"# Note\n\nText.\n")
    it.hears(others=(f"{SCOPE}/new",))
    it.runs(1)
    assert len(it.world.facts()) == 1


def test_a_folder_that_went_takes_its_notes_along(noted: Noted) -> None:
    folder = noted.path.rpartition("/")[0]
    noted.world.vault.rename_folder(folder, f"{SCOPE}/lessons")
    noted.hears(others=(folder,))
    noted.runs(1)
    assert noted.world.path(noted.fact).startswith(f"{SCOPE}/lessons/")


@pytest.mark.parametrize(
    ("notes", "others", "looks"),
    [
        ((), ("picture.png",), 0),  # never known, and gone
        ((), ("",), 1),  # the root
        ((f"{SCOPE}/facts/a-plain-fact.conflict.md",), (), 1),
        ([f"{SCOPE}/f{n}/note.md" for n in range(150)], (), 1),
    ],
    ids=["nothing", "the root", "a conflict note", "very many folders"],
)
def test_what_means_a_look_at_everything(
    noted: Noted, notes: Sequence[str], others: tuple[str, ...], looks: int
) -> None:
    noted.hears(*notes, others=others)
    noted.runs(2)
    assert (noted.whole_passes(), len(noted.requests)) == (looks, looks)


# ------------------------------------------------------------------------------ rescans


def test_what_no_event_told_is_found_by_the_next_rescan(noted: Noted) -> None:
    noted.world.person_edits(noted.path, OLD, NEW)
    noted.runs(noted.intervals.rescan + 1)
    assert NEW in noted.content()


def test_a_root_that_is_missing_ends_no_daemon(noted: Noted) -> None:
    """Its folders are events before a run notices."""

    def missing(_: str) -> NoReturn:
        raise errors.VaultMissingError("memory", "it is not mounted")

    noted.world.vault.before = missing
    noted.hears(others=(parent_folder(VaultPath(noted.path)),))
    noted.runs(3)
    assert isinstance(noted.daemon.error, errors.VaultMissingError)
    noted.world.vault.before = lambda _: None
    noted.edit()
    noted.runs(8)
    assert NEW in noted.content()


def test_lost_events_mean_a_rescan_now(noted: Noted) -> None:
    noted.world.person_edits(noted.path, OLD, NEW)
    noted.hears(lost="the queue was full")
    noted.runs(0.1)
    assert NEW in noted.content()
    assert ("rescan", {"why": "the queue was full"}) in noted.told


@pytest.mark.parametrize("how", ["stopped", "asleep", "set back"])
def test_after_a_gap_in_time_the_vault_is_looked_at(noted: Noted, how: str) -> None:
    noted.world.vault.save_in_place(
        noted.world.path(noted.fact), noted.world.note(noted.fact).replace(OLD, NEW).encode()
    )
    if how == "stopped":
        noted.world.clock.advance(8)
    else:
        noted.world.clock.set_back(-900 if how == "asleep" else 900)
    noted.runs(0.1)
    assert NEW in noted.content()
    assert noted.kinds().count("rescan") == 1


def test_a_change_that_hides_behind_its_stamp_is_found_within_an_hour(noted: Noted) -> None:
    inode = noted.world.vault.files[noted.path]
    stamp = inode.stamp
    inode.data = inode.data.replace(OLD.encode(), b"Alpha says that!")
    assert inode.stamp == stamp
    noted.runs(3000)
    assert noted.content() == LINES
    noted.runs(600)
    assert "Alpha says that!" in noted.content()


def test_a_watcher_that_died_means_a_look_and_is_told(noted: Noted) -> None:
    noted.watcher.ill = "its thread ended"
    noted.runs(2)
    assert len(noted.watchers) == 2
    assert noted.whole_passes() == 1
    assert noted.daemon.state.watcher_trouble == "its thread ended"
    assert {"watcher", "state", "rescan"} <= set(noted.kinds())


def test_without_a_watcher_the_rescans_go_on(it: Daemonic) -> None:
    it.starts = full
    fact = it.world.mirrored()
    it.runs(8)
    assert it.daemon.state.watcher == ""
    it.world.person_edits(it.world.path(fact.id), OLD, NEW)
    it.runs(it.intervals.rescan + 1)
    assert NEW in it.world.fact(fact.id).content


@pytest.mark.parametrize(
    ("per_note", "watched", "seconds"),
    [(60, True, 60), (120, True, 120), (6_000, True, 600), (120, False, 60)],
)
def test_a_large_vault_is_scanned_less(per_note: float, seconds: int, *, watched: bool) -> None:
    it = Daemonic(Intervals(rescan_per_note=per_note))
    if not watched:
        it.starts = full
    it.world.mirrored()
    it.runs(8)
    it.forget()
    it.runs(5 * seconds)
    assert it.whole_passes() == 5


# ------------------------------------------------------------------------------ trouble


def test_a_store_that_is_away_is_asked_ever_more_rarely(noted: Noted) -> None:
    asked: list[float] = []

    def away(_: str) -> None:
        asked.append(noted.world.clock.monotonic())
        raise errors.StoreUnavailableError("no answer")

    noted.world.store.before = away
    noted.runs(300)
    assert 3 < len(asked) < 60  # a rescan a minute asks twice
    assert "no answer" in noted.daemon.state.store_away
    noted.edit()
    noted.runs(5)
    noted.world.store.before = lambda _: None
    noted.runs(31)
    assert noted.daemon.state.store_away == ""
    assert NEW in noted.content()
    assert noted.kinds().count("store") == 2


def test_after_a_failure_the_next_pass_waits_ever_longer(noted: Noted) -> None:
    failed: list[float] = []

    def fail(stage: str) -> None:
        failed.append(noted.world.clock.monotonic())
        full()

    noted.in_pass = fail
    noted.hears(lost="something")
    noted.runs(30)
    gaps = [b - a for a, b in pairwise(failed)]
    assert [round(gap) for gap in gaps] == [1, 2, 4, 8]
    assert (error := noted.daemon.state.last_error)
    assert error.kind == "OSError"
    assert error.hint
    assert noted.daemon.error is not None
    assert not noted.daemon.is_idle
    noted.in_pass = lambda _: None
    noted.daemon.retry_soon()
    noted.runs(1)
    assert noted.daemon.error is None
    assert not noted.daemon.state.failing
    assert noted.daemon.state.last_error == replace(error, hint=""), "it no longer applies"

    noted.in_pass = fail
    noted.hears(lost="something")
    noted.runs(1)
    noted.daemon.record_error(OSError(28, "No space left on device"))
    noted.in_pass = lambda _: None
    noted.runs(30)
    assert not noted.daemon.state.failing
    assert (beside := noted.daemon.state.last_error)
    assert beside.hint, "it was of no run"


def test_what_fails_beside_the_passes_is_told_too(it: Daemonic) -> None:
    it.runs(1)
    it.daemon.record_error(OSError(28, "No space left on device"))
    assert (error := it.daemon.state.last_error)
    assert (error.kind, error.message) == ("OSError", "No space left on device")
    assert error.hint.startswith("free some space")
    assert not it.daemon.state.failing
    assert it.daemon.error is None


def test_an_edit_that_a_failed_pass_had_in_hand_is_taken_up_by_the_next(noted: Noted) -> None:
    noted.in_pass = full
    noted.edit()
    noted.runs(noted.intervals.settle + 0.2)
    assert noted.daemon.error is not None
    assert noted.whole_passes() == 0
    noted.in_pass = lambda _: None
    noted.runs(noted.intervals.failure + 0.2)
    assert NEW in noted.content()


def all_notes_go(it: Daemonic) -> None:
    """More deletions than are plausible."""
    for number in range(30):
        it.world.agent_remembers(f"Fact {number}.", title=f"Fact {number}")
    it.world.quiesce()
    it.rests()
    for path in it.world.notes():
        it.world.vault.delete(path)
    it.hears(others=(SCOPE,))


@pytest.mark.parametrize("asked", [False, True], ids=["by the daemon", "by the user too"])
def test_what_the_guard_stopped_is_tried_under_one_run(it: Daemonic, *, asked: bool) -> None:
    all_notes_go(it)
    it.runs(120)
    error = it.daemon.error
    assert isinstance(error, errors.GuardError)
    assert {each.run for each in it.requests[3:]} == {error.run}
    assert len(it.world.facts()) == 30
    if asked:
        with pytest.raises(errors.GuardError) as stopped:
            it.world.sync()
        error = stopped.value
        it.daemon.retry_soon()
        it.runs(120)

    it.world.sync(SyncRequest(confirm=error.run))
    it.daemon.retry_soon()
    it.runs(10)
    assert it.world.facts() == []
    assert it.daemon.is_idle


def test_what_waits_for_a_person_is_not_looked_at_for_ever(noted: Noted) -> None:
    noted.break_note()
    noted.runs(50)
    noted.forget()
    noted.runs(50)
    assert len(noted.requests) <= 1
    assert noted.daemon.is_idle


# -------------------------------------------------------------------------- the stop


def test_a_pass_ends_between_its_parts_when_the_daemon_is_stopped(it: Daemonic) -> None:
    for number in range(20):
        it.world.agent_remembers(f"Fact {number}.", title=f"Fact {number}")

    def stop(stage: str) -> None:
        it.is_stopped = stage == "plan"

    it.in_pass = stop
    with pytest.raises(errors.DaemonStoppedError):
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
    with pytest.raises(errors.DaemonStoppedError):
        it.runs(5)


# --------------------------------------------------------------------- what is derived


def test_what_is_derived_follows_after_a_quiet_moment(it: Daemonic) -> None:
    it.rests()
    it.world.agent_remembers("Said now.", title="Now")
    it.runs(0.5)
    assert it.derived == 0
    it.runs(1)
    assert (it.derived, it.told[-1]) == (1, ("derived", {"behind": []}))


@pytest.mark.parametrize("is_told", [True, False])
def test_what_another_caller_synced_is_derived(it: Daemonic, *, is_told: bool) -> None:
    it.rests()
    it.world.agent_remembers("Said now.", title="Now")
    it.world.sync()
    if is_told:
        it.daemon.retry_soon()
    it.runs(3)
    assert it.derived == 1


def test_nothing_is_derived_when_all_of_it_is_there(it: Daemonic) -> None:
    it.up_to_date = True
    it.world.agent_remembers("Said now.", title="Now")
    it.rests()
    assert it.derived == 0


@pytest.mark.parametrize("news", ["a fact", "an edit", "a loss", "a question"])
def test_the_mirror_comes_before_what_is_derived(noted: Noted, news: str) -> None:
    finished: list[bool] = []

    def long_work(progress: Progress) -> tuple[str, ...]:
        if not finished and news == "a fact":
            noted.world.agent_remembers("Said meanwhile.", title="Meanwhile")
        elif not finished and news == "an edit":
            noted.edit()
        elif not finished and news == "a loss":
            noted.hears(lost="the queue was full")
        noted.is_asked = not finished and news == "a question"
        finished.append(False)
        for step in range(100):
            noted.world.clock.advance(0.02)
            progress("embed", step, 100)
        finished[-1] = True
        return ()

    noted.in_derive = long_work
    noted.world.agent_remembers("Said now.", title="Now")
    noted.runs(2)
    assert finished[0] is False
    noted.runs(8)
    assert finished[-1] is True
    assert noted.daemon.is_idle


def test_tables_start_again_so_only_a_stop_interrupts_them(noted: Noted) -> None:
    finished: list[bool] = []

    def long_work(progress: Progress) -> tuple[str, ...]:
        noted.edit()
        for step in range(100):
            noted.world.clock.advance(0.02)
            progress("tables", step, 100)
        finished.append(True)
        noted.is_stopped = True
        progress("tables", 0, 1)
        return ()

    noted.in_derive = long_work
    noted.world.agent_remembers("Said now.", title="Now")
    with pytest.raises(errors.DaemonStoppedError):
        noted.runs(8)
    assert finished == [True]


def test_deriving_that_fails_is_told_and_not_repeated_at_once(it: Daemonic) -> None:
    it.in_derive = full
    it.runs(30)
    assert it.derived == 1
    assert it.daemon.state.last_error is not None
    assert "error" in it.kinds()


@pytest.mark.long(5)
@pytest.mark.parametrize("failing", ["an error", "a part that stays behind"])
def test_deriving_that_fails_is_repeated_after_growing_pauses(it: Daemonic, failing: str) -> None:
    times: list[float] = []

    def fail(progress: Progress) -> tuple[str, ...]:
        times.append(it.world.clock.monotonic())
        return full() if failing == "an error" else ("the links: the disk is full",)

    it.in_derive = fail
    it.runs(1_000)
    pauses = [round(after - before) for before, after in pairwise(times)]
    assert pauses == [60, 120, 240, 480]
    assert it.daemon.is_idle, "a retry is not work that a single run waits for"
    it.in_derive = lambda _: ()
    it.runs(1_000)
    it.up_to_date = True
    it.forget()
    it.runs(10_000)
    assert it.derived == 0
    it.up_to_date = False  # another program has changed a file of `.index/`
    it.runs(it.intervals.rescan + 2)
    assert it.derived > 0


def test_folders_whose_contents_could_not_be_compared_are_compared_again(noted: Noted) -> None:
    noted.up_to_date = True
    hashed: list[float] = []

    def fail(stage: str) -> None:
        if noted.requests[-1].read_all:
            hashed.append(noted.world.clock.monotonic())
            full()

    noted.in_pass = fail
    noted.runs(noted.intervals.hashes + 200)
    assert [round(after - before) for before, after in pairwise(hashed)] == [60, 120]
    noted.in_pass = lambda _: None
    noted.forget()
    noted.runs(300)
    assert {SCOPE} <= {x for each in noted.requests if each.read_all for x in each.folders or ()}
    noted.forget()
    noted.runs(300)
    assert not [each for each in noted.requests if each.read_all]


# ------------------------------------------------------------------------ what is told


def test_the_state_tells_how_far_behind_the_mirror_is(noted: Noted) -> None:
    assert to_builtins(noted.daemon.state)["lag_seconds"] == 0
    noted.edit()
    noted.runs(0.2)
    noted.hears(noted.path)  # it is saved once more
    noted.runs(0.05)
    assert 0.1 < noted.daemon.state.lag_seconds < 0.3
    noted.runs(1)
    assert noted.daemon.state.lag_seconds == 0
    told = dict(noted.told)
    assert told["pass"]["counts"]["updated_in_store"] == 1  # type: ignore[call-overload, index]
    assert told["state"]["watcher"] == "fake"


def test_who_hears_that_it_listens_finds_that_in_its_status(it: Daemonic) -> None:
    it.runs(1)
    told = [kind for kind, _ in it.told]
    assert "state" in told[: told.index("watcher")]


def test_the_state_tells_what_waits_for_a_person(noted: Noted) -> None:
    noted.break_note()
    noted.runs(2)
    noted.world.agent_remembers("Said later.", title="Later")
    noted.runs(1)
    said = to_builtins(noted.daemon.state)
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
    noted = Noted(Intervals(settle=1.0, rescan=5.0))
    noted.runs(11)
    assert noted.whole_passes() == 2
    noted.edit()
    noted.runs(0.9)
    assert noted.content() == LINES
    noted.runs(0.3)
    assert NEW in noted.content()


def test_what_waits_in_the_outbox_is_delivered_at_the_next_poll(noted: Noted) -> None:
    """As of a process that could not have a store that only one process can open."""
    noted.rests()
    noted.world.store.away = True
    noted.world.agent_remembers("Said beside the daemon.", title="Beside")
    noted.world.store.away = False
    noted.runs(1)
    assert len(noted.world.notes()) == 2
    assert noted.world.archive.outbox() == []


def test_a_proposal_that_an_agent_makes_is_told(noted: Noted) -> None:
    noted.rests()
    change = ProposedChange(noted.fact, "r", {"title": "A"}, {"title": "B"})
    draft = ProposalDraft("retitle", "Say it better", "It reads better.", "indy", SCOPE, (change,))
    propose(noted.world.ctx, draft)
    noted.runs(noted.intervals.rescan + 1)

    assert noted.daemon.current_state().proposals == 1


def test_what_a_run_only_noticed_is_told(noted: Noted) -> None:
    noted.rests()
    copy = noted.path.replace(".md", " (Conflicted copy).md")
    noted.world.vault.save_in_place(copy, noted.world.vault.read(noted.path).data)
    noted.hears(copy)
    noted.runs(noted.intervals.settle + 1)

    assert [data["attention"] for kind, data in noted.told if kind == "state"][-1] == 1


@pytest.mark.parametrize("take", ["vault", "store"])
def test_a_conflict_that_another_caller_resolved_is_told_at_once(noted: Noted, take: str) -> None:
    conflict = conflict_in(noted.world)
    noted.runs(noted.intervals.rescan + 1)
    noted.forget()
    resolve_conflict(noted.ctx, ConflictResolution(conflict, take, ("content",)))
    noted.daemon.retry_soon()

    assert [data["conflicts"] for kind, data in noted.told if kind == "state"] == [0]


# ------------------------------------------------------------------- what is measured


def test_the_way_of_a_fact_to_its_note_is_measured(noted: Noted) -> None:
    noted.world.agent_updates(noted.fact, content="What an agent says.")
    noted.rests()

    found = noted.daemon.current_state().telemetry
    assert found is not None
    assert found.write_through is not None
    assert (found.write_through.count, found.note_to_store, found.edits) == (1, None, 1)


def test_the_way_of_an_edit_to_the_store_is_measured_with_the_wait_for_quiet(noted: Noted) -> None:
    noted.edit()
    noted.rests()

    found = noted.daemon.current_state().telemetry
    assert found is not None
    assert found.note_to_store is not None
    assert found.note_to_store.p50 >= noted.intervals.settle
    assert found.write_through is None
    assert found.longest_lag_seconds > 0


def test_an_edit_that_fails_at_first_is_measured_from_when_it_was_heard(noted: Noted) -> None:
    noted.edit()
    with noted.world.outage():
        noted.runs(30)
    noted.rests()

    found = noted.daemon.current_state().telemetry
    assert found is not None
    assert found.note_to_store is not None
    assert found.note_to_store.p50 >= 30


def test_what_changed_before_the_daemon_was_there_is_not_measured(it: Daemonic) -> None:
    it.world.agent_remembers("From before.")
    it.rests()

    found = it.daemon.current_state().telemetry
    assert found is not None
    assert (found.write_through, found.edits) == (None, 0)
