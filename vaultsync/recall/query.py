"""A question as it was asked -> what it asks for.

What is *written as a filter* (`type:decision`, `tag:ops`, `tier:critical`, `since:2026-03`)
filters. What plain words *hint at* (decisions, last week, in May) only prefers: whoever
asks what happened last week may mean what was written down today.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from types import MappingProxyType
from typing import NamedTuple

from vaultsync.indexing.session_context import MONTHS
from vaultsync.model.fact import Fact
from vaultsync.model.schema import TIERS, TYPES
from vaultsync.model.time_span import ISO_DAY, TimeSpan, day_span, days_between


class ParsedQuery(NamedTuple):
    """What is asked for."""

    text: str
    """As asked."""
    said: str
    """Without what is written as a filter; what a model reads."""
    words: str
    """What is left to be looked up: no days that depend on today, either."""
    phrases: tuple[str, ...] = ()
    """What stood in quotes."""
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    tiers: frozenset[str] = frozenset()
    span: TimeSpan = TimeSpan()
    """Written as filters, like the three above."""
    hinted_types: frozenset[str] = frozenset()
    hinted_tiers: frozenset[str] = frozenset()
    hinted_span: TimeSpan | None = None
    """What plain words hint at."""

    @property
    def hints(self) -> bool:
        """Whether there is anything to prefer."""
        return bool(self.hinted_types or self.hinted_tiers or self.hinted_span)

    def prefers(self, fact: Fact) -> bool:
        """Whether a fact is all that the question hints at; True when it hints at nothing."""
        return (
            (not self.hinted_types or fact.type in self.hinted_types)
            and (
                not self.hinted_tiers
                or any(fact.priority in TIERS[tier] for tier in self.hinted_tiers)
            )
            and (self.hinted_span is None or self.hinted_span.holds(fact.created_at))
        )


_TYPE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "decision": "decision decisions decide decided",
        "commitment": "commitment commitments promise promises promised",
        "lesson": "lesson lessons learned learnt",
        "observation": "observation observations",
        "preference": "preference preferences",
        "task": "tasks",
        "episodic": "episode episodes",
        "correction": "correction corrections",
        "convention": "convention conventions",
    }
)
"""Type -> the words that hint at it. Words that mean much else (note, fact, project,
person, to prefer) hint at nothing."""
_HINTED: Mapping[str, str] = MappingProxyType(
    {word: name for name, words in _TYPE_WORDS.items() for word in words.split()}
)


def type_hint(fact: Fact) -> str:
    """The type of a fact, where its name is a word that people ask with; else empty."""
    return fact.type if fact.type in _TYPE_WORDS else ""


# Of most questions only a part is needed: each is compiled when it is first used.
_TIER_HINT = (
    r"\b(critical|notable|background)\s+(?:facts?|notes?|memory|memories|observations?|"
    r"decisions?|lessons?|commitments?)\b"
)
_QUOTED = r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」"
_REQUEST = (
    r"\A\s*(?:(?:please|(?:can|could)\s+you)\s+)*"
    r"(?:(?:tell|show|remind|give)\s+(?:me|us)(?:\s+(?:all|everything|more))?(?:\s+(?:about|of))?"
    r"|(?:what\s+)?do\s+(?:I|we|you)\s+(?:know|remember)(?:\s+(?:about|of))?"
    r"|what(?:\s+has|\s+is|['’]s)?\s+happen(?:ed|ing|s))"
    r"(?=\s+\w)"
)
"""How people begin who ask somebody; none of it is in the answer."""
_REQUEST_WORDS = ("tell", "show", "remind", "give", "know", "remember", "happen")
_FILTER = r"(?<!\S)(type|tag|tier|since|until|after|before):(\S+)"
_WORD = re.compile(r"[^\W\d_]+")
_MONTH = "|".join([*MONTHS, *(f"{name[:3]}\\b\\.?" for name in MONTHS)])
_DATE = (
    rf"(?:(?P<iso>{ISO_DAY})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+(?P<year>\d{{4}}))?"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year2>\d{{4}}))?"
    rf"|(?P<month3>{_MONTH})(?:,?\s+(?P<year3>\d{{4}}))?"
    r"|(?P<year4>(?:19|20)\d{2}))\b"
)
_SAID = rf"\b(?P<how>in|on|of|from|during|since|after|before|until|till|by)\s+{_DATE}"
_AGO = (
    r"\b(?:(?P<when>today|yesterday)"
    r"|(?P<which>this|last|past|previous)\s+(?P<unit>day|week|month|year)"
    r"|(?:in\s+)?(?:the\s+)?(?:last|past)\s+(?P<count>\d{1,3})\s+(?P<units>day|week|month|year)s)\b"
)
_AGO_WORDS = ("today", "yesterday", "this", "last", "past", "previous")
_DATE_SIGNS = (*"0123456789", *(name[:3] for name in MONTHS))
_DAYS: Mapping[str, int] = MappingProxyType({"day": 1, "week": 7, "month": 30, "year": 365})
"""Unit -> how many days the last one of it lasted."""
_OPEN_END = ("since", "after")
_OPEN_START = ("before", "until", "till", "by")


def parse_query(text: str, *, today: date) -> ParsedQuery:
    """What a question asks for. Any text is a question; nothing in it is an error."""
    rest, types, tags, tiers = text, set[str](), set[str](), set[str]()
    since = until = None
    for found in _each(_FILTER, text, ":"):
        key, value = found[1].lower(), found[2].strip("\"'")
        if key == "type" and value.lower() in TYPES:
            types.add(value.lower())
        elif key == "tag":
            tags.add(value.lstrip("#"))
        elif key == "tier" and value.lower() in TIERS:
            tiers.add(value.lower())
        elif key not in ("type", "tier") and (days := day_span(value)):
            first, after = days
            since = first if key == "since" else after if key == "after" else since
            until = after if key == "until" else first if key == "before" else until
        else:
            continue
        rest = rest.replace(found[0], " ", 1)
    said = " ".join(rest.split())
    request = next(_each(_REQUEST, said, *_REQUEST_WORDS), None)
    rest = said[request.end() :] if request else said
    hinted, rest = _relative(rest, today)
    phrases = tuple(
        phrase
        for found in _each(_QUOTED, rest, '"')
        if (phrase := " ".join("".join(filter(None, found.groups())).split()))
    )
    return ParsedQuery(
        text=text,
        said=said,
        words=" ".join(rest.split()),
        phrases=phrases,
        types=frozenset(types),
        tags=frozenset(tags),
        tiers=frozenset(tiers),
        span=TimeSpan(since, until),
        hinted_types=frozenset(
            _HINTED[word] for word in _WORD.findall(rest.lower()) if word in _HINTED
        ),
        hinted_tiers=frozenset(found[1].lower() for found in _each(_TIER_HINT, rest, *TIERS)),
        hinted_span=hinted or _said(rest, today),
    )


def _each(pattern: str, text: str, *needs: str) -> Iterator[re.Match[str]]:
    """Where a pattern is, which has one of `needs` if a text is ASCII: most have none."""
    low = text.lower()
    if text.isascii() and not any(each in low for each in needs):
        return iter(())
    return re.finditer(pattern, text, re.IGNORECASE)


def names_in_text(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the names that occur in a text as whole words, the longest first.

    A name inside a longer one that occurs at the same place does not count.
    """
    found = []
    folded = text.casefold()
    for name in sorted(set(names), key=lambda each: (-len(each), each)):
        pattern = rf"(?<!\w){re.escape(name.casefold())}(?!\w)"
        if name.strip() and re.search(pattern, folded):
            found.append(name)
            folded = re.sub(pattern, "\0", folded)
    return tuple(found)


