"""The user's edits in the managed block of a memory file, item by item.

The block is compared with what it said when it was written, which the state folder keeps. An
edit of an item is one of its fact where the item, read back, says all that the edit says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from vaultsync.context_packs.formats import fact_body
from vaultsync.errors import UsageError
from vaultsync.markdown.blocks import fences
from vaultsync.markdown.diff3 import merge_text
from vaultsync.memory_files.managed_block import FULL, INDEX, block_body, escape_marks, item_text
from vaultsync.memory_files.sections import hash_of
from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.model.schema import Value

REMOVED = "you removed it from the block; it comes back when the fact changes"
_INDEX_ITEM = lazy_pattern(r"- (?P<title>.*) \((?P<type>[\w-]+)\)\Z")
_ITEM = lazy_pattern("~{3,} memory of ")
_MOST_SEALS = 100
_BULLET = lazy_pattern(r"\A\s*+[-*+]\s+")


class BlockItem(Struct, frozen=True):
    """What a block said of one fact."""

    id: str
    text: str


class WrittenBlock(Struct, frozen=True):
    """A block as it was written: the base of what a person made of it."""

    digest: str
    """Its seal, which the edited block still has."""
    form: str
    items: tuple[BlockItem, ...] = ()


class BlockBases(Struct, frozen=True):
    """What is known of a block between two writes."""

    written: tuple[WrittenBlock, ...] = ()
    """As it was written, the newest first: a crash may come before the last one is in the file."""
    removed: Mapping[str, str] = {}
    """The facts that a person removed from it, and what they said then: `said_by()`."""
    seals: tuple[str, ...] = ()
    """Of the blocks that were written here, the newest last."""
    replaced: tuple[str, ...] = ()
    """The seals of blocks that were written elsewhere, and that an update replaced."""

    def after_writing(self, block: WrittenBlock, over: str, *, renews: bool) -> BlockBases:
        """What is known once a block is written over one with the seal `over`.

        An update that `renews` the block replaces one that was written elsewhere only once: two
        vaults that fill a block would replace it in turn without end. A command of the user may
        replace any block.
        """
        others = [each for each in self.written if each.digest != block.digest]
        seals = dict.fromkeys((*self.seals, *(x.digest for x in others), block.digest))
        replaced = (*self.replaced, *({over} - {*seals, ""})) if renews else ()
        return BlockBases(
            (block, *others[:1]), self.removed, (*seals,)[-_MOST_SEALS:], replaced[-_MOST_SEALS:]
        )


class ItemEdit(NamedTuple):
    """An edit of an item, or a text that a person added."""

    fact_id: str
    """Empty for a text."""
    before: str
    after: str | None
    """None if the item was removed."""
    line: int | None = None
    """Of the file."""


class IntendedChange(NamedTuple):
    """What an edit of an item means for its fact."""

    values: Mapping[str, Value]
    """The fields that it changes; none where all that was removed is no field."""
    exact: bool
    """Whether the fact would be shown just as the item was edited."""


def read_block_edits(
    text: str, written: Sequence[WrittenBlock]
) -> tuple[WrittenBlock, list[ItemEdit]] | None:
    """A block as it was written, and its edits in the order of the file; removed items come last.

    The seal in `text`, that of the file, tells which of the `written` blocks was edited.

    Returns:
        None if none of them was, or if the items cannot be told apart any more.
    """
    body = block_body(text)
    base = next((x for x in written if body is not None and x.digest == body.digest), None)
    if body is None or base is None:
        return None
    keys = {_key(each.text, base.form): each.id for each in base.items}
    lines = body.items(base.form)
    pieces = _full_pieces(lines, keys) if base.form == FULL else _index_pieces(lines, keys)
    if pieces is None or len(keys) < len(base.items):
        return None
    items = {each.id: each for each in base.items}
    edits, kept_ids = [], set[str]()
    for number, piece, named in pieces:
        fact_id = named[0] if named else ""
        if fact_id in kept_ids:
            return None
        before = items[fact_id].text if named else ""
        if not {*named} <= {fact_id, *(keys.get(line) for line in before.split("\n"))}:
            return None
        kept_ids |= {*named[:1]}
        if _plain(piece) != _plain(before):
            edits.append(ItemEdit(fact_id, before, piece, body.first_line + number))
    removed = (each for each in base.items if each.id not in kept_ids)
    return base, edits + [ItemEdit(each.id, each.text, None) for each in removed]


def fact_edit(fact: Fact, edit: ItemEdit, form: str) -> IntendedChange:
    """What an edit of an item means for its fact, as that is now.

    Where the fact changed since the block was written, both changes are merged by line.
    """
    after, now = edit.after or "", item_text(fact, form)
    merged = merge_text(f"{edit.before}\n", f"{after}\n", f"{now}\n")
    if merged is not None:
        values = _values(fact, merged.removesuffix("\n"), form)
        if values is not None:
            return IntendedChange(values, exact=True)
    values = _values(fact, after, form)
    if values is None:
        known = {*edit.before.split("\n"), *now.split("\n")}
        added = "\n".join(x for x in after.split("\n") if x.strip() and x not in known)
        values = {"content": f"{fact.content}\n\n{added}".strip("\n")} if added else {}
    return IntendedChange(values, exact=False)


def text_of_edit(edit: ItemEdit) -> str:
    """What a person wrote: a text without its bullet, an item without what was around it."""
    lines = (edit.after or "").split("\n")
    if edit.fact_id and len(lines) > 1:
        before = edit.before.split("\n")
        around = {before[0], before[-1], _key(edit.before, FULL)}
        lines = [line for line in lines if line not in around]
    elif len(lines) == 1:
        lines = [_BULLET.sub("", lines[0], count=1)]
    return "\n".join(lines).strip("\n")


def said_by(fact: Fact) -> str:
    """A digest of what a block may show of a fact."""
    return hash_of(f"{fact.title}\n{fact.type}\n{fact_body(fact)}")


def without_removed(
    facts: Sequence[Fact], bases: BlockBases
) -> tuple[list[Fact], list[tuple[Fact, str]]]:
    """The facts for a block, and those that a person removed from it and that did not change."""
    gone = [x for x in facts if bases.removed.get(x.id) == said_by(x)] if bases.removed else []
    return [x for x in facts if x not in gone], [(x, REMOVED) for x in gone]


# ------------------------------------------------------------------------ items -> texts


def _full_pieces(
    lines: Sequence[str], keys: Mapping[str, str]
) -> list[tuple[int, str, Sequence[str]]] | None:
    """The fenced items of a block, and the texts between them; None if they are not whole.

    Each with the number of its first line, and the facts that it names.
    """
    text = "\n".join(lines)
    spans, at = [], 0
    for fence in (each for each in fences(text) if not each.depth):
        if fence.close == fence.end:
            return None
        spans += [(at, fence.start, False), (fence.start, fence.end, True)]
        at = fence.end
    pieces: list[tuple[int, str, Sequence[str]]] = []
    line = counted = 0
    for start, end, fenced in (*spans, (at, len(text), False)):
        piece = text[start:end].strip("\n")
        if not piece.strip():
            continue
        named = [keys[line] for line in piece.split("\n") if line in keys]
        if bool(named) != (fenced and _ITEM.match(piece) is not None):
            return None
        blanks = len(text[start:end]) - len(text[start:end].lstrip("\n"))
        line, counted = line + text.count("\n", counted, start), start
        pieces.append((line + blanks, piece, named))
    return pieces


def _index_pieces(
    lines: Sequence[str], keys: Mapping[str, str]
) -> list[tuple[int, str, Sequence[str]]]:
    """The lines of an index; those without an item that follow each other are one text."""
    pieces: list[tuple[int, list[str], Sequence[str]]] = []
    at = -1
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        key = max((key for key in keys if key in line), key=len, default=None)
        named = [] if key is None else [keys[key]]
        goes_on = pieces and at == number - 1 and not (named or pieces[-1][2])
        if goes_on and not _BULLET.match(line):
            pieces[-1][1].append(line)
        else:
            pieces.append((number, [line], named))
        at = number
    return [(number, "\n".join(texts), named) for number, texts, named in pieces]


def _key(item: str, form: str) -> str:
    """What tells an item from others: the line, or its end, that says where its note is."""
    if form != FULL:
        return item[item.rindex(" · ") :]
    lines = item.split("\n")
    return next((x for x in lines[1:4] if x.startswith("*") and x.endswith("*")), lines[1])


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


# ----------------------------------------------------------------------- texts -> fields


def _values(fact: Fact, wanted: str, form: str) -> dict[str, Value] | None:
    """The values with which the fact is shown as `wanted`; None if there are none."""
    found = _of_full(fact, wanted) if form == FULL else _of_index(fact, wanted)
    if found is None:
        return None
    values = {key: value for key, value in found.items() if value != fact.plain(key)}
    try:
        shown = item_text(fact.replace(values), form)
    except UsageError:
        return None
    return values if _plain(shown) == _plain(escape_marks(wanted)) else None


def _of_index(fact: Fact, wanted: str) -> dict[str, Value] | None:
    place = _key(item_text(fact, INDEX), INDEX)
    found = _INDEX_ITEM.match(wanted.rstrip().removesuffix(place))
    return {"title": found["title"], "type": found["type"]} if found else None


def _of_full(fact: Fact, wanted: str) -> dict[str, Value] | None:
    shown = item_text(fact, FULL)
    key = _key(shown, FULL)
    (head, body), (new_head, new_body) = _parts(shown, key), _parts(wanted, key)
    if new_head is None or head is None or bool(head) != bool(new_head):
        return None
    title = new_head.removeprefix("# ") if new_head != head else fact.title
    content = escape_marks(fact.content)
    wording = dict(zip(content.split("\n"), fact.content.split("\n"), strict=True))
    at = body.find(content) if content else -1
    start, end = body[:at], body[at + len(content) :]
    if not body:  # the title says it all
        content = f"{content}\n\n{new_body}".strip("\n")
    elif at >= 0 and new_body.startswith(start) and new_body.endswith(end):
        content = new_body[at : len(new_body) - len(end)]
    elif content.endswith(body):  # its first sentence is the title
        content = content.removesuffix(body) + new_body
    content = "\n".join(wording.get(line, line) for line in content.split("\n"))
    if title != fact.title and content.startswith(fact.title):
        content = title + content.removeprefix(fact.title)
    if not content.strip():
        return None  # nothing is forgotten by an edit of the block
    return {"title": title, "content": content}


def _parts(item: str, key: str) -> tuple[str | None, str]:
    """The heading above the key of an item, and the text below; None if the key is elsewhere."""
    lines = item.split("\n")[1:-1]
    for number, line in enumerate(lines[:3]):
        if line == key:
            return "\n".join(lines[:number]).strip("\n"), "\n".join(lines[number + 1 :]).strip("\n")
    return None, ""
