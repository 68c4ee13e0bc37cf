"""The optional dependencies, and the extra that installs each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from vaultsync.errors import MissingExtraError

_MODULES = {
    "graph": "networkx",
    "live": "starlette uvicorn watchdog watchfiles",
    "local": "numpy onnxruntime tokenizers",
    "mcp": "mcp",
    "memory-file": "frontmatter",
    "patterns": "re2",
    "qdrant": "qdrant_client qdrant_edge",
    "repo": "tree_sitter tree_sitter_c tree_sitter_cpp tree_sitter_go tree_sitter_java"
    " tree_sitter_javascript tree_sitter_python tree_sitter_ruby tree_sitter_rust"
    " tree_sitter_typescript",
    "sentence": "onnx sentence_transformers torch",
    "tokens": "tiktoken",
    "vectors": "lancedb pyarrow",
}
"""Extra -> the modules that it installs."""
_PACKAGES = {
    "frontmatter": "python-frontmatter",
    "qdrant_edge": "qdrant-edge-py",
    "re2": "google-re2",
}
"""Module -> its package, where that has another name."""
EXTRAS: Mapping[str, tuple[str, str]] = {
    module: (_PACKAGES.get(module, module.replace("_", "-")), extra)
    for extra, modules in _MODULES.items()
    for module in modules.split()
}
"""Modules of optional dependencies: the package of each, and the extra that installs it."""


def missing_extra(what: str, error: ImportError) -> MissingExtraError | None:
    """The error that names the extra `what` needs; None if no extra has the missing module."""
    module = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or module not in EXTRAS:
        return None
    return MissingExtraError(what, *EXTRAS[module])


@contextmanager
def needs_extra(what: str) -> Iterator[None]:
    """Around imports of optional dependencies.

    Raises:
        MissingExtraError: one of them is not installed, so `what` cannot be done.
    """
    try:
        yield
    except ImportError as error:
        missing = missing_extra(what, error)
        if missing is None:
            raise
        raise missing from None
