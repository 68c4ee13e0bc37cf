"""Write, read and mirror the modules of one folder.

A write has steps, each of which is durable before the next one begins: the module and the core
file, the manifest, one attempt to mirror it, the backlog if that fails, the index. The agent's
text is kept in the state folder until the last step, so that the next command after a crash
completes the write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from functools import partial

from msgspec import Struct, structs

from vaultsync.errors import (
    InvalidFieldError,
    ModuleChangedError,
    ModuleMissingError,
    OlderVaultError,
    StoreUnavailableError,
    UnreadableModuleError,
    VaultsyncError,
)
from vaultsync.facts.service import check_scope_access
from vaultsync.facts.write_limits import check_write_limits
from vaultsync.markdown.diff3 import merge_text
from vaultsync.model.canonical import tags_in
from vaultsync.model.fact import make_fact
from vaultsync.model.schema import Value
from vaultsync.modules.core_file import CoreChange, update_core, with_new_names
from vaultsync.modules.manifest import (
    FAILED,
    INDEX_FILE,
    MANIFEST_FILE,
    PENDING,
    SYNCED,
    ManifestEntry,
    ReadManifest,
    edit_manifest,
    render_index,
)
from vaultsync.modules.mirror import NO_REMOTE, ModuleMirror
from vaultsync.modules.module_facts import (
    MODULE_ACTOR,
    FactEdit,
    ModuleDocument,
    ModuleFacts,
    project_scope,
)
from vaultsync.modules.module_text import (
    MODULE_NAME,
    checksum_of,
    chunk_of_file,
    core_path,
    is_chunk_id,
    is_topic,
    new_module_name,
    plain_line_ends,
    split_module,
    with_content,
    with_line_ends_of,
)
from vaultsync.modules.ports import (
    CONFLICT,
    INDEX_EDITED,
    MAX_MODULE_BYTES,
    FactRecord,
    ModuleFolder,
    ModuleIntent,
    ModuleState,
)
from vaultsync.modules.remote import Remote
from vaultsync.modules.report import ModuleAnswer, ModuleStatus, ModuleSyncReport, ModuleWritten
from vaultsync.modules.topic_files import MAX_TRIES, USER, ModuleFiles, ModuleRules, TopicFiles
from vaultsync.storage.archive import Notice
from vaultsync.sync.context import SyncContext
from vaultsync.sync.report import notices_of
from vaultsync.sync.state_summary import older_summary_time

_log = logging.getLogger(__name__)

SUMMARY_SECONDS, SUMMARY_POLL_SECONDS = 2.0, 0.02
"""How long, and at which interval, the summary of a run is waited for."""


class ModuleWrite(Struct, frozen=True):
    """A write that an agent requests."""

    topic: str
    chunk_id: str
    text: str
    title: str | None = None
    tags: tuple[str, ...] | None = None
    agent: str | None = None
    expect: str | None = None
    """The checksum that the module must have; `new` if there must be none."""


@dataclass(slots=True)
class ModuleWork:
    """The modules of one folder."""

    ctx: SyncContext
    folder: ModuleFolder
    state: ModuleState
    rules: ModuleRules
    open_remote: InitVar[Callable[[], Remote | None]]
    """The remote of the settings; raises MirrorError when it cannot be used."""
    files: ModuleFiles = field(init=False)
    mirror: ModuleMirror = field(init=False)
    facts: ModuleFacts = field(init=False)
    _editors: dict[str, str] = field(init=False, default_factory=dict)
    """Path of a module file that was just written -> who edited its fact."""

    def __post_init__(self, open_remote: Callable[[], Remote | None]) -> None:
        """Prepare the files, the mirror and the facts of the space."""
        rules = self.rules
        self.files = ModuleFiles(self.ctx, self.folder, self.state, rules)
        self.mirror = ModuleMirror(self.files, open_remote)
        notices = self.files.notices
        self.facts = ModuleFacts(self.ctx, rules.space, rules.agent, rules.links, notices)

    def write(self, asked: ModuleWrite) -> ModuleWritten:
        """Write a module, and try once to mirror it.

        Raises:
            InvalidFieldError: a name is invalid, or the text is empty.
            ScopeDeniedError: the agent may not write in the scope of the project.
            WriteLimitError: the agent's limit on text length or writes is exceeded.
            ModuleChangedError: the module does not have the checksum `expect`.
            UnreadableModuleError: a file of the topic cannot be read or written.
            OlderVaultError: the vault with the folder is an older copy.
            ModulesBusyError: another process works with the folder.
        """
        self._check_write(asked)
        self._check_current()
        with self.files.locked():
            self._recover()
            intent = self._intent(asked)
            intent = self._with_user_edits(intent)
            entry, reason = self._begin(intent)
        return self._written(asked.topic, entry, f"{asked.topic}/{entry.file}", reason)

    def draft(self, asked: ModuleWrite) -> ModuleWritten:
        """Write only the fact, on a draft of the store, to propose the write.

        Once it is accepted, `sync()` writes the module; if the user has edited the module
        meanwhile, both are merged, as with any edit of a fact.

        Raises: as `write()`.
        """
        self._check_write(asked)
        key = f"{asked.topic}/{asked.chunk_id}"
        with self.files.locked():
            intent = self._intent(asked)
            base = "new" if intent.before is None else checksum_of(intent.before.encode())
            self.files.keep(proposed={**self.files.record.proposed, key: base})
            document = ModuleDocument(key, intent.path, intent.text, intent.title, intent.tags)
            self.facts.push(document, self.files.record.facts.get(key), agent=asked.agent)
        checksum = checksum_of(intent.text.encode())
        waits = ManifestEntry(asked.chunk_id, intent.title, "", "", checksum=checksum)
        return self._written(asked.topic, waits, intent.path, "it is written by the next sync")

    def _with_user_edits(self, intent: ModuleIntent) -> ModuleIntent:
        """Take up what the user wrote before a write: the file in the fact's history, and the fact.

        An edit of the fact goes to the file, with whose text the write is merged.
        """
        topic, chunk_id = intent.topic, intent.chunk_id
        known = self.files.find(topic, chunk_id)
        if known is None:
            return intent
        document = self.files.document(topic, known)
        edit = None
        with suppress(StoreUnavailableError):  # the next sync merges them
            edit = None if document is None else self._pull_edit(document)
        if edit is not None and intent.title == intent.was_title:
            intent = structs.replace(intent, title=edit.title)
        self._push_module(topic, self.files.find(topic, chunk_id) or known)
        return intent

    def _check_write(self, asked: ModuleWrite) -> None:
        _check_names(asked.topic, asked.chunk_id)
        if not asked.text.strip():
            raise InvalidFieldError("text", asked.text, "some text")
        if len(asked.text.encode(errors="surrogatepass")) >= MAX_MODULE_BYTES:
            raise InvalidFieldError("text", asked.text, f"less than {MAX_MODULE_BYTES:,} bytes")
        self._check_may_write(asked.agent)
        values = {"content": asked.text, "title": asked.title, "tags": list(asked.tags or ())}
        draft = make_fact({**values, "id": self.ctx.clock.new_id()})
        check_write_limits(self.ctx, draft, agent=asked.agent or self.rules.agent)

    def _begin(self, intent: ModuleIntent) -> tuple[ManifestEntry, str]:
        """Record a write, so that it can be completed after a crash, and carry it out."""
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
            notices_of(self.files.notices),
        )

    def _intent(self, asked: ModuleWrite) -> ModuleIntent:
        redact = self.ctx.view.redact_text
        topic, chunk_id = asked.topic, asked.chunk_id
        files = self.files.topic(topic)
        if files.manifest is None and MANIFEST_FILE in files.files:
            self.files.find(topic, chunk_id)  # raises the reason why it is unusable
        self.files.read(core_path(topic))  # raises before anything is written
        found = None if files.manifest is None else files.manifest.find(chunk_id)
        self._check_unique(topic, chunk_id)
        text = plain_line_ends(asked.text)
        text += "" if text.endswith("\n") else "\n"
        before = None
        if found is not None:
            if not found.file:
                raise UnreadableModuleError(
                    f"{topic}/{found.module_path}", "its path leads out of the topic's folder"
                )
            path = f"{topic}/{found.file}"
            before = self.files.read(path)
        else:
            heading = asked.title or split_module(text).title or chunk_id
            path = f"{topic}/{new_module_name(redact(heading), files.files)}"
        text = with_line_ends_of(before or "", self._without_new_secrets(text, before or ""))
        now = None if before is None else checksum_of(before.encode())
        if asked.expect is not None and asked.expect != (now or "new"):
            raise ModuleChangedError(f"{self.folder.name}/{path}")
        was_title = found.title if found else ""
        title = asked.title or split_module(text).title or was_title or chunk_id
        tags = [new for each in asked.tags or () for new in tags_in(each)]
        if asked.tags is None and found:
            tags = [*found.tags]
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
            self.files.now(),
        )

    def _carry_out(self, intent: ModuleIntent) -> tuple[ManifestEntry, str]:
        """Do the remaining steps of a write; returns its entry, and why mirroring failed."""
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
        self.files.edit(core_path(topic), lambda old: update_core(old, topic, change))
        entry = self.files.find(topic, intent.chunk_id)
        checksum = checksum_of(text.encode())
        reason = "" if self.rules.mirrors else NO_REMOTE
        is_done = (
            entry is not None
            and (entry.checksum, entry.last_updated_at) == (checksum, intent.at)
            and (entry.title, entry.tags) == (intent.title, intent.tags)
            and entry.sync_status == SYNCED
        )
        if not is_done:
            entry = self.files.edit_entry(
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
                entry, reason = self.mirror.attempt(topic, entry, text)
        assert entry is not None  # noqa: S101 - it was found, or has just been written
        self._write_index()
        self.state.drop_intent(intent.op)
        self.files.log("write", chunk=intent.chunk_id, status=entry.sync_status, agent=intent.agent)
        return entry, reason

    def _put_module(self, intent: ModuleIntent) -> tuple[ModuleIntent, str]:
        """Write the module if necessary; returns the intent and the current text."""
        for _ in range(MAX_TRIES):
            current = self.files.read(intent.path)
            if current == intent.text:
                return intent, intent.text
            text = intent.text
            if current is not None and intent.before is None:
                # Another process has created a file with that name meanwhile.
                name = new_module_name(intent.title, self.files.topic(intent.topic).files)
                intent = structs.replace(intent, path=f"{intent.topic}/{name}")
                self.state.put_intent(intent)
                continue
            if current is not None and current != intent.before:
                merged = merge_text(intent.before or "", current, intent.text)
                text = current if merged is None else merged
                if merged is None:
                    kept = self.state.keep(intent.text.encode())
                    why = "it was edited meanwhile, in the same place; that version was kept"
                    hint = f"the agent's text is in the state folder, modules/kept/{kept}"
                    self.files.notice(CONFLICT, intent.path, why, hint)
                    title = split_module(current).title or intent.was_title
                    intent = structs.replace(intent, title=title)
                if text == current:
                    return intent, text
            try:
                self.files.replace(intent.path, text, current)
            except ModuleChangedError as error:
                _log.debug("%s is written again: %s", intent.path, error)
            else:
                return intent, text
        raise ModuleChangedError(intent.path)

    def _recover(self) -> None:
        """Finish the writes that a crash interrupted, after what they displaced is put back."""
        self.files.recover_displaced()
        for intent in self.state.intents():
            with self.files.noticing(intent.path):
                self._carry_out(intent)

    def read(self, topic: str, chunk_id: str | None = None) -> ModuleAnswer:
        """The text of a topic or a module: from the remote, or else from the files.

        Raises:
            ModuleMissingError: neither the remote nor the files have it.
            UnreadableModuleError: the files cannot be read, and the remote has nothing.
        """
        _check_names(topic, chunk_id)
        if not self._may_read():
            raise ModuleMissingError(topic, self.folder.name)
        files = self.files.topic(topic)
        known = files.manifest.entries if files.manifest else ()
        asked = [each for each in known if chunk_id in (None, each.chunk_id)]
        answer, best, reason = self.mirror.retrieve(topic, chunk_id, asked)
        if answer is None:
            answer = self._read_files(topic, chunk_id, asked)
            answer = structs.replace(answer, confidence=best, reason=reason)
        redacted = structs.replace(answer, text=self.ctx.view.redact_text(answer.text))
        self.files.log(
            "read", topic=topic, chunk=chunk_id or "", source=answer.source, reason=reason
        )
        return redacted

    def _read_files(
        self, topic: str, chunk_id: str | None, asked: Sequence[ManifestEntry]
    ) -> ModuleAnswer:
        paths = [] if chunk_id else [core_path(topic)]
        paths += [f"{topic}/{each.file}" for each in asked if each.file]
        texts = {path: self.files.read(path) for path in paths}
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

    def sync(
        self, chunk_id: str | None = None, *, automatic: bool = False, trust_facts: bool = False
    ) -> ModuleSyncReport:
        """Update files, facts, mirror and index after edits.

        Only the module `chunk_id` is mirrored, if it is given. An `automatic` sync respects the
        delay after failures, and skips refused modules. `trust_facts` says that the files are of
        an older copy of the vault: each gets the text of its fact, and missing ones are written.

        Raises:
            ModuleMissingError: there is no such chunk, in a manifest or the backlog.
            ScopeDeniedError: the agent may not write in the scope of the project.
            OlderVaultError: the vault with the folder is an older copy.
            ModulesBusyError: another process works with the folder.
        """
        self._check_may_write(self.rules.agent)
        if not trust_facts:
            self._check_current()
        with self.files.locked():
            self._recover()
            self._file_accepted()
            files = self._write_missing() if trust_facts else 0
            listing = self.folder.listing()
            for document in self.files.documents(listing):
                self._pull_edit(document, trust_fact=trust_facts)
            topics = [self._settle_manifest(each) for each in sorted(listing.topics)]
            files += len(self._editors)
            if self.mirror.is_moved(self.files.record):
                topics = [self._unmirrored(each) for each in topics]
                self.files.keep(mirror={}, failures=0, next_try="")
            if self.rules.mirrors and self.files.record.remote_key != self.rules.remote_key:
                self.files.keep(remote_key=self.rules.remote_key)
            report = self.mirror.replay(topics, chunk_id, automatic=automatic)
            self._write_index(reports=True)
            self._push_all(topics)
            attention = notices_of(self.files.read_notices(automatic=automatic))
        facts = len(self.facts.written)
        return structs.replace(report, facts=facts, files=files, attention=attention)

    def _unmirrored(self, topic: TopicFiles) -> TopicFiles:
        """A topic with all of its entries marked as not mirrored."""
        with self.files.noticing(f"{topic.name}/{MANIFEST_FILE}"):
            for entry in topic.manifest.entries if topic.manifest else ():
                values = {"sync_status": PENDING, entry.remote_key: None}
                self.files.edit_entry(topic.name, entry.chunk_id, values)
            return self.files.topic(topic.name)
        return topic._replace(manifest=None)

    def _file_accepted(self) -> None:
        """Write the modules that agents proposed and the user has accepted."""
        for key, base in self.files.record.proposed.items():
            topic, _, chunk_id = key.partition("/")
            found = self.facts.accepted(key)
            if found is None:
                continue
            fact, agent = found
            with self.files.noticing(f"{topic}/{MANIFEST_FILE}"):  # it waits for a correction
                known = self.files.find(topic, chunk_id)
                old = self.files.read(f"{topic}/{known.file}") if known and known.file else None
                parts = split_module(f"# {fact.title}\n\n" if old is None else old)
                text = with_content(parts, fact.title, fact.content)
                asked = ModuleWrite(topic, chunk_id, text, fact.title, fact.tags, agent, base)
                self.files.keep(
                    proposed={k: x for k, x in self.files.record.proposed.items() if k != key}
                )
                try:
                    self._begin(self._intent(asked))
                except VaultsyncError as error:  # `sync()` merges it later, or reports why not
                    _log.debug("what was accepted of %s is not written as it is: %s", key, error)

    def _write_missing(self) -> int:
        """Write the file of each fact that an older copy of the vault does not have; how many."""
        known = {each.key for each in self.files.documents(self.folder.listing())}
        written = 0
        for key, record in list(self.files.record.facts.items()):
            fact = None if key in known else self.facts.read(record.fact_id)
            if fact is None:
                continue
            topic, _, chunk_id = key.partition("/")
            text = with_content(split_module(f"# {fact.title}\n\n"), fact.title, fact.content)
            with self.files.noticing(key):
                if key.endswith(".md"):  # a document without a manifest
                    self.files.replace(key, self._without_new_secrets(text, ""), None)
                else:
                    asked = ModuleWrite(topic, chunk_id, text, fact.title, fact.tags)
                    self._begin(self._intent(asked))
                written += 1
        return written

    def _pull_edit(self, document: ModuleDocument, *, trust_fact: bool = False) -> FactEdit | None:
        """Write an edit of a fact, in its note or by an agent, to its file; None if it has to wait.

        With `trust_fact`, any difference is an edit of the fact, and the former text is kept.
        """
        record = self.files.record.facts.get(document.key)
        if trust_fact and record is not None:
            record = FactRecord(record.fact_id, document.title, document.content)
            self.files.keep(facts={**self.files.record.facts, document.key: record})
        edit = self.facts.edit_of(document, record, trust_fact=trust_fact)
        if edit is None:
            return None
        if trust_fact:
            self.state.keep(document.text.encode())
        text = with_content(split_module(document.text), edit.title, edit.content)
        text = self._without_new_secrets(text, document.text)
        try:
            self.files.replace(document.path, text, document.text)
        except ModuleChangedError as error:
            _log.debug("the next sync writes %s: %s", document.path, error)
            self.facts.wait(document)
            return None
        is_user = edit.actor in ("vault", MODULE_ACTOR)
        self._editors[document.path] = USER if is_user else edit.actor
        topic, _, chunk_id = document.key.partition("/")
        if edit.title != document.title and document.key != document.path:
            with self.files.noticing(f"{topic}/{MANIFEST_FILE}"):
                self.files.edit_entry(topic, chunk_id, {"title": edit.title})
        return edit

    def _settle_manifest(self, topic: str) -> TopicFiles:
        """Update a manifest to match the files of its topic."""
        files = self.files.topic(topic, reports=True)
        if files.manifest is None:
            return files
        listed = {each.file for each in files.manifest.entries}
        changes: dict[str, dict[str, Value]] = {}
        missing: list[ManifestEntry] = []
        for entry in filter(lambda each: each.file, files.manifest.entries):
            path = f"{topic}/{entry.file}"
            with self.files.noticing(path):
                data = self.folder.read(path)
                if data is None:
                    missing.append(entry)
                elif checksum_of(data) != entry.checksum:
                    changes[entry.chunk_id] = self._edited(path, data)
                    if entry.remote_id is not None:
                        changes[entry.chunk_id][entry.remote_key] = None
        unlisted = self._unlisted(topic, files, listed, missing)
        changes |= unlisted
        for entry in missing:
            why = f"the manifest lists {entry.chunk_id}, but its file is missing"
            hint = "put the file back, or delete the entry too"
            self.files.notice("ModuleMissing", f"{topic}/{entry.file}", why, hint)
        if not changes:
            return files
        self._update_core(topic, files.manifest, changes)
        path = f"{topic}/{MANIFEST_FILE}"
        with self.files.noticing(path):
            self.files.edit(path, lambda old: edit_manifest(old, path, changes, topic=topic))
            found = [self.files.find(topic, each) for each in unlisted]
            documents = [self.files.document(topic, each) for each in found if each]
            edits = [self._pull_edit(each) for each in documents if each]
            return self._settle_manifest(topic) if any(edits) else self.files.topic(topic)
        return files._replace(manifest=None)  # nothing is mirrored or removed by it

    def _update_core(
        self, topic: str, manifest: ReadManifest, changes: Mapping[str, Mapping[str, Value]]
    ) -> None:
        """Update the lines and links of edited, added and renamed modules in a core file."""
        core = core_path(topic)
        names = {
            entry.file: str(changes[entry.chunk_id]["module_path"])
            for entry in manifest.entries
            if entry.file and "module_path" in changes.get(entry.chunk_id, ())
        }
        with self.files.noticing(core):
            if self.files.read(core) is None:
                return
            if names:  # first, as the lines of a module are found by its link
                self.files.edit(core, lambda old: with_new_names(old or "", names))
            for chunk_id, values in changes.items():
                change = self._core_change(topic, chunk_id, manifest.find(chunk_id), values)
                if change is not None:
                    self.files.edit(core, partial(update_core, topic=topic, change=change))

    def _core_change(
        self, topic: str, chunk_id: str, entry: ManifestEntry | None, values: Mapping[str, Value]
    ) -> CoreChange | None:
        """An edit of a module by hand; None if it cannot be read."""
        was_file = entry.file if entry and entry.file else ""
        file = str(values.get("module_path", was_file))
        text = self.files.text_or_notice(f"{topic}/{file}")
        if text is None:
            return None
        title = str(values.get("title", entry.title if entry else chunk_id))
        base = self.files.record.facts.get(f"{topic}/{chunk_id}")
        was_title, was_text = (base.title, base.content) if base else (title, "")
        return CoreChange(
            chunk_id,
            title,
            text,
            file.rpartition("/")[2],
            was_title,
            None if entry is None else was_text,
            self._editors.get(f"{topic}/{file}", USER),
            self.files.now()[:10],
        )

    def _unlisted(
        self, topic: str, files: TopicFiles, listed: Collection[str], missing: list[ManifestEntry]
    ) -> dict[str, dict[str, Value]]:
        """An entry for each module file that a user added without one.

        One with the text of a missing file is that file under a new name; its entry is taken out
        of `missing`, the entries without a file.
        """
        found: dict[str, dict[str, Value]] = {}
        for name in files.files:
            is_new = MODULE_NAME.fullmatch(name) and name not in listed
            data = self.files.bytes_or_notice(f"{topic}/{name}") if is_new else None
            if data is None or files.manifest is None:
                continue
            renamed = next((x for x in missing if x.checksum == checksum_of(data)), None)
            if renamed is not None:
                missing.remove(renamed)
                found[renamed.chunk_id] = {"module_path": name}
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
            "last_updated_at": self.files.now(),
            "sync_status": PENDING,
        }

    def status(self) -> ModuleStatus:
        """The state of the mirror; changes nothing."""
        unread: Sequence[Notice] = ()
        if self._may_read():
            unread = self.state.read().unread
            self.files.report_displaced()
        waiting: dict[str, str] = {}
        failed = 0
        is_shown = self.rules.mirrors and self._may_read()
        is_moved = self.mirror.is_moved(self.state.read())
        rows = {each.chunk_id: each for each in self.mirror.rows()} if is_shown else {}
        for name in sorted(self.folder.listing().topics) if is_shown else ():
            files = self.files.topic(name, reports=True)
            for entry in files.manifest.entries if files.manifest else ():
                data = self.files.bytes_or_notice(f"{name}/{entry.file}") if entry.file else None
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
            notices_of([*unread, *self.files.notices]),
        )

    def _hours_since(self, time: str) -> float:
        try:
            at = datetime.fromisoformat(time)
            return max((self.ctx.clock.now() - at).total_seconds() / 3600, 0.0)
        except (ValueError, TypeError):  # an invalid value by a user
            return 0.0

    def index(self) -> bytes:
        """Generate the index of the folder, and return it; raises as `sync()`."""
        self._check_may_write(self.rules.agent)
        with self.files.locked():
            self._recover()
            return self._write_index(reports=True)

    def _write_index(self, *, reports: bool = False) -> bytes:
        listing = self.folder.listing()
        topics = {}
        for name in listing.topics:
            manifest = self.files.topic(name).manifest
            if manifest is not None:
                topics[name] = [each.chunk_id for each in manifest.entries]
        documents = [x.path for x in self.files.documents(listing) if x.key == x.path]
        new = render_index(self.folder.name, topics, documents)
        old = self.folder.read(INDEX_FILE)
        if old is None and not topics and not documents:
            return new  # a new file would keep git from checking out a branch that has one
        if old != new:
            digest = checksum_of(old or b"")
            if reports and old is not None and self.files.record.index not in ("", digest):
                kept = self.state.keep(old)
                why = "it was edited, but is generated from the manifests and was overwritten"
                hint = (
                    "edit the manifests instead; your version is in the state folder,"
                    f" modules/kept/{kept}"
                )
                self.files.notice(INDEX_EDITED, INDEX_FILE, why, hint)
            for _ in range(MAX_TRIES):
                try:
                    self.folder.replace(INDEX_FILE, new, self.folder.read(INDEX_FILE))
                    break
                except ModuleChangedError as error:
                    _log.debug("%s is written again: %s", INDEX_FILE, error)
        if self.files.record.index != checksum_of(new):
            self.files.keep(index=checksum_of(new))
        return new

    def _push_all(self, topics: Sequence[TopicFiles]) -> None:
        listing = self.folder.listing()
        present = set()
        for document in self.files.documents(listing):
            present.add(document.key)
            self._push(document)
        readable = {each.name for each in topics if each.manifest is not None}
        for key, record in list(self.files.record.facts.items()):
            topic = key.partition("/")[0]
            if key in present or (topic != key and topic not in readable):
                continue
            if topic == key and not listing.documents and not listing.topics:
                continue  # the folder does not exist on this branch
            if not self.facts.forget(record):
                continue  # the module is merged with its edit if it comes back with a branch
            self.files.keep(facts={k: x for k, x in self.files.record.facts.items() if k != key})

    def _push_module(self, topic: str, entry: ManifestEntry, *, agent: str | None = None) -> None:
        document = self.files.document(topic, entry)
        if document is not None:
            self._push(document, agent=agent)

    def _push(self, document: ModuleDocument, *, agent: str | None = None) -> None:
        before = self.files.record.facts.get(document.key)
        try:
            record = self.facts.push(document, before, agent=agent)
        except StoreUnavailableError as error:
            _log.debug("the next sync writes the fact of %s: %s", document.path, error)
            return
        if record != before:
            self.files.keep(facts={**self.files.record.facts, document.key: record})
        if before is not None and before.fact_id != record.fact_id:
            self.facts.forget(before, record)

    def _without_new_secrets(self, text: str, before: str) -> str:
        """A text to write to a file: redacted, except secrets that the file already has."""
        view = self.ctx.view
        known = make_fact({"id": self.ctx.clock.new_id(), "content": before})
        restored, _ = view.restore_values({"content": view.redact_text(text)}, known)
        return str(restored["content"])

    def _check_unique(self, topic: str, chunk_id: str) -> None:
        for other in self.folder.listing().topics:
            manifest = self.files.topic(other).manifest if other != topic else None
            if manifest is not None and manifest.find(chunk_id):
                expected = f"an id that no other topic has ({other} has this one)"
                raise InvalidFieldError("chunk", chunk_id, expected)

    def _may_read(self) -> bool:
        scope = project_scope(self.rules.space)
        return self.ctx.policy.permissions.may_read(self.rules.agent, scope)

    def _check_current(self) -> None:
        """Check that the files are not older than their facts, as those of a backup are.

        Another process may be about to write the summary of a run that it has just recorded.
        """
        clock = self.ctx.clock
        until = clock.monotonic() + SUMMARY_SECONDS
        while self.rules.is_in_vault and (at := older_summary_time(self.ctx)) is not None:
            if clock.monotonic() >= until:
                raise OlderVaultError(at)
            clock.sleep(SUMMARY_POLL_SECONDS)

    def _check_may_write(self, agent: str | None) -> None:
        scope = project_scope(self.rules.space)
        check_scope_access(self.ctx, scope, agent=agent or self.rules.agent)


def _check_names(topic: str, chunk_id: str | None) -> None:
    if not is_topic(topic):
        raise InvalidFieldError("topic", topic, "the name of a folder, such as adopted-patterns")
    if chunk_id is not None and not is_chunk_id(chunk_id):
        raise InvalidFieldError("chunk", chunk_id, "a name without spaces, such as ap-01")
