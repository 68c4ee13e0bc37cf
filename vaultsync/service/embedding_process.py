"""The worker that embeds the texts of a vault, in a separate process at the lowest priority.

`python -m vaultsync.service.embedding_process VAULT STATE_DIR STORE IDLE keep|replace`

It ends when everything is embedded and nothing new came for IDLE seconds, when another worker has
the vault, and when the vault's state folder is gone. A command that waits for the vectors ends it
and computes them itself, because at this priority it might never finish. SIGTERM ends it at once,
like a kill: it is crash-safe, and loses the work of a few seconds.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from vaultsync.api import configuration
from vaultsync.api.embedding import REPLACE, EmbeddingWorker
from vaultsync.api.wiring import Services
from vaultsync.backends.system.detached import lower_priority
from vaultsync.errors import VaultsyncError
from vaultsync.settings import Settings

_log = logging.getLogger(__name__)
FIRST_SECONDS = 0.3
"""Seconds to wait for the lock, which commands hold briefly to check for a worker."""
POLL_SECONDS = 1.0
"""Seconds between two polls of the store while idle."""


def embed_all(settings: Settings, *, idle: float, how: str) -> None:
    """Embed until nothing is left, as the worker of the vault, unless there is one.

    When nothing is left, it waits `idle` seconds for more. `how` is `REPLACE` or `KEEP`: whether
    vectors of another model are replaced.
    """
    with closing(Services(settings)) as services:
        worker = EmbeddingWorker(services)
        worker.files.background = how
        while worker.files.acquire(FIRST_SECONDS):
            try:
                # Loading a model at this priority may take minutes; until then it is shown, too.
                worker.files.write(worker.files.progress())
                _embed_and_wait(worker, idle=idle, replace=how == REPLACE)
            finally:
                worker.files.release()
            # Earlier writes by others are left to this worker, unless it cannot embed.
            if not worker.files.is_there or worker.gave_up or not worker.is_behind():
                return


def _embed_and_wait(worker: EmbeddingWorker, *, idle: float, replace: bool) -> None:
    def check(*_: object) -> None:
        if not worker.files.is_there:
            sys.exit()

    until = 0.0
    while True:
        if worker.is_behind():
            approve = (lambda _: True) if replace else None
            worker.embed_alone(approve=approve, progress=check)
            until = time.monotonic() + idle
        if time.monotonic() >= until or worker.gave_up or not worker.files.is_there:
            return
        time.sleep(POLL_SECONDS)


def main(arguments: Sequence[str]) -> None:
    """Run as the worker that the arguments describe."""
    root, state_dir, store, idle, how = arguments
    lower_priority()
    try:
        settings = configuration.load_settings(Path(root), state_dir=state_dir, store=store)
        embed_all(settings, idle=float(idle), how=how)
    except (VaultsyncError, OSError) as error:
        _log.debug("the worker failed: %s", error)


if __name__ == "__main__":
    main(sys.argv[1:])
