"""Layered documents of a project: core files, manifests, modules, and their mirror."""

from __future__ import annotations
