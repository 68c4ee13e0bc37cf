"""`vaultsync purge` asks before it erases anything."""

from __future__ import annotations

import pytest

from tests.surfaces.command_line import ID, FakeMemory, run
from vaultsync.cli import purge_command
from vaultsync.operations.purge import PurgeReport

DONE = PurgeReport((ID,), {"facts": 1, "blobs": 3}, 0, kept=("a tombstone without text",))


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


@pytest.mark.parametrize(("answer", "calls"), [("y\n", [True, False]), ("n\n", [True])])
def test_on_a_terminal_it_asks_and_says_that_it_is_final(
    monkeypatch: pytest.MonkeyPatch, answer: str, calls: list[bool]
) -> None:
    made: list[bool] = []
    monkeypatch.setattr(purge_command, "is_terminal", lambda _: True)
    result = run("purge", ID, memory=purging(DONE, made), stdin=answer)
    assert made == calls
    assert "This cannot be undone" in result.output
