"""Everything in the package that reads text of others: one call for each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache, partial
from pathlib import Path

from tests.exchange.sources import GivenFiles
from tests.world import World
from vaultsync.backends.tantivy.analysis import Analyzers
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.cli.format_conflicts import changed_lines, differing_parts
from vaultsync.context_packs.formats import (
    PACK_FORMS,
    PackFormat,
    PackPiece,
    RenderedPiece,
    citation_of,
    entity_card,
    fact_body,
    text_paragraphs,
)
from vaultsync.context_packs.near_duplicates import NearDuplicates
from vaultsync.context_packs.truncate import cut_piece, cut_words, excerpt
from vaultsync.errors import VaultsyncError
from vaultsync.exchange.markdown_folders import read_markdown, read_notion
from vaultsync.facts.content_edits import append_text, sections
from vaultsync.facts.entity_links import LinkTarget, link_entities, link_mentions
from vaultsync.index_files.entry import entry_of, parse_entry_line
from vaultsync.indexing.chunking import chunk_fact
from vaultsync.indexing.language import language_of
from vaultsync.indexing.text_normalization import index_words, query_words
from vaultsync.links.mentions import NameMatcher
from vaultsync.links.references import note_references
from vaultsync.links.rewrite import Retarget, rewrite_links, rewrite_note_links
from vaultsync.links.wikilinks import find_links
from vaultsync.markdown.blocks import fenced_lines, note_headings, without_code
from vaultsync.markdown.diff3 import merge_text
from vaultsync.markdown.frontmatter import split_frontmatter
from vaultsync.markdown.yaml.key_spans import scan_spans
from vaultsync.markdown.yaml.reader import load_yaml
from vaultsync.memory_files.plan import KnownSection, match_sections
from vaultsync.memory_files.sections import hash_of, read_frontmatter, read_memory
from vaultsync.memory_files.state import read_states
from vaultsync.model.fact import Fact, derive_title, make_fact
from vaultsync.model.paths import VaultPath
from vaultsync.model.written_dates import relative_days, relative_span
from vaultsync.modules.core_file import CoreChange, update_core
from vaultsync.modules.module_text import split_module
from vaultsync.notes.body import read_blocks_above, read_body, set_content
from vaultsync.notes.conflict_note import conflict_id_in, ticked_fields
from vaultsync.notes.parse import id_in, read_note
from vaultsync.notes.render import render_note, rewrite_note
from vaultsync.notes.view import NoteView
from vaultsync.observations.hooks import split_observations
from vaultsync.privacy import named_secrets, redaction
from vaultsync.privacy.detection import OPTIONAL_FORMS, find_secrets
from vaultsync.privacy.escaping import active_constructs, escape, escape_active, unescape
from vaultsync.privacy.redaction import Redactor, scrub
from vaultsync.proposals.producers import FORMS
from vaultsync.recall.asked_fits import roles_of
from vaultsync.recall.asked_for import asked_for
from vaultsync.recall.calendar_words import calendar_span
from vaultsync.recall.contradictions import statement_of
from vaultsync.recall.conversation_words import (
    asks_for_advice,
    asks_for_assistant,
    states_preference,
)
from vaultsync.recall.explanation import QueryTerms, has_phrases, snippet
from vaultsync.recall.query import parse_query
from vaultsync.recall.question_vectors import compared_events
from vaultsync.recall.task_states import open_boxes
from vaultsync.recall.time_words import dated_span, named_event
from vaultsync.repos.symbol_patterns import read_by_patterns
from vaultsync.repos.symbols import LANGUAGES
from vaultsync.settings import check_file, parse_toml
from vaultsync.storage.archive import HistoryEntry
from vaultsync.sync.plausibility import former_until

_ID = "0193f6c2-0000-7000-8000-000000000001"
_PATH = VaultPath("public/notes/a.md")
_HERE = Path("vault")
_REDACTOR = Redactor(b"k" * 32, optional=frozenset(OPTIONAL_FORMS))
_NAMES = {_ID: ("a b", "Alice", "Name1 Last1", "aa", "word9")}
_TARGETS = {_ID: LinkTarget("Alice", ("Alice", "a b"))}


def _view() -> NoteView:
    """A new one, which has seen no text yet."""
    return NoteView.of(_REDACTOR, redacts=True, escapes=True)


def _fact(text: str) -> Fact:
    text = text.replace("\0", "")
    return make_fact(
        {
            "id": _ID,
            "type": "note",
            "title": "A",
            "content": text,
            "context": " ".join(text[:1000].split()) or None,
            "scope": "public",
            "createdAt": "2026-01-01T00:00:00Z",
        }
    )


def _redact_fact(text: str) -> None:
    _view().redact(_fact(text))


def _render(text: str) -> None:
    read_note(render_note(_view().to_note(_fact(text)), links={}), _PATH)


def _rewrite(text: str, *, end: str = "") -> None:
    """An agent changes a fact whose note shows its secrets as placeholders."""
    view, fact = _view(), _fact(text)
    note = read_note(render_note(view.to_note(fact), links={}), _PATH)
    merged = fact.evolve(tags=("b",), content=fact.content + end)
    with contextlib.suppress(VaultsyncError):
        rewrite_note(view.from_note(note, fact), fact, merged, links={}, view=view)


@cache
def _world() -> World:
    """With entities that texts mention."""
    world = World(view=_view())
    for name in ("Alice", "Name1 Last1", "word9"):
        world.mirrored("-", agent="indy", title=name, type="person")
    return world


def _link_entities(text: str) -> None:
    link_entities(_world().ctx, _fact(f"Alice\n\n{text}"), agent="indy")


def _autolink(text: str) -> None:
    text = f"Alice\n\n{text}"  # where nothing is mentioned, nothing is read
    link_mentions(text, NameMatcher(_NAMES).mentions(text), _TARGETS)


def _rewrite_note(text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        rewrite_note_links(f"---\nid: {_ID}\n---\n{text}", _PATH, lambda _: Retarget("b"))


def _relink_properties(text: str) -> None:
    """Frontmatter of as many links as it may have, all of which lead somewhere else now."""
    names = (each.strip("[]")[:60] for each in text.replace('"', "").replace("\\", "").split())
    links = ", ".join(f'"[[{each}]]"' for each in names)[:60_000].rpartition(", ")[0]
    with contextlib.suppress(VaultsyncError):
        rewrite_note_links(
            f"---\nid: {_ID}\nlinks: [{links}]\n---\n",
            _PATH,
            lambda link: Retarget(f"{link.target}b"),
        )


def _anchors(text: str) -> None:
    """Headings, and a link to each."""
    titles = [text[at : at + 8].strip() or "a" for at in range(0, len(text), 8)]
    anchors = note_references("".join(f"# {title}\n\n" for title in titles), {}).anchors
    for number, title in enumerate(titles):
        anchors.holds(f"#{title} {number}")


def _sections(text: str) -> None:
    sections(text)
    append_text(text, "- a")


def _merge(text: str) -> None:
    merge_text(text, text.replace("a", "b"), text.replace("a", "c", 3))


def _edit_crlf_body(text: str) -> None:
    """A new content for a note with other line ends, which the lines that stay keep."""
    body = read_body(text.replace("\n", "\r\n"))
    set_content(body, f"x\n{body.content_text}\nx", "\r\n")


def _differing(text: str) -> None:
    other = f"x\n{text}\nx"
    differing_parts([text, other])
    changed_lines(text, other, width=40)


def _frontmatter(text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        read_note(f"---\n{text}\n---\n\nx".encode(errors="replace"), _PATH)


def _yaml(text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        load_yaml(text, _PATH)


def _memory_frontmatter(text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        read_frontmatter(f"---\n{text}\n---\n", "MEMORY.md")


def _memory_file(text: str) -> None:
    data = f"# T\n\n{text}".encode(errors="replace")
    with contextlib.suppress(VaultsyncError):
        read_memory(data, name="MEMORY.md", title="M")


def _moved_sections(text: str) -> None:
    """A memory file whose sections stand in another order than when it was last read."""
    data = f"# T\n\n{text}".encode(errors="replace")
    with contextlib.suppress(VaultsyncError):
        memory = read_memory(data, name="MEMORY.md", title="M")
        known = [
            KnownSection(f"{number}", each.hash, hash_of(each.content), each.title, "note")
            for number, each in enumerate(memory.outline.sections)
        ]
        contents = {
            f"{number}": each.content for number, each in enumerate(memory.outline.sections)
        }
        match_sections(memory.outline.sections[::-1], known, contents)


def _state(text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        read_states(text.encode(errors="replace"))


def _settings(text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        check_file(parse_toml(text, _HERE), str(_HERE))


def _body(text: str) -> None:
    body = read_body(text)
    _ = body.title, body.context_text, body.content_text
    read_body(f"# T\n\n{text}\n\n<!-- vaultsync:managed -->\n{text}")
    read_blocks_above(body)


def _note(text: str) -> None:
    data = text.encode(errors="replace")
    id_in(data)
    with contextlib.suppress(VaultsyncError):
        _view().from_note(read_note(data, _PATH), None)


def _conflict(text: str) -> None:
    ticked_fields(text)
    conflict_id_in(text)


def _pack(text: str) -> None:
    list(text_paragraphs(text))
    near = NearDuplicates()
    near.find(text)
    near.find(text + " b")


def _entry(text: str) -> None:
    entry_of(_fact(text), EstimatingCounter().count)
    parse_entry_line(f"- [2026-01-01] **Note** P2 [[a|A]] \u00b7 {text}")


def _query(text: str) -> None:
    with contextlib.suppress(VaultsyncError):  # a filter with a value that it does not take
        parse_query(text, today=date(2026, 1, 1))
    query_words(text)


def _question(text: str) -> None:
    asked_for(text)
    relative_span(text, date(2026, 1, 1))
    relative_days(text, date(2026, 1, 1))
    dated_span(text, date(2026, 1, 1))
    named_event(text)
    calendar_span(text, date(2026, 1, 1))
    asks_for_assistant(text)
    asks_for_advice(text)
    compared_events(text)


def _statement(text: str) -> None:
    fact = _fact(text)
    statement_of(fact)
    states_preference(fact)


def _cut(text: str) -> None:
    fact = _fact(text)
    body = fact_body(fact)
    tokens = EstimatingCounter().count
    for form in PACK_FORMS.values():

        def rendered(piece: PackPiece, form: PackFormat = form) -> RenderedPiece:
            text = form.piece(piece)
            return RenderedPiece(piece, text, tokens(text))

        whole = rendered(PackPiece(fact, "recalled", "found", citation_of(fact), body))
        passage = body[len(body) // 2 :][:500]
        cut_piece(whole, passage, 500, rendered)
        cut_words(whole, passage, 500, rendered)
    entity_card(fact.replace({"context": None}))


def _older(text: str) -> None:
    """An older copy, by a history in which the text grew."""
    now = _fact(text)
    sizes = (len(text) // 2, len(text) // 4, len(text) // 8)
    befores = [text[:size].replace("\0", "") for size in sizes]
    history = [
        HistoryEntry(f"r{number}", "2026-01-01", _ID, "store", "", "content", before, text)
        for number, before in enumerate(befores)
    ]
    former_until(now, now.replace({"content": befores[0]}), history)


def _snippet(text: str) -> None:
    snippet(text, QueryTerms(["a", "b", "pass"], Analyzers().stemmer(text, [])))
    has_phrases(["a b"], text)


def _words(text: str) -> None:
    index_words(text)
    note_headings(text)
    open_boxes(f"- [ ] {text}")
    language_of(text)
    derive_title(text, "note")


def _escape(text: str) -> None:
    safe = escape(text)
    unescape(safe)


def _symbols(language: str) -> Callable[[str], object]:
    """By the patterns of a language; with a parser, a limit of time is what holds."""
    return lambda text: read_by_patterns(language, text.encode("utf-8", "replace"))


def _module(text: str) -> None:
    """A module, and the core file of its topic, which users write, too."""
    split_module(f"# {text}")
    change = CoreChange("a", "A", text, "a.md", "A", None, "indy", "2026-01-01")
    update_core(f"## TL;DR\n- a\n{text}", "a", change)


def _import(text: str) -> None:
    for read in (read_markdown, read_notion):
        list(read(GivenFiles({f"A {'0' * 32}.md": text, "B.md": f"---\na: b\n---\n{text}"})))


def _observations(text: str) -> None:
    split_observations([text])
    for form in FORMS.values():
        form.match(text)


def _edited_property(text: str) -> None:
    """A line of frontmatter, as it is taken apart before an agent's edit of it."""
    line = " ".join(text.splitlines())
    scan_spans(line, [f"a: {line}"], ["a"], {"a"})


