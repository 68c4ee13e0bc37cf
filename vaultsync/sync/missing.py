"""Notes that were gone: whether they are back, or something that may be them."""

from __future__ import annotations

from collections.abc import Iterable

from vaultsync.errors.notes import NoteError, NoteMissingError
from vaultsync.model.paths import name_of, parent
from vaultsync.notes.parse import read_note
from vaultsync.storage.records import Base
from vaultsync.sync.context import Mirror


def is_back(mirror: Mirror, base: Base) -> bool:
    """Whether something that could be the note of a fact lies where it was."""
    try:
        file = mirror.vault.read(base.path)
        claims = read_note(file.data, base.path).id
    except NoteMissingError:
        return False
    except NoteError:
        claims = None
    return claims == base.fact.id or (claims is None and _could_be(mirror, base))


def still_missing(mirror: Mirror, bases: Iterable[Base]) -> list[Base]:
    """Of bases about to be kept, those whose notes were gone and are not back.

    A rebuild takes a note that cannot be read as it was read last. Two bases at one
    path would be one too many to look for, should another note have its place.
    """
    gone = {base.fact.id: base.path for base in mirror.archive.missing_bases()}
    return [
        base._replace(missing_since=mirror.now())
        for base in bases
        if gone.get(base.fact.id) == base.path and not is_back(mirror, base)
    ]


def _could_be(mirror: Mirror, base: Base) -> bool:
    """Whether a file without an id may be the note: no other fact's, and of that name.

    Where case does not count, it may bear another one.
    """
    name = name_of(base.path)
    owner = mirror.archive.bases_in(parent(base.path)).get(name, base)
    folder = mirror.vault.folder(parent(base.path))
    listed = folder is None or name in (*folder.files, *folder.odd)
    return listed and owner.fact.id == base.fact.id
