"""Questions and the notes that answer them, in two halves.

Whoever tunes recall looks at `development` alone. `held-out` is for the last report, which
asks for it by name: what was tuned on cannot say how good recall is.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

Split = Literal["development", "held-out"]
SPLITS: tuple[Split, ...] = get_args(Split)
HERE = Path(__file__).parents[2]
FOLDER = HERE / "golden" / "questions"
HELP_VAULT = "EVAL_HELP_VAULT"
"""Names the folder of the help pages in the environment."""
UNANSWERABLE = "unanswerable"


@dataclass(frozen=True)
class Question:
    """A question, and what should be found."""

    id: str
    kind: str
    text: str
    language: str
    style: str
    now: datetime
    expected: Sequence[str]
    """Paths of all notes that answer it, the most important first; none when none does."""
    why: str
    filter: Mapping[str, Any] = field(default_factory=dict)


def vaults() -> Mapping[str, Path]:
    """The notes of each set by its name, whether they are there or not."""
    beside = HERE.parent / "shared" / "data" / "obsidian-help"
    return {
        "sample-vault": HERE / "sample-vault",
        "help-vault": Path(os.environ.get(HELP_VAULT) or beside),
    }


def split_of(question: str) -> Split:
    """The half that the id of a question puts it into."""
    return "development" if sha256(question.encode()).digest()[0] % 2 else "held-out"


def questions(name: str, split: Split = "development") -> list[Question]:
    """A half of the set called so."""
    page = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return [
        Question(
            id=each["id"],
            kind=each["kind"],
            text=each["question"],
            language=each["language"],
            style=each["style"],
            now=datetime.fromisoformat(each.get("now", page["asked_at"])),
            expected=tuple(each["expected"]),
            why=each["why"],
            filter=each.get("filter", {}),
        )
        for each in page["question"]
        if split_of(each["id"]) == split
    ]
