"""The mirror: each route is one call of `Memory`, most of them by the engine."""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.errors import InvalidFieldError
from vaultsync.http_bridge import requests as bodies
from vaultsync.model.schema import Value
from vaultsync.notes.conflict_note import conflict_json
from vaultsync.service.bridge_service import BridgeServices
from vaultsync.sync.report import Report


def status(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """What waits, and how the daemon is."""
    return serving.reading(serving.state)


def conflicts(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """The open conflicts."""
    found = serving.reading(lambda memory: memory.conflicts())
    return {"conflicts": [conflict_json(each) for each in found]}


def resolve(serving: BridgeServices, name: str, asked: bodies.Resolve) -> Mapping[str, Value]:
    """A conflict, settled, and those that are left.

    Raises:
        InvalidFieldError: neither a side nor a text was given, or both.
    """
    take, field, text = asked.take, asked.field, asked.text
    agent = serving.asks(asked.agent)
    if text is not None and field is not None and take is None:
        settled = serving.engine(
            lambda memory: memory.resolve_by_hand(name, field=field, text=text, agent=agent)
        )
    elif take is not None and text is None:
        settled = serving.engine(
            lambda memory: memory.resolve(name, take=take, field=field, agent=agent)
        )
    else:
        raise InvalidFieldError("take", take, "a side, or `field` and `text` in place of it")
    left = serving.reading(lambda memory: memory.conflicts())
    return {
        "conflicts": [conflict_json(each) for each in left],
        "resolved": conflict_json(settled),
    }


def sync(serving: BridgeServices, _: str, asked: bodies.Sync) -> Mapping[str, Value]:
    """One pass."""
    report = serving.engine(
        lambda memory: memory.sync(
            dry_run=asked.dry_run,
            allow_scope_moves=asked.allow_scope_moves,
            max_delete=asked.max_delete,
            confirm=asked.confirm,
        )
    )
    return _told(serving, report)


def maintain(serving: BridgeServices, _: str, asked: bodies.Maintain) -> Mapping[str, Value]:
    """The upkeep."""
    report = serving.engine(
        lambda memory: memory.maintain(
            dry_run=asked.dry_run, max_delete=asked.max_delete, confirm=asked.confirm
        )
    )
    return _told(serving, report)


def adopt_all(serving: BridgeServices, _: str, asked: bodies.AdoptAll) -> Mapping[str, Value]:
    """Notes that became facts."""
    report = serving.engine(
        lambda memory: memory.adopt(scope=asked.scope, type=asked.type, dry_run=asked.dry_run)
    )
    return _told(serving, report)


def adopt(serving: BridgeServices, name: str, asked: bodies.Adopt) -> Mapping[str, Value]:
    """A note that became a fact."""
    report = serving.engine(
        lambda memory: memory.adopt_id(name, scope=asked.scope, type=asked.type)
    )
    return _told(serving, report)


def undo(serving: BridgeServices, name: str, _: bodies.Body) -> Mapping[str, Value]:
    """A run, taken back."""
    return _told(serving, serving.engine(lambda memory: memory.undo(name)))


def verify(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """The proof that both sides are equal."""
    return serving.engine(lambda memory: memory.verify()).as_json()


def fix_links(serving: BridgeServices, _: str, __: bodies.Body) -> Mapping[str, Value]:
    """The links that were mended, and those that were not."""
    return serving.engine(lambda memory: memory.links_check(fix=True)).as_json()


def written(serving: BridgeServices, name: str, asked: bodies.WriteAnswer) -> Mapping[str, Value]:
    """The answer to a `write` event, handed to who waits for it."""
    serving.answer(name, applied=asked.applied, found=asked.found, reason=asked.reason)
    return {}


def _told(serving: BridgeServices, report: Report) -> Mapping[str, Value]:
    """A report, of which all who listen hear when something was done."""
    said = report.as_json()
    if not (report.dry_run or report.quiet):
        serving.on_run(said)
    return said
