"""Development sets of longer texts, each asked for by a line that was taken out of it."""

from __future__ import annotations

import importlib
import inspect
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.eval.collections import AFTERWARDS, HERE, Asked, Collection, as_notes, locomo
from tests.fakes import FakeClock
from vaultsync.exchange.session_messages import SPEAKERS
from vaultsync.model.fact import Fact, make_fact

DATA = HERE.parent / "shared" / "data"
HELP = DATA / "obsidian-help" / "en"
BEAM = DATA / "beam-dev.json"
_WRITTEN = "2026-01-01T00:00:00Z"
_ASKED_AT = datetime(2026, 2, 1, tzinfo=UTC)
_MODULES = (
    *("argparse", "asyncio.base_events", "asyncio.streams", "asyncio.subprocess", "asyncio.tasks"),
    *("bdb", "calendar", "cmd", "codecs", "collections", "configparser", "contextlib", "copy"),
    *("csv", "ctypes", "dataclasses", "datetime", "decimal", "difflib", "doctest", "email.header"),
    *("email.message", "email.headerregistry", "enum", "fractions", "functools", "heapq"),
    *("html.parser", "http.client", "http.cookiejar", "http.server", "imaplib", "importlib.abc"),
    *("inspect", "io", "ipaddress", "json", "locale", "logging", "logging.handlers", "mailbox"),
    *("math", "multiprocessing.managers", "multiprocessing.pool", "numbers", "optparse", "os"),
    *("pathlib", "pdb", "pickle", "pickletools", "plistlib", "pprint", "pydoc", "queue", "random"),
    *("sched", "selectors", "shelve", "shutil", "smtplib", "socket", "socketserver", "sqlite3"),
    *("ssl", "statistics", "string", "subprocess", "tarfile", "tempfile", "textwrap", "threading"),
    *("timeit", "tokenize", "traceback", "tracemalloc", "turtle", "types", "typing", "unittest"),
    *("unittest.case", "unittest.mock", "urllib.parse", "urllib.request", "uuid", "venv"),
    *("warnings", "weakref", "webbrowser", "xml.dom.minidom", "xml.etree.ElementTree"),
    *("xml.sax", "xmlrpc.client", "xmlrpc.server", "zipfile", "zoneinfo"),
)
_SUMMARY, _TEXT = range(25, 200), range(200, 6_000)
"""Lengths of a docstring's summary and of the rest, in characters."""
_HEADINGS_OF_A_NOTE = 2
_FRONTMATTER = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_HEADING = re.compile(r"^#{2,4} (\S+ \S+ .+?)\s*$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: (.{20,})$", re.MULTILINE)


def docstrings() -> Collection:
    """Technical texts: the summary line of a docstring asks for the rest of it."""
    clock, facts, questions = FakeClock(), [], []
    seen = set()
    for name, text in _documented():
        summary, _, rest = text.partition("\n\n")
        summary, rest = " ".join(summary.split()), rest.strip()[: _TEXT.stop]
        # In a question, quotation marks ask for these very words.
        plain = '"' not in summary and summary not in seen
        if len(summary) in _SUMMARY and len(rest) >= _TEXT.start and plain:
            seen.add(summary)
            facts.append(_fact(clock, rest))
            questions.append(Asked(name, "summary", summary, {facts[-1].id: 3}))
    return Collection("summaries of docstrings", facts, questions, _ASKED_AT)


def _documented() -> Iterator[tuple[str, str]]:
    """What the standard library documents: modules, their classes and functions, methods."""
    for name in _MODULES:
        module = importlib.import_module(name)
        named: list[tuple[str, object]] = [(name, module)]
        for part, value in _public(module):
            if getattr(value, "__module__", None) == name:
                named.append((f"{name}.{part}", value))
                if inspect.isclass(value):
                    named += [(f"{name}.{part}.{method}", of) for method, of in _public(value)]
        for key, value in named:
            if isinstance(value.__doc__, str):
                yield key, inspect.cleandoc(value.__doc__)


