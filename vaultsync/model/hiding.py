"""What an answer hides by default: facts that vaultsync retired, never the author's own words.

A status is free text (docs/decisions/0011), and so is what a person means by a priority. Only
the words below retire a fact, and only a fact that an agent wrote can be hidden in
the background (docs/decisions/0028).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from vaultsync.model.fact import Fact
from vaultsync.model.schema import TIERS

RETIRED_STATUSES = SUPERSEDED, ARCHIVED, EXPIRED, FORGOTTEN = (
    "superseded",
    "archived",
    "expired",
    "forgotten",
)
"""The statuses that retire a fact. Any other status is a word of the author's own."""
BACKGROUND = "background"
"""Why a fact is hidden that an agent wrote for the background."""
BRANCH = "branch"
"""Why a fact is hidden that does not hold on the branch of the repository one is in."""


def is_agents_background(fact: Fact) -> bool:
    """Whether an agent wrote a fact, and it is of the tier background."""
    return bool(fact.agent_id) and fact.priority in TIERS["background"]


PENDING = "pending"
"""The status of an observation that no classifier has looked at yet."""
OBSERVATION = "observation"
COMPRESSED, ORIGINAL = "observationCompressed", "observationOriginalContent"
"""The fields of an observation of the background: if it was shortened, and what it said before."""


def is_pending_observation(fact: Fact) -> bool:
    """Whether a fact is an observation that is not classified yet."""
    return fact.type == OBSERVATION and fact.status == PENDING


def is_background_observation(fact: Fact) -> bool:
    """Whether a fact is an observation that was classified as background, and so archived."""
    return fact.type == OBSERVATION and fact.status == ARCHIVED and COMPRESSED in fact.own


def original_text(fact: Fact) -> str:
    """The text of an observation before it was shortened."""
    found = fact.own.get(ORIGINAL)
    return found if isinstance(found, str) and found else fact.content


class HiddenMatches(Struct, frozen=True):
    """Facts that match, and were left out by a default."""

    count: int
    reason: str
    """`superseded`, `archived`, `expired`, `forgotten`, `background` or `branch`."""
    shown_by: str = "all"
    """The option or argument that includes them."""


_WHY = {
    BACKGROUND: (
        "an agent wrote it with background priority",
        "agents wrote them with background priority",
    ),
    BRANCH: ("it belongs to another branch", "they belong to other branches"),
}
"""Why one fact, and why several facts are hidden, if the name of the reason is not enough."""


def describe_hidden(hidden: Iterable[HiddenMatches]) -> str:
    """A sentence such as `12 more are hidden because they are archived; --all shows them`.

    Empty when nothing is hidden.
    """
    parts: list[str] = []
    shown_by: dict[str, None] = {}
    hidden = list(hidden)
    for each in hidden:
        is_one = each.count == 1
        why = _WHY.get(each.reason, ("it is {}", "they are {}"))[not is_one].format(each.reason)
        more = "" if parts else " more"
        parts.append(f"{each.count:,}{more} {'is' if is_one else 'are'} hidden because {why}")
        shown_by[f"--{each.shown_by}"] = None
    if not parts:
        return ""
    show = "shows" if len(shown_by) == 1 else "show"
    pronoun = "it" if sum(each.count for each in hidden) == 1 else "them"
    return f"{', '.join(parts)}; {' and '.join(shown_by)} {show} {pronoun}"
