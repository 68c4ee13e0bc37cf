"""Two worlds that differ only in what an agent may not read answer it alike, byte for byte.

Times, new ids and paths of the machine are replaced by what they are; all else has to be equal:
ids, counts, scores, errors, and what is in which order. Each surface is asked by random
arguments, which are made of what could lead to hidden facts, and the worlds change on the way.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
import pytest

from tests.bridges import open_bridge
from tests.machines import configure_machine
from tests.mcp_clients import Home, make_home
from tests.proofs.turns import THOROUGH
from vaultsync.api.completion import complete_name
from vaultsync.api.configuration import find_root, load_settings
from vaultsync.api.memory import Memory
from vaultsync.backends.system.system_clock import IdSource, SystemClock
from vaultsync.errors import VaultsyncError
from vaultsync.http_bridge.handlers import ROUTES, RouteRow
from vaultsync.mcp_server.agent_memory import AgentMemory
from vaultsync.mcp_server.prompts import PROMPTS, Prompt, prompt_text
from vaultsync.mcp_server.resources import FACT_URI, list_resources, read_resource
from vaultsync.mcp_server.server import TOOLS_BY_NAME, run_tool
from vaultsync.mcp_server.tool import Tool, schema_of
from vaultsync.notes.proposal_note import ProposedChange
from vaultsync.proposals.service import ProposalDraft, propose

pytestmark = pytest.mark.long(5)

AUTHOR = "ada"
ASKERS = ("indy", "guest", "moss")
TABLE = """
[permissions.agents."*"]
write = ["*"]
[permissions.agents.indy]
[permissions.agents.guest]
read = ["public"]
[permissions.agents.moss]
write = ["team-harbour"]
[permissions.teams]
team-harbour = ["ada", "moss"]
[permissions.projects]
project-closed = ["ada"]
"""
SCOPES = ("public", "team-core", "private-ada", "team-harbour", "project-closed", "project-x")
WORDS = ("tide", "harbour", "crane", "berth")
OWN = "0193f6c2-0000-7000-8000-999999999999"
"""The own fact of the agent that asks."""
AT = {"createdAt": "2026-02-14T13:45:00Z"}
FIRST_QUESTION = 300
"""The number of the first act after the worlds are made."""
_CALLS = 60 if THOROUGH else 15
"""Random calls of each surface."""
_NAMES = 5 if THOROUGH else 2
"""Random names that each method is asked for."""


class Row(NamedTuple):
    """A fact of the author."""

    id: str
    scope: str
    kind: str


def _rows() -> list[Row]:
    kinds = ("plain", "linked", "replaced", "gone", "disputed", "person", "waits")
    pairs = [(scope, kind) for scope in SCOPES for kind in kinds]
    ids = (f"0193f6c2-0000-7000-8000-{number:012}" for number in range(len(pairs)))
    return [Row(fact_id, *pair) for fact_id, pair in zip(ids, pairs, strict=True)]


ROWS = _rows()


class WorldTime:
    """The clock of all who act in these worlds: it stands still while one of them acts.

    The times and ids that an act makes depend on it alone, not on what others did before.
    """

    def __init__(self) -> None:
        self.begin = SystemClock().now().replace(microsecond=0) - timedelta(hours=2)
        self.at = self.begin
        self.act = 0

    def next_act(self, number: int) -> None:
        """The act of a number begins."""
        self.act, self.at = number, self.begin + timedelta(seconds=10 * number)
        self._dice = random.Random(number)
        self.ids = IdSource(partial(self.millis, number), self._dice.getrandbits)

    def millis(self, act: int) -> int:
        """The time of an act."""
        return int(self.begin.timestamp() * 1000) + 10_000 * act


TIME = WorldTime()


@pytest.fixture(autouse=True, scope="module")
def _time() -> Iterator[None]:
    TIME.next_act(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemClock, "__init__", lambda _: None)
        patch.setattr(SystemClock, "now", lambda _: TIME.at)
        patch.setattr(SystemClock, "new_id", lambda _: TIME.ids.new(), raising=False)
        yield


class Side:
    """A world of an agent that asks, with or without what it may not read."""

    memory: AgentMemory
    """That of the agent, while it is open."""

    def __init__(self, folder: Path, agent: str, *, hidden: bool) -> None:
        TIME.next_act(0)
        self.home: Home = make_home(folder)
        configure_machine(self.home.vault, TABLE)
        settings = load_settings(find_root(str(self.home.vault)), state_dir=str(self.home.state))
        may_read = settings.permissions.may_read
        self.agent = agent
        self.hidden = [each for each in ROWS if not may_read(agent, each.scope)]
        rows = [each for each in ROWS if hidden or may_read(agent, each.scope)]
        with self.home.memory(AUTHOR) as author:
            for each in rows:
                TIME.next_act(1 + ROWS.index(each))
                self._write(author, each)
            author.finish_pending()
        TIME.next_act(100)
        with self.home.memory(agent) as memory:
            memory.remember("The tide of its own, and the crane.", id=OWN, fields=AT)
        self.home.run("sync")
        with self.home.memory(AUTHOR) as author:
            for each in rows:
                TIME.next_act(101 + ROWS.index(each))
                self._change(author, each)
        TIME.next_act(200)
        self.home.run("sync")
        self.home.run("index", "--rebuild")  # scores also depend on what an index was made from

    def _write(self, author: AgentMemory, row: Row) -> None:
        title = f"{row.kind} {row.scope}".capitalize()
        text = f"The {row.kind} tide of the harbour {row.scope}, which [[Nowhere {row.scope}]] has."
        if row.kind == "linked":
            text += f" See [[Plain {row.scope}]] and [[Plain public]]."
        author.remember(
            text,
            title=title,
            id=row.id,
            type="person" if row.kind == "person" else "decision",
            scope=row.scope,
            tags=[row.kind, f"x/{row.scope}"],
            entities=["Ope", f"Name {row.scope}"],
            fields=AT | {"mood": f"of {row.scope}", "aliases": [f"The {row.kind} in {row.scope}"]},
        )
        if row.kind == "waits" and not row.scope.startswith("team-"):
            author.observe(f"The gate of {row.scope} was opened.", scope=row.scope)

    def _change(self, author: AgentMemory, row: Row) -> None:
        if row.kind == "replaced":
            author.supersede(row.id, f"The crane replaced {row.scope}.")
        elif row.kind == "gone":
            author.forget(row.id)
        elif row.kind == "disputed":
            note = self.home.note(author.get(row.id).path)
            note.write_text(note.read_text("utf-8").replace("tide", "ebb"), "utf-8")
            author.update(row.id, content="The flood.")
        elif row.kind == "plain":
            bad = self.home.vault / row.scope / f"bad {row.scope}.md"
            bad.write_text("---\nid: [\n---\n", "utf-8")
        elif row.kind == "waits":
            before, after = {"content": author.get(row.id).content}, {"content": "Better."}
            change = ProposedChange(row.id, "1", before, after, None, row.scope)
            draft = ProposalDraft("retype", row.scope, "So.", AUTHOR, row.scope, (change,))
            propose(author._ctx, draft)

    def names(self) -> list[str]:
        """What could lead to hidden facts, and what leads to others."""
        ids = [each.id for each in self.hidden]
        paths = [f"{each.scope}/decisions/{each.kind}.md" for each in self.hidden]
        titles = [f"{each.kind} {each.scope}".capitalize() for each in self.hidden]
        found = [*ids, *(each[:9] for each in ids), *paths, *titles]
        return [*found, *(each.id for each in ROWS[:7]), *SCOPES, *WORDS, "Ope", "Nowhere public"]


# ----------------------------------------------------------------------------- alike

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_FRESH = (
    (re.compile(r'(seconds\\*": ?)[0-9.e-]+'), r"\1 0"),
    (re.compile(r"in \d+ ms"), "in 0 ms"),
    (re.compile(r" ?\([0-9a-f]{8}\)\.md"), " (NEW).md"),
    (re.compile(r"\b(\d+)-[0-9a-f]{8}\b"), r"\1-REVISION"),
    (re.compile(r"/(?:dev|tmp)/[^\" ]*?/(?:alone|beside)"), "FOLDER"),
)


def alike(answer: object) -> str:
    """An answer as text, without what is new each time.

    Of what is found in worlds that changed, it counts what is found. How it is ranked also
    depends on what the index held before, which is not the same in an index of an agent's own.
    """
    if isinstance(answer, Mapping) and "hits" in answer:
        answer = [answer["hidden"], sorted(each["id"] for each in answer["hits"])]
    elif isinstance(answer, Mapping) and "items" in answer and "hidden" in answer:
        items = (*answer["items"], *answer["left_out"])
        answer = [answer["hidden"], sorted(each["id"] for each in items)]
    text = (
        answer if isinstance(answer, str) else msgspec.json.encode(answer, enc_hook=repr).decode()
    )
    for found in {*_UUID.findall(text)}:
        if int(found[:8] + found[9:13], 16) >= TIME.millis(FIRST_QUESTION):
            text = text.replace(found, "NEW")
    for pattern, word in _FRESH:
        text = pattern.sub(word, text)
    return text


def drawn(schema: Mapping[str, Any], names: Sequence[str], rng: random.Random) -> Any:  # noqa: ANN401 - as the schema says
    """A value that matches a schema, made of some names."""
    if "anyOf" in schema:
        return drawn(rng.choice(schema["anyOf"]), names, rng)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            required = schema.get("required", [])
            return {
                key: drawn(each, names, rng)
                for key, each in schema["properties"].items()
                if key in required or rng.random() < 0.3
            }
        case "object":
            keys = ("scope", "status", "relatedFactIds", "supersedesId", "mood")
            key = rng.choice(keys)
            name = rng.choice(names)
            return {key: [name] if key == "relatedFactIds" else name} if rng.random() < 0.5 else {}
        case "array":
            return [drawn(schema["items"], names, rng) for _ in range(rng.randint(0, 2))]
        case "integer":
            return rng.randint(schema.get("minimum", 0), min(schema.get("maximum", 20), 20))
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            return rng.choice(names)


class Pair:
    """The two worlds of an agent."""

    def __init__(self, folder: Path, agent: str) -> None:
        self.beside = Side(folder / "beside", agent, hidden=True)
        self.alone = Side(folder / "alone", agent, hidden=False)
        self.names = self.beside.names()
        self.agent = agent

    @contextmanager
    def opened(self) -> Iterator[None]:
        home = self.beside.home.memory, self.alone.home.memory
        with home[0](self.agent) as beside, home[1](self.agent) as alone:
            self.beside.memory, self.alone.memory = beside, alone
            yield

    def compare(self, ask: Callable[[Side], object], number: int, about: object) -> None:
        """Ask both, as the act of a number."""
        said = []
        for side in (self.beside, self.alone):
            TIME.next_act(number)
            said.append(alike(answered(partial(ask, side))))
        assert said[0] == said[1], about


@pytest.fixture(scope="module", params=ASKERS)
def pair(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Pair:
    return Pair(tmp_path_factory.mktemp("worlds"), request.param)


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tools about repositories and modules find none where the tests run."""
    monkeypatch.chdir(tmp_path)


