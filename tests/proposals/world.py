"""A world in which proposals wait for the person."""

from __future__ import annotations

from tests.world import SCOPE, World
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_to_values
from vaultsync.notes.proposal_note import ProposalRecord, ProposedChange
from vaultsync.proposals.service import ProposalDraft, propose, settle_proposals
from vaultsync.sync.report import Report

ACCEPT, REJECT = "accept", "reject"


class ProposalWorld(World):
    """A world with proposals; a pass settles them first, as the engine does."""

    def proposed(self, *changes: ProposedChange, kind: str = "retitle") -> ProposalRecord:
        """A proposal, with its note."""
        draft = ProposalDraft(kind, "Say it better", "It reads better.", "indy", SCOPE, changes)
        made = propose(self.ctx, draft)
        self.settle()
        return next(x for x in self.archive.proposals(settled=True) if x.id == made.id)

    def change(self, fact: Fact, **after: Value) -> ProposedChange:
        """A change of fields of a fact as it is now."""
        now = self.fact(fact.id)
        return ProposedChange.of(now, after, path=now.path)

    def deletion(self, fact: Fact) -> ProposedChange:
        now = self.fact(fact.id)
        return ProposedChange.of(now, None, needs=["content"], path=now.path)

    def creation(self, content: str) -> ProposedChange:
        values = {"id": self.clock.new_id(), "scope": SCOPE, "content": content, "type": "note"}
        fact = make_fact({**values, "createdAt": self.ctx.today()})
        return ProposedChange(fact.id, "", {}, fact_to_values(fact), None, fact.title)

    def better(self, *lines: str) -> tuple[Fact, ProposalRecord]:
        """A fact, and the proposal of another title for it."""
        fact = self.mirrored(*lines)
        return fact, self.proposed(self.change(fact, title="A better title"))

    def settle(self) -> Report | None:
        self.clock.advance(1)
        return settle_proposals(self.ctx)

    def settled(self) -> Report:
        """What settling did, which is something."""
        report = self.settle()
        assert report is not None
        return report

    def ticks(self, box: str) -> None:
        """Tick a box of the only proposal."""
        (path,) = self.review_notes()
        name = {ACCEPT: "- [ ] Accept", REJECT: "- [ ] Reject"}[box]
        self.person_edits(path, name, name.replace("[ ]", "[x]"))

    def review_notes(self) -> list[str]:
        return sorted(path for path in self.vault.files if path.endswith(".proposal.md"))

    def outcomes(self) -> list[str]:
        return [each.outcome for each in self.archive.proposals(settled=True)]
