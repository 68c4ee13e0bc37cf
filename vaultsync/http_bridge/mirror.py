"""The mirror: each route is one call of `Memory`, most of them by the engine."""

from __future__ import annotations

from msgspec import Struct, to_builtins

from vaultsync.errors import InvalidFieldError
from vaultsync.http_bridge import requests as bodies
from vaultsync.operations.check_links import LinkReport
from vaultsync.service.bridge_service import BridgeServices, BridgeStatus
from vaultsync.sync.report import (
    Conflicts,
    Report,
    ResolveResult,
    Verification,
    resolved_conflict,
    shown_conflicts,
)


class Nothing(Struct, frozen=True):
    """An empty object."""


def status(serving: BridgeServices, _: str, __: bodies.Body) -> BridgeStatus:
    """What waits, and how the daemon is."""
    return serving.reading(serving.state)


def conflicts(serving: BridgeServices, _: str, __: bodies.Body) -> Conflicts:
    """The open conflicts."""
    return shown_conflicts(serving.reading(lambda memory: memory.conflicts()))


def resolve(serving: BridgeServices, name: str, asked: bodies.Resolve) -> ResolveResult:
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
    return resolved_conflict(settled, left)


def sync(serving: BridgeServices, _: str, asked: bodies.Sync) -> Report:
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


def maintain(serving: BridgeServices, _: str, asked: bodies.Maintain) -> Report:
    """The upkeep."""
    report = serving.engine(
        lambda memory: memory.maintain(
            dry_run=asked.dry_run, max_delete=asked.max_delete, confirm=asked.confirm
        )
    )
    return _told(serving, report)


def adopt_all(serving: BridgeServices, _: str, asked: bodies.AdoptAll) -> Report:
    """Notes that became facts."""
    report = serving.engine(
        lambda memory: memory.adopt(scope=asked.scope, type=asked.type, dry_run=asked.dry_run)
    )
    return _told(serving, report)


def adopt(serving: BridgeServices, name: str, asked: bodies.Adopt) -> Report:
    """A note that became a fact."""
    report = serving.engine(
        lambda memory: memory.adopt_id(name, scope=asked.scope, type=asked.type)
    )
    return _told(serving, report)


def undo(serving: BridgeServices, name: str, _: bodies.Body) -> Report:
    """A run, taken back."""
    return _told(serving, serving.engine(lambda memory: memory.undo(name)))


def verify(serving: BridgeServices, _: str, __: bodies.Body) -> Verification:
    """The proof that both sides are equal."""
    return serving.engine(lambda memory: memory.verify())


def fix_links(serving: BridgeServices, _: str, __: bodies.Body) -> LinkReport:
    """The links that were mended, and those that were not."""
    return serving.engine(lambda memory: memory.links_check(fix=True))


def written(serving: BridgeServices, name: str, asked: bodies.WriteAnswer) -> Nothing:
    """The answer to a `write` event, handed to who waits for it."""
    serving.answer(name, applied=asked.applied, found=asked.found, reason=asked.reason)
    return Nothing()


def _told(serving: BridgeServices, report: Report) -> Report:
    """A report, of which all who listen hear when something was done."""
    if not (report.dry_run or report.quiet):
        serving.on_run(to_builtins(report))
    return report
