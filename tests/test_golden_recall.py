"""The pages under `golden/context` and `golden/index`: what packs and tables look like.

The examples on the pages about them are real, too: they stand between `<!-- example: NAME -->`
and `<!-- /example -->`, are made of the sample vault, and are rewritten with
VAULTSYNC_UPDATE_GOLDEN=1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import to_builtins

from tests.entries import render_index
from tests.golden import GOLDEN, RENEW, check, fenced
from tests.sample_vault import facts as notes
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.context_packs.pack import INTENTS, PACK_TIERS, PackCandidate
from vaultsync.context_packs.packer import pack_context
from vaultsync.index_files.entry import entry_line, entry_of
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.parse import read_note

CONTEXTS = sorted(GOLDEN.glob("context/*.md"))
INDEXES = sorted(GOLDEN.glob("index/*.md"))
COUNT = EstimatingCounter().count
CONCEPTS = Path(__file__).parents[1] / "docs" / "concepts"
EXAMPLE = re.compile(
    r"(?P<open><!-- example: (?P<name>[a-z-]+) -->\n).*?(?P<close><!-- /example -->)", re.DOTALL
)


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
                PackCandidate(fact, str(beside["why"]), relevance=float(str(beside.get("fit", 1))))
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
        shown = fenced(text + "\n", pack.format) if text else "No text.\n"
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


# --- examples of the docs ----------------------------------------------------------------


def facts() -> list[Fact]:
    """The facts of the sample vault, as their notes say them."""
    found = []
    for each in notes():
        path = VaultPath(each.path)
        note = read_note(each.raw, path)
        fact = Fact(each.id, title=each.title, scope=path.partition("/")[0])
        found.append(fact.overlay(note.values, note.properties).evolve(path=path))
    return found


def intents() -> str:
    head = f"| intent | {' | '.join(PACK_TIERS)} |\n|---|{'---:|' * len(PACK_TIERS)}\n"
    return head + "".join(
        f"| `{name}` | {' | '.join(f'{intent.shares[t]:.0%}' for t in PACK_TIERS)} |\n"
        for name, intent in INTENTS.items()
    )


def example_pack() -> str:
    """A pack of what the sample vault knows about deposits."""
    found = [each for each in facts() if "deposit" in each.title.casefold()]
    pack = pack_context(
        "What does a deposit cost?",
        [PackCandidate(each, "Has “deposit”.") for each in found],
        budget=300,
        count=COUNT,
    )
    return fenced(pack.text + "\n", "markdown")


def entry() -> str:
    """The line of a decision."""
    (fact,) = [each for each in facts() if each.title.startswith("Charge a flat")]
    line = entry_of(fact, COUNT)
    assert line is not None
    assert fact.path is not None
    return fenced(entry_line(line, fact.path) + "\n", "markdown")


def vault_index() -> str:
    """The first lines of the master table."""
    many = facts()
    entries = [line for each in many if (line := entry_of(each, COUNT))]
    paths = {each.id: each.path for each in many if each.path is not None}
    lines = render_index(entries, paths)["vault-index.md"].split("\n")
    return fenced("\n".join(lines[:14]) + "\n…\n", "markdown")


EXAMPLES: dict[str, Callable[[], str]] = {
    "entry": entry,
    "intents": intents,
    "pack": example_pack,
    "vault-index": vault_index,
}


@pytest.mark.parametrize("name", ["context-packs.md", "index-files.md"])
def test_golden_examples_of_the_docs_are_made_by_the_code(name: str) -> None:
    page = CONCEPTS / name
    text = page.read_text(encoding="utf-8")

    fresh = EXAMPLE.sub(
        lambda found: f"{found['open']}\n{EXAMPLES[found['name']]()}\n{found['close']}", text
    )

    assert EXAMPLE.search(text)
    if RENEW:
        page.write_text(fresh, encoding="utf-8")
    else:
        assert fresh == text
