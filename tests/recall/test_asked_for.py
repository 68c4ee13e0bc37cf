from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.indexing.ports import IMPORTANT, NEWEST, OLDEST
from vaultsync.model.dates import TimeSpan
from vaultsync.model.fact import Fact
from vaultsync.model.schema import Value
from vaultsync.recall.asked_fits import roles_of
from vaultsync.recall.asked_for import asked_for, type_word
from vaultsync.recall.asked_words import (
    BLOCKED,
    DONE,
    DROPPED,
    DUE,
    OPEN,
    OVERDUE,
    REPLACED,
    STARTED,
    UNDATED,
    UNSTARTED,
)
from vaultsync.recall.task_states import due_day, is_in_state

SETS: dict[str, tuple[set[str], str, str]] = {
    "What decisions did we make?": ({"decision"}, "", ""),
    "list all open promises": ({"commitment"}, OPEN, ""),
    "Which lessons have we learned so far?": ({"lesson"}, "", ""),
    "overdue tasks": ({"task"}, OVERDUE, ""),
    "Which tasks are not done?": ({"task"}, OPEN, ""),
    "Which tasks aren't finished yet?": ({"task"}, OPEN, ""),
    "Welche Aufgaben sind noch nicht erledigt?": ({"task"}, OPEN, ""),
    "Quelles tâches ne sont pas encore terminées ?": ({"task"}, OPEN, ""),
    "完了していないタスク": ({"task"}, OPEN, ""),
    "promises that are no longer open": ({"commitment"}, DONE, ""),
    "tareas hechas": ({"task"}, DONE, ""),
    "open tasks, decisions and promises": ({"task", "decision", "commitment"}, OPEN, ""),
    "What did you notice?": ({"observation"}, "", ""),
    "fertige Aufgaben": ({"task"}, DONE, ""),
    "laufende Aufgaben": ({"task"}, STARTED, ""),
    "tareas en pausa": ({"task"}, BLOCKED, ""),
    "What is overdue?": ({"task", "commitment"}, OVERDUE, ""),
    "Which promises have we kept?": ({"commitment"}, DONE, ""),
    "our last decision": ({"decision"}, "", NEWEST),
    "the first lesson": ({"lesson"}, "", OLDEST),
    "Which people do we know?": ({"person"}, "", ""),
    "What did we decide?": ({"decision"}, "", ""),
    "Welche Entscheidungen haben wir getroffen?": ({"decision"}, "", ""),
    "Was haben wir entschieden?": ({"decision"}, "", ""),
    "Welche Zusagen sind noch offen?": ({"commitment"}, OPEN, ""),
    "Quelles décisions avons-nous prises ?": ({"decision"}, "", ""),
    "Quelles tâches sont en retard ?": ({"task"}, OVERDUE, ""),
    "¿Qué decisiones hemos tomado?": ({"decision"}, "", ""),
    "¿Qué tareas están pendientes?": ({"task"}, OPEN, ""),
    "¿Qué promesas siguen pendientes?": ({"commitment"}, OPEN, ""),
    "どんな決定をしましたか？": ({"decision"}, "", ""),
    "未完了のタスク": ({"task"}, OPEN, ""),
    "最新の決定": ({"decision"}, "", NEWEST),
    "¿Cuántas decisiones hemos tomado?": ({"decision"}, "", ""),
    "Was ist beschlossen worden?": ({"decision"}, "", ""),
    "メンバー": ({"person"}, "", ""),
    "Who are our people?": ({"person"}, "", ""),
    "die letzten Entscheidungen": ({"decision"}, "", NEWEST),
    "Unsere letzte Entscheidung": ({"decision"}, "", NEWEST),
    "nos dernières décisions": ({"decision"}, "", NEWEST),
    "Quelles leçons avons-nous apprises ?": ({"lesson"}, "", ""),
    "Qu'avons-nous décidé ?": ({"decision"}, "", ""),
    "las últimas decisiones": ({"decision"}, "", NEWEST),
    "決めたこと": ({"decision"}, "", ""),
    "Which decisions were replaced by later ones?": ({"decision"}, REPLACED, ""),
    "outdated conventions": ({"convention"}, REPLACED, ""),
    "Welche Entscheidungen sind überholt?": ({"decision"}, REPLACED, ""),
    "What do I have to do?": ({"task", "commitment"}, OPEN, ""),
    "What remains to be done?": ({"task", "commitment"}, OPEN, ""),
    "Was muss ich noch erledigen?": ({"task", "commitment"}, OPEN, ""),
    "Que reste-t-il à faire ?": ({"task", "commitment"}, OPEN, ""),
    "¿Qué tengo que hacer?": ({"task", "commitment"}, OPEN, ""),
    "How many tasks are open?": ({"task"}, OPEN, ""),
    "open todos": ({"task"}, OPEN, ""),
    "Which todos do I have?": ({"task"}, OPEN, ""),
    "What's on my to-do list?": ({"task"}, OPEN, ""),
    "Which to-dos are done?": ({"task"}, DONE, ""),
    "What are our action items?": ({"task"}, OPEN, ""),
    "やること": ({"task"}, OPEN, ""),
    "Show me the last 5 decisions": ({"decision"}, "", NEWEST),
    "two latest lessons": ({"lesson"}, "", NEWEST),
    "die letzten drei Entscheidungen": ({"decision"}, "", NEWEST),
    "meine offenen To-dos": ({"task"}, OPEN, ""),
    "¿Qué decisiones hemos tomado todos?": ({"decision"}, "", ""),
    "todas las decisiones de todos": ({"decision"}, "", ""),
    "What did we decide last?": ({"decision"}, "", NEWEST),
    "Was habe ich versprochen und noch nicht gehalten?": ({"commitment"}, OPEN, ""),
    "Which promises did we keep?": ({"commitment"}, DONE, ""),
    "Which tasks did we not finish?": ({"task"}, OPEN, ""),
    "the last twelve lessons": ({"lesson"}, "", NEWEST),
    "Which decisions have we written?": ({"decision"}, "", ""),
    "undone tasks": ({"task"}, OPEN, ""),
    "Unerledigte Aufgaben": ({"task"}, OPEN, ""),
    "Nicht gehaltene Versprechen": ({"commitment"}, OPEN, ""),
    "¿Qué tareas hay vencidas?": ({"task"}, OVERDUE, ""),
    "upcoming tasks": ({"task"}, OPEN, ""),
    "Which task is due next?": ({"task"}, DUE, ""),
    "urgent tasks": ({"task"}, "", ""),
    "todo": ({"task"}, OPEN, ""),
    "things to do": ({"task"}, OPEN, ""),
    "What is open?": ({"task", "commitment"}, OPEN, ""),
    "Was ist noch nicht erledigt?": ({"task", "commitment"}, OPEN, ""),
    "recently decided": ({"decision"}, "", NEWEST),
    "What's coming up?": ({"task", "commitment"}, OPEN, ""),
    "Which tasks must be done?": ({"task"}, OPEN, ""),
    "Welche Aufgaben müssen erledigt sein?": ({"task"}, OPEN, ""),
    "Was ist als Nächstes zu tun?": ({"task", "commitment"}, OPEN, ""),
    "Gibt es etwas, das überfällig ist?": ({"task", "commitment"}, OVERDUE, ""),
    "newest task": ({"task"}, "", NEWEST),
    "What must be done?": ({"task", "commitment"}, OPEN, ""),
    "Was steht an?": ({"task", "commitment"}, OPEN, ""),
    "Was muss fertig sein?": ({"task", "commitment"}, OPEN, ""),
    "whats overdue": ({"task", "commitment"}, OVERDUE, ""),
    "nächste Aufgabe": ({"task"}, OPEN, ""),
    "aktuelle Entscheidungen": ({"decision"}, "", ""),
    "Was wurde zuletzt beobachtet?": ({"observation"}, "", NEWEST),
    "決定": ({"decision"}, "", ""),
    "latest changes": (set(), "", NEWEST),
    "tasks without a due date": ({"task"}, UNDATED, ""),
    "open tasks that have no deadline": ({"task"}, UNDATED, ""),
    "Which tasks don't have a due date?": ({"task"}, UNDATED, ""),
    "Aufgaben ohne Frist": ({"task"}, UNDATED, ""),
    "Welche Aufgaben haben kein Fälligkeitsdatum?": ({"task"}, UNDATED, ""),
    "tâches sans échéance": ({"task"}, UNDATED, ""),
    "promesas sin fecha límite": ({"commitment"}, UNDATED, ""),
    "tasks in progress": ({"task"}, STARTED, ""),
    "What is in progress?": ({"task", "commitment"}, STARTED, ""),
    "Aufgaben in Arbeit": ({"task"}, STARTED, ""),
    "tâches en cours": ({"task"}, STARTED, ""),
    "tareas en curso": ({"task"}, STARTED, ""),
    "What are you working on right now?": ({"task"}, STARTED, ""),
    "Woran arbeitest du gerade?": ({"task"}, STARTED, ""),
    "Sur quoi travaillons-nous ?": ({"task"}, STARTED, ""),
    "¿En qué estamos trabajando?": ({"task"}, STARTED, ""),
    "What is blocked and why?": ({"task", "commitment"}, BLOCKED, ""),
    "tasks on hold": ({"task"}, BLOCKED, ""),
    "Welche Aufgaben sind blockiert?": ({"task"}, BLOCKED, ""),
    "cancelled tasks": ({"task"}, DROPPED, ""),
    "What has to be finished?": ({"task", "commitment"}, OPEN, ""),
    "tasks that are not in progress": ({"task"}, UNSTARTED, ""),
    "tasks not yet started": ({"task"}, UNSTARTED, ""),
    "next deadline": ({"task", "commitment"}, DUE, ""),
    "nächste Frist": ({"task", "commitment"}, DUE, ""),
    "missed deadlines": ({"task", "commitment"}, OVERDUE, ""),
    "Which deadlines have I missed?": ({"task", "commitment"}, OVERDUE, ""),
    "tasks past due": ({"task"}, OVERDUE, ""),
    "Which open items are past their date?": ({"task", "commitment"}, OVERDUE, ""),
    "Which open tasks are not overdue?": ({"task"}, OPEN, ""),
    "open or overdue tasks": ({"task"}, OPEN, ""),
    "open items": ({"task", "commitment"}, OPEN, ""),
    "offene Punkte": ({"task", "commitment"}, OPEN, ""),
    "points ouverts": ({"task", "commitment"}, OPEN, ""),
    "puntos pendientes": ({"task", "commitment"}, OPEN, ""),
    "Did I miss a deadline?": ({"task", "commitment"}, OVERDUE, ""),
    "Which promises have I broken?": ({"commitment"}, OVERDUE, ""),
    "prochaine échéance": ({"task", "commitment"}, DUE, ""),
    "próxima fecha límite": ({"task", "commitment"}, DUE, ""),
    "broken promises": ({"commitment"}, OVERDUE, ""),
    "gebrochene Versprechen": ({"commitment"}, OVERDUE, ""),
    "promesses non tenues": ({"commitment"}, OPEN, ""),
    "¿Qué decidí?": ({"decision"}, "", ""),
    "¿Qué aprendí?": ({"lesson"}, "", ""),
    "Welche Personen kennen wir?": ({"person"}, "", ""),
    "What facts do we have?": (set(), "", IMPORTANT),
    "最新の決定は何ですか？": ({"decision"}, "", NEWEST),
    "最近の決定を3つ教えてください": ({"decision"}, "", NEWEST),
    "何を決めましたか？": ({"decision"}, "", ""),
    "まだ終わっていないことは何ですか？": ({"task", "commitment"}, OPEN, ""),
    "期限のないタスク": ({"task"}, UNDATED, ""),
    "キャンセルされたタスクは？": ({"task"}, DROPPED, ""),
    "進行中のタスク": ({"task"}, STARTED, ""),
    "保留中のものは何ですか？": ({"task", "commitment"}, BLOCKED, ""),
    "中止になった約束": ({"commitment"}, DROPPED, ""),
    "メンバーは誰ですか？": ({"person"}, "", ""),
    "次の締め切りは？": ({"task", "commitment"}, DUE, ""),
    "Which decisions still hold?": ({"decision"}, "", ""),
    "Are there decisions that are still valid?": ({"decision"}, "", ""),
    "Welche Entscheidungen gelten noch?": ({"decision"}, "", ""),
    "Quelles décisions sont encore valables ?": ({"decision"}, "", ""),
    "¿Qué decisiones siguen vigentes?": ({"decision"}, "", ""),
    "Which decisions were reversed?": ({"decision"}, REPLACED, ""),
    "Quelle était la première décision ?": ({"decision"}, "", OLDEST),
    "Was steht noch aus?": ({"task", "commitment"}, OPEN, ""),
    "What's new?": (set(), "", NEWEST),
    "Do I have anything to do?": ({"task", "commitment"}, OPEN, ""),
    "Is there anything left for me to do?": ({"task", "commitment"}, OPEN, ""),
    "Habe ich etwas zu erledigen?": ({"task", "commitment"}, OPEN, ""),
    "mis tareas": ({"task"}, "", ""),
    "high-priority tasks": ({"task"}, "", ""),
    "open tasks with high priority": ({"task"}, OPEN, ""),
    "Aufgaben mit hoher Priorität": ({"task"}, "", ""),
    "past decisions": ({"decision"}, "", ""),
    "due dates": ({"task", "commitment"}, DUE, ""),
    "What are the due dates?": ({"task", "commitment"}, DUE, ""),
    "Was gibt es Neues?": (set(), "", NEWEST),
    "Quoi de neuf ?": (set(), "", NEWEST),
    "¿Qué hay de nuevo?": (set(), "", NEWEST),
    "¿Qué tareas terminamos?": ({"task"}, DONE, ""),
    "Welche Personen kenne ich?": ({"person"}, "", ""),
}


