"""Build the package and try it alone, as its users get it.

The other tests import the working tree, and so cannot notice a file that is missing in
the wheel, an import that only development has, a lower bound that is too low, or an extra
that brings too much.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from hatch_build import FILES

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build"
DOCKERFILE = ROOT / "Dockerfile"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
PLUGIN = tuple(f"vaultsync/obsidian/{name}" for name in FILES)
LARGEST: Mapping[str, int] = {"": 80, "live,mcp": 150, "local": 300}
"""Megabytes that an environment may take with the extras, all dependencies included."""
STATED: Mapping[str, int] = {"": 50, "live,mcp": 95, "local": 260}
"""Megabytes that docs/guides/install.md states, for Linux; a tenth more or less is true, too."""
NEEDS: Mapping[str, str] = {
    "graph stats": "graph",
    "graph export graph.graphml": "graph",
    "bridge": "live",
    "mcp": "mcp",
    "mcp --http": "mcp",
    **({} if sys.platform == "linux" else {"watch": "live"}),
}
"""Commands that say which extra they need, where none is installed."""
DONE = (0, 3)
"""Exit codes of a command that succeeded, also with something to look at."""
WORKS = (
    "bridge token",
    "conflicts",
    "doctor",
    "graph export graph.html",
    "index",
    "links check",
    "list",
    "log",
    "memory-file sync MEMORY.md",
    "recall wheel",
    "context wheel",
    "status",
    "undo --yes",
    *(["watch --once-settled"] if sys.platform == "linux" else []),
)
"""Commands that need no extra."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "wheel", "version": "1"},
    },
}


def main() -> None:
    wheel = build()
    look_into(wheel)
    fixed = (ROOT / "constraints.txt").read_text(encoding="utf-8")

    def try_it(trial: Trial) -> None:
        constraints = lowest() if trial.name == "lowest" else fixed
        alone = Alone(trial.name, wheel, trial.extras, constraints=constraints)
        for check in trial.checks:
            check(alone)

    # An installation mostly waits for the network and the disk.
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(try_it, TRIALS):
            pass


def build() -> Path:
    """The wheel of a clean clone, made from the source distribution, which is tried too."""
    dist, clone = BUILD / "dist", BUILD / "clone"
    for folder in (dist, clone):
        shutil.rmtree(folder, ignore_errors=True)
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # not deleted since
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(clone))
    (wheel,) = dist.glob("*.whl")
    print(f"package: built {wheel.name} ({wheel.stat().st_size // 1024} kB)")
    return wheel


def look_into(wheel: Path) -> None:
    """Nothing but the package is in it, all modules are, and its types are marked."""
    found = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = (BUILD / "clone" / "vaultsync").rglob("*")
    wanted = {
        path.relative_to(BUILD / "clone").as_posix()
        for path in package
        if path.is_file() and path.suffix != ".pyc"
    }
    if shutil.which("npm") and shutil.which("node"):
        wanted |= {*PLUGIN}
    if found != wanted:
        sys.exit(f"package: missing or too much: {sorted(found ^ wanted)}")
    plugin = found.issuperset(PLUGIN)
    print(f"package: {'with' if plugin else 'WITHOUT'} the plugin for Obsidian")
    if missing := {"vaultsync/py.typed", "vaultsync/__init__.pyi"}.difference(found):
        sys.exit(f"package: without {', '.join(sorted(missing))} users get no types")


def lowest() -> str:
    """Constraints that fix each dependency at the lower bound it declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "\n".join(each.replace(">=", "==") for each in project["dependencies"])


class Alone:
    """The wheel in an environment of its own, with a home folder of its own."""

    def __init__(self, name: str, wheel: Path, extras: str = "", *, constraints: str) -> None:
        self.name = name
        self.place = BUILD / f"alone-{name}"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.place / "home"),
            "VAULTSYNC_VAULT": str(self.place / "vault"),
            "VAULTSYNC_STATE_DIR": str(self.place / "state"),
            "VAULTSYNC_MODELS": str(self.place / "models"),
        }
        environment = self.place / "venv"
        run(sys.executable, "-m", "venv", "--without-pip", str(environment))
        limits = self.place / "constraints.txt"
        limits.write_text(constraints, encoding="utf-8")
        self.python = environment / SCRIPTS / "python"
        run(
            *(sys.executable, "-m", "pip", "--python", str(self.python)),
            *("--disable-pip-version-check", "--quiet"),
            *("install", "--constraint", str(limits)),
            f"{wheel}[{extras}]" if extras else str(wheel),
        )
        size = _megabytes(environment)
        print(f"package: with {name} dependencies, {size} MB are installed")
        if size > LARGEST[extras]:
            sys.exit(f"package: that is more than {LARGEST[extras]} MB")
        if sys.platform == "linux" and abs(size - STATED[extras]) * 10 > STATED[extras]:
            sys.exit(f"package: docs/guides/install.md states {STATED[extras]} MB")

    def vaultsync(self, *words: str, codes: Sequence[int] = (0,), stdin: str = "") -> str:
        """What a command prints; on both streams if it ends with another code than 0."""
        return run(
            str(self.python.with_name("vaultsync")),
            *words,
            codes=codes,
            cwd=self.place,
            stdin=stdin,
            **self.environment,
        )


def _megabytes(folder: Path) -> int:
    """The room that a folder takes on the disk."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 >> 20


