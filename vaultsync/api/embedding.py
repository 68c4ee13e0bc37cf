"""The vectors of a vault, computed by a background worker in a separate process.

Commands that changed facts start the worker and do not wait for it. A lock makes sure that there is
only one. It ends when all is done; if it ends before that, the next command starts another.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import convert, structs, to_builtins

from vaultsync.api.wiring import Services
from vaultsync.backends.state.embedding_files import EmbeddingFiles
from vaultsync.backends.system.detached import start_detached
from vaultsync.errors import IndexBusyError, StoreUnavailableError, VaultsyncError
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.storage.feed_cursor import version_of
from vaultsync.storage.store import StoreState
from vaultsync.sync.report import EmbeddingState, EmbedReport, Progress

if TYPE_CHECKING:
    from vaultsync.indexing.embedding_texts import EmbeddingCost

_log = logging.getLogger(__name__)
WORKER = "vaultsync.service.embedding_process"
REPLACE, KEEP = "replace", "keep"
"""Whether a worker replaces the vectors of another model, or keeps them."""
FEW_CHANGES = 16
"""Minimum number of an agent's writes that start a worker; fewer wait for the next run."""
RETRY_SECONDS = 60.0
"""Seconds before a worker that gave up is started again."""
_ASK_SECONDS = 0.2
STALL_SECONDS = 120.0
"""Seconds without progress after which waiting for a worker ends; a batch takes a few."""
_STALLED = (
    "the process that embeds texts ({pid}) makes no progress: it may be suspended;"
    " `vaultsync index --stop` ends it"
)
PAUSE_SECONDS = 10.0
"""Seconds that a command which embeds has to end, where nothing else may embed."""
WRITE_SECONDS, SPEED_SECONDS = 0.5, 60.0
"""The interval at which progress is written, and the window in which speed is measured."""


