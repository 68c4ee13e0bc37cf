from __future__ import annotations

import io
import json
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.golden import GOLDEN, RENEW
from tests.surfaces.command_line import (
    BAD_CHECK,
    BUSY_PASS,
    CALM,
    CONFLICT,
    FACT,
    FINE_LINKS,
    FOUND,
    HIT,
    ID,
    LINK_PROBLEM,
    NOTICE,
    QUIET,
    RUN,
    FakeMemory,
    run,
)
from vaultsync.cli.given_vault import with_given_options
from vaultsync.cli.output import (
    DelayedBar,
    Options,
    clean,
    clean_one_line,
    print_json,
    progress_bar,
)
from vaultsync.cli.transfer_commands import open_output
from vaultsync.errors import UnreadableNoteError
from vaultsync.facts.listing import FactPage
from vaultsync.model.paths import VaultPath
from vaultsync.notes.conflict_note import ConflictRecord, FieldConflict
from vaultsync.storage.archive import HistoryEntry

TEXT = "\n".join(f"Line {n}." for n in range(20))
HOSTILE = "\x1b]8;;http://evil\x07a\x1b[2J\x1b[31mb\x9b1m\x08\u202ec[bold]d[/bold]"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """stdout and stderr are a terminal of 80 columns, for all that vaultsync knows."""
    # First those that import it: loaded after `output`, they would keep the fake.
    formats = ("format_facts", "format_conflicts", "format_reports", "recall_commands")
    for module in (*formats, "graph_commands", "output", "tables"):
        monkeypatch.setattr(f"vaultsync.cli.{module}.is_terminal", lambda _: True)
    monkeypatch.setenv("COLUMNS", "80")


@given(st.text())
def test_control_characters_are_removed(text: str) -> None:
    for printed in (clean(text), clean_one_line(text)):
        kinds = {unicodedata.category(char) for char in set(printed) - {"\n", "\t"}}
        assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
        assert not set("\u200e\u200f\u202d\u202e\u2066\u2069") & set(printed)
    assert "\n" not in clean_one_line(text)


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Cf", "Z"])))
def test_other_text_is_printed_as_it_is(text: str) -> None:
    assert clean(f"{text}\n\t{text}") == f"{text}\n\t{text}"
    assert clean_one_line(f" {text}\r\n{text} ") == f"{text} {text}".strip()


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        *(("a\x1b[31mred\x1b[0m", "ared"), ("\x1b]0;title\x07a", "a")),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        *(("\x1b]52;c;ZXZpbA==\x07a", "a"), ("\x9b2Ja", "a"), ("a\x1bPq#0\x1b\\b", "ab")),
        *(("a\x1b(Bb", "ab"), ("a\rb\x08c", "abc")),
    ],
)
def test_a_sequence_goes_as_a_whole(text: str, printed: str) -> None:
    assert clean(text) == printed


