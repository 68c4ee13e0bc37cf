"""Proposal <-> the note that shows it.

A proposal is a change that a person has to decide about. Its note is named and written by
what the proposal says, with links to its evidence, and only its frontmatter and its two boxes
are ever read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

from msgspec import Struct

from vaultsync.markdown.yaml.writer import quoted
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import RELATED_KEY, Value
from vaultsync.notes.review_note import (
    bold,
    box,
    code,
    diff_of_texts,
    fenced,
    note_link,
    plain,
    review_id_in,
    shown_value,
    ticked,
)

PROPOSAL_KIND = "proposal"
PROPOSAL_KINDS = (
    "write",  # an agent writes to a scope where it may only propose changes
    "block",  # you edited a managed block that shows only part of a fact
    "duplicates",  # two facts say nearly the same: merge them
    "contradiction",  # a newer fact contradicts an older one
    "consolidation",  # observations repeat: keep one fact
    "link",  # a name that is mentioned often gets its own note
    "retype",  # a fact has the form of another type
    "retitle",  # a better title for a fact
    "branch",  # a branch was deleted unmerged: keep its entries
    "junk",  # delete background facts that no answer used
)
"""What proposals are about. `undo` reverts all completely but `write`, which cannot be `auto`."""
ACCEPTED, REJECTED, EXPIRED = "accepted", "rejected", "expired"
"""How a proposal ends."""
WRITE_PROPOSAL = "write"
"""The kind of what an agent writes where it may only propose changes."""
_ACCEPT, _REJECT = "accept", "reject"


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """What a proposal would do to one fact."""

    fact_id: str
    revision: str
    """The revision that it is for; empty for a new fact."""
    before: Mapping[str, Value]
    """The values that it replaces, by field, and others that must not change before it is
    applied; empty for a new fact."""
    after: Mapping[str, Value] | None
    """The new values; None deletes the fact."""
    path: VaultPath | None = None
    """The note of the fact; None where it has none yet."""
    title: str = ""
    """What the fact is called in the note of the proposal."""

    @classmethod
    def of(
        cls,
        fact: Fact,
        after: Mapping[str, Value] | None,
        *,
        needs: Iterable[str] = (),
        path: VaultPath | None = None,
    ) -> ProposedChange:
        """The change of a fact to the values `after`, which also needs the fields `needs`."""
        before = {key: fact.plain(key) for key in (*needs, *(after or ()))}
        return cls(fact.id, fact.revision, before, after, path, fact.title)


@dataclass(frozen=True, slots=True)
class ProposalRecord:
    """A change that a person has to decide about, as the archive records it."""

    id: str
    """16 hex digits, made of the kind and the changes: the same proposal, made again, has
    the same id."""
    kind: str
    """One of `PROPOSAL_KINDS`."""
    title: str
    """What is proposed, in one line."""
    why: str
    """The reason, in a sentence or two."""
    proposer: str
    """The agent, or the rule, that made it."""
    scope: str
    """Who may see it: those who may see this scope."""
    created_at: str
    expires_at: str
    changes: tuple[ProposedChange, ...]
    note_path: VaultPath | None = None
    """Where its note lies; None when it has none (any more)."""
    outcome: str = ""
    """Empty while open; then `accepted`, `rejected` or `expired`."""
    settled_at: str = ""
    run: str = ""
    """The run that applied it, which `undo` reverts."""
    changed_since: tuple[str, ...] = ()
    """The fields that others changed after it was made: it was written again for them."""

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that it names: who may see it reads all of them."""
        sides = (side for x in self.changes for side in (x.before, x.after or {}))
        named = (side.get("scope") for side in sides)
        return frozenset({self.scope, *(each for each in named if isinstance(each, str))})

    @property
    def is_unfinished(self) -> bool:
        """Whether it waits for an answer, or its note for its removal."""
        return not self.outcome or self.note_path is not None


class ShownChange(Struct, frozen=True):
    """What a proposal would do to one fact, as surfaces show it."""

    fact_id: str
    path: VaultPath | None
    title: str
    before: Mapping[str, Value]
    after: Mapping[str, Value] | None
    """None deletes the fact."""


class ShownProposal(Struct, frozen=True):
    """A proposal as surfaces show it."""

    id: str
    kind: str
    title: str
    path: VaultPath | None
    """Its note in the vault."""
    created_at: str
    expires_at: str
    changes: tuple[ShownChange, ...]
    why: str = ""
    proposer: str = ""
    outcome: str = ""
    """Empty while open; then `accepted`, `rejected` or `expired`."""
    run: str = ""
    """The run that applied it, which `undo` reverts."""
    changed_since: tuple[str, ...] = ()
    """The fields that others changed after it was made; `changes` has their values of now."""


def proposal_id(kind: str, changes: Sequence[ProposedChange]) -> str:
    """16 hex digits, the same for the same kind, facts and new values.

    What is replaced does not count: a proposal that is brought up to date stays the same. Nor
    do the ids of new facts, which are new each time.
    """
    rows = sorted(
        json.dumps([x.fact_id if x.revision else "", x.after], sort_keys=True, default=dict)
        for x in changes
    )
    for each in changes:
        if not each.revision:
            rows = [row.replace(each.fact_id, "") for row in rows]
    return hashlib.sha256(json.dumps([kind, rows]).encode()).hexdigest()[:16]


