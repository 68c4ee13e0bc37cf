from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultsync.model.file_names import (
    SLUG_LENGTH,
    STEM_BYTES,
    entity_name,
    file_name,
    is_foreign_conflict_copy,
    slug,
)
from vaultsync.model.paths import is_note_name, stem_of, vault_path

Test = TypeVar("Test", bound=Callable[..., None])
ID = "0193f6c2-7b1e-7c3d-9a4f-5e6d7c8b9a0f"
NASTY = (
    # Paths, hidden files, options, and what only a link or a property reads.
    *("../../etc/passwd", "a/b:c?", ".obsidian", "...", "-rf ~", "???", "[[a|b]]#c^d%%", ""),
    # Names that Windows reserves, or whose end it drops.
    *("CON", "con.md", "nul.txt.jpg", "COM¹", "LPT0 .x", "CONIN$", "trailing...", "trailing . . "),
    # Too long, or cut within a visible character.
    *("x" * 300, "Я" * 130, "漢" * 130, "n" * 119 + "é", "👩\u200d👩\u200d👧\u200d👦" * 20),
    *("🇩🇪" * 40, "👋🏽" * 40, "각" * 60, "Z" + "\u0301" * 300, "NULx" + "\u0301" * 300),
    # Invisible, joined, private or broken characters.
    *("evil\u202egpj.md", "🎉🎉", "\u200b.git", "\u0301accent first", "e\u200d\u0301", "<\u0338"),
    *("a\x00b\x1b[31mc", "half \ud800 a character", "\ufeffBOM", "\u3164", "private \ue000 use"),
    *(" \t\n\u00a0\u3000\u2028 ", "İSTANBUL ΟΔΟΣ ẞ"),
    # Notes of conflicts, ours and those of sync tools.
    "Foo.conflict.md",
    "Plan (conflicted copy 2024-01-02)",
    "a.sync-conflict-20240102-030405-ABCDEFG",
    "a_conflict-20240102-030405",
)


def titles() -> st.SearchStrategy[str]:
    pieces = st.sampled_from(
        (*NASTY, "/", ".", "-", " ", "'", "CON", "é", "🇩", "\u200d", "\u0301", ".md")
    )
    return st.one_of(
        st.text(max_size=80), st.lists(pieces | st.text(max_size=8), max_size=8).map("".join)
    )


def nasty(test: Test) -> Test:
    for title in NASTY:
        test = example(title)(test)
    return test


def is_reserved(name: str) -> bool:
    base = name.split(".", maxsplit=1)[0].rstrip(" ").upper()
    devices = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
    return base in devices or (
        base[:3] in {"COM", "LPT"} and len(base) == 4 and base[3] in "0123456789¹²³"
    )


