"""The folder of the vault whose notes a question asks for: *notes in the How-tos folder*.

Loaded for questions with a word for a folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.paths import VaultPath, path_key

NotesIn: TypeAlias = Callable[[str], frozenset[str]]
"""A folder as a question names it -> the ids of the notes in it."""
_NAME = r"\S{1,80}(?:\s+\S{1,80}){0,3}"
"""A name of up to four words."""
_IN = (
    r"\b(?:(?:in|from|under|inside|within|of|im|aus|unter|dans|du|sous|en|del?)\s+"
    r"(?:(?:the|my|our|dem|meinem|unserem|le|mon|notre|la|mi|nuestra|el)\s+)?)"
)
_BEFORE = lazy_pattern(
    rf"{_IN}(?P<name>{_NAME}?)(?:\s+(?:folder|directory)\b|-ordner\b)"
    r"|(?P<name_ja>[^\s「」、。]{1,40})」?フォルダ",
    re.IGNORECASE,
)
"""A name before the word: *in the How-tos folder*."""
_BEHIND = lazy_pattern(
    rf"(?:{_IN})?\b(?:folder|directory|ordner|verzeichnis|dossier|répertoire|carpeta|directorio)\s+"
    rf"(?:(?:named|called|namens|de|des)\s+)?(?P<name>{_NAME})",
    re.IGNORECASE,
)
"""A name behind it: *im Ordner Anleitungen*."""
_SIGNS = " \t\"'“”„«»「?!.,;:"
"""Signs around a name, and those of the sentence."""


def is_in_folder(folder: VaultPath, named: str) -> bool:
    """Whether a folder has a name, or is below one that has it; case does not matter.

    Args:
        folder: a folder of the vault.
        named: one name, or several with slashes: `Team/How-tos`.
    """
    name = path_key(named.strip("/"))
    return bool(name) and f"/{name}/" in f"/{path_key(folder)}/"


def named_folder(text: str, notes_in: NotesIn) -> tuple[str, str]:
    """The folder that a question names, and the rest of the question; ("", text) for none.

    Only a folder that has notes counts: otherwise the words are a topic.
    """
    for begin, end, name in chain(_names_before(text), _names_behind(text)):
        if (folder := name.strip(_SIGNS)) and notes_in(folder):
            return folder, f"{text[:begin]} {text[end:]}"
    return "", text


def _names_before(text: str) -> Iterator[tuple[int, int, str]]:
    """Begin and end of each phrase with a name before the word, the longest name first."""
    for match in _BEFORE.finditer(text):
        words = (match["name"] or match["name_ja"]).split()
        for at in range(len(words)):
            yield match.start(), match.end(), " ".join(words[at:])


def _names_behind(text: str) -> Iterator[tuple[int, int, str]]:
    """The same for a name behind the word."""
    for match in _BEHIND.finditer(text):
        ends: Iterable[re.Match[str]] = re.finditer(r"\S+", match["name"])
        for last in reversed([*ends]):
            end = match.start("name") + last.end()
            yield match.start(), end, text[match.start("name") : end]
