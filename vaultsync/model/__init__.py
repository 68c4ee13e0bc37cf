"""Facts as values: the table of types, the table of fields, scopes, paths, decay."""

from __future__ import annotations