@pytest.mark.parametrize("text", SETS)
def test_a_question_for_a_set_names_no_topic(text: str) -> None:
    asked = asked_for(text)
    assert (set(asked.types), asked.state, asked.order) == SETS[text]
    assert asked.types <= asked.hinted_types
    assert asked.topic == ()


TOPICS: dict[str, tuple[set[str], tuple[str, ...]]] = {
    "What did we finish for the move?": ({"task", "commitment"}, ("move",)),
    "Was ist für den Umzug noch offen?": ({"task", "commitment"}, ("umzug",)),
    "What is open for visitors?": (set(), ("open", "visitors")),
    "What did Ann keep for the crew?": (set(), ("ann", "keep", "crew")),
    "What did we decide about backups?": ({"decision"}, ("backups",)),
    "What are Bente's preferences?": ({"preference"}, ("bente", "s")),
    "What did the harbour master promise?": ({"commitment"}, ("harbour", "master")),
    "Was haben wir über Kopien gelernt?": ({"lesson"}, ("kopien",)),
    "潮についての決定": ({"decision"}, ("潮",)),
    "障害から何を学びましたか？": ({"lesson"}, ("障害",)),
    "報告は完了しましたか？": (set(), ("報告は完了しましたか？",)),
    "decisions about the hold": ({"decision"}, ("hold",)),
    "What is new at the pier?": (set(), ("what", "is", "new", "at", "the", "pier")),
    "What did Bente finish?": ({"task", "commitment"}, ("bente",)),
    "Was hat Bente erledigt?": ({"task", "commitment"}, ("bente",)),
    "What is open late?": (set(), ("open", "late")),
    "the due date of the rent": (set(), ("the", "deadlines", "of", "the", "rent")),
    "Is there anything to do in Oslo?": (
        set(),
        ("is", "there", "anything", "to", "do", "in", "oslo"),
    ),
    "Is it new?": (set(), ("is", "it", "new")),
    "Why was it decided to move?": (set(), ("decided", "move")),
    "when a promise broke": (set(), ("promise", "broke")),
    "Who made the decision?": (set(), ("decision",)),
    "Who are the people on the pier?": ({"person"}, ("pier",)),
    "the first berth": (set(), ("berth",)),
    "the next task force": (set(), ("next", "task", "force")),
    "What did we do next?": (set(), ("next",)),
    "What happened next?": (set(), ("next",)),
    "Was geschah als Nächstes?": (set(), ("nächstes",)),
    # Chinese has some of the words of Japanese, with other meanings.
    "約束條件是什麼？": (set(), ("約束條件是什麼",)),
    "最新的会议": (set(), ("最新的会议",)),
    "an open berth": (set(), ("open", "berth")),
    "How did we organize the tasks?": (set(), ("organize", "tasks")),
    "What do we have to do to open the gate?": (set(), ("open", "gate")),
    "Welche Lehren haben wir über Geld gezogen?": ({"lesson"}, ("geld",)),
    "Promise.all": (set(), ("promise.all",)),
    "decisions about task_state": ({"decision"}, ("task_state",)),
    "our last meeting": (set(), ("meeting",)),
    "the last talk": (set(), ("talk",)),
    "What is the late fee?": (set(), ("late", "fee")),
    "What is due diligence?": (set(), ("due", "diligence")),
    "Pourquoi le retard du train ?": (set(), ("retard", "train")),
    "Is the delay due to rain?": (set(), ("delay", "due", "rain")),
    "Why was the ferry late?": (set(), ("ferry", "late")),
    "When is rent due?": (set(), ("rent", "due")),
    "Is it too late to cancel?": (set(), ("late", "cancel")),
    "What is a decision tree?": (set(), ("decision", "tree")),
    "Qu'est-ce qu'une tâche de fond ?": (set(), ("tâche", "fond")),
    "Quand est la première ?": (set(), ("première",)),
    "When did the First World War end?": (set(), ("first", "world", "war", "end")),
    "Who won first prize?": (set(), ("won", "first", "prize")),
    "What should I do first?": (set(), ("first",)),
    "Is it open?": (set(), ("open",)),
    "What is open on Sundays?": (set(), ("open", "sundays")),
    "the next step": (set(), ("next", "step")),
    "Was steht an der Tafel?": (set(), ("was", "steht", "an", "der", "tafel")),
    "Where is the 潮 chart?": (set(), ("where", "is", "the", "潮", "chart")),
    "facts about the crane": (set(), ("facts", "about", "the", "crane")),
    "Where is the first aid kit?": (set(), ("first", "aid", "kit")),
    "Où est le premier étage ?": (set(), ("premier", "étage")),
    "deadline": (set(), ("deadline",)),
    "What is the deadline for the permit?": (
        set(),
        ("what", "is", "the", "deadline", "for", "the", "permit"),
    ),
    "open items of the agenda": (set(), ("open", "items", "agenda")),
    "past dates": (set(), ("past", "dates")),
    "the broken window": (set(), ("the", "broken", "window")),
    "decisions in progress": ({"decision"}, ("started",)),
    "dropped decisions": ({"decision"}, ("dropped",)),
    "Which decisions concern the crane?": ({"decision"}, ("crane",)),
    "tasks assigned to Bente": ({"task"}, ("bente",)),
    "What does Bente have to do?": ({"task", "commitment"}, ("bente",)),
    "Was muss Bente noch erledigen?": ({"task", "commitment"}, ("bente",)),
    "What do I have to do to move a berth?": (
        set(),
        ("what", "do", "i", "have", "to", "do", "to", "move", "a", "berth"),
    ),
    "What do we have to do in an emergency?": (
        set(),
        ("what", "do", "we", "have", "to", "do", "in", "an", "emergency"),
    ),
    "tasks about the blocked drain": ({"task"}, ("blocked", "drain")),
    "open tasks about overdue invoices": ({"task"}, ("overdue", "invoices")),
    "Which promises did we make about cancelled trips?": ({"commitment"}, ("cancelled", "trips")),
    "Aufgaben zu offenen Rechnungen": ({"task"}, ("offenen", "rechnungen")),
    "a list for open tasks of Bente": ({"task"}, ("bente",)),
    "What concerts are coming up?": (set(), ("what", "concerts", "are", "coming", "up")),
    "What is Bente working on?": ({"task"}, ("bente",)),
    "Who works on Bente?": (set(), ("who", "works", "on", "bente")),
    "What was noticed about the crane?": ({"observation"}, ("crane",)),
    "work in progress": (set(), ("work", "started")),
}


