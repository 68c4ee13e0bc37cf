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
"""

from __future__ import annotations

from vaultsync.errors.files import (
    MemoryFileBusyError,
    MemoryFileChangedError,
    MemoryFileError,
    MemoryFileMissingError,
    TooManyFilesError,
    UnreadableMemoryFileError,
)
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
from vaultsync.errors.root import VaultsyncError
from vaultsync.errors.sides import (
    ArchiveError,
    MigrationError,
    RevisionMismatchError,
    StoreError,
    StoreLayoutError,
    StoreMismatchError,
    StoreRewoundError,
    StoreUnavailableError,
    VaultError,
    VaultMismatchError,
    VaultMissingError,
)
from vaultsync.errors.usage import (
    ComputedFieldError,
    ConfigError,
    ConflictNotFoundError,
    FactForgottenError,
    FactNotFoundError,
    FixedFieldError,
    IdNotInVaultError,
    IdTakenError,
    ImportLineError,
    IndexFileNotFoundError,
    InvalidArgumentsError,
    InvalidFieldError,
    InvalidIdError,
    InvalidScopeError,
    MalformedBodyError,
    MissingExtraError,
    NotAVaultError,
    NotFoundError,
    PluginNotBuiltError,
    RunNotFoundError,
    ScopeDeniedError,
    SupersededError,
    UnknownPlaceholderError,
    UnknownTypeError,
    UsageError,
    WriteNotFoundError,
)
from vaultsync.errors.work import (
    DaemonStoppedError,
    DerivedError,
    EmbedderError,
    EngineBusyError,
    GuardError,
    IndexBusyError,
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
