from __future__ import annotations

import json
from functools import partial

import pytest
from msgspec.structs import replace

from tests.doubles.store import MemoryStore
from tests.entries import EntriesInMemory, in_memory, making
from tests.packs import words
from tests.world import LINES, SCOPE, World
from vaultsync.errors import DaemonStoppedError, StoreUnavailableError
from vaultsync.index_files import paging
from vaultsync.index_files.ports import TYPED, PartKeys, Volume
from vaultsync.index_files.service import TableInputs, read_index_files, tables_for, write_tables
from vaultsync.index_files.written_files import TABLES_SETTING, altered_files
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.sync.context import SyncPolicy
from vaultsync.sync.report import Progress
from vaultsync.sync.status import read_status
from vaultsync.sync.sync_request import SyncRequest

MASTER, BY_TYPE = ".index/vault-index.md", ".index/by-type.md"
FOUR = [f".index/{name}.md" for name in ("by-entity", "by-priority", "by-type", "vault-index")]


class Shelf(World):
    """A world whose tables follow each pass, in `Index/` too when it has a folder."""

    def __init__(self, folder: str = "") -> None:
        super().__init__(SyncPolicy(index_folder=VaultPath(folder)))
        self.entries = EntriesInMemory()
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return words(text)

    def tables(self, *, rebuild: bool = False, progress: Progress | None = None) -> int:
        """Bring the tables up to date; returns how many files that changed."""
        inputs = TableInputs(self.entries, in_memory, self.count)
        return write_tables(self.ctx, inputs, rebuild=rebuild, progress=progress)

    def hidden(self) -> list[str]:
        return sorted(name for name in self.vault.names if name.startswith(".index/"))

    def seen(self) -> list[str]:
        return sorted(name for name in self.vault.names if name.startswith("Index/"))

    def table(self, name: str = MASTER) -> str:
        return self.vault.names[name].data.decode()

    def shown(self, agent: str | None) -> str:
        """The master table as an agent may see it."""
        inputs = TableInputs(self.entries, in_memory, self.count)
        return tables_for(self.ctx, inputs, agent=agent)["vault-index.md"]

    def keeps(self, title: str, **values: Value) -> Fact:
        """A fact that is on both sides, at rest, and in the tables."""
        kept = self.mirrored(LINES, title=title, agent="indy", **values)
        self.tables()
        return kept

    def with_tea(self) -> Shelf:
        self.tea = self.keeps("Tea at four")
        return self


@pytest.fixture
def world() -> Shelf:
    return Shelf().with_tea()


# --- .index/ -------------------------------------------------------------------------


def test_the_tables_show_every_note_with_a_link() -> None:
    world = Shelf()
    tea = world.keeps("Tea at four", type="decision", priority=0)
    assert world.hidden() == FOUR
    link = f"[[{str(tea.path).removesuffix('.md')}|Tea at four]]"
    assert all(link in world.table(name) for name in FOUR if "entity" not in name)


def test_a_vault_without_facts_has_tables_that_say_so() -> None:
    world = Shelf()
    world.sync()
    assert world.tables() == 4
    assert "Total facts: 0" in world.table()


def test_without_changes_no_fact_is_read_and_no_file_written(world: Shelf) -> None:
    world.asked.clear()
    with world.nobody_writes():
        assert world.tables() == 0
    assert (world.asked, world.entries.saves) == ([], 1)
    world.quiesce()  # a run
    assert world.tables() == 0


@pytest.mark.parametrize("step", [0, 1, 3])
def test_the_first_build_can_be_stopped_between_two_steps(step: int) -> None:
    world, steps = Shelf(), iter(range(10))

    def stop(stage: str, _done: int, _total: int) -> None:
        if stage == "tables" and next(steps) == step:
            raise DaemonStoppedError

    world.mirrored(LINES, title="Tea at four")
    with pytest.raises(DaemonStoppedError):
        world.tables(progress=stop)
    world.tables()
    assert world.hidden() == FOUR
    assert all("Tea at four" in world.table(name) for name in FOUR if "entity" not in name)


def test_only_facts_that_were_written_since_are_counted_again(world: Shelf) -> None:
    world.keeps("Coffee at five")
    world.asked.clear()
    world.keeps("Water at six")
    assert len(world.asked) == 1
    assert "Water at six" in world.asked[0]


