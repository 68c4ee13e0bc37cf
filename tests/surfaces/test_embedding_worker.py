"""Texts are embedded by a process of its own, and nobody waits for it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.forked import run_program, start_program
from tests.proofs.turns import THOROUGH
from vaultsync.api.configuration import load_settings
from vaultsync.api.embedding import KEEP, REPLACE, EmbeddingWorker
from vaultsync.api.memory import Memory
from vaultsync.api.opening import init
from vaultsync.api.opening import open as open_memory
from vaultsync.api.wiring import Services
from vaultsync.indexing.chunking import chunk_fact
from vaultsync.service.embedding_process import embed_all
from vaultsync.sync.report import EmbeddingState, EmbedReport

pytestmark = pytest.mark.long(5)

NOTES = Path(__file__).parents[3] / "shared" / "data" / "obsidian-help"
"""Real notes; where they are not beside the project, notes of the same sizes are made."""
ADOPTED = 1_575 if THOROUGH else 150
MANY = 300 if THOROUGH else 200
"""Notes that take a worker so long that it can be met at work."""
KILLS = 10 if THOROUGH else 3
PATIENCE = 120.0
SIZES = (200, 700, 1_500, 2_500, 4_000, 6_000, 9_000, 15_000)
"""Characters of real notes, an eighth of them each."""


@pytest.fixture(autouse=True)
def _in_background(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "on")
    monkeypatch.setenv("VAULTSYNC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    # Other tests leave nothing to a process that goes last.
    monkeypatch.setenv("VAULTSYNC_EMBED_NICE", "0")


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Path]:
    """An empty vault; whatever embeds it is stopped at the end."""
    root = tmp_path / "vault"
    init(str(root))
    yield root
    with _opened(root) as memory:
        memory.stop_embedding()


def _opened(root: Path) -> Memory:
    return open_memory(str(root))


def _prose(size: int, seed: int) -> str:
    words = random.Random(seed)
    text = ""
    while len(text) < size:
        text += " ".join(f"word{words.randrange(5_000)}" for _ in range(30)) + ".\n\n"
    return text[:size]


def _fill(root: Path, count: int) -> None:
    """Give a vault so many notes: real ones under other names, or ones of their sizes."""
    real = sorted(NOTES.rglob("*.md")) if NOTES.is_dir() else []
    texts = [each.read_text(encoding="utf-8") for each in real]
    texts = texts or [_prose(SIZES[each % len(SIZES)], each) for each in range(200)]
    for each in range(count):
        path = root / f"part {each // len(texts)}" / f"Note {each}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{texts[each % len(texts)]}\n\nNote {each}.\n", encoding="utf-8")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    done = run_program([sys.executable, "-m", "vaultsync", *words])
    assert done.returncode == 0, done.stderr
    return done


def _worker(root: Path) -> int | None:
    state = _state(root)
    return state.pid if state else None


def _state(root: Path) -> EmbeddingState | None:
    """As `status` has it, without the dry run of a sync that it makes."""
    with _opened(root) as memory:
        return memory._engine.embedding.state()


def _until(what: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)  # what is asked opens a vault


def _is_complete(root: Path) -> bool:
    state = _state(root)
    return state is not None and state.complete


def _check_vectors(root: Path) -> None:
    """Each text of each fact has its vector, and there is no other."""
    with _opened(root) as memory, closing(Services(memory.settings)) as services:
        facts = list(services.store.iter_facts())
        assert services.vector_index is not None
        held = services.vector_index.chunks()
    assert facts
    assert held == {each.id: frozenset(chunk.id for chunk in chunk_fact(each)) for each in facts}


def test_what_came_later_is_not_embedded(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")
    _run("index", "--vault", str(vault))
    assert _is_complete(vault)
    with _opened(vault) as memory:
        memory.remember("The pier opens at ten.")
    state = _state(vault)
    assert state is not None
    assert (state.facts, state.share, state.complete) == (0, 0.0, False)


def test_adopt_does_not_wait_for_the_model(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(vault, ADOPTED)
    # A folder without an export: the worker first makes one, for which nobody waits either.
    models = vault.with_name("models")
    monkeypatch.setenv("VAULTSYNC_MODELS", str(models))
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "local")
    _run("adopt", "--vault", str(vault), "--quiet")
    assert not [*models.rglob("model.onnx")]
    found = _run("recall", "note", "--vault", str(vault), "--limit", "3")
    assert len(found.stdout.splitlines()) == 3
    assert not _is_complete(vault)


def test_what_a_run_leaves_is_embedded_by_a_process_of_its_own(vault: Path) -> None:
    _fill(vault, 20)
    _run("adopt", "--vault", str(vault))
    _until(lambda: _is_complete(vault))
    _check_vectors(vault)
    assert _worker(vault) is None


def test_a_worker_killed_ten_times_ends_with_all_vectors(vault: Path) -> None:
    _fill(vault, MANY)
    _run("adopt", "--vault", str(vault))
    moments = random.Random(16)
    killed = 0
    for _ in range(KILLS):
        _until(lambda: _worker(vault) or _is_complete(vault))
        time.sleep(moments.uniform(0.0, 0.6))
        pid = _worker(vault)
        if pid is not None:
            os.kill(pid, 9)
            killed += 1
        _until(lambda: _worker(vault) is None)
        with _opened(vault) as memory:
            memory.sync()
    _until(lambda: _is_complete(vault))
    _check_vectors(vault)
    assert killed


def test_two_commands_at_once_start_one_worker(vault: Path) -> None:
    _fill(vault, MANY)
    with _opened(vault) as memory:
        memory.adopt()
        memory.stop_embedding()
    command = [sys.executable, "-m", "vaultsync", "index", "--vault", str(vault)]
    both = [start_program(command, stderr=subprocess.DEVNULL) for _ in "ab"]
    assert 0 in [each.wait() for each in both]
    _until(lambda: _worker(vault))
    time.sleep(1.0)
    running = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True)
    mine = [each for each in running.stdout.splitlines() if str(vault) in each]
    assert len([each for each in mine if "embedding_process" in each]) <= 1


def test_a_worker_stops_within_a_second_and_is_started_again(vault: Path) -> None:
    _fill(vault, MANY)
    took: list[float] = []
    with _opened(vault) as memory:
        memory.adopt()
        while min(took, default=2.0) > 1.0 and len(took) < 10:  # the machine may be busy
            _until(lambda: _worker(vault))
            began = time.monotonic()
            assert memory.stop_embedding() is not None
            took.append(time.monotonic() - began)
            assert _worker(vault) is None
            memory.sync()
        assert min(took) <= 1.0
    _until(lambda: _worker(vault) or _is_complete(vault))


def test_who_asked_for_the_vectors_is_not_told_to_ask_again(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(vault, 20)
    place = ("--vault", str(vault))
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")
    _run("adopt", *place)
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "on")
    said = _run("index", *place).stderr
    assert "facts indexed" in said
    assert "`vaultsync index` embeds the rest" not in said


def test_who_waits_for_the_index_waits_for_the_worker(vault: Path) -> None:
    _fill(vault, 40)
    _run("adopt", "--vault", str(vault))
    seen: list[str] = []
    with _opened(vault) as memory:
        done = memory.index(progress=lambda stage, *_: seen.append(stage))
    assert done.embedding is not None
    assert done.embedding.complete
    assert done.chunks == done.notes
    _check_vectors(vault)


def test_who_waits_does_not_wait_for_what_is_written_later(vault: Path) -> None:
    written = 0
    with _opened(vault) as memory, _opened(vault) as other:
        memory.remember("Written before.")

        def write(stage: str, *_: int) -> None:
            nonlocal written
            if stage == "embed" and written < 30:
                written += 1
                other.remember(f"Written later, as number {written}.")

        done = memory.index(progress=write)
    assert done.embedded >= 1
    assert written < 30
    _until(lambda: _is_complete(vault))


def test_who_waits_needs_no_worker_time(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultsync.api.embedding.STALL_SECONDS", 1.0)
    _fill(vault, 40)
    with _opened(vault) as memory:
        memory.adopt()
        _until(lambda: _worker(vault))
        pid = _worker(vault)
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)  # as on a machine that is so busy that it never runs
        done = memory.index()
    assert not done.degraded
    assert done.embedding is not None
    assert done.embedding.complete
    _until(lambda: not _runs(pid))
    _check_vectors(vault)


def test_a_worker_outlasts_who_waited_for_it(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")

    def give_up(stage: str, *_: object) -> None:
        if stage == "embed":
            raise KeyboardInterrupt

    _fill(vault, 10)
    with _opened(vault) as memory, closing(Services(memory.settings)) as services:
        memory.adopt()
        worker = EmbeddingWorker(services)
        worker.idle = PATIENCE  # it is there until it is stopped, however fast it embeds
        worker.start(requested=True)
        _until(lambda: _worker(vault))
        pid = _worker(vault)
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        _fill(vault, 40)
        memory.adopt()
        with pytest.raises(KeyboardInterrupt):
            memory.index(progress=give_up)
    _until(lambda: not _runs(pid))
    _until(lambda: _is_complete(vault))
    _check_vectors(vault)


def test_who_asks_for_the_vectors_of_another_model_ends_the_worker_of_the_former_one(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")
    _fill(vault, 3)
    with _opened(vault) as memory, closing(Services(memory.settings)) as services:
        memory.adopt()
        worker = EmbeddingWorker(services)
        worker.idle = PATIENCE
        worker.start(requested=True)
        _until(lambda: _worker(vault))
        pid = _worker(vault)
        assert pid is not None
        assert worker.start(requested=True)
        assert _worker(vault) == pid
        monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "on")
        monkeypatch.setenv("VAULTSYNC_EMBEDDER", "local")
        _run("index", "--vault", str(vault))
        assert not _runs(pid)
    _until(lambda: _is_complete(vault))


def test_without_a_setting_only_index_embeds(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")
    _fill(vault, 5)
    with _opened(vault) as memory:
        memory.adopt()
        state = memory.status().embedding
        assert state is not None
        assert (state.pid, state.complete, state.facts) == (None, False, 0)
    _run("index", "--vault", str(vault))
    assert _is_complete(vault)


def test_a_question_says_how_much_is_embedded(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")
    _fill(vault, 3)
    with _opened(vault) as memory:
        memory.adopt()
        memory.index()
        memory.remember("One more that has no vector yet.")
        found = memory.recall("word", mode="fused")
        assert any("knows 75 % of the facts" in each for each in found.degraded)
        memory.index()
        assert not memory.recall("word", mode="fused").degraded


def test_observations_are_not_left_to_embed(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")
    _fill(vault, 3)
    with _opened(vault) as memory:
        memory.adopt()
        memory.observe("Thanks, that is all for today.")
        memory.process_observations()
        memory.index()
        assert not memory.recall("word", mode="fused").degraded
        state = memory.status().embedding
        assert state is not None
        assert (state.facts, state.share, state.complete) == (3, 1.0, True)


def test_a_few_facts_of_an_agent_are_not_worth_a_worker(vault: Path) -> None:
    with _opened(vault) as memory:
        memory.remember("One fact.")
    assert _worker(vault) is None
    with _opened(vault) as memory:
        for each in range(20):
            memory.remember(f"Fact {each}.")
    _until(lambda: _is_complete(vault))


@pytest.mark.parametrize("how", [REPLACE, KEEP])
def test_a_worker_whose_model_cannot_be_loaded_tries_once(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "off")
    _fill(vault, 1)
    with _opened(vault) as memory:
        memory.adopt()
    (tmp_path / "model").mkdir()
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", f"local:{tmp_path / 'model'}")
    tries: list[str] = []
    embed_alone = EmbeddingWorker.embed_alone

    def counted(worker: EmbeddingWorker, **options: Any) -> EmbedReport:  # noqa: ANN401
        assert not tries, "the worker tried again"
        report = embed_alone(worker, **options)
        tries.append(report.degraded)
        return report

    monkeypatch.setattr(EmbeddingWorker, "embed_alone", counted)
    embed_all(load_settings(vault), idle=0.0, how=how)
    assert "there is no model in" in tries[0]


def test_a_worker_ends_when_its_vault_is_gone(vault: Path) -> None:
    _fill(vault, MANY)
    with _opened(vault) as memory:
        memory.adopt()
        _until(lambda: _worker(vault))
        pid = _worker(vault)
        assert pid is not None
        # Moved away at once: while its files are deleted one by one, the worker makes more.
        gone = vault.with_name("gone")
        memory.settings.state_dir.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
    _until(lambda: not _runs(pid))
    init(str(vault))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