@pytest.mark.parametrize("text", TOPICS)
def test_what_is_left_of_a_question_is_its_topic(text: str) -> None:
    types, topic = TOPICS[text]
    asked = asked_for(text)
    assert set(asked.types) == types
    assert set(asked.topic) - {"s"} == set(topic) - {"s"}


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("When did we last meet Bente?", NEWEST),
        ("Who joined the team last?", NEWEST),
        ("What happened the last time at the pier?", NEWEST),
        ("Wann war ich zuletzt bei der Ärztin?", NEWEST),
        ("Was geschah das letzte Mal am Kai?", NEWEST),
        ("What is the last name of Bente?", ""),
        ("Which step comes last in the list?", ""),
        ("Last?", ""),
        ("Last meeting", NEWEST),
        ("Clara's last visit", NEWEST),
        ("When was the last fire drill?", NEWEST),
        ("letztes Treffen", NEWEST),
        ("notre dernière réunion", NEWEST),
        ("la última reunión", NEWEST),
        ("last time at the pier", NEWEST),
        ("How long does the battery last?", ""),
        ("Will it last until May?", ""),
        ("the last of the boxes", ""),
        ("Who has the last word on design?", ""),
        ("Was ist der letzte Schritt?", ""),
        ("What are the last four digits of the card?", ""),
        ("Who should speak last?", ""),
        ("What did we do last?", NEWEST),
        ("What did we do first?", OLDEST),
        ("What did Mara paint recently?", ""),
        ("What did we do recently?", NEWEST),
        ("What is the first thing that I should do?", ""),
        ("When can we sail at the earliest?", ""),
        ("Quels sont les 4 derniers chiffres de la carte ?", ""),
    ],
)
def test_last_asks_for_the_newest_as_an_adverb(text: str, order: str) -> None:
    assert asked_for(text).order == order


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *(("our latest decision", True), ("the first lessons", False), ("our last promise", True)),
        *(("unsere neueste Entscheidung", True), ("die letzten Entscheidungen", False)),
        *(("der neueste Beschluss", True), ("die neuesten Beschlüsse", False)),
        *(("the latest berth", False), ("our decision", False)),
    ],
)
def test_a_singular_with_an_order_asks_for_one(text: str, is_one: bool) -> None:
    assert asked_for(text).is_one is is_one


