"""Print facts, as JSON or as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, to_builtins

from vaultsync.api.opening import Initialised
from vaultsync.cli.output import (
    Options,
    clean,
    clean_one_line,
    echo,
    is_terminal,
    print_json,
    style,
)
from vaultsync.cli.tables import print_pairs, table, terminal_width
from vaultsync.errors import DamagedFactError
from vaultsync.facts.service import ForgetResult
from vaultsync.facts.written_facts import NOTHING_SIMILAR, Comparison, public_changed, public_new
from vaultsync.model.canonical import tags_in
from vaultsync.model.counts import count_noun
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import FORGOTTEN, describe_hidden
from vaultsync.model.schema import ALL_FIELDS_BY_KEY, Value
from vaultsync.model.serialization import fact_to_values, public_values
from vaultsync.notes.conflict_note import ConflictRecord, is_deletion
from vaultsync.settings import MARKER

if TYPE_CHECKING:
    from vaultsync.facts.listing import FactPage

WIDE_TERMINAL = 120
"""Minimum width, in columns, of a table with both scope and path."""
_SIMILAR = 0.85
"""The least similarity of a key to that of a field for which it may be a slip."""
_TEXTS = ("id", "title", "content", "path", "revision", "properties")


def display_value(value: Value) -> str:
    """Format a value for reading."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ", ".join(display_value(each) for each in value)
    return json.dumps(value, ensure_ascii=False)


def print_initialised(options: Options, vault: Initialised) -> None:
    """Print the folders and files of a new vault, and what to do next."""
    if options.printed_as_json(vault):
        return
    print_pairs(
        [
            ("vault", vault.vault),
            ("vault id", vault.vault_id),
            ("state", vault.state_dir),
            ("store", vault.store),
            ("settings", vault.settings),
            *(("ignored", f"{clean(each)}, by Obsidian's settings") for each in vault.ignored),
        ]
    )
    if vault.former_id is not None:
        options.print_message(
            f"\nThis copy had the id {clean(vault.former_id)}, which its original keeps. Its notes"
            " have no facts yet:\n"
            "  vaultsync rebuild --from vault              make facts of them in its own store"
        )
        return
    if vault.earlier_id is not None:
        earlier = clean(vault.earlier_id)
        options.print_message(
            f"\nThis folder was the vault {earlier} before, whose facts and history are in"
            f" {Path(vault.state_dir).with_name(earlier)}. To go on with it, write its id into"
            f" {Path(vault.vault) / MARKER} before anything else:\n"
            f'  vault_id = "{earlier}"'
        )
    options.print_message(
        "\nNext, in that folder:\n"
        '  vaultsync remember "We meet on Tuesdays."   store a fact, and write its note\n'
        "  vaultsync adopt --dry-run                   show which notes would become facts\n"
        "  vaultsync sync                              sync vault and store"
    )


class Written(NamedTuple):
    """What came of writing a fact, besides the fact."""

    compared: Comparison = NOTHING_SIMILAR
    """What older facts say of it."""
    queued: bool = False
    """Whether it waits until the store is available."""
    unwritten: str = ""
    """Why its note is not written."""
    is_gone: bool = False
    """Whether the user deleted its note."""
    conflict: ConflictRecord | None = None
    """The conflict that the change caused, or will cause."""

    @property
    def as_json(self) -> dict[str, Value]:
        """What is added to the JSON of the fact."""
        found: dict[str, Value] = {
            "conflict": self.conflict.id if self.conflict else None,
            "note_deleted": self.is_gone,
            "note_waits": self.unwritten,
            "waits": self.queued,
        }
        return {key: value for key, value in found.items() if value}


def print_remembered(options: Options, fact: Fact, written: Written) -> None:
    """Print a new fact, what older ones say of it, and why its note is not written."""
    if options.printed_as_json({**public_new(fact, written.compared), **written.as_json}):
        return
    _print_written(options, fact, written, f"remembered {_quoted_title(fact)}", _note_path(fact))


def print_recorded(options: Options, fact: Fact) -> None:
    """Print the title of a fact that was just written, and where its note is."""
    options.print_message(f"recorded {_quoted_title(fact)}, {_note_path(fact)}")


