"""`vaultsync recall`: what is asked, and how the answer is shown."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.surfaces.command_line import FACT, ID, OneAnswer, ask
from vaultsync.cli import recall_commands as show_recall
from vaultsync.cli.main import cli
from vaultsync.cli.recall_commands import recall
from vaultsync.recall.result import Hit, RecallResult, RecallStage, StageCandidate

HIT = Hit(
    FACT.id,
    FACT.title,
    FACT.type,
    FACT.path,
    0.81,
    0.9,
    0.7,
    0.5,
    "index",
    "Has “sqlite” and “fast”.",
    "It is embedded.",
)
ANSWER = RecallResult("why sqlite?", "index", 0.83, (), 0.004, (HIT,))
STAGES = (
    RecallStage("catch-up", 0.0001),
    RecallStage("index", 0.001, tuple(StageCandidate(ID, 7.5 - n) for n in range(7))),
)


def run(
    *words: str, answer: RecallResult = ANSWER, terminal: bool = False
) -> tuple[Result, OneAnswer]:
    with mock.patch.object(show_recall, "is_terminal", return_value=terminal):
        return ask(recall, *words, answer=answer)


def test_json_is_the_answer_with_the_keys_of_the_contract() -> None:
    result, _ = run("why sqlite?", "--json")
    values = json.loads(result.stdout)
    assert values == {
        "query": "why sqlite?",
        "source": "index",
        "confidence": 0.83,
        "degraded": [],
        "seconds": 0.004,
        "hits": [
            {
                "id": ID,
                "title": "Use SQLite",
                "type": "decision",
                "path": FACT.path,
                "score": 0.81,
                "similarity": 0.9,
                "recency": 0.7,
                "utility": 0.5,
                "stage": "index",
                "why": "Has “sqlite” and “fast”.",
                "snippet": "It is embedded.",
            }
        ],
    }
    assert result.stderr == ""


def test_all_options_reach_the_question() -> None:
    words = "q --limit 3 --mode fused --type decision --scope public --tag a --tag b"
    words += " --max-priority 4 --since 2026-01-01 --user u-1 --explain"
    _, memory = run(*words.split())
    assert memory.asked == {
        "query": "q",
        "limit": 3,
        "mode": "fused",
        "types": ("decision",),
        "scopes": ("public",),
        "tags": ("a", "b"),
        "max_priority": 4,
        "since": "2026-01-01",
        "user": "u-1",
        "explain": True,
    }


def test_in_a_pipe_a_hit_is_a_row() -> None:
    result, _ = run("why sqlite?")
    (row,) = result.stdout.splitlines()
    assert row.split("\t") == [
        ID,
        "0.8100",
        "decision",
        "Use SQLite",
        str(FACT.path),
        "Has “sqlite” and “fast”.",
        "It is embedded.",
    ]
    assert result.stderr == "1 hit by keyword search in 4 ms, confidence 0.83\n"


def test_on_a_terminal_a_hit_says_why_and_where() -> None:
    result, _ = run("why sqlite?", terminal=True)
    assert result.stdout.splitlines() == [
        " 1. Use SQLite  decision · 0.81",
        "    It is embedded.",
        "    Has “sqlite” and “fast”.",
        f"    {FACT.path}",
        "",
    ]


def test_a_hit_without_a_note_says_so_and_repeats_no_title() -> None:
    hit = replace(HIT, path=None, snippet="Use SQLite")
    answer = RecallResult("q", "fused", 0.5, ("There is no model.",), 0.02, (hit, hit))
    result, _ = run("q", answer=answer, terminal=True)
    assert "no note yet" in result.stdout
    assert result.stdout.count("Use SQLite") == 2
    assert result.stderr.splitlines() == [
        "There is no model.",
        "2 hits by hybrid search in 20 ms, confidence 0.50",
    ]


def test_no_hits_print_a_hint() -> None:
    answer = RecallResult("q", "index", 0.0, (), 0.001, ())
    result, _ = run("q", answer=answer)
    assert result.stdout == ""
    assert "nothing found: try other words" in result.stderr


def test_recall_on_an_empty_memory_prints_how_to_begin(tmp_path: Path) -> None:
    def stderr(*words: str) -> str:
        where = ("--vault", str(tmp_path / "vault"), "--state-dir", str(tmp_path / "s"))
        result = CliRunner().invoke(cli, [*words, *where], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stderr

    stderr("init")
    assert "the memory is empty; `vaultsync adopt`" in stderr("recall", "ferries")
    stderr("remember", "We meet on Tuesdays.")
    assert "nothing found: try other words" in stderr("recall", "ferries")


def test_explain_prints_the_stages() -> None:
    answer = RecallResult("q", "index", 0.8, (), 0.001, (HIT,), STAGES)
    result, _ = run("q", "--explain", answer=answer)
    lines = result.stdout.splitlines()[1:]
    assert lines[:3] == [
        "catch-up: 0.1 ms",
        "index: 1.0 ms, 7 candidates",
        "    7.5000  Use SQLite",
    ]
    assert lines[-1] == "  … and 2 more"


@pytest.mark.parametrize("words", [["q", "--mode", "magic"], ["q", "--limit", "0"], []])
def test_a_wrong_use_is_refused(words: list[str]) -> None:
    assert run(*words)[0].exit_code == 2
