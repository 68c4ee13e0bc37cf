"""Secrets are replaced by placeholders, and come back."""

from __future__ import annotations

import hmac
import random
import re
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests import secrets
from vaultsync.privacy import placeholders
from vaultsync.privacy import redaction as redact
from vaultsync.privacy.placeholders import (
    NO_REDACTION,
    NO_SECRETS,
    PLACEHOLDER,
    KnownSecrets,
    Redaction,
    RedactionText,
    Redactor,
    join_secrets,
)
from vaultsync.privacy.redaction import (
    QUOTED_KIND,
    has_secret,
    hide_secrets,
    learn_placeholders,
    redaction_for,
    register_rules,
    scrub,
    secret_spans,
)

KEY = b"a key of this machine, 32 bytes."
REDACTOR = Redactor(KEY, (re.compile(r"ACME-\d{4}"),))
TOKEN = secrets.token("github", random.Random(1))
OTHER = secrets.token("gitlab", random.Random(2))
NAME = REDACTOR.placeholder("github", TOKEN)


@pytest.mark.parametrize("text", [TOKEN, "ACME-1234", "AC\u200bME-1234"])
def test_a_text_with_any_secret_has_one(text: str) -> None:
    assert has_secret(REDACTOR, f"See {text}.")
    assert not has_secret(REDACTOR, "See ACME.")


_BITS = [
    TOKEN, OTHER, "ACME-1234", NAME, NAME[1:-1], "[REDACTED:", "[REDACTED:github:00000000]",
    "REDACTED:a:00000000", "[", "]", " ", "\n", "password: hunter2x", "hunter2x", "ff", "…", "x",
    "(", ":", "-----BEGIN PRIVATE KEY-----\n" + "Ab3/" * 16 + "\n-----END PRIVATE KEY-----",
]  # fmt: skip
texts = st.lists(st.sampled_from(_BITS), max_size=8).map("".join)
names = texts.map(lambda text: re.sub(r"[\[\]|\n]", "", text))
pieces = st.lists(
    st.builds(RedactionText, texts, st.sampled_from(["", "api_key", "note"]))
    | st.builds(RedactionText, names, st.just(""), st.just(True)),
    max_size=5,
)


def hidden(*many: RedactionText | str) -> Redaction:
    """How the secrets of texts that belong together are hidden."""
    pieces = [each if isinstance(each, RedactionText) else RedactionText(each) for each in many]
    return redaction_for(REDACTOR, pieces, hides=True)


@given(pieces, st.booleans())
def test_what_is_hidden_comes_back(many: list[RedactionText], hides: bool) -> None:
    how = redaction_for(REDACTOR, many, hides=hides)
    for piece in many:
        shown = how.hide(piece.text, bare=piece.bare)
        assert how.secrets.restore(shown, bare=piece.bare) == (piece.text, [])


@given(pieces)
def test_nothing_that_is_a_secret_is_shown(many: list[RedactionText]) -> None:
    how = hidden(*many)
    for piece in many:
        shown = how.hide(piece.text, bare=piece.bare)
        for secret in (TOKEN, OTHER):
            whole = re.compile(rf"(?<![A-Za-z0-9_-]){secret}(?![A-Za-z0-9_-])")
            assert not whole.search(shown)


@given(texts)
def test_what_is_hidden_has_no_secrets_left(text: str) -> None:
    once = hide_secrets(REDACTOR, text)
    assert hide_secrets(REDACTOR, once) == once


def test_a_text_without_secrets_is_itself() -> None:
    assert hide_secrets(REDACTOR, "plain") == "plain"
    assert hidden("plain") is NO_REDACTION
    assert NO_REDACTION.hide("plain") == "plain"
    assert NO_SECRETS.restore("plain") == ("plain", [])


def test_the_same_secret_has_the_same_placeholder_and_another_key_another() -> None:
    shown = hide_secrets(REDACTOR, f"{TOKEN} and {TOKEN}, {OTHER}")
    one, two, three = PLACEHOLDER.findall(shown)
    assert one == two != three
    assert hide_secrets(REDACTOR, TOKEN) == one
    assert hide_secrets(Redactor(b"another"), TOKEN) != one
    assert re.fullmatch(r"\[REDACTED:github:[0-9a-f]{8}\]", one)


def test_a_secret_is_hidden_wherever_it_stands_in_what_belongs_together() -> None:
    how = hidden("password: hunter2xyz", "try hunter2xyz", "hunter2xyzt")
    assert "hunter2" not in how.hide("try hunter2xyz")
    assert how.hide("hunter2xyzt") == "hunter2xyzt"  # another word


def test_a_short_secret_is_hidden_only_where_it_was_told_to_be_one() -> None:
    how = hidden("password: abc12x", "abc12x is a room")
    assert how.hide("abc12x is a room") == "abc12x is a room"


def test_a_word_is_a_secret_for_what_it_is_called() -> None:
    word = "x9Yk2LmNq8Rt5VwZ7aBc"
    assert hidden(word) is NO_REDACTION
    how = hidden(RedactionText(word, "api_key"))
    assert re.fullmatch(r"\[REDACTED:secret:.{8}\]", how.hide(word))


def test_what_is_left_of_a_secret_that_was_cut_off_is_hidden() -> None:
    title = f"Use {TOKEN[:20]}…"
    how = hidden(title, f"Use {TOKEN} now")
    assert TOKEN[:8] not in how.hide(title)
    assert how.secrets.restore(how.hide(title)) == (title, [])
    far = f"Use {TOKEN[:6]}…"
    assert hidden(far, TOKEN).hide(far) == far