def is_legal_everywhere(name: str) -> bool:
    return not (
        is_reserved(name)
        or set(name) & set('/\\:*?"<>|#^[]%')
        or name.endswith((".", " "))
        or name.startswith((".", "-", "~", " "))
        or any(unicodedata.category(char)[0] == "C" for char in name)
    )


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Use LanceDB for the local cache!", "use-lancedb-for-the-local-cache"),
        ("  Convex -- as_system/of record ", "convex-as-system-of-record"),
        *(("Don't panic", "dont-panic"), ("Größe: 3½ m²", "größe-3½-m²")),
        *(("Решение №5", "решение-5"), ("東京タワー", "東京タワー"), ("हिन्दी में", "हिन्दी-में")),
        *(("e\u0301te\u0301", "été"), ("👍🏽 1\ufe0f\u20e3", "1"), ("…", ""), ("🎉🎉", "")),
        *(("CON", "con_"), ("com¹", "com¹_"), ("console", "console")),
    ],
)
def test_a_slug_keeps_letters_and_digits(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_a_slug_is_cut_between_words_when_one_ends_late_enough() -> None:
    assert slug("word " * 20) == "-".join(["word"] * 10)
    assert slug("a" * 40 + "-" + "b" * 40) == "a" * 40
    assert slug("a" * 20 + "-" + "b" * 40) == "a" * 20 + "-" + "b" * 29
    assert slug("漢" * 60) == "漢" * 40
    assert slug("a" * 50 + " b") == "a" * 50


def test_a_name_is_cut_between_visible_characters() -> None:
    assert slug("कि" * 30) == "कि" * 20
    assert slug("x" + "कि" * 30) == "x" + "कि" * 19
    assert entity_name("🇩🇪" * 40) == "🇩🇪" * 15
    assert entity_name("a" + "🇩🇪" * 40) == "a" + "🇩🇪" * 14
    assert entity_name("👋🏽" * 40) == "👋🏽" * 15
    assert entity_name("n" * 115 + "\u1112\u119e\u11ab") == "n" * 115
    assert entity_name("n" * 119 + "e\u0301x") == "n" * 119
    assert entity_name("n" * 119 + "q\u0301x") == "n" * 119


def name_of(title: str, named: Callable[[str], str]) -> str:
    """What a title is named, proved to be the same in any form, and legal or nothing."""
    made = named(title)

    assert made == named(unicodedata.normalize("NFD", title))
    assert made == named(unicodedata.normalize("NFC", title))
    assert named(made) == made
    assert not made or (vault_path(made) == made and is_legal_everywhere(made))
    assert len(made.encode()) <= STEM_BYTES
    return made


@nasty
@given(titles())
def test_a_slug_is_a_legal_name_or_nothing(title: str) -> None:
    made = name_of(title, slug)

    assert made == made.lower()
    assert made.strip("-") == made
    assert "--" not in made
    assert len(made.removesuffix("_")) <= SLUG_LENGTH


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        *(("Alice Smith", "Alice Smith"), ("AC/DC", "AC-DC")),
        *(("Dune: Part Two", "Dune - Part Two"), ("a / b \\ c", "a - b - c")),
        *(("What? Why* <now>", "What Why now"), ("C#", "C"), ("Acme Inc.", "Acme Inc")),
        *(("A-", "A-"), (".obsidian", "obsidian"), ("README.md", "README")),
        *(("Foo.conflict.md", "Foo"), ("nul.txt.jpg", "nul_.txt.jpg"), ("con", "con_")),
        *(("evil\u202egpj.exe", "evilgpj.exe"), ("Zoe\u0308", "Zoë"), ("🚀", "🚀"), ("???", "")),
        ("\u200b", ""),
        ("Plan (conflicted copy 2024-01-02)", "Plan conflicted copy 2024-01-02"),
    ],
)
def test_an_entity_is_named_by_its_title(title: str, expected: str) -> None:
    assert entity_name(title) == expected


COPY = "a.sync-conflict-20240102-030405-ABCDEFG"


@nasty
@given(titles())
@example(f"../../etc/passwdPlan (conflicted copy 2024-01-02){COPY}{COPY}../../etc/passwd")
def test_an_entity_name_is_legal_or_nothing(title: str) -> None:
    made = name_of(title, entity_name)

    assert not is_foreign_conflict_copy(f"{made}.md")
    assert not made.lower().endswith((".md", ".conflict"))


@pytest.mark.parametrize(
    ("title", "type_name", "created_at", "expected"),
    [
        ("Use LanceDB", "decision", "2026-02-14T13:45:00Z", "2026-02-14-use-lancedb.md"),
        ("🎉", "decision", "2026-02-14T13:45:00Z", "2026-02-14-decision-7c8b9a0f.md"),
        ("Use LanceDB", "decision", "", "use-lancedb.md"),
        ("CON", "decision", "../../../x", "con_.md"),
        ("🎉", "decision", "", "decision-7c8b9a0f.md"),
        ("Alice", "person", "2026", "Alice.md"),
        ("???", "person", "2026", "person-7c8b9a0f.md"),
    ],
)
def test_a_note_is_named_by_date_and_title_an_entity_by_its_title(
    title: str, type_name: str, created_at: str, expected: str
) -> None:
    named = type_name == "person"
    assert expected == file_name(
        title=title, type_name=type_name, created_at=created_at, fact_id=ID, named=named
    )


@nasty
@given(titles())
def test_a_file_name_is_a_legal_note_name(title: str) -> None:
    for named in (True, False):
        for created_at in ("2026-02-14T13:45:00Z", title):
            made = file_name(
                title=title, type_name=title, created_at=created_at, fact_id=ID, named=named
            )

            assert vault_path(made) == made
            assert is_legal_everywhere(made)
            assert is_note_name(made)
            assert not is_foreign_conflict_copy(made)
            assert stem_of(made)
