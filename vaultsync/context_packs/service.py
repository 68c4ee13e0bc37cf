"""Build a context pack for a question: recall facts, look up the entities they name, pack both."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from vaultsync.context_packs.formats import PACK_FORMS
from vaultsync.context_packs.pack import INTENTS, ContextPack, PackCandidate
from vaultsync.context_packs.packer import pack_context
from vaultsync.context_packs.ports import TokenCounter
from vaultsync.errors import InvalidFieldError, StoreUnavailableError
from vaultsync.indexing.ports import NoteIndex
from vaultsync.links.wikilinks import fold_case
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.scope import can_see
from vaultsync.recall.recall_request import ContextRequest, RecallRequest
from vaultsync.recall.result import RecallSources
from vaultsync.recall.service import RecallSearch

_log = logging.getLogger(__name__)

MAX_RECALLED = 30
"""Maximum number of facts that are recalled."""
MIN_RELATIVE_FIT = 0.35
"""Minimum similarity of a packed fact. Measured: of the relevant notes of golden/retrieval
among the first 30 this loses one in six, and saves more than half of what is read."""
WHOLE_FACT_FIT = 0.8
"""Minimum similarity of a fact that is packed whole; of others, if long, an excerpt. Measured
on the same questions: from 0.6 to 0.9 a pack saves about as much."""
MAX_ENTITIES = 12
"""Maximum number of entities that are looked up: those that most of the facts name."""
PACK_ENTITY_TYPES = frozenset({"person", "project", "entity"})


def build_context(
    sources: RecallSources, tokens: TokenCounter, request: ContextRequest
) -> ContextPack:
    """Return what an agent should read for a question, in at most `request.budget` tokens.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: an argument is invalid.
    """
    if request.budget < 0:
        raise InvalidFieldError("budget", request.budget, "a number of tokens, 0 or more")
    if request.format not in PACK_FORMS:
        raise InvalidFieldError("format", request.format, "one of " + ", ".join(PACK_FORMS))
    if request.intent is not None and request.intent not in INTENTS:
        raise InvalidFieldError("intent", request.intent, "one of " + ", ".join(INTENTS))
    shared = set(RecallRequest.__struct_fields__) & set(ContextRequest.__struct_fields__)
    question = RecallRequest(
        limit=MAX_RECALLED, **{name: getattr(request, name) for name in shared}
    )
    search = RecallSearch(sources, question, min_similarity=MIN_RELATIVE_FIT)
    found, facts = search.answer(), search.facts
    pack = pack_context(
        found.query,  # without its secrets
        [
            PackCandidate(
                fact,
                _reason(fact, hit.why),
                hit.snippet,
                hit.score,
                brief=hit.similarity < WHOLE_FACT_FIT,
            )
            for hit, fact in zip(found, facts, strict=True)
        ],
        budget=request.budget,
        count=tokens.count,
        form=request.format,
        intent=request.intent,
        entities=_entities(sources, search.index, facts, request),
    )
    _log.debug("%d of %d facts packed in %d tokens", len(pack.items), len(facts), pack.tokens)
    return replace(pack, counter=tokens.name, degraded=found.degraded, hidden=found.hidden)


def _reason(fact: Fact, why: str) -> str:
    """Why a fact is in the pack: what it is, and why it was found."""
    why = why.rstrip(".")
    return f"critical {fact.type}; {why[:1].lower()}{why[1:]}" if fact.priority == 0 else why


def _entities(
    sources: RecallSources, index: NoteIndex, facts: Sequence[Fact], request: ContextRequest
) -> list[PackCandidate]:
    """The entities that most of the facts name, each with the facts that name it."""
    naming: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        for name in fact.entities:
            naming[fold_case(name)].add(fact.id)
    names = sorted(naming, key=lambda name: (-len(naming[name]), name))[:MAX_ENTITIES]
    if not names:
        return []
    # An entity explains a name whatever its own status and priority are.
    matches = index.search(
        " ".join(names),
        FactFilters(types=PACK_ENTITY_TYPES, status=None, agent=request.agent),
        limit=2 * MAX_ENTITIES,
        names_only=True,
    )
    ids = [each.fact_id for each in matches]
    try:
        found = sources.ctx.redacted_store.find_many(ids)
    except StoreUnavailableError:
        return []
    paths = sources.ctx.archive.note_paths(ids)
    candidates = []
    for fact_id in filter(found.__contains__, ids):
        entity = found[fact_id]
        own_names = {fold_case(each) for each in (entity.title, *entity.aliases)}
        named_by = frozenset[str]().union(*(naming[name] for name in own_names & set(names)))
        # An entity may belong to no user, but not to another one.
        is_users = request.user is None or entity.user_id in (None, request.user)
        is_entity = entity.type in PACK_ENTITY_TYPES
        if named_by and is_entity and is_users and can_see(request.agent, entity.scope):
            reason = f"named by {len(named_by)} fact{'' if len(named_by) == 1 else 's'}"
            with_path = entity.evolve(path=paths.get(fact_id))
            candidates.append(PackCandidate(with_path, reason, named_by=named_by))
    return candidates
