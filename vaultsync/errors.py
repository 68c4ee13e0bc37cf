"""Every error that vaultsync raises deliberately; docs/reference/errors.md has an example of each.

The base classes state what is affected: the call (`UsageError`, `NotFoundError`), one note
(`NoteError`), one memory file (`MemoryFileError`), modules (`ModuleError`), a whole side
(`VaultError`, `StoreError`), or only what can be rebuilt (`DerivedError`).
"""

from __future__ import annotations

import copyreg
import errno
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from shlex import quote
from typing import Any

_PERMISSION = "change the permissions, or use another path"
_SPACE = "free some space and try again; the next sync repairs what was interrupted"
_FOLDER = "create the folder first, or use another path"
_FILES = "close other programs, or raise the limit: `ulimit -n 1024`"
SYSTEM_HINTS: Mapping[int, str] = {
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.ENOENT: _FOLDER,
    errno.ENOTDIR: _FOLDER,
    errno.EROFS: "the file system is read-only; use another path",
    errno.ENAMETOOLONG: "use a shorter name",
    errno.ELOOP: "a link points to itself, or links are not allowed here: remove it",
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EBUSY: "close programs that use it; if it is a mount point, mount its folder instead",
    errno.EIO: "check the disk; the next sync repairs what was interrupted",
}
"""Hints for errors of the operating system, by their number."""


def system_hint(error: OSError, otherwise: str) -> str:
    """The hint for an error of the system such as a full disk; for most, that of the caller."""
    own = "" if isinstance(error, PermissionError) else SYSTEM_HINTS.get(error.errno or 0, "")
    return own or otherwise


def system_error_texts(error: OSError) -> tuple[str, str]:
    """The message of an error of the operating system, with the file, and a hint or none."""
    text = error.strerror or str(error) or type(error).__name__
    message = f"{error.filename}: {text}" if error.filename else text
    return message, SYSTEM_HINTS.get(error.errno or 0, "")


class VaultsyncError(Exception):
    """Base class of all errors that vaultsync raises deliberately.

    `message` states what happened and why, `hint` what to do.
    """

    run: str | None = None
    """Id of the run that was stopped and can be confirmed."""
    examples: Sequence[str] = ()
    """Paths of affected notes, only for the user: an agent may not be allowed to see them."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def message(self) -> str:
        """What happened and why."""
        return str(self.args[0])

    @message.setter
    def message(self, message: str) -> None:
        self.args = (message,)

    @property
    def hint(self) -> str:
        """What to do; a traceback shows it below the message."""
        return self._hint

    @hint.setter
    def hint(self, hint: str) -> None:
        self._hint = hint
        self.__notes__ = [f"hint: {hint}"] if hint else []

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it by its values: the arguments of its class are not kept."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined] # typeshed lacks it


def _shown(value: object, length: int) -> str:
    """A value for a message: text in quotes, anything else as JSON."""
    if isinstance(value, str):
        return repr(value[:length])
    try:
        return json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)[:length]
    except RecursionError:
        return "[…"


def _named(text: str) -> str:
    """A name in a list: in JSON's quotes, unless it is a plain word."""
    return text if quote(text) == text else json.dumps(text, ensure_ascii=False)


# --- the call ----------------------------------------------------------------------------


class UsageError(VaultsyncError):
    """The call is invalid: its arguments, its input or the settings."""


class InvalidFieldError(UsageError):
    """A field does not accept the value."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(
            f"{field}: expected {expected}, got {_shown(value, 80)}",
            hint=f"set {field} to {expected}",
        )
        self.field = field
        self.expected = expected


class NoteLimitError(UsageError):
    """The note of the fact would exceed the size limits of notes; nothing was written."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the fact does not fit into a note: {why}; nothing was written",
            hint="split it into several facts; put long texts into the content",
        )


class FixedFieldError(UsageError):
    """The field never changes."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} cannot be changed", hint="leave it out")
        self.field = field


class ComputedFieldError(UsageError):
    """The field cannot be set, because vaultsync computes it."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} cannot be set: vaultsync computes it", hint="leave it out")
        self.field = field


class UnknownPlaceholderError(UsageError):
    """A text contains a redaction placeholder that matches no secret of its fact."""

    def __init__(self, fact_id: str, placeholder: str) -> None:
        super().__init__(
            f"{placeholder} matches no secret of the fact {fact_id}; nothing was written",
            hint=f"keep the placeholders as `vaultsync get {fact_id}` shows them, or remove them",
        )


