"""Placeholders, the rules by which they are made, and the secrets for which they stand.

A placeholder is `[REDACTED:kind:xxxxxxxx]`, with eight hex digits of a keyed hash: the same
secret has the same placeholder everywhere in a vault, and guesses cannot be tested without the
key. No table is stored: the placeholders of a text can be computed from the original.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from vaultsync.model.lazy_pattern import lazy_pattern

REDACTION_PREFIX = "REDACTED:"
PLACEHOLDER = lazy_pattern(r"\[REDACTED:[a-z0-9-]{1,40}:[0-9a-f]{8}\]")
BARE_PLACEHOLDER = lazy_pattern(r"REDACTED:[a-z0-9-]{1,40}:[0-9a-f]{8}")
"""The form in names of notes, which cannot contain brackets."""


class Redactor(Struct, frozen=True):
    """The user's rules about secrets, and the key of placeholders."""

    key: bytes
    """The key of the placeholders, of this vault on this machine."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """The user's patterns: the first group, or the whole match, is the secret."""
    values: tuple[str, ...] = ()
    """Texts that are secrets: values of environment variables."""
    optional: frozenset[str] = frozenset()
    """Kinds of `OPTIONAL_FORMS` that are enabled."""

    @property
    def own(self) -> bool:
        """Whether the user has rules."""
        return bool(self.values or self.patterns or self.optional)

    def placeholder(self, kind: str, secret: str) -> str:
        """The placeholder of a secret."""
        digest = hmac.digest(self.key, secret.encode(errors="surrogatepass"), "sha256")
        return f"[REDACTED:{kind}:{digest.hex()[:8]}]"

    def stands_for(self, name: str, secret: str) -> bool:
        """Whether a placeholder is that of a text, with this key."""
        return self.placeholder(name.split(":")[1], secret) == name


def replace_spans(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """A text with replacements at some spans, which are in order."""
    parts: list[str] = []
    at = 0
    for start, end, words in changes:
        parts += (text[at:start], words)
        at = end
    return "".join((*parts, text[at:])) if parts else text


class KnownSecrets(Struct, frozen=True):
    """The secrets of some related texts, by placeholder."""

    known: Mapping[str, str]
    """Placeholder -> secret; a placeholder that an original text quotes maps to itself."""

    def restore(self, text: str, *, bare: bool = False) -> tuple[str, list[str]]:
        """The original of a text, and the placeholders in it that are unknown.

        `bare` is for names of notes, in which placeholders have no brackets.
        """
        if REDACTION_PREFIX not in text:
            return text, []
        unknown: list[str] = []

        def secret_of(match: re.Match[str]) -> str:
            name = f"[{match[0]}]" if bare else match[0]
            secret = self.known.get(name)
            if secret is None:
                unknown.append(name)
                return match[0]
            return secret[1:-1] if bare and secret == name else secret

        return (BARE_PLACEHOLDER if bare else PLACEHOLDER).sub(secret_of, text), unknown

    @property
    def names(self) -> dict[str, str]:
        """Secret -> placeholder, without placeholders that a text quotes."""
        return {secret: name for name, secret in self.known.items() if secret != name}


NO_SECRETS = KnownSecrets({})


def join_secrets(many: Iterable[KnownSecrets]) -> KnownSecrets:
    """The secrets of several facts.

    A placeholder that would stand for two of them stands for none. Where it is itself in
    one and a secret in another, it is the secret: an older version of a fact may quote it.
    """
    known: dict[str, str] = {}
    doubtful: set[str] = set()
    for each in many:
        for name, secret in each.known.items():
            held = known.setdefault(name, secret)
            if held == name:
                known[name] = secret
            elif secret not in (held, name):
                doubtful.add(name)
    return KnownSecrets({k: v for k, v in known.items() if k not in doubtful})


class RedactionText(Struct, frozen=True):
    """One text of several that belong together."""

    text: str
    label: str = ""
    """What it is called: after `api_key`, a word is a secret that is none elsewhere."""
    bare: bool = False
    """Whether it is the name of a note, which cannot hold brackets."""


class Redaction(Struct, frozen=True):
    """How the secrets of some texts that belong together are hidden."""

    secrets: KnownSecrets
    changes: Mapping[tuple[str, bool], Sequence[tuple[int, int, str]]]
    """By text, and by whether it is a bare name: what is put where."""

    def hide(self, text: str, *, bare: bool = False, shown: str = "") -> str:
        """One of the texts, with placeholders.

        A secret of several lines that `shown` shows stays as it is.
        """
        changes = self.changes.get((text, bare), ())
        if shown and changes:
            many = self.hidden(text, bare=bare)
            kept = {each for each in many if "\n" in each and each in shown}
            changes = [each for each in changes if text[each[0] : each[1]] not in kept]
        return replace_spans(text, changes)

    def hidden(self, text: str, *, bare: bool = False) -> list[str]:
        """What it hides of one of the texts, in order."""
        return [text[start:end] for start, end, _ in self.changes.get((text, bare), ())]


NO_REDACTION = Redaction(NO_SECRETS, {})
