from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubles.sqlite import MemoryEntries
from tests.packs import fact, words
from tests.strategies import facts
from vaultsync.backends.sqlite.database import IN_MEMORY
from vaultsync.backends.sqlite.listed_entries import SqliteEntries
from vaultsync.errors import IndexBusyError
from vaultsync.index_files import paging
from vaultsync.index_files.entity_groups import put_entries, regroup
from vaultsync.index_files.entry import ListedEntry, entry_of
from vaultsync.index_files.index_pages import render_listed, render_pages
from vaultsync.index_files.paging import Divisions, PagePlan
from vaultsync.index_files.ports import EntryTable
from vaultsync.index_files.service import TableChanges
from vaultsync.index_files.written_files import NumberedPart
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.storage.erasure import Traces

pytestmark = pytest.mark.long(5)


@pytest.fixture(params=["memory", "disk"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EntryTable]:
    file = tmp_path / "made" / "entries.sqlite3"
    opened = SqliteEntries(IN_MEMORY if request.param == "memory" else file)
    yield opened
    opened.close()


def listed(*many: Fact) -> list[ListedEntry]:
    made = ((entry_of(each, words), each.path) for each in many)
    return [
        ListedEntry.of(entry, path or VaultPath(f"public/{entry.id}.md"))
        for entry, path in made
        if entry is not None
    ]


def change(table: EntryTable, put: list[ListedEntry], drop: list[str], version: str) -> None:
    with table.changing():
        touched, _ = put_entries(table, put, drop)
        regroup(table, [touched])
        table.set_version(version)


def test_what_was_put_last_is_found_and_a_clear_forgets_it(table: EntryTable) -> None:
    assert table.version() is None
    old = listed(fact(1, type="person", importance=0.5, entities=["Ann"], aliases=["Bo"]))
    change(table, old, [], "v1")
    new = listed(fact(1, title="New"), fact(2).evolve(created_at=""))
    change(table, new, ["no such fact"], "v2")

    assert table.version() == "v2"
    assert sorted(table.iter_listed()) == sorted(new)
    assert table.find([new[0].id, "none"]) == {new[0].id: new[0]}
    with table.changing():
        table.clear()
    assert table.version() is None
    assert [*table.iter_listed()] == []
    assert table.totals() == (0, 0, "")


def test_a_change_that_fails_changes_nothing(table: EntryTable) -> None:
    before = listed(fact(1, entities=["Ann"]))
    change(table, before, [], "v1")
    pages = [*render_pages(table, lambda _: True)]

    def fail() -> None:
        with table.changing():
            touched, _ = put_entries(table, listed(fact(2, entities=["Ann"])), [before[0].id])
            regroup(table, [touched])
            table.set_version("v2")
            message = "the disk is full"
            raise OSError(message)

    with pytest.raises(OSError, match="full"):
        fail()
    assert table.version() == "v1"
    assert [*table.iter_listed()] == before
    assert [*render_pages(table, lambda _: True)] == pages


@given(st.lists(facts(), max_size=4, unique_by=lambda each: each.id))
def test_any_entry_is_as_it_was(tmp_path_factory: pytest.TempPathFactory, many: list[Fact]) -> None:
    table = SqliteEntries(tmp_path_factory.mktemp("entries") / "entries.sqlite3")
    change(table, listed(*many), [], "v")
    assert sorted(table.iter_listed()) == sorted(listed(*many))
    table.close()


_NAMES = ("Ann", "ann", "Bo", "Éva", "Eva", "港", "42", "")


def some_fact(chance: Random) -> Fact:
    """One of a few facts, in one of many forms."""
    number = chance.randrange(12)
    kind = chance.choice(["fact", "decision", "person", "entity"])
    path = chance.choice([f"public/{number}.md", f"public/Ann {number % 2}/{number}.md"])
    if kind in ("person", "entity"):
        path = f"public/people/{chance.choice(['Ann', 'Bo', 'Eva'])} {number}.md"
    return fact(
        number,
        "word " * chance.randrange(40),
        title=chance.choice([*_NAMES[:-1], "x" * 200]),
        type=kind,
        priority=chance.randrange(5),
        importance=chance.choice([None, 0.1, 0.5, 0.9]),
        createdAt=chance.choice(["2026-02-14", "2026-02-15", "2026-03-01", "2025-03-01"]),
        entities=chance.sample(_NAMES, k=chance.randrange(4)),
        aliases=chance.sample(_NAMES[:-1], k=chance.randrange(3)) if kind == "person" else [],
        status=chance.choice(["active", "active", "active", "archived"]),
    ).evolve(path=VaultPath(path))


class Follower:
    """The pages of a table, of which each change renders only what is stale."""

    def __init__(self, table: EntryTable) -> None:
        self.table = table
        self.shown: dict[str, str] = {}
        self._plans: Mapping[str, str] = {}
        self._divided: Mapping[str, Sequence[NumberedPart]] = {}

    def change(self, put: Sequence[ListedEntry], drop: Sequence[str]) -> None:
        changes = TableChanges()
        with self.table.changing():
            touched, entries = put_entries(self.table, put, drop)
            changes.add(entries, regroup(self.table, [touched]))
            self.table.set_version("v")

        def is_stale(plan: PagePlan) -> bool:
            return self._plans.get(plan.name) != plan.lines or changes.touches(plan)

        divisions = Divisions(self._divided, changes.touch)
        pages = dict(render_pages(self.table, is_stale, divisions))
        self.shown = {
            name: page.text if page.text is not None else self.shown[name]
            for name, page in pages.items()
        }
        self._plans = {name: page.lines for name, page in pages.items()}
        self._divided = divisions.now


def check_answers(table: EntryTable, ranked: Sequence[ListedEntry]) -> None:
    """The answers of a table are those of a list of its entries, the first one first."""
    assert sorted(table.iter_listed()) == sorted(ranked)
    assert table.typed((), range(1 << 40)) == [(each.entry.type, each.line) for each in ranked]
    for column, answer in (("type", table.by_type(2)), ("priority", table.by_priority(2))):
        groups: dict[object, list[ListedEntry]] = {}
        for each in ranked:
            groups.setdefault(getattr(each.entry, column), []).append(each)
        assert answer == {key: (len(group), group[:2]) for key, group in groups.items()}
    days = sorted(ranked, key=lambda each: each.entry.day, reverse=True)
    recent = [each for each in days if each.entry.day >= "2026-02-15"]
    assert table.newest("2026-02-15", "9999-12-31", 3) == (len(recent), recent[:3])
    assert table.totals()[::2] == (len(ranked), days[0].entry.day if days else "")
    for names in (["ann"], ["ann", "bo"]):
        those = [each for each in ranked if {*names} & {*each.mentioned}]
        assert table.mentions(names, 3)[::2] == (len(those), those[:3])


def small_parts(limit: int) -> AbstractContextManager[object]:
    return patch.multiple(paging, MAX_FILE_BYTES=limit, _TITLE_BYTES=200)


@given(st.randoms(use_true_random=False), st.sampled_from([1_200, 3_000, 200_000]))
def test_pages_that_follow_changes_are_those_that_are_made_anew(
    tmp_path_factory: pytest.TempPathFactory, chance: Random, limit: int
) -> None:
    """Whatever changed, only the stale parts are rendered again."""
    table = SqliteEntries(tmp_path_factory.mktemp("entries") / "entries.sqlite3")
    pages, held = Follower(table), dict[str, ListedEntry]()
    with small_parts(limit):
        for _ in range(6):
            changed = [some_fact(chance) for _ in range(chance.randrange(1, 6))]
            now = {each.id: each for each in listed(*changed)}
            drop = list({each.id for each in changed} - now.keys())
            held = {key: each for key, each in (held | now).items() if key not in drop}
            pages.change([*now.values()], drop)
            assert pages.shown == render_listed(held.values(), MemoryEntries())
            check_answers(table, sorted(held.values(), key=lambda each: each.rank))
    table.close()


def test_a_list_of_parts_follows_when_only_parts_of_one_of_them_are_left(table: EntryTable) -> None:
    pages = Follower(table)
    months = ["2026-01-01", "2026-02-01"]
    facts = [fact(each, title="x" * 400, createdAt=months[each % 2]) for each in range(8)]
    other = [fact(each, title="x" * 400, type="decision") for each in range(8, 12)]
    with small_parts(1_200):
        pages.change(listed(*facts, *other), [])
        assert "by-type-fact-2026-01.md" in pages.shown["by-type-fact.md"]
        pages.change([], [each.id for each in other])
        assert pages.shown == render_listed(table.iter_listed(), MemoryEntries())


@pytest.mark.parametrize(
    "data", [b"", b"{}\n[]", b"\xff\xfe\n\x00" * 5_000, b"SQLite format 3\x00"]
)
def test_a_damaged_file_is_an_empty_table(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "entries.sqlite3"
    change(SqliteEntries(path), listed(fact(1)), [], "v1")
    for each in tmp_path.iterdir():
        each.unlink()
    path.write_bytes(data)
    table = SqliteEntries(path)
    assert table.version() is None
    change(table, listed(fact(2)), [], "v2")
    assert table.totals().facts == 1
    table.close()


def test_a_file_that_is_damaged_in_a_change_is_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "entries.sqlite3"
    table = SqliteEntries(path)
    change(table, listed(*map(fact, range(300))), [], "v1")
    table.close()
    data = path.read_bytes()
    path.write_bytes(data[:20_000] + b"\xff" * (len(data) - 20_000))
    with pytest.raises(OSError, match="rebuilt"):
        change(table, listed(fact(1, title="New")), [], "v2")
    assert table.version() is None
    table.close()


def test_a_table_is_for_its_owner_alone_and_one_process_changes_it(tmp_path: Path) -> None:
    path = tmp_path / "entries.sqlite3"
    one, other = SqliteEntries(path), SqliteEntries(path)
    change(one, listed(fact(1)), [], "v1")
    assert path.stat().st_mode & 0o077 == 0
    other.version()
    assert other._db is not None
    other._db.execute("PRAGMA busy_timeout = 1")
    with one.changing(), pytest.raises(IndexBusyError, match="list of entries"), other.changing():
        pass
    one.close()
    other.close()


def test_erasing_keeps_a_table_without_the_facts_and_discards_any_other(tmp_path: Path) -> None:
    path = tmp_path / "entries.sqlite3"
    table = SqliteEntries(path)
    gone, kept = listed(fact(1, title="Sextant"), fact(2))
    change(table, [gone, kept], [], "v1")
    change(table, [], [gone.id], "v2")
    traces = Traces([gone.id], ["Sextant"])

    table.erase(traces)
    assert (table.version(), [*table.find([kept.id])]) == ("v2", [kept.id])
    assert not traces.mentions(path.read_bytes())

    table.erase(Traces([kept.id]))
    assert table.version() is None
    table.close()


def test_erasing_discards_a_table_that_another_process_reads(tmp_path: Path) -> None:
    table, other = (SqliteEntries(tmp_path / "entries.sqlite3") for _ in range(2))
    change(table, listed(fact(1)), [], "v1")
    with other.changing():
        assert table._db is not None
        table._db.execute("PRAGMA busy_timeout = 1")
        table.erase(Traces(["sextant"]))
    assert table.version() is None
    table.close()
    other.close()
