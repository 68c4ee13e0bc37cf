"""Classifiers of observations that need a model: one behind a service, or that of recall."""

from __future__ import annotations
