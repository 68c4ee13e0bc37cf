"""Random histories: a fact holds where its change has arrived, and nowhere else.

The rules see what git shows: commits, patches, messages. The reference model knows which change
came by which way, because the histories are made here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubles.repository import ModelRepository
from tests.gits import GitFolder
from tests.recalls import RecallWorld
from vaultsync.backends.git.git_repository import GitRepository
from vaultsync.model.fact import Fact, make_fact
from vaultsync.model.hiding import BRANCH, HiddenMatches
from vaultsync.model.schema import Value
from vaultsync.repos.ports import CommitHistory
from vaultsync.repos.visibility import FactsByPlace, Place, arrived, places_of

NAMES = ("main", "one", "two", "three")
STEPS = 14


class RandomHistory:
    """Branches that are worked on, merged, squashed, rebased, picked, renamed and deleted."""

    def __init__(self, seed: int, *, amends: bool = False) -> None:
        self.dice = random.Random(seed)
        self.amends = amends
        self.model = ModelRepository()
        self.changes = 0
        first = self.model.add([], {"base": (0,)}, {0})
        self.refs = {"main": first}
        self.tips: dict[str, list[str]] = {"main": [first]}
        """What a memory that looks after each step remembers."""
        self.known: Mapping[Place, tuple[str, ...]] = {}
        self.own: dict[Place, frozenset[int]] = {}
        """Place -> the changes that have to be there where it holds."""
        self.replaced: set[str] = set()
        """Amended commits, to which nobody returns."""

    def grow(self, steps: int = STEPS) -> None:
        acts = [self.commit] * 3 + [self.branch, self.merge, self.squash, self.pick]
        acts += [self.rebase, self.rename, self.delete, self.release]
        acts += [self.amend] if self.amends else []
        for _ in range(steps):
            self.dice.choice(acts)()
            for name, commit in self.refs.items():
                known = self.tips.setdefault(name, [])
                if commit not in known:
                    known.insert(0, commit)
            self.look()

    def look(self) -> None:
        """What a memory finds out that is asked on each branch, as a daemon does."""
        for head in dict.fromkeys(self.refs.values()):
            found = arrived(self.model, head, [*self.own], self.tips, self.known)
            self.known = found.by

    def _ref(self, *, but: str = "") -> str:
        return self.dice.choice([x for x in self.refs if x != but] or ["main"])

    def commit(self) -> None:
        name = self._ref()
        before = self.model.commits[self.refs[name]]
        self.changes += 1
        # Mostly a file of its own; sometimes one that others change, too.
        path = self.dice.choice((f"f{self.changes}", f"f{self.changes}", "shared"))
        content = {**before.content, path: (*before.content.get(path, ()), self.changes)}
        commit = self.model.add([before.id], content, before.brought | {self.changes})
        self.refs[name] = commit
        self.own[Place(commit, name)] = frozenset({self.changes})

    def branch(self) -> None:
        free = [x for x in NAMES if x not in self.refs]
        if free:
            self.refs[self.dice.choice(free)] = self.refs[self._ref()]

    def _joined(self, one: str, other: str) -> dict[str, tuple[int, ...]]:
        """Both contents; changes of one file are in different places of it, in their order."""
        ours, theirs = (self.model.commits[x].content for x in (one, other))
        return {
            path: tuple(sorted({*ours.get(path, ()), *theirs.get(path, ())}))
            for path in {*ours, *theirs}
        }

    def _pair(self) -> tuple[str, str, str, str]:
        target = self._ref()
        source = self._ref(but=target)
        return target, source, self.refs[target], self.refs[source]

    def merge(self) -> None:
        target, source, into, tip = self._pair()
        if tip in self.model.ancestors(into):
            return
        if into in self.model.ancestors(tip) and self.dice.random() < 0.5:
            self.refs[target] = tip  # a fast-forward
            return
        brought = self.model.commits[into].brought | self.model.commits[tip].brought
        message = f"Merge branch '{source}'"
        self.refs[target] = self.model.add([into, tip], self._joined(into, tip), brought, message)

    def squash(self) -> None:
        target, source, into, tip = self._pair()
        joined = self._joined(into, tip)
        if joined == self.model.commits[into].content:
            return
        brought = self.model.commits[into].brought | self.model.commits[tip].brought
        lacking = sorted(self.model.ancestors(tip) - self.model.ancestors(into), reverse=True)
        listed = "Squashed commit of the following:\n\n" + "\n".join(f"commit {x}" for x in lacking)
        message = self.dice.choice((f"Work of {source} (#7)", listed))
        self.refs[target] = self.model.add([into], joined, brought, message)

    def _picked(self, onto: str, commit: str, message: str) -> str:
        made, base = self.model.commits[commit], self.model.commits[onto]
        before = self.model.commits[made.parents[0]].content
        content = dict(base.content)
        new: set[int] = set()
        for path in self.model.touched_paths(commit):
            more = [x for x in made.content.get(path, ()) if x not in before.get(path, ())]
            new.update(more)
            content[path] = tuple(sorted({*content.get(path, ()), *more}))
        if content == base.content:
            return onto
        return self.model.add([onto], content, base.brought | new, message, made.author)

    def amend(self) -> None:
        """Amend the last commit, which no other clone has yet."""
        name = self._ref()
        tip = self.model.commits[self.refs[name]]
        elsewhere = [ref for key, ref in self.refs.items() if key != name]
        others = frozenset[str]().union(*map(self.model.ancestors, elsewhere))
        if len(tip.parents) != 1 or tip.author in {self.model.commits[x].author for x in others}:
            return
        self.changes += 1
        path = self.dice.choice([*self.model.touched_paths(tip.id)])
        content = {**tip.content, path: (*tip.content[path], self.changes)}
        brought = tip.brought | {self.changes}
        commit = self.model.add(tip.parents, content, brought, tip.message, tip.author)
        self.refs[name] = commit
        self.own[Place(commit, name)] = brought - self.model.commits[tip.parents[0]].brought
        self.replaced.add(tip.id)

    def pick(self) -> None:
        target, _, into, tip = self._pair()
        lacking = self.model.ancestors(tip) - self.model.ancestors(into)
        plain = sorted(x for x in lacking if len(self.model.commits[x].parents) == 1)
        if plain:
            commit = self.dice.choice(plain)
            marked = f"x\n\n(cherry picked from commit {commit})"
            self.refs[target] = self._picked(into, commit, self.dice.choice(("x", marked)))

    def rebase(self) -> None:
        _, source, into, tip = self._pair()
        if source == "main":
            return
        lacking = sorted(self.model.ancestors(tip) - self.model.ancestors(into))
        at = into
        for commit in lacking:
            if len(self.model.commits[commit].parents) == 1:
                at = self._picked(at, commit, self.model.commits[commit].message)
        self.refs[source] = at

    def rename(self) -> None:
        name = self._ref()
        free = [x for x in NAMES if x not in self.refs]
        if name != "main" and free:
            self.refs[self.dice.choice(free)] = self.refs.pop(name)

    def delete(self) -> None:
        name = self._ref()
        if name != "main" and len(self.refs) > 1:
            del self.refs[name]

    def release(self) -> None:
        """The user checks out an older commit."""
        old = self.dice.choice(sorted(self.model.commits.keys() - self.replaced))
        self.refs["detached"] = old

    def expected(self, head: str) -> set[Place]:
        brought, before = self.model.commits[head].brought, self.model.ancestors(head)
        return {x for x, own in self.own.items() if x.commit in before or own <= brought}


def check(history: RandomHistory) -> tuple[int, int]:
    """Ask at every branch; returns how many answers there were, and how many of them held."""
    asked = held = 0
    places = [*history.own]
    for head in {*history.refs.values()}:
        found = arrived(history.model, head, places, history.tips, history.known).at
        expected = history.expected(head)
        assert found - expected == set(), "a fact of another branch is shown"
        assert expected - found == set(), "a fact that arrived is not shown"
        asked += len(places)
        held += len(found)
    return asked, held


@pytest.mark.parametrize("part", range(4))
def test_facts_hold_where_their_changes_arrived(part: int) -> None:
    asked = held = 0
    for seed in range(part * 150, part * 150 + 150):
        history = RandomHistory(seed, amends=seed % 2 == 0)
        history.grow()
        one, other = check(history)
        asked += one
        held += other
    assert asked > held > asked / 10


@pytest.mark.parametrize("seed", [521, 3954])
def test_histories_that_few_rules_tell_apart(seed: int) -> None:
    """One that needs the change of a whole branch, and one that needs two ways in a row."""
    history = RandomHistory(seed)
    history.grow()
    check(history)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_facts_hold_where_their_changes_arrived_in_many_histories() -> None:
    for seed in range(100_000):
        history = RandomHistory(seed, amends=seed % 2 == 0)
        history.grow()
        check(history)


@pytest.mark.parametrize("seed", range(6))
def test_a_question_shows_what_holds_and_counts_the_rest(seed: int) -> None:
    history, world = RandomHistory(seed), RecallWorld()
    history.grow()
    facts = {}
    for number, place in enumerate(history.own):
        values: dict[str, Value] = {"commit": place.commit, "branch": place.branch}
        text = f"Sessions are kept, part {number}."
        fact = world.agent_remembers(text, agent="ada", lineage="app", **values)
        facts[fact.id] = (fact, place)
    other = world.agent_remembers("Sessions of another repository.", agent="ada")
    for head in {*history.refs.values()}:
        places, known = [*history.own], history.known
        at = arrived(history.model, head, places, history.tips, known).at
        shown = {fact.id for fact in FactsByPlace(x for x, _ in facts.values()).holding(at)}
        world.elsewhere = partial(facts.keys().__sub__, shown)
        found = world.ask("sessions", agent="ada", limit=50)
        holds = {key for key, (_, place) in facts.items() if place in history.expected(head)}
        assert {hit.id for hit in found} == {*holds, other.id}
        hidden = len(facts) - len(holds)
        assert found.hidden == ((HiddenMatches(hidden, BRANCH),) if hidden else ())


# --- the same with git ----------------------------------------------------------------


def _replay(history: RandomHistory, root: Path) -> tuple[CommitHistory, Mapping[str, str]]:
    """The commits of a history, made by git; returns the model's ids -> those of git."""
    git = GitFolder(root)
    made: dict[str, str] = {}
    for commit in history.model.commits.values():
        git("read-tree", "--empty")
        for path, changes in commit.content.items():
            # Far apart, so that no change is in the context of another one.
            lines = ["-"] * 10 * (history.changes + 1)
            for number in changes:
                lines[10 * number + 5] = f"change {number}"
            (root / "blob").write_text("\n".join(lines) + "\n")
            blob = git("hash-object", "-w", "blob")
            git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        tree = git("write-tree")
        parents = [word for each in commit.parents for word in ("-p", made[each])]
        message = commit.message
        for old, new in made.items():
            message = message.replace(old, new)
        words = ("commit-tree", tree, *parents, "-m", message or "Change")
        made[commit.id] = git(*words, author=f"Author {commit.author}")
    for number, commit_id in enumerate(made.values()):
        git("update-ref", f"refs/keep/{number}", commit_id)
    return GitRepository(root), made