def test_a_type_that_is_only_mentioned_is_a_hint() -> None:
    assert asked_for("Why was it decided to move?").hinted_types == {"decision"}
    assert asked_for("Why do people leave?").hinted_types == frozenset()


def test_a_type_that_questions_use_is_a_word_of_its_facts() -> None:
    assert type_word(Fact("a", type="lesson")) == "lesson"
    assert type_word(Fact("a", type="person")) == type_word(Fact("a", type="note")) == ""


ROLES = {
    "Harbour master at [[Skarvik]] since 2009.": ("Harbour master",),
    "# Oskar\n\nHarbour master.": ("Harbour master",),
    "Server, data.": ("Server",),
    "# Oskar Harbour master": (),
    "": (),
}


@pytest.mark.parametrize("content", ROLES)
def test_a_person_does_what_their_note_begins_with(content: str) -> None:
    assert roles_of(Fact("a", type="person", content=content)) == ROLES[content]
    with_role = Fact("a", type="person", content=content, properties={"role": "design"})
    assert roles_of(with_role) == ("design", *ROLES[content])
    assert roles_of(Fact("a", type="note", content=content)) == ()


@pytest.mark.parametrize(
    ("due", "is_overdue"),
    [
        ("2026-06-29", True),
        ("[[2026-06-29]]", True),
        ("2026-06", False),
        ("2026-05", True),
        ("30.12.2026", False),
    ],
)
@pytest.mark.parametrize("name", ["due", "dueDate", "taskDueDate", "deadline"])
def test_the_due_date_of_a_task_is_a_property(name: str, due: str, is_overdue: bool) -> None:
    task = Fact("a", type="task", properties={name: due})
    assert is_in_state(task, OVERDUE, today="2026-06-30") is is_overdue


