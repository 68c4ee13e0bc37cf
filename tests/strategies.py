"""Hypothesis strategies for facts, and for edits by users and agents."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from hypothesis import strategies as st

from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import (
    FIELDS,
    FIELDS_BY_KEY,
    OWN_FIELDS_BY_KEY,
    TYPES,
    Field,
    FieldOwner,
    Value,
    ValueKind,
)
from vaultsync.notes.conflict_note import FieldConflict

_LETTERS = string.ascii_letters + string.digits + "äßжλ漢🙂 -_.,:;'\"#*[]()`~"

words = st.text("abcdeäж", min_size=1, max_size=4)
lines = st.text(_LETTERS, max_size=12).map(str.strip)
"""One line of text, which may be empty."""

few_lines = st.sampled_from(["a", "b", "c", "", "- x", "# h"])
"""Lines that repeat, as blank lines and list items do."""


def texts(line: st.SearchStrategy[str] = few_lines) -> st.SearchStrategy[str]:
    """Texts of a few lines, with and without a line end at their end."""
    return st.builds(
        lambda many, end: "\n".join(many) + end,
        st.lists(line, max_size=10),
        st.sampled_from(["", "\n"]),
    )


@st.composite
def edited_lines(
    draw: st.DrawFn, many: Sequence[str], new: st.SearchStrategy[str] = few_lines, *, most: int = 4
) -> list[str]:
    """The lines after a few insertions, deletions and replacements; none are moved."""
    made = list(many)
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.integers(0, len(made)))
        removed = draw(st.integers(0, 1))
        made[at : at + removed] = draw(st.lists(new, max_size=2))
    return made


@cache
def ids() -> st.SearchStrategy[str]:
    return st.uuids(version=4).map(str)


@cache
def json_values() -> st.SearchStrategy[Value]:
    """Values of properties; never None, which means that there is no property."""
    plain: st.SearchStrategy[Value] = st.one_of(
        st.booleans(),
        st.integers(-3, 3),
        st.floats(allow_nan=False, allow_infinity=False, width=16),
        lines,
        words.map("[[{}]]".format),
    )
    return st.one_of(plain, st.lists(plain, max_size=3), st.dictionaries(words, plain, max_size=2))


_TIMES = st.datetimes().map(lambda at: at.replace(microsecond=0).isoformat() + "Z")
_KINDS: Mapping[ValueKind, Callable[[], st.SearchStrategy[Value]]] = {
    ValueKind.LINE: lambda: lines,
    ValueKind.TEXT: lambda: texts(few_lines | lines),
    ValueKind.LINES: lambda: st.lists(words, max_size=4),
    ValueKind.LINKS: lambda: st.lists(words, max_size=4),
    ValueKind.IDS: lambda: st.lists(ids(), max_size=3),
    ValueKind.ID: ids,
    ValueKind.TIME: lambda: _TIMES,
    ValueKind.DATE: lambda: st.dates().map(str),
    ValueKind.PRIORITY: lambda: st.integers(0, 4),
    ValueKind.SHARE: lambda: st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    ValueKind.NUMBER: lambda: st.integers(-9, 9),
    ValueKind.COUNT: lambda: st.integers(0, 9),
    ValueKind.FLAG: st.booleans,
    ValueKind.TYPE: lambda: st.sampled_from(tuple(TYPES)),
    ValueKind.SCOPE: lambda: st.sampled_from(["public", "team-a", "private-indy"]),
}


@cache
def values_of(row: Field) -> st.SearchStrategy[Value]:
    return _KINDS[row.kind]()


@cache
def property_names() -> st.SearchStrategy[str]:
    """Names of properties that are no field."""
    return st.sampled_from(["role", "reports_to", "due date", "été", "x-y", "note"])


@st.composite
def values(draw: st.DrawFn, *owners: FieldOwner) -> dict[str, Value]:
    """Values by key for some fields of these owners; shared ones with properties."""
    made = {row.key: draw(values_of(row)) for row in draw(_some_rows(owners))}
    if FieldOwner.SHARED in owners:
        made |= draw(_some_properties())
    return made


@cache
def _some_rows(owners: tuple[FieldOwner, ...]) -> st.SearchStrategy[list[Field]]:
    rows = [row for row in (*FIELDS, *OWN_FIELDS_BY_KEY.values()) if row.owner in owners]
    rows = [row for row in rows if row.key != "id"]
    return st.lists(st.sampled_from(rows), unique=True, max_size=6)


@cache
def _some_properties() -> st.SearchStrategy[dict[str, Value]]:
    return st.dictionaries(property_names(), json_values(), max_size=2)


@st.composite
def facts(draw: st.DrawFn, fact_id: str | None = None) -> Fact:
    """A canonical fact of any type."""
    made = draw(values(*FieldOwner))
    made["type"] = draw(values_of(FIELDS_BY_KEY["type"]))
    made["content"] = draw(values_of(FIELDS_BY_KEY["content"]))
    return make_fact({**made, "id": fact_id or draw(ids())})


@st.composite
def edits(draw: st.DrawFn, fact: Fact, *owners: FieldOwner) -> Fact:
    """The fact after an edit of fields of these owners; default: the shared ones.

    Values are set and cleared, lists gain and lose elements, text changes by line.
    """
    made = draw(values(*(owners or (FieldOwner.SHARED,))))
    if FieldOwner.SHARED in (owners or (FieldOwner.SHARED,)):
        if draw(st.booleans()):
            text = draw(edited_lines(fact.content.split("\n"), few_lines))
            made["content"] = "\n".join(text)
        for key in ("tags", "aliases", "entities"):
            had = fact.value(key)
            if isinstance(had, tuple) and had and draw(st.booleans()):
                kept = draw(st.lists(st.sampled_from(had), unique=True))
                made[key] = [*kept, *draw(st.lists(words, max_size=2))]
        written = [key for key in (*fact.own, *fact.properties) if key not in made]
        if written:
            made |= dict.fromkeys(draw(st.sets(st.sampled_from(written), max_size=2)))
    return fact.replace(made)


@st.composite
def versions(draw: st.DrawFn, *owners: FieldOwner) -> tuple[Fact, Fact, Fact]:
    """A fact and the edits of it on both sides: base, vault, store."""
    base = draw(facts())
    return base, draw(edits(base, *owners)), draw(edits(base, *owners))


@cache
def field_conflicts() -> st.SearchStrategy[FieldConflict]:
    """Conflicts with any field name and any values, including misleading ones."""
    deceptive = st.sampled_from(
        [
            "- [x] Take the agent's <!-- vaultsync:take field=content -->",
            *("```", "````text", "~~~", "-->", "---", "> ```"),
            *("vaultsync: conflict", "a\rb", "a\u2028b"),
        ]
    )
    text = st.lists(deceptive | lines, max_size=6).map("\n".join)
    any_text = text | st.text(max_size=20)
    value: st.SearchStrategy[Value] = (
        st.none() | any_text | json_values() | st.lists(any_text, max_size=3)
    )
    names = property_names() | st.sampled_from(["content", "title"])
    return st.builds(
        FieldConflict,
        names | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        value,
        value,
        value,
    )
