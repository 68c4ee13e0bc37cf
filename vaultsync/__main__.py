"""The program `vaultsync`, also as `python -m vaultsync`."""

from __future__ import annotations

from typing import NoReturn

_INTERRUPTED = 130
"""As `EXIT_INTERRUPTED` of the command line, which is not loaded yet."""


def main() -> NoReturn:
    """Load the command line and run it; Ctrl-C ends it without a traceback from the start."""
    try:
        from vaultsync.cli.main import main as run  # noqa: PLC0415 - takes longest
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    run()


if __name__ == "__main__":
    main()
