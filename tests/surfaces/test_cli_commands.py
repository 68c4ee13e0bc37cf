"""What each command asks of the memory, prints and ends with: a row for each behaviour."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import Result
from msgspec import structs
from msgspec.json import encode

from tests.golden import GOLDEN, RENEW
from tests.surfaces.command_line import (
    ALICE,
    BAD_CHECK,
    BUSY_PASS,
    CALM,
    CONFLICT,
    DIFFERENCE,
    FACT,
    FILE,
    FILE_REPORT,
    FINE_LINKS,
    FOUND,
    GRAPH,
    GRAPH_TEXT,
    HIT,
    ID,
    LAST_RUN,
    LINK_PROBLEM,
    LONE,
    MANAGED,
    NOTE,
    NOTICE,
    PACK,
    PROPOSAL,
    QUIET,
    QUIET_FILE,
    RUN,
    FakeMemory,
    counts,
    one_object,
    run,
)
from vaultsync import errors
from vaultsync.api.obsidian_views import GraphColours
from vaultsync.cli import recall_commands
from vaultsync.context_packs.formats import PACK_FORMS
from vaultsync.context_packs.pack import INTENTS
from vaultsync.facts.listing import FactPage
from vaultsync.facts.service import ForgetResult
from vaultsync.facts.written_facts import Comparison, Contradiction, SameText
from vaultsync.graph.model import build_graph
from vaultsync.graph.service import find_node, neighborhood
from vaultsync.graph.stats import graph_stats
from vaultsync.memory_files.report import AddResult, FileResult, counts_of, report_of_files
from vaultsync.memory_files.sections import memory_file_notice
from vaultsync.model.fact import Fact
from vaultsync.model.hiding import HiddenMatches
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import (
    CHANGED_SIDE,
    DELETED_SIDE,
    NOTE_FIELD,
    ConflictRecord,
    FieldConflict,
)
from vaultsync.operations.check_links import LinkReport
from vaultsync.operations.purge import FoundTrace, PurgeReport
from vaultsync.proposals.service import SettledProposals
from vaultsync.recall.result import RecallResult, RecallStage, StageCandidate
from vaultsync.sync.decision_table import REASON_BASE_ONLY, REASON_GONE
from vaultsync.sync.report import (
    REPORT_COUNTS,
    ActionTaken,
    DaemonState,
    EmbeddingState,
    MaintenanceReport,
    Report,
    notices_of,
    proof_of,
)
from vaultsync.sync.telemetry import Telemetry, TimePercentiles

OLD_COLOURS = GraphColours("/v/.obsidian/graph.json", changed=False)
NEEDS_REVIEW = structs.replace(BUSY_PASS, attention=[NOTICE])
WAITS = "public/a.md: the note is read-only, so it was not changed; make the note writable"
REPORTS = {
    "sync": "sync",
    "adopt": "adopt",
    "undo": f"undo {RUN}",
    "rebuild": "rebuild --from vault",
    "maintain": "maintain",
}


def ask(words: str, **answers: object) -> Result:
    return run(*shlex.split(words), memory=FakeMemory(**answers))


def test_the_stats_of_a_graph_as_json() -> None:
    stats = one_object(run("graph", "stats", "--json"))
    alice = {"id": ALICE.id, "label": "Alice", "type": "person", "path": ALICE.path}
    assert (stats["nodes"], stats["links"], stats["components"]) == (4, 2, [3])
    assert stats["hubs"][0]["label"] == "Bob"
    assert stats["hubs"][1] == {**alice, "rank": stats["hubs"][1]["rank"], "degree": 2}
    assert [each["label"] for each in stats["orphans"]] == ["Lone"]


def test_the_counts_of_a_report_are_all_there_and_in_order() -> None:
    assert list(one_object(run("sync", "--json"))["counts"]) == list(REPORT_COUNTS)


def test_the_choices_match_the_formats_and_intents() -> None:
    assert set(recall_commands.PACK_FORMATS) == set(PACK_FORMS)
    assert set(recall_commands.INTENT_NAMES) == set(INTENTS)


CALLS = """
remember 'We chose it.' --type decision --title Choice --scope team-x --priority 0 --tag a
    --tag b --entity Alice --field outcome=done --field score=3 --context standup --id 01a1
-> remember('We chose it.', context='standup', entities=('Alice',),
    fields={'outcome': 'done', 'score': 3}, id='01a1', priority=0, scope='team-x',
    tags=('a', 'b'), title='Choice', type='decision')

update 01a1 --content new --set priority=1 --set x=a=b --add-tag a --remove-tag b --expect 3-7
-> update('01a1', add_tags=('a',), content='new', expect='3-7', remove_tags=('b',),
    set={'priority': 1, 'x': 'a=b'})

list --type note --type task --scope public --status active --tag a --since 2026-01 --until 2026-02
    --user zoe --links-to Tea --links-from a.md --newest --limit 5 --after 01a1
-> list(after='01a1', all=False, limit=5, links_from='a.md', links_to='Tea', newest=True,
    scope=('public',), since='2026-01', status='active', tag=('a',), type=('note', 'task'),
    until='2026-02', user='zoe')