class IdTakenError(UsageError):
    """The id belongs, or belonged, to another fact; nothing was written."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(
            f"the id {fact_id} is already in use; nothing was written",
            hint=f"omit the id; `vaultsync get {fact_id}` shows the fact that has it",
        )


class SupersededError(UsageError):
    """The fact is already superseded by a newer one; nothing was written."""

    def __init__(self, fact_id: str, successor_id: str) -> None:
        super().__init__(
            f"fact {fact_id} is already superseded by {successor_id}; nothing was written",
            hint=f"supersede or change the newer fact: `vaultsync get {successor_id}` shows it",
        )


@lru_cache(maxsize=256)  # many notes may have the same unknown type
def nearest_name(name: str, known: tuple[str, ...]) -> str:
    """The known name that is most like another one; empty if none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - for errors only

    return next(iter(get_close_matches(name, known, 1)), "")


class UnknownTypeError(UsageError):
    """The type is not in the table of types."""

    def __init__(self, name: object, known: tuple[str, ...]) -> None:
        like = nearest_name(str(name)[:60].lower(), known)
        hint = f"use {f'{like}, or ' if like else ''}one of {', '.join(known)}"
        super().__init__(f"unknown type {_shown(name, 60)}", hint=hint)


class InvalidIdError(UsageError):
    """The id is not a UUID; ids become keys, never paths."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"{str(value)[:80]!r} is not a valid id",
            hint="an id is a UUID: the property `id` of a note, or see `vaultsync list`",
        )


class InvalidScopeError(UsageError):
    """The scope is not a valid folder name in the vault."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"{str(value)[:80]!r} is not a valid scope",
            hint="use public, private-NAME, team-NAME or project-NAME,"
            " where NAME consists of lower-case letters, digits, - and _",
        )


class InvalidAgentError(InvalidScopeError):
    """The name of the agent is not valid in the folder name of its scope."""

    def __init__(self, name: object) -> None:
        UsageError.__init__(
            self,
            f"{str(name)[:80]!r} is not a valid agent name",
            hint="use lower-case letters, digits, - and _, and begin with a letter or a digit",
        )


class ScopeDeniedError(UsageError):
    """The agent may not write in the scope."""

    def __init__(self, agent: str, scope: str, *, proposes: bool = False) -> None:
        owner = scope.removeprefix("private-")
        may = "may only propose to" if proposes else "has no access to"
        hint = f"only agent {owner!r} may use that scope"
        if scope == owner:
            hint = (
                f"write to private-{agent} or a project's scope, or let the user allow it in the"
                " table [permissions] of their own settings for this vault"
            )
        super().__init__(f"agent {agent!r} {may} {scope!r}", hint=hint)
        self.proposes = proposes
        """Whether the user may accept what the agent proposes to write there."""


class WriteLimitError(UsageError):
    """The write exceeds a limit that the user set for this agent; nothing was written."""

    def __init__(self, agent: str, limit: str) -> None:
        super().__init__(
            f"agent {agent!r} may write {limit}",
            hint="write less, or try again later; the limit is in the table [permissions.agents]"
            " of the user's own settings",
        )


class ProposedError(VaultsyncError):
    """The agent may only propose the change, and the user decides; nothing was written."""

    def __init__(
        self,
        title: str,
        proposal_id: str,
        outcome: str = "",
        *,
        proposal: Any = None,  # noqa: ANN401 - a higher layer defines it
    ) -> None:
        message = f"this waits for the user: {title}"
        hint = (
            "nothing was written, and there is no need to try again; the user ticks a box in the"
            f" note of the proposal, or runs `vaultsync proposals accept {proposal_id[:8]}`"
        )
        if outcome:
            message = f"the user {outcome} this before: {title}"
            hint = "it is not proposed again; write to a scope of your own, or ask the user"
        super().__init__(message, hint=hint)
        self.proposal = proposal
        """What was proposed, as `Memory.proposals()` has it."""

    @property
    def answer(self) -> Mapping[str, object]:
        """What surfaces answer in place of what was to be written."""
        return {"proposal": self.proposal}


class ProposalDeniedError(UsageError):
    """An agent may reject only proposals that it made."""

    def __init__(self, agent: str, proposal_id: str) -> None:
        super().__init__(
            f"agent {agent!r} did not make proposal {proposal_id}",
            hint="the user can reject it: with the box in its note, or with"
            f" `vaultsync proposals reject {proposal_id[:8]}`",
        )


