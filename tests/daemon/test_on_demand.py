"""What is synced before an answer: nothing, the folders that changed, or everything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.watching import FakeWatcher
from tests.world import World
from vaultsync.daemon.loop import FULL_SCAN_FROM
from vaultsync.daemon.on_demand import OnDemandSync
from vaultsync.daemon.ports import WatchEvents
from vaultsync.daemon.schedule import Intervals
from vaultsync.model.paths import VaultPath, parent_folder
from vaultsync.sync.context import SyncPolicy
from vaultsync.sync.report import Report
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest


class Asked:
    """A world that is synced when it is asked, with a watcher that tests steer."""

    def __init__(self) -> None:
        self.world = World(SyncPolicy())
        self.watchers: list[FakeWatcher] = []
        self.requests: list[SyncRequest] = []
        self.starts: Callable[[], None] = lambda: None
        self.intervals = Intervals()
        self.fact = self.world.mirrored().id
        self.path = self.world.path(self.fact)
        self.sync = OnDemandSync(self.world.ctx, self._make, self.intervals)

    def asks(self) -> list[str]:
        """Ask once; what was scanned for it: nothing, folders, or `*` for everything."""
        self.requests.clear()
        if not self.sync.is_current():
            self.sync.sync(self._run)
        assert len(self.requests) <= 1
        if not self.requests:
            return []
        folders = self.requests[0].folders
        return ["*"] if folders is None else ["partial", *sorted(folders)]

    def settles(self) -> None:
        self.asks()
        self.world.clock.advance(SyncPolicy().settle_seconds + 1)
        self.asks()
        assert self.asks() == []

    def hears(self, *notes: str, others: tuple[str, ...] = (), lost: str = "") -> None:
        self.watchers[-1].heard.append(
            WatchEvents(frozenset(map(VaultPath, notes)), frozenset(map(VaultPath, others)), lost)
        )

    def person_says(self, text: str) -> None:
        self.world.person_edits(self.path, "Alpha says this.", text)
        self.hears(self.path)

    def content(self) -> str:
        return self.world.fact(self.fact).content

    def _make(self) -> FakeWatcher:
        watcher = FakeWatcher(starts=self.starts)
        self.watchers.append(watcher)
        return watcher

    def _run(self, request: SyncRequest) -> Report:
        self.requests.append(request)
        return sync_once(self.world.ctx, request)


@pytest.fixture
def it() -> Asked:
    made = Asked()
    assert made.asks() == ["*"]
    return made


def full() -> None:
    raise OSError(28, "No space left on device")


def test_the_first_question_scans_everything_once_a_watcher_listens() -> None:
    it = Asked()
    it.starts = lambda: it.world.person_edits(it.path, "Alpha says this.", "Just before.")
    assert it.asks() == ["*"]
    assert "Just before." in it.content()


def test_without_a_change_nothing_is_looked_at(it: Asked) -> None:
    assert [it.asks() for _ in range(5)] == [[]] * 5


def test_an_edit_costs_its_folder_and_is_in_the_answer(it: Asked) -> None:
    it.person_says("What a person says.")
    assert it.asks() == ["partial", parent_folder(it.path)]
    assert "What a person says." in it.content()


def test_a_folder_is_looked_at_until_its_notes_have_settled(it: Asked) -> None:
    it.person_says("What a person says.")
    wanted = ["partial", parent_folder(it.path)]
    assert [it.asks(), it.asks()] == [wanted, wanted]
    it.world.clock.advance(SyncPolicy().settle_seconds + 1)
    assert it.asks() == wanted
    assert it.asks() == []


def test_what_another_process_stored_becomes_a_note(it: Asked) -> None:
    it.world.agent_remembers("Said meanwhile.", title="Meanwhile")
    assert it.asks() == ["partial"]
    assert len(it.world.notes()) == 2
    assert it.asks() == []


@pytest.mark.parametrize(
    ("others", "notes"), [(("a/new/folder",), ()), ((), ("public/notes/Some note.conflict.md",))]
)
def test_a_folder_or_a_conflict_note_is_a_reason_to_scan_everything(
    it: Asked, others: tuple[str, ...], notes: tuple[str, ...]
) -> None:
    it.hears(*notes, others=others)
    assert it.asks() == ["*"]
    it.settles()


def test_many_folders_are_a_reason_to_scan_everything(it: Asked) -> None:
    it.hears(*(f"public/f{number}/a.md" for number in range(FULL_SCAN_FROM + 1)))
    assert it.asks() == ["*"]


def test_lost_events_scan_everything_by_a_new_watcher(it: Asked) -> None:
    it.world.person_edits(it.path, "Alpha says this.", "Unheard.")
    it.hears(lost="the queue was full")
    assert it.asks() == ["*"]
    assert "Unheard." in it.content()
    assert [each.stopped for each in it.watchers] == [True, False]
    it.settles()


def test_a_watcher_that_fails_is_replaced(it: Asked) -> None:
    it.watchers[-1].ill = "the root is another folder"
    assert it.asks() == ["*"]
    assert len(it.watchers) == 2


def test_without_a_watcher_every_question_scans_everything_and_it_is_tried_again() -> None:
    it = Asked()
    it.starts = full
    assert [it.asks(), it.asks()] == [["*"], ["*"]]
    assert len(it.watchers) == 1
    it.starts = lambda: None
    it.world.clock.advance(it.intervals.rescan)
    assert it.asks() == ["*"]
    assert it.asks() == []


def test_now_and_then_everything_is_scanned_whatever_was_heard(it: Asked) -> None:
    it.world.clock.advance(it.intervals.rescan)
    assert it.asks() == ["*"]
    assert it.asks() == []


def test_facts_that_wait_are_looked_at_again(it: Asked) -> None:
    it.world.person_deletes(it.path)
    it.hears(it.path)
    it.asks()  # a note that is gone is looked for a second time
    it.world.clock.advance(it.intervals.retries[0])
    it.asks()
    it.world.clock.advance(it.intervals.retries[1])
    it.asks()
    assert not it.world.is_alive(it.fact)


def test_while_the_store_is_away_every_question_tries_it(it: Asked) -> None:
    with it.world.outage():
        assert it.asks() == ["partial"]
        assert it.asks() == ["partial"]
    assert it.asks() == ["partial"]
    assert it.asks() == []


def test_after_a_sync_that_failed_everything_is_scanned(it: Asked) -> None:
    it.person_says("What a person says.")
    assert not it.sync.is_current()

    def fail(_: SyncRequest) -> Report:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="space"):
        it.sync.sync(fail)
    assert it.asks() == ["*"]
    assert "What a person says." in it.content()


def test_what_is_closed_watches_nothing(it: Asked) -> None:
    it.sync.close()
    it.sync.close()
    assert it.watchers[-1].stopped
