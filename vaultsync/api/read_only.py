"""Answer questions without the engine that writes, so that a cold start loads little.

Imports that only some questions need are inside functions: `vaultsync recall` in a new process
must stay within 2.5 times `import click` (`tests/bench/asking.py`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Self

from msgspec import convert, structs, to_builtins

from vaultsync.api import configuration as config
from vaultsync.api.privacy import note_view_for
from vaultsync.api.wiring import Answer, Request, Services
from vaultsync.backends.state.answer_log import AnswerLog
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.result import RecallResult, RecallSources
from vaultsync.settings import Settings

if TYPE_CHECKING:
    from vaultsync.context_packs.pack import ContextPack

_log = logging.getLogger(__name__)


class ReadOnlyMemory:
    """Answers questions from the store and its indexes, or through a running bridge.

    Keyword search runs here, in milliseconds. If a question needs vectors and a bridge of this
    vault is running, which has the model in memory, the whole question is sent to the bridge; if
    that does not respond, the model is loaded here.

    Use it as a context manager.
    """

    def __init__(self, settings: Settings) -> None:
        """Open the vault of the settings. Raises as `Memory`."""
        self.settings = settings
        log = AnswerLog(settings.state_dir, "command")
        self._services = Services(settings, one_shot=True, on_answer=log.add)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the vault."""
        self._services.close()

    @property
    def is_empty(self) -> bool:
        """Whether no scope has a fact yet; False while the store is unavailable."""
        return self._services.is_empty

    def answer(self, request: RecallRequest) -> RecallResult:
        """The facts that answer a question, as `Memory.answer()`."""
        return self._answer(request, self._services.recall, "/v1/recall", RecallResult)

    def pack(self, request: ContextRequest) -> ContextPack:
        """A context pack for a question, as `Memory.pack()`."""
        from vaultsync.context_packs.pack import ContextPack

        return self._answer(request, self._services.build_context, "/v1/context", ContextPack)

    def _answer(
        self,
        request: Request,
        search: Callable[[RecallSources, Request], Answer],
        route: str,
        answer_type: type[Answer],
    ) -> Answer:
        services = self._services
        ctx = services.read_context

        def search_without_vectors(sources: RecallSources, request: Request) -> Answer:
            return search(structs.replace(sources, vectors=_refuse_vectors), request)

        if (self.settings.state_dir / "bridge.json").exists():
            try:
                return services.answer(ctx, request, search_without_vectors)
            except _NeedsVectorsError:
                answer = self._ask_bridge(request, route, answer_type)
            if answer is not None:
                return answer  # the bridge counts uses itself
        return services.answer(ctx, request, search)

    def _ask_bridge(self, request: Request, route: str, answer_type: type[Answer]) -> Answer | None:
        from vaultsync.api.daemon_client import ask_running_bridge

        if request.agent is not None:
            return None
        agent = self.settings.agent
        body = to_builtins(structs.replace(request, agent=agent))
        try:
            answer = ask_running_bridge(self.settings, route, body, agent)
            return None if answer is None else convert(answer, answer_type)
        except (TimeoutError, ValueError) as error:
            _log.debug("the bridge did not answer, failed, or has another version: %r", error)
            return None


class _NeedsVectorsError(Exception):
    """The answer needs more than the note index."""


def _refuse_vectors() -> None:
    raise _NeedsVectorsError


def open_read_only(
    path: str | None = None, agent: str | None = None, state_dir: str | None = None
) -> ReadOnlyMemory:
    """Open a vault, found as by `vaultsync.open()`, to ask questions; raises as that."""
    root = config.find_root(path)
    return ReadOnlyMemory(config.load_settings(root, agent=agent, state_dir=state_dir))


def recall_from_index_files(request: RecallRequest, *, path: str | None = None) -> RecallResult:
    """Answer a question from the notes that `.index/` lists, as in a clone without a store.

    Raises: as `open_read_only()`, and InvalidFieldError: a filter is invalid.
    """
    from tempfile import TemporaryDirectory

    from vaultsync.backends.embedders.english_words import is_english_word
    from vaultsync.backends.filesystem.vault_fs import VaultFs
    from vaultsync.backends.tantivy.index import TantivyIndex
    from vaultsync.index_files.clone_recall import StorelessVault, recall_vault_only

    settings = config.load_settings(config.find_root(path), agent=request.agent)
    weights, view = settings.weights, note_view_for(settings, os.urandom(32))
    with (
        closing(VaultFs(settings.root, ignore=settings.ignore)) as vault,
        TemporaryDirectory(prefix="vaultsync-") as folder,
        closing(TantivyIndex(folder, weights=weights.fields, language=settings.language)) as index,
    ):
        clone = StorelessVault(
            vault, SystemClock(), index, settings.default_scope, view, weights, is_english_word
        )
        return recall_vault_only(clone, structs.replace(request, agent=settings.agent))
