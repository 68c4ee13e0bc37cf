"""Write, read and mirror the modules of one folder.

A write goes through in steps, each of which is durable before the next one begins: the module and
the core file, the manifest, one attempt to mirror it, the backlog if that fails, the index. What
the agent wrote is kept in the state folder until the last step, so that a crash between any two
of them is finished by the next command.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct, structs

from vaultsync.errors import (
    InvalidFieldError,
    ModuleChangedError,
    ModuleMissingError,
    StoreUnavailableError,
    UnreadableModuleError,
    VaultsyncError,
)
from vaultsync.facts.service import check_scope_access
from vaultsync.facts.write_limits import check_write_limits
from vaultsync.markdown.diff3 import merge_text
from vaultsync.model.fact import make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.modules.backlog import BACKLOG_FILE, BacklogRow, drop_row, put_row, read_backlog
from vaultsync.modules.core_file import CoreChange, update_core
from vaultsync.modules.manifest import (
    FAILED,
    MANIFEST_FILE,
    PENDING,
    SYNCED,
    ManifestEntry,
    ReadManifest,
    edit_manifest,
    read_manifest,
)
from vaultsync.modules.memory_index import INDEX_FILE, render_index
from vaultsync.modules.module_facts import ModuleDocument, ModuleFacts, project_scope
from vaultsync.modules.module_text import (
    CORE_SUFFIX,
    MODULE_NAME,
    checksum_of,
    chunk_of_file,
    is_chunk_id,
    is_topic,
    new_module_name,
    split_module,
    with_content,
)
from vaultsync.modules.ports import (
    FolderRecord,
    MirrorRecord,
    ModuleFolder,
    ModuleIntent,
    ModuleListing,
    ModuleState,
)
from vaultsync.modules.remote import (
    MIN_CONFIDENCE,
    MirrorError,
    MirrorRefusedError,
    Remote,
    RemoteHit,
    RemoteQuery,
    RemoteRecord,
    usable,
)
from vaultsync.modules.report import ModuleAnswer, ModuleStatus, ModuleSyncReport, ModuleWritten
from vaultsync.storage.archive import Notice
from vaultsync.storage.clock import time_text
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import notices_of

_log = logging.getLogger(__name__)

LOCK_TIMEOUT = 30.0
"""Seconds to wait for the lock of a folder; an attempt to mirror may hold it for ten."""
MAX_TRIES = 5
"""How often an edit is made again when a person saves the file at the same moment."""
NO_REMOTE = "no remote is set"
"""Why a module waits for none; it is sent when there is one."""
USER = "user"
"""Who edited a module by hand, in manifests."""
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 60.0, 6 * 3600.0
"""The wait after the first failure in a row, which doubles, and the longest one."""
_MAX_ID_CHARS = 500


class ModuleRules(Struct, frozen=True):
    """How a folder is mirrored, by the settings."""

    space: str
    agent: str | None = None
    mirrors: bool = True
    """Whether there is to be a mirror; without one, nothing waits."""
    min_confidence: float = MIN_CONFIDENCE
    alert_pending: int = 10
    alert_hours: float = 48.0
    remote: str = ""
    """What the remote is, for messages; empty where there is none."""
    remote_key: str = ""
    """Tells one remote from another."""
    links: Mapping[str, Value] = {}
    """The properties of each fact that name its repository: the link to its note, its lineage."""


class ModuleWrite(Struct, frozen=True):
    """What an agent writes."""

    topic: str
    chunk_id: str
    text: str
    title: str | None = None
    tags: tuple[str, ...] | None = None
    agent: str | None = None
    expect: str | None = None
    """The checksum that the module must have; `new` if there must be none."""


class TopicFiles(NamedTuple):
    """A topic as it was read."""

    name: str
    manifest: ReadManifest | None
    """None when it cannot be read, or is missing."""
    files: tuple[str, ...]


@dataclass(slots=True)
class ModuleWork:
    """The modules of one folder."""

    ctx: SyncContext
    folder: ModuleFolder
    state: ModuleState
    rules: ModuleRules
    open_remote: Callable[[], Remote | None]
    """The remote of the settings; raises MirrorError when it cannot be used."""
    facts: ModuleFacts = field(init=False)
    notices: list[Notice] = field(init=False, default_factory=list)
    _record: FolderRecord = field(init=False, default_factory=FolderRecord)
    _editors: dict[str, str] = field(init=False, default_factory=dict)
    """Who edited the fact of a module whose file was written just now, by its path."""

    def __post_init__(self) -> None:
        """Prepare the facts of the space."""
        rules = self.rules
        self.facts = ModuleFacts(self.ctx, rules.space, rules.agent, rules.links, self.notices)

    # ------------------------------------------------------------------------- write

    def write(self, asked: ModuleWrite) -> ModuleWritten:
        """Write a module, and try once to mirror it.

        Raises:
            InvalidFieldError: a name that none can have, or no text.
            ScopeDeniedError: the agent may not write in the scope of the project.
            WriteLimitError: the text is too long for the agent, or it wrote too much.
            ModuleChangedError: the module is not what `expect` says.
            UnreadableModuleError: a file of the topic cannot be read or written.
            ModulesBusyError: another process works with the folder.
        """
        self._check_write(asked)
        with self._locked():
            self._recover()
            intent = self._intent(asked)
            known = self._find(asked.topic, asked.chunk_id)
            if known is not None:  # what a person wrote is in the history first
                self._push_module(asked.topic, known)
            entry, reason = self._begin(intent)
        return self._written(asked.topic, entry, f"{asked.topic}/{entry.file}", reason)

    def draft(self, asked: ModuleWrite) -> ModuleWritten:
        """Do what `write()` does to the fact alone, on a draft of the store, to propose it.

        Once it was accepted, `sync()` writes the module, unless a person edited it meanwhile:
        then both are merged, as with any edit of a fact.

        Raises: as `write()`.
        """
        self._check_write(asked)
        key = f"{asked.topic}/{asked.chunk_id}"
        with self._locked():
            intent = self._intent(asked)
            base = "new" if intent.before is None else checksum_of(intent.before.encode())
            self._keep(proposed={**self._record.proposed, key: base})
            document = ModuleDocument(key, intent.path, intent.text, intent.title, intent.tags)
            self.facts.push(document, self._record.facts.get(key), agent=asked.agent)
        checksum = checksum_of(intent.text.encode())
        waits = ManifestEntry(asked.chunk_id, intent.title, "", "", checksum=checksum)
        return self._written(asked.topic, waits, intent.path, "it is written by the next sync")

    def _check_write(self, asked: ModuleWrite) -> None:
        _check_names(asked.topic, asked.chunk_id)
        if not asked.text.strip():
            raise InvalidFieldError("text", asked.text, "some text")
        self._check_may_write(asked.agent)
        values = {"content": asked.text, "title": asked.title, "tags": list(asked.tags or ())}
        draft = make_fact({**values, "id": self.ctx.clock.new_id()})
        check_write_limits(self.ctx, draft, agent=asked.agent or self.rules.agent)

    def _begin(self, intent: ModuleIntent) -> tuple[ManifestEntry, str]:
        """Keep a write, so that a crash leaves nothing half done, and carry it out."""
        self.state.put_intent(intent)
        entry, reason = self._carry_out(intent)
        self._push_module(intent.topic, entry, agent=intent.agent)
        return entry, reason

    def _written(self, topic: str, entry: ManifestEntry, path: str, reason: str) -> ModuleWritten:
        return ModuleWritten(
            entry.chunk_id,
            entry.sync_status,
            entry.remote_id,
            f"{self.folder.name}/{path}",
            entry.checksum,
            self.facts.fact_id(f"{topic}/{entry.chunk_id}"),
            reason,
            notices_of(self.notices),
        )

    def _intent(self, asked: ModuleWrite) -> ModuleIntent:
        redact = self.ctx.view.redact_text
        topic, chunk_id = asked.topic, asked.chunk_id
        files = self._topic(topic)
        if files.manifest is None and MANIFEST_FILE in files.files:
            self._find(topic, chunk_id)  # which says what is wrong with it
        found = None if files.manifest is None else files.manifest.find(chunk_id)
        self._check_unique(topic, chunk_id)
        text = asked.text.replace("\r\n", "\n")
        text += "" if text.endswith("\n") else "\n"
        before = None
        if found is not None:
            if not found.file:
                raise UnreadableModuleError(
                    f"{topic}/{found.module_path}", "its path leads out of the topic's folder"
                )
            path = f"{topic}/{found.file}"
            before = self._read(path)
        else:
            heading = asked.title or split_module(text).title or chunk_id
            path = f"{topic}/{new_module_name(redact(heading), files.files)}"
        text = self._without_new_secrets(text, before or "")
        now = None if before is None else checksum_of(before.encode())
        if asked.expect is not None and asked.expect != (now or "new"):
            raise ModuleChangedError(f"{self.folder.name}/{path}")
        was_title = found.title if found else ""
        title = asked.title or split_module(text).title or was_title or chunk_id
        tags = asked.tags if asked.tags is not None else found.tags if found else ()
        return ModuleIntent(
            self.ctx.clock.new_id(),
            topic,
            chunk_id,
            path,
            text,
            before,
            " ".join(redact(title).split()),
            was_title,
            tuple(map(redact, tags)),
            redact(asked.agent or self.rules.agent or USER),
            self._now(),
        )

    def _carry_out(self, intent: ModuleIntent) -> tuple[ManifestEntry, str]:
        """Do all steps of a write that are not done yet; returns its entry, and why it waits."""
        intent, text = self._put_module(intent)
        change = CoreChange(
            intent.chunk_id,
            intent.title,
            text,
            intent.path.rpartition("/")[2],
            intent.was_title or intent.title,
            intent.before,
            intent.agent,
            intent.at[:10],
        )
        topic = intent.topic
        core = f"{topic}/{topic}{CORE_SUFFIX}"
        self._edit(core, lambda old: update_core(old, topic, change))
        entry = self._find(topic, intent.chunk_id)
        checksum = checksum_of(text.encode())
        reason = "" if self.rules.mirrors else NO_REMOTE
        is_done = (
            entry is not None
            and (entry.checksum, entry.last_updated_at) == (checksum, intent.at)
            and entry.sync_status == SYNCED
        )
        if not is_done:
            entry = self._edit_entry(
                topic,
                intent.chunk_id,
                {
                    "title": intent.title,
                    "module_path": entry.module_path if entry else change.file,
                    "tags": list(intent.tags),
                    "checksum": checksum,
                    "last_updated_by": intent.agent,
                    "last_updated_at": intent.at,
                    "sync_status": PENDING,
                    entry.remote_key if entry else "remote_id": None,
                },
            )
            if self.rules.mirrors:
                entry, reason = self._mirror(topic, entry, text)
        assert entry is not None  # noqa: S101 - it was found, or has just been written
        self._write_index()
        self.state.drop_intent(intent.op)
        self._tell("write", chunk=intent.chunk_id, status=entry.sync_status, agent=intent.agent)
        return entry, reason

    def _put_module(self, intent: ModuleIntent) -> tuple[ModuleIntent, str]:
        """Write the module, unless it is written; returns what it says now."""
        for _ in range(MAX_TRIES):
            current = self._read(intent.path)
            if current == intent.text:
                return intent, intent.text
            text = intent.text
            if current is not None and intent.before is None:
                # Someone else has made a file of that name meanwhile.
                name = new_module_name(intent.title, self._topic(intent.topic).files)
                intent = structs.replace(intent, path=f"{intent.topic}/{name}")
                self.state.put_intent(intent)
                continue
            if current is not None and current != intent.before:
                merged = merge_text(intent.before or "", current, intent.text)
                text = current if merged is None else merged
                if merged is None:
                    kept = self.state.keep(intent.text.encode())
                    why = "a person edited it at the same moment; that version stands"
                    hint = f"the agent's text is in the state folder, modules/kept/{kept}"
                    self._notice("ModuleConflict", intent.path, why, hint)
                if text == current:
                    return intent, text
            try:
                self._replace(intent.path, text, current)
            except ModuleChangedError as error:
                _log.debug("%s is written again: %s", intent.path, error)
            else:
                return intent, text
        raise ModuleChangedError(intent.path)

    def _recover(self) -> None:
        """Finish the writes that a crash interrupted."""
        for intent in self.state.intents():
            self._carry_out(intent)

    # -------------------------------------------------------------------------- read

    def read(self, topic: str, chunk_id: str | None = None) -> ModuleAnswer:
        """What a topic, or one of its modules, says: by the remote, else by the files.

        Raises:
            ModuleMissingError: neither has it.
            UnreadableModuleError: the files cannot be read, and the remote has nothing.
        """
        _check_names(topic, chunk_id)
        if not self._may_read():
            raise ModuleMissingError(topic, self.folder.name)
        files = self._topic(topic)
        known = files.manifest.entries if files.manifest else ()
        asked = [each for each in known if chunk_id in (None, each.chunk_id)]
        answer, best, reason = self._read_remote(topic, chunk_id, asked)
        if answer is None:
            answer = self._read_files(topic, chunk_id, asked)
            answer = structs.replace(answer, confidence=best, reason=reason)
        redacted = structs.replace(answer, text=self.ctx.view.redact_text(answer.text))
        self._tell("read", topic=topic, chunk=chunk_id or "", source=answer.source, reason=reason)
        return redacted

    def _read_remote(
        self, topic: str, chunk_id: str | None, asked: Sequence[ManifestEntry]
    ) -> tuple[ModuleAnswer | None, float | None, str]:
        """The remote's answer if it can be taken, its best confidence, and why it is not."""
        ids = tuple(each.chunk_id for each in asked) or ((chunk_id,) if chunk_id else ())
        if not ids:
            return None, None, "there is nothing to ask the remote for"
        tags = tuple(dict.fromkeys(tag for each in asked for tag in each.tags))
        words = " ".join([topic, *(each.title for each in asked)])
        redact = self.ctx.view.redact_text
        query = RemoteQuery(ids, tuple(map(redact, tags)), redact(words))
        try:
            remote = self.open_remote() if self.rules.mirrors else None
            if remote is None:
                return None, None, NO_REMOTE
            hits = [x for x in remote.retrieve(self.rules.space, query) if usable(x)]
        except MirrorError as error:
            return None, None, redact(error.why)
        best = max((each.confidence for each in hits), default=None)
        entries = {each.chunk_id: each for each in asked}
        taken: list[RemoteHit] = []
        reasons = []
        for each in ids:
            mine = [hit for hit in hits if self._is_of(hit, each, alone=len(ids) == 1)]
            good = [hit for hit in mine if hit.confidence >= self.rules.min_confidence]
            current = [x for x in good if self._is_current(topic, entries.get(each), x, remote)]
            if current:
                taken.append(max(current, key=lambda hit: hit.confidence))
                continue
            least = self.rules.min_confidence
            top = max((hit.confidence for hit in mine), default=0.0)
            why = "is of another version" if good else f"has confidence {top:g}, below {least:g}"
            reasons.append(f"what it says of {each} {why}" if mine else f"it does not have {each}")
        if reasons:
            return None, best, reasons[0]
        confidence = min(hit.confidence for hit in taken)
        text = "\n\n".join(hit.text.rstrip() for hit in taken) + "\n"
        checksum = entries[ids[0]].checksum if chunk_id and asked else None
        return ModuleAnswer("remote", confidence, text, ids, checksum=checksum), best, ""

    @staticmethod
    def _is_of(hit: RemoteHit, chunk_id: str, *, alone: bool) -> bool:
        return hit.chunk_id == chunk_id or (alone and hit.chunk_id is None)

    def _is_current(
        self, topic: str, entry: ManifestEntry | None, hit: RemoteHit, remote: Remote
    ) -> bool:
        """Whether a hit is what the file says now, as far as a remote can tell."""
        if entry is None:
            return True
        data = self.folder.read(f"{topic}/{entry.file}") if entry.file else None
        if data is not None and checksum_of(data) != entry.checksum:
            return False
        if hit.checksum is None:
            return not remote.verbatim
        sent = self.state.read().mirror.get(entry.chunk_id)
        is_same = sent is None or not remote.verbatim or sent.text_sha256 == _sha(hit.text)
        return hit.checksum == entry.checksum and is_same

    def _read_files(
        self, topic: str, chunk_id: str | None, asked: Sequence[ManifestEntry]
    ) -> ModuleAnswer:
        core = f"{topic}/{topic}{CORE_SUFFIX}"
        paths = [] if chunk_id else [core]
        paths += [f"{topic}/{each.file}" for each in asked if each.file]
        texts = {path: self._read(path) for path in paths}
        found = {path: text for path, text in texts.items() if text is not None}
        if not found:
            name = f"{topic}/{chunk_id}" if chunk_id else topic
            raise ModuleMissingError(name, self.folder.name)
        checksum = None
        if chunk_id:
            checksum = checksum_of(next(iter(found.values())).encode())
        text = "\n\n".join(each.strip("\n") for each in found.values()) + "\n"
        shown = [f"{self.folder.name}/{path}" for path in found]
        ids = tuple(each.chunk_id for each in asked)
        return ModuleAnswer("files", None, text, ids, shown, checksum)

    # -------------------------------------------------------------------------- sync

    def sync(self, chunk_id: str | None = None, *, automatic: bool = False) -> ModuleSyncReport:
        """Bring files, facts, mirror and index up to date with what people edited.

        Args:
            chunk_id: mirrors this one alone.
            automatic: waits longer after each failure, and leaves out what was refused.

        Raises:
            ModuleMissingError: there is no such chunk, and none waits.
            ScopeDeniedError: the agent may not write in the scope of the project.
            ModulesBusyError: another process works with the folder.
        """
        self._check_may_write(self.rules.agent)
        with self._locked():
            self._recover()
            self._file_accepted()
            listing = self.folder.listing()
            self._pull_edits(listing)
            topics = [self._settle_manifest(each) for each in sorted(listing.topics)]
            if self._is_moved(self._record):
                topics = [self._unmirrored(each) for each in topics]
                self._keep(mirror={}, failures=0, next_try="")
            if self.rules.mirrors and self._record.remote_key != self.rules.remote_key:
                self._keep(remote_key=self.rules.remote_key)
            report = self._replay(topics, chunk_id, automatic=automatic)
            index = self._write_index(reports=True)
            self._push_all(topics, index)
        facts = len(self.facts.written)
        attention = notices_of(self.notices)
        return structs.replace(report, facts=facts, attention=attention)

    def _is_moved(self, record: FolderRecord) -> bool:
        """Whether another remote than this one has what the manifests call synced."""
        return self.rules.mirrors and record.remote_key not in ("", self.rules.remote_key)

    def _unmirrored(self, topic: TopicFiles) -> TopicFiles:
        """A topic of which the remote has nothing yet."""
        for entry in topic.manifest.entries if topic.manifest else ():
            values = {"sync_status": PENDING, entry.remote_key: None}
            self._edit_entry(topic.name, entry.chunk_id, values)
        return self._topic(topic.name)

    def _file_accepted(self) -> None:
        """Write the modules that agents proposed, and the user accepted since."""
        for key, base in self._record.proposed.items():
            topic, _, chunk_id = key.partition("/")
            found = self.facts.accepted(key)
            if found is None:
                continue
            fact, agent = found
            known = self._find(topic, chunk_id)
            old = self._read(f"{topic}/{known.file}") if known and known.file else None
            parts = split_module(f"# {fact.title}\n\n" if old is None else old)
            text = with_content(parts, fact.title, fact.content)
            asked = ModuleWrite(topic, chunk_id, text, fact.title, fact.tags, agent, base)
            self._keep(proposed={k: x for k, x in self._record.proposed.items() if k != key})
            try:
                self._begin(self._intent(asked))
            except VaultsyncError as error:  # the ordinary way merges it, or says why not
                _log.debug("what was accepted of %s is not written as it is: %s", key, error)

    def _pull_edits(self, listing: ModuleListing) -> None:
        """Write edits of facts, in notes and by agents, into their files."""
        for document in self._documents(listing):
            edit = self.facts.edit_of(document, self._record.facts.get(document.key))
            if edit is None:
                continue
            text = with_content(split_module(document.text), edit.title, edit.content)
            text = self._without_new_secrets(text, document.text)
            try:
                self._replace(document.path, text, document.text)
            except ModuleChangedError as error:
                _log.debug("the next sync writes %s: %s", document.path, error)
                continue
            self._editors[document.path] = USER if edit.actor == "vault" else edit.actor
            topic, _, chunk_id = document.key.partition("/")
            if edit.title != document.title and chunk_id and topic in listing.topics:
                self._edit_entry(topic, chunk_id, {"title": edit.title})

    def _settle_manifest(self, topic: str) -> TopicFiles:
        """Bring a manifest up to what the files of its topic are."""
        files = self._topic(topic, reports=True)
        if files.manifest is None:
            return files
        listed = {each.file for each in files.manifest.entries}
        changes: dict[str, dict[str, Value]] = {}
        for entry in files.manifest.entries:
            data = self.folder.read(f"{topic}/{entry.file}") if entry.file else None
            if data is None:
                if entry.file:
                    why = f"the manifest lists {entry.chunk_id}, and its file is missing"
                    hint = "put the file back, or delete the entry too"
                    self._notice("ModuleMissing", f"{topic}/{entry.file}", why, hint)
            elif checksum_of(data) != entry.checksum:
                changes[entry.chunk_id] = self._edited(f"{topic}/{entry.file}", data)
                if entry.remote_id is not None:
                    changes[entry.chunk_id][entry.remote_key] = None
        changes |= self._unlisted(topic, files, listed)
        if changes:
            self._edit(
                f"{topic}/{MANIFEST_FILE}",
                lambda old: edit_manifest(old, f"{topic}/{MANIFEST_FILE}", changes, topic=topic),
            )
            files = self._topic(topic)
        return files

    def _unlisted(
        self, topic: str, files: TopicFiles, listed: Collection[str]
    ) -> dict[str, dict[str, Value]]:
        """An entry for each module that a person added without one."""
        found: dict[str, dict[str, Value]] = {}
        for name in files.files:
            data = self.folder.read(f"{topic}/{name}") if MODULE_NAME.fullmatch(name) else None
            if name in listed or data is None or files.manifest is None:
                continue
            chunk_id = chunk_of_file(name)
            if files.manifest.find(chunk_id) or chunk_id in found:
                chunk_id = name.removesuffix(".md")
            title = split_module(data.decode(errors="replace")).title or chunk_id
            new: dict[str, Value] = {"title": self.ctx.view.redact_text(title)}
            new |= {"module_path": name, "tags": []}
            found[chunk_id] = new | self._edited(f"{topic}/{name}", data)
        return found

    def _edited(self, path: str, data: bytes) -> dict[str, Value]:
        return {
            "checksum": checksum_of(data),
            "last_updated_by": self._editors.get(path, USER),
            "last_updated_at": self._now(),
            "sync_status": PENDING,
        }

    def _replay(
        self, topics: Sequence[TopicFiles], chunk_id: str | None, *, automatic: bool
    ) -> ModuleSyncReport:
        """Mirror what waits, until the remote does not answer."""
        if not self.rules.mirrors:
            return ModuleSyncReport(0, 0, 0)
        self._queue_removed(topics)
        rows = {each.chunk_id: each for each in self._rows()}
        entries = {
            x.chunk_id: (t.name, x) for t in topics if t.manifest for x in t.manifest.entries
        }
        if chunk_id is not None and chunk_id not in {*entries, *rows}:
            raise ModuleMissingError(chunk_id, self.folder.name)
        waits_until = self._record.next_try if automatic else ""
        silent = automatic and self._now() < waits_until
        synced = failed = removed = pending = 0
        unreadable = any(each.manifest is None for each in topics)
        for each, (topic, entry) in sorted(entries.items()):
            text = self._read(f"{topic}/{entry.file}") if entry.file else None
            if text is None or not self._needs_mirror(topic, entry, text, each in rows):
                continue
            is_asked = chunk_id in (None, each) and not (automatic and entry.sync_status == FAILED)
            if silent or not is_asked:
                pending += 1
                if each not in rows:
                    self._put_row(each, "it waits for the next attempt", entry.last_updated_by)
                continue
            entry, _ = self._mirror(topic, entry, text)  # noqa: PLW2901
            synced += entry.sync_status == SYNCED
            failed += entry.sync_status != SYNCED
            pending += entry.sync_status != SYNCED
            silent = self._record.failures > 0
        for each in sorted(rows.keys() - entries.keys()):
            if silent or unreadable or chunk_id not in (None, each):
                pending += 1
            elif self._remove(each):
                removed += 1
            else:
                failed, pending, silent = failed + 1, pending + 1, self._record.failures > 0
        return ModuleSyncReport(synced, failed, pending, removed)

    def _queue_removed(self, topics: Sequence[TopicFiles]) -> None:
        """Queue the removal of modules that are in no manifest any more.

        A topic whose manifest is gone or cannot be read says nothing about its modules.
        """
        readable = {each.name for each in topics if each.manifest is not None}
        listed = {x.chunk_id for t in topics if t.manifest for x in t.manifest.entries}
        rows = {each.chunk_id for each in self._rows()}
        for chunk_id, mirrored in self._record.mirror.items():
            if mirrored.topic in readable and chunk_id not in {*listed, *rows}:
                self._put_row(chunk_id, "it was removed, and the remote still has it", USER)

    def _needs_mirror(self, topic: str, entry: ManifestEntry, text: str, waits: bool) -> bool:  # noqa: FBT001
        record = self._remote_record(topic, entry, text)
        sent = self._record.mirror.get(entry.chunk_id)
        known = sent.digest if sent is not None else ""
        if entry.sync_status != SYNCED or known not in ("", record.digest):
            return True
        if waits:  # a crash after it was mirrored
            self._drop_row(entry.chunk_id)
        if not known:
            self._note_mirrored(record)
        return False

    # ------------------------------------------------------------------------ mirror

    def _mirror(self, topic: str, entry: ManifestEntry, text: str) -> tuple[ManifestEntry, str]:
        """Try once to mirror a module, and record how it went; returns its entry, and why not."""
        record = self._remote_record(topic, entry, text)
        began = self.ctx.clock.monotonic()
        status, remote_id, reason = SYNCED, "", ""
        try:
            remote_id = self._send(record)
        except MirrorRefusedError as error:
            status, reason = FAILED, error.why
        except MirrorError as error:
            status, reason = PENDING, error.why
        reason = self.ctx.view.redact_text(reason)
        values: dict[str, Value] = {"sync_status": status, entry.remote_key: remote_id or None}
        if status == SYNCED:
            values["last_synced_at"] = self._now()
        else:
            self._put_row(entry.chunk_id, reason, entry.last_updated_by)
        is_new = entry.sync_status == status and entry.remote_id == (remote_id or None)
        if status == SYNCED or not is_new:
            entry = self._edit_entry(topic, entry.chunk_id, values)
        if status == SYNCED:
            self._note_mirrored(record)
            self._drop_row(entry.chunk_id)
        self._count(status, reason)
        seconds = round(self.ctx.clock.monotonic() - began, 3)
        self._tell("mirror", chunk=entry.chunk_id, status=status, reason=reason, seconds=seconds)
        return entry, reason

    def _send(self, record: RemoteRecord) -> str:
        """Store a module, and see that the remote has it."""
        remote = self.open_remote()
        if remote is None:
            raise MirrorError(NO_REMOTE)
        space = self.rules.space
        is_again = any(each.chunk_id == record.chunk_id for each in self._rows())
        held = self._held(remote, record) if is_again and not remote.verbatim else None
        if held is not None and held.remote_id:  # it came through, and the answer was lost
            return held.remote_id
        if record.chunk_id not in self._record.mirror:  # it may arrive, and the answer not
            attempted = MirrorRecord(record.topic, "", _sha(record.text))
            self._keep(mirror={**self._record.mirror, record.chunk_id: attempted})
        remote_id = remote.store(space, record)
        if not isinstance(remote_id, str) or not 0 < len(remote_id) <= _MAX_ID_CHARS:
            raise MirrorError("it gave no id")
        if remote.verbatim and self._held(remote, record) is None:
            raise MirrorError("it confirmed the module, and gives back something else")
        return remote_id

    def _held(self, remote: Remote, record: RemoteRecord) -> RemoteHit | None:
        """What the remote has of a module, if that is its present version."""
        query = RemoteQuery((record.chunk_id,), record.tags, record.title)
        for hit in remote.retrieve(self.rules.space, query):
            if hit.chunk_id != record.chunk_id or hit.checksum != record.checksum:
                continue
            if hit.text == record.text if remote.verbatim else hit.digest == record.digest:
                return hit
        return None

    def _remove(self, chunk_id: str) -> bool:
        """Try to remove a module from the remote."""
        try:
            remote = self.open_remote()
            if remote is None:
                raise MirrorError(NO_REMOTE)  # noqa: TRY301
            remote.remove(self.rules.space, chunk_id)
            query = RemoteQuery((chunk_id,))
            hits = remote.retrieve(self.rules.space, query) if remote.verbatim else ()
            if any(each.chunk_id == chunk_id for each in hits):
                raise MirrorError("it confirmed the removal, and still has it")  # noqa: TRY301
        except MirrorError as error:
            reason = self.ctx.view.redact_text(error.why)
            self._put_row(chunk_id, f"it was removed; {reason}", USER)
            self._count(PENDING, reason)
            self._tell("remove", chunk=chunk_id, status=PENDING, reason=reason)
            return False
        mirror = {key: each for key, each in self._record.mirror.items() if key != chunk_id}
        self._keep(mirror=mirror)
        self._drop_row(chunk_id)
        self._count(SYNCED, "")
        self._tell("remove", chunk=chunk_id, status=SYNCED, reason="")
        return True

    def _remote_record(self, topic: str, entry: ManifestEntry, text: str) -> RemoteRecord:
        redact = self.ctx.view.redact_text
        return RemoteRecord(
            entry.chunk_id,
            topic,
            redact(entry.title),
            tuple(map(redact, entry.tags)),
            redact(text),
            entry.checksum,
            entry.last_updated_at,
            redact(entry.last_updated_by),
        )

    def _note_mirrored(self, record: RemoteRecord) -> None:
        mirrored = MirrorRecord(record.topic, record.digest, _sha(record.text))
        self._keep(mirror={**self._record.mirror, record.chunk_id: mirrored})

    def _count(self, status: str, reason: str) -> None:
        """Count an attempt; after a failure the next automatic one waits."""
        if status == PENDING:
            self.state.count(failure=1)
            failures = self._record.failures + 1
            wait = min(FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 20), LONGEST_RETRY_SECONDS)
            at = self.ctx.clock.now() + timedelta(seconds=wait)
            self._keep(failures=failures, next_try=time_text(at))
            _log.debug("the remote failed %d times in a row: %s", failures, reason)
            return
        self.state.count(success=status == SYNCED, failure=status == FAILED)
        if self._record.failures:
            self._keep(failures=0, next_try="")

    # ----------------------------------------------------------------------- backlog

    def _rows(self) -> list[BacklogRow]:
        return read_backlog(self._read(BACKLOG_FILE) or "")

    def _put_row(self, chunk_id: str, reason: str, agent: str) -> None:
        row = BacklogRow(chunk_id, reason, self._now(), agent)
        self._edit(BACKLOG_FILE, lambda old: put_row(old, row))

    def _drop_row(self, chunk_id: str) -> None:
        if any(each.chunk_id == chunk_id for each in self._rows()):
            self._edit(BACKLOG_FILE, lambda old: drop_row(old or "", chunk_id))

    # ------------------------------------------------------------------------ status

    def status(self) -> ModuleStatus:
        """How far the mirror is; changes nothing."""
        waiting: dict[str, str] = {}
        failed = 0
        is_shown = self.rules.mirrors and self._may_read()
        is_moved = self._is_moved(self.state.read())
        rows = {each.chunk_id: each for each in self._rows()} if is_shown else {}
        for name in sorted(self.folder.listing().topics) if is_shown else ():
            files = self._topic(name, reports=True)
            for entry in files.manifest.entries if files.manifest else ():
                data = self.folder.read(f"{name}/{entry.file}") if entry.file else None
                edited = data is not None and checksum_of(data) != entry.checksum
                if entry.sync_status != SYNCED or edited or is_moved:
                    row = rows.get(entry.chunk_id)
                    waiting[entry.chunk_id] = row.time if row else entry.last_updated_at
                    failed += entry.sync_status == FAILED
                rows.pop(entry.chunk_id, None)
        waiting |= {each.chunk_id: each.time for each in rows.values()}
        hours = max(map(self._hours_since, waiting.values()), default=0.0)
        alert = len(waiting) > self.rules.alert_pending or hours > self.rules.alert_hours
        success, failure = self.state.count()
        return ModuleStatus(
            len(waiting),
            round(hours, 2),
            alert,
            failed,
            self.folder.name,
            self.rules.space,
            self.rules.remote,
            success,
            failure,
            notices_of(self.notices),
        )

    def _hours_since(self, time: str) -> float:
        try:
            at = datetime.fromisoformat(time)
            return max((self.ctx.clock.now() - at).total_seconds() / 3600, 0.0)
        except (ValueError, TypeError):  # a person wrote it
            return 0.0

    # ------------------------------------------------------------------------- index

    def index(self) -> bytes:
        """Generate the index of the folder, and return it; raises as `sync()`."""
        self._check_may_write(self.rules.agent)
        with self._locked():
            self._recover()
            return self._write_index(reports=True)

    def _write_index(self, *, reports: bool = False) -> bytes:
        listing = self.folder.listing()
        topics = {}
        for name in listing.topics:
            manifest = self._topic(name).manifest
            if manifest is not None:
                topics[name] = [each.chunk_id for each in manifest.entries]
        documents = [x.path for x in self._documents(listing) if x.key == x.path]
        new = render_index(self.folder.name, topics, documents, manifest=MANIFEST_FILE)
        old = self.folder.read(INDEX_FILE)
        if old != new:
            digest = None if old is None else checksum_of(old)
            if reports and digest not in (None, self._record.index) and self._record.index:
                assert old is not None  # noqa: S101
                kept = self.state.keep(old)
                why = "it was edited, and is generated again: the manifests say what is in it"
                hint = (
                    f"edit the manifests; what it said is in the state folder, modules/kept/{kept}"
                )
                self._notice("IndexEdited", INDEX_FILE, why, hint)
            for _ in range(MAX_TRIES):
                try:
                    self.folder.replace(INDEX_FILE, new, self.folder.read(INDEX_FILE))
                    break
                except ModuleChangedError as error:
                    _log.debug("%s is written again: %s", INDEX_FILE, error)
        if self._record.index != checksum_of(new):
            self._keep(index=checksum_of(new))
        return new

    # ------------------------------------------------------------------------- facts

    def _push_all(self, topics: Sequence[TopicFiles], index: bytes) -> None:  # noqa: ARG002
        listing = self.folder.listing()
        present = set()
        for document in self._documents(listing):
            present.add(document.key)
            self._push(document)
        readable = {each.name for each in topics if each.manifest is not None}
        for key, record in list(self._record.facts.items()):
            topic = key.partition("/")[0]
            if key in present or (topic != key and topic not in readable):
                continue
            if topic == key and not listing.documents and not listing.topics:
                continue  # the whole folder is gone, as on another branch
            self.facts.forget(record)
            self._keep(facts={k: x for k, x in self._record.facts.items() if k != key})

    def _push_module(self, topic: str, entry: ManifestEntry, *, agent: str | None = None) -> None:
        document = self._document(topic, entry)
        if document is not None:
            self._push(document, agent=agent)

    def _push(self, document: ModuleDocument, *, agent: str | None = None) -> None:
        before = self._record.facts.get(document.key)
        try:
            record = self.facts.push(document, before, agent=agent)
        except StoreUnavailableError as error:
            _log.debug("the next sync writes the fact of %s: %s", document.path, error)
            return
        if record != before:
            self._keep(facts={**self._record.facts, document.key: record})

    def _documents(self, listing: ModuleListing) -> Iterator[ModuleDocument]:
        """The modules that manifests name, and the documents without a manifest."""
        paths = [each for each in listing.documents if each != BACKLOG_FILE]
        for topic, names in sorted(listing.topics.items()):
            files = self._topic(topic)
            if files.manifest is None:
                if MANIFEST_FILE not in names:
                    paths += [f"{topic}/{name}" for name in names]
                continue
            for entry in files.manifest.entries:
                document = self._document(topic, entry)
                if document is not None:
                    yield document
        for path in paths:
            try:
                text = self._read(path)
            except UnreadableModuleError as error:
                self._notice("UnreadableModuleError", path, error.message, error.hint)
                continue
            if text is not None:
                title = split_module(text).title or path.rpartition("/")[2].removesuffix(".md")
                yield ModuleDocument(path, path, text, title)

    def _document(self, topic: str, entry: ManifestEntry) -> ModuleDocument | None:
        if not entry.file:
            return None
        path = f"{topic}/{entry.file}"
        try:
            text = self._read(path)
        except UnreadableModuleError as error:
            self._notice("UnreadableModuleError", path, error.message, error.hint)
            return None
        if text is None:
            return None
        return ModuleDocument(f"{topic}/{entry.chunk_id}", path, text, entry.title, entry.tags)

    # ------------------------------------------------------------------------- files

    def _topic(self, topic: str, *, reports: bool = False) -> TopicFiles:
        names = self.folder.listing().topics.get(topic, ())
        path = f"{topic}/{MANIFEST_FILE}"
        try:
            text = self._read(path)
            manifest = None if text is None else read_manifest(text, path, topic)
        except UnreadableModuleError as error:
            if reports:
                self._notice("UnreadableModuleError", path, error.message, error.hint)
            manifest = None
        for each in manifest.problems if manifest and reports else ():
            self._notice("ManifestProblem", path, each, "correct the manifest by hand")
        return TopicFiles(topic, manifest, names)

    def _find(self, topic: str, chunk_id: str) -> ManifestEntry | None:
        path = f"{topic}/{MANIFEST_FILE}"
        text = self._read(path)
        return None if text is None else read_manifest(text, path, topic).find(chunk_id)

    def _edit_entry(self, topic: str, chunk_id: str, values: Mapping[str, Value]) -> ManifestEntry:
        """Change an entry of a manifest; returns it."""
        path = f"{topic}/{MANIFEST_FILE}"
        new = self._edit(
            path, lambda old: edit_manifest(old, path, {chunk_id: values}, topic=topic)
        )
        entry = read_manifest(new, path, topic).find(chunk_id)
        assert entry is not None  # noqa: S101 - it was written
        return entry

    def _edit(self, path: str, change: Callable[[str | None], str]) -> str:
        """Edit a file, again when a person saves it at the same moment; returns the text."""
        for _ in range(MAX_TRIES):
            old = self._read(path)
            new = change(old)
            if new == old:
                return new
            try:
                self._replace(path, new, old)
            except ModuleChangedError as error:
                _log.debug("%s is edited again: %s", path, error)
            else:
                return new
        raise ModuleChangedError(path)

    def _read(self, path: str) -> str | None:
        data = self.folder.read(path)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            raise UnreadableModuleError(path, "it is not UTF-8") from None

    def _replace(self, path: str, text: str, expect: str | None) -> None:
        try:
            self.folder.replace(path, text.encode(), None if expect is None else expect.encode())
        except ModuleChangedError as error:
            for version in error.saved:
                self.state.keep(version)
            raise

    def _without_new_secrets(self, text: str, before: str) -> str:
        """A text that is written into a file: redacted, but for secrets that the file has."""
        view = self.ctx.view
        known = make_fact({"id": self.ctx.clock.new_id(), "content": before})
        restored, _ = view.restore_values({"content": view.redact_text(text)}, known)
        return str(restored["content"])

    def _check_unique(self, topic: str, chunk_id: str) -> None:
        for other in self.folder.listing().topics:
            manifest = self._topic(other).manifest if other != topic else None
            if manifest is not None and manifest.find(chunk_id):
                expected = f"an id that no other topic has ({other} has this one)"
                raise InvalidFieldError("chunk_id", chunk_id, expected)

    # ------------------------------------------------------------------------ shared

    def _may_read(self) -> bool:
        scope = project_scope(self.rules.space)
        return self.ctx.policy.permissions.may_read(self.rules.agent, scope)

    def _check_may_write(self, agent: str | None) -> None:
        scope = project_scope(self.rules.space)
        check_scope_access(self.ctx, scope, agent=agent or self.rules.agent)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self.folder.lock(LOCK_TIMEOUT):
            self._record = self.state.read()
            known = (self._record.space, self._record.folder)
            if known != (self.rules.space, self.folder.key):
                self._keep(space=self.rules.space, folder=self.folder.key)
            yield

    def _keep(self, **changes: object) -> None:
        self._record = structs.replace(self._record, **changes)
        self.state.write(self._record)

    def _now(self) -> str:
        return time_text(self.ctx.clock.now())

    def _notice(self, kind: str, path: str, why: str, hint: str) -> None:
        notice = Notice(kind, VaultPath(f"{self.folder.name}/{path}"), why, hint)
        if notice not in self.notices:
            self.notices.append(notice)

    def _tell(self, op: str, **values: Value) -> None:
        """A line of telemetry."""
        present = {key: value for key, value in values.items() if value != ""}
        self.state.log({"at": self._now(), "op": op, "space": self.rules.space, **present})


def _check_names(topic: str, chunk_id: str | None) -> None:
    if not is_topic(topic):
        raise InvalidFieldError("topic", topic, "the name of a folder, such as adopted-patterns")
    if chunk_id is not None and not is_chunk_id(chunk_id):
        raise InvalidFieldError("chunk_id", chunk_id, "a name without blanks, such as ap-01")


def _sha(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
