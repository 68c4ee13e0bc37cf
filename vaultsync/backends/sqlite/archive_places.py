"""The places of the archive from which data is erased with a fact, or pruned when old."""

from __future__ import annotations

import json

from vaultsync.backends.sqlite.archive_rows import pack_column, unpack_column, value_to_json
from vaultsync.storage.archive import COPY_FIELD
from vaultsync.storage.erasure import Traces

ARCHIVE_PLACES: tuple[tuple[str, str], ...] = (
    ("bases", "DELETE FROM bases WHERE is_erased(fact_id)"),
    (
        "blobs",
        (
            "DELETE FROM blobs WHERE mentions(data)"
            " AND sha NOT IN (SELECT sha FROM bases WHERE sha IS NOT NULL)"
        ),
    ),
    (
        "history",
        'DELETE FROM history WHERE is_erased(fact_id) OR mentions("before") OR mentions("after")',
    ),
    ("queued changes", "DELETE FROM waiting WHERE is_erased(json_extract(body, '$.fact_id'))"),
    (
        "conflicts",
        "DELETE FROM conflicts WHERE is_erased(fact_id) OR (NOT open AND mentions(body))",
    ),
    ("proposals", "DELETE FROM proposals WHERE mentions(body)"),
    ("run reports", "UPDATE runs SET report = scrubbed(report) WHERE mentions(report)"),
    ("notices", "DELETE FROM attention WHERE mentions(path) OR mentions(body)"),
    ("moves", "DELETE FROM moves WHERE is_erased(fact_id)"),
    ("settings", "UPDATE settings SET value = without_ids(value) WHERE mentions(value)"),
)
"""The tables that contain data of a fact, and how to erase it there. A new table needs a
row here."""
_REMOVAL = "(field = 'note' AND \"after\" = 'null')"
_NEEDED_BLOBS = (
    "SELECT sha FROM bases WHERE sha IS NOT NULL UNION"  # noqa: S608 - ours
    " SELECT value FROM waiting, json_each(waiting.body) WHERE type = 'text' UNION"
    " SELECT json_extract(\"before\", '$.sha') FROM history"
    f" WHERE field IN ('note', '{COPY_FIELD}') AND json_extract(\"before\", '$.sha') IS NOT NULL"
)
"""The blobs that bases, unfinished writes, displaced files, and notes and copies that an undo puts
back, need."""
PRUNED_PLACES: tuple[tuple[str, str, str], ...] = (
    (
        "moves",
        "moves",
        (
            "fact_id NOT IN (SELECT fact_id FROM bases)"
            " AND fact_id NOT IN (SELECT fact_id FROM history)"
        ),
    ),
    (
        "history",
        "history",
        "run IN (SELECT run FROM history GROUP BY run HAVING max(at) < :history) AND NOT "  # noqa: S608 - ours
        + _REMOVAL,
    ),
    ("removed notes", "history", "at < :tombstones AND " + _REMOVAL),
    ("runs", "runs", "at < :runs AND n < (SELECT max(n) FROM runs)"),
    ("conflicts", "conflicts", "NOT open AND json_extract(body, '$.at') < :history"),
    ("proposals", "proposals", "NOT open AND json_extract(body, '$.settled_at') < :history"),
    ("blobs", "blobs", "unused_since < :blobs"),
)
"""The rows that are pruned when old, by name, table and condition. The history of a run is kept or
pruned as a whole, so that it can be undone. Moves come first, and so are pruned one time later than
their history, so that a dry run counts the same."""
MARKS = (
    f"UPDATE blobs SET unused_since = NULL WHERE sha IN ({_NEEDED_BLOBS})",  # noqa: S608 - ours
    "UPDATE blobs SET unused_since = :now WHERE unused_since IS NULL"  # noqa: ISC004, S608 - ours
    f" AND sha NOT IN ({_NEEDED_BLOBS})",
)


def without_ids(setting: str, traces: Traces) -> str:
    """A setting, which may be a list of ids or of paths in lines, without the ids of facts."""
    lines = setting.split("\n")
    return "\n".join(
        " ".join(x for x in line.split(" ") if x not in traces.fact_ids) for line in lines
    )


def scrub_report(report: str | bytes, traces: Traces) -> str | bytes:
    """The report column of a run, without the entries that name or quote a fact."""

    def scrub(value: object) -> object:
        if isinstance(value, dict):
            return {key: scrub(each) for key, each in value.items()}
        if isinstance(value, list):
            return [each for each in value if not traces.mentions(json.dumps(each))]
        return "" if isinstance(value, str) and traces.mentions(value) else value

    return pack_column(value_to_json(scrub(json.loads(unpack_column(report)))))
