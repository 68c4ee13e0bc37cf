"""Facts: each route is one call of `Memory`."""

from __future__ import annotations

from msgspec import Struct

from vaultsync.facts.listing import PublicPage, public_page
from vaultsync.facts.related import Related
from vaultsync.facts.service import ForgetResult
from vaultsync.http_bridge import requests as bodies
from vaultsync.model.serialization import NewFact, PublicFact, public_new, public_values
from vaultsync.service.bridge_service import BridgeServices
from vaultsync.sync.report import History, history_of


class FreshId(Struct, frozen=True):
    """An id that nothing has."""

    id: str


def listing(serving: BridgeServices, _: str, asked: bodies.Listing) -> PublicPage:
    """A page of facts."""
    page = serving.reading(
        lambda memory: memory.list(
            type=asked.type,
            scope=asked.scope,
            status=asked.status,
            tag=asked.tag,
            limit=asked.limit,
            after=asked.after,
        )
    )
    return public_page(page)


def remember(serving: BridgeServices, _: str, asked: bodies.Remember) -> NewFact:
    """A new fact."""
    fact = serving.writing(
        lambda memory: memory.remember(
            asked.text,
            type=asked.type,
            title=asked.title,
            scope=asked.scope,
            priority=asked.priority,
            tags=asked.tags,
            entities=asked.entities,
            fields=asked.fields,
        )
    )
    return public_new(fact)


def get(serving: BridgeServices, name: str, _: bodies.Body) -> PublicFact:
    """One fact."""
    return public_values(serving.reading(lambda memory: memory.get(name)))


def update(serving: BridgeServices, name: str, asked: bodies.Update) -> PublicFact:
    """A fact, changed."""
    fact = serving.writing(
        lambda memory: memory.update(
            name,
            content=asked.content,
            set=asked.set,
            add_tags=asked.add_tags,
            remove_tags=asked.remove_tags,
            expect=asked.expect,
        )
    )
    return public_values(fact)


def supersede(serving: BridgeServices, name: str, asked: bodies.Supersede) -> PublicFact:
    """A fact that replaces another one."""
    return public_values(serving.writing(lambda memory: memory.supersede(name, asked.text)))


def forget(serving: BridgeServices, name: str, asked: bodies.Expecting) -> ForgetResult:
    """A fact, deleted."""
    return serving.writing(lambda memory: memory.forget(name, expect=asked.expect))


def restore(serving: BridgeServices, name: str, asked: bodies.Expecting) -> ForgetResult:
    """A fact, brought back."""
    return serving.writing(lambda memory: memory.restore(name, expect=asked.expect))


def history(serving: BridgeServices, name: str, _: bodies.Body) -> History:
    """The changes of a fact."""
    found = serving.reading(lambda memory: memory.history(name))
    return history_of(found)


def related(serving: BridgeServices, name: str, _: bodies.Body) -> Related:
    """What stands around a fact."""
    return serving.reading(lambda memory: memory.related(name))


def fresh_id(serving: BridgeServices, _: str, __: bodies.Body) -> FreshId:
    """An id that nothing has."""
    return FreshId(serving.reading(lambda memory: memory.new_id()))
