"""Between facts and notes: what is shown, and what is meant by it."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from tests import secrets
from tests.strategies import edits, facts
from vaultsync.errors import UnsafeSpliceError
from vaultsync.model.compare import differing_keys
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.schema import Value
from vaultsync.notes.edits import apply_note_edits
from vaultsync.notes.parse import Note, UnknownPlaceholder, read_note
from vaultsync.notes.render import render_note, rewrite_note, stale_keys
from vaultsync.notes.view import IDENTITY_VIEW, MAX_CACHED_HASHES, MAX_CACHED_REDACTIONS, NoteView
from vaultsync.privacy.escaping import active_constructs
from vaultsync.privacy.placeholders import PLACEHOLDER, Redactor

PATH = VaultPath("team-core/notes/A note.md")
ID = "019c5c7e-8d20-7b3a-9f41-3c5d0e8a7b62"
DICE = random.Random("vaultsync lens")
TOKENS = [secrets.token(kind, DICE) for kind in ("github", "stripe", "jwt", "gitlab")]
TOKEN = TOKENS[0]
PEM = secrets.OTHERS["private-key"][0](DICE)
VIEW = NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True)
OPEN = NoteView.of(Redactor(b"k" * 32), redacts=False, escapes=False)
OTHER_KEY = NoteView.of(Redactor(b"o" * 32), redacts=True, escapes=True)
NAME = VIEW.redact_text(TOKEN)

_PLANTS = [
    *TOKENS, PEM, f"password: {'hunter2'}xyz", "<% tp.x %>", "```dataviewjs\nx()\n```", "`$= x`",
    "![a](https://e.org/x)", "[x](javascript:y)", "<img src=x onerror=y>", "obsidian://open?x",
    "<\\% x", "```\\js\n```", NAME, "[REDACTED:github:00000000]", "[REDACTED:", "\\", "]\\(",
]  # fmt: skip
_LINES = [each for each in _PLANTS if "\n" not in each and not set(each) & set("[]|")]


@st.composite
def planted(draw: st.DrawFn) -> Fact:
    """A fact with secrets and scripts in some of its texts."""
    fact = draw(facts(ID))
    text = st.lists(st.sampled_from([*_PLANTS, "word", "\n", " "]), max_size=6)
    line = st.sampled_from([*_LINES, "word"])
    key = draw(st.sampled_from(["role", "x-y", "api_key"]))
    said: dict[str, Value] = {
        "content": "".join(draw(text)) + "\n" + fact.content,
        "title": draw(line) + " " + fact.title,
        "context": draw(line),
        "entities": [*fact.entities, draw(line)],
        "tags": [*fact.tags, draw(line)],
        "source": draw(line),
        "decisionRationale": "".join(draw(text)),
        key: draw(st.sampled_from(["word", TOKEN, [TOKEN, "a"], {"a": TOKEN, TOKEN: "<% x"}])),
    }
    kept = draw(st.sets(st.sampled_from(sorted(said)), min_size=1))
    made = fact.replace({each: said[each] for each in kept})
    # A fence that nobody closes hides what is ours of a note, with or without a lens.
    assume(stale_keys(read_note(render_note(made, links={}), PATH), made, made) == ())
    return made


def note_of(fact: Fact, view: NoteView = VIEW) -> Note:
    return read_note(render_note(view.to_note(fact), links={}), PATH)


def rewritten(note: Note, vault: Fact, merged: Fact) -> str:
    return rewrite_note(note, vault, merged, links={}, view=VIEW).decode()


@given(planted(), st.sampled_from([VIEW, OPEN]))
def test_what_is_written_and_read_again_is_the_same_fact(fact: Fact, view: NoteView) -> None:
    note = note_of(fact, view)
    read = view.from_note(note, fact)
    assert not stale_keys(read, fact, fact)
    for key, value in {**read.values, **read.properties}.items():
        assert differing_keys(fact.overlay({key: value}, {}), fact) == () or key in read.properties


@given(planted())
def test_a_note_that_means_the_same_is_never_written(fact: Fact) -> None:
    agreed = VIEW.from_base_note(note_of(fact), fact)
    assert rewritten(agreed, fact, fact) == agreed.parts.text


@given(planted())
def test_what_an_agent_wrote_shows_no_secret_and_runs_nothing(fact: Fact) -> None:
    shown = VIEW.to_note(fact)
    text = repr(shown)
    whole = [re.compile(rf"(?<![A-Za-z0-9_-]){re.escape(x)}(?![A-Za-z0-9_-])") for x in TOKENS]
    assert not [each for each in whole if each.search(text)]
    for each in (shown.title, shown.content, shown.context or "", *shown.tags):
        assert active_constructs(each) == frozenset()


def _can_be_written(fact: Fact, merged: Fact) -> bool:
    """Whether an edit reaches a note that shows everything, by the rules of notes alone."""
    try:
        rewrite_note(read_note(render_note(fact, links={}), PATH), fact, merged, links={})
    except UnsafeSpliceError:
        return False
    return True


@given(st.data())
def test_an_agents_edit_reaches_the_note_hidden_as_it_was_merged(data: st.DataObject) -> None:
    fact = data.draw(planted())
    merged = data.draw(edits(fact))
    more = data.draw(st.sampled_from([*_PLANTS, "word"]))
    merged = merged.replace({"content": f"{merged.content}\n{more}"})
    note = VIEW.from_base_note(note_of(fact), fact)
    assume(_can_be_written(fact, merged))
    made = rewritten(note, fact, merged)
    again = VIEW.from_note(read_note(made.encode(), PATH), merged)
    assert stale_keys(again, merged, merged) == ()
    words = re.compile(rf"(?<![A-Za-z0-9_-]){re.escape(more)}(?![A-Za-z0-9_-])")
    assert more not in TOKENS or not words.search(made)


@given(planted(), st.sampled_from(["word", "<% mine %>", "password: myown7word", TOKENS[1]]))
def test_what_a_person_typed_stays_as_it_is_and_is_meant(fact: Fact, typed: str) -> None:
    before = VIEW.from_base_note(note_of(fact), fact)
    text = before.parts.text.replace("\n<!-- vaultsync", f"\n{typed}\n\n<!-- vaultsync", 1)
    assume("content" in before.values and text.count(typed) == 1)
    now = VIEW.from_note(read_note(text.encode(), PATH), fact, before=before)
    vault = apply_note_edits(fact, before, now)
    assert vault.content.endswith(typed)
    assert rewritten(now, vault, vault) == text
    other = vault.replace({"content": f"Above.\n{vault.content}", "status": "archived"})
    made = rewritten(now, vault, other)
    assert f"\n{typed}\n" in made


def _fact(content: str, **more: object) -> Fact:
    return make_fact({"id": ID, "title": "T", "content": content, **more})  # type: ignore[dict-item]


def test_a_placeholder_that_a_person_deletes_is_gone_and_one_they_move_is_meant() -> None:
    fact = _fact(f"first {TOKEN}\nsecond")
    before = VIEW.from_base_note(note_of(fact), fact)
    text = before.parts.text
    gone = VIEW.from_note(read_note(text.replace(NAME, "").encode(), PATH), fact, before=before)
    assert apply_note_edits(fact, before, gone).content == "first \nsecond"
    there = text.replace(NAME, "").replace("second", f"second {NAME}")
    moved = VIEW.from_note(read_note(there.encode(), PATH), fact, before=before)
    assert apply_note_edits(fact, before, moved).content == f"first \nsecond {TOKEN}"


def test_a_placeholder_that_stands_for_nothing_makes_its_field_keep_its_value() -> None:
    fact = _fact("first", context="why")
    before = VIEW.from_base_note(note_of(fact), fact)
    text = before.parts.text.replace("first", f"first {NAME}").replace("why", "because")
    now = VIEW.from_note(read_note(text.encode(), PATH), fact, before=before)
    (problem,) = now.problems
    assert isinstance(problem, UnknownPlaceholder)
    assert problem.key == "content"
    assert text.split("\n")[problem.line - 1] == f"first {NAME}"
    vault = apply_note_edits(fact, before, now)
    assert (vault.content, vault.context) == ("first", "because")
    # It stays refused when nothing is written for a while, and when something else is.
    base = VIEW.from_base_note(read_note(text.encode(), PATH), vault)
    assert [each.key for each in base.problems] == ["content"]
    later = vault.replace({"context": "later"})
    made = rewritten(base, vault, later)
    assert f"first {NAME}" in made
    assert "later" in made


def test_in_the_note_of_a_new_fact_a_placeholder_is_text() -> None:
    note = read_note(render_note(_fact(NAME), links={}), PATH)
    read = VIEW.from_note(note)
    assert (read.values["content"], read.problems) == (NAME, ())


def test_placeholders_of_another_key_are_told_from_what_the_fact_says() -> None:
    fact = _fact(f"first {TOKEN}.", role=[TOKEN], entities=[TOKEN])
    old = note_of(fact, OTHER_KEY)
    agreed = VIEW.from_base_note(old, fact)
    assert stale_keys(agreed, fact, fact) == ()
    text = old.parts.text.replace("first", "second")
    now = VIEW.from_note(read_note(text.encode(), PATH), fact, before=agreed)
    assert apply_note_edits(fact, agreed, now).content == f"second {TOKEN}."
    assert now.problems == ()


def test_entities_are_named_without_brackets_and_come_back() -> None:
    fact = _fact("x", entities=["Alice", TOKEN])
    note = note_of(fact)
    assert f"- [[{NAME[1:-1]}]]" in note.parts.text
    read = VIEW.from_note(note, fact)
    assert read.body.entities == ("Alice", TOKEN)
    more = fact.replace({"entities": ["Alice", TOKEN, TOKENS[1]]})
    made = rewritten(VIEW.from_base_note(note, fact), fact, more)
    assert made.count(NAME[1:-1]) == 2
    assert TOKENS[1] not in made
    less = fact.replace({"entities": ["Alice"]})
    assert NAME[1:-1] not in rewritten(read, fact, less)


def test_entities_that_only_the_managed_block_shows_are_meant_too() -> None:
    fact = _fact("x", entities=[TOKEN])
    text = re.sub(r"entities:\n  - .*\n", "", note_of(fact).parts.text)
    read = VIEW.from_note(read_note(text.encode(), PATH), fact)
    assert (read.body.entities, read.spelled) == ((TOKEN,), {"entities": (NAME[1:-1],)})
    assert "y [REDACTED:" in rewritten(read, fact, fact.replace({"content": f"y {TOKEN}"}))
    more = rewritten(read, fact, fact.replace({"entities": [TOKEN, "Alice"]}))
    assert f"[[{NAME[1:-1]}]]" in more
    assert "[[Alice]]" in more
    assert TOKEN not in more


def test_what_agents_made_of_an_answer_is_meant() -> None:
    fact = _fact(f"use {TOKEN}")
    values, unknown = VIEW.restore_values(
        {"content": f"never use {NAME}", "tags": ["a"], "n": 1}, fact
    )
    assert values == {"content": f"never use {TOKEN}", "tags": ["a"], "n": 1}
    assert unknown == ""
    _, unknown = VIEW.restore_values({"content": "[REDACTED:x:00000000]"}, fact)
    assert unknown == "[REDACTED:x:00000000]"
    assert VIEW.restore_values({"content": "plain"}, fact) == ({"content": "plain"}, "")


def test_loose_values_are_hidden_by_their_names_and_by_what_the_fact_hides() -> None:
    word = "x9Yk2LmNq8Rt5VwZ7aBc"
    fact = _fact("password: hunter2xyz")
    assert word not in str(VIEW.redact_value("api_key", [word, {"b": 1}], fact))
    assert VIEW.redact_value("note", [word], fact) == [word]
    assert "hunter2" not in str(VIEW.redact_value("title", "it is hunter2xyz", fact, None))
    assert VIEW.redact_value("entities", (TOKEN,)) == (NAME[1:-1],)
    assert VIEW.redact_value("x", None) is None
    many = VIEW.redact_values([("content", "password: hunter2xyz"), ("tags", ["hunter2xyz"])])
    assert "hunter2" not in str(many)
    assert "hunter2" not in VIEW.redact_text("it is hunter2xyz", fact)
    assert VIEW.escape(("<% x",)) == ("<\\% x",)


@pytest.mark.parametrize("view", [IDENTITY_VIEW, OPEN])
def test_what_is_off_shows_everything(view: NoteView) -> None:
    fact = _fact(f"<% x %> {TOKEN}", context=TOKEN)
    assert view.to_note(fact).content == fact.content
    assert view.redact(fact) == fact
    assert view.redact_value("content", TOKEN) == TOKEN
    assert view.redact_text(TOKEN) == TOKEN
    assert view.escape("<% x") == "<% x"


def test_placeholders_are_understood_when_nothing_is_hidden_any_more() -> None:
    fact = _fact(f"use {TOKEN} <% x %>")
    note = note_of(fact)
    assert apply_note_edits(
        fact, OPEN.from_base_note(note, fact), OPEN.from_note(note, fact)
    ) == fact.evolve(path=PATH)
    assert IDENTITY_VIEW.from_note(note, fact) is note
    assert IDENTITY_VIEW.from_base_note(note, fact) is note
    assert IDENTITY_VIEW.to_note_wording(note, fact, ["content"]) is fact


def test_a_lens_has_another_version_when_it_hides_something_else() -> None:
    redactor = Redactor(b"k" * 32)
    mine = structs.replace(redactor, patterns=(re.compile("x"),))
    with_cards = structs.replace(redactor, optional=frozenset({"card"}))
    lenses = [
        VIEW, OPEN, OTHER_KEY,
        NoteView.of(mine, redacts=True, escapes=True),
        NoteView.of(with_cards, redacts=True, escapes=True),
        NoteView.of(redactor, redacts=True, escapes=False),
    ]  # fmt: skip
    assert len({each.version for each in lenses}) == len(lenses)
    same = structs.replace(redactor, values=("a value of this process",))
    assert NoteView.of(same, redacts=True, escapes=True).version == VIEW.version


def test_only_so_many_texts_are_remembered() -> None:
    view = NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True)
    for number in range(MAX_CACHED_HASHES + 2):
        view._seen[-number] = True
    view.redact(_fact("plain: a text to be looked at"))
    assert len(view._seen) == 1
    assert view.redact(_fact(f"not {TOKEN}")).content == f"not {NAME}"
    assert len(view._seen) == 1


def test_properties_keep_their_shape() -> None:
    fact = _fact("x", role={"a": [TOKEN, 1, None], "b": {"c": "<% x"}})
    note = VIEW.from_base_note(note_of(fact), fact)
    assert note.properties["role"] == {"a": [TOKEN, 1, None], "b": {"c": "<% x"}}
    more = fact.replace({"role": {"a": [TOKEN, 2], "b": {"c": "<% x"}, "d": "<% y"}})
    made = rewritten(note, fact, more)
    assert PLACEHOLDER.search(made)
    assert "<% " not in made


def test_the_secrets_of_a_few_facts_are_kept_and_say_the_same() -> None:
    view = NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True)
    made = [
        _fact(f"It is {secrets.token('github', DICE)}") for _ in range(3 * MAX_CACHED_REDACTIONS)
    ]
    for fact in [*made, *made, made[-1]]:
        fresh = NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True)
        assert view.redact(fact) == fresh.redact(fact) != fact
        assert len(view._redactions) <= MAX_CACHED_REDACTIONS


def test_the_secrets_of_a_content_are_known_in_order_where_nothing_is_hidden_too() -> None:
    one, other = TOKENS[:2]
    fact = _fact(f"{one} {other} {one}")
    for view in (VIEW, OPEN):
        known, found = view.content_secrets(fact)
        assert {*known.known.values()} == {one, other}
        assert found == [one, other, one]
    assert OPEN.redact(fact) == fact
