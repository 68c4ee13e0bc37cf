"""`recall` and `context`: answer questions, pack contexts.

This module imports nothing that writes, so that `vaultsync recall` starts fast.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from vaultsync.api import read_only
from vaultsync.api.configuration import find_repository
from vaultsync.cli.options import (
    agent_option,
    choice_option,
    common,
    date_option,
    filters,
    flag,
    number_option,
    optional_question_argument,
    question_argument,
    text_option,
)
from vaultsync.cli.output import Options, clean, clean_one_line, dim, echo, is_terminal, style
from vaultsync.errors import UsageError
from vaultsync.model.counts import count_noun
from vaultsync.model.hiding import describe_hidden
from vaultsync.recall.ranking import is_weak
from vaultsync.recall.recall_request import MAX_BUDGET, RECALL_MODES, ContextRequest, RecallRequest
from vaultsync.recall.result import Hit, RecallResult, RecallStage
from vaultsync.settings import user_path

if TYPE_CHECKING:  # a question needs no pack
    from vaultsync.context_packs.pack import ContextPack

MAX_LEFT_OUT = 10
"""Maximum number of left-out facts to list."""


_EMPTY = "the memory is empty; `vaultsync adopt` turns your notes into facts"


def print_pack(options: Options, pack: ContextPack, *, empty: bool = False) -> None:
    """Print the text of a pack; on stderr its items, the reasons, and what was left out.

    `empty` means that the memory has no facts.
    """
    if options.printed_as_json(pack):
        return
    if pack.text:
        echo(clean(pack.text))
    _explain_pack(options, pack)
    if empty:
        options.print_message(_EMPTY)
    degraded = () if empty else pack.degraded  # no facts need no vectors
    for sentence in filter(None, (describe_hidden(pack.hidden), *degraded)):
        options.print_message(clean_one_line(sentence))


def _explain_pack(options: Options, pack: ContextPack) -> None:
    counter = "estimated" if pack.counter == "estimate" else f"by {clean_one_line(pack.counter)}"
    tiers = ", ".join(f"{tier} {tokens:,}" for tier, tokens in pack.by_tier.items())
    of_budget = f" of {pack.budget:,}" if pack.budget < MAX_BUDGET else ""
    total = f"{pack.tokens:,}{of_budget} tokens, {counter}"
    options.print_message(f"\n{style(total, bold=True)} (intent {pack.intent}; {tiers})")
    for item in pack.items:
        options.print_message(f"{item.tokens:6,}  {item.tier:10}  {clean_one_line(item.title)}")
        options.print_message(dim(f"        {clean_one_line(item.reason)}"))
        options.print_message(dim(f"        {clean_one_line(item.citation)}"))
    if not pack.items:
        no_room = f"The budget is too small: the best fact requires {pack.needed:,}."
        options.print_message(pack.nothing_known or no_room)
    if pack.left_out:
        cost = sum(each.tokens for each in pack.left_out)
        options.print_message(
            f"left out: {count_noun(len(pack.left_out), 'fact')}, {cost:,} tokens"
        )
    for each in pack.left_out[:MAX_LEFT_OUT]:
        why = f"{clean_one_line(each.title)}: {clean_one_line(each.reason)}"
        options.print_message(f"{each.tokens:6,}  {why}")
    if len(pack.left_out) > MAX_LEFT_OUT:
        options.print_message(dim(f"        … and {len(pack.left_out) - MAX_LEFT_OUT} more"))


MAX_CANDIDATES = 5
"""Maximum number of candidates to show for each stage."""
_SOURCES = {
    "index": "by keyword search",
    "vector": "by semantic search",
    "fused": "by hybrid search",
    "index-files": "by keywords in the notes that .index/ lists",
}


def print_hits(options: Options, result: RecallResult, *, empty: bool = False) -> None:
    """Print the hits, best first, and the confidence, or a hint if there are none.

    `empty` means that the memory has no facts.
    """
    if options.printed_as_json(result):
        return
    print_hit = _draw_hit if is_terminal(sys.stdout) else _print_hit_row
    for rank, hit in enumerate(result, 1):
        print_hit(rank, hit)
    titles = {hit.id: hit.title for hit in result}
    for stage in result.stages:
        _print_stage(stage, titles)
    for sentence in () if empty else result.degraded:
        options.print_message(clean_one_line(sentence))
    count = count_noun(len(result), "hit")
    hidden = describe_hidden(result.hidden)
    if not result.hits:
        hint = hidden.replace(" more", "", 1) or "try other words or fewer filters"
        if empty:
            hint = _EMPTY
        explained = "" if empty else result.nothing_known
        options.print_message(explained or f"nothing found: {hint}")
        return
    weak = "; weak matches: the memory may have no answer"
    options.print_message(
        f"{count} {_SOURCES[result.source]} in {result.seconds * 1000:.0f} ms,"
        f" confidence {result.confidence:.2f}{weak * is_weak(result.answerable)}"
    )
    if hidden:
        options.print_message(hidden)


def _draw_hit(rank: int, hit: Hit) -> None:
    echo(
        f"{dim(f'{rank:2}.')} {style(clean_one_line(hit.title), bold=True)}"
        f"  {dim(f'{hit.type} · {hit.score:.2f}')}"
    )
    if hit.snippet and clean_one_line(hit.snippet) != clean_one_line(hit.title):
        echo(f"    {clean_one_line(hit.snippet)}")
    echo(dim(f"    {clean_one_line(hit.why)}"))
    echo(dim(f"    {clean_one_line(hit.path or 'no note yet')}") + "\n")


def _print_hit_row(rank: int, hit: Hit) -> None:  # noqa: ARG001 - same signature as _draw_hit
    cells = (hit.id, f"{hit.score:.4f}", hit.type, hit.title, hit.path or "", hit.why)
    echo("\t".join(clean_one_line(each) for each in (*cells, hit.snippet)))


def _print_stage(stage: RecallStage, titles: Mapping[str, str]) -> None:
    candidates = stage.candidates
    number = f", {count_noun(len(candidates), 'candidate')}" if candidates else ""
    echo(f"{stage.stage}: {stage.seconds * 1000:.1f} ms{number}")
    for each in candidates[:MAX_CANDIDATES]:
        echo(f"  {each.score:8.4f}  {clean_one_line(titles.get(each.id, each.id))}")
    if len(candidates) > MAX_CANDIDATES:
        echo(dim(f"  … and {len(candidates) - MAX_CANDIDATES} more"))


branch_option = text_option(
    "--repo",
    "PATH",
    "Hide facts that do not apply to the current branch of this git repository; default:"
    " the repository of this folder.",
)
PACK_FORMATS = ("markdown", "xml", "json")
INTENT_NAMES = ("decisions", "recent", "balanced")


@click.command()
@optional_question_argument
@number_option(
    "--budget", "Maximum size in tokens; 0 for no limit.", metavar="TOKENS", default=4000
)
@choice_option("--format", PACK_FORMATS, "Output format.", default="markdown")
@choice_option("--intent", INTENT_NAMES, "Intent to rank for; default: guessed from the query.")
@branch_option
@filters
@date_option("--since", "Only facts created on or after")
@agent_option
@common
def context(options: Options, *, repo: str | None, **request: Any) -> None:  # noqa: ANN401 - click's options
    """Pack the facts that answer a question into a token budget.

    Without a query, packs the most important facts, for the start of a session. The text goes
    to stdout; the reason and citation of each item, and what was left out, go to stderr.
    """
    with _open_read_only(options) as memory:
        pack = memory.pack(ContextRequest(**request, repo=_repository(repo)))
        print_pack(options, pack, empty=not pack.items and memory.is_empty)


def _open_read_only(options: Options) -> read_only.ReadOnlyMemory:
    return read_only.open_read_only(options.vault, agent=options.agent, state_dir=options.state_dir)


def _repository(path: str | None) -> str | None:
    """The git repository whose branch filters the facts; default: that of the current folder."""
    root = find_repository() if path is None else user_path(path).absolute()
    return None if root is None else str(root)


@click.command()
@question_argument
@number_option("--limit", "Maximum number of results.", minimum=1, default=10)
@choice_option(
    "--mode",
    RECALL_MODES,
    "Keyword (index), semantic (vector) or hybrid (fused) search.",
    default="auto",
)
@filters
@number_option(
    "--max-priority",
    "Lowest priority to include; default: all but what agents wrote for the background.",
    maximum=4,
)
@date_option("--since", "Only facts created on or after")
@date_option("--until", "Only facts created on or before")
@date_option("--as-of", "Answer with what held at the end of")
@flag("--vault-only", "Search the notes that .index/ lists, without the store.")
@flag("--explain", "Show the candidates and timing of each stage.")
@branch_option
@agent_option
@common
def recall(
    options: Options,
    *,
    mode: str,
    vault_only: bool,
    explain: bool,
    repo: str | None,
    **request: Any,  # noqa: ANN401 - the query and its filters, as `RecallRequest` has them
) -> None:
    """Find the facts that answer a question.

    A phrase "in quotes" must occur. The query may contain filters: type:decision, tag:ops,
    tier:critical, theme:ID, folder:How-tos, since:2026-03, until:2026-05-01, after:"last week" and
    before:yesterday.
    """
    if vault_only:
        if explain or repo or request["as_of"] or mode not in {"auto", "index"}:
            values = {"--explain": explain, "--as-of": request["as_of"], "--repo": repo}
            option = next((each for each, value in values.items() if value), f"--mode {mode}")
            raise UsageError(
                f"{option} does not work with --vault-only, which is a keyword search",
                hint=f"leave out {option} or --vault-only",
            )
        question = RecallRequest(**request, agent=options.agent)
        print_hits(options, read_only.recall_from_index_files(question, path=options.vault))
        return
    request |= {"mode": mode, "explain": explain, "repo": _repository(repo)}
    # Print before the memory closes: closing it takes time to save the access counts.
    with _open_read_only(options) as memory:
        result = memory.answer(RecallRequest(**request))
        print_hits(options, result, empty=not result.hits and memory.is_empty)
