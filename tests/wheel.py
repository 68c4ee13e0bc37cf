"""Build the package and try it alone, as its users get it.

The other tests import the working tree, and so cannot notice a file that is missing in
the wheel, an import that only development has, or a lower bound that is too low.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def main() -> None:
    wheel = build()
    look_into(wheel)
    try_alone(wheel, "fixed", (ROOT / "constraints.txt").read_text())
    try_alone(wheel, "lowest", lowest())


def build() -> Path:
    """The wheel, made from the source distribution, which is thereby tried too."""
    dist = BUILD / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(ROOT))
    (wheel,) = dist.glob("*.whl")
    print(f"package: built {wheel.name} ({wheel.stat().st_size // 1024} kB)")
    return wheel


def look_into(wheel: Path) -> None:
    """Nothing but the package is in it, all modules are, and its types are marked."""
    found = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {path.relative_to(ROOT).as_posix() for path in package_files()}
    if found != wanted:
        sys.exit(f"package: missing or too much: {sorted(found ^ wanted)}")
    plugin = "vaultsync/obsidian/main.js" in found
    print(f"package: {'with' if plugin else 'WITHOUT'} the plugin for Obsidian")
    if "vaultsync/py.typed" not in found:
        sys.exit("package: vaultsync/py.typed is missing; users get no types")


def package_files() -> list[Path]:
    """The files of the package in the working tree."""
    every = (ROOT / "vaultsync").rglob("*")
    return [path for path in every if path.is_file() and path.suffix != ".pyc"]


def lowest() -> str:
    """Constraints that fix each dependency at the lower bound it declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return "\n".join(each.replace(">=", "==") for each in project["dependencies"])


def try_alone(wheel: Path, name: str, constraints: str) -> None:
    """Install the wheel in an environment of its own, and let it remember one fact."""
    place = BUILD / f"alone-{name}"
    shutil.rmtree(place, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", str(place / "venv"))
    (place / "constraints.txt").write_text(constraints)
    python = place / "venv" / SCRIPTS / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", str(python)),
        *("--disable-pip-version-check", "--quiet"),
        *("install", "--constraint", str(place / "constraints.txt"), str(wheel)),
    )

    def vaultsync(*words: str) -> str:
        return run(
            str(python.with_name("vaultsync")),
            *words,
            cwd=place,
            VAULTSYNC_VAULT=str(place / "vault"),
            VAULTSYNC_STATE_DIR=str(place / "state"),
        )

    version = vaultsync("--version").strip()
    if not re.search(r"\b\d+\.\d+\.\d+\b", version):
        sys.exit(f"package: --version says {version!r}")
    vaultsync("--help")
    vaultsync("init", str(place / "vault"))
    fact = json.loads(vaultsync("remember", "The wheel works alone.", "--json"))
    vaultsync("sync")
    if not json.loads(vaultsync("verify", "--json"))["equal"]:
        sys.exit("package: the two sides are not equal")
    if not (place / "vault" / fact["path"]).is_file():
        sys.exit("package: there is no note")
    vaultsync("graph", "export", str(place / "graph.html"))
    if "makeLayout(" not in (place / "graph.html").read_text(encoding="utf-8"):
        sys.exit("package: the page of the graph has no script")
    if (ROOT / "vaultsync" / "obsidian").is_dir():
        (place / "vault" / ".obsidian").mkdir()
        vaultsync("plugin", "install")
    print(f"package: with {name} dependencies, {version} keeps a fact and its note")


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    """What a command prints; the end of everything when it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(
            f"package: {' '.join(command)} failed with {done.returncode}\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout


if __name__ == "__main__":
    main()
