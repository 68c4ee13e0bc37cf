"""`python -m tests.eval`: ask all questions in all ways, and print what came of it."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from statistics import mean

from tests.eval.arms import ARMS, Answer, ask, summary
from tests.eval.collections import HEADLINE, KINDS, LOCOMO, Collection, as_notes, locomo
from tests.eval.measures import interval
from tests.eval.packs import Packed, pack_all
from tests.eval.phrasings import phrased
from tests.eval.questions import HELP_VAULT, SPLITS, Split, questions, vaults
from tests.eval.replies import Reply, packs, replies, table
from tests.eval.texts import BEAM, beam
from tests.eval.tiers import print_tiers
from tests.eval.worlds import MODELS, OpenVault, conversation, open_vault, plain_notes, sample_vault

PARTS = ("retrieval", "questions", "phrasings", "locomo", "notes", "beam", "tiers")
HEAD = (
    f"{'arm':7} {'questions':16} {'n':>4} {'R@5 (95 %)':>20} {'R@10':>6} {'nDCG':>6}"
    f" {'MRR':>6} {'hit@5':>6} {'tokens':>7} {'index':>6} {'sure':>6} {'right':>6}"
)
PACKS = """context packs: tokens, the share of the relevant facts that are in a pack, and how
many fewer tokens that is than the first hits take, packed whole, to hold as many.
answered: of those in brief only such as still hold the words that answer.

budget  tokens   found   saved  answered   saved"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.eval", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="the one part to measure; default: all")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    parser.add_argument("--least", type=float, default=0.0, help="count no hit that scores less")
    parser.add_argument(
        "--splits",
        nargs="+",
        choices=SPLITS,
        default=SPLITS[:1],
        help="halves of golden/questions; only a last report asks for held-out",
    )
    asked = parser.parse_args()
    parts = [asked.only] if asked.only else PARTS
    os.environ.setdefault("VAULTSYNC_MODELS", str(MODELS))
    print(
        "R@k: share of the relevant facts among the first k; index: answered by the"
        "\nindex alone; sure: answers with confidence 0.7 or more; right: of those,"
        "\nthe share with a relevant hit among the first five.\n"
    )
    if "retrieval" in parts:
        _retrieval(asked.arms, asked.least)
    if "questions" in parts:
        _questions(asked.arms, asked.splits)
    if "phrasings" in parts:
        _phrasings(asked.arms)
    if "locomo" in parts:
        _locomo(asked.arms, asked.least)
    if "notes" in parts:
        _locomo_notes(asked.arms, asked.least)
    if "beam" in parts:
        _beam(asked.arms)
    if "tiers" in parts:
        print_tiers(asked.splits)


def _retrieval(arms: Sequence[str], least: float) -> None:
    print(f"golden/retrieval: questions over sample-vault\n\n{HEAD}")
    with (
        tempfile.TemporaryDirectory() as folder,
        sample_vault(Path(folder)) as (sources, questions),
    ):
        for arm in arms:
            answers = ask(sources, questions, arm, least=least)
            _row(arm, "all", answers)
            _row(arm, "priority facts", (a for a in answers if a.asked.priority_fact))
            for kind in dict.fromkeys(each.kind for each in questions):
                _row(arm, f"  {kind}", (a for a in answers if a.asked.kind == kind))
        print(f"\n{PACKS}")
        _packs([pack_all(sources, questions)])
    print()


def _questions(arms: Sequence[str], splits: Sequence[Split]) -> None:
    """Each half apart, of each vault and of both."""
    print(
        "golden/questions: relevance@5 is the share of the expected notes among the first"
        "\nfive, of five where more are expected; silence: the share of the questions that"
        "\nnothing answers and that got no hit or none with confidence 0.7; empty: no hit.\n"
    )
    found: dict[tuple[str, Split], list[list[Reply]]] = {}
    for name, vault in _open_vaults():
        for arm in arms:
            for split in splits:
                some = replies(vault, questions(name, split), arm)
                found.setdefault((arm, split), []).append(some)
                print("\n".join([f"{arm}, {split}, {name}", *table(some), ""]), flush=True)
        for split in splits:
            rows = packs(vault, questions(name, split))
            print("\n".join([f"context packs, {split}, {name}", *rows, ""]), flush=True)
    for (arm, split), parts in found.items():
        if len(parts) > 1:
            both = [each for part in parts for each in part]
            print("\n".join([f"{arm}, {split}, all vaults", *table(both), ""]), flush=True)


def _phrasings(arms: Sequence[str]) -> None:
    """The development half alone, because these rows are for tuning."""
    for name, vault in _open_vaults():
        for arm in arms:
            rows = phrased(vault, questions(name), arm)
            print("\n".join([f"phrasings, {arm}, {name}", *rows, ""]), flush=True)


