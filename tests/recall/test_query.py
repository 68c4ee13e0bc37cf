from __future__ import annotations

import time
import timeit
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.errors import InvalidFieldError
from vaultsync.model.dates import TimeSpan, day_span
from vaultsync.model.fact import Fact
from vaultsync.recall.query import MAX_CHARS, parse_query

TODAY = date(2026, 6, 30)  # a Tuesday


def test_plain_words_are_searched_for_and_filter_nothing() -> None:
    asked = parse_query("How did we choose LanceDB?", today=TODAY)
    assert asked.words == asked.text_without_filters == "How did we choose LanceDB?"
    assert not asked.filters.has_any
    assert asked.phrases == ()
    assert not asked.has_hints


def test_bytes_that_are_no_text_are_replaced_in_what_a_model_reads() -> None:
    assert parse_query("tid\udce9 in Köln", today=TODAY).text_without_filters == "tid? in Köln"


def test_filters_are_not_searched_for() -> None:
    asked = parse_query(
        "type:Decision tag:#ops tier:critical since:2026-03 until:2026-05-09 berth", today=TODAY
    )
    assert asked.words == asked.text_without_filters == "berth"
    assert asked.filters.types == {"decision"}
    assert asked.filters.tags == {"ops"}
    assert asked.filters.tiers == {"critical"}
    assert asked.filters.span == TimeSpan("2026-03-01", "2026-05-10")


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        *(
            ("#accessibility", "accessibility"),
            ("What is filed under the tag gezeiten?", "gezeiten"),
        ),
        *(("notes tagged with ops/sea", "ops/sea"), ('tag "habits"', "habits")),
        *(("Notizen mit dem Tag Hafen", "Hafen"), ("Which notes carry the tag sea?", "sea")),
        ("décisions avec l'étiquette mer", "mer"),
        ("décisions étiquetées avec mer", "mer"),
    ],
)
def test_a_tag_may_be_named_in_plain_words(text: str, tag: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert asked.filters.tags == {tag}
    assert "#" not in asked.words


@pytest.mark.parametrize(
    "text",
    [
        *("issue #12", "C#", "a stage", "https://x.org/#top", "What is a tag in HTML?"),
        *("How do I tag a release?", "What does git tag v1.0 do?", "What is the tag line?"),
        *("What does the tag mean?", "Does the tag work?", "que dit l'étiquette verte ?"),
        "Quels paquets sont étiquetés par Clara ?",
        *("What was tagged yesterday?", "Where are the tagged photos?", "tagged last week"),
        *("Which word is the tag of a chunk?", "quelle est la couleur de l'étiquette de l'eau"),
    ],
)
def test_other_signs_name_no_tag(text: str) -> None:
    assert parse_query(text, today=TODAY).filters.tags == frozenset()


def test_a_year_is_a_date_of_a_filter() -> None:
    asked = parse_query("since:2025 until:2025", today=TODAY)
    assert asked.filters.span == TimeSpan("2025-01-01", "2026-01-01")
    with pytest.raises(InvalidFieldError):
        parse_query("since:0000", today=TODAY)


def test_after_and_before_leave_the_day_itself_out() -> None:
    asked = parse_query("after:2026-03 before:2026-05-09", today=TODAY)
    assert asked.filters.span == TimeSpan("2026-04-01", "2026-05-09")


@pytest.mark.parametrize(
    "text", ["type:nope", "tier:nope", "since:soon", "since:2026-02-31", "before:banana"]
)
def test_an_invalid_filter_is_refused_with_what_is_valid(text: str) -> None:
    key, _, value = text.partition(":")
    with pytest.raises(InvalidFieldError, match=value) as refused:
        parse_query(f"berth {text}", today=TODAY)
    valid = {"type": "decision", "tier": "critical"}.get(key, "2026-02-14")
    assert valid in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "type:lesson, tag:ops",
        "(type:lesson; tag:ops)",
        "tag:ops. type:lesson?",
        'type:"lesson", #ops',
    ],
)
def test_punctuation_after_a_filter_is_not_part_of_it(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert asked.is_set
    assert asked.filters.types == {"lesson"}
    assert asked.filters.tags == {"ops"}


def test_a_colon_alone_makes_no_filter() -> None:
    assert parse_query("a:b", today=TODAY).words == "a:b"


@pytest.mark.parametrize("text", ['"a b"', "“a b”", "„a b“", "«a  b»", "「a b」"])
def test_what_stands_in_quotes_is_a_phrase(text: str) -> None:
    assert parse_query(f"where is {text}", today=TODAY).phrases == ("a b",)


@pytest.mark.parametrize("text", ['where is " "', 'is a 27" screen better than one of 32"?'])
def test_empty_quotes_and_inches_are_no_phrase(text: str) -> None:
    assert parse_query(text, today=TODAY).phrases == ()


def test_a_season_is_a_time_and_no_topic() -> None:
    asked = parse_query("What decisions have we made this spring?", today=TODAY)

    assert asked.is_set
    assert asked.hinted_span == TimeSpan("2026-03-01", "2026-06-01")


def test_a_season_is_no_event_but_may_be_in_the_words_of_one() -> None:
    asked = parse_query("What has happened since the spring?", today=TODAY)

    assert asked.by_event is None
    assert asked.hinted_span == TimeSpan(since="2026-03-01")


def test_what_is_to_be_done_by_a_day_is_what_is_due_until_then() -> None:
    asked = parse_query("Was muss ich bis August erledigen?", today=TODAY)

    assert (asked.is_set, asked.asked.state) == (True, "due")
    assert asked.hinted_span == TimeSpan(until="2026-09-01")


def test_what_is_due_before_a_holiday_is_listed() -> None:
    asked = parse_query("What is due before Christmas?", today=TODAY)

    assert asked.is_set
    assert asked.hinted_span == TimeSpan(until="2026-12-24")


DATED = {
    "decisions of last week": ("2026-06-23", None),
    "what came in yesterday": ("2026-06-29", "2026-06-30"),
    "what came in today": ("2026-06-30", "2026-07-01"),
    "this week": ("2026-06-29", None),
    "this month": ("2026-06-01", None),
    "this year": ("2026-01-01", None),
    "this day": ("2026-06-30", None),
    "in the past 3 months": ("2026-04-01", None),
    "the last 2 years": ("2024-06-30", None),
    "in May": ("2026-05-01", "2026-06-01"),
    "in December": ("2025-12-01", "2026-01-01"),
    "in December 2024": ("2024-12-01", "2025-01-01"),
    "in 2024": ("2024-01-01", "2025-01-01"),
    "on 21 May 2026": ("2026-05-21", "2026-05-22"),
    "on the 3rd": ("2026-06-03", "2026-06-04"),
    "on 3rd of March": ("2026-03-03", "2026-03-04"),
    "on March 3rd, 2025": ("2025-03-03", "2025-03-04"),
    "on Mar. 3": ("2026-03-03", "2026-03-04"),
    "on 2026-05-21": ("2026-05-21", "2026-05-22"),
    "in 2026-05": ("2026-05-01", "2026-06-01"),
    "since May": ("2026-05-01", None),
    "after May": ("2026-06-01", None),
    "before May 2025": (None, "2025-05-01"),
    "until May 2025": (None, "2025-06-01"),
    "by 2025-05-01": (None, "2025-05-02"),
    "last summer": ("2025-06-01", "2025-09-01"),
    "the day before yesterday": ("2026-06-28", "2026-06-29"),
    "by the end of March": (None, "2026-04-01"),
    "on 31 February": None,
    "in may we": None,
    "the 2026 plan": None,
}


@pytest.mark.parametrize("text", DATED)
def test_dates_in_plain_words_are_hints(text: str) -> None:
    expected = DATED[text]
    assert parse_query(text, today=TODAY).hinted_span == (
        None if expected is None else TimeSpan(*expected)
    )


def test_relative_dates_are_not_searched_for_and_others_are() -> None:
    asked = parse_query("copies of last week failed", today=TODAY)
    assert asked.words == "copies of failed"
    assert asked.text_without_filters == "copies of last week failed"
    assert parse_query("copies in May failed", today=TODAY).words == "copies in May failed"


REQUESTS = {
    "Tell me about Skarvik Harbour": "Skarvik Harbour",
    "tell us everything about Oskar": "Oskar",
    "Please show me the grant report": "the grant report",
    "Could you remind me of the deposit?": "the deposit?",
    "What do we know about tides?": "tides?",
    "do you remember the storm": "the storm",
    "What happened in May": "in May",
    "what's happening at berth 12": "at berth 12",
    "Give us a short overview of the tide gate": "the tide gate",
    "Could you summarise how it was built": "how it was built",
    "everything about tides": "tides",
    "Was wissen wir über Kopien?": "Kopien?",
    "alles über Oskar": "Oskar",
    "Parle-moi de Clara": "Clara",
    "¿Qué sabemos de Clara?": "Clara?",
    # What is no request, or asks for nothing else:
    "tell me": "tell me",
    "What happened?": "What happened?",
    "the app that tells us about rain": "the app that tells us about rain",
    "who knows about tides": "who knows about tides",
}


@pytest.mark.parametrize("text", REQUESTS)
def test_request_phrases_are_not_searched_for(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert (asked.words, asked.text_without_filters) == (REQUESTS[text], text)


ASIDES = {
    "Can you list the order in which I brought up different aspects of the tide gate across our"
    " conversations, in order? Mention only five items.": "the tide gate ? .",
    "Summarize how the tide gate was built, over all our past discussions.": (
        "how the tide gate was built, ."
    ),
    "Walk me through the tide gate in our sessions": "the tide gate",
    # What is none, names nothing else, or quotes:
    "the tide gate in order": "the tide gate in order",
    "What was it in our conversations?": "What was it in our conversations?",
    'Who wrote "in our sessions"?': 'Who wrote "in our sessions"?',
}


@pytest.mark.parametrize("text", ASIDES)
def test_what_is_said_of_the_conversation_and_of_the_answer_is_not_searched_for(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert asked.words == asked.text_without_filters == ASIDES[text]


def test_words_hint_at_types_and_tiers() -> None:
    asked = parse_query("What critical lessons did we learn, what was decided?", today=TODAY)
    assert asked.hinted_types == {"lesson", "decision"}
    assert asked.asked.types == {"lesson"}
    assert asked.hinted_tiers == {"critical"}
    assert asked.filters.types == asked.filters.tiers == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        *("What decisions did we make?", "type:lesson", "since:2026-03", "tag:ops"),
        *("What happened last week?", "our last decision", "What is due in September?"),
        *("What happened in the last two weeks?", "Was ist letzte Woche passiert?"),
        *("Que s'est-il passé hier ?", "¿Qué pasó la semana pasada?", "notes tagged with ops"),
        *("facts of the last three days", "newest facts", "Fakten von heute", "hechos de hoy"),
        *("critical decisions", "critical facts", "What is due next week?", "next month"),
        *("What did I do yesterday evening?", "Was habe ich gestern Abend gemacht?"),
        *("What happened on Monday?", "tell me what happened on Monday", "¿Qué hice ayer?"),
        *("What did we discuss last Tuesday?", "Qu'est-ce que j'ai fait hier ?"),
        *("Is anything due on Friday?", "due Friday", "due 2026-07-03", "due 3 July"),
        *("decisions on Monday", "Entscheidungen vom Montag", "décisions de lundi"),
        *("November decisions", "decisions for May 2025", "decisions since yesterday"),
        *("What is new since Monday?", "Was gibt es Neues seit gestern?", "quoi de neuf hier ?"),
        *("¿Tengo tareas pendientes?", "combien de décisions en mai ?", "昨日からの決定"),
        *("What's still to do?", "Was ist noch zu tun?", "due soon"),
        *("decided last week", "letzten Monat entschieden", "decisions 2026-05"),
        *("18 November decisions", "décisions étiquetées ops", "etikettiert mit ops"),
        *("Entscheidungen mit Tag ops", "fällig bis Jahresende"),
        *("What facts do we have?", "list all notes", "Welche Fakten gibt es?", "everything"),
    ],
)
def test_a_question_without_a_topic_asks_for_a_set(text: str) -> None:
    assert parse_query(text, today=TODAY).is_set


@pytest.mark.parametrize(
    "text",
    [
        *("", "decided", "What did we decide about tides?", "type:lesson tides"),
        *('type:lesson "a phrase"', "What happened to the pier last week?", "berths"),
        *("What do we do in the evening?", "evening", "decisions on Monday meetings", "new berths"),
    ],
)
def test_a_question_with_a_topic_or_without_anything_asks_for_no_set(text: str) -> None:
    assert not parse_query(text, today=TODAY).is_set


def test_what_is_due_in_a_span_is_told_by_its_due_date() -> None:
    asked = parse_query("What is due in September 2026?", today=TODAY)
    due = Fact("a", type="commitment", created_at="2026-01-01T00:00:00Z")
    assert asked.matches_hints(due.evolve(own={"commitmentDueDate": "2026-09-01"}))
    assert not asked.matches_hints(due.evolve(own={"commitmentDueDate": "2026-10-01"}))
    assert not asked.matches_hints(due.evolve(created_at="2026-09-02T00:00:00Z"))


DUE_IN = {
    "What is due in July?": ("2026-07-01", "2026-08-01"),
    "tasks due this week": ("2026-06-29", "2026-07-06"),
    "What tasks do we have next week?": ("2026-07-06", "2026-07-13"),
    "Q3 promises that are due": ("2026-07-01", "2026-10-01"),
    "promises due in January": ("2026-01-01", "2026-02-01"),
    "Is anything due on Friday?": ("2026-07-03", "2026-07-04"),
    "due Friday": ("2026-07-03", "2026-07-04"),
    "Was ist morgen fällig?": ("2026-07-01", "2026-07-02"),
    "Was steht morgen an?": ("2026-07-01", "2026-07-02"),
    "¿Qué tengo que hacer mañana?": ("2026-07-01", "2026-07-02"),
    "What do I have to do on Friday?": ("2026-07-03", "2026-07-04"),
    "my tasks this week": ("2026-06-29", "2026-07-06"),
    "tasks until Friday": (None, "2026-07-04"),
    "今日やること": ("2026-06-30", "2026-07-01"),
    "What do I have to do by Monday?": (None, "2026-07-07"),
    "Aufgaben bis Freitag": (None, "2026-07-04"),
    "tasks for Monday": ("2026-07-06", "2026-07-07"),
    "What do I have to do until tomorrow?": (None, "2026-07-02"),
    "What do I have to do by tomorrow?": (None, "2026-07-02"),
    "What has to be finished by mid July?": (None, "2026-07-22"),
    "What does Ana need to finish this week?": ("2026-06-29", "2026-07-06"),
    "tasks in the next two weeks": ("2026-06-30", "2026-07-15"),
    "fällig in den nächsten sieben Tagen": ("2026-06-30", "2026-07-08"),
    "tareas de los próximos 7 días": ("2026-06-30", "2026-07-08"),
    "tâches des deux prochaines semaines": ("2026-06-30", "2026-07-15"),
    "今後7日のタスク": ("2026-06-30", "2026-07-08"),
    "tasks due within two weeks": ("2026-06-30", "2026-07-15"),
    "What is due in 2 weeks?": ("2026-06-30", "2026-07-15"),
    "What is due in a week?": ("2026-06-30", "2026-07-08"),
    "Was ist in zwei Wochen fällig?": ("2026-06-30", "2026-07-15"),
    "Was ist in einer Woche fällig?": ("2026-06-30", "2026-07-08"),
    "Qu'est-ce qui est dû dans deux semaines ?": ("2026-06-30", "2026-07-15"),
    "¿Qué tengo que hacer hasta el 5 de julio?": (None, "2026-07-06"),
    "Que dois-je faire d'ici le 5 juillet ?": (None, "2026-07-06"),
    "¿Qué vence en dos semanas?": ("2026-06-30", "2026-07-15"),
    "Was ist innerhalb von 7 Tagen fällig?": ("2026-06-30", "2026-07-08"),
}


EXCEPT: dict[str, tuple[set[str], str]] = {
    "decisions not about the pier": ({"decision"}, "the pier"),
    "lessons that are not about deploys": ({"lesson"}, "deploys"),
    "all tasks except billing": ({"task"}, "billing"),
    "open tasks other than those": ({"task"}, "those"),
    "Entscheidungen außer zum Haus": ({"decision"}, "Haus"),
    "Aufgaben, die nicht zum Haus gehören?": ({"task"}, "Haus"),
    "Alle Aufgaben außer denen von Ana": ({"task"}, "Ana"),
    "Aufgaben, die nicht von Ana sind": ({"task"}, "Ana"),
    "Entscheidungen, die nichts mit Geld zu tun haben": ({"decision"}, "Geld"),
    "decisions that don't mention money": ({"decision"}, "money"),
    "decisions unrelated to money": ({"decision"}, "money"),
    "tasks that are not assigned to Ana": ({"task"}, "Ana"),
    "tasks that do not belong to Ana": ({"task"}, "Ana"),
    "Which tasks are not Ana's?": ({"task"}, "Ana's"),
    "decisions not tagged pier": ({"decision"}, "pier"),
    "decisions without the tag #pier": ({"decision"}, "#pier"),
    "decisions without the tag pier": ({"decision"}, "pier"),
    "décisions sans l'étiquette jetée": ({"decision"}, "jetée"),
    "decisiones sin la etiqueta muelle": ({"decision"}, "muelle"),
    "Entscheidungen ohne den Tag #kai": ({"decision"}, "#kai"),
    "Entscheidungen ohne #kai": ({"decision"}, "#kai"),
    "アナ以外のタスク": ({"task"}, "アナ"),
    "décisions sauf les achats": ({"decision"}, "achats"),
    "décisions sauf celles sur les achats": ({"decision"}, "achats"),
    "décisions autres que celles d'Ana": ({"decision"}, "Ana"),
    "décisions à l'exception des desserts": ({"decision"}, "desserts"),
    "tareas que no son de la casa": ({"task"}, "casa"),
    "decisiones sin contar depósitos": ({"decision"}, "depósitos"),
    "tasks not done": ({"task"}, ""),
    "tasks not in progress": ({"task"}, ""),
    "tasks except overdue ones": ({"task"}, ""),
    "promises not to Ana": ({"commitment"}, "Ana"),
    "Aufgaben nicht zu Haus und Hof": ({"task"}, "Haus und Hof"),
    "todas las tareas menos las de casa": ({"task"}, "casa"),
    "What is not about the pier?": (set(), ""),
    "decisions": ({"decision"}, ""),
}


@pytest.mark.parametrize("text", EXCEPT)
def test_a_set_may_leave_something_out(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert (set(asked.asked.types), asked.excluded) == EXCEPT[text]
    assert asked.is_set == bool(EXCEPT[text][0])
    assert not parse_query("tareas menos urgentes", today=TODAY).excluded


LISTED: dict[str, str] = {
    "appliances except the dishwasher": "dishwasher",
    "all vegan recipes other than soups": "soups",
    "Which insurances do we have besides the car?": "the car",
    "alle Rezepte außer Suppen": "Suppen",
    "berth not for sale": "",
    "What does the cache hold besides sessions?": "",
    "Why can't we use anything other than Redis?": "",
    "everything except billing": "",
    "notes not tagged pier": "pier",
    "Notizen ohne #kai": "#kai",
    "the outage of the pump except in May": "",
}


def test_the_time_for_a_question_of_many_tags_is_linear() -> None:
    def seconds(tags: int) -> float:
        text = "x #ab " * tags
        timer = timeit.Timer(lambda: parse_query(text, today=TODAY), timer=time.process_time)
        return min(timer.repeat(number=1, repeat=5))

    assert seconds(640) < 8 * seconds(160)


@pytest.mark.parametrize("text", LISTED)
def test_a_list_of_what_is_no_type_may_leave_something_out(text: str) -> None:
    assert parse_query(text, today=TODAY).excluded.removeprefix("the ") == LISTED[
        text
    ].removeprefix("the ")


@pytest.mark.parametrize(
    "text", ["our decision not to use Redis", "Entscheidung, nicht zu heizen", "lesson not to wait"]
)
def test_a_decision_not_to_do_something_is_about_that(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert (asked.excluded, asked.is_set) == ("", False)


PERIODS: dict[str, tuple[str, str | None]] = {
    "first decision of the year": ("2026-01-01", None),
    "letzte Entscheidung des Jahres": ("2026-01-01", None),
    "décisions de l'année": ("2026-01-01", None),
    "decisions of the month": ("2026-06-01", None),
    "decisiones del mes": ("2026-06-01", None),
    "lessons of the week": ("2026-06-29", None),
    "tasks of the week": ("2026-06-29", "2026-07-06"),
    "Aufgaben der Woche": ("2026-06-29", "2026-07-06"),
    "tâches du mois": ("2026-06-01", "2026-07-01"),
    "tareas de la semana": ("2026-06-29", "2026-07-06"),
    "deadlines this week": ("2026-06-29", "2026-07-06"),
    "Fristen bis Freitag": ("", "2026-07-04"),
}


@pytest.mark.parametrize("text", PERIODS)
def test_behind_a_type_the_week_month_or_year_is_the_present_one(text: str) -> None:
    since, until = PERIODS[text]
    asked = parse_query(text, today=TODAY)
    assert asked.hinted_span == TimeSpan(since or None, until)
    assert asked.is_set
    assert parse_query("employee of the year", today=TODAY).hinted_span is None


@pytest.mark.parametrize("text", DUE_IN)
def test_what_is_due_lies_near(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert (asked.asked.state, asked.hinted_span) == ("due", TimeSpan(*DUE_IN[text]))


@pytest.mark.parametrize(
    "text", ["tasks of last week", "tasks in 2026", "tasks since Monday", "promises this week"]
)
def test_a_time_that_is_over_or_long_is_when_tasks_were_written(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert asked.asked.state == ""
    assert asked.hinted_span is not None


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("What changed since yesterday?", "2026-06-29", None),
        ("decisions before last week", None, "2026-06-23"),
        ("Entscheidungen bis gestern", None, "2026-06-30"),
        ("先月より前の決定", None, "2026-05-01"),
        ("What changed since last year?", "2025-01-01", None),
        ("lessons of the last ten days", "2026-06-20", None),
    ],
)
def test_a_word_beside_a_relative_date_bounds_it(
    text: str, since: str | None, until: str | None
) -> None:
    assert parse_query(text, today=TODAY).hinted_span == TimeSpan(since, until)


def test_a_day_in_german_is_no_tag() -> None:
    assert not parse_query(
        "Was geschah am Tag nach dem Umzug, an dem Tag?", today=TODAY
    ).filters.tags


def test_a_date_within_a_relative_one_is_what_lies_in_both() -> None:
    named = parse_query("What did we decide in the first quarter of this year?", today=TODAY)
    assert named.hinted_span == TimeSpan("2026-01-01", "2026-04-01")
    apart = parse_query("What was said this week of the storm in March?", today=TODAY)
    assert apart.hinted_span == TimeSpan("2026-06-29")


def test_an_event_bounds_what_is_asked_for_besides_it() -> None:
    asked = parse_query("Which lessons did we learn after the outage?", today=TODAY)
    assert asked.by_event is not None
    assert not asked.is_set
    dated = asked.dated("2026-05-16")
    assert dated.is_set
    assert (dated.hinted_span, dated.by_event) == (TimeSpan("2026-05-16"), None)
    assert "outage" not in dated.words
    assert parse_query("lessons", today=TODAY).dated("2026-05-16").hinted_span is None


@pytest.mark.parametrize(
    ("text", "is_time"),
    [
        ("Whom do I call before the release?", False),
        ("Was ist vor dem Haus?", False),
        ("What is before the gate?", False),
        ("¿Qué hay antes de la puerta?", False),
        ("What is new since the move?", True),
        ("What was before the move?", True),
        ("Was ist nach dem Umzug passiert?", True),
    ],
)
def test_an_event_is_the_topic_of_a_question_for_something_else(text: str, is_time: bool) -> None:
    assert (parse_query(text, today=TODAY).by_event is not None) is is_time


UNACCENTED = {
    "derniere decision": "dernière decision",
    "Faellige Aufgaben": "fällige Aufgaben",
    "uberfallige Zusagen": "überfällige Zusagen",
    "taches a faire avant le 3 decembre": "tâches a faire avant le 3 décembre",
    "decisiones del miercoles": "decisiones del miércoles",
    "Gab es im Maerz eine Premiere?": "Gab es im märz eine Premiere?",
    # Nothing is restored in English, in a quotation, and where the word is another one.
    "When does the debut start?": "When does the debut start?",
    "critical decisions": "critical decisions",
    'lundi "derniere decision"': 'lundi "derniere decision"',
    "Welche Termine haben wir?": "Welche Termine haben wir?",
    "¿Cuándo fue el cambio de turno?": "¿Cuándo fue el cambio de turno?",
    "Debut album?": "Debut album?",
    # Nor in names, and of French and Spanish in German.
    "Was hat Rui Dias gesagt?": "Was hat Rui Dias gesagt?",
    "Wohin geht die Zahlung zum ultimo?": "Wohin geht die Zahlung zum ultimo?",
    "¿Ultima decision?": "¿última decision?",
}


@pytest.mark.parametrize("text", UNACCENTED)
def test_words_that_ask_for_something_get_the_accents_that_they_lack(text: str) -> None:
    assert parse_query(text, today=TODAY).text_without_filters == UNACCENTED[text]


def test_a_date_in_an_event_bounds_a_time_as_the_event_does() -> None:
    asked = parse_query("Which decisions were taken after the storm of May?", today=TODAY)
    assert asked.hinted_span == TimeSpan("2026-05-01")


def test_a_time_to_come_is_no_time_of_what_is_known() -> None:
    asked = parse_query("What do we know about decisions of next week?", today=TODAY)
    assert (asked.hinted_span, asked.asked.state) == (None, "")


def test_a_fact_is_preferred_when_it_is_all_that_is_hinted_at() -> None:
    asked = parse_query("critical decisions of last week", today=TODAY)
    fits = Fact("a", type="decision", priority=0, created_at="2026-06-24T10:00:00Z")
    assert asked.matches_hints(fits)
    assert not asked.matches_hints(fits.evolve(type="lesson"))
    assert not asked.matches_hints(fits.evolve(priority=1))
    assert not asked.matches_hints(fits.evolve(created_at="2026-06-22T10:00:00Z"))
    assert parse_query("anything", today=TODAY).matches_hints(fits)


def test_what_lies_in_two_spans_begins_late_and_ends_early() -> None:
    one, other = (TimeSpan("2026-02-14", "2026-03-01"), TimeSpan("2026-02-14T00:00:00.5Z"))
    assert one.within(other) == other.within(one) == TimeSpan(other.since, one.until)
    assert one.within(TimeSpan()) == TimeSpan().within(one) == one
    late = "2026-02-14T11:00:00+02:00"
    assert TimeSpan(until=late).within(TimeSpan(until="2026-02-14T10:00:00Z")).until == late


@given(text=st.text(), today=st.dates())
def test_any_text_is_a_question(text: str, today: date) -> None:
    text = text.replace(":", " ")  # what has the form of a filter may be refused
    asked = parse_query(text, today=today)
    assert len(asked.words) <= len(text)
    assert parse_query(text, today=today) == asked


PARTS = st.sampled_from(
    ["last week", "since", "until:", "2026-05", "May", "9999", "type:task", '"', "in", "0"]
)


@given(parts=st.lists(PARTS), today=st.dates())
def test_any_mix_of_dates_and_filters_is_a_question(parts: list[str], today: date) -> None:
    text = " ".join(parts).replace("until: ", "until:2026-01 ").removesuffix("until:")
    asked = parse_query(text, today=today)
    for span in (asked.filters.span, asked.hinted_span or TimeSpan()):
        assert all(day_span(each) for each in (span.since, span.until) if each)


@pytest.mark.parametrize(
    ("question", "phrases"),
    [("“a “b c” d”", ("b c",)), ("「あ「い」", ("い",)), ("«a «b»", ("b",)), ("„a „b“", ("b",))],
)
def test_a_quotation_spans_no_other_opening_sign(question: str, phrases: tuple[str, ...]) -> None:
    assert parse_query(question, today=date(2026, 1, 1)).phrases == phrases


def test_of_a_pasted_document_the_beginning_is_read() -> None:
    query = parse_query(f"tide {'page ' * MAX_CHARS} since May", today=TODAY)
    assert len(query.text_without_filters) == MAX_CHARS
    assert query.hinted_span is None


def test_only_the_tag_itself_is_taken_out_of_a_question() -> None:
    query = parse_query("where is x#a said to be #a", today=date(2026, 1, 1))
    assert query.words == "where is x#a said to be"


def _local(day: str) -> str:
    return f"{day}T08:00:00Z"


@pytest.mark.parametrize(
    ("text", "span", "hinted"),
    [
        ("otters since:2026-03-01", TimeSpan("2026-03-01T08:00:00Z"), None),
        ("otters since:2026-03-01T10:00:00Z", TimeSpan("2026-03-01T10:00:00Z"), None),
        (
            "what happened in May 2026?",
            TimeSpan(),
            TimeSpan("2026-05-01T08:00:00Z", "2026-06-01T08:00:00Z"),
        ),
        ("What is due in September 2026?", TimeSpan(), TimeSpan("2026-09-01", "2026-10-01")),
    ],
)
def test_days_begin_where_it_is_asked_but_what_is_due_has_a_date(
    text: str, span: TimeSpan, hinted: TimeSpan | None
) -> None:
    asked = parse_query(text, today=TODAY, start_of_day=_local)
    assert (asked.filters.span, asked.hinted_span) == (span, hinted)


def test_the_day_of_an_event_begins_where_it_is_asked() -> None:
    asked = parse_query("Which lessons did we learn after the outage?", today=TODAY)
    assert asked.dated("2026-05-16", _local).hinted_span == TimeSpan("2026-05-16T08:00:00Z")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("How much was the door?", "how was the door?"),
        ("By how many days is it late?", "By how days is it late?"),
        ("Wie oft sichern wir?", "Wie sichern wir?"),
        ("It is too much", "It is too much"),
    ],
)
def test_a_word_for_an_amount_behind_how_is_not_searched_for(text: str, words: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert asked.words.lower() == words.lower()
    assert asked.text_without_filters == text


@pytest.mark.parametrize("text", ["What did April decide?", "Was hat April entschieden?"])
def test_a_month_that_does_something_is_a_person(text: str) -> None:
    asked = parse_query(text, today=TODAY)
    assert (asked.hinted_span, asked.asked.topic) == (None, ("april",))
