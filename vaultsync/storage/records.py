"""The rows of the archive."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.storage.vault import Stamp


class Base(NamedTuple):
    """What both sides last agreed on about one fact."""

    fact: Fact
    """`fact.revision` is the store's version, `fact.path` where the note lies."""
    sha: str
    """Of the note's bytes; the bytes are the blob of that sha."""
    stamp: Stamp | None
    """The note's stamp when its bytes were last seen to be `sha`; None: look again."""
    missing_since: str | None = None
    """The time of the pass that first found the note gone."""

    @property
    def path(self) -> VaultPath:
        """Where the note lies."""
        return self.fact.path or VaultPath("")


class Intent(NamedTuple):
    """A write that was begun; what a crash leaves is judged by it."""

    op: str
    fact_id: str
    path: VaultPath
    before: str | None
    """The sha the note had; None when it is to be created."""
    after: str | None
    """The sha it shall have, the same when only its fact is written; None when it is to
    be withdrawn, or, with `before` None, when its fact is to be deleted after it."""
    fact: Fact
    """What the store shall hold then; with its revision when it holds it already."""


class Linger(NamedTuple):
    """A displaced file, kept while an editor might still write into it."""

    op: str
    fact_id: str
    path: VaultPath
    sha: str
    due: float
    """Seconds since the epoch after which it goes."""


class Outgoing(NamedTuple):
    """A change that waits for a store that is away: a delta, not a copy."""

    op: str
    fact_id: str
    kind: str
    """`create`, `update` or `delete`."""
    before: Mapping[str, Value]
    after: Mapping[str, Value]
    actor: str
    at: str


class HistoryEntry(NamedTuple):
    """One field of one fact changed."""

    run: str
    at: str
    fact_id: str
    side: str
    """The side that the change came from: `vault` or `store`."""
    actor: str
    field: str
    """A field, a property, or one of `path`, `note`, `fact`: where it lies, whether
    there is a note, whether there is a fact: from nothing, or from a note with its id, to
    the path of the note, and back."""
    before: Value
    after: Value

    def as_json(self) -> dict[str, Value]:
        """The change, without the fact, of which its history is asked."""
        return {
            "run": self.run,
            "at": self.at,
            "side": self.side,
            "actor": self.actor,
            "field": self.field,
            "before": self.before,
            "after": self.after,
        }


class Attention(NamedTuple):
    """Something that waits for a person."""

    kind: str
    path: VaultPath
    message: str
    hint: str
    line: int | None = None
    sha: str = ""
    """The bytes it was seen in; empty when it is not about bytes."""
    seen: str = ""
    """The time it was first seen."""


class Run(NamedTuple):
    """One pass that did something."""

    run: str
    at: str
    kind: str
    report: Mapping[str, Value] = MappingProxyType({})
