from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sample_vault import every_note
from vaultsync.backends.tokens.estimate import EstimatingCounter
from vaultsync.backends.tokens.tiktoken import TiktokenCounter

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "obsidian-help"
SAMPLES = {  # what o200k_base counts, and the text
    "prose": (
        39,
        """\
We keep the harbour file on the box at the pier, because the line to the mainland fails
in every storm. A copy goes out every ten minutes, and nobody has to remember it.
""",
    ),
    "markdown": (
        79,
        """\
## What follows

- [ ] Ask **Bente** about the berths, see [[2026-04-09-what-tollpenny-costs|the prices]].
- [x] `make demo` runs; the table says why:

| harbour | berths | open |
| --- | ---: | --- |
| Skarvik | 38 | yes |
""",
    ),
    "frontmatter": (
        80,
        """\
---
id: 019c5c7e-8d20-7b3a-9f41-3c5d0e8a7b62
type: decision
priority: 0
tags:
  - architecture
  - memory-system
createdAt: 2026-02-14T13:45:00Z
decisionOutcome: implemented
---
""",
    ),
    "code": (
        85,
        '''\
def spill(rooms: dict[str, int], needs: dict[str, int]) -> dict[str, int]:
    """What one tier leaves the next may use."""
    left = 0
    for tier, room in rooms.items():
        used = min(room + left, needs.get(tier, 0))
        left, rooms[tier] = room + left - used, used
    return rooms
''',
    ),
    "JSON": (30, '{"id": "a1", "score": 0.8125, "why": ["title", "tag"], "path": null}\n'),
    "German": (
        40,
        """\
Die Schleuse öffnet zwei Stunden vor Hochwasser; wer früher kommt, wartet draußen an den
Pfählen und meldet sich beim Hafenmeister, der die Liegeplätze für die Nacht verteilt.
""",
    ),
    "Japanese": (
        41,
        """\
潮の表示は夏時間に変わるとき一時間ずれていました。港の人はまず番号を聞きます。
次の点検は来週の火曜日です。
""",
    ),
    "Chinese": (24, "港口的数据每十分钟备份一次,因为暴风雨时与大陆的连接总会中断。\n"),
    "Russian": (22, "Шлюз открывается за два часа до полной воды; лодки ждут снаружи у свай.\n"),
    "Arabic": (19, "يفتح الميناء قبل ساعتين من المد وتنتظر القوارب في الخارج.\n"),
    "emoji": (23, "Gate open 🎉⚓ — 38 berths, 12 boats waiting 🚢🚢 … ✅\n"),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_an_estimate_is_above_the_count_and_not_far_above(kind: str) -> None:
    cost, text = SAMPLES[kind]

    assert cost <= EstimatingCounter().count(text) <= 2 * cost


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("a", 1, 1), ("1", 1, 1), ("hello", 2, 4), ("\n" * 9 + "9a9a9a9a", 1, 17)],
)
def test_a_short_text_costs_between_one_and_its_bytes(text: str, least: int, most: int) -> None:
    assert least <= EstimatingCounter().count(text) <= most


def test_real_notes_are_never_underestimated() -> None:
    exact = TiktokenCounter.find()
    if exact is None or not REAL.is_dir():
        pytest.skip("the table of o200k_base or ../shared/data is not on this machine")
    notes = [note.raw.decode() for note in every_note()]
    notes += [path.read_text("utf-8") for path in REAL.rglob("*.md")]
    wholes = [re.sub(r"\n{3,}", "\n\n", note) for note in notes if len(note) > 1000]
    counter = EstimatingCounter()
    low = [text[:60] for text in wholes if counter.count(text) < exact.count(text)]
    spent = sum(map(counter.count, wholes)) / sum(map(exact.count, wholes))

    assert len(wholes) > 100
    assert low == []
    assert spent < 1.25
