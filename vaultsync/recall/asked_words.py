"""The words by which a question names a type, a state or an order, in four languages.

Words with other common meanings (note, fact, rule) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from vaultsync.indexing.ports import NEWEST, OLDEST

OPEN, OVERDUE, DONE, DUE, REPLACED = "open", "overdue", "done", "due", "replaced"
STARTED, UNSTARTED, UNDATED = "started", "unstarted", "undated"
BLOCKED, DROPPED = "blocked", "dropped"
WITH_STATE = frozenset({"commitment", "task"})
"""The types that have a state; facts of any type may be replaced."""


class AskedFor(Struct, frozen=True):
    """What a question asks for besides its topic."""

    types: frozenset[str] = frozenset()
    """The types of facts that it asks for."""
    hinted_types: frozenset[str] = frozenset()
    """The types it mentions, including those it asks for."""
    order: str = ""
    """`newest` or `oldest`; empty for the default."""
    state: str = ""
    """`open`, `started`, `blocked`, `unstarted`, `undated`, `overdue`, `done`, `dropped`, `due`,
    `replaced` or empty."""
    topic: tuple[str, ...] = ()
    """The words of its topic; empty if it asks for a whole set."""
    is_one: bool = False
    """Whether it asks for one fact of an order: *our latest decision*."""
    is_upcoming: bool = False
    """Whether what is over by its due date comes last: *upcoming deadlines*."""


_ENDINGS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "~": ("", "e", "en", "er", "es", "em"),  # German
        "-": ("e", "en", "er", "es", "em"),
        "^": ("", "e", "s", "es"),  # French
        "*": ("o", "a", "os", "as"),  # Spanish
    }
)
"""Sign behind an adjective -> its endings."""


def inflected(text: str) -> str:
    """Words with all endings of the adjectives among them: `offen~`, `ouvert^`, `abiert*`."""
    return " ".join(
        f"{word.rstrip('~-^*')}{ending}"
        for word in text.split()
        for ending in _ENDINGS.get(word[-1], ("",))
    )


def word_set(text: str) -> frozenset[str]:
    """The words of a text, with all endings of its adjectives."""
    return frozenset(inflected(text).split())


TYPE_NOUNS: Mapping[str, str] = MappingProxyType(
    {
        "decision": "decision decisions entscheidung entscheidungen beschluss beschlüsse décision"
        " décisions decisión decisiones",
        "commitment": "commitment commitments promise promises zusage zusagen versprechen"
        " verpflichtung verpflichtungen promesse promesses engagement engagements promesa promesas"
        " compromiso compromisos",
        "lesson": "lesson lessons learnings lektion lektionen lehre lehren erkenntnis erkenntnisse"
        " leçon leçons enseignements lección lecciones enseñanza enseñanzas",
        "observation": "observation observations beobachtung beobachtungen observación"
        " observaciones",
        "preference": "preference preferences vorliebe vorlieben präferenz präferenzen préférence"
        " préférences preferencia preferencias",
        "task": "tasks todos aufgabe aufgaben tâche tâches tarea tareas",
        "episodic": "episode episodes",
        "correction": "correction corrections korrektur korrekturen corrección correcciones",
        "convention": "convention conventions konvention konventionen convención convenciones",
        "person": "people persons personen leute personnes gens personas gente",
        "project": "projects projekte projets proyectos",
    }
)
"""Type -> the nouns for it."""
TYPE_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "decision": "decide decided entschieden entscheiden beschlossen décidé décidés decidido"
        " decidimos decidí decidió",
        "commitment": "promise promised versprochen zugesagt promis prometido prometimos prometí"
        " prometió",
        "lesson": "learned learnt learn gelernt appris aprendido aprendimos aprendí",
        "observation": "observe observed noticed beobachtet bemerkt observé remarqué observamos"
        " notamos",
        "preference": "prefer prefers bevorzugt préfère prefiere",
    }
)
"""Type -> the verbs for creating it."""
STATE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        OVERDUE: inflected("overdue late überfällig~ retard vencid* atrasad*"),
        OPEN: inflected(
            "open pending outstanding unfinished unkept undone unfulfilled incomplete upcoming next"
            " offen~ ausstehend~ unerledigt~ unerfüllt~ anstehend~ nächst-"
            " ouvert^ prochain^ abiert* próxim* pendiente pendientes"
        ),
        DONE: inflected(
            "done finished completed closed kept fulfilled erledigt~ gehalten~ eingehalten~"
            " abgeschlossen~ terminé^ tenu^ terminad* cumplid*"
        ),
        DUE: inflected("due fällig~ dû dues vence vencen"),
        STARTED: "started begonnen angefangen entamé entamée entamés entamées",
        UNSTARTED: "unstarted",
        BLOCKED: inflected("blocked stuck blockiert~ bloqué^ bloquead*"),
        DROPPED: inflected(
            "cancelled canceled dropped abandoned abgebrochen~ abgesagt~ annulé^ abandonné^"
            " cancelad* abandonad*"
        ),
        UNDATED: "undated undatiert undatierte undatierten",
        REPLACED: inflected(
            "replaced superseded outdated obsolete ersetzt~ überholt~ veraltet~ remplacé^"
            " reemplazad* sustituid*"
        ),
    }
)
ORDER_WORDS: Mapping[str, str] = MappingProxyType(
    {
        NEWEST: inflected(
            "latest newest recent recently lately neuest- neuster jüngst- aktuellst- zuletzt"
            " kürzlich neulich récent^ récemment reciente recientes recientemente"
        ),
        OLDEST: inflected(
            "first earliest oldest erst- frühest- ältest- premier premiers première premières"
            " primer*"
        ),
    }
)
ORDER_OF_WORD = MappingProxyType({w: name for name, ws in ORDER_WORDS.items() for w in ws.split()})
LAST = word_set("last letzt- dernière dernières dernier derniers últim*")
"""Words that ask for the newest, next to the noun of a type or behind an article: *our last
decision*, *the last meeting*. Elsewhere, *last* may be a verb."""
