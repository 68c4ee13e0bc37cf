"""Counts of one are followed by a noun in the singular."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from vaultsync.cli.main import cli

_ONE_OF_SEVERAL = re.compile(
    r"(?<![\d.,])1 (are|(more )?(candidate|conflict|convention|difference|fact|hit|line|link"
    r"|message|node|note|observation|proposal|question|setting|text|time|trace|variable)s)\b"
)


@pytest.mark.usefixtures("vault")
def test_one_of_anything_is_singular(tmp_path: Path) -> None:
    questions, exported = tmp_path / "q.toml", tmp_path / "exported"
    said = []

    def tell(words: str, stdin: str = "") -> str:
        result = CliRunner().invoke(cli, shlex.split(words), input=stdin)
        assert not isinstance(result.exception, Exception), result.output
        said.append(f"{words}: {result.output}")
        return result.stdout

    fact_id = tell("remember 'Tea is served at four.' -q").strip()
    path = json.loads(tell(f"get {fact_id} --json"))["path"]
    questions.write_text(f"[[question]]\nquestion = 'tea?'\nexpected = ['{path}']\n", "utf-8")
    for words in (
        "sync", "status", "list", "verify", "log", "index", "doctor", "links check", "graph stats",
        "recall tea --explain --mode index", "context tea", "log --note", "maintain",
        f"eval run {questions}", f"export-to jsonl {exported}", f"export {tmp_path}/f.jsonl",
        f"import-from jsonl {exported}", f"edit {fact_id} --find e --replace x",
        f"edit {fact_id} --find four --count 2 --replace x",
        "sync --max-delete 1", f"import {tmp_path}/f.jsonl", f"purge {fact_id} --dry-run",
    ):  # fmt: skip
        tell(words)
    tell("observe", '{"hook_event_name": "Stop", "prompt": "We decided to use SQLite."}')
    tell("hook claude-code", '{"hook_event_name": "Stop", "prompt": "We must not use XML."}')
    memories = tmp_path / "m.jsonl"
    for text in ("Tea.", "Coffee.", "Cocoa."):
        memories.write_text(f'{{"id": "m", "text": "{text}"}}', "utf-8")
        report = json.loads(tell(f"import-from jsonl {memories} --json"))
        tell(f"import-from jsonl {memories} --dry-run")
        if report["updated"]:
            (imported,) = json.loads(tell("list --json"))["facts"][:1]
            tell(f"update {imported['id']} --set title=Drinks")
    assert "1 fact may have been edited here and differs" in said[-1]
    assert [each for each in said if _ONE_OF_SEVERAL.search(each)] == []
