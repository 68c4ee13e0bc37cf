"""Facts: each route is one call of `Memory`."""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.http_bridge import requests as bodies
from vaultsync.model.schema import Value
from vaultsync.model.serialization import public_values
from vaultsync.service.bridge_service import BridgeServices


def listing(serving: BridgeServices, _: str, asked: bodies.Listing) -> Mapping[str, Value]:
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
    return page.as_json()


def remember(serving: BridgeServices, _: str, asked: bodies.Remember) -> Mapping[str, Value]:
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
    return {**public_values(fact), "mirrored": fact.path is not None}


def get(serving: BridgeServices, name: str, _: bodies.Body) -> Mapping[str, Value]:
    """One fact."""
    return public_values(serving.reading(lambda memory: memory.get(name)))


def update(serving: BridgeServices, name: str, asked: bodies.Update) -> Mapping[str, Value]:
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


def supersede(serving: BridgeServices, name: str, asked: bodies.Supersede) -> Mapping[str, Value]:
    """A fact that replaces another one."""
    return public_values(serving.writing(lambda memory: memory.supersede(name, asked.text)))


def forget(serving: BridgeServices, name: str, asked: bodies.Expecting) -> Mapping[str, Value]:
    """A fact, deleted."""
    done = serving.writing(lambda memory: memory.forget(name, expect=asked.expect))
    return done.as_json()


def restore(serving: BridgeServices, name: str, asked: bodies.Expecting) -> Mapping[str, Value]:
    """A fact, brought back."""
    done = serving.writing(lambda memory: memory.restore(name, expect=asked.expect))
    return done.as_json()


def history(serving: BridgeServices, name: str, _: bodies.Body) -> Mapping[str, Value]:
    """The changes of a fact."""
    found = serving.reading(lambda memory: memory.history(name))
    return {"history": [each.as_json() for each in found]}


def related(serving: BridgeServices, name: str, _: bodies.Body) -> Mapping[str, Value]:
    """What stands around a fact."""
    return serving.reading(lambda memory: memory.related(name)).as_json()


def fresh_id(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """An id that nothing has."""
    return {"id": serving.reading(lambda memory: memory.new_id())}