def test_what_a_wrong_clock_dated_later_does_not_hide_what_is_recent(world: Shelf) -> None:
    world.keeps("Of next year", createdAt="2099-01-01T00:00:00Z")
    world.keeps("Of now")
    for text in (world.table(), world.shown(None)):
        recent = text.partition("## Recent")[2].partition("\n## ")[0]
        assert "Of now" in recent
        assert "2099" not in recent


def test_only_files_whose_bytes_change_are_written(world: Shelf) -> None:
    before = {name: world.vault.names[name] for name in world.hidden()}
    world.agent_updates(world.tea.id, importance=0.5)
    world.quiesce()
    assert world.tables() == 3
    same = [name for name in world.hidden() if world.vault.names[name] is before[name]]
    assert same == [".index/by-entity.md"]


def test_an_edit_a_move_and_a_deletion_are_followed(world: Shelf) -> None:
    path = str(world.tea.path)
    world.person_edits(path, "# Tea at four", "# Tea at five")
    world.quiesce()
    world.tables()
    assert "|Tea at five]]" in world.table(BY_TYPE)

    moved = path.replace(path.rpartition("/")[2], "moved.md")
    world.person_renames(path, moved)
    world.quiesce()
    world.tables()
    assert f"[[{SCOPE}/notes/moved|" in world.table(BY_TYPE)

    milk = world.keeps("Milk")
    world.agent_updates(milk.id, status="archived")
    world.person_deletes(moved)
    world.quiesce()
    world.tables()
    assert "Total facts: 0" in world.table()


def test_files_that_another_program_removed_or_changed_are_written_again(world: Shelf) -> None:
    whole = {name: world.table(name) for name in FOUR}
    for name in (BY_TYPE, MASTER):
        assert altered_files(world.ctx) == []
        del world.vault.names[name]
        world.vault.write_meta(VaultPath(BY_TYPE), b"spoiled")
        (said,) = altered_files(world.ctx)
        number = len({BY_TYPE, name})
        assert said.message.startswith(f"{number} file")
        assert world.tables() == number
        assert {each: world.table(each) for each in FOUR} == whole
    del world.vault.names[BY_TYPE]
    world.agent_remembers("New.")
    assert altered_files(world.ctx) == []  # the next run writes them anyway
    with world.outage():
        assert altered_files(world.ctx) == []


def test_a_rebuild_compares_all_files(world: Shelf) -> None:
    world.vault.write_meta(VaultPath(BY_TYPE), b"spoiled")
    written = json.loads(world.archive.setting(TABLES_SETTING) or "")
    del written["stamps"]  # as of a former version
    with world.archive.transaction():
        world.archive.set_setting(TABLES_SETTING, json.dumps(written))
    assert world.tables() == 0
    assert world.tables(rebuild=True) == 1
    assert "Tea at four" in world.table(BY_TYPE)


def test_stale_parts_are_removed_and_foreign_files_stay() -> None:
    world = Shelf()
    world.vault.write_meta(VaultPath(".index/by-type-fact-2026-01.md"), b"old")
    world.vault.write_meta(VaultPath(".index/other.json"), b"{}")
    world.keeps("Tea at four")
    assert world.hidden() == sorted([*FOUR, ".index/other.json"])


def test_lost_entries_are_made_again_and_tables_survive_a_power_cut(world: Shelf) -> None:
    before = world.table()
    world.vault.crash()
    assert world.table() == before
    world.entries.clear()
    world.agent_updates(world.facts()[0].id, accessCount=3)
    world.quiesce()
    world.tables()
    assert world.table() == before


def test_another_store_replaces_all_entries(world: Shelf) -> None:
    other = Shelf()
    other.store = MemoryStore(other.clock, store_id="another")
    other.ctx = replace(other.ctx, store=other.store)
    other.mirrored(title="Coffee at five")
    world.ctx = replace(world.ctx, store=other.store, archive=other.archive)
    world.tables()
    assert "Coffee" in world.table()
    assert "Tea" not in world.table()


def test_nothing_is_written_while_the_store_is_away(world: Shelf) -> None:
    world.store.away = True
    with pytest.raises(StoreUnavailableError):
        world.tables()


