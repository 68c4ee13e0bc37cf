"""The help of all commands is part of the contract: its diff is read in review.

With VAULTSYNC_UPDATE_GOLDEN=1 the page is written anew; read the diff then.
"""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from tests.surfaces.command_line import run
from vaultsync.cli import SECTIONS, cli

PAGE = Path(__file__).parent.parent.parent / "golden" / "surface" / "cli-help.txt"
NAMES = [str(each.name) for _, section in SECTIONS for each in section]


def all_help() -> str:
    """Every `--help`, each under the command line that asks for it."""
    asked = [("--help",), *((name, "--help") for name in NAMES)]
    return "\n".join(
        f"$ vaultsync {' '.join(words)}\n{run(*words).stdout}" for words in asked
    )


def test_the_help_is_as_the_golden_page_says() -> None:
    if os.environ.get("VAULTSYNC_UPDATE_GOLDEN") == "1":
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(all_help(), encoding="utf-8")

    assert all_help() == PAGE.read_text(encoding="utf-8")


def test_every_command_is_in_a_section_and_explains_itself() -> None:
    assert set(NAMES) == set(cli.commands)
    for name in NAMES:
        assert cli.commands[name].help
        assert "..." not in cli.commands[name].get_short_help_str(64)


@pytest.mark.parametrize("name", [each for each in NAMES if each != "completion"])
def test_every_command_takes_the_common_options(name: str) -> None:
    options = {word for each in cli.commands[name].params for word in each.opts}

    assert {"--vault", "--state-dir", "--json", "--quiet"} <= options


@pytest.mark.parametrize("name", NAMES)
def test_every_option_explains_itself(name: str) -> None:
    explained = [
        each.help
        for each in cli.commands[name].params
        if isinstance(each, click.Option)
    ]

    assert all(explained)
