"""The caller asked for what cannot be, or for what is not there."""

from __future__ import annotations

import json

from vaultsync.errors.root import VaultsyncError


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


class ComputedFieldError(UsageError):
    """Something was to be set that is told of a fact and that nobody sets."""

    def __init__(self, field: str) -> None:
        super().__init__(
            f"{field} is not set by anybody: vaultsync makes it", hint="leave it out"
        )
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
