"""Touches the world, one thing per file. Only `vaultsync.app` imports from here."""
