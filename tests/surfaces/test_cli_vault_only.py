"""`vaultsync recall --vault-only`: a clone has the files, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from vaultsync.api import opening as app
from vaultsync.cli.main import cli


@pytest.mark.parametrize("words", [("--mode", "vector"), ("--mode", "fused"), ("--explain",)])
def test_options_that_need_a_store_are_refused(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, ["recall", "tea", "--vault-only", "--json", *words])

    assert done.exit_code == 2
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "UsageError"
    assert words[0] in error["message"]
    assert "or --vault-only" in error["hint"]


def test_a_clone_without_a_store_answers_from_its_index_files(tmp_path: Path) -> None:
    vault, clone = tmp_path / "vault", tmp_path / "clone"
    app.init(str(vault), state_dir=str(tmp_path / "state"))
    with app.open(str(vault), state_dir=str(tmp_path / "state")) as memory:
        memory.remember("We meet on Tuesdays at the pier.", scope="team-core")
        memory.sync()
    shutil.copytree(vault, clone)
    words = ("recall", "when do we meet?", "--vault-only", "--mode=index", "--json")
    nowhere = tmp_path / "nowhere"

    done = CliRunner().invoke(cli, [*words, "--vault", str(clone), "--state-dir", str(nowhere)])

    said = json.loads(done.stdout)
    assert said["source"] == "index-files"
    assert "Tuesdays" in said["hits"][0]["title"]
    assert not nowhere.exists()
