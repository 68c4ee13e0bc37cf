"""`vaultsync purge`: it asks, says what it found, and fails when anything is left."""

from __future__ import annotations

import pytest
from msgspec import to_builtins

from tests.surfaces.command_line import FACT, FakeMemory, one_object, run
from vaultsync.cli import purge_command
from vaultsync.errors import FactNotFoundError
from vaultsync.operations.purge import FoundTrace, PurgeReport

ID = "01a20799-8f08-712f-9e6d-6289dd2a3f9e"
DONE = PurgeReport((ID,), {"facts": 1, "blobs": 3}, 0, kept=("a tombstone without text",))
LEFT = PurgeReport(
    (ID,), {"facts": 1}, 2, (FoundTrace("/x/store.sqlite3", "text", 2),), ("diary.md",)
)


def purging(answer: PurgeReport, calls: list[bool]) -> FakeMemory:
    def purge(*ids: str, dry_run: bool, **_: object) -> PurgeReport:
        assert ids == (ID,)
        calls.append(dry_run)
        return answer

    return FakeMemory(purge=purge)


def test_without_a_terminal_it_has_to_be_said_that_it_is_meant() -> None:
    for words in ((), ("--json",)):
        calls: list[bool] = []
        result = run("purge", ID, *words, memory=purging(DONE, calls))
        assert result.exit_code == 2
        assert calls == [True], "nothing but a dry run"
        assert "--yes" in result.output


def test_what_is_left_is_named_and_is_a_failure() -> None:
    calls: list[bool] = []
    result = run("purge", ID, "--yes", memory=purging(LEFT, calls))
    assert (result.exit_code, calls) == (1, [False])
    assert "left in /x/store.sqlite3: text (2)" in result.output
    assert "delete copies of the notes, and stores from before" in result.output
    assert "the same words, not erased: diary.md" in result.output


def test_of_many_places_with_the_same_words_the_first_are_listed() -> None:
    places = tuple(f"{each}.md" for each in range(1_230))
    shown = PurgeReport((ID,), {}, 0, quoted=places, dry_run=True)
    result = run("purge", ID, "--dry-run", memory=purging(shown, []))
    assert result.output.count("the same words") == 20
    assert "… and in 1,210 more places: --json lists them all" in result.output


def test_json_is_the_report() -> None:
    result = run("purge", ID, "--yes", "--json", memory=purging(DONE, []))
    assert result.exit_code == 0
    assert one_object(result) == to_builtins(DONE, builtin_types=()) | {
        "purged": [ID],
        "found": [],
        "quoted": [],
        "kept": ["a tombstone without text"],
    }


def test_a_dry_run_says_where_the_facts_are() -> None:
    store = "/x/store.sqlite3"
    found = (FoundTrace(store, "id", 3), FoundTrace(store, "text", 2), FoundTrace("/y", "id", 1))
    shown = PurgeReport((ID,), {}, 2, found, dry_run=True)
    calls: list[bool] = []
    result = run("purge", ID, "--dry-run", memory=purging(shown, calls))
    assert (result.exit_code, calls) == (0, [True])
    assert "would erase 1 fact permanently" in result.output
    assert "  is in /x/store.sqlite3: id (3), text (2)\n  is in /y: id (1)\n" in result.output


def test_what_is_to_be_erased_is_named_before() -> None:
    shown = PurgeReport((ID,) * 21, {}, 2, LEFT.found, dry_run=True)
    lines = run("purge", ID, "--dry-run", memory=purging(shown, [])).output.splitlines()
    assert lines[1:21] == [f"  “{FACT.title}”"] * 20
    assert lines[21] == "  … and 1 more fact: --json lists the ids of all"

    def get(*_: object, **__: object) -> None:
        raise FactNotFoundError(ID)

    memory = purging(shown, [])
    memory.answers["get"] = get
    assert f"  {ID}, which is forgotten" in run("purge", ID, "--dry-run", memory=memory).output


@pytest.mark.parametrize(("answer", "calls"), [("y\n", [True, False]), ("n\n", [True])])
def test_on_a_terminal_it_asks_and_says_that_it_is_final(
    monkeypatch: pytest.MonkeyPatch, answer: str, calls: list[bool]
) -> None:
    made: list[bool] = []
    monkeypatch.setattr(purge_command, "is_terminal", lambda _: True)
    result = run("purge", ID, memory=purging(DONE, made), stdin=answer)
    assert made == calls
    assert "This cannot be undone" in result.output
