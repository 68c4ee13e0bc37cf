"""All I/O, one subject per file. Only `vaultsync.api` imports from here."""
