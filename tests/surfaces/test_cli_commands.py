"""What each command asks of the memory, prints and ends with: a row for each behaviour."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import Result
from msgspec import structs

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
    HIT,
    ID,
    LINK_PROBLEM,
    LONE,
    NOTE,
    NOTICE,
    PACK,
    QUIET,
    QUIET_FILE,
    RUN,
    SNIPPET,
    WHY,
    FakeMemory,
    counts,
    one_object,
    run,
)
from vaultsync import errors
from vaultsync.api.memory import GraphColours
from vaultsync.cli import recall_commands
from vaultsync.context_packs.formats import PACK_FORMS
from vaultsync.context_packs.pack import INTENTS
from vaultsync.facts.listing import FactPage
from vaultsync.facts.service import ForgetResult
from vaultsync.graph.model import build_graph
from vaultsync.graph.service import neighborhood
from vaultsync.graph.stats import graph_stats
from vaultsync.memory_files.report import AddResult, FileResult, counts_of, report_of_files
from vaultsync.memory_files.sections import memory_file_notice
from vaultsync.model.fact import Fact
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import FieldConflict
from vaultsync.operations.check_links import LinkReport
from vaultsync.recall.result import RecallResult, RecallStage, StageCandidate
from vaultsync.sync.decision_table import REASON_BASE_ONLY
from vaultsync.sync.report import REPORT_COUNTS, ActionTaken, LastRun, Report, notices_of, proof_of

PUBLIC = json.loads(
    f"""{{"id": "{ID}", "type": "decision", "title": "Use SQLite",
    "content": "It is embedded.\\n\\nIt is fast.", "priority": 1, "status": "active",
    "tags": ["storage"], "scope": "public", "createdAt": "2026-02-14T13:45:00Z",
    "decisionOutcome": "implemented", "properties": {{"cssclasses": ["wide"]}},
    "path": "{NOTE}", "revision": "3-70b39ef6"}}"""
)
CONFLICT_JSON = json.loads(
    f"""{{"id": "0123456789abcdef", "fact_id": "{ID}", "path": "{NOTE}",
    "conflict_path": "public/decisions/2026-02-14-use-sqlite.conflict.md", "fields": [
    {{"field": "title", "base": "Use SQLite", "vault": "Use SQLite3", "store": "Use DuckDB"}}]}}"""
)
CREATED, UPDATED = (structs.asdict(each) for each in BUSY_PASS.actions)
REPORT_JSON = {
    "run": RUN,
    "dry_run": False,
    "seconds": 0.25,
    "counts": counts(created_in_vault=3, updated_in_store=1),
    "actions": [{**CREATED, "fields": []}, {**UPDATED, "fields": ["title", "tags"]}],
    "attention": [structs.asdict(NOTICE)],
}
STATUS_JSON = json.loads(
    f"""{{"facts": 7, "notes": 7, "pending": 0, "conflicts": 0, "attention": [], "outbox": 0,
    "last_run": {{"run": "{RUN}", "at": "2026-02-14T13:45:00Z", "kind": "sync", "counts": {{}}}},
    "engine": "idle", "foreign": 0, "daemon": null}}"""
)
CHANGE_JSON = json.loads(
    f"""{{"run": "{RUN}", "at": "2026-02-14T13:45:00Z", "side": "vault", "actor": "person",
    "field": "tags", "before": [], "after": ["a"]}}"""
)
FOUND_JSON = json.loads(
    f"""{{"query": "why sqlite?", "source": "index", "confidence": 0.83, "degraded": [],
    "seconds": 0.004, "hits": [{{"id": "{ID}", "title": "Use SQLite", "type": "decision",
    "path": "{NOTE}", "score": 0.81, "similarity": 0.9, "recency": 0.7, "utility": 0.5,
    "stage": "index", "why": "{WHY}", "snippet": "{SNIPPET}"}}]}}"""
)
LAST = LastRun(RUN, "2026-02-14T13:45:00Z", "sync", {})
NEEDS_REVIEW = structs.replace(BUSY_PASS, attention=[NOTICE])
REPORTS = {
    "sync": "sync",
    "adopt": "adopt",
    "undo": f"undo {RUN}",
    "rebuild": "rebuild --from vault",
    "maintain": "maintain",
}


def ask(words: str, **answers: object) -> Result:
    return run(*shlex.split(words), memory=FakeMemory(**answers))


@pytest.mark.parametrize(
    ("words", "answers", "code", "expected"),
    [
        ("remember text", {}, 0, {**PUBLIC, "mirrored": True}),
        (f"get {ID}", {}, 0, PUBLIC),
        ("list", {}, 0, {"facts": [PUBLIC], "next": ID}),
        (f"update {ID} --content x", {}, 0, PUBLIC),
        (f"supersede {ID} text", {}, 0, PUBLIC),
        (f"forget {ID}", {}, 0, {"id": ID, "status": "forgotten"}),
        (f"restore {ID}", {}, 0, {"id": ID, "status": "active"}),
        *((words, {name: NEEDS_REVIEW}, 3, REPORT_JSON) for name, words in REPORTS.items()),
        ("status", {"status": structs.replace(CALM, last_run=LAST)}, 0, STATUS_JSON),
        ("conflicts", {}, 0, {"conflicts": []}),
        ("conflicts", {"conflicts": (CONFLICT,)}, 3, {"conflicts": [CONFLICT_JSON]}),
        ("resolve x --take store", {}, 0, {"conflicts": [], "resolved": CONFLICT_JSON}),
        (f"history {ID}", {}, 0, {"history": [CHANGE_JSON]}),
        ("verify", {}, 0, {"equal": True, "checked": 7, "differences": [], "held": []}),
        (
            "doctor",
            {},
            0,
            {"checks": [{"name": "python", "ok": True, "message": "Python 3.14", "hint": ""}]},
        ),
        ("recall 'why sqlite?'", {}, 0, FOUND_JSON),
        ("graph colours", {}, 0, {"path": "/v/.obsidian/graph.json", "changed": True}),
    ],
)
def test_json_is_as_the_contract_says(
    words: str, answers: dict[str, object], code: int, expected: dict[str, Any]
) -> None:
    result = ask(f"{words} --json", **answers)

    assert result.exit_code == code
    assert one_object(result) == expected
    assert list(expected.get("counts", [])) in ([], list(REPORT_COUNTS))
    assert result.stderr == ""


def test_the_graph_as_json() -> None:
    stats = one_object(run("graph", "stats", "--json"))
    alice = {"id": ALICE.id, "label": "Alice", "type": "person", "path": ALICE.path}
    assert (stats["nodes"], stats["links"], stats["components"]) == (4, 2, [3])
    assert stats["hubs"][0]["label"] == "Bob"
    assert stats["hubs"][1] == {**alice, "rank": stats["hubs"][1]["rank"], "degree": 2}
    assert [each["label"] for each in stats["orphans"]] == ["Lone"]

    near = one_object(run("graph", "neighbors", "Alice", "--json"))
    assert (near["label"], near["depth"]) == ("Alice", 2)
    assert near["neighbors"][0]["via"] == [
        {"source": ALICE.id, "target": "name:bob", "type": "relation", "label": "reports_to"}
    ]

    found = LinkReport(alias_only=(LINK_PROBLEM,), unreadable=(VaultPath("x.md"),))
    links = ask("links check --json", links_check=found)
    assert links.exit_code == 3
    assert set(one_object(links)) >= {"broken", "ambiguous", "alias_only", "fixed"}
    assert one_object(links)["alias_only"][0]["line"] == 7


def test_a_pack_as_json() -> None:
    pack = one_object(run("context", "why?", "--json"))
    keys = {"text", "tokens", "budget", "by_tier", "items", "left_out", "truncated", "counter"}
    assert pack.keys() >= keys
    assert pack["items"][0].keys() >= {"id", "tokens", "tier", "reason", "citation"}
    assert pack["left_out"][0].keys() >= {"id", "tokens", "reason"}


def test_the_choices_match_the_formats_and_intents() -> None:
    assert set(recall_commands.PACK_FORMATS) == set(PACK_FORMS)
    assert set(recall_commands.INTENT_NAMES) == set(INTENTS)


def test_a_memory_files_report_as_json() -> None:
    found = one_object(ask("memory-file sync m --json", sync_memory_file=FILE_REPORT))
    sections = {"created": 0, "updated": 1, "forgotten": 0, "let_go": 1, "unchanged": 3}
    assert found["counts"] == sections
    assert found["files"][0]["actions"][0]["fact_id"] == ID
    assert found["pending"] == 1
    waits = ask("memory-file sync m --json", sync_memory_file=WAITS_FOR_USER)
    assert (waits.exit_code, one_object(waits)["attention"][0]["line"]) == (3, 7)
    added = one_object(ask("memory-file add m text --section Lessons --json"))
    assert (added["status"], "synced" in added) == ("written", False)


CALLS = """
remember 'We chose it.' --type decision --title Choice --scope team-x --priority 0 --tag a
    --tag b --entity Alice --field outcome=done --field score=3 --context standup --id 01a1
