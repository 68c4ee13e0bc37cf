"""The files of a folder of modules: topics, manifests and texts, read and replaced under a lock."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct, structs

from vaultsync.errors import ModuleChangedError, ModulesBusyError, UnreadableModuleError
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.modules.backlog import BACKLOG_FILE
from vaultsync.modules.manifest import (
    INDEX_FILE,
    MANIFEST_FILE,
    ManifestEntry,
    ReadManifest,
    edit_manifest,
    read_manifest,
)
from vaultsync.modules.module_facts import ModuleDocument
from vaultsync.modules.module_text import split_module
from vaultsync.modules.ports import (
    CONFLICT,
    DISPLACED,
    INDEX_EDITED,
    DisplacedVersion,
    FolderRecord,
    ModuleFolder,
    ModuleListing,
    ModuleState,
)
from vaultsync.modules.remote import MIN_CONFIDENCE
from vaultsync.storage.archive import Notice
from vaultsync.storage.clock import time_text
from vaultsync.sync.context import SyncContext

_log = logging.getLogger(__name__)

LOCK_TIMEOUT = 30.0
"""Seconds to wait for the lock of a folder; an attempt to mirror may hold it for ten."""
MAX_TRIES = 5
"""Maximum attempts of an edit if the file is saved at the same moment."""
USER = "user"
"""The author, in manifests, of modules that were edited by hand."""


_ONCE = frozenset({CONFLICT, INDEX_EDITED})
"""Kinds of notices that only the sync gives that does what they say."""
_MOST_UNREAD = 50


class ModuleRules(Struct, frozen=True):
    """How a folder is mirrored, according to the settings."""

    space: str
    agent: str | None = None
    is_in_vault: bool = False
    """Whether a copy of the vault also has the folder."""
    mirrors: bool = True
    """Whether there is a mirror; without one, no module is pending."""
    min_confidence: float = MIN_CONFIDENCE
    alert_pending: int = 10
    alert_hours: float = 48.0
    remote: str = ""
    """A name of the remote for messages; empty if there is none."""
    remote_key: str = ""
    """Identifies the remote."""
    links: Mapping[str, Value] = {}
    """Properties of each fact for its repository: the link to its note, its lineage."""


class TopicFiles(NamedTuple):
    """A topic as read from its files."""

    name: str
    manifest: ReadManifest | None
    """None if it is missing or unreadable."""
    files: tuple[str, ...]


@dataclass(slots=True)
class ModuleFiles:
    """Reads and edits the files of one folder, and keeps its record in the state folder."""

    ctx: SyncContext
    folder: ModuleFolder
    state: ModuleState
    rules: ModuleRules
    notices: list[Notice] = field(init=False, default_factory=list)
    record: FolderRecord = field(init=False, default_factory=FolderRecord)
    """The record of the folder, which `locked()` reads."""

    def topic(self, topic: str, *, reports: bool = False) -> TopicFiles:
        """Read a topic's manifest and file names; with `reports`, problems become notices."""
        names = self.folder.listing().topics.get(topic, ())
        path = f"{topic}/{MANIFEST_FILE}"
        try:
            text = self.read(path)
            manifest = None if text is None else read_manifest(text, path, topic)
        except UnreadableModuleError as error:
            if reports:
                self.notice("UnreadableModuleError", path, error.message, error.hint)
            manifest = None
        for each in manifest.problems if manifest and reports else ():
            self.notice("ManifestProblem", path, each, "correct the manifest by hand")
        return TopicFiles(topic, manifest, names)

    def find(self, topic: str, chunk_id: str) -> ManifestEntry | None:
        """The entry of a module in its topic's manifest; None if there is none."""
        path = f"{topic}/{MANIFEST_FILE}"
        text = self.read(path)
        return None if text is None else read_manifest(text, path, topic).find(chunk_id)

    def edit_entry(self, topic: str, chunk_id: str, values: Mapping[str, Value]) -> ManifestEntry:
        """Change an entry of a manifest; returns it."""
        path = f"{topic}/{MANIFEST_FILE}"
        new = self.edit(path, lambda old: edit_manifest(old, path, {chunk_id: values}, topic=topic))
        entry = read_manifest(new, path, topic).find(chunk_id)
        assert entry is not None  # noqa: S101 - it was written
        return entry

    def edit(self, path: str, change: Callable[[str | None], str]) -> str:
        """Edit a file, retrying if it is saved at the same moment; returns the text."""
        for _ in range(MAX_TRIES):
            old = self.read(path)
            new = change(old)
            if new == old:
                return new
            try:
                self.replace(path, new, old)
            except ModuleChangedError as error:
                _log.debug("%s is edited again: %s", path, error)
            else:
                return new
        raise ModuleChangedError(path)

    def read(self, path: str) -> str | None:
        """The text of a file; None if it is missing.

        Raises:
            UnreadableModuleError: the file is not UTF-8.
        """
        data = self.folder.read(path)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            raise UnreadableModuleError(path, "it is not UTF-8") from None

    def replace(self, path: str, text: str, expect: str | None) -> None:
        """Replace a file if its text is `expect`; versions saved meanwhile are kept.

        Raises:
            ModuleChangedError: it has another text.
        """
        try:
            self.folder.replace(path, text.encode(), None if expect is None else expect.encode())
        except ModuleChangedError as error:
            for version in error.saved:
                self.state.keep(version)
                self.folder.drop_displaced(path, version)
            raise

    def recover_displaced(self) -> None:
        """Put back what crashed writes displaced, unless the file was saved since."""
        for path, version in self._displaced():
            with self.noticing(path):
                if version.put is None or not self._put_back(path, version.data, version.put):
                    self._notice_displaced(path, version._replace(put=None))

    def _put_back(self, path: str, data: bytes, expect: bytes) -> bool:
        """Put a version back that was displaced; False if the file was saved since."""
        try:
            self.folder.replace(path, data, expect)
        except ModuleChangedError:
            return False
        self.folder.drop_displaced(path, data)
        return True

    def report_displaced(self) -> None:
        """Add a notice for each version that a crashed write displaced; changes nothing."""
        if not self.folder.has_leftovers():
            return  # without the lock, for which a file is made
        with suppress(ModulesBusyError), self.folder.lock(0):
            for path, version in self._displaced():
                self._notice_displaced(path, version)

    def _notice_displaced(self, path: str, version: DisplacedVersion) -> None:
        todo = "compare it with the file, and delete it"
        if version.put is not None:
            todo = "`vaultsync module sync` puts it back"
        why = "a write that a crash cut off displaced a version that was saved at that moment"
        self.notice(DISPLACED, path, why, f"it is in {version.place}: {todo}")

    def _displaced(self) -> Iterator[tuple[str, DisplacedVersion]]:
        for path in self._paths() if self.folder.has_leftovers() else ():
            with self.noticing(path):
                yield from ((path, version) for version in self.folder.displaced(path))

    def _paths(self) -> list[str]:
        listing = self.folder.listing()
        names = [f"{topic}/{name}" for topic, files in listing.topics.items() for name in files]
        return [*listing.documents, INDEX_FILE, *names]

    def documents(self, listing: ModuleListing) -> Iterator[ModuleDocument]:
        """The modules listed in manifests, and the documents without a manifest."""
        paths = [each for each in listing.documents if each != BACKLOG_FILE]
        for topic, names in sorted(listing.topics.items()):
            files = self.topic(topic)
            if files.manifest is None:
                if MANIFEST_FILE not in names:
                    paths += [f"{topic}/{name}" for name in names]
                continue
            for entry in files.manifest.entries:
                document = self.document(topic, entry)
                if document is not None:
                    yield document
        for path in paths:
            text = self.text_or_notice(path)
            if text is not None:
                title = split_module(text).title or path.rpartition("/")[2].removesuffix(".md")
                yield ModuleDocument(path, path, text, title)

    def document(self, topic: str, entry: ManifestEntry) -> ModuleDocument | None:
        """A module as a document; None if its file is missing or cannot be read."""
        path = f"{topic}/{entry.file}"
        text = self.text_or_notice(path) if entry.file else None
        if text is None:
            return None
        return ModuleDocument(f"{topic}/{entry.chunk_id}", path, text, entry.title, entry.tags)

    def text_or_notice(self, path: str) -> str | None:
        """The text of a file; None if it is missing, or cannot be read, which is noticed."""
        with self.noticing(path):
            return self.read(path)
        return None

    def bytes_or_notice(self, path: str) -> bytes | None:
        """The bytes of a file; None if it is missing, or cannot be read, which is noticed."""
        with self.noticing(path):
            return self.folder.read(path)
        return None

    @contextmanager
    def noticing(self, path: str) -> Iterator[None]:
        """Turn the error that a file cannot be read into a notice, so that others are synced."""
        try:
            yield
        except UnreadableModuleError as error:
            self.notice("UnreadableModuleError", path, error.message, error.hint)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock, after reading its record."""
        with self.folder.lock(LOCK_TIMEOUT):
            self.record = self.state.read()
            if self.record.remote_key and self.record.space != self.rules.space:
                # The remote has no module under the new name, as if it were another one.
                self.keep(remote_key=f"space {self.record.space}")
            known = (self.record.space, self.record.folder)
            if known != (self.rules.space, self.folder.key):
                self.keep(space=self.rules.space, folder=self.folder.key)
            yield

    def keep(self, **changes: object) -> None:
        """Change and write the record."""
        self.record = structs.replace(self.record, **changes)
        self.state.write(self.record)

    def now(self) -> str:
        """The current time in the format of manifests."""
        return time_text(self.ctx.clock.now())

    def notice(self, kind: str, path: str, why: str, hint: str) -> None:
        """Add a notice about a file, once."""
        notice = Notice(kind, VaultPath(f"{self.folder.name}/{path}"), why, hint)
        if notice not in self.notices:
            self.notices.append(notice)

    def read_notices(self, *, automatic: bool) -> list[Notice]:
        """The notices of a sync; requires the lock.

        Those of an automatic one, or of an agent's, are also kept for the next of the user.
        """
        before = self.record.unread
        unread: tuple[Notice, ...] = ()
        is_read = not automatic and self.rules.agent is None
        if not is_read:
            new = (each for each in self.notices if each.kind in _ONCE)
            unread = tuple(dict.fromkeys([*before, *new]))[-_MOST_UNREAD:]
        if unread != before:
            self.keep(unread=unread)
        return [*before, *self.notices] if is_read else self.notices

    def log(self, op: str, **values: Value) -> None:
        """Write a line of telemetry."""
        present = {key: value for key, value in values.items() if value != ""}
        self.state.log({"at": self.now(), "op": op, "space": self.rules.space, **present})
