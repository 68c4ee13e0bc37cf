"""Who wrote a fact, so that its readers know what its text is worth."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vaultsync.model.fact import Fact

_ORIGIN_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "import": ("import",),
        "inference": ("infer", "consolidat", "deriv"),
        "tool": ("tool", "hook", "webhook"),
    }
)
"""Origin -> what the `source` of such facts begins with."""


def origin_of(fact: Fact) -> str:
    """Who wrote a fact: `user`, `agent`, `tool`, `import` or `inference`.

    By its `source` where that says so; otherwise by whether an agent wrote it.
    """
    for origin, words in _ORIGIN_WORDS.items():
        if (fact.source or "").casefold().startswith(words):
            return origin
    return "agent" if fact.agent_id else "user"