-> remember('We chose it.', context='standup', entities=('Alice',),
    fields={'outcome': 'done', 'score': 3}, id='01a1', priority=0, scope='team-x',
    tags=('a', 'b'), title='Choice', type='decision')

update 01a1 --content new --set priority=1 --set x=a=b --add-tag a --remove-tag b --expect 3-7
-> update('01a1', add_tags=('a',), content='new', expect='3-7', remove_tags=('b',),
    set={'priority': 1, 'x': 'a=b'})

list --type note --scope public --status active --tag a --since 2026-01 --until 2026-02
    --links-to Tea --links-from a.md --newest --limit 5 --after 01a1
-> list(after='01a1', limit=5, links_from='a.md', links_to='Tea', newest=True, scope='public',
    since='2026-01', status='active', tag='a', type='note', until='2026-02')

sync --dry-run --allow-scope-moves --max-delete 0 --confirm r1
-> sync(allow_scope_moves=True, confirm='r1', dry_run=True, max_delete=0, progress=None)

adopt a.md b --scope team-x --type note --dry-run
-> adopt(('a.md', 'b'), dry_run=True, progress=None, scope='team-x', type='note')

maintain --dry-run --max-delete 3 --confirm r1
-> maintain(confirm='r1', dry_run=True, max_delete=3, progress=None)

