"""`Memory`: the Python API of one vault.

Methods import what only they need: `vaultsync get` in a new process took twice as long with
all imports.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

from msgspec import Struct, structs

from vaultsync.api.arguments import (
    acting_agent,
    check_day,
    check_fields,
    check_limit,
    check_name,
    check_names,
    check_number,
    check_optional,
    check_paths,
    check_text,
    check_texts,
    check_user,
    path_in_vault,
)
from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.sqlite.database import limit_caches
from vaultsync.backends.state.answer_log import AnswerLog
from vaultsync.backends.state.vault_marker import uses_memory_files, uses_modules
from vaultsync.backends.system.address_space import limit_heaps
from vaultsync.errors import (
    ConfigError,
    EmbedderError,
    EngineBusyError,
    IdNotInVaultError,
    InvalidFieldError,
    NoteError,
    NoteMissingError,
    NoteNotOpenedError,
    NotFoundError,
    RevisionMismatchError,
    RunNotFoundError,
    RunPrunedError,
    ScopeDeniedError,
    VaultsyncError,
)
from vaultsync.facts import service as fact_service
from vaultsync.facts.lookup import find_fact_id, find_run_id, last_undoable_run
from vaultsync.facts.service import ForgetResult
from vaultsync.facts.written_facts import Comparison
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import NEWEST, NoteIndex
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.schema import Value
from vaultsync.model.scope import PUBLIC, private_scope
from vaultsync.notes.proposal_note import ShownProposal, shown_proposal
from vaultsync.recall.recall_request import DEFAULT_BUDGET, ContextRequest, RecallRequest
from vaultsync.recall.result import RecallResult
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext
from vaultsync.sync.history import CONTENDED, MAX_UPDATE_TRIES

if TYPE_CHECKING:
    from vaultsync.api.derived_data import DerivedReport
    from vaultsync.api.exchange import ExportReport
    from vaultsync.api.memory_files import MemoryFiles
    from vaultsync.api.modules import Modules
    from vaultsync.api.obsidian_views import BasesReport, ChangeNote, GraphColours, PropertyTypes
    from vaultsync.api.repos import Repos
    from vaultsync.backends.obsidian.vault_through_app import ObsidianApp
    from vaultsync.context_packs.pack import ContextPack
    from vaultsync.exchange.service import ImportReport
    from vaultsync.exchange.session_messages import RememberedSession
    from vaultsync.facts.listing import FactPage
    from vaultsync.facts.related import Related
    from vaultsync.graph.service import GraphExport, Neighborhood
    from vaultsync.graph.stats import GraphStats
    from vaultsync.indexing.embedding_texts import EmbeddingCost
    from vaultsync.memory_files.report import AddResult, FactSection, ManagedFile, MemoryFileReport
    from vaultsync.notes.conflict_note import ConflictRecord
    from vaultsync.observations.classifier import Classifier
    from vaultsync.observations.hooks import CaptureReport
    from vaultsync.observations.observation_lists import ListedObservation, ShownObservation
    from vaultsync.observations.processing import ProcessReport
    from vaultsync.observations.service import Observed
    from vaultsync.operations.check_links import LinkReport
    from vaultsync.operations.evaluate import EvalQuestion, Evaluation
    from vaultsync.operations.migrate import MigrationReport
    from vaultsync.operations.purge import PurgeReport
    from vaultsync.proposals.service import SettledProposals
    from vaultsync.storage.archive import HistoryEntry
    from vaultsync.sync.agent_view import AgentView
    from vaultsync.sync.report import (
        AnyReport,
        DoctorCheck,
        MaintenanceReport,
        NoteStatus,
        Progress,
        Report,
        RunSummary,
        ShownCopy,
        Status,
        Verification,
    )

SIDES = ("vault", "store")
MAX_CALLED = 50
"""Maximum number of facts compared with a name; exact matches come first."""
T = TypeVar("T")
_SYNC_BY_DAEMON = "it does this by itself, and `vaultsync status` shows its progress"
_ADOPT_BY_DAEMON = (
    "run `vaultsync adopt` without a PATH, adopt the note in Obsidian, or stop it first"
)
_INDEX_BY_DAEMON = (
    "it updates the indexes by itself, and `vaultsync index --wait` waits for that; to rebuild"
    " them or to change the model, stop it first"
)
_PURGE_BY_DAEMON = (
    "stop it first, because it holds files open that are erased; start it again afterwards"
)
_log = logging.getLogger(__name__)


class OpenedNote(Struct, frozen=True):
    """A note, and the program that opened it."""

    id: str
    path: str
    file: str
    """The absolute path in the file system."""
    uri: str | None
    """The URI that Obsidian opened; None for an editor."""
    command: tuple[str, ...]
    """The program and its arguments."""


class Memory:
    """The memory that users and agents share: facts in a store, notes in a vault.

    `vaultsync.open()` returns one. Use it as a context manager, or call `close()`: a
    remembered fact is immediately in the store and visible as a note, but some bookkeeping
    happens at the end. A `Memory` belongs to the thread that opened it: in others, its methods
    raise `UsageError`.

    Besides the errors listed, every method may raise a `VaultsyncError`: `StoreError` if the
    store does not respond, `VaultError` if the vault is missing, `ArchiveError` if the state
    folder cannot be used, and `ClosedMemoryError` after `close()`. What an agent writes may also
    be refused: `ProposedError` if it waits for the user as a proposal, `ScopeDeniedError` if the
    agent may not even propose it, and `WriteLimitError` if the agent wrote too much.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        app: ObsidianApp | None = None,
        one_shot: bool = False,
        on_answer: Callable[[str, float], None] | None = None,
        surface: str = "",
    ) -> None:
        """Open the vault of the settings.

        Args:
            settings: the settings of the vault, as read by `vaultsync.open()`.
            app: Obsidian, through which notes that it may have open are changed.
            one_shot: whether the process does one thing and ends: it then loads the embedding
                model only for questions that keyword search does not answer confidently.
            on_answer: called with the source and the seconds of each answer of recall, and of
                each context pack.
            surface: the interface, such as `mcp`: answers are then measured for `status()`, under
                this name and their source, unless `on_answer` is given.

        Raises:
            ConfigError: the setting `store` is invalid.
            CopiedVaultError: another folder with the same id is the vault of the state folder.
        """
        self.settings = settings
        self.agent = settings.agent
        """The agent that acts and asks; None is the user, who sees every scope."""
        if surface and on_answer is None:
            on_answer = AnswerLog(settings.state_dir, surface).add
        services = Services(settings, app=app, one_shot=one_shot, on_answer=on_answer)
        self.store_path = services.store_path
        """The file or the collection with the facts, for display."""
        if one_shot:  # other programs that open a memory may need their threads undisturbed
            limit_heaps()
            limit_caches()
        self._opened = Engine(services)

    @cached_property
    def modules(self) -> Modules:
        """Layered documents of a project, and their mirror."""
        from vaultsync.api.modules import Modules

        return Modules(self._services, self._engine)

    def __repr__(self) -> str:
        """Its vault and its agent, for consoles and notebooks."""
        return f"<Memory of {str(self.settings.root)!r}, agent {self.agent!r}>"

    def __enter__(self) -> Self:
        """Return this memory."""
        return self

    def __exit__(self, *_: object) -> None:
        """Call `close()`."""
        self.close()

    def close(self) -> None:
        """Finish the bookkeeping and close all files; idempotent, and nothing in a fork.

        Afterwards, every other method raises `ClosedMemoryError`.

        Raises:
            UsageError: another thread opened it.
        """
        try:
            self._opened.close()
        finally:
            for name in ("modules", "repos", "_memory_files"):  # they have the closed services
                vars(self).pop(name, None)

    def follow_store(self) -> None:
        """Use the store that the user's settings name by now; ConfigError if they are invalid."""
        if (services := self._services.successor()) is None:
            return
        with suppress(VaultsyncError, OSError):  # the next run does what is left undone
            self.close()
        self._opened = Engine(services)
        self.settings, self.store_path = services.settings, services.store_path

    def finish_pending(self, *, derive: bool = True) -> None:
        """Do now what `close()` does, for a process that keeps the vault open.

        Until then, other processes do not know the paths of the notes just written. Nothing
        is done while another engine has the vault.

        Args:
            derive: whether `.index/` and the indexes are updated too, if the settings allow it.
        """
        engine = self._engine
        engine.record_bases()
        derive = derive and self.settings.derive
        if derive and not engine.is_derived_current() and engine.lock.try_lock():
            try:
                engine.update_derived()
            finally:
                engine.lock.unlock()

    @cached_property
    def repos(self) -> Repos:
        """The memory of git repositories."""
        from vaultsync.api.repos import Repos

        return Repos(self._services, self._engine, agent=self.agent)

    def check(self) -> None:
        """Check that vault and store are available.

        Raises:
            VaultError, StoreError.
        """
        self._ctx.vault.vault_id()
        self._ctx.store.state()

    # -------------------------------------------------------------------------- facts

    def remember(
        self,
        text: str,
        *,
        type: str | None = None,
        title: str | None = None,
        scope: str | None = None,
        priority: int | None = None,
        tags: Sequence[str] = (),
        entities: Sequence[str] = (),
        fields: Mapping[str, Value] | None = None,
        context: str | None = None,
        agent: str | None = None,
        id: str | None = None,
    ) -> Fact:
        """Write a fact to the store and its note to the vault.

        Args:
            text: the content, in Markdown.
            type: `decision`, `lesson`, `preference` and so on; default: `note`.
            title: one line; default: the first sentence of the text.
            scope: who may see it: `public`, `team-NAME` or `private-AGENT`. Default: the
                agent's private scope, or without an agent the vault's default scope.
            priority: from 0 (critical) to 4 (background); default: 2.
            tags: without `#`; `a/b` is below `a`.
            entities: names of the people, projects and things that it is about.
            fields: other fields by name, such as `userId` or `user_id`; all other names are those
                of properties.
            context: when or why it was written, in one line.
            agent: the agent that writes it; default: that of this memory.
            id: a UUID to use as its id; default: a new one.

        Returns:
            The fact, with placeholders for its secrets. It has a `path` if its note was
            written. While a daemon has the vault, the daemon writes the note; while other
            processes write all the time, it is written with the next one or in `close()`.

        Raises:
            UsageError: a field has an invalid value, or two values.
            IdTakenError: there is, or was, a fact with that id.
        """
        given = check_fields("fields", fields)
        kind = type or given.get("type") or self._ctx.policy.default_type
        named: dict[str, Value] = {
            "content": check_text("text", text),
            "type": type or None,
            "title": check_name("title", title),
            "context": check_name("context", context),
            "scope": scope,
            "priority": priority,
            "tags": [*check_texts("tags", tags)],
            "entities": [*check_texts("entities", entities)],
            "id": id,
        }
        extra = fact_service.values_by_key(given, str(kind))
        for key, value in extra.items():
            if named.get(key) not in (None, "", [], value):
                raise fact_service.given_twice(key)
        agent = acting_agent(agent, self.agent)
        fact = self._engine.proposing(
            agent, lambda ctx: fact_service.remember(ctx, named | extra, agent=agent)
        )
        self._services.access_counter.add(fact.related_fact_ids)
        return self._ctx.view.redact(self._engine.write_note(fact, actor=agent or "person"))

    def remember_messages(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        session: str,
        scope: str | None = None,
        tags: Sequence[str] = (),
        user: str | None = None,
        agent: str | None = None,
    ) -> RememberedSession:
        """Store the messages of a conversation as a session: a fact of type episodic each.

        Neighbours in a session give each other context in recall. A message is stored only once,
        so a growing conversation may be passed as a whole each time.

        Args:
            messages: in order, in the format of hosts and models: each with a `role` (`user` or
                `assistant`; those of a system or a tool are skipped) and a `content`, a text or a
                list of parts; optionally `at`, its time in ISO 8601, and `name`, the speaker.
            session: the host's id of the conversation.
            scope: who may see the facts, as in `remember()`.
            tags: tags of each fact.
            user: the user whom the facts are about (`userId`).
            agent: the agent that stores them; default: that of this memory.

        Raises:
            InvalidFieldError: a message is malformed; nothing was stored.
        """
        from vaultsync.exchange.session_messages import remember_session

        agent = acting_agent(agent, self.agent)
        values: dict[str, Value] = {
            "scope": scope,
            "tags": [*check_texts("tags", tags)],
            "userId": user,
        }
        report, facts = self._engine.proposing(
            agent, lambda ctx: remember_session(ctx, messages, values, session=session, agent=agent)
        )
        for fact in facts:
            self._engine.write_note(fact, actor=agent or "person")
        return report

    def observe(
        self,
        text: str,
        *,
        context: str | None = None,
        scope: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> Observed:
        """Store an agent's observation immediately; `process_observations()` classifies it later.

        Until then keyword search finds it, but it is in no context pack.

        Args:
            text: the observation, in Markdown.
            context: when or why, in one line.
            scope: who may see it, as in `remember()`, but not a team's scope.
            user: the user whom it is about (`userId`).
            agent: the agent that noticed it; default: that of this memory.

        Returns:
            Its id and its status, `pending`.

        Raises:
            UsageError: a field has an invalid value.
        """
        from vaultsync.observations.service import Observed, observe

        agent = acting_agent(agent, self.agent)
        content = check_text("text", text)
        fact = observe(self._ctx, content, context=context, scope=scope, user=user, agent=agent)
        self._engine.write_note(fact, actor=agent or "person")
        return Observed(fact.id, fact.status)

    def observe_hook(
        self,
        payload: str,
        *,
        scope: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> CaptureReport:
        """Store what matters in the payload of a hook of an agent's host.

        It is split into observations, with secrets redacted; background is left out. If the
        payload has no text but names a transcript in the host's own folder, the end of that is
        read. Observations that an earlier hook of the session stored are not stored again.

        Args:
            payload: the JSON of a hook of Claude Code, Codex, Cursor or Gemini CLI.
            scope: who may see the observations, as in `observe()`.
            user: the user whom they are about (`userId`).
            agent: the agent that observed; default: that of this memory.

        Raises:
            InvalidFieldError: it is not a hook's payload, or names a file in another folder.
            UsageError: a field has an invalid value.
        """
        from vaultsync.backends.state.transcript_end import transcript_end
        from vaultsync.observations.hooks import read_hook, transcript_texts
        from vaultsync.observations.service import capture

        hook = read_hook(check_text("payload", payload))
        texts: Sequence[str] = hook.texts
        if hook.transcript:
            texts = transcript_texts(transcript_end(hook.transcript, hook.host))
        agent = acting_agent(agent, self.agent)
        classifier: Classifier | None = None
        try:
            classifier = self._services.classifier
        except (ConfigError, EmbedderError) as error:  # the host does not send them again
            _log.warning("observations stay pending: %s", error)
        report, facts = capture(
            self._ctx, hook, texts, classifier, scope=scope, user=user, agent=agent
        )
        for fact in facts:
            self._engine.write_note(fact, actor=agent or "person")
        return report

    def process_observations(
        self,
        *,
        dry_run: bool = False,
        is_synced: bool = False,
        since: int = 0,
        progress: Progress | None = None,
    ) -> ProcessReport:
        """Classify the pending observations, in a run that `undo()` reverts.

        Important ones become active; background is shortened and archived, and keeps its
        original. The user's edits and moves win. A daemon that has the vault does the work.

        Args:
            dry_run: only report what would be done.
            is_synced: whether a run has just scanned the whole vault.
            since: a position in the store's feed; observations that were not written after it
                may be left out. Default: all.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            EngineBusyError: another engine has the vault and cannot be called.
            StoreError, GuardError: nothing was classified.
        """
        from vaultsync.observations.processing import ProcessReport, process

        try:
            with self._engine.exclusive() as ctx:
                report = process(
                    ctx,
                    self._services.note_index,
                    self._services.classifier,
                    agent=self.agent,
                    dry_run=dry_run,
                    is_synced=is_synced,
                    since=since,
                    actor=self._actor,
                    progress=progress,
                )
                self._engine.derive_after(report, progress)
        except EngineBusyError as busy:
            path, body = "/v1/observations/process", {"dry_run": dry_run}
            report = self._engine.ask_daemon(path, body, busy, ProcessReport)
        return self.as_seen(report)

    def observations(
        self, *, tier: str | None = None, limit: int = 50
    ) -> tuple[ListedObservation, ...]:
        """The newest observations.

        Args:
            tier: only `critical`, `notable` or `background` ones, or those that are
                `pending`; default: all.
            limit: maximum number of observations, 1 or more.

        Raises:
            InvalidFieldError: there is no such tier, or the limit is below 1.
        """
        from vaultsync.observations.observation_lists import (
            LISTED_TIERS,
            listed_observation,
            newest_observations,
        )

        self._engine.record_bases()
        if tier is not None and tier not in LISTED_TIERS:
            raise InvalidFieldError("tier", tier, "one of " + ", ".join(LISTED_TIERS))
        facts = newest_observations(
            self._ctx,
            self._services.note_index,
            tier=tier,
            agent=self.agent,
            limit=check_limit(limit, least=1),
        )
        return tuple(map(listed_observation, facts))

    def observation(self, id: str) -> ShownObservation:
        """One observation, with its original and the reason for its tier; secrets are redacted.

        Args:
            id: the id of the observation, or another name of it, as in `get()`.

        Raises:
            FactNotFoundError, InvalidIdError.
            InvalidFieldError: it is a fact of another type.
        """
        from vaultsync.observations.observation_lists import shown_observation

        return shown_observation(self.get(id, used=False), self._services.classifier)

    def new_id(self) -> str:
        """A new id, for a note that should become a fact."""
        return self._ctx.clock.new_id()

    def get(self, id: str, *, used: bool = True) -> Fact:
        """One fact, with placeholders for its secrets.

        Args:
            id: the id of the fact, or another name of it: the beginning of its id (8 characters or
                more), the path of its note, or a unique title.
            used: whether this counts as a use of the fact, which increases its `accessCount` later.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        self._services.access_counter.flush()
        fact = fact_service.get(self._ctx, self._fact_id(id), agent=self.agent)
        if used:
            self._services.access_counter.add([fact.id])
        return self._ctx.view.redact(fact)

    def open(self, id: str, *, obsidian: bool = False) -> OpenedNote:
        """Open the note of a fact in the user's editor and wait until it ends, or in Obsidian.

        Args:
            id: the id of the fact, or another name of it, as in `get()`.
            obsidian: open it in Obsidian, without waiting.

        Raises:
            FactNotFoundError, InvalidIdError.
            NoteNotOpenedError: the fact has no note, or the program is missing or failed.
        """
        from vaultsync.backends.system import note_opener

        fact = self.get(id, used=False)
        if fact.path is None:
            hint = "`vaultsync sync` writes the missing notes"
            raise NoteNotOpenedError("the fact has no note yet", hint=hint)
        file = note_opener.check_note_file(self.settings.root, fact.path)
        uri = note_opener.obsidian_uri(file) if obsidian else None
        command = note_opener.uri_command(uri) if uri else note_opener.editor_command(file)
        hint = "install Obsidian, or leave out --obsidian to open it in your editor" if uri else ""
        note_opener.run_program(command, hint=hint)
        return OpenedNote(fact.id, fact.path, str(file), uri, tuple(command))

    def waits(self, id: str) -> bool:
        """Whether a change of a fact is queued for an unavailable store.

        Args:
            id: the id of the fact.
        """
        return bool(self._ctx.archive.outbox(fact_id=self._fact_id(id)))

    def is_note_deleted(self, id: str) -> bool:
        """Whether the user deleted the note of a fact, and the next sync writes it again.

        Args:
            id: the id of the fact.
        """
        base = self._ctx.archive.find_base(self._fact_id(id))
        return base is not None and base.missing_since is not None

    def why_note_waits(self, id: str) -> str:
        """Why the note of a fact could not be written after a change; empty if it was.

        Args:
            id: the id of the fact.
        """
        from vaultsync.sync.note_status import why_note_waits

        return why_note_waits(self._ctx, self._fact_id(id)) or self._engine.why_notes_wait

    def list(
        self,
        *,
        type: str | Sequence[str] | None = None,
        scope: str | Sequence[str] | None = None,
        status: str | None = None,
        tag: str | Sequence[str] | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        user: str | None = None,
        links_to: str | None = None,
        links_from: str | None = None,
        newest: bool = False,
        limit: int = 100,
        after: str | None = None,
        all: bool = False,
    ) -> FactPage:
        """List facts in the order of their ids, a page at a time, including superseded ones.

        Args:
            type: only facts of this type, or of one of these types.
            scope: only facts of this scope, or of one of these scopes.
            status: only facts of this status; `forgotten` lists deleted facts, which
                `restore()` brings back, and `superseded` those that a newer fact replaces.
            tag: only facts with this tag, or one below it; of several tags, with all of them.
            since: only facts created at or after this day (`2026-01-31`), month, year, time
                or relative time (`7d`, `monday`, `last week`).
            until: only facts created before the end of such a date, or before this time.
            user: only facts about this user (`userId`).
            links_to: only facts that link to this note, named by id, path, title or alias; or
                to this name, if no fact has it.
            links_from: only facts that this note links to.
            newest: list the newest first, by the time of their creation.
            limit: the maximum number of facts, 1 or more.
            after: continue after the fact with this id, from `FactPage.next`; or another name
                of it, as `get()` takes one.
            all: whether deleted facts are listed too, with the status `forgotten`;
                `FactPage.hidden` has the number of those left out without it.

        Raises:
            UsageError: a filter is invalid.
            NotFoundError: no note, or more than one, has this name.
        """
        from vaultsync.facts.listing import select_facts

        self._engine.record_bases()
        self._services.access_counter.flush()
        return select_facts(
            self._ctx,
            agent=self.agent,
            types=check_names("type", type),
            scopes=check_names("scope", scope),
            status=status,
            tags=check_names("tag", tag),
            since=check_day("since", since),
            until=check_day("until", until),
            user=check_user(user),
            among=self._linked(
                check_name("links_to", links_to), check_name("links_from", links_from)
            ),
            newest=newest,
            limit=check_limit(limit),
            after=self._fact_id(after, forgotten=all) if after else None,
            include_deleted=all,
            newest_ids=self._newest_ids,
        )

    def update(
        self,
        id: str,
        *,
        content: str | None = None,
        set: Mapping[str, Value] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        expect: str | None = None,
        agent: str | None = None,
    ) -> Fact:
        """Change a fact in the store, and update its note.

        Args:
            id: the id of the fact.
            content: its new content.
            set: other fields and properties by name, as in `remember()`; None clears one.
            add_tags: tags to add.
            remove_tags: tags to remove.
            expect: the revision that the change is for; any when it is None.
            agent: the agent that changes it; default: that of this memory.

        Returns:
            The resulting fact; the user may have edited its note at the same moment.

        Raises:
            FactNotFoundError, InvalidFieldError, UnknownTypeError.
            UsageError: a field has two values.
            RevisionMismatchError: the fact has another revision than `expect`.
        """
        fact_id, agent = self._fact_id(id, agent), acting_agent(agent, self.agent)
        given = check_fields("set", set)
        before = fact_service.get(self._ctx, fact_id, agent=agent) if given else None
        values: dict[str, Value] = {}
        if before:
            kind = str(given.get("type") or before.type)
            values = fact_service.values_by_key(given, kind, before.properties)
        if content is not None:
            values["content"] = content
        tags = check_texts("add_tags", add_tags), check_texts("remove_tags", remove_tags)
        fact = self._engine.proposing(
            agent,
            lambda ctx: fact_service.update(
                ctx, fact_id, values, *tags, agent=agent, expect=expect
            ),
        )
        cited = {*fact.related_fact_ids} - {*before.related_fact_ids} if before else {}
        self._services.access_counter.add([fact.id, *sorted(cited)])
        self._engine.update_notes(fact.id, kind="update")
        try:
            fact = fact_service.get(self._ctx, fact.id, agent=None)
        except VaultsyncError:  # the store went away: what was written stands
            fact = self._with_path(fact)
        return self._ctx.view.redact(fact)

    def compare(self, fact: Fact) -> Comparison:
        """The facts that a fact contradicts, and those with the same text.

        To be asked after writing it. Nothing is changed: `supersede()` replaces what is no
        longer true. It takes a search and a look at ten facts, so not all are found.

        Args:
            fact: as `remember()` or `update()` returned it.

        Returns:
            Those that the agent may see; none where the store or the index does not answer.
        """
        from vaultsync.recall.compared_facts import compare

        return compare(self._ctx, self._services.note_index, fact, agent=self.agent)

    def edit(
        self,
        id: str,
        *,
        append: str | None = None,
        section: str | None = None,
        find: str | None = None,
        replace: str | None = None,
        count: int = 1,
        expect: str | None = None,
        agent: str | None = None,
    ) -> Fact:
        """Change a part of a fact's content; its note follows.

        Exactly one edit is given: `append`, `section` with `replace`, or `find` with `replace`.

        Args:
            id: the id of the fact.
            append: text for the end of the content.
            section: the heading whose text is replaced, up to the next one of its level or
                above; or a path of headings, such as `Linux > Install`.
            find: the text to replace, which must occur exactly `count` times.
            replace: the new text.
            count: the number of occurrences of `find`.
            expect: the revision that the change is for; any when it is None.
            agent: the agent that changes it; default: that of this memory.

        Returns:
            The resulting fact.

        Raises:
            FactNotFoundError.
            UsageError: there is not exactly one edit, or it would change other sections.
            EditTargetError: the section does not exist once, or the text not `count` times.
            RevisionMismatchError: the fact has another revision than `expect`, or was
                changed by others at each attempt.
        """
        from vaultsync.facts.content_edits import content_edit

        number = check_number("count", count)
        texts = {"append": append, "section": section, "find": find, "replace": replace}
        for name, text in texts.items():
            check_name(name, text)
        edit = content_edit(**texts, count=number)
        fact_id, agent = self._fact_id(id, agent), acting_agent(agent, self.agent)
        for _ in range(MAX_UPDATE_TRIES):
            fact = self._ctx.view.redact(fact_service.get(self._ctx, fact_id, agent=agent))
            seen = fact.revision if expect is None else expect
            try:
                return self.update(fact_id, content=edit(fact.content), expect=seen, agent=agent)
            except RevisionMismatchError:
                if expect is not None:
                    raise
        raise RevisionMismatchError(fact_id, *CONTENDED)

    def supersede(self, id: str, text: str, *, agent: str | None = None) -> Fact:
        """Write a new fact that replaces an older one; each links to the other.

        Args:
            id: the id of the older fact.
            text: the content of the new one.
            agent: the agent that writes it; default: that of this memory.

        Returns:
            The new fact.

        Raises:
            FactNotFoundError.
            SupersededError: a newer fact already replaces it.
        """
        fact_id, agent = self._fact_id(id, agent), acting_agent(agent, self.agent)
        fact = self._engine.proposing(
            agent, lambda ctx: fact_service.supersede(ctx, fact_id, text, agent=agent)
        )
        self._engine.update_notes(fact.id, fact.supersedes_id, kind="supersede")
        return self._ctx.view.redact(self._with_path(fact))

    def forget(
        self,
        id: str,
        *,
        expect: str | None = None,
        agent: str | None = None,
        restore_previous: bool = False,
    ) -> ForgetResult:
        """Delete a fact and its note; `restore()` brings both back.

        Args:
            id: the id of the fact.
            expect: the revision to delete; default: any.
            agent: the agent that deletes it; default: that of this memory.
            restore_previous: whether the older fact that it replaced becomes visible again.

        Returns:
            The status of the fact: `forgotten`, or still `active` if the user edited the note
            at the same moment, because edits win over deletions. `previous` is the id of an
            older version that stays hidden; `restore()` brings it back.

        Raises:
            FactNotFoundError.
            RevisionMismatchError: the fact has another revision than `expect`.
            StoreUnavailableError: the store cannot be read, and the fact is not known locally
                or its older version would have to be restored; nothing was done.
        """
        fact_id, agent = self._fact_id(id, agent), acting_agent(agent, self.agent)

        def work(ctx: SyncContext) -> ForgetResult:
            return fact_service.forget(
                ctx, fact_id, agent=agent, expect=expect, restore_previous=restore_previous
            )

        result = self._engine.proposing(agent, work)
        restored = result.previous if restore_previous else None
        self._engine.update_notes(result.id, restored, kind="forget")
        if restored is not None:
            result = ForgetResult(result.id, result.status)
        try:
            if self._ctx.store.find_many([result.id]):
                return ForgetResult(result.id, fact_service.STATUS_ACTIVE)
        except VaultsyncError as error:  # the deletion remains
            _log.debug("whether %s is still deleted is not known: %s", result.id, error)
        return result

    def restore(self, id: str, *, expect: str | None = None) -> ForgetResult:
        """Restore a deleted fact and its note, or an older version.

        An older version can be restored if the one that replaced it was deleted.

        Args:
            id: the id of the fact.
            expect: the revision of the deletion; default: any.

        Raises:
            FactNotFoundError: the store never had it.
            RevisionMismatchError: the deletion has another revision than `expect`.
        """
        fact_id = self._fact_id(id, forgotten=True)
        result = fact_service.restore(self._ctx, fact_id, agent=self.agent, expect=expect)
        replaced = self._ctx.store.find_many([result.id]).get(result.id)
        older = replaced.supersedes_id if replaced else None
        self._engine.update_notes(result.id, older, kind="restore")
        return result

    def purge(
        self,
        *ids: str,
        user: str | None = None,
        dry_run: bool = False,
        max_delete: int | None = None,
    ) -> PurgeReport:
        """Erase facts permanently, on both sides and everywhere else; this cannot be undone.

        It also completes an interrupted purge. First stop the daemon of the vault, and other
        processes that have it open.

        Args:
            ids: the ids of the facts, which may be forgotten ones.
            user: also erase all facts about this user.
            dry_run: only report where the facts are now.
            max_delete: maximum number of facts; default: the guard's limit.

        Returns:
            What was erased, and what a search of every byte of state folder, store and
            vault found afterwards: `remaining` is 0 if nothing is left.

        Raises:
            FactNotFoundError, InvalidIdError.
            InvalidFieldError: the user is blank, as that of a variable that is not set.
            EngineBusyError: another engine has this vault; nothing was done.
            GuardError: it would erase too much, or the sync before it stopped; nothing was done.
            ModulesBusyError, MemoryFileBusyError, IndexBusyError: another process works with what
                the facts are in, and could write them again; nothing was done.
            PurgeUnfinishedError: it was interrupted, for example by a full disk; run it again.
        """
        from vaultsync.api.erasing import purge_parts
        from vaultsync.operations.purge import facts_of_user, purge_facts
        from vaultsync.sync.run import sync_once
        from vaultsync.sync.sync_request import SyncRequest

        check_user(user)
        if not dry_run:
            list(self._memory_files.renew_blocks())  # takes the edits in them
        has_modules = uses_modules(self.settings.state_dir)
        with self._engine.exclusive(hint=_PURGE_BY_DAEMON) as ctx, ExitStack() as locks:
            if has_modules and not dry_run:
                locks.enter_context(self.modules.locked())
            if not dry_run:
                locks.enter_context(self._memory_files.blocks_locked())
            if user and not dry_run:
                sync_once(ctx, SyncRequest())  # notes written since may be about the user
            about = facts_of_user(ctx, user) if user else ()
            named = [self._fact_id(each, forgotten=True) for each in ids]
            all_ids = (*named, *about)
            bases = ctx.archive.find_bases(all_ids).values()
            stays = [*self._memory_files.sections_that_stay(base.fact for base in bases)]
            if has_modules:
                stays += self.modules.files_that_stay(all_ids)
            parts = purge_parts(self._services, self._engine, kept=stays)
            report = purge_facts(
                ctx,
                all_ids,
                parts,
                agent=self.agent,
                dry_run=dry_run,
                max_delete=check_optional("max_delete", max_delete, least=0),
            )
        if report.purged and not dry_run:
            blocks = [
                f"the managed block of {name}, which was edited or cannot be read: what it says of"
                " the facts"
                for name in self._memory_files.renew_blocks()
            ]
            report = structs.replace(report, kept=(*report.kept, *blocks))
        # Other places with the same words may be facts and notes of others.
        return report if self.agent is None else structs.replace(report, quoted=())

    def export(self, write: Callable[[str], object], *, user: str | None = None) -> int:
        """Export all facts, one line of JSON each. As a backup, it includes secrets.

        Facts whose rows in the store are damaged are left out; `damaged_facts()` lists them.

        Args:
            write: called with each line.
            user: only facts about this user.

        Returns:
            The number of exported facts.
        """
        from vaultsync.operations.export_import import export_facts

        check_user(user)
        self._services.access_counter.flush()
        return export_facts(self._ctx, write, agent=self.agent, user=user)

    def damaged_facts(self) -> Mapping[str, str]:
        """Facts whose rows in the store were damaged when last read -> the reason.

        Only rows read since the memory was opened are included; `verify()` reads all.
        Empty for an agent, because their scopes are unknown.
        """
        return {} if self.agent is not None else dict(self._ctx.store.damaged())

    def import_(self, lines: Iterable[str]) -> int:
        """Import facts from lines of JSON: all, or none if a line is invalid.

        A fact that the store has already becomes the one of its line, even an older version; the
        history keeps what was replaced. A deleted fact is restored. The next `sync()` writes the
        notes. A line without an `id` is a new fact each time; `import_from()` recognises those
        that were imported before.

        Args:
            lines: the lines, in the format of `export()`.

        Returns:
            The number of imported facts.

        Raises:
            ImportLineError: a line is invalid; the error has its number.
        """
        from vaultsync.operations.export_import import import_facts

        all_lines = lines if self.agent is None else [*lines]  # a proposal reads them again
        count = self._engine.proposing(
            self.agent, lambda ctx: import_facts(ctx, all_lines, agent=self.agent)
        )
        if self.settings.derive:
            self._engine.embedding.start()
        return count

    def import_from(
        self,
        format: str,
        path: str | Path,
        *,
        scope: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import the memories of another tool, in a run that `undo()` reverts.

        Nothing is imported twice: memories that were imported before, have the text of another
        fact, or were forgotten since count as duplicates. The fact of a memory that changed
        since, or of a conversation that went on, is updated, unless it was edited.

        Args:
            format: a name of `vaultsync.exchange.exchange_formats.FORMATS`, such as `chatgpt`.
            path: the file, the folder or the ZIP archive.
            scope: who may see the facts; default: as for `remember()`.
            dry_run: only report what would be imported.
            progress: called with the stage, and the number of memories read.

        Raises:
            UsageError: there is no such format.
            ExchangeFileError: the files cannot be read.
            EngineBusyError: a daemon has the vault and did not lend it within a minute.
            InvalidScopeError, ScopeDeniedError, StoreError: nothing, or a part, was imported.
        """
        from vaultsync.api.exchange import import_into

        import_scope = scope or (None if self.agent is None else private_scope(self.agent))
        return import_into(
            self._engine,
            format,
            Path(path),
            scope=import_scope,
            agent=self.agent,
            dry_run=dry_run,
            progress=progress,
        )

    def export_to(self, format: str, path: str | Path, *, user: str | None = None) -> ExportReport:
        """Export the facts that the agent can see, in the format of another tool.

        Args:
            format: `markdown`, `basic-memory`, `mem0`, `letta` or `jsonl`.
            path: a folder, which must be empty or missing.
            user: only facts about this user.

        Raises:
            UsageError: there is no such format, or it can only be read.
            ExchangeFileError: the folder is not empty, or cannot be written.
        """
        from vaultsync.api.exchange import export_into

        return export_into(self._ctx, format, Path(path), agent=self.agent, user=check_user(user))

    def write_bases(self, folder: str = "Bases") -> BasesReport:
        """Write tables and cards of the facts for Obsidian's Bases, for each type and scope.

        Files that the user edited are not changed.

        Args:
            folder: a folder in the vault, created if it is missing.

        Raises:
            UnsafePathError: it is outside the vault, or hidden.
            ScopeDeniedError: an agent asks; the files show all facts.
            ConfigError: a file cannot be read or written.
        """
        from vaultsync.api.obsidian_views import write_bases

        self._refuse_agents("write tables of all facts")
        with self._engine.exclusive() as ctx:
            return write_bases(ctx, self.settings, folder)

    def property_types(self, *, write: bool = False) -> PropertyTypes:
        """Obsidian's types for the properties of facts, and the correct ones.

        Args:
            write: add the types that Obsidian lacks; existing ones are kept.

        Raises:
            ConfigError: the vault was never opened in Obsidian, or its types are not valid
                JSON; nothing was written.
            ScopeDeniedError: an agent tries to write them.
        """
        from vaultsync.api.obsidian_views import property_types

        if write:
            self._refuse_agents("change Obsidian's settings")
        return property_types(self._services.settings, write=write)

    # ------------------------------------------------------------------------- recall

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: str = "auto",
        types: Iterable[str] = (),
        scopes: Iterable[str] = (),
        tags: Iterable[str] = (),
        max_priority: int | None = None,
        status: str | None = "",
        heads_only: bool = True,
        all: bool = False,
        since: str | date | None = None,
        until: str | date | None = None,
        as_of: str | date | None = None,
        user: str | None = None,
        explain: bool = False,
        agent: str | None = None,
        repo: str | Path | None = None,
    ) -> RecallResult:
        """The facts that answer a question, best first, each with the reason.

        Finding a fact does not count as use: `accessCount` is increased by opening it, packing
        it into a context, changing it, and naming it as related.

        Args:
            query: the question, or keywords.
            limit: the maximum number of facts, 1 or more.
            mode: `index` is keyword search, `vector` semantic search, `fused` both; `auto` uses
                vectors only if the index is not confident.
            types: only facts of these types.
            scopes: only facts of these scopes, among those that the agent may see.
            tags: only facts with all of these tags, or tags below them.
            max_priority: the lowest priority that is searched, from 0 (critical) to 4 (background);
                default: all except background facts that agents wrote.
            status: only facts of this status, such as `active`, `archived` or `superseded`; any if
                it is None, and if it is empty any except those that retire a fact.
            heads_only: whether superseded facts are left out.
            all: whether retired and background facts are searched too; without it, `hidden` of the
                result has the number of matches left out.
            since: only facts created at or after this day (`2026-01-31`), month, year, time or
                relative time (`7d`, `monday`, `last week`).
            until: only facts created before the end of such a date, or before this time.
            as_of: answer from the facts and their versions at the end of such a date, or at this
                time. `degraded` of the result states what is no longer known.
            user: only facts about this user; default: the one in the settings.
            explain: whether the result lists what each stage found, and its seconds.
            agent: the agent that asks; default: that of this memory.
            repo: a folder in a git repository: facts that do not apply to the branch that is
                checked out there are hidden, and counted in `hidden`.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
            NotARepositoryError: the folder is not in a repository.
        """
        return self.answer(
            RecallRequest(
                check_text("query", query),
                limit=check_limit(limit),
                mode=mode,
                types=check_texts("types", types),
                scopes=check_texts("scopes", scopes),
                tags=check_texts("tags", tags),
                max_priority=check_optional("max_priority", max_priority),
                status=status,
                heads_only=heads_only,
                all=all,
                since=check_day("since", since),
                until=check_day("until", until),
                as_of=check_day("as_of", as_of),
                user=check_name("user", user),
                explain=explain,
                agent=acting_agent(agent, None),
                repo=None if repo is None else str(repo),
            )
        )

    def answer(self, request: RecallRequest) -> RecallResult:
        """The facts that answer a question, as `recall()`.

        Args:
            request: the question and its filters; agent and user as in `recall()`.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidScopeError: as `recall()`.
        """
        self._engine.record_bases()
        return self._services.answer(self._ctx, request, self._services.recall)

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        format: str = "markdown",
        intent: str | None = None,
        mode: str = "auto",
        types: Iterable[str] = (),
        scopes: Iterable[str] = (),
        tags: Iterable[str] = (),
        max_priority: int = 4,
        status: str | None = "",
        all: bool = False,
        since: str | date | None = None,
        user: str | None = None,
        agent: str | None = None,
        repo: str | Path | None = None,
    ) -> ContextPack:
        """Pack the facts that an agent needs for a question into a token budget.

        Packed facts count as used.

        Args:
            query: the question, or the task.
            budget: maximum number of tokens, or 0 for no limit; default: 4,000.
            format: `markdown`, `json` or `xml`.
            intent: the kind of facts wanted, which shifts the shares of the tiers; default:
                inferred from the words of the question.
            mode: as in `recall()`.
            types: as in `recall()`.
            scopes: as in `recall()`.
            tags: as in `recall()`.
            max_priority: as in `recall()`, but background facts are packed too.
            status: as in `recall()`.
            all: as in `recall()`.
            since: as in `recall()`.
            user: as in `recall()`.
            agent: the agent that asks; default: that of this memory.
            repo: as in `recall()`.

        Returns:
            The text, why each fact is in it, and what was left out.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidScopeError: an argument is invalid.
        """
        return self.pack(
            ContextRequest(
                check_text("query", query),
                budget=DEFAULT_BUDGET if budget is None else check_number("budget", budget),
                format=format,
                intent=intent,
                mode=mode,
                types=check_texts("types", types),
                scopes=check_texts("scopes", scopes),
                tags=check_texts("tags", tags),
                max_priority=check_number("max_priority", max_priority),
                status=status,
                all=all,
                since=check_day("since", since),
                user=check_name("user", user),
                agent=acting_agent(agent, None),
                repo=None if repo is None else str(repo),
            )
        )

    def pack(self, request: ContextRequest) -> ContextPack:
        """Pack the facts that an agent needs for a question, as `context()`.

        Args:
            request: the question and its filters; agent and user as in `context()`.

        Raises:
            InvalidFieldError, UnknownTypeError, InvalidScopeError: as `context()`.
        """
        self._engine.record_bases()
        return self._services.answer(self._ctx, request, self._services.build_context)

    @property
    def is_empty(self) -> bool:
        """Whether no scope has a fact yet; False while the store is unavailable."""
        return self._services.is_empty

    def count_recalls(self) -> None:
        """Write the counts of used facts to the store, or keep them until it is available."""
        self._services.access_counter.flush()

    def index(
        self,
        *,
        rebuild: bool = False,
        wait: bool = True,
        approve: Callable[[EmbeddingCost], bool] | None = None,
        progress: Progress | None = None,
    ) -> DerivedReport:
        """Update `.index/`, the note index, the links and the vectors.

        Args:
            rebuild: whether indexes and tables are rebuilt from scratch.
            wait: whether to wait for the vectors of the facts there are, or compute them here if no
                worker does; otherwise a worker computes them in a separate process. If another
                engine has the vault, this waits for its work, except for a rebuild.
            approve: called with the cost before all vectors are rebuilt for another model; they are
                kept if it returns False. Without it, and without waiting, they are rebuilt.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            EngineBusyError: another engine has the vault, and waiting for it is not possible,
                or it makes no progress.
        """
        from vaultsync.api.derived_data import DerivedReport

        approve = approve or (lambda _: True)
        embedding, services = self._engine.embedding, self._services
        # It also writes the note index, and at its low priority may keep that open for long.
        resumed_mode = embedding.take_over() if wait else ""
        report: DerivedReport | None = None
        while report is None:
            try:
                with self._engine.exclusive(hint=_INDEX_BY_DAEMON):
                    report = self._engine.update_derived(
                        rebuild=rebuild, requested=True, approve=approve, progress=progress
                    )
            except EngineBusyError as busy:
                if rebuild or not wait:
                    raise
                if self._engine.wait_for_derived(busy, progress):
                    report = DerivedReport(services.note_index.count(), 0, 0, 0.0)
        if not (services.shares_store and services.can_embed):
            return report
        if wait:
            vectors = embedding.embed(approve=approve, progress=progress, resumed_mode=resumed_mode)
            report = structs.replace(
                report,
                chunks=vectors.facts,
                embedded=vectors.embedded,
                seconds=report.seconds + vectors.seconds,
                degraded=(*report.degraded, *filter(None, [vectors.degraded])),
            )
        started = embedding.start(requested=not wait)
        state = embedding.state(started=started)
        if state and self.agent is not None:
            from vaultsync.api.vault_status import visible_facts

            facts = visible_facts(self._ctx, services.note_index, self.agent)
            state = state.estimated_for(facts)
        return structs.replace(report, chunks=state.facts if state else 0, embedding=state)

    def stop_embedding(self) -> int | None:
        """Stop the worker that embeds texts; the next run starts one again.

        Returns:
            The id of its process; None if none was running.
        """
        return self._engine.embedding.stop()

    def index_files(self) -> dict[str, str]:
        """File name -> text of the files in `.index/`; for an agent, of facts that it may see."""
        from vaultsync.index_files.service import read_index_files, tables_for

        if self.agent is not None:
            return dict(tables_for(self._ctx, self._services.table_inputs, agent=self.agent))
        return read_index_files(self._ctx)

    # --------------------------------------------------------------------------- sync

    def sync(
        self,
        *,
        dry_run: bool = False,
        allow_scope_moves: bool = False,
        max_delete: int | None = None,
        confirm: str | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Make vault and store equal, in one run.

        A daemon that has the vault syncs by itself; only a run with arguments is passed to it.

        Args:
            dry_run: only report what would be done.
            allow_scope_moves: whether notes that were moved to another scope's folder change their
                scope.
            max_delete: maximum number of deletions; default: the guard's limit.
            confirm: the id of a run that the guard stopped, to carry it out now.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            EngineBusyError, VaultError, StoreError.
            GuardError: the plan deletes or rewrites too much; nothing was done.
        """
        from vaultsync.sync.report import Report
        from vaultsync.sync.sync_request import SyncRequest

        arguments: dict[str, Any] = {
            "dry_run": dry_run,
            "allow_scope_moves": allow_scope_moves,
            "max_delete": check_optional("max_delete", max_delete, least=0),
            "confirm": confirm,
        }
        request = SyncRequest(**arguments, actor=self._actor)
        try:
            report = self._engine.sync(request, progress=progress)
            return self.as_seen(self._with_memory_files(report))
        except EngineBusyError as busy:
            if request == SyncRequest(actor=self._actor):
                raise busy.watched(_SYNC_BY_DAEMON) from None
            return self.as_seen(self._engine.ask_daemon("/v1/sync", arguments, busy, Report))

    def _with_memory_files(self, report: Report) -> Report:
        """The report of a run, with the memory files that were synced after it."""
        settings = self.settings
        if not (settings.memory_file.files or uses_memory_files(settings.state_dir)):
            return report
        from vaultsync.memory_files.report import VaultReport

        dry_run = report.dry_run
        files = self._memory_files.follow(None, agent=self.agent, dry_run=dry_run, raises=False)
        if files is None:
            return report
        attention = (*report.attention, *files.attention)
        complete = VaultReport(**structs.asdict(report), memory_files=files)
        return structs.replace(complete, attention=attention)

    def as_seen(self, report: AnyReport) -> AnyReport:
        """A report without what the agent of this memory may not know; complete for the user.

        Args:
            report: the report of a run over all facts.
        """
        return self._view(self.agent).report(report)

    def adopt(
        self,
        paths: Sequence[str | Path] = (),
        *,
        scope: str | None = None,
        type: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Turn existing notes into facts; only an id is added to each note.

        A daemon that has the vault adopts all notes if no paths are given.

        Args:
            paths: notes and folders, relative to the vault or to the working directory,
                or absolute; default: the whole vault.
            scope: the scope of the facts; default: that of the note's folder.
            type: the type of the facts; default: that of the note, or `note`.
            dry_run: only report what would be done.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            NoteMissingError: one of the paths does not exist.
            UnsafePathError: one of the paths is outside the vault.
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.operations.adopt import adopt_notes
        from vaultsync.sync.report import Report

        sees = self._view(self.agent).sees_note
        root = self.settings.root
        chosen = [path_in_vault(each, root, sees) for each in check_paths("paths", paths)]
        if hidden := next((each for each in chosen if not sees(each)), ""):
            raise NoteMissingError(hidden)
        try:
            with self._engine.exclusive(hint=_ADOPT_BY_DAEMON) as ctx:
                report = adopt_notes(
                    ctx,
                    chosen,
                    scope=scope,
                    type_name=type,
                    dry_run=dry_run,
                    actor=self._actor,
                    progress=progress,
                )
                return self.as_seen(self._engine.derive_after(report, progress))
        except EngineBusyError as busy:
            if any(chosen):
                raise
            arguments = {"scope": scope, "type": type, "dry_run": dry_run}
            return self.as_seen(self._engine.ask_daemon("/v1/adopt", arguments, busy, Report))

    def adopt_id(self, id: str, *, scope: str | None = None, type: str | None = None) -> Report:
        """Turn the note with an id into the fact with that id, in any folder.

        Args:
            id: the id in the note's frontmatter.
            scope: as in `adopt()`.
            type: as in `adopt()`.

        Raises:
            IdNotInVaultError: no note has it.
            InvalidIdError, InvalidScopeError, UnknownTypeError.
            EngineBusyError: another engine has the vault.
        """
        from vaultsync.operations.adopt import adopt_notes, find_note_with_id

        with self._engine.exclusive() as ctx:
            note = find_note_with_id(ctx, id)
            if not self._view(self.agent).sees_note(note):
                raise IdNotInVaultError(id)
            report = adopt_notes(ctx, [note], scope=scope, type_name=type, actor=self._actor)
            return self.as_seen(self._engine.derive_after(report))

    def status(self) -> Status:
        """What is pending and what is wrong; changes nothing."""
        from vaultsync.api.vault_status import vault_status

        self._engine.record_bases()
        return self.with_queued(vault_status(self._services, self._engine))

    def with_queued(self, status: Status) -> Status:
        """A status, completed with observations, memory files and modules.

        An agent's counts and notices include only what it may see.

        Args:
            status: the status without these.
        """
        from vaultsync.api.vault_status import complete_status

        state_dir = self.settings.state_dir
        files = self._memory_files if uses_memory_files(state_dir) else None
        modules = self.modules if uses_modules(state_dir) else None
        return complete_status(status, self._services, self._engine, files, modules)

    def note_status(self, path: str | Path) -> NoteStatus:
        """Whether a note is synced, and if not, why and what to do; changes nothing.

        Args:
            path: the note, relative to the vault or to the working directory, or absolute.

        Raises:
            NoteMissingError: neither a file nor a fact is at the path.
            UnsafePathError: the path is outside the vault.
        """
        from vaultsync.sync.note_status import read_note_status

        self._engine.record_bases()
        note = path_in_vault(path, self.settings.root, self._view(self.agent).sees_note)
        return read_note_status(self._ctx, note, agent=self.agent)

    def conflicts(self, fact_id: str | None = None) -> tuple[ConflictRecord, ...]:
        """The open conflicts, without those of other agents' private facts.

        Args:
            fact_id: the whole id of the only fact whose conflicts are returned; default: all.
        """
        from vaultsync.sync.conflicts import redact_conflicts

        records = fact_service.visible_conflicts(self._ctx, fact_id, agent=self.agent)
        return tuple(redact_conflicts(self._ctx, records))

    def conflict_copies(self) -> Sequence[ShownCopy]:
        """The conflict copies of sync tools that the last sync found and that are not settled."""
        from vaultsync.operations.settle_copies import open_copies

        return open_copies(self._engine.ctx, agent=self.agent)

    def resolve(
        self, conflict_id: str, *, take: str, field: str | None = None, agent: str | None = None
    ) -> ConflictRecord:
        """Resolve a conflict, or one field of it, with the values of one side.

        A daemon that has the vault does the work.

        Args:
            conflict_id: the id of the conflict.
            take: the side whose values win, `store` or `vault`.
            field: the only field to resolve; default: all of them.
            agent: the agent that resolves it; default: that of this memory.

        Returns:
            The resolved conflict.

        Raises:
            ConflictNotFoundError, InvalidFieldError.
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.api.decisions import settle_conflict

        if take not in SIDES:
            raise InvalidFieldError("take", take, "`store` or `vault`")
        agent = acting_agent(agent, self.agent)
        return settle_conflict(self._engine, conflict_id, take=take, field=field, agent=agent)

    def settle_copy(self, path: str | Path, *, take: str, agent: str | None = None) -> Report:
        """Settle a conflict copy that a sync tool saved next to a note.

        The copy is removed, and `undo()` restores it under another name. A daemon that
        has the vault does the work.

        Args:
            path: the copy's path, relative to the vault or the working directory, or absolute.
            take: `merge` merges its changes into the note, where conflicting changes become a
                conflict; `keep` turns it into a separate note; `drop` removes it.
            agent: the agent that decides; default: that of this memory.

        Raises:
            InvalidFieldError: `take` is invalid.
            UsageError: there is no conflict copy of a fact's note at this path.
            UnsafePathError: the path is outside the vault.
            NoteChangedError, RevisionMismatchError: note or fact was changed meanwhile.
            ScopeDeniedError: the agent of this memory may not write there.
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.operations.settle_copies import COPY_DECISIONS, copied_note, settle_copy
        from vaultsync.sync.report import Report

        if take not in COPY_DECISIONS:
            raise InvalidFieldError("take", take, "one of " + ", ".join(COPY_DECISIONS))
        agent = acting_agent(agent, self.agent)
        copy = path_in_vault(path, self.settings.root, self._view(agent).sees_note)
        try:
            with self._engine.exclusive() as ctx:
                fact_id = copied_note(ctx, copy, agent=agent).fact.id
                fact_service.check_writable(ctx, [fact_id], agent=agent)
                report = settle_copy(ctx, copy, take=take, actor=agent or "person")
                return self.as_seen(self._engine.derive_after(report))
        except EngineBusyError as busy:
            body = {"path": copy, "take": take, "agent": agent}
            return self.as_seen(
                self._engine.ask_daemon("/v1/copies/settle", body, busy, Report, agent)
            )

    def resolve_by_hand(
        self, conflict_id: str, *, field: str, text: str, agent: str | None = None
    ) -> ConflictRecord:
        """Resolve one field of a conflict with a text merged by hand.

        A daemon that has the vault does the work.

        Args:
            conflict_id: the id of the conflict.
            field: the field of the fact.
            text: the merged value; for a list, one item per line.
            agent: the agent that resolves it; default: that of this memory.

        Returns:
            The conflict that was resolved.

        Raises:
            ConflictNotFoundError.
            InvalidFieldError: there is no such field, or the text is invalid for it.
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.api.decisions import settle_conflict

        agent = acting_agent(agent, self.agent)
        return settle_conflict(
            self._engine, conflict_id, take="vault", field=field, text=text, agent=agent
        )

    def proposals(self, *, settled: bool = False) -> tuple[ShownProposal, ...]:
        """The open proposals, oldest first.

        An agent gets those about facts that it may see.

        Args:
            settled: also include accepted, rejected and expired ones.
        """
        from vaultsync.proposals.service import visible_proposals

        records = visible_proposals(self._ctx, agent=self.agent, settled=settled)
        return tuple(map(shown_proposal, records))

    def proposal(self, id: str) -> ShownProposal:
        """One proposal, open or answered.

        Args:
            id: the beginning of its id, its title, or the path of its note.

        Raises:
            ProposalNotFoundError.
            AmbiguousNameError: it matches several proposals.
        """
        from vaultsync.proposals.service import find_proposal, redact_proposal

        record = find_proposal(self._ctx, id, agent=self.agent)
        return shown_proposal(redact_proposal(self._ctx, record))

    def accept_proposals(self, ids: Sequence[str], *, agent: str | None = None) -> SettledProposals:
        """Apply proposals in one run, which `undo()` reverts.

        A proposal whose facts have changed is not applied, but shown again; one that was undone
        is applied again. A daemon that has the vault does the work.

        Args:
            ids: for each proposal, the beginning of its id, its title, or its note's path.
            agent: the agent that accepts them; default: that of this memory.

        Returns:
            The proposals, and the run.

        Raises:
            ProposalNotFoundError, AmbiguousNameError.
            ScopeDeniedError: the agent may not write the proposed change.
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.api.decisions import settle_proposals

        ids, agent = check_texts("ids", ids), acting_agent(agent, self.agent)
        return settle_proposals(self._engine, ids, agent=agent, accepts=True)

    def reject_proposals(self, ids: Sequence[str], *, agent: str | None = None) -> SettledProposals:
        """Close proposals without applying them; they are not proposed again.

        A daemon that has the vault does the work.

        Args:
            ids: as in `accept_proposals()`.
            agent: the agent that rejects them; default: that of this memory.

        Returns:
            The proposals.

        Raises:
            ProposalNotFoundError.
            ProposalDeniedError: an agent rejects a proposal that it did not make.
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.api.decisions import settle_proposals

        ids, agent = check_texts("ids", ids), acting_agent(agent, self.agent)
        return settle_proposals(self._engine, ids, agent=agent, accepts=False)

    def history(self, id: str) -> Sequence[HistoryEntry]:
        """The changes of a fact by field, with author, time and side; oldest first.

        Args:
            id: the id of the fact.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        return fact_service.history(self._ctx, self._fact_id(id), agent=self.agent)

    def log(self, *, limit: int = 20, since: str | date | None = None) -> tuple[RunSummary, ...]:
        """The runs that did something, newest first; for an agent, to facts that it may see.

        Args:
            limit: the maximum number of runs, 1 or more.
            since: only runs at or after this day (`2026-01-31`), month, year, time or relative
                time (`7d`, `last week`).

        Raises:
            InvalidFieldError: `since` is not a date.
        """
        from vaultsync.model.written_dates import time_span
        from vaultsync.sync.status import run_summaries

        clock = self._ctx.clock
        span = time_span(check_day("since", since), None, today=clock.local_day(clock.now()))
        span = span.of_days(clock.start_of_day)
        self._engine.record_bases()
        return run_summaries(
            self._ctx, limit=check_limit(limit, least=1), agent=self.agent, span=span
        )

    def write_change_note(
        self, *, since: str | date | None = None, folder: str = "Changes"
    ) -> ChangeNote:
        """Write a report of changes: facts by type, conflicts and proposals, with links.

        It never becomes a fact. The same span of the same memory gives the same report; one that
        the user edited is not changed.

        Args:
            since: the first day, as in `log()`; default: the last 7 days.
            folder: a folder in the vault, created if it is missing.

        Raises:
            InvalidFieldError: `since` is not a date.
            UnsafePathError: the folder is outside the vault, or hidden.
            ScopeDeniedError: an agent asks; the report shows the changes of all facts.
            ConfigError: the file cannot be read or written.
        """
        from vaultsync.api.obsidian_views import write_change_note

        self._refuse_agents("write a report of all facts")
        self._engine.record_bases()
        return write_change_note(self._ctx, self.settings, check_day("since", since), folder)

    def last_undoable_run(self) -> RunSummary:
        """The run that `undo()` undoes by default.

        Deletions that wait for a second scan, and queued changes, are carried out first: they
        are what was done last.

        Raises:
            RunNotFoundError: there is none.
            GuardError: what waits deletes or rewrites too much; nothing was done.
        """
        from vaultsync.sync.status import run_summaries

        self._engine.record_bases()
        self._sync_waiting()
        run = last_undoable_run(self._ctx, agent=self.agent)
        return run_summaries(self._ctx, limit=1, prefix=run, agent=self.agent)[0]

    def undo(
        self, run: str | None = None, *, agent: str | None = None, progress: Progress | None = None
    ) -> Report:
        """Undo a run on both sides; later changes are kept.

        An agent can undo only runs that `log()` shows it, and of these only changes to facts
        that it may see. A daemon that has the vault does the work.

        Args:
            run: the id of the run, or the beginning of it (8 characters or more), from `log()`
                or a report; default: the last run that is not undone, as `last_undoable_run()`
                finds it.
            agent: the agent that undoes it; default: that of this memory.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            RunNotFoundError, AmbiguousNameError.
            InvalidFieldError: the id is empty.
            PurgeNotUndoneError: the run erased facts.
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.operations.undo import undo_run
        from vaultsync.sync.report import Report
        from vaultsync.sync.status import run_summaries

        self._engine.record_bases()
        agent = acting_agent(agent, self.agent)
        if run is None:
            self._sync_waiting()
            run = last_undoable_run(self._ctx, agent=agent)
        else:
            run = find_run_id(self._ctx, check_name("run", run) or "", agent=agent)
        if not (agent is None or run_summaries(self._ctx, limit=1, prefix=run, agent=agent)):
            raise self._run_not_found(run, agent)
        try:
            with self._engine.exclusive() as ctx:
                report = undo_run(ctx, run, actor=agent or "person", agent=agent, progress=progress)
                return self.as_seen(self._engine.derive_after(report, progress))
        except EngineBusyError as busy:
            path = f"/v1/runs/{quote(run, safe='')}/undo"
            body = {} if agent is None else {"agent": agent}
            return self.as_seen(self._engine.ask_daemon(path, body, busy, Report, agent))
        except RunPrunedError:
            raise
        except RunNotFoundError:
            raise self._run_not_found(run, agent) from None

    def _sync_waiting(self) -> None:
        """Carry out deletions that wait for a second scan, and queued changes."""
        if self._ctx.archive.setting("waiting") or self._ctx.archive.outbox():
            with suppress(EngineBusyError):  # the daemon does it within seconds
                self.sync()

    def _run_not_found(self, run: str, agent: str | None) -> RunNotFoundError:
        """The error for a run that is none, with the newest one that an agent may know of."""
        from vaultsync.sync.status import run_summaries

        runs = run_summaries(self._ctx, limit=1, agent=agent)
        newest = "".join(f"{x.run} ({x.kind.partition(' ')[0]})" for x in runs)
        return RunNotFoundError(run, newest)

    def verify(self, *, progress: Progress | None = None) -> Verification:
        """Check that vault, store and base are equal, field by field.

        A daemon that has the vault does the work.

        Args:
            progress: called with the stage, the number of items done, and their total.

        Raises:
            EngineBusyError: another engine has the vault and cannot be called.
        """
        from vaultsync.operations.verify import verify_all
        from vaultsync.sync.report import Verification

        try:
            with self._engine.exclusive() as ctx:
                verification = verify_all(ctx, progress=progress)
        except EngineBusyError as busy:
            verification = self._engine.ask_daemon("/v1/verify", None, busy, Verification)
        if self.agent is None:
            return verification
        from vaultsync.api.vault_status import visible_facts

        facts = visible_facts(self._ctx, self._services.note_index, self.agent)
        return self._view(self.agent).verification(verification, facts=facts)

    def evaluate(
        self, questions: Sequence[EvalQuestion], *, budget: int = DEFAULT_BUDGET, rounds: int = 5
    ) -> Evaluation:
        """Evaluate recall, context packs and a sync with nothing to do on this vault.

        Each question is asked in each mode, and does not count as use of facts. Writes only to
        the indexes.

        Args:
            questions: questions with the notes that answer them, from `parse_questions()`.
            budget: the budget of each context pack, in tokens.
            rounds: how often each is timed next to its floor; 0 for never.

        Raises:
            UsageError: an expected note is not in the vault, or there are no questions.
        """
        # Commands without questions load no code for them.
        from vaultsync.api.evaluation import evaluate_vault

        self._engine.record_bases()
        return evaluate_vault(self._services, self._ctx, questions, budget=budget, rounds=rounds)

    def rebuild(
        self, *, source: str, confirm: str | None = None, progress: Progress | None = None
    ) -> Report:
        """Rebuild one side, and the base, from the other side.

        Args:
            source: the side to trust, `vault` or `store`.
            confirm: the id of a rebuild that the guard stopped, to carry it out now.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            InvalidFieldError: there is no such side.
            EngineBusyError: another engine has this vault; nothing was done.
            GuardError: it would overwrite changes that only the other side has; nothing was done.
        """
        from vaultsync.operations.rebuild import rebuild
        from vaultsync.sync.state_summary import older_summary_time

        if source not in SIDES:
            raise InvalidFieldError("source", source, "`vault` or `store`")
        with self._engine.locked():
            if source == "vault":
                self._engine.make_missing_store()
            with self._engine.exclusive() as ctx:
                was_older = source == "store" and older_summary_time(ctx) is not None
                written: list[str] = []

                def restore_files() -> None:
                    if was_older and uses_modules(self.settings.state_dir):
                        written.extend(self.modules.rebuild_files())

                report = rebuild(
                    ctx,
                    source,
                    confirm=confirm,
                    actor=self._actor,
                    prepare=restore_files,  # as the vault counts as current afterwards
                    progress=progress,
                )
                if written:
                    self._engine.sync_notes(written, "module")
                return self.as_seen(self._engine.derive_after(report, progress))

    def maintain(
        self,
        *,
        dry_run: bool = False,
        max_delete: int | None = None,
        confirm: str | None = None,
        progress: Progress | None = None,
    ) -> MaintenanceReport:
        """Delete expired and faded facts, collapse long chains, and prune old data.

        It also makes proposals, according to the settings in `[proposals]`.
        Data older than the settings in `[retention]` is removed permanently, and an
        interrupted purge is completed. Pending observations are classified first, in a
        separate run. A daemon that has the vault does the work.

        Args:
            dry_run: only report what would be done.
            max_delete: maximum number of deletions; default: the guard's limit.
            confirm: the id of a run that the guard stopped, to carry it out now.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            EngineBusyError: another engine has the vault and cannot be called.
            VaultError, StoreError.
            GuardError: it would delete too much; nothing was done.
        """
        from vaultsync.api.maintenance import maintain_in_steps
        from vaultsync.model.steps import finish
        from vaultsync.sync.report import MaintenanceReport

        arguments: dict[str, Any] = {
            "dry_run": dry_run,
            "max_delete": check_optional("max_delete", max_delete, least=0),
            "confirm": confirm,
        }
        try:
            with self._engine.exclusive():
                if not dry_run:
                    self.process_observations()
                steps = maintain_in_steps(
                    self._services, self._engine, actor=self._actor, progress=progress, **arguments
                )
                result = self._engine.derive_after(finish(steps), progress)
        except EngineBusyError as busy:
            result = self._engine.ask_daemon("/v1/maintain", arguments, busy, MaintenanceReport)
        if self.agent is not None:  # these counts include all facts
            result = structs.replace(result, pruned={}, proposed={}, accepted={}, silent=())
        return self.as_seen(result)

    def migrate(self, to: str, *, progress: Progress | None = None) -> MigrationReport:
        """Copy all facts to another store, verify the copy, and switch the vault to it.

        The old store is not changed, and vectors are copied too. MCP servers, bridges and this
        memory use the new store from then on; other programs must open the vault again.

        Args:
            to: the other store, in the format of the setting `store`.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            ConfigError: the facts are already in that store, or `to` is invalid.
            EngineBusyError, VaultError, StoreError.
            UnknownStoreError: the other store has older versions of facts, and nothing records
                that this vault used it; nothing was changed.
            MigrationError: not all facts were copied; the vault was not switched.
        """
        from vaultsync.api.store_migration import migrate

        report = migrate(self._services, self._engine, to, actor=self._actor, progress=progress)
        self.follow_store()
        return report

    def doctor(self) -> tuple[DoctorCheck, ...]:
        """Check this machine and this vault."""
        from vaultsync.api.doctor import run_checks

        return run_checks(self._services, self._engine)

    # ------------------------------------------------------------------- memory files

    def sync_memory_file(
        self,
        *paths: str | Path,
        agent: str | None = None,
        scope: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        again: bool = False,
        dry_run: bool = False,
        confirm: str | None = None,
        progress: Progress | None = None,
    ) -> MemoryFileReport:
        """Sync memory files with the store, section by section.

        The file is the source of truth. Only sections with `<!-- vaultsync-managed -->` are
        changed in it; these follow their facts.

        Args:
            paths: files, or folders with such files.
            agent: the agent whose memory they are; default: that of this memory.
            scope: the scope of new facts; default: the agent's private scope.
            include: patterns for files in a folder; default: `MEMORY.md`.
            exclude: patterns of files to skip.
            again: write every section to the store again, replacing edits and deletions of its
                facts since the last sync.
            dry_run: only report what would be done.
            confirm: the id in the error whose plan is carried out now.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            MemoryFileMissingError: a file does not exist, and never did.
            MemoryFileGuardError: it is gone, or would forget too much; nothing was done.
            TooManyFilesError, StoreUnavailableError, ScopeDeniedError.
        """
        from vaultsync.memory_files.service import FileSyncRequest

        request = FileSyncRequest(
            acting_agent(agent, self.agent), scope, again=again, dry_run=dry_run, confirm=confirm
        )
        return self._memory_files.sync(
            paths, request, include=include, exclude=exclude, progress=progress
        )

    def add_to_memory_file(
        self,
        path: str | Path,
        text: str,
        *,
        section: str,
        replace_all: bool = False,
        agent: str | None = None,
        within: str | Path | None = None,
    ) -> AddResult:
        """Write a text into a section for agents of a memory file, and sync the file.

        Only a section with `<!-- vaultsync-managed -->` is changed; a new one is created if
        there is none. If the user saves the file at the same moment, that save is kept
        and the text is queued for the next sync.

        Args:
            path: the path of the file.
            text: the text to add, in Markdown.
            section: the heading under which it is added.
            replace_all: whether the text replaces the whole section.
            agent: the agent that writes; default: that of this memory.
            within: a folder; then only its `MEMORY.md` and files that are kept in sync may be
                written. For agents that have no access to other files.

        Raises:
            InvalidFieldError: the text would be more than one section.
            UnreadableMemoryFileError: the file is not text, or cannot be written.
        """
        writer = acting_agent(agent, self.agent)
        if within is not None:
            path = self._memory_files.check_within(path, within, agent=writer)
        return self._memory_files.add(
            path,
            check_text("text", text),
            section=check_text("section", section),
            replace_all=replace_all,
            agent=writer,
        )

    def memory_file_section(self, id: str) -> FactSection | None:
        """The position of a fact in the memory file that it comes from.

        Args:
            id: the id of the fact, or another name of it.

        Returns:
            Heading, position and hash at the last sync; None for a fact without a file.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        fact = self.get(id, used=False)
        section = self._memory_files.section_of(fact)
        if section is None:
            return None
        header = self._ctx.view.redact_text(section.section_header, self._ctx.store.get(fact.id))
        return structs.replace(section, section_header=header)

    def manage_memory_file(
        self,
        path: str | Path,
        *,
        budget: int | None = None,
        max_bytes: int | None = None,
        max_lines: int | None = None,
        host: str | None = None,
        form: str = "full",
        scopes: Iterable[str] = (),
        dry_run: bool = False,
        agent: str | None = None,
    ) -> ManagedFile:
        """Fill the managed block of a memory file with the facts for the start of a session.

        Facts are selected by tier, importance, use and recency, as many complete ones as fit.
        Everything outside the block is kept byte for byte. The user's edits in the block are
        applied first: an edit changes its fact or is proposed, a new text becomes a fact, and a
        removed item stays out until its fact changes. Without a change of the memory, the file
        does not change.

        Args:
            path: the file, which is created if it is missing.
            budget: maximum number of tokens of the block; default: 2,000.
            max_bytes: maximum bytes of the whole file; default: the host's limit.
            max_lines: maximum lines of the whole file; default: the host's limit.
            host: `claude-code`, `codex`, `gemini`, `cursor`, `qwen` or `generic`; default: by
                the name of the file.
            form: `full`, a section for each fact, or `index`, a line with its path.
            scopes: only facts of these scopes; default: all that the agent may see.
            dry_run: only report what would be written.
            agent: who reads the file; the agent of this memory when it is None.

        Returns:
            The contents and the size of the block, and the facts that did not fit.

        Raises:
            InvalidFieldError, InvalidScopeError: an argument is invalid.
            UnreadableMemoryFileError: the file is not text, cannot be written, or has only one
                marker of the block.
            MemoryFileBusyError: another process writes the files of this folder.
            MemoryFileChangedError: the file was saved during each attempt.
        """
        from vaultsync.memory_files.manage import ManageRequest

        request = ManageRequest(
            budget=check_optional("budget", budget),
            max_bytes=check_optional("max_bytes", max_bytes),
            max_lines=check_optional("max_lines", max_lines),
            host=host,
            form=form,
            dry_run=dry_run,
        )
        return self._memory_files.manage(
            path,
            request,
            scopes=check_texts("scopes", scopes),
            agent=acting_agent(agent, self.agent),
        )

    def watched_memory_files(self) -> builtins.list[Path]:
        """The memory files that are kept in sync, whether they exist or not.

        These are the files in the setting `[memory_file] files`, and those with managed
        sections or a managed block.
        """
        return self._memory_files.followed()

    def follow_memory_files(
        self, changed: Iterable[str | Path] | None = None
    ) -> MemoryFileReport | None:
        """Sync the watched memory files that changed.

        Args:
            changed: paths of the files that changed; default: all files.

        Returns:
            What was done, and the problems of files; None if there is no file to sync.

        Raises:
            StoreUnavailableError: call it again later.
        """
        return self._memory_files.follow(changed, agent=self.agent)

    # ---------------------------------------------------------------- links and graph

    def related(self, id: str) -> Related:
        """The links from and to a fact, the entities that it names, and the facts that it replaced.

        Args:
            id: the id of the fact.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        from vaultsync.facts.related import find_related

        self._services.access_counter.flush()
        links = self._services.link_index
        return find_related(self._ctx, links, self._fact_id(id), agent=self.agent)

    def links_check(self, *, fix: bool = False, progress: Progress | None = None) -> LinkReport:
        """All links that Obsidian cannot resolve, or that are ambiguous.

        Args:
            fix: rewrite the links whose target is certain, in the notes of facts; a daemon
                that has the vault does the work.
            progress: called with the stage, the number of items done, and their total.

        Raises:
            EngineBusyError: another engine has the vault and cannot be called (with `fix`).
        """
        from vaultsync.operations.check_links import (
            LinkReport,
            check_links,
            fix_links,
            fixed_links_for,
        )

        files = self._engine.files
        if not fix:
            self._engine.record_bases()
            return check_links(self._ctx, files=files, agent=self.agent, progress=progress)
        try:
            with self._engine.exclusive() as ctx:
                fixed = fix_links(ctx, files=files, agent=self.agent, progress=progress)
        except EngineBusyError as busy:
            fixed = self._engine.ask_daemon("/v1/links/fix", {}, busy, LinkReport)
        if self.agent is None:
            return fixed
        return fixed_links_for(self._ctx, self.agent, fixed, files=files)

    def graph_export(
        self,
        *,
        format: str = "json",
        scope: str | None = None,
        around: str | None = None,
        depth: int = 1,
        limit: int | None = None,
        max_chars: int | None = None,
    ) -> GraphExport:
        """The graph of facts, notes and the entities that they name, as text.

        Args:
            format: `json`, `graphml`, `canvas` or `html`.
            scope: only facts of this scope.
            around: only nodes near the one with this name, id or path.
            depth: maximum number of steps from `around`, 1 or more.
            limit: the maximum number of nodes. Those nearest to `around` are kept, and those with
                the most links.
            max_chars: the maximum length of the text; nodes are left out until it fits.

        Raises:
            InvalidFieldError: there is no such format.
            NotFoundError: no node, or more than one, has the name `around`.
            MissingExtraError: GraphML needs the extra `graph`.
        """
        from vaultsync.graph.service import export_graph

        self._engine.record_bases()
        return export_graph(
            self._ctx,
            self._services.link_index,
            graph_format=format,
            agent=self.agent,
            scope=scope,
            around=check_name("around", around),
            depth=check_number("depth", depth, least=1),
            limit=check_optional("limit", limit, least=0),
            max_chars=check_optional("max_chars", max_chars, least=1),
        )

    def graph_stats(self, *, scope: str | None = None, hubs: int = 10) -> GraphStats:
        """Components, hubs and orphans of the graph.

        Args:
            scope: only facts of this scope.
            hubs: the maximum number of hubs.

        Raises:
            MissingExtraError: it needs the extra `graph`.
        """
        from vaultsync.graph.service import load_graph
        from vaultsync.graph.stats import graph_stats

        self._engine.record_bases()
        graph = load_graph(self._ctx, agent=self.agent, scope=scope)
        return graph_stats(graph, hubs=check_number("hubs", hubs, least=0))

    def graph_neighbors(
        self, name: str, *, depth: int = 1, scope: str | None = None
    ) -> Neighborhood:
        """The nodes near a node of the graph.

        Args:
            name: the name, id or path of the node.
            depth: the maximum number of steps, 1 or more.
            scope: only facts of this scope.

        Raises:
            NotFoundError: no node, or more than one, has this name.
        """
        from vaultsync.graph.service import load_neighborhood

        self._engine.record_bases()
        links = self._services.link_index
        return load_neighborhood(
            self._ctx,
            links,
            check_text("name", name),
            depth=check_number("depth", depth, least=1),
            agent=self.agent,
            scope=scope,
        )

    def graph_colours(self) -> GraphColours:
        """Give Obsidian's graph view a colour group for each type; other settings are kept.

        Raises:
            ConfigError: the vault was never opened in Obsidian, or its settings are not
                valid JSON; nothing was written.
            ScopeDeniedError: an agent tries it.
        """
        from vaultsync.api.obsidian_views import colour_graph

        self._refuse_agents("change Obsidian's settings")
        return colour_graph(self._services.settings)

    # ------------------------------------------------------------------------ private

    @cached_property
    def _memory_files(self) -> MemoryFiles:
        from vaultsync.api.memory_files import MemoryFiles

        return MemoryFiles(self._services, self._engine)

    @property
    def _engine(self) -> Engine:
        self._opened.check_open()  # for every method, as each uses it
        return self._opened

    @property
    def _services(self) -> Services:
        return self._engine.services

    @property
    def _ctx(self) -> SyncContext:
        return self._engine.ctx

    def _refuse_agents(self, deed: str) -> None:
        if self.agent is not None:
            denied = ScopeDeniedError(self.agent, PUBLIC)
            denied.message = f"agent {self.agent!r} may not {deed}"
            denied.hint = "ask the user, who does it without --agent and VAULTSYNC_AGENT"
            raise denied

    def _view(self, agent: str | None) -> AgentView:
        """What an agent may know of."""
        from vaultsync.sync.agent_view import AgentView

        return AgentView(self._ctx, agent)

    @property
    def _actor(self) -> str:
        return self.agent or "person"

    def _fact_id(self, name: str, agent: str | None = None, *, forgotten: bool = False) -> str:
        """The id of the fact with a name, which may be the path of a note just written."""
        self._engine.record_bases()
        # The note index has the names of the facts that the agent of this memory may see.
        called = self._ids_named if agent in (None, self.agent) else None
        agent = acting_agent(agent, self.agent)

        find = partial(find_fact_id, self._ctx, agent=agent, forgotten=forgotten, called=called)
        try:
            return find(check_text("id", name))
        except NotFoundError:
            if not name.lower().endswith(".md"):
                raise
            # A shell completes paths from its folder.
            with suppress(NotFoundError, NoteError):
                return find(path_in_vault(name, self.settings.root, self._view(agent).sees_note))
            raise

    def _with_path(self, fact: Fact) -> Fact:
        return fact.evolve(path=self._ctx.archive.note_paths([fact.id]).get(fact.id))

    def _linked(self, to: str | None, source: str | None) -> set[str] | None:
        """The ids of facts that link to one note and are linked from another; None for all."""
        from vaultsync.facts.related import linked_from, linking_to

        links, called = self._services.link_index, self._ids_named
        matches = [
            find(self._ctx, links, name, agent=self.agent, called=called)
            for find, name in ((linking_to, to), (linked_from, source))
            if name is not None
        ]
        return matches[0].intersection(*matches[1:]) if matches else None

    def _current_index(self) -> NoteIndex | None:
        """The note index, brought up to date; None if that is not possible now."""
        index = self._services.note_index
        return None if catch_up_note_index(self._ctx, index).degraded else index

    def _newest_ids(self, filters: FactFilters, limit: int) -> builtins.list[str] | None:
        """The newest matching facts, by the note index; None if that cannot be updated now."""
        index = self._current_index()
        return None if index is None else index.browse(filters, order=NEWEST, limit=limit)

    def _ids_named(self, name: str) -> builtins.list[str] | None:
        """The facts whose title or alias may equal a name, by the note index."""
        if (index := self._current_index()) is None:
            return None
        reader = self.settings.permissions.reader(self.agent)
        filters = FactFilters(status=None, heads_only=False, reader=reader)
        hits = index.search(name, filters, limit=MAX_CALLED, names_only=True)
        return [each.fact_id for each in hits]
