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
    parse_fields,
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
    help="Type, such as decision or lesson; default: note.",
)
@click.option("--title", metavar="S", help="Title; default: the first sentence.")
@click.option("--context", metavar="S", help="When or why it was recorded, in one line.")
@click.option(
    "--scope",
    metavar="S",
    help="Who may see it; default: only the agent, else the vault's default.",
)
@click.option(
    "--priority", metavar="N", type=int, help="0 (critical) to 4 (background); default: 2."
)
@click.option("--tag", "tags", metavar="X", multiple=True, help="Tag; repeatable.")
@click.option(
    "--entity",
    "entities",
    metavar="X",
    multiple=True,
    help="Person, project or thing it is about; repeatable.",
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
@click.option("--id", "fact_id", metavar="ID", help="UUID to use as its id; default: a new one.")
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
    """Store a fact, and write its note.

    TEXT may be piped in.
    """
    content = text_or_stdin(text, what="text to remember")
    if not content.strip() and not title:
        message = "the text to remember is empty"
        raise click.UsageError(message)

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

    own = parse_fields(fields)
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
        queued = memory.waits(fact.id)
    show.print_remembered(options, fact, queued=queued)
    return EXIT_DONE


@click.command()
@click.argument("fact_id", metavar="ID")
@agent_option
@common
def get(options: Options, *, fact_id: str, agent: str | None) -> int:
    """Show a fact."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

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
    help="Only facts of this type.",
)
@click.option("--scope", metavar="S", help="Only facts in this scope.")
@click.option("--status", metavar="S", help="Only facts with this status, such as active.")
@click.option("--tag", metavar="X", help="Only facts with this tag.")
@click.option("--since", metavar="DATE", help="Only facts created on or after this day or month.")
@click.option("--until", metavar="DATE", help="Only facts created on or before this day or month.")
@click.option(
    "--links-to",
    metavar="NOTE",
    help="Only facts that link to this note: its id, path, title or an alias.",
)
@click.option("--links-from", metavar="NOTE", help="Only facts that this note links to.")
@click.option("--newest", is_flag=True, help="List the newest first.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Maximum number of facts.",
)
@click.option("--after", metavar="ID", help="Start after this fact: the next page.")
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
    """List facts, one page at a time."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

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
@click.option("--content", metavar="TEXT|-", help="New content; - reads stdin.")
@click.option(
    "--set",
    "settings",
    metavar="K=V",
    multiple=True,
    callback=parse_pairs,
    help="Set a field or property; null clears it; repeatable.",
)
@click.option("--add-tag", "add_tags", metavar="X", multiple=True, help="Add a tag; repeatable.")
@click.option(
    "--remove-tag", "remove_tags", metavar="X", multiple=True, help="Remove a tag; repeatable."
)
@click.option("--expect", metavar="REVISION", help="Fail unless the fact is at this revision.")
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
    """Change a fact in the store, and its note."""
    if content is None and not settings and not add_tags and not remove_tags:
        message = "nothing to change: give --content, --set, --add-tag or --remove-tag"
        raise click.UsageError(message)
    if content is not None:
        content = text_or_stdin(content, what="content")

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

    changes = parse_fields(settings)
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
        conflict = show.conflict_of(memory.conflicts(), fact.id)
        queued = memory.waits(fact.id)
    what = "unchanged" if fact.revision == before and not queued else "changed"
    show.print_changed(options, fact, what, conflict=conflict, queued=queued)
    return EXIT_NEEDS_REVIEW if conflict else EXIT_DONE


def _revision(memory: Memory, fact_id: str) -> str | None:
    """The revision of a fact; None where the store is unavailable."""
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
    """Replace a fact with a new one; both are kept and linked."""
    content = text_or_stdin(text, what="text of the new fact")
    if not content.strip():
        message = "the text of the new fact is empty"
        raise click.UsageError(message)

    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

    with session.open_memory(options, agent=agent) as memory:
        fact = memory.supersede(fact_id, content)
        queued = memory.waits(fact.id)
    show.print_changed(options, fact, "replaces the old fact", queued=queued)
    return EXIT_DONE


@click.command()
@click.argument("fact_id", metavar="ID")
@agent_option
@common
def forget(options: Options, *, fact_id: str, agent: str | None) -> int:
    """Delete a fact and its note; `restore` undoes it."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

    with session.open_memory(options, agent=agent) as memory:
        done = memory.forget(fact_id)
        kept = done.status != "forgotten"
        conflict = show.conflict_of(memory.conflicts(), done.id) if kept else None
        queued = memory.waits(done.id)
    show.print_forgotten(options, done, queued=queued)
    if kept:
        show.print_kept(options, conflict)
    return EXIT_NEEDS_REVIEW if kept else EXIT_DONE


@click.command()
@click.argument("fact_id", metavar="ID")
@agent_option
@common
def restore(options: Options, *, fact_id: str, agent: str | None) -> int:
    """Restore a forgotten fact and its note."""
    from vaultsync.cli import format_facts as show
    from vaultsync.cli import open_vault as session

    with session.open_memory(options, agent=agent) as memory:
        done = memory.restore(fact_id)
    show.print_forgotten(options, done)
    return EXIT_DONE
