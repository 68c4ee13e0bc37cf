"""Every error of vaultsync. One class per fact about what went wrong.

VaultsyncError
├── UsageError                 the caller asked for something that cannot be
│   ├── InvalidFieldError      a value that its field does not take
│   ├── FixedFieldError        a field that never changes
│   ├── ComputedFieldError     a field that nobody sets, such as `embedding`
│   ├── UnknownPlaceholderError  a placeholder that stands for no secret of the fact
│   ├── IdTakenError           an id that a fact has, or had
│   ├── SupersededError        a fact that a newer one replaces already
│   ├── UnknownTypeError       a type that is not in the table of types
│   ├── InvalidIdError         an id that is no UUID
│   ├── InvalidScopeError      a scope that is not `private-…`, `team-…`, `project-…` or `public`
│   ├── ScopeDeniedError       an agent reaches for a scope that is not its own
│   ├── ImportLineError        a line of an import file
│   ├── TooManyFilesError      more memory files than anybody means
│   ├── ConfigError            a setting that makes no sense
│   ├── MalformedBodyError     over HTTP came what the route does not take
│   ├── InvalidArgumentsError  arguments that a tool does not take
│   ├── MissingExtraError      a part that is not installed
│   ├── PluginNotBuiltError    this installation has no plugin for Obsidian to copy
│   └── NotAVaultError         no vault at or above the folder
├── NotFoundError
│   ├── FactNotFoundError
│   │   └── FactForgottenError  it was deleted, and can be brought back
│   ├── IdNotInVaultError      no note bears the id
│   ├── IndexFileNotFoundError  no such file in `.index/`
│   ├── WriteNotFoundError     nobody waits for an answer about that write
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
├── MemoryFileError            one memory file; the others go on
│   ├── MemoryFileMissingError  no file there, and no fact came from it
│   ├── UnreadableMemoryFileError  binary, badly encoded, too large: its facts stay
│   ├── MemoryFileChangedError  somebody saved it while an agent wrote into it
│   └── MemoryFileBusyError    another process works with it
├── VaultError                 the whole vault
│   ├── VaultMissingError      the root or its marker is not there
│   └── VaultMismatchError     another vault stands at the same place
├── StoreError                 the whole store
│   ├── RevisionMismatchError  the fact is not what the writer thought it replaced
│   ├── StoreUnavailableError  away; what must reach it waits in the outbox
│   ├── StoreMismatchError     another store answers
│   ├── StoreLayoutError       its collection was made otherwise than the settings say
│   ├── MigrationError         not all facts are in the new store
│   └── StoreRewoundError      the store went back in time, or lost its facts
├── ArchiveError               the archive cannot be read
├── DerivedError               an index or a model: nothing is lost, an answer may be poorer
│   ├── IndexBusyError         another process is writing the index
│   └── EmbedderError          the model is missing, or its service does not answer
├── EngineBusyError            another engine has this vault
├── DaemonStoppedError         the daemon was told to stop
└── GuardError                 the plan is not plausible; nothing was done

The root of all errors.

The caller asked for what cannot be, or for what is not there.

One note cannot be read, written or found; the pass goes on with the others.

Memory files: `MEMORY.md` and its like, which lie outside the vault.

A whole side, or what is kept between both, cannot be used.

Work that was not done: an index, a model, another engine, an implausible plan.
"""

from __future__ import annotations

import json


class VaultsyncError(Exception):
    """The root of all errors that vaultsync raises on purpose.

    `message` says what happened and why, `hint` what to do.
    """

    run: str | None = None
    """The pass that was stopped, and can be confirmed."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def _shown(value: object, length: int) -> str:
    """A value as its author may have written it: a text in quotes, anything else as JSON."""
    if isinstance(value, str):
        return repr(value[:length])
    return json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)[:length]


class UsageError(VaultsyncError):
    """The caller asked for something that cannot be."""


class InvalidFieldError(UsageError):
    """A field was given a value that it does not take."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = _shown(value, 80)
        super().__init__(f"{field} cannot be {shown}: {expected}", hint=f"give {field} {expected}")
        self.field = field
        self.expected = expected


class FixedFieldError(UsageError):
    """A field that never changes was to be changed."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} never changes", hint="leave it out")
        self.field = field


class ComputedFieldError(UsageError):
    """Something was to be set that is told of a fact and that nobody sets."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is not set by anybody: vaultsync makes it", hint="leave it out")
        self.field = field


class UnknownPlaceholderError(UsageError):
    """A text repeats a placeholder that stands for no secret of its fact."""

    def __init__(self, fact_id: str, placeholder: str) -> None:
        super().__init__(
            f"{placeholder} stands for no secret of the fact {fact_id}; nothing was written",
            hint=f"keep its placeholders as `vaultsync get {fact_id}` shows them, or leave"
            " them out",
        )
        self.fact_id = fact_id
        self.placeholder = placeholder


