from __future__ import annotations

from dataclasses import replace

import pytest

from vaultsync.links import check
from vaultsync.links.check import (
    ALIAS_ONLY,
    AMBIGUOUS,
    BROKEN,
    LinkSurvey,
    LinkTargetCheck,
    aliases_of,
    similarity_key,
)
from vaultsync.links.references import note_references
from vaultsync.links.rewrite import rewrite_links
from vaultsync.links.wikilinks import LinkResolver, find_links
from vaultsync.model.paths import VaultPath

SOURCE = VaultPath("b/source.md")
TEXTS = {
    "Note.md": "# Part\n\ntext ^id\n",
    "a/Twin.md": "# One\n",
    "b/Twin.md": "# Two\n",
    "x/yy/Three.md": "",
    "a/yy/Three.md": "",
    "My plan.md": "",
    "deep/er/Alone.md": "",
    "b/source.md": "# Here\n",
    "C#.md": "",
    "one/Same name.md": "",
    "two/same-name.md": "",
}
ALIASES = {"Note.md": ["NT", "Shared", "C sharp"], "My plan.md": ["shared "], "C#.md": ["cs"]}


@pytest.fixture
def survey() -> LinkSurvey:
    texts = {VaultPath(path): text for path, text in TEXTS.items()}
    anchors = {path: note_references(text, {}).anchors for path, text in texts.items()}
    aliases = {VaultPath(path): many for path, many in ALIASES.items()}
    titles = {VaultPath("a/2026-02-14-plan.md"): ["The Plan "], VaultPath("C#.md"): ["nt"]}
    paths = [*texts, *titles, VaultPath("p.png")]
    return LinkSurvey.of(paths, anchors, aliases, titles)


def judge(survey: LinkSurvey, text: str) -> LinkTargetCheck:
    (link,) = find_links(text)
    return survey.check(link, SOURCE)


def mended(survey: LinkSurvey, text: str) -> str:
    return rewrite_links(text, lambda link: survey.check(link, SOURCE).fix)


@pytest.mark.parametrize(
    ("text", "to", "how"),
    [
        ("[[Note]]", "Note.md", "name"),
        ("[[note#part]]", "Note.md", "name"),
        ("[[Note#^ID|x]]", "Note.md", "name"),
        ("[x](Note.md#Part)", "Note.md", "name"),
        ("![[p.png#x=1]]", "p.png", "name"),
        ("[[#Here]]", "b/source.md", "note itself"),
        ("[[b/Twin]]", "b/Twin.md", "path"),
        ("[[/b/Twin.md]]", "b/Twin.md", "path"),
        ("[[../a/Twin]]", "a/Twin.md", "path from the note"),
        ("[[er/Alone]]", "deep/er/Alone.md", "end of the path"),
    ],
)
def test_a_resolved_link_names_the_rule(survey: LinkSurvey, text: str, to: str, how: str) -> None:
    assert judge(survey, text) == LinkTargetCheck(how, VaultPath(to))


@pytest.mark.parametrize(
    ("text", "how", "candidates"),
    [
        ("[[Twin]]", "note's own folder", ["b/Twin.md", "a/Twin.md"]),
        ("[[yy/Three]]", "shortest path", ["a/yy/Three.md", "x/yy/Three.md"]),
    ],
)
def test_a_link_is_ambiguous_when_several_files_have_its_name(
    survey: LinkSurvey, text: str, how: str, candidates: list[str]
) -> None:
    resolution = judge(survey, text)

    assert (resolution.problem, resolution.rule) == (AMBIGUOUS, how)
    assert list(resolution.candidates) == candidates
    assert f"it resolves to {candidates[0]}" in resolution.why
    assert resolution.fix is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[Note#Nowhere]]", "Note.md has no heading Nowhere"),
        ("[[Twin#One]]", "b/Twin.md has no heading One"),
        ("[[Note#^no]]", "Note.md has no block ^no"),
        ("[[#Nowhere]]", "b/source.md has no heading Nowhere"),
    ],
)
def test_a_missing_heading_or_block_breaks_a_link(survey: LinkSurvey, text: str, why: str) -> None:
    resolution = judge(survey, text)

    assert (resolution.problem, resolution.why, resolution.fix) == (BROKEN, why, None)
    assert resolution.to is not None


def test_places_in_a_note_that_could_not_be_read_are_not_judged(survey: LinkSurvey) -> None:
    assert judge(replace(survey, anchors={}), "[[Note#Nowhere]]").problem == ""


