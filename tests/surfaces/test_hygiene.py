"""Planted secrets never appear in an answer, nor in a file that a user or an agent reads."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from msgspec import to_builtins

import vaultsync
from tests.bridges import Heard, open_bridge
from tests.every_method import EVERY_METHOD, copy_of_note
from tests.machines import configure_machine
from tests.planted import CODE, MACHINE, SAID, TEXT, TOKEN, WORD, Planted, leaks, make_vault, plant
from vaultsync.api.memory import Memory
from vaultsync.cli.main import cli
from vaultsync.cli.watch_command import LogLines
from vaultsync.errors import ExchangeFileError, VaultsyncError
from vaultsync.http_bridge import encoding as answers
from vaultsync.http_bridge.handlers import ROUTES
from vaultsync.mcp_server import resources
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.agent_settings import settings_for
from vaultsync.mcp_server.prompts import PROMPTS, prompt_text
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool
from vaultsync.privacy import redaction as redact
from vaultsync.sync.report import DaemonState

pytestmark = pytest.mark.long(5)

HOOK = json.dumps(
    {"hook_event_name": "Stop", "session_id": "s", "text": TEXT, "tool_input": {"command": CODE}}
)
MESSAGES = [{"role": "user", "content": TEXT, "name": CODE}]
MAY_HOLD = {
    "store.sqlite3",
    "archive.sqlite3",
    "other.sqlite3",
    "out.sqlite3",
    ".memory-sync-state.json",
}
"""Files that hold true texts; open to their owner alone."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_vault(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def planted(folder: Path) -> Planted:
    return plant(folder)


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with vaultsync.open(str(folder / "vault"), agent="indy") as opened:
        yield opened


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """All that is in files and their names, but where true texts belong."""
    for path in sorted(folder.rglob("*")):
        text = ""
        if path.is_file() and not any(path.name.startswith(each) for each in MAY_HOLD):
            text = path.read_bytes().decode("latin-1")
        yield path, f"{path}\n{text}"


WHOLE = {"export", "export_to", "import_", "import_from"}
"""What is lossless, for it is a backup."""


def test_no_method_of_memory_tells_a_secret(planted: Planted) -> None:
    named = {each for each in dir(Memory) if not each.startswith("_")}
    assert named == EVERY_METHOD.keys(), "ask these methods for the planted secrets, too"
    refused = set()
    with vaultsync.open(planted.vault) as memory:
        for name, asks in EVERY_METHOD.items():
            for ask in asks if name not in WHOLE else ():
                try:
                    found = ask(memory, planted)
                except VaultsyncError as error:
                    found = [error, error.hint]
                    refused.add(name)
                assert leaks([found, to_builtins(found, enc_hook=repr)]) == [], name
    assert refused == {"resolve"}, "there is one conflict, which is resolved by hand"
    _no_file_leaks(planted)


def _no_file_leaks(planted: Planted) -> None:
    """Files hold no secrets, but those in which a person typed them, and their copies."""
    for path in planted.folder.rglob("*"):
        if any(path.name.startswith(each) for each in MAY_HOLD):
            assert not path.stat().st_mode & path.parent.stat().st_mode & 0o077, path
    typed = {each.name for each in planted.typed}
    typed |= {"config"}  # of git, where the user typed the address of the remote
    found = {
        path: said
        for path, text in _files(planted.folder)
        if (said := leaks(text)) and path.name not in typed
    }
    # What a person had saved is kept for a minute, in case an editor still writes.
    kept = [path for path in found if path.parent.name in ("staging", "attic")]
    assert found.keys() == set(kept)


NOT_ASKED = {
    *("init", "export", "import", "completion", "mcp", "bridge token", "plugin install"),
    *("export-to", "import-from", "bases write", "bases types"),
    *("model fetch", "install"),  # they know of no fact
}


