"""The managed block of a memory file: the facts to read at the start of a session.

It stands between two marks, and its first line has a digest of the others, which tells an edit
of a person without any state beside the file. Hosts read the file as instructions, and some
import what `@path` names, so that the text of facts stands in fences, as in a context pack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from vaultsync.context_packs.formats import (
    PACK_FORMS,
    QUOTE_NOTE,
    PackPiece,
    citation_of,
    fact_body,
    single_line,
    tildes_around,
)
from vaultsync.errors import UnreadableMemoryFileError
from vaultsync.hosts.marked_blocks import (
    INSTRUCTIONS,
    BlockMarks,
    find_block,
    line_end,
    remove_block,
    write_block,
)
from vaultsync.markdown.blocks import fences
from vaultsync.model.canonical import to_microseconds
from vaultsync.model.decay import by_tier, decay_factor, last_used, recency, utility
from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.ranking import RankingSignals, RankingWeights, weighted_score

MARKS = BlockMarks("<!-- vaultsync:memory:begin -->", "<!-- vaultsync:memory:end -->")
FULL, INDEX = "full", "index"
BLOCK_FORMS = (FULL, INDEX)
_HEAD = f"## Memory\n\n{QUOTE_NOTE}"
_SEAL = "<!-- `vaultsync memory-file manage` writes this block; write above or below it. {} -->"
_SEALED = lazy_pattern(r"<!-- .* ([0-9a-f]{12}) -->\n?")
_WORDS = lazy_pattern(r"[^\r\n]+")
_FORMATTED = lazy_pattern(r"`{3,}(memory(?: of [^\r\n]*)?)\n")
_FENCES = ("~~~ memory", "~~~")
"""The lines around an index."""
_MAX_SHOWN = 3
"""Maximum number of edited lines that are listed."""
_STALE = 0.5
"""The recency below which an observation no longer counts as critical: after one half-life."""


class BlockLimits(NamedTuple):
    """The size limits of block and file."""

    budget: int
    """Tokens of the block."""
    max_bytes: int | None
    """Of the whole file, like the lines; None for no limit."""
    max_lines: int | None


class FilledBlock(NamedTuple):
    """A file with its block, and the contents of the block."""

    text: str | None
    """Of the whole file; None if there is none, and nothing to put into one."""
    tokens: int
    """Of the block; 0 if there is none."""
    taken: Sequence[Fact]
    """The facts in the block, in order."""
    left_out: Sequence[tuple[Fact, str]]
    """The facts that do not fit, the most important first, with the reason."""


def by_worth(facts: Sequence[Fact]) -> list[Fact]:
    """The facts by tier, observations last, then by importance, use and recency.

    A critical observation counts as notable once it is older than its half-life: what failed last
    month would leave no room for anything else. Recency counts back from the fact that was used
    last, and not from today: without a change of the memory the order does not change either.
    """
    moments = [datetime.fromisoformat(each) for each in map(last_used, facts) if each]
    newest = max(moments, default=datetime.min.replace(tzinfo=UTC))
    weights = RankingWeights()

    def worth(fact: Fact) -> float:
        used = utility(fact.importance, fact.access_count)
        return weighted_score(RankingSignals(0.0, decay_factor(fact, newest), used), weights)

    def place(fact: Fact) -> tuple[int, bool, int]:
        tier, is_observation, priority = by_tier(fact)
        is_stale = is_observation and recency(fact.created_at, fact.type, newest) < _STALE
        return max(tier, int(is_stale)), is_observation, priority

    return sorted(facts, key=lambda fact: (place(fact), -worth(fact), fact.id))


def fill_block(
    text: str | None,
    facts: Sequence[Fact],
    *,
    form: str,
    limits: BlockLimits,
    count: Callable[[str], int],
    other_bytes: int = 0,
) -> FilledBlock:
    """A file with as many whole facts as the limits leave room for.

    The `facts` are by worth: one that does not fit leaves its room to the next ones. `form` is
    `full` or `index`, `count` counts the tokens of a text, and `other_bytes` are those of the file
    that are not in `text`.
    """
    items = {fact.id: _item(fact, form) for fact in facts}
    line_bytes = len(line_end(text, MARKS))

    def size(of: str) -> tuple[int, int]:
        breaks = of.count("\n")
        return len(of.encode()) + (line_bytes - 1) * breaks, breaks

    without_items = _body([], form, headed=True)
    empty = write_block(text, MARKS, without_items)
    used_bytes, used_lines = len(empty.encode()) + other_bytes, count_lines(empty)
    used_tokens = count(_marked(without_items))
    included: list[Fact] = []
    left_out: list[tuple[Fact, str]] = []
    for fact in facts:
        item = items[fact.id]
        (more_bytes, more_lines), more_tokens = size(item), count(item)
        if used_tokens + more_tokens > limits.budget:
            left_out.append((fact, f"the budget is {limits.budget} tokens"))
        elif limits.max_bytes is not None and used_bytes + more_bytes > limits.max_bytes:
            left_out.append((fact, f"the file may have {limits.max_bytes} bytes"))
        elif limits.max_lines is not None and used_lines + more_lines > limits.max_lines:
            left_out.append((fact, f"the file may have {limits.max_lines} lines"))
        else:
            included.append(fact)
            used_bytes += more_bytes
            used_lines += more_lines
            used_tokens += more_tokens

    def block() -> str:
        # The order is that of the tiers and of time, so that a fact that is used more often
        # moves no other lines.
        included.sort(key=lambda x: (x.priority, to_microseconds(x.created_at), x.id))
        return _body([items[fact.id] for fact in included], form)

    by_rank = list(included)
    # A tokenizer may take one more for a whole than for its parts.
    while included and count(_marked(block())) > limits.budget:
        last = by_rank.pop()
        included.remove(last)
        left_out.append((last, f"the budget is {limits.budget} tokens"))
    ranks = {fact.id: number for number, fact in enumerate(facts)}
    left_out.sort(key=lambda each: ranks[each[0].id])
    if not included and (text is None or find_block(text, MARKS) is None):
        return FilledBlock(text, 0, (), left_out)
    body = block()
    if text is None or not _says(text, body):
        text = write_block(text, MARKS, body)
    return FilledBlock(text, count(_marked(body)), included, left_out)


def _says(text: str, body: str) -> bool:
    """Whether the block of a file has a body already, perhaps in the form of a formatter."""
    found, seal = block_body(text), _SEALED.match(body)
    return bool(found and seal and not found.edited and found.digest == seal[1])


def edited_lines(text: str, facts: Sequence[Fact], form: str) -> list[tuple[int, str]] | None:
    """Lines of the block that a person edited, with their numbers; None if it is as written.

    There may be none although it was edited: lines were removed then, or only blanks changed.
    """
    body = block_body(text)
    if body is None or not body.edited:
        return None
    known = {line for fact in facts for line in _item(fact, form).split("\n")}
    known.update(_HEAD.split("\n"), _FENCES)
    found = [
        (number, line.strip())
        for number, line in enumerate(body.lines, body.first_line)
        if line.strip() and line not in known and not _SEALED.fullmatch(line)
    ]
    return found[:_MAX_SHOWN]


class BlockBody(NamedTuple):
    """The lines of a block between its marks, without the seal."""

    lines: Sequence[str]
    first_line: int
    """The number of the first one in the file."""
    digest: str
    """The checksum in the block; empty if there is none."""

    @property
    def edited(self) -> bool:
        """Whether the lines differ from those of the checksum, but for blank ones around them."""
        text = "\n".join(self.lines)
        return self.digest not in (_digest(text), _digest(text.strip("\n")))

    def items(self, form: str) -> Sequence[str]:
        """The lines, with blanks for those that stand around all items."""
        around = {*_HEAD.split("\n"), *(_FENCES if form == INDEX else ())}
        return ["" if line in around else line for line in self.lines]


def block_body(text: str) -> BlockBody | None:
    """The lines of the block of a file; None if there is none."""
    span = find_block(text, MARKS)
    if span is None:
        return None
    lines = _own_fences(text[span[0] : span[1]].replace("\r\n", "\n")).split("\n")[1:-1]
    first = text.count("\n", 0, span[0]) + 2
    seal = _SEALED.fullmatch(lines[0]) if lines else None
    return BlockBody(lines[1:], first + 1, seal[1]) if seal else BlockBody(lines, first, "")


def _own_fences(block: str) -> str:
    """A block with the fences that it was written with: Prettier changes them to backticks."""
    parts, at = [], 0
    for fence in fences(block) if "```memory" in block else ():
        found = _FORMATTED.fullmatch(block, fence.start, fence.inner)
        if found and fence.closed:
            inner = block[fence.inner : fence.close]
            tildes = tildes_around(inner)
            end = fence.close + len(block[fence.close : fence.end].rstrip("\n"))
            parts += [block[at : fence.start], f"{tildes} {found[1]}\n{inner}{tildes}"]
            at = end
    return "".join((*parts, block[at:]))


def find_managed_block(text: str) -> tuple[int, int] | None:
    """Where the block begins and ends; None if there is none, or the marks do not make just one.

    Between a mark without its partner and another block there may be text of a person.
    """
    return find_block(text, MARKS) if len(_mark_lines(text)) == 2 else None  # noqa: PLR2004 - a pair


def check_marks(text: str, name: str) -> None:
    """Refuse a file in which the marks do not make one block.

    Raises:
        UnreadableMemoryFileError: a mark stands alone, or more than once.
    """
    numbers = _mark_lines(text)
    if numbers and find_managed_block(text) is None:
        why = "a marker of the managed block is unpaired or repeated"
        hint = f"leave one {MARKS.begin} with one {MARKS.end} below it, or remove all"
        raise UnreadableMemoryFileError(name, f"{why} (line {numbers[0]})", hint=hint)


def has_marks(text: str) -> bool:
    """Whether a line of a text begins with a mark of a block."""
    return bool(_mark_lines(text))


def _mark_lines(text: str) -> list[int]:
    """The numbers of the lines that begin with a mark."""
    if MARKS.begin not in text and MARKS.end not in text:
        return []
    lines = enumerate(text.split("\n"), 1)
    return [number for number, line in lines if line.startswith((MARKS.begin, MARKS.end))]


def hide_block(text: str) -> str:
    """A text whose block is empty lines: what came from the memory does not come back as news.

    The instructions of an installation or a repository are blanks, and keep their length.
    """
    span = find_managed_block(text)
    if span is not None:
        text = text[: span[0]] + "\n" * text.count("\n", *span) + text[span[1] :]
    for marks in INSTRUCTIONS:
        span = find_block(text, marks)
        if span is not None:
            blank = _WORDS.sub(lambda words: " " * len(words[0]), text[slice(*span)])
            text = text[: span[0]] + blank + text[span[1] :]
    return text


def without_blocks(text: str) -> str:
    """A text without the block, and without the instructions of an installation or a repository."""
    for marks in (MARKS, *INSTRUCTIONS):
        text = remove_block(text, marks) or ""
    return text


def find_own_block(text: str) -> tuple[int, int] | None:
    """Where the managed block is, else instructions of vaultsync; None if neither is."""
    spans = (find_managed_block(text), *(find_block(text, marks) for marks in INSTRUCTIONS))
    return next(filter(None, spans), None)


def count_lines(text: str) -> int:
    """The number of lines of a text; a last line without a newline counts."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _item(fact: Fact, form: str) -> str:
    """What the block says of a fact, with the line ends before it."""
    if form == INDEX:
        place = single_line(fact.path or fact.id)
        item = f"\n- {single_line(fact.title)} ({fact.type}) · {place}"
    else:
        piece = PackPiece(fact, "", "", citation_of(fact), fact_body(fact))
        text = PACK_FORMS["markdown"].piece(piece).strip("\n")
        item = "\n\n" + text.replace("\r\n", "\n").replace("\r", "\n")
    return escape_marks(item)


def item_text(fact: Fact, form: str) -> str:
    """What the block says of a fact."""
    return _item(fact, form).strip("\n")


def escape_marks(text: str) -> str:
    """A text without comments: they could be marks."""
    return text.replace("<!--", "&lt;!--")


def _body(items: Sequence[str], form: str, *, headed: bool = False) -> str:
    """The lines of the block; only the first one if there are no items."""
    content = ""
    if items or headed:
        text = "".join(items)
        content = _HEAD + (f"\n\n{_FENCES[0]}{text}\n{_FENCES[1]}" if form == INDEX else text)
    return _SEAL.format(_digest(content)) + ("\n" + content if content else "")


def _marked(body: str) -> str:
    return f"{MARKS.begin}\n{body}\n{MARKS.end}"


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
