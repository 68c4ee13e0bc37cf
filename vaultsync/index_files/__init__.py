"""Index files: generated tables of contents in `.index/`, and recall from them alone."""

from __future__ import annotations
