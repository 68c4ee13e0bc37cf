"""Every error of vaultsync. One class per fact about what went wrong.

VaultsyncError
├── UsageError                 the caller asked for something that cannot be
│   ├── InvalidFieldError      a value that its field does not take
│   ├── FixedFieldError        a field that never changes
│   ├── UnknownPlaceholderError  a placeholder that stands for no secret of the fact
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

from vaultsync.errors.notes import (
    NoteChangedError,
    NoteError,
    NoteExistsError,
    NoteMissingError,
    NotRegularFileError,
    UnreadableNoteError,
    UnsafePathError,
    UnsafeSpliceError,
)
from vaultsync.errors.root import (
    VaultsyncError,
)
from vaultsync.errors.sides import (
    ArchiveError,
    RevisionMismatchError,
    StoreError,
    StoreMismatchError,
    StoreRewoundError,
    StoreUnavailableError,
    VaultError,
    VaultMismatchError,
    VaultMissingError,
)
from vaultsync.errors.usage import (
    ConfigError,
    ConflictNotFoundError,
    FactForgottenError,
    FactNotFoundError,
    FixedFieldError,
    IdTakenError,
    ImportLineError,
    InvalidFieldError,
    InvalidIdError,
    InvalidScopeError,
    NotAVaultError,
    NotFoundError,
    RunNotFoundError,
    ScopeDeniedError,
    UnknownPlaceholderError,
    UnknownTypeError,
    UsageError,
)
from vaultsync.errors.work import (
    DerivedError,
    EmbedderError,
    EngineBusyError,
    GuardError,
    IndexBusyError,
)

__all__ = [
    "ArchiveError",
    "ConfigError",
    "ConflictNotFoundError",
    "DerivedError",
    "EmbedderError",
    "EngineBusyError",
    "FactForgottenError",
    "FactNotFoundError",
    "FixedFieldError",
    "GuardError",
    "IdTakenError",
    "ImportLineError",
    "IndexBusyError",
    "InvalidFieldError",
    "InvalidIdError",
    "InvalidScopeError",
    "NotAVaultError",
    "NotFoundError",
    "NotRegularFileError",
    "NoteChangedError",
    "NoteError",
    "NoteExistsError",
    "NoteMissingError",
    "RevisionMismatchError",
    "RunNotFoundError",
    "ScopeDeniedError",
    "StoreError",
    "StoreMismatchError",
    "StoreRewoundError",
    "StoreUnavailableError",
    "UnknownPlaceholderError",
    "UnknownTypeError",
    "UnreadableNoteError",
    "UnsafePathError",
    "UnsafeSpliceError",
    "UsageError",
    "VaultError",
    "VaultMismatchError",
    "VaultMissingError",
    "VaultsyncError",
]
