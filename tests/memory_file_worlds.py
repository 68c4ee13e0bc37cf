"""A memory file in memory, which users save at the worst moments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from tests.world import World
from vaultsync.errors import MemoryFileBusyError, MemoryFileChangedError, UnreadableMemoryFileError
from vaultsync.facts import service as fact_work
from vaultsync.memory_files.ports import QueuedText
from vaultsync.memory_files.report import AddResult, FileResult, MemoryFileReport
from vaultsync.memory_files.service import FileSyncRequest, sync_files
from vaultsync.memory_files.state import SOURCE_PREFIX
from vaultsync.memory_files.write_queue import queue_text
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value

NAME = "~/work/MEMORY.md"


def _nothing(_: str) -> None:
    """The default action before a step."""


@dataclass
class SimFile:
    """A `MemoryFile` in memory. `before` is called with the name of each step."""

    name: str = NAME
    data: bytes | None = None
    kept: bytes | None = None
    """The state beside it."""
    left: list[bytes] = field(default_factory=list)
    """The contents of the staging folder."""
    begun: tuple[bytes | None, bytes | None] = (None, None)
    """What the last write expected, and what it put."""
    busy: bool = False
    writable: bool = True
    why_not: str = ""
    before: Callable[[str], None] = _nothing
    states_written: int = 0

    @property
    def key(self) -> str:
        return self.name.rpartition("/")[2]

    def at(self, step: str, act: Callable[[], object]) -> None:
        """Call a function once, right before a step."""

        def before(now: str) -> None:
            if now == step:
                self.before = _nothing
                act()

        self.before = before

    def says(self, text: str) -> None:
        self.data = text.encode()

    @property
    def text(self) -> str:
        assert self.data is not None
        return self.data.decode()

    def read(self, limit: int) -> bytes | None:
        self.before("read")
        if self.why_not:
            raise UnreadableMemoryFileError(self.name, self.why_not)
        if self.data is not None and len(self.data) > limit:
            why = f"it is larger than the remaining {limit} bytes"
            raise UnreadableMemoryFileError(self.name, why)
        return self.data

    @contextlib.contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        self.before("lock")
        if self.busy:
            raise MemoryFileBusyError(self.name, seconds)
        self.busy = True
        try:
            yield
        finally:
            self.busy = False

    def replace(self, data: bytes, expect: bytes | None) -> None:
        if not self.writable:
            raise UnreadableMemoryFileError(self.name, "it is read-only", hint="allow it")
        self.left, self.begun = [data], (expect, data)
        self.before("look")
        if self.data != expect:
            self.left = []
            raise MemoryFileChangedError(self.name)
        self.before("swap")
        met: list[bytes] = []
        put, under = data, expect
        while True:
            if self.data is None and expect is not None:
                self.left = [put] if put and put is not data else []
                met += [put] * (put is not data)
                raise MemoryFileChangedError(self.name, tuple(met))
            if expect is None and self.data is not None:
                self.left = []
                raise MemoryFileChangedError(self.name)
            out, self.data = self.data, put
            self.left = [] if out is None else [out]
            self.before("examine")
            if out == under:
                break
            assert out is not None
            met.append(out)
            put, under = out, put
            self.before("back")
        saved = tuple(each for each in met if each not in (put, data, expect))
        self.left = self.left if saved else []
        if put is not data:
            raise MemoryFileChangedError(self.name, saved)

    def has_leftovers(self) -> bool:
        return bool(self.left)

    def displaced(self) -> Sequence[tuple[bytes, bytes | None]]:
        put = self.data if self.data == self.begun[1] else None
        known = (*self.begun, self.data)
        return [(each, put) for each in self.left if each not in known]

    def drop_leftovers(self) -> None:
        self.left = []

    def state(self) -> bytes | None:
        return self.kept

    def put_state(self, data: bytes) -> None:
        self.before("state")
        if self.writable:
            self.kept = data
            self.states_written += 1


@dataclass
class SimQueue:
    """A `WriteQueue` in memory."""

    items: dict[str, QueuedText] = field(default_factory=dict)
    entries: list[Mapping[str, Value]] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def put(self, item: QueuedText) -> None:
        self.items[item.op] = item

    def drop(self, op: str) -> None:
        self.items.pop(op, None)

    def waiting(self, name: str | None = None) -> list[QueuedText]:
        found = [each for _, each in sorted(self.items.items())]
        return [each for each in found if name in (None, each.name)]

    def log(self, *entries: Mapping[str, Value]) -> None:
        self.entries += entries

    def keep(self, data: bytes) -> str:
        name = sha256(data).hexdigest()
        self.blobs[name] = data
        return name


class MemoryWorld(World):
    """Both sides, and a memory file beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.file = SimFile()
        self.queue = SimQueue()

    def syncs(
        self,
        *files: SimFile,
        agent: str | None = "indy",
        scope: str | None = None,
        again: bool = False,
        dry_run: bool = False,
        embeds: bool = False,
        confirm: str | None = None,
        after_add: bool = False,
        vault: str = ".",
        gone: Collection[str] = (),
    ) -> MemoryFileReport:
        """A sync of the files, or of the one there is; time moves on."""
        self.clock.advance(1)
        return sync_files(
            self.ctx,
            files or [self.file],
            FileSyncRequest(
                agent,
                scope,
                again=again,
                dry_run=dry_run,
                embeds=embeds,
                confirm=confirm,
                after_add=after_add,
                vault=vault,
                is_gone=lambda name: name in gone,
            ),
            queue=self.queue,
        )

    def takes(self, text: str) -> FileResult:
        """Save the file as the user, and sync it."""
        self.file.says(text)
        return self.syncs().files[0]

    def agent_adds(
        self, text: str, *, section: str = "Lessons", replace_all: bool = False
    ) -> AddResult:
        self.clock.advance(1)
        return queue_text(
            self.ctx.clock,
            self.file,
            self.queue,
            section=section,
            text=text,
            replace_all=replace_all,
            agent="indy",
        )

    def gives_back(self, fact_id: str) -> None:
        """Restore a deleted fact as the user."""
        self.clock.advance(1)
        fact_work.restore(self.ctx, fact_id, agent="indy")

    def remembered(self, file: SimFile | None = None) -> list[Fact]:
        """The facts of the file, by title."""
        source = SOURCE_PREFIX + (file or self.file).name
        found = [each for each in self.store.iter_facts() if each.source == source]
        return sorted(found, key=lambda fact: (fact.title, fact.content, fact.id))

    def by_title(self, title: str) -> Fact:
        (found,) = [each for each in self.remembered() if each.title == title]
        return found


def memory(*sections: tuple[str, str], head: str = "# Memory\n") -> str:
    """A memory file of sections, each a heading with its content."""
    return head + "".join(f"\n## {title}\n\n{body}\n" for title, body in sections)


DEPLOY = ("Deployment", "The cluster runs k3s on ARM64 nodes, four of them.")
TESTS = ("Tests", "Each test has a sentence for a name and no sleep in it.")
PEOPLE = ("People", "Mara keeps the books, and Bente answers the phone.")
ALL = memory(DEPLOY, TESTS, PEOPLE)
TEXT = "Ask the harbour master before the database."


def kinds(report: MemoryFileReport) -> list[str]:
    return [each.kind for each in report.attention]
