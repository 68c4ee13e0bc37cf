"""Proposals: changes that agents and rules suggest, and a person decides about."""
