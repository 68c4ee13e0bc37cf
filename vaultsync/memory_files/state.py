"""What is kept beside memory files: what they said when they were last read.

It makes an unchanged file cheap, and tells what the file says anew from what was done to
its facts in between. When it is lost, it is made again from the file and the store.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from vaultsync.memory_files.match import KnownSection
from vaultsync.memory_files.plan import FileMetadataValues, LastRead
from vaultsync.memory_files.sections import MemorySection, hash_of, section_text
from vaultsync.model.fact import Fact

STATE_FORMAT = 1
SOURCE_PREFIX = "memory-file:"
"""What `source` of a fact begins with that comes from a memory file."""


class SectionState(msgspec.Struct, frozen=True):
    """A section and its fact."""

    id: str
    hash: str
    """Of heading and content."""
    body: str
    """Of the content alone."""
    title: str
    type: str


class FileState(msgspec.Struct, frozen=True):
    """A file when it was last read."""

    store: str
    """The store, and how far its feed had come."""
    scanned: str
    """The day on which all facts were last looked through for those of the file."""
    digest: str
    """Of the bytes of the file."""
    sections: list[SectionState]
    agent: str | None = None
    """Whose facts they are."""
    tags: list[str] = []
    entities: list[str] = []
    priority: int | None = None
    type: str | None = None
    pending: list[str] = []
    """Facts whose text could not be embedded yet."""
    notices: list[dict[str, str | int]] = []
    """What waited for a person."""

    @property
    def metadata(self) -> FileMetadataValues:
        """What the frontmatter said."""
        return FileMetadataValues(tuple(self.tags), tuple(self.entities), self.priority, self.type)


class FolderState(msgspec.Struct, frozen=True):
    """All files of a folder."""

    files: dict[str, FileState] = {}
    format: int = STATE_FORMAT


StateKey: TypeAlias = str


def state_key(name: str, agent: str | None) -> StateKey:
    """Under which a file is kept: agents have facts of their own from one file."""
    return f"{name} ({agent})" if agent else name


def agents_of(states: FolderState, name: str) -> list[str | None]:
    """Whose facts come from a file."""
    found = [held.agent for held in states.files.values()]
    return [each for each in found if state_key(name, each) in states.files]


_DECODER = msgspec.json.Decoder(FolderState)


def read_states(data: bytes | None) -> FolderState:
    """What was kept; nothing, when it is missing, damaged or of another format."""
    try:
        found = _DECODER.decode(data or b"{}")
    except msgspec.MsgspecError:
        return FolderState()
    return found if found.format == STATE_FORMAT else FolderState()


def write_states(states: FolderState, key: StateKey, state: FileState | None) -> bytes:
    """The same with another state of one file, or without it."""
    files = {each: held for each, held in states.files.items() if each != key}
    if state is not None:
        files[key] = state
    made = FolderState({each: files[each] for each in sorted(files)})
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def last_read(state: FileState) -> list[LastRead]:
    """What the file said, without what its facts say now."""
    return [
        LastRead(KnownSection(each.id, each.hash, each.body, each.title), each.type)
        for each in state.sections
    ]


def last_read_from_fact(fact: Fact) -> LastRead:
    """What a file may have said of a fact, when nothing is known of it but the fact."""
    heading, _, number = fact.title.rpartition(" (")
    stem = heading if number[:-1].isdecimal() and number[-1:] == ")" else fact.title
    known = KnownSection(
        fact.id,
        hash_of(section_text(stem, fact.content)),
        hash_of(fact.content),
        fact.title,
    )
    return LastRead(known, fact.type, certain=False)


def section_state(section: MemorySection, fact_id: str, type_name: str) -> SectionState:
    """A section as it is kept."""
    body = hash_of(section.content)
    return SectionState(fact_id, section.hash, body, section.title, type_name)