def _same_with_git(seed: int, root: Path, *, amends: bool = False) -> None:
    history = RandomHistory(seed, amends=amends)
    history.grow(10)
    repository, made = _replay(history, root)
    tips = {name: [made[x] for x in commits] for name, commits in history.tips.items()}
    places = {Place(made[x.commit], x.branch): x for x in history.own}
    known = {
        Place(made[x.commit], x.branch): tuple(made[y] for y in commits)
        for x, commits in history.known.items()
    }
    for head in {*history.refs.values()}:
        found = arrived(repository, made[head], [*places], tips, known).at
        assert {places[x] for x in found} == history.expected(head), seed


@pytest.mark.parametrize(("seed", "amends"), [(1, False), (17591, False), (5, True)])
@pytest.mark.long(2)
def test_git_and_the_model_agree(seed: int, tmp_path: Path, *, amends: bool) -> None:
    _same_with_git(seed, tmp_path / "app", amends=amends)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_git_and_the_model_agree_on_many_histories(tmp_path: Path) -> None:
    for seed in range(200):
        _same_with_git(seed, tmp_path / f"app-{seed}", amends=seed % 2 == 0)


# --- rules one by one -----------------------------------------------------------------


def _line(*messages: str) -> tuple[ModelRepository, list[str]]:
    """Commits of main, one on top of the other, after a branch of one commit left the first."""
    model = ModelRepository()
    first = model.add([], {"a": (0,)}, ())
    branch = model.add([first], {"a": (0,), "b": (1,)}, ())
    at, made = first, [branch]
    for number, message in enumerate(messages, start=10):
        # What was merged differs, as after a conflict.
        content = {**model.commits[at].content, "b": (number,)}
        at = model.add([at], content, (), message)
        made.append(at)
    return model, made


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("Merge branch 'topic' into 'main'", True),
        ("Merge pull request #12 from ada/topic", True),
        ("Merged in topic (pull request #3)", True),
        ("Merge remote-tracking branch 'origin/topic'", True),
        ("Merge branch 'topic-2'", False),
        ("It is like topic", False),
        (f"Squashed commit of the following:\n\ncommit {2:040x}\nAuthor: Ada", True),
        (f"Fix\n\n(cherry picked from commit {2:040x})", True),
        (f"Revert\n\nThis reverts commit {2:040x}.", False),
    ],
)
def test_the_message_of_a_merge_request_counts(message: str, *, holds: bool) -> None:
    model, (branch, head) = _line(message)
    place = Place(branch, "topic")
    assert (place in arrived(model, head, [place], {}).at) == holds


