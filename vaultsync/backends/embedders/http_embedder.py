"""Embeddings from a service with OpenAI's API, such as Ollama."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, sqrt

from vaultsync.backends.model_service import ModelService, RetryableError, ServiceWords
from vaultsync.errors import EmbedderError
from vaultsync.storage.clock import Clock

_BATCH = 100
_MAX_PARALLEL = 3
_REQUEST_INTERVAL = 0.2
"""Seconds between responses to parallel requests and the next ones, because of rate limits."""
_MANY, _ONE = (6, 60.0), (2, 15.0)
"""(attempts, seconds per attempt). A single text is mostly a question, for which a user waits."""
_LONGEST_TEXT = 8_000
"""Maximum number of characters sent: about as many tokens as such models accept."""
_DIMENSIONS: Mapping[str, int] = {
    "all-minilm": 384,
    "bge-m3": 1024,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "text-embedding-3-large": 3072,
    "text-embedding-3-small": 1536,
    "text-embedding-ada-002": 1536,
}
"""Dimensions of well-known models; others are queried once."""
_WORDS = ServiceWords(
    what="embedding service",
    key_setting="embedder_key",
    address_hint="the setting `http:URL#MODEL`, such as"
    " http:http://localhost:11434#nomic-embed-text",
    away_hint="check that it is running; until then, only keyword search is available",
)


class HttpEmbedder:
    """A model behind `POST URL/v1/embeddings`.

    100 texts go in one request, three requests at once, and the next ones 200 ms after
    their answers. A single text, which is mostly a question, does not wait.

    Raises:
        ConfigError: the address is not one of a service, or `key_variable` is no name.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        clock: Clock,
        key_variable: str = "",
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._service = ModelService(
            url,
            "embeddings",
            words=_WORDS,
            error=EmbedderError,
            clock=clock,
            key_variable=key_variable,
            jitter=jitter,
        )
        self.model = model
        self._clock = clock
        self._dimension = _DIMENSIONS.get(model, 0)
        self._rested = 0.0
        """The time from which the next requests may be sent."""

    @property
    def dimension(self) -> int:
        """The dimension; an unknown model is queried once. Raises as `embed()`."""
        if not self._dimension:
            self.embed(["."])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if len(texts) <= 1:
            return [vector for text in texts for vector in self._vectors([text])]
        from concurrent.futures import ThreadPoolExecutor

        parts = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        vectors: list[list[float]] = []
        with ThreadPoolExecutor(min(_MAX_PARALLEL, len(parts))) as pool:
            for at in range(0, len(parts), _MAX_PARALLEL):
                self._clock.sleep(max(0.0, self._rested - self._clock.monotonic()))
                for found in pool.map(self._vectors, parts[at : at + _MAX_PARALLEL]):
                    vectors += found
                self._rested = self._clock.monotonic() + _REQUEST_INTERVAL
        return vectors

    def close(self) -> None:
        """Do nothing: no resource is open."""

    def _vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of one request, with retries."""
        tries, seconds = _MANY if len(texts) > 1 else _ONE
        # Some services refuse blank texts; the model itself would cut long ones.
        given = [text[:_LONGEST_TEXT] if text.strip() else "." for text in texts]
        return self._service.ask(
            {"model": self.model, "input": given},
            lambda answer: [self._unit(each) for each in _embeddings(answer, len(texts))],
            tries=tries,
            seconds=seconds,
        )

    def _unit(self, vector: object) -> list[float]:
        """The vector scaled to length 1, if it has the right dimension."""
        if not isinstance(vector, list) or not all(map(_is_number, vector)):
            raise RetryableError("did not return a vector")
        self._dimension = self._dimension or len(vector)
        if len(vector) != self._dimension:
            raise EmbedderError(
                f"{self.model} at {self._service.host} returns vectors of {len(vector)} dimensions,"
                f" not of {self._dimension}",
                hint="a different model is answering; set it in `http:URL#MODEL`",
            )
        length = sqrt(sum(float(each) * float(each) for each in vector))
        if not length or not isfinite(length):
            raise RetryableError("returned a zero vector")
        return [each / length for each in vector]


def _is_number(value: object) -> bool:
    """Whether a value of an answer is a number that a float can hold."""
    try:
        return type(value) in (int, float) and isfinite(value)  # type: ignore[arg-type] # a number, by its type
    except OverflowError:
        return False


def _embeddings(body: bytes, expected: int) -> list[object]:
    try:
        rows = json.loads(body)["data"]
        ordered = sorted(rows, key=lambda row: row["index"])
        found = [row["embedding"] for row in ordered]
        indices = [row["index"] for row in ordered]
    except (ValueError, TypeError, KeyError, RecursionError) as broken:
        raise RetryableError("did not return a list of vectors") from broken
    if indices != list(range(expected)):
        raise RetryableError(f"returned {len(found)} vectors for {expected} texts")
    return found
