"""All sequences of a few deeds on two notes: nothing is lost, doubled, brought back, or stuck.

In `make test`, all pairs of deeds, and each deed in a few situations that take several to reach.
The profile `thorough` tries sequences that are one deed longer.
"""

from __future__ import annotations

import pytest

from tests.proofs.states import begin, explore, names
from tests.proofs.turns import THOROUGH

SITUATIONS = {
    "a conflict": "edits 0, updates 0, syncs all",
    "a missing note": "deletes 0, syncs all",
    "a deleted fact": "deletes 0, syncs all, syncs all",
    "two notes with one id": "renames 0, copies 1, syncs all",
    "a note that took the place of another": "moves over 0, syncs all",
    "an id that was put back": "sets other id 0, syncs all",
    "an id that a run of one fact put back": "sets other id 0, syncs 0",
    "a copy": "copies 0, syncs all",
    "an erased fact": "purges 0, syncs all",
}


PARTS = 6


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_pair_of_deeds_loses_doubles_or_jams_anything(part: int) -> None:
    found = explore(begin(""), names(), 2 + THOROUGH, first=names()[part::PARTS])
    assert found[2] > 100


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_deed_in_a_situation_loses_doubles_or_jams_anything(situation: str) -> None:
    found = explore(begin(SITUATIONS[situation]), names(), 1 + THOROUGH)
    assert found[1] > 10


COPY, CANVAS = "a copy comes, syncs all", "draws, renames 0"
DEEDS = (
    *((COPY, f"{each} copy") for each in ("merges", "keeps", "drops")),
    *((f"{COPY}, {each} copy", "undoes") for each in ("merges", "drops")),
    *((f"{COPY}, drops copy, undoes", f"{each} copy") for each in ("merges", "drops")),
    (CANVAS, "relinks"),
    (f"{CANVAS}, relinks", "undoes"),
)


@pytest.mark.long(4)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("story", "deed"), DEEDS)
def test_no_crash_in_a_deed_loses_or_jams_anything_or_is_not_on_record(
    story: str, deed: str
) -> None:
    crashes = [f"crashes at {effect} in {deed}" for effect in range(1, EFFECTS)]
    found = explore(begin(story), ["undoes"], 2, first=crashes)
    assert found[1] > 1


CHANGES = ("edits 0", "deletes 0", "renames 0", "swaps 0", "updates 0", "updates 1", "retypes 0")
EFFECTS = 60
"""More effects than any run of two facts has here."""


@pytest.mark.long(4)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("change", CHANGES)
def test_no_crash_before_an_effect_loses_doubles_or_jams_anything(change: str) -> None:
    deeds = [f"crashes at {effect}" for effect in range(1, EFFECTS)]
    found = explore(begin(change), [*deeds, *(CHANGES if THOROUGH else ())], 1 + THOROUGH)
    assert found[1] > 1