def test_a_commit_of_very_many_files_is_not_looked_for_in_others(tmp_path: Path) -> None:
    git = GitFolder(tmp_path)
    git.commit("base", "0")
    git("checkout", "-q", "-b", "wide")
    deep = tmp_path.joinpath(*["d" * 250] * 14)
    deep.mkdir(parents=True)
    for number in range(600):  # more than 2 MB of paths
        (deep / f"{number:0200}").touch()
    git("add", ".")
    git("commit", "-q", "-m", "Add many files")
    wide = Place(git.head(), "wide")
    git("checkout", "-q", "main")
    git.commit("base", "1")
    history = GitRepository(tmp_path)
    tips = {"wide": [wide.commit]}
    assert arrived(history, git.head(), [wide], tips).at == frozenset()
    git("merge", "-q", "--squash", "wide")
    git("commit", "-q", "-m", "Merge pull request #7 from ada/wide")
    assert arrived(history, git.head(), [wide], tips).at == {wide}


def test_the_message_of_an_earlier_merge_request_says_nothing() -> None:
    model = ModelRepository()
    first = model.add([], {"a": (0,)}, ())
    head = model.add([first], {"a": (0,), "b": (9,)}, (), "Merge branch 'topic'")
    later = model.add([first], {"a": (0,), "b": (1,)}, ())
    elsewhere = model.add([first], {"a": (0,), "c": (1,)}, ())
    places = [Place(later, "topic"), Place(elsewhere, "topic")]
    assert arrived(model, head, places, {}).at == frozenset()


