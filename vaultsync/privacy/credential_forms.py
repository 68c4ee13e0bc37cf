"""Secrets that are recognised by their place: options of commands, fields of files, headers.

A text has to have a letter beside a digit, and a word that names the command or the file. In all
others, no pattern is run.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from vaultsync.model.lazy_pattern import compiled, lazy_pattern
from vaultsync.privacy.named_secrets import (
    AROUND,
    changes,
    is_dummy,
    is_password,
    is_random,
    is_scrambled,
)
from vaultsync.privacy.secret_names import LETTERS_ONLY, RARE_STEMS

_QUOTED = r"\"(?P<a>[^\"\n]{4,200})\"|'(?P<b>[^'\n]{4,200})'"
_VALUE = rf"(?:{_QUOTED}|[\"'`]?(?P<c>[^\s\"'`<>]{{4,500}}))"
"""A value in quotes, or up to a blank."""
_NAME = r"[\w.@+-]{1,60}"
_GAP = r"[ \t]{1,3}"
_SIGN = r"[\"']?[ \t]{0,3}[:=\uff1a\uff1d][ \t]{0,3}"
_ESCAPED = r"(?:\\.|[^;\\\n])"
_LABEL = r"(?:pass(?:word|wort|wd)?|pw|kennwort|mdp|contraseña|clave|senha|heslo)"
_BULLET = r"[\s,;|>*+\[\]x\"'`-]{1,12}(?:\d{1,2}[.)][ ])?"
_CODE = r"(?=[a-z -]{0,10}\d)[a-z0-9]{4,12}(?:[ -][a-z0-9]{3,12}){0,3}"
_CODE_WORDS = (
    "recovery backup scratch emergency rescue bypass wiederherstellungscodes wiederherstellungscode"
    " notfallcodes notfallcode codes code digos digo"
)
_CODE_NAME = (
    r"(?:(?:recovery|backup|scratch|emergency|rescue|bypass)[ _-]?codes?"
    r"|(?:wiederherstellungs|notfall)codes?|codes? de (?:secours|récupération)"
    r"|digos? de (?:respaldo|recuperación))"
)
_MIN_LENGTH = 6


def _is_recovery_code(value: str) -> bool:
    """Whether a single value behind such a name is a code, not a word, a version or a year."""
    sizes = [*map(len, re.split("[ -]", value))]
    digits = sum(map(str.isdigit, value))
    if len(sizes) > 1:
        return digits > 0 and len({*sizes}) == 1
    return digits == len(value) or (len(value) >= 8 and digits >= 3)  # noqa: PLR2004 - measured


def _is_login(value: str) -> bool:
    """Whether a value is the base64 of `user:password`."""
    bare = value.rstrip("=")
    try:
        text = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode()
    except (ValueError, binascii.Error):
        return False
    user, sign, secret = text.partition(":")
    return bool(user and sign and secret) and text.isprintable()


def _is_bare_token(value: str) -> bool:
    """Whether the value of a header without a scheme is random, and no name in a program."""
    digits = sum(map(str.isdigit, value))
    return is_random(value) and digits >= _DIGITS_OF_TOKENS and changes(value) >= 0.25  # noqa: PLR2004 - measured


_DIGITS_OF_TOKENS = 2
_UUID = lazy_pattern(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _is_session(value: str) -> bool:
    """Whether the value of a cookie lets in: a random one, which is not a mere id."""
    return is_random(value) and not _UUID.fullmatch(value)


def _is_jumbled(value: str) -> bool:
    """Whether a value behind a name of a user and a slash is a password, not a product."""
    return is_scrambled(value) and changes(value) >= 0.35 and "(" not in value  # noqa: PLR2004 - measured


def _is_network_key(value: str) -> bool:
    """Whether a value behind `WLAN` is its password, not the name of it or of a device."""
    return is_scrambled(value) and (_NAME_SIGNS.isdisjoint(value) or changes(value) > 0.5)  # noqa: PLR2004 - measured


_NAME_SIGNS = frozenset("-_./")


def _is_any_password(value: str) -> bool:
    """Whether a value behind an address is a password, not the name of a team."""
    return is_password(value) and len(value) > _MIN_LENGTH and "." not in value


def _is_no_page(value: str) -> bool:
    """Whether a value behind `login: … /` is a password, not the name of a page or a step."""
    return is_password(value) and not _NUMBERED_NAME.fullmatch(value)


_NUMBERED_NAME = lazy_pattern(r"[A-Z][a-z]+\d")


class CredentialForm(NamedTuple):
    """A place where a secret is written."""

    words: str
    """Words in ASCII, one of which is in each text with the form."""
    pattern: str
    """It begins at one of the words, in any case, and its repetitions are bounded. The secret is
    the last group that matched."""
    likely: Callable[[str], bool] = is_password
    """Whether a value in this place is a secret; `bool` if any is."""
    sign: str = ""
    """In place of words: with what it begins."""


FORMS: tuple[CredentialForm, ...] = (
    # The name of a user, and the password behind it.
    CredentialForm(
        "login user username benutzer usuario utilisateur utente",
        rf"(?:login|user(?:name)?|benutzer(?:name)?|usuario|utilisateur|utente)[:=]?{_GAP}{_NAME}"
        r"(?:[,;]?[ \t]{1,3}|[ \t]?[,;/|]?\r?\n?[ \t]{0,4})(?:and |und |et |y |e )?"
        rf"{_LABEL}[ \t:=]{{1,3}}{_VALUE}",
    ),
    CredentialForm(
        "login logins credential credentials creds zugang zugangsdaten identifiants credenciales"
        " credenziali anmeldedaten accesso acceso",
        rf"[a-z]{{5,12}}[ \t]?[:=→–—-]{{0,2}}[ \t]{{0,3}}{_NAME}"
        r"(?:[ \t]{0,2}[/:|,][ \t]{0,2}|(?:(?<=\.[a-z]{2})|(?<=\.[a-z]{3}))[ \t])"
        rf"{_VALUE}",
        is_scrambled,
    ),
    *(
        CredentialForm(
            words,
            rf"[a-z]{{5,12}}:[ \t]{{1,3}}{_NAME}[ \t]/[ \t]{_VALUE}[ \t]{{0,3}}(?=[\n)|]|\Z)",
            likely,
        )
        for words, likely in (
            ("login", _is_no_page),
            (
                "credentials creds zugang zugangsdaten identifiants credenciales credenziali",
                is_password,
            ),
        )
    ),
    CredentialForm("", rf"@[\w.-]{{3,60}}\.[a-z]{{2,12}}:{_VALUE}", is_scrambled, sign="@"),
    CredentialForm(
        "", rf"@[\w.-]{{3,60}}\.[a-z]{{2,12}}[ \t]/[ \t]{_VALUE}", _is_any_password, sign="@"
    ),
    CredentialForm(
        "",
        rf": (?:(?-i:[a-z])[\w.-]{{1,60}}|admin\w{{0,9}}|root)[ \t]/[ \t]{_VALUE}",
        _is_jumbled,
        sign=": ",
    ),
    # Networks.
    CredentialForm(
        "wifi wi wlan",
        rf"(?:wi-?fi|wlan)(?!:[a-z]:|\d)(?![^\n:=\uff1a]{{0,20}}(?:ssid|name))"
        rf"[^\n:=\uff1a,;]{{0,25}}[:=\uff1a][ \t]{{0,3}}{_VALUE}",
        _is_network_key,
    ),
    CredentialForm(
        "wifi",
        rf"wifi:(?:[a-oq-z]:(?>{_ESCAPED}{{0,100}});){{0,6}}p:(?P<a>(?>{_ESCAPED}{{5,100}}));",
        bool,
    ),
    CredentialForm(
        "passphrase", rf"(?<=wpa_)passphrase{_GAP}(?:\"[^\"\n]{{1,40}}\"|\S{{1,40}}){_GAP}{_VALUE}"
    ),
    CredentialForm(
        "wep", r"wep(?:_key\d?|[ -]key)[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?P<a>[0-9a-f]{10,58})"
    ),
    # Databases.
    CredentialForm(
        "identified", rf"identified(?: with \w{{1,40}})?(?: by)(?: password)?{_GAP}(?:{_QUOTED})"
    ),
    CredentialForm("password", rf"password[ \t]?\([ \t]?(?:{_QUOTED})", is_scrambled),
    CredentialForm(
        "password", rf"(?:(?<=with )|(?<=encrypted )|(?<=set ))password{_GAP}N?(?:{_QUOTED})"
    ),
    CredentialForm("", r"432:[\w*-]{1,60}:[\w-]{1,60}:(?P<a>\S{6,200})", sign="432:"),
    CredentialForm("", r"\*:\*:[\w*-]{1,60}:[\w-]{1,60}:(?P<a>\S{6,200})", sign="*:*:"),
    CredentialForm(
        "thin sqlplus impdp expdp",
        rf"(?:thin:|(?:sqlplus|impdp|expdp){_GAP}(?:-\w{{1,3}}{_GAP}){{0,3}})[\w.$#]{{1,60}}/"
        r"[\"']?(?P<a>[^\s@/\"']{4,100})[\"']?@",
    ),
    CredentialForm("masterauth requirepass", rf"(?:masterauth|requirepass){_GAP}{_VALUE}"),
    # Commands.
    CredentialForm(
        "rabbitmqctl",
        rf"rabbitmqctl{_GAP}(?:add_user|change_password|authenticate_user){_GAP}{_NAME}{_GAP}"
        rf"{_VALUE}",
    ),
    CredentialForm(
        "htpasswd",
        rf"htpasswd{_GAP}-(?=[a-z0-9]{{0,5}}b)[a-z0-9]{{1,6}}{_GAP}(?:[^\s\"']{{1,100}}{_GAP}){{1,2}}?"
        rf"(?=\S{{0,100}}\d){_VALUE}",
        is_scrambled,
    ),
    CredentialForm("net", rf"net{_GAP}user{_GAP}{_NAME}{_GAP}{_VALUE}"),
    CredentialForm("net", rf"net{_GAP}use{_GAP}[^\n|;]{{3,100}}?/user:\S{{1,60}}{_GAP}{_VALUE}"),
    CredentialForm(
        "xfreerdp wfreerdp cmdkey",
        rf"(?:[xw]freerdp|cmdkey)[ \t][^\n|;]{{0,200}}?/p(?:ass)?:{_VALUE}",
    ),
    CredentialForm("lftp", rf"lftp[ \t][^\n|;]{{0,60}}?-u[ \t]?{_NAME},{_VALUE}"),
    CredentialForm(
        "smbclient rpcclient smbget",
        r"(?:smbclient|rpcclient|smbget)[ \t][^\n|;]{0,200}?-U[ \t]?[\"']?[\w.\\@-]{1,60}%"
        rf"{_VALUE}",
    ),
    CredentialForm(
        "echo",
        rf"echo[ \t](?:-\w{{1,3}}[ \t])?[\"']?{_NAME}:(?P<a>[^\s\"'|]{{4,100}})[\"']?[ \t]?\|[ \t]?"
        r"(?:sudo )?chpasswd",
    ),
    CredentialForm(
        "echo printf",
        rf"(?:echo|printf)[ \t](?:-\w{{1,3}}[ \t])?(?:{_QUOTED}|(?P<c>[^\s|\"'`]{{4,500}}))[ \t]?\|"
        r"[ \t]?(?:sudo -S|(?:sudo )?(?:cryptsetup|passwd|kinit)"
        r"|[^\n|]{0,100}?-(?:pass|token|key)[a-z]{0,6}-?stdin)",
    ),
    CredentialForm(
        "mc",
        rf"mc{_GAP}(?:alias{_GAP}set|config{_GAP}host{_GAP}add){_GAP}{_NAME}{_GAP}https?://\S{{3,200}}"
        rf"{_GAP}[^\s<>$]{{3,100}}{_GAP}{_VALUE}",
    ),
    CredentialForm("convertto", rf"convertto-securestring{_GAP}(?:-\w{{1,12}}[ \t])?{_VALUE}"),
    CredentialForm(
        "wandb", rf"wandb{_GAP}login{_GAP}(?:-\S{{1,20}}{_GAP}){{0,2}}{_VALUE}", is_random
    ),
    CredentialForm(
        "storepass srcstorepass deststorepass keypass srckeypass destkeypass",
        rf"(?<=-)(?:src|dest)?(?:store|key)pass[ \t=]{{1,3}}{_VALUE}",
    ),
    CredentialForm(
        "enable", rf"enable{_GAP}(?:secret|password){_GAP}(?:level \d{{1,2}} )?(?:\d )?{_VALUE}"
    ),
    CredentialForm(
        "gh", rf"gh{_GAP}secret{_GAP}set[ \t][^\n|;]{{1,100}}?(?:--body|-b)[ \t=]{{1,3}}{_VALUE}"
    ),
    # Files, headers and cookies.
    CredentialForm("auth", rf"(?<=_)(?-i:AUTH)={_VALUE}"),
    CredentialForm(
        "",
        r"\$(?:2[abxy]?|apr1|argon2\w{1,2}|[1567y]|gy|scrypt|pbkdf2[\w-]{0,12})\$"
        r"(?P<a>[./a-z0-9$,=+-]{20,300})",
        bool,
        sign="$",
    ),
    CredentialForm(
        "sha ssha smd", r"(?<=\{)(?:sha|ssha\d{0,3}|smd5)\}(?P<a>[a-z0-9+/]{20,120}={0,2})", bool
    ),
    CredentialForm(
        "auth basic password",
        r"(?:auth[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?|basic[ \t]{1,3}|(?<=_)password[ \t]?=[ \t]?)"
        r"(?P<a>[a-z0-9+/]{8,400}={0,2})(?![a-z0-9+/=])",
        _is_login,
    ),
    CredentialForm(
        "authorization",
        r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?[a-z][\w-]{1,20}[ \t]{1,3}"
        r"(?:\w{3,24}:)?(?P<a>[\w.~+/=-]{20,2000})",
        is_random,
    ),
    CredentialForm(
        "authorization",
        r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<a>[\w.~+/=-]{20,2000})(?![\w(.\[])",
        _is_bare_token,
    ),
    CredentialForm(
        "session sessionid sess sessid phpsessid jsessionid sid aspxauth",
        r"(?:sess(?:ion)?[\w.-]{0,12}|(?:php|j)sess(?:ion)?id|sid|aspxauth)="
        r"(?P<a>[^\s;\"'&<>]{16,800})",
        _is_session,
    ),
    CredentialForm(
        "sig signature appid",
        r"(?<=[?&-])(?:sig|signature|appid)=(?P<a>[\w%+/=-]{20,800})",
        is_random,
    ),
    CredentialForm(
        "cookie",
        r"cookie[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:[\w.%-]{1,60}=[^\s;\"']{0,200};[ ]?){0,12}?"
        r"[\w.%-]{1,60}=(?P<a>[^\s;\"']{20,800})",
        _is_session,
    ),
    CredentialForm(
        "otpauth", r"otpauth://[^\s\"'<>]{0,300}?[?&]secret=(?P<a>[a-z2-7%=]{8,200})", bool
    ),
    CredentialForm(
        "otp totp hotp fa mfa authenticator",
        r"(?:[th]?otp|(?<=2)fa|mfa|authenticator)[ _-]?(?:setup[ _-]?)?"
        rf"(?:secret|seed|key|schlüssel|code)?{_SIGN}[\"'`]?"
        r"(?P<a>(?-i:[A-Z2-7]{16,64}|[a-z2-7]{32,64}|(?:[A-Za-z2-7]{4}[ -]){3,15}[A-Za-z2-7]{4}))"
        r"(?![a-z0-9])",
        bool,
    ),
    CredentialForm(
        "lines",
        r"(?<=private-)lines: \d{1,3}\r?\n[ \t>]{0,4}"
        r"(?P<a>(?>(?:[a-z0-9+/]{16,64}={0,2}\s{0,6}){1,60}))",
        bool,
    ),
    CredentialForm(
        "username",
        r"username\"\s{0,3}:\s{0,3}\"[^\"\n]{1,60}\",\s{0,9}\"key\"\s{0,3}:\s{0,3}"
        r"\"(?P<a>[0-9a-f]{32,64})",
        is_random,
    ),
    CredentialForm("pin", r"(?<=-)pin[ \t=]{1,3}[\"']?(?P<a>\d{6,12})(?![\w.-])", bool),
    CredentialForm(
        _CODE_WORDS,
        rf"{_CODE_NAME}[^\n:]{{0,40}}(?::|\r?\n)(?P<a>(?>(?:{_BULLET}{_CODE}){{3,40}}))",
        bool,
    ),
    CredentialForm(
        _CODE_WORDS,
        rf"{_CODE_NAME}[*_]{{0,2}}(?:{_SIGN}|[ \t](?:is|ist|lautet|est|es):?[ \t])"
        r"[*_`\"'\s]{0,6}"
        r"(?P<a>[a-z0-9]{4,16}(?:-[a-z0-9]{3,12}){0,7}(?: \d{3,8}\b){0,3})(?![\w-])",
        _is_recovery_code,
    ),
)

_OF_DIGITS = FORMS[-3:]
"""The forms whose secrets may have digits only."""

_DATABASES = ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlsh", "mariadb", "mycli")
_MONGO = ("mongosh", "mongo", "mongodump", "mongorestore", "mongoexport", "mongoimport")
_ONLY_LOGIN = frozenset({"docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oc", "az"})
"""Commands of which only `login` takes a password."""
PASSWORD_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        (*_DATABASES, *_MONGO, "cqlsh", "sshpass", "twine", "ncftpput", "ncftpget"), "p"
    ),
    **dict.fromkeys(_ONLY_LOGIN, "p"),
    **dict.fromkeys(("sqlcmd", "bcp", "zip", "unzip", "ipmitool", "tsql"), "P"),
    **dict.fromkeys(("mosquitto_pub", "mosquitto_sub"), "P"),
    **dict.fromkeys(("7z", "7za", "7zz", "rar", "unrar"), "p"),
    **dict.fromkeys(("ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami", "ldappasswd"), "w"),
    **dict.fromkeys(("snmpwalk", "snmpget", "snmpset"), "AX"),
    "redis-cli": "a",
    "valkey-cli": "a",
    "ssh-keygen": "NP",
    "http": "a",
    "https": "a",
}
"""The short options of commands that take a password, or `user:password`."""
_OF_USER = frozenset({"http", "https"})
"""Commands whose option takes `user:password`."""

_FORMS_BY_WORD: dict[bytes, list[CredentialForm]] = {}
for _form in FORMS:
    for _word in _form.words.encode().split():
        _FORMS_BY_WORD.setdefault(_word, []).append(_form)
_BY_SIGN = tuple(form for form in FORMS if form.sign)
_COMMANDS: dict[bytes, list[str]] = {}
for _name in PASSWORD_OPTIONS:
    _COMMANDS.setdefault(_name.encode().translate(LETTERS_ONLY).split()[0], []).append(_name)


_BEFORE_DIGITS = frozenset(word for form in _OF_DIGITS for word in form.words.encode().split())
_KNOWN = frozenset((*_FORMS_BY_WORD, *_COMMANDS, *RARE_STEMS))


def words_of(letters: bytes, *, mixed: bool) -> frozenset[bytes]:
    """The words of a text, in UTF-8, that may stand before a secret.

    Args:
        letters: the text.
        mixed: whether a letter stands beside a digit; otherwise secrets have digits only.
    """
    known = _KNOWN if mixed else _BEFORE_DIGITS
    return known.intersection(letters.translate(LETTERS_ONLY).split())


def rare_stems(words: frozenset[bytes]) -> frozenset[str]:
    """The words before a secret that are only looked for among these words."""
    return frozenset(RARE_STEMS[each] for each in words & RARE_STEMS.keys())


def form_spans(
    text: str, low: str, words: frozenset[bytes], *, mixed: bool
) -> Iterator[tuple[int, int]]:
    """The secrets of a text that are recognised by their place.

    Args:
        text: the text.
        low: the text in lower case.
        words: its words, as `words_of()` gives them.
        mixed: as there.
    """
    for word in words & _FORMS_BY_WORD.keys():
        for form in _FORMS_BY_WORD[word]:
            yield from _spans_at(text, _places(low, word.decode()), form)
    for form in _BY_SIGN if mixed else ():
        yield from _spans_at(text, _places(text, form.sign), form)
    for word in words & _COMMANDS.keys():
        for name in _COMMANDS[word]:
            for at in _places(text, name):
                yield from _option_spans(text, at, name)


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _spans_at(text: str, places: Iterable[int], form: CredentialForm) -> Iterator[tuple[int, int]]:
    pattern: re.Pattern[str] | None = None
    for at in places:
        pattern = pattern or compiled(f"(?i){form.pattern}")
        match = pattern.match(text, at)
        if match:
            yield from _secret_of(match, form.likely)


def _secret_of(
    match: re.Match[str], likely: Callable[[str], bool], *, of_user: bool = False
) -> Iterator[tuple[int, int]]:
    """Where the secret of a match is, without what stands around it, if it is one."""
    group = match.lastindex or 0
    start, end = match.span(group)
    quotes = match.string[start - 1 : start] + match.string[end : end + 1]
    value = match[group] if quotes in {"''", '""'} else match[group].rstrip(AROUND)
    if of_user:
        start, value = start + value.find(":") + 1, value.partition(":")[2]
    bare = value.lstrip(_BEFORE)
    if len(bare) >= _MIN_LENGTH and not is_dummy(bare) and likely(bare):
        yield start + len(value) - len(bare), start + len(value)


_BEFORE = " \t\r\n,;|>*+[]\"'`-"


def _option_spans(text: str, at: int, name: str) -> Iterator[tuple[int, int]]:
    """The passwords in the options of the command at a place."""
    end = at + len(name)
    if text[end : end + 1] not in (" ", "\t"):
        return
    line = _END_OF_COMMAND.search(text, end, end + _COMMAND_REACH)
    stop = line.start() if line else end + _COMMAND_REACH
    if name in _ONLY_LOGIN and text.find(" login", end, stop) < 0:
        return
    letters = PASSWORD_OPTIONS[name]
    option = compiled(rf"[ \t]-[A-Za-z]{{0,5}}?[{letters}][ \t=]?{_VALUE}")
    for match in option.finditer(text, end, stop):
        yield from _secret_of(match, is_password, of_user=name in _OF_USER)


_END_OF_COMMAND = lazy_pattern(r"[\n|]")
_COMMAND_REACH = 300
"""Characters of a command in which its options are read."""
