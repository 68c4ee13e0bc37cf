"""Detect the language of a text, for its stemmer and stop words.

By script and by function words, which are a third of the words of any sentence. It takes 10 µs;
a text of names, or of two words, has no language and needs none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType

from vaultsync.model.lazy_pattern import lazy_pattern

ENGLISH, GERMAN = "english", "german"
SAMPLE_CHARS = 600
"""Number of characters at the beginning of a text that are examined."""
_SURE = 5
"""More different function words than this, all of them English, decide without a count."""
_MANY_LETTERS = "\u2e80"
"""From here on are Chinese, Japanese and Korean."""

_TABLE = """
english: a about also am an and any are as at be because been being but by can could d did do does
done for from had has have he her how i if in into is it its ll m me might my no not of on or our
re s she should so some such t than that the their them then there these they this till to too
until us ve very was we were what when where which who whom whose why will with would you your;
arabic: أن أو أي أين إلى إن التي الذي ثم عن على عند في قد كان كانت كل كم كيف لا لقد لم لماذا ما
ماذا متى مع من منذ هذا هذه هل هم هناك هو هي و يتم;
danish: af alle at blev blive da de den der deres det dette dig din du efter eller en er et for
fra ham han har havde hun hvad hvem hvilken hvis hvor hvordan hvorfor hvornår i ikke ind jeg kan
man med meget men mig min når og også om op os på sig sin skal som til ud var ved vi vil være;
dutch: aan al als bij daar dan dat de deze die dit door een en er geen had heb hebben heeft het
hij hoe hun ik in is je kan maar me meer met mijn na naar niet nog nu of om omdat ons ook op over
te tot uit van voor waar waarom wanneer was wat we welke werd wie wij worden wordt ze zich zij
zijn zo;
finnish: ei ette että hän he ja jos joka jotka kanssa kenen ketkä kuin kuinka kuka kun me mihin
mikä miksi mille milloin minä minkä missä miten mitä mitkä mukaan mutta ne niin nyt oli olin olla
olleet on onko ovat se sekä sen sinä tai tämä te tuo vain vai vaikka;
french: a ai alors au aussi aux avec avons ce ces cette comment comme dans de des donc du elle en
est et eu il ils je la le les leur lui ma mais me même mes moi mon ne nos notre nous on ont ou où
par pas plus pour pourquoi quand que quel quelle quels qui quoi sa se ses si son sont sur ta te tu
un une va vos votre vous été être;
german: aber als am an auch auf aus bei beim bin bis das dass dein deine dem den der des die diese
diesem diesen dieser dieses dir doch du durch dürfen ein eine einem einen einer er es für habe
haben hast hat hatte hätte ich ihr ihre im in ins ist ja kann kein keine könnte man mehr mein meine
meinem meinen meiner mich mir mit muss nach nicht noch nur oder ohne sein seine sich sie sind so
soll sollen sollte über um und uns unser unsere unserem unseren unserer unter viel viele vom von
vor wann war waren warum was welche welchem welchen welcher welches wem wen wenn wer werden wie
wir wird wo wofür woher wohin womit woran worauf worin worüber würde wurde zu zum zur zwischen;
greek: αν από αυτά αυτή αυτό αυτός για δεν είναι είχε ένα ένας έχει η θα και κάθε με μας μετά μη
μια μου να ο οι όταν ότι πιο ποια ποιο ποιοι ποιος πότε που πού προς πώς πως σας σε στα στη στην
στις στο στον στους τα της τι τις το τον του τους των ως;
hungarian: a az azt de egy el és ez ezt ha hogy hogyan hol is ki kik kell lesz meg mely melyik
mert mi miért mikor milyen mint most már nagyon nem nincs nekem s ők ön sem több vagy van volt
vannak úgy után át;
italian: a ad ai al alla anche che chi ci come con cosa cui da dai dal dalla dei del della delle
di dove e ed era gli ha hanno ho i il in io la le lo loro lui ma mi mia mio ne nei nel nella noi
non o per perché più qual quale quali quando quanto quello questa questo se si sia sono su sua sul
sulla suo ti tra tu un una uno vi è;
norwegian: alle at av ble bli da de den denne der deres det dette du eller en er et etter for fra
ham han har hva hvem hvilken hvis hvor hvordan hvorfor i ikke inn jeg kan man med meg men mer min
mot noe noen nå når og også om opp oss på seg sin skal som så til ut var ved vi vil være;
portuguese: a ao aos as com como da das de dela dele do dos e ela ele eles em entre era essa esse
esta este eu foi foram isso isto já lhe mais mas me meu minha muito na nas no nos nossa nosso não
o onde os ou para pela pelo por porque quais qual quando que quem se sem ser seu sua são também te
tem tinha um uma você à é;
romanian: a ai am ar are au ca care ce cel cine cu cum câte când de decât despre din doar după ea
ei el este eu fi fost iar ieri în îi își la le lor lui mai mea meu mi nici noastre noi nostru nu o
pe pentru prin sa sale sau se sunt să te un unde unei unui va vor și;
spanish: a al algo como con cuál cuáles cuándo cómo de del desde donde dónde e el ella ellos en
entre era es esa ese eso esta este esto está están fue ha han hasta hay la las le les lo los me mi
muy más nada ni no nos nosotros nuestra nuestro o para pero por porque que quien quién quiénes qué
se ser si sin sobre son su sus sí también te tiene todo tu un una uno y ya yo;
swedish: alla att av blev bli de dem den denna deras dess det detta dig din du där då efter eller
en er ett från för ha han har henne hennes hon honom hur i icke inom inte jag kan man med mellan
men mig min mot mycket någon något några när och om oss på sedan sig sin ska skulle som så till
under upp ut utan vad var varför vars vem vi vid vilken vill är än;
turkish: ama ben bir biz bu bunu da daha de değil diye en gibi hangi hem hiç için ile ise kadar ki
kim mi mu mü mı nasıl ne neden nerede niye o olan olarak oldu onlar onu sen siz şey şu ve veya ya
"""  # noqa: RUF001 - Greek and Turkish
FUNCTION_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        language.strip(): frozenset(words.split())
        for language, _, words in (each.partition(":") for each in _TABLE.split(";"))
    }
)
"""Language -> its function words, in lower case."""

_IRREGULAR = """
begin began begun; break broke broken; bring brought; build built; buy bought; catch caught;
choose chose chosen; come came; draw drew drawn; drink drank drunk; drive drove driven;
eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown;
forget forgot forgotten; freeze froze frozen; give gave given; go went gone;
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known;
lead led; leave left; lend lent; lose lost; make made; mean meant; meet met; pay paid;
ride rode ridden; ring rang rung; run ran; say said; see saw seen; seek sought; sell sold;
send sent; shake shook shaken; shoot shot; sing sang sung; sink sank sunk; sit sat; sleep slept;
speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck; strike struck;
swim swam swum; take took taken; teach taught; tear tore torn; tell told; think thought;
throw threw thrown; understand understood; wake woke woken; wear wore worn; win won;
write wrote written; child children; foot feet; goose geese; half halves; knife knives;
loaf loaves; man men; mouse mice; shelf shelves; thief thieves; tooth teeth; wife wives;
wolf wolves; woman women
"""
IRREGULAR_FORMS: Mapping[str, list[str]] = MappingProxyType(
    {word: forms.split() for forms in _IRREGULAR.split(";") for word in forms.split()}
)
"""Form of an irregular English word -> all its forms, which no stemmer reduces to one stem: *sold*.

