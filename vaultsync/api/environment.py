"""The environment of this process: the values of some of its variables."""

from __future__ import annotations

import os
from collections.abc import Iterable


def environment_values(names: Iterable[str]) -> dict[str, str]:
    """The values of the variables that are set, without blanks around them."""
    found = {name: os.environ.get(name, "").strip() for name in names}
    return {name: value for name, value in found.items() if value}
