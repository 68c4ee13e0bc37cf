"""The rows that were measured, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from tests.bench.measure import Pair, exponent, middle, middle_cpu


@dataclass(frozen=True, slots=True)
class Row:
    """One operation and what stands beside it."""

    operation: str
    n: int
    ours: float
    """Seconds."""
    beside: str
    floor: float
    """Seconds."""
    target: float | None
    """The ratio to reach; None when it is only told."""
    cpu: float | None = None
    limit: float | None = None
    """The seconds to reach, where a person waits for them and no ratio tells that."""

    @property
    def ratio(self) -> float:
        return self.ours / self.floor

    @property
    def missed(self) -> bool:
        late = self.limit is not None and self.ours > self.limit
        return late or (self.target is not None and self.ratio > self.target)

    def _target(self) -> str:
        if self.limit is not None:
            return f"≤ {_time(self.limit)}"
        return f"≤ {_ratio(self.target)}" if self.target is not None else ""

    def cells(self) -> tuple[str, ...]:
        return (
            self.operation,
            f"{self.n:,}",
            _time(self.ours),
            _time(self.cpu) if self.cpu is not None else "",
            self.beside,
            _time(self.floor),
            _ratio(self.ratio),
            self._target(),
            _verdict(self.limit or self.target, missed=self.missed),
        )


def row_of(operation: str, n: int, beside: str, pair: Pair, *, target: float | None) -> Row:
    ours, floor = middle(pair.ours), middle(pair.floor)
    return Row(operation, n, ours, beside, floor, target, middle_cpu(pair.ours))


@dataclass(frozen=True, slots=True)
class Worth:
    """What something comes to that is no time."""

    operation: str
    n: int
    ours: float
    beside: str
    least: float | None = None
    """What it has to reach; None when it is only told."""
    most: float | None = None
    """What it must not exceed; None when it is only told."""

    @property
    def missed(self) -> bool:
        short = self.least is not None and self.ours < self.least
        return short or (self.most is not None and self.ours > self.most)

    def _target(self) -> str:
        if self.most is not None:
            return f"≤ {self.most}"
        return "" if self.least is None else f"≥ {self.least}"

    def cells(self) -> tuple[str, ...]:
        return (
            self.operation,
            f"{self.n:,}",
            f"{self.ours:,.3f}".removesuffix(".000"),
            self.beside,
            self._target(),
            _verdict(self.most or self.least, missed=self.missed),
        )


@dataclass(frozen=True, slots=True)
class Growth:
    """How the time of one operation grows with the number of notes."""

    operation: str
    seconds: Mapping[int, float]
    target: float

    @property
    def exponent(self) -> float:
        return exponent(self.seconds)

    @property
    def missed(self) -> bool:
        return self.exponent > self.target

    def cells(self) -> tuple[str, ...]:
        return (
            self.operation,
            *(_time(seconds) for seconds in self.seconds.values()),
            f"n^{self.exponent:.2f}",
            f"≤ n^{self.target}",
            _verdict(self.target, missed=self.missed),
        )


def show(rows: Sequence[Row], growths: Sequence[Growth], worths: Sequence[Worth] = ()) -> str:
    parts = []
    if rows:
        head = ("operation", "n", "ours", "cpu", "beside it", "floor", "ratio")
        parts.append(_grid((*head, "target", ""), [row.cells() for row in rows]))
    if worths:
        worth = ("what comes of it", "n", "ours", "beside it", "target", "")
        parts.append(_grid(worth, [each.cells() for each in worths]))
    if growths:
        sizes = [f"{n:,}" for n in growths[0].seconds]
        columns = ("growth", *sizes, "power", "target", "")
        parts.append(_grid(columns, [growth.cells() for growth in growths]))
    return "\n\n".join(parts)


def as_json(
    rows: Sequence[Row], growths: Sequence[Growth], worths: Sequence[Worth] = ()
) -> dict[str, object]:
    return {
        "rows": [{**asdict(r), "ratio": r.ratio, "missed": r.missed} for r in rows],
        "growth": [{**asdict(g), "exponent": g.exponent, "missed": g.missed} for g in growths],
        "worth": [{**asdict(w), "missed": w.missed} for w in worths],
    }


def _verdict(target: float | None, *, missed: bool) -> str:
    if target is None:
        return ""
    return "MISSED" if missed else "ok"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 1 else f"1/{1 / ratio:.3g}"


def _grid(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, tuple("─" * width for width in widths), *rows]
    words = {0, head.index("beside it") if "beside it" in head else 0}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at in words else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
