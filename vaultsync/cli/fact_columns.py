"""Print selected columns of facts, as a table or as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from vaultsync.cli.format_facts import display_value, print_page_end
from vaultsync.cli.output import Options, clean, echo
from vaultsync.cli.tables import table
from vaultsync.exchange.plain_tables import as_text_cell
from vaultsync.model.fact import Fact
from vaultsync.model.schema import FIELDS_BY_KEY, OWN_FIELDS_BY_KEY, Value
from vaultsync.model.serialization import fact_to_values

if TYPE_CHECKING:
    from vaultsync.facts.listing import FactPage

CSV_COLUMNS = ("id", "title", "type", "priority", "scope", "status", "tags", "createdAt", "path")


def print_columns(options: Options, page: FactPage, names: str | None, *, as_csv: bool) -> None:
    """Print the fields of each fact that the comma-separated list `names` contains.

    Raises:
        click.UsageError: `names` contains a field that no fact can have.
    """
    listed = (each.strip() for each in (names or "").split(","))
    columns = tuple(dict.fromkeys(filter(None, listed))) or CSV_COLUMNS
    rows = [_values(each) for each in page.facts]
    valid = {*FIELDS_BY_KEY, *OWN_FIELDS_BY_KEY, "path", "revision"}.union(*rows)
    if unknown := [each for each in columns if each not in valid]:
        message = (
            f"unknown column {unknown[0]!r}: use the keys of a fact as `vaultsync get ID --json`"
            " shows them, such as id, title, content, tags, createdAt or path"
        )
        raise click.UsageError(message)
    if as_csv:
        echo(csv_text(columns, rows).removesuffix("\n"))
    else:
        cells = [[_text(row.get(each)) for each in columns] for row in rows]
        table(columns, cells, whole=("id",))
    print_page_end(options, page)


def _values(fact: Fact) -> Mapping[str, Value]:
    values = {**fact.properties, **fact_to_values(fact)}
    return values | {"path": fact.path, "revision": fact.revision}


def _text(value: Value) -> str:
    return "" if value is None else display_value(value)


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, Value]]) -> str:
    """Format rows as CSV (RFC 4180) with a header; text that looks like a formula is escaped."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(each)) for each in columns])
    return target.getvalue()


def _cell(value: Value) -> str:
    text = clean(_text(value))
    return text if isinstance(value, (int, float)) else as_text_cell(text)