def shown_proposal(proposal: ProposalRecord) -> ShownProposal:
    """What surfaces show of a proposal."""
    shown = ShownProposal.__struct_fields__
    values = {key: getattr(proposal, key) for key in shown if key not in ("path", "changes")}
    changes = tuple(
        ShownChange(x.fact_id, x.path, x.title, x.before, x.after) for x in proposal.changes
    )
    return ShownProposal(**values, path=proposal.note_path, changes=changes)


def evidence_of(proposal: ProposalRecord) -> frozenset[str]:
    """The ids of the facts that a proposal would name as related to those that it changes."""
    named = ((each.after or {}).get(RELATED_KEY) for each in proposal.changes)
    return frozenset(x for ids in named if isinstance(ids, (list, tuple)) for x in ids)


def render_proposal(proposal: ProposalRecord, notes: Mapping[str, VaultPath]) -> str:
    """The text of the note of a proposal that has no secrets; `notes` are those of its evidence."""
    named = {each.fact_id: _name(each) for each in proposal.changes}
    return "\n".join(
        (
            "---",
            "vaultsync: proposal",
            f"proposal: {quoted(proposal.id)}",
            f"kind: {quoted(proposal.kind)}",
            f"expires: {quoted(proposal.expires_at)}",
            "---",
            "",
            f"# Proposal: {plain(proposal.title)}",
            "",
            _origin(proposal),
            "",
            *_changed_since(proposal.changed_since),
            box("Accept: do what is shown below", "proposal", _ACCEPT),
            box("Reject: change nothing, and do not propose it again", "proposal", _REJECT),
            "",
            _what_to_do(proposal),
            "",
            *chain.from_iterable(_shown_change(each, notes, named) for each in proposal.changes),
        )
    )


def _origin(proposal: ProposalRecord) -> str:
    begun, until = proposal.created_at[:10], proposal.expires_at[:10]
    return (
        f"{plain(proposal.why)} Proposed by {code(proposal.proposer)} on {begun};"
        f" it is dropped on {until} without an answer."
    )


def _what_to_do(proposal: ProposalRecord) -> str:
    return (
        "Tick one box and save; deleting this note rejects the proposal, too."
        " Other changes to this note are not read: edit the fact instead."
        f" Or run `vaultsync proposals accept {proposal.id[:8]}`."
        " What was accepted can be undone with `vaultsync undo`."
    )


def _changed_since(fields: Sequence[str]) -> Iterator[str]:
    if fields:
        names = ", ".join(map(bold, fields))
        yield f"**Look again:** {names} changed after this was proposed; below is how it is now."
        yield ""


def _name(change: ProposedChange) -> str:
    link = note_link(change.path) if change.path else ""
    return link or plain(change.title or change.fact_id)


def _shown_change(
    change: ProposedChange, notes: Mapping[str, VaultPath], named: Mapping[str, str]
) -> Iterator[str]:
    """What a change does; `named` are the facts that the proposal changes, by their ids."""
    if change.after is None:
        yield from (f"## Delete {_name(change)}", "")
        return
    if not change.revision:
        yield from (f"## New: {plain(change.title or change.fact_id)}", "")
    else:
        yield from (f"## {'Change' if change.after else 'Keep'} {_name(change)}", "")
    for key in sorted(change.after):
        before, after = change.before.get(key), change.after[key]
        yield from (f"**{plain(key)}**", "")
        if key == RELATED_KEY and (links := _links(before, after, notes)):
            yield from (*links, "")
        elif isinstance(after, str) and after in named and after != change.fact_id:
            yield from (f"- {named[after]}", "")
        elif not change.revision or not shown_value(before):
            yield from (fenced("text", shown_value(after) or "(empty)"), "")
        elif differing := diff_of_texts(before, after):
            yield from (fenced("diff", differing), "")
        else:
            lines = [f"- {line}" for line in (shown_value(before)).split("\n")]
            lines += [f"+ {line}" for line in (shown_value(after) or "(empty)").split("\n")]
            yield from (fenced("diff", "\n".join(lines)), "")


def _links(before: Value, after: Value, notes: Mapping[str, VaultPath]) -> list[str]:
    """The facts that a field names as links; none where one goes, or has no note."""
    old, new = (each if isinstance(each, (list, tuple)) else () for each in (before, after))
    if not set(old) <= set(new) <= notes.keys():
        return []
    return [f"- {note_link(notes[each]) or code(notes[each])}" for each in new]


def proposal_id_in(text: str) -> str | None:
    """The id of the proposal whose note this is, from its frontmatter."""
    return review_id_in(text, PROPOSAL_KIND)


def decision_in(text: str) -> str | None:
    """What the user ticked in the note of a proposal.

    Returns:
        `accepted` or `rejected`; None when no box is ticked, or both.
    """
    return _DECISIONS.get(_ticked_boxes(text))


def has_both_ticked(text: str) -> bool:
    """Whether the user ticked both boxes of a proposal, which is no answer."""
    return _ticked_boxes(text) == {_ACCEPT, _REJECT}


def _ticked_boxes(text: str) -> frozenset[str]:
    named = None if proposal_id_in(text) is None else ticked(text, "proposal")
    return named or frozenset()


_DECISIONS: Mapping[frozenset[str], str] = MappingProxyType(
    {frozenset({_ACCEPT}): ACCEPTED, frozenset({_REJECT}): REJECTED}
)