def _relative(text: str, today: date) -> tuple[TimeSpan | None, str]:
    """The days that are said by their distance from today, and the text without them."""
    found = next(_each(_AGO, text, *_AGO_WORDS), None)
    if found is None:
        return None, text
    rest = f"{text[: found.start()]} {text[found.end() :]}"
    if found["when"]:
        first = today - timedelta(days=found["when"].lower() == "yesterday")
        return _days(first, first + timedelta(days=1)), rest
    unit = (found["unit"] or found["units"]).lower()
    days = _DAYS[unit] * int(found["count"] or 1)
    if (found["which"] or "").lower() == "this":
        start = {
            "day": today,
            "week": today - timedelta(days=today.weekday()),
            "month": today.replace(day=1),
            "year": today.replace(month=1, day=1),
        }[unit]
        return _days(start, None), rest
    return _days(_before(today, days), None), rest


def _said(text: str, today: date) -> TimeSpan | None:
    """The days of the first date that is said."""
    found = next(_each(_SAID, text, *_DATE_SIGNS), None)
    if found is None:
        return None
    how = found["how"].lower()
    span = _span(found, today)
    if span is None:
        return None
    first, after = span
    if how in _OPEN_END:
        return TimeSpan(since=first if how == "since" else after)
    if how in _OPEN_START:
        return TimeSpan(until=first if how == "before" else after)
    return TimeSpan(first, after)


def _span(found: re.Match[str], today: date) -> tuple[str, str] | None:
    """The first day that a date names, and the day after the last."""
    if found["iso"]:
        return day_span(found["iso"])
    if found["year4"]:
        return days_between(int(found["year4"]), None, None)
    name = found["month"] or found["month2"] or found["month3"]
    if name.lower() == "may" and name != "May":
        return None  # the verb
    month = next(n for n, full in enumerate(MONTHS, 1) if full[:3] == name[:3].lower())
    day = found["day"] or found["day2"]
    said = found["year"] or found["year2"] or found["year3"]
    # Without a year it is the last one that has begun.
    year = int(said) if said else today.year - (month > today.month)
    return days_between(year, month, int(day) if day else None)


def _days(first: date, after: date | None) -> TimeSpan:
    return TimeSpan(first.isoformat(), after.isoformat() if after else None)


def _before(today: date, days: int) -> date:
    return date.fromordinal(max(1, today.toordinal() - days))
