"""Operations of agents: remember, update, supersede, forget, list."""

from __future__ import annotations
