"""Work that was not done: an index, a model, another engine, an implausible plan."""

from __future__ import annotations

from vaultsync.errors.root import VaultsyncError


class DerivedError(VaultsyncError):
    """Of an index or a model: what is derived can be made again."""


class IndexBusyError(DerivedError):
    """Another process is writing the index."""


class EmbedderError(DerivedError):
    """The model is missing, or its service does not answer."""


class EngineBusyError(VaultsyncError):
    """Another engine has this vault."""

    def __init__(self, vault: str, holder: str = "") -> None:
        held = f" ({holder})" if holder else ""
        super().__init__(f"another engine has the vault {vault}{held}")
        self.watched("stop it first")

    def watched(self, what: str) -> EngineBusyError:
        """The same error, with what to do where the other engine is a daemon."""
        self.hint = f"wait until it is done; if it is `vaultsync watch`, {what}"
        return self


class GuardError(VaultsyncError):
    """The plan deletes or rewrites too much to be plausible; nothing was done."""

    run: str

    def __init__(self, why: str, run: str) -> None:
        super().__init__(
            f"the guard stopped this pass: {why}; nothing was done",
            hint="look at it with `vaultsync sync --dry-run`; if it is meant, say"
            f" `vaultsync sync --confirm {run}`",
        )
        self.run = run


class DaemonStoppedError(VaultsyncError):
    """The daemon was told to stop; what it had begun is taken up by the next pass."""

    def __init__(self) -> None:
        super().__init__(
            "the daemon was told to stop",
            hint="start it again with `vaultsync watch`; nothing is lost",
        )
