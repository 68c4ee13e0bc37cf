"""Find out whether two facts contradict each other: another amount, date or state, or a denial.

By rules. Texts are compared sentence by sentence, as sets of stems, in English, German, French
and Spanish.
A rule applies only if both sentences have the same subject: all content words of one, without
the value, are in the other. Missing a contradiction costs less than reporting one between
compatible facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import compress

from msgspec import Struct

from vaultsync.indexing.language import FUNCTION_WORDS
from vaultsync.indexing.session_context import MONTHS, own_title, speaker_names
from vaultsync.indexing.text_normalization import normalize_text_form
from vaultsync.model.fact import Fact
from vaultsync.model.lazy_pattern import compiled
from vaultsync.model.number_words import NUMBER_OF_WORD, with_digits

EXAMINED_CHARS = 2_000
"""Number of characters examined at the beginning of a fact."""
MIN_SUBJECT_OVERLAP = 0.5
"""Minimum share of the two sentences' words that occur in both."""
MIN_DENIED_OVERLAP = 0.6
"""The same if one of them is negated."""
MIN_INSTANCE_SHARE = 0.6
"""Minimum share of the words after *never* that a contradicting sentence must contain."""
ENOUGH_SHARED = 4
"""Number of shared words after *never* that is enough, whatever its length."""
QUOTED_CHARS = 80
"""Maximum number of characters of a sentence quoted in a reason."""
STEM_LENGTH = 5
"""Number of letters compared, after removing the ending: the best length for European languages
(McNamee & Mayfield, *Character N-Gram Tokenization for European Language Text Retrieval*,
2004)."""


class Claim(Struct, frozen=True):
    """The statement of one sentence of a fact."""

    text: str
    words: frozenset[str]
    """The stems of its content words, without values."""
    amounts: Mapping[str, str]
    """Unit -> amount, for quantities that have only one amount at a time."""
    dates: frozenset[str] = frozenset()
    """Days and times in it: `-04-10`, `2026-04-10`, `tuesday`, `9:30`."""
    states: frozenset[tuple[int, int]] = frozenset()
    """Pairs of opposites, and which of the two it contains."""
    is_scheduled: bool = False
    """Whether it gives the date of something planned rather than past."""
    denied: bool = False
    never: tuple[frozenset[str], ...] = ()
    """What it says has never happened: the words, and those of each alternative."""
    speaker: str = ""
    """Who *I* is; `?` if that is unknown, empty if it has no *I*."""

    @property
    def asserted(self) -> frozenset[str]:
        """The words of what it asserts; empty for a question, a wish or a plan.

        Computed on demand: they are needed only to compare with *never*.
        """
        return frozenset().union(*map(stems_of, _asserted_clauses(self.text)))


class Statement(Struct, frozen=True):
    """The claims of a fact, for comparison with other facts."""

    fact: Fact
    title: frozenset[str]
    """The stems of the title, if the content does not begin with it."""
    entities: frozenset[str]
    claims: tuple[Claim, ...]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LANGUAGES = ("english", "german", "french", "spanish")
