"""Several processes at one index of vectors, and one that is killed while it writes."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forked import start_program
from tests.vector_rows import ALL, IDS, X, found, holds, row
from vaultsync.backends.vectors.lancedb import LanceVectors
from vaultsync.backends.vectors.local import LocalVectors
from vaultsync.backends.vectors.matrix import MatrixVectors
from vaultsync.errors import IndexBusyError
from vaultsync.indexing.ports import VectorIndex

pytestmark = pytest.mark.long(5)

SPAWN = multiprocessing.get_context("spawn")
ROOT = Path(__file__).parents[2]
WRITERS, EACH = 2, 15


def _write(name: str, folder: Path, number: int) -> None:
    index = INDEXES[name](folder)
    for at in range(number * EACH, (number + 1) * EACH):
        done = False
        while not done:
            try:
                index.put([row(IDS[at], f"{at}")], record=f"{number}")
                done = True
            except IndexBusyError:
                time.sleep(0.01)
    index.close()


INDEXES: dict[str, Callable[[Path], VectorIndex]] = {"matrix": MatrixVectors, "local": LocalVectors}
LASTING: dict[str, Callable[[Path], VectorIndex | LanceVectors]] = {
    **INDEXES,
    "lancedb": LanceVectors,
}


@pytest.mark.parametrize("name", INDEXES)
def test_processes_that_write_lose_nothing(name: str, tmp_path: Path) -> None:
    index = INDEXES[name](tmp_path)
    index.reset("m/3/c")
    index.put([row(IDS[-1], "here")])
    workers = [
        SPAWN.Process(target=_write, args=(name, tmp_path, number)) for number in range(WRITERS)
    ]
    for each in workers:
        each.start()
    seen = 0
    while any(each.is_alive() for each in workers):
        count = len(found(index, limit=600))
        assert count >= seen
        seen = count
        time.sleep(0.02)
    for each in workers:
        each.join()

    assert [each.exitcode for each in workers] == [0] * WRITERS
    assert {*index.chunks()} == {*IDS[: WRITERS * EACH], IDS[-1]}
    assert len(index.search(X, ALL, limit=600)) == index.count() == WRITERS * EACH + 1
    index.close()


WRITER = """
import sys
from pathlib import Path
from tests.backends.test_vectors_processes import LASTING, IDS, row

index = LASTING[sys.argv[1]](Path(sys.argv[2]))
for turn in range(1000):
    names = [IDS[(turn * 10 + n) % 600] for n in range(10)]
    index.put([row(each, f"{turn}") for each in names], replace=names, record=f"{turn}")
    if turn % 50 == 49:
        index.tidy()
    print(turn, flush=True)
"""


@pytest.mark.parametrize("name", LASTING)
@pytest.mark.long(3)
def test_a_killed_writer_leaves_all_of_a_put_or_nothing(name: str, tmp_path: Path) -> None:
    index = LASTING[name](tmp_path)
    index.reset("m/3/c")
    writer = start_program(
        [sys.executable, "-c", WRITER, name, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert writer.stdout is not None
    answered = [int(writer.stdout.readline()) for _ in range(53)][-1]
    writer.send_signal(signal.SIGKILL)
    answered = max([answered, *map(int, writer.stdout.read().split())])
    writer.wait()
    writer.stdout.close()

    for again in (index, LASTING[name](tmp_path)):
        turn = int(again.record() or 0)
        assert turn in {answered, answered + 1}
        wanted = _after(turn)
        held = holds(again)[2]
        # A table has the rows of a put before the note that is made with it.
        assert held == wanted or (name == "lancedb" and held == _after(turn + 1))
    index.put([row(IDS[0], "last")], replace=IDS)
    assert holds(again)[2] == {IDS[0]: {"last"}}
    index.close()
    again.close()


def _after(turn: int) -> dict[str, frozenset[str]]:
    """What the writer has put after a turn."""
    first = max(0, turn * 10 - 590)
    return {IDS[at % 600]: frozenset({f"{at // 10}"}) for at in range(first, turn * 10 + 10)}