def test_no_command_prints_a_secret(planted: Planted) -> None:
    fact, conflict, run = planted.fact, planted.conflict, planted.run
    file, out = str(planted.memory_file), str(planted.folder / "out")
    modules = ("--folder", f"{planted.folder}/modules")
    questions = planted.folder / "questions.toml"
    questions.write_text(f'[[question]]\nquestion = "deploy"\nexpected = ["{fact}"]\n')
    answers = planted.folder / "answers.jsonl"
    answers.write_text('{"question": "deploy"}\n')
    app = str(planted.repository())
    asked: dict[str, list[tuple[str, ...]]] = {
        **{key: [()] for key in ("status", "conflicts", "verify", "doctor", "trust")},
        **{key: [()] for key in ("graph stats", "graph colours")},
        "list": [(), ("--status", "forgotten")],
        "get": [(fact,)],
        "open": [(fact,)],
        "history": [(fact,), (planted.gone,)],
        "recall": [("deploy", "--explain"), ("deploy", "--vault-only")],
        "context": [("deploy",), ()],
        "hook": [("codex",)],
        "graph export": [
            (f"{out}.{each}", "--format", each) for each in ("json", "graphml", "canvas", "html")
        ],
        "graph neighbors": [("Alice",)],
        "links check": [(), ("--fix",)],
        "index": [("--rebuild",)],
        "eval run": [(str(questions),)],
        "eval gate": [(str(questions), "--baseline", f"{out}.baseline", "--update")],
        "eval score": [(str(questions), str(answers))],
        "model list": [()],
        "remember": [(TEXT, "--title", TOKEN), (TEXT, "--field", f"priority={TOKEN}")],
        "observe": [(TEXT, "--context", CODE), ("--hook", HOOK), (HOOK,)],
        "observations process": [("--dry-run",), ()],
        "config get": [()],
        "config set": [("language", "german")],
        "config unset": [("language",)],
        "repo identity": [(app,)],
        "repo add convention": [(CODE, TEXT, "--tag", TOKEN, "--repo", app)],
        "repo add decision": [(CODE, TEXT, "--path", TOKEN, "--repo", app)],
        "repo add note": [(TEXT, "--repo", app)],
        "repo summary": [(TOKEN, CODE, TEXT, "--follow-up", TOKEN, "--repo", app)],
        "repo list": [("--repo", app)],
        "repo context": [("--repo", app, "--path", TOKEN)],
        "repo map": [("--repo", app, "--path", TOKEN)],
        "repo instructions": [(f"{app}/AGENTS.md", "--dry-run"), (f"{app}/AGENTS.md",)],
        "repo promote": [("--repo", app)],
        "repo copy": [("--from", "main", "--to", "main", "--repo", app)],
        "observations list": [()],
        "observations show": [(planted.observation,)],
        "update": [
            (fact, "--content", TEXT),
            (fact, "--set", f"priority={TOKEN}"),
            (fact, "--set", f"priority={_name(planted, CODE)}"),
            (fact, "--set", f"title={_name(planted, CODE)}\n2"),
        ],
        "edit": [(fact, "--append", TEXT), (fact, "--append", CODE)],
        "log": [(), ("--note",)],
        "supersede": [(planted.entity, f"now {CODE}, password: {SAID}")],
        "memory-file sync": [(file, "--dry-run"), (file,)],
        "memory-file manage": [(file, "--dry-run"), (file, "--form", "index"), (file,)],
        "memory-file add": [(file, f"More {CODE}.", "--section", f"Mine {TOKEN}")],
        "module write": [("keys", "k-1", TEXT, "--title", TOKEN, "--tag", WORD, *modules)],
        "module read": [("keys", *modules), ("keys", "k-1", *modules)],
        **{f"module {key}": [modules] for key in ("sync", "status", "index")},
        "adopt": [("--dry-run", "Inbox"), ("Inbox",)],
        "sync": [("--dry-run", "-v"), ("-v",)],
        "resolve": [(conflict, "--take", "store")],
        "proposals list": [()],
        "proposals show": [(planted.proposal,)],
        "proposals accept": [(planted.proposal,), ("--kind", "retype")],
        "proposals reject": [(planted.proposal,)],
        "undo": [(run, "-v")],
        "watch": [("--once-settled", "--no-bridge")],
        "forget": [(fact,)],
        "restore": [(fact,)],
        "maintain": [("--dry-run", "-v"), ("-v",)],
        "rebuild": [("--from", "store", "-v")],
        "migrate": [("--to", f"sqlite:{out}.sqlite3")],
        "purge": [(fact, "--dry-run", "-v")],
    }
    differing = {*_commands(cli)} - NOT_ASKED ^ asked.keys()
    assert differing == set(), "ask these commands for the planted secrets, too"
    for command, many in asked.items():
        for words in many:
            for more in ((), ("--json",)):
                every = (*command.split(), *words, *more, "--vault", planted.vault)
                given = '{"hook_event_name": "SessionStart"}' if command == "hook" else None
                done = CliRunner().invoke(cli, every, input=given)
                assert leaks(done.output) == [], (every, done.output)
                assert "--vault-only" not in words or planted.fact in done.output
                wrong = "--set" in words or "--field" in words
                # What was settled the first time is not there the second time.
                codes = {2} if wrong else {0, 3, *((1, 2) if more else ())}
                assert done.exit_code in codes, every
    _no_file_leaks(planted)


