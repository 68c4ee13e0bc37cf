"""Observations with their tiers, and texts with the words a summary keeps, in two halves.

The half for development is the default. `held_out=True` is for final reports only: texts that
the rules were tuned on cannot say how good the rules are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tests.eval.questions import split_of

Tier = Literal["critical", "notable", "background"]
TIERS: tuple[Tier, ...] = get_args(Tier)
FOLDER = Path(__file__).parents[2] / "golden" / "observations"


@dataclass(frozen=True)
class Observation:
    """What an agent noted, and how much it matters."""

    id: str
    text: str
    context: str | None
    tier: Tier
    language: str
    setting: str
    why: str


@dataclass(frozen=True)
class Compression:
    """A text, and by class the words of which a sentence about it needs one."""

    id: str
    text: str
    must_contain: Mapping[str, Sequence[str]]
    language: str
    setting: str

    def missing(self, sentence: str) -> list[str]:
        """The classes of which the sentence contains no word."""
        return [
            name
            for name, words in self.must_contain.items()
            if not any(holds(sentence, word) for word in words)
        ]


def holds(text: str, word: str) -> bool:
    """Whether the word stands in the text, whole and in whatever case."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def observations(*, held_out: bool = False) -> list[Observation]:
    """A half of the observations."""
    return [
        Observation(**{"context": None, **each}) for each in _half("observations.jsonl", held_out)
    ]


def compressions(*, held_out: bool = False) -> list[Compression]:
    """A half of the texts to shorten."""
    return [Compression(**each) for each in _half("compressions.jsonl", held_out)]


def _half(name: str, held_out: bool) -> Iterator[dict[str, Any]]:
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        if (split_of(each["id"]) != "development") == held_out:
            yield each
