"""Symbols of source code, read with tree-sitter in a separate process."""
