from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives import (
    ARCHIVES,
    IDS,
    ODD_PATHS,
    A,
    B,
    C,
    a_base,
    a_conflict,
    a_proposal,
    an_entry,
    an_intent,
    an_outgoing,
    put,
    same,
    sha,
)
from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import Archive, Base, DisplacedFile, Notice, RunRecord
from vaultsync.storage.vault import FileStamp

DISPLACED = DisplacedFile("op", A, VaultPath("a.md"), "00", 1.5)

# --- transactions ------------------------------------------------------------------


PUTS: dict[str, Callable[[Archive], None]] = {
    "set_setting": lambda it: it.set_setting("cursor", "1"),
    "set_folders": lambda it: it.set_folders({VaultPath("a"): b"\x00\xff"}),
    "put_bases": lambda it: it.put_bases([a_base()]),
    "put_blobs": lambda it: it.put_blobs({sha(b"x"): b"x"}),
    "put_intents": lambda it: it.put_waiting([an_intent("op")]),
    "put_lingers": lambda it: it.put_waiting([DISPLACED]),
    "put_outgoing": lambda it: it.put_waiting([an_outgoing("op")]),
    "put_conflict": lambda it: it.put_conflict(a_conflict("c")),
    "put_proposal": lambda it: it.put_proposal(a_proposal("p")),
    "add_history": lambda it: it.add_history([an_entry("r1", A)]),
    "put_run": lambda it: it.put_run(RunRecord("r1", "2026-02-14T13:45:00Z", "sync", {"n": 1})),
    "set_attention": lambda it: it.set_notices(
        VaultPath("a"), [Notice("k", VaultPath("a"), "m", "h")]
    ),
}
WRITES: dict[str, Callable[[Archive], None]] = PUTS | {
    "forget_setting": lambda it: it.set_setting("cursor", None),
    "drop_bases": lambda it: it.drop_bases([A]),
    "drop_intents": lambda it: it.drop_waiting([an_intent("op")]),
    "drop_lingers": lambda it: it.drop_waiting([DISPLACED]),
    "drop_outgoing": lambda it: it.drop_waiting([an_outgoing("op")]),
}


def _fill(archive: Archive) -> None:
    for write in PUTS.values():
        write(archive)


def _fill_and_fail(archive: Archive) -> None:
    _fill(archive)
    raise InterruptedError


def _everything(archive: Archive) -> tuple[object, ...]:
    return (
        archive.setting("cursor"),
        archive.folders(),
        list(archive.iter_bases()),
        archive.blob(sha(b"x")),
        archive.intents(),
        archive.displaced_files(),
        archive.outbox(),
        archive.conflicts(closed=True),
        archive.proposals(settled=True),
        archive.history(),
        archive.runs(limit=1),
        archive.notices(),
    )


NOTHING: tuple[object, ...] = (None, {}, [], None, [], [], [], [], [], [], [], [])


def test_a_new_archive_holds_nothing_and_reading_sees_all_earlier_writes(archive: Archive) -> None:
    assert _everything(archive) == NOTHING
    assert (archive.count_bases(), archive.find_base(A), archive.find_run("r1")) == (0, None, None)
    with archive.transaction():
        _fill(archive)
        within = _everything(archive)

    assert _everything(archive) == within
    assert not any(found == none for found, none in zip(within, NOTHING, strict=True))


def test_a_transaction_that_fails_leaves_nothing_and_none_may_be_nested(archive: Archive) -> None:
    with pytest.raises(InterruptedError), archive.transaction():
        _fill_and_fail(archive)

    assert _everything(archive) == NOTHING
    with archive.transaction():
        archive.set_setting("cursor", "2")
        with pytest.raises(RuntimeError), archive.transaction():
            pytest.fail("the inner block must not run")
    assert archive.setting("cursor") == "2"


@pytest.mark.parametrize("method", WRITES)
def test_a_write_outside_of_a_transaction_is_a_bug(archive: Archive, method: str) -> None:
    with pytest.raises(RuntimeError):
        WRITES[method](archive)

    assert _everything(archive) == NOTHING


# --- settings, folders -------------------------------------------------------------


def test_a_word_is_remembered_replaced_and_forgotten(archive: Archive) -> None:
    for word in ("1", "zwei ü", ""):
        with archive.transaction():
            archive.set_setting("cursor", word)
        assert archive.setting("cursor") == word

    with archive.transaction():
        archive.set_setting("cursor", None)
        archive.set_setting("never there", None)
    assert archive.setting("cursor") is None


def test_fingerprints_are_remembered_replaced_and_forgotten(archive: Archive) -> None:
    a, b, c = VaultPath(""), VaultPath("a/ü"), VaultPath("\ufffd")
    with archive.transaction():
        archive.set_folders({a: b"1", b: b"\x00\xff", c: b""})
    assert archive.folders() == {a: b"1", b: b"\x00\xff", c: b""}

    with archive.transaction():
        archive.set_folders({a: None, b: b"2", VaultPath("never there"): None})
    assert archive.folders() == {b: b"2", c: b""}

    with archive.transaction():
        archive.set_folders({c: None})
    assert archive.folders() == {b: b"2"}


