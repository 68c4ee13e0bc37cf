"""What commands answer, as JSON or for a person. Loaded when there is an answer."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence

from vaultsync.app import Initialised
from vaultsync.cli.failure import DONE, WAITS
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
from vaultsync.core.conflict import Conflict
from vaultsync.core.fact import Fact
from vaultsync.core.fields import Value
from vaultsync.core.wire import public
from vaultsync.engine.facts import Forgotten, Page
from vaultsync.engine.report import (
    ActionTaken,
    Check,
    Report,
    Status,
    Verification,
)
from vaultsync.ports import Attention

MANY = 20
"""Actions that are listed unless all are wanted."""
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


# ------------------------------------------------------------------------------- facts


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


def remembered(options: Options, fact: Fact) -> None:
    """A new fact."""
    if options.json:
        emit({**public(fact), "mirrored": fact.path is not None})
        return
    echo(one_line(fact.id))
    say(options, f"remembered {_named(fact)}, {_place(fact)}")


def changed(
    options: Options, fact: Fact, what: str, *, conflict: Conflict | None = None
) -> None:
    """A fact after a change, and the conflict that it met."""
    if options.json:
        found = {"conflict": conflict.id} if conflict else {}
        emit({**public(fact), **found})
        return
    echo(one_line(fact.id))
    say(options, f"{_named(fact)}: {what}, {_place(fact)}")
    if conflict is not None:
        fields = ", ".join(each.field for each in conflict.fields)
        kept = conflict.conflict_path or f"conflict {conflict.id}"
        words = f"a person changed {fields} too: theirs stands, yours is in {kept}"
        say(options, one_line(words))


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
        emit({"facts": [public(each) for each in found.facts], "next": found.next})
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


def forgotten(options: Options, done: Forgotten) -> None:
    """A fact that was deleted or brought back."""
    if options.json:
        emit({"id": done.id, "status": done.status})
        return
    echo(f"{one_line(done.id)}\t{one_line(done.status)}")


def transferred(options: Options, number: int, what: str, *, data: bool) -> None:
    """How many facts went; `data`: stdout is free for it."""
    if options.json:
        emit({"facts": number})
    elif data and not options.quiet:
        echo(f"{count(number, 'fact')} {clean(what)}")
    else:
        say(options, count(number, "fact"))


# ------------------------------------------------------------------------------ mirror

_DID = (
    ("created_in_vault", "note", "created"),
    ("updated_in_vault", "note", "updated"),
    ("deleted_in_vault", "note", "deleted"),
    ("created_in_store", "fact", "created"),
    ("updated_in_store", "fact", "updated"),
    ("deleted_in_store", "fact", "deleted"),
    ("moved", "note", "moved"),
    ("merged", "fact", "merged"),
    ("conflicts", "conflict", ""),
)


def summary(done: Report) -> str:
    """One line: `3 notes created, 1 fact updated, 1 conflict`."""
    said = [
        f"{count(number, word)} {verb}".rstrip()
        for name, word, verb in _DID
        if (number := done.counts.get(name, 0))
    ]
    if not said:
        same = count(done.counts.get("unchanged", 0), "fact")
        idle = "nothing changed on either side" if done.actions else "nothing to do"
        return f"{idle}, {same} unchanged"
    line = ", ".join(said)
    return f"dry run, nothing was done; it would be: {line}" if done.dry_run else line


def report(
    options: Options, done: Report, open_conflicts: Sequence[Conflict], *, verbose: bool
) -> int:
    """What a pass did; returns the exit code."""
    code = WAITS if done.attention or open_conflicts else DONE
    if done.counts.get("conflicts", 0):
        code = WAITS  # of a dry run, say: it would wait
    if options.json:
        emit(done.as_json())
        return code
    if not options.quiet:
        echo(style(summary(done), bold=True))
        _actions(done.actions, options, verbose=verbose)
    attention(done.attention)
    if open_conflicts:
        waiting = count(len(open_conflicts), "open conflict")
        say(options, f"\n{waiting}: `vaultsync conflicts` shows what differs")
    if not done.dry_run and not done.quiet:
        seconds = f"{done.seconds:.2f} s"
        say(
            options,
            dim(f"\n{seconds}; `vaultsync undo {clean(done.run)}` takes it back"),
        )
    return code


def _actions(taken: Sequence[ActionTaken], options: Options, *, verbose: bool) -> None:
    if not taken:
        return
    some = taken if verbose else taken[:MANY]
    if is_terminal(sys.stdout):
        echo()
    table(
        ["action", "note or fact", "fields", "why"],
        [
            [
                each.action.replace("_", " "),
                each.path or each.fact_id,
                ", ".join(each.fields),
                each.reason,
            ]
            for each in some
        ],
        whole=("action",),
    )
    if len(some) < len(taken):
        say(options, f"… and {len(taken) - len(some):,} more: --verbose lists them all")


def attention(notices: Sequence[Attention]) -> None:
    """What waits for a person: where, what and how to mend it."""
    for each in notices:
        where = f"{each.path}:{each.line}" if each.line else str(each.path)
        said = one_line(each.message)
        if where and not said.startswith(one_line(str(each.path))):
            said = f"{one_line(where)}: {said}"
        echo(f"\n{style('!', fg='yellow', bold=True)} {said}")
        if each.hint:
            echo(f"  {style('hint:', bold=True)} {one_line(each.hint)}")


def status(options: Options, found: Status) -> int:
    """What waits and what is wrong; returns the exit code."""
    code = WAITS if found.attention or found.conflicts else DONE
    if options.json:
        emit(found.as_json())
        return code
    pairs(
        [
            ("facts", f"{found.facts:,}"),
            ("notes", f"{found.notes:,}"),
            ("pending", _then(found.pending, "vaultsync sync")),
            ("conflicts", _then(found.conflicts, "vaultsync conflicts")),
            ("outbox", f"{found.outbox:,}"),
            ("foreign", _then(found.foreign, "vaultsync adopt --dry-run")),
            ("last run", _last_run(found)),
            ("engine", found.engine),
        ]
    )
    attention(found.attention)
    return code


def _then(number: int, command: str) -> str:
    return f"{number:,} (`{command}`)" if number else "0"


def _last_run(found: Status) -> str:
    if not found.last_run:
        return "none yet"
    named = [found.last_run.get(key) for key in ("at", "kind", "run")]
    return " ".join(shown(each) for each in named if each)


def verification(options: Options, found: Verification) -> None:
    """The proof that both sides are equal, or where they are not."""
    if options.json:
        emit(found.as_json())
        return
    if found.equal:
        echo(f"equal: {count(found.checked, 'fact')}, field by field")
        return
    differ = count(len(found.differences), "difference")
    echo(style(f"not equal: {differ} in {count(found.checked, 'fact')}", bold=True))
    table(
        ["note or fact", "field", "vault", "store", "base", "why"],
        [
            [
                each.path or each.fact_id,
                each.field,
                shown(each.vault),
                shown(each.store),
                shown(each.base),
                each.why,
            ]
            for each in found.differences
        ],
        whole=("field",),
    )
    say(options, "`vaultsync sync` makes them equal; `rebuild` when it cannot")


def checks(options: Options, found: Sequence[Check]) -> None:
    """What was checked, each with its mark."""
    if options.json:
        emit({"checks": [each.as_json() for each in found]})
        return
    fancy = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    good, bad = ("✓", "✗") if fancy else ("ok", "FAILED")
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        mark = style(good, fg="green") if each.ok else style(bad, fg="red", bold=True)
        echo(f"{mark} {one_line(each.name).ljust(width)}  {one_line(each.message)}")
        if each.hint and not each.ok:
            echo(f"  {' ' * width}  {style('hint:', bold=True)} {one_line(each.hint)}")
