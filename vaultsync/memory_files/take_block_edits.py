"""Apply the user's edits in the managed block of a memory file to the facts.

An edit of an item changes its fact where the item says all of it, and is proposed where it does
not. A new text becomes a fact. An item that was removed stays out of the block until its fact
changes; nothing is forgotten by it. Whatever is done twice, as after a crash, is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from vaultsync.errors import (
    FactForgottenError,
    FactNotFoundError,
    IdTakenError,
    ScopeDeniedError,
    VaultsyncError,
)
from vaultsync.facts.service import check_scope_access, get, remember, update
from vaultsync.memory_files.block_edits import (
    ItemEdit,
    WrittenBlock,
    fact_edit,
    read_block_edits,
    said_by,
    text_of_edit,
)
from vaultsync.memory_files.managed_block import FULL, item_text
from vaultsync.memory_files.plan import type_of
from vaultsync.memory_files.report import SectionResult
from vaultsync.memory_files.sections import (
    FileMetadataValues,
    in_file_order,
    memory_file_notice,
    read_outline,
    section_id,
)
from vaultsync.memory_files.service import DETACHED_SOURCE, MEMORY_CONFIDENCE, MEMORY_IMPORTANCE
from vaultsync.memory_files.state import SOURCE_PREFIX
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.schema import Value
from vaultsync.model.scope import PUBLIC
from vaultsync.storage.archive import Notice
from vaultsync.sync.context import SyncContext

UPDATE, CREATE, PROPOSE, LEAVE_OUT = "update", "create", "propose", "leave_out"


@dataclass(slots=True)
class TakenEdits:
    """Takes over what a person made of a block, and says what became of it."""

    ctx: SyncContext = field(repr=False)
    name: str
    """Of the file."""
    agent: str | None
    """In whose name the edits are taken."""
    scope: str | None
    """Of new facts; the default one when it is None."""
    propose: Callable[[Fact, Mapping[str, Value]], None]
    """Propose new values of a fact to the user."""
    dry_run: bool = False
    """Whether only to say what would be done."""
    form: str = FULL
    actions: list[SectionResult] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    removed: dict[str, str] = field(default_factory=dict)
    """The facts of items that were removed, and what they said then."""
    refused: bool = False
    """Whether an edit could not be taken: a notice says why, and the block stays as it is."""

    @property
    def fact_ids(self) -> list[str]:
        """The facts that were written."""
        return [each.fact_id for each in self.actions if each.action in {UPDATE, CREATE}]

    def take_all(self, text: str, written: Sequence[WrittenBlock]) -> bool:
        """Take over the edits of one of the `written` blocks, as it is in a file.

        Returns:
            False if it is not known what the block said, or what of it is which item.
        """
        found = read_block_edits(text, written)
        if found is None:
            return False
        block, edits = found
        self.form = block.form
        for number, edit in enumerate(edits):
            try:
                self.take(edit, f"{block.digest}\n{number}\n{edit.after}")
            except VaultsyncError as error:
                self.refused = True
                why = f"an edit of the block was not applied: {error.message}"
                self.tell(why, error.hint, edit)
        return True

    def tell(self, message: str, hint: str, edit: ItemEdit) -> None:
        """Add a notice."""
        name, shown = self.name, self.ctx.view.redact_text(message)
        self.notices.append(memory_file_notice("BlockEdit", name, shown, hint, edit.line))

    def take(self, edit: ItemEdit, seed: str) -> None:
        """Take an edit; the ids of new facts are made of `seed`.

        Raises:
            VaultsyncError: it cannot be taken.
        """
        fact = self._find(edit.fact_id)
        if edit.after is None:
            if fact is not None and item_text(fact, self.form) == edit.before:
                self.removed[fact.id] = said_by(fact)
                self._did(LEAVE_OUT, fact, edit, "removed from the block")
        elif fact is None:
            self._take_text(edit, text_of_edit(edit), seed)
        else:
            self._take_item(fact, edit)

    def _find(self, fact_id: str) -> Fact | None:
        with suppress(FactNotFoundError, FactForgottenError):
            if fact_id:
                return self.ctx.view.redact(get(self.ctx, fact_id, agent=self.agent))
        return None

    def _did(
        self, action: str, fact: Fact, edit: ItemEdit, why: str, fields: tuple[str, ...] = ()
    ) -> None:
        title = self.ctx.view.redact_text(fact.title, fact)
        self.actions.append(SectionResult(action, fact.id, title, edit.line, fields, why))

    def _take_item(self, fact: Fact, edit: ItemEdit) -> None:
        wanted = fact_edit(fact, edit, self.form)
        fields = tuple(sorted(wanted.values))
        if not fields:
            if not wanted.exact:
                why = (
                    f"the text removed from {fact.title!r} is not a whole text, and is added again"
                )
                self.tell(why, "edit the note of the fact", edit)
            return
        why = "the block shows only a part of the fact"
        if self.form == FULL and wanted.exact:
            if self._update(fact, wanted.values):
                self._did(UPDATE, fact, edit, "edited in the block", fields)
                return
            why = "the agent may only propose it"
        elif self.form == FULL:
            why = "the fact changed in the same place, or the block shows it in another form"
        if not self.dry_run:
            self.propose(fact, wanted.values)
        self._did(PROPOSE, fact, edit, why, fields)
        hint = "`vaultsync proposals` shows it, and `vaultsync proposals accept` applies it"
        self.tell(f"your edit of {fact.title!r} in the block is a proposal: {why}", hint, edit)

    def _update(self, fact: Fact, values: Mapping[str, Value]) -> bool:
        """Change a fact; False where the agent may only propose that."""
        agent = self.agent
        try:
            if self.dry_run:
                check_scope_access(self.ctx, fact.scope, agent=agent)
            else:
                update(self.ctx, fact.id, values, agent=agent, expect=fact.revision)
        except ScopeDeniedError as denied:
            if denied.proposes:
                return False
            raise
        return True

    def _take_text(self, edit: ItemEdit, text: str, seed: str) -> None:
        """Make facts of a text: one for each section, and one of what is above them."""
        outline = read_outline(text, name="memory")
        at = next((each.start for each in outline.blocks if each.heading is not None), len(text))
        above = text[:at].strip("\n")
        values: list[dict[str, Value]] = [{"content": above}] if above else []
        values += [
            {
                "title": each.title,
                "content": each.content or each.title,
                "type": type_of(each, FileMetadataValues()),
            }
            for each in in_file_order(outline.sections, outline.left_out)
            if each.heading is not None
        ]
        for number, each in enumerate(values):
            digest = sha256(f"{seed}\n{number}".encode(errors="surrogatepass")).hexdigest()
            source = SOURCE_PREFIX + self.name
            each["id"] = section_id(self.agent, source, digest, 0)
            fact = self._create(each)
            if fact is not None:
                self._did(CREATE, fact, edit, "written into the block")

    def _create(self, values: Mapping[str, Value]) -> Fact | None:
        """Write a new fact; None if it was written before a crash."""
        whole = {
            **values,
            "scope": self.scope,
            "source": DETACHED_SOURCE,
            "importance": MEMORY_IMPORTANCE,
            "confidence": MEMORY_CONFIDENCE,
        }
        if self.dry_run:
            return make_fact({"scope": PUBLIC, **{k: v for k, v in whole.items() if v is not None}})
        try:
            return remember(self.ctx, whole, agent=self.agent)
        except IdTakenError:
            if self.ctx.store.find_many([str(values["id"])]):
                return None
        # It was forgotten since, and is written once more.
        return remember(self.ctx, {**whole, "id": None}, agent=self.agent)
