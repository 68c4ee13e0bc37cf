"""Options that commands share, and the parsing of their values."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from vaultsync.cli.command_log import command_log
from vaultsync.cli.output import Options
from vaultsync.errors import VaultsyncError
from vaultsync.model.schema import TYPES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_log = logging.getLogger(__name__)

Command = Callable[..., int | None]
"""A function that click calls; it returns the exit code, or None for 0."""


def flag(name: str, text: str, parameter: str = "") -> Callable[[Command], Command]:
    """An option without a value; `text` is its help, `parameter` the name of its argument."""
    return click.option(name, *filter(None, [parameter]), is_flag=True, help=text)


def text_option(
    name: str,
    metavar: str | None,
    text: str,
    parameter: str = "",
    *,
    names: str = "",
    **more: Any,  # noqa: ANN401 - passed on to click
) -> Callable[[Command], Command]:
    """An option with a value; `text` is its help, to which a default is added.

    A shell completes it with `names`, as `completes()` knows them.
    """
    more.setdefault("shell_complete", completes(names) if names else None)
    more.setdefault("show_default", more.get("default") is not None)
    return click.option(name, *filter(None, [parameter]), metavar=metavar, help=text, **more)


def named_option(
    name: str,
    metavar: str,
    text: str,
    parameter: str = "",
    **more: Any,  # noqa: ANN401 - passed on to click
) -> Callable[[Command], Command]:
    """An option like `text_option()` for a name or a path, which must not be empty."""
    return text_option(name, metavar, text, parameter, callback=_not_empty, **more)


def _not_empty(_context: click.Context, parameter: click.Parameter, value: object) -> object:
    """Refuse an empty value, as that of a shell's variable that is not set."""
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.BadParameter("it is empty", param=parameter)
    return value


def choice_option(
    name: str, choices: Sequence[str], text: str, parameter: str = "", *, default: str | None = None
) -> Callable[[Command], Command]:
    """An option for one of some words; `text` is its help, to which a default is added."""
    return text_option(name, None, text, parameter, type=click.Choice(choices), default=default)


def verbose_flag(text: str) -> Callable[[Command], Command]:
    """The option `--verbose`; `text` is its help."""
    return click.option("-v", "--verbose", is_flag=True, help=text)


details_option = verbose_flag("Log details on stderr, too.")


def common(command: Command) -> Command:
    """Add the common options to a command, which gets them as its first argument.

    A command with a parameter `verbose` must have its own option `--verbose`.
    """
    takes_verbose = "verbose" in inspect.signature(command).parameters
    command = command if takes_verbose else details_option(command)

    @named_option(
        "--vault",
        "PATH",
        "The vault; default: $VAULTSYNC_VAULT, else the nearest parent folder that is a vault.",
        envvar="VAULTSYNC_VAULT",
    )
    @named_option(
        "--state-dir",
        "DIR",
        "Folder for the state of vaults; default: $VAULTSYNC_STATE_DIR, else"
        " ~/.local/state/vaultsync.",
        envvar="VAULTSYNC_STATE_DIR",
    )
    @flag("--json", "Print one JSON object, also on failure.", "as_json")
    @click.option("-q", "--quiet", is_flag=True, help="Print only data and errors.")
    @functools.wraps(command)
    def run(
        *,
        vault: str | None,
        state_dir: str | None,
        as_json: bool,
        quiet: bool,
        verbose: bool,
        agent: str | None = None,
        **values: object,
    ) -> int | None:
        options = Options(vault, state_dir, as_json, quiet, agent, verbose)
        if takes_verbose:
            values["verbose"] = verbose
        with command_log(options):
            return command(options, **values)

    return run


def agent_named(text: str) -> Callable[[Command], Command]:
    """The option `--agent`; `text` is its help."""
    return named_option("--agent", "NAME", text, envvar="VAULTSYNC_AGENT")


agent_option = agent_named("Act as this agent; default: $VAULTSYNC_AGENT, else the user.")


