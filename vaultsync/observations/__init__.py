"""Observations: what agents notice, classified into tiers by rules that can be seen."""

from __future__ import annotations
