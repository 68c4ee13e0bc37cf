"""YAML as frontmatter uses it: read, write, and find where each key stands."""

from __future__ import annotations
