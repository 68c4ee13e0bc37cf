"""A bug that somebody could make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug: in one file, exact old text becomes new text."""

    name: str
    file: str
    """Below `vaultsync/`; a test double is `../tests/doubles/NAME.py`."""
    old: str
    new: str
    test: str
    """The test that fails of it, below `tests/`."""
    also: tuple[tuple[str, str], ...] = ()
    """Further old and new texts."""

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        return ((self.old, self.new), *self.also)


MODEL = "proofs/test_model.py"
FAULTS = "proofs/test_faults.py"
EDIT_VS_EDIT = f"{MODEL}::test_a_crash_before_any_effect_loses_nothing[person-line+agent-line]"
