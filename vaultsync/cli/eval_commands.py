"""`eval`: measure recall on the user's own questions, and compare it with a baseline."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_NEEDS_REVIEW
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import agent_option, common, flag, number_option, text_option
from vaultsync.cli.output import Options, clean_one_line
from vaultsync.cli.tables import table
from vaultsync.cli.transfer_commands import open_output
from vaultsync.cli.user_input import read_text
from vaultsync.errors import UsageError
from vaultsync.model.counts import count_noun
from vaultsync.operations.evaluate import Evaluation, parse_answers, parse_questions, score_answers
from vaultsync.operations.regressions import (
    ComparedFigure,
    GateReport,
    compare,
    list_figures,
    parse_baseline,
    write_baseline,
)

_questions = click.argument("questions", type=click.Path(exists=True, dir_okay=False))
_budget = number_option(
    "--budget",
    "Maximum size of each context pack in tokens; 0 for no limit.",
    metavar="TOKENS",
    default=4000,
)


@click.group("eval")
def eval_() -> None:
    """Measure recall on your own questions, and guard it."""


@eval_.command()
@_questions
@_budget
@agent_option
@common
def run(options: Options, *, questions: str, budget: int) -> None:
    """Ask the questions in a TOML file, and print the results.

    The file has a [[question]] table for each question, with `question` and `expected`, a list
    of the paths of all notes that answer it. Usage counts do not change.
    """
    _print(options, _evaluate(options, questions, budget))


@eval_.command()
@_questions
@text_option(
    "--baseline",
    "FILE",
    "JSON file of the figures to compare with.",
    required=True,
    type=click.Path(dir_okay=False),
)
@flag("--update", "Update the baseline, and print what changed.")
@_budget
@agent_option
@common
def gate(options: Options, *, questions: str, baseline: str, update: bool, budget: int) -> int:
    """Fail when recall is more than 10 % worse than a baseline.

    Normal variation between measurements is allowed on top. The exit code is 1 if a figure is
    worse, and 3 if a figure of the baseline was not measured.
    """
    previous = _read_baseline(baseline, required=not update)
    evaluation = _evaluate(options, questions, budget)
    if update:
        with open_output(baseline) as write:
            write(write_baseline(evaluation))
    if previous is None or (update and previous.digest != evaluation.digest):
        previous = evaluation  # there are no figures to compare with
    report = compare(evaluation, previous)
    _print_gate(options, report)
    if update:
        options.print_message(f"wrote {clean_one_line(baseline)}")
        return EXIT_DONE
    if not report.passed:
        return EXIT_FAILED
    return EXIT_NEEDS_REVIEW if report.not_measured else EXIT_DONE


@eval_.command()
@_questions
@click.argument("answers", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@common
def score(options: Options, *, questions: str, answers: str) -> None:
    """Score the answers of another tool with the same formulas.

    ANSWERS has one JSON object per line, with `question` (its text or id) and `found`: the
    results of the tool, best first, named as in `expected`. Optional keys are `packed`,
    `found_tokens`, `packed_tokens` and `seconds`. No vault is needed.
    """
    _print(
        options,
        score_answers(parse_questions(read_text(questions)), parse_answers(read_text(answers))),
    )


def _print(options: Options, evaluation: Evaluation) -> None:
    if not options.printed_as_json(evaluation):
        _print_figures(list_figures(evaluation))
        _explain(options, evaluation)


def _print_gate(options: Options, report: GateReport) -> None:
    if options.printed_as_json(report):
        return
    _print_figures(report.figures)
    _explain(options, report.evaluation)
    if report.passed:
        options.print_message("no figure is more than 10 % worse than its baseline")
        return
    names = ", ".join(each.name for each in report.figures if each.verdict == "REGRESSION")
    options.print_message(f"worse than the baseline by more than 10 %: {names}")


def _print_figures(figures: Iterable[ComparedFigure]) -> None:
    rows = [
        (each.name, _number(each.value), _number(each.baseline), each.verdict) for each in figures
    ]
    table(["figure", "value", "baseline", "verdict"], rows, whole=("figure", "value"))


def _explain(options: Options, evaluation: Evaluation) -> None:
    options.print_message(
        f"{count_noun(evaluation.questions, 'question')}, {evaluation.unanswerable} of them"
        " without an answer"
    )
    for sentence in evaluation.missing:
        options.print_message(clean_one_line(sentence))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _evaluate(options: Options, questions: str, budget: int) -> Evaluation:
    parsed = parse_questions(read_text(questions))
    with open_memory(options) as memory:
        return memory.evaluate(parsed, budget=budget)


def _read_baseline(path: str, *, required: bool) -> Evaluation | None:
    if Path(path).exists():
        return parse_baseline(read_text(path))
    if required:
        raise UsageError(f"there is no baseline {path}", hint="write it with --update")
    return None
