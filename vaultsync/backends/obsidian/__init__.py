"""Obsidian: notes written through the app, its settings, the plugin."""

from __future__ import annotations
