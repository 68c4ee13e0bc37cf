"""The fields of the note index."""

from __future__ import annotations

from functools import lru_cache

import tantivy

from vaultsync.indexing.session_context import hash63
from vaultsync.recall.ranking import FIELD_WEIGHTS

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


name_code = lru_cache(maxsize=4096)(hash63)
"""The number of a type, a scope or a status."""


def user_code(user: str | None) -> int:
    """The number of the user that a fact is about; 0 for none."""
    return 0 if user is None else name_code(user)
