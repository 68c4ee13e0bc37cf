"""`vaultsync context`: what is asked, and how the pack is shown."""

from __future__ import annotations

import json

from click.testing import Result
from msgspec import structs

from tests.surfaces.command_line import OneAnswer, ask
from vaultsync.cli import recall_commands as command
from vaultsync.context_packs.formats import PACK_FORMS
from vaultsync.context_packs.pack import INTENTS, ContextPack, LeftOut, PackedItem

PACK = ContextPack(
    text="# Context: why?\n\n## Critical\n\n### Use SQLite\n\nIt is\x1b[31m embedded.",
    tokens=712,
    budget=800,
    by_tier={"critical": 700, "notable": 0, "background": 0, "entities": 0},
    items=(
        PackedItem(
            id="a1",
            tokens=700,
            tier="critical",
            reason="critical decision; has “sqlite”",
            citation="public/decisions/use-sqlite.md#Use SQLite",
            title="Use\x1b[31m SQLite",
        ),
    ),
    left_out=tuple(LeftOut(f"b{n}", 1_000 + n, "no room left", f"Fact {n}") for n in range(12)),
    truncated=True,
    intent="balanced",
    format="markdown",
    counter="estimate",
    degraded=("Semantic search is unavailable: there is no model.",),
)


def run(*words: str, pack: ContextPack = PACK) -> tuple[Result, OneAnswer]:
    return ask(command.context, *words, answer=pack)


def test_json_is_the_pack_with_the_keys_of_the_contract() -> None:
    result, _ = run("why?", "--json")

    values = json.loads(result.stdout)

    assert set(values) >= {"text", "tokens", "budget", "by_tier", "items", "left_out", "truncated"}
    assert set(values["items"][0]) >= {"id", "tokens", "tier", "reason", "citation"}
    assert set(values["left_out"][0]) >= {"id", "tokens", "reason"}
    assert values["counter"] == "estimate"
    assert result.stderr == ""


def test_the_text_alone_is_on_stdout() -> None:
    result, _ = run("why?")

    assert result.stdout == f"{PACK.text.replace(chr(27) + '[31m', '')}\n"


def test_reasons_citations_and_left_out_facts_go_to_stderr() -> None:
    result, _ = run("why?")

    assert "712 of 800 tokens, estimated" in result.stderr
    assert "(balanced: critical 700, notable 0, background 0, entities 0)" in result.stderr
    assert "700  critical    Use SQLite\n" in result.stderr
    assert "critical decision; has “sqlite”" in result.stderr
    assert "public/decisions/use-sqlite.md#Use SQLite" in result.stderr
    assert "left out: 12, 12,066 tokens" in result.stderr
    assert " 1,000  Fact 0: no room left" in result.stderr
    assert "… and 2 more" in result.stderr
    assert "there is no model" in result.stderr


def test_an_empty_pack_prints_nothing_on_stdout() -> None:
    empty = structs.replace(PACK, text="", items=(), left_out=(), counter="o200k_base")
    result, _ = run("why?", pack=empty)

    assert result.stdout == ""
    assert "by o200k_base" in result.stderr
    assert "nothing to pack" in result.stderr


def test_quiet_prints_only_the_text() -> None:
    result, _ = run("why?", "--quiet")

    assert result.stderr == ""


def test_all_options_reach_the_question() -> None:
    words = (
        "q --budget 9 --format xml --intent recent --type task --scope public --tag a --user u-1"
    )
    _, memory = run(*words.split())

    assert memory.asked == {
        "query": "q",
        "budget": 9,
        "format": "xml",
        "intent": "recent",
        "types": ("task",),
        "scopes": ("public",),
        "tags": ("a",),
        "user": "u-1",
    }


def test_the_choices_match_the_formats_and_intents() -> None:
    assert set(command.PACK_FORMATS) == set(PACK_FORMS)
    assert set(command.INTENT_NAMES) == set(INTENTS)
