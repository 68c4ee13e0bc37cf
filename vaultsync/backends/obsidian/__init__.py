"""Obsidian: notes written through the app, its settings, the plugin."""
