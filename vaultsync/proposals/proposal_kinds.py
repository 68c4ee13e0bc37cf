"""The table of kinds of proposals: what each is about, and whether it may be automatic."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class ProposalKind(NamedTuple):
    """A row of the table."""

    name: str
    says: str
    """One line for the docs."""
    reversible: bool = True
    """Whether `undo` reverts it completely: only such a kind may be set to `auto`."""


KINDS: Mapping[str, ProposalKind] = MappingProxyType(
    {
        each.name: each
        for each in (
            ProposalKind(
                "write",
                "an agent writes to a scope where it may only propose changes",
                reversible=False,
            ),
            ProposalKind("block", "you edited a managed block that shows only part of a fact"),
            ProposalKind("duplicates", "two facts say nearly the same: merge them"),
            ProposalKind("contradiction", "a newer fact contradicts an older one"),
            ProposalKind("consolidation", "observations repeat: keep one fact"),
            ProposalKind("link", "a name that is mentioned often gets its own note"),
            ProposalKind("retype", "a fact has the form of another type"),
            ProposalKind("retitle", "a better title for a fact"),
            ProposalKind("branch", "a branch was deleted unmerged: keep its entries"),
            ProposalKind("junk", "delete background facts that no answer used"),
        )
    }
)
