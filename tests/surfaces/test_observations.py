"""Observations on the surfaces: stored at once, found by words, classified by the daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import vaultsync
from vaultsync.cli.main import cli
from vaultsync.errors import InvalidFieldError
from vaultsync.indexing.embedding_texts import embedding_chunks
from vaultsync.service.daemon_runner import DaemonRunner

FAILED = "The deploy failed: the disk of the Pier Box is full."
ROUTINE = "The nightly build ran its steps, and " + "then saved its cache, " * 9 + "as usual."


def test_a_pending_observation_is_found_by_its_words_and_is_in_no_pack(vault: Path) -> None:
    with vaultsync.open(str(vault), agent="indy") as memory:
        seen = memory.observe(FAILED, context="during the release")

        assert seen.status == "pending"
        assert [hit.id for hit in memory.recall("deploy disk Pier Box").hits] == [seen.id]
        assert not memory.context("Why did the deploy to the Pier Box fail?").items
        memory.process_observations()
        packed = memory.context("Why did the deploy to the Pier Box fail?").items
        assert [each.id for each in packed] == [seen.id]


def test_the_background_is_left_out_of_recall_and_can_be_asked_for(vault: Path) -> None:
    with vaultsync.open(str(vault), agent="indy") as memory:
        seen = memory.observe(ROUTINE)
        memory.process_observations()

        assert not memory.recall("nightly build steps").hits
        assert [hit.id for hit in memory.recall("nightly build steps", all=True).hits] == [seen.id]
        shown = memory.observation(seen.id)
        assert (shown.tier, shown.original) == ("background", ROUTINE)


def test_what_matters_is_linked_weighed_and_embedded_and_the_rest_only_kept(vault: Path) -> None:
    with vaultsync.open(str(vault), agent="indy") as memory:
        memory.remember("A harbour.", title="Skarvik Harbour", type="entity", scope="public")
        decided = memory.observe("We decided to leave Skarvik Harbour.")
        routine, short = memory.observe(ROUTINE), memory.observe("All 41 tests pass.")
        memory.process_observations()

        facts = [memory.get(each.id) for each in (decided, routine, short)]
        assert [each.importance for each in facts] == [0.85, 0.1, 0.1]
        assert "[[Skarvik Harbour]]" in facts[0].content
        index, by_id = memory._services.note_index, {each.id: each for each in facts}
        chunks = embedding_chunks(memory._ctx.store, index, by_id)
        assert [bool(chunks[each.id]) for each in facts] == [True, False, False]
        assert [bool(each.expires_at) for each in facts] == [False, True, True]


def test_a_lower_priority_is_asked_for(vault: Path) -> None:
    with vaultsync.open(str(vault), agent="indy") as memory:
        memory.remember("The tide table hangs in the net loft.", priority=3, agent="moss")
        kept = memory.remember("The tide table is printed on Mondays.", scope="public", priority=3)

        assert not memory.recall("tide table").hits
        assert [hit.id for hit in memory.recall("tide table", max_priority=3).hits] == [kept.id]


def test_a_daemon_classifies_what_waits(vault: Path) -> None:
    with vaultsync.open(str(vault), agent="indy") as memory:
        seen = memory.observe(FAILED)
    with vaultsync.open(str(vault)) as memory:
        settings = memory.settings

    DaemonRunner(settings, once=True).run()

    with vaultsync.open(str(vault)) as memory:
        assert memory.get(seen.id).status == "active"
        assert memory.observations(tier="critical")[0].id == seen.id


def test_maintenance_classifies_what_waits(vault: Path) -> None:
    with vaultsync.open(str(vault)) as memory:
        seen = memory.observe(FAILED)
        memory.maintain()

        assert memory.get(seen.id).priority == 0


def test_an_unknown_tier_is_refused(vault: Path) -> None:
    with vaultsync.open(str(vault)) as memory, pytest.raises(InvalidFieldError, match="tier"):
        memory.observations(tier="vital")


def test_the_command_line_observes_processes_lists_and_shows(vault: Path) -> None:
    def said(*words: str) -> str:
        done = CliRunner().invoke(cli, [*words, "--vault", str(vault)])
        assert done.exit_code == 0, done.output
        return done.output

    assert "no observations" in said("observations", "list")
    seen = json.loads(said("observe", ROUTINE, "--json"))
    said("observe", FAILED)
    assert seen["status"] == "pending"
    assert json.loads(said("status", "--json"))["observations"]["pending"] == 2
    assert "1 critical, 0 notable, 1 background" in said("observations", "process")
    assert "1 critical, 0 notable, 1 background (1 archived)" in said("status")
    assert FAILED in said("observations", "list", "--tier", "critical")
    assert ROUTINE in said("observations", "show", seen["id"])
    assert json.loads(said("observations", "show", seen["id"], "--json"))["compressed"]
    assert json.loads(said("observations", "list", "--json"))["observations"]