def print_hyphenated(options: Options, tags: Sequence[str]) -> None:
    """Print how tags with spaces or commas are spelled in notes."""
    for tag in tags:
        if (spelled := ", ".join(tags_in(tag))) != tag:
            text = (
                f"the tag “{tag}” is spelled {spelled}: tags in Obsidian have no spaces or commas"
            )
            options.print_message(clean_one_line(text))


def print_similar_fields(options: Options, fact: Fact, keys: Collection[str]) -> None:
    """Print the field that the user may have meant by a key that became a property."""
    for key in filter(fact.properties.__contains__, keys):
        from difflib import get_close_matches  # noqa: PLC0415 - few facts get properties

        for field in get_close_matches(key, ALL_FIELDS_BY_KEY, 1, _SIMILAR):
            text = f"{key} was stored as a property; did you mean the field {field}?"
            options.print_message(clean_one_line(text))


def _print_comparison(options: Options, fact: Fact, compared: Comparison) -> None:
    for same in compared.same_text:
        options.print_message(
            clean_one_line(
                f"“{same.title}”, of {same.date}, has the same text ({same.id});"
                f" `vaultsync forget {fact.id}` deletes this one"
            )
        )
    for each in compared.contradicts:
        options.print_message(
            clean_one_line(
                f"it contradicts “{each.title}”, of {each.date}: {each.why};"
                f" `vaultsync supersede {each.id} TEXT` replaces what is no longer true"
            )
        )


def print_changed(options: Options, fact: Fact, outcome: str, written: Written) -> None:
    """Print a changed fact, and what came of the change."""
    if options.printed_as_json({**public_changed(fact, written.compared), **written.as_json}):
        return
    note = "its note follows" if written.queued else _note_path(fact)
    _print_written(options, fact, written, f"{_quoted_title(fact)}: {outcome}", note)


def _print_written(options: Options, fact: Fact, written: Written, what: str, note: str) -> None:
    echo(clean_one_line(fact.id))
    options.print_message(f"{what}, {'in the store only' if written.unwritten else note}")
    _print_unwritten(options, written.unwritten)
    _print_comparison(options, fact, written.compared)
    _print_queued(options, queued=written.queued)
    if written.is_gone:
        options.print_message(
            "the user deleted its note: the next sync writes it again, beside a conflict note in"
            " which the user decides"
        )
    if (conflict := written.conflict) is None:
        return
    message = "the user deleted its note, which was written again: decide in"
    if not any(map(is_deletion, conflict.fields)):
        fields = ", ".join(each.field for each in conflict.fields)
        message = f"the user changed {fields} too: the note keeps the user's value, yours is in"
    options.print_message(clean_one_line(f"{message} {_conflict_name(conflict)}"))


def _conflict_name(conflict: ConflictRecord) -> str:
    return conflict.conflict_path or f"conflict {conflict.id}"


def _print_unwritten(options: Options, why: str) -> None:
    if why:
        options.print_message(f"its note waits: {clean_one_line(why)}")


def _print_queued(options: Options, *, queued: bool) -> None:
    if queued:
        options.print_message(
            "the store is unavailable: the change is in the outbox, and the next sync that"
            " reaches the store applies it"
        )


def _quoted_title(fact: Fact) -> str:
    return f"“{clean_one_line(fact.title)}”"


def _note_path(fact: Fact) -> str:
    if fact.path is None:
        return (
            "its note follows: `vaultsync watch` writes it if it is running, or else the next sync"
        )
    return f"in {clean_one_line(fact.path)}"


def print_fact(options: Options, fact: Fact, section: Struct | None = None) -> None:
    """Print a fact as its note shows it: title, properties, content.

    `section` is its place in the memory file that it comes from.
    """
    place = {} if section is None else to_builtins(section)
    if options.printed_as_json(public_values(fact) | ({"memoryFile": place} if place else {})):
        return
    echo(style(f"# {clean_one_line(fact.title)}", bold=True) + "\n")
    rows = [("id", fact.id), ("path", fact.path or "no note yet")]
    rows += [
        (key, display_value(value))
        for key, value in fact_to_values(fact).items()
        if key not in _TEXTS
    ]
    rows += [(key, display_value(value)) for key, value in fact.properties.items()]
    rows += [(key, display_value(value)) for key, value in place.items()]
    rows.append(("revision", fact.revision))
    print_pairs([(clean_one_line(key), text) for key, text in rows])
    if fact.content:
        echo(f"\n{clean(fact.content)}")


