"""Observations: what agents notice, classified into tiers by explainable rules."""

from __future__ import annotations