_LIGHT = _words(
    """
    now currently already today since still just only really actually always usually exactly
    again ever yet up out off keep new current trying related via due kinda quite both
    many much please thanks want need get got make made
    going set like after before during raised increased reduced changed changes grown risen
    fallen lowered extended updated total nach vor seit jetzt inzwischen derzeit aktuell schon
    bereits heute immer genau wieder neu insgesamt erhöht après avant depuis maintenant
    actuellement déjà aujourd'hui toujours exactement nouveau désormais después antes desde
    ahora actualmente hoy siempre exactamente nuevo has have had been being es sind ist est
    sont son está están hay has
    """
)
"""Words that may be added without changing the meaning."""
_NOT = _words("not cannot nicht pas n't")
_NO = _words("no kein keine keinen keinem keiner aucun aucune")
_NEVER = _words("never nie niemals jamais nunca jamás")
_CONTRACTED = r"n['’]t\b"
_NO_LONGER = "no longer"
_STATIVE = _words(
    """
    is are be has holds costs takes needs weighs measures contains includes allows lasts
    counts seats limit maximum minimum budget price size capacity version port total will must
    ist sind hat haben kostet dauert braucht fasst beträgt wiegt zählt est sont a ont coûte
    dure compte pèse mesure contient es son está tiene tienen cuesta dura cuenta hay pesa mide
    """
)
_SAYS = _STATIVE - _words(
    "a be will must limit maximum minimum budget price size capacity version port total"
)
"""Those that make a title a statement: *The pier has 40 berths*, but not *Budget 2026*."""
_SCHEDULED = _words(
    """
    is are will starts begins ends opens closes due deadline scheduled planned launches
    expires moved ist sind wird beginnt startet endet öffnet schließt fällig frist geplant
    verschoben findet est sont sera commence finit ouvre ferme échéance prévu prévue reporté
    es son será empieza comienza termina abre cierra vence previsto prevista
    """
)
_BOUNDS = _words(
    """
    least most more than over under about around almost nearly roughly approximately up
    between every each mindestens höchstens über unter etwa rund fast ca circa je moins plus
    environ presque chaque menos más unos unas aproximadamente casi cada ago vor
    hundred thousand cent cents mille ciento doscientos doscientas trescientos trescientas mil
    """
)
_LINKING = _words("is are at be of to von auf bei ist sind est sont à es son en = :")
_NAMED_BY_VALUE = frozenset({"port", "versi", "budge", "price", "preis", "prix", "preci"})
"""Stems of words after which a number is a value; after others it is part of a name."""
_OPPOSED = """
open closed; finished unfinished; complete incomplete; done undone; enabled disabled;
active inactive; approved rejected; accepted declined; allowed forbidden;
available unavailable; paid unpaid; supported unsupported; required optional;
passed failed; online offline; offen geschlossen; fertig unfertig; aktiv inaktiv;
erlaubt verboten; bezahlt unbezahlt; ouvert fermé; ouverte fermée; actif inactif;
autorisé interdit; abierto cerrado; abierta cerrada; activo inactivo; permitido prohibido
"""
_OPPOSITES = [pair.split() for pair in _OPPOSED.split(";")]
_STATES = {word: (at, side) for at, pair in enumerate(_OPPOSITES) for side, word in enumerate(pair)}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = {
    name: day
    for names in (
        _DAYS,
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
    )
    for name, day in zip(names.split(), _DAYS.split(), strict=True)
}
"""Name of a weekday -> its English name."""
_MONTHS = {
    name: number
    for names in (
        " ".join(MONTHS),
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
    for number, name in enumerate(names.split(), 1)
}
_VALUE_WORDS = frozenset({*NUMBER_OF_WORD, *_NOT, *_NO, *_NEVER})
_VALUE_BEGINNINGS = (*_STATES, *_WEEKDAYS)
_PRONOUNS = _words("it its they this that es sie dies das il elle ils cela esto eso")
_FIRST_PERSON = _words("i i'm i've i'd my me ich mein meine mir mich je j'ai mon ma mes yo mi mis")
_OF_SPEAKER = _FIRST_PERSON - _words("me mich mir")
"""Those that a clause about the speaker begins with, perhaps after one word: *so I sailed*."""
_UNREAL = _words(
    """
    should would could can may might wish hope plan planning considering thinking wondering
    want if whether how what why which sollte könnte würde ob wenn möchte soll pourrait
    voudrais si comment debería podría quisiera quiero cómo
    """
)
"""First words of clauses that are a question, a wish or a plan."""
# The pattern begins with the blank, so that few positions are examined further.
_SENTENCE_END = r"\s(?<=[.!?;]\s)(?<!\b\d\.\s)(?<!\b\d\d\.\s)\s*|\n+"
_ITEMS = ("\n2. ", "\n2) ", "\n9. ", "\n9) ")
"""A text with one of these has a list of numbered items."""
_ITEM = r"(?m)^[ \t>]*\d{1,3}[.)][ \t]+"
"""The number of an item of a list, which is no amount."""
_CLAUSE_END = (
    r",\s+(?:(?:considering|given|since)\s+(?:that\s+)?)?|\s[-–—]\s"
    r"|\s(?:but|though|although|aber|doch|mais|pero|aunque)\s|[()]"
)
_PAST = (
    r"['’]ve\s|\b(?:have|just|\w{2,}ed|habe|hatte|ge\w{2,}[tn]|ai|avons|he|hemos|\w{2,}[aií]do)\b"
)
_EXAMPLE = r",\s+(?:like|such\s+as|including|wie|comme|como)\s"
_OR = r",|\s(?:or|oder|ou|o|nor)\s"
_WORD = (
    r"[€$£]?\d+(?:[.,:]\d+)*(?:\s?[-–]\s?\d+(?:[.,]\d+)*)?[%€$£]?"
    r"|[^\W\d_]+(?:['’][^\W\d_]+)*|[€$£%=:]"
)
_NAMED_DAY = (
    r"\b(\d{1,2})(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?([^\W\d_]{3,10})\b"
    r"(?:,?\s+(?:de\s+)?(\d{4}))?"
)
_MONTH_DAY = r"\b([^\W\d_]{3,10})\s+(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(\d{4}))?"
_ISO = r"\b(\d{4})-(\d{2})-(\d{2})\b"
_TIME = r"\b(\d{1,2}:\d{2})(?::\d{2})?\b"
_ENDINGS = ("ingly", "edly", "ing", "ed", "es", "ly", "en", "s", "e")
_MIN_STEM = 3


def statement_of(
    fact: Fact,
    about: Collection[str] = (),
    *,
    minimum: int = 0,
    maximum: int = EXAMINED_CHARS,
    with_value: bool = False,
) -> Statement:
    """Parse the claims of a fact from the beginning of its text, without fenced code.

    Args:
        fact: the fact.
        about: stems; sentences with fewer than `minimum` of them are skipped, which costs much
            less than parsing them.
        minimum: minimum number of these stems in a sentence.
        maximum: maximum number of sentences; a longer text has no claims, and is not parsed.
        with_value: whether to skip sentences that only a denial can contradict: those
            without a number, a day, a state or a denial.
    """
    text, stated = fact.content[:EXAMINED_CHARS], stated_title(fact)
    if sum(map(f"{stated} {text}".casefold().__contains__, about)) < minimum:
        return Statement(fact, frozenset(), frozenset(), ())
    if "```" in text or "~~~" in text:
        # Questions load this module, and do not need the Markdown parser.
        from vaultsync.markdown.blocks import without_code  # noqa: PLC0415 - see above

        text = without_code(text)
    speaker = "?"
    if fact.session_id:
        speaker = next(iter(speaker_names(fact.evolve(entities=(), agent_id=None))), "?")
        if speaker != "?":
            text = text.partition(":")[2]
    sentences = _sentences(text, is_cut=len(fact.content) > EXAMINED_CHARS)
    if not any(sentences) or stated:
        sentences = [fact.title, *sentences]
    if minimum:
        sentences = [x for x in sentences if sum(map(x.casefold().__contains__, about)) >= minimum]
    if with_value:
        sentences = [x for x in sentences if _has_value(x.casefold())]
    if (minimum and not any(sentences)) or sum(map(bool, sentences)) > maximum:
        return Statement(fact, frozenset(), frozenset(), ())
    own = own_title(fact)
    titled, title = bool(own), stems_of(own)
    entities = stems_of(" ".join(fact.entities))
    # A title is not its own subject: *Port 80 is open* says nothing about port 443.
    claims = tuple(
        _claim(each, entities, speaker, titled=False)
        if each == stated
        else _claim(each, title | entities, speaker, titled=titled)
        for each in sentences
        if each
    )
    return Statement(fact, title, _entities(fact), claims)


def _sentences(text: str, *, is_cut: bool) -> list[str]:
    """The sentences of a text, without the last if it is cut: *note* may be *not*, 8080 only 8."""
    if any(map(text.__contains__, _ITEMS)):
        text = re.sub(_ITEM, "", text)
    sentences = [each.strip(" >*-#\t") for each in re.split(_SENTENCE_END, text)]
    return sentences[:-1] if is_cut else sentences


def stated_title(fact: Fact) -> str:
    """The title if it states a value, and the content does not begin with it; else empty."""
    return own_title(fact) if _states_value(fact.title) else ""


@lru_cache(maxsize=1000)
def _states_value(title: str) -> bool:
    """Whether a title does; an answer asks this several times of each fact."""
    folded = title.casefold()
    words = re.findall(r"\w+", folded)
    return not _SAYS.isdisjoint(words) and words[0] not in _UNREAL and _has_value(folded)


def contradiction(one: Statement, other: Statement) -> str:
    """Why two facts contradict each other, as a phrase about the first; empty if they do not."""
    first, second = one.fact, other.fact
    if not may_concern(second, one):
        return ""
    if one.title and one.title == other.title and first.type == second.type:
        for key in sorted(first.own.keys() & second.own.keys()):
            value, another = first.own[key], second.own[key]
            if key.endswith(("DueDate", "Status", "Outcome")) and value != another:
                return f"{value} against {another}"
    for claim in one.claims:
        for other_claim in other.claims:
            if _disagree(claim, other_claim):
                return f"“{_quoted(claim)}” against “{_quoted(other_claim)}”"
    return ""


def _entities(fact: Fact) -> frozenset[str]:
    return frozenset(map(str.casefold, fact.entities))


def _versions(fact: Fact) -> tuple[str | None, ...]:
    return fact.id, fact.supersedes_id, fact.superseded_by_id


def _has_value(sentence: str) -> bool:
    """Whether a sentence has a number, a day, a state or a denial.

    Building a set of words takes less time than compiling a pattern of these words, which took
    4 ms of a cold answer.
    """
    words = set(re.findall(r"\w+", sentence))
    return (
        not words.isdisjoint(_VALUE_WORDS)
        or any(map(str.isdecimal, sentence))
        or _NO_LONGER in sentence
        or any(word.startswith(_VALUE_BEGINNINGS) for word in words)
        or _is_contracted(sentence)
    )


class Glance:
    """A quick check of a fact's text, before its sentences are parsed.

    What is looked for in the text rules out most facts; only others are split into words.
    """

    def __init__(self, fact: Fact) -> None:
        self._text = f"{stated_title(fact)}\n{fact.content[:EXAMINED_CHARS]}".casefold()

    @property
    def denies(self) -> bool:
        """Whether it contains a negation."""
        return self._denies or self._has_never

    @cached_property
    def _words(self) -> set[str]:
        # Building a set of words takes a tenth of the time of patterns for these words.
        return set(compiled(r"\w+").findall(self._text))

    @cached_property
    def _denies(self) -> bool:
        return (
            not self._words.isdisjoint(_NOT | _NO)
            or _NO_LONGER in self._text
            or _is_contracted(self._text)
        )

    @cached_property
    def _has_never(self) -> bool:
        has = any(map(self._text.__contains__, _NEVER))
        return has and not self._words.isdisjoint(_NEVER)

    @cached_property
    def _has_number(self) -> bool:
        return not self._words.isdisjoint(NUMBER_OF_WORD) or bool(re.search(r"\d", self._text))

    def may_contradict(self, claim: Claim) -> bool:
        """Whether the text has the words required to contradict a claim."""
        if claim.never:
            return any(_is_instance(self._shared(each), len(each)) for each in claim.never)
        if self._has_never and self._shared(claim.asserted) > 1:
            return True
        if not 0 < self._shared(claim.words) >= MIN_SUBJECT_OVERLAP * len(claim.words):
            return False
        has = self._text.__contains__
        return bool(
            self._denies
            or claim.denied
            or (self._has_number and (claim.dates or any(map(has, claim.amounts))))
            or (claim.dates and any(map(has, _WEEKDAYS)))
            or any(has(_OPPOSITES[at][1 - side]) for at, side in claim.states)
        )

    def _shared(self, stems: Iterable[str]) -> int:
        return sum(map(self._text.__contains__, stems))


def _is_contracted(text: str) -> bool:
    """Whether a folded text has a contracted *not*; the first test rules out most texts."""
    return ("'t" in text or "’t" in text) and bool(re.search(_CONTRACTED, text))


def _is_instance(shared: int, denied: int) -> bool:
    """Whether enough words after *never* are shared."""
    return shared > 1 and shared >= min(ENOUGH_SHARED, MIN_INSTANCE_SHARE * denied)


def may_concern(fact: Fact, other: Statement) -> bool:
    """Whether a fact, no version of the other one, may be about the same subject.

    It is asked before the sentences of the fact are parsed, which takes much longer.
    """
    if fact.id in _versions(other.fact) or other.fact.id in _versions(fact):
        return False
    users = {fact.user_id, other.fact.user_id} - {None}
    if len(users) > 1:
        return False
    scopes = {fact.scope, other.fact.scope}
    if len(scopes) > 1 and all(each.startswith("project-") for each in scopes):
        return False
    if fact.entities and other.entities and other.entities.isdisjoint(_entities(fact)):
        return False
    title = stems_of(own_title(fact)) if other.title else frozenset()
    return not title or not title.isdisjoint(other.title)


def _disagree(one: Claim, other: Claim) -> bool:
    """Whether two claims contradict each other."""
    if one.speaker and other.speaker and one.speaker != other.speaker:
        return False
    if one.never or other.never:
        denial, instance = (one, other) if one.never else (other, one)
        return not instance.never and instance_share(denial, instance) > 0
    is_denial = one.denied != other.denied
    min_overlap = MIN_DENIED_OVERLAP if is_denial else MIN_SUBJECT_OVERLAP
    if not _same_subject(one.words, other.words, min_overlap):
        return False
    units = one.amounts.keys() & other.amounts.keys()
    differing = [unit for unit in units if one.amounts[unit] != other.amounts[unit]]
    has_other_date = _has_other_date(one, other)
    opposed = any((at, 1 - side) in other.states for at, side in one.states)
    values = len(differing) + has_other_date + opposed
    if is_denial:
        shared = [one.words & other.words, one.states & other.states, one.dates & other.dates]
        return not values and one.dates == other.dates and sum(map(len, shared)) > 1
    if values != 1:
        return False  # if two values differ, one is part of the subject
    if has_other_date:
        return one.is_scheduled and other.is_scheduled
    return one.dates == other.dates or not (one.dates and other.dates)


def _same_subject(one: frozenset[str], other: frozenset[str], min_overlap: float) -> bool:
    shared = one & other
    if not shared or (one - other and other - one):
        return False
    return len(shared) >= min_overlap * len(one | other)


def _has_other_date(one: Claim, other: Claim) -> bool:
    """Whether each has one date, and these are different days or times of day."""
    if len(one.dates) != 1 or len(other.dates) != 1:
        return False
    (date,), (other_date,) = one.dates, other.dates
    if date == other_date or (":" in date, "-" in date) != (":" in other_date, "-" in other_date):
        return False
    is_same_day = "-" in date and date[-5:] == other_date[-5:]
    return not (is_same_day and "" in (date[:-6], other_date[:-6]))  # one of them has no year


def instance_share(denial: Claim, instance: Claim) -> float:
    """The share of a *never* claim, 0 to 1, that an instance asserts; 0 if it is too small."""
    best = 0.0
    if denial.speaker and not instance.speaker:
        return best  # others may have done what one person never did
    asserted = instance.asserted
    for words in denial.never:
        shared = len(words & asserted)
        if _is_instance(shared, len(words)):
            best = max(best, shared / len(words))
    return best


def done_share(denial: Claim, instance: Claim) -> float:
    """How clearly a claim reports that what is denied was done, by past tense and figures.

    Of a speaker, only clauses about them count.

    Returns: 0, 0.5 or 1.
    """
    clauses = [
        clause
        for clause in _asserted_clauses(instance.text)
        if not (instance.speaker and _FIRST_PERSON.isdisjoint(_tokens(clause)))
        and not stems_of(clause).isdisjoint(frozenset().union(*denial.never))
    ]
    is_past = any(re.search(_PAST, each, re.IGNORECASE) for each in clauses)
    return (is_past + any(map(str.isdigit, "".join(clauses)))) / 2


def _quoted(claim: Claim) -> str:
    text = " ".join(claim.text.split())
    if len(text) <= QUOTED_CHARS:
        return text.rstrip(".")
    return text[:QUOTED_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + " …"


# ------------------------------------------------------------------------- a sentence


def _claim(text: str, subject_stems: frozenset[str], speaker: str, *, titled: bool) -> Claim:
    """Parse the claim of a sentence.

    Args:
        text: the sentence.
        subject_stems: the stems of the fact's subject.
        speaker: who *I* is.
        titled: whether the fact has a title; then the sentence may lack a verb.
    """
    dates, rest = _dates(text)
    tokens = _tokens(rest)
    lowered = frozenset(tokens)
    words, amounts = _words_and_amounts(tokens)
    is_stative = bool(lowered & _STATIVE) or "=" in lowered or ":" in lowered
    states = frozenset(_STATES[each] for each in lowered if each in _STATES)
    words -= {stem(each) for each in lowered if each in _STATES}
    never = () if lowered.isdisjoint(_NEVER) else tuple(_never_claims(text))
    is_mine = bool(lowered & _FIRST_PERSON)
    is_question = text.rstrip().endswith("?") and not is_mine
    if not words or tokens[0] in _PRONOUNS or (titled and not is_stative):
        words |= subject_stems
    return Claim(
        text=text,
        words=words,
        amounts=amounts if is_stative or (titled and not is_mine) else {},
        dates=dates,
        states=frozenset() if is_question else states,
        is_scheduled=bool(lowered & _SCHEDULED) or ":" in lowered,
        denied=not is_question and any(_denies(each, is_stative) for each in lowered),
        never=never,
        speaker=speaker if is_mine else "",
    )


def _denies(word: str, has_verb: bool = True) -> bool:  # noqa: FBT001, FBT002 - the only option
    """Whether a word negates a sentence; words like *no* do so only next to a verb."""
    if word in _NO:
        return has_verb
    return word in _NOT or word.endswith("n't")


def _tokens(text: str) -> list[str]:
    text = with_digits(normalize_text_form(text).replace("’", "'").casefold())
    return compiled(_WORD).findall(text.replace("no longer", "not"))


_STOP = _LIGHT.union(
    *(FUNCTION_WORDS[each] for each in _LANGUAGES), _NOT, _NO, _NEVER, _FIRST_PERSON
)


def stems_of(text: str) -> frozenset[str]:
    """The stems of the content words of a text."""
    return frozenset(_stems(text))


def _stems(text: str) -> Iterator[str]:
    return (stem(each) for each in _tokens(text) if _is_content(each))


@lru_cache(maxsize=10_000)
def _is_content(word: str) -> bool:
    return word not in _STOP and len(word) > 1 and word[0].isalpha() and not word.endswith("n't")


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    """The stem of a word: its beginning, without the ending."""
    if word.endswith(_ENDINGS):  # most do not
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
                word = word[: -len(ending)]
                break
    return word[:STEM_LENGTH]


def _dates(text: str) -> tuple[frozenset[str], str]:
    """The days and times in a text, and the text without them."""
    dates = set()

    def iso(match: re.Match[str]) -> str:
        dates.add(match[0])
        return " "

    def time(match: re.Match[str]) -> str:
        dates.add(match[1].lstrip("0"))
        return " "

    def named(day: int, month: int, match: re.Match[str]) -> str:
        number = _MONTHS.get(match[month].casefold())
        if number is None:
            return match[0]
        dates.add(f"{match[3] or ''}-{number:02}-{int(match[day]):02}")
        return " "

    if re.search(r"\d", text):
        text = re.sub(_ISO, iso, text) if "-" in text else text
        text = re.sub(_TIME, time, text) if ":" in text else text
        if any(map(text.casefold().__contains__, _MONTHS)):
            text = re.sub(_NAMED_DAY, lambda match: named(1, 2, match), text)
            text = re.sub(_MONTH_DAY, lambda match: named(2, 1, match), text)
    is_named = any(map(text.casefold().__contains__, _WEEKDAYS))  # rare
    for word in re.findall(r"[^\W\d_]+", text) if is_named else ():
        name = word.casefold()
        day = _WEEKDAYS.get(name) or _WEEKDAYS.get(name.removesuffix("s"))
        if day:
            dates.add(day)
            text = text.replace(word, " ")
    return frozenset(dates), text


def _words_and_amounts(tokens: Sequence[str]) -> tuple[frozenset[str], Mapping[str, str]]:
    """The stems of the content words, and stem of the counted noun -> amount."""
    words, amounts, used, ambiguous = [], dict[str, str](), set[int](), set[str]()
    contents, is_past = [*map(_is_content, tokens)], "ago" in tokens
    for at, token in enumerate(tokens):
        value = _number(token)
        if value is None or at in used:
            continue
        if at - 1 in used and _number(tokens[at - 1]):
            continue  # part of a number of three words: *quatre-vingt-dix*
        before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
        unit = next((each for each in "€$£%" if each in token), "")
        if after in ("€", "$", "£", "%"):
            unit = after
        nouns = [*compress(tokens[:at], contents)]
        if not unit and any(contents[at + 1 : at + 2]):
            unit = stem(after)
            used.add(at + 1)
        elif not unit and nouns and (before in _LINKING or stem(before) in _NAMED_BY_VALUE):
            unit = stem(nouns[-1])
        elif not unit:
            words.append(f"{before}{value}")  # part of a name
            continue
        if is_past or _BOUNDS.intersection(tokens[max(0, at - 2) : at]):
            continue
        ambiguous |= {unit} & amounts.keys()
        amounts[unit] = value
    words += [stem(x) for at, x in enumerate(tokens) if contents[at] and at not in used]
    content = frozenset(x for x in words if x not in amounts and x not in NUMBER_OF_WORD)
    return content, {unit: value for unit, value in amounts.items() if unit not in ambiguous}


@lru_cache(maxsize=10_000)
def _number(token: str) -> str | None:
    """A number in canonical form; None if it is not a number."""
    if token in NUMBER_OF_WORD:
        return str(NUMBER_OF_WORD[token])
    digits = token.strip("€$£%")
    if not digits[:1].isdigit():
        return None
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        return re.sub(r"[.,]", "", digits)
    return digits.replace(",", ".")


def _never_claims(text: str) -> Iterator[frozenset[str]]:
    """What a sentence says has never happened: as a whole, and each alternative."""
    for clause in re.split(_CLAUSE_END, re.sub(_EXAMPLE, " ", text)):
        tokens = _tokens(clause)
        at = next((n for n, each in enumerate(tokens) if each in _NEVER), None)
        if at is None or tokens[at + 1 : at + 2] == ["mind"]:
            continue
        rest = " ".join(tokens[at + 1 :])
        # *I am sure that I have never …* denies nothing that is sure.
        begin = max((n for n, x in enumerate(tokens[:at], 1) if x in _FIRST_PERSON), default=0)
        subject = frozenset(map(stem, filter(_is_content, tokens[begin:at])))
        parts = [frozenset(_stems(each)) for each in re.split(_OR, rest)]
        whole = frozenset().union(*parts)
        for words in dict.fromkeys((whole, *parts)):
            if len(words) > 1 or (words and subject):
                yield words | subject


def _asserted_clauses(text: str) -> Iterator[str]:
    """The clauses that assert something.

    A clause may continue after a comma.
    """
    is_real = True
    for clause in re.split(_CLAUSE_END, text):
        tokens = _tokens(clause)
        if (
            any(map(_denies, tokens))
            or _NEVER.intersection(tokens)
            or _UNREAL.intersection(tokens[:3])
        ):
            is_real = False
        elif _OF_SPEAKER.intersection(tokens[:2]):
            is_real = True
        if is_real:
            yield clause
