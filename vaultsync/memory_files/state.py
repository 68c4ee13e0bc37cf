"""The state files of memory files: their sections when they were last read.

It makes an unchanged file cheap to sync, and tells changes of the file from edits of its facts.
When it is lost, it is rebuilt from the file and the store. Anyone who may write to the folder may
forge it, so it is a hint: the ids in it are checked against the store.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from vaultsync.memory_files.plan import KnownSection
from vaultsync.memory_files.sections import FileMetadataValues, MemorySection, hash_of, section_text
from vaultsync.model.fact import Fact

STATE_FORMAT = 1
MAX_REMOVED = 200
"""How many removed sections a state remembers."""
SOURCE_PREFIX = "memory-file:"
"""Prefix of the `source` of facts that come from memory files."""


class FileState(FileMetadataValues, frozen=True, kw_only=True):
    """A file when it was last read, with the values of its frontmatter."""

    store: str
    """The version of the store: its id and the position in its feed."""
    scanned: str
    """The day on which all facts were last searched for those of the file."""
    digest: str
    """SHA-256 of the bytes of the file."""
    sections: list[KnownSection]
    agent: str | None = None
    """Owner of the facts."""
    pending: tuple[str, ...] = ()
    """Facts that are not embedded yet."""
    removed: tuple[tuple[str, str], ...] = ()
    """The hash of the last text and the fact of each section that is gone; the newest last."""
    withdrawn: tuple[str, ...] = ()
    """Facts that were forgotten, and took their sections with them; the newest last."""
    next: tuple[KnownSection, ...] = ()
    """The sections as they are written just now, which a crash may have completed."""
    notices: bool | list[object] = False
    """Whether there was something to say about the file. What it was is not kept here, where
    anyone could write it: the file is read again. Older versions kept a list."""

    @property
    def managed(self) -> int:
        """How many sections follow their facts, or would if their facts were restored."""
        followed = [each for each in self.sections if each.text is not None]
        return len(followed) + len(self.withdrawn)

    @property
    def store_id(self) -> str:
        """The store that has the facts."""
        return self.store.partition(":")[0]

    def last_read(self, now: Sequence[MemorySection]) -> list[KnownSection]:
        """The sections when they were last read, or as a write left them that did not end.

        The texts of the sections now say how far it came.
        """
        lines = {line for each in now for line in each.text.split("\n")}

        def missing(known: KnownSection) -> int:
            return len(set(f"{known.title}\n{known.text}".split("\n")) - lines)

        hashes = {each.hash for each in now}
        found = {each.id: each for each in self.sections}
        for each in self.next:
            old = found.get(each.id)
            if old is None:
                found |= {each.id: each} if each.hash in hashes else {}
            elif old.hash not in hashes and missing(each) < missing(old):
                found[each.id] = each
        return list(found.values())


class FolderState(msgspec.Struct, frozen=True):
    """All files of a folder."""

    files: dict[str, FileState] = {}
    format: int = STATE_FORMAT

    def find(
        self, name: str, agent: str | None, stores: Sequence[str]
    ) -> tuple[str, FileState | None]:
        """The key and the state of a file for an agent in a store; None if there is no state.

        `stores` has the id of the store, then those of the stores that it replaced. Each store
        has a base of its own: another vault that syncs the file has written other texts.
        """
        plain = state_key(name, agent)
        keys = (plain, *(f"{plain} [{each}]" for each in stores))
        for key in keys:
            state = self.files.get(key)
            if state is not None and state.store_id in stores:
                return key, state
        return keys[plain in self.files], None

    def agents(self, name: str, stores: Collection[str] | None = None) -> list[str | None]:
        """The agents that have facts from a file, in some stores or in any."""
        found = (
            state.agent
            for key, state in self.files.items()
            if f"{key} [".startswith(f"{state_key(name, state.agent)} [")
            and (stores is None or state.store_id in stores)
        )
        return [*dict.fromkeys(found)]


def state_key(name: str, agent: str | None) -> str:
    """The key of a file's first state: each agent has facts of its own from one file."""
    return f"{name} ({agent})" if agent else name


_DECODER = msgspec.json.Decoder(FolderState)


def read_states(data: bytes | None) -> FolderState:
    """Decode the states; empty when they are missing, damaged or of another format."""
    try:
        states = _DECODER.decode(data or b"{}")
    except (ValueError, RecursionError):
        return FolderState()
    return states if states.format == STATE_FORMAT else FolderState()


def write_states(states: FolderState, key: str, state: FileState) -> bytes:
    """Encode the states with `state` as that of one file."""
    files = {**states.files, key: state}
    changed = FolderState(dict(sorted(files.items())))
    return msgspec.json.format(msgspec.json.encode(changed), indent=1) + b"\n"


def section_of_fact(fact: Fact) -> KnownSection:
    """The section that a fact may come from, inferred from the fact alone."""
    heading, _, number = fact.title.rpartition(" (")
    stem = heading if number[:-1].isdecimal() and number[-1:] == ")" else fact.title
    section_hash = hash_of(section_text(stem, fact.content))
    return KnownSection(fact.id, section_hash, hash_of(fact.content), fact.title, "")
