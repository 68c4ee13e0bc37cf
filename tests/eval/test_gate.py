"""The gate: what it measures, when it fails, and that recall passes it as it is.

What is timed is left to `make gate`, which runs alone: here other tests run beside it. The short
form makes no vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.eval.gate import (
    BASELINE,
    TIMED,
    asked,
    before_and_after,
    gate,
    has_model,
    main,
    measured,
    opened,
    table,
    update,
)
from vaultsync.api.memory import Memory
from vaultsync.operations.evaluate import Evaluation, Figure
from vaultsync.operations.regressions import (
    NOT_MEASURED,
    REGRESSION,
    compare,
    parse_baseline,
    write_baseline,
)

OF_TEXT = "retrieval/index/"
"""Figures that are the same without a model."""


@pytest.fixture(scope="module")
def with_model(request: pytest.FixtureRequest) -> bool:
    return has_model() and not request.config.getoption("--short")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, *, with_model: bool) -> Iterator[Memory]:
    embedder = "local" if with_model else "none"
    with opened(tmp_path_factory.mktemp("gate"), embedder=embedder) as found:
        yield found


@pytest.fixture(scope="module")
def found(memory: Memory) -> Evaluation:
    return measured(memory, rounds=0)


@pytest.fixture(scope="module")
def baseline() -> Evaluation:
    return parse_baseline(BASELINE.read_text(encoding="utf-8"))


def test_recall_is_as_good_as_its_baseline(
    found: Evaluation, baseline: Evaluation, *, with_model: bool
) -> None:
    report = compare(found, baseline)
    worse = [each.name for each in report.figures if each.verdict == REGRESSION]
    assert [each for each in worse if with_model or each.startswith(OF_TEXT)] == []


def test_all_figures_of_the_baseline_are_measured_where_the_model_is(
    found: Evaluation, baseline: Evaluation, *, with_model: bool
) -> None:
    report = compare(found, baseline)
    missing = {each.name for each in report.figures if each.verdict == NOT_MEASURED}
    of_the_model = {
        each
        for each in baseline.figures
        if not with_model and any(way in each for way in ("vector", "fused", "index-first"))
    }
    assert missing == {each for each in baseline.figures if TIMED in each} | of_the_model


def test_the_gate_asks_the_questions_of_development_alone(found: Evaluation) -> None:
    assert len(asked()) == found.questions
    assert 60 <= found.questions <= 90


def test_both_ways_to_ask_stand_beside_each_other(found: Evaluation, baseline: Evaluation) -> None:
    heads, before, after = before_and_after(found)
    assert "relevance@5" in heads
    assert before.startswith("before: vectors only")
    assert after.startswith("after: index first")
    assert "context/recall" in "\n".join(table(compare(found, baseline)))


def test_what_is_timed_has_a_figure_each_beside_its_floor(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, *, with_model: bool
) -> None:
    some = asked()[::8]
    monkeypatch.setattr("tests.eval.gate.asked", lambda: some)
    timed = {
        name: each for name, each in measured(memory, rounds=1).figures.items() if TIMED in name
    }
    ways = {"sync/nothing to do", "latency/index", "latency/context"}
    ways |= {"latency/fused"} if with_model else set()
    assert {name.removesuffix(f"/{TIMED}") for name in timed} == ways
    assert all(each.value > 0 and each.better == "lower" for each in timed.values())


def test_what_is_slower_is_measured_again_and_fails_if_it_stays(
    memory: Memory, found: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"latency/index/{TIMED}"

    def with_time(value: float) -> Evaluation:
        figures = {**found.figures, name: Figure(value, "lower")}
        return Evaluation(found.questions, 0, found.digest, figures)

    times = [9.0, 5.0]
    monkeypatch.setattr("tests.eval.gate.measured", lambda _: with_time(times.pop(0)))
    assert gate(memory, with_time(5.0)).passed

    times = [9.0] * 3
    assert not gate(memory, with_time(5.0)).passed
    assert times == []


def test_what_is_worse_fails_at_once(
    memory: Memory, found: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = {name: Figure(each.value + 1, each.better) for name, each in found.figures.items()}
    baseline = Evaluation(found.questions, 0, found.digest, better)
    answers = [found]
    monkeypatch.setattr("tests.eval.gate.measured", lambda _: answers.pop())
    assert not gate(memory, baseline).passed


def test_an_update_says_what_changed(
    tmp_path: Path,
    memory: Memory,
    found: Evaluation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "retrieval/index/MRR"
    path = tmp_path / "baseline.json"
    old = {**found.figures, name: Figure(0.125, "higher")}
    before = Evaluation(found.questions, found.unanswerable, found.digest, old)
    path.write_text(write_baseline(before), encoding="utf-8")
    now = Evaluation(found.questions, found.unanswerable, found.digest, found.figures)
    monkeypatch.setattr("tests.eval.gate.measured", lambda _: now)

    assert update(memory, path) == 0

    said = capsys.readouterr().out.splitlines()
    assert said == [f"{name:34}      0.125 -> {found.figures[name].value:10.3f}", said[-1]]
    assert parse_baseline(path.read_text(encoding="utf-8")).figures[name] == found.figures[name]


def test_a_baseline_is_not_made_without_a_model(
    tmp_path: Path, memory: Memory, found: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = Evaluation(found.questions, 0, found.digest, found.figures, ("There is no model.",))
    monkeypatch.setattr("tests.eval.gate.measured", lambda _: now)
    assert update(memory, tmp_path / "baseline.json") == 1
    assert not (tmp_path / "baseline.json").exists()


def test_the_report_is_written_as_json_and_a_regression_is_the_exit_code(
    tmp_path: Path,
    found: Evaluation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tests.eval.gate.measured", lambda _: found)
    monkeypatch.setattr("tests.eval.gate.has_model", lambda: False)
    baseline = tmp_path / "baseline.json"
    baseline.write_text(write_baseline(found), encoding="utf-8")
    arguments = ["--baseline", str(baseline), "--json", str(tmp_path / "out" / "gate.json")]
    assert main(arguments) == 0
    assert '"passed": true' in (tmp_path / "out" / "gate.json").read_text(encoding="utf-8")

    better = {name: Figure(each.value + 1, each.better) for name, each in found.figures.items()}
    worse = Evaluation(found.questions, 0, found.digest, better)
    baseline.write_text(write_baseline(worse), encoding="utf-8")
    assert main(arguments) == 1
    assert "worse than the baseline" in capsys.readouterr().out
