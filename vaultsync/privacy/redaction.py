"""Secrets in text -> placeholders, and back.

A secret is a span of a text with a kind. Spans that overlap become one. Most facts have none:
they need `placeholders.py` only, and a cold start does not load this module for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial

from msgspec import structs

from vaultsync.privacy.detection import (
    SecretSpan,
    find_all,
    find_secrets,
    merge_spans,
    optional_spans,
    with_invisible_removed,
)
from vaultsync.privacy.patterns import pattern_spans
from vaultsync.privacy.placeholders import (
    BARE_PLACEHOLDER,
    NO_REDACTION,
    NO_SECRETS,
    PLACEHOLDER,
    REDACTION_PREFIX,
    KnownSecrets,
    Redaction,
    RedactionText,
    Redactor,
    replace_spans,
)

QUOTED_KIND = "quoted"
"""The kind of a placeholder that is quoted in an original text, where it would be mistaken for
that of a secret of the same text."""
MIN_ANYWHERE_LENGTH = 8
"""Length from which a secret is redacted everywhere in a fact; shorter ones may be words."""
MIN_INSIDE_WORD_LENGTH = 16
"""Length from which a secret is redacted inside of words, too."""


_MAX_LOOKS = 12
"""How often the text right beside secrets is searched again."""


@lru_cache(maxsize=8)
def _secrets_of(text: str) -> Sequence[SecretSpan]:
    """The secrets of a text, in no order.

    The texts of a fact are searched again when a secret of one stands in another, and when an
    agent changes the fact.
    """
    return tuple(find_secrets(text))


def secret_spans(
    redactor: Redactor, text: str, known: Iterable[SecretSpan] = ()
) -> list[SecretSpan]:
    """The secrets of a text and the `known` ones, in order, without overlaps."""
    found = [*_secrets_of(text), *known]
    if redactor.own:
        found += with_invisible_removed(partial(_own_spans, redactor), text)
    found = _unquoted(text, found)
    for _ in range(_MAX_LOOKS if found else 0):
        # A text right beside a secret may be another one, without it.
        rest = replace_spans(text, [(s.start, s.end, "\0" * (s.end - s.start)) for s in found])
        more = [s for s in _secrets_of(rest) if "\0" not in rest[s.start : s.end]]
        if not (more := _unquoted(text, more)):
            break
        found = merge_spans([*found, *more])
    return found


def has_secret(redactor: Redactor, text: str) -> bool:
    """Whether a text without placeholders has a secret; the first one ends the search."""
    found = next(find_secrets(text), None)
    if found is None and redactor.own:
        found = next(with_invisible_removed(partial(_own_spans, redactor), text), None)
    return found is not None


def _own_spans(redactor: Redactor, text: str) -> Iterator[SecretSpan]:
    """The matches of the user's rules."""
    for value in redactor.values:
        yield from find_all(text, value, "environment")
    for pattern in redactor.patterns:
        for start, end in pattern_spans(pattern, text):
            yield SecretSpan(start, end, "custom")
    for kind in redactor.optional:
        yield from optional_spans(text, kind)


def hide_secrets(redactor: Redactor, text: str, also: KnownSecrets | None = None) -> str:
    """A single text with its secrets, and those of `also`, redacted."""
    names = also.names if also else {}
    more = [*_repeated(text, names), *_cut_off(text, names)] if names else ()
    changes = []
    for start, end, kind in secret_spans(redactor, text, more):
        secret = text[start:end]
        changes.append((start, end, names.get(secret) or redactor.placeholder(kind, secret)))
    return replace_spans(text, changes)


def _unquoted(text: str, spans: list[SecretSpan]) -> list[SecretSpan]:
    """Spans in order, without those inside of placeholders."""
    if spans and REDACTION_PREFIX in text:
        spans = _outside(spans, [match.span() for match in PLACEHOLDER.finditer(text)])
    return merge_spans(spans)


def _outside(found: Iterable[SecretSpan], spans: Sequence[tuple[int, int]]) -> list[SecretSpan]:
    """The spans that do not lie within others, which are in order."""
    starts = [start for start, _ in spans]
    return [
        each
        for each in found
        if not (at := bisect_right(starts, each.start)) or spans[at - 1][1] < each.end
    ]


_REGISTERED_RULES: dict[Redactor, None] = {}
"""The rules of the vaults of this process, each once: errors and logs come from anywhere, and
belong to no vault."""


def register_rules(redactor: Redactor) -> None:
    """Make `scrub()` apply the user's rules, too."""
    if redactor.own:
        _REGISTERED_RULES[structs.replace(redactor, key=b"")] = None


def scrub(text: str) -> str:
    """A text with its secrets removed, without a key: for errors and logs."""
    found = [span for rules in tuple(_REGISTERED_RULES) for span in secret_spans(rules, text)]
    spans = merge_spans([*find_secrets(text), *found])
    return replace_spans(text, ((s.start, s.end, f"[REDACTED:{s.kind}]") for s in spans))


def learn_placeholders(shown: str, true: str, *, bare: bool = False) -> dict[str, str]:
    """The secrets of placeholders, from a redacted text and its original; empty if they differ."""
    form = BARE_PLACEHOLDER if bare else PLACEHOLDER
    names = [f"[{each}]" if bare else each for each in form.findall(shown)]
    first, *parts = form.split(shown)
    if not names or not true.startswith(first):
        return {}
    found: dict[str, str] = {}
    at = len(first)
    for number, (name, part) in enumerate(zip(names, parts, strict=True), 1):
        last = number == len(names)
        end = len(true) - len(part) if last else true.find(part, at + 1)
        if part == "" and not last:
            return {}  # where one of two adjacent secrets ends is unknown
        if end <= at or not true.startswith(part, end):
            return {}
        if found.setdefault(name, true[at:end]) != true[at:end]:
            return {}
        at = end + len(part)
    return {name: secret for name, secret in found.items() if secret not in (name, name[1:-1])}


