"""Commands about single facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.options import (
    Options,
    agent_option,
    common,
    complete_type,
    parse_pairs,
    text_or_stdin,
)

if TYPE_CHECKING:
    from vaultsync.api.memory import Memory


@click.command()
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option(
    "--type",
    "fact_type",
    metavar="T",
    shell_complete=complete_type,
    help="Its type, such as decision, lesson or note (usual).",
)
@click.option("--title", metavar="S", help="Its title; else its first sentence.")
@click.option("--context", metavar="S", help="When or why it came to be, in one line.")
@click.option(
    "--scope",
    metavar="S",
    help="Who may see it; else the agent alone, or the vault's default.",
)
@click.option(
    "--priority",
    metavar="N",
    type=int,
    help="0 critical, 1, 2 (usual), 3, 4 background.",
)
@click.option("--tag", "tags", metavar="X", multiple=True, help="A tag; repeatable.")
@click.option(
    "--entity",
    "entities",
    metavar="X",
    multiple=True,
    help="Who or what it is about; repeatable.",
)
@click.option(
    "--field",
    "fields",
    metavar="K=V",
    multiple=True,
    callback=parse_pairs,
    help="Any other field or property; repeatable.",
)
@agent_option
@click.option("--id", "fact_id", metavar="ID", help="A UUID of your own as its id.")
@common
def remember(
    options: Options,
    *,
    text: str | None,
    fact_type: str | None,
    title: str | None,
    context: str | None,
    scope: str | None,
    priority: int | None,
    tags: Sequence[str],
    entities: Sequence[str],
    fields: Sequence[tuple[str, str]],
    agent: str | None,
    fact_id: str | None,
) -> int:
    """Keep a fact: in the store, and as a note in the vault.

    TEXT may be piped in.
    """
    content = text_or_stdin(text, what="text to remember")
    if not content.strip() and not title:
        message = "there is no text to remember: what was given is empty"
        raise click.UsageError(message)

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import options as values
    from vaultsync.cli import vault as session

    own = values.parse_fields(fields)
    with session.open_memory(options, agent=agent) as memory:
        fact = memory.remember(
            content,
            type=fact_type,
            title=title,
            scope=scope,
            priority=priority,
            tags=tags,
            entities=entities,
            fields=own,
            context=context,
            id=fact_id,
        )
        waits = memory.waits(fact.id)
    show.print_remembered(options, fact, waits=waits)
    return EXIT_DONE


@click.command()
@click.argument("fact_id", metavar="ID")
@agent_option
@common
def get(options: Options, *, fact_id: str, agent: str | None) -> int:
    """Show a fact."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.open_memory(options, agent=agent) as memory:
        fact = memory.get(fact_id)
    show.print_fact(options, fact)
    return EXIT_DONE


