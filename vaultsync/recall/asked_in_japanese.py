"""What a question in Japanese asks for; loaded for such questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from vaultsync.indexing.ports import NEWEST, OLDEST
from vaultsync.model.schema import WITH_STATE
from vaultsync.recall.asked_words import (
    BLOCKED,
    DONE,
    DROPPED,
    DUE,
    OPEN,
    OVERDUE,
    STARTED,
    UNDATED,
    AskedFor,
)

JAPANESE_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "decision": "決定|決めた|決めまし|決まった|決まりまし",
        "commitment": "約束|コミットメント",
        "lesson": "教訓|学んだ|学び",
        "observation": "観察|観測",
        "preference": "好み",
        "task": "タスク|やること|やるべきこと",
        "correction": "訂正",
        "convention": "規約|慣習",
        "person": "人物|メンバー",
        "project": "プロジェクト一覧",
    }
)
"""Type -> the Japanese words for it, as a pattern."""
JAPANESE_STATES = MappingProxyType(
    {
        OVERDUE: "期限切れ|期限を過ぎ|遅れ",
        UNDATED: "期限[のが]?な[いし]|締め切り[のが]?な[いし]",
        OPEN: (
            "やること|やるべきこと|未完了|未解決|残って"
            "|(?:完了して|済んで|終わって)い?(?:ない|ません)"
        ),
        DROPPED: "キャンセル|中止",
        STARTED: "進行中|作業中",
        BLOCKED: "保留中?",
        DONE: "完了|済み|終わった|終わりまし",
        DUE: "期限|締め切り|締切",
    }
)
"""State -> the same; the first that is found counts."""
JAPANESE_ORDERS = MappingProxyType({NEWEST: "最新|最近の", OLDEST: "最初|最古"})
# Longer words come first: *ですか* contains *で*.
_JAPANESE_GENERIC = (
    r"どのような|されました|でしょうか|しています|ありました|について|に関する|あります|ください|しました"
    r"|これまで|今後の|次の|私たち|どんな|すべて|教えて|された|している|あった|ですか|なった|いくつ|全て|一覧|我々|こと|まだ|ある|した"
    r"|する|から|です|ました|まし|ます|どの|何|誰|は|を|が|の|に|で|と|も|か|な|た|[\s、。？！?!]"
)
_JAPANESE_ONE = "最新|最初|最古"
"""Of the words for an order, those that ask for one fact, if no word for more is there."""
_JAPANESE_COUNT = "[\\d一二三四五六七八九十]+(?:つ|件|個)"
_JAPANESE_MANY = rf"一覧|すべて|全て|全部|リスト|いくつ|{_JAPANESE_COUNT}"


def asked_in_japanese(text: str) -> AskedFor:
    """What a question in Japanese asks for, as `asked_for()`."""
    types = frozenset(name for name, pattern in JAPANESE_TYPES.items() if re.search(pattern, text))
    state = next((s for s, p in JAPANESE_STATES.items() if re.search(p, text)), "")
    order = next((o for o, p in JAPANESE_ORDERS.items() if re.search(p, text)), "")
    state = state if not types or types & WITH_STATE else ""
    spoken = [JAPANESE_TYPES[name] for name in types]
    spoken += [JAPANESE_STATES[state]] if state else []
    spoken += [JAPANESE_ORDERS[order], _JAPANESE_COUNT] if order else []
    topic = tuple(re.sub("|".join((*spoken, _JAPANESE_GENERIC)), " ", text).split())
    if state and not types:
        # *What is not done yet?* asks for tasks and promises, *Is the report done?* for neither.
        types, state, topic = (frozenset(), "", (text,)) if topic else (WITH_STATE, state, ())
    is_one = bool(types and re.search(_JAPANESE_ONE, text)) and not re.search(_JAPANESE_MANY, text)
    return AskedFor(types, types, order, state, topic, is_one)
