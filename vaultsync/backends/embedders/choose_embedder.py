"""The embedder and the reranker that the settings name.

Only the chosen one is loaded, to keep the start of commands fast.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.embedders.minilm import PACKAGED_EXPORT, PackagedModel
from vaultsync.backends.embedders.onnx import EXPORT, MODEL_FILE, OnnxEmbedder
from vaultsync.backends.embedders.onnx_export import ExportSource, TracedModel, export_model
from vaultsync.backends.embedders.rerankers import (
    CROSS_ENCODER,
    CrossReranker,
    OnnxReranker,
    WordReranker,
    packaged_cross_encoder,
)
from vaultsync.backends.embedders.sentence import (
    PACKAGED,
    PACKAGED_DIMENSION,
    SentenceEmbedder,
    model_in_folder,
    packaged_model,
)
from vaultsync.errors import ConfigError
from vaultsync.indexing.ports import Embedder
from vaultsync.recall.ports import Reranker
from vaultsync.settings import check_embedder, user_path
from vaultsync.storage.clock import Clock

_HERE = Path()
_PACKAGED_NAME = f"{PACKAGED}+{PACKAGED_EXPORT}"


def embedder_for(
    setting: str, *, models: Path, clock: Clock, key_variable: str = "", root: Path = _HERE
) -> Embedder | None:
    """The embedder that a setting names; None for `none`. No model is loaded yet.

    `models` is the folder of exports; `key_variable` names the environment variable with
    the key of a service; a relative path begins at `root`.

    | setting | embedder |
    |---|---|
    | `local` | the int8 export of the packaged model, made once |
    | `local:PATH` | the int8 export of a model that sentence-transformers saved |
    | `sentence`, `sentence:PATH` | the packaged model, or one in a folder, not exported |
    | `hub:NAME` | a model of the Hugging Face hub, the only kind that is downloaded |
    | `http:URL#MODEL` | a service with the embeddings API of OpenAI |
    | `hash` | no model: similar words, no meaning |

    Raises:
        ConfigError: the setting is unknown, or names no service.
        EmbedderError: there is no model in the folder.
    """
    kind, _, name = check_embedder(setting).partition(":")
    if kind == "none":
        return None
    if kind == "hash":
        return HashEmbedder()
    if kind == "hub":
        return SentenceEmbedder(None, hub=name)
    if kind == "http":
        return _http_embedder(name, clock, key_variable)
    if not name and kind == "local":  # the packaged model is located on first use
        return _exported(models / _PACKAGED_NAME, PACKAGED_DIMENSION, PackagedModel)
    weights = model_in_folder(root / user_path(name)) if name else packaged_model()
    if kind == "local":
        export = models / f"{weights.name}+{EXPORT}"
        return _exported(export, weights.dimension, lambda: TracedModel(weights))
    return SentenceEmbedder(weights)


def reranker_for(
    setting: str, embedder: Embedder | None = None, *, root: Path = _HERE
) -> Reranker | None:
    """The reranker that a setting names. None if it is `none`; nothing is loaded yet.

    A relative path begins at `root`.

    | setting | reranker |
    |---|---|
    | nothing | word vectors of the packaged model, if that is the embedder; otherwise none |
    | `local` | the cross-encoder of the extra `rerank`, run by onnxruntime |
    | `local:PATH` | a folder with `model.onnx` and `tokenizer.json`, run by onnxruntime |
    | `PATH` | the same, if the folder has a `model.onnx`; otherwise a sentence-transformers model |

    Raises:
        EmbedderError: there is no model in the folder, or the extra is not installed.
    """
    if not setting and isinstance(embedder, OnnxEmbedder) and embedder.model == _PACKAGED_NAME:
        return WordReranker(embedder)
    if setting in {"", "none"}:
        return None
    if setting == "local":
        return OnnxReranker(packaged_cross_encoder(), model=CROSS_ENCODER, english=True)
    path = setting.removeprefix("local:")
    folder = root / user_path(path)
    if path != setting or (folder / MODEL_FILE).is_file():
        return OnnxReranker(folder)
    return CrossReranker(folder)


def _exported(folder: Path, dimension: int, source: Callable[[], ExportSource]) -> OnnxEmbedder:
    def make() -> None:
        export_model(source(), folder)

    return OnnxEmbedder(folder, model=folder.name, dimension=dimension, make=make)


def _http_embedder(address: str, clock: Clock, key_variable: str) -> Embedder:
    from vaultsync.backends.embedders.http_embedder import HttpEmbedder

    url, _, model = address.partition("#")
    if not model:
        raise ConfigError(
            f"http:{url} names no model",
            hint="write http:URL#MODEL, such as"
            " http:https://api.openai.com/v1#text-embedding-3-small",
        )
    return HttpEmbedder(url, model, clock=clock, key_variable=key_variable)
