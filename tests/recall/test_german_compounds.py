"""German questions whose words a note has inside a compound, or a compound as two words."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.recalls import RecallWorld
from vaultsync.backends.tantivy.index import TantivyIndex

DATA = tomllib.loads(Path(__file__).with_name("german_compounds.toml").read_text("utf-8"))
FIRST = {"part": 23, "whole": 13, "same": 13}
"""Number of questions whose note is the first hit. Without compounds: 11, 6 and 13."""


@pytest.fixture
def german(tmp_path: Path) -> RecallWorld:
    world = RecallWorld()
    world.index = TantivyIndex(tmp_path / "words")  # type: ignore[assignment] # has German stems
    for title, content in DATA["notes"].items():
        world.agent_remembers(content, title=title)
    return world


@pytest.mark.parametrize("kind", FIRST)
def test_the_note_with_the_compound_or_its_parts_comes_first(
    german: RecallWorld, kind: str
) -> None:
    questions = DATA["questions"][kind]
    first = [german.titles(each, mode="index", limit=1) == [questions[each]] for each in questions]
    assert sum(first) >= FIRST[kind]
