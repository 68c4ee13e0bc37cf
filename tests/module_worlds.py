"""A folder of modules in memory, its state, and a remote that fails on demand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from msgspec import structs

from tests.world import World
from vaultsync.errors import ModuleChangedError, ModulesBusyError, UnreadableModuleError
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.modules.manifest import MANIFEST_FILE, ReadManifest, read_manifest
from vaultsync.modules.ports import DisplacedVersion, FolderRecord, ModuleIntent, ModuleListing
from vaultsync.modules.remote import (
    MirrorError,
    MirrorRefusedError,
    Remote,
    RemoteHit,
    RemoteQuery,
    RemoteRecord,
)
from vaultsync.modules.report import ModuleAnswer, ModuleSyncReport, ModuleWritten
from vaultsync.modules.service import ModuleWork, ModuleWrite
from vaultsync.modules.topic_files import ModuleRules

SPACE = "nx-monorepo"
FOLDER = "docs/memories"


class Crash(BaseException):
    """Simulates the end of the process."""


def _nothing(_: str) -> None:
    """The default action before a step."""


@dataclass
class SimFolder:
    """A `ModuleFolder`; `before` is called with the path of a write before it is done."""

    files: dict[str, bytes] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    left: dict[str, list[tuple[bytes, bytes]]] = field(default_factory=dict)
    """By path: what crashed writes put, and what they displaced."""
    before: Callable[[str], None] = _nothing
    busy: bool = False
    name: str = FOLDER
    key: str = "/work/docs/memories"

    def listing(self) -> ModuleListing:
        topics: dict[str, list[str]] = {}
        documents = []
        for path in sorted(self.files):
            topic, _, name = path.rpartition("/")
            if topic:
                topics.setdefault(topic, []).append(name)
            elif name.endswith(".md"):
                documents.append(name)
        return ModuleListing(tuple(documents), {k: tuple(x) for k, x in topics.items()})

    def read(self, path: str) -> bytes | None:
        if path in self.unreadable:
            raise UnreadableModuleError(path, self.unreadable[path])
        return self.files.get(path)

    def replace(self, path: str, data: bytes, expect: bytes | None) -> None:
        self.before(path)
        found = self.files.get(path)
        if found != expect:
            raise ModuleChangedError(path, () if found is None else (found,))
        self.files[path] = data

    def has_leftovers(self) -> bool:
        return bool(self.left)

    def displaced(self, path: str) -> Sequence[DisplacedVersion]:
        now = self.files.get(path)
        return [
            DisplacedVersion(data, put if now == put else None, "staged")
            for put, data in self.left.get(path, ())
            if data not in (b"", now)
        ]

    def drop_displaced(self, path: str, data: bytes) -> None:
        if left := [each for each in self.left.pop(path, ()) if each[1] != data]:
            self.left[path] = left

    @contextlib.contextmanager
    def lock(self, seconds: float) -> Iterator[None]:
        if self.busy:
            raise ModulesBusyError(self.name, seconds)
        yield


@dataclass
class SimState:
    """A `ModuleState` in memory."""

    record: FolderRecord = field(default_factory=FolderRecord)
    waiting: dict[str, ModuleIntent] = field(default_factory=dict)
    kept: dict[str, bytes] = field(default_factory=dict)
    lines: list[Mapping[str, Value]] = field(default_factory=list)
    totals: tuple[int, int] = (0, 0)
    before: Callable[[str], None] = _nothing

    def read(self) -> FolderRecord:
        return self.record

    def write(self, record: FolderRecord) -> None:
        self.before("record")
        self.record = record

    def intents(self) -> Sequence[ModuleIntent]:
        return [self.waiting[op] for op in sorted(self.waiting)]

    def put_intent(self, intent: ModuleIntent) -> None:
        self.before("intent")
        self.waiting[intent.op] = intent

    def drop_intent(self, op: str) -> None:
        self.before("done")
        self.waiting.pop(op, None)

    def keep(self, data: bytes) -> str:
        name = sha256(data).hexdigest()
        self.kept[name] = data
        return name

    def log(self, entry: Mapping[str, Value]) -> None:
        self.lines.append(entry)

    def count(self, *, success: int = 0, failure: int = 0) -> tuple[int, int]:
        self.totals = self.totals[0] + success, self.totals[1] + failure
        return self.totals


@dataclass
class SimRemote:
    """A `Remote` whose answers a test chooses."""

    stored: dict[tuple[str, str], RemoteRecord] = field(default_factory=dict)
    away: bool = False
    """It refuses every request."""
    loses_answers: bool = False
    """It carries out a request, and the answer is lost."""
    pretends: bool = False
    """It confirms writes and deletions without doing them."""
    garbles: bool = False
    """It returns another text."""
    refuses: bool = False
    gives_no_id: bool = False
    confidence: float = 0.9
    verbatim: bool = True
    name: str = "sim"
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], None] = _nothing

    def store(self, space: str, record: RemoteRecord) -> str:
        self._begin("store")
        if self.refuses:
            raise MirrorRefusedError("it is too large")
        if not self.pretends:
            self.stored[space, record.chunk_id] = record
        self._end()
        return "" if self.gives_no_id else f"id-{record.chunk_id}"

    def retrieve(self, space: str, query: RemoteQuery) -> Sequence[RemoteHit]:
        self._begin("retrieve")
        hits = []
        for each in query.chunk_ids:
            found = self.stored.get((space, each))
            if found is not None:
                text = "I do not know." if self.garbles else found.text
                remote_id = f"id-{each}"
                digest = None if self.verbatim else found.digest
                hit = RemoteHit(text, self.confidence, each, found.checksum, remote_id, digest)
                hits.append(hit)
        return hits

    def remove(self, space: str, chunk_id: str) -> None:
        self._begin("remove")
        if not self.pretends:
            self.stored.pop((space, chunk_id), None)
        self._end()

    def close(self) -> None:
        self.asked.append("close")

    def _begin(self, what: str) -> None:
        self.before(what)
        self.asked.append(what)
        if self.away:
            raise MirrorError("the request timed out")

    def _end(self) -> None:
        if self.loses_answers:
            raise MirrorError("the connection was closed before an answer came")


class ModuleWorld(World):
    """A folder of modules, a remote, and both sides of a vault."""

    def __init__(self, **world: Any) -> None:  # noqa: ANN401 - those of a world
        super().__init__(**world)
        self.folder = SimFolder()
        self.state = SimState()
        self.remote: SimRemote | None = SimRemote()
        self.rules = ModuleRules(SPACE, remote="sim")

    @property
    def work(self) -> ModuleWork:
        def opened() -> Remote | None:
            return self.remote

        return ModuleWork(self.ctx, self.folder, self.state, self.rules, opened)

    def write(
        self,
        chunk: str,
        text: str,
        *,
        topic: str = "patterns",
        **more: Any,  # noqa: ANN401
    ) -> ModuleWritten:
        self.clock.advance(1)
        return self.work.write(ModuleWrite(topic, chunk, text, agent="indy", **more))

    def read(self, chunk: str | None = None, *, topic: str = "patterns") -> ModuleAnswer:
        return self.work.read(topic, chunk)

    def settle(self, chunk: str | None = None, *, automatic: bool = False) -> ModuleSyncReport:
        self.clock.advance(1)
        return self.work.sync(chunk, automatic=automatic)

    def manifest(self, topic: str = "patterns") -> ReadManifest:
        return read_manifest(self.says(f"{topic}/{MANIFEST_FILE}"), MANIFEST_FILE, topic)

    def status_of(self, chunk: str, topic: str = "patterns") -> str:
        entry = self.manifest(topic).find(chunk)
        assert entry is not None, chunk
        return entry.sync_status

    def says(self, path: str) -> str:
        return self.folder.files[path].decode()

    def edits(self, path: str, old: str, new: str) -> None:
        text = self.says(path)
        assert old in text, text
        self.folder.files[path] = text.replace(old, new, 1).encode()

    def fact(self, key: str) -> Fact:
        return self.store.get(self.work.facts.fact_id(key))

    def set(self, **rules: Any) -> None:  # noqa: ANN401
        self.rules = structs.replace(self.rules, **rules)

    def ends_at(self, at: int, work: Callable[[], object]) -> int:
        """Let the process end before step `at` of some work; returns how many steps there were."""
        step = 0

        def before(_: str) -> None:
            nonlocal step
            step += 1
            if step == at:
                raise Crash

        assert self.remote is not None
        places = (self.folder, self.state, self.remote, self.store)
        for each in places:
            each.before = before
        try:
            with contextlib.suppress(Crash):
                work()
        finally:
            for each in places:
                each.before = _nothing
        return step
