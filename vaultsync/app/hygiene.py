"""The lens of a vault: settings, a key of this machine and its environment -> `Lens`."""

from __future__ import annotations

import re
from secrets import token_bytes

from vaultsync.adapters.environment import values_of
from vaultsync.adapters.key_file import read_or_make_key
from vaultsync.config import Settings
from vaultsync.core.lens import Lens
from vaultsync.core.redact import Redactor

KEY = "hygiene.key"
SHORTEST = 6
"""Values of variables that are shorter are no secrets, or words of every text."""


def lens_of(settings: Settings) -> Lens:
    """What notes and answers of a vault may show.

    Raises:
        ConfigError: the key cannot be read or made.
    """
    return _lens(settings, read_or_make_key(settings.state_dir / KEY))


def keyless_lens_of(settings: Settings) -> Lens:
    """The same for a clone, which has no state: its placeholders are read by nobody."""
    return _lens(settings, token_bytes(32))


def _lens(settings: Settings, key: bytes) -> Lens:
    hygiene = settings.hygiene
    values = values_of(hygiene.environment)
    redactor = Redactor(
        key,
        tuple(re.compile(each) for each in hygiene.patterns),
        tuple(sorted({each for each in values.values() if len(each) >= SHORTEST})),
        frozenset(hygiene.optional),
    )
    return Lens.of(redactor, hides=hygiene.secrets, disarms=hygiene.neutralise)
