"""Secrets and active content: detect, redact, escape."""

from __future__ import annotations