def test_a_full_disk_is_reported_and_the_next_run_recovers() -> None:
    world = Shelf()
    world.mirrored(title="Tea at four")
    world.vault.quota = 1_000
    with pytest.raises(OSError, match="No space"):
        world.tables()
    assert world.archive.setting(TABLES_SETTING) is None
    world.vault.quota = None
    world.tables()
    assert world.hidden() == FOUR


def test_a_damaged_setting_is_replaced(world: Shelf) -> None:
    for setting in ("[]", '{"of": 1}', json.dumps({"files": 3, "folder": None})):
        with world.archive.transaction():
            world.archive.set_setting(TABLES_SETTING, setting)
        assert world.tables() == 0
        assert world.hidden() == FOUR


# --- the folder that a person sees ---------------------------------------------------


@pytest.fixture
def shelf() -> Shelf:
    return Shelf("Index").with_tea()


def test_the_visible_folder_has_the_same_files(shelf: Shelf) -> None:
    shelf.keeps("Coffee at five")
    assert "Coffee" in shelf.table("Index/vault-index.md")
    assert shelf.seen() == [name.replace(".index", "Index") for name in FOUR]
    assert shelf.table("Index/by-type.md") == shelf.table(BY_TYPE)
    assert shelf.vault.ops() == []
    shelf.quiesce()
    assert shelf.tables() == 0


def test_visible_index_files_are_never_taken_for_notes(shelf: Shelf) -> None:
    shelf.sync(SyncRequest(adopt=frozenset(map(VaultPath, shelf.seen()))))
    shelf.person_copies("Index/by-type.md", f"{SCOPE}/notes/by-type.md")
    shelf.quiesce()
    assert [each.title for each in shelf.facts()] == ["Tea at four"]
    assert read_status(shelf.ctx).foreign == 1  # the copy
    assert shelf.tables() == 0
    assert shelf.table("Index/by-type.md") == shelf.table(BY_TYPE)


def test_a_folder_within_a_scope_is_no_danger() -> None:
    shelf = Shelf(f"{SCOPE}/index")
    shelf.keeps("Tea at four")
    shelf.quiesce()
    assert len(shelf.facts()) == 1
    assert f"{SCOPE}/index/by-type.md" in shelf.vault.files


def test_a_table_that_a_linter_changed_is_written_again_and_no_note() -> None:
    shelf = Shelf("Index")
    shelf.keeps("Tea at four")
    shelf.quiesce()
    table = shelf.text("Index/by-type.md")
    shelf.person_writes("Index/by-type.md", table.replace("---\n", "---\nupdated: today\n", 1))
    shelf.keeps("Coffee at five")
    shelf.quiesce()
    assert "Coffee at five" in shelf.text("Index/by-type.md")
    assert "updated" not in shelf.text("Index/by-type.md")
    assert len(shelf.facts()) == 2


def test_a_note_of_the_user_is_never_overwritten() -> None:
    shelf = Shelf("Index")
    shelf.person_writes("Index/by-type.md", "# My own\n")
    shelf.person_writes("Index/by-type-old.md", "# My own, too\n")
    shelf.vault.names["Index/vault-index.md"] = shelf.vault.names["Index/by-type.md"]
    shelf.vault.make_odd("Index/by-entity.md", "a link")
    shelf.keeps("Tea at four")
    assert shelf.text("Index/by-type.md") == "# My own\n"
    assert shelf.text("Index/vault-index.md") == "# My own\n"
    assert shelf.text("Index/by-type-old.md") == "# My own, too\n"
    assert "Tea" in shelf.table("Index/by-priority.md")


def test_a_table_that_is_saved_while_it_is_written_is_left(shelf: Shelf) -> None:
    shelf.mirrored(title="Coffee at five")
    save = partial(shelf.vault.save_in_place, "Index/by-priority.md", b"# Mine\n")
    shelf.at("exchange.swap", save)
    shelf.tables()
    assert shelf.table("Index/by-priority.md") == "# Mine\n"
    assert shelf.vault.ops() == []


