"""Answer a question: keyword search first, semantic search when that is not confident enough.

An index proposes candidates and the store decides: each candidate is loaded from the store and
checked again, so that an answer contains nothing outdated, and nothing that the agent must not
see.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cache, cached_property, partial
from itertools import filterfalse, islice, pairwise
from math import fsum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from vaultsync.errors import DerivedError, InvalidFieldError
from vaultsync.indexing.language import GERMAN
from vaultsync.indexing.note_index_sync import catch_up_note_index
from vaultsync.indexing.ports import IMPORTANT, NEWEST, NO_EMBEDDER, OLDEST, VectorIndex
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.counts import count_noun
from vaultsync.model.dates import DAY_LENGTH
from vaultsync.model.decay import by_importance, recency, utility
from vaultsync.model.fact import Fact, is_of_assistant, is_turn, origin_of
from vaultsync.model.filters import FactFilters
from vaultsync.model.hiding import (
    BACKGROUND,
    BRANCH,
    OBSERVATION,
    RETIRED_STATUSES,
    SUPERSEDED,
    HiddenMatches,
)
from vaultsync.model.schema import NAMED_TYPES, TIERS, WITH_STATE
from vaultsync.recall.asked_words import DUE, OPEN, OVERDUE, TAGS_OF_TYPE
from vaultsync.recall.candidates import Candidates
from vaultsync.recall.explanation import SNIPPET_LENGTH, explain_hit, has_phrases, hit_snippet
from vaultsync.recall.opposed_hits import OpposedHits
from vaultsync.recall.query import ParsedQuery, box_filters, hinted_filters, parse_request
from vaultsync.recall.question_words import QuestionWords
from vaultsync.recall.ranking import (
    ASKED_MISMATCH_FACTOR,
    ASSISTANT_FACTOR,
    HINT_MISMATCH_FACTOR,
    NAMED_MISMATCH_FACTOR,
    ORDERED_SIMILARITY,
    PREFERENCE_FACTOR,
    WRONG_NAME_FACTOR,
    RankingSignals,
    answer_probability,
    answer_signs,
    confidence,
    fuse,
    rescale_similarities,
    weighted_score,
)
from vaultsync.recall.recall_request import RECALL_MODES, RecallRequest
from vaultsync.recall.result import Hit, RecallResult, RecallSources, RecallStage, StageCandidate

if TYPE_CHECKING:  # few questions need them
    from vaultsync.recall.question_vectors import CosineScale
    from vaultsync.recall.semantic_search import SemanticSearch
    from vaultsync.recall.time_words import NamedEvent

_log = logging.getLogger(__name__)

INDEX_ONLY_CONFIDENCE = 0.4
"""Minimum confidence with which keyword search answers alone. Measured on golden/retrieval: at 0.4
it answers 70 % of the questions, and recall@5 is 0.681; at 0.35 these are 73 % and 0.664, at 0.5
63 % and 0.698; always using semantic search gives 0.707."""
POOL_SIZE = 30
"""Minimum number of best candidates that are loaded and scored; three times the limit if more."""
MAX_HITS = 1 << 31
"""More than any memory has, and no more than the databases can represent."""
DUE_READ = 500
"""How many of the facts that are due are ordered by their dates, the most important ones."""
CONFIDENCE_HITS = 5
"""The number of first hits that the confidence is about."""
FUSED_CANDIDATES = 50
"""Number of candidates of each search that are fused. Measured: with 30 or 100, LoCoMo's
recall@5 differs by at most 0.005."""
WORDS_ONLY = "Only keyword search is available for the past: the vectors are of the current texts."
SUCCESSOR_LEAD = 1.5
"""How many times as well as the best fact that may be shown a replaced one must match for its
successor to come first. Where it should, it was 2 to 3.4 times, where it should not, up to 1.4."""
SUCCESSOR_COVERAGE = 2 / 3
"""Share of the terms in one of the first hits from which no replaced fact is searched for: hardly
one matches that much better, and most questions need no further search."""
OPPOSED_CANDIDATES = 30
"""Number of facts examined for each of the first hits that has a *never*."""
_ROLE_WORDS, _TAG_WORDS = 2, 3
"""Minimum number of words of a role that a question names, and maximum number of terms of one that
may be a tag or two, with the verb of a request."""
_BELOW_NAMED = 0.99
"""Maximum similarity of others if a question names a note and nothing else; and as a factor, what
keeps others from those among which the newest is chosen."""
WHEN = (
    *("when ", "what happened ", "wann ", "was geschah ", "was passierte ", "was ist bei "),
    *("quand ", "que s'est-il ", "qu'est-il ", "cuándo ", "cuando ", "qué pasó ", "qué ocurrió "),
)
"""The beginnings of questions for an event, if they are about the past."""
_MEASURES = (
    *("when", "how ", "what date", "what time", "wann", "wie ", "wieviel", "quand", "combien"),
    *("cuándo", "cuánt", "いつ", "いく", "何"),
)
"""Of these, most questions for a time or a number have one."""
READ_WITH = "fits better when it is read with the question"
NAMED = "is what the question names"
SUCCEEDS = "replaces what matches best"
SAID_EARLIER = "was said before this was denied"
NEAR_ONE_EVENT = "was compared with each of the two events"

_RankedFact: TypeAlias = tuple[float, str, RankingSignals]
"""The negative score, the id and the signals of a candidate, which sort best first."""


class RecallSearch:
    """A question that is being answered.

    Args:
        browse: whether an empty question returns all facts, the most important first, instead
            of none.

    Raises:
        InvalidFieldError, UnknownTypeError, InvalidScopeError: a filter is invalid.
    """

    _is_current = False  # whether the index is up to date

    def __init__(
        self, sources: RecallSources, request: RecallRequest, *, browse: bool = False
    ) -> None:
        if request.mode not in RECALL_MODES:
            raise InvalidFieldError("mode", request.mode, "one of " + ", ".join(RECALL_MODES))
        self._clock = sources.ctx.clock
        self._began = self._stage_began = self._clock.monotonic()
        self._sources = sources
        self.index = sources.index
        """The index to search; an agent may have its own."""
        self._request = structs.replace(request, limit=min(request.limit, MAX_HITS))
        self._now = self._clock.now()
        self._permissions = sources.ctx.policy.permissions
        query, filters = self._parsed(request)
        self._degraded = [*sources.unknown, *([WORDS_ONLY] if request.as_of else [])]
        """What was missing, one sentence each."""
        self.candidates = Candidates(sources, filters, self._degraded)
        self._asks_nothing = browse and not request.query.strip()
        if self._asks_nothing:
            # At the start of a session, nothing is left to do about what is done.
            state = OPEN if request.status == "" and not request.all else ""
            asked_for = structs.replace(query.asked, order=IMPORTANT, state=state)
            query = structs.replace(query, asked=asked_for)
        self._pool_size = max(POOL_SIZE, 3 * self._request.limit)
        self._ask(query)
        self._keyword_scores: dict[str, float] = {}
        self._keyword_limit = 0
        """How many facts were requested from the note index so far."""
        self._semantic: SemanticSearch | None = None
        self._hinted: set[str] = set()
        """Candidates that match the hints of the question."""
        self._similarities: dict[str, float] = {}
        self._factors: dict[str, float] = {}
        """Factor on the score of a candidate."""
        self.answers: Mapping[str, str] = {}
        """Candidate -> the question of another person that it directly follows."""
        self._is_of_other = False
        """Whether another person says of themselves what is asked about the named one."""
        self._moves: dict[str, list[str]] = {}
        """Why candidates moved up or down, by their ids."""
        self._trust, self._confidence, self._coverage = 1.0, 0.0, 0.0
        self._stages: list[RecallStage] = []
        self.facts: list[Fact] = []
        """The facts of the hits, in order, each with the path of its note."""

    def _parsed(self, request: RecallRequest) -> tuple[ParsedQuery, FactFilters]:
        notes_in = cache(self._notes_in)  # a folder in plain words is first looked for, then read
        return parse_request(
            request, clock=self._clock, permissions=self._permissions, notes_in=notes_in
        )

    def _notes_in(self, named: str) -> frozenset[str]:
        """The ids of the notes in a folder; none if the agent may read none of them.

        An agent does not learn whether there is a folder of notes that it may not read.
        """
        from vaultsync.recall.asked_folders import is_in_folder  # noqa: PLC0415 - few questions

        ctx, reader = self._sources.ctx, self._permissions.reader(self._request.agent)
        folders = [each for each in ctx.archive.base_folders() if is_in_folder(each, named)]
        ids = {note for each in folders for note, _ in ctx.archive.stamps_in(each).values()}
        if reader is None:
            return frozenset(ids)
        facts = ctx.redacted_store.find_many(ids)
        return frozenset(each for each, fact in facts.items() if reader.reads(fact.scope))

    def _ask(self, query: ParsedQuery) -> None:
        """Use this query for the indexes."""
        self.query = query
        """The question as it is understood so far."""
        self._filters_to_ask = [self.filters]
        """The filters and, as a separate query, their subset that the question hints at."""
        if query.has_hints:
            self._filters_to_ask.append(hinted_filters(query, self.filters))
        self.words = QuestionWords(query.words, query.asked, self.index, self._sources.is_word)
        """Its words, as they are in the index."""
        self._order = ""
        """The order of the facts on the topic."""
        self._near_one_event = False
        """Whether the cosines are those of the nearer of two events."""
        self._lacks_vectors = False
        """Whether some of the best keyword matches have no vectors yet."""

    def answer(self) -> RecallResult:
        """The facts that answer the question, best first. Writes only to the indexes."""
        if self.query.by_event is not None:
            self._look_up(self.query.by_event.event)
        mode = "index" if self._request.as_of else self._request.mode
        source = self._browse() if self.query.is_set else self._search(mode)
        if not self._similarities and self.query.day_words:
            self._search_for_day()
        # The index keeps its last query, which the search for contradictions replaces.
        counted = self._count_hidden()
        may_add = source != "vector" and self._coverage < SUCCESSOR_COVERAGE
        if counted.get(SUPERSEDED) and not self.query.is_set and may_add:
            self._add_successor()
        hits = self._hits()
        hidden = self._hidden_matches(counted)
        _log.debug("%d hits from %s, confidence %.3f", len(hits), source, self._confidence)
        return RecallResult(
            query=self._sources.ctx.view.redact_text(self._request.query),
            source=source,
            confidence=round(self._confidence, 3),
            answerable=round(self._answerable(), 3),
            degraded=tuple(dict.fromkeys(self._degraded)),
            seconds=self._clock.monotonic() - self._began,
            hits=hits,
            hidden=hidden,
            nothing_known="" if hits else self._nothing_known(hidden),
            stages=tuple(self._stages),
        )

    @property
    def may_ask_for_set(self) -> bool:
        """Whether the question asks for a set, or may, once the day of its event is known."""
        return self.query.is_set or self.query.by_event is not None

    @property
    def filters(self) -> FactFilters:
        """The filters of the question and the request."""
        return self.candidates.filters

    @property
    def cosines(self) -> Mapping[str, float]:
        """Candidate -> its cosine; empty without a semantic search."""
        return self._semantic.cosines if self._semantic else {}

    @property
    def _foreign(self) -> CosineScale | None:
        """The scale of the cosines if the model hardly knows the language of the question."""
        return self._semantic.foreign if self._semantic else None

    def scaled(self, cosine: float) -> float:
        """A cosine on the scale of English texts."""
        return self._foreign.rescale(cosine) if self._foreign else cosine

    # --------------------------------------------------------------------- stages

    def _look_up(self, event: NamedEvent) -> None:
        """Limit the question to the time of an event, if a fact contains all its words."""
        self._catch_up()
        if found := self._find_event(event.words):
            fact, score = found
            day = self._clock.local_day(datetime.fromisoformat(fact.created_at)).isoformat()
            self._ask(self.query.dated(day, self._clock.start_of_day))
            self._record_stage("event", {fact.id: score})

    def _corrected(self) -> ParsedQuery | None:
        """The question with the words for *overdeu* and others that no fact has; None for most.

        Words that facts have joined, or as two, are written as they are in facts.
        """
        unknown = self.words.unknown()
        if not (unknown or self.words.in_english):
            return None
        from vaultsync.recall.misspelled_requests import without_slips  # noqa: PLC0415 - few questions

        stems, is_word = {""} if self.words.in_english else unknown, self._sources.is_word
        text = without_slips(self._request.query, stems, self.words.stems_of, is_word)
        text = self.words.known.with_joints(text, unknown)
        if text == self._request.query:
            return None
        return self._parsed(structs.replace(self._request, query=text))[0]

    def _search_for_day(self) -> None:
        """Search for the name of a day if no fact is of that day: *that Saturday* may be any.

        Facts with a part of it are no answer, such as one with the *last* of *last Saturday*, nor
        are facts of other types than those that the question asks for.
        """
        empty, words = self.query, self.query.day_words
        topic = structs.replace(empty.asked, topic=(words,))
        self._ask(structs.replace(empty, words=words, asked=topic, hinted_span=None))
        self._read_words()
        self._search_keywords()
        fits, name = self._similarities, self.words.topic
        self._similarities = {
            each: fits[each]
            for each in fits
            if name <= self.words.of(self.candidates.facts[each]).keys()
            and (not empty.hinted_types or self.query.is_of_asked_type(self.candidates.facts[each]))
        }
        self._estimate_confidence()
        if not self._similarities:
            self._ask(empty)
        elif not empty.hinted_types and (event := self._find_event(words)):
            named = event[0].id
            self._load([named])
            if named not in self.candidates.facts:
                return  # an event may be of another type or time than what the filters allow
            fits = {each: NAMED_MISMATCH_FACTOR * fit for each, fit in self._similarities.items()}
            self._similarities = fits | {named: 1.0}

    def _find_event(self, words: str) -> tuple[Fact, float] | None:
        from vaultsync.recall.event_dates import find_event  # noqa: PLC0415 - few questions name one

        load, language = self.candidates.find, self.words.language
        return find_event(words, self.index, self.filters, load, language=language)

    def _search(self, mode: str) -> str:
        """Find candidates by one search or both; returns the source of the answer."""
        is_sure = False
        mode = mode if self.query.text_without_filters else "index"  # no words to embed
        if mode == "vector":
            self._catch_up()  # Only facts that the agent may see count.
            self.words.translate()
        else:
            # If results are fused in any case, request all candidates at once.
            is_fused = mode == "fused" or (mode == "auto" and self._sources.warm)
            self._read_words()
            if corrected := self._corrected():
                self._ask(corrected)
                if corrected.by_event is not None:
                    self._look_up(corrected.by_event.event)
                if self.query.is_set:
                    return self._browse()
                self._read_words()
            self._search_keywords(limit=FUSED_CANDIDATES if is_fused else 0)
            is_sure = mode == "auto" and self._confidence >= INDEX_ONLY_CONFIDENCE
            if mode == "index" or (is_sure and not self._sources.warm and self._best_is_asked_for):
                return "index"
        missing = self._search_vectors(mode)
        if missing and is_sure:
            return "index"
        if missing:
            self._degraded.append(f"Semantic search was not possible: {missing}.")
            if mode == "vector":
                self.words.add_terms_of_notes()
                self._search_keywords()
            return "index"
        self._rerank()
        return "vector" if mode == "vector" else "fused"

    @property
    def _best_is_asked_for(self) -> bool:
        """Whether the best candidate has a type that the question asks for, if it asks for one."""
        if not self.query.asked.types:
            return True
        best = next(iter(self._similarities), None)
        return best is not None and self.query.is_of_asked_type(self.candidates.facts[best])

    def _browse(self) -> str:
        """Find the facts of a set, in its order; returns the source of the answer.

        The filters define the set, so no search is needed.
        """
        self._catch_up()
        asked, limit = self.query.asked, self._request.limit
        is_by_due_date = asked.state in (DUE, OVERDUE) and not asked.order
        limit = max(limit, DUE_READ) if is_by_due_date else limit
        members = self._members_by_tier if self._asks_nothing else self._members
        matches = members(self._filters_to_ask[-1], limit)
        tags = self._asked_tags
        if tags and (tagged := self._members(self._note_filters, limit, tags=tags)):
            matches = self._in_order({*matches, *tagged}, asked.order or IMPORTANT)
        if self.query.asks_for_tasks and len(matches) < limit:
            filters = box_filters(self.query, self.filters)
            matches += self._members(filters, limit, boxes=self.query.asked_boxes)
        if self.query.month[:1].isdecimal() and len(matches) < limit:
            named = self._naming_month(limit)
            self._load(named)
            at_any_time = structs.replace(self.query, hinted_span=None)
            known = self.candidates.facts
            matches += [
                each
                for each in named
                if each not in matches and each in known and at_any_time.matches_hints(known[each])
            ]
        if is_by_due_date:
            from vaultsync.recall.task_states import first_due_date  # noqa: PLC0415 - few questions

            tasks, today = self.query.tasks_in, self.query.today if asked.is_upcoming else ""
            facts = self.candidates.facts
            due = {x: first_due_date(facts[x], tasks(facts[x])) for x in matches}
            matches.sort(key=lambda each: (due[each] < today, due[each]))
        self._similarities = dict.fromkeys(matches[: self._request.limit], 1.0)
        self._confidence = float(bool(matches))
        self._record_stage("browse", self._similarities)
        return "index"

    def _members_by_tier(self, filters: FactFilters, limit: int) -> list[str]:
        """The first facts by tier; each tier's observations get at most a third while others wait.

        Otherwise those of the first tier, which only become more, would be all that there is.
        """
        room, members, waiting = limit // len(TIERS), list[str](), set[str]()
        for tier in TIERS:
            found = self._members(filters._replace(tiers=frozenset({tier})), limit)
            facts = (self.candidates.facts[each] for each in found)
            observations = [fact.id for fact in facts if fact.type == OBSERVATION]
            waiting.update(observations[room:])
            members += found
        chosen = frozenset(sorted(members, key=waiting.__contains__)[:limit])
        return [each for each in members if each in chosen]

    def _members(
        self,
        filters: FactFilters,
        limit: int,
        *,
        boxes: str = "",
        tags: AbstractSet[str] = frozenset(),
    ) -> list[str]:
        """The first facts that match the filters and the hints."""
        order, count = self.query.asked.order or IMPORTANT, limit
        while True:
            count *= 4
            if filters.among is None:
                ids = self.index.browse(filters, order=order, limit=count, boxes=boxes, tags=tags)
                self._load(ids)
            else:
                ids = self._ordered_folder(filters, order)
            facts = [self.candidates.facts[each] for each in ids if each in self.candidates.facts]
            matches = [
                fact.id
                for fact in facts
                if self.query.matches_hints(fact) and (self.query.tasks_in(fact) or not boxes)
            ]
            # A folder is read as a whole.
            if len(matches) >= limit or len(ids) < count or filters.among is not None:
                return matches

    def _ordered_folder(self, filters: FactFilters, order: str) -> list[str]:
        """The notes of a folder in the order of a set."""
        self._load(filters.among or ())
        loaded = self.candidates.facts
        return self._in_order([x for x, fact in loaded.items() if filters.admits(fact)], order)

    def _in_order(self, fact_ids: Iterable[str], order: str) -> list[str]:
        """Loaded facts in the order of a set."""
        facts = sorted(map(self.candidates.facts.__getitem__, fact_ids), key=lambda each: each.id)
        facts.sort(key=lambda each: to_microseconds(each.created_at), reverse=order != OLDEST)
        if order == IMPORTANT:
            facts.sort(key=by_importance)
        return [each.id for each in facts]

    @property
    def _asked_tags(self) -> frozenset[str]:
        """The tags by which notes, if they may be shown, are of a type that is asked for."""
        if self.filters.types and "note" not in self.filters.types:
            return frozenset()
        return frozenset().union(*(TAGS_OF_TYPE.get(x, ()) for x in self.query.asked.types))

    @property
    def _note_filters(self) -> FactFilters:
        """The filters for notes with such a tag."""
        return self._filters_to_ask[-1]._replace(types=frozenset({"note"}))

    @cached_property
    def _notes_as_asked(self) -> AbstractSet[str]:
        """The notes with such a tag, or with check boxes that are the tasks that are asked for."""
        found, search = set[str](), partial(self.index.browse, limit=MAX_HITS)
        if tags := self._asked_tags:
            found.update(search(self._note_filters, tags=tags))
        if self.query.asks_for_tasks:
            filters = box_filters(self.query, self.filters)
            found.update(search(filters, boxes=self.query.asked_boxes))
        return found

    def _read_words(self) -> None:
        """Find out what the words of the question are in the facts, in an updated index."""
        self._catch_up()
        self.words.translate()
        self.words.add_irregular_forms()
        self.words.add_nouns_of_verbs()
        self.words.add_terms_of_notes()

    def _search_keywords(self, *, limit: int = 0) -> None:
        self.words.correct_spelling()
        self._collect(self._query_note_index, limit=max(limit, self._pool_size + 1))
        self._record_stage("index", self._keyword_scores)

    def _missing_stems(self, count: int) -> list[str]:
        """The terms of the question that none of the `count` best candidates contains."""
        hits = map(self.candidates.facts.__getitem__, islice(self._similarities, count))
        numbers = set().union(*map(self.words.of, hits))
        stems = enumerate(self.words.terms.stems)
        return [stem for number, stem in stems if number not in numbers]

    def _catch_up(self) -> None:
        if self._is_current:
            return
        self._is_current = True
        if self._sources.visible_index is not None:
            self.index, report = self._sources.visible_index()
        else:
            report = catch_up_note_index(self._sources.ctx, self.index)
        if report.degraded:
            state = "was replaced by a temporary one" if report.temporary else "may be out of date"
            self._degraded.append(f"The note index {state}: {report.degraded}.")
        self.index = self.words.index = self.index.last_commit()
        self._record_stage("catch-up", {})

    def _search_vectors(self, mode: str) -> str:
        """Add semantic matches; returns what is missing if that is not possible."""
        # Keyword search in a new process loads no code for vectors.
        from vaultsync.recall.semantic_search import SemanticSearch, why_unusable  # noqa: PLC0415 - see above

        question = self.words.spelled_right(self.query.text_without_filters)
        try:
            vectors, embedder = self._sources.vectors(), self._sources.embedder()
            if vectors is None or embedder is None:
                return NO_EMBEDDER
            if missing := why_unusable(vectors, embedder):
                return missing
            self._semantic = SemanticSearch(vectors, embedder, question, self.words)
            self._near_one_event = self._semantic.is_near_one_event
            self._record_stage("embed", {})
            semantic = partial(self._query_vector_index, self._semantic)
            searches = [semantic] if mode == "vector" else [semantic, self._query_note_index]
            self._collect(*searches, limit=max(FUSED_CANDIDATES, self._pool_size + 1))
        except (DerivedError, ImportError, OSError) as error:
            return str(error)
        self._note_missing_vectors(vectors, self._semantic)
        self._record_stage("vector", self.cosines)
        self._record_stage("fused", self._similarities)
        return ""

    def _note_missing_vectors(self, vectors: VectorIndex, semantic: SemanticSearch) -> None:
        if (share := vectors.count() / (self._sources.index.count() or 1)) < 1:
            from vaultsync.indexing.vector_index_sync import unembedded_note  # noqa: PLC0415 - rare

            self._degraded += unembedded_note(self._sources.ctx, vectors, share)
            scores = self._keyword_scores
            best = sorted(scores, key=lambda each: -scores[each])[:CONFIDENCE_HITS]
            self._lacks_vectors = not semantic.knows(best)

    def _rerank(self) -> None:
        if not self._similarities:
            return
        try:
            if (reranker := self._sources.reranker()) is None:
                return
            from vaultsync.recall.reranking import passage_of, rerank  # noqa: PLC0415 - only with a reranker

            chunks = self._semantic.nearest_chunks if self._semantic else {}
            question = self.words.spelled_right(self.query.text_without_filters)
            passages = {
                x: passage_of(self.candidates.facts[x], chunks.get(x, ""), self.words.terms)
                for x in islice(self._similarities, reranker.candidates)
            }
            self._similarities, risen = rerank(reranker, question, passages, self._similarities)
        except (DerivedError, ImportError, OSError) as error:
            self._degraded.append(f"The hits were not reranked: {error}.")
            return
        self._moves = {each: [READ_WITH] for each in risen}
        self._record_stage("rerank", self._similarities)

    def _query_note_index(self, limit: int) -> int:
        """Find keyword matches; returns the total number."""
        if self._keyword_limit < limit:
            if self.query.month:
                self._hinted.update(self._naming_month(limit))
            # The index keeps its last query, of which the hidden matches are counted.
            for filters in self._filters_to_ask:
                hits = self.index.search(
                    self.words.searched, filters, phrases=self.query.phrases, limit=limit
                )
                self._keyword_scores.update(hits)
                if filters is not self._filters_to_ask[0]:
                    self._hinted.update([each.fact_id for each in hits])
            self._keyword_limit = limit
        return len(self._keyword_scores)

    def _naming_month(self, limit: int) -> list[str]:
        """What may have been written later, but names the month or day: *In October we sold …*."""
        filters = hinted_filters(structs.replace(self.query, hinted_span=None), self.filters)
        named = self.index.search("", filters, phrases=(self.query.month,), limit=limit)
        return [each.fact_id for each in named]

    def _query_vector_index(self, semantic: SemanticSearch, limit: int) -> int:
        """Find the facts nearest to the question; returns their number."""
        # Not held by `semantic`: a cycle would keep the searched index in memory.
        invisible = None if self._request.agent is None else self._invisible
        for filters in self._filters_to_ask:
            found = semantic.search(filters, limit, invisible)
            if filters is not self._filters_to_ask[0]:
                self._hinted.update(found)
        return len(semantic.cosines)

    def _invisible(self, fact_ids: Sequence[str]) -> Collection[str]:
        """The candidates that the agent cannot see, among others."""
        self._load(fact_ids)
        return self.candidates.invisible

    # ----------------------------------------------------------------- candidates

    def _collect(self, *searches: Callable[[int], int], limit: int) -> None:
        """Search until enough candidates may be shown, and rate them and the answer."""
        widened = False
        while True:
            has_more = max([search(limit) for search in searches]) >= limit
            scores = fuse(
                self._keyword_scores,
                self.cosines,
                # A model that hardly knows the language outweighs no word that was found, nor
                # does one that has read none of the candidates yet.
                trust=self._trust if self.cosines and not self._foreign else 1.0,
                vector_weight=self._sources.weights.vectors,
            )
            if (among := self.filters.among) is not None:
                scores = {each: score for each, score in scores.items() if each in among}
            if self.query.has_hints:
                is_asked = self.query.asked.types
                for each in scores.keys() - self._hinted - self._notes_as_asked:
                    scores[each] *= ASKED_MISMATCH_FACTOR if is_asked else HINT_MISMATCH_FACTOR
            is_full = self._select(scores)
            # If most are an assistant's messages, facts that count in full are further down.
            lowered = sum(each < 1 for each in self._factors.values())
            is_wanting = not widened and lowered > len(scores) / 2
            if not has_more or (is_full and not is_wanting):
                break
            widened = True
            limit *= 4
        matched = self._estimate_confidence()
        if not self.cosines:
            topic = self.words.topic
            covered = max((len(topic & each) for each in matched), default=0)
            self._trust = covered / max(len(topic), 1)

    def _estimate_confidence(self) -> list[AbstractSet[int]]:
        """Set the confidence; returns the terms that each of the first candidates contains."""
        matched = [self._terms_in(each) for each in islice(self._similarities, CONFIDENCE_HITS)]
        coverage = max(map(len, matched), default=0) / max(len(self.words.terms.stems), 1)
        self._coverage = coverage
        self._confidence = confidence(
            [self._keyword_scores[k] for k in self._similarities if k in self._keyword_scores],
            [self.scaled(self.cosines[k]) for k in self._similarities if k in self.cosines],
            coverage=coverage,
            fact_count=self.words.fact_count,
        )
        return matched

    def _terms_in(self, fact_id: str) -> AbstractSet[int]:
        """The terms that a candidate contains; an answer also has those of its question."""
        ids = filter(None, (fact_id, self.answers.get(fact_id)))
        facts = map(self.candidates.facts.__getitem__, ids)
        return set().union(*map(self.words.of, facts))

    def _answerable(self) -> float:
        """The probability of an answer, by the candidates found."""
        if self.query.is_set:
            return self._confidence
        counts, fact_count = self.words.counts(), self.words.fact_count
        stems = (self.words.terms.stems[each] for each in sorted(self.words.topic))
        rarities = {stem: self.words.rarities[stem] for stem in stems}
        is_any_unknown = not all(counts.values())
        unknown = [x for x in self._missing_stems(10) if not counts[x]] if is_any_unknown else []
        lacking = (rarities.get(each, 0.0) for each in self._missing_stems(CONFIDENCE_HITS))
        signs = answer_signs(
            list(self._keyword_scores.values()),
            [*map(self.scaled, self.cosines.values())],
            rarities=list(rarities.values()),
            unknown=fsum(rarities.get(each, 0.0) for each in unknown),
            lacking=max(lacking, default=0.0),
            fact_count=fact_count,
        )
        has_words, has_cosines = bool(self._keyword_scores), bool(self.cosines)
        answerable = answer_probability(
            signs, has_keyword_scores=has_words, has_cosines=has_cosines
        )
        if has_cosines and (self._foreign or self._lacks_vectors or self._has_asked_topic()):
            # If the model hardly knows the language, or not yet the best matches, a small cosine
            # is no sign against an answer; nor is it if a decision has all words of the topic of
            # a question for decisions.
            by_words = answer_probability(signs, has_keyword_scores=has_words, has_cosines=False)
            answerable = max(answerable, by_words)
        is_of_other = self._is_of_other or self._has_unknown_name(unknown)
        return answerable * WRONG_NAME_FACTOR if is_of_other else answerable

    def _has_asked_topic(self) -> bool:
        """Whether a fact of a type that the question asks for has all words of its topic."""
        facts = map(self.candidates.facts.__getitem__, self._similarities)
        of_type = filter(self.query.has_asked_type, facts)
        return any(self.words.topic <= self.words.of(each).keys() for each in of_type)

    def _has_unknown_name(self, unknown: Collection[str]) -> bool:
        """Whether the question is about a name that no fact has in any form.

        Advice may concern what the memory never mentions: *How do we name things in Kotlin?*
        """
        query = self.query
        if not unknown or query.hinted_span or self._asks_for_advice:
            return False  # days and months have capital letters, too
        from vaultsync.recall.names_in_questions import is_known, names_in  # noqa: PLC0415 - few

        is_german = self.words.language == GERMAN
        if not (names := names_in(query.text_without_filters, nouns_too=is_german)):
            return False
        return any(
            not is_known(name, stems, self.index, self.words.stems_of)
            for name in names
            if (stems := set(self.words.stems_of(name)).intersection(unknown))
        )

    def _count_hidden(self) -> Mapping[str, int]:
        """How many matches each default hides; a fact counts for the first that hides it.

        For a set, all of its facts match; for other questions, the keyword matches.
        """
        query, filters = self.query, self.filters
        if filters.among is not None:
            return self._count_hidden_among(hinted_filters(query, filters), filters.among)
        if query.is_set:
            return self.index.count_hidden(None, hinted_filters(query, filters))
        return self.index.count_hidden(query.words, filters, phrases=query.phrases)

    def _add_successor(self) -> None:
        """Add what replaced a fact that matches better than all that may be shown."""
        filters = self.filters.unhidden._replace(superseded_only=True)
        hits = self.index.search(
            self.words.searched, filters, phrases=self.query.phrases, limit=CONFIDENCE_HITS
        )
        known, facts, query = self._keyword_scores, self.candidates.facts, self.query
        has_hints = query.has_hints

        def factor(fact: Fact) -> float:
            return HINT_MISMATCH_FACTOR if has_hints and not query.matches_hints(fact) else 1.0

        shown = (known[each] * factor(facts[each]) for each in self._similarities if each in known)
        least = SUCCESSOR_LEAD * max(shown, default=0.0)
        better = {each: score for each, score in hits if score > least}
        found = self.candidates.find([*better]) if better else {}  # most answers read none
        rated = {each: better[each] * factor(fact) for each, fact in found.items()}
        best = max(rated, key=lambda each: (rated[each], each), default="")
        score = rated.get(best, 0.0)
        newest = self._newest_version(best) if score > least else ""
        if not newest:
            return
        self._load([newest])
        if newest in facts and (not query.asked.types or query.is_of_asked_type(facts[newest])):
            known[newest] = max(score, known.get(newest, 0.0))
            scale = max(least / score, NAMED_MISMATCH_FACTOR)
            others = {k: x * scale for k, x in self._similarities.items() if k != newest}
            self._similarities = {newest: 1.0, **others}
            self._moves.setdefault(newest, []).append(SUCCEEDS)

    def _newest_version(self, fact_id: str) -> str:
        """The id of the last fact that replaced another; empty if they are gone, or in a circle."""
        seen = set[str]()
        while fact_id not in seen and (found := self.candidates.find([fact_id])):
            seen.add(fact_id)
            if (newer := found[fact_id].superseded_by_id) is None:
                return fact_id
            fact_id = newer
        return ""

    def _count_hidden_among(
        self, filters: FactFilters, among: AbstractSet[str]
    ) -> Mapping[str, int]:
        """The same for the notes of a folder."""
        query, unhidden = self.query, filters.unhidden
        if not query.is_set:
            found = self.index.search(query.words, unhidden, phrases=query.phrases, limit=MAX_HITS)
            among = among & {each.fact_id for each in found}
        facts = self.candidates.find(sorted(among)).values()
        return Counter(filters.hidden_by(each) for each in facts if unhidden.admits(each))

    def _hidden_matches(self, counted: Mapping[str, int]) -> tuple[HiddenMatches, ...]:
        """The counted matches, and those that only apply to other branches."""
        counts = {**counted, BRANCH: len(self.candidates.of_other_branches)}
        return tuple(
            HiddenMatches(counts[reason], reason)
            for reason in (*RETIRED_STATUSES, BACKGROUND, BRANCH)
            if counts.get(reason)
        )

    def _nothing_known(self, hidden: Collection[HiddenMatches]) -> str:
        """Why a set is empty; empty if its facts are hidden."""
        if hidden or not self.query.is_set:
            return ""
        from vaultsync.recall.empty_sets import explain_empty_set  # noqa: PLC0415 - few sets are

        return explain_empty_set(self.query, self.filters, self.index)

    def _select(self, fused: Mapping[str, float]) -> bool:
        """Set the similarities of the best candidates; returns whether more remain.

        Candidates are loaded until all of the pool, and the next one, may be shown.
        An assistant's messages are recognised when loaded, and count less from then on.
        """
        if self._asks_for_advice:
            self._load(fused)
            from vaultsync.recall.conversation_words import titled_better  # noqa: PLC0415 - loaded

            for each in titled_better(self._factors, self.candidates.facts, self.words.terms):
                self._factors.pop(each)
        while True:
            scores = {each: score * self._factors.get(each, 1.0) for each, score in fused.items()}
            ranked = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
            allowed = filterfalse(self.candidates.rejected.__contains__, ranked)
            pool = list(islice(allowed, self._pool_size + 1))
            is_full = len(pool) > self._pool_size
            self._similarities = rescale_similarities(
                {each: scores[each] for each in pool[: self._pool_size]},
                floor=scores[pool[POOL_SIZE]] if len(pool) > POOL_SIZE else 0.0,
            )
            unread = [each for each in pool if each not in self.candidates.facts]
            if not unread:
                return is_full
            self._load(unread)

    @cached_property
    def _asks_for_assistant(self) -> bool:
        # Most memories contain no messages of an assistant.
        from vaultsync.recall.conversation_words import asks_for_assistant  # noqa: PLC0415 - see above

        return asks_for_assistant(self.query.text_without_filters)

    @cached_property
    def _asks_for_advice(self) -> bool:
        question = self.query.text_without_filters
        if question.isascii() and " " not in question:
            return False  # one word is not a question; do not load the patterns
        from vaultsync.recall.conversation_words import asks_for_advice  # noqa: PLC0415 - as said above

        return asks_for_advice(question)

    @cached_property
    def _is_excluded(self) -> Callable[[str], bool]:
        from vaultsync.recall.exclusions import exclusion_test  # noqa: PLC0415 - few questions

        return exclusion_test(self.query.excluded, self.query.text_without_filters, self.index)

    def _load(self, fact_ids: Iterable[str]) -> None:
        """Load candidates, and lower or raise what their scores count."""
        for fact in self.candidates.load(fact_ids, self._fits_text):
            if is_of_assistant(fact) and not self._asks_for_assistant:
                self._factors[fact.id] = ASSISTANT_FACTOR
            elif self._asks_for_advice:
                from vaultsync.recall.conversation_words import states_preference  # noqa: PLC0415 - loaded

                if states_preference(fact):
                    self._factors[fact.id] = PREFERENCE_FACTOR

    def _fits_text(self, fact: Fact) -> bool:
        """Whether a fact has the phrases of the question, and not what the question excludes."""
        if self.query.excluded and self._is_excluded(self.words.text_of(fact)):
            return False
        # The note index has already checked the phrases of its matches.
        phrases = () if fact.id in self._keyword_scores else self.query.phrases
        return not phrases or has_phrases(phrases, self.words.text_of(fact))

    # ---------------------------------------------------------------------- hits

    def _hits(self) -> tuple[Hit, ...]:
        """The best candidates by score, as hits."""
        weights = self._sources.weights
        ranked = self._rank_set() if self.query.is_set else self._rank()
        self._record_stage("score", {each[1]: -each[0] for each in ranked})
        ranked = [each for each in ranked if -each[0] >= weights.least]
        best, contradicts = self._add_contradicting_hits(ranked)
        paths = self._sources.ctx.archive.note_paths([each[1] for each in best])
        hits = []
        for negative_score, fact_id, signals in best:
            fact = self.candidates.facts[fact_id].evolve(path=paths.get(fact_id))
            self.facts.append(fact)
            words = self.words.of(fact)
            cosine = self.cosines.get(fact_id)
            stage = "index"
            if cosine is not None:
                stage = "fused" if fact_id in self._keyword_scores else "vector"
            hits.append(
                Hit(
                    id=fact_id,
                    title=fact.title,
                    type=fact.type,
                    path=fact.path,
                    score=round(-negative_score, 4),
                    similarity=round(signals.similarity, 4),
                    recency=round(signals.recency, 4),
                    utility=round(signals.utility, 4),
                    stage=stage,
                    why=explain_hit(
                        *self.words.terms.quoted_words(self.words.text_of(fact), words),
                        cosine=None if cosine is None else self.scaled(cosine),
                        matches_hints=self.query.has_hints and self.query.matches_hints(fact),
                        in_set=self.query.is_set,
                        remarks=self._remarks(fact),
                        access_count=fact.access_count,
                        importance=fact.importance,
                        contradicts=[self._dated(each) for each in contradicts.get(fact_id, ())],
                    ),
                    snippet=hit_snippet(fact, self._passage(fact), self.words.terms),
                    origin=origin_of(fact),
                    date=fact.created_at[:DAY_LENGTH],
                    contradicts=tuple(contradicts.get(fact_id, ())),
                )
            )
        self._record_stage("tell", {})
        return tuple(hits)

    def _remarks(self, fact: Fact) -> Iterator[str]:
        """What a fact has, and the reasons for a higher or lower rank, for `explain_hit()`."""
        if count := len(self.query.tasks_in(fact)):
            box = f"{self.query.asked_boxes} check box"
            yield f"has {count_noun(count, box, many=f'{box}es')}"
        if self.query.asked.types & WITH_STATE:
            from vaultsync.recall.task_states import due_day  # noqa: PLC0415 - few ask for tasks

            if due := due_day(fact):
                yield f"is due {due}"
        if self.query.is_set:
            return
        if is_of_assistant(fact):
            counts = "as asked for" if self._asks_for_assistant else "ranked lower"
            yield f"was said by an assistant ({counts})"
        if self._factors.get(fact.id) == PREFERENCE_FACTOR:
            yield "states a preference"
        if self._near_one_event and fact.id in self.cosines:
            yield NEAR_ONE_EVENT
        yield from self._moves.get(fact.id, ())

    def _add_contradicting_hits(
        self, ranked: Sequence[_RankedFact]
    ) -> tuple[list[_RankedFact], Mapping[str, Sequence[str]]]:
        """The first hits, each next to the facts that contradict it, and those facts by id."""
        limit, hits_by_id = self._request.limit, {each[1]: each for each in ranked}
        is_set = self.query.is_set
        opposed = OpposedHits(
            self.words.in_english or self.query.words,
            [*hits_by_id],
            {each: self.candidates.facts[each] for each in hits_by_id},
            None if is_set else self._matches,
            shown=limit,
            # *What was it in July?* is answered by the older one.
            keep_order=bool(self.query.asked.order or (not is_set and self.query.hinted_span)),
        )
        shown = opposed.order[:limit]
        for each in opposed.said_earlier:
            self._moves.setdefault(each, []).append(SAID_EARLIER)
        for each in filterfalse(hits_by_id.__contains__, shown):
            fact = self.candidates.facts[each]
            signals = RankingSignals(0.0, _recency(fact, self._now), _utility(fact))
            hits_by_id[each] = -weighted_score(signals, self._sources.weights), each, signals
        contradicts = {
            each: [other for other in opposed.contradicts.get(each, ()) if other in shown]
            for each in shown
        }
        return [hits_by_id[each] for each in shown], contradicts

    def _dated(self, fact_id: str) -> str:
        """The title of a fact and its date."""
        fact = self.candidates.facts[fact_id]
        return f"“{fact.title}”, of {fact.created_at[:DAY_LENGTH]}"

    def _matches(self, words: str) -> list[Fact]:
        """The facts that match some words best, among those that may be shown."""
        hits = self.index.search(words, self.filters, limit=OPPOSED_CANDIDATES)
        ids = [each.fact_id for each in hits]
        self._load(ids)
        return [self.candidates.facts[each] for each in ids if each in self.candidates.facts]

    def _rank(self) -> list[_RankedFact]:
        """The candidates by score, best first."""
        weights, ranked = self._sources.weights, []
        if any(is_turn(self.candidates.facts[each]) for each in self._similarities):
            from vaultsync.recall.dialogue_turns import rank_turns  # noqa: PLC0415 - few memories

            question, loaded = self.query.text_without_filters, self.candidates.facts
            fits, self.answers, moves, self._is_of_other = rank_turns(
                self._similarities, loaded, question, self.index
            )
            self._similarities = {k: fits[k] for k in sorted(fits, key=lambda k: -fits[k])}
            for each, why in moves:
                self._moves.setdefault(each, []).append(why)
            self._estimate_confidence()
        facts = {each: self.candidates.facts[each] for each in self._similarities}
        fits = self._fits(facts)
        recencies = self._recencies(fits)
        holders = {each for each, fact in facts.items() if self._has_role(fact)}
        named = self._named(facts) - holders
        complete = set() if self._order else self._complete(facts)
        newest = max((recencies[x] for x in recencies.keys() - complete), default=0.0)
        for fact_id, fit in fits.items():
            fact = facts[fact_id]
            # No index has states.
            is_other = self.query.asked.state and not self.query.matches_hints(fact)
            similarity = fit * ASKED_MISMATCH_FACTOR if is_other or holders else fit
            age, use = recencies[fact_id], _utility(fact)
            age = max(age, newest) if fact_id in complete else age  # newer ones are no better
            if fact_id in holders or fact_id in named:
                similarity = 1.0
            elif named:
                similarity = min(similarity, _BELOW_NAMED)
            if fact_id in named:  # it is not less relevant because its note is old or rarely used
                age = max(recencies.values())
                use = max(_utility(each) for each in facts.values())
                self._moves.setdefault(fact_id, []).append(NAMED)
            signals = RankingSignals(similarity, age, use)
            ranked.append((-weighted_score(signals, weights), fact_id, signals))
        ranked.sort()
        if any(one[0] == other[0] for one, other in pairwise(ranked)):  # few have the same score
            # Of two with the name that is asked for, one may have it as its title.
            created = {each: to_microseconds(fact.created_at) for each, fact in facts.items()}
            ranked.sort(key=lambda x: (x[0], -fits[x[1]], -created[x[1]], x[1]))
        return ranked

    def _fits(self, facts: Mapping[str, Fact]) -> dict[str, float]:
        """The similarities, without what words about the question add to them."""
        fits, query = dict(self._similarities), self.query
        self._order = query.asked.order
        if any(map(query.text_without_filters.rstrip(".?! ").__contains__, "._/:-")):
            from vaultsync.recall.asked_fits import prefer_identifiers  # noqa: PLC0415 - few have one

            prefer_identifiers(query.text_without_filters, fits, facts, self.words.text_of)
        stems = self.words.terms.stems
        tagged: Collection[str] = ()
        if len(stems) <= _TAG_WORDS and any(x.tags or "#" in x.content for x in facts.values()):
            from vaultsync.recall.asked_fits import prefer_tagged  # noqa: PLC0415 - few are so short

            tagged = prefer_tagged(query.asked, self.words, fits, facts, query.hinted_span)
        self._lower_lacking(fits, facts)
        is_typed = query.asked.types and query.asked.topic and not query.hinted_span
        if is_typed and len(self.words.topic) < len(stems):
            from vaultsync.recall.asked_fits import prefer_titled, prefer_topic  # noqa: PLC0415 - few have both

            of_type = {each for each, fact in facts.items() if query.has_asked_type(fact)}
            order = query.asked.order
            prefer_topic(of_type, self.words, fits, facts, self.cosines, order=order)
            prefer_titled(of_type, self.words.terms, fits, facts)
        elif (about := self._ordered(fits, facts)) is not None:
            about = (query.asked.order and tagged) or about
            # Of those about the topic, the newest or oldest is asked for, not the best match.
            most = _BELOW_NAMED * ORDERED_SIMILARITY if about else 1.0
            fits = {x: 1.0 if x in about else most * fits[x] for x in fits}
        return fits

    def _lower_lacking(self, fits: dict[str, float], facts: Mapping[str, Fact]) -> None:
        """Lower the fits of short facts without the time or number that the question asks for."""
        question = self.query.text_without_filters
        if not any(map(question.lower().__contains__, _MEASURES)):
            return
        from vaultsync.recall.answer_kinds import LACKING_FACTOR, lacking_facts  # noqa: PLC0415 - few
        from vaultsync.recall.asked_fits import is_of_past  # noqa: PLC0415 - as said above

        lacking = lacking_facts(question, facts, is_of_past=is_of_past(question))
        for each, remark in lacking.items():
            fits[each] *= LACKING_FACTOR
            self._moves.setdefault(each, []).append(remark)

    def _complete(self, facts: Mapping[str, Fact]) -> set[str]:
        """The candidates with all words of the question, if it has several and others have less."""
        if len(self.words.terms.stems) <= 1:
            return set()
        complete = {x for x, fact in facts.items() if self.words.are_all_in(fact)}
        return complete if len(complete) < len(facts) else set()

    def _ordered(
        self, fits: Mapping[str, float], facts: Mapping[str, Fact]
    ) -> Collection[str] | None:
        """The facts among which the newest or oldest is asked for; None if there is no order."""
        question, asked = self.query.text_without_filters, self.query.asked
        is_when = question.lower().lstrip("¿ ").startswith(WHEN)
        if not (is_when or asked.order) or not asked.topic:
            return None
        from vaultsync.recall.asked_fits import is_of_past, ordered_facts, reports_of  # noqa: PLC0415 - few have one

        if asked.order:
            about = ordered_facts(question, self.words, fits, facts)
            self._order = asked.order if about is not None else ""
            return about
        # What was more than once was last at that time.
        reports = reports_of(self.words, facts) if is_of_past(question) else []
        self._order = NEWEST if reports else ""
        return reports or None

    def _named(self, facts: Mapping[str, Fact]) -> set[str]:
        """The notes of the person, project or thing that the question names and nothing else."""
        if self.query.asked.types - NAMED_TYPES:
            return set()  # *What does Clara have to do?* asks for tasks
        things = [each for each in facts.values() if each.type in NAMED_TYPES]
        if not things:
            return set()
        from vaultsync.recall.asked_fits import named_notes  # noqa: PLC0415 - few answers have any

        text = self.query.text_without_filters
        return named_notes(text, self.words.terms, things)

    def _has_role(self, fact: Fact) -> bool:
        """Whether the question names a person's role, and only words of their note.

        A role of one word may be any topic, unless the question asks for a person.
        """
        if fact.type != "person":
            return False
        from vaultsync.recall.asked_fits import is_role_named  # noqa: PLC0415 - few have people

        least = 1 if "person" in self.query.hinted_types else _ROLE_WORDS
        return is_role_named(fact, self.words, least=least)

    def _rank_set(self) -> list[_RankedFact]:
        """The facts of a set in its order, with scores that decrease in that order."""
        step = 1 / max(len(self._similarities), 1)
        facts = map(self.candidates.facts.__getitem__, self._similarities)
        return [
            (
                rank * step - 1,
                fact.id,
                RankingSignals(1.0, _recency(fact, self._now), _utility(fact)),
            )
            for rank, fact in enumerate(facts)
        ]

    def _recencies(self, fits: Mapping[str, float]) -> dict[str, float]:
        """The recency of each loaded candidate.

        If the question asks for the newest or oldest of a topic, it is the rank among the facts
        that are about the topic.
        """
        facts = [self.candidates.facts[each] for each in fits]
        order = self._order
        if not order:
            return {each.id: _recency(each, self._now) for each in facts}
        about = [x for x in facts if fits[x.id] >= ORDERED_SIMILARITY]
        about.sort(key=lambda fact: to_microseconds(fact.created_at), reverse=order == NEWEST)
        places = {fact.id: 1 - rank / len(about) for rank, fact in enumerate(about)}
        return {fact.id: places.get(fact.id, 0.0) for fact in facts}

    def _passage(self, fact: Fact) -> str:
        """The part of a fact that its snippet is made of: the tasks that are asked for, if any.

        If the question has a topic that only the rest of the note contains, it is the rest.
        """
        text = fact.content if self.words.of(fact) else self._nearest_passage(fact)
        tasks, terms = (
            "; ".join(each.text for each in self.query.tasks_in(fact)),
            self.words.terms,
        )
        if not tasks:
            return text
        is_about = (
            self.query.is_set
            or terms.positions(f"{fact.title}; {tasks}")
            or not terms.positions(text)
        )
        return tasks if is_about else text

    def _nearest_passage(self, fact: Fact) -> str:
        """The content of the nearest chunk of a long fact, or else the whole content."""
        chunk_id = self._semantic.nearest_chunks.get(fact.id) if self._semantic else None
        if chunk_id is None or len(fact.content) <= SNIPPET_LENGTH:
            return fact.content
        # Keyword search in a new process loads no code for chunks.
        from vaultsync.indexing.chunking import chunk_fact  # noqa: PLC0415 - see above

        for chunk in chunk_fact(fact):
            if chunk.id == chunk_id and chunk.end > chunk.start:
                return fact.content[chunk.start : chunk.end]
        return fact.content

    def _record_stage(self, name: str, scores: Mapping[str, float]) -> None:
        """Record the result of a stage, if the request has `explain`."""
        if self._request.explain:
            began, self._stage_began = self._stage_began, self._clock.monotonic()
            candidates = [StageCandidate(each, round(score, 4)) for each, score in scores.items()]
            self._stages.append(RecallStage(name, self._stage_began - began, tuple(candidates)))


def _recency(fact: Fact, now: datetime) -> float:
    return recency(fact.created_at, fact.type, now, emotional_weight=fact.emotional_weight)


def _utility(fact: Fact) -> float:
    return utility(fact.importance, fact.access_count)
