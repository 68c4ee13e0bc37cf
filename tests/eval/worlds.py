"""A vault of its own for each collection, opened as the product opens it."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

import vaultsync
from tests.eval.collections import HERE, Asked, Collection, retrieval
from tests.fakes import FakeClock
from vaultsync.api.memory import Memory
from vaultsync.recall.result import RecallSources
from vaultsync.storage.store import StoreWrite

VAULT = HERE / "sample-vault"
MODELS = HERE / "build" / "models"
"""Where the export of the model is kept from run to run."""
WRITTEN = datetime(2026, 6, 1, tzinfo=UTC).timestamp()
"""When notes that do not say it themselves were written."""


@dataclass(frozen=True, slots=True)
class OpenVault:
    """A vault that can be asked."""

    ids: Mapping[str, str]
    """Of its facts, by the paths of their notes."""
    sources: Callable[[datetime], RecallSources]
    """What is asked at a time."""


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
def plain_notes(folder: Path, one: Collection) -> Iterator[tuple[RecallSources, Sequence[Asked]]]:
    """A conversation as the notes of a user, and its questions.

    Each turn is a note of its own, numbered, in a folder for each session. Nothing else tells
    of the session, who spoke or when.
    """
    root, state = folder / "vault", str(folder / "state")
    paths, count = dict[str, str](), Counter[str | None]()
    for fact in one.facts:
        count[fact.session_id] += 1
        note = root / (fact.session_id or "") / f"{count[fact.session_id]:03}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(fact.content, encoding="utf-8")
        paths[fact.id] = str(note.relative_to(root))
    vaultsync.init(str(root), state_dir=state)
    with vaultsync.open(str(root), state_dir=state) as memory:
        memory.adopt()
        memory.index()
        ids = {str(path): key for path, key in memory._ctx.archive.paths().items()}
        questions = [
            replace(each, grades={ids[paths[key]]: grade for key, grade in each.grades.items()})
            for each in one.questions
        ]
        yield _asked_at(memory, FakeClock(one.asked_at)), questions


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


@contextmanager
def open_vault(folder: Path, notes: Path) -> Iterator[OpenVault]:
    """A copy of the notes of a user; those that are no facts yet become facts."""
    root, state = folder / "vault", str(folder / "state")
    shutil.copytree(notes, root, copy_function=shutil.copyfile)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (WRITTEN, WRITTEN))
    known = (root / ".meta").is_dir()
    if not known:
        vaultsync.init(str(root), state_dir=state)
    with vaultsync.open(str(root), state_dir=state) as memory:
        if known:
            memory.rebuild(source="vault")
        else:
            memory.adopt()
        memory.index()
        ids = {str(path): key for path, key in memory._ctx.archive.paths().items()}
        yield OpenVault(ids, lambda now: _asked_at(memory, FakeClock(now)))


def _asked_at(memory: Memory, clock: FakeClock) -> RecallSources:
    """What a command asks, which ends with its answer; a process that stays asks as `fused`."""
    sources = memory._services.recall_sources(structs.replace(memory._ctx, clock=clock))
    return structs.replace(sources, warm=False)
