"""Every error of vaultsync. One class per fact about what went wrong.

VaultsyncError
├── UsageError                 the caller asked for something that cannot be
│   ├── InvalidFieldError      a value that its field does not take
│   ├── FixedFieldError        a field that never changes
│   ├── IdTakenError           an id that a fact has, or had
│   ├── UnknownTypeError       a type that is not in the table of types
│   ├── InvalidIdError         an id that is no UUID
│   ├── InvalidScopeError      a scope that is not `private-…`, `team-…`, `project-…` or `public`
│   ├── ScopeDeniedError       an agent reaches for a scope that is not its own
│   ├── ImportLineError        a line of an import file
│   ├── ConfigError            a setting that makes no sense
│   └── NotAVaultError         no vault at or above the folder
├── NotFoundError
│   ├── FactNotFoundError
│   │   └── FactForgottenError  it was deleted, and can be brought back
│   ├── ConflictNotFoundError
│   └── RunNotFoundError
├── NoteError                  one note; the pass goes on with the others
│   ├── UnreadableNoteError    bad YAML, not UTF-8, too large …: never written, never deleted
│   ├── UnsafeSpliceError      an edit that could not be proved to change one thing only
│   ├── UnsafePathError        a path that would leave the vault or name what is not ours
│   ├── NoteMissingError       no file there
│   ├── NoteExistsError        a file is there already
│   ├── NoteChangedError       the file is not what the writer thought it replaced
│   └── NotRegularFileError    a link, a folder, a device
├── VaultError                 the whole vault
│   ├── VaultMissingError      the root or its marker is not there
│   └── VaultMismatchError     another vault stands at the same place
├── StoreError                 the whole store
│   ├── RevisionMismatchError  the fact is not what the writer thought it replaced
│   ├── StoreUnavailableError  away; what must reach it waits in the outbox
│   ├── StoreMismatchError     another store answers
│   └── StoreRewoundError      the store went back in time, or lost its facts
├── ArchiveError               the archive cannot be read
├── DerivedError               an index or a model: nothing is lost, an answer may be poorer
│   ├── IndexBusyError         another process is writing the index
│   └── EmbedderError          the model is missing, or its service does not answer
├── EngineBusyError            another engine has this vault
└── GuardError                 the plan is not plausible; nothing was done
"""

from __future__ import annotations


class VaultsyncError(Exception):
    """The root of all errors that vaultsync raises on purpose.

    `message` says what happened and why, `hint` what to do.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(VaultsyncError):
    """The caller asked for something that cannot be."""


class InvalidFieldError(UsageError):
    """A field was given a value that it does not take."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = f"{value!r:.80}"
        super().__init__(
            f"{field} cannot be {shown}: {expected}", hint=f"give {field} {expected}"
        )
        self.field = field
        self.expected = expected


class FixedFieldError(UsageError):
    """A field that never changes was to be changed."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} never changes", hint="leave it out")
        self.field = field


class IdTakenError(UsageError):
    """There is, or was, a fact of that id; nothing was written."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(
            f"the id {fact_id} is taken; nothing was written",
            hint=f"leave the id out, or change that fact: `vaultsync update {fact_id}`",
        )
        self.fact_id = fact_id


class UnknownTypeError(UsageError):
    """A type that is not in the table of types."""

    def __init__(self, name: object, known: tuple[str, ...]) -> None:
        super().__init__(
            f"there is no type {str(name)[:60]!r}",
            hint="use one of " + ", ".join(known),
        )


class InvalidIdError(UsageError):
    """An id that is no UUID; ids become keys, never paths."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"{str(value)[:80]!r} is not an id",
            hint="an id is a UUID: the property `id` of a note, or see `vaultsync list`",
        )


class InvalidScopeError(UsageError):
    """A scope that cannot be a folder of the vault."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"{str(value)[:80]!r} is not a scope",
            hint="use public, private-NAME, team-NAME or project-NAME,"
            " NAME of lower-case letters, digits, - and _",
        )


class ScopeDeniedError(UsageError):
    """An agent reaches for a scope that is not its own."""

    def __init__(self, agent: str, scope: str) -> None:
        super().__init__(
            f"agent {agent!r} has no access to {scope!r}",
            hint=f"only agent {scope.removeprefix('private-')!r} may use that scope",
        )


class ImportLineError(UsageError):
    """A line of an import file is not a fact; nothing of the file was taken."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(
            f"line {line}: {why}; nothing of the file was taken",
            hint="mend the line and import the file again",
        )
        self.line = line


class ConfigError(UsageError):
    """A setting makes no sense."""


class NotAVaultError(UsageError):
    """There is no vault at or above the folder."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"no vault at {where}",
            hint="make one with `vaultsync init PATH`, or name one with --vault PATH; if it"
            " was one, mount its disk, or put its `.meta` back",
        )


class NotFoundError(VaultsyncError):
    """What was named is not there."""


