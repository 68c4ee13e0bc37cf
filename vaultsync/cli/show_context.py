"""A context pack, as JSON or for a person. Loaded when there is one."""

from __future__ import annotations

from vaultsync.cli.options import Options
from vaultsync.cli.output import clean, dim, echo, emit, one_line, say, style
from vaultsync.context_packs.pack import ContextPack

SHOWN = 10
"""Facts that were left out that are listed."""


def packed(options: Options, made: ContextPack) -> None:
    """The text; on stderr what is in it, why, and what was left out."""
    if options.json:
        emit(made.as_json())
        return
    if made.text:
        echo(clean(made.text))
    _explain(options, made)
    for sentence in made.degraded:
        say(options, one_line(sentence))


def _explain(options: Options, made: ContextPack) -> None:
    by = "by estimate" if made.counter == "estimate" else f"by {made.counter}"
    spent = ", ".join(f"{tier} {used:,}" for tier, used in made.by_tier.items())
    total = f"{made.tokens:,} of {made.budget:,} tokens {one_line(by)}"
    say(options, f"\n{style(total, bold=True)} ({made.intent}: {spent})")
    for item in made.items:
        say(options, f"{item.tokens:6,}  {item.tier:10}  {one_line(item.title)}")
        say(options, dim(f"        {one_line(item.reason)}"))
        say(options, dim(f"        {one_line(item.citation)}"))
    if not made.items:
        say(options, "nothing is packed")
    if made.left_out:
        cost = sum(each.tokens for each in made.left_out)
        say(options, f"left out: {len(made.left_out)}, {cost:,} tokens")
    for left in made.left_out[:SHOWN]:
        why = f"{one_line(left.title)}: {one_line(left.reason)}"
        say(options, f"{left.tokens:6,}  {why}")
    if len(made.left_out) > SHOWN:
        say(options, dim(f"        … and {len(made.left_out) - SHOWN} more"))
