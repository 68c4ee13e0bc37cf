"""Units that start the daemon with the session of its user, for systemd and launchd."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def unit(kind: str, root: str, *, state_dir: str | None) -> str:
    """The text of a unit for one vault."""
    words = [*_program(), "watch", "--vault", root]
    if state_dir is not None:
        words += ["--state-dir", str(Path(state_dir).expanduser().absolute())]
    return _systemd(words, root) if kind == "systemd" else _launchd(words, root)


def _program() -> list[str]:
    """How this very installation is started, wherever the unit runs."""
    script = Path(sys.executable).with_name("vaultsync")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "vaultsync"]


def _systemd(words: Sequence[str], root: str) -> str:
    """To be put into `~/.config/systemd/user/`; see systemd.service(5)."""
    command = " ".join(map(_quoted, words))
    return f"""\
[Unit]
Description=vaultsync keeps {root.replace("%", "%%")} and its store equal

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=5
# Another engine has the vault, or the settings make no sense: trying again is no help.
RestartPreventExitStatus=2 5
TimeoutStopSec=10
Nice=5

[Install]
WantedBy=default.target
"""


def _quoted(word: str) -> str:
    """A word as systemd reads it: `%` and `$` mean something there."""
    word = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + word.replace("%", "%%").replace("$", "$$") + '"'


def _launchd(words: Sequence[str], root: str) -> str:
    """To be put into `~/Library/LaunchAgents/`; see launchd.plist(5)."""
    from xml.sax.saxutils import escape  # it loads what speaks HTTP, and `--help` us

    listed = "\n".join(f"    <string>{escape(word)}</string>" for word in words)
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in Path(root).name)
    log = escape(str(Path("~/Library/Logs/vaultsync.log").expanduser()))
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
"http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>vaultsync.{escape(name)}</string>
  <key>ProgramArguments</key>
  <array>
{listed}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
  <key>StandardErrorPath</key>
  <string>{log}</string>
</dict>
</plist>
"""
