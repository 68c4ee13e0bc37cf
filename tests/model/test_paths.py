from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from vaultsync.errors import UnsafePathError
from vaultsync.model.fact import Fact
from vaultsync.model.file_names import (
    CONFLICT_COPIES,
    LIKELY_COPIES,
    ConflictCopyName,
    conflict_copy_of,
    free_path,
    is_foreign_conflict_copy,
    likely_copy_of,
)
from vaultsync.model.paths import (
    NAME_BYTES,
    VaultPath,
    file_name_of,
    is_note_name,
    join_path,
    parent_folder,
    path_info,
    path_key,
    stem_of,
    vault_path,
)
from vaultsync.model.schema import TYPES, tier_of
from vaultsync.notes.parse import home_folder

ID = "0193f6c2-7b1e-7c3d-9a4f-5e6d7c8b9a0f"
ROOT = VaultPath("")


@pytest.mark.parametrize(
    "text",
    [
        *("", "/etc/passwd", "C:/windows", "a//b", "a/", "..", "a/../b", "./a", "a\\b"),
        # Hidden files, also for a file system that ignores zero-width blanks, and for Windows.
        *(".obsidian/plugins/x/main.js", "a/.git/config", "a/\u200b.git/config", "a/\u200b"),
        *("GIT~1/config", "a/obsidi~1/app.json"),
        # Not a name of a file everywhere.
        *("a\x00b", "a\nb", "a\x85b", "a\udc80b", "a" * 256, "é" * 128 + ".md"),
    ],
)
def test_a_path_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises(UnsafePathError):
        vault_path(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("../a.md", "inside the vault"), ("a/.trash/b.md", "rename"), ("a\\b.md", "rename")],
)
def test_a_refused_path_comes_with_what_to_do_about_it(text: str, hint: str) -> None:
    with pytest.raises(UnsafePathError) as refused:
        vault_path(text)
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        *("a.md", "public/decisions/2026-02-14-x.md", "notes~1.md", "Q: what.md", "a" * 255),
        "家/👩\u200d💻 notes.md",
    ],
)
def test_a_persons_path_stays_as_it_is(text: str) -> None:
    assert vault_path(text) == text


@given(st.text(max_size=30))
def test_a_path_is_in_nfc_and_stays_itself(text: str) -> None:
    try:
        path = vault_path(text)
    except UnsafePathError:
        assume(False)

    assert unicodedata.is_normalized("NFC", path)
    assert vault_path(path) == path
    assert vault_path(unicodedata.normalize("NFD", text)) == path


def test_case_and_unicode_form_make_no_other_file() -> None:
    assert path_key("Ä/Straße.md") == path_key("a\u0308/STRASSE.MD")
    assert path_key("a/B.md") == "a/b.md"
    assert path_key("a.md") != path_key("b.md")


def test_a_path_has_a_folder_a_name_and_a_stem() -> None:
    path = vault_path("a/b/Note.v2.MD")

    assert parent_folder(path) == "a/b"
    assert parent_folder(vault_path("x.md")) == ROOT
    assert file_name_of(path) == "Note.v2.MD"
    assert stem_of(path) == "Note.v2"
    assert stem_of("a/picture.png") == "picture.png"
    assert join_path(parent_folder(path), file_name_of(path)) == path
    assert join_path(ROOT, "x.md") == "x.md"


def test_join_cannot_leave_the_folder() -> None:
    with pytest.raises(UnsafePathError):
        join_path(vault_path("a"), "../b.md")


def test_a_name_that_is_taken_gets_a_piece_of_the_id() -> None:
    folder = vault_path("public/people")
    taken: set[str] = set()

    for expected in ("Zoë", "Zoë (7c8b9a0f)", "Zoë (7c8b9a0f 2)", "Zoë (7c8b9a0f 3)"):
        path = free_path(folder, "Zoë.md", taken, fact_id=ID)
        taken.add(path_key(path))
        assert file_name_of(path) == f"{expected}.md"


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        # A twin by case or Unicode form is taken.
        ("zoë.md", "ZOE\u0308.MD", "zoë (7c8b9a0f).md"),
        ("a.conflict.md", "a.conflict.md", "a (7c8b9a0f).conflict.md"),
        # What is too long, with or without its mark, is cut.
        ("Я" * 126 + ".md", "Я" * 126 + ".md", "Я" * 120 + " (7c8b9a0f).md"),
        ("x" * 300 + ".md", "", "x" * 252 + ".md"),
    ],
)
def test_a_free_path_keeps_its_ending_and_fits(name: str, taken: str, expected: str) -> None:
    assert free_path(ROOT, name, {path_key(taken)}, fact_id=ID) == expected
    assert len(expected.encode()) <= NAME_BYTES


def test_an_id_without_digits_still_finds_a_free_path() -> None:
    assert free_path(ROOT, "a", {"a"}, fact_id="") == "a (2)"


@given(
    st.lists(st.sampled_from(("Zoë", "ZOE\u0308", "zoe\u0308", "x" * 260, "Ж" * 130))),
    st.lists(st.uuids(), min_size=40, max_size=40),
)
def test_free_paths_never_collide(names: list[str], ids: list[object]) -> None:
    taken: set[str] = set()

    for name, fact_id in zip(names, ids, strict=False):
        path = free_path(ROOT, f"{name}.md", taken, fact_id=str(fact_id))

        assert path_key(path) not in taken
        assert vault_path(path) == path
        assert free_path(ROOT, f"{name}.md", taken, fact_id=str(fact_id)) == path
        taken.add(path_key(path))