def test_contents_count_where_a_part_had_arrived_before() -> None:
    model = ModelRepository()
    first = model.add([], {"a": (0,)}, ())
    one = model.add([first], {"a": (0, 1)}, ())
    other = model.add([one], {"a": (0, 1, 2)}, ())
    picked = model.add([first], {"a": (0, 1)}, ())
    elsewhere = model.add([picked], {"a": (0, 1, 3)}, ())
    squashed = model.add([elsewhere], {"a": (0, 1, 2)}, ())
    place, tips = Place(other, "topic"), {"topic": [other]}
    assert arrived(model, squashed, [place], tips).at == {place}
    assert arrived(model, elsewhere, [place], tips).at == frozenset()


def test_a_later_version_of_a_commit_has_its_author_and_one_of_its_files() -> None:
    model = ModelRepository()
    first = model.add([], {"a": (0,)}, ())
    earlier = model.add([first], {"a": (0,), "b": (7,)}, (), author="Ada 1")
    made = model.add([first], {"a": (0,), "b": (1,)}, (), author="Ada 1")
    place = Place(made, "topic")
    amended = model.add([first], {"a": (0,), "b": (1, 2), "c": (3,)}, (), author="Ada 1")
    assert arrived(model, amended, [place], {}).at == {place}
    of_other_files = model.add([first], {"a": (0,), "c": (3,)}, (), author="Ada 1")
    by_another = model.add([first], {"a": (0,), "b": (1, 2)}, (), author="Bo 1")
    for head in (earlier, of_other_files, by_another):
        assert arrived(model, head, [place], {}).at == frozenset()


