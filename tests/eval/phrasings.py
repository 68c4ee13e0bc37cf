"""The same questions in other words that should change nothing: a typo, thanks, an agent's prefix.

Typos and a sentence on something else may cost something; how much is what this measures.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import mean

from tests.eval.questions import Question
from tests.eval.replies import Reply, replies
from tests.eval.worlds import OpenVault

HEAD = f"  {'phrasing':10} {'n':>4} {'relevance@5':>12} {'MRR':>6} {'lost':>5} {'gained':>7}"
_LONG_WORD = re.compile(r"\b[a-z]{6,}\b")


def _with_typo(text: str) -> str:
    """A letter of a long word is left out, doubled, or in the place of the next one."""
    chance = random.Random(text)
    words = list(_LONG_WORD.finditer(text))
    if not words:
        return text
    word = chance.choice(words)
    at = chance.randrange(word.start() + 1, word.end() - 1)
    here, following = text[at], text[at + 1]
    typed, replaced = chance.choice([("", 1), (here * 2, 1), (following + here, 2)])
    return text[:at] + typed + text[at + replaced :]


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


PHRASINGS: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "no mark": lambda text: text.rstrip(".?! "),
    "marks": lambda text: text.rstrip("?") + "?!?",
    "lower case": str.lower,
    "capitals": str.upper,
    "please": lambda text: f"Please tell me: {_lower_first(text)}",
    "remind": lambda text: f"Can you remind me {_lower_first(text)}",
    "hey": lambda text: f"Hey, quick question: {text}",
    "forgot": lambda text: f"I forgot. {text}",
    "to know": lambda text: f"I need to know {_lower_first(text)}",
    "thanks": lambda text: f"{text} Thanks!",
    "user asks": lambda text: f"User asks: {text}",
    "search": lambda text: f"Search memory for: {text}",
    "twice": lambda text: f"{text} {text}",
    "no-break": lambda text: text.replace(" ", "\u00a0"),
    "typo": _with_typo,
    "before it": lambda text: f"We spoke of other things yesterday. Now something else. {text}",
}


def phrased(vault: OpenVault, asked: Sequence[Question], arm: str) -> list[str]:
    """A row per phrasing of the questions in English, beside what they got as they are.

    Filters (`type:lesson`) are left out: misspelled ones are refused.
    """
    plain = [x for x in asked if x.language == "en" and x.expected and x.kind != "filter"]
    first = replies(vault, plain, arm)
    rows = [HEAD]
    for name, change in PHRASINGS.items():
        changed = [replace(each, text=change(each.text)) for each in plain]
        rows.append(_row(name, replies(vault, changed, arm), first))
    return rows


def _row(name: str, some: Sequence[Reply], first: Sequence[Reply]) -> str:
    """The means, and of how many questions fewer or more of the expected notes were found."""
    pairs = [(now.relevance_5, was.relevance_5) for now, was in zip(some, first, strict=True)]
    lost, gained = (sum(sign * (now - was) > 0 for now, was in pairs) for sign in (-1, 1))
    worth = f"{mean(now for now, _ in pairs):12.3f} {mean(x.mrr for x in some):6.3f}"
    return f"  {name:10} {len(some):4} {worth} {lost:5} {gained:7}"