Words with other common meanings in another form (*lie*, *lay*; *leaf*, *leaves*) are left out.
"""

_SCRIPTS = {
    "russian": lazy_pattern("[\u0400-\u04ff]"),
    "greek": lazy_pattern("[\u0370-\u03ff]"),
    "arabic": lazy_pattern("[\u0600-\u06ff]"),
    "tamil": lazy_pattern("[\u0b80-\u0bff]"),
}
"""Language -> a letter of the script that identifies it or its relatives."""
_ANY_SCRIPT = "[\u0370-\u06ff\u0b80-\u0bff]"
"""A letter of any of these scripts, and a few others; most texts have none."""
_LETTERS = {
    "german": "ß",
    "hungarian": "őű",
    "portuguese": "ãõ",
    "romanian": "țș",
    "spanish": "ñ¿¡",
    "turkish": "ğış",
}
"""Language -> letters that no other language above has."""
_ANY_LETTER = f"[{''.join(_LETTERS.values())}]"
STEMMER_LANGUAGES = (*FUNCTION_WORDS, *_SCRIPTS)
"""All languages that can be detected, by the names of their Snowball stemmers."""

_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in FUNCTION_WORDS.items():
    for _word in _words:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)


def language_of(text: str, *, least: int = 2, likely: Collection[str] = ()) -> str | None:
    """Detect the language of a text.

    Args:
        text: of which the first `SAMPLE_CHARS` characters count.
        least: how many different function words, or letters of its own, a language needs.
        likely: languages that decide if several have as many: those of the memory.

    Returns:
        One of `STEMMER_LANGUAGES`; None when no language has that many, or two have as many.
    """
    found = languages_of(text, least=least)
    if len(found) > 1:
        found = [each for each in found if each in likely]
    return found[0] if len(found) == 1 else None


def languages_of(text: str, *, least: int = 2) -> list[str]:
    """The languages that a text may have by most of its function words, by name; mostly one.

    Args: as for `language_of()`.
    """
    sample = text[:SAMPLE_CHARS]
    if not sample.isascii() and re.search(_ANY_SCRIPT, sample):
        for language, letter in _SCRIPTS.items():
            if len(letter.findall(sample)) * 3 > len(sample):
                return [language]
    sample = sample.lower()
    found = _LANGUAGES_OF.keys() & sample.split()
    if len(found) > _SURE and found <= FUNCTION_WORDS[ENGLISH]:
        return [ENGLISH]  # as most texts are; counting takes as long as all before
    votes = Counter(language for word in found for language in _LANGUAGES_OF[word])
    if not sample.isascii() and re.search(_ANY_LETTER, sample):
        for language, letters in _LETTERS.items():
            votes[language] += sum(letter in sample for letter in letters)
    most = max(least, *votes.values(), 0)
    return sorted(language for language, count in votes.items() if count == most)


def may_be_english(text: str) -> bool:
    """Whether a text is English, or too short to tell and in a script of few letters."""
    language = language_of(text)
    if language is None:
        return not any(each >= _MANY_LETTERS and each.isalpha() for each in text)
    return language == ENGLISH
