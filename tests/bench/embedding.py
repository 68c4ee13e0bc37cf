"""Embedding notes, and the first vector of a process, beside sentence-transformers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench import corpus
from tests.bench.measure import Pair, in_turns, timed
from tests.bench.table import Row, row_of
from vaultsync.backends.embedders.choose_embedder import embedder_for
from vaultsync.backends.embedders.sentence import SentenceEmbedder, packaged_model
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.indexing.ports import Embedder

_NOTE = 500
"""Characters: a hundred tokens."""
_BATCHES = (8, 16, 32, 64, 128)
_TRIED = 64
_FIRST = (
    "from pathlib import Path\n"
    "from vaultsync.backends.system.system_clock import SystemClock\n"
    "from vaultsync.backends.embedders.choose_embedder import embedder_for\n"
    "embedder_for({setting!r}, models=Path({models!r}), clock=SystemClock())"
    ".embed(['Why did we choose LanceDB?'])"
)


def notes(folder: Path, *, times: int, each: int, target: float) -> Row:
    """Notes are embedded, in turns with the best batch of sentence-transformers."""
    ours = _local(folder)
    reference = SentenceEmbedder(packaged_model()).loaded()
    texts = [corpus.prose(number)[:_NOTE] for number in range(times * each)]

    def encode(batch: int, some: list[str]) -> None:
        reference.encode(some, batch_size=batch, show_progress_bar=False)

    encode(32, texts[:_TRIED])
    best = min(_BATCHES, key=lambda batch: timed(lambda: encode(batch, texts[:_TRIED])).seconds)
    pair = Pair([], [])
    for at in range(0, len(texts), each):
        some = texts[at : at + each]
        pair.floor.append(timed(partial(encode, best, some)))
        pair.ours.append(timed(partial(ours.embed, some)))
    beside = f"sentence-transformers, batches of {best}"
    return row_of("embedding notes of 100 tokens", each, beside, pair, target=target)


def first_vector(folder: Path, *, times: int, target: float) -> Row:
    """A new process makes one vector."""
    _local(folder)

    def process(setting: str) -> Callable[[], object]:
        code = _FIRST.format(setting=setting, models=str(folder / "models"))
        command = [sys.executable, "-c", code]
        return lambda: subprocess.run(command, check=True, capture_output=True)

    pair = in_turns(process("sentence"), process("local"), times=times)
    beside = "the same by sentence-transformers"
    return row_of("a first vector, from cold", 1, beside, pair, target=target)


def _local(folder: Path) -> Embedder:
    """The export, made and loaded."""
    models = folder / "models"
    embedder = embedder_for("local", models=models, clock=SystemClock())
    if embedder is None:
        raise SystemExit("bench: there is no local model")
    embedder.embed(["tea"])
    return embedder
