"""The view of notes and answers, from settings, this machine's key, and its environment."""

from __future__ import annotations

import os
from collections.abc import Iterable

from vaultsync.backends.state.secret_files import read_or_make_key
from vaultsync.notes.view import NoteView
from vaultsync.privacy.placeholders import Redactor
from vaultsync.settings import Settings

KEY_FILE = "hygiene.key"
MIN_VALUE_LENGTH = 6
"""Minimum length of a variable's value that counts as a secret."""


def note_view_for(settings: Settings, key: bytes | None = None) -> NoteView:
    """The view of a vault's notes and answers.

    The default key is that of this machine; ConfigError if that cannot be read or created. A clone
    without state uses any key, because its placeholders are never resolved.
    """
    hygiene = settings.hygiene
    redactor = _redactor(settings, key or read_or_make_key(settings.state_dir / KEY_FILE))
    return NoteView.of(
        redactor, redacts=hygiene.secrets, escapes=hygiene.neutralise, meanings=settings.map
    )


def register_secret_rules(settings: Settings) -> None:
    """Apply a vault's redaction rules to the errors and logs of this process."""
    _redactor(settings, b"")


def _redactor(settings: Settings, key: bytes) -> Redactor:
    hygiene = settings.hygiene
    if not (hygiene.patterns or hygiene.environment):
        return Redactor(key)
    # Few users have rules.
    from vaultsync.privacy.patterns import compile_pattern  # noqa: PLC0415 - see above
    from vaultsync.privacy.redaction import register_rules  # noqa: PLC0415 - see above

    values = environment_values(hygiene.environment)
    redactor = Redactor(
        key,
        tuple(compile_pattern(each) for each in hygiene.patterns if not each.startswith("@")),
        tuple(sorted({each for each in values.values() if len(each) >= MIN_VALUE_LENGTH})),
        frozenset(each[1:] for each in hygiene.patterns if each.startswith("@")),
    )
    if hygiene.secrets:
        register_rules(redactor)
    return redactor


def environment_values(names: Iterable[str]) -> dict[str, str]:
    """Name -> value of the environment variables that are set, with whitespace stripped."""
    values = {name: os.environ.get(name, "").strip() for name in names}
    return {name: value for name, value in values.items() if value}
