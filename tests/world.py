"""A small world: a vault, a store, a user, some agents, and the sync between them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from tests.doubles.sqlite import MemoryLinks
from tests.doubles.store import MemoryStore
from tests.fakes import FakeClock
from tests.memory_archive import MemoryArchive
from tests.sim import SimVault
from tests.sim_disk import Inode
from vaultsync import errors
from vaultsync.api.configuration import machine_file, marker_id
from vaultsync.backends.state.settings_files import edit_machine_file
from vaultsync.facts import service as fact_work
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.permissions import EVERY_AGENT, AgentPermissions, Permissions
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.notes.review_note import is_review_note
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.operations.rebuild import rebuild
from vaultsync.operations.verify import verify_all
from vaultsync.storage.archive import Base
from vaultsync.storage.store import StoreWrite
from vaultsync.sync.context import SyncContext, SyncPolicy
from vaultsync.sync.report import ActionTaken, Report, ReportedNotice
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest

SCOPE = "team-core"
OBSERVED = "project-core"
"""The scopes in which agents observe."""
OPEN = Permissions({EVERY_AGENT: AgentPermissions(write=("*",))})
"""The permissions of agents in these worlds: they may write wherever they may read."""
OPEN_POLICY = SyncPolicy(permissions=OPEN)
PASSES = 12
"""Maximum number of runs until nothing is left to do."""
_VAULT_WRITES = frozenset(
    {"stage", "create", "exchange", "move", "stage_removal", "write_meta", "drop_meta"}
)

LINES = "Alpha says this.\n\nBravo says that.\n\nCharlie says more."
"""A content of which the user edits the first line and an agent the last one."""
PERSONS = LINES.replace("Alpha says this.", "Alpha says what the person says.")
AGENTS = LINES.replace("Charlie says more.", "Charlie says what the agent says.")
ALPHA, PERSONS_ALPHA = LINES.split("\n", maxsplit=1)[0], PERSONS.split("\n")[0]
MERGED = PERSONS.replace("Charlie says more.", "Charlie says what the agent says.")


Place = str | Fact


class World:
    """Both sides, the user and the agents; each action advances the clock."""

    def __init__(
        self,
        policy: SyncPolicy | None = None,
        view: NoteView = IDENTITY_VIEW,
        permissions: Permissions = OPEN,
    ) -> None:
        self.clock = FakeClock()
        self.vault = SimVault(now_ns=lambda: int(self.clock.now().timestamp() * 1e9))
        self.store = MemoryStore(self.clock)
        self.archive = MemoryArchive()
        self.ctx = SyncContext(
            self.store,
            self.archive,
            self.clock,
            (policy or SyncPolicy())._replace(permissions=permissions),
            view=view,
            vault=self.vault,
        )

    # --- the person ------------------------------------------------------------------

    # Each of these takes a path, or the fact whose note it is about.

    def _of(self, place: Place) -> str:
        return self.path(place.id) if isinstance(place, Fact) else place

    def person_writes(self, place: Place, text: str | bytes, *, by_rename: bool = False) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.clock.advance(1)
        save = self.vault.save_by_rename if by_rename else self.vault.save_in_place
        save(self._of(place), data)

    def person_edits(self, place: Place, old: str, new: str, *, by_rename: bool = False) -> None:
        text = self.text(place)
        assert old in text, f"{old!r} is not in {self._of(place)}:\n{text}"
        self.person_writes(place, text.replace(old, new, 1), by_rename=by_rename)

    def person_deletes(self, place: Place) -> None:
        self.clock.advance(1)
        path = self._of(place)
        assert path in self.vault.files
        self.vault.delete(path)

    def person_renames(self, place: Place, to: str) -> None:
        self.clock.advance(1)
        self.vault.rename(self._of(place), to)

    def person_renames_folder(self, path: str, to: str) -> None:
        self.clock.advance(1)
        self.vault.rename_folder(path, to)

    def person_copies(self, place: Place, to: str) -> None:
        self.clock.advance(1)
        self.vault.copy(self._of(place), to)

    def person_deletes_for_good(self, place: Place) -> None:
        """Delete a note, and run the two scans that a deletion requires."""
        self.person_deletes(place)
        self.sync()
        self.clock.advance(5)

    def at(self, step: str, act: Callable[[], object], *, number: int = 1) -> None:
        """Let something happen once, right before a step of the vault or the store is done.

        The step "" is any.
        """
        left = number

        def before(now: str) -> None:
            nonlocal left
            left -= step in ("", now)
            if not left:
                self.vault.before = self.store.before = _nothing
                act()

        self.vault.before = self.store.before = before

    def dies_at(
        self, step: str, *, number: int = 1, keep: Callable[[int], bool] | None = None
    ) -> None:
        """A pass that ends right before a step; `keep` as for a crash."""
        self.at(step, die, number=number)
        with contextlib.suppress(KeyboardInterrupt):
            self.sync()
            raise AssertionError(f"no {number}. {step} in this pass")
        self.vault.before = self.store.before = _nothing
        self.vault.crash(keep)

    # --- the agents ------------------------------------------------------------------

    def agent_remembers(self, content: str = "", *, agent: str = "indy", **values: Value) -> Fact:
        self.clock.advance(1)
        scope = OBSERVED if values.get("type") == "observation" else SCOPE
        said = {"scope": scope, "content": content, **values}
        return fact_work.remember(self.ctx, said, agent=agent)

    def agent_updates(self, fact_id: str, *, agent: str = "indy", **values: Value) -> Fact:
        self.clock.advance(1)
        return fact_work.update(self.ctx, fact_id, values, agent=agent)

    def agent_forgets(self, fact_id: str, *, agent: str = "indy") -> None:
        self.clock.advance(1)
        fact_work.forget(self.ctx, fact_id, agent=agent)

    def at_store(self, method: str, act: Callable[[], object]) -> None:
        """Call a function once, right before a method of the store."""

        def before(now: str) -> None:
            if now == method:
                self.store.before = _nothing
                act()

        self.store.before = before

    def others_write_first(self, fact_id: str, *, times: int) -> None:
        """Make another agent write before each of the next writes to the store."""
        left = times

        def before(method: str) -> None:
            nonlocal left
            if method != "write" or not left:
                return
            left -= 1
            self.store.before = _nothing
            fact = self.store.get(fact_id)
            again = fact.evolve(access_count=fact.access_count + 1)
            self.store.write([StoreWrite(fact_id, again, fact.revision, "ada")])
            self.store.before = before

        self.store.before = before

    @contextlib.contextmanager
    def outage(self) -> Iterator[None]:
        """The store is unavailable for a while."""
        self.store.away = True
        yield
        self.store.away = False

    def sync_without_answer(self) -> None:
        """Sync with a write to the store that succeeds, but whose answer is lost."""
        self.store.lose_ack = True
        with pytest.raises(errors.StoreUnavailableError):
            self.sync()
        self.store.lose_ack = False

    def confirm(self) -> None:
        """Sync, and confirm the run, which is stopped because the store lost facts."""
        with pytest.raises(errors.StoreRewoundError) as stopped:
            self.sync()
        self.sync(SyncRequest(confirm=stopped.value.run))

    def lose_archive(self) -> None:
        """Replace the archive with an empty one, as after a reinstallation."""
        self.archive = MemoryArchive()
        self.ctx = replace(self.ctx, archive=self.archive)

    # --- passes ----------------------------------------------------------------------

    def sync(self, request: SyncRequest | None = None) -> Report:
        self.clock.advance(1)
        report = sync_once(self.ctx, request or SyncRequest())
        paths = [base.path for base in self.archive.iter_bases() if not base.missing_since]
        assert len(paths) == len(set(paths)), "two bases at one path"
        return report

    def quiesce(self) -> list[Report]:
        """Sync until nothing is left to do, except what waits for the user."""
        reports: list[Report] = []
        for _ in range(PASSES):
            self.clock.advance(61)
            reports.append(self.sync())
            waits = self.archive.missing_bases() or self.archive.outbox()
            if reports[-1].quiet and not waits and not self.archive.displaced_files():
                return reports
        seen = [each.counts for each in reports]
        raise AssertionError(f"no rest after {PASSES} passes: {seen}")

    def mirrored(self, content: str = LINES, *, agent: str = "indy", **values: Value) -> Fact:
        """A fact on both sides, completely synced."""
        title: Value = values.pop("title", "A plain fact")
        fact = self.agent_remembers(content, agent=agent, title=title, **values)
        self.quiesce()
        return self.fact(fact.id)

    # --- looking ---------------------------------------------------------------------

    def data(self, place: Place) -> bytes:
        return self.vault.files[self._of(place)].data

    def text(self, place: Place) -> str:
        return self.data(place).decode()

    def notes(self) -> list[str]:
        """The paths of all notes except conflict notes."""
        return sorted(
            path for path in self.vault.files if path.endswith(".md") and not is_review_note(path)
        )

    def conflict_notes(self) -> list[str]:
        return sorted(filter(is_review_note, self.vault.files))

    def conflicts(self) -> list[ConflictRecord]:
        return self.archive.conflicts()

    def fact(self, fact_id: str) -> Fact:
        """The fact in the store, with the path of its note."""
        fact = self.store.get(fact_id)
        base = self.archive.find_base(fact_id)
        return fact.evolve(path=base.path if base else None)

    def is_alive(self, fact_id: str) -> bool:
        return fact_id in self.store.find_many([fact_id])

    def facts(self) -> list[Fact]:
        return list(self.store.iter_facts())

    def base(self, fact_id: str) -> Base:
        base = self.archive.find_base(fact_id)
        assert base is not None
        return base

    def path(self, fact_id: str) -> VaultPath:
        return self.base(fact_id).path

    def note(self, fact_id: str) -> str:
        return self.text(self.path(fact_id))

    def everything_kept(self) -> str:
        """All text that can still be recovered: notes, store, conflicts, history, blobs."""
        rows = self.archive._rows
        return "\n".join(
            [
                *(inode.data.decode(errors="replace") for inode in self._inodes()),
                *(data.decode(errors="replace") for data in rows.blobs.values()),
                *(row.body or "" for row in self.store._rows.values()),
                *(repr(each) for each in rows.conflicts.values()),
                *(repr(each) for each in rows.history),
                *(repr(each) for each in rows.outbox.values()),
            ]
        )

    def _inodes(self) -> list[Inode]:
        return list(self.vault.names.values())

    # --- judging ---------------------------------------------------------------------

    def assert_equal_sides(self) -> None:
        proof = verify_all(self.ctx)
        assert proof.equal, [to_builtins(each) for each in proof.differences]

    def assert_second_pass_writes_nothing(self) -> None:
        before = {path: (i.data, i.stamp) for path, i in self.vault.files.items()}
        with self.nobody_writes():
            report = self.sync()
        assert report.quiet, report.counts
        assert [each for each in report.actions if each.action != "wait"] == []
        assert {path: (i.data, i.stamp) for path, i in self.vault.files.items()} == before

    @contextlib.contextmanager
    def nobody_writes(self) -> Iterator[None]:
        """Make every write to the vault, the store or the archive an error."""

        def no_vault_write(step: str) -> None:
            assert step.partition(".")[0] not in _VAULT_WRITES, f"vault: {step}"

        def no_store_write(method: str) -> None:
            assert method != "write", "the store was written"

        def no_transaction(step: str) -> None:
            raise AssertionError(f"the archive was written: {step}")

        self.vault.before = no_vault_write
        self.store.before = no_store_write
        self.archive.before = no_transaction
        try:
            yield
        finally:
            self.vault.before = self.store.before = self.archive.before = _nothing

    def assert_at_rest(self) -> None:
        """Sync completely; check that both sides are equal, and that another run writes nothing."""
        self.quiesce()
        self.assert_equal_sides()
        self.assert_second_pass_writes_nothing()


class LinkedWorld(World):
    def __init__(self) -> None:
        super().__init__()
        self.links = MemoryLinks()

    def note_of(self, title: str, content: str = "-", agent: str = "indy", **values: Value) -> Fact:
        fact = self.agent_remembers(content, agent=agent, title=title, **values)
        self.sync()
        return self.fact(fact.id)


def _nothing(_: str) -> None:
    """Do nothing."""


def die() -> None:
    """Simulate that the program is killed."""
    raise KeyboardInterrupt


def refuse(path: str = "a.md") -> None:
    """Simulate that the system denies a step."""
    raise errors.UnwritableNoteError(path, "Permission denied")


def open_scopes(vault: Path) -> None:
    """Allow agents to write wherever they may read, by the user's own settings for a vault."""
    file = machine_file(str(marker_id(vault)))
    edit_machine_file(file, {})
    text, table = file.read_text("utf-8"), '[permissions.agents."*"]\nwrite = ["*"]\n'
    if table not in text:
        file.write_text(f"{text}{table}", "utf-8")


def rebuild_anyway(ctx: SyncContext, source: str) -> Report:
    """Rebuild, and confirm the run if it is stopped because it overwrites newer values."""
    try:
        return rebuild(ctx, source)
    except errors.GuardError as stopped:
        return rebuild(ctx, source, confirm=stopped.run)


def taken(report: Report, fact_id: str) -> list[str]:
    """The actions of a report on a fact."""
    return [each.action for each in report.actions if each.fact_id == fact_id]


def action(report: Report, fact_id: str) -> ActionTaken:
    """The only action of a report on a fact."""
    (found,) = [each for each in report.actions if each.fact_id == fact_id]
    return found


def kinds(report: Report) -> list[str]:
    return sorted(each.kind for each in report.attention)


def notice(report: Report, kind: str) -> ReportedNotice:
    """The only notice of a kind."""
    (found,) = [each for each in report.attention if each.kind == kind]
    return found


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that are only in one of two texts."""
    old, new = before.split("\n"), after.split("\n")
    return ([line for line in old if line not in new], [line for line in new if line not in old])
