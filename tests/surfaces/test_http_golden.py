"""The bridge's answers as golden files, which the tests of the plugin's validators read too.

VAULTSYNC_UPDATE_GOLDEN=1 rewrites them; read the diff then. Values that differ from run to
run (ids, revisions, times, measurements) are replaced by fixed ones of the same kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import jsonschema  # type: ignore[import-untyped] # comes with the SDK
import msgspec
import pytest
from msgspec import to_builtins

from tests.bridges import Answer, Client, Heard, offer, open_bridge
from tests.gits import GitFolder
from tests.golden import GOLDEN, RENEW
from tests.openapi import document
from vaultsync import errors
from vaultsync.api.memory import Memory
from vaultsync.backends.http.loopback_guard import MAX_BODY_BYTES
from vaultsync.backends.obsidian.vault_through_app import WriteReply
from vaultsync.backends.state.engine_lock import EngineLock
from vaultsync.backends.state.process_files import DaemonFile
from vaultsync.http_bridge.handlers import ROUTES, RouteRow
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.privacy.error_json import Failure
from vaultsync.proposals.service import ProposalDraft, propose
from vaultsync.sync.report import DaemonState
from vaultsync.sync.telemetry import Telemetry, TimePercentiles

pytestmark = pytest.mark.long(5)

HTTP = GOLDEN / "http"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z")
_DAY = re.compile(r"(?<!0193f6c2-)20\d\d-\d\d-\d\d")
_HEX = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{16})\b")
_REVISION = re.compile(r"\b\d+-[0-9a-f]{8}\b(?!-)")
NO_RUN = "01a1fd60-2f48-7295-9528-7c812ae42a9d"
_MEASURED = {
    "seconds": 0.01,
    "score": 0.9,
    "recency": 1.0,
    "similarity": 1.0,
    "confidence": 0.8,
    "revision": "1-0193f6c2",
    "pid": 4711,
    "version": "0.1.0",
}


class Pages:
    """The pages of one run, with fixed values for what differs from run to run."""

    def __init__(self, client: Client, root: Path) -> None:
        self.client = client
        self.root = str(root)
        self.ids: dict[str, str] = {}
        self.made: dict[str, dict[str, Any]] = {}

    def ask(
        self,
        name: str,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> dict[str, Any]:
        """Send a request, and keep request and answer as a page."""
        answer: Answer = self.client(method, path, body, headers=headers)
        asked: dict[str, object] = {"method": method, "path": path}
        if body is not None:
            asked["body"] = body
        self.made[name] = {
            "request": self.same(asked),
            "status": answer.status,
            "answer": self.same(answer.json),
        }
        return answer.json

    def same(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON
        """The value with fixed ids, times and measurements."""
        if key in _MEASURED and value is not None:
            return _MEASURED[key]
        if isinstance(value, dict):
            return {self.same(k): self.same(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.same(each) for each in value]
        if not isinstance(value, str):
            return value
        text = value.replace(self.root, "/home/bente")
        text = _UUID.sub(self._id, text)
        text = _TIME.sub("2026-02-14T13:45:00Z", text)
        text = _REVISION.sub("1-0193f6c2", text)
        text = _DAY.sub("2026-02-14", text)
        return _HEX.sub(lambda m: ("0123456789abcdef" * 4)[: len(m[0])], text)

    def _id(self, found: re.Match[str]) -> str:
        number = len(self.ids) + 1
        return self.ids.setdefault(found[0], f"0193f6c2-0000-7000-8000-{number:012d}")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    root = tmp_path_factory.mktemp("bridge")
    with open_bridge(root) as client:
        made = Pages(client, root)
        _facts(made, root / "vault")
        _ctx(made, root / "vault")
        _asking(made, root / "vault")
        _projects(made, root / "app")
        _events(made)
        _errors(made)
        _edits(made)
        yield made


def _facts(pages: Pages, vault: Path) -> None:
    wanted = {
        "text": "SQLite is embedded, and the [[Pier Box]] has no room for a server.",
        "type": "decision",
        "title": "Use SQLite on the pier box",
        "scope": "team-core",
        "priority": 1,
        "tags": ["storage"],
        "entities": ["SQLite"],
        "fields": {"outcome": "implemented"},
    }
    fact = pages.ask("facts-create", "POST", "/v1/facts", wanted)
    one = f"/v1/facts/{fact['id']}"
    pages.ask("fact", "GET", one)
    body = {"content": "SQLite is embedded.", "set": {"priority": 0}, "add_tags": ["ops"]}
    changed = pages.ask("fact-update", "PATCH", one, body)
    pages.ask("error-revision", "PATCH", one, {"content": "x", "expect": "1-other"})
    newer = {"text": "SQLite on the pier box, copied every ten minutes."}
    pages.ask("fact-supersede", "POST", f"{one}/supersede", newer)
    pages.ask("fact-related", "GET", f"{one}/related")
    pages.ask("fact-history", "GET", f"{one}/history")
    pages.ask("facts-list", "GET", "/v1/facts?type=decision&limit=2")
    seen = {"text": "The berth sensor was restarted.", "scope": "private-moss"}
    observed = pages.ask("observations-create", "POST", "/v1/observations", seen)
    pages.ask("observations-list", "GET", "/v1/observations?tier=pending")
    pages.ask("observations-process", "POST", "/v1/observations/process", {})
    pages.ask("observation", "GET", f"/v1/observations/{observed['id']}")
    loose = pages.client("POST", "/v1/facts", {"text": "To be forgotten."}).json
    where = f"/v1/facts/{loose['id']}"
    pages.ask("fact-forget", "POST", f"{where}/forget", {"expect": loose["revision"]})
    pages.ask("fact-restore", "POST", f"{where}/restore", {})
    assert changed["priority"] == 0

    fresh = pages.ask("ids", "POST", "/v1/ids", {})["id"]
    (vault / "Inbox").mkdir()
    note = f"---\nid: {fresh}\n---\n# A quote\n\nTwo panels cost 4,000 kroner.\n"
    (vault / "Inbox" / "Quote.md").write_text(note, encoding="utf-8")
    adopt = {"scope": "team-core", "type": "note"}
    pages.ask("fact-adopt", "POST", f"/v1/facts/{fresh}/adopt", adopt)


def _ctx(pages: Pages, vault: Path) -> None:
    pages.ask("sync", "POST", "/v1/sync", {})
    conflict = _conflict(pages, vault, "Berths")
    pages.ask("conflicts", "GET", "/v1/conflicts")
    pages.ask("status", "GET", "/v1/status")
    _watched(pages)
    at = f"/v1/conflicts/{conflict}/resolve"
    pages.ask("conflict-resolve", "POST", at, {"take": "store", "field": "content"})
    conflict = _conflict(pages, vault, "Gates")
    at = f"/v1/conflicts/{conflict}/resolve"
    text = {"field": "content", "text": "Gates: as both see it."}
    pages.ask("conflict-resolve-text", "POST", at, text)

    note = next(vault.rglob("*gates.md"))
    copy = note.with_name(f"{note.stem} (Conflicted copy).md")
    copy.write_bytes(note.read_bytes().replace(b"see it.", b"see it.\n\nEach gate."))
    pages.client("POST", "/v1/sync", {})
    where = {"path": copy.relative_to(vault).as_posix(), "take": "merge"}
    pages.ask("copy-settle", "POST", "/v1/copies/settle", where)

    proposal = _proposal(pages, "Gates")
    pages.ask("proposals", "GET", "/v1/proposals")
    other = _proposal(pages, "Berths")
    at = f"/v1/proposals/{proposal}"
    pages.ask("proposal-accept", "POST", f"{at}/accept", {})
    pages.ask("proposal-reject", "POST", f"/v1/proposals/{other}/reject", {})
    pages.ask("error-proposal", "POST", "/v1/proposals/none/accept", {})

    note = next((vault / "public" / "facts").glob("*gates.md"))
    said = note.read_text(encoding="utf-8").replace("as both see it", "as I see it")
    note.write_text(said, encoding="utf-8")
    pages.ask("sync-dry-run", "POST", "/v1/sync", {"dry_run": True})
    run = pages.client("POST", "/v1/sync", {}).json["run"]
    pages.ask("undo", "POST", f"/v1/runs/{run}/undo", {})
    pages.ask("verify", "GET", "/v1/verify")
    _upkeep(pages, vault)


def _watched(pages: Pages) -> None:
    """The status while a daemon has the vault whose last pass failed."""
    times = TimePercentiles(40, 0.21, 0.4, 1.3)
    measured = Telemetry(
        since="2026-02-14T13:45:00Z",
        write_through=times,
        note_to_store=None,
        recall={"fused": times},
        edits=800,
        conflicts=1,
        conflicts_per_1000_edits=1.25,
        longest_lag_seconds=2.5,
        restarts=3,
        crashes=1,
    )
    state = DaemonState(
        since="2026-02-14T13:45:00Z", watcher="watchfiles", passes=7, telemetry=measured
    )
    state.fail(errors.GuardError("it would delete 40 of 100 facts", NO_RUN), state.since)
    with (
        mock.patch.object(EngineLock, "holder", return_value="process 4711"),
        mock.patch.object(DaemonFile, "read", return_value=to_builtins(state)),
    ):
        pages.ask("status-watched", "GET", "/v1/status")


def _upkeep(pages: Pages, vault: Path) -> None:
    pages.ask("maintain", "POST", "/v1/maintain", {"dry_run": True})
    note = vault / "Inbox" / "Panels.md"
    note.write_text("# Panels\n\nSee [[quote]].\n", encoding="utf-8")
    adopt = {"scope": "team-core", "type": "note"}
    pages.ask("adopt", "POST", "/v1/adopt", adopt)
    pages.ask("links-fix", "POST", "/v1/links/fix", {})
    said = {"role": "user", "content": "Where do we berth?", "at": "2026-02-14T13:45:00Z"}
    pages.ask("session", "POST", "/v1/sessions", {"messages": [said], "session": "s-1"})


def _conflict(pages: Pages, vault: Path, title: str) -> str:
    """A conflict about the text of a fact; its id."""
    wanted = {"text": f"{title}: 42.", "title": title, "scope": "public", "type": "fact"}
    fact = pages.client("POST", "/v1/facts", wanted).json
    pages.client("POST", "/v1/sync", {})
    note = vault / fact["path"]
    text = note.read_text(encoding="utf-8")
    note.write_text(text.replace(": 42.", ": 38, I counted."), encoding="utf-8")
    where = f"/v1/facts/{fact['id']}"
    pages.client("PATCH", where, {"content": f"{title}: 40."})
    found = pages.client("GET", "/v1/conflicts").json["conflicts"]
    assert len(found) == 1, found
    return str(found[0]["id"])


def _proposal(pages: Pages, title: str) -> str:
    """A proposal to change the title of a fact; its id."""

    def make(memory: Memory) -> str:
        fact = memory.get(title)
        change = ProposedChange(
            fact.id,
            fact.revision or "",
            {"title": title},
            {"title": f"The {title.lower()}"},
            fact.path,
            title,
        )
        why = "It reads better."
        draft = ProposalDraft("retitle", f"Rename {title}", why, "indy", "public", (change,))
        made = propose(memory._ctx, draft)
        memory.sync()
        return made.id

    return pages.client.serving.engine(make)


def _asking(pages: Pages, vault: Path) -> None:
    question = {"query": "why SQLite", "limit": 1, "explain": False}
    pages.ask("recall", "POST", "/v1/recall", question)
    budget = {"query": "why SQLite", "budget": 300}
    pages.ask("context", "POST", "/v1/context", budget)
    pages.ask("index", "GET", "/v1/index")
    pages.ask("index-file", "GET", "/v1/index/vault-index.md")
    pages.ask("graph", "GET", "/v1/graph")
    (vault / ".obsidian").mkdir()
    pages.ask("graph-colours", "POST", "/v1/graph/colours", {})


def _projects(pages: Pages, project: Path) -> None:
    """A git repository with a module, and a decision of a branch that was squashed into main."""
    git, serving = GitFolder(project), pages.client.serving
    git.commit("app.py", "def berth(): pass\n")
    git.branch("topic")
    git.commit("app.py", "def berth(): return 42\n")
    repo = {"repo": str(project)}
    serving.engine(lambda m: m.repos.upsert_decision(project, summary="Berth 42 is the guests'"))
    git.checkout("main")
    git("merge", "-q", "--squash", "topic")
    git("commit", "-q", "-m", "All of it")
    pages.ask("repo-context", "POST", "/v1/repo/context", {**repo, "paths": ["app.py"]})
    pages.ask("repo-promote", "POST", "/v1/repo/promote", repo)
    git("branch", "side", "main~1")
    way = {"source": "topic", "target": "side"}
    pages.ask("repo-copy", "POST", "/v1/repo/copy", {**repo, **way})
    folder = project / "docs/memories"
    serving.engine(
        lambda m: m.modules.write("berths", "b-1", "# Berths\n\nOf wood.", folder=folder)
    )
    pages.ask("modules", "GET", "/v1/modules")
    pages.ask("modules-sync", "POST", "/v1/modules/sync", {})


def _events(pages: Pages) -> None:
    serving = pages.client.serving
    heard = Heard(pages.client, app=True)
    kind, state = heard.next()
    found: list[dict[str, Any]] = [{"event": kind, "data": state}]
    serving.events.publish("state", {**state, "conflicts": 0})
    serving.events.publish("state", {**state, "conflicts": 1})
    data = {"conflicts": 0}
    while data == {"conflicts": 0}:  # the last passes told of theirs too
        data = heard.until("conflict")
    found.append({"event": "conflict", "data": data})
    found.append({"event": "pass", "data": pages.made["sync"]["answer"]})
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(serving.writes.offer, offer())
        data = heard.until("write")
        found.append({"event": "write", "data": data})
        where = f"/v1/writes/{data['write']}"
        pages.ask("write-answer", "POST", where, {"applied": True})
    assert asked.result() == WriteReply(applied=True)
    heard.close()
    pages.made["events"] = {"events": pages.same(found)}


def _errors(pages: Pages) -> None:
    ask, facts = pages.ask, "/v1/facts"
    unknown = "0193f6c2-0000-7000-8000-00000000ffff"
    ask("error-usage", "POST", facts, {"text": "x", "type": "rumour"})
    ask("error-malformed", "POST", facts, {"txt": "x"})
    ask("error-not-found", "GET", f"{facts}/{unknown}")
    ask("error-no-route", "GET", "/v1/nowhere")
    ask("error-method", "PATCH", facts, {})
    ask("error-too-large", "POST", facts, headers={"content-length": str(MAX_BODY_BYTES + 1)})
    ask("error-media-type", "POST", facts, {}, headers={"content-type": "text/plain"})
    ask("error-header", "POST", facts, {}, headers={"x-vaultsync": None})
    raised: Mapping[str, Exception] = {
        "error-guard": errors.GuardError("it would delete 40 of 100 facts", NO_RUN),
        "error-busy": errors.EngineBusyError("/home/bente/Memory", "process 4711"),
        "error-store-away": errors.StoreUnavailableError("the disk is not mounted"),
        "error-internal": ZeroDivisionError("division by zero"),
    }
    for name, error in raised.items():
        with mock.patch.object(Memory, "sync", side_effect=error):
            ask(name, "POST", "/v1/sync", {})


def _edits(pages: Pages) -> None:
    text = "## Linux\n\nInstall it.\n\n## Mac\n\nInstall it."
    made = pages.client("POST", "/v1/facts", {"text": text, "title": "Set up the pier box"})
    change = {"section": "Mac", "replace": "Install it with `brew`."}
    pages.ask("fact-edit", "POST", f"/v1/facts/{made.json['id']}/edit", change)


@pytest.mark.long(5)
def test_the_bridge_answers_as_the_golden_pages_say(pages: Pages) -> None:
    made = {
        name: json.dumps(page, ensure_ascii=False, indent=2) + "\n"
        for name, page in pages.made.items()
    }
    if RENEW:
        HTTP.mkdir(exist_ok=True)
        for name, text in made.items():
            (HTTP / f"{name}.json").write_text(text, encoding="utf-8")
    held = {each.stem: each.read_text(encoding="utf-8") for each in HTTP.glob("*.json")}

    assert sorted(made) == sorted(held)
    assert made == held


def _row(method: str, path: str) -> RouteRow:
    def fits(row: RouteRow) -> bool:
        pattern = re.sub(r"\{\w+\}", "[^/]+", row.path)
        return row.method == method and bool(re.fullmatch(pattern, path))

    return next(filter(fits, sorted(ROUTES, key=lambda row: "{" in row.path)))


def test_every_route_has_a_golden_page_of_its_schema(pages: Pages) -> None:
    seen, said = set(), document()
    for name, page in pages.made.items():
        if "request" not in page:
            continue
        if name.startswith("error-"):
            msgspec.convert(page["answer"], Failure, strict=True)
            continue
        asked = page["request"]
        row = _row(asked["method"], asked["path"].partition("?")[0])
        msgspec.convert(page["answer"], row.answers, strict=True)
        seen.add(row.name)
        assert page["status"] == 200
        answers = said["paths"][row.path][row.method.lower()]["responses"]["200"]
        schema = answers["content"]["application/json"]["schema"]
        validator = jsonschema.Draft202012Validator({**schema, "components": said["components"]})
        validator.validate(page["answer"])

    assert seen == {row.name for row in ROUTES}


def test_the_openapi_document_is_as_its_golden_file() -> None:
    page = GOLDEN / "surface" / "openapi.json"
    text = json.dumps(document(), ensure_ascii=False, indent=2) + "\n"
    if RENEW:
        page.write_text(text, encoding="utf-8")

    assert text == page.read_text(encoding="utf-8")


def test_the_names_of_operations_are_unique() -> None:
    assert len({row.name for row in ROUTES}) == len(ROUTES)
