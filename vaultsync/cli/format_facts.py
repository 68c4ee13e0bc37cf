"""Facts, as JSON or for a person. Loaded when there is an answer."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence

from vaultsync.api.opening import Initialised
from vaultsync.cli.options import Options
from vaultsync.cli.output import (
    clean,
    dim,
    echo,
    emit,
    is_terminal,
    one_line,
    say,
    style,
    table,
)
from vaultsync.facts.listing import Page
from vaultsync.facts.service import Forgotten
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.model.serialization import public
from vaultsync.notes.conflict_note import Conflict

WIDE = 120
"""Columns of a terminal that has room for a scope beside a path."""
_TEXTS = ("id", "title", "content", "path", "revision", "properties")


def shown(value: Value) -> str:
    """A value as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ", ".join(shown(each) for each in value)
    return json.dumps(value, ensure_ascii=False)


def pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and what they are, in two columns."""
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        echo(f"{dim(name.ljust(width))}  {one_line(text)}")


def count(number: int, word: str, *, many: str = "") -> str:
    """`1 note`, `2 notes`."""
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def initialised(options: Options, made: Initialised) -> None:
    """A vault that is ready."""
    if options.json:
        emit(
            {
                "vault": made.vault,
                "vault_id": made.vault_id,
                "state_dir": made.state_dir,
                "store": made.store,
            }
        )
        return
    pairs(
        [
            ("vault", made.vault),
            ("vault id", made.vault_id),
            ("state", made.state_dir),
            ("store", made.store),
        ]
    )
    say(
        options,
        "\nNext, in that folder:\n"
        '  vaultsync remember "We meet on Tuesdays."   keeps a fact and its note\n'
        "  vaultsync adopt --dry-run                   shows which notes become facts\n"
        "  vaultsync sync                              makes both sides equal",
    )


def remembered(options: Options, fact: Fact, *, waits: bool) -> None:
    """A new fact."""
    if options.json:
        emit({**public(fact), "mirrored": fact.path is not None, **_waits(waits)})
        return
    echo(one_line(fact.id))
    say(options, f"remembered {_named(fact)}, {_place(fact)}")
    _say_that_it_waits(options, waits=waits)


def changed(
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
        emit({**public(fact), **found, **_waits(waits)})
        return
    echo(one_line(fact.id))
    where = "its note follows" if waits else _place(fact)
    say(options, f"{_named(fact)}: {what}, {where}")
    _say_that_it_waits(options, waits=waits)
    if conflict is not None:
        fields = ", ".join(each.field for each in conflict.fields)
        kept = conflict.conflict_path or f"conflict {conflict.id}"
        words = f"a person changed {fields} too: theirs stands, yours is in {kept}"
        say(options, one_line(words))


def _waits(waits: bool) -> dict[str, Value]:  # noqa: FBT001 - a word of its caller
    return {"waits": True} if waits else {}


def _say_that_it_waits(options: Options, *, waits: bool) -> None:
    if waits:
        say(
            options,
            "the store does not answer: it waits in the outbox, and the next pass"
            " after the store is back brings it over",
        )


def _named(fact: Fact) -> str:
    return f"“{one_line(fact.title)}”"


def _place(fact: Fact) -> str:
    if fact.path is None:
        return "its note follows with the next pass"
    return f"in {one_line(fact.path)}"


def whole_fact(options: Options, fact: Fact) -> None:
    """A fact like its note: title, properties, content."""
    values = public(fact)
    if options.json:
        emit(values)
        return
    echo(style(f"# {one_line(fact.title)}", bold=True) + "\n")
    rows = [("id", fact.id), ("path", fact.path or "no note yet")]
    rows += [(key, shown(value)) for key, value in values.items() if key not in _TEXTS]
    rows += [(key, shown(value)) for key, value in fact.properties.items()]
    rows.append(("revision", fact.revision))
    pairs([(one_line(key), text) for key, text in rows])
    if fact.content:
        echo(f"\n{clean(fact.content)}")


def page(options: Options, found: Page) -> None:
    """Some facts, a line each."""
    if options.json:
        emit(found.as_json())
        return
    width = shutil.get_terminal_size().columns
    if is_terminal(sys.stdout) and width < WIDE:
        heads = ["id", "title", "type", "p", "path"]
        rows = [[*_row(each)[:4], each.path or each.scope] for each in found.facts]
    else:
        heads = ["id", "title", "type", "p", "scope", "path"]
        rows = [[*_row(each), each.path or ""] for each in found.facts]
    table(heads, rows, whole=("id", "type", "p", "scope"))
    if not found.facts:
        say(options, "no facts")
    if found.next:
        say(options, f"there are more: --after {one_line(found.next)}")


def _row(fact: Fact) -> list[str]:
    return [fact.id, fact.title, fact.type, str(fact.priority), fact.scope]


def forgotten(options: Options, done: Forgotten, *, waits: bool = False) -> None:
    """A fact that was deleted or brought back."""
    if options.json:
        emit({**done.as_json(), **_waits(waits)})
        return
    echo(f"{one_line(done.id)}\t{one_line(done.status)}")
    _say_that_it_waits(options, waits=waits)
    if done.status == "forgotten":
        say(options, f"`vaultsync restore {one_line(done.id)}` brings it back")


def met(conflicts: Sequence[Conflict], fact_id: str) -> Conflict | None:
    """The conflict that a change of a fact met."""
    return next((each for each in conflicts if each.fact_id == fact_id), None)


def kept(options: Options, conflict: Conflict | None) -> None:
    """Why a fact is there still: an edit beats a deletion."""
    words = "a person changed its note too, so it stays"
    if conflict is not None:
        where = conflict.conflict_path or f"conflict {conflict.id}"
        words += f"; {where} asks what shall be"
    say(options, one_line(words))


def transferred(options: Options, number: int, what: str, *, data: bool) -> None:
    """How many facts went; `data`: stdout is free for it."""
    if options.json:
        emit({"facts": number})
    elif data and not options.quiet:
        echo(f"{count(number, 'fact')} {clean(what)}")
    else:
        say(options, count(number, "fact"))