class ImportLineError(UsageError):
    """A line of an import file is not a valid fact; nothing was imported."""

    def __init__(self, line: int, why: str, *, proposes: bool = False) -> None:
        super().__init__(
            f"line {line}: {why}; nothing was imported",
            hint="correct the line and import the file again",
        )
        self.line = line
        self.proposes = proposes
        """Whether a person may accept what the agent proposes to import."""


class ConfigError(UsageError):
    """A setting is unknown, or its value is invalid."""


class InvalidArgumentsError(UsageError):
    """A tool or a prompt does not accept the arguments."""

    def __init__(self, name: str, why: str, known: tuple[str, ...]) -> None:
        takes = ", ".join(known) or "no arguments"
        super().__init__(f"{name}: {why}", hint=f"{name} takes {takes}")


class ClosedMemoryError(UsageError):
    """The `Memory` was closed, and cannot be used any more; nothing was done."""

    def __init__(self, vault: str) -> None:
        super().__init__(
            f"this memory of {vault} was closed; nothing was done",
            hint=f"open the vault again: `vaultsync.open({vault!r})`",
        )


class MissingExtraError(UsageError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, module: str, extra: str) -> None:
        super().__init__(
            f"{what} needs {module}, which is not installed",
            hint=f"python -m pip install 'vaultsync[{extra}]'",
        )
        self.what = what


class NotAVaultError(UsageError):
    """There is no vault at or above the folder."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"no vault at {where}",
            hint="create one with `vaultsync init PATH`, or select one with --vault PATH; if this"
            " was a vault, mount its disk or restore its `.meta`",
        )


class NestedVaultError(UsageError):
    """The folder is inside a vault, so its notes would belong to both; nothing was created."""

    def __init__(self, where: str, outer: str) -> None:
        super().__init__(
            f"{where} is inside the vault at {outer}, and vaults cannot be nested;"
            " nothing was created",
            hint=f"use the vault at {outer}, or a folder outside it",
        )


class NotACopyError(UsageError):
    """The vault is no copy: with a new id, it would lose its store; nothing was changed."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} is the vault that this machine syncs, and no copy: with a new id, it would"
            " have none of its facts; nothing was changed",
            hint="give the new id to the copy: `vaultsync init --new-id COPY`; if this is the copy,"
            " move it to another folder first",
        )


class PluginNotBuiltError(UsageError):
    """This installation has no built plugin for Obsidian; nothing was copied."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"this installation has no plugin for Obsidian: {missing} is missing",
            hint="in a clone of the repository, build it with `make plugin`, which needs Node.js"
            " and npm",
        )


class HostFileError(UsageError):
    """A settings file of a host cannot be changed; it was not modified."""

    def __init__(self, path: str, why: str, *, hint: str = "") -> None:
        super().__init__(
            f"{path} cannot be changed: {why}; it was not modified",
            hint=hint
            or "repair the file, and run it again; or move it away, and copy your own entries"
            " into the new one",
        )


class HostEntryExistsError(UsageError):
    """The host already has an MCP server of that name that is not vaultsync."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(
            f"{path} already has another server named {name!r}; it was not modified",
            hint="choose another name with --name",
        )


class ExchangeFileError(UsageError):
    """A file of another tool cannot be read or written."""

    def __init__(self, path: str, why: str, *, is_target: bool = False) -> None:
        target = "pass a new or empty folder outside the vault"
        source = "pass the file, folder or archive of the export"
        super().__init__(f"{path}: {why}", hint=target if is_target else source)


class MalformedBodyError(UsageError):
    """The route does not accept the body of the HTTP request; nothing was done."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the request is invalid: {why}",
            hint="correct the body; the page “Bridge” of vaultsync's documentation says what each"
            " route accepts",
        )


class TooManyFilesError(UsageError):
    """The paths contain more memory files than one sync accepts; nothing was read."""

    def __init__(self, count: int, maximum: int) -> None:
        super().__init__(
            f"found {count} files, but the maximum is {maximum}",
            hint="list the files, or select fewer with --include and --exclude",
        )


class NotFoundError(VaultsyncError):
    """The requested thing does not exist."""


class FactNotFoundError(NotFoundError):
    """The store has no fact with that id."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(f"no fact {fact_id}", hint="`vaultsync list` shows all facts")
        self.fact_id = fact_id