def complete_type(_context: click.Context, _parameter: click.Parameter, prefix: str) -> list[str]:
    """List the types that begin with `prefix`, for shell completion."""
    return [name for name in TYPES if name.startswith(prefix)]


def completes(kind: str) -> Callable[..., list[CompletionItem]]:
    """A function for shell completion of a `fact`, `run` or another kind of `complete_name()`."""

    def complete(
        context: click.Context, _parameter: click.Parameter, prefix: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from vaultsync.api.completion import complete_name

        params = context.params
        vault, state_dir, agent = (params.get(name) for name in ("vault", "state_dir", "agent"))
        try:
            names = complete_name(kind, prefix, path=vault, state_dir=state_dir, agent=agent)
        except (VaultsyncError, OSError) as error:  # a shell shows no error messages
            _log.debug("nothing can be completed: %s", error)
            return []
        return [CompletionItem(name, help=description) for name, description in names]

    return complete


fact_argument = click.argument("fact_id", metavar="ID", shell_complete=completes("fact"))
"""The argument ID of a fact, with shell completion."""


def scope_option(
    text: str, parameter: str = "", *, multiple: bool = False
) -> Callable[[Command], Command]:
    """The option `--scope`, with shell completion; `text` is its help."""
    return named_option("--scope", "S", text, parameter, names="scope", multiple=multiple)


def type_option(*parameter: str, text: str, multiple: bool = False) -> Callable[[Command], Command]:
    """The option `--type`, with shell completion; `text` is its help."""
    complete = complete_type
    return named_option("--type", "T", text, *parameter, multiple=multiple, shell_complete=complete)


def date_option(name: str, text: str) -> Callable[[Command], Command]:
    """An option for a date; its help begins with `text`, such as `Only facts created before`."""
    more = 'this day, month or year, or such as 7d, monday or "last week".'
    return text_option(name, "DATE", f"{text} {more}")


def number_option(
    name: str,
    text: str,
    *,
    metavar: str = "N",
    minimum: int = 0,
    maximum: int | None = None,
    default: int | None = None,
) -> Callable[[Command], Command]:
    """An option for an integer; `text` is its help, to which a default is added."""
    return text_option(name, metavar, text, type=click.IntRange(minimum, maximum), default=default)


verbose_option = verbose_flag(
    "List every action, not only the first 20, and log details on stderr."
)
dry_run_option = flag("--dry-run", "Show what would change, without changing it.")


all_option = flag("--all", "Include facts that are hidden by default.")


def filters(command: Command) -> Command:
    """Add the options that filter results: `types`, `scopes`, `tags`, `user`, `status`, `all`."""
    for option in (
        all_option,
        text_option(
            "--status",
            "S",
            "Only facts with this status, such as active, archived or superseded; default:"
            " all but retired facts.",
            default="",
            show_default=False,
        ),
        named_option("--user", "U", "Only facts about this user."),
        text_option("--tag", "X", "Only facts with this tag; repeatable.", "tags", multiple=True),
        scope_option("Only facts in this scope; repeatable.", "scopes", multiple=True),
        type_option("types", multiple=True, text="Only facts of this type; repeatable."),
    ):
        command = option(command)
    return command


def _joined_question(
    _context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> str:
    """Join the words of a question, which must not be empty."""
    question = " ".join(words)
    if (parameter.required or words) and not question.strip():
        raise click.UsageError("the query is empty")
    return question


question_argument = click.argument(
    "query", metavar="QUERY...", nargs=-1, required=True, callback=_joined_question
)
optional_question_argument = click.argument(
    "query", metavar="[QUERY]...", nargs=-1, callback=_joined_question
)
"""A question that may be left out."""


class DefaultGroup(click.Group):
    """A group that runs a default command, with the options that follow, when none is named."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - passed on to click
        default: str,
        **extra: Any,  # noqa: ANN401 - click's
    ) -> None:
        super().__init__(*args, **extra)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command if there are no arguments, or the first one is an option."""
        is_option = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        if (is_option or not args) and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
