from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from tests.archives import A, B, C, a_base, a_conflict, an_entry, an_intent, an_outgoing
from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Archive, DisplacedFile, Notice, OutboxEntry, RunRecord

# --- what waits --------------------------------------------------------------------

ODD = VaultPath("public/\ufffd.md")
WAITING: dict[str, Callable[[str], Any]] = {
    "intents": lambda op: an_intent(op, None if op == "z" else "1", None if op == "a" else "2"),
    "displaced_files": lambda op: DisplacedFile(op, A, ODD, "00", 1771.25),
    "outbox": an_outgoing,
}


@pytest.mark.parametrize("kind", WAITING)
def test_what_waits_comes_back_whole_and_oldest_first(archive: Archive, kind: str) -> None:
    put, held = archive.put_waiting, getattr(archive, kind)
    rows = [WAITING[kind](op) for op in "zam"]
    with archive.transaction():
        put(iter(rows[:2]))
    with archive.transaction():
        put(rows[2:])
    assert held() == rows

    with archive.transaction():
        archive.drop_waiting(map(WAITING[kind], ("z", "never there")))
        put(rows[:1])
    assert held() == [*rows[1:], rows[0]]


def test_an_intent_keeps_the_path_and_the_revision_of_its_fact(archive: Archive) -> None:
    fact = a_base().fact.evolve(path=ODD, revision="7-a")
    intents = [an_intent("z")._replace(path=ODD, fact=fact), an_intent("a")]
    with archive.transaction():
        archive.put_waiting(intents)
    assert archive.intents() == intents
    held = [(each.fact.path, each.fact.revision) for each in archive.intents()]
    assert held == [(ODD, "7-a"), ("public/notes/tea.md", a_base().fact.revision)]


def test_a_queued_change_of_a_known_op_replaces_it_in_its_place(archive: Archive) -> None:
    with archive.transaction():
        archive.put_waiting([an_outgoing("z"), an_outgoing("a")])
        archive.put_waiting([an_outgoing("z", "delete")])

    assert [(row.op, row.kind) for row in archive.outbox()] == [("z", "delete"), ("a", "update")]


def test_the_queued_changes_of_one_fact_are_read_alone(archive: Archive) -> None:
    mine, other = an_outgoing("z"), an_outgoing("a")._replace(fact_id=B)
    with archive.transaction():
        archive.put_waiting([mine, other, mine._replace(op="b")])

    assert archive.outbox(fact_id=A) == [mine, mine._replace(op="b")]
    assert archive.outbox(fact_id=B) == [other]
    assert archive.outbox(fact_id=C) == archive.outbox(fact_id="") == []


def test_the_intents_of_one_fact_are_read_alone(archive: Archive) -> None:
    mine, other = an_intent("z"), an_intent("a")._replace(fact_id=B)
    with archive.transaction():
        archive.put_waiting([mine, other])

    assert archive.intents(fact_id=mine.fact_id) == [mine]
    assert archive.intents(fact_id=B) == [other]
    assert archive.intents(fact_id=C) == []


def test_intents_displaced_files_and_outbox_do_not_share_their_ops(archive: Archive) -> None:
    frozen = MappingProxyType({"deep": MappingProxyType({"x": 1})})  # any mapping can be queued
    with archive.transaction():
        archive.put_waiting([an_intent("op")])
        archive.put_waiting([WAITING["displaced_files"]("op")])
        archive.put_waiting([OutboxEntry("op", A, "update", frozen, {}, "indy", "")])
        archive.drop_waiting([an_intent("op")])

    assert archive.intents() == []
    assert len(archive.displaced_files()) == len(archive.outbox()) == 1
    assert archive.outbox()[0].before == {"deep": {"x": 1}}


# --- conflicts, history, runs, attention -------------------------------------------


def test_conflicts_come_back_whole_and_in_order_open_or_closed(archive: Archive) -> None:
    bare = dataclasses.replace(a_conflict("m", fact_id=B), conflict_path=None, fields=())
    first, second = a_conflict("z"), a_conflict("a")
    with archive.transaction():
        for each in (first, second, bare):
            archive.put_conflict(each)
    assert archive.conflicts() == [first, second, bare]

    assert archive.conflicts(fact_id=B) == archive.conflicts(closed=True, fact_id=B) == [bare]
    assert archive.conflicts(fact_id="") == []

    with archive.transaction():
        archive.put_conflict(a_conflict("z", outcome="vault"))
    assert archive.conflicts() == [second, bare]
    assert archive.conflicts(fact_id=first.fact_id) == [second]
    assert archive.conflicts(closed=True) == [a_conflict("z", "vault"), second, bare]

    with archive.transaction():
        archive.put_conflict(first)
    assert archive.conflicts() == [first, second, bare]


def test_history_is_told_by_fact_and_by_run(archive: Archive) -> None:
    # The same entry twice is two entries.
    made = (("r1", A), ("r1", B), ("r2", A), ("r1", A))
    entries = [an_entry(run, fact_id) for run, fact_id in made]
    with archive.transaction():
        archive.add_history(iter(entries[:2]))
    with archive.transaction():
        archive.add_history(entries[2:])

    assert archive.history() == entries
    assert archive.history(fact_id=A) == [entries[0], entries[2], entries[3]]
    assert archive.history(run="r1") == [entries[0], entries[1], entries[3]]
    assert archive.history(fact_id=A, run="r1") == [entries[0], entries[3]]
    assert archive.history(fact_id=C) == archive.history(run="r9") == []
    assert archive.history(fact_id="") == archive.history(run="") == archive.history(field="") == []
    fields = {each.field for each in entries}
    assert {each: archive.history(field=each) for each in fields} == {
        each: [entry for entry in entries if entry.field == each] for each in fields
    }


def test_the_newest_entry_by_which_each_fact_lost_its_note_is_told(archive: Archive) -> None:
    grave = {"sha": "1", "path": "public/a.md"}
    gone = [
        an_entry(run, fact_id, "note")._replace(before={**grave, "n": run}, after=None)
        for run, fact_id in (("r1", A), ("r2", B), ("r3", A))
    ]
    others = [an_entry("r4", A, "note"), an_entry("r4", C, "note"), an_entry("r5", B)]
    with archive.transaction():
        archive.add_history([*gone, *others])

    assert archive.note_tombstones(iter([A, B, C])) == {A: gone[2], B: gone[1]}
    assert archive.note_tombstones([C]) == archive.note_tombstones([]) == {}


def test_runs_are_remembered_and_the_last_is_the_one_that_came_last(archive: Archive) -> None:
    runs = [RunRecord(each, f"2026-{each}", "sync", {"counts": {"x": 1}}) for each in "zam"]
    for run in runs:
        with archive.transaction():
            archive.put_run(run)

    assert archive.runs(limit=1) == runs[-1:]
    assert [archive.find_run(each) for each in "zam"] == runs

    again = RunRecord("z", "2", "undo", {"ok": True})
    with archive.transaction():
        archive.put_run(again)
    assert archive.find_run("z") == again


def test_notices_are_told_by_path_in_the_order_given_until_replaced(archive: Archive) -> None:
    a, b = VaultPath("a.md"), VaultPath("\ufffd.md")
    whole = Notice("unreadable", a, "bad", "mend", line=3, sha="00")
    first, second = [whole, Notice("odd", a, "a link", "")], [Notice("odd", b, "bad", "mend")]
    with archive.transaction():
        archive.set_notices(b, second)
        archive.set_notices(a, first)
    assert archive.notices() == [*first, *second]

    for left in (first[1:], []):
        with archive.transaction():
            archive.set_notices(a, left)
        assert archive.notices() == [*left, *second]
