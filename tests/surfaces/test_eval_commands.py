"""`vaultsync eval`: questions of one's own, and a gate that fails when recall becomes worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import vaultsync
from vaultsync.cli.main import cli

pytestmark = pytest.mark.long(5)

PAGE = """
[[question]]
question = "How do runner beans grow?"
expected = ["{beans}"]
at = 2026-02-14T12:00:00Z

[[question]]
question = "Who won the regatta?"
"""


@pytest.fixture(autouse=True)
def _vault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    vaultsync.init("vault")
    with vaultsync.open("vault") as memory:
        beans = memory.remember("Runner beans grow on poles.", title="Beans")
        memory.remember("Leeks make a soup.", title="Soup")
    Path("questions.toml").write_text(PAGE.format(beans=beans.path), encoding="utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["eval", *words, "--vault", "vault"])


def gate(*words: str) -> Result:
    return run("gate", "questions.toml", "--baseline", "baseline.json", *words)


def test_questions_are_asked_of_the_vault_and_count_as_no_use() -> None:
    shown, told = run("run", "questions.toml"), run("run", "questions.toml", "--json")

    assert shown.exit_code == told.exit_code == 0
    assert "retrieval/index/relevance@5\t1.000" in shown.stdout
    assert "2 questions, 1 of them without an answer" in shown.stderr
    assert "there is no embedding model" in shown.stderr
    found = json.loads(told.stdout)
    assert found["figures"]["retrieval/index/MRR"] == {
        "value": 1.0,
        "better": "higher",
        "noise": 0.0,
    }
    with vaultsync.open("vault") as memory:
        assert [fact.access_count for fact in memory.list().facts] == [0, 0]


def test_a_gate_needs_a_baseline_and_then_passes() -> None:
    without = gate()
    assert without.exit_code == 2
    assert "hint: write it with --update" in without.stderr

    assert gate("--update").exit_code == 0
    assert "retrieval/index/MRR\t1.000\t1.000\tsame" in gate().stdout


def test_a_gate_fails_when_a_figure_is_worse_and_an_update_says_what_changed() -> None:
    gate("--update")
    baseline = json.loads(Path("baseline.json").read_text(encoding="utf-8"))
    baseline["figures"]["context/precision"]["value"] = 2.0
    Path("baseline.json").write_text(json.dumps(baseline), encoding="utf-8")

    failed = gate()
    assert failed.exit_code == 1
    assert "worse than the baseline by more than 10 %: context/precision" in failed.stderr
    assert json.loads(gate("--json").stdout)["passed"] is False

    updated = gate("--update")
    assert updated.exit_code == 0
    assert "context/precision\t1.000\t2.000\tREGRESSION" in updated.stdout
    assert "wrote baseline.json" in updated.stderr
    assert gate().exit_code == 0


def test_a_figure_that_was_not_measured_needs_a_look() -> None:
    gate("--update")
    baseline = json.loads(Path("baseline.json").read_text(encoding="utf-8"))
    baseline["figures"]["retrieval/fused/MRR"] = {"value": 1.0, "better": "higher"}
    Path("baseline.json").write_text(json.dumps(baseline), encoding="utf-8")
    assert gate().exit_code == 3


def test_an_update_for_other_questions_begins_anew() -> None:
    gate("--update")
    with Path("questions.toml").open("a", encoding="utf-8") as page:
        page.write('[[question]]\nquestion = "soup"\n')
    assert "other questions" in gate().stderr
    assert gate("--update").exit_code == 0
    assert gate().exit_code == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "the questions cannot be read"),
        (b"\xff", "is not UTF-8"),
        (b'[[question]]\nquestion = "a"\nexpected = ["Gone.md"]\n', "is not a note in this vault"),
    ],
)
def test_questions_that_cannot_be_asked_are_an_error_with_a_hint(text: bytes, why: str) -> None:
    Path("questions.toml").write_bytes(text)
    refused = run("run", "questions.toml")
    assert refused.exit_code == 2
    assert why in refused.stderr
    assert "hint:" in refused.stderr


def test_python_refuses_to_evaluate_nothing() -> None:
    with vaultsync.open("vault") as memory, pytest.raises(vaultsync.errors.UsageError):
        memory.evaluate([])


def test_answers_of_another_tool_are_scored_without_a_vault() -> None:
    answers = Path("answers.jsonl")
    answers.write_text('{"question": "Who won the regatta?", "packed": []}\n', encoding="utf-8")
    words = ["eval", "score", "questions.toml", "answers.jsonl"]
    shown = CliRunner().invoke(cli, words)
    assert shown.exit_code == 0
    assert "retrieval/tool/relevance@5\t0.000" in shown.stdout
    assert "context/silence\t1.000" in shown.stdout
    assert "1 of the questions have no answer" in shown.stderr
    piped = ["eval", "score", "questions.toml", "-", "--json"]
    told = CliRunner().invoke(cli, piped, input=answers.read_bytes())
    assert json.loads(told.stdout)["figures"]["context/silence"]["value"] == 1.0
    answers.write_text("{}", encoding="utf-8")
    assert CliRunner().invoke(cli, words).exit_code == 2


def test_a_byte_order_mark_is_no_part_of_questions_and_answers() -> None:
    questions = Path("questions.toml").read_text(encoding="utf-8")
    Path("questions.toml").write_text(questions, encoding="utf-8-sig")
    answer = '{"question": "Who won the regatta?"}\n'
    Path("answers.jsonl").write_text(answer, encoding="utf-8-sig")
    words = ["eval", "score", "questions.toml", "answers.jsonl"]
    assert CliRunner().invoke(cli, words).exit_code == 0