class EditTargetError(NotFoundError):
    """The text to be replaced is missing from the content or not unique; nothing was written."""

    def __init__(self, what: str, count: int, hint: str) -> None:
        times = "once" if count == 1 else f"{count} times"
        has = f"contains it {times}" if count else "does not contain it"
        super().__init__(f"the {what} cannot be replaced: the fact {has}", hint=hint)
        self.count = count


class AmbiguousNameError(NotFoundError):
    """A name or the beginning of an id matches more than one thing."""

    candidates: tuple[str, ...] = ()
    """What to use instead: names, paths or ids; not all if there are many."""

    def __init__(self, kind: str, name: str, candidates: Sequence[str], count: int) -> None:
        super().__init__(
            f"{count} {kind}s match {name[:80]!r}",
            hint=f"use one of: {', '.join(map(_named, candidates))}",
        )
        self.candidates = tuple(candidates)


class FactForgottenError(FactNotFoundError):
    """The fact was deleted; its tombstone can be restored."""

    def __init__(self, fact_id: str, at: str) -> None:
        super().__init__(fact_id)
        self.message = f"fact {fact_id} was forgotten on {at[:10]}"
        self.hint = f"`vaultsync restore {fact_id}` restores it"


class IdNotInVaultError(NotFoundError):
    """No note in the vault has the id."""

    def __init__(self, fact_id: str) -> None:
        super().__init__(
            f"no note has the id {fact_id}",
            hint="set the property `id` of the note to that value, save it, and try again",
        )


class IndexFileNotFoundError(NotFoundError):
    """`.index/` has no file of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no file {name[:80]!r} in .index/",
            hint="`vaultsync index` writes the files, and GET /v1/index lists them",
        )


class WriteNotFoundError(NotFoundError):
    """The bridge is not waiting for a response about that write."""

    def __init__(self, write: str) -> None:
        super().__init__(
            f"no write {write[:80]!r} is waiting for a response",
            hint="it was answered before, or too late: the vault was written directly",
        )


class ConflictNotFoundError(NotFoundError):
    """No open conflict has that id."""

    def __init__(self, conflict_id: str) -> None:
        super().__init__(
            f"no open conflict {_named(conflict_id[:80])}",
            hint="`vaultsync conflicts` shows the open ones",
        )


class ProposalNotFoundError(NotFoundError):
    """No proposal has that id; of several, none was answered."""

    def __init__(self, *names: str, of: int = 1) -> None:
        """`names` are the unknown ones of `of` that were given."""
        nothing = "; none of the others was answered" if of > len(names) else ""
        super().__init__(
            f"no proposal {', '.join(_named(each[:80]) for each in names)}{nothing}",
            hint="`vaultsync proposals list` shows the open ones; the beginning of an id has at"
            " least 8 characters",
        )


class ModuleMissingError(NotFoundError):
    """There is no module or topic of that name."""

    def __init__(self, name: str, folder: str) -> None:
        super().__init__(
            f"there is no module {_shown(name, 200)} in {folder}",
            hint="`vaultsync module index` lists the topics and their modules",
        )


class RunNotFoundError(NotFoundError):
    """No run with that id changed anything."""

    def __init__(self, run: str, newest: str = "") -> None:
        short = "the beginning of an id has 8 characters or more; " if 0 < len(run) < 8 else ""  # noqa: PLR2004 - as of all ids
        hint = f"{short}{newest and f'the newest run is {newest}; '}`vaultsync log` lists the runs,"
        hint += " and `vaultsync history ID` those of a fact"
        missing = f"there is no run {_named(run[:80])}, or it changed nothing"
        super().__init__(missing if run else "no run is left to undo", hint=hint)


class RunPrunedError(RunNotFoundError):
    """The run cannot be undone: its history was pruned."""

    def __init__(self, run: str, at: str, since: str) -> None:
        super().__init__(run)
        self.message = (
            f"run {run} of {at[:10]} cannot be undone: the history from before"
            f" {since[:10]} was pruned"
        )
        self.hint = "`history` in [retention] sets how long it is kept; a backup of the store"
        self.hint += " and the vault may have the earlier versions"


class PurgeNotUndoneError(VaultsyncError):
    """The run erased facts, so it cannot be undone."""

    def __init__(self, run: str, at: str) -> None:
        super().__init__(
            f"run {run} of {at[:10]} erased facts permanently, and cannot be undone",
            hint="a backup of the store and the vault may have them",
        )


class PurgeUnfinishedError(VaultsyncError):
    """A purge stopped before everything was erased; the next one finishes it."""

    def __init__(self, why: str = "something is left") -> None:
        super().__init__(
            f"a purge is not finished: {why}; some of what it erases is still stored",
            hint="`vaultsync purge` without an id finishes it, and says what is left",
        )


# --- one note ----------------------------------------------------------------------------


class NoteError(VaultsyncError):
    """One note cannot be processed; the run continues with the others."""

    def __init__(self, path: str, message: str, *, hint: str = "", line: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.line = line


class UnreadableNoteError(NoteError):
    """The file cannot be parsed as a note; it is never written and never deleted."""

    def __init__(self, path: str, why: str, *, hint: str = "", line: int | None = None) -> None:
        where = f"{path}:{line}" if line else path
        super().__init__(
            path,
            f"{where}: cannot be read: {why}",
            hint=hint or "correct the note and save it; the next run reads it again",
            line=line,
        )
        self.why = why


class UnsafeSpliceError(NoteError):
    """The edit would change more of the note than it should; nothing was written."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            path,
            f"{path}: not written, because {why}",
            hint="simplify the frontmatter of this note, or make the change by hand",
        )


