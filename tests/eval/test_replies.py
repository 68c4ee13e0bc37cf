"""What the report makes of replies, and that any vault can be asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.eval.questions import UNANSWERABLE, Question
from tests.eval.replies import Reply, replies, table
from tests.eval.worlds import open_vault

NOW = datetime(2026, 6, 30, tzinfo=UTC)


def asked(text: str, *expected: str) -> Question:
    kind = "fact" if expected else UNANSWERABLE
    return Question(
        id=text,
        kind=kind,
        text=text,
        language="en",
        style="keywords",
        now=NOW,
        expected=expected,
        why="It says so.",
    )


def reply(*, kind: str, relevance: float = 0.0, sure: bool = False, empty: bool = False) -> Reply:
    question = asked("?", *([] if kind == UNANSWERABLE else ["A.md"]))
    return Reply(question, relevance, float(relevance > 0), relevance, sure, empty)


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")


@pytest.mark.usefixtures("by_words")
def test_notes_that_were_no_facts_are_asked_by_their_paths(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "Garden").mkdir(parents=True)
    (notes / "Garden" / "Beans.md").write_text("Runner beans climb poles.\n", encoding="utf-8")
    (notes / "Soup.md").write_text("Leeks and potatoes.\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in notes.rglob("*.md")}
    questions = [asked("runner beans", "Garden/Beans.md"), asked("zeppelin")]

    with open_vault(tmp_path / "world", notes) as vault:
        found, missed = replies(vault, questions, "index")

    assert (found.relevance_5, found.hit_5, found.mrr, found.empty) == (1, 1, 1, False)
    assert (missed.relevance_5, missed.sure, missed.empty) == (0, False, True)
    assert {path: path.read_bytes() for path in before} == before


def test_a_table_tells_the_unanswerable_apart() -> None:
    some = [
        reply(kind="fact", relevance=1.0, sure=True),
        reply(kind="fact"),
        reply(kind=UNANSWERABLE, sure=True),
        reply(kind=UNANSWERABLE, empty=True),
    ]
    rows = [row.split() for row in table(some)]
    assert rows[1] == ["all", "2", "0.500", "(0.000-1.000)", "0.500", "0.500", "0.500"]
    assert rows[2][0] == "fact"
    assert rows[-3] == [UNANSWERABLE, "2", "0.500", "(0.000-1.000)", "0.500"]


def test_a_table_says_how_far_from_the_truth_answers_are_about_themselves() -> None:
    right = replace(reply(kind="fact", relevance=1.0), confidence=0.75, answerable=0.9)
    wrong = replace(reply(kind=UNANSWERABLE), confidence=0.25, answerable=0.9)
    head, row = table([right, wrong])[-2:]
    assert head.split() == ["calibration", "n", "confidence", "answerable"]
    assert [row.split()[at] for at in (0, 1, 2, 5)] == ["all", "2", "0.250", "0.400"]
    # 2 · 0.25 · 0.75, and half the mean distance of two draws at 0.9 from 1.8.
    chances = [float(row.split()[at].rstrip(")")) for at in (4, 7)]
    assert chances == pytest.approx([0.375, 0.162], abs=0.05)


def test_a_table_without_the_unanswerable_has_no_row_of_them() -> None:
    assert UNANSWERABLE not in "".join(table([reply(kind="fact", relevance=0.5)]))