def _open_vaults() -> Iterator[tuple[str, OpenVault]]:
    """Each set of `golden/questions` with its vault, which is open until the next one."""
    for name, notes in vaults().items():
        if not notes.is_dir():
            print(f"{name}: not measured, its notes are not there; {HELP_VAULT} names them\n")
            continue
        with tempfile.TemporaryDirectory() as folder, open_vault(Path(folder), notes) as vault:
            yield name, vault


def _packs(many: Sequence[Sequence[Packed]]) -> None:
    """A row per budget, the mean over vaults."""
    for some in zip(*many, strict=True):
        print(
            f"{some[0].budget:6} {mean(each.tokens for each in some):7.0f}"
            f" {mean(each.found for each in some):7.3f}"
            f" {mean(each.saved_found for each in some):7.0%}"
            f" {mean(each.answered for each in some):9.3f}"
            f" {mean(each.saved_answered for each in some):7.0%}",
            flush=True,
        )


def _locomo(arms: Sequence[str], least: float) -> None:
    conversations = locomo()
    if not conversations:
        print(f"LoCoMo: not measured, {LOCOMO} is not there")
        return
    answers: dict[str, list[Answer]] = {arm: [] for arm in arms}
    for one in conversations:
        with tempfile.TemporaryDirectory() as folder, conversation(Path(folder), one) as sources:
            for arm in arms:
                answers[arm] += ask(sources, one.questions, arm, least=least)
    print(f"LoCoMo: packs of long notes, a session each\n\n{PACKS}")
    _packs([_packs_of_notes(as_notes(one)) for one in conversations])
    print(f"\nLoCoMo: turns of {len(conversations)} conversations\n\n{HEAD}")
    _conversations(arms, conversations, answers)


def _locomo_notes(arms: Sequence[str], least: float) -> None:
    """The same turns and questions; sessions, speakers and times are not told."""
    conversations = locomo()
    answers: dict[str, list[Answer]] = {arm: [] for arm in arms}
    for one in conversations:
        with tempfile.TemporaryDirectory() as folder, plain_notes(Path(folder), one) as opened:
            for arm in arms:
                answers[arm] += ask(*opened, arm, least=least)
    if conversations:
        print(f"\nLoCoMo: each turn a plain note, numbered, in a folder per session\n\n{HEAD}")
        _conversations(arms, conversations, answers)


def _beam(arms: Sequence[str]) -> None:
    """Long messages of chats; what they do not answer asks for a detail of a known topic."""
    chats = list(beam(chats=10))
    if not chats:
        print(f"BEAM: not measured, {BEAM} is not there")
        return
    answers: dict[str, list[Answer]] = {arm: [] for arm in arms}
    for one in chats:
        with tempfile.TemporaryDirectory() as folder, conversation(Path(folder), one) as sources:
            for arm in arms:
                answers[arm] += ask(sources, one.questions, arm)
    print(f"\nBEAM: messages of {len(chats)} chats")
    print(f"\n{HEAD}")
    for arm, some in answers.items():
        _row(arm, "all", some)
        for kind in sorted({each.asked.kind for each in some}):
            _row(arm, f"  {kind[:14]}", (a for a in some if a.asked.kind == kind))
        both = [a.worth.recall_5 == 1 for a in some if a.asked.kind.startswith("contradiction")]
        print(f"{arm:7} both sides of a contradiction are among the first five: {mean(both):.3f}")


def _conversations(
    arms: Sequence[str],
    conversations: Sequence[Collection],
    answers: Mapping[str, Sequence[Answer]],
) -> None:
    for arm in arms:
        some = answers[arm]
        _row(arm, "categories 1-4", (a for a in some if a.asked.kind in HEADLINE))
        for number, kind in KINDS.items():
            _row(arm, f"  {number} {kind}", (a for a in some if a.asked.kind == kind))
        for one in conversations:
            ids = {each.id for each in one.questions if each.kind in HEADLINE}
            _row(arm, f"  {one.name}", (a for a in some if a.asked.id in ids))


def _packs_of_notes(one: Collection) -> list[Packed]:
    """Of each fourth question: they are many, and each is packed in six ways."""
    asked = [each for each in one.questions if each.kind in HEADLINE][::4]
    with tempfile.TemporaryDirectory() as folder, conversation(Path(folder), one) as sources:
        return pack_all(sources, asked)


def _row(arm: str, name: str, answers: Iterable[Answer]) -> None:
    some = list(answers)
    figures = summary(some)
    recall_5, *shares, tokens = astuple(figures.worth)
    low, high = interval([each.worth.recall_5 for each in some])
    row = " ".join([f"{recall_5:6.3f} ({low:.3f}-{high:.3f})", *(f"{x:6.3f}" for x in shares)])
    print(
        f"{arm:7} {name:16} {figures.questions:4} {row} {tokens:7.0f}"
        f" {figures.by_index:6.2f} {figures.sure:6} {figures.right:6.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
