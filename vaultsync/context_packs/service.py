"""A question -> a context pack: recall, the facts it found, the entities that they name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from vaultsync.context_packs.formats import PACK_FORMS
from vaultsync.context_packs.pack import INTENTS, ContextPack, PackCandidate
from vaultsync.context_packs.packer import pack_context
from vaultsync.context_packs.ports import TokenCounter
from vaultsync.errors import InvalidFieldError, StoreUnavailableError
from vaultsync.links.wikilinks import fold_case
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.scope import can_see
from vaultsync.recall.result import Hit, RecallSources
from vaultsync.recall.service import recall

DEFAULT_BUDGET = 4_000
"""Tokens of a pack when nobody says how many."""
MAX_RECALLED = 30
"""How many facts are asked for."""
MIN_RELATIVE_FIT = 0.35
"""How well a fact must fit the question, beside the one that fits best. Of the relevant
notes of `golden/retrieval` among the first 30 this loses one in six, and more than half
of all that is read."""
WHOLE_FACT_FIT = 0.8
"""How well it must fit for all of it to be packed; of others that are long, an excerpt.
Over the same questions, from 0.6 to 0.9 a pack saves about as much."""
MAX_ENTITIES = 12
"""How many entities are looked up: those that most of the facts name."""
PACK_ENTITY_TYPES = frozenset({"person", "project", "entity"})


def build_context(
    sources: RecallSources,
    tokens: TokenCounter,
    question: str,
    *,
    agent: str | None,
    budget: int = DEFAULT_BUDGET,
    form: str = "markdown",
    intent: str | None = None,
    mode: str = "auto",
    types: Iterable[str] = (),
    scopes: Iterable[str] = (),
    tags: Iterable[str] = (),
    max_priority: int = 4,
    since: str | None = None,
    user: str | None = None,
) -> ContextPack:
    """What an agent is given to read for a question, in `budget` tokens at most.

    The filters are those of `recall()`; background facts are asked for too, for a pack
    has a share for them.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: an argument makes no sense.
    """
    if budget < 0:
        raise InvalidFieldError("budget", budget, "a number of tokens, 0 or more")
    if form not in PACK_FORMS:
        raise InvalidFieldError("format", form, "one of " + ", ".join(PACK_FORMS))
    if intent is not None and intent not in INTENTS:
        raise InvalidFieldError("intent", intent, "one of " + ", ".join(INTENTS))
    found = recall(
        sources,
        question,
        agent=agent,
        limit=MAX_RECALLED,
        mode=mode,
        types=types,
        scopes=scopes,
        tags=tags,
        max_priority=max_priority,
        since=since,
        user=user,
        min_similarity=MIN_RELATIVE_FIT,
    )
    hits = found.hits
    made = pack_context(
        found.query,  # it stands at the top, without its secrets
        [
            PackCandidate(
                hit.fact,
                _reason(hit),
                hit.snippet,
                hit.score,
                brief=hit.similarity < WHOLE_FACT_FIT,
            )
            for hit in hits
        ],
        budget=budget,
        count=tokens.count,
        form=form,
        intent=intent,
        entities=_entities(sources, [hit.fact for hit in hits], agent, user),
    )
    return replace(made, counter=tokens.name, degraded=found.degraded)


def _reason(hit: Hit) -> str:
    """Why a fact is in the pack: what it is, and why it was found."""
    why = hit.why.rstrip(".")
    critical = hit.fact.priority == 0
    return f"critical {hit.fact.type}; {why[:1].lower()}{why[1:]}" if critical else why


def _entities(
    sources: RecallSources, facts: Sequence[Fact], agent: str | None, user: str | None
) -> list[PackCandidate]:
    """The entities that most of the facts name, each with the facts that name it."""
    naming: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        for name in fact.entities:
            naming[fold_case(name)].add(fact.id)
    names = sorted(naming, key=lambda name: (-len(naming[name]), name))[:MAX_ENTITIES]
    if not names:
        return []
    found = _named(sources, names, agent, user)
    paths = sources.ctx.archive.note_paths(found)
    made = []
    for fact_id, entity in found.items():
        called = {fold_case(each) for each in (entity.title, *entity.aliases)}
        by = frozenset[str]().union(*(naming[name] for name in called & set(names)))
        count = f"named by {len(by)} fact{'' if len(by) == 1 else 's'}"
        made.append(PackCandidate(entity.evolve(path=paths.get(fact_id)), count, named_by=by))
    return made


def _named(
    sources: RecallSources, names: Sequence[str], agent: str | None, user: str | None
) -> dict[str, Fact]:
    """The facts of entities that are called so, as far as the agent sees them."""
    # Status and priority are no reason not to know who somebody is.
    matches = sources.index.search(
        " ".join(names),
        FactFilters(types=PACK_ENTITY_TYPES, status=None),
        limit=2 * MAX_ENTITIES,
        names_only=True,
    )
    try:
        facts = sources.ctx.redacted_store.find_many([each.fact_id for each in matches])
    except StoreUnavailableError:
        return {}
    wanted = set(names)
    return {
        each.fact_id: fact
        for each in matches
        if (fact := facts.get(each.fact_id)) is not None
        and fact.type in PACK_ENTITY_TYPES
        and can_see(agent, fact.scope)
        # Who somebody is may be nobody's own memory, but not another user's.
        and (user is None or fact.user_id in (None, user))
        and not wanted.isdisjoint(map(fold_case, (fact.title, *fact.aliases)))
    }
