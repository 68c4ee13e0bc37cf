"""The fields of the note index, and a fact as its document."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import tantivy

from vaultsync.indexing.ports import IndexDocument
from vaultsync.indexing.session_context import day_words, hash63, own_title, speaker_names, turn_of
from vaultsync.indexing.text_normalization import index_words, note_headings
from vaultsync.model.canonical import tag_keys_with_parents
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.recall.query import type_hint
from vaultsync.recall.ranking import FIELD_WEIGHTS

_OWN = 500
"""Characters of a fact that are indexed with its neighbours; with all of a long note no
more was found."""
ANALYZER_NAME = "terms"
"""The name of the analyzer of all text fields."""
PHRASE_FIELDS = frozenset(FIELD_WEIGHTS) - {"around"}
"""The fields in which a phrase is searched: those of the fact itself."""
VERSION_DOC_ID = "meta"
"""The id of the document with the version of the index; ids of facts are UUIDs."""


def make_schema() -> tantivy.Schema:
    """Texts that are searched, and numbers by which is filtered and sorted."""
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
    builder.add_text_field("tag", tokenizer_name="raw", index_option="basic")
    for name in ("type", "scope", "status", "priority", "replaced"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    builder.add_integer_field("created", indexed=True, fast=True)
    builder.add_unsigned_field("session", indexed=True, fast=True)
    for name in ("id_high", "id_low", "mark"):
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def texts_of(entry: IndexDocument) -> dict[str, str]:
    """The texts of a fact by field; empty ones are left out."""
    fact = entry.fact
    day = day_words(fact.created_at)
    texts = {
        "title": own_title(fact),
        "aliases": "\n".join(fact.aliases),
        "tags": "\n".join(filter(None, (*fact.tags, type_hint(fact)))),
        "entities": "\n".join(speaker_names(fact)),
        "headings": "\n".join(note_headings(fact.content)),
        "context": fact.context or "",
        "content": fact.content,
        "fields": "\n".join(_own_text(fact)),
        "dates": day,
        "around": f"{fact.content[:_OWN]}\n{day}\n{entry.around}",
    }
    return {name: index_words(text) for name, text in texts.items() if text}


def columns_of(entry: IndexDocument) -> dict[str, Any]:
    """The columns of a fact, by field."""
    fact = entry.fact
    turn = entry.turn or turn_of(fact)
    high, low = id_to_columns(fact.id)
    return {
        "id": fact.id,
        "id_high": high,
        "id_low": low,
        "tag": sorted(tag_keys_with_parents(fact.tags)),
        "type": name_code(fact.type),
        "scope": name_code(fact.scope),
        "status": name_code(fact.status),
        "priority": fact.priority,
        "replaced": int(fact.superseded_by_id is not None),
        "created": turn.moment,
        "session": turn.session,
        "mark": turn.fingerprint,
    }


def _own_text(fact: Fact) -> list[str]:
    return _texts([*fact.own.values(), *fact.properties.values()])


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


def id_to_columns(fact_id: str) -> tuple[int, int]:
    """The two columns that an id is kept in."""
    whole = int(fact_id.replace("-", ""), 16)
    return whole >> 64, whole & 0xFFFF_FFFF_FFFF_FFFF


def id_from_columns(high: int, low: int) -> str:
    """The id of a fact from its two columns."""
    text = f"{high:016x}{low:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
