"""A managed section follows its fact, and nothing else of the file changes."""

from __future__ import annotations

import contextlib
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.doubles.store import MemoryStore
from tests.memory_file_worlds import TESTS, MemoryWorld, kinds
from tests.memory_files.test_sections import TEXTS
from tests.notes.test_view import VIEW
from vaultsync.errors import UnreadableMemoryFileError
from vaultsync.hosts.marked_blocks import MARKDOWN, REPOSITORY, write_block
from vaultsync.memory_files.managed_block import MARKS
from vaultsync.memory_files.sections import MANAGED_MARKER, MemorySection, read_outline
from vaultsync.memory_files.state import read_states

LINES = "Count the berths at dawn.\n\nAsk the pilot about the tides.\n\nCall Mara before the storm."
BODY = f"## Harbour\n{MANAGED_MARKER}\n\n{LINES}\n"
FILE = f"# Memory\n\n{BODY}\n## Tests\n\n{TESTS[1]}\n"


@pytest.fixture
def two_way(world: MemoryWorld) -> MemoryWorld:
    """A managed section and one of a person, both synced."""
    world.takes(FILE)
    return world


def actions(
    world: MemoryWorld, *, again: bool = False, dry_run: bool = False
) -> list[tuple[str, str]]:
    report = world.syncs(again=again, dry_run=dry_run)
    return [(each.action, each.title) for each in report.files[0].actions]


def test_an_agents_edit_of_the_fact_is_written_into_its_section(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content=LINES.replace("at dawn", "at noon"))
    assert actions(two_way) == [("rewrite", "Harbour")]
    assert two_way.file.text == FILE.replace("at dawn", "at noon")
    logged = two_way.queue.entries[-1]
    assert (logged["path"], logged["section"]) == (two_way.file.name, "Harbour")
    assert (logged["fact_id"], logged["action"]) == (fact.id, "rewrite")
    assert two_way.syncs().quiet


def test_a_persons_edit_of_the_note_is_written_into_its_section(two_way: MemoryWorld) -> None:
    two_way.quiesce()
    fact = two_way.by_title("Harbour")
    two_way.person_edits(fact, "# Harbour", "# The harbour")
    two_way.person_edits(fact, "at dawn", "at noon")
    two_way.quiesce()
    two_way.syncs()
    expected = FILE.replace("## Harbour", "## The harbour").replace("at dawn", "at noon")
    assert two_way.file.text == expected


def test_edits_of_both_sides_are_merged_and_a_clash_is_the_files(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content=LINES.replace("Mara", "Bente"))
    two_way.file.says(FILE.replace("at dawn", "at noon"))
    assert actions(two_way) == [("update", "Harbour"), ("rewrite", "Harbour")]
    both = LINES.replace("at dawn", "at noon").replace("Mara", "Bente")
    assert two_way.by_title("Harbour").content == both
    assert two_way.file.text == FILE.replace(LINES, both)
    two_way.agent_updates(fact.id, content=both.replace("at noon", "never"))
    two_way.file.says(FILE.replace(LINES, both.replace("at noon", "at dusk")))
    assert "vaultsync history" in two_way.syncs().files[0].actions[0].reason
    assert "at dusk" in two_way.file.text
    assert two_way.by_title("Harbour").content == both.replace("at noon", "at dusk")


def test_lines_that_both_sides_append_stay(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content=f"{LINES}\n\nThe agent counted 38.")
    two_way.file.says(FILE.replace(LINES, f"{LINES}\n\nThe person counted 37."))
    report = two_way.syncs()
    assert report.files[0].actions[0].reason == "merged with an edit of the fact"
    both = f"{LINES}\n\nThe person counted 37.\n\nThe agent counted 38."
    assert two_way.by_title("Harbour").content == both
    assert two_way.file.text == FILE.replace(LINES, both)
    assert two_way.syncs().quiet


def test_a_store_that_was_restored_does_not_undo_the_file(two_way: MemoryWorld) -> None:
    backup = two_way.store.snapshot()
    two_way.file.says(FILE.replace("at dawn", "at noon").replace("no sleep", "no pause"))
    two_way.syncs()
    newer = two_way.file.text
    two_way.store.restore(backup)
    two_way.agent_remembers("The pier box has a red light.")
    fact = two_way.by_title("Harbour")
    assert "at dawn" in fact.content
    planned, done = two_way.syncs(dry_run=True), two_way.syncs()
    assert two_way.file.text == newer
    assert kinds(planned) == kinds(done) == ["NoBase", "EditedElsewhere"]
    assert "at noon" in two_way.by_title("Harbour").content
    assert fact in [each.fact for each in two_way.store.replaced_versions([fact.id])]
    assert kinds(two_way.syncs()) == ["EditedElsewhere"]


