"""Operations that the user starts: adopt, undo, rebuild, verify, migrate, export, maintain."""

from __future__ import annotations
