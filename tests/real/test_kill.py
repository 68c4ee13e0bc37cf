"""SIGKILL at every system call of a pass that touches files, then one pass.

Both sides are equal then, nothing that was written is lost, and a further pass writes
nothing. One more pass is granted for a note that a person deleted: it is looked at twice.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.proofs import agents, texts
from tests.proofs.ledger import KEPT
from tests.proofs.turns import TURN
from tests.real.home import Home, say
from tests.real.strace import Point, Struck, injections, needs_strace, points, thresholds, victim
from tests.real.victim import EMPTY

pytestmark = [needs_strace, pytest.mark.long(5)]

SAMPLE = 2
Calls = Callable[[str], list[Point]]
"""All calls of a work that touch files; what was counted once is known."""


def everything(where: Path) -> Home:
    """A vault whose next pass does one of everything."""
    home = Home.make(where)
    word = home.ledger.word
    with home.open() as memory:
        ids = [
            home.remember(
                memory,
                {
                    "title": f"Plan {n}",
                    "content": f"One {word()}.\nTwo {word()}.\nThree {word()}.",
                    "tags": [word()],
                    "type": ("note", "decision", "lesson")[n % 3],
                },
            )
            for n in range(16)
        ]
        memory.sync()
        path = {each: memory.get(each).path or "" for each in ids}

        home.delete(path[ids[0]])  # seen gone once by the pass that follows
        home.edit(path[ids[1]], texts.change_line)
        home.update(memory, ids[1], agents.first_line)
        home.update(memory, ids[2], agents.append)
        with (home.root / path[ids[2]]).open("r+b") as editor:
            before = editor.read()
            memory.sync()
            _save_into_what_was_displaced(home, editor.fileno(), before)
        _tick(home)

        home.remember(memory, {"title": "New", "content": f"New {word()}."})
        home.new_note("public/notes/Mine.md")
        home.new_note("public/lessons/Set.md", "---\nmood: {0}\n---\n# S {0}\n\nX.\n")
        home.edit(path[ids[3]], texts.append)
        home.edit(path[ids[4]], texts.mood, rename=True)
        home.update(memory, ids[5], agents.append)
        home.update(memory, ids[6], agents.first_line)
        home.edit(path[ids[6]], texts.change_last_line)
        home.update(memory, ids[7], agents.first_line)
        home.edit(path[ids[7]], texts.change_line)
        home.delete(path[ids[8]])
        home.forget(memory, ids[9])
        home.rename(path[ids[10]], "public/decisions/Moved.md")
        home.update(memory, ids[10], agents.append)
        home.rename(path[ids[11]], "public/notes/Other name.md")
        home.save("public/notes/Copy.md", home.data(path[ids[12]]))
        home.edit(path[ids[13]], texts.append)
        home.forget(memory, ids[13])
        home.delete(path[ids[14]])
        home.update(memory, ids[14], agents.append)
    return home


def _save_into_what_was_displaced(home: Home, fd: int, before: bytes) -> None:
    """An editor that had the note open before it was exchanged saves now."""
    word = home.ledger.word()
    after = texts.change_last_line(before, word)
    os.pwrite(fd, after, 0)
    os.ftruncate(fd, len(after))
    home.ledger.wrote("person, late", saw=before, over=before, after=after)


def _tick(home: Home) -> None:
    """A person ticks the box of the one conflict there is."""
    (path,) = home.root.rglob("*.conflict.md")
    text = path.read_text()
    assert "- [ ]" in text
    path.write_text(text.replace("- [ ]", "- [x]"))


def check(home: Home) -> None:
    """What has to be true after any accident."""
    home.sync()
    home.sync()
    home.check_nothing_lost()
    home.check_equal()
    home.check_quiet()


def strike_at(
    chosen: Sequence[Point],
    found: Sequence[Point],
    template: Home,
    work: str,
    tmp: Path,
    *,
    how: str = "signal=SIGKILL",
    on: str = "",
) -> list[Struck]:
    """Let each of the chosen calls strike the work on a copy, which is checked afterwards."""
    limits = thresholds(found)
    all_struck = []
    with victim(*injections(limits, how, on=on)) as hindered:
        for point in chosen:
            home = template.copy(tmp / f"{point.call}-{point.n}")
            skip = limits[point.call] - point.n
            struck = hindered.do(home, work, _more(home, work), call=point.call, skip=skip)
            assert not struck.broke, f"{point} {how}{on}: {struck.broke}"
            for word in struck.acknowledged:
                # Some of it is forgotten and restored by the same work.
                home.ledger.owed[word] = KEPT
            try:
                check(home)
            except AssertionError as error:
                error.add_note(f"{how}{on} at {point}: {struck}")
                raise
            shutil.rmtree(home.where)
            all_struck.append(struck)
    return all_struck


def _more(home: Home, work: str) -> dict[str, object]:
    """What a work needs beside the vault."""
    if work != "write through":
        return {}
    with home.open() as memory:
        facts = [x.id for x in memory.list().facts if x.title.startswith("Plan")]
    return {"words": [home.ledger.word() for _ in range(5)], "fact": facts[-1]}


def spread(found: Sequence[Point], count: int, turn: int) -> list[Point]:
    """Some of the points, as far apart as can be, of every fourth kind by turns."""
    kinds: dict[str, list[Point]] = {}
    for point in found:
        kinds.setdefault(point.call, []).append(point)
    wanted = [kinds[call] for call in EMPTY if call in kinds][(turn + TURN) % 4 :: 4]
    all_of_them = sum(map(len, wanted))
    chosen: list[Point] = []
    for kind in wanted:
        share = max(1, round(count * len(kind) / all_of_them))
        chosen += [kind[(2 * i + 1) * len(kind) // (2 * share)] for i in range(share)]
    return chosen


@pytest.mark.parametrize(("turn", "work"), [(1, "pass"), (0, "write through")])
@pytest.mark.long(2)
def test_a_pass_repairs_what_a_kill_leaves(
    turn: int, work: str, template: Home, calls: Calls, tmp_path: Path
) -> None:
    found = calls(work)
    _kill_at(spread(found, SAMPLE, turn), found, template, work, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("work", ["pass", "write through"])
def test_a_pass_repairs_what_a_kill_leaves_at_every_call(
    work: str, template: Home, calls: Calls, tmp_path: Path
) -> None:
    found = calls(work)
    _kill_at(found, found, template, work, tmp_path)


def calls_of(template: Home, work: str, tmp: Path) -> list[Point]:
    """All calls of a work that touch files."""
    home = template.copy(tmp / "whole")
    found = points(home, work, tmp / "log", _more(home, work))
    check(home)
    shutil.rmtree(home.where)
    return found


def _kill_at(
    chosen: Sequence[Point], found: Sequence[Point], template: Home, work: str, tmp: Path
) -> None:
    struck = strike_at(chosen, found, template, work, tmp)
    assert not [each.refused for each in struck if each.refused]
    reached = sum(each.status == -9 for each in struck)
    say(f"{work}: killed at {reached} of {len(found)} calls")
    assert reached >= 0.95 * len(chosen) - 1
