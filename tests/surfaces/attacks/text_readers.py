"""Everything in the package that reads text of others: one call for each."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache, partial
from pathlib import Path

from tests.exchange.sources import GivenFiles
from tests.world import World
from vaultsync.backends.embedders.hashing import HashEmbedder
from vaultsync.backends.filesystem.find_files import matches
from vaultsync.backends.state.toml_edits import edit_toml
from vaultsync.backends.tantivy.analysis import Analyzers
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.cli.format_conflicts import changed_lines, differing_parts
from vaultsync.cli.output import clean, clean_one_line, escape_control
from vaultsync.context_packs.excerpt import excerpt
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
from vaultsync.context_packs.truncate import cut_piece, cut_words
from vaultsync.errors import VaultsyncError
from vaultsync.exchange.exchange_formats import FORMATS
from vaultsync.exchange.markdown_folders import read_markdown, read_notion
from vaultsync.exchange.session_messages import read_messages
from vaultsync.facts.content_edits import append_text, replace_section, replace_text, sections
from vaultsync.facts.entity_links import LinkTarget, link_entities, link_mentions
from vaultsync.hosts import json_edits
from vaultsync.http_bridge.encoding import parse_body
from vaultsync.http_bridge.requests import ObserveBody
from vaultsync.index_files.change_page import is_unedited_page
from vaultsync.index_files.entry import entry_of, parse_entry_line
from vaultsync.indexing.chunking import chunk_fact
from vaultsync.indexing.language import language_of
from vaultsync.indexing.text_normalization import index_words, query_words
from vaultsync.links.canvas import read_canvas, retarget_canvas
from vaultsync.links.check import similarity_key
from vaultsync.links.mentions import NameMatcher
from vaultsync.links.references import note_references
from vaultsync.links.rewrite import Retarget, rewrite_links, rewrite_note_links
from vaultsync.links.wikilinks import find_links, wiki_link
from vaultsync.markdown.blocks import fenced_lines, note_headings, without_code
from vaultsync.markdown.diff3 import merge_text
from vaultsync.markdown.frontmatter import split_frontmatter
from vaultsync.markdown.yaml.key_spans import key_spans
from vaultsync.markdown.yaml.reader import load_yaml
from vaultsync.mcp_server.answer_limits import truncate
from vaultsync.mcp_server.tool import texts_in
from vaultsync.memory_files.block_edits import (
    BlockItem,
    ItemEdit,
    WrittenBlock,
    fact_edit,
    read_block_edits,
    text_of_edit,
)
from vaultsync.memory_files.managed_block import (
    FULL,
    INDEX,
    MARKS,
    BlockLimits,
    block_body,
    edited_lines,
    fill_block,
    hide_block,
    item_text,
)
from vaultsync.memory_files.plan import KnownSection, match_sections
from vaultsync.memory_files.section_edit import SectionChange, change_sections
from vaultsync.memory_files.sections import MemorySection, hash_of, read_frontmatter, read_memory
from vaultsync.memory_files.state import read_states
from vaultsync.model.canonical import tag_keys_with_parents, tags_in
from vaultsync.model.fact import Fact, derive_title, make_fact
from vaultsync.model.file_names import conflict_copy_of, entity_name, likely_copy_of, slug
from vaultsync.model.inline_tags import all_tags
from vaultsync.model.paths import VaultPath
from vaultsync.model.written_dates import relative_days, relative_span
from vaultsync.modules.backlog import BacklogRow, drop_row, put_row, read_backlog
from vaultsync.modules.core_file import CoreChange, update_core
from vaultsync.modules.manifest import edit_manifest, read_manifest
from vaultsync.modules.module_text import split_module
from vaultsync.notes.body import read_blocks_above, read_body, set_content
from vaultsync.notes.canonical_form import is_canonical
from vaultsync.notes.conflict_note import (
    ConflictRecord,
    FieldConflict,
    conflict_id_in,
    render_conflict,
    ticked_fields,
)
from vaultsync.notes.parse import id_in, read_note
from vaultsync.notes.proposal_note import decision_in, has_both_ticked
from vaultsync.notes.render import render_note, rewrite_note
from vaultsync.notes.view import NoteView
from vaultsync.observations.classifier import ObservedText
from vaultsync.observations.compression import compress
from vaultsync.observations.hooks import read_hook, split_observations, transcript_texts
from vaultsync.observations.rules import RuleClassifier
from vaultsync.operations.evaluate import parse_answers
from vaultsync.privacy import named_secrets, redaction
from vaultsync.privacy.detection import OPTIONAL_FORMS, find_secrets
from vaultsync.privacy.escaping import active_constructs, escape, escape_active, unescape
from vaultsync.privacy.patterns import compile_pattern, pattern_spans
from vaultsync.privacy.placeholders import Redactor
from vaultsync.privacy.redaction import hide_secrets, learn_placeholders, scrub
from vaultsync.proposals.near_duplicate_pairs import merged_text
from vaultsync.proposals.producers import FORMS
from vaultsync.recall.answer_kinds import KINDS, asked_kind
from vaultsync.recall.asked_fits import roles_of
from vaultsync.recall.asked_folders import named_folder
from vaultsync.recall.asked_for import asked_for
from vaultsync.recall.calendar_words import calendar_span
from vaultsync.recall.contradictions import statement_of
from vaultsync.recall.conversation_words import (
    asks_for_advice,
    asks_for_assistant,
    states_preference,
)
from vaultsync.recall.exclusions import without_exclusion
from vaultsync.recall.explanation import QueryTerms, has_phrases, snippet
from vaultsync.recall.names_in_questions import names_in
from vaultsync.recall.query import MAX_CHARS, no_notes, parse_query
from vaultsync.recall.question_vectors import compared_events
from vaultsync.recall.task_states import check_boxes, with_state_words
from vaultsync.recall.time_words import dated_span, named_event
from vaultsync.repos.agent_instructions import make_block
from vaultsync.repos.entries import decided_in, open_follow_ups, without_boxes
from vaultsync.repos.repo_identity import sanitize_remote
from vaultsync.repos.symbol_patterns import read_by_patterns
from vaultsync.repos.symbols import LANGUAGES
from vaultsync.settings import MARKER_BYTES, check_file, parse_toml
from vaultsync.storage.archive import HistoryEntry
from vaultsync.storage.erasure import Traces, distinctive_pieces
from vaultsync.sync.history import former_until

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


def _data(text: str) -> bytes:
    return text.encode(errors="replace")


def _memory(text: str) -> list[MemorySection]:
    return [*read_memory(_data(text), name="MEMORY.md", title="M").outline.sections]


def _or_refused(read: Callable[[str], object]) -> Callable[[str], None]:
    def reads(text: str) -> None:
        with contextlib.suppress(VaultsyncError):
            read(text)

    return reads


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


def _autolink(text: str) -> None:
    text = f"Alice\n\n{text}"  # where nothing is mentioned, nothing is read
    link_mentions(text, NameMatcher(_NAMES).mentions(text), _TARGETS)


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
    # As much text as was given, with `#` and line ends.
    titles = [text[at : at + 8].strip() or "a" for at in range(0, len(text) * 2 // 3, 8)]
    anchors = note_references("".join(f"# {title}\n\n" for title in titles), {}).anchors
    for number, title in enumerate(titles):
        anchors.holds(f"#{title} {number}")


def _sections(text: str) -> None:
    sections(text)
    append_text(text, "- a")


def _edit_crlf_body(text: str) -> None:
    """A new content for a note with other line ends, which the lines that stay keep."""
    body = read_body(text.replace("\n", "\r\n"))
    set_content(body, f"x\n{body.content_text}\nx", "\r\n")


def _differing(text: str) -> None:
    other = f"x\n{text}\nx"
    differing_parts([text, other])
    changed_lines(text, other, width=40)


def _moved_sections(text: str) -> None:
    """A memory file whose sections stand in another order than when it was last read."""
    with contextlib.suppress(VaultsyncError):
        found = _memory(f"# T\n\n{text}")
        known = [
            KnownSection(f"{number}", each.hash, hash_of(each.content), each.title, "note")
            for number, each in enumerate(found)
        ]
        contents = {f"{number}": each.content for number, each in enumerate(found)}
        match_sections(found[::-1], known, contents)


def _body(text: str) -> None:
    body = read_body(text)
    _ = body.title, body.context_text, body.content_text
    read_body(f"# T\n\n{text}\n\n<!-- vaultsync:managed -->\n{text}")
    read_blocks_above(body)


def _note(text: str) -> None:
    data = _data(text)
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
    """What it asks for; all of this reads as much of it as `parse_query()` leaves."""
    text = text[:MAX_CHARS]
    names_in(text)
    named_folder(text, no_notes)
    asked_for(text)
    without_exclusion(text, asked_for)
    with_state_words(text)
    relative_span(text, date(2026, 1, 1))
    relative_days(text, date(2026, 1, 1))
    dated_span(text, date(2026, 1, 1))
    named_event(text)
    calendar_span(text, date(2026, 1, 1))
    asks_for_assistant(text)
    asks_for_advice(text)
    compared_events(text)
    asked_kind(text)


def _statement(text: str) -> None:
    fact = _fact(text)
    statement_of(fact)
    states_preference(fact)
    any(kind.is_in(text) for kind in KINDS)


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
    check_boxes(f"- [ ] {text}")
    language_of(text)
    derive_title(text, "note")


def _symbols(language: str, text: str) -> None:
    """By the patterns of a language; with a parser, a limit of time is what holds."""
    read_by_patterns(language, _data(text))


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
    for lines in ([f"a: {line}"], f"a: {text}".split("\n"), f"a: [{text}".split("\n")):
        key_spans(lines, ["a"], {"a"})


def _canvas(text: str) -> None:
    """A canvas, and one with the text in a card and in many small ones."""
    cards = [{"type": "text", "text": text[at : at + 64]} for at in range(0, len(text) // 2, 64)]
    nodes = [{"type": "text", "text": text[len(text) // 2 :]}, {"type": "file", "file": text[:80]}]
    for each in (text, json.dumps({"nodes": [*nodes, *cards]}, ensure_ascii=False)):
        with contextlib.suppress(VaultsyncError):
            read_canvas(each, _PATH)
            retarget_canvas(each, _PATH, {}, lambda _: Retarget("b"))


def _read_all(form: str, name: str, text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        list(FORMATS[form].read(GivenFiles({name: text})))


_FILES = {
    "chatgpt": "conversations.json",
    "claude": "conversations.json",
    "csv": "a.csv",
    "jsonl": "a.jsonl",
    "letta": "a.af",
    "mcp-memory": "memory.json",
    "mem0": "a.json",
}
"""Format -> a file of it."""


def _imported(form: str) -> Callable[[str], None]:
    """As a file, and as the text of an entry."""
    entry = {"uuid": "a", "id": "b", "type": "entity", "name": "a", "entityType": "b"}
    message = {"author": {"role": "user"}, "content": {"content_type": "text"}}

    def read(text: str) -> None:
        _read_all(form, _FILES[form], text)
        spoken = {**message, "content": {"content_type": "text", "parts": [text]}}
        texts = {
            "memory": text,
            "mapping": {"x": {"message": spoken}},
            "chat_messages": [{"sender": "human", "text": text}],
            "observations": [text],
            "categories": [text],
            "blocks": [{"label": "a", "value": text}],
        }
        value = json.dumps({**entry, **texts})
        _read_all(form, _FILES[form], value if form in ("jsonl", "mcp-memory") else f"[{value}]")

    return read


def _host_settings(text: str) -> None:
    """JSON that people edit."""
    for each in (f'{{"a": {text}}}', json.dumps({"a": {"b": text}})):
        with contextlib.suppress(ValueError):
            json_edits.value_of(each, json_edits.parse(each))
            json_edits.set_value(each, ["a", "c"], 1)
            json_edits.remove_value(each, ["a", "b"])


def _edited_settings(text: str) -> None:
    """As much TOML as settings may have."""
    text = text[: MARKER_BYTES - 100]
    for each in (text, f"a = 1\nkeys = '''\n{text}'''\n", f"keys = [\n{text}]\n"):
        with contextlib.suppress(VaultsyncError):
            edit_toml(each, {("keys",): True}, _HERE)


def _message(text: str) -> None:
    """What an agent sends, and what it gets."""
    data = _data(text)
    for body in (data, json.dumps({"text": text}).encode(), b'{"text": ' + data):
        with contextlib.suppress(VaultsyncError):
            parse_body(body, ObserveBody)
    with contextlib.suppress(VaultsyncError):
        read_messages(text)
    texts_in(text)
    tag_keys_with_parents(tags_in(text))
    parts = [text[at : at + 16] for at in range(0, len(text), 16)]
    truncate({"a": data.decode(), "b": parts[:500]}, 20_000, "x")


def _edited_block(text: str, form: str) -> None:
    """A text that a person added to the managed block of a memory file, and to an item of it."""
    fact = _fact("some content")
    limits = BlockLimits(1_000, None, None)
    written = fill_block("# A\n", [fact], form=form, limits=limits, count=len).text or ""
    body, item = block_body(written), item_text(fact, form)
    base = WrittenBlock(body.digest if body else "", form, (BlockItem(fact.id, item),))
    edited = written.replace(f"\n{MARKS.end}", f"\n{text}\n{MARKS.end}")
    _, edits = read_block_edits(edited, [base]) or (base, [])
    for each in edits:
        text_of_edit(each)
    edited_lines(edited, [fact], form)
    hide_block(edited)
    with contextlib.suppress(VaultsyncError):
        fact_edit(fact, ItemEdit(fact.id, item, item.replace("some content", text)), form)


def _edited_sections(text: str) -> None:
    """Agents change each second section of a memory file."""
    with contextlib.suppress(VaultsyncError):
        found = _memory(text)
        changes = {
            number: SectionChange(each.title, f"{each.content}\nb")
            for number, each in enumerate(found)
            if number % 2
        }
        few = dict(list(changes.items())[:1])
        change_sections(text, found, few if len(changes) > MANY_CHANGES else changes, _memory)


MANY_CHANGES = 16
"""Where they cannot be made at once, each is tried alone."""


def _backlog(text: str) -> None:
    text = f"| chunk | reason | time | agent |\n| --- | --- | --- | --- |\n{text}"
    read_backlog(text)
    drop_row(put_row(text, BacklogRow("a", "b", "c")), "a")


def _manifest(text: str) -> None:
    quoted = f"modules:\n- chunk_id: a\n  title: {json.dumps(text, ensure_ascii=False)}\n"
    for each in (text, quoted):
        with contextlib.suppress(VaultsyncError):
            read_manifest(each, "m", "t")
    with contextlib.suppress(VaultsyncError):
        edit_manifest(quoted, "m", {"a": {"title": "x"}}, topic="t")


def _boxes(text: str) -> None:
    """The boxes of a note for a decision."""
    for each in (
        f"---\na: b\n---\n{text}",
        f"---\n---\n- [x] {text} <!-- vaultsync:take field=a -->",
    ):
        ticked_fields(each)
        decision_in(each)
        has_both_ticked(each)


def _written_conflict(text: str) -> None:
    field = FieldConflict("content", text[: len(text) // 2], text, f"{text.replace('a', 'c', 3)}x")
    at = "2026-01-01T00:00:00Z"
    render_conflict(ConflictRecord("a" * 16, _ID, _PATH, None, (field,), "indy", at, "r"))


def _canonical(text: str) -> None:
    fact = _fact(text)
    is_canonical(render_note(fact, links={}), _PATH, fact, _view())


def _observed(text: str) -> None:
    RuleClassifier().classify([ObservedText(text)])
    compress(text)


def _hook(text: str) -> None:
    values = {"hook_event_name": "Stop", "prompt": text, "tool_response": text}
    for each in (text, json.dumps(values)):
        with contextlib.suppress(VaultsyncError):
            read_hook(each)
    transcript_texts(text)
    transcript_texts(json.dumps({"type": "user", "message": {"role": "user", "content": text}}))


def _repository(text: str) -> None:
    """What agents write of a repository, and the address of one."""
    fact = _fact(text)
    open_follow_ups([fact])
    decided_in(fact)
    without_boxes(text)
    make_block([fact], count=EstimatingCounter().count)
    for each in (text, f"https://{text}", f"a@{text}"):
        sanitize_remote(each)


def _traces(text: str) -> None:
    pieces = distinctive_pieces(text)
    Traces([_ID], pieces).found_in(_data(text))


def _names(text: str) -> None:
    slug(text)
    entity_name(text)
    conflict_copy_of(text)
    likely_copy_of(text, "a.md")
    similarity_key(text)
    wiki_link(text, text)


_PATTERNS = tuple(
    map(compile_pattern, ("KEY-[A-Z0-9]{10,40}", "a{1,20}b", r"\b[a-z]{3,9}=\S{4,40}"))
)


def _patterns(text: str) -> None:
    for each in _PATTERNS:
        list(pattern_spans(each, text))


_LONGEST_PATH = 4_096


def _globs(text: str) -> None:
    """A pattern of paths, and a path."""
    text = text[:_LONGEST_PATH].partition("\n")[0]
    matches("a/" * 2_000 + "b", [text])
    matches(text, ["**/a/**/b/**/c", "*a*b*c*d*", "**/**/**/x"])


def _shown(text: str) -> None:
    """As a terminal shows it."""
    clean(text)
    clean_one_line(text)
    escape_control(text)


def _replaced(text: str) -> None:
    with contextlib.suppress(VaultsyncError):
        replace_section(f"# a\n\n{text}", "a", text)
    for old in (text[:2], "zz"):
        with contextlib.suppress(VaultsyncError):
            replace_text(text, old, "x")


def _learned(text: str) -> None:
    fact = _fact(text)
    learn_placeholders(_view().to_note(fact).content, fact.content)


def _clone(text: str) -> None:
    """The tables of a vault that was cloned."""
    for line in text.split("\n"):
        parse_entry_line(line)
    is_unedited_page(_data(text))


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
    "redaction": partial(hide_secrets, _REDACTOR),
    "redaction of a fact": lambda text: _view().redact(_fact(text)),
    "scrubbed errors": scrub,
    "escaping": lambda text: unescape(escape(text)),
    "active constructs": lambda text: escape_active(text, active_constructs(text)),
    "blocks": lambda text: list(fenced_lines(text)),
    "fences": without_code,
    "links": find_links,
    "anchors": _anchors,
    "tags": lambda text: list(all_tags(Fact("", content=f"#a {text}"))),
    "references": lambda text: note_references(text, {}),
    "relink": lambda text: rewrite_links(text, lambda _: Retarget("b")),
    "relink of a note": _or_refused(
        lambda text: rewrite_note_links(
            f"---\nid: {_ID}\n---\n{text}", _PATH, lambda _: Retarget("b")
        )
    ),
    "relink of properties": _relink_properties,
    "mentions": _autolink,
    "linked entities": lambda text: link_entities(
        _world().ctx, _fact(f"Alice\n\n{text}"), agent="indy"
    ),
    "sections": _sections,
    "frontmatter": lambda text: split_frontmatter(f"---\n{text}"),
    "properties": _or_refused(lambda text: read_note(_data(f"---\n{text}\n---\n\nx"), _PATH)),
    "YAML": _or_refused(lambda text: load_yaml(text, _PATH)),
    "YAML of a memory file": _or_refused(
        lambda text: read_frontmatter(f"---\n{text}\n---\n", "MEMORY.md")
    ),
    "memory file": _or_refused(lambda text: _memory(f"# T\n\n{text}")),
    "moved sections": _moved_sections,
    "state of memory files": _or_refused(lambda text: read_states(_data(text))),
    "settings": _or_refused(lambda text: check_file(parse_toml(text, _HERE), str(_HERE))),
    "body": _body,
    "note": _note,
    "rendered note": _render,
    "rewritten note": _rewrite,
    "reworded note": partial(_rewrite, end="\n\nb"),
    "conflict note": _conflict,
    "merge": lambda text: merge_text(text, text.replace("a", "b"), text.replace("a", "c", 3)),
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
    **{f"symbols of {name}": partial(_symbols, name) for name in sorted({*LANGUAGES.values()})},
    "module": _module,
    "import": _import,
    "observations": _observations,
    "edited property": _edited_property,
    "role": lambda text: roles_of(_fact(text).replace({"type": "person"})),
    "canvas": _canvas,
    **{f"import of {form}": _imported(form) for form in _FILES},
    "settings of a host": _host_settings,
    "edited settings": _edited_settings,
    "message": _message,
    "edited block": partial(_edited_block, form=FULL),
    "edited index": partial(_edited_block, form=INDEX),
    "edited sections": _edited_sections,
    "backlog": _backlog,
    "manifest": _manifest,
    "boxes": _boxes,
    "written conflict": _written_conflict,
    "canonical note": _canonical,
    "observed text": _observed,
    "hook": _hook,
    "repository": _repository,
    "traces": _traces,
    "merged text": lambda text: merged_text(text, f"{text}\nb"),
    "names": _names,
    "user's patterns": _patterns,
    "globs": _globs,
    "terminal": _shown,
    "replaced text": _replaced,
    "learned placeholders": _learned,
    "answers": _or_refused(parse_answers),
    "hashed words": lambda text: HashEmbedder().embed([text]),
    "tables of a clone": _clone,
}
