"""The command line. One command is one call."""

from __future__ import annotations