@pytest.mark.parametrize(
    ("due", "shown"),
    [
        ("2026-06-29", "2026-06-29"),
        ("2026-06-29T12:00:00Z", "2026-06-29"),
        ("2026-06", "2026-06"),
        ("next friday", "next friday"),
        ("30.12.2026, at\nnoon", "30.12.2026, at noon"),
        ("x" * 41, "x" * 39 + "…"),
    ],
)
def test_a_due_date_that_is_no_date_is_shown_as_it_is_written(due: str, shown: str) -> None:
    assert due_day(Fact("a", type="task", properties={"due": due})) == shown


def test_what_is_due_until_a_day_is_still_open() -> None:
    task = Fact("a", type="task", status="done", properties={"due": "2026-06-29"})
    assert is_in_state(task, DUE, today="2026-06-30", due=TimeSpan("2026-06-01", "2026-07-01"))
    assert not is_in_state(task, DUE, today="2026-06-30", due=TimeSpan(until="2026-07-01"))


@pytest.mark.parametrize("first", ["why", "Warum", "pourquoi"])
def test_why_hints_at_the_types_that_have_reasons(first: str) -> None:
    assert asked_for(f"{first} LanceDB").hinted_types == {"convention", "decision", "lesson"}
    assert asked_for(f"{first} LanceDB").types == frozenset()