class IdTakenError(UsageError):
    """There is, or was, a fact of that id; nothing was written."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(
            f"the id {fact_id} is taken; nothing was written",
            hint=f"leave the id out, or change that fact: `vaultsync update {fact_id}`",
        )
        self.fact_id = fact_id


class SupersededError(UsageError):
    """A newer fact replaces that one already; nothing was written."""

    def __init__(self, fact_id: str, heir: str) -> None:
        super().__init__(
            f"fact {fact_id} is replaced by {heir} already; nothing was written",
            hint=f"replace or change that one: `vaultsync get {heir}` shows it",
        )
        self.fact_id = fact_id
        self.heir = heir


class UnknownTypeError(UsageError):
    """A type that is not in the table of types."""

    def __init__(self, name: object, known: tuple[str, ...]) -> None:
        super().__init__(
            f"there is no type {_shown(name, 60)}",
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


class InvalidArgumentsError(UsageError):
    """A tool or a prompt was called with arguments that it does not take."""

    def __init__(self, name: str, why: str, known: tuple[str, ...]) -> None:
        takes = ", ".join(known) or "no arguments"
        super().__init__(f"{name}: {why}", hint=f"{name} takes {takes}")
        self.name = name


class MissingExtraError(UsageError):
    """A part that is not installed."""

    def __init__(self, what: str, module: str, extra: str) -> None:
        super().__init__(
            f"{what} needs {module}, which is not installed",
            hint=f"python -m pip install 'vaultsync[{extra}]'",
        )
        self.extra = extra


class NotAVaultError(UsageError):
    """There is no vault at or above the folder."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"no vault at {where}",
            hint="make one with `vaultsync init PATH`, or name one with --vault PATH; if it"
            " was one, mount its disk, or put its `.meta` back",
        )


class PluginNotBuiltError(UsageError):
    """This installation has no built plugin for Obsidian; nothing was copied."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"this installation has no plugin for Obsidian: {missing} is missing",
            hint="in a clone, build it with `make plugin`, which needs Node.js and npm",
        )


class MalformedBodyError(UsageError):
    """What came over HTTP is not what its route takes; nothing was done."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the request is not what its route takes: {why}",
            hint="docs/reference/bridge.md says what it takes",
        )


class NotFoundError(VaultsyncError):
    """What was named is not there."""


class FactNotFoundError(NotFoundError):
    """The store has no fact of that id."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(f"no fact {fact_id}", hint="`vaultsync list` shows the facts there are")
        self.fact_id = fact_id


class FactForgottenError(FactNotFoundError):
    """The fact was deleted; its tombstone can bring it back."""

    def __init__(self, fact_id: str, at: str) -> None:
        super().__init__(fact_id)
        self.message = f"fact {fact_id} was forgotten on {at[:10]}"
        self.args = (self.message,)
        self.hint = f"`vaultsync restore {fact_id}` brings it back"


class IdNotInVaultError(NotFoundError):
    """No note of the vault bears the id."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(
            f"no note bears the id {fact_id}",
            hint="give the note the property `id` of that value, save it, and try again",
        )


class IndexFileNotFoundError(NotFoundError):
    """There is no derived file of that name in `.index/`."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no file {name[:80]!r} in .index/",
            hint="`vaultsync index` writes the files, and GET /v1/index lists them",
        )


class WriteNotFoundError(NotFoundError):
    """Nobody waits for an answer about that write, or not any more."""

    def __init__(self, write: str) -> None:
        super().__init__(
            f"no write {write[:80]!r} waits for an answer",
            hint="it was answered already, or too late: the vault was written directly",
        )


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
            f"no run {run} that did anything",
            hint="`vaultsync history ID` names the runs that changed a fact",
        )


class NoteError(VaultsyncError):
    """One note; the pass goes on with the others."""

    def __init__(self, path: str, message: str, *, hint: str = "", line: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.line = line


class UnreadableNoteError(NoteError):
    """The file cannot be read as a note; it is never written and never deleted."""

    def __init__(self, path: str, why: str, *, hint: str = "", line: int | None = None) -> None:
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
            hint="vaultsync reads and writes regular files only; move it away or rename it",
        )


class MemoryFileError(VaultsyncError):
    """One memory file; the others go on."""

    def __init__(self, message: str, *, hint: str, name: str) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class MemoryFileMissingError(MemoryFileError):
    """No file there, and no fact came from it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no memory file {name}, and no fact came from it",
            hint="see that the name is right; `memory-file add` makes a new file",
            name=name,
        )


class UnreadableMemoryFileError(MemoryFileError):
    """Binary, badly encoded, too large, not to be opened: its facts stay as they are."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"{name} was left out: {why}",
            hint="a memory file is markdown in UTF-8; what came from it before stays",
            name=name,
        )
        self.why = why


class MemoryFileChangedError(MemoryFileError):
    """Somebody saved the file while an agent wrote into it; the save stands."""

    def __init__(self, name: str, saved: tuple[bytes, ...] = ()) -> None:
        super().__init__(
            f"{name} was saved by somebody else at the same moment; that save stands",
            hint="what the agent wrote waits in the queue; the next `memory-file sync` writes it",
            name=name,
        )
        self.saved = saved
        """What was saved and is in no file any more, for somebody saved again."""


class MemoryFileBusyError(MemoryFileError):
    """Another process works with the file."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(
            f"another process has been working with {name} for {seconds:g} s",
            hint="try again when it is done",
            name=name,
        )


