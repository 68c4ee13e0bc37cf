"""Whether `re`, which backtracks, runs a user's pattern in bounded time, and as RE2 would.

It does where each repetition is bounded and few combinations of them are possible, and where a
repetition without a bound is the end of the pattern, so that nothing behind it can fail.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, TypeAlias, cast

from vaultsync.model.lazy_pattern import lazy_pattern

MAX_STEPS = 300
"""Characters and choices that are tried at one place of a text, at most."""
_OTHER_SYNTAX = lazy_pattern(
    r"\(\?(?!:|P<|[ims]+\))|\[\[|\[:|&&|--|\|\||~~|\{,|\\[uUNZ0-9]|\(\?[ims]*i[ims]*\)(?s:.)*[^\x00-\x7f]"
)
"""What `re` and RE2 read differently, or only one of them reads."""
_ONE = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY"})
"""Nodes that take one character."""
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT"})


class _Cost(NamedTuple):
    """What trying a part of a pattern at one place costs, at most."""

    steps: int
    ways: int
    """How many ways there are to match: what follows may be tried after each."""


def why_unbounded(pattern: str) -> str:
    """Why a pattern may take `re` long, or means something else in RE2; empty when it does not.

    Raises:
        ValueError: it is no regular expression.
    """
    if _OTHER_SYNTAX.search(pattern):
        return "`re` reads it otherwise than RE2"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # The parser of `re` has no public name.
            parsed = import_module("re._parser").parse(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError, Warning) as wrong:
        raise ValueError(str(wrong)) from None
    cost = _cost_of(parsed, last=True)
    if cost is None:
        return "something follows a repetition without a bound, or only `re` knows it"
    return "its repetitions can be combined in too many ways" if cost.steps > MAX_STEPS else ""


_Nodes: TypeAlias = "Sequence[tuple[object, object]]"
"""A part of the parse tree of `re`: kinds of nodes with what they hold."""


def _cost_of(nodes: _Nodes, *, last: bool) -> _Cost | None:
    """The cost of a sequence; None when it is not bounded. Nothing follows the `last` one."""
    steps, ways = 0, 1
    for number, (kind, value) in enumerate(nodes):
        cost = _cost_of_node(str(kind), value, last=last and number == len(nodes) - 1)
        if cost is None:
            return None
        steps = min(steps + ways * cost.steps, MAX_STEPS + 1)
        ways = min(ways * cost.ways, MAX_STEPS + 1)
    return _Cost(steps, ways)


def _cost_of_node(kind: str, value: object, *, last: bool) -> _Cost | None:
    if kind in _ONE or kind == "AT":
        return _Cost(1, 1)
    if kind == "SUBPATTERN":
        return _cost_of(cast("Sequence[_Nodes]", value)[-1], last=last)
    if kind == "BRANCH":
        costs = [
            _cost_of(each, last=last) for each in cast("tuple[object, Sequence[_Nodes]]", value)[1]
        ]
        known = [each for each in costs if each is not None]
        if len(known) < len(costs):
            return None
        return _Cost(sum(each.steps for each in known), sum(each.ways for each in known))
    if kind not in _REPEATS:
        return None
    least, most, part = cast("tuple[int, int, _Nodes]", value)
    if most > MAX_STEPS:  # no bound, or none that helps
        single = len(part) == 1 and str(part[0][0]) in _ONE
        return _Cost(least + 1, 1) if last and single and least <= MAX_STEPS else None
    inner = _cost_of(part, last=False)
    if inner is None:
        return None
    steps, ways, paths = 0, 0, 1
    for count in range(most + 1):
        ways += paths if count >= least else 0
        steps = min(steps + paths * inner.steps, MAX_STEPS + 1)
        paths = min(paths * inner.ways, MAX_STEPS + 1)
    return _Cost(steps, ways)