def test_an_empty_commit_waits_for_a_merge() -> None:
    model = ModelRepository()
    first = model.add([], {"a": (0,)}, ())
    empty = model.add([first], {"a": (0,)}, ())
    head = model.add([first], {"a": (0, 1)}, ())
    place = Place(empty, "topic")
    assert arrived(model, head, [place], {}).at == frozenset()
    merged = model.add([head, empty], {"a": (0, 1)}, ())
    assert arrived(model, merged, [place], {}).at == {place}


def test_a_merge_holds_where_all_of_it_arrived() -> None:
    model = ModelRepository()
    first = model.add([], {"a": (0,)}, ())
    one = model.add([first], {"a": (0,), "b": (1,)}, ())
    other = model.add([first], {"a": (0,), "c": (2,)}, ())
    both = model.add([one, other], {"a": (0,), "b": (1,), "c": (2,)}, ())
    half = model.add([first], {"a": (0,), "b": (1,)}, ())
    whole = model.add([half], {"a": (0,), "b": (1,), "c": (2,)}, ())
    place = Place(both, "topic")
    assert arrived(model, half, [place], {}).at == frozenset()
    assert arrived(model, whole, [place], {}).at == {place}
    joined = model.add([one, other], {"a": (0,), "b": (1,), "c": (2,)}, ())
    assert arrived(model, joined, [place], {}).at == {place}


def test_a_commit_that_is_not_known_holds_only_where_a_message_names_it() -> None:
    model, (_, head) = _line(f"Squash\n\ncommit {99:040x}")
    named, other = Place(f"{99:040x}", "topic"), Place("f" * 40, "topic")
    assert arrived(model, head, [named, other], {}).at == {named}


def test_histories_without_a_common_commit_share_nothing() -> None:
    model = ModelRepository()
    one, other = model.add([], {"a": (0,)}, ()), model.add([], {"b": (0,)}, ())
    assert arrived(model, other, [Place(one, "main")], {"main": [one]}).at == frozenset()


def test_before_the_first_commit_nothing_is_asked() -> None:
    assert arrived(ModelRepository(), None, [Place("f" * 40)], {}).at == frozenset()


# --- facts ----------------------------------------------------------------------------


def _fact(number: int, **values: Value) -> Fact:
    named = {"id": f"01a1fd60-2f48-7000-8000-00000000000{number}", "content": f"Fact {number}"}
    return make_fact({**named, **values})


def test_a_fact_without_a_commit_holds_everywhere() -> None:
    anywhere, here = _fact(1), _fact(2, commit="a" * 40, branch="main")
    assert places_of(anywhere) == ()
    assert FactsByPlace([anywhere, here]).holding(()) == [anywhere]
    assert FactsByPlace([anywhere, here]).holding(places_of(here)) == [anywhere, here]


def test_a_promoted_fact_holds_where_it_was_promoted_to() -> None:
    fact = _fact(1, commit="a" * 40, branch="topic", promotedTo=["b" * 40])
    assert FactsByPlace([fact]).holding({Place("b" * 40)}) == [fact]
    assert FactsByPlace([fact]).holding({Place("c" * 40)}) == []


def test_a_fact_replaces_another_one_only_where_it_holds() -> None:
    old = _fact(1)
    new = _fact(2, commit="a" * 40, branch="topic", replaces=[old.id])
    assert FactsByPlace([old, new]).holding(()) == [old]
    assert FactsByPlace([old, new]).holding(places_of(new)) == [new]


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc"), st.integers(0, 4))))
def test_facts_that_come_and_go_hold_like_those_there(steps: list[tuple[int, str, int]]) -> None:
    known, facts = FactsByPlace(), dict[str, Fact]()
    for number, commit, other in steps:
        if commit == "c":
            known.drop(_fact(number).id)
            facts.pop(_fact(number).id, None)
        else:
            replaces = [_fact(other).id] if 0 < other < number else []
            fact = _fact(number, commit=commit * 40 if other else None, replaces=replaces)
            known.put(fact)
            facts[fact.id] = fact
    fresh = FactsByPlace(facts.values())
    assert ({x.id: x for x in known}, known.places) == (facts, fresh.places)
    for at in ((), {Place("a" * 40)}, {Place("b" * 40)}, fresh.places):
        assert sorted(x.id for x in known.holding(at)) == sorted(x.id for x in fresh.holding(at))