# --- bases and blobs ---------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        a_base(),
        a_base(stamp=None),
        a_base(missing_since="2026-02-14T13:45:00Z"),
        a_base(stamp=FileStamp(0, 0, 0, 2**64 - 1)),
        a_base(stamp=FileStamp(2**40, -1, 2**62, 2**127)),
    ],
)
def test_a_base_comes_back_whole(archive: Archive, base: Base) -> None:
    put(archive, base)

    assert same(archive.find_base(A), base)
    assert same(archive.find_bases([A])[A], base)
    assert same(next(archive.iter_bases()), base)
    found = archive.base_at(VaultPath("public/notes/tea.md"))
    assert found is None if base.missing_since else same(found, base)
    stamps = archive.stamps_in(VaultPath("public/notes"))
    assert stamps == ({} if base.missing_since else {"tea.md": (A, base.stamp)})


@pytest.mark.parametrize("path", ODD_PATHS)
def test_a_base_is_found_wherever_its_note_lies(archive: Archive, path: str) -> None:
    folder, _, name = path.rpartition("/")
    base = a_base(A, path)
    put(archive, base, a_base(B, "elsewhere/" + name), a_base(C, path + "/below.md"))

    assert archive.paths()[VaultPath(path)] == A
    assert same(archive.base_at(VaultPath(path)), base)
    assert archive.base_at(VaultPath(f"{path}/none.md")) is None
    assert archive.stamps_in(VaultPath(folder)) == {name: (A, base.stamp)}


def test_a_base_replaces_the_one_before(archive: Archive) -> None:
    put(archive, a_base(A, "a/one.md", missing_since="2026"), a_base(B, "b/two.md"))
    moved = a_base(A, "c/three.md", title="Mate", stamp=None)
    put(archive, moved)

    assert archive.count_bases() == 2
    assert same(archive.find_base(A), moved)
    assert archive.stamps_in(VaultPath("a")) == {}
    assert archive.missing_bases() == []
    assert archive.paths() == {moved.path: A, VaultPath("b/two.md"): B}


def test_two_notes_can_swap_their_names_and_a_folder_holds_no_deeper_ones(archive: Archive) -> None:
    put(archive, a_base(A, "a/note.md"), a_base(B, "a/deeper/note.md"), a_base(C, "ab/note.md"))
    put(archive, a_base(A, "ab/note.md"), a_base(C, "a/note.md"))

    assert [fact_id for fact_id, _ in archive.stamps_in(VaultPath("a")).values()] == [C]
    assert archive.stamps_in(VaultPath("")) == {}
    assert archive.paths() == {"ab/note.md": A, "a/deeper/note.md": B, "a/note.md": C}


@pytest.mark.parametrize("data", [b"", b"\x00\xff\r\n", b"x" * 100_000])
def test_dropped_bases_are_gone_and_their_blobs_stay(archive: Archive, data: bytes) -> None:
    with archive.transaction():
        archive.put_bases([a_base(), a_base(B, "b.md")])
        archive.put_blobs({sha(data): data})
        archive.put_blobs({sha(data): data})
    with archive.transaction():
        archive.drop_bases(iter([A, C]))

    assert archive.find_base(A) is None
    assert archive.find_bases([A, B]).keys() == {B}
    assert archive.count_bases() == 1
    assert (archive.blob(sha(data)), archive.blob(sha(b"other"))) == (data, None)


def test_bases_with_a_time_are_missing_and_no_path_leads_to_their_notes(archive: Archive) -> None:
    gone = a_base(B, "b.md", missing_since="2026-02-14T13:45:00Z")
    put(archive, a_base(A, "f/a.md"), gone, a_base(C, "c.md"))

    (found,) = archive.missing_bases()
    assert same(found, gone)
    assert archive.note_paths(iter([A, B])) == {A: "f/a.md"}
    assert archive.note_paths([]) == {}
    assert archive.note_stamps(iter([A, B])) == {A: ("f/a.md", a_base().stamp)}
    assert archive.note_stamps([]) == {}
    assert archive.base_folders() == ["", "f"]


def test_any_number_of_bases_is_walked_by_id_and_changed_meanwhile(archive: Archive) -> None:
    put(archive, *(a_base(each, f"f/{each}.md") for each in reversed(IDS)))
    bases = [*archive.iter_bases()]
    assert [base.fact.id for base in bases] == IDS
    revisions = [(base.fact.id, base.fact.revision) for base in bases]
    assert [*archive.revisions().items()] == revisions
    assert archive.find_bases(iter(IDS[:1_100])).keys() == set(IDS[:1_100])
    assert archive.find_bases([]) == {}
    assert archive.count_bases() == len(archive.paths()) == len(IDS)

    for base in archive.iter_bases():
        put(archive, base._replace(stamp=None))

    assert {base.stamp for base in archive.iter_bases()} == {None}


