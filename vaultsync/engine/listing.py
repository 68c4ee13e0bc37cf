"""Facts by filter, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vaultsync.core.fact import Fact, make_fact
from vaultsync.core.fields import Value
from vaultsync.core.scope import check_scope, sees
from vaultsync.core.values import check_id
from vaultsync.core.wire import public
from vaultsync.engine.facts import FORGOTTEN
from vaultsync.engine.mirror import Mirror
from vaultsync.errors import InvalidFieldError


@dataclass(frozen=True, slots=True)
class Page:
    """Some facts, and where the next ones begin."""

    facts: tuple[Fact, ...]
    next: str | None

    def as_json(self) -> dict[str, Value]:
        """The facts as surfaces show them, and the id to ask for the next ones after."""
        return {"facts": [public(each) for each in self.facts], "next": self.next}


def select(
    mirror: Mirror,
    *,
    agent: str | None,
    type_name: str | None = None,
    scope: str | None = None,
    status: str | None = None,
    tag: str | None = None,
    limit: int = 100,
    after: str | None = None,
) -> Page:
    """Facts by id, those that match; superseded ones too.

    The status `forgotten` lists what was deleted and can be restored.

    Raises:
        UnknownTypeError, InvalidScopeError, InvalidFieldError: a filter makes no sense.
    """
    if limit < 1:
        raise InvalidFieldError("limit", limit, "1 or more")
    if type_name is not None:
        make_fact({"id": "0" * 8 + "-0000-0000-0000-" + "0" * 12, "type": type_name})
    if scope is not None:
        check_scope(scope)
    found: list[Fact] = []
    more = False
    gone = status == FORGOTTEN
    for fact in _visible(mirror, agent, after, gone=gone):
        if (
            (type_name and fact.type != type_name.lower())
            or (scope and fact.scope != scope)
            or (status and not gone and fact.status != status)
            or (tag and tag.lstrip("#").casefold() not in map(str.casefold, fact.tags))
        ):
            continue
        if len(found) == limit:
            more = True
            break
        found.append(fact)
    bases = mirror.archive.find_bases([fact.id for fact in found])
    facts = tuple(
        fact.but(path=bases[fact.id].path if fact.id in bases else None)
        for fact in found
    )
    return Page(facts, facts[-1].id if more else None)


def _visible(
    mirror: Mirror, agent: str | None, after: str | None, *, gone: bool
) -> Iterator[Fact]:
    start = check_id(after) if after else ""
    facts = _forgotten(mirror, start) if gone else mirror.shown.iter_facts(start)
    return (fact for fact in facts if sees(agent, fact.scope))


def _forgotten(mirror: Mirror, start: str) -> Iterator[Fact]:
    """What tombstones last said, by id."""
    rows = (row.fact_id for row in mirror.shown.feed() if row.deleted)
    for fact_id in sorted(each for each in rows if each > start):
        fact = mirror.shown.buried(fact_id)
        if fact is not None:
            yield fact
