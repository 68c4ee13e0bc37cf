"""The summary of the last run, a file in the vault: an older copy of the vault has an older one."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import msgspec

from vaultsync.model.paths import VaultPath
from vaultsync.storage.archive import RunRecord
from vaultsync.sync.context import SyncContext

SUMMARY_PATH = VaultPath(".meta/sync-state.json")
SUMMARY_SETTING = "summary_run"
"""The setting with the run whose summary was written last."""


class _Summary(msgspec.Struct):
    run: str = ""


def older_summary_time(ctx: SyncContext) -> str | None:
    """The time of the run whose summary is in the vault, if a later run wrote another one."""
    last = ctx.archive.setting(SUMMARY_SETTING)
    data = ctx.vault.read_meta(SUMMARY_PATH) if last else None
    try:
        run = msgspec.json.decode(data or b"{}", type=_Summary).run
    except (ValueError, RecursionError):
        return None
    # An unknown run is that of another machine, whose summary a sync tool has copied.
    record = ctx.archive.find_run(run) if run not in ("", last) else None
    return record.at if record else None


def record_with_summary(
    ctx: SyncContext, record: RunRecord, *, is_current: bool = False
) -> Callable[[], None]:
    """Record a run, in a transaction; returns the function that writes its summary afterwards.

    A vault with an older summary, which may be an older copy, keeps it until a run has compared
    all of it, and so `is_current`.
    """
    writes = is_current or older_summary_time(ctx) is None
    ctx.archive.put_run(record)
    ctx.archive.set_setting(SUMMARY_SETTING, record.run)
    return partial(_write, ctx, record) if writes else lambda: None


def _write(ctx: SyncContext, record: RunRecord) -> None:
    summary = {
        "run": record.run,
        "at": record.at,
        "kind": record.kind,
        "facts": ctx.archive.count_bases(),
        "open_conflicts": len(ctx.archive.conflicts()),
        "counts": record.report["counts"],
        "attention": record.report.get("attention", []),
    }
    text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
    ctx.vault.write_meta(SUMMARY_PATH, text.encode())
