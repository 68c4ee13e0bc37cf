"""A fact as a document of the note index; a question needs none if the index is up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tantivy

from vaultsync.backends.tantivy.analysis import Analyzers, stemming_analyzer
from vaultsync.backends.tantivy.index_fields import name_code, user_code
from vaultsync.indexing.language import SAMPLE_CHARS, language_of
from vaultsync.indexing.ports import IndexDocument, SessionTurn
from vaultsync.indexing.session_context import day_words, own_title, speaker_names, turn_of
from vaultsync.indexing.text_normalization import index_words
from vaultsync.markdown.blocks import note_headings
from vaultsync.markdown.encoded_data import without_encoded_data
from vaultsync.model.canonical import FOREVER, tag_keys_with_parents, to_microseconds
from vaultsync.model.decay import by_tier, listed_importance
from vaultsync.model.fact import PROPERTY_LENGTH, Fact, property_lines
from vaultsync.model.hiding import is_agents_background
from vaultsync.model.inline_tags import all_tags
from vaultsync.model.schema import LOWEST_PRIORITY, TIERS, Value
from vaultsync.recall.asked_for import status_word, type_word
from vaultsync.recall.task_states import check_boxes

_OWN = 500
"""Number of characters of a fact that are indexed with its neighbours; indexing all of a long note
did not improve recall."""
_SECONDS_BITS, _IMPORTANCE_BITS = 40, 10
"""Bits for seconds until the year 36,000, and for thousandths of the importance."""
_PLACES = 2 * len(TIERS) * (LOWEST_PRIORITY + 1)
"""Number of combinations of what `by_tier()` sorts by."""


def fact_document(
    entry: IndexDocument, schema: tantivy.Schema, terms: Analyzers
) -> tuple[str, tantivy.Document]:
    """The language of a fact, and its document; empty texts are left out."""
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
