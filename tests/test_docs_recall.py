"""The examples on the pages about context packs and index files are real.

They stand between `<!-- example: NAME -->` and `<!-- /example -->`, are made of the
sample vault, and are rewritten with VAULTSYNC_UPDATE_GOLDEN=1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import RENEW, fenced
from tests.sample_vault import facts as notes
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.context_packs.pack import INTENTS, PACK_TIERS, PackCandidate
from vaultsync.context_packs.packer import pack_context
from vaultsync.index_files.entry import entry_line, entry_of
from vaultsync.index_files.index_pages import render_index
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.parse import read_note

CONCEPTS = Path(__file__).parents[1] / "docs" / "concepts"
EXAMPLE = re.compile(
    r"(?P<open><!-- example: (?P<name>[a-z-]+) -->\n).*?(?P<close><!-- /example -->)", re.DOTALL
)
COUNT = EstimatingCounter().count


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
    """The shares of each intent."""
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
