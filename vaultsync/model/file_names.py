"""Names of files: those of notes, made from their titles, and those of conflict copies.

Names that are made here are valid on every file system and inside a wiki-link, so that a vault
can move between machines; the title itself stays in the note.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Container, Iterator
from typing import NamedTuple

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import NAME_BYTES, VaultPath, join_path, path_key, stem_of

SLUG_LENGTH = 50
STEM_BYTES = 120
"""Leaves room for a date, an id and the suffixes of sync tools (Syncthing hashes names of more
than 160 bytes)."""

# Invisible letters and marks (Default_Ignorable_Code_Point outside Cf and Cn).
_UNSEEN = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_LONGEST_TITLE = 400


def _visible(title: str) -> str:
    """The title in NFC without invisible characters, with single spaces.

    Unassigned and private characters are removed too: APFS rejects the former.
    """
    if title.isascii() and title.isprintable():
        return " ".join(title.split())[:_LONGEST_TITLE]
    text = unicodedata.normalize("NFC", title)
    if not text.isascii():
        text = re.sub(_UNSEEN, "", text)
    text = "".join(
        " " if char.isspace() or char == "\u2800" else char
        for char in text
        if char.isspace() or unicodedata.category(char)[0] != "C"
    )
    return unicodedata.normalize("NFC", " ".join(text.split()))[:_LONGEST_TITLE]


_NO_WORD = lazy_pattern("[^a-z0-9]")
_HYPHENS = lazy_pattern("-{2,}")
_NO_HEX = lazy_pattern("[^0-9a-f]")


def slug(title: str) -> str:
    """The title in lower-case letters, digits and hyphens; empty when none remain.

    At most `SLUG_LENGTH` characters and `STEM_BYTES` bytes, cut between words when a
    word ends in the last third. A name that Windows keeps for itself gets a `_`.
    """
    text = unicodedata.normalize("NFC", _visible(title).lower())
    kept: list[str] = []
    if text.isascii():
        kept, text = [_NO_WORD.sub("-", text.replace("'", ""))], ""
    for char in text:
        if char.isalnum():
            kept.append(char)
        elif unicodedata.category(char) in ("Mn", "Mc"):
            if kept and kept[-1] != "-":
                kept.append(char)
        elif char not in "'’" and unicodedata.category(char) != "Me":
            kept.append("-")
    joined = unicodedata.normalize("NFC", "".join(kept))
    whole = _HYPHENS.sub("-", joined).strip("-")
    short = _cut(whole, size=STEM_BYTES, length=SLUG_LENGTH)
    if short != whole and whole[len(short)] != "-":
        word = short.rfind("-")
        if word * 3 >= len(short) * 2:
            short = short[:word]
    return _unreserved(short.strip("-"))


_GAPS = lazy_pattern(r'[*?"<>#^\[\]%]')
_JOINTS = lazy_pattern(r"(?: ?[/\\:|])+ ?")
_SUFFIXES = lazy_pattern(r"(?:\.md|\.conflict|[ .])+\Z", re.IGNORECASE)


def entity_name(title: str) -> str:
    """The title as a file name that is valid everywhere; empty when nothing remains.

    At most `STEM_BYTES` bytes, cut between visible characters.
    """
    text = " ".join(_GAPS.sub(" ", _visible(title)).split())
    text = _JOINTS.sub(lambda found: " - " if " " in found[0] else "-", text.strip(" ./\\:|"))
    text = _trimmed(_cut(_trimmed(_not_a_copy(text)), size=STEM_BYTES))
    text = _not_a_copy(text)  # what was cut off may have been what told it apart
    return _trimmed(_cut(_unreserved(text), size=STEM_BYTES))


def _not_a_copy(text: str) -> str:
    """Without the signs by which sync tools name conflict copies."""
    if not is_foreign_conflict_copy(text):
        return text
    return " ".join(re.sub(r"[()._]", " ", text).split())


def _trimmed(text: str) -> str:
    """Without prefixes that hide a file or look like an option, and suffixes that Windows drops."""
    hiding = itertools.takewhile(
        lambda char: char in " .-~" or unicodedata.category(char)[0] == "M", text
    )
    return _SUFFIXES.sub("", text[len(list(hiding)) :])


_RESERVED = r"(?i)(con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?=\.|\Z)"


def _unreserved(name: str) -> str:
    """Append `_` to names that Windows reserves, which ignores the part behind the first dot."""
    return re.sub(_RESERVED, r"\1_", name, count=1) if re.match(_RESERVED, name) else name


def _cut(text: str, *, size: int, length: int | None = None) -> str:
    """At most `size` bytes and `length` characters, not within a visible character."""
    if len(text) * 4 <= size and (length is None or len(text) <= length):
        return text
    end = len(text.encode(errors="replace")[:size].decode(errors="ignore"))
    if length is not None:
        end = min(end, length)
    if end == len(text):
        return text
    at = end
    while at and _continues(text, at):
        at -= 1
    # A single character that is longer than the limit is cut nevertheless.
    return text[: at or end]


_JOINER = "\u200d"


def _continues(text: str, at: int) -> bool:
    """Whether `text[at]` is part of the visible character before it."""
    char = text[at]
    if char < "\u0300":
        return False
    if unicodedata.category(char)[0] == "M" or _JOINER in (char, text[at - 1]):
        return True
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\u1160" <= char <= "\u11ff":
        return True  # a skin tone; the vowel or end of a Hangul syllable
    flags = itertools.takewhile(
        lambda before: "\U0001f1e6" <= before <= "\U0001f1ff", reversed(text[: at + 1])
    )
    return sum(1 for _ in flags) % 2 == 0 and "\U0001f1e6" <= char <= "\U0001f1ff"


_DATE = lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _digits(fact_id: str) -> str:
    return _NO_HEX.sub("", fact_id.lower())


def file_name(*, title: str, type_name: str, created_at: str, fact_id: str, named: bool) -> str:
    """The name of a new note: date and title, or the title alone for `named` types."""
    stem = entity_name(title) if named else slug(title)
    # A UUIDv7 begins with the time and ends with random bits.
    stem = stem or f"{slug(type_name) or 'note'}-{_digits(fact_id)[-8:]}"
    day = created_at[:10]
    date = f"{day}-" if _DATE.fullmatch(day) and not named else ""
    return f"{date}{stem}.md"


_NOTE_SUFFIX = lazy_pattern(r"(?:\.conflict)?\.md\Z", re.IGNORECASE)


def free_path(folder: VaultPath, name: str, taken: Container[str], *, fact_id: str) -> VaultPath:
    """The first path for `name` in a folder that is not taken.

    A name that is too long is cut; the id of the fact distinguishes notes with the same name.
    `taken` has the keys (`path_key`) of all files and folders of the vault. Raises as
    `vault_path()`.
    """
    found = _NOTE_SUFFIX.search(name)
    suffix = found[0] if found else ""
    stem = name.removesuffix(suffix)
    if not stem.isascii():
        stem = unicodedata.normalize("NFC", stem)
    marks = _marks(fact_id)
    while True:
        tail = next(marks) + suffix
        short = _cut(stem, size=NAME_BYTES - len(tail.encode()))
        fitted = stem if len(short) == len(stem) else short.rstrip(" .")
        path = join_path(folder, fitted + tail)
        if path_key(path) not in taken:
            return path


def _marks(fact_id: str) -> Iterator[str]:
    yield ""  # most names are free
    digits = _digits(fact_id)[-8:]
    if digits:
        yield f" ({digits})"
    yield from (f" ({f'{digits} {n}'.strip()})" for n in itertools.count(2))


# ---------------------------------------------------------------- conflict copies


class ConflictCopy(NamedTuple):
    """What the name of a conflict copy tells."""

    tool: str
    """The sync tool that made it."""
    note: str
    """The name of the file that it is a copy of."""


class ConflictCopyName(NamedTuple):
    """How a sync tool names the second version of a file that two devices changed."""

    tool: str
    example: str
    mark: str
    """What follows the name of the file: a pattern, in any case of letters."""
    source: str
    """Where the tool documents it, or its code writes it."""


_OBSIDIAN = "https://help.obsidian.md/sync/troubleshoot"
_HEADLESS = "https://github.com/obsidianmd/obsidian-headless/blob/main/cli.js"
_SYNCTHING = "https://docs.syncthing.net/users/syncing.html#conflicting-changes"
_DROPBOX = "https://help.dropbox.com/organize/conflicted-copy"
_NEXTCLOUD = "https://docs.nextcloud.com/server/latest/user_manual/en/desktop/conflicts.html"
_NEXTCLOUD_CODE = "https://github.com/nextcloud/desktop/blob/master/src/common/utility.cpp"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"

CONFLICT_COPIES = tuple(
    ConflictCopyName(tool, name, mark, source)
    for tool, source, name, mark in (
        (
            *("Obsidian Sync", _OBSIDIAN, "Plan (Conflicted copy Phone 202601021530).md"),
            r" \(conflicted copy [^()]*[0-9]{12}\)",
        ),
        ("Obsidian Sync", _HEADLESS, "Plan (Conflicted copy).md", r" \(conflicted copy\)"),
        (
            *("Syncthing", _SYNCTHING, "Plan.sync-conflict-20260102-153000-ABCDEFG.md"),
            r"\.sync-conflict-[0-9]{8}-[0-9]{6}(?:-[a-z0-9]{1,63})?",
        ),
        (
            *("Nextcloud", _NEXTCLOUD, "Plan (conflicted copy 2026-01-02 153000).md"),
            rf" \(conflicted copy (?:[^()]* )?{_DAY} [0-9]{{6}}\)",
        ),
        (
            *("Nextcloud", _NEXTCLOUD_CODE, "Plan (case clash from 2026-01-02 153000).md"),
            rf" \(case clash from (?:[^()]* )?{_DAY} [0-9]{{6}}\)",
        ),
        (
            *("Nextcloud", _NEXTCLOUD_CODE, "Plan_conflict-20260102-153000.md"),
            "_conflict-(?:[^()]*-)?[0-9]{8}-[0-9]{6}",
        ),
        (
            *("Dropbox", _DROPBOX, "Plan (Ann's conflicted copy 2026-01-02).md"),
            r" ?\([^()]*conflicted copy[^()]*[0-9]{4}[^()]*(?: \([0-9]+\))?\)",
        ),
    )
)
"""By their names. The date, or that nothing follows, excludes notes about conflicted copies.

