"""Subjects of commits are imperative, and at most 72 characters long.

`python -m tests.test_commits` checks the commits since the rule was made; `make lint` runs it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIRST = "7925459"
"""The commit after which the rule holds."""
MAX_LENGTH = 72
_BASE_FORMS = re.compile(
    r"\w*ss|Focus|Bias|Alias|Canvas"
    r"|Embed|Feed|Need|Seed|Shed|Speed|Spread|\w+ceed|Bring|Ping|Ring|Spring|String|Swing"
)
"""Verbs that end like another form of a verb."""
_NO_VERB = re.compile(
    "All|An|And|Any|As|At|Both|By|Each|Every|For|From|If|In|It|Its|More|New|No|Not|Nothing|Of|On"
    "|One|Only|Or|So|Some|That|The|Their|There|They|This|To|What|When|Where|Which|Who|With"
)


def problem(subject: str) -> str:
    """Why a subject breaks the rule; empty if it does not."""
    if len(subject) > MAX_LENGTH:
        return f"{len(subject)} characters, more than {MAX_LENGTH}"
    if subject.endswith("."):
        return "it ends in a period"
    word = re.match(r"[A-Z][a-z]+\b(?![’'])", subject)
    if word is None:
        return "it does not begin with a capitalized verb"
    verb = word[0]
    if _NO_VERB.fullmatch(verb) or (
        re.fullmatch(r"\w+(?:s|ed|ing)", verb) and not _BASE_FORMS.fullmatch(verb)
    ):
        return f"{verb!r} is not an imperative verb"
    return ""


def _git(*words: str) -> str | None:
    """What git prints; None where there is no git, no repository or no such commit."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


@pytest.mark.parametrize(
    "subject",
    ["Add a field", "Process events in order", "Embed facts in the background", "Bring back undo"],
)
def test_an_imperative_subject_passes(subject: str) -> None:
    assert problem(subject) == ""


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        *(("Add a field.", "period"), ("add a field", "capitalized")),
        *(("Added a field", "imperative"), ("Adds a field", "imperative")),
        *(("Adding a field", "imperative"), ("A field is added", "capitalized")),
        *(("The field is new", "imperative"), ("Obsidian's field is new", "capitalized")),
        (f"Add {'x' * MAX_LENGTH}", "characters"),
    ],
)
def test_another_subject_is_refused_with_the_reason(subject: str, why: str) -> None:
    assert why in problem(subject)


def main() -> int:
    """Print the subjects that break the rule; 1 if there are any."""
    if _git("cat-file", "-e", f"{FIRST}^{{commit}}") is None:
        print("commits: not checked, for the history is not here")  # noqa: T201 - for a developer
        return 0
    log = _git("log", "--no-merges", "--format=%h %s", f"{FIRST}..HEAD") or ""
    commits = (line.partition(" ") for line in log.splitlines())
    found = [
        f"{name} {subject}: {why}" for name, _, subject in commits if (why := problem(subject))
    ]
    print("\n".join(found), end="\n" if found else "")  # noqa: T201
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
