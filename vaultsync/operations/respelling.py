"""A pass that rewrites links in the notes of some facts, and does nothing else to them.

Both sides are written as by any merge: the store names the revision it replaces, the note
is exchanged and what was displaced is looked at. A fact that changed meanwhile is brought
in step by the table first, and its links in the pass after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from vaultsync.errors.notes import NoteError
from vaultsync.links.rewrite import Turner, relink_note
from vaultsync.model.compare import differing
from vaultsync.model.paths import VaultPath
from vaultsync.notes.edits import edited
from vaultsync.notes.parse import Note, read_note
from vaultsync.sync.changes import StoreChange
from vaultsync.sync.context import Mirror
from vaultsync.sync.decision_table import Action, Do
from vaultsync.sync.identity import Case
from vaultsync.sync.pass_types import Pass, Request
from vaultsync.sync.planning import Rules
from vaultsync.sync.report import Progress, Report
from vaultsync.sync.run import ByTheTable, sync_with

ROUNDS = 3
"""How often notes are tried that somebody writes to meanwhile."""


class Sense(Protocol):
    """What links mean, and shall mean."""

    def turner(self, path: VaultPath) -> Turner:
        """Says where the links of the note at a path shall lead."""
        ...

    def led(self, target: str, path: VaultPath) -> VaultPath | None:
        """Where the note lies now that a link in the note at `path` led to before."""
        ...

    def leads(self, target: str, path: VaultPath) -> VaultPath | None:
        """Where a link in the note at `path` leads now."""
        ...


def respell(
    mirror: Mirror,
    fact_ids: Iterable[str],
    sense: Sense,
    *,
    reason: str,
    actor: str,
    after: Report | None = None,
    progress: Progress | None = None,
) -> Report | None:
    """Rewrite the links in the notes of facts; None when there was nothing to rewrite.

    Raises: as `sync_with()`.
    """
    named = tuple(sorted(set(fact_ids)))
    done = after
    for _ in range(ROUNDS):
        if not named:
            break
        planner = Respelling(sense, reason)
        request = Request(
            kind="links", named=named, only_named=True, actor=actor, after=done
        )
        report = sync_with(mirror, request, planner, progress=progress)
        if not report.quiet:
            done = report
        named = tuple(each for each in planner.later if each in named)
    return done if done is not after else None


class Respelling(ByTheTable):
    """Plans by the table; where that has nothing to do, the links are rewritten."""

    def __init__(self, sense: Sense, reason: str) -> None:
        super().__init__()
        self._sense = sense
        self._reason = reason
        self._paths: Mapping[VaultPath, str] = {}
        self.later: list[str] = []
        """Facts that something else was done about."""

    def prepare(self, work: Pass) -> None:
        """Note which paths are taken, and by which facts."""
        super().prepare(work)
        self._paths = work.mirror.archive.paths()

    def plan(self, case: Case, rules: Rules) -> Action:
        """The row of the table, or the rewritten note."""
        action = super().plan(case, rules)
        if action.do is not Do.NOTHING:
            self.later.append(case.fact_id)
            return action
        if case.base is None or case.store.change is not StoreChange.UNCHANGED:
            return action
        note = case.vault.note
        return action if note is None else self._rewritten(action, note)

    def _rewritten(self, action: Action, note: Note) -> Action:
        base = action.base
        assert base is not None  # noqa: S101 - the caller asked
        try:
            text = relink_note(
                note.parts.text, note.path, self._sense.turner(note.path)
            )
            if text == note.parts.text:
                return action
            now = read_note(text.encode(), note.path)
            now = self._lens.meant(now, base, before=note)
        except NoteError:
            return action  # `links check` goes on naming the link
        fact = edited(base, note, now, ids=self._ids(note, now))
        fields = differing(base, fact)
        return action.but(
            do=Do.MERGE if fields else Do.UPDATE_VAULT,
            reason=self._reason,
            vault=base,
            merged=fact,
            fields=fields,
            text=text.encode(),
        )

    def _ids(self, before: Note, now: Note) -> Mapping[str, str]:
        """The facts that links under Related Facts led to, and lead to."""
        found = {}
        for targets, lead in (
            (before.links - now.links, self._sense.led),
            (now.links - before.links, self._sense.leads),
        ):
            for target in targets:
                path = lead(target.partition("#")[0], now.path)
                if path is not None and path in self._paths:
                    found[target] = self._paths[path]
        return found
