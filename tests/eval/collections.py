"""Questions, what answers them, and the facts they are asked of."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from tests.fakes import FakeClock
from vaultsync.model.fact import Fact, make_fact

HERE = Path(__file__).parents[2]
LOCOMO = HERE.parent / "shared" / "data" / "locomo-dev.json"
"""Four conversations of LoCoMo (Maharana et al., 2024); beside the project, not in it."""
RETRIEVAL = HERE / "golden" / "retrieval" / "questions.toml"
SAID = HERE / "golden" / "retrieval" / "said.toml"
KINDS = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
"""LoCoMo's number of a category -> its name in the paper. The last one is no part of the
headline: what it asks was never said."""
HEADLINE = frozenset(KINDS.values()) - {"adversarial"}
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")


@dataclass(frozen=True)
class Asked:
    """A question with graded answers."""

    id: str
    kind: str
    text: str
    grades: Mapping[str, int]
    """By the id of a fact."""
    agent: str | None = None
    filter: Mapping[str, Any] = field(default_factory=dict)
    priority_fact: bool = False
    said: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Words of a fact that must be read to know the answer, by its id."""


@dataclass(frozen=True)
class Collection:
    """Facts, and what is asked of them."""

    name: str
    facts: Sequence[Fact]
    questions: Sequence[Asked]
    asked_at: datetime


@cache
def locomo() -> Sequence[Collection]:
    """Each conversation: every turn is a fact of its session. None when it is not there."""
    if not LOCOMO.exists():
        return ()
    conversations = json.loads(LOCOMO.read_text(encoding="utf-8"))
    return [_conversation(each) for each in conversations]


def _conversation(sample: Mapping[str, Any]) -> Collection:
    talk, clock = sample["conversation"], FakeClock()
    facts: dict[str, Fact] = {}
    numbers = (re.fullmatch(r"session_(\d+)", key) for key in talk)
    for number in sorted(int(each[1]) for each in numbers if each):
        said = talk[f"session_{number}_date_time"]
        begun = datetime.strptime(said, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for turn in talk[f"session_{number}"]:
            facts[turn["dia_id"]] = _turn(turn, number, begun, clock.new_id())
    ids = {key: fact.id for key, fact in facts.items()}
    last = max(fact.created_at for fact in facts.values())
    questions = [
        Asked(
            id=f"{sample['sample_id']}-{number:03}",
            kind=KINDS[each["category"]],
            text=each["question"],
            grades=dict.fromkeys(evidence, 3),
        )
        for number, each in enumerate(sample["qa"])
        if (evidence := _evidence(each["evidence"], ids))
    ]
    asked_at = datetime.fromisoformat(last) + AFTERWARDS
    return Collection(sample["sample_id"], list(facts.values()), questions, asked_at)


def as_notes(one: Collection) -> Collection:
    """A conversation with a long note per session, and what must be read of each."""
    turns: dict[str | None, list[Fact]] = {}
    for fact in one.facts:
        turns.setdefault(fact.session_id, []).append(fact)
    notes = {
        some[0].id: make_fact(
            {
                "id": some[0].id,
                "title": f"Talk: {name}",
                "content": "\n\n".join(turn.content for turn in some),
                "createdAt": some[0].created_at,
            }
        )
        for name, some in turns.items()
    }
    note_of = {turn.id: some[0].id for some in turns.values() for turn in some}
    said = {fact.id: fact.content for fact in one.facts}
    questions = []
    for asked in one.questions:
        words: dict[str, list[str]] = {}
        for turn in asked.grades:
            words.setdefault(note_of[turn], []).append(said[turn])
        grades = dict.fromkeys(words, 3)
        questions.append(replace(asked, grades=grades, said=words))
    return replace(one, facts=list(notes.values()), questions=questions)


AFTERWARDS = timedelta(days=365)
"""How long after the last session of a conversation its questions are asked."""


def _turn(turn: Mapping[str, Any], session: int, at: datetime, fact_id: str) -> Fact:
    shown = turn.get("blip_caption")
    picture = f" [image: {shown}]" if shown else ""
    return make_fact(
        {
            "id": fact_id,
            "type": "episodic",
            "content": f"{turn['speaker']}: {turn['text']}{picture}",
            "entities": [turn["speaker"]],
            "createdAt": at.isoformat().replace("+00:00", "Z"),
            "sessionId": f"session {session}",
        }
    )


def _evidence(texts: Iterable[str], ids: Mapping[str, str]) -> list[str]:
    """The facts that are named; some are spelled `D8:6; D9:17`, or name no turn."""
    named = (f"D{a}:{b}" for text in texts for a, b in _EVIDENCE.findall(text))
    return [ids[each] for each in dict.fromkeys(named) if each in ids]


def retrieval(ids: Mapping[str, str]) -> tuple[list[Asked], datetime]:
    """The questions over the sample vault, by the paths of its notes, and when."""
    page = tomllib.loads(RETRIEVAL.read_text(encoding="utf-8"))
    said = tomllib.loads(SAID.read_text(encoding="utf-8"))
    questions = [
        Asked(
            id=each["id"],
            kind=each["kind"],
            text=each["question"],
            grades={ids[path]: grade for path, grade in each["answers"].items()},
            agent=each.get("agent"),
            filter=_filter(each.get("filter", {})),
            priority_fact=each.get("priority_fact", False),
            said={ids[path]: words for path, words in said.get(each["id"], {}).items()},
        )
        for each in page["question"]
    ]
    return questions, datetime.fromisoformat(page["asked_at"])


def _filter(said: Mapping[str, Any]) -> dict[str, Any]:
    status = {"status": None} if said.get("status") == "any" else {}
    return {**said, **status}
