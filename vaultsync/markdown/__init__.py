"""Text: blocks and fences, frontmatter, YAML, three-way merge of lines."""

from __future__ import annotations