def _commands(group: click.Group, *before: str) -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        if isinstance(found, click.Group):
            yield from _commands(found, *before, name)
        else:
            yield " ".join((*before, name))


def _name(planted: Planted, secret: str) -> str:
    """What stands for a secret."""
    with vaultsync.open(planted.vault) as memory:
        return memory._ctx.view.redact_text(secret)


def test_no_route_of_the_bridge_answers_a_secret(planted: Planted) -> None:
    one, other = f"/v1/facts/{planted.fact}", f"/v1/facts/{planted.entity}"
    app = str(planted.repository())
    copy = copy_of_note(planted)
    asked: dict[str, list[tuple[str, object]]] = {
        "status": [("/v1/status", None)],
        "list": [("/v1/facts", None), ("/v1/facts?status=forgotten", None)],
        "remember": [("/v1/facts", {"text": TEXT, "title": CODE, "tags": [TOKEN]})],
        "observations": [("/v1/observations", None)],
        "observation": [(f"/v1/observations/{planted.observation}", None)],
        "process_observations": [("/v1/observations/process", {"dry_run": True})],
        "observe": [("/v1/observations", {"text": TEXT, "context": CODE})],
        "remember_messages": [("/v1/sessions", {"messages": MESSAGES, "session": "s"})],
        "get": [(one, None)],
        "related": [(f"{one}/related", None)],
        "history": [(f"{one}/history", None)],
        "conflicts": [("/v1/conflicts", None)],
        "verify": [("/v1/verify", None)],
        "recall": [("/v1/recall", {"query": "deploy evening", "explain": True})],
        "context": [("/v1/context", {"query": "deploy"})],
        "graph": [("/v1/graph", None)],
        "graph_colours": [("/v1/graph/colours", {})],
        "update": [(one, {"content": TEXT}), (one, {"set": {"priority": TOKEN}})],
        "edit": [(f"{other}/edit", {"append": f"{CODE} {TOKEN}"})],
        "supersede": [(f"{other}/supersede", {"text": f"now {CODE}, password: {SAID}"})],
        "forget": [(f"{one}/forget", {})],
        "restore": [(f"{one}/restore", {})],
        "adopt": [(f"{other}/adopt", {})],
        "ids": [("/v1/ids", {})],
        "sync": [("/v1/sync", {"dry_run": True}), ("/v1/sync", {})],
        "maintain": [("/v1/maintain", {"dry_run": True})],
        "adopt_all": [("/v1/adopt", {"dry_run": True}), ("/v1/adopt", {})],
        "fix_links": [("/v1/links/fix", {})],
        "resolve": [(f"/v1/conflicts/{planted.conflict}/resolve", {"take": "store"})],
        "settle_copy": [("/v1/copies/settle", {"path": copy, "take": "merge"})],
        "proposals": [("/v1/proposals", None), ("/v1/proposals?settled=true", None)],
        "accept_proposals": [(f"/v1/proposals/{planted.proposal}/accept", {})],
        "reject_proposals": [(f"/v1/proposals/{planted.proposal}/reject", {})],
        "undo": [(f"/v1/runs/{planted.run}/undo", {})],
        "index": [("/v1/index", None)],
        "index_file": [("/v1/index/vault-index.md", None)],
        "write": [("/v1/writes/none", {"applied": False})],
        "repo_context": [("/v1/repo/context", {"repo": app, "paths": [TOKEN]})],
        "repo_promote": [("/v1/repo/promote", {"repo": app})],
        "repo_copy": [("/v1/repo/copy", {"repo": app, "source": "main", "target": "main"})],
        "modules": [("/v1/modules", None)],
        "sync_modules": [("/v1/modules/sync", {})],
    }
    routes = {each.name: each.method for each in ROUTES}
    assert routes.keys() ^ asked.keys() == set(), "ask these routes for the planted secrets, too"
    with open_bridge(planted.folder) as client:
        heard = Heard(client)
        for name, many in asked.items():
            for path, body in many:
                answer = client(routes[name], path, body)
                assert leaks(answer.body.decode()) == [], (name, answer.body)
                wrong = "priority" in str(body) or name == "write"
                assert (answer.status >= 400) == wrong, (name, answer.body)
        client.serving.events.publish("over", {})
        kind, told = "", []
        while kind != "over":
            kind, data = heard.next()
            told.append(data)
        heard.close()
    assert leaks(told) == []
    _no_file_leaks(planted)


