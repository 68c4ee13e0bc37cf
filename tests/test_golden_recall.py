"""The pages under `golden/context` and `golden/index`: what packs and tables look like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import to_builtins

from tests.golden import GOLDEN, check, fenced
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.context_packs.pack import PackCandidate
from vaultsync.context_packs.packer import pack_context
from vaultsync.index_files.entry import entry_of
from vaultsync.index_files.index_pages import render_index
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath

CONTEXTS = sorted(GOLDEN.glob("context/*.md"))
INDEXES = sorted(GOLDEN.glob("index/*.md"))
COUNT = EstimatingCounter().count
LANGUAGE = {"markdown": "markdown", "xml": "xml", "json": "json"}


def facts_of(text: str, first: int = 1) -> list[tuple[Fact, dict[str, object]]]:
    """The facts of a page, each with what the page says beside it."""
    found = []
    for number, values in enumerate(json.loads(text), first):
        beside = {key: values.pop(key) for key in ("path", "why", "fit") if key in values}
        values.setdefault("id", f"0193f6c2-0000-7000-8000-{number:012d}")
        path = beside.get("path")
        fact = make_fact(values).evolve(path=VaultPath(str(path)) if path else None)
        found.append((fact, beside))
    return found


@pytest.mark.parametrize("case", CONTEXTS, ids=lambda case: case.stem)
def test_packs_look_as_the_golden_pages_say(case: Path) -> None:
    def answer(given: dict[str, str]) -> str:
        asked = json.loads(given["asked"])
        found = facts_of(given["facts"])
        named = facts_of(given.get("entities", "[]"), 101)
        by_name = {
            fact.title: frozenset(f.id for f, _ in found if fact.title in f.entities)
            for fact, _ in named
        }
        pack = pack_context(
            asked["question"],
            [
                PackCandidate(fact, str(beside["why"]), fit=float(str(beside.get("fit", 1))))
                for fact, beside in found
            ],
            budget=asked["budget"],
            count=COUNT,
            form=asked.get("format", "markdown"),
            intent=asked.get("intent"),
            entities=[
                PackCandidate(fact, "named by the facts", named_by=by_name[fact.title])
                for fact, _ in named
            ],
        )
        fields = to_builtins(pack)
        text = str(fields.pop("text"))
        rest = json.dumps(fields, ensure_ascii=False, indent=2)
        shown = fenced(text + "\n", LANGUAGE[pack.format]) if text else "No text.\n"
        return f"{shown}\n{fenced(rest + chr(10), 'json')}"

    check(case, answer)


@pytest.mark.parametrize("case", INDEXES, ids=lambda case: case.stem)
def test_tables_look_as_the_golden_pages_say(case: Path) -> None:
    def answer(given: dict[str, str]) -> str:
        facts = [fact for fact, _ in facts_of(given["facts"])]
        entries = [entry for fact in facts if (entry := entry_of(fact, COUNT))]
        paths = {fact.id: fact.path for fact in facts if fact.path is not None}
        texts = render_index(entries, paths)
        return "\n".join(
            f"`.index/{name}`:\n\n{fenced(text, 'markdown')}" for name, text in texts.items()
        )

    check(case, answer)
