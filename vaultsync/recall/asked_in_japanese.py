"""What a question in Japanese asks for; loaded for such questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from vaultsync.indexing.ports import NEWEST, OLDEST
from vaultsync.model.schema import WITH_STATE
from vaultsync.recall.asked_words import DONE, DUE, OPEN, OVERDUE, AskedFor

JAPANESE_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "decision": "決定|決めた|決まった",
        "commitment": "約束|コミットメント",
        "lesson": "教訓|学んだ|学び",
        "observation": "観察|観測",
        "preference": "好み",
        "task": "タスク|やること",
        "correction": "訂正",
        "convention": "規約|慣習",
        "person": "人物|メンバー",
        "project": "プロジェクト一覧",
    }
)
"""Type -> the Japanese words for it, as a pattern."""
JAPANESE_STATES = MappingProxyType(
    {
        OVERDUE: "期限切れ|遅れ",
        OPEN: "やること|未完了|未解決|残って|(?:完了して|済んで|終わって)い?(?:ない|ません)",
        DONE: "完了|済み",
        DUE: "期限",
    }
)
JAPANESE_ORDERS = MappingProxyType({NEWEST: "最新|最近の", OLDEST: "最初|最古"})
_JAPANESE_GENERIC = (
    r"私たち|我々|これまで|こと|どんな|どのような|すべて|全て|一覧|ください|教えて|ありました|あります|あった|ある"
    r"|しました|した|する|されました|された|何|は|を|が|の|に|で|と|も|か|な|ですか|です|ました|ます|[\s、。？！?!]"
)
_JAPANESE_ONE = "最新|最初|最古"
"""Of the words for an order, those that ask for one fact, if no word for more is there."""
_JAPANESE_MANY = r"一覧|すべて|全て|全部|リスト|いくつ|[\d一二三四五六七八九十]+(?:つ|件|個)"


def asked_in_japanese(text: str) -> AskedFor:
    """What a question in Japanese asks for, as `asked_for()`."""
    types = {name for name, pattern in JAPANESE_TYPES.items() if re.search(pattern, text)}
    state = next((s for s, p in JAPANESE_STATES.items() if re.search(p, text)), "")
    order = next((o for o, p in JAPANESE_ORDERS.items() if re.search(p, text)), "")
    if not types & WITH_STATE:
        state = ""
    spoken = [JAPANESE_TYPES[name] for name in types]
    spoken += [JAPANESE_STATES[state]] if state else []
    spoken += [JAPANESE_ORDERS[order]] if order else []
    rest = text
    for pattern in (*spoken, _JAPANESE_GENERIC):
        rest = re.sub(pattern, " ", rest)
    is_one = bool(types and re.search(_JAPANESE_ONE, text)) and not re.search(_JAPANESE_MANY, text)
    return AskedFor(frozenset(types), frozenset(types), order, state, tuple(rest.split()), is_one)
