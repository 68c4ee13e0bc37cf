"""Secrets and active content in texts: detect, redact, escape; and the data for that."""
