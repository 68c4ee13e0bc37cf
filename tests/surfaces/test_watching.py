"""The daemon of a vault, through `DaemonRunner`."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Never
from unittest import mock

import pytest
from msgspec import structs

import vaultsync
from tests.daemons import PATIENCE, wait_until
from tests.watchers import LINUX
from vaultsync import errors
from vaultsync.api import configuration as config
from vaultsync.api.memory import Memory
from vaultsync.backends.filesystem.memory_file import DiskMemoryFile
from vaultsync.backends.filesystem.tree import IgnoreRules
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.backends.system import address_space
from vaultsync.backends.watchers import choose_watcher
from vaultsync.backends.watchers.choose_watcher import watcher_maker
from vaultsync.daemon.watcher_supervisor import MakeWatcher
from vaultsync.model.schema import Value
from vaultsync.observations.classifier import ObservedText
from vaultsync.observations.rules import RuleClassifier
from vaultsync.service.daemon_runner import DaemonRunner, intervals_for
from vaultsync.service.daemon_work import DaemonWork
from vaultsync.service.idle_work import (
    CHECK_INTERVAL,
    FIRST_RETRY,
    LAST_MAINTENANCE,
    LONGEST_GAP,
    IdleWork,
)
from vaultsync.service.memory_file_watch import MemoryFileWatch
from vaultsync.service.memory_worker import MemoryWorker
from vaultsync.settings import MemoryFileSettings, Settings, Watcher, WatchSettings

pytestmark = pytest.mark.long(5)


def settings_at(where: Path) -> Settings:
    root, state = where / "vault", where / "state"
    vaultsync.init(str(root), state_dir=str(state))
    found = config.load_settings(root, state_dir=str(state))
    return structs.replace(found, embedder="none", grace_seconds=0.0)


def with_memory_file(where: Path) -> tuple[Settings, Path]:
    file = where / "MEMORY.md"
    file.write_text("# Memory\n\n## Tea\n\nWe drink green tea in the morning.\n")
    table = MemoryFileSettings(files=(str(file),), settle_seconds=0.1)
    return structs.replace(settings_at(where), memory_file=table), file


def made_by(settings: Settings) -> MakeWatcher:
    return watcher_maker(settings, lambda: None, lambda _: False)


class Run:
    """A daemon in a thread of its own, and its events."""

    def __init__(self, settings: Settings, *, wait: bool = False) -> None:
        self.events: list[tuple[str, Mapping[str, Value]]] = []
        self.settings = settings
        self.daemon = DaemonRunner(
            settings, on_event=lambda *event: self.events.append(event), wait=wait
        )
        self.pool = ThreadPoolExecutor(1)
        self.future = self.pool.submit(self.daemon.run)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]

    def close(self) -> None:
        self.daemon.stop()
        self.pool.shutdown()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_at(tmp_path)


@pytest.fixture
def run(settings: Settings) -> Iterator[Run]:
    with closing(Run(settings)) as run:
        assert run.daemon.ready.wait(PATIENCE)
        wait_until(lambda: run.daemon.call(lambda _: "state" in run.kinds()))
        yield run


def test_a_daemon_syncs_both_ways(run: Run) -> None:
    with Memory(run.settings) as memory:
        fact = memory.remember("An agent says this.", title="Said")
        assert fact.path is None
        wait_until(lambda: memory.get(fact.id).path)
        note = run.settings.root / (memory.get(fact.id).path or "")
        note.write_text(note.read_text().replace("An agent", "A person"))
        wait_until(lambda: memory.get(fact.id).content == "A person says this.")
        note.unlink()
        wait_until(lambda: memory.status().facts == 0)


def test_a_memory_file_is_synced_when_it_has_been_quiet(tmp_path: Path) -> None:
    watched, file = with_memory_file(tmp_path)
    with closing(Run(watched)) as run, Memory(watched) as memory:
        wait_until(lambda: memory.status().facts == 1)
        file.write_text(file.read_text().replace("green", "black"))
        wait_until(lambda: "black" in memory.list().facts[0].content)
        bad = "\n## Bad\n\n" + "\udcff" * 40
        file.write_text(file.read_text() + bad, errors="surrogateescape")
        wait_until(lambda: run.kinds().count("memory-file") > 1)


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Memory, MemoryFileWatch, Path]]:
    watched, file = with_memory_file(tmp_path)
    memory = DaemonWork(watched, stopped=lambda: False, has_waiting_calls=lambda: False)
    with memory, memory.locked(lambda: False):
        files = MemoryFileWatch(memory, lambda kind, said: None)
        files.tick(0.0)
        assert memory.status().facts == 1
        yield memory, files, file


@pytest.mark.parametrize("kind", ["daemon", "worker"])
def test_the_threads_of_a_long_running_process_share_heaps(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, called = settings_at(tmp_path), list[str]()
    monkeypatch.setattr(address_space, "_c_function", lambda name: lambda *_: called.append(name))
    if kind == "daemon":
        with DaemonWork(settings, stopped=lambda: False, has_waiting_calls=lambda: False):
            pass
    else:
        with MemoryWorker(lambda: Memory(settings), name="bridge") as worker:
            worker(lambda memory: memory.status())
    assert called == ["mallopt"]


def test_an_old_timestamp_hides_no_change(followed: tuple[Memory, MemoryFileWatch, Path]) -> None:
    memory, files, file = followed
    stamp = file.stat()
    file.write_text(file.read_text().replace("green", "black"))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    files.tick(1.5)
    files.tick(3.0)
    assert "black" in memory.list().facts[0].content


def test_the_daemon_writes_texts_queued_for_a_memory_file(
    followed: tuple[Memory, MemoryFileWatch, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.memory_files.write_queue.LOCK_TIMEOUT", 0.0)
    memory, files, file = followed
    text = "Ask the harbour master before the database."
    with DiskMemoryFile(file, str(file)).lock(0.0):
        added = memory.add_to_memory_file(file, text, section="Lessons")
    assert added.status == "queued"
    seconds = memory.settings.watch.hash_seconds
    files.tick(seconds / 2)
    assert text not in file.read_text()
    files.tick(seconds)
    assert text in file.read_text()
    assert not memory.status().attention


def test_a_section_follows_its_fact_once_the_memory_is_quiet(
    followed: tuple[DaemonWork, MemoryFileWatch, Path],
) -> None:
    memory, _, file = followed
    marked = "## Tea\n<!-- vaultsync-managed -->"
    file.write_text(file.read_text().replace("## Tea", marked))
    said: list[object] = []
    files = MemoryFileWatch(memory, lambda _, data: said.append(data), memory.version)
    files.tick(0.0)
    (fact,) = memory.list().facts
    memory.update(fact.id, content="We drink black tea in the morning.")
    files.tick(2.0)
    assert "green" in file.read_text()
    files.tick(4.0)
    assert file.read_text().endswith(f"{marked}\n\nWe drink black tea in the morning.\n")
    assert "rewrite" in str(said[-1])


def test_a_store_that_cannot_be_read_stops_no_watch_of_memory_files(
    followed: tuple[DaemonWork, MemoryFileWatch, Path],
) -> None:
    memory, _, file = followed
    newer = [errors.StoreError("it is the store of a newer vaultsync")]

    def version() -> object:
        if newer:
            raise newer[0]
        return memory.version()

    files = MemoryFileWatch(memory, lambda *_: None, version)
    files.tick(0.0)
    newer.clear()
    file.write_text(file.read_text().replace("green", "black"))
    files.tick(2.0)
    files.tick(4.0)
    assert "black" in memory.list().facts[0].content


def test_a_memory_file_whose_sync_failed_is_synced_again_after_growing_pauses(
    followed: tuple[Memory, MemoryFileWatch, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _, file = followed
    published: list[str] = []
    tries: list[float] = []
    now = 0.0

    def fails(_: object) -> Never:
        tries.append(now)
        full()

    files = MemoryFileWatch(memory, lambda kind, _: published.append(kind))
    with monkeypatch.context() as broken:
        broken.setattr(memory, "follow_memory_files", fails)
        while now < 200.0:
            files.tick(now)
            now += 1.0
    assert tries == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 123.0, 183.0]
    assert published == ["error"] * 9
    assert isinstance(files.error, OSError)
    assert not files.settled

    file.write_text(file.read_text().replace("green", "black"))
    files.tick(200.0)
    files.tick(201.0)
    assert "black" in memory.list().facts[0].content, "a changed file does not wait"
    assert files.settled
    assert files.error is None


def test_a_daemon_that_runs_once_raises_the_error_of_a_memory_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, _ = with_memory_file(tmp_path)
    monkeypatch.setattr(DaemonWork, "follow_memory_files", full)
    with pytest.raises(OSError, match="no space"):
        DaemonRunner(watched, once=True).run()


def test_scans_are_a_second_apart(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = WatchSettings(rescan_seconds=0.0, hash_seconds=0.0, poll_seconds=0.0, watcher="polling")
    never = structs.replace(settings, watch=watch)
    intervals = intervals_for(never)
    assert (intervals.rescan, intervals.hashes) == (1.0, 1.0)

    asked: dict[str, float] = {}
    monkeypatch.setattr(choose_watcher, "_load", lambda *_: lambda *_, **how: asked.update(how))
    made_by(never)(True)
    assert asked["interval"] == 1.0


PAST = "2020-01-01T00:00:00Z"
STAYS = "0193f6c2-0000-7000-8000-000000000001"


@pytest.fixture
def work(settings: Settings) -> Iterator[DaemonWork]:
    """What the daemon works with while it has the vault."""
    memory = DaemonWork(settings, stopped=lambda: False, has_waiting_calls=lambda: False)
    with memory, memory.locked(lambda: False):
        yield memory


def idle_work(memory: DaemonWork, told: list[str], jitter: float = 0.0) -> IdleWork:
    return IdleWork(
        memory,
        lambda kind, _: told.append(kind),
        lambda error: told.append(type(error).__name__),
        jitter=lambda: jitter,
    )


def tick_all(idle: IdleWork, now: float) -> None:
    while idle.tick(now):
        pass


def maintained_before(memory: DaemonWork, days: int = 1) -> None:
    day = (memory.ctx.clock.now() - timedelta(days=days)).date().isoformat()
    with memory.ctx.archive.transaction():
        memory.ctx.archive.set_setting(LAST_MAINTENANCE, day)


def full(*_: object) -> Never:
    raise OSError(errno.ENOSPC, "no space left on device")


def test_an_idle_daemon_classifies_all_observations_and_then_only_new_ones(
    work: DaemonWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("observations.processing", "service.idle_work"):
        monkeypatch.setattr(f"vaultsync.{module}.MAX_PER_RUN", 2)
    idle = idle_work(work, [])
    for number in range(5):
        work.observe(f"We decided to keep the crane at berth {number}.")
    for now in range(4):
        idle.tick(now)
    assert work.observations(tier="pending") == ()

    monkeypatch.setattr(work._services.note_index, "browse", mock.Mock(side_effect=AssertionError))
    work.observe("We decided to sell the crane.")
    idle.tick(5.0)
    idle.tick(6.0)
    monkeypatch.undo()
    assert work.observations(tier="pending") == ()


def test_expired_facts_are_deleted_once_a_day(work: DaemonWork) -> None:
    told: list[str] = []
    daily = idle_work(work, told)
    fact = work.remember("Good until then.", fields={"expiresAt": PAST})
    tick_all(daily, 0.0)
    assert work.get(fact.id), "the first day counts as done"
    maintained_before(work)
    tick_all(daily, 1.0)
    assert work.get(fact.id), "the date is checked at intervals"
    tick_all(daily, CHECK_INTERVAL)
    with pytest.raises(errors.FactNotFoundError):
        work.get(fact.id)
    tick_all(daily, 2 * CHECK_INTERVAL)
    assert told == ["pass"]

    for number in range(40):
        work.remember(f"Gone {number}.", fields={"expiresAt": PAST})
    maintained_before(work)
    tick_all(daily, 3 * CHECK_INTERVAL)
    tick_all(daily, 4 * CHECK_INTERVAL)
    assert told == ["pass", "GuardError"]
    assert work.status().facts == 40


def test_notes_are_synced_between_two_steps_of_maintenance(
    work: DaemonWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.operations.maintain.FACTS_PER_BATCH", 2)
    reports: list[Mapping[str, Value]] = []
    daily = IdleWork(work, lambda _, data: reports.append(data), full, jitter=lambda: 0.0)
    note = work.settings.root / str(work.remember("Stays.", id=STAYS).path)
    for number in range(5):
        work.remember(f"Good until then, {number}.", fields={"expiresAt": PAST})
    maintained_before(work)
    left: list[int] = []
    while daily.tick(len(left) * CHECK_INTERVAL / 2):
        assert len(left) < 20
        left.append(work.status().facts)
        note.write_text(f"{note.read_text('utf-8')}\nStep {len(left)}.\n", "utf-8")
        work.sync()
        assert work.get(STAYS).content.endswith(f"Step {len(left)}.")

    assert list(dict.fromkeys(left)) == [6, 4, 2, 1]
    (report,) = reports
    counts = report["counts"]
    assert isinstance(counts, dict)
    assert counts["deleted_in_store"] == counts["deleted_in_vault"] == 5
    assert counts["unchanged"] == 1
    work.undo(str(report["run"]))
    assert work.status().facts == 6


@pytest.mark.parametrize(
    ("days", "is_kept"), [(LONGEST_GAP + 1, True), (LONGEST_GAP, False), (-366, False)]
)
def test_a_clock_that_leaps_ahead_for_a_day_removes_nothing(
    work: DaemonWork, days: int, is_kept: bool
) -> None:
    fact = work.remember("Good until then.", fields={"expiresAt": PAST})
    maintained_before(work, days)
    daily = idle_work(work, [])
    tick_all(daily, 0.0)
    tick_all(daily, CHECK_INTERVAL)
    assert (work.status().facts == 1) is is_kept
    maintained_before(work)
    tick_all(daily, 2 * CHECK_INTERVAL)
    with pytest.raises(errors.FactNotFoundError):
        work.get(fact.id)


def test_failed_maintenance_is_repeated(work: DaemonWork, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    daily = idle_work(work, told)
    work.remember("Good until then.", fields={"expiresAt": PAST})
    maintained_before(work)
    with monkeypatch.context() as broken:
        broken.setattr(work, "maintenance", full)
        tick_all(daily, 0.0)
    tick_all(daily, CHECK_INTERVAL)
    assert told == ["OSError", "pass"]
    assert work.status().facts == 0


def test_a_day_of_maintenance_that_cannot_be_recorded_stops_no_daemon(
    work: DaemonWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    daily = idle_work(work, told)
    archive = work.ctx.archive
    with monkeypatch.context() as broken:
        broken.setattr(
            archive, "set_setting", mock.Mock(side_effect=errors.ArchiveError("it is full"))
        )
        tick_all(daily, 0.0)
    assert {*told} == {"ArchiveError"}
    told.clear()
    tick_all(daily, CHECK_INTERVAL)
    assert archive.setting(LAST_MAINTENANCE) == work.ctx.today()[:10]
    assert told == []


def test_a_classifier_that_does_not_answer_is_asked_again_after_growing_times(
    work: DaemonWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Silent(RuleClassifier):
        def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
            asked.append(len(texts))
            return [None for _ in texts]

    monkeypatch.setitem(vars(work._services), "classifier", Silent())
    work.observe("We decided to keep the berths.")
    idle = idle_work(work, [], jitter=1.0)
    for now in (0.0, FIRST_RETRY - 1, FIRST_RETRY, 3 * FIRST_RETRY - 1, 3 * FIRST_RETRY):
        idle.tick(now)

    assert asked == [1, 1, 1]
    monkeypatch.undo()
    idle.tick(9 * FIRST_RETRY)
    assert work.observations(tier="critical")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_calls_of_a_daemon_that_did_not_get_the_vault_are_refused(run: Run, moment: str) -> None:
    with closing(Run(run.settings)) as second:
        if moment == "after":
            assert isinstance(second.future.exception(PATIENCE), errors.EngineBusyError)
        with pytest.raises(errors.DaemonStoppedError):
            second.daemon.call(lambda _: 1, timeout=PATIENCE)


def test_the_engine_runs_calls_between_two_runs(run: Run) -> None:
    def ask(memory: Memory) -> str:
        fact = memory.remember("Said by the daemon's own memory.", title="Own")
        assert memory.verify().equal
        return fact.path or ""

    path = run.daemon.call(ask)
    assert (run.settings.root / path).is_file()


def test_an_error_of_a_call_is_raised_in_the_thread_that_waits(run: Run) -> None:
    with pytest.raises(errors.FactNotFoundError):
        run.daemon.call(lambda memory: memory.get("019c5c7e-8d20-7b3a-9f41-3c5d0e8a7b62"))
    assert run.daemon.call(lambda _: run.daemon.call(lambda _: 42)) == 42  # a call in a call


def test_a_call_may_time_out(run: Run) -> None:
    go = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(run.daemon.call, lambda _: go.wait(PATIENCE))
        wait_until(held.running)
        with pytest.raises(TimeoutError):
            run.daemon.call(lambda _: 42, timeout=0.05)
        go.set()
        assert held.result(PATIENCE)


def test_calls_are_refused_when_the_daemon_ends(run: Run) -> None:
    go, begun = threading.Event(), threading.Event()

    def hold(_: Memory) -> bool:
        begun.set()
        return go.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(run.daemon.call, hold)
        assert begun.wait(PATIENCE)
        late = pool.submit(run.daemon.call, lambda _: 42)
        run.daemon.stop()
        go.set()
        assert held.result(PATIENCE)
        assert late.exception(PATIENCE) is None or isinstance(
            late.exception(), errors.DaemonStoppedError
        )
    run.future.result(PATIENCE)
    with pytest.raises(errors.DaemonStoppedError):
        run.daemon.call(lambda _: 42)


def test_a_daemon_stops_soon_in_the_middle_of_a_run(settings: Settings) -> None:
    facts = [
        json.dumps({"title": f"Fact {n}", "content": f"Number {n}.", "type": "note"})
        for n in range(1200)
    ]
    with Memory(settings) as memory:
        memory.import_(facts)
    run = Run(settings)
    folder = settings.root / "public" / "notes"
    wait_until(lambda: folder.is_dir() and any(folder.iterdir()))
    run.close()
    assert run.future.exception() is None
    assert len(list(folder.iterdir())) < 1200
    with Memory(settings) as memory:
        memory.sync()
        assert memory.verify().equal
        assert memory.status().notes == 1200


def test_the_state_of_the_daemon_is_in_the_status(run: Run) -> None:
    with Memory(run.settings) as memory:
        wait_until(lambda: (now := memory.status().daemon) and now.watcher)
        said = memory.status().daemon
        assert said is not None
        assert said.lag_seconds == 0
        assert said.last_error is None
        run.close()
        assert memory.status().daemon is None
    assert run.kinds()[0] == "ready"
    assert run.kinds()[-1] == "stopped"


def test_a_second_daemon_that_waits_takes_over(run: Run) -> None:
    second = Run(run.settings, wait=True)
    assert not second.daemon.ready.wait(0.5)
    run.close()
    assert second.daemon.ready.wait(PATIENCE)
    second.close()
    assert second.future.exception() is None


def test_a_daemon_that_waits_can_be_stopped(run: Run) -> None:
    second = Run(run.settings, wait=True)
    second.daemon.stop()
    assert isinstance(second.future.exception(PATIENCE), errors.EngineBusyError)


def test_a_store_of_a_newer_version_stops_no_daemon(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultsync.service.idle_work.CHECK_INTERVAL", 0.05)
    with Memory(settings) as memory:
        fact = memory.remember("Said before.", title="Before")
    store, own = settings.state_dir / "store.sqlite3", tmp_path / "own.sqlite3"
    newer = tmp_path / "newer.sqlite3"
    newer.write_bytes(store.read_bytes())
    with closing(sqlite3.connect(newer)) as db, db:
        db.execute("INSERT INTO migrations (name) VALUES ('m999_of_tomorrow')")
    with closing(Run(settings)) as run:
        wait_until(lambda: "derived" in run.kinds())  # the first run has asked the store
        store.rename(own)
        newer.rename(store)
        with Memory(settings) as memory:
            memory._services.access_counter.add([fact.id])
        # Upkeep may fail before the store is asked, which is an error, or wait for it.
        wait_until(lambda: any(k == "store" and "newer" in str(data) for k, data in run.events))
        assert not run.future.done()
        own.rename(store)
        wait_until(lambda: ("store", {"away": ""}) in run.events)
        with Memory(settings) as memory:
            fact = memory.remember("Said after.", title="After")
            wait_until(lambda: memory.get(fact.id).path)
    assert run.future.done()
    assert run.future.exception() is None


def test_uses_that_cannot_be_counted_stop_no_daemon(
    work: DaemonWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    daily = idle_work(work, told)
    fact = work.remember("Said before.")
    uses = work._services.access_counter
    uses.add([fact.id])
    newer = mock.Mock(side_effect=errors.StoreError("it is the store of a newer vaultsync"))
    with monkeypatch.context() as broken:
        broken.setattr(work.ctx.store, "count_accesses", newer)
        daily.tick(0.0)
        assert told == []
        broken.setattr(uses._log, "batch", full)
        daily.tick(CHECK_INTERVAL)
        assert told == ["OSError"]
    work.count_recalls()
    assert work.get(fact.id).access_count


def test_once_settled_a_failure_is_raised(settings: Settings) -> None:
    (settings.root / ".meta" / "config.toml").rename(settings.root / "away.toml")
    with pytest.raises(errors.VaultMissingError):
        DaemonRunner(settings, once=True).run()


def test_a_store_that_is_missing_at_first_is_used_later(settings: Settings, tmp_path: Path) -> None:
    with Memory(settings) as memory:
        memory.remember("Said before.", title="Before")
    store = settings.state_dir / "store.sqlite3"
    store.rename(tmp_path / "away.sqlite3")
    with closing(Run(settings)) as run:
        wait_until(lambda: "store" in run.kinds())
        (tmp_path / "away.sqlite3").rename(store)
        wait_until(lambda: ("store", {"away": ""}) in run.events)
        with Memory(settings) as memory:
            fact = memory.remember("Said after.", title="After")
            wait_until(lambda: memory.get(fact.id).path)


def test_the_state_file_of_a_dead_daemon_is_ignored(tmp_path: Path) -> None:
    told = DaemonFile(tmp_path)
    assert told.read() is None
    told.write({"passes": 3})
    assert (told.read() or {})["passes"] == 3
    (tmp_path / "daemon.json").write_text('{"passes": 3, "pid": 99999999}')
    assert told.read() is None
    (tmp_path / "daemon.json").write_text("no json")
    assert told.read() is None
    told.remove()
    told.remove()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "daemon.json").mkdir()
    told.write({"passes": 4})
    assert [each.name for each in tmp_path.iterdir()] == ["daemon.json"]


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ("auto", LINUX[0] if LINUX else "watchfiles"),
        ("watchfiles", "watchfiles"),
        ("watchdog", "watchdog"),
        ("polling", "watchdog, polling"),
    ],
)
def test_the_setting_chooses_the_watcher(settings: Settings, chosen: Watcher, name: str) -> None:
    found = structs.replace(settings, watch=WatchSettings(watcher=chosen))
    make = made_by(found)
    assert make(False).name == name
    assert make(True).name == "watchdog, polling"


def test_on_network_mounts_it_polls(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "vaultsync.backends.watchers.watch_checks.mount_without_events", lambda _: "nfs4"
    )
    assert made_by(settings)(False).polls
    fixed = structs.replace(settings, watch=WatchSettings(watcher="watchfiles"))
    assert not made_by(fixed)(False).polls


def test_a_missing_watcher_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose_watcher, "_AUTO", choose_watcher._NATIVE)  # as on other systems
    make = made_by(settings)
    monkeypatch.setitem(sys.modules, "vaultsync.backends.watchers.watchfiles", None)
    assert made_by(settings)(False).name == "watchdog"
    monkeypatch.setitem(sys.modules, "vaultsync.backends.watchers.watchdog", None)
    with pytest.raises(errors.MissingExtraError, match="watching for changes needs watchfiles"):
        made_by(settings)
    assert make(True).name == "watchfiles"  # nothing polls, and it may work again
    polling = structs.replace(settings, watch=WatchSettings(watcher="polling"))
    monkeypatch.setattr(choose_watcher, "_AUTO", LINUX or choose_watcher._NATIVE)
    with pytest.raises(OSError, match="watchdog"):
        made_by(polling)(False)


@pytest.mark.skipif(not LINUX, reason="the others watch all folders")
def test_ignored_folders_are_not_watched(settings: Settings) -> None:
    found = structs.replace(settings, ignore=("build",))
    (settings.root / "build" / "sub").mkdir(parents=True)
    (settings.root / "kept").mkdir()
    watcher = watcher_maker(found, lambda: None, IgnoreRules(found.ignore).folder)(False)
    watcher.start()
    try:
        (settings.root / "build" / "sub" / "a.md").write_text("text")
        (settings.root / "kept" / "b.md").write_text("text")
        end = time.monotonic() + PATIENCE
        while not (heard := watcher.drain()):
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        watcher.stop()
    assert heard.notes == {"kept/b.md"}