def test_stale_visible_parts_are_removed_and_missing_ones_written(shelf: Shelf) -> None:
    old = shelf.table("Index/by-type.md")
    shelf.person_writes("Index/by-type-fact-2026-01.md", old)
    shelf.person_writes("Index/notes.md", old)
    shelf.keeps("Coffee at five")
    assert "Index/by-type-fact-2026-01.md" not in shelf.seen()
    assert "Index/notes.md" in shelf.seen()
    shelf.person_deletes("Index/by-type.md")
    assert shelf.tables() == 1
    assert "Index/by-type.md" in shelf.seen()


def test_a_change_of_the_visible_folder_moves_the_files(shelf: Shelf) -> None:
    shelf.person_writes("Index/mine.md", "# Mine\n")
    policy = shelf.ctx.policy
    shelf.ctx = replace(shelf.ctx, policy=policy._replace(index_folder=VaultPath("Contents")))
    assert shelf.tables() == 8
    assert shelf.seen() == ["Index/mine.md"]
    assert "Contents/vault-index.md" in shelf.vault.files
    shelf.ctx = replace(shelf.ctx, policy=policy._replace(index_folder=VaultPath("")))
    shelf.tables()
    assert not [name for name in shelf.vault.files if name.startswith("Contents/")]


def test_index_files_are_recognised_by_their_names_and_left_out_when_they_vanish() -> None:
    world = World()
    world.mirrored()
    assert write_tables(world.ctx, making()) == 4
    world.vault.write_meta(VaultPath(".index/mine.md"), b"# Mine\n")

    found = read_index_files(world.ctx)

    assert "vault-index.md" in found
    assert "mine.md" not in found
    assert found["by-type.md"].encode() == world.vault.read_meta(VaultPath(".index/by-type.md"))

    def clear() -> None:
        for name in [each for each in world.vault.names if each.startswith(".index/")]:
            del world.vault.names[name]

    world.at("read_meta", clear)

    assert read_index_files(world.ctx) == {}


def test_an_agent_is_shown_the_tables_without_what_is_hidden_from_it() -> None:
    world = Shelf()
    inputs = TableInputs(world.entries, in_memory, world.count)
    assert tables_for(world.ctx, inputs, agent="indy") == {}
    world.keeps("Open")
    name = MASTER.removeprefix(".index/")
    world.agent_remembers("-", agent="ada", title="Hidden", scope="private-ada")
    world.sync()
    world.tables()
    for agent, sees in (("indy", False), ("ada", True), (None, True)):
        shown = tables_for(world.ctx, inputs, agent=agent)
        assert "Open" in shown[name]
        assert ("Hidden" in shown[name]) == sees
    assert shown[name] == world.table()


def test_a_change_renders_only_the_parts_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MAX_FILE_BYTES", 4_000)
    monkeypatch.setattr(paging, "_TITLE_BYTES", 500)
    world = Shelf()
    for number in range(80):
        kind = "decision" if number % 2 else "lesson"
        names = ["Ann", f"Bo {number}"]
        world.mirrored(LINES, title=f"Fact {number}", type=kind, entities=names)
    world.tables()
    before = {name: world.vault.names[name] for name in world.hidden()}
    assert len(before) > 12
    read: list[tuple[str, str]] = []
    divided: list[PartKeys] = []
    ask, ask_buckets = world.entries.typed, world.entries.buckets

    def typed(keys: PartKeys, buckets: range) -> list[tuple[str, str]]:
        found = ask(keys, buckets)
        read.extend(found)
        return found

    def buckets(kind: str, keys: PartKeys) -> dict[int, Volume]:
        divided.extend([keys] if kind == TYPED else [])
        return ask_buckets(kind, keys)

    monkeypatch.setattr(world.entries, "typed", typed)
    monkeypatch.setattr(world.entries, "buckets", buckets)
    monkeypatch.setattr(world.entries, "iter_listed", None)

    fact = world.facts()[7]
    world.agent_updates(fact.id, content="Another text.")
    world.quiesce()
    world.tables()

    changed = [x for x in world.hidden() if world.vault.names.get(x) != before.get(x)]
    long = {
        kind: [name for name in changed if name.startswith(f".index/{kind}-")]
        for kind in ("by-type", "by-entity")
    }
    assert len(long["by-type"]) == 1
    assert len(long["by-entity"]) <= 2  # that of Ann, and its own
    assert 0 < len(read) < 30
    assert [kind for kind, _ in divided] == [fact.type]