def test_each_store_that_syncs_a_file_has_a_base_of_its_own(two_way: MemoryWorld) -> None:
    other = MemoryWorld()
    other.store = MemoryStore(other.clock, "another")
    other.ctx = replace(other.ctx, store=other.store)
    other.file = two_way.file
    other.syncs()
    own = two_way.by_title("Tests")
    two_way.agent_updates(own.id, content=TESTS[1].replace("no sleep", "no pause"))
    two_way.agent_updates(two_way.by_title("Harbour").id, content=f"{LINES}\n\nCount the cranes.")
    other.agent_updates(other.by_title("Harbour").id, content=LINES.replace("at dawn", "at noon"))
    for world in (two_way, other, two_way, other):
        attention = ["EditedElsewhere"] if world is two_way else []
        assert kinds(world.syncs()) == attention
    both = LINES.replace("at dawn", "at noon") + "\n\nCount the cranes."
    assert two_way.file.text == FILE.replace(LINES, both)
    assert {x.by_title("Harbour").content for x in (two_way, other)} == {both}
    assert "no pause" in two_way.by_title("Tests").content
    two_way.agent_forgets(two_way.by_title("Harbour").id)
    for world in (two_way, other):
        world.syncs()
        assert [each.title for each in world.remembered()] == ["Tests"]
    states = read_states(two_way.file.kept)
    assert [*states.files] == ["MEMORY.md (indy)", "MEMORY.md (indy) [another]"]
    assert states.agents("MEMORY.md") == states.agents("MEMORY.md", {"another"}) == ["indy"]
    assert states.agents("MEMORY.md", {"a third one"}) == states.agents("OTHER.md") == []


def test_copies_of_a_vault_take_each_others_lines_from_the_file(two_way: MemoryWorld) -> None:
    copy = MemoryWorld()
    copy.takes(FILE)
    copy.file = two_way.file
    backup = copy.store.snapshot()
    copy.agent_remembers("The pier box has a red light.")
    copy.store.restore(backup)
    lines = [f"Moor at buoy {number} when the wind is from the north." for number in range(6)]
    for line, world in zip(lines, (two_way, copy) * 3, strict=True):
        world.agent_adds(line, section="Harbour")
        for each in (copy, two_way, copy):
            each.syncs()
        two_way.file.says(f"{two_way.file.text}\n{line.replace('north', 'south')}\n")
    for each in (copy, two_way):
        assert [x.action for x in each.syncs().files[0].actions] in ([], ["update"])
        assert all(line in each.by_title("Harbour").content for line in lines)
    assert all(line in two_way.file.text for line in lines)
    assert all(line.replace("north", "south") in two_way.file.text for line in lines)


def test_a_new_heading_and_a_new_text_meet(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content=LINES.replace("at dawn", "at noon"))
    two_way.file.says(FILE.replace("## Harbour", "## The harbour"))
    two_way.syncs()
    after = two_way.store.get(fact.id)
    assert (after.title, "at noon" in after.content) == ("The harbour", True)
    assert two_way.file.text.count("at noon") == two_way.file.text.count("## The harbour") == 1


