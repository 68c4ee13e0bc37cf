"""Where things stand in a YAML text, and what is said when that cannot be told."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.frontmatters import yamlish
from vaultsync.markdown.yaml.positions import yaml_outline


@given(yamlish)
def test_an_outline_of_any_text_lies_within_it(yaml: str) -> None:
    for node in yaml_outline(yaml).nodes:
        assert 0 <= node.start <= len(yaml)


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
