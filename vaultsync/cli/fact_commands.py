"""Commands about single facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import click

from vaultsync.api.memory import Memory
from vaultsync.cli import format_facts as show
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import (
    Command,
    agent_option,
    common,
    date_option,
    fact_argument,
    flag,
    named_option,
    number_option,
    scope_option,
    text_option,
    type_option,
)
from vaultsync.cli.output import Options, clean_one_line, echo
from vaultsync.cli.user_input import read_text, text_or_stdin
from vaultsync.errors import VaultsyncError
from vaultsync.facts.written_facts import NOTHING_SIMILAR
from vaultsync.model.counts import count_noun
from vaultsync.model.fact import Fact
from vaultsync.model.schema import FIELDS_BY_KEY, LIST_KINDS, OWN_FIELDS_BY_KEY, Value, ValueKind

_NUMBERS = {ValueKind.PRIORITY, ValueKind.SHARE, ValueKind.NUMBER, ValueKind.COUNT, ValueKind.FLAG}


def parse_fields(
    _context: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, Value]:
    """Parse the `KEY=VALUE` pairs of a repeatable option into values by key.

    Raises:
        click.BadParameter: there is no `=`, or nothing before it.
        click.UsageError: a key is given twice.
    """
    values: dict[str, Value] = {}
    for each in pairs:
        name, equals, text = each.partition("=")
        key = name.strip()
        if not equals or not key:
            message = f"{each!r} does not have the form K=V"
            raise click.BadParameter(message)
        if key in values:
            message = f'{key} was given twice; a list is written as {key}=\'["a", "b"]\''
            raise click.UsageError(message)
        values[key] = _parse_field(key, text)
    return values


def _parse_field(key: str, text: str) -> Value:
    """Parse the value of a field, as JSON if the field is not a text.

    A text field keeps `1.10` and `true` as they are written; `null` clears any field.
    """
    try:
        value: Value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return text
    if value is None:
        return None
    if isinstance(value, (str, dict)):
        return text
    kind = _kind(key)
    if kind in LIST_KINDS:
        return value if isinstance(value, list) else text
    return value if kind is None or kind in _NUMBERS else text


def _reject_constant(constant: str) -> Value:
    raise ValueError(constant)  # NaN and Infinity are not JSON


def _kind(key: str) -> ValueKind | None:
    """The kind of a field; None for a property. `outcome` is short for `decisionOutcome`."""
    field = FIELDS_BY_KEY.get(key) or OWN_FIELDS_BY_KEY.get(key)
    if field is None:
        suffix = key[:1].upper() + key[1:]
        field = next((x for name, x in OWN_FIELDS_BY_KEY.items() if name.endswith(suffix)), None)
    return field.kind if field else None


def fields_option(name: str, text: str) -> Callable[[Command], Command]:
    """A repeatable option that takes `K=V` and is passed on as `fields`; `text` is its help."""
    return text_option(name, "K=V", text, "fields", multiple=True, callback=parse_fields)


def _number_or_text(text: str) -> int | str:
    """An integer, or a text for whose error the field is asked."""
    return int(text) if text.isdecimal() else text


@click.command()
@click.argument("text", required=False, metavar="[TEXT|-]")
@type_option(text="Type, such as decision or lesson; default: note.")
@text_option("--title", "S", "Title; default: the first sentence.")
@text_option("--context", "S", "When or why it was recorded, in one line.")
@scope_option("Who may see it; default: only the agent, else the vault's default.")
@text_option("--priority", "N", "0 (critical) to 4 (background); default: 2.", type=_number_or_text)
@text_option("--tag", "X", "Tag; repeatable.", "tags", multiple=True)
@text_option(
    "--entity", "X", "Person, project or thing it is about; repeatable.", "entities", multiple=True
)
@fields_option("--field", "Any other field or property; repeatable.")
@agent_option
@text_option("--id", "ID", "UUID to use as its id; default: a new one.")
@text_option(
    "--messages",
    "FILE|-",
    "Store each message in this JSON file as a fact; requires --session.",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
)
@text_option("--session", "S", "Id of the conversation.")
@common
def remember(
    options: Options,
    *,
    text: str | None,
    messages: str | None,
    session: str | None,
    **values: Any,  # noqa: ANN401 - the arguments of `Memory.remember`
) -> None:
    """Store a fact, and write its note.

    TEXT may be piped in.

    With --messages, store a conversation: a list of messages with `role` and `content`, and
    optionally `at` (the time) and `name`. Messages that were stored before are skipped.
    """
    if messages is not None or session is not None:
        _remember_messages(options, messages, session, {"text": text, **values})
        return
    content = text_or_stdin(text, what="text to remember")
    if not content.strip() and not values["title"]:
        raise click.UsageError("the text to remember is empty")
    with open_memory(options) as memory:
        fact = memory.remember(content, **values)
        queued, compared = memory.waits(fact.id), memory.compare(fact)
        unwritten = "" if fact.path or queued else memory.why_note_waits(fact.id)
    show.print_remembered(options, fact, show.Written(compared, queued, unwritten))
    show.print_hyphenated(options, values["tags"])
    show.print_similar_fields(options, fact, values["fields"])


def _remember_messages(
    options: Options, file: str | None, session: str | None, values: dict[str, Any]
) -> None:
    """Store a conversation; a usage error if an argument is missing, or does not apply."""
    if file is None or session is None:
        message = "--messages and --session are given together"
        raise click.UsageError(message)
    accepted = {key: values.pop(key) for key in ("scope", "tags")}
    if refused := [key for key, value in values.items() if value not in (None, (), {})]:
        message = f"--messages takes --session, --scope, --tag and --agent, but no {refused[0]}"
        raise click.UsageError(message)
    from vaultsync.exchange.session_messages import read_messages  # noqa: PLC0415 - rarely used

    messages = read_messages(read_text(file))
    with open_memory(options) as memory:
        report = memory.remember_messages(messages, session=session, **accepted)
    if options.printed_as_json(report):
        return
    for each in report.ids:
        echo(each)
    known = f", {report.known:,} known" * bool(report.known)
    skipped = f", {report.skipped:,} skipped" * bool(report.skipped)
    stored = count_noun(report.facts, "message")
    options.print_message(f"{stored} stored{known}{skipped}")


@click.command()
@fact_argument
@agent_option
@common
def get(options: Options, *, fact_id: str) -> None:
    """Show a fact."""
    with open_memory(options) as memory:
        fact = memory.get(fact_id)
        is_from_file = (fact.source or "").startswith("memory-file:")
        section = memory.memory_file_section(fact.id) if is_from_file else None
    show.print_fact(options, fact, section)


@click.command("open")
@fact_argument
@flag("--obsidian", "Open it in Obsidian.")
@agent_option
@common
def open_note(options: Options, *, fact_id: str, obsidian: bool) -> None:
    """Open the note of a fact in your editor or in Obsidian.

    Uses $VISUAL or $EDITOR. The next sync stores your changes.
    """
    with open_memory(options) as memory:
        opened = memory.open(fact_id, obsidian=obsidian)
    if not options.printed_as_json(opened):
        options.print_message(clean_one_line(f"opened {opened.path}"))


@click.command("list")
@type_option(text="Only facts of this type; repeatable.", multiple=True)
@scope_option("Only facts in this scope; repeatable.", multiple=True)
@text_option(
    "--status", "S", "Only facts with this status, such as active, superseded or forgotten."
)
@text_option("--tag", "X", "Only facts with this tag; repeatable.", multiple=True)
@date_option("--since", "Only facts created on or after")
@date_option("--until", "Only facts created on or before")
@named_option("--user", "U", "Only facts about this user.")
@text_option(
    "--links-to",
    "NOTE",
    "Only facts that link to this note, given by id, path, title or alias; or to this name, if no"
    " fact has it.",
    names="fact",
)
@text_option("--links-from", "NOTE", "Only facts that this note links to.", names="fact")
@flag("--newest", "List the newest first.")
@flag("--all", "List deleted facts too.")
@number_option("--limit", "Maximum number of facts.", minimum=1, default=100)
@text_option("--after", "ID", "Start after this fact, to get the next page.", names="fact")
@text_option("--columns", "A,B,…", "Fields to list, such as id,title,createdAt,path.")
@flag("--csv", "List the facts as CSV.", "as_csv")
@agent_option
@common
def list_facts(options: Options, *, columns: str | None, as_csv: bool, **filters: Any) -> None:  # noqa: ANN401 - click's options
    """List facts, one page at a time."""
    if options.json and (columns or as_csv):
        message = "--json lists all fields, and cannot be combined with --columns or --csv"
        raise click.UsageError(message)
    with open_memory(options) as memory:
        page = memory.list(**filters)
    if not columns and not as_csv:
        show.print_page(options, page)
        return
    from vaultsync.cli.fact_columns import print_columns  # noqa: PLC0415 - rarely used

    print_columns(options, page, columns, as_csv=as_csv)


@click.command()
@fact_argument
@text_option("--content", "TEXT|-", "New content; - reads stdin.")
@fields_option("--set", "Set a field or property; null clears it; repeatable.")
@text_option("--add-tag", "X", "Add a tag; repeatable.", "add_tags", multiple=True)
@text_option("--remove-tag", "X", "Remove a tag; repeatable.", "remove_tags", multiple=True)
@text_option("--expect", "REVISION", "Fail unless the fact is at this revision.")
@agent_option
@common
def update(
    options: Options,
    *,
    fact_id: str,
    content: str | None,
    fields: dict[str, Value],
    **changes: Any,  # noqa: ANN401 - the other arguments of `Memory.update`
) -> int:
    """Change a fact in the store, and its note."""
    if content is None and not any((fields, changes["add_tags"], changes["remove_tags"])):
        message = "nothing to change: pass --content, --set, --add-tag or --remove-tag"
        raise click.UsageError(message)
    if content is not None:
        content = text_or_stdin(content, what="content")
        if not content.strip():  # as of a variable that is not set, or a command that failed
            message = "the new content is empty; --set content=null clears it"
            raise click.UsageError(message)
    with open_memory(options) as memory:
        before = _before(memory, fact_id)
        fact = memory.update(fact_id, content=content, set=fields, **changes)
        code = _print_change(options, memory, fact, before)
    show.print_hyphenated(options, changes["add_tags"])
    show.print_similar_fields(options, fact, fields)
    return code


def _print_change(options: Options, memory: Memory, fact: Fact, before: _Before) -> int:
    """Print a changed fact, and return the exit code."""
    conflict = show.conflict_of(memory.conflicts(fact.id), fact.id, known=before.conflicts)
    queued, unwritten = memory.waits(fact.id), memory.why_note_waits(fact.id)
    is_gone = conflict is None and memory.is_note_deleted(fact.id)
    is_unchanged = fact.revision == before.revision and not queued
    compared = NOTHING_SIMILAR if is_unchanged else memory.compare(fact)
    written = show.Written(compared, queued, unwritten, is_gone, conflict)
    show.print_changed(options, fact, "unchanged" if is_unchanged else "changed", written)
    return EXIT_NEEDS_REVIEW if conflict or is_gone or unwritten else EXIT_DONE


class _Before(NamedTuple):
    """A memory before a change of a fact."""

    revision: str | None
    """Of the fact; None where the store is unavailable."""
    conflicts: frozenset[str]
    """Ids of the open conflicts, which the change does not cause."""


def _before(memory: Memory, fact_id: str) -> _Before:
    revision, known_id = None, None
    with suppress(VaultsyncError):
        fact = memory.get(fact_id, used=False)
        revision, known_id = fact.revision, fact.id
    return _Before(revision, frozenset(each.id for each in memory.conflicts(known_id)))


@click.command()
@fact_argument
@text_option("--append", "TEXT|-", "Append text; - reads stdin.")
@text_option(
    "--section", "HEADING", "Replace the text below this heading; 'A > B' is heading B below A."
)
@text_option("--find", "TEXT", "Replace this text, which must occur exactly once.")
@text_option(
    "--count",
    "N",
    "With --find: replace all N occurrences; fail if there are more or fewer.",
    type=click.IntRange(min=1),
    default=1,
    show_default=False,
)
@text_option("--replace", "TEXT|-", "The new text; - reads stdin.")
@text_option("--expect", "REVISION", "Fail unless the fact is at this revision.")
@agent_option
@common
def edit(
    options: Options,
    *,
    fact_id: str,
    append: str | None,
    replace: str | None,
    **change: Any,  # noqa: ANN401 - the other arguments of `Memory.edit`
) -> int:
    """Change part of a fact's content.

    Use --append, --section with --replace, or --find with --replace.
    """
    if append is None and replace is None:
        message = "nothing to change: pass --append, or --replace with --section or --find"
        raise click.UsageError(f"{message}; `vaultsync open ID` opens the note in your editor")
    if append is not None:
        append = text_or_stdin(append, what="text to append")
    if replace is not None:
        replace = text_or_stdin(replace, what="new text")
    with open_memory(options) as memory:
        before = _before(memory, fact_id)
        fact = memory.edit(fact_id, append=append, replace=replace, **change)
        return _print_change(options, memory, fact, before)


@click.command()
@fact_argument
@click.argument("text", required=False, metavar="[TEXT|-]")
@agent_option
@common
def supersede(options: Options, *, fact_id: str, text: str | None) -> None:
    """Replace a fact with a new one; both are kept and linked."""
    content = text_or_stdin(text, what="text of the new fact")
    if not content.strip():
        raise click.UsageError("the text of the new fact is empty")
    with open_memory(options) as memory:
        fact = memory.supersede(fact_id, content)
        queued = memory.waits(fact.id)
    show.print_changed(options, fact, "replaces the old fact", show.Written(queued=queued))


@click.command()
@fact_argument
@flag("--restore-previous", "Make the version that it replaced current again.")
@agent_option
@common
def forget(options: Options, *, fact_id: str, restore_previous: bool) -> int:
    """Delete a fact and its note; `restore` undoes it."""
    with open_memory(options) as memory:
        result = memory.forget(fact_id, restore_previous=restore_previous)
        is_kept = result.status != "forgotten"
        conflict = show.conflict_of(memory.conflicts(result.id), result.id) if is_kept else None
        queued, unwritten = memory.waits(result.id), memory.why_note_waits(result.id)
    show.print_forgotten(options, result, queued=queued, unwritten=unwritten)
    if is_kept:
        show.print_kept(options, conflict)
    return EXIT_NEEDS_REVIEW if is_kept or unwritten else EXIT_DONE


@click.command()
@fact_argument
@agent_option
@common
def restore(options: Options, *, fact_id: str) -> int:
    """Restore a forgotten fact and its note.

    If a newer version of the fact was forgotten, the newest remaining version is restored.
    """
    with open_memory(options) as memory:
        before = _before(memory, fact_id)
        result = memory.restore(fact_id)
        fact = memory.get(result.id, used=False)
        is_gone = memory.is_note_deleted(fact.id)
    is_changed = fact.revision != before.revision
    show.print_restored(options, result, fact, changed=is_changed, is_gone=is_gone)
    return EXIT_NEEDS_REVIEW if is_gone else EXIT_DONE
