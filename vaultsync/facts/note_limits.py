"""Refuse facts whose notes could not be read back: too large, or with too much frontmatter."""

from __future__ import annotations

from collections.abc import Mapping

from vaultsync.errors import NoteLimitError, UnreadableNoteError
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.model.serialization import fact_to_values
from vaultsync.notes.parse import read_note
from vaultsync.notes.render import render_note
from vaultsync.sync.context import ReadContext

_SURELY_FITS = 8 * 1024
"""Characters of all values up to which no note is rendered to see how large it is."""
_SURELY_FEW = 200
"""Values and elements of lists, up to which the same holds."""
_BYTES_PER_LINK = 600
"""A link to a related note, with its title, as the note shows it."""
_RESERVE = 1024
"""For what vaultsync adds to a note later: times, and the fact that replaces this one."""


def check_note_limits(ctx: ReadContext, fact: Fact) -> None:
    """Check that vaultsync can read the note that it would write for a fact.

    Raises:
        NoteLimitError: the note would be larger than the settings allow, or its frontmatter
            than notes may have.
    """
    size, count = _extent(fact_to_values(fact))
    if size <= _SURELY_FITS and count <= _SURELY_FEW:
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


def _extent(value: Value) -> tuple[int, int]:
    """How many characters a value has, and how many values are in it."""
    if isinstance(value, Mapping):
        parts = [_extent(each) for pair in value.items() for each in pair]
    elif isinstance(value, (list, tuple)):
        parts = [_extent(each) for each in value]
    else:
        return (len(value) if isinstance(value, str) else 8), 1
    return sum(size for size, _ in parts), sum(count for _, count in parts)
