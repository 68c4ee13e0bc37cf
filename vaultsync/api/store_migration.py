"""Copy the facts of a vault to another store, and switch the vault to it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from os.path import realpath
from pathlib import Path

from msgspec import structs

from vaultsync.api.engine import Engine
from vaultsync.api.wiring import Services
from vaultsync.backends.state.settings_files import edit_machine_file
from vaultsync.errors import ConfigError, StoreUnavailableError, UnknownStoreError
from vaultsync.model.counts import count_noun
from vaultsync.operations.migrate import (
    MigrationReport,
    check_copied,
    copy_store,
    copy_vectors,
    erased_ids,
    expect_store,
    facts_behind,
    finish_copy,
    left_at,
    record_left_place,
)
from vaultsync.storage.erasure import Traces
from vaultsync.sync.plausibility import MAX_EXAMPLES
from vaultsync.sync.report import Progress
from vaultsync.sync.run import sync_once
from vaultsync.sync.sync_request import SyncRequest

_DAEMON_HINT = "stop it first, and start it again afterwards"
_TARGET_HINT = "nothing was changed; run the command again when the new store is available"


def migrate(
    services: Services, engine: Engine, to: str, *, actor: str, progress: Progress | None
) -> MigrationReport:
    """Sync as `actor`, copy all facts to the store at the URL `to`, verify the copy, and switch.

    Raises: as `Memory.migrate()`.
    """
    clock = engine.ctx.clock
    began = clock.monotonic()
    settings = structs.replace(services.settings, store=to)
    with engine.exclusive(hint=_DAEMON_HINT) as ctx, closing(Services(settings)) as target:
        if realpath(target.store_path) == realpath(services.store_path):
            raise ConfigError(f"the facts are already in {to}", hint="use another store")
        files, own = target.store_files, realpath(services.settings.state_dir)
        if files is not None and not Path(realpath(files)).is_relative_to(own):
            check_new_store(files, services.settings.root)
        try:
            store = target.open_store(create=True)
            store.state()
        except StoreUnavailableError as error:
            error.hint = error.helps or _TARGET_HINT
            raise
        sync_once(ctx, SyncRequest(actor=actor))
        since = left_at(ctx, store)
        if not since and (behind := facts_behind(ctx.store, store)):
            raise _unknown_store(target.store_path, behind)
        erased = erased_ids(ctx.store, store, since) if since else set()
        copied_to = ctx.store.state().seq
        copied = copy_store(ctx.store, store, left_at=since, progress=progress)
        if erased:
            store.erase(Traces(erased))
        facts, tombstones = check_copied(
            ctx.store, store, left_at=since, copied_to=copied_to, progress=progress
        )
        vectors = 0
        if target.vectors_in_store or services.vectors_in_store:
            old_index, new_index = services.vector_index, target.vector_index
            if old_index is not None and new_index is not None:
                vectors = copy_vectors(old_index, new_index, store, progress=progress)
        # Agents write without the engine's lock. What they write until here is copied first, as
        # nothing does it if this process ends after the switch.
        if (written := ctx.store.state().seq) > copied_to:
            copied += copy_store(ctx.store, store, left_at=since)
            copied_to = written
        expect_store(ctx, store, copied_to, services.settings.store)
        record_left_place(ctx, services.store_location)
        edit_machine_file(services.settings.machine_file, {("store",): to})
        # From here on, they find that the store is former.
        copied += finish_copy(ctx, services.open_store(create=False, former=True), store)
    return MigrationReport(
        store=target.store_path,
        facts=facts,
        tombstones=tombstones,
        copied=copied,
        vectors=vectors,
        seconds=round(clock.monotonic() - began, 3),
    )


def _unknown_store(store: str, behind: Sequence[str]) -> UnknownStoreError:
    error = UnknownStoreError(
        f"{store} is in use already, and has {count_noun(len(behind), 'fact')} as before the last"
        " change here; the vault does not know that store, and keeps its own; nothing was changed",
        hint="if other machines use it, sync one that has these notes as they are here; if the"
        " vault used it before its archive was lost, move its files away, or use a new store; then"
        " run the command again; to take what it has instead, and lose what is newer here,"
        " `vaultsync config set store URL` and `vaultsync rebuild --from store`",
    )
    error.examples = behind[:MAX_EXAMPLES]
    return error


def check_new_store(files: Path, root: Path) -> None:
    """Raise ConfigError if a new store would be in the vault, or in the state of another one."""
    place, hint = Path(realpath(files)), "use a path of its own, such as sqlite:~/facts.sqlite3"
    if place.is_relative_to(realpath(root)):
        message = f"{files} is in the vault, where sync tools would copy a store while it changes"
        raise ConfigError(message, hint=hint)
    if any((folder / "archive.sqlite3").exists() for folder in place.parents):
        raise ConfigError(f"{files} is in the state folder of another vault", hint=hint)