def _public(of: object) -> list[tuple[str, object]]:
    named = sorted(vars(of).items(), key=lambda item: item[0])
    return [
        (name, value)
        for name, value in named
        if not name.startswith("_") and (inspect.isclass(value) or inspect.isroutine(value))
    ]


def headings() -> Collection:
    """Long notes: a heading asks for its note, out of which it was taken."""
    clock, facts, questions = FakeClock(), [], []
    for title, text, _ in _help_notes():
        found = [each[1] for each in _HEADING.finditer(text)]
        asked = random.Random(title).sample(found, min(_HEADINGS_OF_A_NOTE, len(found)))
        lines = (line for line in text.splitlines() if line.lstrip("#").strip() not in asked)
        facts.append(_fact(clock, "\n".join(lines), title))
        grades = {facts[-1].id: 3}
        questions += [Asked(f"{title}#{each}", "heading", each, grades) for each in asked]
    return Collection("headings of the help", facts, questions, _ASKED_AT)


def descriptions() -> Collection:
    """Long notes: the description in the frontmatter asks for the note without it."""
    clock, facts, questions = FakeClock(), [], []
    for title, text, description in _help_notes():
        facts.append(_fact(clock, text, title))
        if description:
            grades = {facts[-1].id: 3}
            questions.append(Asked(title, "description", description, grades))
    return Collection("descriptions of the help", facts, questions, _ASKED_AT)


def _help_notes() -> Iterator[tuple[str, str, str]]:
    """Title, text and description of the notes of Obsidian's help."""
    for path in sorted(HELP.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        above = _FRONTMATTER.match(text)
        said = _DESCRIPTION.search(above[1]) if above else None
        text = text[above.end() :] if above else text
        if len(text.strip()) >= _TEXT.start // 2:
            yield path.stem, text.strip(), said[1].strip("\"' ") if said else ""


def beam(chats: int = 2) -> Iterator[Collection]:
    """Long messages of some chats, as `remember_session()` stores them."""
    if not BEAM.exists():
        return
    for chat in json.loads(BEAM.read_text(encoding="utf-8"))[:chats]:
        clock, said = FakeClock(), [*_messages(chat)]
        facts = {key: make_fact({**values, "id": clock.new_id()}) for key, values in said}
        questions = [
            Asked(f"{chat['chat']}-{number}", each["kind"], each["question"], grades)
            for number, each in enumerate(chat["questions"])
            if (grades := {facts[key].id: 3 for key in each["evidence"] if key in facts})
        ]
        last = max(fact.created_at for fact in facts.values())
        asked_at = datetime.fromisoformat(last) + AFTERWARDS
        yield Collection("messages of BEAM", list(facts.values()), questions, asked_at)


def _messages(chat: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The number and the values of each message; a batch is a session, and has one time."""
    for place, each in enumerate(chat["messages"]):
        day = datetime.strptime(each["time"], "%B-%d-%Y").replace(tzinfo=UTC)
        at = day + timedelta(milliseconds=place)
        yield (
            each["id"],
            {
                "type": "episodic",
                "content": f"{SPEAKERS[each['role']]}: {each['text']}",
                "sessionId": f"chat {chat['chat']}, part {each['batch']}",
                "createdAt": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            },
        )


def long_texts() -> dict[str, Sequence[Collection]]:
    """All of these sets that are there, and LoCoMo's dialogues, in parts."""
    helps = [headings(), descriptions()] if HELP.is_dir() else []
    parts = [docstrings(), *helps, *beam()]
    grouped: dict[str, list[Collection]] = {}
    for each in parts:
        grouped.setdefault(each.name, []).append(each)
    talks = locomo()
    if talks:
        grouped["turns of LoCoMo"] = list(talks)
        grouped["sessions of LoCoMo"] = [as_notes(each) for each in talks]
    return dict(grouped)


def _fact(clock: FakeClock, text: str, title: str = "") -> Fact:
    named = {"title": title} if title else {}
    return make_fact({"id": clock.new_id(), "content": text, "createdAt": _WRITTEN, **named})
