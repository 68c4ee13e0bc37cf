"""`python -m vaultsync`."""

from __future__ import annotations

from vaultsync.cli.main import main

if __name__ == "__main__":
    main()