def test_a_forgotten_fact_takes_its_section_and_brings_it_back(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_forgets(fact.id)
    assert actions(two_way) == [("remove", "Harbour")]
    assert two_way.file.text == FILE.replace(BODY + "\n", "")
    assert two_way.syncs().quiet
    two_way.gives_back(fact.id)
    assert actions(two_way) == [("return", "Harbour")]
    assert two_way.file.text == FILE.replace(BODY + "\n", "") + "\n" + BODY
    assert two_way.syncs().quiet
    assert two_way.by_title("Harbour").id == fact.id


def test_a_section_that_a_person_edits_beats_the_deletion_of_its_fact(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_forgets(fact.id)
    two_way.takes(FILE.replace("at dawn", "at noon"))
    assert two_way.by_title("Harbour").id == fact.id


def test_a_section_without_a_marker_is_left_alone(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Tests")
    two_way.agent_updates(fact.id, content="Agents say otherwise, at some length.")
    assert kinds(two_way.syncs()) == ["EditedElsewhere"]
    assert two_way.file.text == FILE


@pytest.mark.parametrize("short", ["", "\n## Harbour\n\nSmall.\n"])
def test_a_short_text_is_written_into_a_facts_section(two_way: MemoryWorld, short: str) -> None:
    two_way.takes(FILE + short)
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content="Shut.", title="Pier")
    assert actions(two_way) == [("rewrite", "Pier")]
    expected = FILE.replace(LINES, "Shut.").replace("## Harbour", "## Pier") + short
    assert two_way.file.text == expected
    assert two_way.syncs().quiet
    two_way.agent_updates(fact.id, content="")
    assert kinds(two_way.syncs()) == ["NotWrittenBack"]
    assert two_way.file.text == expected
    two_way.agent_forgets(fact.id)
    two_way.syncs()
    two_way.gives_back(fact.id)
    two_way.agent_updates(fact.id, content="Open.")
    assert actions(two_way) == [("return", "Pier")]
    assert two_way.syncs().quiet


@pytest.mark.parametrize(
    "content",
    [
        "A heading\n\n## ends the section\n\nand begins another one.",
        "A fence that is not closed\n\n```\n",
        "Long enough, and it imports @~/.ssh/id_rsa for the host.",
        "\n\n".join(f"Paragraph {n} of a section that is too long. {'-' * 80}" for n in range(60)),
    ],
)
def test_what_is_no_section_is_not_written_and_reported(two_way: MemoryWorld, content: str) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content=content)
    assert kinds(two_way.syncs()) == ["NotWrittenBack"]
    assert two_way.file.text == FILE
    assert kinds(two_way.syncs()) == ["NotWrittenBack"]


def test_a_title_that_is_no_heading_is_reported_and_the_text_written(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content=LINES.replace("dawn", "noon"), title="Harbour ##")
    assert kinds(two_way.syncs()) == ["NotWrittenBack"]
    assert two_way.file.text == FILE.replace("dawn", "noon")


BLOCK = "<!-- vaultsync:memory:begin -->\n<!-- x -->\n## Memory\n<!-- vaultsync:memory:end -->\n"
INSTRUCTIONS = write_block(None, MARKDOWN, "## Memory\n\nYou have a long-term memory: use it.")
CONVENTIONS = write_block(None, REPOSITORY, "## Conventions\n\nUse tabs in all Makefiles, please.")
BLOCKS = [BLOCK, INSTRUCTIONS, f"{BLOCK}\n{INSTRUCTIONS}", f"{INSTRUCTIONS}\n{BLOCK}"]
BLOCKS += [f"{CONVENTIONS}\n{BLOCK}\n{INSTRUCTIONS}", f"{INSTRUCTIONS}\n{BLOCK}\n{CONVENTIONS}"]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("form", ["{1}\n{0}", "{0}\n{1}", "# M\n{0}{1}"])
def test_our_blocks_stay_beside_a_section(world: MemoryWorld, form: str, block: str) -> None:
    text = form.format(BODY, block)
    world.takes(text)
    fact = world.by_title("Harbour")
    assert (fact.content, len(world.remembered())) == (LINES, 1)
    world.agent_updates(fact.id, content=LINES.replace("dawn", "noon"))
    assert actions(world) == [("rewrite", "Harbour")]
    assert world.file.text == text.replace("dawn", "noon")
    world.agent_forgets(fact.id)
    assert actions(world) == [("remove", "Harbour")]
    assert block in world.file.text
    world.gives_back(fact.id)
    assert actions(world) == [("return", "Harbour")]
    assert all(
        each in world.file.text for each in (BLOCK, INSTRUCTIONS, CONVENTIONS) if each in block
    )


@pytest.mark.parametrize("block", BLOCKS)
def test_a_section_around_our_blocks_is_not_written(world: MemoryWorld, block: str) -> None:
    text = BODY.replace("Ask the pilot", f"{block}\nAsk the pilot")
    world.takes(text)
    fact = world.by_title("Harbour")
    world.agent_updates(fact.id, content=LINES.replace("dawn", "noon"))
    assert kinds(world.syncs()) == ["NotWrittenBack"]
    world.agent_forgets(fact.id)
    world.syncs()
    assert world.file.text == text


@pytest.mark.parametrize("replace_all", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_what_an_agent_adds_comes_into_no_block(
    world: MemoryWorld, block: str, *, replace_all: bool
) -> None:
    world.takes(f"{BODY}\n{block}")
    text = "Ask the harbour master before the database."
    for section in ("Harbour", "Lessons"):
        world.agent_adds(text, section=section, replace_all=replace_all)
        assert block in world.file.text
    assert world.file.text.index("## Lessons") < world.file.text.index(block)
    world.syncs()
    found = {each.title: each.content for each in world.remembered()}
    assert found == {"Harbour": text if replace_all else f"{LINES}\n\n{text}", "Lessons": text}


def test_a_heading_gets_the_text_of_its_fact(world: MemoryWorld) -> None:
    heading = "## The harbour master and her rules for guests"
    text = f"{heading}\n{MANAGED_MARKER}"
    world.takes(text)
    (fact,) = world.remembered()
    world.agent_updates(fact.id, content="Ask her first.")
    world.syncs()
    assert world.file.text == f"{text}\nAsk her first.\n"


def test_a_file_that_is_not_all_utf8_is_not_written(two_way: MemoryWorld) -> None:
    data = FILE.encode() + b"\n" * 200 + b"\xff"
    two_way.file.data = data
    two_way.syncs()
    two_way.agent_updates(two_way.by_title("Harbour").id, content=LINES.replace("dawn", "noon"))
    assert "UnreadableMemoryFileError" in kinds(two_way.syncs())
    assert two_way.file.data == data


def test_a_fact_that_comes_back_as_no_section_is_reported(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_forgets(fact.id)
    two_way.syncs()
    two_way.gives_back(fact.id)
    two_way.agent_updates(fact.id, content="Too\n\n## short.")
    assert kinds(two_way.syncs()) == ["NotWrittenBack"]


@pytest.mark.parametrize("mark", [MARKS.begin, MARKS.end])
def test_a_marker_of_the_block_does_not_come_into_the_file(two_way: MemoryWorld, mark: str) -> None:
    fact, text = two_way.by_title("Harbour"), two_way.file.text
    content = f"Count the boats at dawn, from the pier.\n\n{mark}"
    two_way.agent_updates(fact.id, content=content)
    assert kinds(two_way.syncs()) == ["NotWrittenBack"]
    assert two_way.file.text == text
    two_way.agent_forgets(fact.id)
    two_way.syncs()
    two_way.gives_back(fact.id)
    assert kinds(two_way.syncs()) == ["NotWrittenBack"]
    assert mark not in two_way.file.text


def test_a_section_that_a_crash_wrote_is_that_of_its_fact(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_forgets(fact.id)
    two_way.syncs()
    two_way.gives_back(fact.id)
    two_way.file.at("examine", die)
    with contextlib.suppress(KeyboardInterrupt):
        two_way.syncs()
    two_way.file.busy = False
    assert two_way.syncs().quiet
    assert two_way.file.text.count("## Harbour") == 1
    assert two_way.by_title("Harbour").id == fact.id


def test_a_dry_run_shows_what_would_be_written(two_way: MemoryWorld) -> None:
    two_way.agent_updates(two_way.by_title("Harbour").id, content=LINES.replace("dawn", "noon"))
    assert actions(two_way, dry_run=True) == [("rewrite", "Harbour")]
    assert two_way.file.text == FILE


def test_with_again_the_file_wins_over_the_fact(two_way: MemoryWorld) -> None:
    fact = two_way.by_title("Harbour")
    two_way.agent_updates(fact.id, content=LINES.replace("dawn", "noon"))
    assert actions(two_way, again=True) == [("update", "Harbour")]
    assert two_way.by_title("Harbour").content == LINES


def test_a_file_that_cannot_be_written_is_reported(two_way: MemoryWorld) -> None:
    two_way.file.writable = False
    two_way.agent_updates(two_way.by_title("Harbour").id, content=LINES.replace("dawn", "noon"))
    assert kinds(two_way.syncs()) == [UnreadableMemoryFileError.__name__]
    two_way.file.writable = True
    assert actions(two_way) == [("rewrite", "Harbour")]


def test_a_secret_stays_where_a_person_wrote_it_and_goes_nowhere_else(world: MemoryWorld) -> None:
    world.ctx = replace(world.ctx, view=VIEW)
    mine, theirs = (f"AKIA{'ABCDEFGH' * 2}", f"AKIA{'HGFEDCBA' * 2}")
    world.takes(FILE.replace("Ask the pilot", f"The key {mine} opens the gate. Ask the pilot"))
    fact = world.by_title("Harbour")
    assert mine in fact.content
    world.agent_updates(fact.id, content=f"{fact.content}\n\nThe other key is {theirs}.")
    world.syncs()
    assert mine in world.file.text
    assert theirs not in world.file.text
    world.takes(world.file.text.replace("at dawn", "at noon"))
    kept = world.by_title("Harbour").content
    assert theirs in kept
    assert mine in kept
    assert "at noon" in kept
    assert world.syncs().quiet


AROUND = st.tuples(
    TEXTS.map(lambda text: text.replace("---", "- -")),  # no frontmatter
    TEXTS,
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.sampled_from(["Another line.", "", "- and more", "## no", "```"]), max_size=4),
)


@given(AROUND)
@example(("words before", "## After  \n\n<!-- vaultsync:memory:begin -->", "\ufeff", "\r\n", []))
def test_bytes_outside_managed_sections_stay(given: tuple[str, str, str, str, list[str]]) -> None:
    before, after, bom, eol, added = given
    text = bom + f"{before}\n{BODY}{after}".replace("\n", eol)
    world = MemoryWorld()
    world.takes(text)
    for fact in world.remembered():
        world.agent_updates(fact.id, content="\n".join([fact.content, "Edited.", *added]))
    report = world.syncs()
    assert _outside(world.file.text) == _outside(text)
    if "NotWrittenBack" not in kinds(report):
        assert all("Edited." in each.content for each in _followed(world.file.text))
    data = world.file.data
    world.syncs()
    assert world.file.data == data


def _outside(text: str) -> list[str]:
    """The text around the contents of managed sections."""
    at, found = 0, []
    for each in _followed(text):
        found.append(text[at : each.start])
        words = text[each.start : each.end]
        at = each.start + len(words.rstrip())
    return [*found, text[at:]]


def _followed(text: str) -> list[MemorySection]:
    sections = read_outline(text, name="M", start=text.startswith("\ufeff")).sections
    return [each for each in sections if each.follows]


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["agent", "person", "sync", "sync", "crash", "save"]),
        st.integers(0, 3),
        st.sampled_from(["look", "swap", "examine", "state", "read"]),
    ),
    max_size=12,
)