class EmbeddingWorker:
    """Starts and stops the worker of a vault, reports its progress, and waits for it."""

    def __init__(self, services: Services) -> None:
        self.services = services
        settings = services.settings
        self.files = EmbeddingFiles(settings.state_dir)
        source = f"{settings.store} {settings.embedder}"
        self.files.source = sha256(source.encode(errors="surrogateescape")).hexdigest()
        self._started: int | None = None
        self.idle = 0.0
        """Seconds for which a worker that is done waits for more texts."""

    def start(self, *, changes: int = 1, requested: bool = False) -> bool:
        """Start the worker if there is something to embed and none runs; never fails.

        Args:
            changes: minimum number of writes for which it is started.
            requested: whether the user requested it: then it also replaces the vectors and
                the worker of another model, and ignores earlier failures.

        Returns:
            Whether a worker is now running that has something to do, or was requested.
        """
        settings, services = self.services.settings, self.services
        if not (settings.embed_in_background or requested):
            return False
        if not (services.can_embed and services.shares_store):
            return False
        if not (requested or self.is_behind(changes)):
            return False
        running = self.files.read()
        if running["pid"] is not None:
            is_former = _text(running, "source") != self.files.source
            if not (requested and is_former and self.take_over()):
                return True
        if self.gave_up and not requested:
            return False
        return self._start(REPLACE if requested else KEEP)

    def is_behind(self, changes: int = 1) -> bool:
        """Whether at least `changes` writes are not embedded yet; False without a store."""
        progress = self.files.progress()
        try:
            state = self.services.read_context.redacted_store.state()
        except StoreUnavailableError as error:
            _log.debug("nothing can be embedded now: %s", error)
            return False
        behind = _text(progress, "version") != self.version(state)
        return behind and (changes <= 1 or abs(state.seq - _number(progress, "seq")) >= changes)

    @property
    def gave_up(self) -> bool:
        """Whether a worker gave up within the last `RETRY_SECONDS`."""
        progress = self.files.progress()
        if not _text(progress, "degraded"):
            return False
        try:
            elapsed = self.services.clock.now() - datetime.fromisoformat(_text(progress, "at"))
        except (ValueError, TypeError):
            return False
        return 0 <= elapsed.total_seconds() < RETRY_SECONDS

    def stop(self) -> int | None:
        """Stop the worker within a second; returns the id of its process."""
        stopped, self._started = self.files.stop(self._started), None
        return stopped

    def state(self, *, started: bool = False) -> EmbeddingState | None:
        """The progress of embedding; None if no model is set. Does not load the model.

        With `started`, the process that `start()` has just created counts as embedding, although
        it has not reported that yet.
        """
        if not self.services.can_embed:
            return None
        progress = self.files.read()
        version, names = _text(progress, "version"), EmbeddingState.__struct_fields__
        try:
            recorded = convert({k: progress[k] for k in names if k in progress}, EmbeddingState)
            now = self.services.read_context.redacted_store.state()
        except (VaultsyncError, ValueError) as error:
            _log.debug("the progress of embedding is unknown: %s", error)
            return EmbeddingState(pid=progress["pid"])
        complete = recorded.pid is None and version == self.version(now)
        if recorded.pid is None:
            pid = self._started if started and not complete else None
            recorded = structs.replace(recorded, texts_per_second=0.0, seconds_left=None, pid=pid)
        # The store may have grown since the worker reported its progress.
        share = 1.0 if complete else _share(recorded.facts, now.facts)
        return structs.replace(recorded, complete=complete, share=share)

    def version(self, state: StoreState) -> str:
        """The version of complete vectors, from the store's state and the model's setting."""
        return version_of(state.store_id, state, self.services.settings.embedder)

    def take_over(self) -> str:
        """End the background worker; returns how another one continues its work."""
        progress = self.files.read()
        mode = _text(progress, "background") if progress["pid"] is not None else ""
        if mode:
            self.files.stop()
        return mode

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the worker from running; afterwards, it continues.

        Raises IndexBusyError if a command that embeds does not end.
        """
        mode, clock = "", self.services.clock
        until = clock.monotonic() + PAUSE_SECONDS
        while not self.files.acquire(_ASK_SECONDS):
            mode = self.take_over() or mode
            if clock.monotonic() > until:
                hint = "wait until it has finished, or end it with `vaultsync index --stop`"
                raise IndexBusyError("another process embeds texts", hint=hint)
        try:
            yield
        finally:
            self.files.release()
            if mode:
                self._start(mode)

    def embed(
        self,
        *,
        approve: Callable[[EmbeddingCost], bool] | None = None,
        progress: Progress | None = None,
        resumed_mode: str = "",
    ) -> EmbedReport:
        """Do the work of the worker here, and wait for another process that does the same.

        Facts that are written meanwhile are left to the worker: others may write without end.

        The background worker is stopped first, because its low priority cannot be raised and may
        leave it no time on a busy machine. It is restarted if this call is interrupted.

        `approve` and `progress` are as in `Memory.index()`, `resumed_mode` as `take_over()` returns
        it.
        """
        clock = self.services.clock
        previous, since = None, clock.monotonic()
        try:
            while not self.files.acquire(_ASK_SECONDS):
                resumed_mode = self.take_over() or resumed_mode
                current = self.files.read()
                if current != previous:
                    previous, since = current, clock.monotonic()
                elif clock.monotonic() - since > STALL_SECONDS:
                    return EmbedReport(degraded=_STALLED.format(pid=current["pid"]))
                done, left = _number(current, "texts_done"), _number(current, "texts_left")
                if progress is not None and done + left:
                    progress("embed", done, done + left)
            return self.embed_alone(approve=approve, progress=progress, follow=False)
        except BaseException:
            self.files.release()
            if resumed_mode:
                self._start(resumed_mode)
            raise
        finally:
            self.files.release()

    def embed_alone(
        self,
        *,
        approve: Callable[[EmbeddingCost], bool] | None = None,
        progress: Progress | None = None,
        follow: bool = True,
    ) -> EmbedReport:
        """Do the work of the worker, holding its lock.

        With `follow`, facts that are written meanwhile are embedded too.
        """
        # Most commands only start the worker or ask for its state.
        from vaultsync.api.derived_data import update_vectors  # noqa: PLC0415 - see above

        services = self.services
        ctx, index = services.read_context, services.note_index
        store = ctx.redacted_store

        def catch_up() -> None:
            catch_up_note_index(ctx, index)

        progress_file = _ProgressFile(self, progress)
        report = EmbedReport()
        try:
            while True:
                state = store.state()
                catch_up()
                changes = update_vectors(
                    ctx,
                    index,
                    services.vector_index,
                    lambda: services.embedder,
                    approve=approve,
                    progress=progress_file,
                    catch_up=catch_up if follow else None,
                )
                report = structs.replace(
                    changes,
                    embedded=report.embedded + changes.embedded,
                    seconds=report.seconds + changes.seconds,
                )
                if report.degraded or not follow or store.state() == state:
                    break
        except StoreUnavailableError as error:
            return structs.replace(report, degraded=error.message)
        progress_file.write(report, state)
        return report

    def _start(self, mode: str) -> bool:
        settings = self.services.settings
        places = [str(settings.root), str(settings.state_dir.parent), settings.store]
        variables = {
            "VAULTSYNC_EMBEDDER": settings.embedder,
            "VAULTSYNC_MODELS": str(settings.models),
        }
        self._started = start_detached(["-m", WORKER, *places, f"{self.idle:g}", mode], variables)
        return self._started is not None


class _ProgressFile:
    """Writes the progress of the worker to its file."""

    def __init__(self, worker: EmbeddingWorker, also: Progress | None) -> None:
        self._worker = worker
        self._also = also
        self._clock = worker.services.clock
        self._written = -WRITE_SECONDS
        self._seen = deque[tuple[float, int]]()
        """Times and numbers of finished texts over the last minute."""
        self._known = worker.files.read()
        worker.files.write(self._known)  # publish which process embeds

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Record the progress of `embed_pending()`."""
        now = self._clock.monotonic()
        texts, of = (done, total) if stage == "embed" else (0, 0)
        self._seen.append((now, texts))
        while now - self._seen[0][0] > SPEED_SECONDS:
            self._seen.popleft()
        if now - self._written >= WRITE_SECONDS:
            self._written = now
            self._write(texts, of, "")
        if self._also is not None:
            self._also(stage, done, total)

    def write(self, report: EmbedReport, state: StoreState) -> None:
        """Record the end: that the vectors are complete for a state, or why they are not."""
        complete = not report.degraded and not report.left
        self._known["version"] = self._worker.version(state) if complete else ""
        self._known["seq"] = state.seq if complete else _number(self._known, "seq")
        self._seen.clear()
        self._write(0, 0, report.degraded)

    def _write(self, done: int, total: int, degraded: str) -> None:
        services = self._worker.services
        vectors = services.vector_index
        facts = vectors.count() if vectors is not None else 0
        everything = services.read_context.redacted_store.state().facts
        (first, before) = self._seen[0] if self._seen else (0.0, 0)
        elapsed = self._seen[-1][0] - first if self._seen else 0.0
        speed = (done - before) / elapsed if elapsed > 0 else 0.0
        state = EmbeddingState(
            facts=facts,
            share=_share(facts, everything),
            texts_left=total - done,
            texts_per_second=round(speed, 1),
            seconds_left=round((total - done) / speed, 1) if speed else None,
            degraded=degraded,
        )
        self._worker.files.write(
            {
                **to_builtins(state),
                "texts_done": done,
                "version": _text(self._known, "version"),
                "seq": _number(self._known, "seq"),
                "at": self._clock.now().isoformat(),
            }
        )


def _share(facts: int, everything: int) -> float:
    return round(min(facts / everything, 1.0), 3) if everything else 1.0


def _text(progress: Mapping[str, Any], name: str) -> str:
    value = progress.get(name)
    return value if isinstance(value, str) else ""


def _number(progress: Mapping[str, Any], name: str) -> int:
    value = progress.get(name)
    return value if isinstance(value, int) else 0
