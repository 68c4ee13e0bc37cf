"""A whole side, or what is kept between both, cannot be used."""

from __future__ import annotations

from vaultsync.errors.root import VaultsyncError


class VaultError(VaultsyncError):
    """The whole vault cannot be used; nothing was done."""


class VaultMissingError(VaultError):
    """The root of the vault or its marker is not there."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"the vault at {where} is not there: {why}; nothing was done",
            hint="mount or restore it; a missing vault is never taken for deletions",
        )


class VaultMismatchError(VaultError):
    """Another vault stands at the same place."""

    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(
            f"{where} is vault {found}, but {expected} was expected; nothing was done",
            hint="open the right folder, or put the `.meta` of the vault back",
        )


class StoreError(VaultsyncError):
    """The store."""


class RevisionMismatchError(StoreError):
    """The fact is not what the writer thought it replaced; nothing was written."""

    def __init__(self, fact_id: str, expected: str | None, found: str | None) -> None:
        super().__init__(
            f"fact {fact_id} is at revision {found or 'none'},"
            f" not {expected or 'none'}; nothing was written",
            hint="read the fact again and repeat the change",
        )
        self.fact_id = fact_id
        self.expected = expected
        self.found = found


class StoreUnavailableError(StoreError):
    """The store does not answer. `helps`: what would help, where that is known."""

    def __init__(self, why: str, *, helps: str = "") -> None:
        super().__init__(
            f"the store does not answer: {why}",
            hint=helps
            or "try again when it is back; what is written meanwhile waits in the outbox;"
            " if it is lost, `vaultsync rebuild --from vault` makes a new one from the"
            " notes",
        )
        self.why = why
        self.helps = helps


class StoreMismatchError(StoreError):
    """Another store answers than the one this vault was mirrored with."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"the store is {found}, but this vault mirrors {expected}; nothing was done",
            hint="set the right store, or rebuild with"
            " `vaultsync rebuild --from vault`",
        )


class StoreRewoundError(StoreError):
    """The store lost what this vault had already seen."""

    run: str

    def __init__(self, why: str, run: str) -> None:
        super().__init__(
            f"the store went back in time: {why}; nothing was done",
            hint="restored from a backup? `vaultsync rebuild --from vault` gives it"
            f" what the vault holds; `vaultsync sync --confirm {run}` reconciles both,"
            " and notes that differ get what the store says now",
        )
        self.run = run


class StoreLayoutError(StoreError):
    """What holds the facts was made otherwise than this vault's settings say."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"the collection {where} was made otherwise: {why}; nothing was done",
            hint="set what it was made with, or take all facts to another one:"
            " `vaultsync migrate --to URL`; a collection is never altered",
        )
        self.where = where


class MigrationError(StoreError):
    """Not all facts are in the new store; this vault stays with the old one."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the facts are not all in the new store: {why}; nothing was switched",
            hint="run the same command again: it goes on where it stopped",
        )


class ArchiveError(VaultsyncError):
    """The archive cannot be read."""
