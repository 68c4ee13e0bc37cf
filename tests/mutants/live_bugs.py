"""Bugs in what runs all the time: settling, rescans, watchers, and who has the engine."""

from __future__ import annotations

from tests.mutants.bug import Bug

DAEMON, SETTLE = "daemon/test_loop.py", "daemon/test_debounce.py"
KEEPING, WATCHER = "daemon/test_watcher_supervisor.py", "contracts/test_watcher.py"
SERVED = "surfaces/test_while_watched.py"

LIVE_BUGS: tuple[Bug, ...] = (
    Bug(
        "who saves without end is never heard",
        "daemon/schedule.py",
        "return min(self._last[path] + self._quiet, self._first[path] + self._longest)\n",
        "return self._last[path] + self._quiet\n",
        f"{SETTLE}::test_every_path_is_taken_once_when_it_is_due",
    ),
    Bug(
        "a note settles after its first event",
        "daemon/schedule.py",
        "            self._last[path] = now\n",
        "            self._last.setdefault(path, now)\n",
        f"{SETTLE}::test_every_path_is_taken_once_when_it_is_due",
    ),
    Bug(
        "a note that is being saved is written all the same",
        "daemon/loop.py",
        "            being_saved=self._notes.pending(),\n",
        "",
        f"{DAEMON}::test_an_agent_waits_for_a_note_that_is_being_saved",
    ),
    Bug(
        "lost events are nobody's business",
        "daemon/loop.py",
        "        if events.lost:\n            self._request_full_scan(events.lost)\n",
        "",
        f"{DAEMON}::test_lost_events_mean_a_rescan_now",
    ),
    Bug(
        "a sleep of the machine goes unnoticed",
        "daemon/loop.py",
        "        gap = max(now - expected, abs(self._wall_time() - wall))\n",
        "        gap = now - expected\n",
        f"{DAEMON}::test_after_a_gap_in_time_the_vault_is_looked_at",
    ),
    Bug(
        "a failed pass is forgotten",
        "daemon/loop.py",
        '        self._request_full_scan("the last sync failed")\n',
        "",
        f"{DAEMON}::test_an_edit_that_a_failed_pass_had_in_hand_is_taken_up_by_the_next",
    ),
    Bug(
        "the daemon tries what was stopped under another run",
        "daemon/loop.py",
        "            run=stopped if whole else None,\n",
        "",
        f"{DAEMON}::test_what_the_guard_stopped_is_tried_under_one_run",
    ),
    Bug(
        "a dead watcher is trusted",
        "daemon/watcher_supervisor.py",
        "            why = self._watcher.failure() or self._missed_probe(now)\n",
        "            why = self._missed_probe(now)\n",
        f"{KEEPING}::test_a_dead_watcher_is_noticed_within_five_seconds_and_started_again",
    ),
    Bug(
        "each probe puts the answer off",
        "daemon/watcher_supervisor.py",
        "        if self._probed_at is None:\n            self._probed_at = now\n",
        "        self._probed_at = now\n",
        f"{KEEPING}::test_the_first_probe_that_is_unheard_counts_not_the_last",
    ),
    Bug(
        "a full queue is no loss",
        "backends/watchers/watchfiles.py",
        "if burst >= self._full:\n",
        "if False:\n",
        f"{WATCHER}::test_a_full_queue_is_heard_when_the_process_was_stopped",
    ),
    Bug(
        "a replaced root is still watched",
        "backends/watchers/collector.py",
        "            same = self._look() == self._identity\n",
        "            same = self._look() != (0, 0)\n",
        f"{WATCHER}::test_a_root_that_was_replaced_is_trouble",
    ),
    Bug(
        "an error ends the watching thread in silence",
        "backends/watchers/watchfiles.py",
        '            self.fail(f"{type(error).__name__}: {error}")\n',
        "            del error\n",
        f"{WATCHER}::test_an_error_while_hearing_is_a_failure",
    ),
    Bug(
        "an agent's word is the person's once it is handed over",
        "http_bridge/handlers.py",
        "body.text\n    agent = bridge.asks(body.agent)\n",
        "body.text\n    agent = bridge.settings.agent\n",
        f"{SERVED}::test_an_agent_resolves_a_conflict",
    ),
    Bug(
        "a bridge asks itself",
        "api/daemon_client.py",
        "    if BridgeAddressFile(settings.state_dir).is_own():\n",
        "    if not settings.state_dir:\n",
        f"{SERVED}::test_a_bridge_without_the_vault_is_not_asked",
    ),
    Bug(
        "a vault may do what it asks for",
        "trust.py",
        "    return {} if not asked or record.allows(requests) else asked\n",
        "    return {}\n",
        "surfaces/attacks/test_untrusted_vault.py::test_every_command_refuses_alike",
    ),
    Bug(
        "who was trusted once is trusted for ever",
        "trust.py",
        "        return bool(self.sha256) and self.sha256 == TrustRecord.of(requests).sha256\n",
        "        return bool(self.sha256)\n",
        "test_trust.py::test_a_record_allows_what_was_asked_and_nothing_else",
    ),
    Bug(
        "a copy shares the store of its original",
        "backends/state/vault_marker.py",
        "        raise CopiedVaultError(str(root), before)\n",
        "        return\n",
        "surfaces/test_vault_copies.py::test_a_copy_does_not_share_the_store_of_its_original",
    ),
)
