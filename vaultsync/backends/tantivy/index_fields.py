"""The fields of the note index, and a fact as its document."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import tantivy

from vaultsync.backends.tantivy.analysis import Analyzers, stemming_analyzer
from vaultsync.indexing.language import SAMPLE_CHARS, language_of
from vaultsync.indexing.ports import IndexDocument, SessionTurn
from vaultsync.indexing.session_context import day_words, hash63, own_title, speaker_names, turn_of
from vaultsync.indexing.text_normalization import index_words
from vaultsync.model.canonical import FOREVER, tag_keys_with_parents, to_microseconds
from vaultsync.model.decay import by_tier, listed_importance
from vaultsync.model.fact import PROPERTY_LENGTH, Fact, property_lines
from vaultsync.model.hiding import is_agents_background
from vaultsync.model.schema import LOWEST_PRIORITY, TIERS, Value
from vaultsync.recall.asked_for import status_word, type_word
from vaultsync.recall.ranking import FIELD_WEIGHTS

_OWN = 500
"""Number of characters of a fact that are indexed with its neighbours; indexing all of a long note
did not improve recall."""
ANALYZER_NAME = "terms"
"""The name of the analyzer of all text fields."""
PHRASE_FIELDS = frozenset(FIELD_WEIGHTS) - {"around"}
"""The fields in which phrases are searched: those of the fact itself."""
BOX_CODES = {"open": frozenset({1, 3}), "closed": frozenset({2, 3})}
"""State of check boxes -> the numbers in the column of facts with some: 3 for both states."""
VERSION_DOC_ID = "meta"
"""The id of the document with the version of the index; ids of facts are UUIDs."""


_OWNERS = ("owner", "user")
"""The columns with the owner and the user of a fact; 0 if there is none."""


def make_schema() -> tantivy.Schema:
    """The text fields for search, and the numeric fields for filters and sorting."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("meta", stored=True, tokenizer_name="raw")
    for name in FIELD_WEIGHTS:
        builder.add_text_field(
            name,
            tokenizer_name=ANALYZER_NAME,
            index_option="position" if name in PHRASE_FIELDS else "freq",
        )
    builder.add_text_field("name", tokenizer_name="raw", index_option="basic")
    for name in ("tag", "theme"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    numbers = ("type", "scope", "status", "priority", "replaced", "background", "boxes", *_OWNERS)
    for name in numbers:
        builder.add_unsigned_field(name, indexed=True, fast=True)
    for name in ("created", "expires", "place"):
        builder.add_integer_field(name, indexed=True, fast=True)
    builder.add_unsigned_field("session", indexed=True, fast=True)
    for name in ("id_high", "id_low", "mark", "standing"):
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def fact_document(
    entry: IndexDocument, schema: tantivy.Schema, terms: Analyzers
) -> tuple[str, tantivy.Document]:
    """The language of a fact, and its document; empty texts are left out."""
    # A question loads this module, and needs no markdown.
    from vaultsync.markdown.blocks import note_headings
    from vaultsync.markdown.encoded_data import without_encoded_data
    from vaultsync.recall.task_states import check_boxes

    fact = entry.fact
    language = language_of(f"{fact.title}\n{fact.content[:SAMPLE_CHARS]}") or terms.default
    names = [("title", fact.title), *(("aliases", each) for each in fact.aliases)]
    turn = entry.turn or turn_of(fact)
    columns = _columns(fact, turn) | {
        "boxes": sum({1 if each.is_open else 2 for each in check_boxes(fact.content)}),
        "name": [f"{field} {terms.of_name(x, language, stemmed=language)}" for field, x in names],
    }
    day = day_words(fact.created_at)
    stated = "\n".join(property_lines(fact, length=PROPERTY_LENGTH))
    texts = {
        "title": own_title(fact),
        "aliases": "\n".join(fact.aliases),
        "tags": "\n".join(filter(None, (*fact.tags, type_word(fact), status_word(fact)))),
        "entities": "\n".join(speaker_names(fact, in_row=turn.session != 0)),
        "headings": "\n".join(note_headings(fact.content)),
        "context": fact.context or "",
        "content": without_encoded_data(fact.content),
        "fields": "\n".join([*_texts(list(fact.own.values())), *property_lines(fact)]),
        "dates": day,
        "around": "\n".join((fact.content[:_OWN], stated, *fact.tags, day, entry.around)),
    }
    texts = {name: index_words(text) for name, text in texts.items() if text}
    if language == terms.default:
        return language, tantivy.Document.from_dict(columns | texts, schema)
    document = tantivy.Document.from_dict(columns, schema)
    analyzer = stemming_analyzer(language)
    for name, text in texts.items():
        document.add_pre_tokenized_text(name, analyzer.pre_tokenize(text))
    return language, document


def _columns(fact: Fact, turn: SessionTurn) -> dict[str, Any]:
    # A question loads this module, and needs no tags of texts.
    from vaultsync.model.inline_tags import all_tags

    created = to_microseconds(fact.created_at)
    whole = int(fact.id.replace("-", ""), 16)
    return {
        "id": fact.id,
        "id_high": whole >> 64,
        "id_low": whole & 0xFFFF_FFFF_FFFF_FFFF,
        "tag": sorted(tag_keys_with_parents(all_tags(fact))),
        "theme": sorted({each.casefold() for each in fact.theme_ids}),
        "type": name_code(fact.type),
        "scope": name_code(fact.scope),
        "status": name_code(fact.status),
        "priority": fact.priority,
        "replaced": int(fact.superseded_by_id is not None),
        "background": int(is_agents_background(fact)),
        "user": user_code(fact.user_id),
        "expires": to_microseconds(fact.expires_at) if fact.expires_at else FOREVER,
        "created": created,
        "standing": standing(fact, created),
        "session": turn.session,
        "place": turn.moment,
        "mark": turn.fingerprint,
    }


def _texts(value: Value) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _texts(each)]
    return []


name_code = lru_cache(maxsize=4096)(hash63)
"""The number of a type, a scope or a status."""


_SECONDS_BITS, _IMPORTANCE_BITS = 40, 10
"""Bits for seconds until the year 36,000, and for thousandths of the importance."""
_PLACES = 2 * len(TIERS) * (LOWEST_PRIORITY + 1)
"""Number of combinations of what `by_tier()` sorts by."""


def standing(fact: Fact, moment: int) -> int:
    """A number by which facts sort as by `by_importance()`, then the newest, all backwards.

    Args:
        fact: the fact with its priority and importance.
        moment: its creation in microseconds since 1970; earlier times count as 0.
    """
    importance = listed_importance(fact.type, fact.importance)
    thousandths = round(importance * ((1 << _IMPORTANCE_BITS) - 1))
    seconds = min(max(0, moment // 1_000_000), (1 << _SECONDS_BITS) - 1)
    tier, is_observation, priority = by_tier(fact)
    place = (2 * tier + is_observation) * (LOWEST_PRIORITY + 1) + priority
    rank = (_PLACES - place) << _IMPORTANCE_BITS | thousandths
    return rank << _SECONDS_BITS | seconds


def user_code(user: str | None) -> int:
    """The number of the user that a fact is about; 0 for none."""
    return 0 if user is None else name_code(user)
