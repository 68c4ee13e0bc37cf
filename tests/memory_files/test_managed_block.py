"""The managed block of a memory file: within its limits, and nothing else of the file moves."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory_file_worlds import DEPLOY, SimFile, SimQueue, memory
from tests.packs import Words, words
from tests.recalls import RecallWorld
from vaultsync import errors
from vaultsync.hosts.marked_blocks import find_block
from vaultsync.memory_files.block_edits import BlockBases
from vaultsync.memory_files.host_limits import HOST_LIMITS, host_of_file
from vaultsync.memory_files.manage import (
    MAX_WRITE_TRIES,
    ManageRequest,
    facts_for_session,
    manage_file,
    refit_block,
)
from vaultsync.memory_files.managed_block import (
    BLOCK_FORMS,
    MARKS,
    BlockLimits,
    by_worth,
    count_lines,
    edited_lines,
    fill_block,
)
from vaultsync.memory_files.report import ManagedFile
from vaultsync.memory_files.section_edit import insert_section
from vaultsync.memory_files.sections import read_memory
from vaultsync.memory_files.state import SOURCE_PREFIX
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.recall.recall_request import RecallRequest


def fact(number: int, text: str = "Slack water lasts 22 minutes.", **more: Value) -> Fact:
    day = f"2026-01-{1 + number % 28:02}T00:00:00Z"
    fields: dict[str, Value] = {"title": f"Fact {number}", "content": text, "createdAt": day}
    id_ = f"01890a5d-ac96-774b-bcce-{number:012}"
    return make_fact({"id": id_, "type": "fact", "scope": "public", **fields, **more})


def managed(
    file: SimFile,
    facts: list[Fact],
    *,
    queue: SimQueue | None = None,
    budget: int | None = None,
    max_bytes: int | None = None,
    form: str = "full",
    dry_run: bool = False,
) -> ManagedFile:
    request = ManageRequest(budget, max_bytes, form=form, dry_run=dry_run)
    return manage_file(
        file,
        queue or SimQueue(),
        lambda: facts,
        request,
        Words(),
        redact=lambda text: text,
        bases=BlockBases,
        record=lambda _: None,
    )


def sections(data: bytes) -> list[tuple[str, str, int]]:
    """Title, hash and line of the sections that a sync reads."""
    read = read_memory(data, name="n", title="n")
    return [(each.title, each.hash, each.line) for each in read.outline.sections]


def around(text: str) -> tuple[str, str]:
    span = find_block(text, MARKS)
    assert span is not None
    return text[: span[0]], text[span[1] :]


_TEXTS = st.text("ab é\n\r~#-<!>@`", max_size=60)
_FACTS = st.lists(st.tuples(_TEXTS, st.integers(0, 4), st.floats(0, 1)), max_size=8).map(
    lambda found: by_worth(
        [
            fact(n, f"{text} {MARKS.end}\n{MARKS.begin}", priority=p, importance=i)
            for n, (text, p, i) in enumerate(found)
        ]
    )
)
_LIMITS = st.builds(
    BlockLimits,
    st.integers(1, 120),
    st.none() | st.integers(1, 2_000),
    st.none() | st.integers(1, 60),
)


@given(st.none() | _TEXTS, _FACTS, _LIMITS, st.sampled_from(BLOCK_FORMS))
def test_a_block_is_within_its_limits_and_nothing_else_moves(
    text: str | None, facts: list[Fact], limits: BlockLimits, form: str
) -> None:
    filled = fill_block(text, facts, form=form, limits=limits, count=words)
    ids = {each.id for each in filled.taken}
    assert ids.isdisjoint(each.id for each, _ in filled.left_out)
    assert len(ids) + len(filled.left_out) == len(facts)
    if not ids:
        assert filled.text == text
        return
    assert filled.text is not None
    assert filled.tokens <= limits.budget
    assert limits.max_bytes is None or len(filled.text.encode()) <= limits.max_bytes
    assert limits.max_lines is None or count_lines(filled.text) <= limits.max_lines
    before, after = around(filled.text)
    assert before.startswith(text or "")
    assert not before.removeprefix(text or "").strip()
    assert not after.strip()
    assert edited_lines(filled.text, facts, form) is None
    # The same memory writes the same bytes, and another one changes nothing but the block.
    assert fill_block(filled.text, facts, form=form, limits=limits, count=words) == filled
    edited = f"mine\n{before}{filled.text[len(before) : len(filled.text) - len(after)]}\nalso mine"
    less = fill_block(edited, facts[1:], form=form, limits=limits, count=words)
    assert less.text is not None
    assert around(less.text) == around(edited)


def test_a_whole_may_take_more_tokens_than_its_parts() -> None:
    def count(text: str) -> int:
        return words(text) + 5 * (text.count("# Fact") > 1)

    facts = [fact(1), fact(2)]
    room = fill_block(None, facts, form="full", limits=BlockLimits(900, None, None), count=words)
    limits = BlockLimits(room.tokens, None, None)
    filled = fill_block(None, facts, form="full", limits=limits, count=count)
    assert [each.id for each in filled.taken] == [facts[0].id]
    assert filled.tokens <= room.tokens


def test_tier_comes_first_then_importance_use_and_recency() -> None:
    ranked = by_worth(
        [
            fact(1, priority=3, importance=1.0),
            fact(2, priority=1, importance=0.2),
            fact(3, priority=1, importance=0.9),
            fact(4, priority=1, importance=0.9, accessCount=50),
            fact(5, priority=0, importance=0.1),
        ]
    )
    assert [each.title[-1] for each in ranked] == ["5", "4", "3", "2", "1"]
    old, new = fact(1), fact(20)
    assert by_worth([old, new]) == [new, old]


def test_an_observation_is_critical_for_two_weeks_and_then_follows_the_notable() -> None:
    def observed(number: int, day: str) -> Fact:
        return fact(number, type="observation", priority=0, importance=0.9, createdAt=day)

    facts = [
        fact(1, createdAt="2026-01-01", priority=0),
        observed(2, "2026-02-20"),
        fact(3, createdAt="2026-01-01", priority=2),
        observed(4, "2026-02-10"),
        fact(5, createdAt="2026-02-28", priority=3),
    ]
    assert by_worth(facts[::-1]) == facts


def test_a_host_is_told_by_the_name_of_its_file() -> None:
    names = ["~/w/MEMORY.md", "CLAUDE.md", "./AGENTS.md", "GEMINI.md", "QWEN.md", "notes.md"]
    hosts = ["claude-code", "claude-code", "codex", "gemini", "qwen", "generic"]
    assert [host_of_file(name) for name in names] == hosts
    assert all(limits.source for limits in HOST_LIMITS.values())


def test_the_limits_of_the_host_hold_for_the_whole_file() -> None:
    own = "line\n" * 150
    file = SimFile(data=own.encode())
    done = managed(file, [fact(n) for n in range(40)], budget=100_000)
    limits = HOST_LIMITS["claude-code"]
    assert (done.host, done.max_bytes, done.max_lines) == ("claude-code", *limits[:2])
    assert done.lines == file.text.count("\n") <= 200
    assert done.bytes == len(file.data or b"")
    assert {each.reason for each in done.left_out} == {"the file may have 200 lines"}
    assert done.included
    assert managed(file, [fact(n) for n in range(40)], max_bytes=1_000).left_out[-1].reason == (
        "the file may have 1000 bytes"
    )


def test_an_edited_block_is_kept_and_reported() -> None:
    file = SimFile()
    assert managed(file, [fact(1)]).status == "written"
    assert managed(file, [fact(1)]).status == "unchanged"
    edited = file.text.replace("22 minutes", "25 minutes")
    file.says(edited)
    done = managed(file, [fact(1), fact(2)])
    assert (done.status, file.text) == ("edited", edited)
    (said,) = done.attention
    assert said.kind == "EditedBlock"
    assert said.message.endswith("line 12: Slack water lasts 25 minutes.")
    assert said.line == 12
    cut = "\n".join(line for line in file.text.split("\n") if "22" not in line and "25" not in line)
    file.says(cut)
    (said,) = managed(file, [fact(1)]).attention
    assert (said.line, file.text) == (None, cut)
    empty = f"{MARKS.begin}\n{MARKS.end}"
    file.says(empty)
    assert managed(file, [fact(1)]).status == "edited"
    file.says("")
    assert managed(file, [fact(1)]).status == "written"


def _by_prettier(text: str) -> str:
    """A file as Prettier writes it: fences of backticks, and blank lines around comments."""
    text = re.sub(r"(?ms)^(~{3,}) (memory.*?\n)\1$", r"```\2```", text)
    seal, _, rest = text.partition(" -->\n## Memory")
    return f"{seal} -->\n\n## Memory{rest}".replace(f"\n{MARKS.end}", f"\n\n{MARKS.end}")


@pytest.mark.parametrize("form", BLOCK_FORMS)
def test_a_block_that_prettier_formatted_is_not_edited(form: str) -> None:
    file, facts = SimFile(), [fact(1), fact(2, "~~~\ncode\n~~~")]
    file.says("# Mine\n")
    managed(file, facts, form=form)
    formatted = _by_prettier(file.text)
    assert "```memory" in formatted
    file.says(formatted)
    assert (managed(file, facts, form=form).status, file.text) == ("unchanged", formatted)
    edited = formatted.replace("Fact 1", "Fact one")
    file.says(edited)
    done = managed(file, facts, form=form)
    assert (done.status, file.text) == ("edited", edited)
    assert "Fact one" in done.attention[0].message
    assert "memory" not in done.attention[0].message
    file.says(formatted)
    facts.append(fact(3, "```memory card\nx\n```"))
    assert managed(file, facts, form=form).status == "written"
    assert "Fact 3" in file.text
    assert managed(file, facts, form=form).status == "unchanged"


def test_a_block_makes_room_for_what_is_added_unless_a_person_edited_it() -> None:
    file = SimFile()
    managed(file, [fact(1), fact(2)])
    request = ManageRequest(max_lines=20)

    def refit(text: str) -> str:
        return refit_block(text, file.name, request, lambda: [fact(1), fact(2)], Words())

    longer = "More.\n" + file.text
    fewer = refit(longer)
    assert count_lines(fewer) <= 20 < count_lines(longer)
    assert fewer.startswith("More.\n")
    edited = longer.replace("22 minutes", "25 minutes")
    assert refit(edited) == edited


def test_a_block_without_facts_is_empty_and_none_is_made_for_none() -> None:
    file = SimFile()
    assert managed(file, []).status == "unchanged"
    assert file.data is None
    managed(file, [fact(1)])
    assert managed(file, []).status == "written"
    assert "Slack" not in file.text
    assert managed(file, []).status == "unchanged"
    (said,) = managed(file, [fact(1)], max_bytes=10).attention
    assert said.kind == "NoRoom"


def test_a_byte_order_mark_and_line_ends_stay() -> None:
    bom = b"\xef\xbb\xbf"
    file = SimFile(data=bom + b"# Mine\r\n")
    assert managed(file, [fact(1)]).bytes == len(file.data or b"")
    assert (file.data or b"").startswith(bom + b"# Mine\r\n")
    assert "\n" not in file.text.replace("\r\n", "")
    assert managed(file, [fact(1)]).status == "unchanged"


@pytest.mark.parametrize("text", [MARKS.begin, f"{MARKS.end}\n{MARKS.begin}", f"a\n{MARKS.end}"])
def test_marks_that_are_no_block_are_refused(text: str) -> None:
    file = SimFile(data=text.encode())
    with pytest.raises(errors.UnreadableMemoryFileError, match="marker of the managed block"):
        managed(file, [fact(1)])
    assert file.text == text


def test_a_mark_without_its_partner_hides_no_section() -> None:
    file = SimFile()
    managed(file, [fact(1)])
    text = f"{MARKS.begin}\n{memory(DEPLOY)}\n{file.text}"
    assert DEPLOY[0] in [title for title, *_ in sections(text.encode())]
    assert DEPLOY[1] in insert_section(
        text, "Tides", "The gate opens ten minutes early.", replace_all=True
    )


def test_a_file_that_is_not_utf8_is_refused() -> None:
    file = SimFile(data=b"na\xefve " + b"text " * 100)
    with pytest.raises(errors.UnreadableMemoryFileError, match="UTF-8"):
        managed(file, [fact(1)])


def test_a_dry_run_writes_nothing() -> None:
    file = SimFile(busy=True)
    done = managed(file, [fact(1)], dry_run=True)
    assert (done.status, done.dry_run, file.data) == ("written", True, None)
    assert [each.title for each in done.included] == ["Fact 1"]
    with pytest.raises(errors.MemoryFileBusyError):
        managed(file, [fact(1)])


def test_what_a_person_saves_at_the_same_moment_stands() -> None:
    file, queue = SimFile(data=b"# Mine\n"), SimQueue()
    file.at("swap", lambda: file.says("# Mine\n\nand more\n"))
    managed(file, [fact(1)], queue=queue)
    assert file.text.startswith("# Mine\n\nand more\n")
    assert "Slack" in file.text


def test_a_file_that_is_saved_all_the_time_is_given_up() -> None:
    file = SimFile(data=b"# Mine\n")
    saves = []

    def save(step: str) -> None:
        if step == "look":
            saves.append(step)
            file.says(f"# Mine {len(saves)}\n")

    file.before = save
    with pytest.raises(errors.MemoryFileChangedError) as caught:
        managed(file, [fact(1)])
    assert (len(saves), caught.value.hint) == (MAX_WRITE_TRIES, "run the command again")


def test_two_vaults_that_fill_a_block_do_not_replace_it_in_turn() -> None:
    file = SimFile()

    class Vault:
        def __init__(self, number: int) -> None:
            self.bases, self.facts = BlockBases(), [fact(number)]

        def fills(self, *, renews: bool = True) -> ManagedFile:
            return manage_file(
                file,
                SimQueue(),
                lambda: self.facts,
                ManageRequest(),
                Words(),
                redact=str,
                bases=lambda: self.bases,
                record=partial(setattr, self, "bases"),
                renews=renews,
            )

    first, second = Vault(1), Vault(2)
    first.fills(renews=False)
    second.fills(renews=False)
    old = file.text
    found = [each.fills() for each in (first, second, first, second, first)]
    assert [x.status for x in found] == ["written", "written", "edited", "unchanged", "edited"]
    assert [x.kind for x in found[2].attention] == ["SharedBlock"]
    assert file.text == old
    assert first.fills(renews=False).status == "written"
    assert (first.fills().status, second.fills().status) == ("unchanged", "edited")
    second.facts = first.facts
    assert second.fills().status == "unchanged"
    own = file.text
    for number in (3, 4, 5, 5):
        first.facts = [fact(number)]
        assert first.fills().status == "written"
        file.says(own)  # by a checkout of another branch


def test_what_a_crash_displaced_is_kept() -> None:
    file, queue = SimFile(data=b"new\n", left=[b"of a person\n"]), SimQueue()
    managed(file, [fact(1)], queue=queue)
    assert list(queue.blobs.values()) == [b"of a person\n"]


@pytest.mark.parametrize(
    ("key", "value"), [("form", "long"), ("host", "emacs"), ("budget", 0), ("max_lines", -1)]
)
def test_requests_are_checked(key: str, value: object) -> None:
    with pytest.raises(errors.InvalidFieldError):
        ManageRequest(**{key: value})  # type: ignore[arg-type]


def test_a_block_is_no_section_of_the_file() -> None:
    file = SimFile(data=(memory(DEPLOY) + "\nmore of it\n").encode())
    before = sections(file.data or b"")
    managed(file, [fact(1), fact(2)])
    assert sections(file.data or b"") == before
    below = file.text + "\n## Later\n\nA section of a person below the block.\n"
    (_, later) = sections(below.encode())
    assert below.split("\n")[later[2] - 1] == "## Later"


def test_an_agents_text_leaves_the_block_alone() -> None:
    text = insert_section("# Mine\n", "Lessons", "Ask the harbour master first.", replace_all=False)
    filled = fill_block(
        text, [fact(1)], form="full", limits=BlockLimits(900, None, None), count=words
    ).text
    assert filled is not None
    added = insert_section(filled, "Lessons", "And then the pilot, by radio.", replace_all=False)
    assert added.index("pilot") < added.index(MARKS.begin)
    assert edited_lines(added, [fact(1)], "full") is None
    new = insert_section(added, "Tides", "The gate opens ten minutes early.", replace_all=False)
    assert new.index("Tides") < new.index(MARKS.begin)
    tail = insert_section("", "Below", "It stands below the block, as it did.", replace_all=False)
    moved = insert_section(
        f"{new}\n{tail}", "Below", "And so it does now, and always.", replace_all=True
    )
    assert moved.index("so it does") > moved.index(MARKS.end)
    assert edited_lines(moved, [fact(1)], "full") is None


def test_a_session_begins_without_what_the_file_says_itself() -> None:
    world = RecallWorld()
    world.mirrored("Slack water lasts 22 minutes.", title="Slack water")
    world.mirrored("Nobody looked at it yet.", title="Seen", type="observation")
    world.mirrored("It is in the file.", title="Own", source=f"{SOURCE_PREFIX}~/MEMORY.md")
    facts = facts_for_session(
        world.sources, RecallRequest("", limit=10, max_priority=4), file_name="~/MEMORY.md"
    )
    assert "Slack water" in {each.title for each in facts}
    assert "Own" not in {each.title for each in facts}
