"""Which texts hold secrets, and where."""

from __future__ import annotations

import hashlib
import random
import re
import string
import time
from itertools import starmap
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import secrets
from vaultsync.model.canonical import lower_each
from vaultsync.privacy.bip39 import numbers
from vaultsync.privacy.clean_texts import is_surely_clean
from vaultsync.privacy.detection import (
    CURL_COMMAND,
    CURL_LOGIN,
    HOST_LOGIN,
    OPTIONAL_FORMS,
    PRIVATE_KEY,
    URL_LOGIN,
    SecretSpan,
    _host_logins,
    find_secrets,
    merge_spans,
)
from vaultsync.privacy.named_secrets import NAME_PATTERNS
from vaultsync.privacy.placeholders import Redactor
from vaultsync.privacy.providers import MAX_LENGTH, SecretKind, providers
from vaultsync.privacy.redaction import secret_spans
from vaultsync.privacy.secret_names import ASCII_STEMS, OTHER_STEMS, stems_in

REDACTOR = Redactor(b"k" * 32)
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
KINDS = [row.kind for row in providers()]


def _dice(what: str) -> random.Random:
    return random.Random(f"vaultsync {what}")


def _hidden(text: str, secret: str) -> bool:
    """Whether nothing of a secret that matters is left."""
    spans = list(find_secrets(text))
    at = text.index(secret)
    return any(s.start <= at + len(secret) // 4 and at + len(secret) <= s.end for s in spans)


def test_there_are_at_least_forty_kinds_each_named_once_and_each_has_samples() -> None:
    assert len(KINDS) >= 40
    assert len(set(KINDS)) == len(KINDS)
    assert set(secrets.TOKENS) == set(KINDS)
    assert all(re.fullmatch("[a-z0-9-]+", kind) for kind in KINDS)
    assert all(row.needs and row.says for row in providers())


@given(
    st.lists(
        st.sampled_from(("a", "sip", "é", ":", "@", "x.y", "Zx9$kLm2Qw", " ", "[", "sha1", "/"))
    )
)
@example(["a" * 61, ":", "Zx9$kLm2Qw" * 10, "@", "a"])
@example(["a", ":", "Zx9$kLm2Qw", "@", "sha1"])
def test_logins_of_hosts_are_searched_before_each_sign_only(parts: list[str]) -> None:
    text = "".join(parts)
    found = [each.span() for each in _host_logins(text)]
    assert found == [each.span() for each in re.finditer(HOST_LOGIN, text)]


@pytest.mark.parametrize("row", [x for x in providers() if not x.far], ids=attrgetter("kind"))
@given(data=st.data())
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@pytest.mark.long(6)
def test_a_search_near_the_literals_finds_each_token(row: SecretKind, data: st.DataObject) -> None:
    token = data.draw(st.from_regex(row.pattern, fullmatch=True))
    apart = " " * (2 * MAX_LENGTH + 1)
    text = f"{token}{apart}{row.needs[0]} {token} {token}{apart}{token}"
    found = [each.span() for each in row.matches(text)]
    assert found == [each.span() for each in re.finditer(row.pattern, text)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_of_each_provider_is_found_whole_and_by_its_name(kind: str) -> None:
    dice = _dice(kind)
    for make in secrets.TOKENS[kind]:
        made = make(dice)
        for around in secrets.AROUND:
            text = around.format(made)
            found = merge_spans(list(find_secrets(text)))
            assert any(text[s.start : s.end] in made for s in found), text
            assert kind in {s.kind for s in find_secrets(text)}, (text, found)


def test_of_the_tokens_of_providers_nearly_all_are_found() -> None:
    dice = _dice("true")
    missed = []
    count = 0
    for kind in KINDS:
        for make in secrets.TOKENS[kind]:
            for around in secrets.AROUND:
                made = make(dice)
                count += 1
                if not _hidden(around.format(made), made.split()[-1].rpartition("/")[2]):
                    missed.append((kind, around.format(made)))
    assert count >= 300
    assert len(missed) <= 0.02 * count, missed


@pytest.mark.parametrize("kind", secrets.OTHERS)
def test_a_secret_is_told_by_what_stands_around_it(kind: str) -> None:
    dice = _dice(kind)
    for make in secrets.OTHERS[kind]:
        for _ in range(20):
            text = f"Before.\n\n{make(dice)}\n\nAfter."
            assert kind in {span.kind for span in find_secrets(text)}, text


def test_in_lines_without_secrets_fewer_than_one_in_a_thousand_is_taken_for_one() -> None:
    lines = list(secrets.false_lines(_dice("false"), 6_000))
    found = [line for line in lines if next(find_secrets(line), None)]
    assert len(found) < len(lines) / 1000, found[:10]


@pytest.mark.long(5)
def test_in_real_notes_fewer_than_one_line_in_a_thousand_is_taken_for_a_secret() -> None:
    pages = sorted((DATA / "obsidian-help").rglob("*.md"))
    if not pages:
        pytest.skip("shared/data is not beside the project")
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").split("\n")]
    every = Redactor(b"k", optional=frozenset(OPTIONAL_FORMS))
    for look in (REDACTOR, every):
        found = [line for line in lines if secret_spans(look, line)]
        assert len(found) < len(lines) / 1000, found[:10]
    assert not any(each.kind == "seed-phrase" for each in secret_spans(every, "\n".join(lines)))


@pytest.mark.parametrize(
    "text",
    [
        *("password: hunter2", "db_password=Tr0ub4dor&3", "pwd = correct7horse"),
        *("Passwort: geheim2026", "password: Correct-Horse!Battery"),
        "export GITLAB_TOKEN=x9Yk2LmNq8Rt5VwZ7aBc",
    ],
)
def test_a_password_after_its_word_is_found(text: str) -> None:
    assert [span.kind for span in find_secrets(text)] in (["password"], ["secret"])


@pytest.mark.parametrize(
    "text",
    [
        # Words, numbers and variables.
        *("password: required", "password: 12345678", "password: $DB_PASSWORD", "pass: 2nd"),
        *("curl x && docker run -u 1000:1000 y", "curl -u $USER:$PASSWORD https://x.example"),
        *("curl -u ada:ada x", "curl x; git push -u origin:main", "curl -u user:password x"),
        *("bypass: v2024release", "secret: this is prose", "https://user:password@host/"),
        *("a://b:c@", "mail:JohnDoe1985@example.org", "deploy:deploy@pier", "a:Tag1Ab2cD@sha256:9"),
        *(
            "login: anna / Dashboard2",
            "パスワードの仕様はPython3.11以降",
            "パスワード管理は1Password8",
        ),
        *(
            "パスワード認証はOpenSSH8.9で無効",
            "パスワード変更はWindows11から",
            "Error codes: 4040, 5001, 5002",
        ),
        *("Recovery code: ERR-CONN-404", "backup code: version2 of it", "backup code: 2024"),
        *("the recovery code is 6 digits long", "rescue code: print-and-hide1"),
        "the key: a1b2c3d4e5f6a7b8c9d0 of the map",
        *("authorization = getAuthorizationHeaderV2", "authorization: buildTokenV2_1(x)"),
        "authorization = my_auth_middleware_v2_handler_2",
        # Samples of documentation.
        *("token: aaaaaaaaaaaaaaaaaaaaaaaa1", "AK" + "IAIOSFODNN7EXAMPLE", "gh" + "p_" + "x" * 36),
        "-----BEGIN RSA PRIVATE KEY----- is how it begins",
    ],
)
def test_words_and_samples_are_no_secrets(text: str) -> None:
    assert list(find_secrets(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        *("password%3Dhunter2x", "password\\u003dhunter2x", "password\\x3dhunter2x"),
        *("password&#61;hunter2x", "password&#x3d;hunter2x", "password=&quot;hunter2x&quot;"),
        *('{\\"password\\":\\"hunter2x\\"}', "a\\npassword: hunter2x\\nb", "x%26pwd=hunter2x"),
        *("İstanbul: password: hunter2x", "Şifre: hunter2x", "the password for it is now hunter2x"),
        *("password: 'hunter2x and more", "password: „hunter2x“"),
        *("パスワードはhunter2xです", "password：hunter2x", "„Passwort“: „hunter2x“"),
    ],
)
def test_a_password_is_found_however_its_sign_is_written(text: str) -> None:
    spans = merge_spans(list(find_secrets(text)))
    assert any("hunter2x" in text[s.start : s.end] for s in spans)
    assert "password" in {s.kind for s in spans}


@pytest.mark.parametrize(
    "text",
    [
        *("mysql -u root -p{} app", "mysql -p {}", "sshpass -p '{}' ssh ada@pier", "7z x -p{} a"),
        *("docker login -u ada -p {} r.example", "redis-cli -a {} ping", "http -a ada:{} GET x"),
        *("echo '{}' | sudo -S ls", 'echo "ada:{}" | chpasswd', "xfreerdp /u:ada /p:{} /v:x"),
        *("machine x login ada password {}", "db:5432:app:ada:{}", "*:*:*:ada:{}", "WIFI:P:{};;"),
        *("ALTER USER ada WITH PASSWORD '{}';", "CREATE USER a IDENTIFIED BY '{}'", "psk={}"),
        *("Login: ada / {}", "ada@example.org / {}", "ssh ada@pier (password {})", "heslo: {}"),
        *("mc alias set pier http://pier:9000 ada {}", "パスワードは {} です"),
        *("user: ada, password: {}", "(admin) password for x = {}", "REDISCLI_AUTH={} x"),
        *("pass phrase: {}", "Pass-Phrase = {}"),
    ],
)
def test_a_password_is_found_in_its_place_and_nothing_more(text: str) -> None:
    secret = "hunter2x!" if "'{}'" in text else "hunter2x"
    said = text.replace("{}", secret)
    assert [said[s.start : s.end] for s in merge_spans(list(find_secrets(said)))] == [secret]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("The passphrase is lamp cloud pear tiger, as said.", "lamp cloud pear tiger"),
        ('The password is "lamp cloud pear tiger", he said.', "lamp cloud pear tiger"),
        ("password: lamp-cloud-pear-tiger", "lamp-cloud-pear-tiger"),
        ("Passphrase: lamp cloud pear tiger\nlamp cloud", "lamp cloud pear tiger"),
        ("Passphrase: lamp cloud pear tiger and what follows", "lamp cloud pear tiger"),
        ("app password: abcd efgh ijkl mnop", "abcd efgh ijkl mnop"),
        ("App password: abcd-efgh-ijkl-mnop, see there", "abcd-efgh-ijkl-mnop"),
        ("Router: Admin / xK3pQ9aB2m, at home", "xK3pQ9aB2m"),
    ],
)
def test_a_passphrase_ends_where_prose_begins(text: str, secret: str) -> None:
    (span,) = merge_spans(list(find_secrets(text)))
    assert text[span.start : span.end] == secret