def print_page(options: Options, page: FactPage) -> None:
    """Print a page of facts, one per line."""
    if options.json:
        from vaultsync.facts.listing import public_page  # noqa: PLC0415 - few commands list facts

        print_json(public_page(page))
        return
    is_wide = not is_terminal(sys.stdout) or terminal_width() >= WIDE_TERMINAL
    scope = ["scope"] * is_wide
    rows = []
    for each in page.facts:
        path = each.path or ("(forgotten)" if each.status == FORGOTTEN else "")
        where = [each.scope, path] if is_wide else [path or each.scope]
        rows.append([each.id, each.title, each.type, str(each.priority), *where])
    heads = ["id", "title", "type", "p", *scope, "path"]
    table(heads, rows, whole=("id", "type", "p", *scope), name="title")
    print_page_end(options, page)


def print_page_end(options: Options, page: FactPage) -> None:
    """Print what a page leaves out: hidden facts, and those on the next page."""
    if not page.facts:
        options.print_message("no facts found")
    if page.hidden:
        options.print_message(describe_hidden(page.hidden))
    if page.next:
        options.print_message(f"more facts follow: --after {clean_one_line(page.next)}")


def print_forgotten(
    options: Options, result: ForgetResult, *, queued: bool = False, unwritten: str = ""
) -> None:
    """Print the status of a deleted or restored fact; `unwritten` is why its note is unchanged."""
    waits = {"waits": queued, "note_waits": unwritten}
    found = {key: value for key, value in waits.items() if value}
    if options.printed_as_json({**to_builtins(result), **found}):
        return
    echo(f"{clean_one_line(result.id)}\t{clean_one_line(result.status)}")
    _print_queued(options, queued=queued)
    _print_unwritten(options, unwritten)
    if result.status == "forgotten":
        options.print_message(f"`vaultsync restore {clean_one_line(result.id)}` restores it")
    if result.previous:
        older = clean_one_line(result.previous)
        options.print_message(
            f"the older version that it replaced stays hidden: `vaultsync restore {older}` brings"
            " that back"
        )


def print_restored(
    options: Options, result: ForgetResult, fact: Fact, *, changed: bool, is_gone: bool
) -> None:
    """Print the status of a restored fact, and where its note is.

    `changed` is False for a fact that was not forgotten; `is_gone` means that the user deleted its
    note.
    """
    print_forgotten(options, result)
    outcome = f"{'restored' if changed else 'it was not forgotten'}, {_note_path(fact)}"
    if is_gone:
        outcome = "its note was deleted, and the next sync deletes the fact too; after that,"
        outcome += f" `vaultsync restore {clean_one_line(fact.id)}` brings both back"
    options.print_message(f"{_quoted_title(fact)}: {outcome}")


def conflict_of(
    conflicts: Sequence[ConflictRecord], fact_id: str, *, known: Collection[str] = ()
) -> ConflictRecord | None:
    """The open conflict of a fact that is not yet `known` by its id, if any."""
    return next((x for x in conflicts if x.fact_id == fact_id and x.id not in known), None)


def print_kept(options: Options, conflict: ConflictRecord | None) -> None:
    """Print why a fact was not deleted: an edit takes precedence over a deletion."""
    message = "not deleted: the user changed its note too"
    if conflict is not None:
        message += f"; decide in {_conflict_name(conflict)}"
    options.print_message(clean_one_line(message))


def print_transferred(
    options: Options,
    number: int,
    outcome: str,
    *,
    stdout_is_free: bool,
    damaged: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print the number of facts exported or imported; on stderr unless `stdout_is_free`.

    Damaged facts, which were left out, are listed on stderr, even with `--quiet`.
    """
    if options.printed_as_json({"facts": number, **({"damaged": damaged} if damaged else {})}):
        return
    for fact_id, why in damaged.items():
        error = DamagedFactError(fact_id, why)
        echo(f"left out: {clean(error.message)}; {error.hint}", err=True)
    if stdout_is_free and not options.quiet:
        echo(f"{count_noun(number, 'fact')} {clean(outcome)}")
    else:
        options.print_message(count_noun(number, "fact"))
