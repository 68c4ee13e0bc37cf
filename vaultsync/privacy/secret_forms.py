"""Secrets that are told by their form, or by what stands around them."""

from __future__ import annotations

from collections.abc import Mapping

_BASE64 = r"[A-Za-z0-9+/=]"
PRIVATE_KEY = (
    r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:"
    r"(?:[A-Za-z0-9+/=:,.\\ \t\r\n>\"']|-(?!----))++-----END[ A-Z0-9]{0,60}-----"
    rf"|(?:(?:\\[nr]|[\s>])*+{_BASE64}{{16,}}+)++"
    r")"
)
"""A whole block, over many lines or with `\\n` between them; cut off, what is there."""

URL_LOGIN = r"://(?:[^\s/:@\"'<>]{0,100}(?P<user>:))?(?P<s>[^\s/\"'<>]{3,200})@(?=[A-Za-z0-9\[])"
"""`scheme://user:password@host`, and `scheme://token@host`."""

SECRET_WORDS = ("pass", "pwd", "secret", "token", "key", "credential")
"""Words after which, with `=` or `:` between, a secret may stand; they begin `ASSIGNED`."""

KEY_WORDS = (
    "api", "access", "account", "auth", "signing", "encryption", "private", "secret",
    "master", "storage", "license", "service", "service_role", "admin", "webhook",
)  # fmt: skip
"""What stands before `key` when it is the key of a lock and not of a map."""

ASSIGNED_VALUE = (
    r"(?i:(?P<pass>pass(?:word|wort|wd|phrase|(?<![a-z]pass))|(?<![a-z])pwd)"
    r"|secret|token|(?P<key>key)|credentials?)"
    r"(?:[_-][A-Za-z0-9_]{1,30}|Key|Id)?"
    r"[\"'`*]{0,3}\]{0,2}[ \t]{0,4}(?:=>|:=|==?|:)[ \t]{0,4}[\"'`*]{0,3}"
    r"(?P<s>[^\s\"'`,;<>(){}\[\]|*]{6,512})"
)
"""`password: …`, `API_KEY=…`, `"token": "…"`; whether it is one is looked at by itself."""

SEED_PHRASE_KIND = "seed-phrase"
OPTIONAL_FORMS: Mapping[str, str] = {
    "card": r"(?<![\w.-])(?:\d[ -]?){12,18}\d(?![\w-])",
    "iban": r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])",
    SEED_PHRASE_KIND: r"[A-Za-z]+",
}
"""Off by default: to be named as `@card`, `@iban` and `@seed-phrase` among the patterns. All
have a sum that is checked."""