@pytest.mark.parametrize("secret", ["hunter2x", "Tr0ub4dor"])
@pytest.mark.parametrize(
    "text", ["mysql -u root -p{} app", "use {} as the password", "net user ada {} /add"]
)
def test_no_text_with_a_secret_is_surely_clean(text: str, secret: str) -> None:
    text = text.replace("{}", f"{secret}9Kd")
    assert next(find_secrets(text), None)
    assert not is_surely_clean(text)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Recovery codes:\n12345678\n23456789\n34567890", "12345678\n23456789\n34567890"),
        ("Backup codes: 1234 5678, 2345 6789, 3456 7890", "1234 5678, 2345 6789, 3456 7890"),
        ("Códigos de respaldo:\n- 481516\n- 234210\n- 881234", "481516\n- 234210\n- 881234"),
        ("Backup code: 4810 5716", "4810 5716"),
        ("the recovery code is 48105716.", "48105716"),
        ("Wiederherstellungscode: 48105716", "48105716"),
        ("Código de respaldo: 481057", "481057"),
        ("pkcs11-tool --login --pin 482915 -O", "482915"),
        ("ykman piv access change-pin --new-pin=482915", "482915"),
    ],
)
def test_codes_of_digits_alone_are_found(text: str, secret: str) -> None:
    (span,) = merge_spans(list(find_secrets(text)))
    assert text[span.start : span.end] == secret
    assert not is_surely_clean(text)


