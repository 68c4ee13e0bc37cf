"""The optional dependencies, and the extra that installs each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from vaultsync.errors import MissingExtraError

EXTRAS: Mapping[str, tuple[str, str]] = {
    "frontmatter": ("python-frontmatter", "memory-file"),
    "lancedb": ("lancedb", "vectors"),
    "mcp": ("mcp", "mcp"),
    "networkx": ("networkx", "graph"),
    "numpy": ("numpy", "local"),
    "onnx": ("onnx", "sentence"),
    "onnxruntime": ("onnxruntime", "local"),
    "pyarrow": ("pyarrow", "vectors"),
    "qdrant_client": ("qdrant-client", "qdrant"),
    "qdrant_edge": ("qdrant-edge-py", "qdrant"),
    "re2": ("google-re2", "patterns"),
    "sentence_transformers": ("sentence-transformers", "sentence"),
    "starlette": ("starlette", "live"),
    "tiktoken": ("tiktoken", "tokens"),
    "tokenizers": ("tokenizers", "local"),
    "torch": ("torch", "sentence"),
    "tree_sitter": ("tree-sitter", "repo"),
    "tree_sitter_c": ("tree-sitter-c", "repo"),
    "tree_sitter_cpp": ("tree-sitter-cpp", "repo"),
    "tree_sitter_go": ("tree-sitter-go", "repo"),
    "tree_sitter_java": ("tree-sitter-java", "repo"),
    "tree_sitter_javascript": ("tree-sitter-javascript", "repo"),
    "tree_sitter_python": ("tree-sitter-python", "repo"),
    "tree_sitter_ruby": ("tree-sitter-ruby", "repo"),
    "tree_sitter_rust": ("tree-sitter-rust", "repo"),
    "tree_sitter_typescript": ("tree-sitter-typescript", "repo"),
    "uvicorn": ("uvicorn", "live"),
    "watchdog": ("watchdog", "live"),
    "watchfiles": ("watchfiles", "live"),
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
