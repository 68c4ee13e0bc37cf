"""Pack candidates into a token budget, with a reason for each.

The budget is divided between the tiers and the entities that the facts name; what one does not
need, the next may use, and what is left is offered to all again. In a tier, the most
relevant facts get the room, in order of priority, importance and recency. Near-duplicates
are packed once.

Of a long fact that matches much less well than the best one, only an excerpt around its passage is
packed. When the others do not all fit, long ones are first packed in brief: the paragraphs around
the passage. What is then left of the budget makes the first ones longer again.

The tokens of a whole are not the sum of the tokens of its parts. Each part is counted once, to
plan with; the whole is counted at the end, and while it exceeds the budget the last parts are
dropped: no pack is ever a token over its budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from operator import attrgetter

from vaultsync.context_packs.excerpt import MIN_RATIO, Excerpt, excerpt
from vaultsync.context_packs.formats import (
    PACK_FORMS,
    TERSE_PACK_FORMS,
    PackFormat,
    PackPiece,
    RenderedPiece,
    asked_properties,
    citation_of,
    entity_card,
    pack_body,
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
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.decay import by_importance
from vaultsync.model.fact import Fact
from vaultsync.model.schema import tier_of

CountTokens = Callable[[str], int]

BRIEF_TOKENS = 200
"""Maximum tokens of a fact in brief. Measured: of 160 questions about LoCoMo's sessions as long
notes, packs contain 0.65 of the answers literally, with 150 tokens 0.61; with 250 and 300 hardly
more, and fewer of the notes."""
MIN_CUT_SHARE = 0.25
"""Minimum share of a fact that is packed when what is left does not hold all of it."""
MIN_GROWTH_TOKENS = 40
"""Tokens, about a paragraph, that must be left for a shortened fact to be made longer."""

REASON_NO_ROOM = "no space left"
REASON_BRIEF = "in brief"
REASON_DUPLICATE = "says the same as"

_FACT_TIERS = PACK_TIERS[:-1]


@dataclass(frozen=True, slots=True)
class PackPart:
    """A piece as it is packed, with its text and tokens."""

    piece: PackPiece
    text: str
    tokens: int
    whole: RenderedPiece
    rank: int
    """Its place in the order of all."""
    candidate: PackCandidate


_by_rank = attrgetter("rank")


def _by_relevance(part: PackPart) -> tuple[float, int]:
    return -part.candidate.relevance, part.rank


def sort_parts(candidates: Sequence[PackCandidate]) -> list[PackCandidate]:
    """By priority, then importance, then newest first, then id.

    What a newer fact contradicts follows that one.
    """
    newest_first = sorted(candidates, key=lambda each: each.fact.id)
    newest_first.sort(key=lambda each: to_microseconds(each.fact.created_at), reverse=True)
    ranked = sorted(newest_first, key=lambda each: by_importance(each.fact))
    heads = {each.fact.id for each in ranked if not each.beside}
    behind = [each for each in ranked if each.beside in heads]
    return [
        each
        for head in ranked
        if head.beside not in heads
        for each in (head, *(other for other in behind if other.beside == head.fact.id))
    ]


def pack_context(
    question: str,
    candidates: Sequence[PackCandidate],
    *,
    budget: int,
    count: CountTokens,
    form: str = "markdown",
    intent: str | None = None,
    entities: Sequence[PackCandidate] = (),
    rejected: Sequence[tuple[PackCandidate, str]] = (),
) -> ContextPack:
    """Pack what fits. The result does not depend on the order of the candidates.

    Args:
        question: the question, shown at the top.
        candidates: the facts that were found, each once.
        budget: maximum tokens of the text, as `count` counts them.
        count: text -> tokens; 0 for an empty text.
        form: one of `PACK_FORMS`.
        intent: one of `INTENTS`; None to detect it in the question.
        entities: facts about the entities that the candidates name.
        rejected: facts that were found and are not to be packed, each with the reason.
    """
    intent = intent or detect_intent(question)
    shares = INTENTS[intent].shares

    def packed_as(how: PackFormat) -> tuple[_Packing, str, int]:
        packing = _Packing(how, question, budget, count)
        packing.add(candidates, entities)
        packing.reject(rejected)
        packing.fill(shares)
        return packing, *packing.trim_to_budget()

    packing, text, tokens = packed_as(PACK_FORMS[form])
    needed = 0
    if packing.missing_best is not None:
        terse = packed_as(TERSE_PACK_FORMS[form])
        missing = terse[0].missing_best
        if missing is None:
            packing, text, tokens = terse
        else:
            needed = terse[0].tokens_alone(missing)
    packed = [part for tier in PACK_TIERS for part in packing.packed[tier]]
    # What was found, and is also named as an entity, is in the pack or left out, but once.
    listed = {part.piece.fact.id for part in packed}
    left_out: dict[str, LeftOut] = {}
    for part, why in sorted(packing.left_out, key=lambda each: each[0].rank):
        fact = part.piece.fact
        if fact.id not in listed:
            left_out.setdefault(fact.id, LeftOut(fact.id, part.whole.tokens, why, fact.title))
    return ContextPack(
        text=text,
        tokens=tokens,
        budget=budget,
        by_tier={tier: sum(part.tokens for part in packing.packed[tier]) for tier in PACK_TIERS},
        items=tuple(
            PackedItem(
                id=part.piece.fact.id,
                tokens=part.tokens,
                tier=part.piece.tier,
                reason=part.piece.reason,
                citation=part.piece.citation,
                title=part.piece.fact.title,
                cut=part.piece.cut,
            )
            for part in packed
        ),
        left_out=tuple(left_out.values()),
        truncated=any(part.piece.cut for part in packed)
        or any(why == REASON_NO_ROOM for _, why in packing.left_out),
        intent=intent,
        format=form,
        themes=_themes(part.piece.fact for part in packed),
        needed=needed,
    )


def _themes(facts: Iterable[Fact]) -> tuple[str, ...]:
    """The themes of facts, those of most facts first."""
    numbers = Counter(theme for fact in facts for theme in fact.theme_ids)
    return tuple(sorted(numbers, key=lambda each: (-numbers[each], each)))


@dataclass(slots=True)
class _Packing:
    form: PackFormat
    question: str
    budget: int
    count: CountTokens
    waiting: dict[str, list[PackPart]] = field(default_factory=dict)
    """Parts that share the budget, by tier."""
    excerpts: list[PackPart] = field(default_factory=list)
    """Parts that are much less relevant than the best one; they get what is left."""
    packed: dict[str, list[PackPart]] = field(default_factory=dict)
    left_out: list[tuple[PackPart, str]] = field(default_factory=list)
    overhead: dict[str, int] = field(default_factory=dict)
    """Tokens of opening and closing each tier."""
    briefs: dict[int, PackPart] = field(default_factory=dict)
    """Parts in brief by rank, each cut once."""
    tight: bool = False
    """Whether the parts do not all fit whole."""
    best: PackPart | None = None
    """The most relevant part, which is packed first."""

    def add(self, candidates: Sequence[PackCandidate], entities: Sequence[PackCandidate]) -> None:
        """Render and count each part once, and leave out near-duplicates."""
        self.waiting = {tier: [] for tier in PACK_TIERS}
        self.packed = {tier: [] for tier in PACK_TIERS}
        seen, fact_ids = NearDuplicates(), list[str]()
        tiers = {each.fact.id: tier_of(each.fact.priority) for each in candidates}
        for rank, each in enumerate(sort_parts(candidates)):
            part = self._part(each, rank, tiers.get(each.beside) or tiers[each.fact.id])
            duplicate = seen.find(f"{each.fact.title}\n{pack_body(each.fact)}")
            if duplicate is None:
                fact_ids.append(each.fact.id)
            if duplicate is None or each.beside:  # a contradiction may be in a single word
                (self.excerpts if each.brief else self.waiting[part.piece.tier]).append(part)
            else:
                self.left_out.append((part, f"{REASON_DUPLICATE} {fact_ids[duplicate]}"))
        ids = {each.fact.id for each in candidates}
        named = [each for each in sort_parts(entities) if each.fact.id not in ids]
        named.sort(key=lambda each: -len(each.named_by))
        for rank, each in enumerate(named, start=len(ids)):
            self.waiting[ENTITY_TIER].append(self._part(each, rank, ENTITY_TIER))
        parts = (part for tier in _FACT_TIERS for part in self.waiting[tier])
        self.best = min((*parts, *self.excerpts), key=_by_relevance, default=None)
        for tier in PACK_TIERS:
            self.overhead[tier] = self.count(self.form.open_tier(tier) + self.form.close_tier(tier))

    def reject(self, rejected: Sequence[tuple[PackCandidate, str]]) -> None:
        """List facts as left out, after all others."""
        last = sum(map(len, self.waiting.values())) + len(self.excerpts) + len(self.left_out)
        for rank, (each, why) in enumerate(rejected, start=last):
            self.left_out.append((self._part(each, rank, tier_of(each.fact.priority)), why))

    def _part(self, each: PackCandidate, rank: int, tier: str) -> PackPart:
        body = entity_card(each.fact) if tier == ENTITY_TIER else pack_body(each.fact)
        lead = asked_properties(each.fact, each.passage)
        piece = PackPiece(each.fact, tier, each.reason, citation_of(each.fact), body, lead=lead)
        short = excerpt(body, each.passage) if each.brief else None
        if each.tasks and len(body) > MIN_RATIO * len(tasks := "\n".join(each.tasks)):
            short = Excerpt(tasks, "")
        if short is not None:
            piece = replace(
                piece,
                reason=f"{each.reason}; {REASON_BRIEF}",
                citation=citation_of(each.fact, short.section),
                body=f"{lead}{short.text}",
                cut=True,
            )
        whole = self._render(piece)
        return PackPart(*whole, whole, rank, each)

    def _render(self, piece: PackPiece) -> RenderedPiece:
        text = self.form.piece(piece)
        return RenderedPiece(piece, text, self.count(self.form.separator + text))

    def fill(self, shares: Mapping[str, float]) -> None:
        """Pack each tier in its room, then offer what is left to all."""
        free = self.budget - self.count(render_pack(self.form, self.question, []))
        if free > 0:
            parts = [part for tier in PACK_TIERS for part in self.waiting[tier]]
            self.tight = sum(part.tokens for part in parts) > free
            used = self._fill_best(free)
            rooms = self._rooms(shares, free, used)
            free -= sum(used.values())
            spare = 0
            for tier in _FACT_TIERS:
                room = rooms[tier] + spare
                spare = room - self._fill_tier(tier, room)
            spare += free - sum(rooms.values())
            for min_share in (inf, MIN_CUT_SHARE):
                for tier in _FACT_TIERS:
                    spare -= self._fill_tier(tier, spare, min_share)
            spare = self._lengthen(self._fill_excerpts(spare))
            self._fill_tier(ENTITY_TIER, spare + rooms[ENTITY_TIER], inf)
        waiting = [part for tier in _FACT_TIERS for part in self.waiting[tier]]
        for part in (*waiting, *self.excerpts, *self._named()):
            self.left_out.append((part, REASON_NO_ROOM))

    def _fill_best(self, room: int) -> dict[str, int]:
        """Pack the most relevant part; returns its tier and tokens, if any.

        It is cut where it takes more than the room, and so never gives way to a worse one.
        """
        best = self.best
        if best is None:
            return {}
        tier = best.piece.tier
        available = room - self.overhead[tier]
        first = self._brief(best) if self.tight else best
        if first.tokens > available:
            cut = self._cut_best(best, available)
            if cut is None:
                return {}
            first = cut
        self.packed[tier].append(first)
        self.waiting[tier] = [part for part in self.waiting[tier] if part is not best]
        self.excerpts = [part for part in self.excerpts if part is not best]
        return {tier: first.tokens + self.overhead[tier]}

    @property
    def missing_best(self) -> PackPart | None:
        """The most relevant part, unless it is packed or there is none."""
        best = self.best
        if best is None or any(x.rank == best.rank for x in self.packed[best.piece.tier]):
            return None
        return best

    def tokens_alone(self, part: PackPart) -> int:
        """The budget that a part takes whole, by itself."""
        tier, whole = part.piece.tier, part.whole
        planned = self.count(render_pack(self.form, self.question, []))
        planned += self.overhead[tier] + whole.tokens
        text = render_pack(self.form, self.question, [(tier, [whole.text])])
        return max(planned, self.count(text))

    def _cut_best(self, part: PackPart, room: int) -> PackPart | None:
        """A part cut at a paragraph or a line, or else at a word; None where nothing fits."""
        shorter = self._cut(part, room)
        if shorter is not None:
            return shorter
        from vaultsync.context_packs.truncate import cut_words  # noqa: PLC0415 - see `_cut()`

        words = cut_words(part.whole, part.candidate.passage, room, self._render)
        return replace(part, **words._asdict()) if words else None

    def _fill_excerpts(self, room: int) -> int:
        """Pack the excerpts, best first, whatever their tier; returns the room left."""
        waiting, self.excerpts = self.excerpts, []
        for part in sorted(waiting, key=_by_relevance):
            packed = self.packed[part.piece.tier]
            cost = part.tokens + (0 if packed else self.overhead[part.piece.tier])
            if cost <= room:
                packed.append(part)
                room -= cost
            else:
                self.excerpts.append(part)
        for parts in self.packed.values():
            parts.sort(key=_by_rank)
        return room

    def _rooms(
        self, shares: Mapping[str, float], free: int, used: Mapping[str, int]
    ) -> dict[str, int]:
        """The room of each tier: its share, and what the others do not need of theirs.

        `free` are the tokens for all tiers, and `used` those of the tiers that are packed already,
        which count as theirs.
        """
        longest = BRIEF_TOKENS if self.tight else free
        needs = {
            tier: sum(min(part.tokens, longest) for part in waiting) + self.overhead[tier]
            if waiting
            else 0
            for tier, waiting in self.waiting.items()
        }
        for tier, tokens in used.items():
            needs[tier] += tokens - (self.overhead[tier] if self.waiting[tier] else 0)
        rooms = {ENTITY_TIER: min(int(shares[ENTITY_TIER] * free), needs[ENTITY_TIER])}
        spare = 0
        for tier in _FACT_TIERS:
            share = int(shares[tier] * free) + spare
            rooms[tier] = min(share, needs[tier])
            spare = share - rooms[tier]
        spare = free - sum(rooms.values())
        for tier in _FACT_TIERS:
            extra = min(spare, needs[tier] - rooms[tier])
            rooms[tier] += extra
            spare -= extra
        for tier, owed in used.items():
            missing = owed
            for giver in (tier, *reversed(PACK_TIERS)):
                given = min(missing, rooms[giver])
                rooms[giver] -= given
                missing -= given
        return rooms

    def _fill_tier(self, tier: str, room: int, min_share: float | None = None) -> int:
        """Pack the best parts that wait in a tier, in order; returns the tokens used.

        A part that is larger than the room is cut if at least `min_share` of it fits; without
        one, only the first of the tier is cut.
        """
        waiting = self.waiting[tier]
        free, ranks = room, set[int]()
        for part in self._named() if tier == ENTITY_TIER else self._most_relevant(waiting, room):
            available = free - (0 if self.packed[tier] else self.overhead[tier])
            chosen: PackPart | None = part
            if part.tokens > available:
                least = min_share
                if least is None:
                    least = inf if self.packed[tier] else 0.0
                cuts = available > 0 and available >= least * part.tokens
                chosen = self._cut(part, available) if cuts else None
            if chosen is not None:
                self.packed[tier].append(chosen)
                ranks.add(part.rank)
                free = available - chosen.tokens
        self.waiting[tier] = [part for part in waiting if part.rank not in ranks]
        self.packed[tier].sort(key=_by_rank)
        return room - free

    def _most_relevant(self, parts: Sequence[PackPart], room: int) -> list[PackPart]:
        """The most relevant parts that fill the room, in brief where it is tight.

        Equally relevant parts are all among them.
        """
        chosen: list[PackPart] = []
        if room <= 0:
            return chosen
        for part in sorted(parts, key=_by_relevance):
            if room <= 0 and part.candidate.relevance < chosen[-1].candidate.relevance:
                break
            chosen.append(self._brief(part) if self.tight else part)
            room -= chosen[-1].tokens
        return sorted(chosen, key=_by_rank)

    def _brief(self, part: PackPart) -> PackPart:
        """A part in brief, if it is long and can be cut."""
        if part.tokens <= BRIEF_TOKENS:
            return part
        if part.rank not in self.briefs:
            self.briefs[part.rank] = self._cut(part, BRIEF_TOKENS) or part
        return self.briefs[part.rank]

    def _named(self) -> list[PackPart]:
        """The waiting entities that a packed fact names."""
        packed = {part.piece.fact.id for parts in self.packed.values() for part in parts}
        return [part for part in self.waiting[ENTITY_TIER] if part.candidate.named_by & packed]

    def _lengthen(self, spare: int) -> int:
        """Make shortened parts whole or longer, in order; returns the room left."""
        for tier in _FACT_TIERS:
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
        # In most packs, everything fits.
        from vaultsync.context_packs.truncate import cut_piece  # noqa: PLC0415 - see above

        shorter = cut_piece(part.whole, part.candidate.passage, room, self._render)
        return replace(part, **shorter._asdict()) if shorter else None

    def trim_to_budget(self) -> tuple[str, int]:
        """The whole text and its tokens; parts are dropped from the end until it fits."""
        min_dropped = 1
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
            self._drop(self.budget / tokens, min_dropped)
            min_dropped *= 2
        return "", 0

    def _drop(self, share: float, min_dropped: int) -> None:
        """Drop parts from the end, down to a share of the tokens and at least a number.

        The most relevant part goes last, and is cut before it goes.
        """
        tokens = sum(part.tokens for parts in self.packed.values() for part in parts)
        max_tokens = int(tokens * share)
        others = [
            (tier, part)
            for tier in reversed(PACK_TIERS)
            for part in reversed(self.packed[tier])
            if self.best is None or part.rank != self.best.rank
        ]
        for dropped, (tier, part) in enumerate(others):
            if tokens <= max_tokens and dropped >= min_dropped:
                return
            self.packed[tier].remove(part)
            self.left_out.append((part, REASON_NO_ROOM))
            tokens -= part.tokens
        if others:
            return
        (tier,) = filter(self.packed.__getitem__, PACK_TIERS)
        (best,) = self.packed.pop(tier)
        shorter = self._cut_best(best, max_tokens)
        self.packed[tier] = [shorter] if shorter and shorter.tokens < best.tokens else []
        if not self.packed[tier]:
            self.left_out.append((best, REASON_NO_ROOM))
