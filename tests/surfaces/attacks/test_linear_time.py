"""Whatever a text is made of, everything that reads it takes time in proportion to its size.

Processor time, of which the fastest of a few runs counts. Two sizes of one text are compared
within one process, and the larger one with a floor that is measured right beside it: a plain pass
of a regular expression over as many characters. A suspicious pair is measured again with more
runs. What is fast even at the larger size is not compared: the clock would decide.
"""

from __future__ import annotations

import gc
import math
import re
import time
from collections.abc import Callable
from itertools import islice

import pytest

from tests.surfaces.attacks.hostile_texts import HostileText, hostile_texts
from tests.surfaces.attacks.text_readers import READERS, forget
from vaultsync.links.references import note_references
from vaultsync.markdown.blocks import fences, note_headings, prose_spans
from vaultsync.memory_files.sections import normalize
from vaultsync.notes.body import (
    BLOCK_END,
    BLOCK_START,
    ENTITIES_HEADING,
    read_blocks_above,
    read_body,
)
from vaultsync.recall.query import MAX_CHARS

pytestmark = pytest.mark.long(5)

MAX_EXPONENT = 1.15
"""Of the time over the size."""
KIB = 1 << 10
TEXTS = hostile_texts()
SHORT = 180
"""In the short form, each reader takes every so many-th text, and those that were quadratic."""
WERE_QUADRATIC = (
    "nest '![' '](a)'",
    "number '- item {}\\n\\n'",
    "grow '`'",
    "repeat '## Related Facts\\n'",
    "number 'password: pw{}Xy!\\n'",
    "repeat 'eyJ'",
    "repeat '[[a.'",
    "stretch '# a' ' ' 'b'",
    "stretch '[a](' ' ' 'b'",
    "stretch 'a:' ' ' '&b c'",
    "number 'passwort q{}Wz! als '",
    "repeat ','",
    "repeat '\\n'",
    "repeat 'a/'",
)
TOO_SHORT = 0.02
"""Seconds below which nothing is compared."""


def _seconds(read: Callable[[str], object], text: str, runs: int) -> float:
    found = []
    gc.disable()
    try:
        for _ in range(runs):
            forget()
            began = time.process_time()
            read(text)
            found.append(time.process_time() - began)
    finally:
        gc.enable()
    return min(found)


def _exponent(
    read: Callable[[str], object], make: HostileText, small: int, large: int
) -> tuple[float, float]:
    """The exponent between two sizes, and the seconds of the larger one."""
    exponent, after = 0.0, 0.0
    for runs in (1, 3, 6, 12):  # the machine may be busy with other things
        after = _seconds(read, make(large), runs)
        if after < TOO_SHORT:
            return 0.0, after
        before = _seconds(read, make(small), runs)
        exponent = math.log(after / max(before, 1e-6)) / math.log(large / small)
        if exponent <= MAX_EXPONENT:
            break
    return exponent, after


