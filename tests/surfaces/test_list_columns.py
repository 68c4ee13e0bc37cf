"""`list --columns` and `--csv` show the fields that are asked for, and no cell is a formula."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.sources import contents, read
from tests.surfaces.command_line import FACT, FakeMemory, run
from vaultsync.cli.fact_columns import csv_text
from vaultsync.cli.output import clean
from vaultsync.facts.listing import FactPage

LISTED = FactPage((FACT, FACT.evolve(title="Tea, “green”", properties={}, own={})), None)
FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
_TEXTS = st.text(st.sampled_from("=+-@'\",;\t\r\n＝ a"), max_size=6)


def listed(*words: str, code: int = 0) -> str:
    done = run("list", *words, memory=FakeMemory(list=LISTED))
    assert done.exit_code == code, done.output
    return done.stdout_bytes.decode() if code == 0 else done.stderr


@given(st.lists(_TEXTS, min_size=1, max_size=4))
def test_csv_is_read_back_and_holds_no_formula(texts: list[str]) -> None:
    text = csv_text(["content", "sentiment"], [{"content": x, "sentiment": -0.5} for x in texts])
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert head == ["content", "sentiment"]
    assert [each[1] for each in rows] == ["-0.5"] * len(texts)
    assert not any(cell.startswith(FORMULAS) for cell, _ in rows)
    assert text.replace("\r\n", "").count("\r") == 0
    kept = [clean(each) for each in texts]
    if all(map(str.strip, kept)):
        assert contents(read("csv", "a.csv", text)) == kept


def test_columns_are_fields_of_all_kinds() -> None:
    assert listed("--columns", "path, tags,decisionOutcome,cssclasses,path") == (
        "public/decisions/2026-02-14-use-sqlite.md\tstorage\timplemented\twide\n"
        "public/decisions/2026-02-14-use-sqlite.md\tstorage\t\t\n"
    )
    rows = listed("--csv", "--columns", "title,content").split("\r\n")
    assert rows[:2] == ["title,content", 'Use SQLite,"It is embedded.\n\nIt is fast."']
    assert rows[2].startswith('"Tea, “green”",')
    assert listed("--csv").startswith("id,title,type,priority,scope,status,tags,createdAt,path\r\n")


@pytest.mark.parametrize(
    "words", [("--columns", "titel"), ("--json", "--csv"), ("--json", "--columns", "id")]
)
def test_a_list_that_cannot_be_is_refused(words: tuple[str, ...]) -> None:
    listed(*words, code=2)
