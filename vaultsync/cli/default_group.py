"""A group of commands with a default command."""

from __future__ import annotations

from typing import Any

import click


class DefaultGroup(click.Group):
    """A group that runs a default command, with the options that follow, when none is named."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - passed on to click
        default: str,
        **extra: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **extra)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command if there are no arguments, or the first one is an option."""
        is_option = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        if (is_option or not args) and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
