"""Texts that are made to be slow to read, each by a rule for every size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

HostileText = Callable[[int], str]
"""A text of about that many characters."""

_SIGNS = (
    # Secrets.
    "password=", "pwd=", "token=", "api_key: ", "secret: x1", "pass: ", "AKIA", "sk-", "ghp_",
    "eyJ", "eyJ.", "Bearer ", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN ", "://", "://a:",
    "://a:b@", "http://u:p@h ", "?token=", "&key=", "%3D", "%20", "\\n", "\\u003d", "[REDACTED:",
    "[REDACTED:x:00000000]", "=", ":", "xoxb-", "abandon ", "4111 1111 ", "a1B2", "\u200b",
    "mysql -p1a ", "docker login a1 ", "login a1 ", "wifi:p:a1;", "wifi a1", "echo a1 ", "a1:*:*:",
    "recovery codes: a1b2 ", "codes: a1b2\n", "passphrase: a b ", "passphrase is a ", "a1 $2y$a",
    "seed word a ", "mnemonic: abandon ", 'password "a ', "a1 as the password ", "otpauth://a1",
    "session=a1", "net use a1 ", "private-lines: 1\na1", "auth: a1a1a1a1", "totp: a1a1 ",
    # Active content.
    "![", "![]", "![](", "![[", "!", "[", "]", "](", "](a)", "[a](", "[a]: ", "[[", "]]", "[[a]]",
    "[[a|", "[[a]", "[](", "[^", "[^1]: ", "<", "<!--", "-->", "<!-- -->", "<script>", "<script",
    "</script>", "<iframe ", "<img src=x ", "<b ", "<a href=", "<a ", 'onclick="', "onerror=",
    "javascript:", "obsidian:", "data:text/html", "file:/", "<%", "%>", "`$= ", "INPUT[",
    "&#106;", "&", "\\", "\\\\", "\\[", "$=", "style=", " on",
    # Blocks.
    "`", "``", "` ", "```", "```\n", "```a\n", "~~~\n", "~~~", "````\n```\n", "> ", "> ```\n",
    ">", "- ", "- - ", "* ", "1. ", "1) ", "    ", "\t", "\t- ", "# ", "## a\n", "###### ",
    "# a #", "a\n===\n", "a\n---\n", "---\n", "***", "* * ", "_ _ ", "$$", "$$\n", "$", "$a$ ",
    "%%", "%%\n", "%%a%%", "|", "|a|b|\n", "|-|\n", "| ", "\n", "\r", "\r\n", "\n\n", " \n",
    "<pre>\n", "<div>\n", "<!DOCTYPE ", "<?", "\f", "\x0b", "\u2028", "\0",
    # Inline.
    "*", "**", "***a ", "_", "__", "_a", "*a_", "~", "~~", "==", "^", "^a ", "#", "#a ", "#a",
    "@", "@a", "a", "a ", "A", "ab", "a.", "a. ", ". ", "!? ", "\u3002", "a, ", "0", "1 ", "1.1",
    '"', "'", '"a ', "(", ")", "()", "((", "{", "}", "{}", "{{", "{{a}}", "+", ";", ",", "/",
    "//", "../", "a/", "\u00ad", "\u200f", "\ufeff",
    # Other scripts.
    "\u00e4", "e\u0301", "\u0301", "\u6f22", "\u304b\u3099", "\ud55c", "\u0639", "\u0e01",
    "\U0001f600", "\u1e9e", "\u0130", "\ufb03", "\u212b",
    # Properties, JSON and settings.
    "a: b\n", "a: [", "a: {", "a: &a ", "a: *a ", "- a\n", "? ", ": ", "!!str ", "!", "| \n",
    "a: |\n", "<<: ", "a:\n  ", '"a":', "[1,", '{"a":', "x = [", "x = {", "[[a.", "[a.b]\n",
    "a.", "-", "--", "---", "--- ", "...\n", "id: ", "tags: [", "0x", "1e",
    # What vaultsync writes.
    "<!-- vaultsync:managed -->", "<!-- /vaultsync:managed -->", "<!-- vaultsync:managed -->\n",
    "## Related Facts\n", "## Entities\n- [[a]]\n", "- [[a]]\n", "- [[a|b]] \u00b7 ",
    "<!-- vaultsync-managed -->\n", "<!-- type: a -->\n", "> **Context:** ", "type:a ", "since:",
    "tag:", "\u201c", "\u300c", "in May ", "last ", "what did ",
    "\u201e", "\u00ab", "q1 ", "2026\u5e74", "dem tag ", "\u6c7a\u5b9a\u306f", "|a b|\n",
)  # fmt: skip
"""Repeated, these open, close or begin something many times."""

_PAIRS = (
    ("[", "]"), ("(", ")"), ("{", "}"), ("[[", "]]"), ("![", "](a)"), ("<a ", ">"), ("*", "*"),
    ("**a", "**"), ("`", "`"), ("<b>", "</b>"), ("<!--", "-->"), ("> ", ""), ("- ", ""),
    ("%%", "%%"), ("$", "$"), ("[a](", ")"), ('"', '"'), ("a: {", "}"), ("a: [", "]"),
    ("<script>", "</script>"), ("![[", "]]"), ("~~~\n", "~~~\n"),
)  # fmt: skip
"""Opened many times, and closed as often afterwards."""

_OPENED = (
    ("[", "a"), ("[[", "a"), ("![", "a "), ("<!--", "a"), ("`", "a"), ("```\n", "a\n"),
    ("%%", "a"), ("$$", "a"), ("<script>", "a"), ("<a href='", "a"), ("password: ", "a"),
    ("https://", "a"), ("https://a:", "b"), ("eyJ", "a"), ("-----BEGIN PRIVATE KEY-----\n", "A"),
    ("AKIA", "A"), ("---\n", "a: b\n"), ("---\na: '", "a"), ('---\na: "', "\\"),
    ("<!-- vaultsync:managed -->\n", "a\n"), ("# ", "a "), ('"', "a "), ("[a](", "("),
    ("[a](<", "a"), ('[a](b "', "a"), ("$", "a"), ("- ", "a "), ("| ", "a | "), ("> ", "a\n"),
    ("\\", "n"), ("mail ", "a@"), ("see ", "www."), ("token=", "a1"), ("key: ", "%41"),
    ("<%", "a"), ("`$= ", "a"), ("![](", "a"), ("javascript:", "a"), ("[^", "a"), ("^", "a"),
    ("a | ", "a b "), ("\u201c", "a"),
)  # fmt: skip
"""Something is opened once, and what follows never closes it."""

_MIXES = (
    "[`](a)`", "![a`", "[a](b`c`)", "<a `>`", "[[a`]]`", "%%`%%`", "$`$`", "*[a]*(b)", "[![a](b)",
    "<!-- `-->`", "\\`a`", "> - `", "- > ```\n", "password=`", "token: [[a]]", "a\n\n- b\n",
    "[a]\n[b]: c\n", "|a`|`\n", "<script>`</script>", "~~~\n```\n", "`a``b", "[a]()[b]",
    "sk-a sk_live_", "password: a1B2c3D4\n", "AKIAABCDEFGHIJKLMNOP\n", "http://a:b1c2d3@h\n",
    "api_key=Ab3dE6gH9jKlMn0pQr5t\n", "[[a|b]]\n", "![](https://a)\n", "`$=a`\n", "<b onclick=a>\n",
    "Alice met Bob. ", "x1y2z3-", "a=b;c:d ", "A.B.C. ", "- [ ] a ^b1\n", "#tag #tag/sub ",
    "- a\n  - b\n    - c\n", "1. a\n   ```\n   b\n   ```\n", "a: b\nc: [d, e]\n",
    "GET /?password=a1b2c3&token=x\n", "k='a1b2c3d4e5f6g7h8' ",
)  # fmt: skip
"""Repeated, these have several constructs cross each other."""


def _repeated(sign: str) -> HostileText:
    return lambda size: sign * (size // len(sign))


def _nested(opening: str, closing: str) -> HostileText:
    def text(size: int) -> str:
        depth = size // (len(opening) + len(closing))
        return opening * depth + "a" + closing * depth

    return text


def _opened(opening: str, filling: str) -> HostileText:
    return lambda size: opening + filling * (size // len(filling))


def growing_runs(sign: str, between: str) -> HostileText:
    """Runs of a sign, each longer than the last one, so that none closes another."""

    def runs(size: int) -> Iterator[str]:
        length = 0
        while size > 0:
            length += 1
            size -= length + len(between)
            yield sign * length + between

    return lambda size: "".join(runs(size))


def _shrinking(sign: str, between: str) -> HostileText:
    return lambda size: growing_runs(sign, between)(size)[::-1]


def _stretched(opening: str, blank: str, ending: str) -> HostileText:
    return lambda size: f"{opening}{blank * size}{ending}"


def _numbered(form: str) -> HostileText:
    def text(size: int) -> str:
        count = size // len(form.replace("{}", "100000"))
        return "".join(form.replace("{}", str(number)) for number in range(count))

    return text


_NUMBERED = (
    "[[n{}]] ", "[a](n{}) ", "#t{} ", "^b{}\n\n", "# h{}\n", "p{}: v\n", "[^{}]: x\n", "[r{}]: x\n",
    "|c{}", "<t{}>", "&#{};", "password: pw{}Xy!\n", "token=t{}a9Zk3LmQ7wPx2Rv\n",
    "https://u{}:pass{}x@h\n", "- item {}\n", "- item {}\n\n", "word{} ", "```l{}\nx\n```\n",
    "`c{}`", "![p{}](h:x)", "Name{} Last{}. ",
)  # fmt: skip
"""No two of these are equal."""

_STRETCHED = (
    ("# a", "b"), ("# ", "b"), ("[a](", "b"), ("[a](b", "c"), ("[[a", "]b"), ("![[a|", "]b"),
    ("[a]: ", "b c"), ("- ", "b"), ("- [[a]]", "b"), ("> a", "b"), ("a |", "b"), ("`a", "b"),
    ("a: b", "]"), ("a: [b", "c"), ("a:", "&b c"), ("password:", "b"), ("decision", "b"),
    ("<a", "b"), ("<!--", "b"), ("def a(", "b"), ("a.", "b"), ("a\n", "==b"),
)  # fmt: skip
"""Between these parts, which may belong together, there are nothing but blanks."""
_BLANKS = (" ", "\n")


def hostile_texts() -> Mapping[str, HostileText]:
    """The texts by name."""
    found: dict[str, HostileText] = {}
    found |= {f"repeat {sign!r}": _repeated(sign) for sign in _SIGNS}
    found |= {f"repeat {sign!r}": _repeated(sign) for sign in _MIXES}
    found |= {f"nest {one!r} {other!r}": _nested(one, other) for one, other in _PAIRS}
    found |= {f"open {one!r} {other!r}": _opened(one, other) for one, other in _OPENED}
    found |= {f"grow {sign!r}": growing_runs(sign, " a ") for sign in "`~$*_[#%|<&-"}
    found |= {f"shrink {sign!r}": _shrinking(sign, " a ") for sign in "`~$*_[]"}
    found |= {f"number {each!r}": _numbered(each) for each in _NUMBERED}
    found |= {
        f"stretch {one!r} {blank!r} {other!r}": _stretched(one, blank, other)
        for one, other in _STRETCHED
        for blank in _BLANKS
    }
    return found