@pytest.mark.parametrize("code", ["1a2b3-c4d5e", "8F3K-92LM-XQ7P", "x7k29mq4"])
@pytest.mark.parametrize(
    "place", ["recovery code: {}", "**Backup code:** `{}`", "bypass code:\n{}"]
)
def test_a_single_code_is_found_if_it_is_no_word(code: str, place: str) -> None:
    text = place.replace("{}", code)
    (span,) = merge_spans(list(find_secrets(text)))
    assert text[span.start : span.end] == code


_SPLIT = "gh" + "p_a8Xk9vQ2mLw7Rt3ZCrp5Yc1Bd4Ef6Gh0JkLmN4"


@pytest.mark.parametrize("at", [20, 28])
@pytest.mark.parametrize("between", ["\n", "\r\n", "\\\n", '"\n    "', "\n> "])
def test_a_token_is_found_whole_where_a_line_ends_within_it(at: int, between: str) -> None:
    secret = f"{_SPLIT[:at]}{between}{_SPLIT[at:]}"
    text = f"Token:\n\n{secret}\n\nDeployment\n"
    (span,) = merge_spans(list(find_secrets(text)))
    assert text[span.start : span.end] == secret


def test_a_word_below_a_token_is_not_a_part_of_it() -> None:
    for below in ("Deployment2", "NEXT-STEP-9", "see Xk9vQ2mLw7Rt3Zp5", _SPLIT):
        first, *others = merge_spans(list(find_secrets(f"{_SPLIT}\n{below}\n")))
        assert first.end == len(_SPLIT)
        assert len(others) == (below == _SPLIT)
    key = "sk-" + "ant-api03-" + "aB3dE5gH7jK9mN1p" * 5 + "AA"
    (span,) = merge_spans(list(find_secrets(f"{key}\nharbour/berths/Query2Map.py\n")))
    assert span.end == len(key)