class UnsafePathError(NoteError):
    """The path leads out of the vault, or to a file that vaultsync must not change."""

    def __init__(self, path: str, why: str, *, hint: str = "use a path inside the vault") -> None:
        where = path if path and path.isprintable() else repr(path)
        super().__init__(path, f"{where}: {why}", hint=hint)


class NoteMissingError(NoteError):
    """There is no file at the path."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            f"{path}: no such note",
            hint="a path is relative to the vault or to the current folder",
        )


class UserDeclinedError(VaultsyncError):
    """The user was asked for confirmation and declined; nothing was done."""

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"{tool}: the user declined; nothing was done",
            hint="do not try again; tell the user what remains open",
        )


class NoteNotOpenedError(VaultsyncError):
    """No program opened the note."""

    def __init__(self, why: str, *, hint: str = "") -> None:
        super().__init__(
            f"the note was not opened: {why}",
            hint=hint or "set EDITOR to the command of your editor, or open it with --obsidian",
        )


class NoteExistsError(NoteError):
    """A file already exists at the path; it was not changed."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: a file already exists there")


class NoteChangedError(NoteError):
    """The file changed since it was read; it was not modified.

    `displaced` holds every complete content that was found in the process and is no
    longer in the file, so that the caller can keep it in the history.
    """

    def __init__(self, path: str, displaced: tuple[bytes, ...] = ()) -> None:
        super().__init__(path, f"{path}: changed since it was read")
        self.displaced = displaced


class NotRegularFileError(NoteError):
    """A link, folder or device exists where a note is expected."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            path,
            f"{path}: is {what}, not a file",
            hint="vaultsync reads and writes only regular files; move or rename it",
        )


class ReadOnlyNoteError(NoteError):
    """The user made a note, or its folder, read-only, so it is not changed."""

    def __init__(self, path: str, what: str) -> None:
        hint = f"make {what} writable (`chmod u+w`), and the next sync writes it"
        message = f"{path}: {what} is read-only, so it was not changed"
        super().__init__(path, message, hint=f"the store keeps the change; {hint}")


class UnwritableNoteError(NoteError):
    """The system does not allow writing a note; nothing was changed."""

    def __init__(self, path: str, why: str) -> None:
        hint = "change its permissions, or those of its disk, so that you can write there"
        message = f"{path}: the note cannot be written: {why}"
        super().__init__(path, message, hint=f"{hint}; the next sync tries again")


# --- one memory file, outside the vault --------------------------------------------------


class MemoryFileError(VaultsyncError):
    """One memory file cannot be synced; the sync continues with the others."""

    def __init__(self, message: str, *, hint: str, name: str) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class MemoryFileMissingError(MemoryFileError):
    """The file does not exist, and no fact came from it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no memory file {name}, and no fact came from it",
            hint="check the name; `vaultsync memory-file add` creates a new file",
            name=name,
        )


class UnreadableMemoryFileError(MemoryFileError):
    """The file is binary, badly encoded, too large or cannot be opened; its facts are kept."""

    def __init__(self, name: str, why: str, *, hint: str = "") -> None:
        super().__init__(
            f"{name} was skipped: {why}",
            hint=hint or "a memory file must be Markdown in UTF-8; its facts are kept",
            name=name,
        )
        self.why = why


