"""Folders that a question names."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import pytest

from tests.recalls import RecallWorld
from vaultsync.model.paths import VaultPath
from vaultsync.recall.asked_folders import is_in_folder, named_folder
from vaultsync.recall.query import parse_query
from vaultsync.recall.service import RecallSearch

FOLDERS: dict[str, tuple[str, str]] = {
    "notes in the How-tos folder": ("How-tos", "notes"),
    "everything from my Meeting Notes directory about tea?": (
        "Meeting Notes",
        "everything about tea?",
    ),
    "What is in the new How-tos folder?": ("How-tos", "What is ?"),
    "notes in folder “Meeting Notes” about tea": ("Meeting Notes", "notes about tea"),
    "Notizen im Ordner How-tos": ("How-tos", "Notizen"),
    "alles im How-tos-Ordner": ("How-tos", "alles"),
    "notes du dossier How-tos": ("How-tos", "notes"),
    "notas en la carpeta How-tos sobre té": ("How-tos", "notas sobre té"),
    "「How-tos」フォルダのノート": ("How-tos", "「 のノート"),
    "notes in the Other folder": ("", "notes in the Other folder"),
    "the folder structure of tea": ("", "the folder structure of tea"),
    "How do I name a folder?": ("", "How do I name a folder?"),
}


@pytest.mark.parametrize("question", FOLDERS)
def test_a_question_names_a_folder_that_has_notes(question: str) -> None:
    known = ("How-tos", "Meeting Notes")
    folder, rest = named_folder(question, lambda x: frozenset({"a"} if x in known else ()))
    assert (folder, " ".join(rest.split())) == FOLDERS[question]


def test_without_a_vault_the_words_for_a_folder_are_a_topic() -> None:
    assert (
        parse_query("tea in the How-tos folder", today=date(2026, 6, 15)).filters.folders
        == frozenset()
    )


@pytest.mark.parametrize("named", ["How-tos", "how-tos", "team-core/How-tos", "/How-tos/", "Tea"])
def test_a_folder_is_named_by_the_end_or_a_part_of_its_path(named: str) -> None:
    assert is_in_folder(VaultPath("team-core/How-tos/Tea"), named)
    assert not is_in_folder(VaultPath("How-tos-2/Teas"), named)
    assert not is_in_folder(VaultPath("How-tos"), "")


@pytest.fixture
def filed(world: RecallWorld) -> RecallWorld:
    """Notes in two folders; one is hidden, and one private."""
    for path, text in {
        "public/How-tos/Brew tea.md": "Warm the pot.",
        "public/How-tos/Sub/Open the lock.md": "Call the warden about the pot.\n\n- [ ] Oil it",
        "public/Inbox/Pot.md": "A pot costs 4 euros.",
        "public/How-tos/Old.md": "---\nstatus: archived\n---\nThe old pot.",
        "private-indy/Plans/Secret pot.md": "A pot of gold.",
    }.items():
        world.person_writes(VaultPath(path), text)
        world.clock.advance(60)
        world.sync()
    world.embed()
    return world


IN_FOLDERS = {
    "notes in the How-tos folder": ["Brew tea", "Open the lock"],
    "folder:how-tos": ["Brew tea", "Open the lock"],
    "newest notes folder:how-tos": ["Open the lock", "Brew tea"],
    "folder:How-tos/Sub pot": ["Open the lock"],
    "my open tasks in the How-tos folder": ["Open the lock"],
    "pot in the Inbox folder": ["Pot"],
    '"old pot" folder:how-tos': [],
    "folder:Nowhere": [],
    "notes in the Plans folder": ["Secret pot"],
}


@pytest.mark.parametrize("mode", ["index", "fused"])
@pytest.mark.parametrize("question", IN_FOLDERS)
def test_only_notes_of_the_folder_are_found(filed: RecallWorld, question: str, mode: str) -> None:
    answer = filed.ask(question, mode=mode, agent=None)
    titles = [hit.title for hit in answer]
    assert (titles if "newest" in question else sorted(titles)) == IN_FOLDERS[question]
    has_hidden = "Sub" not in question and "tasks" not in question and "ow-tos" in question
    assert [each.count for each in answer.hidden] == [1] * has_hidden


def test_no_agent_learns_of_a_folder_that_it_may_not_read(filed: RecallWorld) -> None:
    assert filed.titles("notes in the Plans folder") == ["Secret pot"]
    found = set(filed.titles("pot in the Plans folder", agent="bo"))
    assert found == {"Brew tea", "Open the lock", "Pot"}
    assert filed.ask("folder:Plans", agent="bo").nothing_known.endswith("but none in that folder.")


def test_a_folder_of_which_few_notes_are_asked_for_is_sorted_once(
    filed: RecallWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        filed.person_writes(VaultPath(f"public/How-tos/{number}.md"), f"A pot of size {number}.")
    filed.sync()
    sorted_by, in_order = list[str](), RecallSearch._in_order

    def count(search: RecallSearch, fact_ids: Iterable[str], order: str) -> list[str]:
        sorted_by.append(order)
        return in_order(search, fact_ids, order)

    monkeypatch.setattr(RecallSearch, "_in_order", count)
    assert filed.titles("lessons folder:how-tos", limit=1) == []
    assert len(sorted_by) == 2  # lessons, and notes with a tag for them