@pytest.mark.parametrize(
    "token",
    [
        "aB1" + "8Q~" + "x9~Yk2Lm.NqRt5VwZ7a.c4Df~Gh6Jk_Pz3",
        "wh" + "sec_x9Yk2LmNqR+t5VwZ7aBc4D+Gh6JkPz3",
    ],
)
def test_tokens_without_a_long_word_are_found(token: str) -> None:
    (span,) = merge_spans(list(find_secrets(f"It is {token} now.")))
    assert f"It is {token} now."[span.start : span.end] == token
    assert not is_surely_clean(token)


@pytest.mark.parametrize("text", ["A 2nd try, in v2 of it.", "The crane lifts 40 tons.", "Berths"])
def test_most_texts_are_surely_clean(text: str) -> None:
    assert is_surely_clean(text)


RANDOM = "x9Yk2LmNq8Rt5VwZ7aBc"


@pytest.mark.parametrize(
    "text",
    [
        *("**Password:** hunter2x", "*Password:* `hunter2x`", "- __Password:__ hunter2x"),
        *("Password:: hunter2x", "(password:: hunter2x)"),  # Dataview's
        *("pw: hunter2x", "PW = hunter2x", "passcode: hunter2x"),
        *("Password for bob: hunter2x", "Passwort für das WLAN: hunter2x"),
        *("password (new): hunter2x", "password of the router: hunter2x"),
        *("mysql --password hunter2x app", "x -password hunter2x", "`y --db-password 'hunter2x'`"),
        "<password>hunter2x</password>",
    ],
)
def test_a_password_is_found_in_every_form_in_which_notes_label_it(text: str) -> None:
    (span,) = merge_spans(list(find_secrets(text)))
    assert (text[span.start : span.end], span.kind) == ("hunter2x", "password")


@pytest.mark.parametrize(
    "text",
    [
        *(f"**API key:** {RANDOM}", f"| API key | {RANDOM} |", f"access token for prod: {RANDOM}"),
        *(f"API key:\n{RANDOM}", f"API key:\n\n`{RANDOM}`\n\nand", f"Token:\r\n- {RANDOM}\r\n"),
        *(f"## API key\n\n{RANDOM}\n", f"**API key**\n{RANDOM}", f"- API key\n  - {RANDOM}\n"),
        *(f"unlock token: {RANDOM}", f"UNLOCK_TOKEN={RANDOM}", f"the bot token {RANDOM}"),
        *(f"Secret:\n\n```text\n{RANDOM}\n```\n", f"vault login --token {RANDOM}"),
    ],
)
def test_a_key_is_found_in_a_table_and_below_its_name(text: str) -> None:
    (span,) = merge_spans(list(find_secrets(text)))
    assert (text[span.start : span.end], span.kind) == (RANDOM, "secret")


def test_a_password_is_found_below_its_name_only_if_it_is_surely_one() -> None:
    for text in ("Password:\n\nTr0ub4dor&3\n", "### Password\n\nTr0ub4dor&3\n"):
        (span,) = find_secrets(text)
        assert span.kind == "password"
    for text in (
        *("| password | varchar255 |", "Password:\nchapter2\n", "Password:\nTr0ub4dor&3 is"),
        *("## Password\n\nchapter2\n", "my password\nTr0ub4dor&3 is", f"## The key\n\n{RANDOM}\n"),
        *("## Password policy\n\nTr0ub4dor&3\n", "## Token\n\nhttps://x9.example/Yk2Lm#NqT8r\n"),
    ):
        assert list(find_secrets(text)) == []