@click.command("list")
@click.option(
    "--type",
    "fact_type",
    metavar="T",
    shell_complete=complete_type,
    help="Only those of a type.",
)
@click.option("--scope", metavar="S", help="Only those of a scope.")
@click.option("--status", metavar="S", help="Only those of a status, such as active.")
@click.option("--tag", metavar="X", help="Only those with a tag.")
@click.option("--since", metavar="DATE", help="Only those from this day or month on.")
@click.option("--until", metavar="DATE", help="Only those up to this day or month.")
@click.option(
    "--links-to",
    metavar="NOTE",
    help="Only those that link to a note: its id, path, title or an alias.",
)
@click.option("--links-from", metavar="NOTE", help="Only those that a note links to.")
@click.option("--newest", is_flag=True, help="The newest first.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="At most so many.",
)
@click.option("--after", metavar="ID", help="Go on after this one.")
@agent_option
@common
def list_facts(
    options: Options,
    *,
    fact_type: str | None,
    scope: str | None,
    status: str | None,
    tag: str | None,
    since: str | None,
    until: str | None,
    links_to: str | None,
    links_from: str | None,
    newest: bool,
    limit: int,
    after: str | None,
    agent: str | None,
) -> int:
    """List facts by id, a page at a time."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.open_memory(options, agent=agent) as memory:
        page = memory.list(
            type=fact_type,
            scope=scope,
            status=status,
            tag=tag,
            since=since,
            until=until,
            links_to=links_to,
            links_from=links_from,
            newest=newest,
            limit=limit,
            after=after,
        )
    show.print_page(options, page)
    return EXIT_DONE


@click.command()
@click.argument("fact_id", metavar="ID")
@click.option("--content", metavar="TEXT|-", help="What it says from now on; - reads stdin.")
@click.option(
    "--set",
    "settings",
    metavar="K=V",
    multiple=True,
    callback=parse_pairs,
    help="A field or property; null clears it; repeatable.",
)
@click.option("--add-tag", "add_tags", metavar="X", multiple=True, help="Repeatable.")
@click.option("--remove-tag", "remove_tags", metavar="X", multiple=True, help="Repeatable.")
@click.option("--expect", metavar="REVISION", help="Only if it is at this revision still.")
@agent_option
@common
def update(
    options: Options,
    *,
    fact_id: str,
    content: str | None,
    settings: Sequence[tuple[str, str]],
    add_tags: Sequence[str],
    remove_tags: Sequence[str],
    expect: str | None,
    agent: str | None,
) -> int:
    """Change a fact in the store; its note follows."""
    if content is None and not settings and not add_tags and not remove_tags:
        message = "there is nothing to change: give --content, --set, --add-tag …"
        raise click.UsageError(message)
    if content is not None:
        content = text_or_stdin(content, what="content")

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import options as values
    from vaultsync.cli import vault as session

    changes = values.parse_fields(settings)
    with session.open_memory(options, agent=agent) as memory:
        before = _revision(memory, fact_id)
        fact = memory.update(
            fact_id,
            content=content,
            set=changes,
            add_tags=add_tags,
            remove_tags=remove_tags,
            expect=expect,
        )
        met = show.print_conflict_found(memory.conflicts(), fact.id)
        waits = memory.waits(fact.id)
    what = "it says so already" if fact.revision == before else "changed"
    show.print_changed(options, fact, what, conflict=met, waits=waits)
    return EXIT_NEEDS_REVIEW if met else EXIT_DONE


def _revision(memory: Memory, fact_id: str) -> str | None:
    """At which revision a fact is, where that can be told now."""
    from vaultsync.errors import VaultsyncError

    try:
        return memory.get(fact_id).revision
    except VaultsyncError:
        return None


@click.command()
@click.argument("fact_id", metavar="ID")
@click.argument("text", required=False, metavar="[TEXT|-]")
@agent_option
@common
def supersede(options: Options, *, fact_id: str, text: str | None, agent: str | None) -> int:
    """Replace a fact by a new one; both stay, linked."""
    content = text_or_stdin(text, what="text of the new fact")
    if not content.strip():
        message = "there is no text of the new fact: what was given is empty"
        raise click.UsageError(message)

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.open_memory(options, agent=agent) as memory:
        fact = memory.supersede(fact_id, content)
        waits = memory.waits(fact.id)
    show.print_changed(options, fact, "replaces the older one", waits=waits)
    return EXIT_DONE


@click.command()
@click.argument("fact_id", metavar="ID")
@agent_option
@common
def forget(options: Options, *, fact_id: str, agent: str | None) -> int:
    """Delete a fact and its note; `restore` brings both back."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.open_memory(options, agent=agent) as memory:
        done = memory.forget(fact_id)
        stays = done.status != "forgotten"
        met = show.print_conflict_found(memory.conflicts(), done.id) if stays else None
        waits = memory.waits(done.id)
    show.print_forgotten(options, done, waits=waits)
    if stays:
        show.print_kept(options, met)
    return EXIT_NEEDS_REVIEW if stays else EXIT_DONE


@click.command()
@click.argument("fact_id", metavar="ID")
@agent_option
@common
def restore(options: Options, *, fact_id: str, agent: str | None) -> int:
    """Bring back a fact that was forgotten, and its note."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import vault as session

    with session.open_memory(options, agent=agent) as memory:
        done = memory.restore(fact_id)
    show.print_forgotten(options, done)
    return EXIT_DONE
