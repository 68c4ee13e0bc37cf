from __future__ import annotations

from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultsync.links.wikilinks import LinkResolver, find_links, wiki_link
from vaultsync.model.paths import VaultPath, path_key, vault_path

ROOT_NOTE = VaultPath("source.md")


@pytest.fixture
def names() -> LinkResolver:
    notes = "Root Note b/Note b/c/Note longfolder/Twin x/y/z/Twin Zoë Log v1.2 deep/er/Alone"
    odd = ["deep/er/p.png", "odd.md.md", "Straße.md", "Strasse.md"]
    return LinkResolver.of(map(VaultPath, [*(f"{each}.md" for each in notes.split()), *odd]))


@pytest.mark.parametrize(
    ("expected", "links"),
    [
        ("Note.md", [("Note", "b/c/Note.md"), ("../Note.md", "b/s.md"), ("./Note", "s.md")]),
        ("b/Note.md", [("b/Note", "b/c/Note.md"), ("b/Note.md", "Root.md"), ("./Note", "b/s.md")]),
        ("b/Note.md", [("../Note", "b/c/s.md"), ("/b/Note", "x/s.md")]),
        ("b/c/Note.md", [("c/Note", "b/s.md")]),
        ("x/y/z/Twin.md", [("Twin", "x/y/z/s.md"), ("Twin", "x/y/s.md")]),
        ("longfolder/Twin.md", [("Twin", "longfolder/s.md")]),
        ("Log.md", [("log", "Root.md"), ("LOG.MD", "Root.md"), (" Log ", "Root.md")]),
        ("Zoë.md", [("zoe\u0308", "Root.md"), ("ZOË", "Root.md")]),
        ("Strasse.md", [("strasse", "s.md")]),
        ("v1.2.md", [("v1.2", "Root.md")]),
        ("odd.md.md", [("odd.md", "s.md")]),
        ("deep/er/Alone.md", [("Alone", "Root.md"), ("er/Alone", "Root.md")]),
        ("deep/er/p.png", [("p.png", "Root.md")]),
        ("b/s.md", [("", "b/s.md")]),
        (None, [("p", "Root.md"), ("r/Alone", "Root.md"), ("other/Alone", "Root.md")]),
        (None, [("../Note", "s.md"), ("./Alone", "s.md"), ("/Alone", "s.md"), ("Nobody", "s.md")]),
    ],
)
def test_a_target_means_what_it_means_in_obsidian(
    names: LinkResolver, expected: str | None, links: list[tuple[str, str]]
) -> None:
    for target, source in links:
        assert names.resolve(target, VaultPath(source)) == expected
        found = names.candidates(target, VaultPath(source))
        assert found[:1] == ((expected,) if expected else ())


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        ("Note", "s.md", ["Note.md"]),
        ("er/p.png", "s.md", ["deep/er/p.png"]),
        ("Twin", "s.md", ["x/y/z/Twin.md", "longfolder/Twin.md"]),
        ("twin.md", "longfolder/s.md", ["longfolder/Twin.md", "x/y/z/Twin.md"]),
        ("z/Twin", "s.md", ["x/y/z/Twin.md"]),
    ],
)
def test_a_target_may_mean_several_files_the_one_it_means_first(
    names: LinkResolver, target: str, source: str, expected: list[str]
) -> None:
    assert list(names.candidates(target, VaultPath(source))) == expected


def test_the_shortest_path_is_the_shortest_text_not_the_fewest_folders() -> None:
    names = LinkResolver.of([VaultPath("a-long-folder/N.md"), VaultPath("a/b/c/N.md")])

    assert names.resolve("N", ROOT_NOTE) == "a/b/c/N.md"


def test_of_two_paths_of_equal_length_the_first_by_name_wins() -> None:
    paths = [VaultPath("b/N.md"), VaultPath("a/N.md"), VaultPath("a/n.md")]

    for each in (paths, paths[::-1]):
        assert LinkResolver.of(each).resolve("N", ROOT_NOTE) == "a/N.md"
        assert LinkResolver.of(each).resolve("a/N", ROOT_NOTE) == "a/N.md"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *(("deep/er/Alone.md", "Alone"), ("deep/er/p.png", "p.png"), ("b/Note.md", "b/Note")),
        *(("Note.md", "Note"), ("odd.md.md", "odd.md.md"), ("new/Alone.md", "new/Alone")),
        ("new/Fresh.md", "Fresh"),
    ],
)
def test_a_link_says_the_name_that_one_file_has(names: LinkResolver, path: str, text: str) -> None:
    assert names.link_text(VaultPath(path)) == text


def test_a_note_beside_a_file_without_ending_is_linked_with_its_ending() -> None:
    names = LinkResolver.of([VaultPath("LICENSE"), VaultPath("a/license.md")])

    assert names.link_text(VaultPath("a/license.md")) == "license.md"


def paths_of_notes() -> st.SearchStrategy[list[VaultPath]]:
    word = st.sampled_from(("a", "B", "ab", "é", "N", "Note", "x.md", "v1.2"))
    path = st.lists(word, min_size=1, max_size=4).map(
        lambda words: vault_path("/".join(words) + ".md")
    )
    return st.lists(path, min_size=1, max_size=12, unique_by=path_key)


@given(paths_of_notes(), st.data())
def test_a_link_text_leads_back_from_anywhere(paths: list[VaultPath], data: st.DataObject) -> None:
    names = LinkResolver.of(paths)
    path = data.draw(st.sampled_from(paths))
    source = data.draw(st.sampled_from([*paths, VaultPath("a/a/other.md")]))

    text = names.link_text(path)

    assert names.resolve(text, source) == path
    (link,) = find_links(wiki_link(text, "Some title"))
    assert names.resolve(link.target, source) == path


def _by_comparing_all(paths: list[VaultPath], target: str, source: VaultPath) -> VaultPath | None:
    """What a target means, by the words of the rule."""
    folder = source.rpartition("/")[0]
    by_length = sorted(paths, key=lambda path: (len(path), path))
    for wanted in (target, f"{target}.md"):
        for form in (wanted, f"{folder}/{wanted}"):
            if form in paths:
                return VaultPath(form)
        found = [path for path in by_length if f"/{path}".endswith(f"/{wanted}")]
        if found:
            return found[0]
    return None


@given(paths_of_notes(), st.data())
def test_of_many_namesakes_the_rule_finds_the_one_that_comparing_all_finds(
    paths: list[VaultPath], data: st.DataObject
) -> None:
    lower = [VaultPath(path.lower()) for path in paths]
    names = LinkResolver.of(lower)
    source = data.draw(st.sampled_from(lower))
    for path in lower:
        parts = path.split("/")
        for depth in range(len(parts)):
            tail = "/".join(parts[depth:])
            for target in (tail, tail.removesuffix(".md")):
                assert names.resolve(target, source) == _by_comparing_all(lower, target, source)


@pytest.mark.parametrize("target", ["Nothing", "a/Nothing", "One", "a/One"])
def test_only_a_name_of_several_files_is_looked_for_in_several_places(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = LinkResolver.of(map(VaultPath, ("a/One.md", "a/Two.md", "b/Two.md")))
    look = Mock(side_effect=names._ending)
    monkeypatch.setattr(LinkResolver, "_ending", lambda _, wanted: look(wanted))
    assert names.resolve(target, VaultPath("b/Two.md")) == (
        "a/One.md" if target.endswith("One") else None
    )
    assert look.call_count == 2  # as it is, and with `.md`
    assert names.resolve("Two", VaultPath("b/Two.md")) == "b/Two.md"
