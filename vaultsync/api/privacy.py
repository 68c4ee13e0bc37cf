"""The lens of a vault: settings, a key of this machine and its environment -> `Lens`."""

from __future__ import annotations

import os
import re

from vaultsync.api.environment import environment_values
from vaultsync.backends.state.key_file import read_or_make_key
from vaultsync.notes.view import NoteView
from vaultsync.privacy.providers import providers
from vaultsync.privacy.redaction import Redactor, register_rules
from vaultsync.settings import Settings

KEY_FILE = "hygiene.key"
MIN_VALUE_LENGTH = 6
"""Values of variables that are shorter are no secrets, or words of every text."""


def note_view_for(settings: Settings) -> NoteView:
    """What notes and answers of a vault may show.

    Raises:
        ConfigError: the key cannot be read or made.
    """
    return _note_view(settings, read_or_make_key(settings.state_dir / KEY_FILE))


def redaction_check(settings: Settings) -> tuple[str, bool, str, str]:
    """What of a vault is hidden, and what cannot be, as a row of `doctor`."""
    hygiene = settings.hygiene
    if not hygiene.secrets:
        hint = "`secrets = true` below `[hygiene]` hides them"
        return "hygiene", False, "secrets are shown in notes and answers", hint
    values = environment_values(hygiene.environment)
    unset = [x for x in hygiene.environment if len(values.get(x, "")) < MIN_VALUE_LENGTH]
    said = f"secrets of {len(providers())} kinds are hidden"
    mine = len(hygiene.patterns)
    if mine or values:
        said += f", and those of {mine} patterns and {len(values)} variables"
    if unset:
        said += f"; {', '.join(unset)} is not set here, or too short to be a secret"
    if not hygiene.neutralise:
        said += "; what runs in Obsidian is not disarmed"
    return "hygiene", True, said, ""


def keyless_note_view(settings: Settings) -> NoteView:
    """The same for a clone, which has no state: its placeholders are read by nobody."""
    return _note_view(settings, os.urandom(32))


def register_secret_rules(settings: Settings) -> None:
    """Have no error and no log of this process repeat what the rules of a vault find."""
    _redactor(settings, b"")


def _note_view(settings: Settings, key: bytes) -> NoteView:
    hygiene = settings.hygiene
    redactor = _redactor(settings, key)
    return NoteView.of(redactor, redacts=hygiene.secrets, escapes=hygiene.neutralise)


def _redactor(settings: Settings, key: bytes) -> Redactor:
    hygiene = settings.hygiene
    values = environment_values(hygiene.environment)
    redactor = Redactor(
        key,
        tuple(re.compile(each) for each in hygiene.expressions),
        tuple(sorted({each for each in values.values() if len(each) >= MIN_VALUE_LENGTH})),
        frozenset(hygiene.optional),
    )
    if hygiene.secrets:
        register_rules(redactor)
    return redactor