class MemoryFileGuardError(MemoryFileError):
    """The file or all of its sections are gone, so facts would be forgotten; nothing was done."""

    run: str
    """The token that confirms the plan; it depends on the file and the facts."""

    def __init__(
        self, name: str, why: str, token: str, *, path: str = "", confirmed: str | None = None
    ) -> None:
        """`confirmed` is a token that the user passed but that belongs to another plan.

        `path` names the file in a command, where `name` does not.
        """
        stale = "" if confirmed is None else f"; {_shown(confirmed, 40)} confirms another plan"
        super().__init__(
            f"the guard stopped the sync of {name}: {why}{stale}; nothing was done",
            hint="if it was deleted by accident, put it back; to forget the facts, run"
            f" `vaultsync memory-file sync {quote(path or name)} --confirm {token}`, whose"
            " report names the run for `vaultsync undo`",
            name=name,
        )
        self.run = token


class MemoryFileChangedError(MemoryFileError):
    """The file was saved while an agent wrote to it; the saved version is kept."""

    def __init__(self, name: str, saved: tuple[bytes, ...] = ()) -> None:
        super().__init__(
            f"{name} was saved by another program at the same moment; that version was kept",
            hint="the agent's text is queued; the next `vaultsync memory-file sync` writes it",
            name=name,
        )
        self.saved = saved
        """Versions that were saved and replaced meanwhile, and are in no file any more."""


class MemoryFileBusyError(MemoryFileError):
    """Another process holds the lock of the file."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(
            f"another process has locked {name} for {seconds:g} s",
            hint="try again when it has finished",
            name=name,
        )


class MemoryFileOwnersError(MemoryFileError):
    """Several agents have facts from the file, and none was named."""

    def __init__(self, name: str, agents: Sequence[str]) -> None:
        message = f"{name} is the memory of {len(agents)} agents: {', '.join(agents)}"
        hint = "name one with --agent: each has facts of its own from the file"
        super().__init__(message, hint=hint, name=name)


# --- one git repository ------------------------------------------------------------------


class RepositoryError(VaultsyncError):
    """A git repository cannot be read."""


class NotARepositoryError(RepositoryError):
    """The folder is not in a git repository that may be read."""

    def __init__(self, where: str, why: str = "", *, hint: str = "") -> None:
        super().__init__(
            f"{where} is not in a git repository" + (f": {why}" if why else ""),
            hint=hint or "name a folder of one with --repo, or create one with `git init`",
        )


class GitFailedError(RepositoryError):
    """The git command failed, timed out, or is not installed."""

    def __init__(self, what: str, why: str, *, hint: str = "") -> None:
        super().__init__(
            f"git cannot {what}: {why}",
            hint=hint
            or "`git status` in that folder shows whether git can read it, and `git fsck` checks"
            " the repository",
        )


class ModuleError(VaultsyncError):
    """A module or its folder cannot be used."""

    def __init__(self, message: str, *, hint: str, name: str) -> None:
        super().__init__(message, hint=hint)
        self.name = name


class UnreadableModuleError(ModuleError):
    """A file among the modules is a link, too large, malformed or cannot be opened."""

    def __init__(self, name: str, why: str, *, hint: str = "") -> None:
        super().__init__(f"{name} was skipped: {why}", hint=hint or "correct it by hand", name=name)


class ModuleChangedError(ModuleError):
    """A module changed since it was read; nothing was written."""

    def __init__(self, name: str, saved: tuple[bytes, ...] = ()) -> None:
        super().__init__(
            f"{name} was changed by another program, and was not modified",
            hint="read it again, and repeat the change",
            name=name,
        )
        self.saved = saved
        """Versions that were saved and replaced meanwhile, and are in no file any more."""


class ModulesBusyError(ModuleError):
    """Another process holds the lock of a folder of modules."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(
            f"another process has locked the modules in {name} for {seconds:g} s",
            hint="try again when it has finished",
            name=name,
        )


class RepoFileError(RepositoryError):
    """A file of a repository's memory cannot be read or written."""

    def __init__(self, verb: str, path: str, number: int | None, why: str) -> None:
        super().__init__(
            f"cannot {verb} {path}: {why}",
            hint=SYSTEM_HINTS.get(number or 0, "check the folder that it is in"),
        )
        self.number = number