sync --dry-run --allow-scope-moves --max-delete 0 --confirm r1
-> sync(allow_scope_moves=True, confirm='r1', dry_run=True, max_delete=0, progress=None)

adopt a.md b --scope team-x --type note --dry-run
-> adopt(('a.md', 'b'), dry_run=True, progress=None, scope='team-x', type='note')

maintain --dry-run --max-delete 3 --confirm r1
-> maintain(confirm='r1', dry_run=True, max_delete=3, progress=None)

undo r1
-> undo('r1', progress=None)

log --limit 3
-> log(limit=3, since=None)

log --since 2026-02
-> log(limit=20, since='2026-02')

edit 01a1 --section Tea --replace Green --expect 3-7
-> edit('01a1', append=None, count=1, expect='3-7', find=None, replace='Green', section='Tea')

rebuild --from store
-> rebuild(confirm=None, progress=None, source='store')

resolve x --take store --field title
-> resolve('x', field='title', take='store')

graph export - --around Alice --depth 2 --scope public
-> graph_export(around='Alice', depth=2, format='json', scope='public')

links check --fix
-> links_check(fix=True, progress=None)

memory-file sync m x --scope public --include '*.md' --exclude b --again --dry-run
-> sync_memory_file('m', 'x', again=True, confirm=None, dry_run=True, exclude=('b',),
    include=('*.md',), progress=None, scope='public')

context q --budget 9 --format xml --intent recent --type task --scope public --tag a --user u --all
    --since 7d
-> pack(ContextRequest(query='q', types=('task',), scopes=('public',), tags=('a',), since='7d',
    status='', all=True, budget=9, format='xml', intent='recent', mode='auto', max_priority=4,
    user='u', without=(), repo=None, agent=None))

recall q --limit 3 --mode fused --type decision --scope public --tag a --tag b
    --max-priority 4 --since 2026-01-01 --until 2026-02 --user u-1 --status done --explain
-> answer(RecallRequest(query='q', types=('decision',), scopes=('public',), tags=('a', 'b'),
    since='2026-01-01', status='done', all=False, limit=3, max_priority=4, until='2026-02',
    as_of=None, mode='fused', heads_only=True, user='u-1', without=(), repo=None, explain=True,
    agent=None))

memory-file manage m --budget 9 --max-bytes 8 --max-lines 7 --host codex --form index --scope public
    --dry-run
-> manage_memory_file('m', budget=9, dry_run=True, form='index', host='codex', max_bytes=8,
    max_lines=7, scopes=('public',))

