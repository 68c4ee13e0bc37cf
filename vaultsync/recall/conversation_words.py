"""Recognize whether a question asks for what an assistant said, or for advice.

*What did you recommend?* asks for what was said. *How would you suggest I split the work?* does
not; its answer needs the user's preferences, which may have few words of the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from vaultsync.model.dates import find_all
from vaultsync.model.fact import Fact, is_of_assistant
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.explanation import QueryTerms
from vaultsync.recall.ranking import PREFERENCE_FACTOR

_MIN_TITLE_WORDS = 2
"""A question of one word is in many titles."""
_Patterns: TypeAlias = Mapping[tuple[str, ...], str]
"""Lower-case texts, one of which must occur -> the pattern for such questions in a language."""

_SAID = (
    "advise|answer|claim|describe|explain|give|list|mention|name|offer|point out|propose|provide"
    "|recommend|reply|respond|say|show|share|suggest|teach|tell|think|warn|write"
)
_PAST = (
    "advised|answered|claimed|described|explained|gave|given|listed|mentioned|named|offered"
    "|pointed out|proposed|provided|recommended|replied|responded|said|shown|showed|shared"
    "|suggested|taught|told|warned|written|wrote"
)
_OF_ASSISTANT: _Patterns = MappingProxyType(
    {
        ("assist", "asisten", "chatbot"): (
            r"\b(?:(?:the|your|an|my|ai|der|dem|den|des|dein|unser|mein|el|la|del|al|tu|mi|une?|ta|ton)"
            r"\s+|l['’])(?:ai[\s-]+)?(?:assistant(?:in|en|e|s)?|assistent(?:in|en)?|asistente|chatbot)s?\b"
        ),
        ("you", "i ", "we "): (
            rf"\b(?:did|had|have)\s+you\s+(?:\w+\s+){{0,2}}?(?:{_SAID}|{_PAST})\b"
            rf"|\byou(?:['’](?:d|ve)|\s+have|\s+had)?\s+(?:\w+\s+){{0,2}}?(?:{_PAST})\b"
            r"|\byour\s+(?:\w+\s+){0,2}?(?:advice|answer|checklist|explanation|idea|list|proposal"
            r"|recommendation|reply|response|suggestion|tip)s?\b"
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
            # *Ihre Liste* mostly is hers or theirs.
            r"|\bdeine?[mnrs]?\s+(?:\w+\s+)?(?:(?:check)?listen?|ideen?)\b"
        ),
        ("tu ", "vous", "t'", "t’", "ton ", "ta ", "tes ", "votre", "vos "): (
            r"\b(?:as-tu|avez-vous|aviez-vous|avais-tu|tu\s+(?:m['’])?a[sv]\w*"
            r"|vous\s+(?:m['’]|nous\s+)?av\w+)\s+(?:\w+\s+)?(?:conseillé|dit|donné|écrit|expliqué"
            r"|indiqué|mentionné|montré|proposé|recommandé|répondu|suggéré)e?s?\b"
            r"|\b(?:ton|ta|tes|votre|vos)\s+(?:conseil|explication|idée|liste|proposition|recommandation|réponse"
            r"|suggestion)s?\b"
        ),
        ("ste", "has ", "habías", "tu ", "tus ", "su ", "sus ", "usted"): (
            r"\b(?:aconsejaste|contestaste|dijiste|diste|escribiste|explicaste|mencionaste"
            r"|propusiste|recomendaste|respondiste|sugeriste)\b"
            r"|\b(?:has|habías)\s+(?:aconsejado|contestado|dicho|explicado|mencionado|propuesto"
            r"|recomendado|respondido|sugerido)\b"
            r"|\b(?:aconsejó|dijo|explicó|propuso|recomendó|respondió|sugirió)\s+usted\b"
            r"|\b(?:tus?|sus?)\s+(?:consejo|explicaci[oó]n|propuesta|recomendaci[oó]n|respuesta"
            r"|sugerencia)(?:e?s)?\b|\btus?\s+(?:idea|lista)s?\b"
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
_FITTING = ("best", "common", "easy", "effective", "good", "right", "simple", "typical", "useful")
_ADVICE: _Patterns = MappingProxyType(
    {
        (" you ", "should", "i'm ", "i’m "): (
            r"\b(?:can|could|would)\s+you\s+(?:please\s+)?(?:also\s+)?"
            r"(?:advise|explain|help|propose|recommend|show|suggest|walk)\b"
            r"|\bshould\s+(?:I|we)\b|\bdo\s+you\s+(?:advise|recommend|suggest|think)\b"
            r"|\bI['’]m\s+(?:about\s+to|looking\s+to|planning)\b"
        ),
        ("how can ", "how could ", "how do "): r"\bhow\s+(?:can|could|do)\s+(?:I|we)\b",
        _FITTING: (
            r"\bwhat(?:['’]s|\s+(?:are|is|would\s+be))\s+(?:(?:an?|some|the)\s+)?"
            rf"(?:{'|'.join(_FITTING)})\b"
        ),
        (" du", " sie ", "soll", "wie k", "wie mach"): (
            r"\b(?:(?:kannst|könntest|würdest)\s+du|(?:können|könnten|würden)\s+sie)\b[^.?!]{0,120}?"
            r"\b(?:empfehlen|erklären|helfen|raten|vorschlagen|zeigen)\b"
            r"|\bsoll(?:en|te|ten)?\s+(?:ich|wir)\b|\b(?:empfiehlst|rätst|schlägst)\s+du\b"
            r"|\bwie\s+(?:kann|könnte|mache)\s+ich\b|\bwie\s+(?:können|könnten|machen)\s+wir\b"
        ),
        ("-tu", "-vous", "-je", "-nous", "comment faire"): (
            r"\b(?:peux|pourrais)-tu\b|\b(?:pouvez|pourriez)-vous\b|\b(?:devrais|dois)-je\b"
            r"|\b(?:devrions|devons)-nous\b|\b(?:conseilles|proposes|recommandes|suggères)-tu\b"
            r"|\b(?:conseillez|proposez|recommandez|suggérez)-vous\b"
            r"|\bcomment\s+(?:faire\b|(?:puis|pourrais)-je\b|(?:pouvons|pourrions)-nous\b)"
        ),
        ("pued", "podría", "deb", "conseja", "propones", "recom", "sugier", "sugerir", "cómo h"): (
            r"\b(?:puedes?|podrías?)\s+(?:ayudar|explicar|mostrar|recomendar|sugerir)\w*"
            r"|\b(?:debería|deberíamos|debo|debemos)\b"
            r"|\b(?:aconsejas|propones|recomendarías|recomiendas|sugerirías|sugieres)\b"
            r"|\bcómo\s+(?:hago|hacemos|puedo|podemos|podría|podríamos)\b"
        ),
        ("て", "べき", "いい", "良い", "すすめ", "勧め", "どう"): (
            r"(?:教えて|勧めて|すすめて|提案して|手伝って|説明して|見せて)"
            r"(?:ください|下さい|くれます|もらえ|いただけ)"
            r"|べき(?:です|か|？|\?)|(?:すれば|したら)(?:いい|良い)|(?:おすすめ|お勧め)は"
            r"|どう(?:すれば|したら|やって|やれば)"
        ),
    }
)
_STATED_WITHIN = 500
"""Number of characters of a fact in which a preference is searched for."""
_PREFERENCES = frozenset({"preference", "convention"})
"""The types of facts that state a preference."""

_PREFERENCE_WORDS = (
    *("prefer", "rather", "always", "never", "bevorzug", "liebsten", "lieber", "immer", "niemals"),
    *("préf", "mieux", "toujours", "jamais", "prefi", "siempre", "nunca"),
    *("好", "いい", "良い", "いつも", "必ず", "常に"),
)
"""One of these occurs where `_PREFERENCE` matches. Searching for them takes a tenth of the time."""
_PREFERENCE = lazy_pattern(
    r"\b(?:i|we)(?:['’]d|\s+would)?(?:\s+(?:always|generally|really|strongly|usually))?"
    r"\s+(?:prefer|rather)\b|\bmy\s+preference\b"
    r"|\b(?:always|never)\s+\w+\s[^.?!]{0,120}?\bwhen\s+(?:i|we|you)\b"
    r"|\b(?:bevorzuge|bevorzugen)\b|\bam\s+liebsten\b|\b(?:ich|wir)\s+\w+\s+lieber\b"
    r"|\bje\s+préfère\w*|\bj['’]aime\s+mieux\b|\bnous\s+préférons\b"
    r"|\b(?:prefiero|preferimos|preferiría)\b"
    r"|(?:ほう|方)が(?:好き|いい|良い)|を(?:好みます|好む)|が好きです"
    # First words of instructions.
    r"|\A(?:\w+:\s)?(?:please\s+|bitte\s+)?(?:always|never|immer|niemals|toujours|jamais|siempre"
    r"|nunca)\b|\A(?:\w+:\s)?(?:いつも|必ず|常に)"
)


def asks_for_assistant(question: str) -> bool:
    """Whether a question asks for what an assistant said, in one of five languages.

    *What would you suggest?*, about what it would say now, is not such a question.
    """
    return _is_one_of(_OF_ASSISTANT, question)


def asks_for_advice(question: str) -> bool:
    """Whether a question asks for advice or help, in one of five languages."""
    return _is_one_of(_ADVICE, question)


def _is_one_of(patterns: _Patterns, question: str) -> bool:
    return any(next(find_all(each, question, *words), None) for words, each in patterns.items())


def states_preference(fact: Fact) -> bool:
    """Whether a fact states a preference of its user, by its type or its first words."""
    if fact.type in _PREFERENCES:
        return True
    begin = fact.content[:_STATED_WITHIN].lower()
    has_word = any(map(begin.__contains__, _PREFERENCE_WORDS))
    return has_word and not is_of_assistant(fact) and bool(_PREFERENCE.search(begin))


def titled_better(
    factors: Mapping[str, float], facts: Mapping[str, Fact], terms: QueryTerms
) -> list[str]:
    """The preferences that are worse titled than another fact, which has the whole question.

    *Hold a berth for twenty minutes* says how a berth is held; *Berth names* says less.

    Args:
        factors: candidate -> the factor on its score.
        facts: all candidates.
        terms: of the question.
    """
    preferred = [each for each, factor in factors.items() if factor == PREFERENCE_FACTOR]
    count = len(terms.stems)
    if not preferred or count < _MIN_TITLE_WORDS:
        return []
    # A message has no title, only its beginning.
    titled = {
        each
        for each, fact in facts.items()
        if not fact.session_id and len(terms.matched_words(fact.title)) == count
    }
    return [each for each in preferred if each not in titled] if titled - {*preferred} else []