def test_who_asks_for_a_person_and_whose_does_not() -> None:
    assert asked_for("Who keeps the ledger?").hinted_types == {"person"}
    assert asked_for("Who made the decision?").hinted_types == {"person", "decision"}
    assert asked_for("Whose ledger is it?").hinted_types == frozenset()


TODAY = "2026-06-30"
STATES: list[tuple[dict[str, Value], str, set[str]]] = [
    ({}, "active", {OPEN, UNDATED}),
    ({"commitmentStatus": "in_progress"}, "active", {OPEN, STARTED, UNDATED}),
    ({"commitmentDueDate": "2026-07-01"}, "active", {OPEN, DUE}),
    ({"commitmentDueDate": "2026-06-29"}, "active", {OPEN, DUE, OVERDUE}),
    ({"commitmentDueDate": "2026-06-29", "commitmentStatus": "Completed"}, "active", {DONE}),
    ({"commitmentStatus": "cancelled"}, "active", {DROPPED}),
    ({}, "done", {DONE}),
    ({}, "Erledigt", {DONE}),
    ({}, "hecho", {DONE}),
    ({}, "fait", {DONE}),
    ({}, "en cours", {OPEN, STARTED, UNDATED}),
    ({}, "en curso", {OPEN, STARTED, UNDATED}),
    ({}, "in Arbeit", {OPEN, STARTED, UNDATED}),
    ({}, "läuft", {OPEN, STARTED, UNDATED}),
    ({}, "bloqueado", {OPEN, BLOCKED, UNDATED}),
    ({}, "en pause", {OPEN, BLOCKED, UNDATED}),
    ({}, "nicht erledigt", {OPEN, UNDATED}),
    ({}, "abgesagt", {DROPPED}),
]


