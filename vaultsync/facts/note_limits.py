"""Refuse facts whose notes could not be read back: too large, or with too much frontmatter."""

from __future__ import annotations

from vaultsync.errors import NoteLimitError, UnreadableNoteError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.serialization import fact_line
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import render_note
from vaultsync.sync.context import ReadContext

_SURELY_FITS = 8 * 1024
"""The size of a fact as JSON, in bytes, up to which its note cannot be too large."""
_SURELY_FEW = 200
"""The number of `":` in that JSON up to which its frontmatter cannot be too large."""
_BYTES_PER_LINK = 600
"""The size of a link to a related note, with its title."""
_RESERVE = 1024
"""Bytes for what vaultsync adds to a note later: times, and the fact that replaces this one."""


def check_note_limits(ctx: ReadContext, fact: Fact) -> None:
    """Check that vaultsync can read the note that it would write for a fact.

    Raises:
        NoteLimitError: the note would be larger than the settings allow, or its frontmatter
            than notes may have.
    """
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