undo r1
-> undo('r1', progress=None)

rebuild --from store
-> rebuild(progress=None, source='store')

resolve x --take store --field title
-> resolve('x', field='title', take='store')

graph export - --around Alice --depth 2 --scope public
-> graph_export(around='Alice', depth=2, format='json', scope='public')

links check --fix
-> links_check(fix=True, progress=None)

memory-file sync m x --scope public --include '*.md' --exclude b --again --dry-run
-> sync_memory_file('m', 'x', again=True, dry_run=True, exclude=('b',), include=('*.md',),
    progress=None, scope='public')

context q --budget 9 --format xml --intent recent --type task --scope public --tag a --user u
-> pack(ContextRequest(query='q', types=('task',), scopes=('public',), tags=('a',), since=None,
    budget=9, format='xml', intent='recent', mode='auto', max_priority=4, user='u', agent=None))

recall q --limit 3 --mode fused --type decision --scope public --tag a --tag b
    --max-priority 4 --since 2026-01-01 --user u-1 --explain
-> answer(RecallRequest(query='q', types=('decision',), scopes=('public',), tags=('a', 'b'),
    since='2026-01-01', limit=3, max_priority=4, until=None, mode='fused', status='active',
    heads_only=True, user='u-1', explain=True, agent=None))

memory-file add m text --section Lessons --replace
-> add_to_memory_file('m', 'text', replace_all=True, section='Lessons')
"""
"""Command lines, and the calls of `Memory` that they lead to."""


@pytest.mark.parametrize("row", CALLS.strip().split("\n\n"), ids=lambda row: row.split()[0])
def test_the_options_reach_the_memory(row: str) -> None:
    words, call = row.split("->")
    memory = FakeMemory()

    result = run(*shlex.split(words), memory=memory)

    assert result.exit_code == 0, result.output
    method = call.strip().partition("(")[0]
    args, named = memory.call(method)
    given = [repr(each) for each in args] + [f"{key}={named[key]!r}" for key in sorted(named)]
    assert f"{method}({', '.join(given)})" == " ".join(call.split())


class Shown(NamedTuple):
    """A command, what the memory answers, and what it prints."""

    words: str
    out: str | tuple[str, ...] | None = ""
    """All of stdout, or parts of it; None where it does not count."""
    err: str | tuple[str, ...] | None = ""
    code: int = 0
    never: tuple[str, ...] = ()
    """What is printed nowhere."""
    answers: dict[str, object] = {}  # noqa: RUF012 - not changed


def acts(*actions: ActionTaken, **change: object) -> dict[str, object]:
    """A sync that did something."""
    return {"sync": structs.replace(BUSY_PASS, actions=list(actions), **change)}


def notices(*found: object, base: Report = QUIET) -> dict[str, object]:
    """A sync with notices."""
    return {"sync": structs.replace(base, attention=list(found))}


WAIT = ActionTaken("wait", ID, NOTE, (), "the note is gone")
SAME = ActionTaken("record_base", ID, NOTE, (), REASON_BASE_ONLY)
MOVED = ActionTaken("record_base", ID, "public/notes/A.md", (), "moved in the vault")
MANY = [ActionTaken("create_note", ID, f"public/{n}.md", (), "") for n in range(25)]
LONG = "x" * 300
KEPT = ForgetResult(ID, "active")
UNDO = f"`vaultsync undo {RUN}` undoes this run"
SUMMARY = "3 notes created, 1 fact updated"
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
TEXTS = {
    "a new fact's id is data, its note a message": Shown(
        "remember x", f"{ID}\n", f"remembered “Use SQLite”, in {NOTE}\n"
    ),
    "quiet leaves the data alone": Shown("remember x --quiet", f"{ID}\n"),
    "a fact is shown like its note": Shown(
        f"get {ID}",
        (
            "# Use SQLite\n",
            "decisionOutcome  implemented\n",
            "cssclasses       wide\n",
            "\nIt is embedded.\n\nIt is fast.\n",
        ),
    ),
    "a list in a pipe is one whole fact a line": Shown(
        "list",
        f"{ID}\t{LONG} y\tnote\t2\tpublic\t{NOTE}\n",
        answers={"list": FactPage((Fact(ID, title=f"{LONG}\ty", path=NOTE),), None)},
    ),
    "a list names the next page": Shown("list", None, f"more facts follow: --after {ID}\n"),
    "an empty list": Shown("list", "", "no facts\n", answers={"list": FactPage((), None)}),
    "an update that changes something": Shown(
        f"update {ID} --add-tag x",
        None,
        f"“Use SQLite”: changed, in {NOTE}\n",
        answers={"update": FACT.evolve(revision="4-0123abcd")},
    ),
    "an update that changes nothing": Shown(
        f"update {ID} --add-tag x", None, f"“Use SQLite”: unchanged, in {NOTE}\n"
    ),
    "an update whose start is unknown": Shown(
        f"update {ID} --add-tag x",
        None,
        f"“Use SQLite”: changed, in {NOTE}\n",
        answers={"get": errors.StoreUnavailableError("it is away")},
    ),
    "a fact that an edit kept": Shown(
        f"forget {ID}",
        f"{ID}\tactive\n",
        ("the user changed its note", str(CONFLICT.conflict_path)),
        3,
        ("vaultsync restore",),
        {"forget": KEPT, "conflicts": (CONFLICT,)},
    ),
    "a fact that an edit kept, without a conflict": Shown(
        f"forget {ID}",
        None,
        "not deleted: the user changed its note too\n",
        3,
        answers={"forget": KEPT},
    ),
    "actions that only move the base need verbose": Shown(
        "sync", ("moved in the vault",), None, 0, (REASON_BASE_ONLY,), acts(SAME, MOVED)
    ),
    "verbose lists them": Shown(
        "sync -v", (REASON_BASE_ONLY, "moved"), None, answers=acts(SAME, MOVED)
    ),
    "a report begins with a summary": Shown(
        "sync",
        f"{SUMMARY}\ncreate note\t{NOTE}\t\tnew in the store\n"
        f"update store\t{ID}\ttitle, tags\tedited by a person\n",
        (UNDO,),
        answers={"sync": BUSY_PASS},
    ),
    "a sync without changes": Shown("sync", "nothing to do, 7 facts unchanged\n"),
    "a dry run": Shown(
        "sync --dry-run",
        ("dry run, nothing was changed; planned: 3 notes",),
        answers=acts(dry_run=True),
    ),
    "waiting notes are counted": Shown(
        "sync", (f"{SUMMARY}, 1 note waiting\n",), None, answers=acts(*BUSY_PASS.actions, WAIT)
    ),
    "nothing but waiting notes": Shown(
        "sync",
        ("nothing changed on either side, 2 notes waiting, 7 facts unchanged\n",),
        None,
        answers={"sync": structs.replace(QUIET, actions=[WAIT, WAIT])},
    ),
    "a notice has its line and hint, even with quiet": Shown(
        "sync --quiet",
        "\n! public/bad.md:3: bad YAML\n  hint: close the quote\n",
        code=3,
        answers=notices(NOTICE, base=BUSY_PASS),
    ),
    "a notice does not repeat the path of its message": Shown(
        "sync --quiet",
        "\n! public/bad.md:3: bad YAML\n",
        code=3,
        answers=notices(structs.replace(NOTICE, message="public/bad.md:3: bad YAML", hint="")),
    ),
    "the same notice of a few notes has one hint": Shown(
        "sync --quiet",
        "\n! public/bad.md:3: bad YAML\n! worse.md:3: bad YAML\n  hint: close the quote\n",
        code=3,
        answers=notices(NOTICE, structs.replace(NOTICE, path="worse.md")),
    ),
    "the same notice of many notes is printed once": Shown(
        "sync --quiet",
        "\n! 1,000 notes: bad YAML\n    0.md\n    1.md\n    2.md\n    … 997 more\n"
        "  hint: close the quote\n",
        code=3,
        answers=notices(*(structs.replace(NOTICE, path=f"{n}.md", line=None) for n in range(1000))),
    ),
    "an undo": Shown(
        f"undo {RUN}", (f"undone: {SUMMARY}\n",), (UNDO,), answers={"undo": BUSY_PASS}
    ),
    "an undo without changes says why": Shown(
        f"undo {RUN}", ("nothing to undo: ",), None, never=("undoes this run",)
    ),
    "the status names the next command": Shown(
        "status",
        (
            "pending      2 (`vaultsync sync`)\n",
            f"last run     {LAST.at}, sync, run {RUN}\n",
            "vaultsync adopt",
        ),
        answers={"status": structs.replace(CALM, pending=2, foreign=3, last_run=LAST)},
    ),
    "no conflicts": Shown("conflicts", "", "no open conflicts\n"),
    "conflicts in a pipe are one field a line": Shown(
        "conflicts",
        f"0123456789abcdef\t{ID}\t{NOTE}\ttitle\tUse SQLite\tUse SQLite3\tUse DuckDB\n",
        ("vaultsync resolve",),
        3,
        answers={"conflicts": (CONFLICT,)},
    ),
    "a deletion is shown without its base revision": Shown(
        "conflicts",
        ("\tnote\t–\tchanged\tdeleted\n",),
        None,
        3,
        ("3-70b39ef6",),
        {
            "conflicts": (
                replace(
                    CONFLICT, fields=(FieldConflict("note", "3-70b39ef6", "changed", "deleted"),)
                ),
            )
        },
    ),
    "one of two conflicts is resolved": Shown(
        f"resolve {CONFLICT.id} --take vault",
        "",
        "Use SQLite3: partly resolved, 1 conflict left\n",
        3,
        answers={"conflicts": (CONFLICT,)},
    ),
    "a history in a pipe": Shown(
        f"history {ID}", f"2026-02-14T13:45:00Z\tvault\tperson\ttags\t\ta\t{RUN}\n"
    ),
    "an empty history": Shown(
        f"history {ID}", "", "no changes recorded\n", answers={"history": []}
    ),
    "equal sides": Shown("verify", "equal: 7 facts, field by field\n"),
    "invalid values": Shown(
        "verify",
        ("equal: 7 facts, field by field\n\n1 invalid value in notes", "priority cannot be 7"),
        answers={"verify": proof_of(7, held=(HELD,))},
    ),
    "a check that fails has a hint": Shown(
        "doctor",
        "✗ space  the disk is full\n         hint: make room\n",
        code=1,
        answers={"doctor": (BAD_CHECK,)},
    ),
    "in a pipe a hit is a row": Shown(
        "recall 'why sqlite?'",
        f"{ID}\t0.8100\tdecision\tUse SQLite\t{NOTE}\t{WHY}\t{SNIPPET}\n",
        "1 hit by keyword search in 4 ms, confidence 0.83\n",
    ),
    "what an answer lacks": Shown(
        "recall q",
        None,
        "There is no model.\n2 hits by hybrid search in 20 ms, confidence 0.50\n",
        answers={
            "answer": RecallResult("q", "fused", 0.5, ("There is no model.",), 0.02, (HIT, HIT))
        },
    ),
    "no hits": Shown(
        "recall q",
        "",
        ("nothing found: try other words",),
        answers={"answer": RecallResult("q", "index", 0.0, (), 0.001, ())},
    ),
    "an explained answer": Shown(
        "recall q --explain",
        (
            "\ncatch-up: 0.1 ms\nindex: 1.0 ms, 7 candidates\n    7.5000  Use SQLite\n",
            "\n  … and 2 more\n",
        ),
        None,
        answers={"answer": structs.replace(FOUND, stages=STAGES)},
    ),
    "a pack's text alone is on stdout": Shown(
        "context why?",
        "# Context: why?\n\n## Critical\n\n### Use SQLite\n\nIt is embedded.\n",
        (
            "712 of 800 tokens, estimated",
            "(balanced: critical 700, notable 0, background 0, entities 0)",
            "700  critical    Use SQLite\n",
            "critical decision; has “sqlite”",
            "public/decisions/use-sqlite.md#Use SQLite",
            "left out: 12, 12,066 tokens",
            " 1,000  Fact 0: no room left",
            "… and 2 more",
            "there is no model",
        ),
    ),
    "a quiet pack": Shown("context why? --quiet", ("It is embedded.",)),
    "an empty pack": Shown(
        "context why?",
        "",
        ("by o200k_base", "nothing to pack"),
        answers={
            "pack": structs.replace(PACK, text="", items=(), left_out=(), counter="o200k_base")
        },
    ),
    "an exported graph to stdout is alone there": Shown(
        "graph export -", "text\n", "3 nodes, 2 links\n"
    ),
    "stats are short": Shown(
        "graph stats --hubs 2",
        ("nodes       4\n", "components  1, of 3 nodes\n", "1 relation", "Lone\tnote\t"),
    ),
    "an empty graph": Shown(
        "graph stats",
        ("node types  none\n", "components  0\n"),
        answers={"graph_stats": graph_stats(build_graph([]))},
    ),
    "neighbors are listed with their links": Shown(
        "graph neighbors Alice --depth 2",
        "1\treports_to →\tBob\tunresolved\t\n1\t← mentions\tTea\tnote\tpublic/notes/Tea.md\n",
    ),
    "a node without neighbors": Shown(
        "graph neighbors Lone",
        "",
        "no neighbors\n",
        answers={"graph_neighbors": neighborhood(GRAPH, "Lone")},
    ),
    "an unknown node": Shown(
        "graph neighbors x",
        "",
        ("hint:",),
        1,
        answers={"graph_neighbors": errors.NotFoundError("no 'x' in the graph", hint="a title")},
    ),
    "colours need Obsidian restarted": Shown(
        "graph colours", ("/v/.obsidian/graph.json",), ("restart it",)
    ),
    "existing colours": Shown(
        "graph colours",
        ("every type already has its colour",),
        answers={"graph_colours": GraphColours("/v/.obsidian/graph.json", changed=False)},
    ),
    "settings of Obsidian that are not JSON": Shown(
        "graph colours",
        "",
        None,
        2,
        answers={"graph_colours": errors.ConfigError("not as Obsidian writes it")},
    ),
    "every link resolves": Shown("links check", "every link resolves (3 links in 2 notes)\n"),
    "broken links": Shown(
        "links check",
        (
            "1 broken link, 1 link by an alias only",
            "alias only\tpublic/notes/Tea.md:7\t[[Al]]\t",
            "[[Alice|Al]]",
        ),
        ("--fix",),
        3,
        answers={"links_check": BROKEN},
    ),
    "fixed links name the run to undo": Shown(
        "links check --fix",
        None,
        ("5 more", "vaultsync undo r1", "x.md"),
        answers={"links_check": FIXED},
    ),
    "quiet about links": Shown(
        "links check --quiet", None, "", 0, ("every link",), {"links_check": FIXED}
    ),
    "a memory file": Shown(
        "memory-file sync m",
        (
            f"{FILE}: 1 changed, 1 detached, 3 unchanged",
            "detach\tPeople\t\tgone from the file",
            "update\tTests (line 7)\tcontent\tchanged in the file",
        ),
        ("1 queued text", "2 sections too short", "1 fact not embedded"),
        answers={"sync_memory_file": FILE_REPORT},
    ),
    "a quiet memory file": Shown(
        "memory-file sync m --quiet", answers={"sync_memory_file": FILE_REPORT}
    ),
    "a memory file that waits for a person": Shown(
        "memory-file sync m",
        ("it was edited", "write it"),
        None,
        3,
        answers={"sync_memory_file": WAITS_FOR_USER},
    ),
    "a dry run of a memory file": Shown(
        "memory-file sync m --dry-run",
        (f"dry run: {FILE}: ",),
        None,
        answers={"sync_memory_file": structs.replace(FILE_REPORT, dry_run=True)},
    ),
    "an empty memory file": Shown(
        "memory-file sync m",
        (f"{FILE}: nothing to remember",),
        None,
        answers={"sync_memory_file": report_of_files([EMPTY_FILE])},
    ),
    "a skipped memory file": Shown(
        "memory-file sync m",
        (f"{FILE}: skipped\n", f"! {FILE}: was skipped: it is binary\n"),
        None,
        3,
        answers={"sync_memory_file": report_of_files([EMPTY_FILE], notices_of([MISSED]))},
    ),
    "a missing memory file": Shown(
        "memory-file sync m",
        "",
        ("hint:",),
        1,
        answers={"sync_memory_file": errors.MemoryFileMissingError(FILE)},
    ),
    "an agent's text is written": Shown(
        "memory-file add m text --section Lessons",
        None,
        (f"written to {FILE}, section Lessons\n",),
        answers={"add_to_memory_file": AddResult(FILE, "Lessons", "written", synced=QUIET_FILE)},
    ),
    "an agent's text is there already": Shown(
        "memory-file add m text --section Lessons",
        None,
        (f"already in {FILE}",),
        answers={"add_to_memory_file": AddResult(FILE, "Lessons", "unchanged", synced=QUIET_FILE)},
    ),
    "an agent's text, beside an edit": Shown(
        "memory-file add m text --section Lessons",
        ("it was edited",),
        None,
        3,
        answers={
            "add_to_memory_file": AddResult(FILE, "Lessons", "written", synced=WAITS_FOR_USER)
        },
    ),
    "an agent's text is queued": Shown(
        "memory-file add m text --section Lessons",
        "",
        f"queued for {FILE}, section Lessons: it is taken\n",
        3,
        answers={"add_to_memory_file": AddResult(FILE, "Lessons", "queued", "it is taken")},
    ),
}


@pytest.mark.parametrize("case", TEXTS.values(), ids=TEXTS)
def test_what_a_command_prints(case: Shown) -> None:
    result = ask(case.words, **case.answers)

    assert result.exit_code == case.code, result.output
    for wanted, printed in ((case.out, result.stdout), (case.err, result.stderr)):
        if isinstance(wanted, str):
            assert printed == wanted
        for part in wanted if isinstance(wanted, tuple) else ():
            assert part in printed
    assert not [each for each in case.never if each in result.output]


@pytest.mark.parametrize(
    ("words", "rows", "few"),
    [
        ("sync", "create note", acts(*MANY)),
        ("links check", "fixed\tpublic/notes", {"links_check": FIXED}),
    ],
)
def test_only_verbose_lists_more_than_twenty_rows(
    words: str, rows: str, few: dict[str, object]
) -> None:
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


@pytest.mark.parametrize("change", [{"conflicts": 1}, {"attention": [NOTICE]}])
@pytest.mark.parametrize("form", ["", " --json"])
def test_status_ends_with_3_when_something_waits(change: dict[str, Any], form: str) -> None:
    assert ask(f"status{form}", status=structs.replace(CALM, **change)).exit_code == 3


@pytest.mark.parametrize("form", ["", " --json"])
def test_a_difference_is_printed_and_is_a_failure(form: str) -> None:
    result = ask(f"verify{form}", verify=proof_of(7, [DIFFERENCE]))

    assert result.exit_code == 1
    assert "the sides differ" in result.stdout
    assert "error" not in result.output


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
    "error", [errors.VaultMissingError("v", "no marker"), errors.StoreUnavailableError("locked")]
)
def test_doctor_checks_a_vault_that_cannot_be_opened(error: Exception) -> None:
    result = ask("doctor --json", open=error)

    assert result.exit_code == 1
    (check,) = one_object(result)["checks"]
    assert check["ok"] is False


# ------------------------------------------------------------------- texts and values


@pytest.mark.parametrize(
    "words", ["remember text", f"update {ID} --content x", f"supersede {ID} text", f"forget {ID}"]
)
def test_a_change_for_an_unavailable_store_is_reported_as_queued(words: str) -> None:
    result = ask(words, waits=True)

    assert one_object(ask(f"{words} --json", waits=True))["waits"] is True
    assert result.exit_code == 0
    assert "the change is in the outbox" in result.stderr
    assert "changed, in" not in result.stderr


def test_a_fact_without_a_note_is_not_mirrored() -> None:
    values = one_object(ask("remember x --json", remember=Fact(ID, revision="1-0")))

    assert (values["path"], values["mirrored"]) == (None, False)


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


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        ("remember", ""),
        ("remember ' '", None),
        (f"supersede {ID}", "\n"),
        ("remember -", b"\xff"),
        (f"update {ID}", None),
        (f"update {ID} --set no-value", None),
        (f"update {ID} --set =x", None),
        (f"update {ID} --set a=1 --set a=2", None),
        ("memory-file sync", None),
        ("resolve x", None),
        ("resolve x --take mine", None),
        ("rebuild", None),
        ("rebuild --from git", None),
        ("graph export - --json", None),
        ("graph export g.xyz", None),
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
        ("priority=0", 0),
        ("importance=0.50", 0.5),
        ("observationCompressed=true", True),
        ("title=1.10", "1.10"),
        ("title=true", "true"),
        ("outcome=1.10", "1.10"),
        ("decisionOutcome=2", "2"),
        ("context=null", None),
        ("context=", ""),
        ("tags=2026", "2026"),
        ('tags=["a", "b"]', ["a", "b"]),
        ("mine=1.5", 1.5),
        ("mine=[1, true]", [1, True]),
        ("mine=false", False),
        ("mine=NaN", "NaN"),
        ('mine="a"', '"a"'),
        ('mine={"a": 1}', '{"a": 1}'),
        ("mine=[1", "[1"),
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
    assert memory.opened == {"path": "v", "state_dir": "s", "agent": None}
    # It is closed before anything is printed.
    assert [name for name, _, _ in memory.calls] == ["get", "close"]

    env = {"VAULTSYNC_VAULT": "ev", "VAULTSYNC_STATE_DIR": "es", "VAULTSYNC_AGENT": "indy"}
    run("get", ID, memory=memory, env=env)
    assert memory.opened == {"path": "ev", "state_dir": "es", "agent": "indy"}


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
def test_a_graph_is_exported_in_the_form_of_its_file(
    tmp_path: Path, name: str, more: str, form: str
) -> None:
    memory, file = FakeMemory(), tmp_path / name
    words = ("graph", "export", str(file), *more.split())

    result = run(*words, memory=memory)

    assert result.exit_code == 0, result.output
    assert file.read_text() == "text\n"
    assert memory.call("graph_export")[1]["format"] == form
    assert f"3 nodes, 2 links written to {file} as json" in result.stdout
    said = {"file": str(file), "format": "json", "nodes": 3, "links": 2}
    assert one_object(run(*words, "--json")) == said
    assert run(*words, "--quiet").output == ""