class RepoFileParseError(RepositoryError):
    """A file of a repository's memory is malformed; it was not modified."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{path} cannot be read: {why}; nothing was done",
            hint="correct it by hand, or move it away to have it written again from the facts",
        )


class LockTimeoutError(RepositoryError):
    """Another process holds the lock of a file of a repository's memory."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(
            f"another process has held {path} for {seconds:g} s; nothing was done",
            hint="try again later; the lock is released when that process ends",
        )


class BranchNotMergedError(RepositoryError):
    """The branch is not merged into the other one."""

    def __init__(self, source: str, target: str) -> None:
        super().__init__(
            f"{source!r} is not merged into {target!r}; nothing was promoted",
            hint=f"merge it first, or copy its entries: `vaultsync repo copy --from"
            f" {quote(source)} --to {quote(target)}`",
        )


class UnknownBranchError(RepositoryError):
    """The branch does not exist, and no entry was written on it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no branch {name!r}",
            hint="`git branch --all` lists the branches; use a commit, or a branch that existed",
        )


# --- a whole side, or the archive --------------------------------------------------------


class VaultError(VaultsyncError):
    """The vault cannot be used; nothing was done."""


class VaultMissingError(VaultError):
    """The root of the vault or its marker does not exist."""

    def __init__(self, where: str, why: str, *, number: int | None = None) -> None:
        """`number` is the system's error number; some mean that the vault exists."""
        missing = number in {None, errno.ENOENT, errno.ENOTDIR}
        what = "is missing" if missing else "cannot be read"
        hint = "" if missing else SYSTEM_HINTS.get(number or 0, "")
        super().__init__(
            f"the vault at {where} {what}: {why}; nothing was done",
            hint=hint or "mount or restore it; notes in a missing vault never count as deleted",
        )


class VaultMismatchError(VaultError):
    """The folder contains another vault."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"the vault's folder is vault {found}, but {expected} was expected; nothing was done",
            hint="open the vault's own folder, or restore the `.meta` folder of the vault",
        )


class OlderVaultError(VaultError):
    """The vault is an older copy, so its module files are not newer than their facts."""

    def __init__(self, at: str) -> None:
        super().__init__(
            f"the vault is an older copy, as it was synced at {at}, and later syncs followed;"
            " no module was read or written",
            hint="run `vaultsync sync`: it accepts the vault, or says what the copy would undo and"
            " how to proceed; after that, repeat this command",
        )


class UntrustedVaultError(VaultError):
    """The vault requests what only the user can allow on this machine; nothing was done."""

    def __init__(self, where: str, requests: tuple[str, ...]) -> None:
        lines = "".join(f"\n  - {each}" for each in requests)
        super().__init__(
            f"the vault at {where} requests what only you can allow; nothing was done:{lines}",
            hint="if you trust everyone who can write its .meta/config.toml, allow it with"
            " `vaultsync trust`; if not, delete these settings from that file",
        )


class CopiedVaultError(VaultError):
    """Two folders have the same vault id on this machine; nothing was done."""

    def __init__(self, where: str, original: str) -> None:
        super().__init__(
            f"{where} has the same id as the vault at {original}, so both would write to one"
            " store; nothing was done",
            hint=f"if one is a copy, give it a new id: `vaultsync init --new-id {quote(where)}`;"
            " if it replaces the other, move the other away",
        )


class StoreError(VaultsyncError):
    """The store failed."""


class RevisionMismatchError(StoreError):
    """The fact changed since it was read; nothing was written."""

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
    """The store does not answer; changes for it wait in the outbox."""

    def __init__(self, why: str, *, helps: str = "") -> None:
        super().__init__(
            f"the store does not answer: {why}",
            hint=helps
            or "try again when it is available; until then, changes wait in the outbox;"
            " if the store is lost, `vaultsync rebuild --from vault` creates a new one from the"
            " notes",
        )
        self.why = why
        self.helps = helps
        """A hint about the cause, if it is known."""


class DamagedFactError(StoreError):
    """The row of one fact is damaged in the store."""

    def __init__(self, fact_id: str, why: str) -> None:
        super().__init__(
            f"fact {fact_id} is damaged in the store: {why}",
            hint="`vaultsync rebuild --from vault` restores it from its note;"
            " a backup of the store may have more",
        )


class StoreMismatchError(StoreError):
    """The store is not the one that belongs to this vault."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"the store is {found}, but this vault uses {expected}; nothing was done",
            hint="set `store` to that of this vault, or rebuild this one with"
            " `vaultsync rebuild --from vault`",
        )