@pytest.mark.parametrize(("own", "status", "states"), STATES)
def test_the_state_of_a_promise_is_told_by_its_status_and_due_date(
    own: dict[str, Value], status: str, states: set[str]
) -> None:
    promise = Fact("a", type="commitment", own=own, status=status)
    everything = (OPEN, STARTED, BLOCKED, UNDATED, OVERDUE, DONE, DROPPED, DUE)
    assert {each for each in everything if is_in_state(promise, each, today=TODAY)} == states
    assert all(is_in_state(Fact("b"), each, today=TODAY) for each in (*everything, ""))


def test_a_fact_of_any_type_may_be_replaced_and_a_topic_may_be_what_replaced_it() -> None:
    assert is_in_state(Fact("a", type="decision", superseded_by_id="b"), REPLACED, today=TODAY)
    assert not is_in_state(Fact("b", type="decision"), REPLACED, today=TODAY)
    assert asked_for("Which decision replaced PostgreSQL?").state == ""
    assert "replaced" in asked_for("Which decision replaced PostgreSQL?").topic


def test_a_promise_is_due_in_the_span_of_its_date() -> None:
    promise = Fact("a", type="task", own={"commitmentDueDate": "2026-09-01"})
    assert is_in_state(promise, DUE, today=TODAY, due=TimeSpan("2026-09-01", "2026-10-01"))
    assert not is_in_state(promise, DUE, today=TODAY, due=TimeSpan("2026-10-01", None))
    kept = promise.evolve(status="done")
    assert is_in_state(kept, DUE, today=TODAY, due=TimeSpan("2026-09-01", None))
    assert not is_in_state(kept, DUE, today=TODAY)


