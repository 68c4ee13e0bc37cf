"""Compare an evaluation with a baseline, and find regressions beyond noise."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, ValidationError, json

from vaultsync.errors import UsageError
from vaultsync.operations.evaluate import HIGHER, Evaluation, Figure

MAX_REGRESSION = 0.10
"""The share of its baseline by which a figure may be worse."""
SAME, BETTER, WORSE, REGRESSION = "same", "better", "worse", "REGRESSION"
NEW, NOT_MEASURED, SHOWN = "new", "not measured", ""


class ComparedFigure(Struct, frozen=True):
    """A figure beside its baseline."""

    name: str
    value: float | None
    """None where it was not measured."""
    baseline: float | None
    """None where the baseline does not have it."""
    verdict: str
    """`same`, `better`, `worse` (within what is allowed), `REGRESSION`, `new`, `not measured`,
    or empty for a figure that only informs."""


class GateReport(Struct, frozen=True):
    """Whether an evaluation is as good as its baseline."""

    passed: bool
    regressions: int
    not_measured: int
    """Figures of the baseline that the evaluation does not have."""
    figures: tuple[ComparedFigure, ...]
    evaluation: Evaluation


def parse_baseline(text: str) -> Evaluation:
    """The evaluation that a baseline holds.

    Raises:
        UsageError: it holds none.
    """
    try:
        return json.decode(text, type=Evaluation)
    except ValidationError as error:
        raise UsageError(f"the baseline cannot be read: {error}", hint=_UPDATE) from None
    except ValueError as error:
        raise UsageError(f"the baseline is not JSON: {error}", hint=_UPDATE) from None


def write_baseline(evaluation: Evaluation) -> str:
    """The text of a baseline: the figures that can become worse."""
    judged = {name: each for name, each in evaluation.figures.items() if each.better}
    saved = Evaluation(evaluation.questions, evaluation.unanswerable, evaluation.digest, judged, ())
    return json.format(json.encode(saved), indent=2).decode() + "\n"


def compare(now: Evaluation, baseline: Evaluation) -> GateReport:
    """Compare figure by figure.

    Raises:
        UsageError: the baseline is for other questions.
    """
    if now.digest != baseline.digest:
        raise UsageError("the baseline is for other questions", hint=_UPDATE)
    rows = tuple(_compared(now, baseline))
    regressions = sum(each.verdict == REGRESSION for each in rows)
    missing = sum(each.verdict == NOT_MEASURED for each in rows)
    return GateReport(not regressions, regressions, missing, rows, now)


def list_figures(evaluation: Evaluation) -> tuple[ComparedFigure, ...]:
    """The figures of an evaluation, without a baseline."""
    return tuple(
        ComparedFigure(name, each.value, None, SHOWN) for name, each in evaluation.figures.items()
    )


_UPDATE = "create it again with --update, and review the changes"


def _compared(now: Evaluation, baseline: Evaluation) -> Iterator[ComparedFigure]:
    for name in dict.fromkeys([*now.figures, *baseline.figures]):
        new, old = now.figures.get(name), baseline.figures.get(name)
        value, before = (None if each is None else each.value for each in (new, old))
        yield ComparedFigure(name, value, before, _verdict(new, old))


def _verdict(new: Figure | None, old: Figure | None) -> str:
    if new is None:
        return NOT_MEASURED
    if old is None:
        return NEW if new.better else SHOWN
    sign = 1 if new.better == HIGHER else -1
    gain = sign * (new.value - old.value)
    noise = new.noise + old.noise
    if gain < -(abs(old.value) * MAX_REGRESSION + noise) - 1e-9:
        return REGRESSION
    if abs(gain) <= noise:
        return SAME
    return BETTER if gain > 0 else WORSE
