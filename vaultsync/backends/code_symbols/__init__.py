"""Symbols of source code, by the parsers of tree-sitter, in a process of their own."""
