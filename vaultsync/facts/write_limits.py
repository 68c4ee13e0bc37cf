"""Limits of what is written: on notes that could not be read back, and on what one agent writes."""

from __future__ import annotations

import json

from vaultsync.errors import NoteLimitError, UnreadableNoteError, WriteLimitError
from vaultsync.model.counts import count_noun
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.serialization import fact_line
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import render_note
from vaultsync.sync.context import ReadContext, SyncContext

_HOUR = len("2026-02-14T13")


def check_write_limits(ctx: SyncContext, *facts: Fact, agent: str | None) -> None:
    """Count facts that an agent is about to write; raises WriteLimitError.

    The count is per machine and clock hour, and is kept only for agents with such a limit. A
    write counts even if it fails later.
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


_SURELY_FITS = 8 * 1024
"""The size of a fact as JSON, in bytes, up to which its note cannot be too large."""
_SURELY_FEW = 200
"""The number of `":` in that JSON up to which its frontmatter cannot be too large."""
_BYTES_PER_LINK = 600
"""The size of a link to a related note, with its title."""
_RESERVE = 1024
"""Bytes for what vaultsync adds to a note later: times, and the fact that replaces this one."""


def check_note_limits(ctx: ReadContext, fact: Fact) -> None:
    """Raise NoteLimitError unless vaultsync can read the note that it would write for a fact."""
    line = fact_line(fact)
    if len(line) <= _SURELY_FITS and line.count(b'":') <= _SURELY_FEW:
        return
    data = render_note(ctx.view.to_note(fact), links={})
    size = len(data) + _RESERVE + _BYTES_PER_LINK * len(fact.related_fact_ids)
    if size > ctx.policy.max_note_bytes:
        limit = f"{ctx.policy.max_note_bytes:,} bytes (max_note_bytes)"
        raise NoteLimitError(f"it would be larger than {limit}")
    padded = data.replace(b"---\n", b"---\n" + b"#" * _RESERVE + b"\n", 1)
    try:
        read_note(padded, VaultPath("note.md"))
    except UnreadableNoteError as error:
        raise NoteLimitError(error.why) from None