memory-file add m text --section Lessons --replace
-> add_to_memory_file('m', 'text', replace_all=True, section='Lessons')
"""
"""Command lines, and the calls of `Memory` that they lead to."""


@pytest.mark.parametrize("row", CALLS.strip().split("\n\n"), ids=lambda row: row.split()[0])
def test_options_reach_memory(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # which is no git repository
    words, call = row.split("->")
    memory = FakeMemory()

    result = run(*shlex.split(words), memory=memory)

    assert result.exit_code == 0, result.output
    method = call.strip().partition("(")[0]
    args, named = memory.call(method)
    given = [repr(each) for each in args] + [f"{key}={named[key]!r}" for key in sorted(named)]
    assert f"{method}({', '.join(given)})" == " ".join(call.split())


def acts(*actions: ActionTaken, **change: object) -> dict[str, object]:
    """A sync that did something."""
    return {"sync": structs.replace(BUSY_PASS, actions=list(actions), **change)}


def notices(*found: object, base: Report = QUIET) -> dict[str, object]:
    return {"sync": structs.replace(base, attention=list(found))}


WAIT = ActionTaken("wait", ID, NOTE, (), "the note is gone")
GONE = ActionTaken("wait", ID, NOTE, (), REASON_GONE)
SETTLED = ActionTaken("resolve_conflict", ID, NOTE, ("content",), "its conflict note was deleted")
SETTLED_PROPOSAL = structs.replace(PROPOSAL, outcome="accepted", path=None, run=RUN)
STALE_PROPOSAL = structs.replace(PROPOSAL, changed_since=("content", "title"))
DELETED_BESIDE = replace(
    CONFLICT, fields=(FieldConflict(NOTE_FIELD, "3-1", DELETED_SIDE, CHANGED_SIDE),)
)
SAME = ActionTaken("record_base", ID, NOTE, (), REASON_BASE_ONLY)
MOVED = ActionTaken("record_base", ID, "public/notes/A.md", (), "moved in the vault")
MANY = [ActionTaken("create_note", ID, f"public/{n}.md", (), "") for n in range(25)]
LONG = "x" * 300
KEPT = ForgetResult(ID, "active")
HELD = structs.replace(DIFFERENCE, why="priority cannot be 7")
FIXED = LinkReport(fixed=(LINK_PROBLEM,) * 25, run="r1", unreadable=(VaultPath("x.md"),))
BROKEN = structs.replace(
    FINE_LINKS,
    broken=(structs.replace(LINK_PROBLEM, line=9, link="[[X]]", fix=None),),
    alias_only=(LINK_PROBLEM,),
)
MISSED = memory_file_notice(
    "UnreadableMemoryFileError",
    FILE,
    errors.UnreadableMemoryFileError(FILE, "it is binary").message,
    "",
)
EMPTY_FILE = FileResult(FILE, 0, counts_of(()))
WAITS_FOR_USER = structs.replace(
    QUIET_FILE,
    attention=list(
        notices_of([memory_file_notice("EditedElsewhere", FILE, "it was edited", "write it", 7)])
    ),
)
STAGES = (
    RecallStage("catch-up", 0.0001),
    RecallStage("index", 0.001, tuple(StageCandidate(ID, 7.5 - n) for n in range(7))),
)
EMPTY_PACK = structs.replace(
    PACK, text="", items=(), left_out=(), counter="o200k_base", needed=1210
)
DELETED = replace(CONFLICT, fields=(FieldConflict("note", "3-70b39ef6", "changed", "deleted"),))
ANONYMOUS = [structs.replace(NOTICE, path=f"{n}.md", line=None) for n in range(1000)]
QUEUED = AddResult(FILE, "Lessons", "queued", "it is taken")
THERE = AddResult(FILE, "Lessons", "unchanged", synced=QUIET_FILE)
BESIDE = AddResult(FILE, "Lessons", "written", synced=WAITS_FOR_USER)
STRANGER = Fact(ID, title=f"{LONG}\ty", path=NOTE)


FORGOTTEN_FACT = FACT.evolve(status="forgotten", path=None)
OTHER_BERTHS = Contradiction(
    RUN, "38 berths", "2026-01-31", "“We have 42 berths” against “We have 38 berths”"
)
SAME_TEXT = Comparison(same_text=(SameText(RUN, "Berths", "2026-01-31"),))


def case(words: str, **answers: object) -> tuple[str, dict[str, object]]:
    """A command line, and what the memory answers in place of `ANSWERS`."""
    return words, answers


T = TypeVar("T")


def in_turn(before: T, after: T) -> Callable[..., T]:
    """What the memory answers before a change, and after it."""
    found = cycle([before, after])
    return lambda *_, **_more: next(found)


def caused(conflict: ConflictRecord) -> Callable[..., tuple[ConflictRecord, ...]]:
    """The open conflicts of a fact before a change, and after it."""
    return in_turn((), (conflict,))


PRUNED = {"moves": 1, "history": 1_200}
PURGED = PurgeReport((ID,), {"facts": 1, "blobs": 3}, 0, kept=("a tombstone without text",))
TRACES = (
    *(FoundTrace("/x/store.sqlite3", what, 2) for what in ("id", "text")),
    FoundTrace("/y", "id", 1),
)
FOUND_FACTS = PurgeReport((ID,), {}, 2, dry_run=True)
CASES = {
    "a new fact": case("remember x"),
    "a new fact, quietly": case("remember x --quiet"),
    "a new fact that contradicts another": case("remember x", compare=Comparison((OTHER_BERTHS,))),
    "a new fact with the text of another": case("remember x", compare=SAME_TEXT),
    "the same text as JSON": case("remember x --json", compare=SAME_TEXT),
    "a changed fact that contradicts another": case(
        f"update {ID} --add-tag x",
        update=FACT.evolve(revision="4-0123abcd"),
        compare=Comparison((OTHER_BERTHS,)),
    ),
    "contradictions as JSON": case("remember x --json", compare=Comparison((OTHER_BERTHS,))),
    "a new fact without a note": case("remember x --json", remember=Fact(ID, revision="1-0")),
    "a fact": case(f"get {ID}"),
    "a list": case("list"),
    "a long title in a pipe": case("list", list=FactPage((STRANGER,), None)),
    "a text that looks like an option": case("remember '- milk'"),
    "a question in several words": case("recall why sqlite?"),
    "an empty list": case("list", list=FactPage((), None)),
    "a forgotten fact": case("list --all", list=FactPage((FORGOTTEN_FACT,), None)),
    "an update": case(f"update {ID} --add-tag x", update=FACT.evolve(revision="4-0123abcd")),
    "an update that changes nothing": case(f"update {ID} --add-tag x"),
    "an update whose start is unknown": case(
        f"update {ID} --add-tag x", get=errors.StoreUnavailableError("it is away")
    ),
    "an update beside an edit": case(f"update {ID} --add-tag x", conflicts=caused(CONFLICT)),
    "an update beside a deletion": case(
        f"update {ID} --add-tag x", conflicts=caused(DELETED_BESIDE)
    ),
    "an update beside an open conflict": case(f"update {ID} --add-tag x", conflicts=(CONFLICT,)),
    "an update of a deleted note": case(f"update {ID} --add-tag x", is_note_deleted=True),
    "an update of a read-only note": case(f"update {ID} --add-tag x", why_note_waits=WAITS),
    "a forgotten fact whose note is read-only": case(f"forget {ID}", why_note_waits=WAITS),
    "a fact that replaces another": case(f"supersede {ID} text"),
    "a fact is forgotten": case(f"forget {ID}"),
    "the newest version is forgotten": case(
        f"forget {ID}", forget=ForgetResult(ID, "forgotten", RUN)
    ),
    "a fact that an edit kept": case(f"forget {ID}", forget=KEPT, conflicts=(CONFLICT,)),
    "a fact that an edit kept, without a conflict": case(f"forget {ID}", forget=KEPT),
    "a fact is restored": case(f"restore {ID}", get=in_turn(Fact(ID, revision="1-0"), FACT)),
    "a fact that was not forgotten": case(f"restore {ID}"),
    "a fact whose note was deleted": case(f"restore {ID}", is_note_deleted=True),
    "a queued fact": case("remember x", waits=True),
    "a queued update": case(f"update {ID} --add-tag x", waits=True),
    "a queued replacement": case(f"supersede {ID} text", waits=True),
    "a queued deletion": case(f"forget {ID}", waits=True),
    "a report": case("sync", sync=BUSY_PASS),
    "a sync without changes": case("sync"),
    "a dry run": case("sync --dry-run", **acts(dry_run=True)),
    "actions that only move the base": case("sync", **acts(SAME, MOVED)),
    "all actions": case("sync -v", **acts(SAME, MOVED)),
    "waiting notes": case("sync", **acts(*BUSY_PASS.actions, WAIT)),
    "nothing but waiting notes": case("sync", sync=structs.replace(QUIET, actions=[WAIT, WAIT])),
    "deleted notes": case("sync", sync=structs.replace(QUIET, actions=[GONE, GONE])),
    "a conflict that was settled": case("sync", sync=structs.replace(QUIET, actions=[SETTLED])),
    "open conflicts": case("sync", conflicts=(CONFLICT,)),
    "a notice, even with quiet": case("sync --quiet", **notices(NOTICE, base=BUSY_PASS)),
    "a notice does not repeat the path of its message": case(
        "sync -q", **notices(structs.replace(NOTICE, message="public/bad.md:3: bad", hint=""))
    ),
    "the same notice of two notes": case(
        "sync -q", **notices(NOTICE, structs.replace(NOTICE, path="worse.md"))
    ),
    "the same notice of many notes": case("sync -q", **notices(*ANONYMOUS)),
    "an undo": case(f"undo {RUN}", undo=BUSY_PASS),
    "old data is removed": case(
        "maintain", maintain=MaintenanceReport(**structs.asdict(QUIET), pruned=PRUNED)
    ),
    "old data to be removed": case(
        "maintain --dry-run",
        maintain=MaintenanceReport(
            **structs.asdict(structs.replace(QUIET, dry_run=True)), pruned=PRUNED
        ),
    ),
    "the last run is undone": case("undo", undo=BUSY_PASS),
    "the runs": case("log", log=(structs.replace(LAST_RUN, kind=f"undo {RUN}"), LAST_RUN)),
    "no runs": case("log", log=()),
    "a part of a fact": case(f"edit {ID} --append x", edit=FACT.evolve(revision="4-0123abcd")),
    "a part that is not there": case(
        f"edit {ID} --find x --replace y", edit=errors.EditTargetError("text 'x'", 0, "look")
    ),
    "an undo without changes": case(f"undo {RUN}"),
    "nothing to erase": case("purge", purge=PurgeReport((), {}, 0)),
    "a purge": case(f"purge {ID} --yes", purge=PURGED),
    "a purge that leaves traces": case(
        f"purge {ID} --yes",
        purge=structs.replace(PURGED, remaining=2, found=TRACES, quoted=("diary.md",)),
    ),
    "a purge without a terminal": case(f"purge {ID}", purge=PURGED),
    "the places of facts": case(
        f"purge {ID} --dry-run", purge=structs.replace(FOUND_FACTS, found=TRACES)
    ),
    "many places with the same words": case(
        f"purge {ID} --dry-run",
        purge=structs.replace(FOUND_FACTS, quoted=tuple(f"{each}.md" for each in range(1_230))),
    ),
    "many facts to erase": case(
        f"purge {ID} --dry-run", purge=structs.replace(FOUND_FACTS, purged=(ID,) * 21)
    ),
    "a forgotten fact to erase": case(
        f"purge {ID} --dry-run", purge=FOUND_FACTS, get=errors.FactNotFoundError(ID)
    ),
    "the status names the next command": case(
        "status", status=structs.replace(CALM, pending=2, foreign=3, last_run=LAST_RUN)
    ),
    "no conflicts": case("conflicts"),
    "a conflict": case("conflicts", conflicts=(CONFLICT,)),
    "a deletion is shown without its base revision": case("conflicts", conflicts=(DELETED,)),
    "a conflict is resolved": case("resolve x --take vault"),
    "one of two conflicts is resolved": case("resolve x --take vault", conflicts=(CONFLICT,)),
    "no proposals": case("proposals list"),
    "proposals": case("proposals list --settled", proposals=(PROPOSAL, SETTLED_PROPOSAL)),
    "proposals of a kind": case("proposals list --kind junk", proposals=(PROPOSAL,)),
    "a proposal": case("proposals show 0123"),
    "a stale proposal": case("proposals show 0123", proposal=STALE_PROPOSAL),
    "a proposal that was accepted": case(
        f"proposals show {PROPOSAL.path}",
        proposal=structs.replace(SETTLED_PROPOSAL, path=PROPOSAL.path),
    ),
    "no such proposal": case("proposals show 0123", proposal=errors.ProposalNotFoundError("0123")),
    "a proposal is accepted": case("proposals accept 0123"),
    "a proposal that was accepted before": case(
        f"proposals reject {PROPOSAL.id}", reject_proposals=SettledProposals((SETTLED_PROPOSAL,))
    ),
    "a proposal that is accepted twice": case(
        f"proposals accept {PROPOSAL.id}", accept_proposals=SettledProposals((SETTLED_PROPOSAL,))
    ),
    "a kind of proposals is rejected": case(
        "proposals reject --kind duplicates", proposals=(PROPOSAL,)
    ),
    "no proposal of a kind": case(
        "proposals accept --kind junk", accept_proposals=SettledProposals(())
    ),
    "a proposal that changed since": case(
        "proposals accept 0123", accept_proposals=SettledProposals((PROPOSAL,), None, (NOTICE,))
    ),
    "the status counts proposals": case("status", status=structs.replace(CALM, proposals=2)),
    "a history": case(f"history {ID}"),
    "an empty history": case(f"history {ID}", history=[]),
    "equal sides": case("verify"),
    "invalid values": case("verify", verify=proof_of(7, held=(HELD,))),
    "different sides": case("verify", verify=proof_of(7, [DIFFERENCE])),
    "checks": case("doctor"),
    "a check that fails has a hint": case("doctor", doctor=(BAD_CHECK,)),
    "an answer": case("recall 'why sqlite?'"),
    "what an answer lacks": case(
        "recall q",
        answer=RecallResult("q", "fused", 0.5, 0.6, ("There is no model.",), 0.02, (HIT, HIT), ()),
    ),
    "no hits": case("recall q", answer=RecallResult("q", "index", 0.0, 0.0, (), 0.001, (), ())),
    "hidden hits": case(
        "recall q",
        answer=RecallResult(
            "q", "index", 0.5, 0.6, (), 0.001, (HIT,), (HiddenMatches(12, "superseded"),)
        ),
    ),
    "hidden hits alone": case(
        "recall q",
        answer=RecallResult("q", "index", 0.0, 0.0, (), 0.001, (), (HiddenMatches(1, "archived"),)),
    ),
    "an explained answer": case("recall q --explain", answer=structs.replace(FOUND, stages=STAGES)),
    "a pack": case("context why?"),
    "a quiet pack": case("context why? --quiet"),
    "an empty pack": case("context why?", pack=EMPTY_PACK),
    "an exported graph is alone on stdout": case("graph export -"),
    "stats": case("graph stats --hubs 2"),
    "stats of an empty graph": case("graph stats", graph_stats=graph_stats(build_graph([]))),
    "neighbors": case("graph neighbors Alice --depth 2"),
    "a node without neighbors": case(
        "graph neighbors Lone", graph_neighbors=neighborhood(GRAPH, find_node(GRAPH, "Lone"))
    ),
    "an unknown node": case("graph neighbors x", graph_neighbors=errors.NotFoundError("no x")),
    "colours": case("graph colours"),
    "colours that are there": case("graph colours", graph_colours=OLD_COLOURS),
    "settings that are not JSON": case("graph colours", graph_colours=errors.ConfigError("no")),
    "every link resolves": case("links check"),
    "broken links": case("links check", links_check=BROKEN),
    "one kind of link": case("links check --kind alias-only", links_check=BROKEN),
    "no link of a kind": case("links check --kind ambiguous", links_check=BROKEN),
    "fixed links": case("links check --fix", links_check=FIXED),
    "fixed links, quietly": case("links check --quiet", links_check=FIXED),
    "a memory file": case("memory-file sync m", sync_memory_file=FILE_REPORT),
    "a memory file, quietly": case("memory-file sync m -q", sync_memory_file=FILE_REPORT),
    "a memory file that waits": case("memory-file sync m", sync_memory_file=WAITS_FOR_USER),
    "a dry run of a memory file": case(
        "memory-file sync m --dry-run", sync_memory_file=structs.replace(FILE_REPORT, dry_run=True)
    ),
    "an empty memory file": case(
        "memory-file sync m", sync_memory_file=report_of_files([EMPTY_FILE])
    ),
    "a skipped memory file": case(
        "memory-file sync m", sync_memory_file=report_of_files([EMPTY_FILE], notices_of([MISSED]))
    ),
    "a missing memory file": case(
        "memory-file sync m", sync_memory_file=errors.MemoryFileMissingError(FILE)
    ),
    "an error with its hint": case(f"get {ID}", get=errors.FactNotFoundError(ID)),
    "an interrupted command": case("sync", sync=KeyboardInterrupt()),
    "an explained answer without a store": case("recall tea --vault-only --explain"),
    "a semantic search without a store": case("recall tea --vault-only --mode vector"),
    "a hybrid search without a store": case("recall tea --vault-only --mode fused --json"),
    "a missing choice": case("resolve x"),
    "a field of a conflict copy": case("resolve x.md --take merge --field title"),
    "an option before the command": case("--json status"),
    "a negative number that looks like an option": case("remember -5"),
    "a word that looks like an option": case("remember '-dash text'"),
    "a page that looks like an option": case("remember '---\na: b'"),
    "a text without quotes": case("remember We meet 'on Tuesdays.'"),
    "a missing folder": case("init"),
    "a managed memory file": case("memory-file manage m"),
    "a managed memory file without limits": case(
        "memory-file manage m --dry-run",
        manage_memory_file=structs.replace(
            MANAGED, dry_run=True, max_bytes=None, max_lines=None, left_out=()
        ),
    ),
    "a managed block that was edited": case(
        "memory-file manage m",
        manage_memory_file=structs.replace(
            MANAGED, status="edited", left_out=(), attention=notices_of([MISSED])
        ),
    ),
    "an agent's text": case("memory-file add m text --section Lessons"),
    "an agent's text that is there": case(
        "memory-file add m text --section Lessons", add_to_memory_file=THERE
    ),
    "an agent's text beside an edit": case(
        "memory-file add m text --section Lessons", add_to_memory_file=BESIDE
    ),
    "an agent's text is queued": case(
        "memory-file add m text --section Lessons", add_to_memory_file=QUEUED
    ),
}
AS_JSON = [
    *("a new fact", "a fact", "a list", "an update", "an update beside an edit"),
    *("a fact that replaces another", "a fact is forgotten", "a fact is restored", "a report"),
    *("the status names the next command", "no conflicts", "a conflict", "a history"),
    *("one of two conflicts is resolved", "equal sides", "different sides", "checks"),
    *("proposals", "a proposal", "a proposal is accepted", "a proposal that changed since"),
    *("a queued fact", "a queued update", "a queued replacement", "a queued deletion"),
    *("an error with its hint", "an interrupted command", "an answer", "a pack", "neighbors"),
    *("colours", "broken links", "a memory file", "a memory file that waits"),
    *("an agent's text", "an agent's text beside an edit", "a purge", "a purge without a terminal"),
]
"""Cases that the golden page shows as JSON too."""
for _name in AS_JSON:
    _words, _answers = CASES[_name]
    CASES[f"{_name}, as JSON"] = case(f"{_words} --json", **_answers)
PAGE = GOLDEN / "surface" / "cli-output.txt"


def shown(name: str) -> str:
    """What a command prints, with `2>` before the lines of stderr, and its exit code."""
    words, answers = CASES[name]
    result = ask(words, **answers)
    err = "".join(f"2> {line}".rstrip() + "\n" for line in result.stderr.splitlines())
    return f"# {name}\n$ vaultsync {words}\n{result.stdout}{err}exit {result.exit_code}\n"


def test_the_output_of_commands_is_as_the_golden_page_says() -> None:
    page = "\n".join(map(shown, CASES))
    if RENEW:
        PAGE.write_text(page, encoding="utf-8")

    assert page == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", REPORTS.values())
def test_every_report_is_the_same_json(words: str) -> None:
    method = words.split(maxsplit=1)[0]
    result = ask(f"{words} --json", **{method: NEEDS_REVIEW})

    assert one_object(result) == json.loads(encode(NEEDS_REVIEW))
    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("words", "rows", "few"),
    [
        ("sync", "create note", acts(*MANY)),
        ("links check", "fixed\tpublic/notes", {"links_check": FIXED}),
    ],
)
def test_only_verbose_lists_all_of_many_rows(words: str, rows: str, few: dict[str, object]) -> None:
    result = ask(words, **few)

    assert result.stdout.count(rows) == 20
    assert "5 more" in result.stderr
    assert ask(f"{words} --verbose", **few).stdout.count(rows) == 25


def test_long_lists_of_the_graph_are_cut() -> None:
    many = build_graph(LONE.evolve(id=f"{n:02}") for n in range(30))

    result = ask("graph stats", graph_stats=graph_stats(many))

    assert result.stdout.count("Lone\tnote") == 20
    assert "10 more" in result.stderr


@pytest.mark.parametrize(("method", "words"), REPORTS.items())
@pytest.mark.parametrize(
    ("answer", "waiting", "code"),
    [
        (QUIET, (), 0),
        (BUSY_PASS, (), 0),
        (structs.replace(QUIET, attention=[NOTICE]), (), 3),
        (structs.replace(QUIET, counts=counts(conflicts=1)), (), 3),
        (QUIET, (CONFLICT,), 3),
    ],
)
@pytest.mark.parametrize("form", ["", " --json", " --quiet"])
def test_a_run_that_needs_attention_ends_with_3(
    *, method: str, words: str, answer: Report, waiting: tuple[object, ...], code: int, form: str
) -> None:
    assert ask(words + form, **{method: answer}, conflicts=waiting).exit_code == code


def test_status_says_how_fast_the_daemon_is() -> None:
    times = TimePercentiles(9, 0.0421, 1.26, 3.0)
    nothing = Telemetry("2026-02-14", None, None, {}, 0, 0, 0.0, 0.0, 0, 0)
    some = structs.replace(
        nothing,
        write_through=times,
        recall={"fused": times},
        edits=800,
        conflicts=1,
        conflicts_per_1000_edits=1.25,
        restarts=1,
    )
    told = []
    for telemetry in (None, nothing, some, structs.replace(some, crashes=1)):
        daemon = DaemonState("2026-02-14T13:45:00Z", telemetry=telemetry)
        shown = ask("status", status=structs.replace(CALM, daemon=daemon)).stdout
        told.append(dict(re.split(r"\s{2,}", line, maxsplit=1) for line in shown.splitlines()))

    assert told[0] == told[1]
    assert told[2]["facts to notes"] == told[2]["recall, fused"] == "42 ms, p95 1.3 s"
    assert "notes to facts" not in told[2]
    assert (told[2]["conflicts so far"], told[2]["restarts"]) == ("1 in 800 edits", "1")
    assert told[3]["restarts"] == "1, 1 of them after a crash"


@pytest.mark.parametrize("words", ["remember x --tag", "update 019c5c65 --add-tag"])
def test_a_tag_with_spaces_is_said_to_have_hyphens(words: str) -> None:
    said = "the tag “two words” is spelled two-words: tags in Obsidian have no spaces or commas\n"
    assert ask(f"{words} 'two words'").stderr.endswith(said)
    assert "spelled" not in ask(f"{words} two-words").stderr


@pytest.mark.parametrize(
    ("key", "question"),
    [
        ("prioritty", "prioritty was stored as a property; did you mean the field priority?\n"),
        ("decisionOutcom", "did you mean the field decisionOutcome?\n"),
        ("berth", ""),
    ],
)
def test_a_property_named_nearly_like_a_field_is_questioned(key: str, question: str) -> None:
    fact = FACT.evolve(properties={key: 1})
    for words in (f"remember x --field {key}=1", f"update {ID} --set {key}=1"):
        said = ask(words, remember=fact, update=fact).stderr
        assert question in said
        assert ("did you mean" in said) == bool(question)


def _status_rows(**values: object) -> dict[str, str]:
    shown = ask("status", status=structs.replace(CALM, **values)).stdout
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in shown.splitlines())


def test_status_tells_of_vectors_once_there_is_a_fact() -> None:
    embedding = EmbeddingState(share=0.4, texts_left=3, texts_per_second=2.0, pid=7)
    assert "embedding" not in _status_rows(facts=0, embedding=embedding)
    assert "embedding" not in _status_rows(facts=1, embedding=None)
    rows = _status_rows(facts=1, embedding=embedding)
    assert rows["embedding"] == "40% of the facts, 3 texts left, 2 texts/s, by process 7"
    starved = _status_rows(facts=1200, embedding=EmbeddingState(pid=7))["embedding"]
    waits = "process 7 loads the model or waits for other programs"
    assert starved == f"none yet of 1,200 facts, {waits}"
    new = _status_rows(facts=1, embedding=EmbeddingState())["embedding"]
    assert new == "none yet of 1 fact, `vaultsync index` embeds them"
    edited = _status_rows(facts=1, embedding=EmbeddingState(share=1.0))["embedding"]
    assert edited == "all facts, but not their latest changes, `vaultsync index` embeds the rest"


def test_status_tells_how_long_answers_took_once_twenty_were_given() -> None:
    some = {
        name: TimePercentiles(number, 0.0421, 1.26, 3.0)
        for name, number in (("command.index", 20), ("command.fused", 19), ("mcp.set", 500))
    }
    rows = _status_rows(answers=some)
    assert rows["answers to commands, index"] == "42 ms, p95 1.3 s"
    assert rows["answers by MCP, set"] == "42 ms, p95 1.3 s"
    assert not [name for name in rows if "fused" in name]


@pytest.mark.parametrize("change", [{"conflicts": 1}, {"attention": [NOTICE]}])
@pytest.mark.parametrize("form", ["", " --json"])
def test_status_ends_with_3_when_something_waits(change: dict[str, Any], form: str) -> None:
    assert ask(f"status{form}", status=structs.replace(CALM, **change)).exit_code == 3


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        (f"{NOTE}:3: bad YAML: a: b", "line 3: bad YAML: a: b"),
        (f"{NOTE}: no such note", "no such note"),
        (f"{NOTE} is odd: very", f"{NOTE} is odd: very"),
        ("not equal: at all", "not equal: at all"),
    ],
)
def test_a_difference_names_its_note_once(why: str, shown: str) -> None:
    result = ask("verify", verify=proof_of(7, [structs.replace(DIFFERENCE, why=why)]))

    assert result.stdout.splitlines()[1].split("\t")[-1] == shown


@pytest.mark.parametrize(
    "error",
    [
        errors.VaultMissingError("v", "no marker"),
        errors.StoreUnavailableError("locked"),
        PermissionError(13, "Permission denied", "archive.sqlite3"),
    ],
)
def test_doctor_checks_a_vault_that_cannot_be_opened(error: Exception) -> None:
    result = ask("doctor --json", open=error)

    assert result.exit_code == 1
    (check,) = one_object(result)["checks"]
    assert check["ok"] is False


# ------------------------------------------------------------------- texts and values


@pytest.mark.parametrize(
    ("words", "stdin", "text"),
    [
        ("remember", "Größe\nzwei\n", "Größe\nzwei\n"),
        ("remember -", "Größe\n", "Größe\n"),
        ("remember -", b"\xef\xbb\xbfhi", "hi"),  # a byte order mark is no text
        (f"supersede {ID}", "Größe\n", "Größe\n"),
        (f"update {ID} --content -", "new", "new"),
        ("memory-file add m --section S", "new", "new"),
        ("memory-file add m - --section S", "new", "new"),
    ],
)
def test_text_may_be_piped_in(words: str, stdin: str | bytes, text: str) -> None:
    memory = FakeMemory()

    assert run(*words.split(), memory=memory, stdin=stdin).exit_code == 0
    assert any(text in (*args, named.get("content")) for _, args, named in memory.calls)


NOT_DONE = [
    *(
        "remember ' '",
        "observe ' '",
        f"edit {ID}",
        f"edit {ID} --section s",
        f"update {ID}",
        f"update {ID} --content ' '",
        f"update {ID} --set no-value",
        f"update {ID} --set =x",
    ),
    *(f"update {ID} --set a=1 --set a=2", "memory-file sync", "resolve x", "resolve x --take mine"),
    *("rebuild", "rebuild --from git", "export - --json", "graph export - --json"),
    *("graph export g.xyz", "proposals accept", "proposals reject 0123 --kind junk"),
]


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        *(("remember", ""), (f"supersede {ID}", "\n"), ("remember -", b"\xff")),
        *((words, None) for words in NOT_DONE),
    ],
)
def test_what_cannot_be_done_is_wrong_usage(words: str, stdin: str | bytes | None) -> None:
    memory = FakeMemory()

    result = run(*shlex.split(words), "--json", memory=memory, stdin=stdin)

    assert result.exit_code == 2
    assert one_object(result)["error"]["kind"] == "UsageError"
    assert memory.calls == []


def test_a_title_is_enough_to_remember() -> None:
    memory = FakeMemory()

    assert run("remember", "--title", "T", memory=memory, stdin="").exit_code == 0
    assert memory.call("remember")[1]["title"] == "T"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("priority=0", 0), ("importance=0.50", 0.5), ("observationCompressed=true", True)),
        *(("title=1.10", "1.10"), ("title=true", "true"), ("outcome=1.10", "1.10")),
        *(("decisionOutcome=2", "2"), ("context=null", None), ("context=", "")),
        *(("tags=2026", "2026"), ('tags=["a", "b"]', ["a", "b"]), ("mine=1.5", 1.5)),
        *(("mine=[1, true]", [1, True]), ("mine=false", False), ("mine=NaN", "NaN")),
        *(('mine="a"', '"a"'), ('mine={"a": 1}', '{"a": 1}'), ("mine=[1", "[1")),
        ("mine=" + "[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_json_where_the_field_takes_json(setting: str, value: object) -> None:
    memory = FakeMemory()

    assert run("update", ID, "--set", setting, memory=memory).exit_code == 0
    (found,) = memory.call("update")[1]["set"].values()
    assert (found, type(found)) == (value, type(value))


def test_options_follow_the_command_and_default_to_the_environment() -> None:
    memory = FakeMemory()

    run("get", ID, "--vault", "v", "--state-dir", "s", memory=memory)
    assert memory.opened == {"path": "v", "state_dir": "s", "agent": None, "one_shot": True}
    # It is closed before anything is printed.
    assert [name for name, _, _ in memory.calls] == ["get", "close"]

    env = {"VAULTSYNC_VAULT": "ev", "VAULTSYNC_STATE_DIR": "es", "VAULTSYNC_AGENT": "indy"}
    run("get", ID, memory=memory, env=env)
    assert memory.opened == {"path": "ev", "state_dir": "es", "agent": "indy", "one_shot": True}


def test_json_keeps_the_content_of_a_fact() -> None:
    content = "\x1b]0;x\x07 \x9b31m \u202e ü \U0001f600"

    result = ask(f"get {ID} --json", get=Fact(ID, content=content))

    assert json.loads(result.stdout)["content"] == content
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(result.stdout)
    assert "ü \U0001f600" in result.stdout


@pytest.mark.parametrize(
    ("name", "more", "form"),
    [
        ("g.json", "", "json"),
        ("g.HTML", "", "html"),
        ("g.canvas", "", "canvas"),
        ("g", "", "json"),
        ("g.json", "--format graphml", "graphml"),
        ("g.xml", "--format graphml", "graphml"),
    ],
)
def test_a_graph_has_the_form_of_its_file(tmp_path: Path, name: str, more: str, form: str) -> None:
    memory, file = FakeMemory(), tmp_path / name
    words = ("graph", "export", str(file), *more.split())

    result = run(*words, memory=memory)

    assert result.exit_code == 0, result.output
    assert file.read_text() == GRAPH_TEXT
    assert memory.call("graph_export")[1]["format"] == form
    assert f"3 nodes, 2 links written to {file} as json" in result.stdout
    said = {"file": str(file), "format": "json", "nodes": 3, "links": 2}
    assert one_object(run(*words, "--json")) == said
    assert run(*words, "--quiet").output == ""
