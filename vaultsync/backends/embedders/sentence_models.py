"""Models of sentence-transformers, loaded without a word. No adapter of a port."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vaultsync.errors.work import EmbedderError

_QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def load(
    kind: str,
    name: str,
    *,
    called: str,
    hint: str,
    offline: bool = True,
    **options: object,
) -> Any:  # noqa: ANN401 - of a package that may be missing
    """A model on the processor, by the name of its class; it takes seconds.

    Raises:
        EmbedderError: the packages are missing, or what is `called` so cannot be loaded.
    """
    try:
        with _quiet(offline=offline):
            import sentence_transformers

            made = getattr(sentence_transformers, kind)
            return made(name, device="cpu", local_files_only=offline, **options)
    except ImportError as missing:
        raise EmbedderError(
            f"sentence-transformers is not installed: {missing}",
            hint="`pip install 'vaultsync[local]'` brings it",
        ) from missing
    except (OSError, ValueError, RuntimeError, KeyError) as why:
        raise EmbedderError(f"{called} cannot be loaded: {why}", hint=hint) from why


@contextmanager
def _quiet(*, offline: bool) -> Iterator[None]:
    """Keep the libraries from the hub's servers, and what they say from the screen."""
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
