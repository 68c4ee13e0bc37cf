"""Choosing an embedder and a reranker by their settings.

Only what is chosen is loaded: a question from a cold command line waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vaultsync.backends.embedders.onnx import EXPORT, OnnxEmbedder, read_export
from vaultsync.backends.embedders.sentence import (
    PACKAGED,
    PACKAGED_DIMENSION,
    SentenceEmbedder,
    SentenceModel,
    model_in_folder,
    packaged_model,
)
from vaultsync.errors import ConfigError
from vaultsync.indexing.ports import Embedder
from vaultsync.recall.ports import Reranker
from vaultsync.settings import check_embedder
from vaultsync.storage.clock import Clock


@dataclass(frozen=True, slots=True)
class _EmbedderContext:
    models: Path
    clock: Clock
    key_variable: str


def embedder_for(
    setting: str, *, models: Path, clock: Clock, key_variable: str = ""
) -> Embedder | None:
    """The embedder that a setting names; None for `none`. No model is loaded yet.

    `models` is the folder of exports; `key_variable` names the variable of the
    environment that holds the key of a service.

    | setting | embedder |
    |---|---|
    | `local` | the int8 export of the packaged model, made once |
    | `local:PATH` | the same of a model in a folder of sentence-transformers |
    | `sentence`, `sentence:PATH` | the packaged model, or one in a folder, as it is |
    | `hub:NAME` | a model of the Hugging Face hub, the only one that is downloaded |
    | `http:URL#MODEL` | a service with the embeddings API of OpenAI |
    | `hash` | no model: similar words, no meaning |

    Raises:
        ConfigError: the setting names none, or no address of a service.
        EmbedderError: the folder it names holds no model.
    """
    around = _EmbedderContext(models, clock, key_variable)
    kind, _, which = check_embedder(setting).partition(":")
    return _BY_NAME[kind](which, around) if which else _BY_KIND[kind](around)


def reranker_for(setting: str) -> Reranker | None:
    """The cross-encoder in a folder; None for `none`.

    Raises:
        EmbedderError: there is no model in the folder.
    """
    if setting == "none":
        return None
    from vaultsync.backends.embedders.cross_encoder import CrossReranker

    return CrossReranker(Path(setting).expanduser())


def _exported(
    name: str, dimension: int, models: Path, weights: Callable[[], SentenceModel]
) -> OnnxEmbedder:
    model = f"{name}+{EXPORT}"
    folder = models / model

    def embed(made: Path, texts: Sequence[str]) -> list[list[float]]:
        return OnnxEmbedder(made, model=model, dimension=dimension).embed(texts)

    def make() -> None:
        from vaultsync.backends.embedders.export import export_model

        source = weights()
        export_model(
            SentenceEmbedder(source),
            source.path,
            folder,
            model=model,
            embed=embed,
            whole=lambda made: read_export(made, model) is not None,
        )

    return OnnxEmbedder(folder, model=model, dimension=dimension, make=make)


def _exported_from(path: str, around: _EmbedderContext) -> Embedder:
    weights = _weights(path)
    return _exported(weights.name, weights.dimension, around.models, lambda: weights)


def _service(named: str, around: _EmbedderContext) -> Embedder:
    from vaultsync.backends.embedders.http import HttpEmbedder

    url, _, model = named.partition("#")
    if not model:
        raise ConfigError(
            f"http:{url} names no model",
            hint="write http:URL#MODEL, such as"
            " http:https://api.openai.com/v1#text-embedding-3-small",
        )
    return HttpEmbedder(url, model, clock=around.clock, key_variable=around.key_variable)


def _hashing(_: _EmbedderContext) -> Embedder:
    from vaultsync.backends.embedders.hashing import HashEmbedder

    return HashEmbedder()


def _weights(path: str) -> SentenceModel:
    return model_in_folder(Path(path).expanduser())


_BY_KIND: Mapping[str, Callable[[_EmbedderContext], Embedder | None]] = {
    "none": lambda _: None,
    "hash": _hashing,
    "local": lambda around: _exported(PACKAGED, PACKAGED_DIMENSION, around.models, packaged_model),
    "sentence": lambda _: SentenceEmbedder(packaged_model()),
}
_BY_NAME: Mapping[str, Callable[[str, _EmbedderContext], Embedder]] = {
    "local": _exported_from,
    "sentence": lambda path, _: SentenceEmbedder(_weights(path)),
    "hub": lambda name, _: SentenceEmbedder(None, hub=name),
    "http": _service,
}
