"""Observations: what agents notice, classified into tiers by rules that explain themselves."""

from __future__ import annotations