class StoreLayoutError(StoreError):
    """The collection that holds the facts does not match the settings of this vault."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"the collection {where} does not match the settings: {why}; nothing was done",
            hint="use the settings with which it was created, or move all facts to another"
            " collection: `vaultsync migrate --to URL`; a collection is never altered",
        )


class MigrationError(StoreError):
    """The new store does not have all facts; the vault keeps the old store."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the new store does not have all facts: {why}; the vault keeps the old one",
            hint="run the same command again: it continues where it stopped",
        )


class UnknownStoreError(StoreError):
    """A store to migrate to has older versions of facts, and nothing records where it is from."""


class StoreRewoundError(StoreError):
    """The store lost writes that this vault has seen."""

    run: str

    def __init__(self, why: str, run: str, *, examples: Sequence[str] = ()) -> None:
        """`examples` are paths of notes that a sync would overwrite, delete or restore."""
        super().__init__(
            f"the store is older than at the last run: {why}; nothing was done",
            hint="if it was restored from a backup, `vaultsync rebuild --from vault` updates it"
            f" from the notes; `vaultsync sync --confirm {run}` syncs both instead, and"
            " overwrites notes that differ with the facts of the store, which"
            f" `vaultsync undo {run}` reverts",
        )
        self.run = run
        self.examples = examples


class ArchiveError(VaultsyncError):
    """The archive cannot be read."""


class ArchiveReplacedError(ArchiveError):
    """The archive is no longer the one that was opened: it was restored, or is a newer one."""


# --- derived data and runs ---------------------------------------------------------------


class DerivedError(VaultsyncError):
    """An index or a model failed; no data is lost, but answers may be less complete."""


class IndexBusyError(DerivedError):
    """Another process is writing the index."""


class IndexChangedError(IndexBusyError):
    """Another process has written the index since its version was read; nothing was done."""

    def __init__(self, name: str) -> None:
        """`name` is that of the index in a sentence, such as `the link index`."""
        super().__init__(f"another process keeps writing {name}", hint="it is updated later")


class EmbedderError(DerivedError):
    """The model is missing, or its service does not answer."""


class EngineBusyError(VaultsyncError):
    """Another process is syncing this vault."""

    def __init__(self, vault: str, holder: str = "", *, was_at: str = "") -> None:
        """`was_at` is where the other process found the vault, if it is no longer there."""
        held = f" ({holder})" if holder else ""
        super().__init__(f"another process is syncing the vault {vault}{held}")
        self.was_at = was_at
        self.watched("stop it first")
        if was_at:
            self.message = f"{holder} still watches {was_at}, where the vault {vault} was before"
            self.hint = (
                f"if you moved the vault, stop {holder}, and start `vaultsync watch` again in the"
                " new folder; until then, no note is written or read"
            )

    def watched(self, what: str) -> EngineBusyError:
        """The same error, with advice for the case that the other process is a daemon."""
        if self.was_at:
            return self
        self.hint = f"wait until it has finished; if it is `vaultsync watch`, {what}"
        return self

    def silent(self, *, begun: bool) -> EngineBusyError:
        """The same error, if the other process does not answer.

        Args:
            begun: whether it received the request, and so may have done it or may still do it.
        """
        self.message += ", and does not answer"
        self.hint = "if it is suspended, resume it with `kill -CONT`, or end it; then try again"
        if begun:
            self.hint += "; `vaultsync log` shows whether it carried out the request"
        return self


class GuardError(VaultsyncError):
    """The plan deletes or rewrites too much to be plausible; nothing was done."""

    run: str

    def __init__(
        self,
        why: str,
        run: str,
        *,
        confirmed: str | None = None,
        hint: str = "",
        examples: Sequence[str] = (),
    ) -> None:
        """`confirmed` is a run that the user confirmed but that belongs to another plan.

        `examples` are paths of notes that the plan affects.
        """
        stale = "" if confirmed is None else f"; {_shown(confirmed, 40)} confirms another plan"
        super().__init__(
            f"the guard stopped this run: {why}{stale}; nothing was done",
            hint=hint
            or "review the plan with `vaultsync sync --dry-run`; if it is right, confirm it with"
            f" `vaultsync sync --confirm {run}`, which `vaultsync undo {run}` reverts",
        )
        self.run = run
        self.examples = examples


class DaemonStoppedError(VaultsyncError):
    """The daemon was stopped; the next run completes unfinished work."""

    def __init__(self) -> None:
        super().__init__(
            "the daemon was stopped", hint="start it again with `vaultsync watch`; nothing is lost"
        )
