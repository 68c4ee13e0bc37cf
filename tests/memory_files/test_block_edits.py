"""What a person writes into the managed block of a memory file reaches the facts, or waits."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from tests import secrets
from tests.memory_file_worlds import SimFile, SimQueue
from tests.packs import Words
from tests.world import World
from vaultsync.memory_files.block_edits import REMOVED, BlockBases
from vaultsync.memory_files.manage import ManageRequest, edited_text, manage_file
from vaultsync.memory_files.managed_block import BLOCK_FORMS, MARKS, by_worth
from vaultsync.memory_files.report import ManagedFile
from vaultsync.memory_files.take_block_edits import TakenEdits
from vaultsync.model.fact import Fact
from vaultsync.model.permissions import AgentPermissions, Permissions
from vaultsync.model.schema import Value
from vaultsync.notes.view import IDENTITY_VIEW, NoteView
from vaultsync.privacy.placeholders import Redactor


class BlockWorld(World):
    """Both sides, and a file with a managed block."""

    def __init__(
        self, form: str = "full", *, agent: str | None = None, view: NoteView = IDENTITY_VIEW
    ) -> None:
        super().__init__(view=view)
        self.file, self.queue = SimFile("~/w/notes.md"), SimQueue()
        self.bases = BlockBases()
        self.form, self.agent = form, agent
        self.permissions = Permissions()
        self.proposed: list[tuple[str, Mapping[str, Value]]] = []
        self.notices: list[str] = []

    def fact_of(self, title: str) -> Fact:
        (found,) = [each for each in self.store.iter_facts() if each.title == title]
        return found

    def shown(self) -> list[Fact]:
        paths = self.archive.note_paths([each.id for each in self.store.iter_facts()])
        found = [each.evolve(path=paths.get(each.id)) for each in self.store.iter_facts()]
        return by_worth(list(map(self.ctx.view.redact, found)))

    def takes(self, *, dry_run: bool = False) -> TakenEdits | None:
        def propose(fact: Fact, values: Mapping[str, Value]) -> None:
            self.proposed.append((fact.id, values))

        text = edited_text(self.file)
        if text is None:
            return None
        ctx = self.ctx
        if self.agent:
            ctx = structs.replace(ctx, policy=ctx.policy._replace(permissions=self.permissions))
        done = TakenEdits(ctx, self.file.name, self.agent, None, propose, dry_run)
        is_known = done.take_all(text, self.bases.written)
        self.notices = [each.message for each in done.notices]
        return done if is_known else None

    def fills(self, taken: TakenEdits | None = None, *, budget: int | None = None) -> ManagedFile:
        if taken is not None:
            removed = {**self.bases.removed, **taken.removed}
            self.bases = BlockBases(self.bases.written, removed)
        return manage_file(
            self.file,
            self.queue,
            self.shown,
            ManageRequest(budget, form=self.form),
            Words(),
            redact=str,
            bases=lambda: self.bases,
            taken=None if taken is None or taken.refused else edited_text(self.file),
            record=lambda bases: setattr(self, "bases", bases),
        )

    def follows(self) -> tuple[list[str], ManagedFile]:
        """What a `sync` does with the block; the actions, and what was written."""
        self.clock.advance(1)
        taken = self.takes()
        done = self.fills(taken)
        return [each.action for each in taken.actions] if taken else [], done

    def edits(self, old: str, new: str) -> None:
        assert old in self.file.text
        self.file.says(self.file.text.replace(old, new))


def block_of(*facts: tuple[str, str], form: str = "full", agent: str | None = None) -> BlockWorld:
    world = BlockWorld(form, agent=agent)
    for title, content in facts:
        world.agent_remembers(content, title=title, scope="public")
    world.sync()
    world.fills()
    return world


BERTHS = ("Berths", "Count the berths at dawn.\n\nBegin at the pier.")
BOOKS = ("Books", "Mara keeps the books.")


def test_an_edit_of_an_item_is_one_of_its_fact_and_stands_in_the_block() -> None:
    world = block_of(BERTHS, BOOKS)
    world.edits("at dawn", "at noon")
    world.edits("# Books", "# Ledgers")
    assert world.follows()[0] == ["update", "update"]
    assert world.fact_of("Berths").content == BERTHS[1].replace("dawn", "noon")
    assert world.fact_of("Ledgers").content == BOOKS[1]
    assert "at noon" in world.file.text
    assert "# Ledgers" in world.file.text
    assert world.follows()[1].status == "unchanged"
    assert [each["what"] for each in world.queue.entries] == ["edited"]


@pytest.mark.parametrize(
    ("title", "content", "old", "new", "then"),
    [
        ("Low water", "Low water.", "# Low water", "# High water", "High water."),
        ("Low water", "Low water.", "md*", "md*\n\nAt six.", "Low water.\n\nAt six."),
        ("Low water", "Low water. At six.", "At six.", "At seven.", "Low water. At seven."),
        ("Low water", "Low water. At six.", "# Low", "# High", "High water. At six."),
        ("Tides", "One <!-- a\ntwo", "two", "three", "One <!-- a\nthree"),
    ],
)
def test_what_a_block_omits_stays(title: str, content: str, old: str, new: str, then: str) -> None:
    world = block_of((title, content))
    world.edits(old, new)
    assert world.follows()[0] == ["update"]
    (fact,) = world.store.iter_facts()
    assert fact.content == then


def test_the_report_of_an_edit_shows_no_secret() -> None:
    token = secrets.token("github", random.Random("vaultsync blocks"))
    world = BlockWorld(view=NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True))
    world.agent_remembers(BERTHS[1], title="Berths", scope="public")
    world.sync()
    world.fills()
    world.edits("~~~ memory", f"## Keys {token}\n\nOne is for the pier.\n\n~~~ memory")
    world.edits("# Berths", f"# Berths {token}")
    taken = world.takes()
    assert taken is not None
    assert [each.action for each in taken.actions] == ["create", "update"]
    assert token not in str(taken)


def test_edits_of_both_sides_are_merged_and_a_clash_is_proposed() -> None:
    world = block_of(BERTHS)
    fact_id = world.fact_of("Berths").id
    world.agent_updates(fact_id, content=BERTHS[1].replace("the pier", "the tower"))
    world.edits("at dawn", "at noon")
    assert world.follows()[0] == ["update"]
    assert world.store.get(fact_id).content == "Count the berths at noon.\n\nBegin at the tower."
    world.agent_updates(fact_id, content="Count the berths at six.\n\nBegin at the tower.")
    world.edits("at noon", "at nine")
    assert world.follows()[0] == ["propose"]
    assert world.proposed == [
        (fact_id, {"content": "Count the berths at nine.\n\nBegin at the tower."})
    ]
    assert "at six" in world.file.text


def test_what_is_only_a_part_of_a_fact_is_proposed() -> None:
    world = block_of(BERTHS, BOOKS, form="index")
    world.edits("- Berths (note)", "- Piers (note)")
    world.edits("- Books (note)", "- Books (note), by Mara")
    assert world.follows()[0] == ["propose", "propose"]
    berths, books = world.fact_of("Berths"), world.fact_of("Books")
    added = f"- Books (note), by Mara · {world.path(books.id)}"
    assert world.proposed == [
        (berths.id, {"title": "Piers"}),
        (books.id, {"content": f"{BOOKS[1]}\n\n{added}"}),
    ]
    assert "- Berths (note)" in world.file.text
    full = block_of()
    full.agent_remembers(
        "Paint the pier.",
        title="Paint",
        type="commitment",
        scope="public",
        commitmentDueDate="2026-05-01",
    )
    full.sync()
    full.fills()
    full.edits("Paint the pier.", "Paint the piers.")
    assert full.follows()[0] == ["update"]
    full.edits("- due date: 2026-05-01", "- due date: 2026-06-01")
    assert full.follows()[0] == ["propose"]
    full.edits("\n- due date: 2026-05-01", "")
    assert full.follows()[0] == []
    assert "is not a whole text" in full.notices[0]
    full.edits("Paint the piers.", "")
    assert full.follows()[0] == []
    assert "Paint the piers." in full.file.text


def test_an_item_that_was_removed_stays_out_until_its_fact_changes() -> None:
    world = block_of(BERTHS, BOOKS)
    start = world.file.text.index("~~~ memory of an agent\n# Books")
    item = world.file.text[start : world.file.text.index("~~~\n", start + 4) + 4]
    world.edits(item, "")
    done = world.follows()
    assert done[0] == ["leave_out"]
    assert [(each.title, each.reason) for each in done[1].left_out] == [("Books", REMOVED)]
    assert world.follows()[1].status == "unchanged"
    world.agent_updates(world.fact_of("Books").id, content="Bente keeps the books.")
    assert [each.title for each in world.follows()[1].included] == ["Berths", "Books"]
    world.agent_updates(world.fact_of("Books").id, content="Mara keeps them.")
    world.edits("Bente keeps the books.", "Bente keeps the books, and Mara.")
    world.agent_forgets(world.fact_of("Books").id)
    assert world.follows()[0] == ["create"]


def test_a_text_that_a_person_adds_becomes_facts() -> None:
    world = block_of(BERTHS)
    added = "Buy a rope.\n\n## Conventions\n\nDepths are in metres, never in feet.\n\n## Bare\n"
    world.edits(MARKS.end, f"\n{added}{MARKS.end}")
    assert world.follows()[0] == ["create"] * 3
    assert {each.title for each in world.store.iter_facts()} == {
        "Berths", "Buy a rope", "Conventions", "Bare"
    }  # fmt: skip
    assert world.fact_of("Conventions").type == "convention"
    assert world.follows()[1].status == "unchanged"
    index = block_of(BERTHS, form="index")
    index.edits(
        f"~~~\n{MARKS.end}", f"- Buy a rope.\nFor the pier.\n\n- And paint.\n~~~\n{MARKS.end}"
    )
    assert index.follows()[0] == ["create", "create"]
    assert "And paint" in index.file.text
    index.edits(f"~~~\n{MARKS.end}", f"\nTake tea - not coffee.\n~~~\n{MARKS.end}")
    assert index.follows()[0] == ["create"]
    assert index.fact_of("Take tea - not coffee").title == "Take tea - not coffee"


def test_an_agents_block_is_edited_in_its_name() -> None:
    world = block_of(BERTHS, agent="indy")
    world.edits("at dawn", "at noon")
    planned = world.takes(dry_run=True)
    assert planned is not None
    assert [each.action for each in planned.actions] == ["propose"]
    assert (world.proposed, planned.fact_ids) == ([], [])
    assert world.follows()[0] == ["propose"]
    assert world.fact_of("Berths").content == BERTHS[1]
    world.agent = "other"
    world.permissions = Permissions(agents={"other": AgentPermissions(propose=())})
    world.edits("at dawn", "at noon")
    refused = world.takes()
    assert refused is not None
    assert refused.refused


def test_an_item_of_a_forgotten_fact_may_go_and_an_edit_that_both_made_is_made() -> None:
    world = block_of(BERTHS, BOOKS, form="index")
    books = world.fact_of("Books")
    line = f"- Books (note) · {world.path(books.id)}\n"
    world.edits(line, "")
    world.agent_forgets(books.id)
    assert world.follows()[0] == []
    emptied = block_of(BOOKS)
    emptied.edits(BOOKS[1], "")
    assert emptied.follows()[0] == []
    assert BOOKS[1] in emptied.file.text, "nothing is forgotten by an edit of the block"
    both = block_of(BERTHS)
    both.edits("at dawn", "at noon")
    both.agent_updates(both.fact_of("Berths").id, content=BERTHS[1].replace("dawn", "noon"))
    assert both.follows()[0] == []
    assert both.follows()[1].status == "unchanged"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dawn.\n\nBegin at the pier.\n~~~", "dawn."),  # a fence that is not closed
        ("books.\n~~~", "books."),
        ("~~~ memory of an agent\n# Berths", "# Berths"),  # or not opened
        ("*public/", "* public/"),  # no item any more
        ("begin -->\n<!--", "begin -->\n\n<!--"),  # no seal
    ],
)
def test_a_block_whose_items_cannot_be_told_apart_is_left_alone(old: str, new: str) -> None:
    world = block_of(BERTHS, BOOKS)
    world.edits(old, new)
    text = world.file.text
    assert world.follows()[1].status == "edited"
    assert world.file.text == text


def test_an_item_that_is_there_twice_is_left_alone() -> None:
    world = block_of(BERTHS, form="index")
    line = next(each for each in world.file.text.split("\n") if each.startswith("- Berths"))
    world.edits(line, f"{line}\n{line}")
    assert world.follows()[1].status == "edited"


def test_what_cannot_be_taken_is_reported_and_the_block_stays() -> None:
    world = block_of(BERTHS)
    world.edits("at dawn", "at noon")
    text = world.file.text
    world.others_write_first(world.fact_of("Berths").id, times=1)
    taken = world.takes()
    assert taken is not None
    assert taken.refused
    assert world.fills(taken).status == "edited"
    assert world.file.text == text
    assert world.follows()[0] == ["update"]


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["agent", "forget", "line", "insert", "remove", "sync", "sync"]),
        st.integers(0, 30),
        st.booleans(),
    ),
    max_size=10,
)


@given(st.sampled_from(BLOCK_FORMS), MOVES)
@example("full", [("line", 6, True), ("agent", 0, True)])
@example("index", [("line", 4, True), ("forget", 0, True)])
@example("full", [("line", 10, True), ("forget", 0, True)])
def test_no_word_of_either_side_is_lost_and_a_second_pass_changes_nothing(
    form: str, moves: list[tuple[str, int, bool]]
) -> None:
    world = block_of(BERTHS, BOOKS, ("Low water", "Low water. At six."), form=form)
    said: dict[str, list[str]] = {"person": [], "agent": []}

    def word(who: str) -> str:
        said[who].append(f"word{len(said[who])}{who}")
        return said[who][-1]

    def agrees() -> None:
        world.follows()
        facts = [f"{each.title} {each.content}" for each in world.store.iter_facts()]
        kept = " ".join([*facts, repr(world.proposed), world.file.text])
        assert all(each in kept for each in said["person"])
        assert all(each in " ".join(facts) for each in said["agent"])
        said["person"].clear()
        said["agent"].clear()
        before = world.file.text
        assert world.follows()[0] == []
        assert world.file.text == before

    for move, number, blank in moves:
        world.clock.advance(1)
        facts = sorted(world.store.iter_facts(), key=lambda each: each.id)
        lines = world.file.text.split("\n")
        end = lines.index(MARKS.end)
        at = 2 + number % max(end - 2, 1)
        is_own = at == end or any(each in lines[at] for each in said["person"])
        if move == "agent" and facts:
            fact = facts[number % len(facts)]
            text = (
                f"{fact.content}\n{word('agent')}" if blank else f"{word('agent')}\n{fact.content}"
            )
            world.agent_updates(fact.id, content=text)
        elif move == "forget" and facts and not said["agent"]:
            world.agent_forgets(facts[number % len(facts)].id)
        elif move == "line" and not is_own:
            lines[at] = f"{lines[at]} {word('person')}" if blank else f"{lines[at]}!"
        elif move == "insert":
            lines[at:at] = ["", word("person"), ""] if blank else [word("person")]
        elif move == "remove" and not is_own:
            del lines[at]
        elif move == "sync":
            agrees()
            continue
        world.file.says("\n".join(lines))
    agrees()


def test_a_fact_of_a_text_is_made_once_and_again_after_it_was_forgotten() -> None:
    world = block_of(BERTHS)
    before = world.file.text
    world.edits(MARKS.end, f"\nBuy a rope.\n{MARKS.end}")
    text = world.file.text
    assert world.takes(dry_run=True) is not None
    assert len(list(world.store.iter_facts())) == 1
    world.takes()
    done = world.takes()  # a crash came before the block was written
    assert done is not None
    assert done.actions == []
    world.fills(done)
    world.agent_forgets(world.fact_of("Buy a rope").id)
    world.fills()
    assert world.file.text == before
    world.file.says(text)
    assert world.follows()[0] == ["create"]
    assert world.fact_of("Buy a rope")
