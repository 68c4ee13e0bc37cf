"""Counters of tokens."""
