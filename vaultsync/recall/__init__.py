"""Recall: answer a question with the facts that fit it best."""

from __future__ import annotations
