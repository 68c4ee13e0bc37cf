"""What all commands take, and the kinds of words that several of them take.

`--set K=V` and `--field K=V`: texts from the command line -> values of fields.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

import click

from vaultsync.model.schema import FIELDS_BY_KEY, OWN_FIELDS_BY_KEY, Value, ValueKind

_LISTS = {ValueKind.LINES, ValueKind.LINKS, ValueKind.IDS}
_JSON = {
    ValueKind.PRIORITY,
    ValueKind.SHARE,
    ValueKind.NUMBER,
    ValueKind.COUNT,
    ValueKind.FLAG,
}


def parse_fields(settings: Iterable[tuple[str, str]]) -> dict[str, Value]:
    """The values by key.

    Raises:
        click.UsageError: a key was named twice, and one of them would be lost.
    """
    found: dict[str, Value] = {}
    for key, text in settings:
        if key in found:
            message = f'{key} was given twice; a list is written as {key}=\'["a", "b"]\''
            raise click.UsageError(message)
        found[key] = parse_field(key, text)
    return found


def parse_field(key: str, text: str) -> Value:
    """What `text` says where `key` stands: JSON where it takes JSON, else the text.

    A field of text takes `1.10` and `true` as they are spelled; `null` clears any.
    """
    try:
        said: Value = json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return text
    if said is None:
        return None
    if isinstance(said, (str, dict)):
        return text
    kind = _kind(key)
    if kind in _LISTS:
        return said if isinstance(said, list) else text
    return said if kind is None or kind in _JSON else text


def _no_json(constant: str) -> Value:
    raise ValueError(constant)  # NaN and Infinity are no JSON


def _kind(key: str) -> ValueKind | None:
    """What the field takes; None for a property. `outcome` is `decisionOutcome`."""
    row = FIELDS_BY_KEY.get(key) or OWN_FIELDS_BY_KEY.get(key)
    if row is None:
        ending = key[:1].upper() + key[1:]
        short = [OWN_FIELDS_BY_KEY[full] for full in OWN_FIELDS_BY_KEY if full.endswith(ending)]
        row = short[0] if short else None
    return row.kind if row else None


class Options(NamedTuple):
    """What every command was told."""

    vault: str | None
    state_dir: str | None
    json: bool
    quiet: bool


def common(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the common options; it gets them as its first argument."""

    @click.option(
        "--vault",
        metavar="PATH",
        envvar="VAULTSYNC_VAULT",
        help="The vault; else $VAULTSYNC_VAULT, else the nearest upwards.",
    )
    @click.option(
        "--state-dir",
        metavar="DIR",
        envvar="VAULTSYNC_STATE_DIR",
        help="Where the state of vaults lies; else $VAULTSYNC_STATE_DIR.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object, on failure too.")
    @click.option("-q", "--quiet", is_flag=True, help="Print data and errors only.")
    @functools.wraps(command)
    def run(
        *,
        vault: str | None,
        state_dir: str | None,
        as_json: bool,
        quiet: bool,
        **said: object,
    ) -> int:
        return command(Options(vault, state_dir, as_json, quiet), **said)

    return run


agent_option = click.option(
    "--agent",
    metavar="NAME",
    envvar="VAULTSYNC_AGENT",
    help="The agent that acts; else $VAULTSYNC_AGENT, else a person.",
)


def complete_type(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """The types that begin with what was typed, for the shell."""
    from vaultsync.model.schema import TYPES

    return [name for name in TYPES if name.startswith(typed)]


def filters(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command what narrows a question: `types`, `scopes`, `tags` and `user`."""
    for option in (
        click.option("--user", metavar="U", help="Only what is about a user."),
        click.option(
            "--tag",
            "tags",
            metavar="X",
            multiple=True,
            help="Only with a tag; repeatable.",
        ),
        click.option(
            "--scope",
            "scopes",
            metavar="S",
            multiple=True,
            help="Only a scope; repeatable.",
        ),
        click.option(
            "--type",
            "types",
            metavar="T",
            multiple=True,
            shell_complete=complete_type,
            help="Only those of a type; repeatable.",
        ),
    ):
        command = option(command)
    return command


def parse_pairs(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Part `KEY=VALUE` at the first `=`, for an option that may be repeated.

    Raises:
        click.BadParameter: there is no `=`, or nothing before it.
    """
    found = []
    for each in given:
        key, equals, text = each.partition("=")
        if not equals or not key.strip():
            message = f"{each!r} is not of the form K=V"
            raise click.BadParameter(message)
        found.append((key.strip(), text))
    return tuple(found)


def non_empty_question(_context: click.Context, _parameter: click.Parameter, given: str) -> str:
    """A question that asks something.

    Raises:
        click.UsageError: it is empty.
    """
    if not given.strip():
        message = "there is no question: what was given is empty"
        raise click.UsageError(message)
    return given


def text_or_stdin(given: str | None, *, what: str) -> str:
    """The text that was given, or stdin for `-` and for nothing in a pipe.

    Raises:
        click.UsageError: there is none, or it is not UTF-8.
    """
    if given is not None and given != "-":
        return given
    if sys.stdin is None or (given is None and sys.stdin.isatty()):
        message = f"there is no {what}: give it as an argument, or pipe it in"
        raise click.UsageError(message)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        message = f"what was piped in is not UTF-8 (byte {wrong.start})"
        raise click.UsageError(message) from None
