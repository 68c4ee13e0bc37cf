"""Notes that are, byte for byte, what their facts would be written as.

What such a note says is known without reading it, since what is written and read again
is the same fact.
"""

from __future__ import annotations

import re

from vaultsync.core.body import RELATED
from vaultsync.core.fact import Fact
from vaultsync.core.lens import Lens
from vaultsync.core.note import TYPE_FOLDERS
from vaultsync.core.note_meaning import is_marked
from vaultsync.core.paths import VaultPath, place
from vaultsync.core.render import render

_FIRST = re.compile(
    rb"---\nid: ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\n"
)
_HEADING = f"## {RELATED}\n- ".encode()
_LINK = re.compile(r"\[\[[^\[\]|\r\n]+(?:\|[^\[\]\r\n]*)?\]\]")


def id_of(data: bytes) -> str | None:
    """The id of a text that begins as new notes do; all of it may be something else."""
    found = _FIRST.match(data)
    return found[1].decode() if found else None


def is_verbatim(data: bytes, path: VaultPath, fact: Fact, lens: Lens) -> bool:
    """Whether a text is what a new note of the fact would be, in a place of its scope.

    Links are taken as they stand in it, one for each related fact: other notes may have
    been moved since.
    """
    at_home = path.startswith(f"{fact.scope}/")
    if not at_home and place(path, TYPE_FOLDERS).scope is not None:
        return False
    links = _links(data, fact) if fact.related_fact_ids else {}
    if links is None:
        return False
    shown = lens.shown(fact) if is_marked(data) else fact
    return render(shown, links=links) == data


def _links(data: bytes, fact: Fact) -> dict[str, str] | None:
    """The links of the text by the facts they stand for, if there are as many."""
    listed = data.rpartition(_HEADING)[2].partition(b"\n\n")[0]
    texts = listed.decode(errors="replace").split("\n- ")
    if len(texts) != len(fact.related_fact_ids):
        return None
    if not all(map(_LINK.fullmatch, texts)):
        return None
    return dict(zip(fact.related_fact_ids, texts, strict=True))