@pytest.mark.parametrize(
    ("text", "after"),
    [
        *(("[[NT]]", "[[Note|NT]]"), ("[[nt#Part]]", "[[Note#Part|nt]]")),
        *(("[[NT|shown]]", "[[Note|shown]]"), ("| [[NT]] |", "| [[Note\\|NT]] |")),
        *(("![[NT]]", "![[Note]]"), ("[text](NT)", "[text](Note)")),
        ("[[the plan]]", "[[2026-02-14-plan|the plan]]"),
    ],
)
def test_a_link_to_an_alias_or_title_is_fixed(survey: LinkSurvey, text: str, after: str) -> None:
    resolution = judge(survey, text)

    title = "the title of a/2026-02-14-plan.md"
    assert (resolution.problem, resolution.to) == (ALIAS_ONLY, None)
    assert (title if "plan" in text else "an alias of Note.md") in resolution.why
    assert mended(survey, text) == after


@pytest.mark.parametrize(
    ("text", "problem", "candidates"),
    [
        ("[[shared]]", ALIAS_ONLY, ("Note.md", "My plan.md")),
        ("[[Same  name]]", BROKEN, ("one/Same name.md", "two/same-name.md")),
        ("[[old/Note]]", BROKEN, ("Note.md",)),  # in a wrong folder
    ],
)
def test_what_may_have_been_meant_is_for_a_person_to_tell(
    survey: LinkSurvey, text: str, problem: str, candidates: tuple[str, ...]
) -> None:
    resolution = judge(survey, text)

    assert (resolution.problem, resolution.candidates) == (problem, candidates)
    if text == "[[old/Note]]":
        assert resolution.why == "there is Note.md"
    assert resolution.fix is None


def test_a_name_that_no_wiki_link_can_hold_is_not_used_for_a_fix(survey: LinkSurvey) -> None:
    assert judge(survey, "[[cs]]").fix is None
    assert mended(survey, "[x](cs)") == "[x](C%23)"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("[[my-plan]]", "[[My plan]]"),
        ("[[My  Plan#x]]", "[[My plan#x]]"),
        ("[[my_plan.md]]", "[[My plan.md]]"),
        ("[[deep/ER/alone_]]", "[[Alone]]"),
        ("[[ｎｏｔｅ]]", "[[Note]]"),
    ],
)
def test_a_name_of_other_case_or_blanks_is_fixed(survey: LinkSurvey, text: str, after: str) -> None:
    resolution = judge(survey, text)

    assert (resolution.problem, "spelled differently" in resolution.why) == (BROKEN, True)
    assert mended(survey, text) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[Nobody]]", "nothing is called Nobody"),
        ("![[a/missing.png]]", "nothing is called missing.png"),
        ("[[https://example.org]]", "it is a URL, to which double brackets cannot link"),
    ],
)
def test_a_link_to_nothing_is_broken(survey: LinkSurvey, text: str, why: str) -> None:
    assert judge(survey, text) == LinkTargetCheck("", None, BROKEN, why)


@pytest.mark.parametrize("text", ["[[Former]]", "[[past/Former]]", "[[past/former.md]]"])
def test_a_link_to_the_former_path_of_a_note_is_fixed(survey: LinkSurvey, text: str) -> None:
    moved = {VaultPath("past/Former.md"): VaultPath("a/Twin.md")}
    known = replace(survey, moved=moved, former=LinkResolver.of(moved))

    resolution = judge(known, text)

    assert (resolution.problem, resolution.why) == (BROKEN, "the note moved to a/Twin.md")
    suffix = ".md" if ".md" in text else ""
    assert mended(known, text) == f"[[a/Twin{suffix}]]"


def test_many_candidates_are_not_all_named(survey: LinkSurvey) -> None:
    paths = [VaultPath(f"{folder}/Same name.md") for folder in "abcdef"]
    many = LinkSurvey.of(paths, {}, {}, {})

    assert judge(many, "[[same-name]]").why.endswith("c/Same name.md and 3 more")


def test_names_are_alike_without_regard_to_blanks_and_width() -> None:
    assert similarity_key("a/My_Plan - \u2013 2.md") == similarity_key("my plan 2")
    assert similarity_key("Straße") == similarity_key("STRASSE")
    assert similarity_key("plan") != similarity_key("plans")


def test_aliases_are_a_list_or_one_text() -> None:
    assert aliases_of({"aliases": ["a, b", 3, " "], "alias": "no"}) == ["a, b"]
    assert aliases_of({"Aliases": "one"}) == ["one"]
    assert aliases_of({"aliases": None}) == []


def test_of_files_with_one_name_some_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [VaultPath(f"docs/part {number}/README.md") for number in range(100)]
    survey = LinkSurvey.of(paths, {}, {}, {})
    compared: list[str] = []

    def counting(name: str) -> str:
        compared.append(name)
        return similarity_key(name)

    monkeypatch.setattr(check, "similarity_key", counting)
    for number in range(100):
        (link,) = find_links(f"[[part_{number}/README]]")
        assert survey.check(link, VaultPath("a.md")).candidates == (paths[number],)
    assert len(compared) <= 100 * 20
