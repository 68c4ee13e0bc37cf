"""`resolve`: resolve conflicts, by options or by asking on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from vaultsync.api.memory import SIDES, Memory
from vaultsync.cli.exit_codes import EXIT_DONE, EXIT_NEEDS_REVIEW
from vaultsync.cli.format_conflicts import draw_conflict, print_conflicts, print_resolved
from vaultsync.cli.format_reports import print_report
from vaultsync.cli.open_vault import open_memory
from vaultsync.cli.options import choice_option, common, completes, text_option
from vaultsync.cli.output import Options, clean_one_line, echo, is_terminal
from vaultsync.errors import ConflictNotFoundError
from vaultsync.notes.conflict_note import ConflictRecord
from vaultsync.operations.settle_copies import COPY_DECISIONS

LATER, QUIT = "later", "quit"


class _QuitError(Exception):
    """The user quits."""


Decision = tuple[str, str, str | None]
"""The id of a conflict, the side whose values to keep, and the field; None for all fields."""


@click.command()
@click.argument(
    "conflict_id", metavar="[CONFLICT_ID]", required=False, shell_complete=completes("conflict")
)
@choice_option(
    "--take",
    [*SIDES, *COPY_DECISIONS],
    "Keep the values of this side; for a conflict copy: merge, keep or drop.",
)
@text_option("--field", "F", "Only this field; default: all fields.")
@common
def resolve(
    options: Options, *, conflict_id: str | None, take: str | None, field: str | None
) -> int:
    """Resolve a conflict.

    Without --take, shows each field and asks which value to keep (in a terminal only). Without
    CONFLICT_ID, does this for all conflicts and conflict copies. Nothing is written before your
    last answer.

    CONFLICT_ID may be the id or the path of its fact, too, and the path of a conflict
    copy of a sync tool: merge merges it into its note, keep turns it into a separate note, and drop
    deletes it.
    """
    if take is not None and conflict_id is None:
        message = "missing argument 'CONFLICT_ID': --take resolves one conflict"
        raise click.UsageError(message)
    if field is not None and take in COPY_DECISIONS:
        raise click.UsageError(f"--take {take} is for a whole conflict copy: leave out --field")
    if take is not None and conflict_id is not None:
        with open_memory(options) as memory:
            if take in COPY_DECISIONS:
                report = memory.settle_copy(conflict_id, take=take)
                return print_report(options, report, memory.conflicts(), verbose=False)
            resolved = memory.resolve(conflict_id, take=take, field=field)
            return print_resolved(options, resolved, memory.conflicts())
    if options.json or not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        message = "missing option '--take': it is only asked for on a terminal"
        raise click.UsageError(message)
    with open_memory(options) as memory:
        return _ask_and_resolve(options, memory, conflict_id, field)


def _ask_and_resolve(
    options: Options, memory: Memory, conflict_id: str | None, field: str | None
) -> int:
    conflicts = [each for each in memory.conflicts() if each.is_called(conflict_id or "")]
    if conflict_id is not None and len(conflicts) != 1:
        raise ConflictNotFoundError(conflict_id)
    copies = memory.conflict_copies() if conflict_id is field is None else ()
    if not (conflicts or copies):
        options.print_message("no open conflicts")
        return EXIT_DONE
    try:
        decisions = ask(conflicts, field) if conflicts else []
        answers = {
            each.path: _ask_about(f"{each.path}, a conflict copy of {each.note}", COPY_DECISIONS)
            for each in copies
        }
    except _QuitError:
        options.print_message("stopped: nothing was resolved")
        return EXIT_NEEDS_REVIEW
    for decided_id, side, one_field in decisions:
        resolved = memory.resolve(decided_id, take=side, field=one_field)
        print_resolved(options, resolved, memory.conflicts())
    for path, answer in answers.items():
        if answer != LATER:
            memory.settle_copy(path, take=answer)
    still_open, open_copies = memory.conflicts(), memory.conflict_copies()
    if answers:
        return print_conflicts(options, still_open, open_copies)
    return EXIT_NEEDS_REVIEW if still_open else EXIT_DONE


def ask(conflicts: Sequence[ConflictRecord], only: str | None) -> list[Decision]:
    """Show conflicts and ask about each field, or only about the field `only`.

    Raises:
        _QuitError: the user quits; previous answers are discarded.
        click.UsageError: no conflict has that field.
    """
    decisions: list[Decision] = []
    questions = 0
    for each in conflicts:
        names = [field.field for field in each.fields if only in (None, field.field)]
        questions += len(names)
        if names:
            draw_conflict(each)
        answers = {name: _ask_about(name, SIDES) for name in names}
        decisions += _decisions(each, answers)
    if not questions:
        raise click.UsageError(f"no conflict is about {only}")
    return decisions


def _ask_about(subject: str, choices: Sequence[str]) -> str:
    """Ask what to do with a field or a copy; returns a choice or `later`, or raises _QuitError."""
    words = {each[0]: each for each in (*choices, LATER, QUIT)}
    menu = ", ".join(f"[{word[0]}]{word[1:]}" for word in words.values())
    while True:
        answer = click.prompt(f"{clean_one_line(subject)}: {menu}", err=True).strip().lower()
        word = words.get(answer[:1])
        if word is not None and (answer in words or answer == word):
            break
        echo("answer with one of these words, or with its first letter", err=True)
    if word == QUIT:
        raise _QuitError
    return word


def _decisions(conflict: ConflictRecord, answers: dict[str, str]) -> Iterator[Decision]:
    """The decisions from the answers: one for all fields if they agree, else one per field."""
    sides = {*answers.values()}
    if len(sides) == 1 and len(answers) == len(conflict.fields):
        side = sides.pop()
        if side != LATER:
            yield conflict.id, side, None
        return
    for field, side in answers.items():
        if side != LATER:
            yield conflict.id, side, field
