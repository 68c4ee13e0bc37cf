"""Parse a question: its filters, phrases, search terms, and what it asks for in plain words.

A *filter* (`type:decision`, `tag:ops`, `theme:x`, `since:2026-03`) excludes facts. A
*hint* in plain words (decisions, last week, in May) only ranks facts higher: what happened
last week may have been written down today. A question without a topic (*What decisions did we
make?*, *What happened last week?*, `type:lesson`) asks for a *set*: there, hints are filters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from vaultsync.errors import InvalidFieldError
from vaultsync.indexing.language import ENGLISH, FUNCTION_WORDS
from vaultsync.model.canonical import check_type
from vaultsync.model.dates import (
    RELATIVE_SIGNS,
    WHAT_IS_A_DATE,
    NamedSpan,
    StartOfDay,
    TimeSpan,
    find_all,
)
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import FORGOTTEN, RETIRED_STATUSES, SUPERSEDED
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.permissions import Permissions
from vaultsync.model.schema import LOWEST_PRIORITY, TIERS, TYPES, WITH_STATE
from vaultsync.model.scope import check_scope
from vaultsync.recall.asked_for import asked_for, due_then, is_of_place, mentions_to_dos, names_type
from vaultsync.recall.asked_words import CLOSED, DUE, LANGUAGES, REPLACED, AskedFor, is_of_type
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.recall.unaccented import with_accents
from vaultsync.storage.clock import Clock

if TYPE_CHECKING:  # few questions name a time or a folder, or ask for tasks
    from vaultsync.recall.asked_folders import NotesIn
    from vaultsync.recall.task_states import CheckBox
    from vaultsync.recall.time_words import NamedEvent


class SinceEvent(Struct, frozen=True):
    """The rest of a question whose time is given by an event."""

    event: NamedEvent
    words: str
    asked: AskedFor


class QuestionFilters(Struct, frozen=True):
    """The filters in the text of a question, such as `type:decision`."""

    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    tiers: frozenset[str] = frozenset()
    themes: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    span: TimeSpan = TimeSpan()

    @property
    def has_any(self) -> bool:
        """Whether the question has filters of its own."""
        return self != QuestionFilters()


class ParsedQuery(Struct, frozen=True):
    """What a question asks for."""

    text_without_filters: str
    """The text for the model: without filters and without phrases about the conversation."""
    words: str
    """The text for keyword search: also without request phrases and relative dates."""
    phrases: tuple[str, ...] = ()
    """Quoted phrases; each must occur."""
    filters: QuestionFilters = QuestionFilters()
    asked: AskedFor = AskedFor()
    """The types, the state and the order that it asks for in plain words."""
    hinted_tiers: frozenset[str] = frozenset()
    hinted_span: TimeSpan | None = None
    """The time hinted at in plain words; a hint like tiers."""
    by_event: SinceEvent | None = None
    """A time given by an event whose day is not known yet; see `dated()`."""
    today: str = ""
    """The day of the question, an ISO date."""
    excluded: str = ""
    """The words of what it leaves out, as *billing* in *all tasks except billing*."""
    month: str = ""
    """The day or month in words that it hints at, such as *October*, which facts may name."""
    day_words: str = ""
    """The name of the time of a set, such as *on that Saturday*, if nothing is to be due then."""

    @property
    def hinted_types(self) -> frozenset[str]:
        """The types that it asks for or mentions."""
        return self.asked.hinted_types

    @property
    def has_hints(self) -> bool:
        """Whether there is anything to rank higher."""
        return bool(self.hinted_types or self.hinted_tiers or self.hinted_span or self.asked.state)

    @property
    def is_set(self) -> bool:
        """Whether it asks for a set of facts, by filters or hints alone, without a topic."""
        return not (self.asked.topic or self.phrases) and bool(
            self.filters.has_any or self.has_hints or self.asked.order
        )

    def dated(self, day: str, start_of_day: StartOfDay = str) -> ParsedQuery:
        """This question with a known day of its event, an ISO date."""
        if self.by_event is None:
            return self
        since = self.by_event
        return structs.replace(
            self,
            hinted_span=_hinted(since.event.span(day), since.asked, start_of_day),
            words=since.words,
            asked=since.asked,
            by_event=None,
        )

    def matches_hints(self, fact: Fact) -> bool:
        """Whether a fact matches all hints; True when there are none."""
        is_due = self.asked.state == DUE
        span = self.hinted_span or TimeSpan()
        return (
            (not self.hinted_types or fact.type in self.hinted_types or self.is_of_asked_type(fact))
            and (
                not self.hinted_tiers
                or any(fact.priority in TIERS[tier] for tier in self.hinted_tiers)
            )
            and (is_due or span.holds(fact.created_at) or self._has_closed(fact))
            and self.is_in_asked_state(fact)
        )

    def is_in_asked_state(self, fact: Fact) -> bool:
        """Whether a fact, or a task in it, is in the state that it asks for, if there is one."""
        if not self.asked.state:
            return True
        from vaultsync.recall.task_states import is_in_state  # noqa: PLC0415 - few ask for a state

        is_asked = is_in_state(fact, self.asked.state, today=self.today, due=self._due)
        return is_asked or bool(self.tasks_in(fact))

    def _has_closed(self, fact: Fact) -> bool:
        """Whether it asks for what was done or cancelled in a time, and a fact has such boxes."""
        return self.asked.state in CLOSED and bool(self.tasks_in(fact))

    @property
    def asks_for_tasks(self) -> bool:
        """Whether it asks for tasks; check boxes are tasks, too."""
        return "task" in self.asked.types and self.asked.state != REPLACED

    @property
    def asked_boxes(self) -> str:
        """Whether the check boxes that it asks for are `open` or `closed`."""
        return "closed" if self.asked.state in CLOSED else "open"

    def has_asked_type(self, fact: Fact) -> bool:
        """Whether a fact has a type that it asks for, or a tag for one."""
        return is_of_type(fact, self.asked.types)

    def is_of_asked_type(self, fact: Fact) -> bool:
        """Whether a fact has a type that it asks for, or the tasks that it asks for."""
        return self.has_asked_type(fact) or bool(self.tasks_in(fact))

    def tasks_in(self, fact: Fact) -> tuple[CheckBox, ...]:
        """The check boxes of a note, as far as it asks for them."""
        if not self.asks_for_tasks:
            return ()
        from vaultsync.recall.task_states import tasks_in_state  # noqa: PLC0415 - few questions

        closed = (self.hinted_span if self.asked.state in CLOSED else None) or TimeSpan()
        return tasks_in_state(
            fact, self.asked.state, today=self.today, due=self._due, closed=closed
        )

    @property
    def _due(self) -> TimeSpan:
        """The span in which a task must be due."""
        return (self.hinted_span if self.asked.state == DUE else None) or TimeSpan()


# Patterns are compiled when they are first used: most questions need only a few.
_TIER_HINT = (
    r"\b(critical|notable|background)\s+(facts?|notes?|memory|memories|observations?|"
    r"decisions?|lessons?|commitments?)\b"
)
# No quotation contains another opening mark, so that matching takes linear time.
# Behind a digit, the sign is that of inches.
QUOTED = r"(?<!\d)\"([^\"]+)\"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|「([^「」]+)」"
_QUOTATION_SIGNS = '"“„«「'
_REQUEST = (
    r"\A\s*(?:(?:please|(?:can|could)\s+you)\s+)*"
    r"(?:(?:tell|show|remind|give)\s+(?:me|us)(?:\s+(?:all|everything|more))?(?:\s+(?:about|of))?"
    r"|(?:what\s+)?do\s+(?:I|we|you)\s+(?:know|remember)(?:\s+(?:about|of))?"
    r"|what(?:\s+has|\s+is|['’]s)?\s+happen(?:ed|ing|s)"
    r"|(?:everything|all)\s+(?:about|on)"
    r"|(?:list|outline|provide|summari[sz]e|give\s+(?:me|us)|walk\s+(?:me|us)\s+through)"
    r"|(?:(?:was\s+)?(?:wissen\s+wir|weißt\s+du|weiß\s+ich)(?:\s+alles)?|erzähle?\s+(?:mir|uns)|alles)"
    r"\s+(?:über|von)"
    r"|(?:que\s+(?:savons-nous|sait-on|sais-tu)|parle[-\s](?:moi|nous)|tout)\s+(?:de|sur)"
    r"|¿?(?:qué\s+(?:sabemos|sabes)|háblame|cuéntame|todo)\s+(?:de|sobre))"
    r"(?:(?:\s+an?|\s+the)?(?:\s+(?:brief|clear|complete|comprehensive|detailed|full|short))?"
    r"\s+(?:order\s+in\s+which|(?:overview|summary)\s+of))?"
    r"(?=\s+\w)"
)
"""Request phrases at the beginning of a question, which never occur in answers."""
_AMOUNT = r"(?<=\bhow )(?:many|much|often)\b|(?<=\bwie )(?:oft|viele?)\b"
"""Words behind *how* that ask for an amount, and that answers hardly have: *How much was it?*."""
_REQUEST_WORDS = (
    *("tell", "show", "remind", "give", "know", "remember", "happen"),
    *("list", "outline", "provide", "summari", "walk", "everything", "all", "wissen", "weiß"),
    *("erzähl", "sa", "parle", "tout", "sab", "háblame", "cuéntame", "todo"),
)
_FRAMING_SIGNS = (*",.:;!?–—", " - ", "to know", "search", "query", "check")
"""A question with something said around it has one of these before its last character."""
_ASIDE = (
    r"\b(?:across|during|from|in|over|through|throughout)\s+(?:all\s+(?:of\s+)?)?our\s+"
    r"(?:(?:earlier|past|previous)\s+)?(?:chats?|conversations?|discussions?|sessions?)\b"
    r"|,\s+in\s+order(?=[.,?]|\Z)"
    r"|\b(?:list|mention|name)\s+(?:exactly|only(?:\s+and\s+only)?)\s+\w+\s+items?\b"
    r"|\b(?:I|we)(?:\s+have|['’]ve)?\s+brought\s+up(?:\s+(?:different|various)\s+"
    r"(?:aspects|concepts|parts|topics|ways)(?:\s+(?:of|related\s+to))?)?\b"
)
"""Phrases of a question about the conversation, and about the form of the answer."""
_EXCLUSION_SIGNS = (
    *("not ", "n't", "n’t", "except", "exclu", "other than", "apart from", "besides", "außer"),
    *(
        "thing but ",
        "all but ",
        "bis auf",
        "abgesehen",
        "nicht ",
        "sauf",
        "hors",
        "hormis",
        "à part",
        "pas ",
        "excepto",
    ),
    *("salvo", "menos", "aparte", " no ", "autre", "excepción", "contar", "nichts ", "unrelated"),
    *("without", "ohne ", "sans ", "sin ", "以外", "を除"),
)
_ASIDE_WORDS = ("our ", "in order", " only ", " exactly ", "brought up")
MAX_CHARS = 4_000
"""Number of characters at the beginning of a question that are read. They have all terms that are
searched for, and the model reads less; the rest of a pasted document asks for nothing."""
_NOT_TAGGED = lazy_pattern(
    r"(?i)(?:\b(?:not|without|nicht|ohne|pas|sans|no|sin|except|außer|sauf|excepto)|n['’]t)"
    r"(?:\s+(?:the|with|tag|den|mit|l['’]étiquette|la|con|etiqueta))*\s*\Z"
)
"""Before a tag that facts must not have."""
_BEFORE_TAG = len("except with the tag l’étiquette ")
"""Number of characters before a tag that are read for these words."""
_TAG = r"(?<![\w#&/])#([^\W\d_][\w/-]*)"
_TAGGED = (
    # *The tagged photos* and *What was tagged yesterday?* name no tag.
    r"\b(?:tagged\s+(?:with|as)|(?<!\bthe )(?<!\bwas )(?<!\bwere )tagged(?!\s+(?:after|before|last"
    r"|recently|this|today|yesterday)\b)|(?:(?:with|under|ha(?:s|ve|ving)|carr(?:y|ies|ying))\s+"
    r"(?:the\s+)?|(?=tag\s+[\"'“„«#]))(?-i:tag)|etikettiert\s+mit|"
    r"(?:mit|unter)\s+dem\s+tag|mit\s+(?-i:Tag)|étiquetée?s?(?:\s+avec)?"
    r"|(?:avec|ayant|portant|sous)\s+l['’]étiquette|con\s+la\s+etiqueta|etiquetad[oa]s?"
    r"(?:\s+con)?)\s+[\"'“„«]?#?([^\W\d_][\w/-]*)[\"'”“»]?"
)
_MONTH_SIGNS = (
    *("jan", "jän", "feb", "fév", "ene", "mar", "mär", "apr", "avr", "abr", "may", "mai", "jun"),
    *("jui", "jul", "aug", "aoû", "ago", "sep", "oct", "okt", "nov", "dec", "dez", "déc", "dic"),
)
_TIME_SIGNS = (
    *"0123456789年月前後以",
    *_MONTH_SIGNS,
    *("quarter", "since", "after", "before", "until", "seit", "nach", "vor", "bis", "depuis"),
    *("après", "avant", "jusqu", "desde", "tras", "después", "antes", "hasta", "day of", "week of"),
    *("during", "quartal", "halbjahr", "während", "trimestre", "semestre", "lendemain", "veille"),
    *("jour d", "pendant", "día de", "durante", "víspera", "半期", "翌", "当日"),
    *("tag des", "tag der", "tag unser", "woche de", "から", "まで"),
)
"""Of these, a question with a date or an event has one; only then are their words loaded."""
_UNIT_SIGNS = ("week", "woche", "sem", "mon", "mois", "mes", "year", "jahr", "ann", "año")
_CALENDAR_SIGNS = (
    *("day", "spring", "summer", "autumn", "fall", "winter", "christmas", "easter", "new year"),
    *("end", "beginning", "start", "early", "middle", "mid", "late", "before last", "tag", "mittw"),
    *("samstag", "frühling", "frühjahr", "sommer", "herbst", "weihnacht", "ostern", "neujahr"),
    *("vorgestern", "übermorgen", "vorletzte", "anfang", "printemps", "été", "hiver", "noël"),
    *("pâques", "nouvel", "lundi", "mardi", "mercredi", "jeudi", "samedi", "dimanche", "début"),
    *("fin", "avant-", "après-d", "primavera", "verano", "otoño", "invierno", "navidad", "pascua"),
    *("nuevo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    *("principio", "antea", "antier", "penúltim", "pasado mañana", *"春夏秋冬", "一昨日", "明後日"),
    *("曜", "週末", "half", "first week", "week of", "hälfte", "woche im", "moitié", "semaine d"),
    *("mitad", "semana de"),
)
"""The same for seasons, holidays, weekdays and parts of months."""
_FOLDER_SIGNS = (
    *("folder", "directory", "ordner", "verzeichnis", "dossier", "répertoire", "carpeta"),
    *("directorio", "フォルダ"),
)
"""Of these, a question that names a folder has one."""
_RELATIVE_SIGNS = tuple(chain.from_iterable(RELATIVE_SIGNS))
QUERY_FILTERS: Mapping[str, str] = MappingProxyType(
    {
        "type": "one of " + ", ".join(sorted(TYPES)),
        "tag": "a tag; tags below it count",
        "tier": "one of " + ", ".join(TIERS),
        "theme": "the id of a theme",
        "folder": "a folder of the vault, by its name or path; folders below it count",
        "since": WHAT_IS_A_DATE,
        "until": WHAT_IS_A_DATE,
        "after": WHAT_IS_A_DATE,
        "before": WHAT_IS_A_DATE,
    }
)
"""The filters in questions, such as `type:decision`, and the values that each accepts."""
_AFTER_VALUE = ",;.?!)"
"""Punctuation after a filter, which is not part of its value: *type:decision, tag:ops*."""
_FILTER = rf'(?<![^\s(])({"|".join(QUERY_FILTERS)}):("[^"\n]+"(?=[{_AFTER_VALUE}]*(?!\S))|\S+)'
_DATES = frozenset({"since", "until", "after", "before"})
_LABELS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "type": lambda value: value.lower() if value.lower() in TYPES else "",
        "tag": lambda value: value.lstrip("#"),
        "tier": lambda value: value.lower() if value.lower() in TIERS else "",
        "theme": str.casefold,
        "folder": str,
    }
)
"""The other filters: the value as `QuestionFilters` has it, or nothing if it is invalid."""


def no_notes(_folder: str) -> frozenset[str]:
    """The notes in a folder of a memory without a vault."""
    return frozenset()


def parse_request(
    request: RecallRequest, *, clock: Clock, permissions: Permissions, notes_in: NotesIn = no_notes
) -> tuple[ParsedQuery, FactFilters]:
    """Parse the question of a request and merge its filters with those of the request.

    The filters are limited to what the permissions let the request's agent read. Days are
    those where the clock is. `notes_in` gives the ids of the notes in a folder, as far as that
    agent may read them.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
    """
    if request.limit < 1:
        raise InvalidFieldError("limit", request.limit, "1 or more")
    lowest = LOWEST_PRIORITY if request.max_priority is None else request.max_priority
    if not 0 <= lowest <= LOWEST_PRIORITY:
        raise InvalidFieldError("max_priority", lowest, f"0 to {LOWEST_PRIORITY}")
    now = clock.now()
    today, start_of_day = clock.local_day(now), clock.start_of_day
    query = parse_query(request.query, today=today, start_of_day=start_of_day, notes_in=notes_in)
    if request.status == FORGOTTEN:
        what = "another status: query_vault and `vaultsync list --status forgotten` list these"
        raise InvalidFieldError("status", request.status, what)
    requested = TimeSpan()
    if request.since is not None or request.until is not None:
        from vaultsync.model.written_dates import time_span  # noqa: PLC0415 - few requests

        requested = time_span(request.since, request.until, today=today)
    filters = query.filters
    span = filters.span.within(requested.of_days(start_of_day))
    # A hint at a tier below the request's adds that tier; a filter replaces the request's.
    priorities = [each for tier in filters.tiers or query.hinted_tiers for each in TIERS[tier]]
    is_replaced = query.asked.state == REPLACED and request.status == ""
    wants_superseded = request.status == SUPERSEDED or is_replaced
    hides = not request.all
    return query, FactFilters(
        scopes=frozenset(map(check_scope, request.scopes)) or None,
        types=frozenset(map(check_type, request.types)) | filters.types,
        tags=frozenset(request.tags) | filters.tags,
        status=None if wants_superseded else request.status or None,
        max_priority=max(priorities if filters.tiers else [lowest, *priorities]),
        since=span.since,
        until=span.until,
        heads_only=request.heads_only and hides and not wants_superseded,
        tiers=filters.tiers,
        user=request.user,
        superseded_only=wants_superseded,
        hidden_statuses=frozenset(
            RETIRED_STATUSES if hides and request.status == "" and not is_replaced else ()
        ),
        hide_background=hides
        and request.max_priority is None
        and LOWEST_PRIORITY not in priorities,
        alive_at=now.isoformat() if hides else None,
        reader=permissions.reader(request.agent),
        themes=filters.themes,
        without=frozenset(request.without),
        among=frozenset(chain(*map(notes_in, filters.folders))) if filters.folders else None,
    )


def hinted_filters(query: ParsedQuery, filters: FactFilters) -> FactFilters:
    """Filters for the hints of a question, within its own filters.

    They leave the state of tasks and promises to `ParsedQuery.matches_hints()`.
    """
    hinted_span = None if query.asked.state == DUE else query.hinted_span
    span = TimeSpan(filters.since, filters.until).within(hinted_span or TimeSpan())
    priorities = [each for tier in query.hinted_tiers for each in TIERS[tier]]
    return filters._replace(
        types=filters.types or query.hinted_types,
        max_priority=min(filters.max_priority, max(priorities, default=LOWEST_PRIORITY)),
        since=span.since,
        until=span.until,
    )


def box_filters(query: ParsedQuery, filters: FactFilters) -> FactFilters:
    """The same for notes with check boxes, which may be ticked long after their note was made."""
    hinted = hinted_filters(query, filters)._replace(types=filters.types)
    is_closed = query.asked.state in CLOSED
    return hinted._replace(since=filters.since, until=filters.until) if is_closed else hinted


def parse_query(
    text: str, *, today: date, start_of_day: StartOfDay = str, notes_in: NotesIn = no_notes
) -> ParsedQuery:
    """Parse a question.

    Args:
        text: the question.
        today: the day from which relative dates (last week) are computed.
        start_of_day: when the days that it names begin; by default, in UTC.
        notes_in: folder -> its notes; a folder in plain words is one that has some.

    Raises:
        InvalidFieldError: a filter has an invalid value.
    """
    # Tokenizers of models refuse lone surrogates, which stand for bytes that are not UTF-8.
    text = _without_framing(text.encode(errors="replace").decode())
    filters, rest = _text_filters(text, today, start_of_day, notes_in)
    text_without_filters = rest[:MAX_CHARS]
    if not any(map(text_without_filters.__contains__, _QUOTATION_SIGNS)):
        text_without_filters = with_accents(text_without_filters)
    request = next(find_all(_REQUEST, text_without_filters, *_REQUEST_WORDS), None)
    question = text_without_filters[request.end() :] if request else text_without_filters
    if without_asides := _without_asides(question):
        text_without_filters = question = without_asides
    excluded, beside = "", frozenset[str]()
    if any(map(question.lower().__contains__, _EXCLUSION_SIGNS)):
        from vaultsync.recall.exclusions import without_exclusion  # noqa: PLC0415 - few questions

        question, excluded, beside = without_exclusion(
            question, lambda x: _asked_of(_named_times(x, today), filters)[0]
        )
    is_past = request is not None and "happen" in request[0].lower()
    times = _named_times(question, today, is_past=is_past)
    asked, hinted_tiers = _asked_of(times, filters)
    if beside:
        asked = structs.replace(asked, types=beside, hinted_types=beside)
    elif asked.types and not times.span:
        times, asked = _beside_type(question, times, asked, filters, today)
    is_due = False
    if asked.types & WITH_STATE or mentions_to_dos(question):
        from vaultsync.recall.task_states import is_deadline, with_preposition  # noqa: PLC0415 - few

        near = _named_times(with_preposition(question), today, is_near=True)
        of_near, _ = _asked_of(near, filters)
        if of_near.state == DUE or is_deadline(near.span, of_near, today):
            times, asked, is_due = near, due_then(of_near), of_near.state == DUE
    rest, named = times.words, times.span
    if asked.state != DUE and named and (named.since or "") > today.isoformat():
        # Facts about the future are written before it: only promises and tasks have its date.
        asked = due_then(asked)
        named = named if asked.state else None
    phrases = tuple(
        phrase
        for match in find_all(QUOTED, rest, *_QUOTATION_SIGNS)
        if (phrase := " ".join("".join(filter(None, match.groups())).split()))
    )
    by_event = _by_event(question, times.event) if times.event else None
    if by_event and (inside := _named_times(by_event.event.words, today).span):
        named = by_event.event.bounded(inside)
    return ParsedQuery(
        text_without_filters=text_without_filters,
        words=" ".join(_without_matches(rest, find_all(_AMOUNT, rest, "how ", "wie ")).split()),
        phrases=phrases,
        filters=filters,
        asked=asked,
        hinted_tiers=hinted_tiers,
        hinted_span=_hinted(named, asked, start_of_day),
        by_event=by_event,
        today=today.isoformat(),
        excluded=excluded,
        month=_written_month(times.name) if named and asked.state != DUE else "",
        day_words="" if is_due or asked.topic else times.name,
    )


def _without_framing(text: str) -> str:
    """What a text asks, without *Hey, quick question:* and *Thanks!*, which facts have, too."""
    if not any(map(text[:-1].lower().__contains__, _FRAMING_SIGNS)):
        return text
    from vaultsync.recall.framing import without_framing  # noqa: PLC0415 - few questions

    return without_framing(text.strip())


def _written_month(name: str) -> str:
    """A date without its preposition, if it names a month: *October* for *in October*.

    *In May* keeps it: without one, *may* is a verb.
    """
    words = [word for word in name.split() if not _is_function_word(word)]
    if [word.lower() for word in words] == ["may"]:
        return name
    has_month = any(word.lower().startswith(_MONTH_SIGNS) for word in words)
    return " ".join(words) if has_month else ""


def _beside_type(
    question: str, times: _NamedTimes, asked: AskedFor, filters: QuestionFilters, today: date
) -> tuple[_NamedTimes, AskedFor]:
    """The time without a preposition beside a type: *decisions on Monday*, *November decisions*.

    Without one, what the question says is returned as it is.
    """
    if not asked.topic:
        if any(map(question.lower().endswith, _UNIT_SIGNS)):
            # The *mes* of *decisiones del mes* is French for *my*, and so no topic.
            from vaultsync.recall.task_states import with_preposition  # noqa: PLC0415 - few

            times = _named_times(with_preposition(question), today)
            return times, _asked_of(times, filters)[0]
        return times, asked
    topic = " ".join(asked.topic)
    is_on_day = any(map(topic.__contains__, _CALENDAR_SIGNS))
    bare = _named_times(question, today, is_past=True) if is_on_day else times
    bare = bare if bare.span else _bare_date(asked, times, today)
    of_bare = _asked_of(bare, filters)[0] if bare.span else asked
    if not of_bare.topic:
        from vaultsync.recall.time_words import is_subject  # noqa: PLC0415 - few questions

        return (times, asked) if is_subject(topic, question) else (bare, of_bare)
    return times, asked


def _asked_of(times: _NamedTimes, filters: QuestionFilters) -> tuple[AskedFor, frozenset[str]]:
    """What a question without its time asks for, and the tiers that it hints at."""
    plain, hinted_tiers = _tier_hints(times.rest)
    is_narrowed = filters.has_any or bool(hinted_tiers or times.span)
    is_of_tasks = bool(filters.types) and filters.types <= WITH_STATE
    return asked_for(plain, is_narrowed=is_narrowed, is_of_tasks=is_of_tasks), hinted_tiers


class _NamedTimes(Struct, frozen=True):
    """The time that a question names, and the rest of the question."""

    rest: str
    """The question without it."""
    words: str
    """The question for keyword search, which keeps a date that notes may repeat."""
    span: TimeSpan | None = None
    event: NamedEvent | None = None
    name: str = ""
    """The words for a weekday, season, holiday or date."""


def _named_times(
    question: str, today: date, *, is_near: bool = False, is_past: bool = False
) -> _NamedTimes:
    """Find the time in a question.

    `is_near` if it asks for what is due, `is_past` if it asks for what happened.
    """
    lowered, relative = question.lower(), None
    if any(map(lowered.__contains__, _CALENDAR_SIGNS)):
        from vaultsync.recall.calendar_words import calendar_span  # noqa: PLC0415 - few questions

        relative = calendar_span(question, today, is_near=is_near, is_past=is_past)
    is_calendar = relative is not None
    if relative is None and any(map(lowered.__contains__, _RELATIVE_SIGNS)):
        from vaultsync.model.written_dates import relative_span  # noqa: PLC0415 - few questions

        relative = relative_span(question, today, is_near=is_near)
    has_signs = any(map(lowered.__contains__, _TIME_SIGNS))
    if relative and not is_calendar and (has_signs or "by " in lowered):
        from vaultsync.recall.time_words import bounded  # noqa: PLC0415 - few questions

        relative = bounded(relative, question)
    rest = _without(question, relative)
    words = question if is_calendar else rest
    name = question[relative.begin : relative.end] if relative and is_calendar else ""
    if not has_signs:
        return _NamedTimes(rest, words, relative.span if relative else None, name=name)
    from vaultsync.recall.time_words import dated_span, named_event  # noqa: PLC0415 - few questions

    dated = dated_span(rest, today, is_near=is_near)
    # The season in "since the summer" is no event.
    event = None if is_calendar else named_event(question)
    if event and dated and rest == question and event.begin == dated.begin:
        event = None  # *hasta el 5 de mayo*
    span = _intersect_spans(relative, dated)
    name = name or (rest[dated.begin : dated.end] if dated else "")
    return _NamedTimes(_without(rest, dated), words, span, event, name)


def _bare_date(asked: AskedFor, times: _NamedTimes, today: date) -> _NamedTimes:
    """The time in a question whose topic is a date without a preposition: *November decisions*."""
    # As written: *2026-05* is two words.
    lowered = times.rest.lower()
    end = lowered.rfind(asked.topic[-1]) + len(asked.topic[-1])
    topic = lowered[max(0, lowered.find(asked.topic[0])) : end]
    if not any(map(topic.__contains__, (*_TIME_SIGNS, *_UNIT_SIGNS))):
        return times
    from vaultsync.recall.time_words import bare_date  # noqa: PLC0415 - few questions

    span = bare_date(topic, today)
    rest = lowered.replace(topic, " ")
    return _NamedTimes(rest, times.words, span, name=topic) if span else times


def _hinted(span: TimeSpan | None, asked: AskedFor, start_of_day: StartOfDay) -> TimeSpan | None:
    """The span with the times at which its days begin; what is due has a date without a time."""
    return span if span is None or asked.state == DUE else span.of_days(start_of_day)


def _by_event(question: str, event: NamedEvent) -> SinceEvent | None:
    """The question besides the event, if it asks for facts of a type, or for all.

    In any other question the event is probably the topic: *What must be done before the
    release?*
    """
    rest = f"{question[: event.begin]} {question[event.end :]}"
    asked = asked_for(rest, is_narrowed=True)
    is_bound = bool(asked.types) or not (asked.topic or is_of_place(rest))
    return SinceEvent(event, " ".join(rest.split()), asked) if is_bound else None


def _text_filters(
    text: str, today: date, start_of_day: StartOfDay, notes_in: NotesIn
) -> tuple[QuestionFilters, str]:
    """The filters in a question, and the rest of it."""
    labels = {key: set[str]() for key in _LABELS}
    since = until = None
    filters = list(find_all(_FILTER, text, ":"))
    for match in filters:
        key, value = match[1].lower(), match[2].rstrip(_AFTER_VALUE).strip("\"'")
        if key in _DATES:
            from vaultsync.model.written_dates import date_bounds  # noqa: PLC0415 - few questions

            first, after = date_bounds(key, value, today=today)
            since = first if key == "since" else after if key == "after" else since
            until = after if key == "until" else first if key == "before" else until
        elif label := _LABELS[key](value):
            labels[key].add(label)
        else:
            raise InvalidFieldError(key, match[2][:80], QUERY_FILTERS[key])
    rest = _without_matches(text, filters)
    for pattern, needed in ((_TAG, ("#",)), (_TAGGED, ("tag", "étiquet", "etiquet", "etikett"))):
        found = find_all(pattern, rest, *needed)
        named_tags = [
            x
            for x in found
            if (pattern == _TAG or not _is_function_word(x[1]))
            and not _NOT_TAGGED.search(rest, max(x.start() - _BEFORE_TAG, 0), x.start())
        ]
        labels["tag"] |= {match[1].rstrip("/") for match in named_tags}
        rest = _without_matches(rest, named_tags)
    lowered = rest.lower()
    if any(map(lowered.__contains__, _FOLDER_SIGNS)):
        from vaultsync.recall.asked_folders import named_folder  # noqa: PLC0415 - few questions

        folder, rest = named_folder(rest, notes_in)
        labels["folder"].update(filter(None, (folder,)))
    span = TimeSpan(since, until).of_days(start_of_day)
    # The fields are the plurals of the filters.
    by_field = {f"{key}s": frozenset(found) for key, found in labels.items()}
    return QuestionFilters(**by_field, span=span), " ".join(rest.split())


def _is_function_word(word: str) -> bool:
    return any(word.lower() in FUNCTION_WORDS[each] for each in LANGUAGES)


def _without(text: str, named: NamedSpan | None) -> str:
    return f"{text[: named.begin]} {text[named.end :]}" if named else text


def _intersect_spans(relative: NamedSpan | None, dated: NamedSpan | None) -> TimeSpan | None:
    """Combine the two spans of a question: their intersection, or else the relative one."""
    if relative is None or dated is None:
        named = relative or dated
        return named.span if named else None
    both = relative.span.within(dated.span)
    return both if (both.since or "") < (both.until or "9999-12-31") else relative.span


def _tier_hints(text: str) -> tuple[str, frozenset[str]]:
    """A text without its tier hints, and these tiers."""
    tiers = set[str]()
    for match in find_all(_TIER_HINT, text, *TIERS):
        tiers.add(match[1].lower())
        text = text.replace(match[0], match[2] if names_type(match[2]) else " ", 1)
    return text, frozenset(tiers)


def _without_asides(question: str) -> str:
    """A question without asides; empty if it has none, consists of them, or has a quotation."""
    is_quoting = any(sign in question for sign in _QUOTATION_SIGNS)
    asides = [] if is_quoting else list(find_all(_ASIDE, question, *_ASIDE_WORDS))
    rest = " ".join(_without_matches(question, asides).split()) if asides else ""
    is_empty = FUNCTION_WORDS[ENGLISH].issuperset(re.findall(r"\w+", rest.lower()))
    return "" if is_empty else rest


def _without_matches(text: str, matches: Iterable[re.Match[str]]) -> str:
    """A text with each match replaced by a blank."""
    parts, at = [], 0
    for match in matches:
        parts.append(text[at : match.start()])
        at = match.end()
    return " ".join([*parts, text[at:]])
