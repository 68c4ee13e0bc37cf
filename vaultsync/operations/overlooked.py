"""What the feed did not tell: facts of which base and store disagree, found by comparing all.

A feed names what was written. What a store lost by itself, a replica that came back from a
backup with some of its points, nobody wrote; a comparison of all revisions finds it.
"""

from __future__ import annotations

from vaultsync.sync.context import Mirror


def look_again(mirror: Mirror) -> list[str]:
    """Have the next pass look at what was overlooked; returns which facts that are.

    Raises:
        StoreUnavailableError.
    """
    rows = mirror.store.feed()
    there = {row.fact_id: row.revision for row in rows if not row.deleted}
    held = {base.fact.id: base.fact.revision for base in mirror.archive.iter_bases()}
    found = [each for each in {**held, **there} if held.get(each) != there.get(each)]
    if found:
        waiting = (mirror.archive.setting("waiting") or "").split()
        with mirror.archive.transaction():
            every = " ".join(dict.fromkeys([*waiting, *found]))
            mirror.archive.set_setting("waiting", every)
    return found