def test_there_are_more_than_three_hundred_kinds_of_text() -> None:
    assert len(TEXTS) >= 590
    assert all(KIB // 2 <= len(make(KIB)) <= 2 * KIB for make in TEXTS.values())


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.long(4)
def test_a_text_that_is_four_times_as_long_takes_four_times_as_long(reader: str) -> None:
    offset = list(READERS).index(reader) % SHORT
    for name in {*WERE_QUADRATIC, *islice(TEXTS, offset, None, SHORT)}:
        # A cheap look first: what is quadratic takes long at this size.
        seconds = _seconds(READERS[reader], TEXTS[name](16 * KIB), 1)
        if seconds > 0.075:
            exponent, _ = _exponent(READERS[reader], TEXTS[name], 4 * KIB, 16 * KIB)
            assert exponent <= 1.5, (reader, name, exponent)


MAX_FLOORS = 32
"""How many times as long as the floor a reader may take. Where a plain regular expression takes
0.05 s for 1 MiB, character by character, 20 are a second; the others are for a busy machine."""
MORE_FLOORS = 64
"""The same for readers that read a text several times."""
REREADERS = frozenset(
    {
        "redaction of a fact",  # each text, the text beside its secrets, and all together
        "rendered note",  # redacts, escapes, writes and reads
        "rewritten note",  # does so, and reads it twice
        "reworded note",  # does so twice, and compares both
        "linked entities",  # finds the secrets before and after
        "relink of properties",  # 60,000 characters of links at most, so of a small text all
        "anchors",  # a heading and a link for every eight characters
        "sections",  # before and after something is appended, and once more
        "body",  # alone, above the managed block and inside it
        "cut of a fact",  # for each format
        "differing lines",  # in each direction, and as a change
        "canvas",  # finds links and writes them, for two canvases
        "edited block",  # the block, its pieces and its items
        "edited index",  # the same
        "boxes",  # for each sort
    }
)
MOST_FLOORS = 128
"""For those that make a fact of each line, and one of a text whose characters are 18 letters."""
MAKERS = frozenset(
    {
        "edited sections",  # reads, changes and reads again
        *("import of csv", "import of jsonl"),  # a row of two characters
    }
)
OF_MANY_LETTERS = "repeat '\ufdfa'"
WORST = (
    *(("active constructs", f"repeat {sign!r}") for sign in ("javascript:", "obsidian:", "file:/")),
    ("active constructs", "repeat '![['"),
    ("active constructs", "nest '![' '](a)'"),
    ("active constructs", "repeat '<a href='"),
    ("blocks", "nest '- ' ''"),
    ("references", "nest '- ' ''"),
    ("redaction", "repeat 'a '"),
    ("redaction", "repeat 'secret: x1'"),
    ("redaction of a fact", "repeat 'api_key: '"),
    ("rendered note", "repeat 'password: a1B2c3D4\\n'"),
    ("relink of a note", "repeat '[![a](b)'"),
    ("mentions", "repeat '- a\\n'"),
    ("context pack", "nest '[a](' ')'"),
    ("sections", "repeat '## a\\n'"),
    ("relink of properties", "number '[[n{}]] '"),
    ("redaction", "repeat 'api_key: '"),
    ("redaction of a fact", "number 'token=t{}a9Zk3LmQ7wPx2Rv\\n'"),
    ("rewritten note", "repeat '<%'"),
    ("secrets", "repeat 'session=a1'"),
    ("rewritten note", "repeat 'session=a1'"),
    ("linked entities", "number 'password: pw{}Xy!\\n'"),
    ("active constructs", "repeat '!['"),
    ("anchors", "repeat '`$=a`\\n'"),
    ("mentions", "repeat '|a`|`\\n'"),
    ("body", "repeat '- > ```\\n'"),
    ("cut of a fact", "repeat '- > ```\\n'"),
    ("sections", "repeat 'a\\n---\\n'"),
    ("memory file", "repeat '## a\\n'"),
    ("module", "stretch 'decision' '\\n' 'b'"),
    ("chunks", "repeat '---\\n'"),
    ("role", "stretch '- ' ' ' 'b'"),
    ("question", "repeat '1 '"),
    ("differing lines", "stretch '<!--' '\\n' 'b'"),
    ("edited CRLF body", "stretch '<!--' '\\n' 'b'"),
    ("snippet", "repeat '\ufb03'"),
    ("snippet", "nest '![' '](a)'"),
    ("canvas", "repeat '- [[a]]\\n'"),
    ("message", "repeat ','"),
    ("edited block", "stretch '# a' ' ' 'b'"),
    ("edited sections", "repeat 'a\\n\\n- b\\n'"),
    ("edited settings", "repeat '\\n'"),
    ("edited settings", "repeat 'keys = [\\n'"),
    ("edited settings", "repeat '  # ]\\n'"),
    ("traces", "number 'passwort q{}Wz! als '"),
    ("globs", "repeat 'a/'"),
    ("backlog", "repeat '|-|\\n'"),
)
"""Readers and texts that took longest."""


def _cpu_seconds(read: Callable[[str], object], text: str) -> float:
    forget()
    began = time.process_time()
    read(text)
    return time.process_time() - began


def _floor(size: int) -> float:
    """The time of a plain pass over a text, right now: the machine may do other things, too."""
    text = "ab " * (size // 3)
    return min(_cpu_seconds(lambda x: [None for _ in _LETTER.finditer(x)], text) for _ in range(3))


_LETTER = re.compile(r"\w")


def _max_floors(reader: str, text: str) -> int:
    if reader in MAKERS or text == OF_MANY_LETTERS:
        return MOST_FLOORS
    return MORE_FLOORS if reader in REREADERS else MAX_FLOORS


def _floors(reader: str, text: str, size: int) -> float:
    """The time of a reader, as a multiple of the floor."""
    found = math.inf
    for _ in range(3):
        found = min(found, _cpu_seconds(READERS[reader], TEXTS[text](size)) / _floor(size))
        if found <= _max_floors(reader, text):
            break
    return found


@pytest.mark.long(5)
@pytest.mark.parametrize(("reader", "text"), WORST)
def test_what_took_longest_takes_no_more_than_a_few_plain_passes(
    reader: str, text: str, request: pytest.FixtureRequest
) -> None:
    _cpu_seconds(READERS[reader], TEXTS[text](KIB))  # what is loaded and compiled once
    # A cheap look first: what is quadratic would take minutes.
    assert _floors(reader, text, 64 * KIB) <= 2 * _max_floors(reader, text)
    if not request.config.getoption("--short"):
        assert _floors(reader, text, 256 * KIB) <= _max_floors(reader, text)


MAX_QUESTION_SECONDS = 0.1
"""Most questions that are as long as what is read of one take a tenth of this."""


@pytest.mark.parametrize("reader", ["question", "query"])
def test_any_question_is_read_in_time(reader: str, request: pytest.FixtureRequest) -> None:
    """What it asks for is looked up by many patterns, but only in its first characters."""
    read = READERS[reader]
    for make in islice(TEXTS.values(), 0, None, 5 if request.config.getoption("--short") else 1):
        text = make(MAX_CHARS)
        _cpu_seconds(read, text[:100])  # what is loaded and compiled once
        fast = (_cpu_seconds(read, text) <= MAX_QUESTION_SECONDS for _ in range(5))
        assert any(fast), text[:100]


MAX_SECONDS = 5
"""Of processor time for a text of 100 to 200 kB. What is quadratic takes minutes."""


def test_fences_that_nothing_closes_are_read_in_time() -> None:
    began = time.process_time()
    for text in ("```\n````\n" * 20_000, "> " * 50_000, "- ```\n" * 20_000):
        assert len(prose_spans(text)) + len(fences(text)) < 40_000
    assert time.process_time() - began < MAX_SECONDS


def test_the_blocks_of_many_merged_notes_are_read_in_time() -> None:
    block = f"```\n```\n{BLOCK_START}\n## {ENTITIES_HEADING}\n- [[a]]\n{BLOCK_END}\n"
    body = read_body("# T\n\n" + block * 2_000)
    began = time.process_time()
    assert read_blocks_above(body) == (frozenset(), frozenset({"a"}))
    assert time.process_time() - began < MAX_SECONDS


def test_links_to_headings_below_others_are_looked_up_in_time() -> None:
    note = "".join(f"# h{number}\n## h{number}\n" for number in range(30_000))
    anchors = note_references(note, {}).anchors
    began = time.process_time()
    assert all(anchors.holds(f"#h{number}#h{number}") for number in range(30_000))
    assert time.process_time() - began < MAX_SECONDS


@pytest.mark.parametrize("line", ["# " + " " * 99_999 + "x", "`" * 99_999, "```\n````\n" * 9_999])
def test_headings_among_long_lines_are_found_in_time(line: str) -> None:
    text = f"# {line}\n{line}\n# "
    assert len(note_headings(text)) <= 2
    assert _cpu_seconds(note_headings, text) < MAX_SECONDS


def test_blanks_within_a_line_of_a_memory_file_are_read_in_time() -> None:
    assert _cpu_seconds(normalize, "a" + " " * 99_999 + "b \n") < MAX_SECONDS


SLOWEST = 24
"""Of so many texts, those that take a reader longest, larger ones are read, too."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("reader", READERS)
def test_the_time_of_every_reader_is_linear(reader: str) -> None:
    """Every text of 64 KiB, the slowest of 256 KiB, and the very slowest of 1 and 4 MiB.

    All of them at all sizes take more than an hour.
    """
    read, seconds = READERS[reader], dict[str, float]()
    _cpu_seconds(read, "a b\n")  # what is loaded and compiled once
    failed: list[tuple[str, float]] = []

    def check(name: str, *sizes: int) -> None:
        """Whether the exponent is too large at all of some sizes, the smallest first."""
        found = 0.0
        for size in sizes:
            found, _ = _exponent(read, TEXTS[name], size * KIB // 4, size * KIB)
            if found <= MAX_EXPONENT:
                return
        failed.append((name, round(found, 2)))

    for name, make in TEXTS.items():
        seconds[name] = _cpu_seconds(read, make(64 * KIB))
        if seconds[name] >= TOO_SHORT:
            check(name, 64, 256, 1024)
    slowest = sorted(seconds, key=lambda name: -seconds[name])[:SLOWEST]
    for name in slowest:
        check(name, 256, 1024)
    for name in slowest[:1]:
        check(name, 1024, 4096)
        check(name, 4096)
    assert not failed, failed
    floors = {name: _floors(reader, name, 256 * KIB) for name in slowest}
    slow = {name: n for name, n in floors.items() if n > _max_floors(reader, name)}
    assert not slow, slow
