"""Actions of users on notes. Each tells the ledger what the user saw and wrote."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tests.proofs import texts
from tests.proofs.ledger import in_archive, in_vault, words
from tests.proofs.sides import Editor, Sides
from vaultsync.errors import StoreUnavailableError, UnwritableNoteError, VaultMissingError
from vaultsync.model import serialization as wire
from vaultsync.sync.conflicts import ConflictResolution, resolve_conflict


class People(Sides):
    """Both sides, and users with their editors."""

    def save(
        self, path: str, data: bytes, *, saw: bytes | None = None, rename: bool = False
    ) -> None:
        """Save a note as a user who has seen `saw` of it; default: all of it."""
        self.clock.advance(0.002)
        over = self.data(path) if path in self.vault.names else b""
        saw = over if saw is None else saw
        self.ledger.wrote(f"person saves {path}", saw=saw, over=over, after=data)
        if rename:
            self.vault.save_by_rename(path, data)
        else:
            self.vault.save_in_place(path, data)
        if texts.BROKEN in data and path in self.broken:
            self.broken[path] = data
        else:  # an editor that had the complete note open overwrote it
            self.broken.pop(path, None)

    def edit(
        self, path: str, change: Callable[[bytes, str], bytes], *, rename: bool = False
    ) -> None:
        """Change a note as the user, by one of the `texts`, with a new word."""
        if path in self.half:
            return
        word = self.ledger.word()
        self.save(path, change(self.data(path), word), rename=rename)
        if change is texts.source:
            # It will be reverted: only the history keeps the user's value.
            self.ledger.at_least_kept([word])

    def new_note(self, path: str, *, front: bool = False) -> None:
        if path in self.vault.names or self.vault._find(path):
            return
        word = self.ledger.word()
        head = f"---\nstatus: {self.ledger.word()}\n---\n" if front else ""
        self.save(path, f"{head}A note that says {word}.\n".encode())

    def begin_save(self, path: str, *, empty: bool) -> None:
        """Truncate the file, as an editor does before it writes."""
        if path in self.half or path in self.broken:
            return
        view = self.data(path)
        goal = texts.append(view, self.ledger.word())
        self.half[path] = (view, goal)
        self.clock.advance(0.002)
        self.vault.save_in_place(path, b"" if empty else goal[: len(goal) // 2])
        self.ledger.story.append(f"person begins to save {path}")

    def end_save(self, path: str) -> None:
        view, goal = self.half.pop(path)
        if path in self.vault.names:
            self.save(path, goal, saw=view)
        else:
            # It stayed so long that it counted as an edit, and was deleted with its fact:
            # only the editor, which would save it now, has the unsaved text.
            seen = in_archive(self)
            self.ledger.at_least_kept(words(view) & seen)
            self.ledger.forgive(words(view) - seen)

    def open(self, path: str) -> None:
        """Open a note in an editor, which keeps the file open."""
        if path not in self.half:
            handle = self.vault.open_handle(path)
            self.editors.append(Editor(path, self.data(path), handle))

    def save_through_handle(self, editor: Editor) -> None:
        """Save into the open file, which may have been renamed since."""
        self.editors.remove(editor)
        inode = editor.handle.inode
        alive = [name for name, i in self.vault.names.items() if i is inode]
        if not alive or alive[0] in self.half or alive[0] in self.broken:
            return
        self.clock.advance(0.002)
        after = texts.append(editor.view, self.ledger.word())
        over = inode.data
        who = f"person saves {editor.path} through an old handle of {alive[0]}"
        self.ledger.wrote(who, saw=editor.view, over=over, after=after)
        lingering = {f".meta/staging/{each.op}" for each in self.archive.displaced_files()}
        if alive[0].startswith(".meta/") and alive[0] not in lingering:
            # The archive with the base of the note is lost.
            self.ledger.at_least_kept(words(after))
        editor.handle.write(after)

    def save_stale(self, editor: Editor) -> None:
        """Save an old text over the current file at the path."""
        self.editors.remove(editor)
        if editor.path not in self.vault.names or editor.path in self.half:
            return
        after = texts.append(editor.view, self.ledger.word())
        self.save(editor.path, after, saw=editor.view, rename=True)

    def rename(self, path: str, to: str) -> None:
        taken = self.vault._find(to) not in (None, path)
        if taken or path in self.half or path in self.broken:
            return
        self.clock.advance(0.002)
        self.vault.rename(path, to)
        self.ledger.story.append(f"person renames {path} to {to}")

    def change_case(self, path: str) -> None:
        folder, slash, name = path.rpartition("/")
        self.rename(path, f"{folder}{slash}{name[:-3].swapcase()}.md")

    def copy(self, path: str, to: str) -> None:
        if self.vault._find(to) or path in self.half or path in self.broken:
            return
        self.clock.advance(0.002)
        self.vault.copy(path, to)
        self.ledger.story.append(f"person copies {path} to {to}")

    def delete(self, path: str) -> None:
        if path in self.half or path in self.broken:
            return
        self.clock.advance(0.002)
        data = self.data(path)
        self.trash.append((path, data))
        if self.archives > 1:
            # A note without a base may not show all values of its fact.
            fact = self.facts().get(texts.id_of(data) or "")
            self.ledger.at_least_kept(words(wire.fact_to_json(fact)) if fact else ())
        self.ledger.wrote(f"person deletes {path}", saw=data, over=data, after=b"")
        self.vault.delete(path)

    def restore_from_trash(self) -> None:
        if not self.trash:
            return
        path, data = self.trash.pop()
        if not self.vault._find(path):
            self.save(path, data)

    def break_yaml(self, path: str) -> None:
        data = self.data(path)
        if path not in self.half and texts.id_of(data):
            made = texts.break_yaml(data)
            self.save(path, made)
            self.broken[path] = made

    def mend_yaml(self, path: str) -> None:
        self.save(path, texts.mend_yaml(self.broken.pop(path)))

    def tick(self, path: str) -> None:
        """Tick all boxes of a conflict note."""
        data = self.data(path)
        self.ledger.at_least_kept(words(data))
        for record in self.archive.conflicts():
            if record.conflict_path != path:
                continue
            # The note may have been moved since: it is what the conflict is about.
            moved = self.notes_by_id().get(record.fact_id, [])
            for note in filter(None, (self.vault._find(record.path), *moved)):
                self.ledger.at_least_kept(words(self.data(note)))
        self.clock.advance(0.002)
        self.vault.save_in_place(path, data.replace(b"- [ ]", b"- [x]"))
        self.ledger.story.append(f"person ticks {path}")

    def dismiss(self, path: str) -> None:
        """Delete a conflict note."""
        read = words(self.data(path))
        self.ledger.at_least_kept(read)
        self.clock.advance(0.002)
        self.vault.delete(path)
        # After the loss of the archive, the conflict note may have had the only copy.
        self.ledger.forgive(read - self.ledger.known() - in_vault(self))
        self.ledger.story.append(f"person dismisses {path}")

    def command(self, take: str) -> None:
        """Resolve the oldest conflict by a command."""
        found = self.archive.conflicts()
        if not found:
            return
        conflict = found[0]
        self.ledger.at_least_kept(words(repr(conflict.fields)))
        for path in self.notes_by_id().get(conflict.fact_id, []):
            # The agent may have deleted it, and the user confirms that.
            self.ledger.at_least_kept(words(self.data(path)))
        everything = tuple(each.field for each in conflict.fields)
        self.ledger.story.append(f"person settles {conflict.id}: {take}")
        # One of these means that what the choice overwrites cannot be kept in a conflict note.
        refusals = (StoreUnavailableError, VaultMissingError, UnwritableNoteError, OSError)
        with suppress(*refusals):
            resolve_conflict(self.ctx, ConflictResolution(conflict, take, everything))
