"""Models that embed text."""
