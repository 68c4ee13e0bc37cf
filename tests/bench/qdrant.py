"""Chunks in Qdrant's engine and in LanceDB, beside numpy and what the seeds expect."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from tests.bench.table import Row, Worth
from tests.bench.vectors import DIMENSION, EDGE, FILTERS, FLAT, PRODUCT, Measured, measured
from vaultsync.backends.qdrant.collection import HNSW_EF

RECALL = 0.99
"""Of the nearest ten by int8 vectors, those of an exact search."""
_SEED_DIMENSION, _SEED_BYTES = 1_536, 2_164
"""What seed 001 projects for a point: its int8 vector, payload and graph."""
_SEED_SUM = 5 * DIMENSION + 500 + 128
"""The same for our vectors, with the whole ones, which are on the disk too."""


def measure(folder: Path, n: int, *, targets: bool) -> tuple[list[Row], list[Worth]]:
    """The rows of one size; targets where it is the size that they are for."""
    told = measured(folder, n)
    return _times(told, targets=targets), [*_found(told), _bytes(told)]


def _times(told: Measured, *, targets: bool) -> list[Row]:
    limits = {(EDGE, ""): 1.5, (EDGE, "filtered"): 8.0} if targets else {}
    beside, spent = "vectors in a file + fsync", told.written
    writes = [
        Row(f"chunks into {name}", told.n, spent[name], beside, spent[PRODUCT], None)
        for name in (FLAT, EDGE)
    ]
    floor = median(told.seconds[PRODUCT, ""])
    searches = [
        Row(_said("search", *arm), told.n, told.ratio(arm) * floor, PRODUCT, floor, limits.get(arm))
        for arm in ((FLAT, ""), (FLAT, "filtered"), (EDGE, ""), (EDGE, "filtered"))
    ]
    return [*writes, *searches]


def _found(told: Measured) -> list[Worth]:
    words, beside = "nearest ten", f"exact search; ef {HNSW_EF}, ACORN"
    return [
        Worth(_said(words, EDGE, each), told.n, told.found[EDGE, each], beside, least=RECALL)
        for each in FILTERS
    ]


def _bytes(told: Measured) -> Worth:
    """The seed projects what is in memory; whole vectors and payload indexes add to it."""
    return Worth(
        "bytes a chunk on the disk",
        told.n,
        round(told.bytes[EDGE]),
        f"seed: {_SEED_BYTES:,} of {_SEED_DIMENSION:,}, {_SEED_SUM:,} of {DIMENSION}",
    )


def _said(what: str, name: str, narrowed: str) -> str:
    return f"{what}, {name}{f', {narrowed}' if narrowed else ''}"