@given(st.dictionaries(st.text(), st.text()))
def test_json_escapes_control_characters(values: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
        patch.setattr("sys.stdout", stdout)
        print_json(values)
        stdout.seek(0)
        printed = stdout.read()

    assert json.loads(printed) == values
    assert {unicodedata.category(char) for char in set(printed) - {"\n"}}.isdisjoint(
        {"Cc", "Cs", "Zl", "Zp"}
    )


@pytest.mark.parametrize("on_terminal", [True, False])
def test_an_export_escapes_control_characters_on_a_terminal_alone(
    *, on_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr("sys.stdout", stdout)
    monkeypatch.setattr("vaultsync.cli.transfer_commands.is_terminal", lambda _: on_terminal)
    line = '{"content": "a\x9b2J\u202eb"}'

    with open_output("-") as write:
        write(line)

    stdout.seek(0)
    printed = stdout.read()
    assert json.loads(printed) == json.loads(line)
    assert ("\x9b" in printed) is not on_terminal
    assert ("\u202e" in printed) is not on_terminal


def test_json_is_ascii_if_the_terminal_has_no_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", stdout)

    print_json({"a": "ü\U0001f600"})

    stdout.seek(0)
    assert json.loads(stdout.read()) == {"a": "ü\U0001f600"}


def everywhere(text: str) -> list[tuple[list[str], FakeMemory]]:
    """Commands that print untrusted text, and memories that hold it."""
    path = VaultPath(text)
    fact = FACT.evolve(title=text, content=text, tags=(text,), path=path)
    notice = structs.replace(NOTICE, path=path, message=text, hint=text)
    field = FieldConflict(text, text, text, text)
    conflict = ConflictRecord(text, ID, path, path, (field,), text, text, text, title=text)
    action = structs.replace(BUSY_PASS.actions[0], path=text, fields=(text,), reason=text)
    report = structs.replace(BUSY_PASS, actions=[action], attention=[notice], run=text)
    entry = HistoryEntry(text, text, ID, text, text, text, text, text)
    return [
        (["remember", "x"], FakeMemory(remember=fact)),
        (["get", ID], FakeMemory(get=fact.evolve(properties={text: text}))),
        (["list"], FakeMemory(list=FactPage((fact,), text))),
        (["update", ID, "--add-tag", "x"], FakeMemory(update=fact)),
        (["sync"], FakeMemory(sync=report)),
        (["status"], FakeMemory(status=structs.replace(CALM, attention=[notice], engine=text))),
        (["conflicts"], FakeMemory(conflicts=(conflict,))),
        (["resolve", "x", "--take", "vault"], FakeMemory(resolve=conflict)),
        (["history", ID], FakeMemory(history=[entry])),
        (["doctor"], FakeMemory(doctor=(structs.replace(BAD_CHECK, message=text),))),
        (["get", ID], FakeMemory(get=UnreadableNoteError(text, text))),
        (["get", ID, "--" + text], FakeMemory()),
    ]


@pytest.mark.parametrize("on", ["pipe", "terminal"])
@pytest.mark.parametrize(("words", "memory"), everywhere(HOSTILE))
def test_no_command_prints_control_characters(
    request: pytest.FixtureRequest, on: str, words: list[str], memory: FakeMemory
) -> None:
    if on == "terminal":
        request.getfixturevalue("terminal")
    result = run(*words, memory=memory)

    assert result.output
    assert not {"\x1b", "\x07", "\x08", "\x9b", "\u202e"} & set(result.output)


LONG = FACT.evolve(title="[bold]" + "long " * 50, path=VaultPath("p/" * 99 + "a.md"))
WITHOUT_FIX = structs.replace(
    LINK_PROBLEM,
    path=VaultPath(f"public/notes/{'n' * 30}.md"),
    link=f"[[{'A title that takes most of the line ' * 2}]]",
    why="nothing is called like this, in any folder",
    fix=None,
)
BROKEN = structs.replace(FINE_LINKS, broken=(WITHOUT_FIX,))
BARE = structs.replace(HIT, path=None, snippet="Use SQLite")  # which its title says already
LINES_DIFFER = FieldConflict("content", "one\ntwo", "one\n2", "1\ntwo")
ENTRY = HistoryEntry(RUN, "now", ID, "store", "indy", "title", "a", "b" * 100)
ENTRIES = [
    ENTRY,
    ENTRY._replace(field="tags", before=None, after=["x", "y"]),
    ENTRY._replace(side="vault", actor="person", field="priority", after=1),
    ENTRY._replace(side="vault", field="content", before=TEXT, after=TEXT.replace("3.", "New.")),
]
ON_TERMINALS: list[tuple[int, str, dict[str, object]]] = [
    (80, "list", {"list": FactPage((LONG, FACT), None)}),
    (200, "list", {}),
    (40, "list", {}),
    (40, "log", {}),
    (80, "links check", {"links_check": BROKEN}),
    (120, "links check", {"links_check": BROKEN}),
    (80, "recall x", {"answer": structs.replace(FOUND, hits=(HIT, BARE))}),
    (80, "conflicts", {"conflicts": (replace(CONFLICT, fields=(LINES_DIFFER,)),)}),
    (80, f"history {ID}", {"history": ENTRIES}),
]
"""The widths of terminals, commands, and what the memory answers in place of `ANSWERS`."""


@pytest.mark.usefixtures("terminal")
def test_what_fits_a_terminal_is_as_the_golden_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    for columns, words, answers in ON_TERMINALS:
        monkeypatch.setenv("COLUMNS", str(columns))
        done = run(*words.split(), memory=FakeMemory(**answers))
        lines = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
        shown.append(f"# {columns} columns\n$ vaultsync {words}\n{lines}")
    page = GOLDEN / "surface" / "cli-terminal.txt"
    if RENEW:
        page.write_text("\n".join(shown), encoding="utf-8")
    assert "\n".join(shown) == page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_no_color_is_respected(env: dict[str, str], *, coloured: bool) -> None:
    memory = FakeMemory(sync=structs.replace(QUIET, attention=[NOTICE]))

    done = run("sync", memory=memory, env=env, color=True)
    failed = run("nope", env=env, color=True)

    assert ("\x1b[" in done.stdout) is coloured
    assert ("\x1b[" in failed.stderr) is coloured


@pytest.mark.usefixtures("terminal")
def test_a_progress_bar_needs_a_terminal() -> None:
    with progress_bar(Options(None, None, json=False, quiet=False)) as bar:
        assert isinstance(bar, DelayedBar)
    for json_, quiet in ((True, False), (False, True)):
        with progress_bar(Options(None, None, json=json_, quiet=quiet)) as bar:
            assert bar is None


def test_a_bar_appears_only_when_the_work_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal then
    soon, late = DelayedBar(delay=3600), DelayedBar(delay=0)
    soon.start()
    soon("scan", 1, 2)
    soon.close()
    assert capsys.readouterr().err == ""

    late.start()
    shown_before_the_first_report = ""
    while "read" not in shown_before_the_first_report:
        shown_before_the_first_report += capsys.readouterr().err
    late("scan [bold]", 1, 2)
    late("apply", 0, 0)
    late("apply\x1b[2J", 3, 4)
    late.close()
    shown = capsys.readouterr()
    assert "apply" in shown.err
    assert "3/4" in shown.err
    assert "/100" not in shown.err
    assert shown.out == ""


def test_no_option_is_added_where_it_does_not_belong() -> None:
    words = ["get", "x", "--vault=a b", "--state-dir", "s"]
    for text, shown in (
        ("`vaultsync get X`, `other`", "`vaultsync get X --vault 'a b' --state-dir s`, `other`"),
        ("`vaultsync init .`", None),
        ("`vaultsync get --help`", None),
        ("`vaultsync --help`", None),
        ("`vaultsync remember -- '- text'`", None),
        ("run vaultsync", None),
    ):
        assert with_given_options(text, words) == (shown or text)
        assert with_given_options(text, ["get", "x"]) == text
