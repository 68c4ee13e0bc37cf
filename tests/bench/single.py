"""Single facts, single keys, and the command line."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from ruamel.yaml import YAML

from tests.bench import corpus, floors
from tests.bench.measure import in_turns, p95
from tests.bench.table import Row, row_of
from tests.bench.worlds import World, new_folder
from vaultsync.markdown.frontmatter import edit_properties, split_frontmatter

ROOT = Path(__file__).parents[2]


def remember(folder: Path, *, times: int, target: float) -> Row:
    """A fact is in the store durably, and visible as a note."""
    world = World(new_folder(folder))
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    ours, floor = [], []
    began = time.process_time()
    with world.open() as memory:
        for number in range(times):
            text, name = corpus.prose(number), corpus.title(number)
            data = text.encode()
            start = time.perf_counter()
            floors.append(log, data)
            middle = time.perf_counter()
            fact = memory.remember(text, title=name, type="decision", agent="indy")
            end = time.perf_counter()
            floor.append(middle - start)
            ours.append(end - middle)
            if fact.path is None or not (world.vault / fact.path).is_file():
                raise SystemExit(f"bench: {name} has no note")
    os.close(log)
    cpu = (time.process_time() - began) / times
    return Row("one fact remembered, p95", times, p95(ours), floors.APPEND, p95(floor), target, cpu)


def one_key(*, times: int, few: int, target: float) -> Row:
    """One property of thirty changes, and is proved to be all that does."""
    text = corpus.long_note()
    plain = split_frontmatter(text)

    def ours(number: int) -> None:
        parts = split_frontmatter(text)
        made = edit_properties(parts, {"status": f"state {number}"}, "note.md")
        if made.yaml == plain.yaml:
            raise SystemExit("bench: the key did not change")

    def theirs(number: int) -> None:
        yaml = YAML()
        parts = split_frontmatter(text)
        values = yaml.load(parts.yaml)
        values["status"] = f"state {number}"
        out = io.StringIO()
        yaml.dump(values, out)

    ours(0)
    theirs(0)
    gc.collect()
    fast, slow = [], []
    for number in range(times):
        fast.append(_seconds(ours, number))
        if number * few // times != (number + 1) * few // times:
            slow.append(_seconds(theirs, number))
    words, beside = "one frontmatter key changed", f"ruamel load + dump (of {len(slow)})"
    return Row(words, len(fast), median(fast), beside, median(slow), target, None)


def _seconds(act: Callable[[int], None], number: int) -> float:
    """As `timed`, for what is over in less time than collecting rubbish takes."""
    began = time.perf_counter()
    act(number)
    return time.perf_counter() - began


def shell_help(*, times: int, target: float) -> Row:
    """What everybody runs first, in a process of its own."""
    script = Path(sys.executable).with_name("vaultsync")
    command = [str(script)] if script.is_file() else [sys.executable, "-m", "vaultsync"]

    def ours() -> None:
        _run([*command, "--help"])

    def click() -> None:
        _run([sys.executable, "-c", "import click"])

    click()
    ours()
    pair = in_turns(click, ours, times=times)
    return row_of("vaultsync --help, cold", times, "python -c 'import click'", pair, target=target)


def _run(command: list[str]) -> None:
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
