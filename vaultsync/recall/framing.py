"""What people and agents say around a question: greetings, thanks, *User asks:*."""

from __future__ import annotations

from vaultsync.model.lazy_pattern import lazy_pattern

_END = r"\s*[,.:;!–—-]+\s+"
_BEFORE = lazy_pattern(
    r"(?i)(?:"
    rf"(?:hey|hi|hello|hallo|salut|bonjour|hola)(?:\s+(?:again|all|everyone|there|zusammen))?{_END}"
    rf"|(?:by\s+the\s+way|btw|okay|ok|so|well){_END}"
    r"|(?:(?:just\s+)?(?:a\s+|another\s+|one\s+)?(?:brief\s+|quick\s+|short\s+)?question"
    r"|(?:eine\s+|nur\s+eine\s+)?(?:kurze\s+)?frage"
    r"|(?:une\s+)?(?:petite\s+)?question(?:\s+rapide)?|(?:una\s+)?pregunta(?:\s+rápida)?)"
    rf"{_END}"
    r"|I\s+(?:forgot|forget|(?:can['’]?t|cannot|don['’]?t)\s+(?:recall|remember))"
    rf"(?:\s+(?:it|that|this))?{_END}"
    rf"|ich\s+(?:habe?\s+(?:es\s+)?vergessen|weiß\s+(?:es\s+)?nicht\s+mehr){_END}"
    rf"|j['’]ai\s+oublié{_END}|(?:lo\s+)?olvidé{_END}"
    r"|(?:please(?:\s+tell\s+me)?|tell\s+me)\s*[,:]\s+"
    r"|I(?:\s+(?:need|want|would\s+like)|['’]d\s+like)\s+to\s+know\s+"
    r"|(?:the\s+)?user(?:\s+(?:asks|asked|says|said|wants\s+to\s+know|question)|['’]s\s+question)"
    r"\s*:\s+"
    r"|(?:query|search|recall|look\s+up)\s*:\s+"
    r"|(?:search|query|check)\s+(?:(?:my|our|the|your)\s+(?:memor(?:y|ies)|notes|vault)|memory)"
    r"(?:\s+for\s*:?|\s*:)\s+"
    r")"
)
_AFTER = lazy_pattern(
    r"(?i)(?<=[,.?!])\s+(?:please|thanks|thank\s+you|thx|cheers|many\s+thanks|danke|vielen\s+dank"
    r"|bitte|merci|s['’]il\s+(?:te|vous)\s+pla[iî]t|(?:muchas\s+)?gracias|por\s+favor)"
    r"(?:\s+(?:a\s+lot|beaucoup|d['’]avance|im\s+voraus|in\s+advance|schön|so\s+much|very\s+much))?"
    r"[\s.!?]*\Z"
)


def without_framing(text: str) -> str:
    """The question in a request, or the request if that is all that it says.

    *Hey, quick question: What did we decide? Thanks!* asks what was decided.
    """
    start = 0
    while match := _BEFORE.match(text, start):
        start = match.end()
    thanks = _AFTER.search(text, start)
    return text[start : thanks.start() if thanks else len(text)] or text
