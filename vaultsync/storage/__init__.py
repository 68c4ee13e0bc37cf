"""What the mirror needs of the world: contracts in prose, and their records."""

from __future__ import annotations
