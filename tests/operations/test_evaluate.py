"""What an evaluation measures, and when a gate fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
from msgspec import structs

from tests.recalls import BrokenEmbedder, RecallWorld
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.errors import UsageError
from vaultsync.operations.evaluate import (
    EvalQuestion,
    Evaluation,
    EvaluationParts,
    Figure,
    Paired,
    ToolAnswer,
    evaluate,
    parse_answers,
    parse_questions,
    score_answers,
)
from vaultsync.operations.regressions import compare, list_figures, parse_baseline, write_baseline
from vaultsync.recall.past_facts import FixedClock
from vaultsync.recall.result import RecallSources

BEANS = EvalQuestion("runner beans", ("beans.md",))
NOTHING = EvalQuestion("glacier")


@pytest.fixture
def world() -> RecallWorld:
    world = RecallWorld()
    world.agent_remembers("Runner beans climb poles.", title="Beans")
    world.agent_remembers("Leeks and potatoes make a soup.", title="Soup")
    return world


def parts(
    world: RecallWorld,
    *,
    seconds: Callable[[], float] | None = None,
    floors: Mapping[str, Callable[[str], object]] | None = None,
    agent: str | None = None,
) -> EvaluationParts:
    facts = {fact.title: fact.id for fact in world.store.iter_facts()}
    steps = count()
    return EvaluationParts(
        lambda _: world.sources,
        EstimatingCounter(),
        {"beans.md": facts["Beans"], "soup.md": facts["Soup"]},
        seconds or (lambda: float(next(steps))),
        agent=agent,
        floors=floors or {},
        others=[Paired("other", lambda: None, lambda: None)],
    )


def test_all_ways_to_ask_are_measured_and_timed(world: RecallWorld) -> None:
    world.embed()
    found = evaluate(parts(world), [BEANS, NOTHING])

    assert (found.questions, found.unanswerable, found.missing) == (2, 1, ())
    for way in ("index", "vector", "fused", "index-first"):
        assert found.figures[f"retrieval/{way}/relevance@5"] == Figure(1.0, "higher")
        assert found.figures[f"retrieval/{way}/MRR"].value == 1
        assert not found.figures[f"retrieval/{way}/p95 ms"].better
    assert found.figures["context/recall"].value == 1
    assert found.figures["context/silence"].value == 1
    assert found.figures["context/tokens"].better == "lower"
    for name in ("other", "latency/index", "latency/fused", "latency/context"):
        assert found.figures[f"{name}/times its floor"] == Figure(1.0, "lower")


def test_without_vectors_the_index_alone_is_measured(world: RecallWorld) -> None:
    found = evaluate(parts(world), [BEANS], rounds=1)
    assert "retrieval/index/MRR" in found.figures
    assert not any(name.startswith("retrieval/fused") for name in found.figures)
    assert [each.split()[0] for each in found.missing] == ["vector", "fused", "index-first"]
    assert "context/silence" not in found.figures


def test_a_model_that_goes_away_is_no_error_of_the_floor(world: RecallWorld) -> None:
    world.embed()
    kept = world.embedder

    def gone(_: str) -> None:
        world.embedder = None

    sources = evaluate(parts(world, floors={"index": gone}), [BEANS], rounds=1)
    assert "latency/fused/times its floor" in sources.figures
    world.embedder = kept


def test_a_broken_model_is_said_and_not_measured(world: RecallWorld) -> None:
    world.embed()
    world.embedder = BrokenEmbedder()
    found = evaluate(parts(world), [BEANS], rounds=0)
    assert "the model is gone" in found.missing[0]
    assert not any("floor" in name for name in found.figures)


def test_a_note_that_is_found_at_last_and_one_that_is_not(world: RecallWorld) -> None:
    for number in range(12):
        world.agent_remembers(f"Beans of kind {number}.", title=f"Beans beans beans {number}")
    soup = EvalQuestion("beans", ("soup.md",))
    found = evaluate(parts(world), [soup], rounds=0)
    assert found.figures["retrieval/index/relevance@5"].value == 0
    assert found.figures["retrieval/index/MRR"].value == 0
    assert found.figures["context/precision"].value == 0


def test_a_pack_without_room_has_no_precision(world: RecallWorld) -> None:
    found = evaluate(parts(world), [BEANS], budget=1, rounds=0)
    assert found.figures["context/recall"].value == 0
    assert "context/precision" not in found.figures


def test_an_evaluation_counts_nothing_as_used(world: RecallWorld) -> None:
    before = {fact.id: fact.access_count for fact in world.store.iter_facts()}
    evaluate(parts(world), [BEANS], rounds=1)
    assert {fact.id: fact.access_count for fact in world.store.iter_facts()} == before


def test_an_unknown_note_is_refused(world: RecallWorld) -> None:
    with pytest.raises(UsageError, match=r"gone\.md"):
        evaluate(parts(world), [EvalQuestion("beans", ("gone.md",))])


def test_an_agent_is_measured_by_what_it_may_see(world: RecallWorld) -> None:
    world.agent_remembers("Runner beans, in private.", title="Mine", scope="private-indy")
    mine = {fact.title: fact.id for fact in world.store.iter_facts()}["Mine"]
    for agent, share in (("indy", 1.0), ("else", 0.0)):
        known = parts(world, agent=agent)
        known = replace(known, ids={"mine.md": mine})
        found = evaluate(known, [EvalQuestion("private beans", ("mine.md",))], rounds=0).figures
        assert found["retrieval/index/hit@5"].value == share
        assert found["context/recall"].value == share


def test_what_takes_no_time_has_no_ratio(world: RecallWorld) -> None:
    found = evaluate(parts(world, seconds=lambda: 0.0), [BEANS])
    assert not any("floor" in name for name in found.figures)


def test_a_ratio_is_the_median_of_rounds_and_its_noise_half_their_span(world: RecallWorld) -> None:
    # Rounds of the other pair take 2, 4 and 9 times as long as its floor; all else is equal.
    steps = []
    for times in (2, 4, 9):
        steps += [0, 1, 0, times]  # begin and end of the floor, of ours
        steps += [0, 1] * 4
    found = evaluate(
        parts(world, seconds=iter(map(float, steps)).__next__), [BEANS], rounds=3
    ).figures
    assert found["other/times its floor"] == Figure(4.0, "lower", 3.5)
    assert found["latency/index/times its floor"] == Figure(1.0, "lower")


def test_a_question_is_asked_at_its_time(world: RecallWorld) -> None:
    at = datetime(2020, 1, 1, tzinfo=UTC)
    clock = FixedClock(world.clock, at)
    before = clock.monotonic()
    clock.sleep(2)
    assert clock.now() == at
    assert clock.monotonic() >= before + 2
    assert clock.new_id() != clock.new_id()


def test_a_time_without_a_zone_is_in_utc(world: RecallWorld) -> None:
    times: list[datetime | None] = []

    def sources(at: datetime | None) -> RecallSources:
        times.append(at)
        return world.sources

    asked = replace(parts(world), sources=sources)
    (question,) = parse_questions('[[question]]\nquestion = "a?"\nat = 2026-07-01T12:00:00\n')
    evaluate(asked, [question], rounds=0)
    assert times == [datetime(2026, 7, 1, 12, tzinfo=UTC)]


# --- questions ------------------------------------------------------------------------------


def test_questions_are_read_from_tables() -> None:
    page = '[[question]]\nquestion = "a?"\nexpected = ["A.md"]\n[[question]]\nquestion = "b?"\n'
    assert parse_questions(page) == (EvalQuestion("a?", ("A.md",)), EvalQuestion("b?"))


@pytest.mark.parametrize(
    "page",
    ["", "question = 1", "[[question]]\nanswer = 1", "=", "x = [[", "x = " + "{x = " * 5_000],
    ids=["empty", "number", "answer", "sign", "open", "deep"],
)
def test_a_page_without_questions_is_refused(page: str) -> None:
    with pytest.raises(UsageError, match="the questions cannot be read"):
        parse_questions(page)


# --- the gate -------------------------------------------------------------------------------


def figures(**values: Figure) -> Evaluation:
    return Evaluation(1, 0, "same", values)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (Figure(0.8, "higher"), Figure(0.8, "higher"), "same"),
        (Figure(0.8, "higher"), Figure(0.9, "higher"), "better"),
        (Figure(0.8, "higher"), Figure(0.72, "higher"), "worse"),
        (Figure(0.8, "higher"), Figure(0.71, "higher"), "REGRESSION"),
        (Figure(10.0, "lower"), Figure(11.0, "lower"), "worse"),
        (Figure(10.0, "lower"), Figure(11.1, "lower"), "REGRESSION"),
        (Figure(10.0, "lower"), Figure(9.0, "lower"), "better"),
        (Figure(10.0, "lower", 1.0), Figure(12.0, "lower", 1.0), "same"),
        (Figure(10.0, "lower", 1.0), Figure(13.0, "lower", 1.0), "worse"),
        (Figure(10.0, "lower", 1.0), Figure(13.1, "lower", 1.0), "REGRESSION"),
        (Figure(0.0, "lower"), Figure(0.1, "lower"), "REGRESSION"),
    ],
)
def test_a_figure_may_be_worse_by_a_tenth_and_noise(old: Figure, new: Figure, verdict: str) -> None:
    report = compare(figures(it=new), figures(it=old))
    assert (report.figures[0].verdict, report.passed) == (verdict, verdict != "REGRESSION")


def test_figures_that_only_one_side_has() -> None:
    now = figures(new=Figure(1.0, "higher"), shown=Figure(3.0))
    report = compare(now, figures(old=Figure(1.0, "higher")))
    assert [(each.name, each.verdict) for each in report.figures] == [
        ("new", "new"),
        ("shown", ""),
        ("old", "not measured"),
    ]
    assert (report.passed, report.not_measured) == (True, 1)


def test_a_baseline_of_other_questions_is_refused() -> None:
    other = structs.replace(figures(), digest="other")
    with pytest.raises(UsageError, match="other questions"):
        compare(figures(), other)


def test_a_baseline_holds_what_can_become_worse() -> None:
    text = write_baseline(figures(judged=Figure(1.0, "higher"), shown=Figure(2.0)))
    assert parse_baseline(text) == figures(judged=Figure(1.0, "higher"))


@pytest.mark.parametrize("text", ["", "{", "{}", "[]"])
def test_what_is_no_baseline_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="the baseline"):
        parse_baseline(text)


def test_without_a_baseline_figures_are_only_listed() -> None:
    (row,) = list_figures(figures(it=Figure(1.0, "higher")))
    assert (row.name, row.value, row.baseline, row.verdict) == ("it", 1.0, None, "")


ASKED = (
    EvalQuestion("runner beans", ("beans.md", "poles.md"), "q1"),
    EvalQuestion("leeks", ("soup.md",)),
    NOTHING,
)


def test_answers_of_another_tool_are_scored_by_the_same_formulas(world: RecallWorld) -> None:
    ours = evaluate(parts(world), [BEANS, NOTHING], rounds=0)
    told = {key: each for key, each in ours.figures.items() if "index-first" not in key}
    told = {key: each for key, each in told.items() if "/index/" in key and "ms" not in key}
    theirs = score_answers([BEANS, NOTHING], [ToolAnswer(BEANS.question, ("beans.md",))])
    for measure in ("relevance@5", "hit@5", "MRR"):
        assert theirs.figures[f"retrieval/tool/{measure}"] == told[f"retrieval/index/{measure}"]
    assert (theirs.questions, theirs.unanswerable, theirs.digest) == (2, 1, ours.digest)


def test_what_a_tool_leaves_out_counts_as_nothing_found() -> None:
    answers = [
        ToolAnswer("q1", ("soup.md", "beans.md"), ("beans.md", "soup.md"), 90, 40, 0.25),
        ToolAnswer("glacier", ("soup.md",), ()),
    ]
    found = score_answers(ASKED, answers)
    values = {key: each.value for key, each in found.figures.items()}
    assert values == {
        "retrieval/tool/relevance@5": 0.25,
        "retrieval/tool/hit@5": 0.5,
        "retrieval/tool/MRR": 0.25,
        "retrieval/tool/tokens": 90,
        "retrieval/tool/p50 ms": 250,
        "retrieval/tool/p95 ms": 250,
        "context/recall": 0.25,
        "context/precision": 0.5,
        "context/silence": 1,
        "context/tokens": 40,
    }
    assert found.missing == ("1 of the questions have no answer, as if nothing was found",)


def test_a_tool_that_packs_nothing_has_no_figures_of_packs() -> None:
    found = score_answers(ASKED, [ToolAnswer(each.question) for each in ASKED])
    assert found.missing == ()
    assert {key.split("/")[0] for key in found.figures} == {"retrieval"}


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([ToolAnswer("cabbage")], "'cabbage' is not one of the questions"),
        ([ToolAnswer("q1"), ToolAnswer("runner beans")], "'runner beans' is answered twice"),
    ],
)
def test_each_question_has_one_answer(answers: list[ToolAnswer], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        score_answers(ASKED, answers)


def test_a_note_that_is_named_twice_counts_once(world: RecallWorld) -> None:
    asked = [EvalQuestion("runner beans", ("beans.md", "beans.md"))]
    found = score_answers(asked, [ToolAnswer("runner beans", ("beans.md",), ("beans.md",) * 2)])
    ours = evaluate(parts(world), asked, rounds=0)
    for measure in ("recall", "precision"):
        assert found.figures[f"context/{measure}"].value == 1
    assert found.figures["retrieval/tool/relevance@5"].value == 1
    assert ours.figures["retrieval/index/relevance@5"].value == 1


def test_other_line_separators_are_a_part_of_an_answer() -> None:
    for separator in ("\u2028", "\u2029", "\x85"):
        question = f"runner{separator}beans"
        page = f'{{"question": "{question}"}}\r\n\r\n{{"question": "leeks"}}'
        assert parse_answers(page) == (ToolAnswer(question), ToolAnswer("leeks"))


def test_answers_are_read_line_by_line() -> None:
    page = '{"question": "q1", "found": ["beans.md"]}\n\n{"question": "leeks"}\n'
    assert parse_answers(page) == (ToolAnswer("q1", ("beans.md",)), ToolAnswer("leeks"))
    for line in ("[]", "{", '{"found": []}', '{"question": "q1", "hits": []}'):
        with pytest.raises(UsageError, match="line 2 of the answers"):
            parse_answers(f'{{"question": "leeks"}}\n{line}\n')
