"""Stems of the words before a secret, such as *password*; texts without any need no search."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from vaultsync.model.canonical import lower_each

ASCII_STEMS = (
    "pass", "pw", "secret", "token", "key", "credential", "kennwort", "contrase", "phrase",
    "mnemonic", "seed word",
)  # fmt: skip
"""In lower case. `NAMED_VALUE` in `named_secrets.py` begins with them."""
OTHER_STEMS = (
    "парол", "ключ", "токен", "секрет", "κωδικός", "hasło", "lösenord", "şifre", "schlüssel",
    "パスワード", "トークン", "シークレット", "キー", "密码", "密碼", "密钥", "密鑰", "口令",
    "令牌", "비밀번호", "비번", "암호", "토큰", "كلمة المرور", "كلمة السر", "الرمز", "סיסמה",
    "पासवर्ड", "รหัสผ่าน", "mật khẩu", "パスフレーズ", "暗証番号", "合言葉",
)  # fmt: skip
"""The same in other languages and scripts."""
RARE_STEMS: Mapping[bytes, str] = {
    b"adgangskode": "adgangskode", b"adgangskoden": "adgangskode", b"kodeord": "kodeord",
    b"kodeordet": "kodeord", b"heslo": "heslo", b"jelsz": "jelszó", b"clave": "clave",
    b"psk": "psk", b"mdp": "mdp", b"sandi": "sandi", b"authtok": "authtok",
    b"wachtwoord": "wachtwoord",
    b"wifiwachtwoord": "wachtwoord", b"senha": "senha", b"salasana": "salasana",
    b"salasanan": "salasana", b"parola": "parola", b"parolasi": "parola", b"parol": "parol",
}  # fmt: skip
"""A word of ASCII letters -> the stem that it shows. These words are only looked for where a letter
is beside a digit."""


_STEMS_AS_BYTES = tuple((each.encode(), each) for each in ASCII_STEMS)
_OTHER_LETTERS = frozenset(x for x in "".join(OTHER_STEMS) if not x.isascii())


@lru_cache(maxsize=1)
def stems_in(text: str) -> tuple[str, ...]:
    """The stems that a text contains; cached, as the last text is often asked about again."""
    letters = text.encode(errors="replace")
    low = letters.lower()
    stems = tuple(stem for needle, stem in _STEMS_AS_BYTES if needle in low)
    others = non_ascii(letters)
    if others and not _is_other_to_all(others):
        lowered = lower_each(text)
        stems = tuple(each for each in (*ASCII_STEMS, *OTHER_STEMS) if each in lowered)
    return stems


_ASCII = bytes(range(128))


def non_ascii(letters: bytes) -> str:
    """The characters of a text in UTF-8 that are not of ASCII."""
    return letters.translate(None, _ASCII).decode()


def _is_other_to_all(others: str) -> bool:
    """Whether no stem has one of the characters, in lower or upper case."""
    low = others.lower()
    # The sign of Kelvin is a capital of `k`.
    return _OTHER_LETTERS.isdisjoint(low) and not any(map(str.isascii, low))


LETTERS_ONLY = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalpha() else ord(" ")  # noqa: PLR2004 - ASCII
    for code in range(256)
)
"""For `bytes.translate()`: letters of ASCII in lower case, and a blank for any other byte."""
_CODES = (b"codes", b"ry code", b"up code", b"llcode", b"gscode", b"code de ")


def has_codes(letters: bytes) -> bool:
    """Whether a text may name codes to recover an account, or a PIN, which have digits only."""
    low = letters.lower()
    has_code = b"code" in low and any(each in low for each in _CODES)
    return has_code or b"digo" in low or b"-pin" in low


_LETTER_OR_DIGIT = bytes(
    2 if chr(code) in "0123456789" else 1 if LETTERS_ONLY[code] != ord(" ") else 0
    for code in range(256)
)
"""For `bytes.translate()`: 1 for a letter of ASCII, 2 for a digit, 0 for any other byte."""


def has_letter_beside_digit(letters: bytes) -> bool:
    """Whether a letter of ASCII and a digit stand side by side."""
    # One step for each bit of all characters: a search for two kinds takes ten times as long.
    kinds = int.from_bytes(letters.translate(_LETTER_OR_DIGIT))
    return bool(kinds & (kinds << 9 | kinds << 7))
