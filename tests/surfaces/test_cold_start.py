"""What a command loads before it does anything: a person waits for all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

import vaultsync
from tests.snippets import ROOT, run
from vaultsync.model.lazy_pattern import lazy_pattern


class Load(NamedTuple):
    """What a cold command may load, with some room above what it does."""

    modules: int
    """Of this package."""
    lines: int
    """Of these modules."""
    patterns: int
    """Regular expressions that are compiled, by libraries too: some 0.2 ms each."""


COLD = {
    "recall crane --mode index": Load(modules=90, lines=17_400, patterns=50),
    "context crane": Load(modules=106, lines=19_500, patterns=58),
    "get FACT": Load(modules=122, lines=24_300, patterns=40),
    "list": Load(modules=125, lines=24_800, patterns=39),
    "status": Load(modules=184, lines=38_500, patterns=48),
    "remember moved": Load(modules=185, lines=37_200, patterns=76),
}
"""A command, and what it may load. What needs more asks whether all of them have to pay it."""
_COUNTED = """
import json, re._compiler, sys
compiled, make = 0, re._compiler.compile
def count(*given):
    global compiled
    compiled += 1
    return make(*given)
re._compiler.compile = count
sys.argv = ["vaultsync", *json.loads(sys.argv[1])]
from vaultsync.cli.main import cli
try:
    cli.main()
except SystemExit as end:
    assert not end.code, end.code
print()
print(json.dumps([compiled, [name for name in sys.modules if name.startswith("vaultsync")]]))
"""


class Place(NamedTuple):
    """A vault with a few facts, all of them synced and indexed."""

    options: list[str]
    fact_id: str


@pytest.fixture
def place(tmp_path: Path) -> Place:
    vault, state = str(tmp_path / "vault"), str(tmp_path / "state")
    vaultsync.init(vault, state_dir=state)
    with vaultsync.open(vault, state_dir=state) as memory:
        for number in range(3):
            fact = memory.remember(f"The crane of quay {number} lifts 40 tons.", scope="public")
        memory.sync()
    return Place(["--vault", vault, "--state-dir", state], fact.id)


def lines_of(module: str) -> int:
    """How many lines the file of a module has."""
    file = ROOT.joinpath(*module.split("."))
    found = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    return len(found.read_text(encoding="utf-8").splitlines())


@pytest.mark.long(5)
@pytest.mark.parametrize("command", COLD)
def test_a_cold_command_loads_what_it_needs(command: str, place: Place) -> None:
    words = command.replace("FACT", place.fact_id).split()
    said = run(_COUNTED, json.dumps([*words, "--json", *place.options]))

    patterns, modules = json.loads(said.splitlines()[-1])
    loaded = Load(len(modules), sum(map(lines_of, modules)), patterns)
    allowed = COLD[command]
    assert all(some <= most for some, most in zip(loaded, allowed, strict=True)), loaded


def test_a_pattern_is_compiled_when_it_is_first_asked() -> None:
    pattern = lazy_pattern(r"(?P<day>\d+)\.")
    assert "search" not in vars(pattern)

    found = pattern.search("on 12.")

    assert found is not None
    assert found["day"] == "12"
    assert pattern.groupindex == {"day": 1}
    assert "search" in vars(pattern), "the next search asks the pattern itself"
    assert lazy_pattern(rb"\d").findall(b"a1b2") == [b"1", b"2"]
