"""Import from and export to other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

from msgspec import Struct

from vaultsync.api.configuration import find_vault_above
from vaultsync.api.engine import Engine
from vaultsync.backends.filesystem.exchange_files import TargetFolder, open_source
from vaultsync.errors import ExchangeFileError, UsageError
from vaultsync.exchange.exchange_formats import FORMATS, WRITTEN
from vaultsync.exchange.service import ImportReport, import_from
from vaultsync.model.fact import Fact
from vaultsync.settings import user_path
from vaultsync.sync.context import ReadContext
from vaultsync.sync.report import Progress

_IMPORT_BY_DAEMON = "it lends the vault between two of its runs, so try again, or stop it first"


class ExportReport(Struct, frozen=True):
    """The result of an export."""

    format: str
    path: str
    facts: int
    files: int


def import_into(
    engine: Engine,
    format_name: str,
    path: Path,
    *,
    scope: str | None,
    agent: str | None,
    dry_run: bool,
    progress: Progress | None,
) -> ImportReport:
    """As `Memory.import_from()`."""
    form = FORMATS.get(format_name)
    if form is None:
        raise _unknown(format_name, FORMATS)
    # A dry run writes nothing, so it can run beside a daemon.
    locked = nullcontext(engine.ctx) if dry_run else engine.borrowed(hint=_IMPORT_BY_DAEMON)
    with open_source(user_path(path)) as files, locked as ctx:
        report = import_from(
            ctx, form, files, scope=scope, agent=agent, dry_run=dry_run, progress=progress
        )
        if report.run:
            engine.update_derived(progress=progress)
            engine.embedding.start()
    return report


def export_into(
    ctx: ReadContext, format_name: str, path: Path, *, agent: str | None, user: str | None
) -> ExportReport:
    """As `Memory.export_to()`."""
    write = WRITTEN.get(format_name)
    if write is None:
        raise _unknown(format_name, WRITTEN)
    target = user_path(path).resolve()
    if find_vault_above(target / "_") is not None:
        why = "it is in a vault, where each file would become a note"
        raise ExchangeFileError(str(path), why, is_target=True)
    folder = TargetFolder(target)
    counts = [0, 0]

    def visible() -> Iterator[Fact]:
        store = ctx.store if agent is None else ctx.redacted_store
        for fact in store.iter_facts():
            if ctx.policy.permissions.may_read(agent, fact.scope) and user in (None, fact.user_id):
                counts[0] += 1
                yield fact

    for name, pieces in write(visible()):
        folder.write(name, pieces)
        counts[1] += 1
    return ExportReport(format_name, str(path), *counts)


def _unknown(name: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"{name} is not a supported format", hint=f"use one of {', '.join(known)}")
