"""Remotes that mirror modules."""
