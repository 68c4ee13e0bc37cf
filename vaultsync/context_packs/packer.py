"""Hits and a budget -> a context pack: what an agent is given to read, and why.

The budget is shared out to the tiers and to the entities that the facts name; what one
does not need the next may use, and what is left goes round again. In a tier those facts
get the room that fit the question best, in the order of priority, importance, recency.
What nearly repeats another fact is packed once.

Of a long fact that fits the question much less than the best only the sentences around
the passage are packed, whatever room there is. Where the others do not all fit, they are
first packed in brief: the paragraphs about the passage that was found. What is then left
of the budget makes the first ones whole again. What is cut says so.

Tokens of a whole are not the sum of the tokens of its parts. Each part is counted once
to plan with, the whole is counted at the end, and while that is more than the budget the
least of what was packed goes: no pack is ever a token over.

The parts of a context pack in the making: pieces with what they cost, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from vaultsync.context_packs.excerpt import excerpt
from vaultsync.context_packs.formats import (
    PACK_FORMS,
    PackFormat,
    PackPiece,
    citation_of,
    entity_card,
    fact_body,
    render_pack,
)
from vaultsync.context_packs.near_duplicates import NearDuplicates
from vaultsync.context_packs.pack import (
    ENTITY_TIER,
    INTENTS,
    PACK_TIERS,
    ContextPack,
    LeftOut,
    PackCandidate,
    PackedItem,
    detect_intent,
)
from vaultsync.context_packs.truncate import cut_piece
from vaultsync.model.decay import DEFAULT_IMPORTANCE
from vaultsync.model.fact import Fact
from vaultsync.model.schema import tier_of


class UncutPiece(NamedTuple):
    """A fact as it is packed uncut."""

    piece: PackPiece
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PackPart:
    """A piece with its text and what it costs."""

    piece: PackPiece
    text: str
    tokens: int
    whole: UncutPiece
    rank: int
    """Its place in the order of all."""
    candidate: PackCandidate


def pack_item(part: PackPart) -> PackedItem:
    """What a pack tells of a part."""
    piece = part.piece
    return PackedItem(
        id=piece.fact.id,
        tokens=part.tokens,
        tier=piece.tier,
        reason=piece.reason,
        citation=piece.citation,
        title=piece.fact.title,
        cut=piece.cut,
    )


def sort_parts(candidates: Sequence[PackCandidate]) -> list[PackCandidate]:
    """By priority, then importance, then the newest first; by id when all that is equal."""
    by_age = sorted(candidates, key=lambda each: each.fact.id)
    by_age.sort(key=lambda each: each.fact.created_at, reverse=True)
    return sorted(by_age, key=lambda each: (each.fact.priority, -_importance(each.fact)))


def _importance(fact: Fact) -> float:
    return DEFAULT_IMPORTANCE if fact.importance is None else fact.importance


__all__ = [
    "INTENTS",
    "PACK_TIERS",
    "REASON_NO_ROOM",
    "ContextPack",
    "LeftOut",
    "PackCandidate",
    "PackedItem",
    "detect_intent",
    "pack_context",
]

CountTokens = Callable[[str], int]

BRIEF_TOKENS = 200
"""Tokens of a fact that is packed in brief. Of the sessions of LoCoMo as long notes, 160
questions, packs hold 0.65 of the answers in the words that answer, and with 150 in as
many tokens 0.61; with 250 and 300 hardly more, and fewer of the notes."""
MIN_CUT_SHARE = 0.25
"""The least share of a fact that is packed when it has to make do with what is left."""
MIN_GROWTH_TOKENS = 40
"""Tokens that must be left for a cut fact to be made longer: about a paragraph."""

REASON_NO_ROOM = "no room left"
REASON_BRIEF = "in brief"
REASON_DUPLICATE = "says the same as"


def pack_context(
    question: str,
    candidates: Sequence[PackCandidate],
    *,
    budget: int,
    count: CountTokens,
    form: str = "markdown",
    intent: str | None = None,
    entities: Sequence[PackCandidate] = (),
) -> ContextPack:
    """Pack what fits; the same for the same arguments, whatever the order of the facts.

    Args:
        question: what was asked; it stands at the top.
        candidates: the facts that were found, each once.
        budget: in tokens, as `count` counts them.
        count: text -> tokens; 0 for an empty text.
        form: one of `pack_text.FORMS`.
        intent: one of `INTENTS`; by the words of the question when None.
        entities: facts of the entities that the candidates name.
    """
    meant = intent or detect_intent(question)
    packing = _Packing(PACK_FORMS[form], question, budget, count)
    packing.take_in(candidates, entities)
    packing.fill(INTENTS[meant].shares)
    text, tokens = packing.fit_budget()
    packed = [part for tier in PACK_TIERS for part in packing.packed[tier]]
    return ContextPack(
        text=text,
        tokens=tokens,
        budget=budget,
        by_tier={tier: sum(part.tokens for part in packing.packed[tier]) for tier in PACK_TIERS},
        items=tuple(map(pack_item, packed)),
        left_out=tuple(
            LeftOut(part.piece.fact.id, part.whole.tokens, why, part.piece.fact.title)
            for part, why in sorted(packing.left, key=lambda each: each[0].rank)
        ),
        truncated=any(part.piece.cut for part in packed)
        or any(why == REASON_NO_ROOM for _, why in packing.left),
        intent=meant,
        format=form,
    )


def _never(_part: PackPart, _free: int) -> bool:
    return False


def _is_worth_it(part: PackPart, free: int) -> bool:
    return free >= MIN_CUT_SHARE * part.tokens


@dataclass(slots=True)
class _Packing:
    """A pack in the making."""

    form: PackFormat
    question: str
    budget: int
    count: CountTokens
    waiting: dict[str, list[PackPart]] = field(default_factory=dict)
    """Those that share the budget, by tier."""
    lesser: list[PackPart] = field(default_factory=list)
    """Those that fit much less; they have what is left."""
    packed: dict[str, list[PackPart]] = field(default_factory=dict)
    left: list[tuple[PackPart, str]] = field(default_factory=list)
    heads: dict[str, int] = field(default_factory=dict)
    """What it costs to open and close each tier."""
    briefs: dict[int, PackPart] = field(default_factory=dict)
    """By rank; what was cut once."""
    tight: bool = False
    """Whether not all of it fits whole."""

    def take_in(
        self, candidates: Sequence[PackCandidate], entities: Sequence[PackCandidate]
    ) -> None:
        """Count each part, once, and set aside what repeats another fact."""
        self.waiting = {tier: [] for tier in PACK_TIERS}
        self.packed = {tier: [] for tier in PACK_TIERS}
        seen, kept = NearDuplicates(), list[str]()
        for rank, each in enumerate(sort_parts(candidates)):
            part = self._part(each, rank, tier_of(each.fact.priority))
            same = seen.find(f"{each.fact.title}\n{fact_body(each.fact)}")
            if same is None:
                kept.append(each.fact.id)
                many = self.lesser if each.brief else self.waiting[part.piece.tier]
                many.append(part)
            else:
                self.left.append((part, f"{REASON_DUPLICATE} {kept[same]}"))
        found = {each.fact.id for each in candidates}
        named = [each for each in sort_parts(entities) if each.fact.id not in found]
        named.sort(key=lambda each: -len(each.named_by))
        for rank, each in enumerate(named, start=len(found)):
            self.waiting[ENTITY_TIER].append(self._part(each, rank, ENTITY_TIER))
        for tier in PACK_TIERS:
            self.heads[tier] = self.count(self.form.tier(tier) + self.form.end_tier(tier))

    def _part(self, each: PackCandidate, rank: int, tier: str) -> PackPart:
        body = entity_card(each.fact) if tier == ENTITY_TIER else fact_body(each.fact)
        piece = PackPiece(each.fact, tier, each.reason, citation_of(each.fact), body)
        short = excerpt(body, each.passage) if each.brief else None
        if short is not None:
            piece = replace(
                piece,
                reason=f"{each.reason}; {REASON_BRIEF}",
                citation=citation_of(each.fact, short.section),
                body=short.text,
                cut=True,
            )
        whole = UncutPiece(piece, *self._rendered(piece))
        return PackPart(*whole, whole, rank, each)

    def _rendered(self, piece: PackPiece) -> tuple[str, int]:
        text = self.form.piece(piece)
        return text, self.count(self.form.between + text)

    def fill(self, shares: Mapping[str, float]) -> None:
        """Pack tier by tier, each in its room; then let what is left go round."""
        free = self.budget - self.count(render_pack(self.form, self.question, []))
        if free > 0:
            rooms = self._rooms(shares, free)
            spare = 0
            for tier in PACK_TIERS[:-1]:
                room = rooms[tier] + spare
                spare = room - self._fill_tier(tier, room, self._is_first)
            spare += free - sum(rooms.values())
            for may_cut in (_never, _is_worth_it):
                for tier in PACK_TIERS[:-1]:
                    spare -= self._fill_tier(tier, spare, may_cut)
            spare = self._grow(self._fill_lesser(spare))
            self._fill_tier(ENTITY_TIER, spare + rooms[ENTITY_TIER], _never)
        for tier in PACK_TIERS[:-1]:
            self.left += [(part, REASON_NO_ROOM) for part in self.waiting[tier]]
        self.left += [(part, REASON_NO_ROOM) for part in (*self.lesser, *self._named())]

    def _fill_lesser(self, room: int) -> int:
        """Pack what fits less, best first, whatever its tier; returns the room left."""
        waiting, self.lesser = self.lesser, []
        for part in sorted(waiting, key=lambda each: (-each.candidate.fit, each.rank)):
            packed = self.packed[part.piece.tier]
            cost = part.tokens + (0 if packed else self.heads[part.piece.tier])
            if cost <= room:
                packed.append(part)
                room -= cost
            else:
                self.lesser.append(part)
        for many in self.packed.values():
            many.sort(key=lambda part: part.rank)
        return room

    def _is_first(self, part: PackPart, _free: int) -> bool:
        """The first fact of a tier is cut when it is larger than all of the room."""
        return not self.packed[part.piece.tier]

    def _rooms(self, shares: Mapping[str, float], free: int) -> dict[str, int]:
        """The room of each tier: its share, and what the others do not need of theirs."""
        parts = [part for tier in PACK_TIERS for part in self.waiting[tier]]
        self.tight = sum(part.tokens for part in parts) > free
        needs = {
            tier: sum(map(self._least, many)) + self.heads[tier] if many else 0
            for tier, many in self.waiting.items()
        }
        rooms = {ENTITY_TIER: min(int(shares[ENTITY_TIER] * free), needs[ENTITY_TIER])}
        spare = 0
        for tier in PACK_TIERS[:-1]:
            have = int(shares[tier] * free) + spare
            rooms[tier] = min(have, needs[tier])
            spare = have - rooms[tier]
        spare = free - sum(rooms.values())
        for tier in PACK_TIERS[:-1]:
            more = min(spare, needs[tier] - rooms[tier])
            rooms[tier] += more
            spare -= more
        return rooms

    def _least(self, part: PackPart) -> int:
        """About what a part costs, in brief where it is tight."""
        return min(part.tokens, BRIEF_TOKENS) if self.tight else part.tokens

    def _fill_tier(self, tier: str, room: int, may_cut: Callable[[PackPart, int], bool]) -> int:
        """Pack what waits in a tier and fits best, in order; returns the tokens."""
        waiting = self.waiting[tier]
        free, taken = room, set[int]()
        for part in self._named() if tier == ENTITY_TIER else self._best(waiting, room):
            inside = free - (0 if self.packed[tier] else self.heads[tier])
            fitting: PackPart | None = part
            if part.tokens > inside:
                cuts = tier != ENTITY_TIER and inside > 0 and may_cut(part, inside)
                fitting = self._cut(part, inside) if cuts else None
            if fitting is not None:
                self.packed[tier].append(fitting)
                taken.add(part.rank)
                free = inside - fitting.tokens
        self.waiting[tier] = [part for part in waiting if part.rank not in taken]
        self.packed[tier].sort(key=lambda part: part.rank)
        return room - free

    def _best(self, parts: Sequence[PackPart], room: int) -> list[PackPart]:
        """Those that fit the question best and fill the room, in brief where it is tight.

        Of those that fit equally well all compete.
        """
        chosen: list[PackPart] = []
        if room <= 0:
            return chosen
        for part in sorted(parts, key=lambda part: (-part.candidate.fit, part.rank)):
            if room <= 0 and part.candidate.fit < chosen[-1].candidate.fit:
                break
            chosen.append(self._brief(part) if self.tight else part)
            room -= chosen[-1].tokens
        return sorted(chosen, key=lambda part: part.rank)

    def _brief(self, part: PackPart) -> PackPart:
        """A part in brief, when it is long and can be cut."""
        if part.tokens <= BRIEF_TOKENS:
            return part
        if part.rank not in self.briefs:
            self.briefs[part.rank] = self._cut(part, BRIEF_TOKENS) or part
        return self.briefs[part.rank]

    def _named(self) -> list[PackPart]:
        """The entities that wait and that a packed fact names."""
        there = {part.piece.fact.id for parts in self.packed.values() for part in parts}
        return [part for part in self.waiting[ENTITY_TIER] if part.candidate.named_by & there]

    def _grow(self, spare: int) -> int:
        """Make what was cut whole again, or longer, in order; returns what is left then."""
        for tier in PACK_TIERS[:-1]:
            for number, part in enumerate(self.packed[tier]):
                room = part.tokens + spare
                longer: PackPart | None = part
                if part.piece.cut and part.whole.tokens <= room:
                    longer = replace(part, **part.whole._asdict())
                elif part.piece.cut and spare >= MIN_GROWTH_TOKENS:
                    longer = self._cut(part, room)
                if longer is not None and longer.tokens > part.tokens:
                    self.packed[tier][number] = longer
                    spare = room - longer.tokens
        return spare

    def _cut(self, part: PackPart, room: int) -> PackPart | None:
        piece, _, tokens = part.whole
        shorter = cut_piece(piece, part.candidate.passage, room, tokens, self._rendered)
        return replace(part, **shorter._asdict()) if shorter else None

    def fit_budget(self) -> tuple[str, int]:
        """The whole text and its tokens; what makes it too large goes, the least first."""
        least = 1
        while any(self.packed.values()):
            tiers = [
                (tier, [part.text for part in self.packed[tier]])
                for tier in PACK_TIERS
                if self.packed[tier]
            ]
            text = render_pack(self.form, self.question, tiers)
            tokens = self.count(text)
            if tokens <= self.budget:
                return text, tokens
            self._drop(self.budget / tokens, least)
            least *= 2
        return "", 0

    def _drop(self, share: float, least: int) -> None:
        """Take facts out again, from the end: down to a share of the tokens, and so many."""
        kept = sum(part.tokens for parts in self.packed.values() for part in parts)
        most, dropped = kept * share, 0
        for tier in reversed(PACK_TIERS):
            while self.packed[tier] and (kept > most or dropped < least):
                part = self.packed[tier].pop()
                self.left.append((part, REASON_NO_ROOM))
                kept -= part.tokens
                dropped += 1
