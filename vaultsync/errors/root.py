"""The root of all errors."""

from __future__ import annotations


class VaultsyncError(Exception):
    """The root of all errors that vaultsync raises on purpose.

    `message` says what happened and why, `hint` what to do.
    """

    run: str | None = None
    """The pass that was stopped, and can be confirmed."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
