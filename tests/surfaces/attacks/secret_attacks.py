"""Secrets of many kinds in many places, and what only looks like one.

Half of the pairs of a kind and a context is held out, by a hash of their names: the rules were
written by the other half, and are measured by both.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests import secrets
from tests.secrets import ALNUM, DIGITS, HEX, LOWER, WORD, form, of, strong
from tests.surfaces.attacks import pasted_secrets

_SIGNED = ALNUM + "!#$%&()*+-./:;<=>?@[]^_{|}~,"
"""Letters, digits and signs, as password managers choose them."""
_OF_DJANGO = LOWER + "0123456789!@#$%^&*(-_=+)"


class PlantedSecret(NamedTuple):
    """A secret, with what must be around it to tell it."""

    text: str
    secret: str


MakeSecret = Callable[[random.Random], PlantedSecret]


def _bare(make: secrets.Make) -> MakeSecret:
    def made(dice: random.Random) -> PlantedSecret:
        text = make(dice)
        # What is hidden of an address or a header is its last part.
        return PlantedSecret(text, text.split()[-1].rpartition("/")[2])

    return made


def _named(template: str, make: secrets.Make) -> MakeSecret:
    def made(dice: random.Random) -> PlantedSecret:
        value = make(dice)
        return PlantedSecret(template.replace("{}", value), value)

    return made


_PASSWORD = strong(ALNUM, 12)
_SIGNED_PASSWORD = strong(_SIGNED, 16)
_KEY = strong(ALNUM, 32)
_SIGNED_KEY = strong(_SIGNED, 40)
_NAMED: Mapping[str, tuple[str, secrets.Make]] = {
    "password": ("password: {}", _PASSWORD),
    "password with signs": ("password: {}", _SIGNED_PASSWORD),
    "password in capitals": ("DB_PASSWORD={}", _PASSWORD),
    "password in JSON": ('"password": "{}"', _PASSWORD),
    "password of Passwort": ("Passwort: {}", _PASSWORD),
    "password of pwd": ("pwd={}", _PASSWORD),
    "passphrase": ("passphrase = '{}'", _SIGNED_PASSWORD),
    "PGPASSWORD": ("PGPASSWORD={}", _PASSWORD),
    "api_key": ("api_key: {}", _KEY),
    "api_key with signs": ("api_key: {}", _SIGNED_KEY),
    "apiKey": ("apiKey: '{}'", _KEY),
    "API-Key header": ("X-API-Key: {}", _KEY),
    "secret": ("secret: {}", _KEY),
    "secret with signs": ("secret: {}", _SIGNED_KEY),
    "client_secret": ('client_secret="{}"', _KEY),
    "SECRET_KEY of Django": ("SECRET_KEY = 'django-insecure-{}'", strong(_OF_DJANGO, 50)),
    "SECRET_KEY_BASE": ("SECRET_KEY_BASE={}", of(HEX, 128)),
    "token": ("token: {}", _KEY),
    "auth_token": ("auth_token={}", _KEY),
    "access_token": ('"access_token": "{}"', _KEY),
    "refresh_token": ("refresh_token: {}", strong(WORD, 48)),
    "AWS secret": ("aws_secret_access_key = {}", strong(ALNUM + "/+", 40)),
    "account key": ("AccountKey={}", strong(ALNUM + "/+", 86)),
    "private_key": ("private_key: {}", of(HEX, 64)),
    "encryption_key": ("ENCRYPTION_KEY={}", strong(ALNUM + "/+", 43)),
    "credentials": ("credentials: {}", _KEY),
    "webhook_secret": ("webhook_secret: {}", _KEY),
    "jwt_secret": ("JWT_SECRET={}", _SIGNED_KEY),
    "prose English": ("the password is {}", _PASSWORD),
    "prose with a purpose": ("the password for the wifi is {}", _PASSWORD),
    "prose with signs": ("The password is {}", _SIGNED_PASSWORD),
    "prose German": ("Das Passwort lautet {}", _PASSWORD),
    "prose German is": ("das Passwort ist {}", _PASSWORD),
    "prose French": ("le mot de passe est {}", _PASSWORD),
    "prose Spanish": ("la contraseña es {}", _PASSWORD),
    "prose Italian": ("la password è {}", _PASSWORD),
    "prose Russian": ("пароль {}", _PASSWORD),
    "prose Russian dash": ("Пароль — {}", _PASSWORD),
    "prose Japanese": ("パスワードは{}", _PASSWORD),
    "prose Chinese": ("密码是{}", _PASSWORD),
    "prose Korean": ("비밀번호는 {}", _PASSWORD),
    "prose Arabic": ("كلمة المرور هي {}", _PASSWORD),
    "prose key": ("the API key is {}", _KEY),
    "prose token": ("our token is {}", _KEY),
    "wide colon": ("パスワード：{}", _PASSWORD),
    "address": ("postgres://app:{}@db.example.org:5432/app", _PASSWORD),
    "address of Redis": ("redis://:{}@cache:6379/0", _PASSWORD),
    "address of git": ("https://bot:{}@git.example.org/x.git", _KEY),
    "address of Mongo": ("mongodb+srv://root:{}@c0.example.net/db", _PASSWORD),
    "query": ("https://example.org/?page=2&access_token={}", _KEY),
    "basic": ("Authorization: Basic {}", strong(ALNUM, 32)),
    "bearer": ("Authorization: Bearer {}", _KEY),
}  # fmt: skip

_MORE_TOKENS: Mapping[str, secrets.Make] = {
    "github o": form("gh", "o_", of(ALNUM, 36)),
    "github u": form("gh", "u_", of(ALNUM, 36)),
    "github r": form("gh", "r_", of(ALNUM, 36)),
    "gitlab runner": form("glr", "t-", of(WORD, 20)),
    "gitlab trigger": form("glp", "tt-", of(HEX, 40)),
    "slack user": form("xo", "xp-", of(DIGITS, 11), "-", of(DIGITS, 12), "-", of(HEX, 32)),
    "stripe test": form("sk_", "test_", of(ALNUM, 24)),
    "stripe restricted": form("rk_", "live_", of(ALNUM, 24)),
    "shopify shared": form("shp", "ss_", of(HEX, 32)),
    "digitalocean oauth": form("doo", "_v1_", of(HEX, 64)),
    "dropbox long": form("s", "l.u.", of(WORD, 140)),
    "vault batch": form("hv", "b.", of(WORD, 120)),
    "openai service": form("sk-", "svcacct-", of(ALNUM, 80)),
    "aws temporary": form("AS", "IA", of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    "doppler service": form("dp.", "st.", of(ALNUM, 43)),
    "newrelic insert": form("NR", "II-", of(WORD, 32)),
    "sonar project": form("sq", "p_", of(HEX, 40)),
    "linear oauth": form("lin_", "oauth_", of(HEX, 64)),
}


def kinds() -> Mapping[str, MakeSecret]:
    found: dict[str, MakeSecret] = {}
    for name, makes in secrets.TOKENS.items():
        found |= {f"{name} {number}": _bare(make) for number, make in enumerate(makes)}
    found |= {name: _bare(make) for name, make in _MORE_TOKENS.items()}
    found |= {name: _bare(make) for name, make in pasted_secrets.TOKENS.items()}
    for named in (_NAMED, *pasted_secrets.TABLES):
        found |= {name: _named(*each) for name, each in named.items()}
    return found


SCRIPTS: Mapping[str, tuple[str, str]] = {
    "Latin": ("ä", "Für den Server gilt"),
    "Cyrillic": ("я", "Это для сервера"),
    "Han": ("漢", "これはサーバー用です"),
    "Arabic": ("ع", "هذا للخادم"),
}
"""A letter, and some words, of each script."""

CONTEXTS: Mapping[str, str] = {
    "alone": "{}",
    "sentence": "{words}: {}.",
    "words around": "{words} {} {words}",
    "parentheses": "({words}, {}, {words})",
    "code": "`{}`",
    "fence": "```\n{}\n```",
    "quotes": '"{}"',
    "single quotes": "'{}'",
    "item": "- {}",
    "task": "- [ ] {words} {}",
    "quote": "> {}",
    "table": "| {words} | {} | {words} |",
    "bold": "**{}**",
    "shell": "export X=1; echo {}",
    "comment": "x = 1  # {}",
    "JSON": '{"note": "{words}", "x": 1} {}',
    "lines": "{words}\n{}\n{words}",
    "html": "<p>{}</p>",
    "letter before": "{letter}{}",
    "letter behind": "{}{letter}",
    "letters around": "{letter}{}{letter}",
    "underscore before": "_{}",
    "hyphen before": "-{}",
    "zero before": "0{}",
    "underscore behind": "{}_",
    "hyphen behind": "{}-",
    "blank of an address": "%20{}%20{words}",
    "sign of an address": "x%3D{}",
    "escaped line": "{words}\\n{}\\n{words}",
    "escaped tab": "x\\t{}\\t{words}",
    "escaped sign": "x\\u003d{}\\u0026y",
}
"""Where a secret stands."""


def is_held_out(kind: str, context: str) -> bool:
    """Whether a pair was not looked at while the rules were written."""
    return hashlib.sha256(f"{kind}/{context}".encode()).digest()[0] % 2 == 1


class SecretAttack(NamedTuple):
    """A secret of a kind in a context."""

    kind: str
    context: str
    text: str
    secret: str


def attacks(script: str, *, held_out: bool) -> Iterator[SecretAttack]:
    """Each pair of a half."""
    letter, words = SCRIPTS[script]
    for kind, make in kinds().items():
        for context, template in CONTEXTS.items():
            if is_held_out(kind, context) is held_out:
                dice = random.Random(f"vaultsync {kind}/{context}/{script}")
                text, secret = make(dice)
                around = template.replace("{letter}", letter).replace("{words}", words)
                yield SecretAttack(kind, context, around.replace("{}", text), secret)


def _slug(dice: random.Random) -> str:
    words = ("cache", "vault", "search", "mail", "web", "auth", "token", "secret", "key", "sync")
    return "-".join(dice.sample(words, 3))


def _version(dice: random.Random) -> str:
    return ".".join(str(dice.randrange(30)) for _ in range(3))


def _digest(dice: random.Random) -> str:
    name = dice.choice(["md5", "sha1", "sha256", "sha512"])
    return hashlib.new(name, dice.randbytes(8)).hexdigest()


_HARMLESS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    *((each, _digest) for each in (
        "commit {}", "sha256:{}", "{}  dist.tar.gz", '"integrity": "sha256-{}"', "etag: {}",
        "rev = {}", "checksum: {}", "digest: {}", "image: app@sha256:{}", "cache-key-{}", "blob {}",
        "index {}..0000000 100644", "token_hash_algorithm: sha256 # {}",
    )),
    *((each, secrets.some_uuid) for each in (
        "id: {}", "see [[{}]]", "session {} ended", "trace_id={}", "request {} took 3 ms",
        "vault_id = '{}'", "https://example.org/items/{}", "urn:uuid:{}",
    )),
    *((each, _slug) for each in (
        "image: registry.example.org/{}:v1.2.3", "secret_name: {}", "kubectl get secret {}",
        "branch feature/{}-2026", "docker pull ghcr.io/acme/{}:2026-02-14-rc1", "service: {}",
        "secretKeyRef: {name: {}, key: password}", "private_key_file: /etc/ssl/{}.pem",
        "private_key_path: keys/{}-2026.pem", "token_url: https://sso.example.org/{}/token",
        "[[{}]]", "#{}", "password_reset_url: https://example.org/{}/reset?step=2",
        "key: {}", "primary_key: {}", "token_type: {}", "the key idea is {} and its token budget",
    )),
    *((each, _version) for each in (
        "version: {}", "pip install keyring=={}", "token-service:{}", "secret_version: {}",
        "password-manager@{}", "passlib>={}", "keycloak:{}-debian-12", "api_key_version: v{}",
    )),
    *((each, lambda dice: str(dice.randint(8, 99))) for each in (
        "password_policy: min{}chars-and-2-digits", "password_policy: length>={},digits>=1",
        "amqp://guest:guest@localhost:56{}/", "password_length: {}", "max_tokens: {}000",
        "passwords expire after {} days", "the password is {} characters long",
        "the password is required for step {}", "token_ttl: {}h30m", "secret_rotation: every{}days",
        "postgres://user:password@localhost:54{}/app", "PASSWORD=changeme{}",
        "password: ${DB_PASSWORD_{}}", "api_key: <your-api-key-{}>",
        "password = get_password(user{})",
        "token = request.headers['X-Token-{}']", "secret: vault:secret/data/app{}#password",
        "password: os.environ['PW{}']", "password_field: passwordInput{}", "key_{}: value one",
        "api_key: process.env.API_KEY_{}", "Das Passwort ist {} Zeichen lang",
        "le mot de passe est obligatoire depuis {}", "パスワードは{}日ごとに変更します",
        "密码长度至少{}位", "Пароль меняется каждые {} дней", "password: xxxxxxxx{}",
        "https://user:pass@example.org:80{}/", "token: 1{}", "secret santa: draw number {}",
        "passphrase: (ask Bob, room {})", "password_hint: pet2{}", "private_key_id: {}",
    )),
)  # fmt: skip


def innocent_lines() -> list[str]:
    """Lines about passwords, hashes, ids and settings, as they stand in notes."""
    path = Path(__file__).with_name("innocent_lines.txt")
    return path.read_text(encoding="utf-8").splitlines()


def harmless(count: int) -> Iterator[tuple[int, str]]:
    """Lines without a secret that speak of secrets, or look like one, each with its round."""
    dice = random.Random("vaultsync harmless")
    for number in range(count):
        template, make = _HARMLESS[number % len(_HARMLESS)]
        yield number // len(_HARMLESS), template.replace("{}", make(dice))
