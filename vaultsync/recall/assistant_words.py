"""Recognize questions for what an assistant said, such as *What did you recommend?*."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vaultsync.model.dates import find_all

_SAID = (
    "advise|answer|claim|describe|explain|give|list|mention|name|offer|point out|propose|provide"
    "|recommend|reply|respond|say|show|share|suggest|teach|tell|think|warn|write"
)
_PAST = (
    "advised|answered|claimed|described|explained|gave|given|listed|mentioned|named|offered"
    "|pointed out|proposed|provided|recommended|replied|responded|said|shown|showed|shared"
    "|suggested|taught|told|warned|written|wrote"
)
_PATTERNS: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        ("assist", "asisten", "chatbot"): (
            r"\b(?:(?:the|your|an|my|ai|der|dem|den|des|dein|unser|mein|el|la|del|al|tu|mi|une?|ta|ton)"
            r"\s+|l['’])(?:ai[\s-]+)?(?:assistant(?:in|en|e|s)?|assistent(?:in|en)?|asistente|chatbot)s?\b"
        ),
        ("you", "i ", "we "): (
            rf"\b(?:did|had|have)\s+you\s+(?:\w+\s+){{0,2}}?(?:{_SAID}|{_PAST})\b"
            rf"|\byou(?:['’](?:d|ve)|\s+have|\s+had)?\s+(?:\w+\s+){{0,2}}?(?:{_PAST})\b"
            r"|\byour\s+(?:\w+\s+){0,2}?(?:advice|answer|explanation|proposal|recommendation|reply"
            r"|response|suggestion|tip)s?\b"
            r"|\b(?:was|were)\s+(?:I|we)\s+(?:advised|given|recommended|shown|taught|told)\b"
        ),
        ("du ", "sie ", "dein", "ihr"): (
            r"\b(?:hast|hattest|haben|hatten)\s+(?:du|sie)\b[^.?!]{0,120}?\b(?:beantwortet|empfohlen"
            r"|erklärt|erwähnt|geantwortet|gegeben|genannt|geraten|gesagt|geschrieben|gezeigt"
            r"|vorgeschlagen)\b"
            r"|\b(?:du|sie)\b[^.?!]{0,120}?\b(?:empfohlen|erklärt|geantwortet|geraten|gesagt"
            r"|vorgeschlagen)\s+(?:hast|hattest|haben|hatten)\b"
            r"|\b(?:empfahlst|erklärtest|nanntest|rietst|sagtest|schlugst)\s+du\b"
            r"|\b(?:deine?[mnrs]?|ihre?[mnrs]?)\s+(?:\w+\s+)?(?:antwort(?:en)?|empfehlung(?:en)?"
            r"|erklärung(?:en)?|rat|ratschl[aä]ge?s?|tipps?|vorschl[aä]ge?n?s?)\b"
        ),
        ("tu ", "vous", "t'", "t’", "ton ", "ta ", "tes ", "votre", "vos "): (
            r"\b(?:as-tu|avez-vous|aviez-vous|avais-tu|tu\s+(?:m['’])?a[sv]\w*"
            r"|vous\s+(?:m['’]|nous\s+)?av\w+)\s+(?:\w+\s+)?(?:conseillé|dit|donné|écrit|expliqué"
            r"|indiqué|mentionné|montré|proposé|recommandé|répondu|suggéré)e?s?\b"
            r"|\b(?:ton|ta|tes|votre|vos)\s+(?:conseil|explication|proposition|recommandation|réponse"
            r"|suggestion)s?\b"
        ),
        ("ste", "has ", "habías", "tu ", "tus ", "su ", "sus ", "usted"): (
            r"\b(?:aconsejaste|contestaste|dijiste|diste|escribiste|explicaste|mencionaste"
            r"|propusiste|recomendaste|respondiste|sugeriste)\b"
            r"|\b(?:has|habías)\s+(?:aconsejado|contestado|dicho|explicado|mencionado|propuesto"
            r"|recomendado|respondido|sugerido)\b"
            r"|\b(?:aconsejó|dijo|explicó|propuso|recomendó|respondió|sugirió)\s+usted\b"
            r"|\b(?:tus?|sus?)\s+(?:consejo|explicaci[oó]n|propuesta|recomendaci[oó]n|respuesta"
            r"|sugerencia)(?:e?s)?\b"
        ),
        ("あなた", "君", "アシスタント", "くれ", "くださ", "下さ", "もらっ", "いただい"): (
            r"アシスタント"
            r"|(?:あなた|君)(?:が|は|の)[^。？！?!]{0,80}?(?:アドバイス|回答|助言|すすめ|勧め|薦め|推薦|説明"
            r"|提案|教え|言っ|言い|答え)"
            r"|(?:アドバイス|おすすめ|お勧め|回答|助言|すすめ|勧め|薦め|推奨|推薦|説明|提案|教え|答え|言っ)"
            r"(?:を|し)?て?(?:くれ|くださっ|下さっ|くださいまし|もらっ|もらいまし|いただい|いただきまし)"
        ),
    }
)
"""What one of must occur, in lower case -> the pattern of such questions, in one language each."""


def asks_for_assistant(question: str) -> bool:
    """Whether a question asks for what an assistant said, in one of five languages.

    What the assistant would say now is another question: *What would you suggest?*
    """
    return any(
        next(find_all(pattern, question, *required), None)
        for required, pattern in _PATTERNS.items()
    )