def _active(text: str) -> None:
    live = active_constructs(text)
    escape_active(text, live)


REMEMBERED = (
    redaction._labelled,
    redaction._secrets_of,
    named_secrets.is_dummy,
    named_secrets.is_password,
    named_secrets.is_random,
    named_secrets.is_scrambled,
)
"""What is known of texts that were read before."""


def forget() -> None:
    """Have the next reader take as long as the first one."""
    for each in REMEMBERED:
        each.cache_clear()


READERS: Mapping[str, Callable[[str], object]] = {
    "secrets": lambda text: list(find_secrets(text)),
    "redaction": _REDACTOR.hide,
    "redaction of a fact": _redact_fact,
    "scrubbed errors": scrub,
    "escaping": _escape,
    "active constructs": _active,
    "blocks": lambda text: list(fenced_lines(text)),
    "fences": without_code,
    "links": find_links,
    "anchors": _anchors,
    "references": lambda text: note_references(text, {}),
    "relink": lambda text: rewrite_links(text, lambda _: Retarget("b")),
    "relink of a note": _rewrite_note,
    "relink of properties": _relink_properties,
    "mentions": _autolink,
    "linked entities": _link_entities,
    "sections": _sections,
    "frontmatter": lambda text: split_frontmatter(f"---\n{text}"),
    "properties": _frontmatter,
    "YAML": _yaml,
    "YAML of a memory file": _memory_frontmatter,
    "memory file": _memory_file,
    "moved sections": _moved_sections,
    "state of memory files": _state,
    "settings": _settings,
    "body": _body,
    "note": _note,
    "rendered note": _render,
    "rewritten note": _rewrite,
    "reworded note": partial(_rewrite, end="\n\nb"),
    "conflict note": _conflict,
    "merge": _merge,
    "edited CRLF body": _edit_crlf_body,
    "differing lines": _differing,
    "chunks": lambda text: chunk_fact(_fact(text)),
    "words": _words,
    "query": _query,
    "question": _question,
    "statement": _statement,
    "cut of a fact": _cut,
    "older version": _older,
    "snippet": _snippet,
    "excerpt": lambda text: excerpt(text, text[len(text) // 2 :][:200]),
    "context pack": _pack,
    "tables": _entry,
    "tokens": EstimatingCounter().count,
    **{f"symbols of {name}": _symbols(name) for name in sorted({*LANGUAGES.values()})},
    "module": _module,
    "import": _import,
    "observations": _observations,
    "edited property": _edited_property,
    "role": lambda text: roles_of(_fact(text).replace({"type": "person"})),
}
