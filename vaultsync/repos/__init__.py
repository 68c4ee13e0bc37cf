"""Repositories: what is known about a git repository, and to which of its branches it applies."""
