"""A group of commands, of which one is the default."""

from __future__ import annotations

from typing import Any

import click


class DefaultGroup(click.Group):
    """Commands, of which one runs when none is named; its options may follow the group."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's own
        default: str,
        **extra: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **extra)
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the default command where no command is named."""
        is_option = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        if (is_option or not args) and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