def keeps_a_fact(alone: Alone) -> None:
    """A fact gets a note, both sides are equal, and the plugin is installed."""
    place, vaultsync = alone.place, alone.vaultsync
    version = vaultsync("--version").strip()
    if not re.search(r"\b\d+\.\d+\.\d+\b", version):
        sys.exit(f"package: --version says {version!r}")
    vaultsync("--help")
    vaultsync("init", str(place / "vault"))
    fact = json.loads(vaultsync("remember", "The wheel works alone.", "--json"))
    vaultsync("sync")
    code = "import os, vaultsync; vaultsync.open(os.environ['VAULTSYNC_VAULT']).close()"
    run(str(alone.python), "-c", code, cwd=place, codes=(0,), stdin="", **alone.environment)
    if not json.loads(vaultsync("verify", "--json"))["equal"]:
        sys.exit("package: the two sides are not equal")
    if not (place / "vault" / fact["path"]).is_file():
        sys.exit("package: there is no note")
    vaultsync("graph", "export", str(place / "graph.html"))
    if "makeLayout(" not in (place / "graph.html").read_text(encoding="utf-8"):
        sys.exit("package: the page of the graph has no script")
    (place / "vault" / ".obsidian").mkdir()
    built = place.joinpath("venv").rglob("vaultsync/obsidian/main.js")
    if any(built):
        vaultsync("plugin", "install")
    elif "no plugin for Obsidian" not in vaultsync("plugin", "install", codes=[2]):
        sys.exit("package: it is not said that the plugin is missing")
    print(f"package: with {alone.name} dependencies, {version} keeps a fact and its note")


def names_missing_extras(alone: Alone) -> None:
    """No command ends in a traceback for want of an optional package."""
    for command, extra in NEEDS.items():
        said = alone.vaultsync(*command.split(), codes=[2])
        if f"vaultsync[{extra}]" not in said or "Traceback" in said or "No module" in said:
            sys.exit(f"package: `{command}` does not name the extra {extra}:\n{said}")
    memory = "---\ntags: [a]\n---\n# Memory\n\n## Wheel\n\nIt was tried in a fresh environment.\n"
    (alone.place / "MEMORY.md").write_text(memory, encoding="utf-8")
    for command in WORKS:
        alone.vaultsync(*command.split(), codes=DONE)
    said = alone.vaultsync("memory-file", "sync", "MEMORY.md", "--json", codes=DONE)
    if "vaultsync[memory-file]" not in said:
        sys.exit(f"package: it is not said what reads frontmatter:\n{said}")
    print(f"package: {len(NEEDS)} commands name the extra they need")


def serves(alone: Alone) -> None:
    """With the extras of the guides, the daemon watches, and an agent is greeted."""
    alone.vaultsync("init", str(alone.place / "vault"))
    alone.vaultsync("watch", "--once-settled")
    is_healthy(alone)
    said = alone.vaultsync("mcp", stdin=json.dumps(INITIALIZE) + "\n")
    if json.loads(said.splitlines()[0])["result"]["serverInfo"]["name"] != "vaultsync":
        sys.exit(f"package: an agent is not greeted:\n{said}")
    print("package: it watches, and greets an agent")


def is_healthy(alone: Alone) -> None:
    """The check of the container finds a daemon healthy, and its absence not."""
    (words,) = re.findall(r"CMD (vaultsync status .*)$", DOCKERFILE.read_text(), re.MULTILINE)
    environment = {**os.environ, **alone.environment}
    environment["PATH"] = f"{alone.python.parent}{os.pathsep}{os.environ['PATH']}"

    def healthy() -> bool:
        done = subprocess.run(words, shell=True, env=environment, check=False)  # noqa: S602
        return done.returncode == 0

    if healthy():
        sys.exit("package: a container without a daemon is healthy")
    command = [str(alone.python.with_name("vaultsync")), "watch", "--quiet"]
    daemon = subprocess.Popen(command, env=environment)
    try:
        if not any(healthy() for _ in range(30)):
            sys.exit("package: a container with a daemon is not healthy")
    finally:
        daemon.terminate()
        daemon.wait(60)


def recalls_by_meaning(alone: Alone) -> None:
    """Without torch, a question finds a note that has none of its words."""
    alone.vaultsync("init", str(alone.place / "vault"))
    for text in ("Prefers green tea in the morning.", "The build fails on Windows."):
        alone.vaultsync("remember", text)
    alone.vaultsync("index", "--wait")
    question = "What does she drink after getting up?"
    said = json.loads(alone.vaultsync("recall", question, "--mode", "vector", "--json"))
    if not said["hits"] or "tea" not in json.dumps(said["hits"][0]):
        sys.exit(f"package: the note is not found by its meaning:\n{said}")
    if any(alone.place.joinpath("venv").rglob("site-packages/torch")):
        sys.exit("package: the extra `local` brings torch")
    print("package: without torch, a note is found by its meaning")


class Trial(NamedTuple):
    """An environment, and what is checked in it."""

    name: str
    extras: str
    checks: Sequence[Callable[[Alone], None]]


TRIALS = (
    Trial("lowest", "", [keeps_a_fact]),
    Trial("fixed", "", [keeps_a_fact, names_missing_extras]),
    Trial("live-mcp", "live,mcp", [serves]),
    Trial("local", "local", [recalls_by_meaning]),
)


def run(
    *command: str,
    cwd: Path = ROOT,
    codes: Sequence[int] = (0,),
    stdin: str = "",
    **environment: str,
) -> str:
    """What a command prints; the end of everything when it ends with another code than these.

    If the code is not 0, the answer has both streams.
    """
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    both = f"{done.stdout}{done.stderr}"
    if done.returncode not in codes:
        sys.exit(f"package: {' '.join(command)} failed with {done.returncode}\n{both}")
    return done.stdout if not done.returncode else both


if __name__ == "__main__":
    main()
