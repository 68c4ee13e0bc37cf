"""The mirror of a folder of modules on a remote, and the backlog of what is not mirrored yet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from msgspec import structs

from vaultsync.errors import ModuleMissingError
from vaultsync.model.schema import Value
from vaultsync.modules.backlog import BACKLOG_FILE, BacklogRow, drop_row, put_row, read_backlog
from vaultsync.modules.manifest import FAILED, MANIFEST_FILE, PENDING, SYNCED, ManifestEntry
from vaultsync.modules.module_text import MODULE_NAME, checksum_of
from vaultsync.modules.ports import REMOVED, FolderRecord, MirrorRecord
from vaultsync.modules.remote import (
    MirrorError,
    MirrorRefusedError,
    Remote,
    RemoteHit,
    RemoteQuery,
    RemoteRecord,
    usable,
)
from vaultsync.modules.report import ModuleAnswer, ModuleSyncReport
from vaultsync.modules.topic_files import USER, ModuleFiles, TopicFiles
from vaultsync.storage.clock import time_text

_log = logging.getLogger(__name__)

NO_REMOTE = "no remote is set"
"""The reason why modules wait if no remote is configured."""
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 60.0, 6 * 3600.0
"""The wait after the first failure, which doubles with each further one, up to a maximum."""
_MAX_ID_CHARS = 500


@dataclass(slots=True)
class ModuleMirror:
    """Sends modules to the remote of one folder, and reads them from there."""

    files: ModuleFiles
    open_remote: Callable[[], Remote | None]
    """The remote of the settings; raises MirrorError when it cannot be used."""

    def retrieve(
        self, topic: str, chunk_id: str | None, asked: Sequence[ManifestEntry]
    ) -> tuple[ModuleAnswer | None, float | None, str]:
        """The remote's answer if it can be used, its best confidence, and why it is not used."""
        ids = tuple(each.chunk_id for each in asked) or ((chunk_id,) if chunk_id else ())
        if not ids:
            return None, None, "there is nothing to request from the remote"
        tags = tuple(dict.fromkeys(tag for each in asked for tag in each.tags))
        words = " ".join([topic, *(each.title for each in asked)])
        redact = self.files.ctx.view.redact_text
        query = RemoteQuery(ids, tuple(map(redact, tags)), redact(words))
        try:
            remote = self.open_remote() if self.files.rules.mirrors else None
            if remote is None:
                return None, None, NO_REMOTE
            hits = [x for x in remote.retrieve(self.files.rules.space, query) if usable(x)]
        except MirrorError as error:
            return None, None, redact(error.why)
        best = max((each.confidence for each in hits), default=None)
        entries = {each.chunk_id: each for each in asked}
        taken: list[RemoteHit] = []
        reasons = []
        for each in ids:
            named = {each, None} if len(ids) == 1 else {each}
            mine = [hit for hit in hits if hit.chunk_id in named]
            good = [hit for hit in mine if hit.confidence >= self.files.rules.min_confidence]
            current = [x for x in good if self._is_current(topic, entries.get(each), x, remote)]
            if current:
                taken.append(max(current, key=lambda hit: hit.confidence))
                continue
            least = self.files.rules.min_confidence
            top = max((hit.confidence for hit in mine), default=0.0)
            why = "is a different version" if good else f"has confidence {top:g}, below {least:g}"
            reasons.append(f"its answer for {each} {why}" if mine else f"it does not have {each}")
        if reasons:
            return None, best, reasons[0]
        confidence = min(hit.confidence for hit in taken)
        text = "\n\n".join(hit.text.rstrip() for hit in taken) + "\n"
        checksum = entries[ids[0]].checksum if chunk_id and asked else None
        return ModuleAnswer("remote", confidence, text, ids, checksum=checksum), best, ""

    def _is_current(
        self, topic: str, entry: ManifestEntry | None, hit: RemoteHit, remote: Remote
    ) -> bool:
        """Whether a hit is, as far as is known, the current version of the file."""
        if entry is None:
            return True
        data = self.files.bytes_or_notice(f"{topic}/{entry.file}") if entry.file else None
        if data is not None and checksum_of(data) != entry.checksum:
            return False
        if hit.checksum is None:
            return not remote.verbatim
        sent = self.files.state.read().mirror.get(entry.chunk_id)
        is_same = sent is None or not remote.verbatim or sent.text_sha256 == _sha(hit.text)
        return hit.checksum == entry.checksum and is_same

    def is_moved(self, record: FolderRecord) -> bool:
        """Whether the manifests were synced with another remote."""
        return self.files.rules.mirrors and record.remote_key not in (
            "",
            self.files.rules.remote_key,
        )

    def replay(
        self, topics: Sequence[TopicFiles], chunk_id: str | None, *, automatic: bool
    ) -> ModuleSyncReport:
        """Mirror waiting modules, and stop when the remote does not answer."""
        if not self.files.rules.mirrors:
            return ModuleSyncReport(0, 0, 0)
        self._queue_removed(topics)
        rows = {each.chunk_id: each for each in self.rows()}
        entries = {
            x.chunk_id: (t.name, x) for t in topics if t.manifest for x in t.manifest.entries
        }
        if chunk_id is not None and chunk_id not in {*entries, *rows}:
            raise ModuleMissingError(chunk_id, self.files.folder.name)
        silent = automatic and self._waits()
        synced = failed = removed = pending = 0
        unreadable = any(map(_may_list_others, topics))
        for each, (topic, entry) in sorted(entries.items()):
            text = self.files.text_or_notice(f"{topic}/{entry.file}") if entry.file else None
            if text is None or not self._needs_mirror(topic, entry, text, waits=each in rows):
                continue
            is_asked = chunk_id in (None, each) and not (automatic and entry.sync_status == FAILED)
            if silent or not is_asked:
                pending += 1
                if each not in rows:
                    self._put_row(each, "it waits for the next attempt", entry.last_updated_by)
                continue
            status = PENDING
            with self.files.noticing(f"{topic}/{MANIFEST_FILE}"):
                status = self.attempt(topic, entry, text)[0].sync_status
            synced += status == SYNCED
            failed += status != SYNCED
            pending += status != SYNCED
            silent = self.files.record.failures > 0
        for each in sorted(rows.keys() - entries.keys()):
            if silent or unreadable or chunk_id not in (None, each):
                pending += 1
            elif self._remove(each):
                removed += 1
            else:
                failed, pending, silent = failed + 1, pending + 1, self.files.record.failures > 0
        return ModuleSyncReport(synced, failed, pending, removed)

    def _waits(self) -> bool:
        """Whether the next attempt is not due, unless the clock was ahead when that was set."""
        now = self.files.ctx.clock.now()
        latest = time_text(now + timedelta(seconds=LONGEST_RETRY_SECONDS))
        return time_text(now) < self.files.record.next_try <= latest

    def _mirrored(self) -> dict[str, MirrorRecord]:
        """The modules that the remote has, or may have, by chunk id."""
        mirror = self.files.record.mirror
        return {key: each for key, each in mirror.items() if each.digest != REMOVED}

    def _queue_removed(self, topics: Sequence[TopicFiles]) -> None:
        """Queue the removal of modules that are no longer in any manifest.

        A topic whose manifest is missing or unreadable counts as unchanged.
        """
        readable = {each.name for each in topics if each.manifest is not None}
        listed = {x.chunk_id for t in topics if t.manifest for x in t.manifest.entries}
        rows = {each.chunk_id for each in self.rows()}
        for chunk_id, mirrored in self._mirrored().items():
            if mirrored.topic in readable and chunk_id not in {*listed, *rows}:
                self._put_row(chunk_id, "it was removed, but the remote still has it", USER)

    def _needs_mirror(self, topic: str, entry: ManifestEntry, text: str, *, waits: bool) -> bool:
        record = self._remote_record(topic, entry, text)
        sent = self.files.record.mirror.get(entry.chunk_id)
        known = sent.digest if sent is not None else ""
        if entry.sync_status != SYNCED or known not in ("", record.digest):
            return True
        if waits:  # after a crash that followed the mirroring
            self._drop_row(entry.chunk_id)
        if not known:
            self._note_mirrored(record)
        return False

    def attempt(self, topic: str, entry: ManifestEntry, text: str) -> tuple[ManifestEntry, str]:
        """Try once to mirror a module and record the result; returns its entry and the error."""
        record = self._remote_record(topic, entry, text)
        began = self.files.ctx.clock.monotonic()
        status, remote_id, reason = SYNCED, "", ""
        try:
            remote_id = self._send(record)
        except MirrorRefusedError as error:
            status, reason = FAILED, error.why
        except MirrorError as error:
            status, reason = PENDING, error.why
        reason = self.files.ctx.view.redact_text(reason)
        values: dict[str, Value] = {"sync_status": status, entry.remote_key: remote_id or None}
        if status == SYNCED:
            values["last_synced_at"] = self.files.now()
        else:
            self._put_row(entry.chunk_id, reason, entry.last_updated_by)
        is_new = entry.sync_status == status and entry.remote_id == (remote_id or None)
        if status == SYNCED or not is_new:
            entry = self.files.edit_entry(topic, entry.chunk_id, values)
        if status == SYNCED:
            self._note_mirrored(record)
            self._drop_row(entry.chunk_id)
        self._count(status, reason)
        seconds = round(self.files.ctx.clock.monotonic() - began, 3)
        self.files.log(
            "mirror", chunk=entry.chunk_id, status=status, reason=reason, seconds=seconds
        )
        return entry, reason

    def _send(self, record: RemoteRecord) -> str:
        """Store a module, and verify that the remote has it."""
        remote = self.open_remote()
        if remote is None:
            raise MirrorError(NO_REMOTE)
        space = self.files.rules.space
        is_again = any(each.chunk_id == record.chunk_id for each in self.rows())
        held = self._held(remote, record) if is_again and not remote.verbatim else None
        if held is not None and held.remote_id:  # it was stored, but the response was lost
            return held.remote_id
        if record.chunk_id not in self._mirrored():  # it may arrive without a response
            attempted = MirrorRecord(record.topic, "", _sha(record.text))
            self.files.keep(mirror={**self.files.record.mirror, record.chunk_id: attempted})
        remote_id = remote.store(space, record)
        if not isinstance(remote_id, str) or not 0 < len(remote_id) <= _MAX_ID_CHARS:
            raise MirrorError("it returned no id")
        if remote.verbatim and self._held(remote, record) is None:
            raise MirrorError("it confirmed the module, but returns different content")
        return remote_id

    def _held(self, remote: Remote, record: RemoteRecord) -> RemoteHit | None:
        """The hit with the current version of a module, if the remote has it."""
        query = RemoteQuery((record.chunk_id,), record.tags, record.title)
        for hit in remote.retrieve(self.files.rules.space, query):
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
                raise MirrorError(NO_REMOTE)  # noqa: TRY301 - one handler words all of them
            remote.remove(self.files.rules.space, chunk_id)
            query = RemoteQuery((chunk_id,))
            hits = remote.retrieve(self.files.rules.space, query) if remote.verbatim else ()
            if any(each.chunk_id == chunk_id for each in hits):
                raise MirrorError("it confirmed the removal, but still has the module")  # noqa: TRY301 - one handler words all of them
        except MirrorError as error:
            reason = self.files.ctx.view.redact_text(error.why)
            self._put_row(chunk_id, f"it was removed; {reason}", USER)
            self._count(PENDING, reason)
            self.files.log("remove", chunk=chunk_id, status=PENDING, reason=reason)
            return False
        mirrored = self.files.record.mirror.get(chunk_id, MirrorRecord("", "", ""))
        gone = structs.replace(mirrored, digest=REMOVED)
        self.files.keep(mirror={**self.files.record.mirror, chunk_id: gone})
        self._drop_row(chunk_id)
        self._count(SYNCED, "")
        self.files.log("remove", chunk=chunk_id, status=SYNCED, reason="")
        return True

    def _remote_record(self, topic: str, entry: ManifestEntry, text: str) -> RemoteRecord:
        redact = self.files.ctx.view.redact_text
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
        self.files.keep(mirror={**self.files.record.mirror, record.chunk_id: mirrored})

    def _count(self, status: str, reason: str) -> None:
        """Count an attempt; after a failure, delay the next automatic one."""
        if status == PENDING:
            self.files.state.count(failure=1)
            failures = self.files.record.failures + 1
            wait = min(FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 20), LONGEST_RETRY_SECONDS)
            at = self.files.ctx.clock.now() + timedelta(seconds=wait)
            self.files.keep(failures=failures, next_try=time_text(at))
            _log.debug("the remote failed %d times in a row: %s", failures, reason)
            return
        self.files.state.count(success=status == SYNCED, failure=status == FAILED)
        if self.files.record.failures:
            self.files.keep(failures=0, next_try="")

    def rows(self) -> list[BacklogRow]:
        """The rows of the backlog."""
        return read_backlog(self.files.read(BACKLOG_FILE) or "")

    def _put_row(self, chunk_id: str, reason: str, agent: str) -> None:
        row = BacklogRow(chunk_id, reason, self.files.now(), agent)
        self.files.edit(BACKLOG_FILE, lambda old: put_row(old, row))

    def _drop_row(self, chunk_id: str) -> None:
        if any(each.chunk_id == chunk_id for each in self.rows()):
            self.files.edit(BACKLOG_FILE, lambda old: drop_row(old or "", chunk_id))


def _may_list_others(topic: TopicFiles) -> bool:
    """Whether a topic has modules whose manifest is missing or cannot be read."""
    names = topic.files if topic.manifest is None else ()
    return any(each == MANIFEST_FILE or MODULE_NAME.fullmatch(each) for each in names)


def _sha(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
