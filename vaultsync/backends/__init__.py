"""Touches the world, one thing per file. Only `vaultsync.api` imports from here."""
