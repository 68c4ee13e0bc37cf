"""Links in canvases: which there are, and that only they change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import processor_seconds
from vaultsync.errors import UnreadableNoteError
from vaultsync.links.canvas import read_canvas, retarget_canvas
from vaultsync.links.rewrite import MovedFiles
from vaultsync.links.wikilinks import LinkResolver
from vaultsync.model.paths import VaultPath

BOARD = VaultPath("Boards/Plan.canvas")
ALICE, MOVED = VaultPath("people/Alice.md"), VaultPath("team/Ärzte/Alice Smith.md")
BOB = VaultPath("people/Bob.md")

# As Obsidian writes it.
TEXT = """{
	"nodes":[
		{"id":"1","type":"file","file":"people/Alice.md","subpath":"#Work","x":0,"y":-40},
		{"id":"2","type":"text","text":"Ask [[Alice|her]] –\\n`[[Alice]]` [b](../people/Bob.md)"},
		{"id":"3","type":"link","url":"https://example.org/people/Alice.md"},
		{"id":"4","type":"group","label":"[[Alice]]","background":"img/a.png"}
	],
	"edges":[{"id":"e","fromNode":"1","toNode":"2","label":"[[Alice]]"}]
}"""


def _moves(before: VaultPath, after: VaultPath) -> MovedFiles:
    return MovedFiles(
        LinkResolver.of([before, BOB]), LinkResolver.of([after, BOB]), {before: after}
    )


def _moved(text: str, before: VaultPath, after: VaultPath) -> str:
    moves = _moves(before, after)
    return retarget_canvas(text, BOARD, moves.moved, moves.retarget(BOARD))


def test_the_cards_of_files_and_the_links_in_text_are_links() -> None:
    canvas = read_canvas(TEXT, BOARD)

    assert [(x.link.target, x.link.subpath, x.written, x.line) for x in canvas.links] == [
        ("/people/Alice.md", "#Work", "people/Alice.md#Work", 3),
        ("Alice", "", "[[Alice|her]]", 4),
        ("../people/Bob.md", "", "[b](../people/Bob.md)", 4),
        ("/img/a.png", "", "img/a.png", 6),
    ]
    assert canvas.card_ids == {"1", "2", "3", "4"}


def test_the_card_of_a_file_follows_it_whatever_its_unicode_form_is() -> None:
    text = '{"nodes":[{"type":"file","file":"\u00dcber.md"}]}'
    moved = {VaultPath("U\u0308ber.md"): ALICE}

    assert ALICE in retarget_canvas(text, BOARD, moved, lambda _: None)
    moved = {VaultPath("U\u0308ber.md"): VaultPath("u\u0308.md")}
    assert "\u00fc.md" in retarget_canvas(text, BOARD, moved, lambda _: None)


def test_a_byte_order_mark_stays_before_a_canvas() -> None:
    assert read_canvas(f"\ufeff{TEXT}", BOARD) == read_canvas(TEXT, BOARD)
    assert read_canvas("\ufeff", BOARD).links == ()
    to = VaultPath("people/Alice Smith.md")
    assert _moved(f"\ufeff{TEXT}", ALICE, to) == "\ufeff" + _moved(TEXT, ALICE, to) != TEXT


def test_a_canvas_of_many_cards_is_read_in_linear_time() -> None:
    cards = [{"type": "text", "text": f"[[{number}]] {'word ' * 30}"} for number in range(20_000)]
    with processor_seconds(30):
        canvas = read_canvas(json.dumps({"nodes": cards}, indent=1), BOARD)

    assert (canvas.links[-1].link.target, canvas.links[-1].line) == ("19999", 80_001)


def test_only_the_texts_that_link_to_a_moved_note_change() -> None:
    assert _moved(TEXT, ALICE, MOVED) == TEXT.replace(
        '"people/Alice.md"', '"team/Ärzte/Alice Smith.md"'
    ).replace("[[Alice|her]]", "[[Alice Smith|her]]")


texts = st.sampled_from(
    ["[[Alice]]", "[[Alice#A|x]]", "`[[Alice]]`", 'ü "\\/\n\t', "\u2028{[:,]}", "![[Bob]]"]
)
cards = st.fixed_dictionaries(
    {"id": st.sampled_from("abc"), "x": st.integers()},
    optional={
        "type": st.sampled_from(["file", "text", "group", "link", "other"]),
        "file": st.sampled_from([ALICE, BOB, "a.png"]),
        "text": st.lists(texts).map(" ".join),
        "background": st.sampled_from([ALICE, "b.png"]),
        "nodes": st.just([{"type": "file", "file": ALICE}]),
    },
)


@given(
    st.fixed_dictionaries({"nodes": st.lists(cards)}, optional={"edges": st.lists(cards)}),
    st.sampled_from(["\t", 2, None]),
    st.booleans(),
)
def test_a_move_there_and_back_leaves_every_byte_of_a_canvas(
    canvas: dict[str, Any], indent: str | int | None, escaped: bool
) -> None:
    text = json.dumps(canvas, indent=indent, ensure_ascii=escaped)
    links = len(read_canvas(text, BOARD).links)

    there = _moved(text, ALICE, VaultPath("people/Älva.md"))

    assert _moved(there, VaultPath("people/Älva.md"), ALICE) == text
    assert len(read_canvas(there, BOARD).links) == links
    assert json.loads(there).get("edges") == canvas.get("edges")


def test_a_card_that_has_a_key_twice_is_left_alone() -> None:
    twice = '{"nodes":[{"type":"file","file":"people/Alice.md","file":"people/Bob.md"}]}'

    assert _moved(twice, ALICE, MOVED) == twice


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"nodes":3}', '{"nodes":["a"]}', '{"nodes":{"a":{"b":"c"}}}', "[" * 100_000],
)
def test_what_is_no_canvas_is_named(text: str) -> None:
    with pytest.raises(UnreadableNoteError, match="it is not a JSON Canvas"):
        read_canvas(text, BOARD)


@pytest.mark.parametrize(
    "text", ["", "{}", '{"nodes":[]}', '{"nodes":{"":{"file":"a"}}}', '{"edges":[{"a":"b"}]}']
)
def test_an_empty_canvas_has_no_links(text: str) -> None:
    assert read_canvas(text, BOARD).links == ()
