"""Single facts, single keys, single files, and the first word of a process."""

from __future__ import annotations

import gc
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from statistics import median

from msgspec import structs
from ruamel.yaml import YAML

from tests.bench import corpus, floors
from tests.bench.measure import in_turns, p95
from tests.bench.table import Row, row_of
from tests.bench.worlds import World, new_folder, notes_in
from vaultsync.api import configuration as config
from vaultsync.markdown.frontmatter import edit_properties, read_properties, split_frontmatter
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool

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
        before = read_properties(parts, "note.md")
        made = edit_properties(parts, {"status": f"state {number}"}, "note.md", before=before)
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


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "0"},
    },
}
BARE_MCP = "import mcp.server.lowlevel, mcp.server.stdio"


def initialized(folder: Path, *, times: int, target: float) -> Row:
    """`vaultsync mcp`, started anew, to the answer to `initialize`."""
    world = World(new_folder(folder))
    with world.open() as memory:
        memory.remember("The crane is green.")
    words = ["mcp", "--vault", str(world.vault), "--state-dir", str(world.state)]
    command = [sys.executable, "-m", "vaultsync", *words]
    hello = (json.dumps(HELLO) + "\n").encode()

    def ours() -> None:
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as server:
            assert server.stdin
            assert server.stdout
            server.stdin.write(hello)
            server.stdin.flush()
            if b"serverInfo" not in server.stdout.readline():
                raise SystemExit("bench: the MCP server did not answer")
            server.kill()

    def bare() -> None:
        subprocess.run([sys.executable, "-c", BARE_MCP], check=True)

    bare()
    ours()
    pair = in_turns(bare, ours, times=times)
    return row_of("MCP initialize, cold", times, "import of the SDK", pair, target=target)


SECTIONS = 500
READ = "read + sha256 of the file, stat of its notes"
"""A section follows an edit of its note, and only a stat of each note shows that none has one."""
_EACH = 20
"""Both are done so often in one turn: once is less than a clock can tell apart."""


def unchanged_file(folder: Path, *, times: int, target: float) -> Row:
    """A sync of a file of so many sections as may be, in a memory that is open."""
    world = World(new_folder(folder))
    file = world.folder / "MEMORY.md"
    sections = (
        # Without headings of its own, which would be further sections.
        f"## {number}. {corpus.title(number)}\n\n{corpus.prose(number).replace('#', '')}\n"
        for number in range(SECTIONS)
    )
    file.write_text("# Memory\n\n" + "\n".join(sections), encoding="utf-8")

    with world.open() as memory:
        done = memory.sync_memory_file(file, agent="indy")
        if not done.counts["created"] == SECTIONS == len(done.fact_ids):
            raise SystemExit(f"bench: {done.counts} of {SECTIONS} sections")
        notes = [str(each) for each in notes_in(world.vault)]

        def floor() -> None:
            for _ in range(_EACH):
                sha256(file.read_bytes()).hexdigest()
                for each in notes:
                    os.stat(each)  # noqa: PTH116 - the least that it takes

        def ours() -> None:
            for _ in range(_EACH):
                if not memory.sync_memory_file(file, agent="indy").quiet:
                    raise SystemExit("bench: the file has not changed, and was written")

        pair = in_turns(floor, ours, times=times)
    words = "memory file without changes"
    return row_of(words, SECTIONS, f"{READ}, {_EACH} times", pair, target=target)


def asked_by_mcp(folder: Path, count: int, *, times: int, target: float) -> Row:
    """A question by MCP while no daemon runs and no note changes, with all that follows it."""
    world = World(new_folder(folder))
    with world.open(derived=True) as memory:
        memory.import_(corpus.fact_lines(count))
        memory.sync()
    settings = config.load_settings(world.vault, agent="indy", state_dir=str(world.state))
    tool = TOOLS_BY_NAME["memory_recall"]
    asked = iter(range(1_000_000))
    with AgentMemory(structs.replace(settings, embedder="none")) as memory:

        def ours() -> None:
            done = run_tool(memory, tool, {"query": f"budget ticket {next(asked)}"})
            if done.isError:
                raise SystemExit(f"bench: {done.structuredContent}")
            memory.finish_pending()

        for _ in range(5):
            ours()
        pair = in_turns(lambda: floors.walk(world.vault), ours, times=times)
    return row_of("question by MCP, no daemon", count, floors.WALK, pair, target=target)


def _run(command: list[str]) -> None:
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
