"""What indexes and vectors cost, and when new facts can be found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.bench import corpus
from tests.bench.measure import Pair, in_turns, timed
from tests.bench.table import Row, row_of
from tests.bench.worlds import World, new_folder, notes_in, settle_disk, with_facts
from vaultsync.backends.embedders.choose_embedder import embedder_for
from vaultsync.backends.embedders.onnx import OnnxEmbedder
from vaultsync.backends.embedders.sentence import SentenceEmbedder, packaged_model
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.indexing.chunking import chunk_fact
from vaultsync.indexing.ports import Embedder

INDEX, FOUND, MEANING, BULK = "index", "found", "meaning", "bulk"
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
AFTER = 3.0
"""Seconds after a pass in which new facts can be found by their words."""


def changed_notes(folder: Path, n: int, *, times: int, target: float) -> Row:
    """A pass over notes that were all changed, with indexes and without."""
    world = with_facts(new_folder(folder), n)
    with world.open(derived=True) as memory:
        memory.sync()
    pair = Pair([], [])
    for _ in range(times):
        for derived, found in ((False, pair.floor), (True, pair.ours)):
            _change_all(world)
            with world.open(derived=derived) as memory:
                found.append(timed(memory.sync))
                memory.index()
    return row_of("pass over changed notes, indexed", n, "the same pass alone", pair, target=target)


def _change_all(world: World) -> None:
    for path in notes_in(world.vault):
        with path.open("a", encoding="utf-8") as note:
            note.write(f"\nChanged at {time.time_ns()}.\n")
    settle_disk()


def searchable(folder: Path, n: int) -> Row:
    """New facts, until they are found by their words."""
    world = with_facts(new_folder(folder), n)
    with world.open() as memory:
        # The first question brings the note index up to date before it is answered.
        took = timed(lambda: memory.recall("decision", mode="index"))
        if not memory.recall("decision", mode="index") or memory.index().notes != n:
            raise SystemExit("bench: not all was found")
    words = "new facts found by words"
    return Row(words, n, took.seconds, "the limit", AFTER, 1.0, took.cpu)


def embedded(folder: Path, n: int, *, target: float) -> Row:
    """New facts, until they are found by their meaning; beside the bare runtime."""
    pair = _embedded(folder, n, lambda embedder, texts: partial(embedder.embed, texts))
    return row_of("new facts embedded", n, "the runtime alone", pair, target=target)


def embedded_beside_bare(folder: Path, n: int, *, target: float) -> Row:
    """The same beside onnxruntime alone: tokens in, vectors out, the shortest texts first."""
    pair = _embedded(folder, n, lambda embedder, texts: _bare_runtime(embedder._folder, texts))
    beside = "onnxruntime alone, on all cores"
    return row_of("new facts embedded, with tokens", n, beside, pair, target=target)


def _embedded(
    folder: Path, n: int, floor: Callable[[OnnxEmbedder, list[str]], Callable[[], object]]
) -> Pair:
    """New facts are embedded, beside what `floor` makes of the model and their texts."""
    world = with_facts(new_folder(folder), n)
    with world.open() as memory:
        memory.index()
        facts = list(memory._ctx.store.iter_facts())
    texts = [chunk.text for fact in facts for chunk in chunk_fact(fact)]
    with world.open(embedder="local") as memory:
        embedder = memory._services.embedder
        if not isinstance(embedder, OnnxEmbedder):
            raise SystemExit("bench: there is no local model")
        embedder.embed(["tea"])
        return Pair([timed(floor(embedder, texts))], [timed(memory.index)])


def _bare_runtime(folder: Path, texts: list[str]) -> Callable[[], object]:
    """What runs all texts, tokenised beforehand, with as many threads as there are cores."""
    import numpy as np
    import onnxruntime  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(json.loads((folder / "manifest.json").read_bytes())["max_length"])
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    tokens = sorted((np.array([each.ids]) for each in tokenizer.encode_batch(texts)), key=np.size)
    given = [{"input_ids": each, "attention_mask": np.ones_like(each)} for each in tokens]

    def run() -> None:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(lambda each: session.run(None, each), given))

    return run


def embedded_notes(folder: Path, *, times: int, each: int, target: float) -> Row:
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