def redaction_for(
    redactor: Redactor,
    pieces: Sequence[RedactionText],
    *,
    hides: bool,
    also: KnownSecrets = NO_SECRETS,
) -> Redaction:
    """How to redact the secrets of related texts.

    A secret of one of them, or of `also`, is redacted in all, even where a title ends
    within it. With `hides` off, only quoted placeholders are replaced that would be
    mistaken for those of secrets.
    """
    found = {piece: _labelled(redactor, piece) for piece in pieces}
    names = also.names | {
        piece.text[start:end]: redactor.placeholder(kind, piece.text[start:end])
        for piece, spans in reversed(found.items())
        for start, end, kind in reversed(spans)
    }
    known: dict[str, str] = {}
    for piece, spans in found.items() if names else ():
        more = [*_repeated(piece.text, names), *_cut_off(piece.text, names)]
        more = _outside(more, [(start, end) for start, end, _ in spans])
        if more:
            found[piece] = secret_spans(redactor, piece.text, [*spans, *more])
    for piece, spans in found.items():
        for start, end, kind in spans:
            secret = piece.text[start:end]
            name = names.get(secret)
            if name is None:
                name = names[secret] = redactor.placeholder(kind, secret)
            known[name] = secret
    changes: dict[tuple[str, bool], list[tuple[int, int, str]]] = {}
    for piece, spans in found.items():
        hidden = spans if hides else ()
        quoted = _mistaken_for_secrets(redactor, piece, hidden, known, names)
        shown = merge_spans([*hidden, *quoted])
        if shown:
            spelled = slice(1, -1) if piece.bare else slice(None)  # of a placeholder
            changes[piece.text, piece.bare] = [
                (start, end, names[piece.text[start:end]][spelled]) for start, end, _ in shown
            ]
    return Redaction(KnownSecrets(known), changes) if known else NO_REDACTION


def _mistaken_for_secrets(
    redactor: Redactor,
    piece: RedactionText,
    spans: Sequence[SecretSpan],
    known: dict[str, str],
    names: dict[str, str],
) -> Iterator[SecretSpan]:
    """The placeholders that an original text quotes and that also stand for one of its secrets.

    All others that it quotes map to themselves.
    """
    at = 0
    for match in (BARE_PLACEHOLDER if piece.bare else PLACEHOLDER).finditer(piece.text):
        start, end = match.span()
        while at < len(spans) and spans[at].end <= start:
            at += 1
        if at < len(spans) and spans[at].start < end:
            continue
        quoted = match[0]
        name = f"[{quoted}]" if piece.bare else quoted
        if known.setdefault(name, name) != name:
            names[quoted] = redactor.placeholder(QUOTED_KIND, quoted)
            known[names[quoted]] = quoted
            yield SecretSpan(start, end, QUOTED_KIND)


@lru_cache(maxsize=16)  # of a fact that is changed, most texts stay as they were
def _labelled(redactor: Redactor, piece: RedactionText) -> Sequence[SecretSpan]:
    """The spans of a text, with those that are secrets because of its label."""
    spans = secret_spans(redactor, piece.text)
    if not piece.label or "\n" in piece.text:
        return spans
    before = f"{piece.label}: "
    size = len(before)
    for start, end, kind in secret_spans(redactor, before + piece.text):
        if start >= size:
            spans.append(SecretSpan(start - size, end - size, kind))
    return merge_spans(spans)


def _repeated(text: str, secrets: Iterable[str]) -> Iterator[SecretSpan]:
    """Occurrences of secrets that were found elsewhere; of short ones, only whole words."""
    many = [each for each in secrets if len(each) >= MIN_ANYWHERE_LENGTH and not each.isalpha()]
    for span in _occurrences(text, many):
        size = span.end - span.start
        before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
        alone = not before.isalnum() and not after.isalnum()
        if alone or size >= MIN_INSIDE_WORD_LENGTH:
            yield span


_FEW = 32


def _occurrences(text: str, secrets: Collection[str]) -> Iterator[SecretSpan]:
    """Where secrets occur; each position of a text is looked up once, however many there are."""
    if len(secrets) <= _FEW:
        for secret in secrets:
            yield from find_all(text, secret, "secret")
        return
    known = frozenset(secrets)
    sizes: dict[str, set[int]] = {}
    for secret in known:
        sizes.setdefault(secret[:MIN_ANYWHERE_LENGTH], set()).add(len(secret))
    places = range(len(text) - MIN_ANYWHERE_LENGTH + 1)
    for at in [at for at in places if text[at : at + MIN_ANYWHERE_LENGTH] in sizes]:
        for size in sizes[text[at : at + MIN_ANYWHERE_LENGTH]]:
            if text[at : at + size] in known:
                yield SecretSpan(at, at + size, "secret")


def _cut_off(text: str, secrets: Iterable[str]) -> Iterator[SecretSpan]:
    """The rest of a secret that was cut off at the end of a title."""
    if not text.endswith("…"):
        return
    kept = text[:-1]
    for secret in secrets:
        at = kept.rfind(secret[:MIN_ANYWHERE_LENGTH], max(len(kept) - len(secret), 0))
        if at >= 0 and len(kept) - at >= MIN_ANYWHERE_LENGTH and secret.startswith(kept[at:]):
            yield SecretSpan(at, len(kept), "part")
