"""An answer, as JSON or for a person. Loaded when there is one."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from vaultsync.cli.options import Options
from vaultsync.cli.output import dim, echo, emit, is_terminal, one_line, say, style
from vaultsync.recall.result import Hit, Recall, Stage

SHOWN = 5
"""Candidates of a stage that are shown."""
_BY = {
    "index": "by words",
    "vector": "by meaning",
    "fused": "by words and by meaning",
    "index-files": "in the files of .index/",
}


def recalled(options: Options, found: Recall, *, empty: bool = False) -> None:
    """The hits, best first, and how sure the answer is; or why there are none."""
    if options.json:
        emit(found.as_json())
        return
    show = _on_terminal if is_terminal(sys.stdout) else _in_pipe
    for rank, hit in enumerate(found, 1):
        show(rank, hit)
    titles = {hit.id: hit.title for hit in found}
    for stage in found.stages:
        _stage(stage, titles)
    for sentence in found.degraded:
        say(options, one_line(sentence))
    count = f"{len(found)} hit{'' if len(found) == 1 else 's'}"
    if not found.hits:
        hint = "other words, fewer filters or --max-priority 4 may find more"
        if empty:
            hint = "no fact is remembered yet; `vaultsync adopt` takes your notes in"
        say(options, f"nothing found: {hint}")
        return
    say(
        options,
        f"{count} {_BY[found.source]} in {found.seconds * 1000:.0f} ms,"
        f" confidence {found.confidence:.2f}",
    )


def _on_terminal(rank: int, hit: Hit) -> None:
    echo(
        f"{dim(f'{rank:2}.')} {style(one_line(hit.title), bold=True)}"
        f"  {dim(f'{hit.type} · {hit.score:.2f}')}"
    )
    if hit.snippet and one_line(hit.snippet) != one_line(hit.title):
        echo(f"    {one_line(hit.snippet)}")
    echo(dim(f"    {one_line(hit.why)}"))
    echo(dim(f"    {one_line(hit.path or 'no note yet')}") + "\n")


def _in_pipe(rank: int, hit: Hit) -> None:  # noqa: ARG001 - as on a terminal
    cells = (hit.id, f"{hit.score:.4f}", hit.type, hit.title, hit.path or "", hit.why)
    echo("\t".join(one_line(each) for each in (*cells, hit.snippet)))


def _stage(stage: Stage, titles: Mapping[str, str]) -> None:
    seen = stage.candidates
    found = f", {len(seen)} candidates" if seen else ""
    echo(f"{stage.name}: {stage.seconds * 1000:.1f} ms{found}")
    for each in seen[:SHOWN]:
        echo(f"  {each.score:8.4f}  {one_line(titles.get(each.id, each.id))}")
    if len(seen) > SHOWN:
        echo(dim(f"  … and {len(seen) - SHOWN} more"))
