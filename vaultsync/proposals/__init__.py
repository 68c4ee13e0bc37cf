"""Proposals: changes that agents and rules suggest, and the user accepts or rejects."""
