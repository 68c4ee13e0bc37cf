"""A detail that a question asks for, such as a price, and whether the facts on its topic have one.

*What colour is Clara's car?* has no answer in *Clara bought a car*. Only details that show in words
or units of their own count, in English, German, French, Spanish and Japanese; a date, a name or a
number of something else is in nearly every fact, so it is no sign (docs/decisions/0101).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import repeat

from msgspec import Struct

from vaultsync.indexing.language import ENGLISH, languages_of
from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.model.number_words import NUMBER_OF_WORD

_LANGUAGES = frozenset({ENGLISH, "german", "french", "spanish"})
"""Japanese has no function words; of a text in any other language, no word is known."""
MAX_DETAIL_TEXT = 2_000
"""Maximum number of characters of a text that is searched; most longer ones have some detail."""
_EMBED = "!["
"""Begins a picture or another file, which may show it."""


class AskedDetail(Struct, frozen=True):
    """A kind of detail."""

    named: tuple[str, ...]
    """One of these is in every question for it, in lower case."""
    asks: str
    """The pattern of questions for it, from their beginning."""
    words: frozenset[str]
    """The words of texts that may have it, in lower case."""
    beginnings: tuple[str, ...]
    """Beginnings of further such words."""
    written: str
    """The pattern of what else shows that a text may have it."""
    is_number: bool
    """Whether a number without a unit may be it, as in *She asked 240 for it*."""

    def is_asked(self, question: str) -> bool:
        """Whether a question asks for it and for nothing else."""
        return bool(
            any(map(question.lower().__contains__, self.named))
            and compiled(_BEFORE + self.asks, re.IGNORECASE).match(question)
            and not _ASKS_MORE.search(question)
        )

    def is_in(self, text: str) -> bool:
        """Whether a text may have it."""
        if len(text) > MAX_DETAIL_TEXT or _EMBED in text or compiled(self.written).search(text):
            return True
        if (languages := languages_of(text)) and _LANGUAGES.isdisjoint(languages):
            return True
        words = _WORDS.findall(text.lower())
        if not self.words.isdisjoint(words):
            return True
        if any(map(str.startswith, words, repeat(self.beginnings))):
            return True
        # Numbers are dates with a month on either side.
        numbers = (
            before not in _MONTHS and _is_number(word) and after not in _UNITS
            for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False)
        )
        return self.is_number and any(numbers)


def _is_number(word: str) -> bool:
    is_year = len(word) == _YEAR_DIGITS and word.startswith(("19", "20"))
    return (word[0].isdigit() and not is_year) or word in NUMBER_OF_WORD


def asked_detail(question: str) -> AskedDetail | None:
    """The detail that a question asks for; None for most questions."""
    return next((each for each in DETAILS if each.is_asked(question)), None)


def lacks_detail(question: str, texts: Iterable[str]) -> bool:
    """Whether a question asks for a detail that none of the texts has."""
    detail = asked_detail(question)
    return detail is not None and not any(map(detail.is_in, texts))


def _detail(
    named: str, asks: str, words: str, beginnings: str, written: str, *, is_number: bool = False
) -> AskedDetail:
    return AskedDetail(
        tuple(named.split(", ")),
        asks,
        frozenset(words.split()),
        tuple(beginnings.split()),
        written,
        is_number,
    )


_BEFORE = (
    r"[\W_]*(?:(?:at|by|for|from|in|of|to|with|aus|für|mit|seit|von|à|de|pendant|con)"
    r"\s+)?"
)
_ASKS_MORE = lazy_pattern(
    r"[.!?;:\n]\s+\w|[,、]|。\s*\w"
    r"|\b(?:and|or|und|oder|et|ou|y|o)\s+(?:how|wh(?:at|en|ere|ich|om?|ose|y)|wie|was|wann|wo|wer"
    r"|warum|welche\w*|combien|comment|où|pourquoi|qu\w+|cómo|cuá\w+|dónde|por)\b",
    re.IGNORECASE,
)
"""What asks for more, or tells something besides."""
_IS = r"(?:is|are|was|were|ist|sind|war|waren|est|sont|était|es|son|era)\s+"
_REDACTED = r"\[REDACTED:"
_WORDS = lazy_pattern(r"(?<![\w.,:/#-])\d++(?:[.,]\d++)*(?![:h]\d|-\d\d-|-\d{4})|[^\W\d_]+|/")
"""Words, numbers that are no times, dates or parts of names, and the sign in *30/month*."""
_YEAR_DIGITS = 4
_MONTH_WORDS = (
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec januar februar märz mai juni juli oktober"
    " dezember janvier février mars avril juin juillet août septembre octobre novembre décembre"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)
_LENGTHS = (
    "cm mm km ft px inch inches feet foot mile miles yard yards fathoms metre metres meter meters"
    " kilometre kilometres kilometer kilometers centimetre centimetres centimeter centimeters"
    " pixel pixels zentimeter fuß zoll metro metros mètre mètres"
)
_TIMES = (
    "ms sec secs second seconds min mins minute minutes hr hrs hour hours day days night nights"
    " week weeks weekend weekends fortnight month months quarter quarters year years decade decades"
    " sekunde sekunden minuten stunde stunden tag tage tagen nacht nächte woche wochen monat monate"
    " monaten jahr jahre jahren seconde secondes heure heures jour jours nuit nuits semaine"
    " semaines mois ans année années segundo segundos minuto minutos hora horas día días noche"
    " noches semana semanas meses año años"
)
_WEIGHTS = (
    "g kg kgs oz lb lbs gram grams gramme gramm gramos kilo kilos kilogram kilograms ton tons tonne"
    " tonnes tonnen toneladas ounce ounces pfund"
)
_SIZES = (
    "b kb mb gb tb kib mib gib tib bit bits byte bytes kilobytes megabytes gigabytes terabytes gig"
    " gigs"
)
_MONTHS = frozenset(_MONTH_WORDS.split())
_UNITS = _MONTHS.union(*map(str.split, (_TIMES, _LENGTHS, _WEIGHTS, _SIZES)))
"""What is no detail behind a number, unless it is among the words for that detail."""
_LENGTH = r"\d(?:in|\s?(?:[ckmn]?m|ft|px|[\"']))(?!\w)|メートル|センチ"

DETAILS = (
    _detail(
        "colo, farbe, couleur, 色",
        rf"(?:(?:what|which)\s+(?:{_IS}the\s+)?colou?rs?\b|welche[mnrs]?\s+farben?\b"
        rf"|quel(?:le)?s?\s+(?:{_IS}l[ae]s?\s+)?couleurs?\b|qué\s+color(?:es)?\b|.*何色|.*色は[何な])",
        "red blue green yellow black white gray grey brown orange pink purple violet gold beige"
        " turquoise teal navy cream ivory maroon crimson scarlet magenta cyan lilac lavender bronze"
        " copper dark light bright sage mustard burgundy bordeaux olive ochre amber ruby emerald"
        " charcoal khaki salmon coral peach plum mauve indigo aqua mint cherry wine chestnut blond"
        " blonde brunette ginger rust sand slate anthracite cobalt aubergine fuchsia pastel neon"
        " tan jade hazel tabby eggshell striped spotted camel honey apricot lemon lime rose roses"
        " shade tone ral pantone hsl rgb rosa lila noir noire noirs noires rouge rouges vert verte"
        " verts vertes jaune jaunes gris grise brun brune marron azul azules verde verdes marrón"
        " naranja celeste granate",
        "colo farb couleur transparen dunkel bunt blanc roj amarill negr morad dorad silver silber"
        " argent paint dyed tint lackier gestrich peint pintad pattern",
        r"#[0-9a-fA-F]{3,8}\b|[赤青緑黄黒白灰茶紫桃橙金銀紺色]"
        r"|(?i:rot|blau|grün|gelb|schwarz|wei(?:ß|ss)|grau|braun|türkis|golden)(?i:e[mnrs]?)?\b",
    ),
    _detail(
        "cost, charge, earn, money, pay, paid, price, rent, salar, spen, worth, fee, fare, premium,"
        " kost, verdien, zahl, teuer, preis, miete, gebühr, gehalt, lohn, steuer, taxe, coût, cout,"
        " vaut, prix, loyer, gagn, salaire, cuest, vale, pag, gan, precio, sueldo, alquiler,"
        " いくら, 値段",
        r"(?:how\s+much\s+(?:are|can|d(?:id|o|oes)|had|ha[sv]e?|is|must|should|was|were|will"
        r"|would)\b.*\b(?:charged?|costs?|earn(?:ed)?|fares?|fees?|paid|pay|premiums?|prices?|rents?"
        r"|salary|spen[dt]|worth)\b|how\s+much\s+(?:money|rent|salary)\b"
        r"|what\s+(?:d(?:id|o|oes)|will|would)\b.*\b(?:charge|cost|earn)\b"
        rf"|what\s+{_IS}.*\bworth\b"
        rf"|(?:what|which)\s+(?:{_IS}(?:the|an?|our|my|his|her|their|its)\s+(?:\w+\s+)?)?"
        r"(?:costs?|fares?|fees?|premiums?|prices?|rents?|salar(?:y|ies))\b"
        r"|was\s+(?:kost|(?:be)?zahl|verdien)\w+|wie\s*viel\s+(?:geld|kost|(?:be)?zahl|verdien)\w*"
        rf"|wie\s+teuer\b|wie\s+hoch\s+{_IS}(?:\w+\s+){{1,2}}?\w*(?:preise?|miete|gebühr(?:en)?"
        r"|kosten|gehalt|lohn|steuer|taxe)\b"
        r"|combien\b.*\b(?:co[uû]t|gagn|pay|pai|vaut|valent)"
        rf"|quel(?:le)?s?\s+{_IS}(?:\w+\s+)?(?:prix|loyer|salaire|co[uû]ts?)\b"
        rf"|cu[áa]nto\b.*\b(?:cost|cuesta|gan|pag|vale)|cuál\s+{_IS}(?:\w+\s+)?(?:precio|sueldo"
        r"|alquiler)\b|.*いくら|.*値段)",
        "kr nok sek dkk chf eur usd gbp jpy cent cents pound pounds franc francs peso pesos yen k"
        " bucks grand free gratis gratuit gratuite nothing nichts rien nada umsonst kostenlos cheap"
        " cheaper expensive worthless cher chère half hundred thousand million tausend hundert"
        " mille cien mil",
        "dollar euro kron crown rupee percent prozent afford billig teuer barat",
        r"[$€£¥₹%円万]|無料|\d\s?(?:kr|k)(?!\w)",
        is_number=True,
    ),
    _detail(
        "how long, wie lang, de temps, nto tiempo, どのくらいの時間, 何時間, 何分間",
        r"(?:how\s+long\b(?!\s+(?:ago|had|ha[sv]e?)\b)"
        r"|wie\s+lange?\b(?!\s+(?:hat|habe|haben|ist)\b)|combien\s+de\s+temps\b"
        r"|cu[áa]nto\s+tiempo\b(?!\s+hace)|.*どのくらいの時間|.*何(?:時間|分間))",
        "until till through forever always overnight long longer short bis immer ewig toujours"
        f" siempre hasta noon midnight {_TIMES} {_LENGTHS}",
        "millisecond permanent indefinite lifelong brief quick dauer lang kurz jusqu durée",
        rf"\d\s?[hds]\b|\dh\d|\d[:.]\d\d\b|\b(?:19|20)\d\d\b(?!-\d\d-)|[分秒年間週月日]|まで|{_LENGTH}",
        is_number=True,
    ),
    _detail(
        "how old, what age, wie alt, quel âge, qué edad, 何歳, 何才",
        r"(?:how\s+old\b|what\s+age\b|wie\s+alt\b|quel\s+âge\b|qué\s+edad\b|.*何[歳才])",
        "year years month months week weeks old older oldest age aged ages built founded since"
        " hundred jahr jahre jahren monat monate alt alte alter altes seit gebaut ans mois né née"
        " âgé âgée depuis jeune meses desde nació",
        "young born birth turn century jung jünger gebor geburt jahrhundert anniversaire naissance"
        " nacid edad año cumple",
        r"\d(?:st|nd|rd|th)\b|\b(?:19|20)\d\d\b(?!-\d\d-)|[歳才生年]",
        is_number=True,
    ),
    _detail(
        "how heavy, weigh, wie schwer, wiegt, pèse, pesa, 何キロ",
        r"(?:how\s+heavy\b|how\s+much\b.*\bweigh"
        rf"|what\s+(?:{_IS}the\s+weight\b|do(?:es)?\b.*\bweigh)"
        rf"|wie\s+schwer\s+{_IS}|wie\s*viel\s+wiegt\b|was\s+wiegt\b|combien\s+pèse"
        r"|cu[áa]nto\s+pesa|.*何キロ)",
        f"wiegt pèse poids lourd lourde peso pesa pound pounds {_WEIGHTS}",
        "heav light weigh schwer leicht gewicht",
        r"\d\s?(?:k?gs?|lbs?|oz|t)(?!\w)|[重軽]|キロ|グラム",
        is_number=True,
    ),
    _detail(
        "how deep, how high, how tall, how wide, wie tief, wie breit",
        rf"(?:how\s+(?:deep|high|tall|wide)\s+{_IS}|wie\s+(?:tief|breit)\s+{_IS})",
        f"percent low lower {_LENGTHS}",
        "deep depth shallow high height tall wide width narrow tief flach breit schmal",
        rf"%|[深高幅]|{_LENGTH}",
        is_number=True,
    ),
    _detail(
        "how much memory, how much disk, how much storage",
        r"how\s+much\s+(?:disk|memory|storage)\b",
        f"unlimited percent full empty half {_SIZES}",
        "",
        r"%|\d\s?[kKmMgGtT](?:i?[bB])?(?!\w)",
        is_number=True,
    ),
    _detail(
        "number, nummer, numéro, número, 電話番号",
        r"(?:(?:what|which)\b.*\b(?:phone|telephone|mobile|fax)\s+number\b"
        r"|.*\b(?:telefon|handy)nummer\b|.*\bnuméro\s+de\s+téléphone\b"
        r"|.*\bnúmero\s+de\s+teléfono\b|.*電話番号)",
        "",
        "",
        rf"(?<![\d-])(?!\d{{4}}-\d\d-\d\d\b)\+?\d[\d /().-]{{4,}}\d|{_REDACTED}",
    ),
    _detail(
        "mail, correo, メールアドレス",
        r"(?:(?:what|which)\b.*\be-?mail\s+address\b|.*\be?-?mail-?adresse\b"
        r"|.*\badresse\s+e-?mail\b|.*\bcorreo\s+electrónico\s+de\b|.*メールアドレス)",
        "",
        "",
        rf"@|[(\[]at[)\]]|{_REDACTED}",
    ),
    _detail(
        "password, passphrase, passcode, passwort, kennwort, mot de passe, contraseña, パスワード",
        r"(?:what\b.*\b(?:password|passphrase|passcode)\b"
        r"|wie\s+(?:lautet|ist)\b.*(?:passwort|kennwort)\b"
        rf"|quel\s+{_IS}.*\bmot\s+de\s+passe\b|cuál\s+{_IS}.*\bcontraseña\b|.*パスワードは[何な])",
        "pin pw key code secret login token clave schlüssel passe",
        "passw passphrase passcode kennw credential contraseña",
        rf"パスワード|暗証|{_REDACTED}",
    ),
)
