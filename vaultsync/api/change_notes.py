"""A note about the changes in a time span, written on request."""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

from msgspec import Struct

from vaultsync.backends.obsidian.bases_folder import BasesFolder
from vaultsync.index_files.change_page import change_page, is_unedited_page
from vaultsync.model.paths import vault_path
from vaultsync.model.written_dates import time_span
from vaultsync.notes.kinds import changes_name
from vaultsync.settings import Settings
from vaultsync.sync.context import SyncContext

LAST_DAYS = "last 7 days"


class ChangeNote(Struct, frozen=True):
    """The result of writing a change report."""

    path: str
    status: Literal["written", "unchanged", "edited"]
    """`edited` if the user changed it, or has another file there; it was not written."""
    counts: dict[str, int]
    """Numbers of facts that were `created`, `updated` and `forgotten`, and of `conflicts` and
    `proposals`."""


def write_change_note(
    ctx: SyncContext, settings: Settings, since: str | None, folder: str
) -> ChangeNote:
    """As `Memory.write_change_note()`."""
    place = vault_path(folder)
    today = ctx.clock.local_day(ctx.clock.now())
    span = time_span(since or LAST_DAYS, None, today=today)
    first = (span.since or "")[:10]
    span = span.of_days(ctx.clock.start_of_day)
    page = change_page(ctx, span, f"Changes from {first} to {today.isoformat()}")
    files = BasesFolder(settings.root, place)
    name = changes_name(first, today.isoformat())
    path = f"{place}/{name}"
    before = files.read(name)
    is_ours = before is not None and is_unedited_page(before)
    recorded = {path: sha256(before).hexdigest()} if before is not None and is_ours else {}
    written, unchanged, _, _ = files.write({name: page.text}, recorded)
    status: Literal["written", "unchanged", "edited"] = "edited"
    if written or unchanged:
        status = "written" if written else "unchanged"
    return ChangeNote(path, status, page.counts)
