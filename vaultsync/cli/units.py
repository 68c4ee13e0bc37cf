"""Service units that start the daemon at login, for systemd and launchd."""

from __future__ import annotations

import os
import plistlib
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from vaultsync.settings import user_path


def unit(
    kind: str, root: str, *, state_dir: str | Path | None, config_dir: Path | None = None
) -> str:
    """Generate a unit for the vault at `root`; `kind` is `systemd` or `launchd`.

    `state_dir` (for all vaults) and `config_dir` (the user's own) are None for the defaults.
    """
    environment = {} if config_dir is None else {"VAULTSYNC_CONFIG_DIR": str(config_dir)}
    words = [*program_words(), "watch", "--vault", root]
    if state_dir is not None:
        words += ["--state-dir", str(user_path(state_dir).absolute())]
    generate = _systemd if kind == "systemd" else _launchd
    return generate(words, root, environment)


def program_words() -> list[str]:
    """The command line that starts this installation, independent of `PATH`."""
    script = Path(sys.executable).with_name("vaultsync")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "vaultsync"]


def _systemd(words: Sequence[str], root: str, environment: Mapping[str, str]) -> str:
    """A unit file for `~/.config/systemd/user/`; see systemd.service(5)."""
    command = " ".join(_quoted(each).replace("$", "$$") for each in words)
    variables = "".join(f"Environment={_quoted(f'{k}={v}')}\n" for k, v in environment.items())
    return f"""\
[Unit]
Description=vaultsync keeps {" ".join(root.replace("%", "%%").splitlines())} and its store in sync

[Service]
{variables}ExecStart={command}
Restart=on-failure
RestartSec=5
# Another engine has the vault, or the settings are not valid: a restart does not help.
RestartPreventExitStatus=2 5
TimeoutStopSec=10
Nice=5

[Install]
WantedBy=default.target
"""


def _quoted(word: str) -> str:
    """Quote a word for systemd, including `%`; in a command, `$` must be escaped as well."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + word.replace("%", "%%") + '"'


def _launchd(words: Sequence[str], root: str, environment: Mapping[str, str]) -> str:
    """A property list for `~/Library/LaunchAgents/`; see launchd.plist(5).

    launchd loads a label only once, so those of two vaults with the same name differ.
    """
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in Path(root).name)
    agent = {
        "Label": f"vaultsync.{name}.{sha256(os.fsencode(root)).hexdigest()[:8]}",
        "ProgramArguments": words,
        **({"EnvironmentVariables": dict(environment)} if environment else {}),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "StandardErrorPath": str(user_path("~/Library/Logs/vaultsync.log")),
    }
    return plistlib.dumps(agent, sort_keys=False).decode()