_ROWS = (("mail", "ada", "Tr0ub4dor&3"), ("wiki", "bob", "see the safe"), ("nas", "eve", RANDOM))


def _table(separator: str, *headings: str) -> str:
    rule = [["---", ":-:", "---"]] if separator == " | " else []
    return "\n".join(separator.join(each) for each in (headings, *rule, *_ROWS))


@pytest.mark.parametrize(
    "table",
    [
        _table(" | ", "for", "user", "password").replace("wiki", "short | row\nwiki"),
        _table(" | ", "Dienst", "Konto", "**Passwort** (neu)"),
        "> " + _table(" | ", "|", "user", "API key").replace("\n", " |\n> | "),
        *(_table(each, "url", "login_username", "login_password") for each in ",;\t"),
        _table('","', '"name', "url", "password").replace("\n", '"\n"'),
        "```\n" + _table(",", "name", "user", "token") + "\n```\n\n" + "a,b\n" * 3,
    ],
)
def test_secrets_are_found_in_the_columns_that_are_named_so(table: str) -> None:
    spans = merge_spans(list(find_secrets(f"Logins\n\n{table}\n\nand so on")))
    assert {f"Logins\n\n{table}\n"[s.start : s.end] for s in spans} >= {RANDOM}
    assert [s.end - s.start for s in spans] in ([11, len(RANDOM)], [len(RANDOM)])


@pytest.mark.parametrize(
    ("headings", "row"),
    [
        ("name,url,username,password,note", '"Bank, of old",b.example,ada,{},'),  # Chrome
        ('"Account","Login Name","Password"', '"Bank, of old","ada","{}"'),  # KeePass
        ("url,username,password,totp,extra,name", 'b.example,ada,{},,"two\n""lines"", so",Bank'),
        ("name;notes;login_password", '"a; b";"""c"" ;\n\nd";"{}"'),
    ],
)
def test_secrets_are_found_in_the_csv_of_password_managers(headings: str, row: str) -> None:
    secrets = ["Xk9vQ2mLw7Rt", "Wm4nB8yTc6Hd"]
    text = "\n".join([headings, *(row.replace("{}", each) for each in secrets)])
    spans = merge_spans(list(find_secrets(text)))
    assert [text[each.start : each.end] for each in spans] == secrets


@pytest.mark.parametrize(
    "headings",
    [
        *(("for", "password", "user"), ("password", "since", "digest"), ("a", "b", "token budget")),
        *(("a", "b", "password policy"), ("key", "value", "primary key"), ("a", "b", "page token")),
    ],
)
@pytest.mark.parametrize("separator", [" | ", ","])
def test_other_columns_have_no_secrets(headings: tuple[str, ...], separator: str) -> None:
    rows = _table(separator, *headings).replace("Tr0ub4dor&3", hashlib.sha256().hexdigest())
    assert list(find_secrets(rows)) == []


def test_words_below_token_are_no_secrets() -> None:
    for text in ("| Token | Count |\n|--|--|\n| GPT4oMini | 2 |", "token,id\niPhone15Pro,3"):
        assert list(find_secrets(text)) == []


@pytest.mark.parametrize("size", [12, 16, 24, 40])
def test_most_passwords_of_letters_are_told_from_names_in_programs(size: int) -> None:
    dice = _dice("letters")
    made = ["".join(dice.choices(string.ascii_letters, k=size)) for _ in range(400)]
    assert sum(_hidden(f"password={each}", each) for each in made) > 280
    if size > 12:
        assert sum(_hidden(f"API_KEY={each}", each) for each in made) > 280
    for name in ("getPasswordFromEnvironment", "XMLHttpRequestToken", "DataFrameGroupByApply"):
        assert list(find_secrets(f"password={name}")) == []
        assert list(find_secrets(f"api_key: {name}")) == []


