"""Repositories of git, read by its command."""
