from __future__ import annotations

import pytest

from vaultsync.indexing.embedding_texts import FAMILIES, Instructions, instructions_for

NAMES = {
    "intfloat/multilingual-e5-small": "e5",
    "multilingual_e5_large@0123456789ab+int8-1": "e5",
    "e5-base-v2": "e5",
    "intfloat--multilingual-e5-small@main@0123456789ab+int8-1": "e5",
    "intfloat/multilingual-e5-large-instruct": "e5-instruct",
    "BAAI/bge-small-en-v1.5": "bge-en",
    "bge-large-zh": "bge-zh",
    "nomic-embed-text": "nomic",
    "nomic-embed-text:v1.5": "nomic",
    "nomic-ai/nomic-embed-text-v2-moe": "nomic",
}
OTHERS = (
    *("all-MiniLM-L6-v2+int8-2", "hash-1", "text-embedding-3-small", "BAAI/bge-m3"),
    *("note5-small", "bge-reranker-base", "nomic-embed-code"),
)


@pytest.mark.parametrize(("model", "family"), NAMES.items())
def test_the_family_of_a_model_is_told_by_its_name(model: str, family: str) -> None:
    assert instructions_for(model).family == family


@pytest.mark.parametrize("model", OTHERS)
def test_a_model_of_no_known_family_gets_its_texts_as_they_are(model: str) -> None:
    assert instructions_for(model) == Instructions()


def test_each_family_is_in_the_examples() -> None:
    assert {found.family for _, found in FAMILIES} == {*NAMES.values()}
