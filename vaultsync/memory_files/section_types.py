"""Which type of fact a section of a memory file is: a guess by its words.

The words are those of seed 000. Its `project` is no type here that a text could have: a
project is an entity, whose name links all that mentions it. Such a section becomes a
note, which fades in half a year; `<!-- type: project -->` makes the entity.
"""

from __future__ import annotations

import re
from enum import Enum

from vaultsync.memory_files.sections import Section
from vaultsync.model.schema import TYPES


class _In(Enum):
    HEADING = "heading"
    TEXT = "text"


_ROWS = (
    (_In.HEADING, r"prefer|style|convention|always|never", "preference"),
    (_In.HEADING, r"project|repo|stack|deploy", "note"),
    (_In.HEADING, r"decision|chose|decided|rationale", "decision"),
    (_In.HEADING, r"correct|mistake|wrong|fix", "correction"),
    (_In.HEADING, r"task|todo|done|completed", "task"),
    (_In.TEXT, r"prefers?\b|always use|never use|convention", "preference"),
    (_In.TEXT, r"deployed|repository|sprint|deadline", "note"),
    (_In.TEXT, r"decided|chose|because|rationale|trade-?off", "decision"),
    (_In.TEXT, r"was wrong|corrected|mistake|actually", "correction"),
)
"""Where to look, for what, and the type that follows; the first row that is met counts."""
_TABLE = tuple((where, re.compile(words), name) for where, words, name in _ROWS)
OTHERWISE = "fact"


def hinted(section: Section) -> str | None:
    """The type that the section names itself, if there is such a type."""
    hint = (section.type_hint or "").lower()
    return hint if hint in TYPES else None


def guessed(section: Section) -> str:
    """The type by the table."""
    told = {
        _In.HEADING: (section.heading or "").lower(),
        _In.TEXT: section.text.lower(),
    }
    for where, words, name in _TABLE:
        if words.search(told[where]):
            return name
    return OTHERWISE
