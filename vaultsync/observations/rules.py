"""Classify observations by rules: phrases of four languages with weights, in `signals.toml`.

The rules are deterministic and offline, and say why. A text is read sentence by sentence: what is
denied does not count, what is asked counts little, and a small subject (lunch, a flaky test)
makes what was decided or failed small.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from vaultsync.observations.classifier import BACKGROUND, CRITICAL, NOTABLE, ObservedText

LANGUAGES = ("en", "de", "fr", "es")
EXAMINED_CHARS = 4_000
"""Characters of an observation, at its beginning, that are examined."""
SMALL = "small"
"""The tier of the subjects that make others small."""
MIN_CRITICAL, MIN_NOTABLE = 0.8, 1.0
"""The weights from which a text is of these tiers."""
QUESTION_SHARE = 0.4
"""What a signal in a question counts."""
LEVEL_WEIGHT, AMOUNT_WEIGHT, FIGURE_WEIGHT = 0.7, 0.6, 0.6
"""What the level of a log line (ERROR), an amount of money and a percentage count."""
SUPPORT = 0.4
"""What each further signal of a tier adds to the strongest one."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_DENIED = re.compile(
    r"(?:\b(?:no|not|never|without|zero|none|nothing|isn't|wasn't|didn't|don't|hasn't|haven't"
    r"|kein\w{0,2}|nicht|ohne|nie|sans|aucune?|jamais|pas|sin|ning[uú]n\w?|nunca|jamás)"
    r"|(?<![\d.,])0)(?:\s+[\w'’-]+){0,2}[\s:]*\Z"
)
_DENIED_AFTER = re.compile(
    r"\A\w*\s*[:=]\s*(?:0|no|none|nein|aucune?|ningun[oa])\b|\A\w*\s+nicht\b"
)
_AMOUNT = re.compile(
    r"[€$£]\s?\d|\d\s?(?:€|\$|£|eur\b|euros?\b|usd\b|dollars?\b|chf\b|kronen?\b|pesos?\b)"
)
_CHANGE = re.compile(
    r"\d\s?(?:%|percent|prozent|pour cent|por ciento)|\d\s?(?:ms|s|min|mb|gb|kg)?\s?(?:->|→)\s?\d"
)

_LEVEL = re.compile(
    r"\b(?:ERROR|CRITICAL|FATAL|EMERGENCY|FEHLER|KRITISCH|ERREUR|CRITIQUE|CRÍTICO)\b"
)


class Signal(NamedTuple):
    """A kind of signal: what it speaks for, how strongly, and its phrases."""

    kind: str
    tier: str
    weight: float
    pattern: re.Pattern[str]


class SignalMatch(NamedTuple):
    """A signal in a text."""

    kind: str
    tier: str
    weight: float
    """What it counts where it stands."""
    text: str


@cache
def signals() -> tuple[Signal, ...]:
    """The table of signals, read on first use."""
    data = pkgutil.get_data("vaultsync.observations", "signals.toml") or b""
    return tuple(
        Signal(kind, row["tier"], row["weight"], _pattern(row))
        for kind, row in tomllib.loads(data.decode()).items()
    )


def _pattern(row: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    phrases = sorted({each for name in LANGUAGES for each in row[name]}, key=len, reverse=True)
    return re.compile(r"(?<![\w.-])(?:" + "|".join(map(_phrase, phrases)) + ")")


def _phrase(phrase: str) -> str:
    """A phrase, which ends a word unless it ends in `*` or in a sign."""
    if phrase.endswith("*"):
        return re.escape(phrase[:-1])
    return re.escape(phrase) + (r"(?!\w)" if phrase[-1].isalnum() else "")


def sentences_of(text: str) -> list[str]:
    """The sentences and lines of a text, without blank ones."""
    return [each.strip() for each in _SENTENCE_END.split(text) if each.strip()]


def find_signals(text: str) -> Iterator[SignalMatch]:
    """The signals of a text, sentence by sentence, each kind once in a sentence."""
    if found := _LEVEL.search(text[:EXAMINED_CHARS]):
        yield SignalMatch("level", CRITICAL, LEVEL_WEIGHT, found[0].lower())
    lowered = text[:EXAMINED_CHARS].lower().replace("’", "'")
    for sentence in sentences_of(lowered):
        asked = QUESTION_SHARE if sentence.endswith("?") else 1.0
        for signal in signals():
            found = next(
                (m for m in signal.pattern.finditer(sentence) if not _is_denied(signal, m)), None
            )
            if found is not None:
                share = asked if signal.tier in (CRITICAL, NOTABLE) else 1.0
                yield SignalMatch(signal.kind, signal.tier, signal.weight * share, found[0])
        if found := _AMOUNT.search(sentence):
            yield SignalMatch("amount", CRITICAL, AMOUNT_WEIGHT * asked, found[0])
        if found := _CHANGE.search(sentence):
            yield SignalMatch("figure", NOTABLE, FIGURE_WEIGHT * asked, found[0])


def _is_denied(signal: Signal, found: re.Match[str]) -> bool:
    """Whether a critical or notable signal is denied where it stands."""
    if signal.tier not in (CRITICAL, NOTABLE):
        return False
    before, after = found.string[: found.start()], found.string[found.end() :]
    return bool(_DENIED.search(before[-60:]) or _DENIED_AFTER.match(after[:40]))


class RuleClassifier:
    """Tiers by the signals of a text."""

    name = "rules"

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        """The tier of each text; every text is answered."""
        return [tier_by(list(find_signals(each.content))) for each in texts]

    def explain(self, text: ObservedText) -> tuple[str, ...]:
        """The signals of a text, those that count most first."""
        found = sorted(find_signals(text.content), key=lambda each: -each.weight)
        return tuple(f"{each.tier}: {each.kind} ({each.text})" for each in found)


def tier_by(found: Sequence[SignalMatch]) -> str:
    """The tier that some signals speak for."""
    critical, notable, routine, small = (
        _strength([each for each in found if each.tier == tier])
        for tier in (CRITICAL, NOTABLE, BACKGROUND, SMALL)
    )
    if critical - small >= MIN_CRITICAL:
        return CRITICAL
    if max(notable, critical) - small - routine / 2 >= MIN_NOTABLE - SUPPORT:
        return NOTABLE
    return BACKGROUND


def _strength(found: Sequence[SignalMatch]) -> float:
    """The strongest kind, and a share of each further kind."""
    best: dict[str, float] = {}
    for each in found:
        best[each.kind] = max(best.get(each.kind, 0.0), each.weight)
    weights = sorted(best.values(), reverse=True)
    return weights[0] + SUPPORT * sum(weights[1:]) if weights else 0.0
