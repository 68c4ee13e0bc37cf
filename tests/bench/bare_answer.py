"""The libraries that an answer of the index cannot do without, and nothing else.

`python bare_answer.py INDEX STORE TERM…` opens the note index, asks it for the terms and
reads the facts that it names. Nothing is parsed, checked, scored, told or counted: what a
cold `vaultsync recall` takes above this is ours to answer for.
"""

from __future__ import annotations

import hashlib  # noqa: F401 - ids of scopes and languages
import json
import sqlite3
import sys
import tomllib  # noqa: F401 - the settings
from pathlib import Path
from typing import Any

import click
import tantivy
from tantivy import Occur, Query

POOL = 31
"""As many facts as an answer is chosen of."""


@click.command()
@click.argument("index", type=Path)
@click.argument("store")
@click.argument("terms", nargs=-1)
def answer(index: Path, store: str, terms: tuple[str, ...]) -> None:
    """Print the facts that have some of the terms."""
    words = tantivy.Index.open(str(index))
    searcher = words.searcher()
    asked = [(Occur.Should, Query.term_query(words.schema, "content", term)) for term in terms]
    hits = searcher.search(Query.boolean_query(asked), POOL, count=False).hits
    where = [address for _, address in hits]
    columns = (searcher.fast_field_values(name, where) for name in ("id_high", "id_low"))
    ids = [_spelled(*each) for each in zip(*columns, strict=True)]
    with sqlite3.connect(store) as db:
        rows = db.execute(
            "SELECT body FROM facts WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        ).fetchall()
    facts = [json.loads(body) for (body,) in rows]
    click.echo(json.dumps(facts[:10]))
    if len(facts) != len(hits):
        sys.exit("bench: the index names facts that are not in the store")


def _spelled(high: Any, low: Any) -> str:  # noqa: ANN401 - a column holds anything
    text = f"{high:016x}{low:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


if __name__ == "__main__":
    answer()
