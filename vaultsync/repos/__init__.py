"""Repositories: what is known about a git repository, and on which of its branches it holds."""
