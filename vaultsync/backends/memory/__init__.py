"""Backends that keep everything in memory."""
