"""Build a context pack for a question: recall facts, look up the entities they name, pack both."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from vaultsync.context_packs.formats import PACK_FORMS
from vaultsync.context_packs.pack import INTENTS, ContextPack, PackCandidate
from vaultsync.context_packs.packer import pack_context
from vaultsync.context_packs.ports import TokenCounter
from vaultsync.context_packs.relevance import (
    hit_relevance,
    is_asked_for,
    is_critical_for,
    required_relevance,
)
from vaultsync.errors import InvalidFieldError, StoreUnavailableError
from vaultsync.indexing.ports import NoteIndex
from vaultsync.model.counts import count_noun
from vaultsync.model.dates import DAY_LENGTH
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import PENDING, is_pending_observation
from vaultsync.model.paths import fold_case
from vaultsync.model.schema import NAMED_TYPES
from vaultsync.recall.ranking import is_weak
from vaultsync.recall.recall_request import MAX_BUDGET, ContextRequest, RecallRequest
from vaultsync.recall.result import Hit, RecallSources
from vaultsync.recall.service import CONFIDENCE_HITS, RecallSearch

_log = logging.getLogger(__name__)

MAX_RECALLED = 30
"""Maximum number of facts that are recalled."""
WHOLE_FACT_FIT = 0.8
"""Minimum similarity of a fact that is packed whole; of others, if long, an excerpt. Measured
on the same questions: from 0.6 to 0.9 a pack saves about as much."""
MAX_ENTITIES = 12
"""Maximum number of entities that are looked up: those that most of the facts name."""
MAX_SET = 500
"""Maximum number of facts of a set that are looked at."""
MIN_FACT_TOKENS = 20
"""About the tokens of the smallest facts."""
MAX_CRITICAL = 200
"""Maximum number of critical facts that are looked at, the most important first."""
REASON_LITTLE_FIT = "matches much less well than the best"
REASON_UNSURE = "is barely related to the question"
REASON_TYPE = "is not of the type that the question asks for"
REASON_STATE = "is in another state than the question asks for"
REASON_ORDER = "comes later in the order that the question asks for"
REASON_PENDING = "is an observation that is not classified yet"
NOTHING_FOUND = "Nothing in the memory matches the question."
NOTHING_FITS = (
    "The memory does not seem to have an answer: only weak matches were found. They are listed as"
    " left out; `recall` shows them."
)


def build_context(
    sources: RecallSources, tokens: TokenCounter, request: ContextRequest
) -> ContextPack:
    """Return what an agent should read for a question, in at most `request.budget` tokens.

    It is put into a prompt unasked, so it is empty where the memory hardly has an answer.
    Without a question it has what is worth knowing at the start of a session: the most important
    facts that the filters admit.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: an argument is invalid.
    """
    _check(request)
    budget = request.budget or MAX_BUDGET
    shared = set(RecallRequest.__struct_fields__) & set(ContextRequest.__struct_fields__)
    question = RecallRequest(
        limit=MAX_RECALLED, **{name: getattr(request, name) for name in shared}
    )
    search = RecallSearch(sources, question, browse=True)
    if search.may_ask_for_set:
        # A set is packed as far as the budget goes; its smallest facts take a few tokens.
        max_facts = max(MAX_RECALLED, min(MAX_SET, budget // MIN_FACT_TOKENS))
        search = RecallSearch(sources, replace(question, limit=max_facts), browse=True)
    answer = search.answer()
    hits, facts = answer.hits, search.facts
    min_relevance, relevances = 0.0, dict[str, float]()
    if not search.query.is_set:
        hits, facts = hits[:MAX_RECALLED], facts[:MAX_RECALLED]
        is_semantic = answer.source != "index"
        min_relevance = required_relevance(answer.confidence, is_semantic=is_semantic)
        relevances = {
            hit.id: hit_relevance(search, hit, fact) for hit, fact in zip(hits, facts, strict=True)
        }
    tasks_of = search.query.tasks_in
    ages = {fact.id: (fact.created_at, fact.id) for fact in facts}
    candidates = [
        PackCandidate(
            fact,
            _reason(fact, hit.why),
            hit.snippet,
            hit.score,
            tasks=tuple(x.line for x in tasks_of(fact)) if search.query.is_set else (),
            brief=hit.similarity < WHOLE_FACT_FIT,
            beside=next(
                (x for x in hit.contradicts if ages.get(x, ages[hit.id]) > ages[hit.id]), ""
            ),
        )
        for hit, fact in zip(hits, facts, strict=True)
    ]
    critical = _critical_facts(
        sources, search, {fact.id for fact in facts}, relevance=min_relevance
    )
    rejected: list[tuple[PackCandidate, str]] = []
    chosen = []
    silent = not search.query.is_set and is_weak(answer.answerable)
    refuses = _refusals(search, facts, min_relevance, request)
    for candidate, hit in zip(candidates, hits, strict=True):
        relevance = max(relevances.get(each, 0.0) for each in (hit.id, *hit.contradicts))
        why = REASON_UNSURE if silent else refuses(candidate.fact, hit, relevance)
        if why:
            rejected.append((candidate, why))
        else:
            chosen.append(candidate)
    if not silent:
        chosen += critical
    entities = _entities(sources, search.index, [each.fact for each in chosen], request)
    pack = pack_context(
        answer.query,  # without its secrets
        chosen,
        budget=budget,
        count=tokens.count,
        form=request.format,
        intent=request.intent,
        entities=entities,
        rejected=rejected,
    )
    _log.debug("%d of %d facts packed in %d tokens", len(pack.items), len(facts), pack.tokens)
    nothing_known = ""
    if not chosen:
        nothing_known = NOTHING_FITS if rejected else answer.nothing_known or NOTHING_FOUND
    return replace(
        pack,
        nothing_known=nothing_known,
        counter=tokens.name,
        degraded=answer.degraded,
        hidden=answer.hidden,
    )


def _refusals(
    search: RecallSearch, facts: Sequence[Fact], min_relevance: float, request: ContextRequest
) -> Callable[[Fact, Hit, float], str]:
    """Decide of a fact, its hit and its relevance why it is not packed; empty if it is."""
    packs_pending = request.all or request.status == PENDING
    pending = set() if packs_pending else {x.id for x in facts if is_pending_observation(x)}
    first = next((each for each in facts if each.id not in pending), None)
    asks_for_one = search.query.is_set and search.query.asked.is_one
    day = first.created_at[:DAY_LENGTH] if asks_for_one and first else ""
    # Beside facts of the asked type with all words of the topic, others are off the point.
    types = search.query.asked.types
    asked_for = {fact.id for fact in facts if is_asked_for(search, fact)}
    has_type = any(fact.id in asked_for for fact in facts[:CONFIDENCE_HITS])

    def why(fact: Fact, hit: Hit, relevance: float) -> str:
        if fact.id in pending:
            return REASON_PENDING
        if not fact.created_at.startswith(day):
            return REASON_ORDER
        if fact.id in asked_for or is_critical_for(search, fact):
            return ""
        is_too_weak = relevance < min_relevance
        if is_too_weak or (has_type and not hit.contradicts):
            if types and not search.query.is_of_asked_type(fact):
                return REASON_TYPE
            if not search.query.is_in_asked_state(fact):
                return REASON_STATE
        return REASON_LITTLE_FIT if is_too_weak else ""

    return why


def _check(request: ContextRequest) -> None:
    if request.budget < 0:
        raise InvalidFieldError("budget", request.budget, "a number of tokens, or 0 for no limit")
    if request.format not in PACK_FORMS:
        raise InvalidFieldError("format", request.format, "one of " + ", ".join(PACK_FORMS))
    if request.intent is not None and request.intent not in INTENTS:
        raise InvalidFieldError("intent", request.intent, "one of " + ", ".join(INTENTS))


def _critical_facts(
    sources: RecallSources, search: RecallSearch, hit_ids: set[str], *, relevance: float
) -> list[PackCandidate]:
    """Critical facts that were not found, and are about what the question asks for.

    They are of the type that it asks for, or name one of its entities.
    """
    filters = search.filters
    if search.query.is_set or filters.max_priority < 0 or (filters.tiers - {"critical"}):
        return []
    ids = search.index.browse(filters._replace(tiers=frozenset({"critical"})), limit=MAX_CRITICAL)
    try:
        facts = sources.ctx.redacted_store.find_many([x for x in ids if x not in hit_ids])
    except StoreUnavailableError:
        return []
    search.candidates.ask_branch(facts.values())
    admits = search.filters.admits
    about = [
        fact
        for fact in facts.values()
        if admits(fact) and is_critical_for(search, fact) and not is_pending_observation(fact)
    ]
    paths = sources.ctx.archive.note_paths([fact.id for fact in about])
    return [
        PackCandidate(
            fact.evolve(path=paths.get(fact.id)),
            f"critical {fact.type}; is about what the question names",
            relevance=relevance,
        )
        for fact in about
    ]


def _reason(fact: Fact, why: str) -> str:
    """Why a fact is in the pack: what it is, and why it was found."""
    why = why.rstrip(".")
    return f"critical {fact.type}; {why[:1].lower()}{why[1:]}" if fact.priority == 0 else why


def _entities(
    sources: RecallSources, index: NoteIndex, facts: Sequence[Fact], request: ContextRequest
) -> list[PackCandidate]:
    """The entities that at least half of the facts name, each with the facts that name it."""
    naming: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        for name in fact.entities:
            naming[fold_case(name)].add(fact.id)
    names = sorted(naming, key=lambda name: (-len(naming[name]), name))[:MAX_ENTITIES]
    if not names:
        return []
    permissions = sources.ctx.policy.permissions
    reader = permissions.reader(request.agent)
    # An entity explains a name whatever its own status and priority are.
    matches = index.search(
        " ".join(names),
        FactFilters(types=NAMED_TYPES, status=None, reader=reader),
        limit=2 * MAX_ENTITIES,
        names_only=True,
    )
    ids = [each.fact_id for each in matches]
    try:
        entities_by_id = sources.ctx.redacted_store.find_many(ids)
    except StoreUnavailableError:
        return []
    paths = sources.ctx.archive.note_paths(ids)
    candidates = []
    for fact_id in filter(entities_by_id.__contains__, ids):
        entity = entities_by_id[fact_id]
        own_names = {fold_case(each) for each in (entity.title, *entity.aliases)}
        named_by = frozenset[str]().union(*(naming[name] for name in own_names & set(names)))
        # An entity may belong to no user, but not to another one.
        is_users = request.user is None or entity.user_id in (None, request.user)
        is_entity = entity.type in NAMED_TYPES
        if (
            2 * len(named_by) >= len(facts)
            and is_entity
            and is_users
            and permissions.may_read(request.agent, entity.scope)
        ):
            reason = f"named by {count_noun(len(named_by), 'fact')}"
            with_path = entity.evolve(path=paths.get(fact_id))
            candidates.append(PackCandidate(with_path, reason, named_by=named_by))
    return candidates
