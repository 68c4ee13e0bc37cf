"""When the daemon does what: all its intervals."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intervals:
    """All in seconds."""

    settle: float = 0.3
    """After the last event of a note, before it is read."""
    settle_longest: float = 2.0
    """After the first event of a note that is saved again and again."""
    poll: float = 0.05
    """Between two questions to the store whether something was written."""
    rescan: float = 60.0
    """Between two looks at the stamps of all notes."""
    hashes: float = 3600.0
    """Between two looks at the bytes of all notes (Syncthing's default)."""
    derive: float = 1.0
    """After a pass, before what is derived from the facts follows."""
    check: float = 1.0
    """Between two looks at the watcher."""
    probe: float = 2.5
    """Between two probes of the watcher."""
    answer: float = 2.0
    """How long a probe may go unheard: with `probe` a dead watcher is noticed in 5 s."""
    gap: float = 5.0
    """A pause of the process that counts as sleep: events may have been lost."""
    retries: tuple[float, ...] = (0.25, 1.1, 4.0, 16.0, 20.0)
    """Before the next looks at what waits. The second is longer than the grace of a
    deletion; all of them together are longer than what looks half saved stays so."""
    failure: float = 1.0
    longest_failure: float = 60.0
    """The first and the longest wait after a pass that failed."""
