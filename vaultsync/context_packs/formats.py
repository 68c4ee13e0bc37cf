"""The texts of a context pack: markdown, XML and JSON, each put together from parts.

A part is rendered once and keeps its text, so that whoever keeps a budget can count each
part alone, add up, and count the whole once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from vaultsync.markdown.blocks import fences
from vaultsync.model.fact import Fact, relations
from vaultsync.model.paths import stem_of
from vaultsync.model.schema import OWN_FIELDS_BY_KEY, TYPES, Value

ENTITY_CARD_LENGTH = 160
"""Letters that an entity may say of itself in a pack."""


@dataclass(frozen=True, slots=True)
class PackPiece:
    """What a pack shows of one fact."""

    fact: Fact
    tier: str
    reason: str
    citation: str
    """`path#heading`; see `cite()`."""
    body: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class PackFormat:
    """How a pack is written; `render()` puts its parts together."""

    begin: Callable[[str], str]
    """The question -> what stands before everything."""
    tier: Callable[[str], str]
    """A tier -> what stands before its pieces."""
    piece: Callable[[PackPiece], str]
    between: str
    """Stands between two pieces of a tier."""
    end_tier: Callable[[str], str]
    end: str


def render_pack(form: PackFormat, question: str, tiers: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The whole text: each tier with the texts of its pieces, as `form.piece` made them."""
    parts = [form.begin(single_line(question))]
    for tier, pieces in tiers:
        parts += [form.tier(tier), form.between.join(pieces), form.end_tier(tier)]
    return "".join([*parts, form.end])


# ------------------------------------------------------------------- what facts say