@pytest.mark.parametrize(
    ("expected", "paths"),
    [
        (("public", "decisions", None), ["public/decisions/x.md", "public/decisions/sub/x.md"]),
        (("public", "decisions", None), ["public/Decisions/x.md"]),
        (("team-a", "decisions", None), ["team-a/decisions/critical/x.md"]),
        (("team-a", "observations", "critical"), ["team-a/observations/critical/x.md"]),
        (("team-a", "observations", None), ["team-a/observations/mine/x.md"]),
        (("team-a", "observations", None), ["team-a/observations/x.md"]),
        (
            ("public", None, None),
            ["public/ideas/decisions/x.md", "public/decisions", "public/x.md"],
        ),
        ((None, None, None), ["Diary/decisions/x.md", "public.md"]),
    ],
)
def test_a_place_is_scope_type_and_tier(expected: tuple[str | None, ...], paths: list[str]) -> None:
    assert {path_info(vault_path(path)) for path in paths} == {expected}


@given(
    st.sampled_from(sorted(TYPES)),
    st.sampled_from(("public", "private-indy", "team-x")),
    st.sampled_from(range(5)),
)
def test_a_place_reads_the_folder_of_a_fact(type_name: str, scope: str, priority: int) -> None:
    folder = home_folder(Fact(ID, type_name, scope=scope, priority=priority))
    tier = tier_of(priority) if type_name == "observation" else None

    assert path_info(join_path(folder, "x.md")) == (scope, TYPES[type_name].folder, tier)


def test_a_note_ends_in_md_and_is_not_hidden() -> None:
    names = ("a.md", "A.MD", ".md", ".a.md", "a.md.txt")
    assert [name for name in names if is_note_name(name)] == ["a.md", "A.MD"]


@pytest.mark.parametrize("row", CONFLICT_COPIES, ids=lambda row: row.example)
def test_a_conflict_copy_names_its_tool_and_its_note(row: ConflictCopyName) -> None:
    for name in (row.example, row.example.upper().replace(".MD", ".md")):
        copy = conflict_copy_of(name)
        assert copy is not None
        assert (copy.tool, copy.note.lower()) == (row.tool, "plan.md")
        assert is_foreign_conflict_copy(name)
    assert row.source.startswith("https://")


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("a (Conflicted copy Ann's Phone 202601021530).md", "a.md"),
        ("a (Ann's conflicted copy 2026-01-02).md", "a.md"),
        ("a (Ann's conflicted copy 2026-01-02 (1)).md", "a.md"),
        ("a (conflicted copy 2026-01-02 153000).md", "a.md"),
        ("a (b) (Conflicted copy).md", "a (b).md"),
        ("a (Conflicted copy) (Conflicted copy).md", "a.md"),
        ("a.sync-conflict-20260102-153000-ABCDEFG.md", "a.md"),
        ("a.sync-conflict-20260102-153000.md", "a.md"),
        ("a (conflicted copy)", "a"),
    ],
)
def test_a_conflict_copy_of_a_sync_tool_is_recognised(name: str, note: str) -> None:
    copy = conflict_copy_of(name)
    assert copy is not None
    assert copy.note == note


@pytest.mark.parametrize("row", LIKELY_COPIES, ids=lambda row: row.example)
def test_a_likely_copy_is_named_like_the_note_beside_it(row: ConflictCopyName) -> None:
    assert likely_copy_of(row.example, "Plan.md") == (row.tool, "Plan.md")
    assert likely_copy_of(row.example, row.example) is None
    assert likely_copy_of(row.example, "Plans.md") is None
    assert not is_foreign_conflict_copy(row.example)
    assert row.source.startswith("https://")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        *(("a 3.md", "iCloud Drive"), ("a_2.md", "iCloud Drive"), ("a 1.md", ""), ("a2.md", "")),
        *(("a 2026.md", ""), ("a copy.md", ""), ("a (1).md", ""), ("a-v2.md", ""), ("b 2.md", "")),
        *(("a-Anns MacBook Pro-2.md", "OneDrive"), ("a-ANN-PC.md", "OneDrive"), ("a-pc.md", "")),
    ],
)
def test_only_numbers_and_devices_make_a_likely_copy(name: str, tool: str) -> None:
    assert likely_copy_of(name, "a.md") == ((tool, "a.md") if tool else None)


WORDS = st.sampled_from(
    [
        *("plan", "Plan B", "conflict", "conflicted copy", "copy", "sync-conflict", "2026-01-02"),
        *("(1)", "(draft 2026-01-02)", "2", "case clash", "DESKTOP-1A2B3C4", "_conflict", "-", "."),
    ]
)


@given(st.lists(WORDS, min_size=1, max_size=5).map(" ".join))
@example("a (Conflicted copy) of it")
@example("What a conflicted copy is (2026)")
@example("sync-conflict")
@example("a.conflict")
@example("(Conflicted copy)")
def test_an_ordinary_name_is_no_conflict_copy(stem: str) -> None:
    assert not is_foreign_conflict_copy(f"{stem}.md")