@given(MOVES)
@example([("agent", 0, ""), ("person", 0, ""), ("crash", 0, "swap"), ("person", 0, "")])
@example([("agent", 0, ""), ("person", 0, ""), ("save", 0, "swap"), ("agent", 0, "")])
@example([("agent", 0, ""), ("save", 1, "examine"), ("crash", 0, "examine"), ("sync", 0, "")])
@example([("agent", 0, ""), ("crash", 0, "examine"), ("agent", 0, ""), ("person", 0, "")])
def test_no_edit_of_either_side_is_lost(moves: list[tuple[str, int, str]]) -> None:
    world = MemoryWorld()
    said = {(who, n): 0 for who in ("agent", "person") for n in range(4)}
    lines = {key: f"Line {key[1]} of the {key[0]} in version 0." for key in said}
    world.takes(FILE.replace(LINES, "\n\n".join(lines.values())))
    fact_id = world.by_title("Harbour").id

    def edit(text: str, key: tuple[str, int]) -> str:
        said[key] += 1
        old, lines[key] = lines[key], lines[key].rpartition(" ")[0] + f" {said[key]}."
        assert old in text
        return text.replace(old, lines[key])

    def saves(number: int) -> None:
        world.file.says(edit(world.file.text, ("person", number)))

    for who, number, step in moves:
        if who == "agent":
            content = world.store.get(fact_id).content
            world.agent_updates(fact_id, content=edit(content, ("agent", number)))
        elif who == "person":
            saves(number)
        else:
            if who != "sync":
                world.file.at(step, die if who == "crash" else partial(saves, number))
            with contextlib.suppress(KeyboardInterrupt):
                world.syncs()
            world.file.before = lambda _: None
            world.file.busy = False
    world.syncs()
    world.syncs()
    assert world.store.get(fact_id).content == "\n\n".join(lines.values())
    assert world.file.text == FILE.replace(LINES, "\n\n".join(lines.values()))


def die() -> None:
    raise KeyboardInterrupt
