"""One repository has one hash, however its remote is spelled; and no password is in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world import World
from vaultsync.repos.repo_identity import (
    SHARED,
    WorkingCopy,
    identify,
    lineage_of,
    repo_hash,
    repository_slug,
    sanitize_remote,
)
from vaultsync.repos.repository_note import make_repository_note, repository_links

COMMIT = "a" * 40


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "https://user:token@github.com:443/owner/repo/?foo=bar#section",
            "https://github.com/owner/repo",
        ),
        ("git@github.com:owner/repo.git", "ssh://github.com/owner/repo"),
        ("https://example.org:8443/repo", "https://example.org:8443/repo"),
        ("http://example.org:443/repo", "http://example.org:443/repo"),
        ("https://example.org/repo///", "https://example.org/repo"),
        ("https://example.org?token=abc", "https://example.org"),
        ("https://example.org/#a", "https://example.org"),
        ("https://u:p@example.org/@scope/repo", "https://example.org/@scope/repo"),
        ("https://example.org/a@b", "https://example.org/a@b"),
        ("http://u:a@?b@example.org/repo", "http://example.org/repo"),
        ("https://[::1]:443/repo", "https://[::1]/repo"),
        ("ssh://git@[2001:db8::1]:2222/repo", "ssh://[2001:db8::1]/repo"),
        ("git+ssh://git@host/repo", "ssh://host/repo"),
        ("persistent-https::https://user:token@host/repo", "https://host/repo"),
        ("gcrypt::codecommit::https://user:token@host/repo.git", "https://host/repo"),
        ("codecommit::us-east-1://user:token@repo", "us-east-1://repo"),
        ("host:repo", "ssh://host/repo"),
        ("host:/srv/repo.git/", "ssh://host/srv/repo"),
        ("user:secret@host:repo", "ssh://host/repo"),
        ("git@[::1]:repo", "ssh://[::1]/repo"),
        ("git://example.org:9418/repo", "git://example.org:9418/repo"),
        ("/srv/git/repo.git/", "/srv/git/repo"),
        ("../repo.git", "../repo"),
        ("./a:b", "./a:b"),
        ("file:///srv/repo.git", "file:///srv/repo"),
        ("/", "/"),
        (".git", ".git"),
        ("https://host:port/repo", "https://host/repo"),
        (" https://example.org/repo\n", "https://example.org/repo"),
        ("srv/app /", "srv/app"),
        ("https://example.org/app /", "https://example.org/app"),
    ],
)
def test_a_remote_has_one_spelling(url: str, expected: str) -> None:
    assert sanitize_remote(url) == expected


NAMES = st.from_regex(r"\A[a-z][a-z0-9]{0,8}\Z")
PASSWORDS = st.text("abcXYZ019!$%&*+,;=~._-:@/?#", min_size=1, max_size=12).map("qQq{}qQq".format)


@given(names=st.tuples(NAMES, NAMES, NAMES, NAMES), password=PASSWORDS, data=st.data())
def test_two_spellings_of_a_remote_are_one_and_show_no_password(
    names: tuple[str, str, str, str], password: str, data: st.DataObject
) -> None:
    host, owner, repo, user = names
    pick = data.draw
    scheme, port = pick(st.sampled_from([("https", "443"), ("http", "80"), ("ssh", "22")]))
    named = "".join(pick(st.sampled_from([x, x.upper()])) for x in scheme)
    place = pick(st.sampled_from([host, host.upper()])) + pick(st.sampled_from(["", f":{port}"]))
    who = pick(st.sampled_from(["", f"{user}@", f"{user}:{password}@"]))
    end = pick(st.sampled_from(["", ".git", "/", ".git/", "?token=qQq", "#qQq", ".git?a#b"]))
    found = sanitize_remote(f"{named}://{who}{place}/{owner}/{repo}{end}")
    assert found == f"{scheme}://{host}/{owner}/{repo}"
    if scheme == "ssh" and not who.count(":"):
        assert sanitize_remote(f"{who}{host}:{owner}/{repo}{end}") == found


@given(st.text(max_size=60))
def test_a_sanitized_remote_stays_as_it_is(url: str) -> None:
    once = sanitize_remote(url)
    if "@" not in once and "?" not in once and "#" not in once:
        assert sanitize_remote(once) == once


def test_the_hash_of_a_repository_is_the_same_everywhere() -> None:
    assert repo_hash("/srv/app", "https://example.org/app", "main") == (
        "cfebbf459a2f024036c187b7c09dd191a5d5dbb21d90abe10e0b2937a9d9092f"
    )


def test_path_remote_and_branch_tell_hashes_apart() -> None:
    places = [
        ("/a", "https://h/r", "main"),
        ("/b", "https://h/r", "main"),
        ("/a", "https://h/s", "main"),
        ("/a", "https://h/r", "feature"),
        ("/a", "https://h/r", None),
        ("/a", None, "main"),
        ("/a", None, None),
    ]
    assert len({repo_hash(*each) for each in places}) == len(places)


def test_clones_by_https_and_ssh_have_one_lineage() -> None:
    one = WorkingCopy("/a", "https://u:p@h/o/r.git", "main", COMMIT, COMMIT)
    other = WorkingCopy("/b", "git@h:o/r", "feature", "b" * 40, COMMIT)
    assert identify(one).lineage == identify(other).lineage
    assert identify(one).repo_hash != identify(other).repo_hash


def test_without_commits_and_remote_the_path_is_the_lineage() -> None:
    assert lineage_of(None, None, "/a") != lineage_of(None, None, "/b")
    assert lineage_of(COMMIT, None, "/a") == lineage_of(COMMIT, None, "/b")
    assert lineage_of(COMMIT, "/srv/a", "/x") == lineage_of(COMMIT, "/srv/a", "/y")


def test_shared_branches_have_one_hash() -> None:
    main = WorkingCopy("/a", None, "main", COMMIT, COMMIT)
    other = WorkingCopy("/a", None, "other", COMMIT, COMMIT)
    assert identify(main, SHARED).repo_hash == identify(other, SHARED).repo_hash
    assert identify(main).repo_hash != identify(other).repo_hash


def test_a_detached_head_is_known_by_its_commit() -> None:
    found = identify(WorkingCopy("/a", "https://h/r", None, COMMIT, COMMIT))
    assert found.repo_hash == repo_hash("/a", "https://h/r", COMMIT)
    assert "detached" in found.warnings[0]


def test_what_does_not_travel_is_said() -> None:
    alone = identify(WorkingCopy("/a", None, "main", COMMIT, COMMIT))
    assert "not shared" in alone.warnings[0]
    assert "only its path" in identify(WorkingCopy("/a", None, "main", None, None)).warnings[0]
    shallow = identify(WorkingCopy("/a", "https://h/r", "main", COMMIT, COMMIT, is_shallow=True))
    assert "shallow" in shallow.warnings[0]


@pytest.mark.parametrize(
    ("root", "remote", "expected"),
    [
        ("/home/ada/App Two", None, "app-two"),
        ("/x", "https://h/owner/My.Repo", "my-repo"),
        ("/x", "ssh://h/deep/er/tool_kit", "tool-kit"),
        ("/", None, "repository"),
        ("/x/Ёж", None, "repository"),
        ("/x/" + "a" * 80, None, "a" * 50),
    ],
)
def test_a_scope_is_named_after_a_repository(root: str, remote: str | None, expected: str) -> None:
    assert repository_slug(root, remote) == expected


def test_the_note_of_a_repository_is_made_once_and_stays_deleted() -> None:
    world, found = World(), identify(WorkingCopy("/w/app", None, "main", COMMIT, COMMIT))
    assert repository_links(world.ctx, found) == (
        {"repo": "[[app repository]]", "lineage": found.lineage},
        True,
    )
    note = make_repository_note(world.ctx, found)
    assert note is not None
    assert make_repository_note(world.ctx, found) is None  # another process was faster
    world.agent_updates(note.id, title="The app")
    assert repository_links(world.ctx, found)[0]["repo"] == "[[The app]]"
    world.agent_forgets(note.id)
    assert not repository_links(world.ctx, found)[1]
