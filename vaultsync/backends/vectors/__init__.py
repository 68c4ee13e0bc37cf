"""Vectors in a memory-mapped matrix, and in LanceDB."""
