"""Time limits by the clock of the processor: other work on the machine does not count."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def processor_seconds(most: float) -> Iterator[None]:
    """Fail if the block takes longer; what never ends meets the time limit of the test."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < most, f"it took {took:.1f} s"