def answered(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except VaultsyncError as error:
        return [type(error).__name__, error.message, error.hint, error.run, [*error.examples]]


READS: dict[str, Callable[[Memory, str], object]] = {
    "status": lambda memory, _: memory.status(),
    "log": lambda memory, _: memory.log(),
    "conflicts": lambda memory, _: memory.conflicts(),
    "proposals": lambda memory, _: memory.proposals(settled=True),
    "observations": lambda memory, _: memory.observations(),
    "last run": lambda memory, _: memory.last_undoable_run(),
    "verify": lambda memory, _: memory.verify(),
    "doctor": lambda memory, _: [each.name for each in memory.doctor()],
    "damaged": lambda memory, _: dict(memory.damaged_facts()),
    "index files": lambda memory, _: memory.index_files(),
    "links": lambda memory, _: memory.links_check(),
    "graph": lambda memory, _: memory.graph_export(),
    "graph statistics": lambda memory, _: memory.graph_stats(),
    "list": lambda memory, _: memory.list(all=True),
    "export": lambda memory, _: _exported(memory),
    "maintain": lambda memory, _: memory.maintain(dry_run=True),
    "sync": lambda memory, _: memory.sync(dry_run=True),
    "adopt": lambda memory, _: memory.adopt(dry_run=True),
    "get": lambda memory, name: memory.get(name, used=False),
    "observation": lambda memory, name: memory.observation(name),
    "waits": lambda memory, name: memory.waits(name),
    "note deleted": lambda memory, name: memory.is_note_deleted(name),
    "note waits": lambda memory, name: memory.why_note_waits(name),
    "history": lambda memory, name: memory.history(name),
    "related": lambda memory, name: memory.related(name),
    "links to": lambda memory, name: memory.list(links_to=name),
    "links from": lambda memory, name: memory.list(links_from=name),
    "after": lambda memory, name: memory.list(after=name),
    "scope": lambda memory, name: memory.list(scope=name),
    "tag": lambda memory, name: memory.list(tag=f"x/{name}"),
    "neighbours": lambda memory, name: memory.graph_neighbors(name),
    "around": lambda memory, name: memory.graph_export(around=name),
    "of scope": lambda memory, name: memory.graph_stats(scope=name),
    "purge": lambda memory, name: memory.purge(name, dry_run=True),
    "recall": lambda memory, name: memory.recall(name, all=True, explain=True, mode="index"),
    "recall scope": lambda memory, name: memory.recall("tide", scopes=[name]),
    "context": lambda memory, name: memory.context(name, all=True),
    "accept": lambda memory, name: memory.accept_proposals([name]),
    "reject": lambda memory, name: memory.reject_proposals([name]),
    "resolve": lambda memory, name: memory.resolve(name, take="store"),
    "undo": lambda memory, name: memory.undo(name),
}
"""What is asked by the Python API and changes nothing."""


def _exported(memory: Memory) -> list[str]:
    lines: list[str] = []
    memory.export(lines.append)
    return lines


def _asked(side: Side, asked: Callable[[Memory, str], object], name: str) -> object:
    return asked(side.memory, name)


def _resource(side: Side, uri: str) -> object:
    return read_resource(side.memory, uri)


def _tool(side: Side, tool: Tool, given: Mapping[str, Any]) -> object:
    # Each side has memory files of its own, at the same path.
    own, here = Path(side.home.vault.parent.name), Path("here")
    own.mkdir(exist_ok=True)
    own.rename(here)
    try:
        with contextlib.chdir(here):
            return run_tool(side.memory, tool, given).structuredContent
    finally:
        here.rename(own)


@pytest.mark.parametrize("name", READS)
@pytest.mark.long(4)
def test_the_python_api_answers_alike(pair: Pair, name: str) -> None:
    asked, names = READS[name], random.Random(name).sample(pair.names, _NAMES)
    with pair.opened():
        for number, each in enumerate(names):
            ask = partial(_asked, asked=asked, name=each)
            pair.compare(ask, FIRST_QUESTION + number, each)


def test_a_shell_is_offered_alike(pair: Pair) -> None:
    def offered(side: Side, kind: str, typed: str) -> object:
        vault, state = str(side.home.vault), str(side.home.state)
        return complete_name(kind, typed, path=vault, state_dir=state, agent=pair.agent)

    for kind in ("fact", "run", "conflict", "proposal", "scope"):
        for typed in ("", "0", "01", "p", "team-", "0193f6c2"):
            pair.compare(partial(offered, kind=kind, typed=typed), FIRST_QUESTION, (kind, typed))


def test_resources_prompts_and_the_status_are_alike(pair: Pair) -> None:
    with pair.opened():
        pair.compare(_resources, FIRST_QUESTION, "resources")
        status = partial(_tool, tool=TOOLS_BY_NAME["memory_status"], given={})
        pair.compare(status, FIRST_QUESTION, "status")
        for prompt in PROMPTS.values():
            pair.compare(partial(_prompt, prompt=prompt), FIRST_QUESTION, prompt)
        uris = [str(row.uri) for row in list_resources(pair.alone.memory)]
        for uri in [*uris, *(f"{FACT_URI}{name}" for name in pair.names[:20])]:
            pair.compare(partial(_resource, uri=uri), FIRST_QUESTION, uri)


def _resources(side: Side) -> object:
    return [str(row.uri) for row in list_resources(side.memory)]


def _prompt(side: Side, prompt: Prompt) -> object:
    return prompt_text(side.memory, prompt, {prompt.argument: "the tide of the harbour"})


COMMANDS = (
    ("get", "{}"),
    ("list", "--scope", "{}"),
    ("list", "--links-to", "{}"),
    ("observations", "list"),
    ("observations", "show", "{}"),
    ("recall", "{}"),
    ("context", "{}"),
    ("update", "{}", "--set", "priority=1"),
    ("edit", "{}", "--append", "More."),
    ("supersede", "{}", "It is otherwise."),
    ("forget", "{}"),
    ("restore", "{}"),
    ("remember", "The tide of [[{}]].", "--scope", "{}"),
    ("observe", "Seen by {}.", "--scope", "{}"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.long(4)
def test_commands_answer_alike(pair: Pair, words: Sequence[str]) -> None:
    for number, name in enumerate(random.Random(str(words)).sample(pair.names, _NAMES)):
        for extra in ((), ("--json",)):
            given = [each.replace("{}", name) for each in words]
            given += ["--agent", pair.agent, *extra]

            def run(side: Side, given: Sequence[str] = given) -> object:
                done = side.home.run(*given)
                return [done.exit_code, done.stdout, done.stderr]

            pair.compare(run, 400 + number, given)


_WHOLE: Mapping[str, Mapping[str, object]] = {
    "memory_recall": {"limit": 50},
    "memory_get_context": {"budget": 32_000},
    "recall": {"limit": 100},
    "context": {"budget": 0},
}
"""Arguments by which nothing is left out because of its score."""


def test_tools_answer_alike(pair: Pair) -> None:
    rng = random.Random(pair.agent)
    with pair.opened():
        for number in range(_CALLS):
            tool = TOOLS_BY_NAME[rng.choice(sorted(TOOLS_BY_NAME))]
            given = drawn(tool.input_schema, pair.names, rng) | _WHOLE.get(tool.name, {})
            ask = partial(_tool, tool=tool, given=given)
            pair.compare(ask, 500 + number, (tool.name, given))


def test_routes_answer_alike(pair: Pair) -> None:
    rng = random.Random(pair.agent)
    rows = [each for each in ROUTES if "write" not in each.path and "colours" not in each.path]
    with ExitStack() as stack:
        clients = {
            id(side): stack.enter_context(open_bridge(side.home.vault.parent, agent=pair.agent))
            for side in (pair.beside, pair.alone)
        }
        for number in range(_CALLS):
            row = rng.choice(rows)
            name = rng.choice(pair.names)
            path = re.sub(r"\{\w+\}", quote(name, safe=""), row.path)
            body = drawn(schema_of(row.takes), pair.names, rng) | _WHOLE.get(row.name, {})
            body.pop("agent", None)
            if row.method == "GET":
                given = {key: value for key, value in body.items() if value is not None}
                path, body = f"{path}?{urlencode(given, doseq=True)}", None

            def ask(
                side: Side, row: RouteRow = row, path: str = path, body: object = body
            ) -> object:
                done = clients[id(side)](row.method, path, body)
                return [done.status, alike(done.json)]

            pair.compare(ask, 700 + number, (row.method, path, body))


def _hidden(home: Home, names: Sequence[str]) -> object:
    """All that an agent could change of some facts of the author, and of their scope."""
    with home.memory(AUTHOR) as author:
        facts = [answered(partial(author.get, name, used=False)) for name in names]
        conflicts = [each.id for each in author.conflicts()]
    notes = {path: path.read_bytes() for path in (home.vault / "private-ada").rglob("*.md")}
    return facts, conflicts, notes


def test_no_tool_changes_what_is_hidden_or_writes_in_the_name_of_another(pair: Pair) -> None:
    home, ids = pair.beside.home, [x.id for x in pair.beside.hidden if x.scope == "private-ada"]
    with home.memory(AUTHOR) as author:
        (conflict,) = (each.id for each in author.conflicts() if each.fact_id in ids)
    before = _hidden(home, ids)
    with pair.opened():
        for each, tool in product((*ids, conflict, "private-ada"), TOOLS_BY_NAME.values()):
            for given in (
                {"id": each, "content": "x"},
                {"id": each, "text": "x"},
                {"id": each},
                {"conflict": each, "take": "store"},
                {"text": "x", "scope": each},
            ):
                if given.keys() <= tool.input_schema["properties"].keys():
                    pair.compare(partial(_tool, tool=tool, given=given), 900, (tool.name, given))
        for name in (AUTHOR, pair.agent):
            asked = {"text": "x", "fields": {"agentId": name}}
            done = run_tool(pair.alone.memory, TOOLS_BY_NAME["memory_store_fact"], asked)
            assert done.isError == (name == AUTHOR)
    assert _hidden(home, ids) == before