# --- all the same ------------------------------------------------------------------

_ROWS = st.tuples(
    st.sampled_from(IDS[:4]), st.sampled_from(ODD_PATHS), st.sampled_from([None, "2026"])
)
TURNS = st.lists(
    st.tuples(st.sampled_from(["put", "stamp", "drop", "fail"]), st.lists(_ROWS, max_size=4)),
    max_size=8,
)
Rows: TypeAlias = list[tuple[str, str, str | None]]


@given(TURNS)
def test_all_archives_do_the_same_with_bases(turns: list[tuple[str, Rows]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        opened = [make(Path(folder)) for make in ARCHIVES.values()]
        for verb, rows in turns:
            for archive in opened:
                _do(archive, verb, rows)
            assert all(_told(each) == _told(opened[0]) for each in opened)
        for archive in opened:
            archive.close()


def _do(archive: Archive, verb: str, rows: Rows) -> None:
    bases = [a_base(fact_id, path, missing_since=since) for fact_id, path, since in rows]
    try:
        with archive.transaction():
            if verb == "drop":
                archive.drop_bases(base.fact.id for base in bases)
            elif verb == "stamp":
                other = sha(b"these bytes were replaced meanwhile")
                archive.put_stamps(
                    (each.fact.id, other if each.missing_since else each.sha, None)
                    for each in bases
                )
            else:
                archive.put_bases(bases)
            if verb == "fail":
                _fill_and_fail(archive)
    except InterruptedError:
        assert verb == "fail"


def _told(archive: Archive) -> tuple[object, ...]:
    bases = list(archive.iter_bases())
    assert archive.count_bases() == len(bases)
    there = {base.path for base in bases if not base.missing_since}
    assert set(archive.paths()) == there
    missing = {base.fact.id for base in archive.missing_bases()}
    moved = set(archive.moved_since(0))
    return missing, moved, [(base, base.path, base.fact.revision) for base in bases]


def test_ids_are_found_by_their_beginning_in_bases_and_history(archive: Archive) -> None:
    with archive.transaction():
        archive.put_bases([a_base(A), a_base(B, "b.md")])
        archive.add_history([an_entry("r1", A), an_entry("r1", C)])
    assert archive.known_ids(A[:8]) == sorted([A, B, C])
    assert archive.known_ids(C) == [C]
    assert archive.known_ids("ffffffff") == []


def test_runs_are_found_newest_first_and_by_the_beginning_of_their_ids(archive: Archive) -> None:
    runs = [RunRecord(f"{n}-run%_", f"2026-02-14T13:45:0{n}Z", "sync", {"n": n}) for n in range(3)]
    with archive.transaction():
        for each in runs:
            archive.put_run(each)
    assert archive.runs(limit=2) == runs[:0:-1]
    assert archive.runs(limit=9, prefix="1-run%") == [runs[1]]
    assert archive.runs(limit=9, prefix="%") == []


def test_notes_are_counted_by_folder_without_those_that_are_missing(archive: Archive) -> None:
    paths = ("a/Tea.md", "a/Cup.md", "Zoë.md", "c/gone.md", "\ufffd/d.md")
    bases = [a_base(key, path) for key, path in zip(IDS, paths, strict=False)]
    bases[3] = bases[3]._replace(missing_since="2026-01-01")
    assert archive.notes_by_folder() == {}
    with archive.transaction():
        archive.put_bases(bases)
    assert archive.notes_by_folder() == {"a": 2, "": 1, "\ufffd": 1}


def test_notes_are_found_by_the_names_of_their_files(archive: Archive) -> None:
    paths = ("a/Tea.md", "b/TEA.md.md", "Zoë.md", "c/gone.md", "d/\ufffd.md")
    bases = [a_base(key, path) for key, path in zip(IDS, paths, strict=False)]
    bases[3] = bases[3]._replace(missing_since="2026-01-01")
    with archive.transaction():
        archive.put_bases(bases)
    assert archive.paths_called(["x/tea", "tea.md"]) == {paths[0]: IDS[0], paths[1]: IDS[1]}
    assert archive.paths_called(["ZOË", "gone", "", "nothing"]) == {paths[2]: IDS[2]}
    assert archive.paths_called([paths[4]]) == {paths[4]: IDS[4]}
    no_text = VaultPath("a/\udcff.md")  # what a shell gives for an argument that is not UTF-8
    assert archive.paths_called([no_text]) == {}
    assert archive.base_at(no_text) is None
    with archive.transaction():
        archive.put_bases([a_base(IDS[0], "a/Cup.md")])
    assert archive.paths_called(["tea"]) == {paths[1]: IDS[1]}
