"""Of what a hook tells, what matters is stored once, and without secrets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.world import World
from vaultsync.notes.view import NoteView
from vaultsync.observations.classifier import Classifier, ObservedText
from vaultsync.observations.hooks import CLAUDE_CODE, CaptureReport, Hook
from vaultsync.observations.rules import RuleClassifier
from vaultsync.observations.service import capture
from vaultsync.privacy.placeholders import Redactor

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
DECIDED = "We decided to keep SQLite for the bookings."
ROUTINE = "Opened the settings file and looked at the defaults."


class Silent(RuleClassifier):
    """Does not answer."""

    def classify(self, texts: Sequence[ObservedText]) -> list[str | None]:
        return [None for _ in texts]


def _hook(session: str = "s1") -> Hook:
    return Hook(CLAUDE_CODE, "Stop", session, (), f"Claude Code, Bash: echo {SECRET}", "")


def _captured(
    world: World,
    *texts: str,
    session: str = "s1",
    classifier: Classifier | None = RuleClassifier(),  # noqa: B008 - it has no state
) -> CaptureReport:
    world.clock.advance(1)
    report, facts = capture(world.ctx, _hook(session), texts, classifier, agent="indy")
    assert [each.id for each in facts] == [each.id for each in report.kept]
    return report


def test_what_matters_is_kept_and_noise_is_not_stored(world: World) -> None:
    report = _captured(world, f"{ROUTINE}\n\n{DECIDED}")
    world.quiesce()

    assert (report.seen, report.noise, report.known) == (2, 1, 0)
    [kept] = report.kept
    assert (kept.tier, kept.content) == ("critical", DECIDED)
    fact = world.fact(kept.id)
    assert (fact.status, fact.content, fact.session_id) == ("pending", DECIDED, "s1")
    assert len(world.notes()) == 1


@pytest.mark.parametrize("classifier", [Silent(), None], ids=["silent", "unusable"])
def test_what_the_classifier_does_not_answer_is_kept_and_waits(
    world: World, classifier: Classifier | None
) -> None:
    report = _captured(world, ROUTINE, classifier=classifier)

    assert (report.noise, [each.tier for each in report.kept]) == (0, ["pending"])


def test_the_same_session_brings_an_observation_once(world: World) -> None:
    first = _captured(world, DECIDED)
    again = _captured(world, DECIDED)
    other = _captured(world, DECIDED, session="s2")
    unnamed = [_captured(world, DECIDED, session="").kept[0].id for _ in range(2)]

    assert (len(first.kept), again.kept, again.known) == (1, (), 1)
    assert len({first.kept[0].id, other.kept[0].id, *unnamed}) == 4


def test_no_secret_of_a_hook_reaches_the_store() -> None:
    world = World(view=NoteView.of(Redactor(b"k" * 32), redacts=True, escapes=True))
    report = _captured(world, f"The token {SECRET} leaked into the public log of production.")

    fact = world.store.find_many([report.kept[0].id])[report.kept[0].id]
    assert SECRET not in f"{fact.content} {fact.context} {report}"
    assert "leaked into the public log" in fact.content
