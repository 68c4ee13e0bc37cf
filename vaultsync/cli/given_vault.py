"""The vault that the words of a command name, for messages about it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress

from vaultsync.api import configuration, privacy

_SUGGESTED = r"`vaultsync(?! init\b| completion\b)(?:(?! --(?:vault|help)\b| -- )[^`])+(?=`)"


def with_given_options(text: str, words: Sequence[str]) -> str:
    """A message whose suggested commands name the same vault as the words of a command did."""
    # Options before the command are refused, and `--vault status` would name a command.
    given = {} if words[:1] and words[0].startswith("-") else _given_options(words)
    added = "".join(f" {name} {shlex.quote(value)}" for name, value in given.items())
    return re.sub(_SUGGESTED, lambda match: f"{match[0]}{added}", text) if added else text


def register_secret_rules(words: Sequence[str]) -> None:
    """Load the vault's redaction rules, so that an error message repeats no secret."""
    with suppress(Exception):  # a vault whose settings cannot be read has no rules
        root = configuration.find_root(_given_options(words).get("--vault"))
        privacy.register_secret_rules(configuration.load_settings(root))


def _given_options(words: Sequence[str]) -> Mapping[str, str]:
    """Those of `--vault` and `--state-dir` that are given, and their values."""
    pairs = zip(words, (*words[1:], ""), strict=False)
    parts = ((*word.partition("="), following) for word, following in pairs)
    return {
        name: value if sign else following
        for name, sign, value, following in parts
        if name in ("--vault", "--state-dir")
    }