iCloud (`Plan 2.md`) and OneDrive (`Plan-DESKTOP-1A2B3C4.md`) give copies names that notes have,
too: see `LIKELY_COPIES`.
"""
LIKELY_COPIES = (
    ConflictCopyName(
        "iCloud Drive",
        "Plan 2.md",
        "[ _](?:[2-9]|[1-9][0-9])",
        "https://github.com/logseq/logseq/issues/6972",
    ),
    ConflictCopyName(
        "OneDrive",
        "Plan-DESKTOP-1A2B3C4.md",
        "-(?:(?:desktop|laptop|win)-[a-z0-9]{3,}|.*(?:macbook|imac|mac mini).*|.+-pc)(?:-[0-9]+)?",
        "https://github.com/JeffSteinbok/obsidian-onedrive/issues/128",
    ),
)
"""Names that a person, too, gives to notes: they tell a copy only of a note in the same folder
whose id the file has."""
CONFLICT_COPY_WORDS = ("conflicted copy", "conflict-", "case clash from")
"""Each of these names has one of them, in lower case."""
_CONFLICT_COPY = [
    (row.tool, lazy_pattern(rf"(?P<note>.+?)(?:{row.mark})+(?P<end>\.md)?\Z", re.IGNORECASE))
    for row in CONFLICT_COPIES
]


def conflict_copy_of(name: str) -> ConflictCopy | None:
    """Which sync tool made a file, and of which one; None if the name does not say so."""
    lower = name.lower()
    if any(word in lower for word in CONFLICT_COPY_WORDS):
        for tool, pattern in _CONFLICT_COPY:
            if found := pattern.search(name):
                return ConflictCopy(tool, found["note"] + (found["end"] or ""))
    return None


def is_foreign_conflict_copy(name: str) -> bool:
    """Whether a sync tool made the file, by its name."""
    return conflict_copy_of(name) is not None


def likely_copy_of(name: str, note: str) -> ConflictCopy | None:
    """Which sync tool made a file that has the id of a note beside it, by both names.

    None if they differ in another way.
    """
    stem = stem_of(note)
    rest = stem_of(name).removeprefix(stem)
    for row in LIKELY_COPIES:
        if len(rest) < len(stem_of(name)) and re.fullmatch(row.mark, rest, re.IGNORECASE):
            return ConflictCopy(row.tool, note)
    return None
