"""Create a collection, or check the parameters of an existing one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vaultsync.backends.qdrant.connection import QdrantConnection
from vaultsync.errors import StoreLayoutError

HNSW_M = 16
EF_CONSTRUCT = 128
FULL_SCAN_THRESHOLD = 10_000
QUANTILE = 0.99
SEGMENTS = 2
INDEXING_THRESHOLD = 20_000
MEMMAP_THRESHOLD = 50_000
OVERSAMPLING = 3.0
"""Factor on the number of candidates that int8 vectors find, before they are ranked by full ones:
recall@10 against exact search is 0.99 and more (`make bench`)."""
HNSW_EF = 128
"""Number of candidates of a graph search. Searches use ACORN too: of the nearest ten of 100,000
chunks, filtered by three fields, the graph alone found 0.983 (0.675 without payload indexes
of the fields), with ACORN all of them."""
_FACTORS = ("shard_number", "replication_factor", "write_consistency_factor")


def check(config: Mapping[str, Any], place: QdrantConnection) -> None:
    """Raise `StoreLayoutError` for a collection with other parameters than this vault's."""
    if found := [*_differences(config, place)]:
        raise StoreLayoutError(place.collection, "; ".join(found))


def _differences(config: Mapping[str, Any], place: QdrantConnection) -> Iterator[str]:
    params = config.get("params") or {}
    vectors = params.get("vectors") or {}
    for name, each in vectors.items():
        if name != f"content{each.get('size')}" or each.get("distance") != "Cosine":
            yield f"vectors {name!r} have {each.get('size')} dimensions, {each.get('distance')}"
    if not vectors:
        yield "it has no named vectors"
    if place.kind == "local":  # the local mode has no other parameters
        return
    hnsw = config.get("hnsw_config") or {}
    wanted = [
        ("m", hnsw.get("m"), HNSW_M),
        ("ef_construct", hnsw.get("ef_construct"), EF_CONSTRUCT),
        *((name, params.get(name), getattr(place.settings, name)) for name in _FACTORS),
    ]
    for name, has, asked in wanted:
        if asked not in (None, has):
            yield f"{name} is {has}, not {asked}"
    scalar = (config.get("quantization_config") or {}).get("scalar") or {}
    if scalar.get("type") != "int8" or scalar.get("quantile") != QUANTILE:
        yield f"vectors are not quantized to int8 at {QUANTILE}"
    elif not (scalar.get("always_ram") or scalar.get("memory") == "pinned"):
        yield "int8 vectors are not kept in memory"
