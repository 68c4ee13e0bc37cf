"""The same notes and facts in every run: about 2 kB each, 100 to a folder."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

PER_FOLDER = 100
_SEED = "vaultsync"
_SIZE = 1500
"""Characters of prose in a note."""
_TEXT = (
    "agent archive batch budget cache change commit context customer deadline deploy"
    " design document editor engine error evidence export feature folder graph import"
    " index latency ledger link machine memory merge meeting migration morning network"
    " note outage owner page parser person plan project query queue recall record"
    " release report review schema scope server session signal snapshot source store"
    " summary table team test thread ticket token tree update vault vector version"
)
WORDS = _TEXT.split()
"""What all notes are made of."""
_PEOPLE = ("Alice", "Bob", "Chen Wei", "Dilara", "Émile", "Farid", "Grażyna", "Hana")
_THINGS = ("Convex", "LanceDB", "Mirror", "Obsidian", "Payments", "Qdrant", "SQLite")
_TYPES = ("decision", "lesson", "observation", "note", "fact", "task", "convention")
_STATES = ("active", "active", "active", "dormant", "archived")


def _dice(what: str, number: int) -> random.Random:
    return random.Random(f"{_SEED} {what} {number}")


def _sentence(dice: random.Random) -> str:
    words = dice.choices(WORDS, k=dice.randint(6, 14))
    return " ".join(words).capitalize() + "."


_SENTENCES = [_sentence(_dice("sentence", number)) for number in range(600)]


def fact_id(number: int) -> str:
    """The id of a fact, as a UUIDv7 is spelled."""
    return f"0193f6c2-{number >> 12:04x}-7{number & 0xFFF:03x}-8000-{number:012x}"


def title(number: int) -> str:
    """A title that no other number has."""
    words = _dice("title", number).choices(WORDS, k=4)
    return f"{' '.join(words).capitalize()} {number}"


def prose(number: int) -> str:
    """Some paragraphs with wiki-links, a list, a heading and a fence."""
    dice = _dice("prose", number)
    parts = []
    size = 0
    while size < _SIZE:
        sentences = dice.sample(_SENTENCES, k=dice.randint(2, 5))
        kind = dice.random()
        if kind < 0.15:
            part = "\n".join(f"- {sentence}" for sentence in sentences)
        elif kind < 0.2:
            part = f"## {sentences[0][:-1]}\n\n{sentences[1]}"
        elif kind < 0.23:
            part = f"```sh\nmake {dice.choice(WORDS)}\n```"
        else:
            part = " ".join(sentences)
            part += f" See [[{dice.choice(_PEOPLE)}]] and [[{dice.choice(_THINGS)}]]."
        parts.append(part)
        size += len(part)
    return "\n\n".join(parts)


def created_at(number: int) -> str:
    """A time of the year 2026."""
    dice = _dice("time", number)
    day = f"2026-{dice.randint(1, 12):02d}-{dice.randint(1, 28):02d}"
    return f"{day}T{dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}:00Z"


def fact_lines(count: int) -> Iterator[str]:
    """Facts as lines of JSON; their notes have about twelve properties.

    One in four is related to another one. The scopes are such that no folder gets more
    than `PER_FOLDER` notes.
    """
    for number in range(count):
        dice = _dice("fact", number)
        kind = _TYPES[number % len(_TYPES)]
        fact = {
            "id": fact_id(number),
            "type": kind,
            "title": title(number),
            "content": prose(number),
            "scope": f"project-p{number // (PER_FOLDER * len(_TYPES))}",
            "priority": dice.choice((0, 1, 2, 2, 2)) if kind != "observation" else 1,
            "status": dice.choice(_STATES),
            "tags": sorted({dice.choice(WORDS), dice.choice(WORDS)}),
            "entities": sorted({dice.choice(_PEOPLE), dice.choice(_THINGS)}),
            "createdAt": created_at(number),
            "agentId": dice.choice(("indy", "otto", "vera")),
            "source": "session",
            "sessionId": f"s-{number // 20}",
            "importance": dice.randint(0, 100) / 100,
            "confidence": dice.randint(50, 100) / 100,
        }
        if number % 4 == 3:
            fact["relatedFactIds"] = [fact_id(dice.randrange(number))]
        yield json.dumps(fact, ensure_ascii=False)


def persons_note(number: int) -> str:
    """A note that a person wrote: twelve properties, no id."""
    dice = _dice("person", number)
    return (
        "---\n"
        f"aliases: [{dice.choice(WORDS)}-{number}]\n"
        f"tags:\n  - {dice.choice(WORDS)}\n  - {dice.choice(WORDS)}/{number % 7}\n"
        f"created: {created_at(number)[:10]}\n"
        f'author: "[[{dice.choice(_PEOPLE)}]]"\n'
        f"mood: {dice.choice(('calm', 'hurried', 'glad'))} # as it felt\n"
        f"rating: {dice.randint(1, 5)}\n"
        f"source: https://example.org/{number}\n"
        f"reviewed: {dice.choice(('true', 'false'))}\n"
        f"cssclasses: [wide]\n"
        f"version: {dice.randint(1, 9)}.{dice.randint(0, 9)}\n"
        f"due: {created_at(number)[:10]}\n"
        f'about: "[[{dice.choice(_THINGS)}]]"\n'
        "---\n\n"
        f"# {title(number)}\n\n{prose(number)}\n"
    )


def long_note() -> str:
    """A note with thirty properties of all kinds."""
    lines = [f"id: {fact_id(1)}", "type: decision", "tags: [architecture, memory]"]
    lines += ["entities:", '  - "[[Convex]]"', '  - "[[LanceDB]]"']
    lines += [f"created{number}: 2026-02-1{number}T10:00:00Z" for number in range(5)]
    lines += [f'person{number}: "[[Alice {number}]]"' for number in range(5)]
    lines += [f"note{number}: {_SENTENCES[number][:-1]}" for number in range(8)]
    lines += [f"share{number}: 0.{number}5 # measured" for number in range(4)]
    lines += [f"flag{number}: {'true' if number else 'false'}" for number in range(3)]
    lines += ["status: active"]
    return "---\n" + "\n".join(lines) + f"\n---\n\n# A decision\n\n{prose(1)}\n"


def write_notes(root: Path, count: int) -> None:
    """A tree of notes as a person would have it."""
    for number in range(count):
        folder = root / "Notes" / f"Part {number // PER_FOLDER}"
        if number % PER_FOLDER == 0:
            folder.mkdir(parents=True)
        text = persons_note(number)
        (folder / f"{title(number)}.md").write_text(text, encoding="utf-8")
