"""A vault of its own for each collection, opened as the product opens it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import vaultsync
from tests.eval.collections import HERE, Asked, Collection, retrieval
from tests.fakes import FakeClock
from vaultsync.api.memory import Memory
from vaultsync.recall.result import RecallSources
from vaultsync.storage.store import StoreWrite

VAULT = HERE / "sample-vault"
MODELS = HERE / "build" / "models"
"""Where the export of the model is kept from run to run."""


@contextmanager
def conversation(folder: Path, one: Collection) -> Iterator[RecallSources]:
    """The facts of a conversation, derived as the settings say."""
    vault, state = str(folder / "vault"), str(folder / "state")
    vaultsync.init(vault, state_dir=state)
    with vaultsync.open(vault, state_dir=state) as memory:
        writes = [StoreWrite(fact.id, fact, None, "eval") for fact in one.facts]
        memory._ctx.store.write(writes)
        memory.index()
        yield _asked_at(memory, FakeClock(one.asked_at))


@contextmanager
def sample_vault(folder: Path) -> Iterator[tuple[RecallSources, Sequence[Asked]]]:
    """A copy of the sample vault, and the questions over it."""
    shutil.copytree(VAULT, folder / "vault")
    vault, state = str(folder / "vault"), str(folder / "state")
    with vaultsync.open(vault, state_dir=state) as memory:
        memory.rebuild(source="vault")
        memory.index()
        paths = memory._ctx.archive.paths()
        questions, at = retrieval({str(path): key for path, key in paths.items()})
        yield _asked_at(memory, FakeClock(at)), questions


def _asked_at(memory: Memory, clock: FakeClock) -> RecallSources:
    return memory._services.recall_sources(replace(memory._ctx, clock=clock))
