"""Facts, as JSON or for a person. Loaded when there is an answer."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence

from msgspec import to_builtins

from vaultsync.api.opening import Initialised
from vaultsync.cli.options import Options
from vaultsync.cli.output import (
    clean,
    clean_one_line,
    dim,
    echo,
    is_terminal,
    print_json,
    print_message,
    style,
    table,
)
from vaultsync.facts.listing import FactPage, public_page
from vaultsync.facts.service import ForgetResult
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_to_values, public_new, public_values
from vaultsync.notes.conflict_note import Conflict

WIDE_TERMINAL = 120
"""Columns of a terminal that has room for a scope beside a path."""
_TEXTS = ("id", "title", "content", "path", "revision", "properties")


def display_value(value: Value) -> str:
    """A value as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ", ".join(display_value(each) for each in value)
    return json.dumps(value, ensure_ascii=False)


def print_pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and what they are, in two columns."""
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        echo(f"{dim(name.ljust(width))}  {clean_one_line(text)}")


def count_noun(number: int, word: str, *, many: str = "") -> str:
    """`1 note`, `2 notes`."""
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def print_initialised(options: Options, made: Initialised) -> None:
    """A vault that is ready."""
    if options.json:
        print_json(
            {
                "vault": made.vault,
                "vault_id": made.vault_id,
                "state_dir": made.state_dir,
                "store": made.store,
            }
        )
        return
    print_pairs(
        [
            ("vault", made.vault),
            ("vault id", made.vault_id),
            ("state", made.state_dir),
            ("store", made.store),
        ]
    )
    print_message(
        options,
        "\nNext, in that folder:\n"
        '  vaultsync remember "We meet on Tuesdays."   keeps a fact and its note\n'
        "  vaultsync adopt --dry-run                   shows which notes become facts\n"
        "  vaultsync sync                              makes both sides equal",
    )


def print_remembered(options: Options, fact: Fact, *, waits: bool) -> None:
    """A new fact."""
    if options.json:
        print_json({**public_new(fact), **_is_queued(waits)})
        return
    echo(clean_one_line(fact.id))
    print_message(options, f"remembered {_named(fact)}, {_place(fact)}")
    _print_queued(options, waits=waits)


def print_changed(
    options: Options,
    fact: Fact,
    what: str,
    *,
    conflict: Conflict | None = None,
    waits: bool,
) -> None:
    """A fact after a change, and the conflict that it met."""
    if options.json:
        found = {"conflict": conflict.id} if conflict else {}
        print_json({**public_values(fact), **found, **_is_queued(waits)})
        return
    echo(clean_one_line(fact.id))
    where = "its note follows" if waits else _place(fact)
    print_message(options, f"{_named(fact)}: {what}, {where}")
    _print_queued(options, waits=waits)
    if conflict is not None:
        fields = ", ".join(each.field for each in conflict.fields)
        kept = conflict.conflict_path or f"conflict {conflict.id}"
        words = f"a person changed {fields} too: theirs stands, yours is in {kept}"
        print_message(options, clean_one_line(words))


def _is_queued(waits: bool) -> dict[str, Value]:  # noqa: FBT001 - a word of its caller
    return {"waits": True} if waits else {}


def _print_queued(options: Options, *, waits: bool) -> None:
    if waits:
        print_message(
            options,
            "the store does not answer: it waits in the outbox, and the next pass"
            " after the store is back brings it over",
        )


def _named(fact: Fact) -> str:
    return f"“{clean_one_line(fact.title)}”"


def _place(fact: Fact) -> str:
    if fact.path is None:
        return "its note follows with the next pass"
    return f"in {clean_one_line(fact.path)}"


def print_fact(options: Options, fact: Fact) -> None:
    """A fact like its note: title, properties, content."""
    if options.json:
        print_json(public_values(fact))
        return
    echo(style(f"# {clean_one_line(fact.title)}", bold=True) + "\n")
    rows = [("id", fact.id), ("path", fact.path or "no note yet")]
    rows += [
        (key, display_value(value))
        for key, value in fact_to_values(fact).items()
        if key not in _TEXTS
    ]
    rows += [(key, display_value(value)) for key, value in fact.properties.items()]
    rows.append(("revision", fact.revision))
    print_pairs([(clean_one_line(key), text) for key, text in rows])
    if fact.content:
        echo(f"\n{clean(fact.content)}")


def print_page(options: Options, found: FactPage) -> None:
    """Some facts, a line each."""
    if options.json:
        print_json(public_page(found))
        return
    width = shutil.get_terminal_size().columns
    if is_terminal(sys.stdout) and width < WIDE_TERMINAL:
        heads = ["id", "title", "type", "p", "path"]
        rows = [[*_row(each)[:4], each.path or each.scope] for each in found.facts]
    else:
        heads = ["id", "title", "type", "p", "scope", "path"]
        rows = [[*_row(each), each.path or ""] for each in found.facts]
    table(heads, rows, whole=("id", "type", "p", "scope"))
    if not found.facts:
        print_message(options, "no facts")
    if found.next:
        print_message(options, f"there are more: --after {clean_one_line(found.next)}")


def _row(fact: Fact) -> list[str]:
    return [fact.id, fact.title, fact.type, str(fact.priority), fact.scope]


def print_forgotten(options: Options, done: ForgetResult, *, waits: bool = False) -> None:
    """A fact that was deleted or brought back."""
    if options.json:
        print_json({**to_builtins(done), **_is_queued(waits)})
        return
    echo(f"{clean_one_line(done.id)}\t{clean_one_line(done.status)}")
    _print_queued(options, waits=waits)
    if done.status == "forgotten":
        print_message(options, f"`vaultsync restore {clean_one_line(done.id)}` brings it back")


def print_conflict_found(conflicts: Sequence[Conflict], fact_id: str) -> Conflict | None:
    """The conflict that a change of a fact met."""
    return next((each for each in conflicts if each.fact_id == fact_id), None)


def print_kept(options: Options, conflict: Conflict | None) -> None:
    """Why a fact is there still: an edit beats a deletion."""
    words = "a person changed its note too, so it stays"
    if conflict is not None:
        where = conflict.conflict_path or f"conflict {conflict.id}"
        words += f"; {where} asks what shall be"
    print_message(options, clean_one_line(words))


def print_transferred(options: Options, number: int, what: str, *, data: bool) -> None:
    """How many facts went; `data`: stdout is free for it."""
    if options.json:
        print_json({"facts": number})
    elif data and not options.quiet:
        echo(f"{count_noun(number, 'fact')} {clean(what)}")
    else:
        print_message(options, count_noun(number, "fact"))
