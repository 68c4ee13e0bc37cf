"""What a vault requests of this machine, and whether the user has allowed it.

Everyone who can write a vault writes its `.meta/config.toml`. A machine setting there that
could connect, send, or reach outside the vault is a request, and nothing is done before the
user has allowed it. What was allowed is recorded as it was asked, with a hash, in the user's
own file for the vault; other requests than these ask again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from vaultsync.settings import HARMLESS, NO_SHORTER, MachineSettings, Table, VaultSettings

OWNER = "owner"
"""The request to be used although another user could change the vault."""
KEY = "qdrant.key"
"""The setting that names the variable with a store's key."""
SERVERS = ("qdrant://", "qdrant+tls://")
"""What the URL of a store on a network begins with."""


class TrustRecord(Struct, frozen=True):
    """The table `[trust]` of the user's own file: what was allowed."""

    requests: str = ""
    """As `canonical()` writes them."""
    sha256: str = ""

    @classmethod
    def of(cls, requests: Table) -> TrustRecord:
        """The record that allows these requests."""
        import hashlib  # noqa: PLC0415 - it takes 3 ms, and most vaults ask for nothing

        text = canonical(requests)
        return cls(text, hashlib.sha256(text.encode()).hexdigest())

    def allows(self, requests: Table) -> bool:
        """Whether exactly these requests were allowed."""
        return bool(self.sha256) and self.sha256 == TrustRecord.of(requests).sha256

    def known(self) -> Table:
        """The requests that were allowed; none where the record is not valid."""
        try:
            known = json.loads(self.requests or "{}")
        except (ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


def requests_of(marker: Table, *, owner: str = "") -> dict[str, object]:
    """What a vault asks for, by the names of the settings.

    Args:
        marker: the tables of its `.meta/config.toml`, which were checked.
        owner: the user who could change the vault, if that is neither this one nor root.
    """
    found = dict(_beyond(marker, VaultSettings(), MachineSettings()))
    if str(found.get("store", "")).startswith(SERVERS):
        found.setdefault(KEY, MachineSettings().qdrant.key)  # it is sent there by default
    if owner:
        found[OWNER] = owner
    return found


def pending(requests: Table, machine: Sequence[str], record: TrustRecord) -> dict[str, object]:
    """The requests that wait for a word of the user.

    Args:
        requests: of the vault.
        machine: names of the settings in the user's own file, which win.
        record: what the user has allowed.
    """
    asked = {name: value for name, value in requests.items() if name not in machine}
    return {} if not asked or record.allows(requests) else asked


def canonical(requests: Table) -> str:
    """Requests as text, the same for the same requests."""
    return json.dumps(requests, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _beyond(
    given: Table, vault: Struct | None, machine: Struct, table: str = ""
) -> Iterator[tuple[str, object]]:
    """The settings of a table that are not the vault's, and are more than a default.

    Args:
        given: the table.
        vault: the defaults of those that are the vault's, if any are.
        machine: the defaults of all.
        table: the name of the table and a dot, if it is one.
    """
    harmless = () if vault is None else vault.__struct_fields__
    for name, value in given.items():
        path, default = f"{table}{name}", getattr(machine, name)
        if isinstance(default, Struct):
            inner = getattr(vault, name) if name in harmless else None
            yield from _beyond(value, inner, default, f"{path}.")
        elif name not in harmless:
            plain = list(default) if isinstance(default, tuple) else default
            if value != plain and not (isinstance(value, str) and value in HARMLESS.get(path, ())):
                yield path, value
        elif path in NO_SHORTER and 0 < value < default:
            yield path, value
