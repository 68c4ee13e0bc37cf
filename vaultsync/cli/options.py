"""Options that commands share, and how their values are parsed.

The table of fields is imported where a value is parsed, since `--help` loads this module.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from vaultsync.model.schema import Value, ValueKind


def parse_fields(pairs: Iterable[tuple[str, str]]) -> dict[str, Value]:
    """Parse the `K=V` pairs of `--set` and `--field` into values by key.

    Raises:
        click.UsageError: a key is given twice.
    """
    values: dict[str, Value] = {}
    for key, text in pairs:
        if key in values:
            message = f'{key} was given twice; a list is written as {key}=\'["a", "b"]\''
            raise click.UsageError(message)
        values[key] = parse_field(key, text)
    return values


def parse_field(key: str, text: str) -> Value:
    """Parse the value of a field: as JSON where the field takes JSON, else as text.

    A text field keeps `1.10` and `true` as they are written; `null` clears any field.
    """
    from vaultsync.model.schema import ValueKind

    try:
        value: Value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return text
    if value is None:
        return None
    if isinstance(value, (str, dict)):
        return text
    kind = _kind(key)
    if kind in {ValueKind.LINES, ValueKind.LINKS, ValueKind.IDS}:
        return value if isinstance(value, list) else text
    numeric = {
        ValueKind.PRIORITY,
        ValueKind.SHARE,
        ValueKind.NUMBER,
        ValueKind.COUNT,
        ValueKind.FLAG,
    }
    return value if kind is None or kind in numeric else text


def _reject_constant(constant: str) -> Value:
    raise ValueError(constant)  # NaN and Infinity are not JSON


def _kind(key: str) -> ValueKind | None:
    """The kind of a field's value; None for a property. `outcome` is `decisionOutcome`."""
    from vaultsync.model.schema import FIELDS_BY_KEY, OWN_FIELDS_BY_KEY

    row = FIELDS_BY_KEY.get(key) or OWN_FIELDS_BY_KEY.get(key)
    if row is None:
        ending = key[:1].upper() + key[1:]
        short = (field for full, field in OWN_FIELDS_BY_KEY.items() if full.endswith(ending))
        row = next(short, None)
    return row.kind if row else None


class Options(NamedTuple):
    """The options that every command takes."""

    vault: str | None
    state_dir: str | None
    json: bool
    quiet: bool


def common(command: Callable[..., int]) -> Callable[..., int]:
    """Add the common options to a command, which receives them as its first argument."""

    @click.option(
        "--vault",
        metavar="PATH",
        envvar="VAULTSYNC_VAULT",
        help="The vault; default: $VAULTSYNC_VAULT, else the nearest parent folder that is a"
        " vault.",
    )
    @click.option(
        "--state-dir",
        metavar="DIR",
        envvar="VAULTSYNC_STATE_DIR",
        help="Folder for the state of vaults; default: $VAULTSYNC_STATE_DIR.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object, also on failure.")
    @click.option("-q", "--quiet", is_flag=True, help="Print only data and errors.")
    @functools.wraps(command)
    def run(
        *, vault: str | None, state_dir: str | None, as_json: bool, quiet: bool, **values: object
    ) -> int:
        return command(Options(vault, state_dir, as_json, quiet), **values)

    return run


agent_option = click.option(
    "--agent",
    metavar="NAME",
    envvar="VAULTSYNC_AGENT",
    help="The agent that acts; default: $VAULTSYNC_AGENT, else the user.",
)


def complete_type(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """List the types that begin with `typed`, for shell completion."""
    from vaultsync.model.schema import TYPES

    return [name for name in TYPES if name.startswith(typed)]


def filters(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that filter results: `types`, `scopes`, `tags` and `user`."""
    for option in (
        click.option("--user", metavar="U", help="Only facts about this user."),
        click.option(
            "--tag",
            "tags",
            metavar="X",
            multiple=True,
            help="Only facts with this tag; repeatable.",
        ),
        click.option(
            "--scope",
            "scopes",
            metavar="S",
            multiple=True,
            help="Only facts in this scope; repeatable.",
        ),
        click.option(
            "--type",
            "types",
            metavar="T",
            multiple=True,
            shell_complete=complete_type,
            help="Only facts of this type; repeatable.",
        ),
    ):
        command = option(command)
    return command


def parse_pairs(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Split each `KEY=VALUE` of a repeatable option at its first `=`.

    Raises:
        click.BadParameter: there is no `=`, or nothing before it.
    """
    pairs = []
    for each in given:
        key, equals, text = each.partition("=")
        if not equals or not key.strip():
            message = f"{each!r} is not of the form K=V"
            raise click.BadParameter(message)
        pairs.append((key.strip(), text))
    return tuple(pairs)


def non_empty_question(_context: click.Context, _parameter: click.Parameter, given: str) -> str:
    """Accept a query that is not empty.

    Raises:
        click.UsageError: it is empty.
    """
    if not given.strip():
        message = "the query is empty"
        raise click.UsageError(message)
    return given


def text_or_stdin(given: str | None, *, what: str) -> str:
    """Return the text that was given; `-`, or nothing in a pipe, reads stdin.

    Raises:
        click.UsageError: there is none, or it is not UTF-8.
    """
    if given is not None and given != "-":
        return given
    if sys.stdin is None or (given is None and sys.stdin.isatty()):
        message = f"no {what}: give it as an argument, or pipe it in"
        raise click.UsageError(message)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8 (byte {error.start})"
        raise click.UsageError(message) from None
