"""Where things stand in a YAML text, and what is said when that cannot be told."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.frontmatters import frontmatters, yamlish
from vaultsync.markdown.yaml.positions import key_positions, yaml_outline


@given(yamlish)
def test_an_outline_of_any_text_lies_within_it(yaml: str) -> None:
    for node in yaml_outline(yaml).nodes:
        assert 0 <= node.start <= node.end <= len(yaml)


@pytest.mark.parametrize(
    ("yaml", "depth"),
    [
        *(("a: [", 2), ("a: 'b", 2), ("%", 0), ("a: 1\n\tb: 2\n", 2)),
        *(("[ " * 70 + "]" * 70, 65), ("- " * 70 + "x", 65)),
    ],
)
def test_an_outline_ends_where_the_text_is_unclear_or_too_deep(yaml: str, depth: int) -> None:
    seen = yaml_outline(yaml)

    assert not seen.whole
    assert max((node.depth for node in seen.nodes), default=0) == depth


@given(frontmatters())
def test_marks_are_the_top_level_keys_in_order(yaml: str) -> None:
    marks = key_positions(yaml) or []

    ends = [0]
    for mark in marks:
        assert (mark.key.text or "?") in yaml[mark.key.start : mark.key.end]
        assert ends[-1] <= mark.key.start < mark.key.end <= mark.value.start
        ends.append(mark.end.end)
    assert bool(marks) == bool(yaml.strip(" \n#aside"))


@pytest.mark.parametrize(
    "yaml", ["", "- a\n", "- a: 1\n", "{a: 1}", "text", "? [x]\n: 1\n", "a: ["]
)
def test_only_a_map_of_names_in_lines_has_marks(yaml: str) -> None:
    assert key_positions(yaml) is None