@pytest.mark.parametrize(
    "text",
    [
        # Samples of documentation, behind a name.
        *("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "postgres://postgres:postgres@localhost/app"),
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        *(
            "https://{user}:{password}@host/",
            '"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"',
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY----- theSupercalifragilistic",
        ),
        # Names of secrets, and what is no secret though it is random.
        *("secretName: postgres-credentials-v15", "imagePullSecret: regcred-2024-eu-west-1"),
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:ProdDatabase-a1b2c3",
        *(
            "next_page_token: CAUQAA1234567890abcdef",
            "NEXT-TOKEN=CAUQAA1234567890abcdef",
            "nextPageToken: CAUQAA1234567890abcdef",
            "token: 0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",
        ),
        # Tickets and turns.
        *("Boarding pass: QF81AB, seat 12A", "First pass: v2draft", "using llvm::Pass::doInit2;"),
        # Code.
        *(
            "token = user_v2.create_access_token(identity=user_id)",
            "auth = dict(pwd=credentials[1])",
        ),
        *(
            "credentials: oauth2client.client.Credentials",
            "secret = b64.b64encode_all(os.urandom(32))",
        ),
        # A placeholder in a list of links.
        "[[a|password: (REDACTED:password:a3ac6755)]]",
    ],
)
def test_names_samples_and_expressions_are_no_secrets(text: str) -> None:
    assert list(find_secrets(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        *("password_policy: min12chars-and-2-digits", "private_key_file: server-key-2024.pem"),
        *("amqp://guest:guest@localhost:5672/", "r/token-service:v1.2.3-rc1-20260214-abc1234"),
        *("secret: vault:secret/data/app#password", "token = get_token(user_12345678)"),
        *("token = headers['X-Token-1234567890']", "the password is 12-character", "a://b1:b1@c"),
    ],
)
def test_what_belongs_to_a_secret_is_none(text: str) -> None:
    assert list(find_secrets(text)) == []


def test_a_key_with_slashes_is_random_and_a_path_is_not() -> None:
    key = "aB3/dE6/gH9/jK2/mN5/pQ8/sT1/vW4/yZ7"
    (span,) = find_secrets(f"api_key: {key}")
    assert span.kind == "secret"
    assert list(find_secrets("api_key: src/lib/App2/Main/Keys")) == []


@pytest.mark.parametrize("before", ["Which one? ", "https://a.example/?q=1 and ", "a?b="])
def test_a_question_mark_before_a_secret_hides_it_from_nobody(before: str) -> None:
    (found,) = find_secrets(f"{before}api_key=Ab3dE6gH9jKlMn0pQr5t")
    assert found.start == len(before) + len("api_key=")


def test_a_run_of_names_hides_as_a_whole_and_what_follows_is_looked_at() -> None:
    text = "pwd=" * 40 + " and password: hunter2x"
    spans = merge_spans(list(find_secrets(text)))
    assert text[spans[-1].start : spans[-1].end] == "hunter2x"


def test_a_private_key_is_one_secret_as_far_as_it_goes() -> None:
    key = secrets.OTHERS["private-key"][0](_dice("pem"))
    for each in (key, key.rpartition("\n")[0]):  # the latter is cut off
        text = f"Key:\n\n{each}\n\nand so on"
        (span,) = merge_spans(list(find_secrets(text)))
        assert text[: span.start] == "Key:\n\n"
        assert text[span.start :].startswith(each)
        assert text[span.end :].strip() == "and so on"


_STEMS = (*ASCII_STEMS, *OTHER_STEMS)
_CASED = st.sampled_from(_STEMS).flatmap(
    lambda stem: st.sampled_from((stem, stem.upper(), stem.title(), stem.replace("k", "\u212a")))
)


@given(st.lists(_CASED | st.text(max_size=6) | st.sampled_from("İßΣéł\ud800"), max_size=6))
def test_words_before_a_secret_are_found_in_any_case_among_all_letters(parts: list[str]) -> None:
    text = "".join(parts)
    low = lower_each(text)
    assert list(stems_in(text)) == [stem for stem in _STEMS if stem in low]


def test_tokens_are_found_in_letters_of_all_scripts() -> None:
    made = secrets.token("github", _dice("漢"))
    text = f"漢字🙂{made}。終"
    (span,) = find_secrets(text)
    assert text[span.start : span.end] == made


UNSEEN = (
    *("\xad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u2066", "\u115f", "\u17b4"),
    *("\u180b", "\u2065", "\u3164", "\ufe0f", "\uffa0", "\ufffb", "\U0001bca0", "\U0001d173"),
    *("\U000e0001", "\U000e0041", "\U000e01ef"),
)


@pytest.mark.parametrize("letter", UNSEEN)
def test_a_secret_with_letters_that_nobody_sees_is_found_with_them(letter: str) -> None:
    made = secrets.token("github", _dice("unseen"))
    for kept in (f"{letter.join(made)}", f"{made[:9]}{letter}{made[9:]}"):
        text = f"The key is {kept}{letter}."
        (span,) = secret_spans(REDACTOR, text)
        assert text[span.start : span.end] == kept
    mine = Redactor(b"k", (re.compile(r"ACME-\d{4}"),), ("open sesame",))
    text = f"see {letter.join('ACME-7731')} and open{letter} sesame"
    assert len(secret_spans(mine, text)) == 2
    assert list(find_secrets(f"plain {letter} text")) == []


def test_a_text_with_emoji_is_searched_once() -> None:
    assert is_surely_clean("⚠️ Take care of the ❤️.")
    assert not is_surely_clean("Take\ufe0fcare.")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://app:s3cr3t-w0rd@db.example.org/app", "s3cr3t-w0rd"),
        ("postgres://app:p@ss-w0rd@db.example.org/app", "p@ss-w0rd"),
        ("redis://:s3cr3t-w0rd@cache:6379/0", "s3cr3t-w0rd"),
        ("curl -s -u ada:s3cr3t-w0rd https://x.example", "s3cr3t-w0rd"),
        ("curl --user 'ada:s3cr3t-w0rd' x.example", "s3cr3t-w0rd"),
        ("ssh ada:Hunter2x9@pier.example.org", "Hunter2x9"),
        ("dsn: ada:s3cretPw9@tcp(127.0.0.1:3306)/app", "s3cretPw9"),
        ("https://example.org/?password=hunter2x&page=2", "hunter2x"),
        ("https://example.org/?page=2&api_key=x9Yk2LmNq8Rt5VwZ7aBc#top", "x9Yk2LmNq8Rt5VwZ7aBc"),
        ("https://x9Yk2LmNq8Rt5VwZ7aBc@git.example.org/x.git", "x9Yk2LmNq8Rt5VwZ7aBc"),
        ("[[API key]]: x9Yk2LmNq8Rt5VwZ7aBc", "x9Yk2LmNq8Rt5VwZ7aBc"),
        ("Authorization: x9Yk2LmNq8Rt5VwZ7aBc", "x9Yk2LmNq8Rt5VwZ7aBc"),
        ('{"authorization": "x9Yk2LmNq8Rt5VwZ7aBc"}', "x9Yk2LmNq8Rt5VwZ7aBc"),
        ("Authorization: SharedKey pier:x9Yk2LmNq8Rt5VwZ7aBc==", "x9Yk2LmNq8Rt5VwZ7aBc=="),
    ],
)  # fmt: skip
def test_what_lets_in_by_an_address_is_found_and_nothing_more(text: str, secret: str) -> None:
    (span,) = secret_spans(REDACTOR, text)
    assert text[span.start : span.end] == secret