@given(st.text())
def test_any_text_asks_for_something_or_nothing(text: str) -> None:
    asked = asked_for(text)
    assert asked.types <= asked.hinted_types
    assert asked.state in ("", REPLACED) or asked.types & {"commitment", "task"}
    assert asked.state != REPLACED or (asked.types and not asked.topic)


@pytest.mark.parametrize(
    ("text", "has_hint"),
    [
        ("What should I not do on Fridays?", True),
        ("Is it allowed to paint the keel?", True),
        ("Was darf ich nie tun?", True),
        ("When should the keel be painted?", False),
        ("Is the keel painted?", False),
    ],
)
def test_a_question_for_what_is_allowed_hints_at_rules(text: str, *, has_hint: bool) -> None:
    rules = {"convention", "decision", "lesson"}
    assert asked_for(text).hinted_types == (rules if has_hint else set())


@pytest.mark.parametrize("text", ["Which varnish do we use?", "Was nutzen wir als Lack?"])
def test_a_question_for_what_is_used_hints_at_no_person_or_task(text: str) -> None:
    assert asked_for(text).hinted_types.isdisjoint({"person", "task", "observation"})
    assert asked_for(text).hinted_types >= {"decision", "convention", "entity", "fact"}
    assert not asked_for("Do we use varnish?").hinted_types


@pytest.mark.parametrize(
    ("text", "has_hint"),
    [
        ("How does Rosa like her croissants?", True),
        ("What do they want for breakfast?", True),
        ("How does Rosa like them with jam?", True),
        ("How do you like jam?", True),
        ("What is it like?", False),
        ("How do plugins like Dataview work?", False),
    ],
)
def test_a_question_for_a_wish_hints_at_preferences(text: str, *, has_hint: bool) -> None:
    assert asked_for(text).hinted_types == ({"preference"} if has_hint else set())