class FactNotFoundError(NotFoundError):
    """The store has no fact of that id."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(
            f"no fact {fact_id}", hint="`vaultsync list` shows the facts there are"
        )
        self.fact_id = fact_id


class FactForgottenError(FactNotFoundError):
    """The fact was deleted; its tombstone can bring it back."""

    def __init__(self, fact_id: str, at: str) -> None:
        super().__init__(fact_id)
        self.message = f"fact {fact_id} was forgotten on {at[:10]}"
        self.args = (self.message,)
        self.hint = f"`vaultsync restore {fact_id}` brings it back"


class ConflictNotFoundError(NotFoundError):
    """No open conflict has that id."""

    def __init__(self, conflict_id: str) -> None:
        super().__init__(
            f"no open conflict {conflict_id}",
            hint="`vaultsync conflicts` shows the open ones",
        )


class RunNotFoundError(NotFoundError):
    """No recorded pass has that run id."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"no run {run}", hint="`vaultsync history ID` and every report name runs"
        )


class NoteError(VaultsyncError):
    """One note; the pass goes on with the others."""

    def __init__(
        self, path: str, message: str, *, hint: str = "", line: int | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.line = line


class UnreadableNoteError(NoteError):
    """The file cannot be read as a note; it is never written and never deleted."""

    def __init__(
        self, path: str, why: str, *, hint: str = "", line: int | None = None
    ) -> None:
        where = f"{path}:{line}" if line else path
        super().__init__(
            path,
            f"{where}: {why}",
            hint=hint or "mend the note and save it; the next pass takes it up",
            line=line,
        )
        self.why = why


class UnsafeSpliceError(NoteError):
    """An edit of a note could not be proved to change one thing only."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            path,
            f"{path}: not written, because {why}",
            hint="simplify the frontmatter of this note, or make the change by hand",
        )


class UnsafePathError(NoteError):
    """The path would leave the vault, or names what is not ours to touch."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path!r}: {why}", hint="use a path inside the vault")


class NoteMissingError(NoteError):
    """There is no file at the path."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: no such note")


class NoteExistsError(NoteError):
    """There is a file at the path already; it was left alone."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: something is there already")


class NoteChangedError(NoteError):
    """The file is not what the writer thought it replaced; it was left as found.

    `displaced` holds every complete content that was met on the way and that is
    not in the file now, so that the caller can keep it in the history.
    """

    def __init__(self, path: str, displaced: tuple[bytes, ...] = ()) -> None:
        super().__init__(path, f"{path}: changed meanwhile")
        self.displaced = displaced


class NotRegularFileError(NoteError):
    """A link, a folder or a device where a note is expected."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            path,
            f"{path}: is {what}, not a file",
            hint="vaultsync reads and writes regular files only; move it away or"
            " rename it",
        )


class VaultError(VaultsyncError):
    """The whole vault cannot be used; nothing was done."""


class VaultMissingError(VaultError):
    """The root of the vault or its marker is not there."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"the vault at {where} is not there: {why}; nothing was done",
            hint="mount or restore it; a missing vault is never taken for deletions",
        )


class VaultMismatchError(VaultError):
    """Another vault stands at the same place."""

    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(
            f"{where} is vault {found}, but {expected} was expected; nothing was done",
            hint="open the right folder, or put the `.meta` of the vault back",
        )


class StoreError(VaultsyncError):
    """The store."""


class RevisionMismatchError(StoreError):
    """The fact is not what the writer thought it replaced; nothing was written."""

    def __init__(self, fact_id: str, expected: str | None, found: str | None) -> None:
        super().__init__(
            f"fact {fact_id} is at revision {found or 'none'},"
            f" not {expected or 'none'}; nothing was written",
            hint="read the fact again and repeat the change",
        )
        self.fact_id = fact_id
        self.expected = expected
        self.found = found


class StoreUnavailableError(StoreError):
    """The store does not answer."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the store does not answer: {why}",
            hint="work goes on: what must reach it waits in the outbox; if it is lost,"
            " `vaultsync rebuild --from vault` makes a new one from the notes",
        )
        self.why = why


class StoreMismatchError(StoreError):
    """Another store answers than the one this vault was mirrored with."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"the store is {found}, but this vault mirrors {expected}; nothing was done",
            hint="set the right store, or rebuild with"
            " `vaultsync rebuild --from vault`",
        )


class StoreRewoundError(StoreError):
    """The store lost what this vault had already seen."""

    def __init__(self, why: str, run: str) -> None:
        super().__init__(
            f"the store went back in time: {why}; nothing was done",
            hint="restored from a backup? `vaultsync rebuild --from vault` gives it"
            f" what the vault holds; `vaultsync sync --confirm {run}` reconciles both",
        )
        self.run = run


class ArchiveError(VaultsyncError):
    """The archive cannot be read."""


class DerivedError(VaultsyncError):
    """Of an index or a model: what is derived can be made again."""


class IndexBusyError(DerivedError):
    """Another process is writing the index."""


class EmbedderError(DerivedError):
    """The model is missing, or its service does not answer."""


class EngineBusyError(VaultsyncError):
    """Another engine has this vault."""

    def __init__(self, vault: str, holder: str = "") -> None:
        held = f" ({holder})" if holder else ""
        super().__init__(
            f"another engine has the vault {vault}{held}",
            hint="wait until it is done, or end the program that has it",
        )


class GuardError(VaultsyncError):
    """The plan deletes or rewrites too much to be plausible; nothing was done."""

    def __init__(self, why: str, run: str) -> None:
        super().__init__(
            f"the guard stopped this pass: {why}; nothing was done",
            hint="look at it with `vaultsync sync --dry-run`; if it is meant, say"
            f" `vaultsync sync --confirm {run}`",
        )
        self.run = run