@pytest.mark.parametrize(
    "between", [" x && curl -u", " | curl --user", " --proxy-user", "\ncurl -su"]
)
def test_each_login_of_a_line_of_commands_is_found(between: str) -> None:
    text = f"curl -u ada:s3cr3t-w0rd{between} bob:an0ther-pw x"
    assert [text[x.start : x.end] for x in secret_spans(REDACTOR, text)] == [
        "s3cr3t-w0rd",
        "an0ther-pw",
    ]


def test_the_words_of_seed_phrases_are_those_of_the_standard() -> None:
    lines = "".join(f"{word}\n" for word in numbers())
    assert hashlib.sha256(lines.encode()).hexdigest() == (
        "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"
    )


def _phrase(dice: random.Random, count: int) -> list[str]:
    """A seed phrase, made as wallets make them."""
    secret = dice.randbytes(count * 4 // 3)
    bits = count // 3
    check = hashlib.sha256(secret).digest()[0] >> 8 - bits
    whole = int.from_bytes(secret) << bits | check
    words = list(numbers())
    return [words[whole >> 11 * at & 2047] for at in reversed(range(count))]


SEEDS = Redactor(b"k", optional=frozenset({"seed-phrase"}))


@pytest.mark.parametrize("count", [12, 15, 18, 21, 24])
def test_seed_phrases_are_found_however_they_are_written(count: int) -> None:
    dice = _dice(f"seed {count}")
    words = _phrase(dice, count)
    written = (
        " ".join(words), ", ".join(words), "\n".join(words), " ".join(words).upper(),
        "\n".join(f"{number}. {word}" for number, word in enumerate(words, 1)),
    )  # fmt: skip
    for phrase in written:
        text = f"Our wallet has:\n\n{phrase}\n\nKeep them."
        (span,) = secret_spans(SEEDS, text)
        assert span.kind == "seed-phrase"
        assert phrase.endswith(text[span.start : span.end].rpartition("\n")[2])
        assert words[0] in text[span.start : span.end].lower()
        assert secret_spans(REDACTOR, text) == []


def test_words_that_are_no_seed_phrase_are_not_taken_for_one() -> None:
    words = _phrase(_dice("no seed"), 12)
    wrong = ["zoo" if words[-1] != "zoo" else "zone", *words[:-1]]
    split = [[*words[:6], between, *words[6:]] for between in ("and", "漢")]
    for each in (words[:11], *split, wrong, numbers()):  # the last is the list itself
        assert secret_spans(SEEDS, " ".join(each)) == []


def test_spans_that_touch_the_same_letters_become_one() -> None:
    spans = [(5, 9, "b"), (0, 6, "a"), (9, 12, "c"), (1, 2, "d")]
    assert merge_spans(list(starmap(SecretSpan, spans))) == [
        SecretSpan(0, 9, "a"),
        SecretSpan(9, 12, "c"),
    ]
    assert merge_spans([]) == []


# Numbers that every shop may use to try its till.
CARD, IBAN = "4111 1111 1111 " + "1111", "DE89 3704 0044 0532 " + "0130 00"


def test_cards_and_accounts_are_looked_for_when_they_are_asked_for() -> None:
    text = f"pay with {CARD} from {IBAN}, not 4111 1111 1111 1112 or DE88 3704 0044 0532 0130 00"
    assert secret_spans(REDACTOR, text) == []
    both = Redactor(b"k", optional=frozenset({"card", "iban"}))
    assert [text[s.start : s.end] for s in secret_spans(both, text)] == [CARD, IBAN]


def test_the_users_patterns_and_values_are_secrets() -> None:
    patterns = tuple(map(re.compile, (r"ACME-\d+", r"ticket (\w+)", r"x*")))
    mine = Redactor(b"k", patterns, ("open sesame",))
    text = "ACME-77, ticket abc, open sesame"
    found = {text[s.start : s.end]: s.kind for s in secret_spans(mine, text)}
    assert found == {"ACME-77": "custom", "abc": "custom", "open sesame": "environment"}


SIZE = 64 << 10
_BITS = (
    "a", "A", "0", "-", "_", ".", "/", "=", "\n", " ", "eyJ", "eyJa.", "sk-", "sk-ant-",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "A" * 20, "://a:b", "://",
    "password:", "password: a1", "token=", "M" + "a" * 24 + ".", "xoxb-", "AAAAAAAAAAAAAAAAAAAAAA",
    "hooks.slack.com/services/", "bearer ", "Authorization: Basic ", "\\n", "A3-AAAAAA-", "t1.A",
    "1 ", "DE89", "A%", "discord.com/api/webhooks/1", "gh" + "p_", "[REDACTED:",
    "eyJ" + "a" * 12 + ".", "password for a ", "password (", "--pw ", "token:\n\n", "| token ",
)  # fmt: skip


def _hostile(row: str) -> list[str]:
    """Texts that a pattern nearly matches again and again."""
    seed = _dice(row)
    made = [bit * (SIZE // len(bit)) for bit in _BITS]
    for make in secrets.TOKENS.get(row, ()):
        token = make(seed)
        parts = (token[: len(token) // 2], token[:-1], token[:-1] + " ")
        made += [(part * SIZE)[:SIZE] for part in parts]
    return made


PATTERNS = {
    **{row.kind: row.pattern for row in providers()},
    **OPTIONAL_FORMS,
    "private-key": PRIVATE_KEY,
    "url": URL_LOGIN,
    "curl": CURL_COMMAND,
    "curl-login": CURL_LOGIN,
    "host": HOST_LOGIN,
    **{name: row for name, row in NAME_PATTERNS.items() if name.endswith("_VALUE")},
    "phrase": f"phrase{NAME_PATTERNS['PHRASE']}",
}


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.long(4)
def test_no_pattern_takes_long_over_any_text(name: str) -> None:
    pattern = re.compile(PATTERNS[name])
    for text in _hostile(name):
        began = time.process_time()
        list(pattern.finditer(text))
        assert time.process_time() - began < 0.5, (name, text[:60])


def test_looking_for_everything_takes_no_time_over_any_text() -> None:
    for text in _hostile(""):
        began = time.process_time()
        secret_spans(REDACTOR, text)
        assert time.process_time() - began < 2, text[:60]