def test_a_placeholder_that_a_text_quotes_is_text_unless_it_stands_for_something() -> None:
    alone = hidden(NAME)
    assert alone.hide(NAME) == NAME
    assert alone.secrets.restore(NAME) == (NAME, [])
    both = f"{NAME} is {TOKEN}"
    how = hidden(both)
    first, second = PLACEHOLDER.findall(how.hide(both))
    assert QUOTED_KIND in first
    assert second == NAME


def test_placeholders_that_are_not_known_are_named() -> None:
    text = f"{NAME} {NAME}"
    assert NO_SECRETS.restore(text) == (text, [NAME, NAME])
    assert KnownSecrets({NAME: "x"}).restore(text) == ("x x", [])


def test_of_several_versions_a_placeholder_stands_for_one_secret_or_for_none() -> None:
    a, b = (KnownSecrets({"p": "1", "q": "q"}), KnownSecrets({"p": "1", "q": "2", "r": "3"}))
    assert join_secrets([a, b]).known == {"p": "1", "q": "2", "r": "3"}
    assert join_secrets([b, a]).known == {"p": "1", "q": "2", "r": "3"}
    assert join_secrets([a, KnownSecrets({"p": "2"})]).known == {"q": "q"}


def test_known_secrets_are_hidden_in_other_texts_too() -> None:
    known = KnownSecrets({NAME: "hunter2xyz", "[REDACTED:x:00000000]": "[REDACTED:x:00000000]"})
    assert hide_secrets(REDACTOR, "my hunter2xyz.", known) == f"my {NAME}."
    assert "hunter2x" not in hide_secrets(REDACTOR, "my hunter2x…", known)
    assert hide_secrets(REDACTOR, "hunter", known) == "hunter"
    how = redaction_for(REDACTOR, [RedactionText("hunter2xyz", bare=True)], hides=True, also=known)
    assert how.hide("hunter2xyz", bare=True) == NAME[1:-1]


def test_secrets_of_several_lines_stay_where_they_are_shown() -> None:
    key = secrets.OTHERS["private-key"][0](random.Random(3))
    text = f"{key}\n{TOKEN}"
    how = hidden(text)
    assert key not in how.hide(text)
    assert how.hide(text, shown=f"so {key}") == f"{key}\n{NAME}"


A, B = "[REDACTED:a:00000001]", "[REDACTED:b:00000002]"


@pytest.mark.parametrize(
    ("shown", "true", "found"),
    [
        (f"x {A} y", "x 1 y", {A: "1"}),
        (A, "whole", {A: "whole"}),
        (f"{A}, {B}!", "1, 2!", {A: "1", B: "2"}),
        (f"{A}, {A}", "1, 1", {A: "1"}),
        (f"{A}, {A}", "1, 2", {}),
        (f"{A}{B}", "12", {}),
        (f"x {A} y", "z 1 y", {}),
        (f"x {A} y", "x 1 z", {}),
        (f"x{A}y{B}z", "x1z", {}),
        (f"x {A}", "x ", {}),
        ("plain", "plain", {}),
        (A, A, {}),
    ],
)
def test_placeholders_are_learned_from_texts(shown: str, true: str, found: dict[str, str]) -> None:
    assert learn_placeholders(shown, true) == found


def test_errors_and_logs_hide_what_the_users_rules_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_REGISTERED_RULES", {})
    register_rules(Redactor(KEY))  # without rules there is nothing to remember
    assert scrub("no ACME-1234") == "no ACME-1234"
    assert scrub(f"no: {TOKEN}!") == "no: [REDACTED:github]!"  # without a key
    for key in (KEY, b"of another vault"):
        register_rules(structs.replace(REDACTOR, key=key))
    assert len(redact._REGISTERED_RULES) == 1
    register_rules(Redactor(KEY, values=("swordfish",)))
    said = f"no ACME-1234, swordfish or {TOKEN}"
    assert scrub(said) == "no [REDACTED:custom], [REDACTED:environment] or [REDACTED:github]"


def test_many_secrets_are_found_again_wherever_they_are() -> None:
    many = [f"hunter{number}xyz" for number in range(100)]
    redactor = Redactor(b"k" * 32)
    known = KnownSecrets({redactor.placeholder("password", each): each for each in many})
    text = " and ".join((*many, "hunter100xyz", "xhunter1xyz"))
    hidden = hide_secrets(redactor, text, known)
    assert [each for each in many if f" {each} " in hidden] == []
    assert hidden.count("REDACTED:") == len(many)
    assert "hunter100xyz" in hidden
    assert "xhunter1xyz" in hidden  # shorter than what is hidden within words
    assert known.restore(hidden)[0] == text


def test_a_secret_right_beside_one_of_the_users_own_is_found() -> None:
    token = "ghp_" + "rFRqYSMu9nmohemZrvgJysFuuwTQyZ6F10Hc"
    found = secret_spans(Redactor(b"k" * 32, values=("acme7731x",)), f"acme7731x{token}")
    assert [each.kind for each in found] == ["environment", "github"]


def test_what_the_last_look_finds_is_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_MAX_LOOKS", 1)
    token = "ghp_" + "rFRqYSMu9nmohemZrvgJysFuuwTQyZ6F10Hc"
    redactor = Redactor(b"k" * 32, values=("acme7731x",))
    hidden = hide_secrets(redactor, f"acme7731x{token} acme7731x")
    assert hidden.count("[REDACTED:") == 3
    assert hidden.count("acme7731x") + hidden.count(token) == 0


def test_the_placeholder_of_a_secret_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"password: a{number}B2c3D4" for number in range(20))
    digest = Mock(side_effect=hmac.digest)
    monkeypatch.setattr(placeholders, "hmac", Mock(digest=digest))
    how = hidden(text, RedactionText("a0B2c3D4 is old", label="Title"))
    assert len(how.secrets.known) == digest.call_count == 20