def test_no_tool_of_agents_tells_secrets(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(planted.folder)  # the project of the modules
    fact, app = planted.fact, str(planted.repository())
    asked: dict[str, list[dict[str, object]]] = {
        "memory_recall": [{"query": "deploy evening"}],
        "memory_get_context": [{"query": "deploy", "format": "xml"}],
        "query_vault": [{}, {"ids": [fact]}, {"status": "forgotten"}],
        "memory_conflicts": [{}],
        "memory_status": [{}],
        "memory_export_graph": [{"format": x} for x in ("json", "graphml", "canvas")],
        "memory_store_fact": [
            {"text": TEXT, "title": CODE, "tags": [TOKEN]},
            {"text": TEXT, "fields": {"status": f"{TOKEN}\n{TOKEN}"}},
        ],
        "memory_observe": [{"content": TEXT, "context": CODE}],
        "memory_update_fact": [
            {"id": fact, "content": TEXT},
            {"id": fact, "set": {"importance": f"{TOKEN}"}},
            {"id": TOKEN},
        ],
        "memory_edit_fact": [
            {"id": fact, "append": TEXT},
            {"id": fact, "find": TOKEN, "replace": "x"},
            {"id": fact, "section": TOKEN, "replace": "x"},
        ],
        "memory_supersede": [{"id": planted.entity, "text": f"now {CODE}, password: {SAID}"}],
        "memory_resolve_conflict": [{"conflict": planted.conflict, "take": "store"}],
        "memory_proposals": [{}],
        "memory_resolve_proposal": [
            {"proposal": planted.proposal, "accept": each} for each in (True, False)
        ],
        "memory_forget": [{"id": fact}],
        "memory_restore": [{"id": fact}, {"id": TOKEN}],
        "memory_store_session": [{"messages": MESSAGES, "session": "s", "tags": [TOKEN]}],
        "repo_remember": [
            {"kind": each, "title": CODE, "text": TEXT, "tags": [TOKEN], "repo": app}
            for each in ("convention", "decision", "note")
        ],
        "repo_summarize_step": [
            {"run": TOKEN, "step": CODE, "summary": TEXT, "follow_ups": [TOKEN], "repo": app}
        ],
        "repo_context": [{"repo": app, "paths": [TOKEN]}],
        "memory_file_add": [{"text": TEXT, "section": CODE, "file": "notes/MEMORY.md"}],
        "module_write": [{"topic": "keys", "chunk": "k-1", "text": TEXT, "title": TOKEN}],
        "module_read": [{"topic": "keys", "chunk": "k-1"}, {"topic": "keys"}],
    }
    differing = asked.keys() ^ TOOLS_BY_NAME.keys()
    assert differing == set(), "ask these tools for the planted secrets, too"
    with AgentMemory(settings_for(planted.vault, agent="indy")) as memory:
        memory.sync_saved_notes()
        for each in (planted.fact, planted.entity):
            text = resources.read_resource(memory, f"{resources.FACT_URI}{each}")
            assert "[REDACTED:stripe:" in text  # where a person typed it
            assert leaks(text) == []
        for name, many in asked.items():
            for given in many:
                done = run_tool(memory, TOOLS_BY_NAME[name], given)
                assert leaks(done.model_dump_json()) == [], (name, given)
        memory.finish_pending()
        for row in resources.list_resources(memory):
            assert leaks([row, resources.read_resource(memory, str(row.uri))]) == []
        for prompt in PROMPTS.values():
            assert leaks(prompt_text(memory, prompt, {prompt.argument: "the deploy"})) == []
    _no_file_leaks(planted)


OURS = (CODE, WORD)
"""Secrets for the user's own rules: a pattern, and a variable of the environment."""
WRONG = [
    *("get {}", "history {}", "forget {}", "restore {}", "undo {}", "resolve {} --take store"),
    *("remember x --type {}", "remember x --scope {}", "remember x --priority {}"),
    *("remember x --field priority={}", "remember x --field {}"),
    *("list --type {}", "list --since {}", "list --{}", "context x --intent {}"),
    *("recall x --scope {}", "recall x --mode {}", "context x --budget {}"),
    *("graph neighbors {}", "graph export g.{}", "graph {}", "adopt {}.md", "{}"),
    *("memory-file sync {}.md", "migrate --to {}", "import {}.jsonl", "rebuild --from {}"),
]


@pytest.mark.parametrize("words", WRONG)
def test_no_error_repeats_a_secret_of_the_users_own_rules(
    folder: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    vault = folder / "vault"
    for secret, at in product(OURS, [(f"--vault={vault}",), ("--json", "--vault", str(vault))]):
        monkeypatch.setattr(redact, "_REGISTERED_RULES", {})  # as of a process that begins
        every = (*words.replace("{}", secret).split(), *at)
        done = CliRunner().invoke(cli, every)
        assert done.exit_code in (1, 2), (every, done.output)
        assert "[REDACTED:" in done.output
        assert leaks(done.output) == []


def test_nor_does_an_error_of_the_bridge(folder: Path) -> None:
    asked: list[tuple[str, str, object]] = [
        ("GET", "/v1/facts/{}", None),
        ("GET", "/v1/facts?type={}", None),
        ("POST", "/v1/facts", {"text": "x", "type": "{}"}),
        ("POST", "/v1/facts", {"text": "x", "fields": {"priority": "{}"}}),
        ("POST", "/v1/facts", {"text": "x", "{}": 1}),
        ("POST", "/v1/runs/{}/undo", {}),
        ("POST", "/v1/conflicts/{}/resolve", {"take": "store"}),
        ("POST", "/v1/adopt", {"scope": "{}"}),
        ("POST", "/v1/recall", {"query": "x", "mode": "{}"}),
        ("POST", "/v1/context", {"query": "x", "intent": "{}"}),
        ("GET", "/v1/index/{}", None),
        ("GET", "/v1/{}", None),
    ]
    with open_bridge(folder) as client:
        for secret, (method, path, body) in product(OURS, asked):
            said = json.loads(json.dumps(body).replace('{}"', f'{secret}"'))
            answer = client(method, path.replace("{}", secret), said)
            assert answer.status >= 400, (path, answer.body)
            assert leaks(answer.body.decode()) == [], path


def test_nor_does_an_error_of_a_tool(folder: Path) -> None:
    asked: list[tuple[str, dict[str, object]]] = [
        ("memory_recall", {"query": "x", "mode": "{}"}),
        ("memory_get_context", {"query": "x", "intent": "{}"}),
        ("query_vault", {"type": "{}"}),
        ("query_vault", {"ids": ["{}"]}),
        ("memory_store_fact", {"text": "x", "type": "{}"}),
        ("memory_store_fact", {"text": "x", "{}": 1}),
        ("memory_update_fact", {"id": "{}", "content": "x"}),
        ("memory_resolve_conflict", {"conflict": "{}", "take": "store"}),
        ("memory_edit_fact", {"id": "{}", "append": "x"}),
        ("memory_forget", {"id": "{}"}),
        ("memory_restore", {"id": "{}"}),
    ]
    with AgentMemory(settings_for(str(folder / "vault"), agent="indy")) as memory:
        for secret, (name, given) in product(OURS, asked):
            said = json.loads(json.dumps(given).replace("{}", secret))
            done = run_tool(memory, TOOLS_BY_NAME[name], said)
            assert done.isError, (name, given)
            assert leaks(done.model_dump_json()) == [], (name, given)


def test_nor_does_a_log(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with vaultsync.open(str(folder / "vault")):
        pass
    told = io.StringIO()
    log = LogLines(told, lambda: datetime(2026, 2, 14, tzinfo=UTC))
    state = DaemonState("2026-02-14T13:45:00Z")
    for secret in OURS:
        wrong = OSError(2, "No such file", f"notes/{secret}.md")
        log("error", state.note(wrong, "2026-02-14T13:45:00Z"))
        log("error", {"message": f"{wrong}"})
        answers.error_response(ValueError(secret))
    assert told.getvalue().count("[REDACTED:") == 2 * len(OURS)
    assert leaks(told.getvalue()) == []
    assert leaks(to_builtins(state)) == []
    assert caplog.text.count("ValueError: [REDACTED:") == len(OURS)
    assert leaks(caplog.text) == []


def test_an_answer_does_not_repeat_a_secret_that_was_asked_for(folder: Path) -> None:
    vault = str(folder / "vault")
    for secret in (*OURS, TOKEN):
        with vaultsync.open(vault) as memory:
            memory.remember("The lamp.")
            found = memory.recall(f"lamp {secret}", explain=True)
            assert found.hits
            assert leaks(to_builtins(found)) == []
            assert leaks(memory.context(f"lamp {secret}", format="json").text) == []
        with AgentMemory(settings_for(vault, agent="indy")) as agent:
            done = run_tool(agent, TOOLS_BY_NAME["memory_recall"], {"query": f"lamp {secret}"})
            assert leaks(done.model_dump_json()) == []
        with open_bridge(folder) as client:
            answer = client("POST", "/v1/recall", {"query": f"lamp {secret}"})
            assert leaks(answer.body.decode()) == []
        for words in (("recall",), ("recall", "--vault-only"), ("context",)):
            every = (*words, f"lamp {secret}", "--json", "--vault", vault)
            assert leaks(CliRunner().invoke(cli, every).output) == [], every


def test_what_is_exported_is_whole(memory: Memory) -> None:
    fact = memory.remember(TEXT)
    lines: list[str] = []
    memory.export(lines.append)
    assert json.loads(lines[0])["content"] == TEXT
    assert memory.import_(lines) == 1
    assert memory._ctx.store.get(fact.id).content == TEXT


def test_nothing_is_exported_into_a_vault(memory: Memory) -> None:
    with pytest.raises(ExchangeFileError, match="in a vault"):
        memory.export_to("markdown", memory.settings.root / "exported")
    assert not (memory.settings.root / "exported").exists()


def test_what_an_agent_exports_has_no_secrets(folder: Path, memory: Memory) -> None:
    memory.remember(TEXT)
    memory.agent = "indy"
    memory.export_to("jsonl", folder / "exported")
    assert leaks((folder / "exported" / "memories.jsonl").read_text()) == []


def test_an_agent_adds_no_secret_to_a_memory_file(folder: Path, memory: Memory) -> None:
    path = folder / "MEMORY.md"
    path.write_text("# Memory\n")
    memory.add_to_memory_file(path, f"The key is {TOKEN}.", section="Keys")
    assert "[REDACTED:github:" in path.read_text()
    assert leaks(path.read_text()) == []


def test_what_is_switched_off_is_shown(folder: Path) -> None:
    configure_machine(folder / "vault", f"{MACHINE}secrets = false\nneutralise = false\n")
    with vaultsync.open(str(folder / "vault")) as memory:
        fact = memory.remember(TEXT)
        assert fact.content == TEXT
        assert TEXT in (folder / "vault" / str(fact.path)).read_text()
        assert memory.sync().quiet
        checks = {each.name: each for each in memory.doctor()}
        assert not checks["hygiene"].ok


def test_the_doctor_tells_what_is_hidden_and_what_cannot_be(folder: Path) -> None:
    with vaultsync.open(str(folder / "vault")) as memory:
        checks = {each.name: each for each in memory.doctor()}
    said = checks["hygiene"].message
    assert checks["hygiene"].ok
    assert "CANARY_SHORT" in said
    assert "CANARY_UNSET" in said
    assert WORD not in said
