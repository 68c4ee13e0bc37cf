"""Limits on what one agent writes, from the user's table of permissions."""

from __future__ import annotations

import json

from vaultsync.errors import WriteLimitError
from vaultsync.model.counts import count_noun
from vaultsync.model.fact import Fact
from vaultsync.sync.context import SyncContext

_HOUR = len("2026-02-14T13")


def check_write_limits(ctx: SyncContext, *facts: Fact, agent: str | None) -> None:
    """Count facts that an agent is about to write.

    The count is per machine and clock hour, and is kept only for agents with such a limit. A
    write counts even if it fails later.

    Raises:
        WriteLimitError: a text is too long, or there would be too many in this hour.
    """
    if agent is None:
        return
    row = ctx.policy.permissions.of(agent)
    if row.max_bytes is not None:
        longest = max(map(_longest_text, facts), default=0)
        if longest > row.max_bytes:
            raise WriteLimitError(agent, f"texts of at most {row.max_bytes} bytes, not {longest}")
    if row.max_facts_per_hour is None or not facts:
        return
    name, hour = f"written:{agent.casefold()}", ctx.today()[:_HOUR]
    with ctx.archive.transaction():
        last, count = json.loads(ctx.archive.setting(name) or '["", 0]')
        count = len(facts) + (count if last == hour else 0)
        if count > row.max_facts_per_hour:
            limit = row.max_facts_per_hour
            raise WriteLimitError(agent, f"{count_noun(limit, 'fact')} in an hour")
        ctx.archive.set_setting(name, json.dumps([hour, count]))


def _longest_text(fact: Fact) -> int:
    """The size of the longest text of a fact, in bytes; a list or a map counts as a whole."""
    values = (
        fact.content,
        fact.title,
        fact.context or "",
        *fact.own.values(),
        *fact.properties.values(),
    )
    texts = (x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in values)
    return max(len(each.encode()) for each in texts)
