"""Is a plan plausible? It is judged whole, before anything of it is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vaultsync.errors import GuardError
from vaultsync.sync.decision_table import guard
from vaultsync.sync.older_world import find_older_vault
from vaultsync.sync.planning import SyncRun

_OLDER_VAULT = (
    "if the vault is an older copy, put the newer one back, or let `vaultsync rebuild --from"
    " store` write the newest facts to its notes; if its notes are right, confirm them with"
    " `vaultsync sync --confirm RUN`, which `vaultsync undo RUN` reverts"
)


class Implausible(NamedTuple):
    """Why a plan is not plausible."""

    why: str
    hint: str = ""
    """What to do, if not what is done about a sync; `RUN` stands for the id of the run."""
    examples: Sequence[str] = ()
    """Paths of notes that it is about."""

    def error(self, run: str, *, confirmed: str | None) -> GuardError:
        """The error that stops a run; `confirmed` is the run that was confirmed in vain."""
        hint = self.hint.replace("RUN", run)
        return GuardError(self.why, run, confirmed=confirmed, hint=hint, examples=self.examples)


def check_plan(work: SyncRun) -> Implausible | None:
    """Why the plan of a run is not plausible; None when it is."""
    request = work.request
    if older := find_older_vault(work):
        why = f"the vault looks like an older copy: of its notes {older}"
        return Implausible(why, _OLDER_VAULT, older.examples())
    guarded = [a for a in work.actions if a.fact_id not in request.exempt_from_guard]
    limit = guard(guarded, work.ctx.archive.count_bases(), max_delete=request.max_delete)
    return None if limit is None else Implausible(limit)