_SILENT = frozenset({"observationOriginalContent", "entityType"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_UNCITED = re.compile(r"[#|^\[\]\r\n]+|%%")
_HEADING = re.compile(r"#{1,6}(?=[ \t])")


def single_line(text: str) -> str:
    """Text in one line, without what no file can hold."""
    return " ".join(_clean(text).split())


def fact_body(fact: Fact) -> str:
    """All that a fact says but its title: context, content, fields of its type."""
    parts = []
    if fact.context:
        parts.append(f"> {fact.context}")
    if fact.content and fact.content.rstrip(".") != fact.title:
        parts.append(fact.content)
    if fact.own:
        own = [key for key in OWN_FIELDS_BY_KEY if _field_text(fact, key)]
        parts.append("\n".join(f"- {_label(key)}: {_shown(fact.own[key])}" for key in own))
    return _clean("\n\n".join(part for part in parts if part))


def _clean(text: str) -> str:
    """Text without what no file can hold."""
    if text.replace("\n", "").isprintable():
        return text  # as nearly all are; the pattern takes ten times as long
    return _NO_TEXT.sub("\ufffd", text)


def _field_text(fact: Fact, key: str) -> bool:
    return key not in _SILENT and fact.own.get(key) not in (None, False, "", [])


def _label(key: str) -> str:
    """`commitmentDueDate` -> `due date`."""
    return " ".join(_CAMEL.split(key)[1:]).lower()


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return single_line(value)
    if isinstance(value, Sequence):
        return "; ".join(map(_shown, value))
    return "yes" if value is True else str(value)


def entity_card(entity: Fact) -> str:
    """What an entity says of itself in a line or two: its first paragraph, its relations."""
    said = entity.context or ""
    if not said:
        blocks = (block.strip() for block in entity.content.split("\n\n"))
        said = next((b for b in blocks if b and not _HEADING.match(b)), "")
    said = single_line(said)
    if len(said) > ENTITY_CARD_LENGTH:
        said = said[:ENTITY_CARD_LENGTH].rsplit(" ", 1)[0].rstrip(",;:") + " …"
    known = relations(entity).items()
    ties = [f"{single_line(name)}: {', '.join(names)}" for name, names in known]
    return " · ".join(part for part in (said, *ties) if part)


def citation_of(fact: Fact, section: str = "") -> str:
    """Where a fact can be read: `path#heading`; its id while it has no note.

    The heading is a section of the content, else the title where the note shows it.
    """
    if fact.path is None:
        return fact.id
    shown = "" if fact.title == stem_of(fact.path) else fact.title
    heading = " ".join(_UNCITED.sub(" ", section or shown).split())
    return f"{fact.path}#{heading}" if heading else fact.path


def text_paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text; what a code fence holds stays together."""
    lines: list[str] = []
    for line, code in fence_lines(text):
        if code or line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def fence_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is of a code fence."""
    code = fences(text)[::-1]
    at = 0
    for line in text.split("\n"):
        while code and code[-1].end <= at:
            code.pop()
        yield line, bool(code) and code[-1].start <= at
        at += len(line) + 1


def is_code(text: str) -> bool:
    """Whether a text begins with a code fence."""
    return any(fence.start == 0 for fence in fences(text)[:1])


def paragraph_heading(paragraph: str) -> str:
    """The text of the heading that a paragraph is, or begins with; else nothing."""
    mark = _HEADING.match(paragraph)
    return paragraph[mark.end() :].partition("\n")[0].strip(" \t#") if mark else ""


def demote_headings(text: str, level: int) -> str:
    """Text with its headings that many levels deeper, so that none stands above it."""
    if not text.startswith("#") and "\n#" not in text:
        return text
    lines = []
    for line, code in fence_lines(text):
        heading = None if code else _HEADING.match(line)
        deep = "#" * min(6, level + heading.end()) if heading else ""
        lines.append(deep + line[heading.end() if heading else 0 :])
    return "\n".join(lines)


# --------------------------------------------------------------------------- markdown


def _md_piece(piece: PackPiece) -> str:
    fact = piece.fact
    title = single_line(fact.title)
    # The heading stands above; what is left says where.
    source = piece.citation.removesuffix(f"#{title}")
    if piece.tier == "entities":
        said = f": {piece.body}" if piece.body else ""
        return f"\n- **{title}** ({_kind(fact)}){said} · {source}"
    line = " · ".join(filter(None, (_type_and_day(fact), source)))
    told = (
        _FIRST_SENTENCE_END.match(piece.body, len(title)) if piece.body.startswith(title) else None
    )
    said = piece.body[told.end() :] if told else piece.body
    if title.endswith("…") and said.startswith(title[:-1]):
        title, line = line, ""  # the body says all of it
    parts = [f"### {title}", f"*{line}*" if line else "", demote_headings(said, _TITLE)]
    return "".join(f"\n\n{part}" for part in parts if part)


_FIRST_SENTENCE_END = re.compile(r"(?:\.|(?<=[!?。！？]))\s+|\n+")
"""What follows the title where a text begins with it as its first sentence."""


def _type_and_day(fact: Fact) -> str:
    """Type and day, as far as the path of the note does not tell them."""
    path = fact.path or ""
    kind = "" if f"/{TYPES[fact.type].folder}/" in path else _kind(fact)
    day = fact.created_at[:10]
    return ", ".join(filter(None, (kind, "" if day in path else day)))


_TITLE = 3
"""The level of a fact's title in a pack."""


def _kind(fact: Fact) -> str:
    kind = fact.own.get("entityType")
    return single_line(str(kind)) if kind and fact.type == "entity" else fact.type


# -------------------------------------------------------------------------------- XML

_XML = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"))


def _escaped(text: str) -> str:
    for sign, spelled in _XML:
        text = text.replace(sign, spelled)
    return text


def _xml_piece(piece: PackPiece) -> str:
    said = {
        "id": piece.fact.id,
        "type": _kind(piece.fact),
        "title": single_line(piece.fact.title),
        "date": piece.fact.created_at[:10],
        "source": piece.citation,
        "reason": piece.reason,
        "cut": "yes" if piece.cut else "",
    }
    attrs = "".join(f' {k}="{_escaped(v)}"' for k, v in said.items() if v)
    name = "entity" if piece.tier == "entities" else "fact"
    return f"<{name}{attrs}>\n{_escaped(piece.body)}\n</{name}>\n"


# ------------------------------------------------------------------------------- JSON


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_piece(piece: PackPiece) -> str:
    said: dict[str, object] = {
        "id": piece.fact.id,
        "type": _kind(piece.fact),
        "title": single_line(piece.fact.title),
        "date": piece.fact.created_at[:10],
        "source": piece.citation,
        "reason": piece.reason,
        "text": piece.body,
    }
    return _json(said | {"cut": True} if piece.cut else said)


PACK_FORMS: Mapping[str, PackFormat] = MappingProxyType(
    {
        "markdown": PackFormat(
            begin=lambda question: f"# Context: {question}",
            tier=lambda tier: f"\n\n## {tier.capitalize()}" + ("\n" if tier == "entities" else ""),
            piece=_md_piece,
            between="",
            end_tier=lambda _: "",
            end="",
        ),
        "xml": PackFormat(
            begin=lambda question: f'<context question="{_escaped(question)}">\n',
            tier=lambda tier: f"<{tier}>\n",
            piece=_xml_piece,
            between="",
            end_tier=lambda tier: f"</{tier}>\n",
            end="</context>",
        ),
        "json": PackFormat(
            begin=lambda question: f'{{"question": {_json(question)}',
            tier=lambda tier: f',\n"{tier}": [\n',
            piece=_json_piece,
            between=",\n",
            end_tier=lambda _: "\n]",
            end="}",
        ),
    }
)
"""Form -> how it is written."""
