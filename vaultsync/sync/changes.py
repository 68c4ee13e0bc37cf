"""What happened to one fact on each side since the base: a change per side.

Bytes decide, never times: a note is unchanged if its bytes equal the base's, reformatted
if they differ but have the same meaning. `updatedAt` is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.scope import is_scope
from vaultsync.notes.body import BLOCK_END
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import Note
from vaultsync.notes.render import stale_keys
from vaultsync.storage.store import FeedRow

_BLOCK_END = BLOCK_END.encode()
MIRROR_ACTOR, MIGRATION_ACTOR = "vault", "migrate"
NO_AGENTS = frozenset({MIRROR_ACTOR, MIGRATION_ACTOR, ""})
"""Actors of writes that no agent requested: a mirror, which may be that of an older copy of the
vault, a migration, and other programs."""


class VaultChange(Enum):
    """What happened to a note since the base."""

    NONE = "no note"
    CREATED = "new note"
    FOREIGN = "note with an unknown id"
    EQUAL = "note as its fact is written"
    UNCHANGED = "unchanged"
    REFORMATTED = "reformatted"
    MODIFIED = "modified"
    MOVED = "moved"
    GONE = "gone"
    DELETED = "deleted"
    UNREADABLE = "unreadable"
    UNSETTLED = "partly saved"
    UNKNOWN = "folder unreadable"
    COPIED = "copied, owner unclear"


class StoreChange(Enum):
    """What happened to a fact in the store since the base."""

    NONE = "no fact"
    CREATED = "new fact"
    TOMBSTONE = "tombstone"
    UNCHANGED = "unchanged"
    TOUCHED = "touched"
    MODIFIED = "modified"
    DELETED = "deleted"
    MISSING = "missing"
    UNAVAILABLE = "store unavailable"


@dataclass(frozen=True, slots=True)
class StoreFeed:
    """The writes to the store since the last run that this run considers."""

    rows: Sequence[FeedRow] = ()
    since: int = 0
    """The row up to which the last run had read the feed."""
    is_whole: bool = False
    """Whether it was read from its first row, and so lists every fact that the store ever had."""
    is_available: bool = True
    """False while the store does not respond."""

    def acknowledges(self, actor: str) -> bool:
        """Whether a row without a base is an agent's, and newer than what the last run read.

        The store has what that run read, so it cannot have an older version of the fact.
        """
        return self.since > 0 and actor not in NO_AGENTS


class VaultSide(NamedTuple):
    """The current state of one fact in the vault."""

    change: VaultChange
    path: VaultPath | None = None
    sha: str | None = None
    note: Note | None = None
    fact: Fact | None = None
    """The fact as the note shows it."""
    scope: str | None = None
    """The scope of its folder, if it differs from the scope of the fact."""


class StoreSide(NamedTuple):
    """The current state of one fact in the store."""

    change: StoreChange
    revision: str | None = None
    fact: Fact | None = None
    """The fact; for a tombstone, its last version."""
    actor: str = ""
    acknowledged: bool = False
    """Whether an agent made an acknowledged change after everything that the last run read."""

    @property
    def is_purged(self) -> bool:
        """Whether the store knows that the fact was erased, and nothing else of it."""
        return self.change is StoreChange.NONE and self.revision is not None


def vault_change(
    base: Fact, before: Note, now: Note, sha: str, *, ids: Mapping[str, str] | None = None
) -> VaultSide:
    """How a note differs from its base, if its bytes or path do."""
    fact = apply_note_edits(base, before, now, ids=ids)
    if now.id != base.id or stale_keys(now, fact, fact) or differing_keys(fact, base):
        change = VaultChange.MODIFIED
    elif now.path != base.path:
        change = VaultChange.MOVED
    else:
        change = VaultChange.REFORMATTED
    return VaultSide(change, now.path, sha, now, fact, moved_scope(base, now))


def moved_scope(base: Fact, now: Note) -> str | None:
    """The scope of the folder to which a note was moved, if it is a different one."""
    scope = now.place.scope
    if scope is None or not is_scope(scope) or scope == base.scope:
        return None
    return scope


def store_change(base: Fact | None, current: Fact | None, *, known: bool) -> StoreChange:
    """How a fact in the store (None if deleted) differs from its base.

    `known` states whether the store ever had the id.
    """
    if base is None:
        if not known:
            return StoreChange.NONE
        return StoreChange.TOMBSTONE if current is None else StoreChange.CREATED
    if not known:
        return StoreChange.MISSING
    if current is None:
        return StoreChange.DELETED
    if current.revision == base.revision:
        return StoreChange.UNCHANGED
    return StoreChange.MODIFIED if differing_keys(base, current) else StoreChange.TOUCHED


def is_half_saved(before: bytes, now: bytes) -> bool:
    """Whether a file looks as if its editor were still writing it.

    It is empty, or the old text truncated within a line, the managed block or the frontmatter,
    or it ends inside a character.
    """
    if not now.strip():
        return bool(before.strip())
    if before.startswith(b"---") and b"\n---" in before and b"\n---" not in now:
        return now.startswith(b"---") or before.startswith(now)
    if len(now) < len(before) and before.startswith(now):
        rest = before[len(now) : len(now) + 1]
        in_line = not now.endswith(b"\n") and rest not in b"\r\n"
        return in_line or (_BLOCK_END in before and _BLOCK_END not in now)
    return _cut_in_character(now)


def _cut_in_character(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as broken:
        return broken.end == len(data) and broken.reason == "unexpected end of data"
    return False
