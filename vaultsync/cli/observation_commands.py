"""`observe` and `observations`: store, classify and list what agents observe."""

from __future__ import annotations

import click

from vaultsync.cli.default_group import DefaultGroup
from vaultsync.cli.format_reports import print_report
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import (
    agent_option,
    choice_option,
    common,
    dry_run_option,
    fact_argument,
    flag,
    number_option,
    scope_option,
    text_option,
    verbose_option,
)
from vaultsync.cli.output import Options, clean, clean_one_line, dim, echo, progress_bar
from vaultsync.cli.tables import table
from vaultsync.cli.user_input import text_or_stdin
from vaultsync.model.counts import count_noun
from vaultsync.observations.hooks import MAX_HOOK_BYTES, CaptureReport, is_hook
from vaultsync.observations.observation_lists import LISTED_TIERS, Observations


@click.command()
@click.argument("text", required=False, metavar="[TEXT|-]")
@text_option("--context", "S", "When or why it was observed, in one line.")
@flag(
    "--hook",
    "Run as a hook: the text must be the JSON of a hook. Errors go to stderr, and the exit"
    " code is always 0.",
)
@scope_option("Who may see it; default: only the agent, else the vault's default.")
@agent_option
@common
def observe(
    options: Options, *, text: str | None, context: str | None, hook: bool, scope: str | None
) -> None:
    """Store an observation, to be classified later.

    TEXT may be piped in. JSON from a hook of Claude Code, Codex, Cursor or Gemini CLI is split
    into observations, and those that are only background are not stored.
    """
    content = text_or_stdin(
        text, what="text to store", max_bytes=MAX_HOOK_BYTES + 1 if hook else -1
    )
    if not (hook or content.strip()):
        raise click.UsageError("the text to store is empty")
    with open_memory(options) as memory:
        if hook or is_hook(content):
            _print_captured(options, memory.observe_hook(content, scope=scope), hook=hook)
            return
        observation = memory.observe(content, context=context, scope=scope)
    if options.printed_as_json(observation):
        return
    echo(clean_one_line(observation.id))
    options.print_message("pending: `vaultsync observations process` classifies it")


def _print_captured(options: Options, report: CaptureReport, *, hook: bool) -> None:
    """Print the stored observations; for a hook, only on stderr: the host may parse stdout."""
    if options.printed_as_json(report):
        return
    if not hook:
        for each in report.kept:
            echo(f"{each.id} {each.tier} {clean_one_line(each.content)}")
    rest = [
        (report.noise, f"{report.noise} {'is' if report.noise == 1 else 'are'} only background"),
        (report.known, f"{report.known} {'was' if report.known == 1 else 'were'} stored before"),
    ]
    why = ", ".join(words for number, words in rest if number)
    options.print_message(
        f"{clean_one_line(report.host)}: stored {len(report.kept)} of"
        f" {count_noun(report.seen, 'observation')}" + (f"; {why}" if why else "")
    )


@click.group(cls=DefaultGroup, default="list")
def observations() -> None:
    """Classify, list and show observations.

    Without a command, it lists observations.
    """


@observations.command()
@dry_run_option
@verbose_option
@agent_option
@common
def process(options: Options, *, dry_run: bool, verbose: bool) -> int:
    """Classify pending observations.

    Important observations become active; background is shortened and archived, and its original
    is kept. Your own edits and moves are never overridden.
    """
    with open_memory(options) as memory:
        with progress_bar(options) as bar:
            report = memory.process_observations(dry_run=dry_run, progress=bar)
        open_conflicts = memory.conflicts()
    if not options.json and not options.quiet and report.classified:
        tiers = (f"{getattr(report, tier)} {tier}" for tier in LISTED_TIERS)
        shortened = f"{report.compressed} of them shortened"
        echo(f"observations: {', '.join(tiers)}; {shortened}")
    return print_report(options, report, open_conflicts, verbose=verbose)


@observations.command("list")
@choice_option("--tier", LISTED_TIERS, "Only observations of this tier, or pending ones.")
@number_option("--limit", "Maximum number of observations.", minimum=1, default=50)
@agent_option
@common
def list_observations(options: Options, *, tier: str | None, limit: int) -> None:
    """List observations, newest first."""
    with open_memory(options) as memory:
        listed = memory.observations(tier=tier, limit=limit)
    if options.printed_as_json(Observations(listed)):
        return
    rows = [[each.id, each.tier, each.created_at[:10], each.content] for each in listed]
    table(["id", "tier", "seen", "observation"], rows)
    if not listed:
        options.print_message("no observations")


@observations.command()
@fact_argument
@agent_option
@common
def show(options: Options, *, fact_id: str) -> None:
    """Show an observation, its original text and its signals."""
    with open_memory(options) as memory:
        observation = memory.observation(fact_id)
    if options.printed_as_json(observation):
        return
    echo(clean(observation.original))
    if observation.compressed:
        options.print_message(f"\nshortened to: {clean_one_line(observation.content)}")
    options.print_message(dim(f"\n{observation.tier}, {clean_one_line(observation.status)}"))
    for each in observation.why:
        options.print_message(dim(f"- {clean_one_line(each)}"))
