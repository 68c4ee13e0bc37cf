"""The help of all commands is part of the contract: its diff is read in review.

With VAULTSYNC_UPDATE_GOLDEN=1 the page is written anew; read the diff then.
"""

from __future__ import annotations

import click
import pytest

from tests.golden import GOLDEN, RENEW
from tests.surfaces.command_line import run
from vaultsync.cli.main import SHORT_HELP, cli
from vaultsync.cli.usage_errors import OTHER_NAMES

PAGE = GOLDEN / "surface" / "cli-help.txt"
CONTEXT = click.Context(cli)


def below(command: click.Command, *words: str) -> dict[tuple[str, ...], click.Command]:
    """A command and, of a group, all commands in it, by the words that call them."""
    found = {words: command}
    if isinstance(command, click.Group):
        for name in command.list_commands(CONTEXT):
            inner = command.get_command(CONTEXT, name)
            assert inner is not None
            found |= below(inner, *words, name)
    return found


ALL = below(cli)
WORKING = [words for words, each in ALL.items() if not isinstance(each, click.Group)]


def all_help() -> str:
    """Every `--help`, each under the command line that asks for it."""
    asked = [(*words, "--help") for words in ALL]
    return "\n".join(f"$ vaultsync {' '.join(words)}\n{run(*words).stdout}" for words in asked)


def test_the_help_is_as_the_golden_page_says() -> None:
    if RENEW:
        PAGE.write_text(all_help(), encoding="utf-8")

    assert all_help() == PAGE.read_text(encoding="utf-8")


def test_every_command_is_in_the_table_and_explains_itself() -> None:
    for name, text in SHORT_HELP.items():
        assert ALL[name,].get_short_help_str(64) == text
    for words in ALL:
        assert ALL[words].help
        assert not words or "..." not in ALL[words].get_short_help_str(64)


def test_a_name_from_another_program_leads_to_the_command() -> None:
    assert OTHER_NAMES.keys().isdisjoint(SHORT_HELP)
    for name, command in OTHER_NAMES.items():
        assert command in {*SHORT_HELP, "--help", "--version"}
        assert f"no such command '{name}'. Did you mean '{command}'?" in run(name, "x").stderr


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("recall -n 3 sqlite", "--limit"),
        ("log -n 3", "--limit"),
        ("sync -n", "--dry-run"),
        ("sync --force", "--confirm"),
        ("undo -y", "--yes"),
        ("context sqlite --tokens 500", "--budget"),
        ("list --tags team", "--tag"),
        ("list --sort date", "--newest"),
        ("update x --tag team", "--add-tag"),
        ("update x --title y", "--set title=VALUE"),
        ("update x --field a=b", "--set"),
        ("remember x --set a=b", "--field"),
    ],
)
def test_options_of_other_programs_suggest_the_option(words: str, option: str) -> None:
    error = run(*words.split())
    assert error.exit_code == 2
    assert f". Did you mean '{option}'?" in error.stderr


@pytest.mark.parametrize("words", [each for each in WORKING if each != ("completion",)])
def test_every_command_takes_the_common_options(words: tuple[str, ...]) -> None:
    options = {word for each in ALL[words].params for word in each.opts}

    assert {"--vault", "--state-dir", "--json", "--quiet", "--verbose"} <= options


@pytest.mark.parametrize("words", WORKING)
def test_every_option_explains_itself(words: tuple[str, ...]) -> None:
    explained = [each.help for each in ALL[words].params if isinstance(each, click.Option)]

    assert all(explained)
