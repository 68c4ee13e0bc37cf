"""`make demo`: the main features on a copy of the sample vault, as a story.

All steps use the real command line. Each step states a claim, and the demo ends with exit
code 1 at the first claim that does not hold.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.stage import NotAsToldError, Stage, tell

GLOVES = "team-core/lessons/Test with wet gloves.md"
LAMP = """The lamp at berth 12 has been dark since Sunday.

The chandler has the bulb.

Who climbs the mast: nobody yet."""
NORDKABEL = (
    "We order cable glands from Nordkabel, because theirs were dry inside after a winter of rain."
)
LINKED = "[[Oskar Brandvold|Oskar]], if asked"
"""A fact by indy about Oskar: vaultsync links the people that an agent mentions."""


def take_in(stage: Stage) -> None:
    stage.step(
        "A folder of notes becomes a memory",
        """Four people and two agents build Tidebell, a booking service for small
        harbours. Their notes are an ordinary Obsidian vault. Today they add a store,
        in which the agents, indy and moss, keep their facts.""",
    )
    stage.run("init", "Tidebell")
    stage.run("rebuild", "--from", "vault", lines=5)
    status = stage.ask("status")
    stage.claim(
        f"{status['facts']} notes are now facts in the store, and no file was changed",
        holds=status["facts"] == status["notes"] > 50 and status["pending"] == 0,
    )


def remember(stage: Stage) -> None:
    stage.step(
        "People can read what agents remember",
        "indy learns something on the pier, moss decides something at the desk.",
    )
    stage.run(
        *("remember", LAMP, "--title", "Mend the lamp at berth 12"),
        *("--type", "task", "--scope", "project-tidebell", "--tag", "lighting"),
        *("--entity", "Skarvik Harbour", "--agent", "indy"),
        keep="LAMP",
    )
    stage.run(
        *("remember", NORDKABEL),
        *("--type", "decision", "--scope", "project-tidebell", "--priority", "1"),
        *("--context", "the rain of last week", "--agent", "moss"),
        keep="GLANDS",
    )
    stage.tell("Each becomes a note at once, as plain as if a person had typed it:")
    lamp = stage.note("$LAMP")
    stage.show(lamp)
    stage.claim(
        "both notes are there, each in the folder of its scope and type",
        holds=lamp.parent == stage.vault / "project-tidebell/tasks"
        and stage.note("$GLANDS").parent == stage.vault / "project-tidebell/decisions",
    )


def edit(stage: Stage) -> None:
    stage.step(
        "Agents know what people write",
        """Aiko rereads a note that she wrote by hand, with a comment in its properties. It
        hurt more than she wrote. She edits the note and saves it.""",
    )
    note = stage.vault / GLOVES
    stage.edit(note, ("rating: 4 ", "rating: 5 "), ("minus two", "minus six"))
    saved = note.read_bytes()
    stage.run("sync")
    gloves = re.findall(r"^id: (\S+)", note.read_text(encoding="utf-8"), re.MULTILINE)
    stage.name("GLOVES", gloves[0])
    stage.run("get", "$GLOVES", lines=17)
    fact = stage.ask("get", "$GLOVES")
    stage.claim(
        "the store has what she wrote, and her file is unchanged to the byte",
        holds=fact["properties"] == {"rating": 5}
        and "minus six" in fact["content"]
        and note.read_bytes() == saved,
    )


def merge(stage: Stage) -> None:
    stage.step(
        "Concurrent edits merge",
        """Bente opens the note of the lamp, adds a tag and corrects a line. Before
        anything is synced, indy changes the last line of the same fact.""",
    )
    note = stage.note("$LAMP")
    stage.edit(
        note, ("  - lighting\n", "  - lighting\n  - safety\n"), ("since Sunday", "since Saturday")
    )
    before = note.read_text(encoding="utf-8")
    asked = LAMP.replace("nobody yet", "Oskar, if asked")
    stage.run("update", "$LAMP", "--content", asked, "--set", "status=open", "--agent", "indy")
    stage.tell("The agent's change was merged into the note, next to Bente's:")
    stage.show_change(note, before)
    fact = stage.ask("get", "$LAMP")
    text = note.read_text(encoding="utf-8")
    stage.claim(
        "note and store have both: her tag and her line, indy's line and status;"
        " and Oskar, whom indy mentions, is a link",
        holds=(fact["tags"], fact["status"]) == (["lighting", "safety"], "open")
        and all(word in text for word in ("since Saturday", LINKED))
        and all(word in fact["content"] for word in ("since Saturday", LINKED))
        and not stage.ask("conflicts")["conflicts"],
    )


def conflict(stage: Stage) -> None:
    stage.step(
        "Both change the same line: a conflict, and nothing is lost",
        "Bente decides who climbs. indy, at the same moment, has another idea.",
    )
    note = stage.note("$LAMP")
    stage.edit(note, (LINKED, "Bente, on Friday"))
    said = stage.ask("get", "$LAMP")["content"]
    wanted = said.replace(LINKED, "a rigger from town")
    stage.run("update", "$LAMP", "--content", wanted, "--agent", "indy", exits=3)
    stage.tell("The note keeps the person's version. A conflict note has the agent's:")
    (found,) = stage.ask("conflicts")["conflicts"]
    beside = stage.vault / found["conflict_path"]
    stage.show(beside, lines=60)
    text = note.read_text(encoding="utf-8")
    stage.claim(
        "the note says Bente and has nothing of indy's version, and nothing is lost",
        holds="Bente, on Friday" in text
        and "rigger" not in text
        and "a rigger from town" in beside.read_text(encoding="utf-8")
        and found["fields"][0]["store"] == wanted,
    )


def settle(stage: Stage) -> None:
    stage.step(
        "Resolving it: a tick in Obsidian, or a command in the terminal",
        "Bente decides that a rigger is the better idea, and ticks the box.",
    )
    note = stage.note("$LAMP")
    (found,) = stage.ask("conflicts")["conflicts"]
    beside = stage.vault / found["conflict_path"]
    stage.edit(beside, ("- [ ] Take", "- [x] Take"))
    stage.run("sync")
    stage.claim(
        "the note says what indy wanted, and the conflict note is gone",
        holds="a rigger from town" in note.read_text(encoding="utf-8") and not beside.exists(),
    )
    stage.tell("Joaquim resolves the next one, about the glands, without opening a file.")
    glands = stage.note("$GLANDS")
    stage.edit(glands, ("priority: 1", "priority: 0"))
    stage.run("update", "$GLANDS", "--set", "priority=3", "--agent", "moss", exits=3)
    stage.run("conflicts", exits=3)
    (found,) = stage.ask("conflicts")["conflicts"]
    stage.name("CONFLICT", found["id"])
    stage.run("resolve", "$CONFLICT", "--take", "vault")
    stage.claim(
        "the priority is 0 on both sides, and no conflict is open",
        holds=stage.ask("get", "$GLANDS")["priority"] == 0
        and "priority: 0" in glands.read_text(encoding="utf-8")
        and not stage.ask("conflicts")["conflicts"],
    )


def delete(stage: Stage) -> None:
    stage.step(
        "Deleting a note, and changing one's mind",
        """Mara deletes the note about the glands. A missing file may also be
        in a folder that is not mounted or on a slow cloud drive, so vaultsync scans
        twice before it deletes the fact.""",
    )
    glands = stage.note("$GLANDS")
    words = glands.read_bytes()
    tell(f'  $ rm "{glands.relative_to(stage.folder)}"\n')
    glands.unlink()
    stage.run("sync")
    stage.claim(
        "first scan: the fact is still there",
        holds=stage.ask("get", "$GLANDS").get("status") == "active",
    )
    time.sleep(1.1)  # the second scan must be a second later
    stage.run("sync")
    stage.claim(
        "second scan: the fact is deleted", holds=bool(stage.ask("get", "$GLANDS", fails=True))
    )
    stage.tell("On Monday they need it after all.")
    stage.run("restore", "$GLANDS")
    stage.claim(
        "fact and note are back, with their old text",
        holds=glands.is_file()
        and glands.read_bytes().partition(b"\n# ")[2] == words.partition(b"\n# ")[2],
    )


def undo(stage: Stage) -> None:
    stage.step(
        "Undo: a search-and-replace that went too far",
        "Joaquim wants to rename something, and replaces “berth” in every task.",
    )
    tasks = sorted((stage.vault / "project-tidebell/tasks").glob("*.md"))
    before = {path: path.read_bytes() for path in tasks}
    tell("  $ sed -i s/berth/birth/g Tidebell/project-tidebell/tasks/*.md\n")
    for path in tasks:
        path.write_bytes(before[path].replace(b"berth", b"birth"))
    hurt = [path for path in tasks if path.read_bytes() != before[path]]
    report = stage.run("sync")
    stage.claim(
        "both sides now say “birth”",
        holds=len(hurt) > 1 and "birth 12" in stage.ask("get", "$LAMP")["content"],
    )
    stage.tell("Every report ends with the command that undoes it:")
    stage.name("RUN", re.findall("vaultsync undo ([0-9a-f-]+)", report)[0])
    stage.run("undo", "$RUN")
    stage.claim(
        f"{len(hurt)} notes have their old text, and so do their facts",
        holds=all(_undated(path.read_bytes()) == _undated(data) for path, data in before.items())
        and "birth" not in stage.ask("get", "$LAMP")["content"],
    )


def _undated(data: bytes) -> bytes:
    """A note without the time of its last change, which differs in each run."""
    return re.sub(rb"(?m)^updatedAt: .*\n", b"", data)


def history(stage: Stage) -> None:
    stage.step(
        "Who wrote what, and when?",
        "Every change of every field is recorded, with its author and side.",
    )
    stage.run("history", "$LAMP", lines=60)
    found = stage.ask("history", "$LAMP")["history"]
    stage.claim(
        f"{len(found)} changes of this one fact, by indy and by a person",
        holds={each["actor"] for each in found} >= {"indy", "person"},
    )


ASKED = "How long is a berth held until it is paid?"
IN_OTHER_WORDS = "Is a snapshot safe as soon as the job says all went well?"


def ask(stage: Stage) -> None:
    stage.step(
        "Ask the memory",
        """An agent or a person asks. If question and note use the same words, the note
        index answers at once, without a model. If not, the vectors of a small model on
        this machine find notes of similar meaning.""",
    )
    stage.run("recall", ASKED, "--limit", "2")
    by_words = stage.ask("recall", ASKED)
    stage.claim(
        f"the index answers alone, {by_words['confidence']:.0%} sure",
        holds=by_words["source"] == "index" and by_words["hits"][0]["stage"] == "index",
    )
    stage.ask("index", "--wait")  # a process in the background embeds new notes
    stage.run("recall", IN_OTHER_WORDS, "--limit", "3")
    by_meaning = stage.ask("recall", IN_OTHER_WORDS)
    stage.claim(
        "a note is found although the question uses other words",
        holds=by_meaning["source"] == "fused"
        and not by_meaning["degraded"]
        and "copy" in by_meaning["hits"][0]["title"],
    )


def pack(stage: Stage) -> None:
    stage.step(
        "Pack a context for an agent",
        """The budget is never exceeded, not by one token. Each item has its reason and its
        source, and what was left out is listed with its number of tokens.""",
    )
    stage.run("context", "how berths are booked and paid", "--budget", "800")
    pack = stage.ask("context", "how berths are booked and paid", "--budget", "800")
    stage.claim(
        f"{len(pack['items'])} items in {pack['tokens']} of 800 tokens;"
        f" {len(pack['left_out'])} left out",
        holds=0 < pack["tokens"] <= 800
        and all(each["reason"] and each["citation"] for each in pack["items"]),
    )


def equal(stage: Stage) -> None:
    stage.step("Are both sides really equal?", "Field by field, every fact, now:")
    stage.run("verify")
    stage.run("sync")
    proof, report = stage.ask("verify"), stage.ask("sync")
    idle = {name for name, n in report["counts"].items() if n} == {"unchanged"}
    stage.claim(
        f"{proof['checked']} facts are equal, and another sync has nothing to do",
        holds=proof["equal"] and idle and not report["actions"],
    )


OWN_WORDS = "# Tidebell\n\n## From Mara\n\nThe tide table hangs in the office.  \nIt is from May.\n"
OFFICE = "The office opens at seven.\n\nAsk for Bente first."


def memory_file(stage: Stage) -> None:
    stage.step(
        "A MEMORY.md is kept in step, both ways",
        """The program that indy runs in reads a MEMORY.md when a session begins. Mara writes in
        it by hand. indy adds what it learned: that section follows its fact.""",
    )
    file = stage.folder / "MEMORY.md"
    file.write_text(OWN_WORDS, encoding="utf-8")
    added = ("MEMORY.md", OFFICE, "--section", "Harbour office", "--agent", "indy")
    stage.run("memory-file", "add", *added)
    (fact,) = [x for x in stage.ask("list")["facts"] if x["title"] == "Harbour office"]
    stage.name("OFFICE", fact["id"])
    stage.tell("Bente corrects the hour in the note. Mara corrects the name in the file.")
    note = stage.note("$OFFICE")
    stage.edit(note, ("at seven", "at eight"))
    stage.edit(file, ("Bente", "Oskar"))
    stage.run("sync")
    stage.show(file)
    both = OFFICE.replace("seven", "eight").replace("Bente", "Oskar")
    text = file.read_text(encoding="utf-8")
    stage.claim(
        "file, note and fact say both, and Mara's own section is unchanged to the byte",
        holds=text.startswith(f"{OWN_WORDS}\n## Harbour office\n")
        and text.endswith(f"\n\n{both}\n")
        and both in note.read_text(encoding="utf-8")
        and stage.ask("get", "$OFFICE")["content"] == both,
    )
    stage.run("forget", "$OFFICE")
    stage.run("sync")
    stage.claim(
        "a forgotten fact takes its section with it, and nothing else",
        holds=file.read_text(encoding="utf-8").rstrip("\n") == OWN_WORDS.rstrip("\n"),
    )


STORY = (
    *(take_in, remember, edit, merge, conflict),
    *(settle, delete, undo, history, ask, pack, memory_file, equal),
)


def main() -> int:
    """Run the demo; returns 1 if a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    parser.add_argument("--store", help="the URL of the store; else SQLite")
    said = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vaultsync-demo-"))
    began = time.monotonic()
    stage = Stage(folder, store=said.store)
    try:
        stage.tell(
            f"""This is the real command line at work in {folder}, on a copy of
            sample-vault. Each command also gets --vault and --state-dir, which are left
            out here."""
        )
        for scene in STORY:
            scene(stage)
    except NotAsToldError as wrong:
        tell(f"\n  ✗ {wrong}\n\nThe demo did not work: a claim does not hold.")
        return 1
    finally:
        if said.keep:
            tell(f"\nThe folder is kept: {folder}")
        else:
            with suppress(NotAsToldError):  # there is no vault yet
                stage.ask("index", "--stop")
            shutil.rmtree(folder, ignore_errors=True)  # a process that ends removes some, too
    took = time.monotonic() - began
    tell(
        f"\nIt worked: {len(STORY)} steps, {took:.0f} s, every claim checked."
        " A vault and a store, equal, and not a word was lost."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
