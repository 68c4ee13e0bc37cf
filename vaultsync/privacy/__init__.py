"""Data about secrets: the tokens of providers, and the words of seed phrases."""
