"""What classifying observations saves, and what it costs: `python -m tests.eval.noise`.

10,000 observations of coding sessions, nine of ten of them noise, are stored twice: as they
are, and classified. Of both the questions about what matters are asked. It prints

- how many bytes default recall carries, of those stored raw,
- recall@5 of the questions on both,
- the share of noise in what is kept, and in the hits.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import vaultsync
from vaultsync.api.memory import Memory
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.hiding import ORIGINAL, PENDING, RETIRED_STATUSES
from vaultsync.storage.store import StoreWrite

SESSIONS = Path(__file__).parent / "sessions.toml"
NOISE_SHARE = 0.9
MOST_QUESTIONS = 300
_FIRST = (
    "invoice berth cargo tide member ticket booking payment harbour ledger crane pilot customs"
    " manifest ferry quay mooring signal weather passenger"
)
_SECOND = (
    "importer list parser cache report form queue export index calendar mailer sync archive"
    " planner checker"
)
_NAMES = "Aiko Bente Clara Dario Elin Femi Greta Hamid Ines Jonas Kemi Liam Marek Nadia Omar"
FIRST, SECOND, NAMES = _FIRST.split(), _SECOND.split(), _NAMES.split()
FILES = [f"{folder}/{name}.py" for folder in ("src", "lib", "app", "jobs") for name in SECOND]
DAYS = [f"{day} {month}" for month in ("March", "May", "July") for day in range(1, 29)]


class Generated(NamedTuple):
    text: str
    asks: str
    """A question that it answers; empty where it is noise."""


class NoiseFigures(NamedTuple):
    """What was measured."""

    raw_bytes: int
    kept_bytes: int
    recall_raw: float
    recall_kept: float
    noise_kept: float
    """The share of noise in what default recall carries."""
    noise_in_hits: float
    noise_in_raw_hits: float
    classified_cpu: float
    """Seconds of CPU that classifying, shortening and writing took."""

    @property
    def saved(self) -> float:
        """The share of bytes that default recall does not carry."""
        return 1 - self.kept_bytes / self.raw_bytes


def generate(count: int, *, seed: int = 18) -> list[Generated]:
    """Observations in a random order, the same for the same seed; none is there twice."""
    table = tomllib.loads(SESSIONS.read_text(encoding="utf-8"))
    dice = random.Random(seed)
    found: dict[str, Generated] = {}
    while len(found) < count * (1 - NOISE_SHARE):
        row = dice.choice(table["matters"])
        words = _words(dice)
        text = row["text"].format_map(words)
        found[text] = Generated(text, row["asks"].format_map(words))
    while len(found) < count:
        text = dice.choice(table["noise"]).format_map(_words(dice))
        found[text] = Generated(text, "")
    return dice.sample([*found.values()], count)


def _words(dice: random.Random) -> Mapping[str, str]:
    return {
        "thing": f"{dice.choice(FIRST)} {dice.choice(SECOND)}",
        "file": dice.choice(FILES),
        "name": dice.choice(NAMES),
        "day": dice.choice(DAYS),
        "n": str(dice.randint(2, 59)),
        "m": str(dice.randint(60, 900)),
    }


@contextmanager
def _stored(rows: Sequence[Generated], status: str) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory(prefix="noise-") as folder:
        vault, state = f"{folder}/vault", f"{folder}/state"
        vaultsync.init(vault, state_dir=state)
        with vaultsync.open(vault, state_dir=state) as memory:
            new_id, at = memory._ctx.clock.new_id, memory._ctx.today()
            facts = [
                make_fact(
                    {
                        "id": new_id(),
                        "type": "observation",
                        "status": status,
                        "content": each.text,
                        "scope": "public",
                        "agentId": "indy",
                        "createdAt": at,
                        "updatedAt": at,
                    }
                )
                for each in rows
            ]
            memory._ctx.store.write([StoreWrite(each.id, each, None, "indy") for each in facts])
            yield memory


def _text_of(fact: Fact) -> str:
    return str(fact.own.get(ORIGINAL) or fact.content)


def _asked(memory: Memory, rows: Sequence[Generated]) -> tuple[float, float]:
    """Recall@5 of the questions, and the share of noise in their hits."""
    asks = {each.text: each.asks for each in rows}
    asked = [each for each in rows if each.asks][:MOST_QUESTIONS]
    found = noise = hits = 0
    for each in asked:
        ids = [hit.id for hit in memory.recall(each.asks, limit=5).hits]
        texts = [_text_of(fact) for fact in memory._ctx.store.find_many(ids).values()]
        found += any(asks.get(text) == each.asks for text in texts)
        noise += sum(not asks.get(text) for text in texts)
        hits += len(texts)
    return found / len(asked), noise / max(1, hits)


def measure(count: int) -> NoiseFigures:
    """Store, classify and ask."""
    rows = generate(count)
    asks = {each.text: each.asks for each in rows}
    with _stored(rows, "active") as memory:
        memory.index()
        recall_raw, noise_in_raw_hits = _asked(memory, rows)
    with _stored(rows, PENDING) as memory:
        memory.sync()
        began = time.process_time()
        memory.process_observations(is_synced=True)
        cpu = time.process_time() - began
        recall_kept, noise_in_hits = _asked(memory, rows)
        facts = list(memory._ctx.store.iter_facts())
        kept = [each for each in facts if each.status not in RETIRED_STATUSES]
    return NoiseFigures(
        raw_bytes=sum(len(each.text.encode()) for each in rows),
        kept_bytes=sum(len(each.content.encode()) for each in kept),
        recall_raw=recall_raw,
        recall_kept=recall_kept,
        noise_kept=sum(not asks.get(each.content) for each in kept) / max(1, len(kept)),
        noise_in_hits=noise_in_hits,
        noise_in_raw_hits=noise_in_raw_hits,
        classified_cpu=cpu,
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    count = parser.parse_args().count
    found = measure(count)
    print(f"observations         {count:10,}")
    print(f"bytes raw            {found.raw_bytes:10,}")
    print(f"bytes kept           {found.kept_bytes:10,}  ({found.saved:.1%} fewer)")
    print(f"recall@5 raw         {found.recall_raw:10.3f}")
    print(f"recall@5 kept        {found.recall_kept:10.3f}")
    print(f"noise in what is kept{found.noise_kept:10.1%}")
    print(f"noise in hits        {found.noise_in_hits:10.1%}  (raw {found.noise_in_raw_hits:.1%})")
    print(f"CPU s per 1,000      {found.classified_cpu / count * 1000:10.2f}")


if __name__ == "__main__":
    main()