class TooManyFilesError(UsageError):
    """More memory files than anybody means."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(
            f"{count} files were found, {most} are the most that can be meant",
            hint="name the files, or narrow it down with --include and --exclude",
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
    """The store does not answer. `helps`: what would help, where that is known."""

    def __init__(self, why: str, *, helps: str = "") -> None:
        super().__init__(
            f"the store does not answer: {why}",
            hint=helps
            or "try again when it is back; what is written meanwhile waits in the outbox;"
            " if it is lost, `vaultsync rebuild --from vault` makes a new one from the"
            " notes",
        )
        self.why = why
        self.helps = helps


class StoreMismatchError(StoreError):
    """Another store answers than the one this vault was mirrored with."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"the store is {found}, but this vault mirrors {expected}; nothing was done",
            hint="set the right store, or rebuild with `vaultsync rebuild --from vault`",
        )


class StoreRewoundError(StoreError):
    """The store lost what this vault had already seen."""

    run: str

    def __init__(self, why: str, run: str) -> None:
        super().__init__(
            f"the store went back in time: {why}; nothing was done",
            hint="restored from a backup? `vaultsync rebuild --from vault` gives it"
            f" what the vault holds; `vaultsync sync --confirm {run}` reconciles both,"
            " and notes that differ get what the store says now",
        )
        self.run = run


class StoreLayoutError(StoreError):
    """What holds the facts was made otherwise than this vault's settings say."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"the collection {where} was made otherwise: {why}; nothing was done",
            hint="set what it was made with, or take all facts to another one:"
            " `vaultsync migrate --to URL`; a collection is never altered",
        )
        self.where = where


class MigrationError(StoreError):
    """Not all facts are in the new store; this vault stays with the old one."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the facts are not all in the new store: {why}; nothing was switched",
            hint="run the same command again: it goes on where it stopped",
        )


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
        super().__init__(f"another engine has the vault {vault}{held}")
        self.watched("stop it first")

    def watched(self, what: str) -> EngineBusyError:
        """The same error, with what to do where the other engine is a daemon."""
        self.hint = f"wait until it is done; if it is `vaultsync watch`, {what}"
        return self


class GuardError(VaultsyncError):
    """The plan deletes or rewrites too much to be plausible; nothing was done."""

    run: str

    def __init__(self, why: str, run: str) -> None:
        super().__init__(
            f"the guard stopped this pass: {why}; nothing was done",
            hint="look at it with `vaultsync sync --dry-run`; if it is meant, say"
            f" `vaultsync sync --confirm {run}`",
        )
        self.run = run


class DaemonStoppedError(VaultsyncError):
    """The daemon was told to stop; what it had begun is taken up by the next pass."""

    def __init__(self) -> None:
        super().__init__(
            "the daemon was told to stop",
            hint="start it again with `vaultsync watch`; nothing is lost",
        )


__all__ = [
    "ArchiveError",
    "ComputedFieldError",
    "ConfigError",
    "ConflictNotFoundError",
    "DaemonStoppedError",
    "DerivedError",
    "EmbedderError",
    "EngineBusyError",
    "FactForgottenError",
    "FactNotFoundError",
    "FixedFieldError",
    "GuardError",
    "IdNotInVaultError",
    "IdTakenError",
    "ImportLineError",
    "IndexBusyError",
    "IndexFileNotFoundError",
    "InvalidArgumentsError",
    "InvalidFieldError",
    "InvalidIdError",
    "InvalidScopeError",
    "MalformedBodyError",
    "MemoryFileBusyError",
    "MemoryFileChangedError",
    "MemoryFileError",
    "MemoryFileMissingError",
    "MigrationError",
    "MissingExtraError",
    "NotAVaultError",
    "NotFoundError",
    "NotRegularFileError",
    "NoteChangedError",
    "NoteError",
    "NoteExistsError",
    "NoteMissingError",
    "PluginNotBuiltError",
    "RevisionMismatchError",
    "RunNotFoundError",
    "ScopeDeniedError",
    "StoreError",
    "StoreLayoutError",
    "StoreMismatchError",
    "StoreRewoundError",
    "StoreUnavailableError",
    "SupersededError",
    "TooManyFilesError",
    "UnknownPlaceholderError",
    "UnknownTypeError",
    "UnreadableMemoryFileError",
    "UnreadableNoteError",
    "UnsafePathError",
    "UnsafeSpliceError",
    "UsageError",
    "VaultError",
    "VaultMismatchError",
    "VaultMissingError",
    "VaultsyncError",
    "WriteNotFoundError",
]
