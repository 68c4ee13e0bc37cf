"""Classify observations by rules: phrases of four languages, in `signals.toml`, and fitted weights.

The rules are deterministic, offline and explainable. A text is read sentence by sentence: denied
signals do not count, questions count little, and a small subject (lunch, a flaky test) makes a
decision or a failure small. The weights of signals, words and form were fitted to labelled
observations (`fitted_tiers.py`).
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from vaultsync.observations.classifier import BACKGROUND, CRITICAL, NOTABLE, ObservedText
from vaultsync.observations.fitted_tiers import telling_words, tier_scores
from vaultsync.observations.text_features import FORMS, examined

LANGUAGES = ("en", "de", "fr", "es")
SMALL = "small"
"""The tier of the subjects that make others small."""
CRITICAL_MARGIN, KEPT_MARGIN = 0.15, 0.05
"""By how much the score of a tier may be below the best and the text still be critical, or notable.
Background is hidden, so that in doubt a text is kept."""
PLAINLY_CRITICAL = 1.0
"""The strength of critical signals, less that of small and routine ones, from which any text is
kept: a decision, a promise or a failure reaches it, money alone does not."""
ALL_CRITICAL, ALL_SMALL, ALL_ROUTINE = f"all {CRITICAL}", f"all {SMALL}", f"all {BACKGROUND}"
"""The names of the strengths of all signals of these tiers."""
QUESTION_SHARE = 0.4
"""The weight of a signal in a question."""
LEVEL_WEIGHT, AMOUNT_WEIGHT, FIGURE_WEIGHT = 0.7, 0.6, 0.6
"""The weights of the level of a log line (ERROR), an amount of money and a percentage."""
SUPPORT = 0.4
"""The share that each further signal of a tier adds to the strongest one."""

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
    """Its weight in its sentence."""
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
    text = examined(text)
    if found := FORMS["level"].search(text):
        yield SignalMatch("level", CRITICAL, LEVEL_WEIGHT, found[0].lower())
    lowered = text.lower().replace("’", "'")
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
    """Classifies by the signals, words and form of a text."""

    name = "rules"

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        """The tier of each text; every text is answered."""
        return [tier_of_text(each.content) for each in texts]

    def explain(self, text: ObservedText) -> tuple[str, ...]:
        """The signals and words that speak for the tier of a text, then its other signals.

        Those that count most come first.
        """
        tier = tier_of_text(text.content)
        found = sorted(
            find_signals(text.content), key=lambda each: (each.tier != tier, -each.weight)
        )
        reasons = [f"{each.tier}: {each.kind} ({each.text})" for each in found]
        at = sum(each.tier == tier for each in found)
        if words := telling_words(text.content, tier):
            reasons.insert(at, f"{tier}: words ({', '.join(words)})")
        return tuple(reasons)


def tier_of_text(text: str) -> str:
    """The tier of a text."""
    strengths = signal_strengths(text)
    return tier_by_scores(text, tier_scores(text, strengths), strengths)


def tier_by_scores(text: str, scores: Sequence[float], strengths: Mapping[str, float]) -> str:
    """The tier of a text; in doubt, one that keeps it. A text without words is background.

    A text with critical signals, and without a small or routine subject, is not hidden because
    of its other words.
    """
    if not text.strip():
        return BACKGROUND
    critical, notable, background = scores
    if critical + CRITICAL_MARGIN > max(notable, background):
        return CRITICAL
    if notable + KEPT_MARGIN > background:
        return NOTABLE
    plain = strengths.get(ALL_CRITICAL, 0.0)
    plain -= strengths.get(ALL_SMALL, 0.0) + strengths.get(ALL_ROUTINE, 0.0)
    return CRITICAL if plain >= PLAINLY_CRITICAL else BACKGROUND


def signal_strengths(text: str) -> dict[str, float]:
    """The strengths of the signals of a text: by kind, and as `all TIER` by tier."""
    kinds: dict[str, float] = {}
    tiers: dict[str, dict[str, float]] = {}
    for each in find_signals(text):
        for best in (kinds, tiers.setdefault(f"all {each.tier}", {})):
            best[each.kind] = max(best.get(each.kind, 0.0), each.weight)
    return kinds | {tier: _strength(best.values()) for tier, best in tiers.items()}


def _strength(weights: Iterable[float]) -> float:
    """The strongest one, and a share of each further one."""
    strongest, *others = sorted(weights, reverse=True)
    return strongest + SUPPORT * sum(others)
