from __future__ import annotations

import dataclasses
from types import MappingProxyType

from tests.archives import A, B, C, a_base, a_conflict, an_entry, an_intent, an_outgoing
from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Archive, DisplacedFile, Notice, OutboxEntry, RunRecord

# --- what waits --------------------------------------------------------------------


def test_intents_come_back_whole_and_oldest_first(archive: Archive) -> None:
    intents = [an_intent("z"), an_intent("a", "1", None), an_intent("m", "1")]
    with archive.transaction():
        archive.put_intents(iter(intents[:2]))
    with archive.transaction():
        archive.put_intents(intents[2:])

    assert archive.intents() == intents
    fact = archive.intents()[0].fact
    assert (fact.path, fact.revision) == ("public/notes/tea.md", a_base().fact.revision)

    with archive.transaction():
        archive.drop_intents(iter(["z", "never there"]))
    assert archive.intents() == intents[1:]


def test_an_intent_of_a_note_whose_path_is_no_unicode_comes_back(archive: Archive) -> None:
    path = VaultPath("public/\udcff.md")
    fact = a_base().fact.evolve(path=path, revision="7-a")
    intent = an_intent("z")._replace(path=path, fact=fact)
    with archive.transaction():
        archive.put_intents([intent])
    assert archive.intents() == [intent]
    held = archive.intents()[0].fact
    assert (held.path, held.revision) == (path, "7-a")


def test_lingers_come_back_whole_and_oldest_first(archive: Archive) -> None:
    lingers = [DisplacedFile(op, A, VaultPath("\udcff.md"), "00", 1771.25) for op in "zam"]
    with archive.transaction():
        archive.put_displaced_files(iter(lingers))
    assert archive.displaced_files() == lingers

    with archive.transaction():
        archive.drop_displaced_files(iter(["a"]))
    assert [each.op for each in archive.displaced_files()] == ["z", "m"]


def test_the_outbox_comes_back_whole_and_oldest_first(archive: Archive) -> None:
    rows = [an_outgoing(op) for op in "zam"]
    with archive.transaction():
        archive.put_outbox(iter(rows))
    assert archive.outbox() == rows

    with archive.transaction():
        archive.drop_outbox(iter(["z"]))
        archive.put_outbox([an_outgoing("z")])
    assert [each.op for each in archive.outbox()] == ["a", "m", "z"]


def test_a_queued_change_of_a_known_op_replaces_it_in_its_place(archive: Archive) -> None:
    with archive.transaction():
        archive.put_outbox([an_outgoing("z"), an_outgoing("a")])
        archive.put_outbox([an_outgoing("z", "delete")])

    assert [(row.op, row.kind) for row in archive.outbox()] == [("z", "delete"), ("a", "update")]


def test_intents_lingers_and_outbox_do_not_share_their_ops(archive: Archive) -> None:
    with archive.transaction():
        archive.put_intents([an_intent("op")])
        archive.put_displaced_files([DisplacedFile("op", A, VaultPath("a.md"), "00", 1.0)])
        archive.put_outbox([an_outgoing("op")])
        archive.drop_intents(["op"])

    assert archive.intents() == []
    assert len(archive.displaced_files()) == len(archive.outbox()) == 1


def test_any_mapping_can_be_queued(archive: Archive) -> None:
    frozen = MappingProxyType({"deep": MappingProxyType({"x": 1})})
    row = OutboxEntry("op", A, "update", frozen, {}, "indy", "")
    with archive.transaction():
        archive.put_outbox([row])

    assert archive.outbox()[0].before == {"deep": {"x": 1}}


# --- conflicts, history, runs, attention -------------------------------------------


def test_conflicts_come_back_whole_and_oldest_first(archive: Archive) -> None:
    conflicts = [a_conflict("z"), a_conflict("a", fact_id=B), a_conflict("m")]
    bare = dataclasses.replace(conflicts[2], conflict_path=None, fields=())
    with archive.transaction():
        for each in (*conflicts[:2], bare):
            archive.put_conflict(each)

    assert archive.conflicts() == [*conflicts[:2], bare]


def test_a_closed_conflict_is_kept_in_its_place(archive: Archive) -> None:
    with archive.transaction():
        archive.put_conflict(a_conflict("z"))
        archive.put_conflict(a_conflict("a"))
        archive.put_conflict(a_conflict("z", outcome="vault"))

    assert archive.conflicts() == [a_conflict("a")]
    assert archive.conflicts(closed=True) == [a_conflict("z", "vault"), a_conflict("a")]


def test_a_conflict_met_again_is_open_again(archive: Archive) -> None:
    with archive.transaction():
        archive.put_conflict(a_conflict("z", outcome="vault"))
        archive.put_conflict(a_conflict("z"))

    assert archive.conflicts() == [a_conflict("z")]


def test_history_is_told_by_fact_and_by_run(archive: Archive) -> None:
    entries = [
        an_entry("r1", A, "title"),
        an_entry("r1", B),
        an_entry("r2", A),
        an_entry("r1", A, "tags"),
    ]
    with archive.transaction():
        archive.add_history(iter(entries[:2]))
    with archive.transaction():
        archive.add_history(entries[2:])

    assert archive.history() == entries
    assert archive.history(fact_id=A) == [entries[0], entries[2], entries[3]]
    assert archive.history(run="r1") == [entries[0], entries[1], entries[3]]
    assert archive.history(fact_id=A, run="r1") == [entries[0], entries[3]]
    assert archive.history(fact_id=C) == archive.history(run="r9") == []


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


def test_the_same_entry_twice_is_two_entries(archive: Archive) -> None:
    with archive.transaction():
        archive.add_history([an_entry("r1", A), an_entry("r1", A)])

    assert len(archive.history()) == 2


def test_the_last_run_is_the_one_remembered_last(archive: Archive) -> None:
    runs = [RunRecord(each, f"2026-{each}", "sync", {"counts": {"x": 1}}) for each in "zam"]
    for run in runs:
        with archive.transaction():
            archive.put_run(run)

    assert archive.last_run() == runs[-1]
    assert [archive.find_run(each) for each in "zam"] == runs


def test_a_run_remembered_again_has_its_new_report(archive: Archive) -> None:
    with archive.transaction():
        archive.put_run(RunRecord("r", "1", "sync", {"counts": {}}))
        archive.put_run(RunRecord("r", "2", "undo", {"ok": True}))

    assert archive.find_run("r") == RunRecord("r", "2", "undo", {"ok": True})


def test_attention_is_told_by_path_in_the_order_given(archive: Archive) -> None:
    a, b = VaultPath("a.md"), VaultPath("\udcff.md")
    first = [
        Notice("unreadable", a, "bad", "mend", line=3, sha="00", seen="2026"),
        Notice("odd", a, "a link", ""),
    ]
    second = [Notice("unreadable", b, "bad", "mend")]
    with archive.transaction():
        archive.set_notices(b, second)
        archive.set_notices(a, first)

    assert archive.notices() == [*first, *second]


def test_attention_is_replaced_and_cleared_by_path(archive: Archive) -> None:
    a, b = VaultPath("a.md"), VaultPath("b.md")
    kept = Notice("odd", b, "a link", "")
    new = Notice("odd", a, "a folder", "")
    with archive.transaction():
        archive.set_notices(a, [Notice("x", a, "1", ""), new])
        archive.set_notices(b, [kept])
        archive.set_notices(a, [new])
    assert archive.notices() == [new, kept]

    with archive.transaction():
        archive.set_notices(a, [])
    assert archive.notices() == [kept]
